/*
 * quantize.c - see quantize.h. All of it is formulas: element-wise steps, and a reduction for each group when
 * quantizing. Axes are split and joined at the ends only, so that what is between is one kernel in a compiled function.
 *
 * Codes are handled by the pack: a few words that hold whole codes. A word w holds the code that begins at bit `start`
 * of the pack as w >> (start - first bit of w), or, the end of a code that begins in the word before, as
 * w << (first bit of w - start). Of the two shifts at most one is by less than 32 bits, or both are by none; a shift by
 * more, as a negative one is in uint32, leaves zero.
 */
#include "ops/quantize.h"

#include <string.h>

#include "ops/reductions.h"
#include "ops/replay.h"
#include "ops/small_float.h"

static const struct {
    const char *name;
    int group_size, bits;
    const struct kiln_small_float *values; /* NULL: integers */
} modes[KILN_QUANTIZE_MODES] = {
    [KILN_AFFINE] = {"affine", 64, 4, NULL},
    [KILN_MXFP4] = {"mxfp4", 32, 4, &kiln__e2m1},
    [KILN_MXFP8] = {"mxfp8", 32, 8, &kiln__e4m3},
    [KILN_NVFP4] = {"nvfp4", 16, 4, &kiln__e2m1},
};

/* A tensor whose largest magnitude is the global scale has 448 as its largest e4m3 scale. */
static const double global_unit = 448 * 6;

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static kiln_status check_sizes(const char *name, const struct kiln_quantization *how, kiln_error *err)
{
    int group_size = how->group_size, bits = how->bits;
    const char *mode = modes[how->mode].name;
    if (how->mode == KILN_AFFINE) {
        if (group_size != 32 && group_size != 64 && group_size != 128)
            return kiln__fail(err, KILN_INVALID,
                              "[%s] group_size is %d; mode \"affine\" has groups of 32, 64 or 128 elements.", name,
                              group_size);
        if (bits < 2 || bits == 7 || bits > 8)
            return kiln__fail(err, KILN_INVALID,
                              "[%s] bits is %d; mode \"affine\" has codes of 2, 3, 4, 5, 6 or 8 bits.", name, bits);
        return KILN_OK;
    }
    if (group_size != modes[how->mode].group_size)
        return kiln__fail(err, KILN_INVALID, "[%s] group_size is %d; mode \"%s\" has groups of %d elements.", name,
                          group_size, mode, modes[how->mode].group_size);
    if (bits != modes[how->mode].bits)
        return kiln__fail(err, KILN_INVALID, "[%s] bits is %d; mode \"%s\" has codes of %d bits.", name, bits, mode,
                          modes[how->mode].bits);
    return KILN_OK;
}

kiln_status kiln__quantization(const char *name, const char *mode, const int *group_size, const int *bits,
                               struct kiln_quantization *out, kiln_error *err)
{
    int number = 0;
    while (number < KILN_QUANTIZE_MODES && strcmp(mode, modes[number].name) != 0) number++;
    if (number == KILN_QUANTIZE_MODES)
        return kiln__fail(err, KILN_INVALID,
                          "[%s] mode is \"%.40s\"; expected \"affine\", \"mxfp4\", \"mxfp8\" or \"nvfp4\".", name,
                          mode);
    out->mode = (enum kiln_quantize_mode)number;
    out->group_size = group_size ? *group_size : modes[number].group_size;
    out->bits = bits ? *bits : modes[number].bits;
    return check_sizes(name, out, err);
}

static kiln_status check_global_scale(const char *name, const struct kiln_array *global_scale,
                                      const struct kiln_quantization *how, kiln_error *err)
{
    if (!global_scale) return KILN_OK;
    if (how->mode != KILN_NVFP4)
        return kiln__fail(err, KILN_INVALID, "[%s] mode \"%s\" takes no global scale; \"nvfp4\" does.", name,
                          modes[how->mode].name);
    if (global_scale->size == 1 && global_scale->dtype == KILN_FLOAT32) return KILN_OK;
    char text[KILN_SHAPE_TEXT];
    return kiln__fail(err, KILN_INVALID, "[%s] The global scale must be one float32, got %s of shape %s.", name,
                      kiln__dtypes[global_scale->dtype].name,
                      kiln__shape_text(global_scale->dims, global_scale->ndim, text));
}

/* Scales or biases: as the codes, but one element for each group. */
static kiln_status check_groups(const char *name, const char *what, const struct kiln_array *w,
                                const struct kiln_array *groups, const struct kiln_quantization *how, kiln_error *err)
{
    int last = w->ndim - 1;
    bool fits = groups->ndim == w->ndim && memcmp(groups->dims, w->dims, (size_t)last * sizeof *w->dims) == 0 &&
                (int64_t)w->dims[last] * 32 == (int64_t)groups->dims[last] * how->group_size * how->bits;
    char codes[KILN_SHAPE_TEXT], text[KILN_SHAPE_TEXT];
    if (fits) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] %s of shape %s do not fit a quantized matrix of shape %s: there must be one for each group "
                      "of %d elements, which takes %d words with %d bits.",
                      name, what, kiln__shape_text(groups->dims, groups->ndim, text),
                      kiln__shape_text(w->dims, w->ndim, codes), how->group_size, how->group_size * how->bits / 32,
                      how->bits);
}

static kiln_status check_dtypes(const char *name, const struct kiln_quantized *q, const struct kiln_quantization *how,
                                kiln_error *err)
{
    const char *scales = kiln__dtypes[q->scales->dtype].name;
    if (q->w->dtype != KILN_UINT32)
        return kiln__fail(err, KILN_INVALID, "[%s] The quantized matrix must be uint32, got %s.", name,
                          kiln__dtypes[q->w->dtype].name);
    if (how->mode != KILN_AFFINE) {
        if (q->biases)
            return kiln__fail(err, KILN_INVALID, "[%s] mode \"%s\" takes no biases.", name, modes[how->mode].name);
        if (q->scales->dtype == KILN_UINT8) return KILN_OK;
        return kiln__fail(err, KILN_INVALID, "[%s] Scales of mode \"%s\" must be uint8, got %s.", name,
                          modes[how->mode].name, scales);
    }
    if (!q->biases) return kiln__fail(err, KILN_INVALID, "[%s] mode \"affine\" needs biases.", name);
    if (kiln__dtype_is_float(q->scales->dtype) && kiln__dtype_is_float(q->biases->dtype)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Scales and biases must be floats, got %s and %s.", name, scales,
                      kiln__dtypes[q->biases->dtype].name);
}

kiln_status kiln__check_quantized(const char *name, const struct kiln_quantized *q, const struct kiln_quantization *how,
                                  kiln_error *err)
{
    if (!q->w || !q->scales) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    kiln_status status = check_dtypes(name, q, how, err);
    if (!status && q->w->ndim < 2)
        status = kiln__fail(err, KILN_INVALID, "[%s] The quantized matrix must have at least 2 dimensions, got %d.",
                            name, q->w->ndim);
    if (!status) status = check_groups(name, "Scales", q->w, q->scales, how, err);
    if (!status && q->biases) status = check_groups(name, "Biases", q->w, q->biases, how, err);
    return status ? status : check_global_scale(name, q->global_scale, how, err);
}

static kiln_status check_weights(const char *name, const struct kiln_array *w, const struct kiln_quantization *how,
                                 kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    if (!w) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (!kiln__dtype_is_float(w->dtype))
        return kiln__fail(err, KILN_INVALID, "[%s] %s is not supported: expected a float type.", name,
                          kiln__dtypes[w->dtype].name);
    if (w->ndim < 2)
        return kiln__fail(err, KILN_INVALID, "[%s] The matrix must have at least 2 dimensions, got %d.", name, w->ndim);
    if (w->dims[w->ndim - 1] % how->group_size == 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] The last dimension of shape %s must be a multiple of the group size %d.",
                      name, kiln__shape_text(w->dims, w->ndim, text), how->group_size);
}

/* ---- codes in words ---------------------------------------------------------------------------------------------- */

enum { MOST_PACK_CODES = 32, MOST_PACK_WORDS = 6 };

struct pack {
    int words, codes, bits;
};

/* At least 8 codes: the codes of a pack are the inner loop of a kernel, and one of 4 takes ten times longer.
 */
static struct pack pack_of(int bits)
{
    int words = bits == 8 ? 2 : 1;
    return 32 % bits == 0 ? (struct pack){words, words * 32 / bits, bits} : (struct pack){bits, 32, bits};
}

/* Does a code begin in one word and end in the next? */
static bool has_split_codes(const struct pack *pack)
{
    return 32 % pack->bits != 0;
}

/* In uint32: how far word `word` of the pack has to be shifted right so that a code begins at bit 0. */
static uint32_t right_shift(const struct pack *pack, int word, int code)
{
    return (uint32_t)(code * pack->bits - 32 * word);
}

/* `a` with its last axis as three, or as two where `z` is 0. */
static struct kiln_array *split_last(struct kiln_expression *e, struct kiln_array *a, int x, int y, int z)
{
    int dims[KILN_MAX_NDIM + 3];
    if (!a) return NULL;
    size_t ndim = a->ndim - 1u;
    memcpy(dims, a->dims, ndim * sizeof *dims);
    dims[ndim++] = x, dims[ndim++] = y;
    if (z) dims[ndim++] = z;
    return kiln__e_reshape(e, a, dims, ndim);
}

/* `a` with the shape of `like`, but for its last axis. */
static struct kiln_array *join_last(struct kiln_expression *e, struct kiln_array *a, const struct kiln_array *like,
                                    int last)
{
    int dims[KILN_MAX_NDIM];
    memcpy(dims, like->dims, like->ndim * sizeof *dims);
    dims[like->ndim - 1] = last;
    return kiln__e_reshape(e, a, dims, like->ndim);
}

/* (..., words) to (..., groups, packs of a group, codes of a pack) */
static struct kiln_array *unpack(struct kiln_expression *e, struct kiln_array *w, const struct kiln_quantization *how)
{
    struct pack pack = pack_of(how->bits);
    int packs = how->group_size / pack.codes, axis = w->ndim + 1;
    struct kiln_array *words = split_last(e, w, w->dims[w->ndim - 1] / (packs * pack.words), packs, pack.words);
    struct kiln_array *codes = NULL;
    for (int k = 0; k < pack.words; k++) {
        uint32_t right[MOST_PACK_CODES], left[MOST_PACK_CODES];
        for (int i = 0; i < pack.codes; i++) right[i] = right_shift(&pack, k, i), left[i] = -right[i];
        struct kiln_array *word = pack.words > 1 ? kiln__e_cut(e, words, axis, k, k + 1, 1) : words;
        struct kiln_array *part =
            kiln__e_binary(e, KILN_OP_RIGHT_SHIFT, word, kiln__e_data(e, right, KILN_UINT32, &pack.codes, 1));
        codes = k ? kiln__e_binary(e, KILN_OP_BITWISE_OR, codes, part) : part;
        if (k == 0 || !has_split_codes(&pack)) continue; /* no code begins in the word before */
        part = kiln__e_binary(e, KILN_OP_LEFT_SHIFT, word, kiln__e_data(e, left, KILN_UINT32, &pack.codes, 1));
        codes = kiln__e_binary(e, KILN_OP_BITWISE_OR, codes, part);
    }
    return kiln__e_binary(e, KILN_OP_BITWISE_AND, codes, kiln__e_word(e, (1u << how->bits) - 1));
}

/* Codes of any shape, in the order of `like`, to words: the sum of bits that are apart. */
static struct kiln_array *pack_codes(struct kiln_expression *e, struct kiln_array *codes, const struct kiln_array *like,
                                     int bits)
{
    struct pack pack = pack_of(bits);
    uint32_t right[MOST_PACK_WORDS * MOST_PACK_CODES], left[MOST_PACK_WORDS * MOST_PACK_CODES];
    const int dims[2] = {pack.words, pack.codes};
    int size = like->dims[like->ndim - 1], packs = size / pack.codes;
    for (int i = 0; i < pack.words * pack.codes; i++) {
        left[i] = right_shift(&pack, i / pack.codes, i % pack.codes);
        right[i] = -left[i];
    }
    codes = split_last(e, join_last(e, codes, like, size), packs, 1, pack.codes);
    struct kiln_array *parts =
        kiln__e_binary(e, KILN_OP_LEFT_SHIFT, codes, kiln__e_data(e, left, KILN_UINT32, dims, 2));
    if (has_split_codes(&pack)) {
        struct kiln_array *ends =
            kiln__e_binary(e, KILN_OP_RIGHT_SHIFT, codes, kiln__e_data(e, right, KILN_UINT32, dims, 2));
        parts = kiln__e_binary(e, KILN_OP_BITWISE_OR, parts, ends);
    }
    struct kiln_array *words = kiln__e_reduce_axis(e, KILN_OP_SUM, parts, like->ndim + 1);
    return join_last(e, words, like, packs * pack.words);
}

/* ---- dequantize -------------------------------------------------------------------------------------------------- */

/* Of a group: (..., groups) to (..., groups, 1, 1). */
static struct kiln_array *beside_codes(struct kiln_expression *e, struct kiln_array *a)
{
    return a ? split_last(e, a, a->dims[a->ndim - 1], 1, 1) : NULL;
}

static struct kiln_array *affine_values(struct kiln_expression *e, struct kiln_array *codes,
                                        const struct kiln_quantized *q)
{
    enum kiln_dtype dtype = kiln__dtype_promote(q->scales->dtype, q->biases->dtype);
    struct kiln_array *scales = beside_codes(e, kiln__e_astype(e, q->scales, dtype));
    struct kiln_array *biases = beside_codes(e, kiln__e_astype(e, q->biases, dtype));
    struct kiln_array *scaled = kiln__e_binary(e, KILN_OP_MULTIPLY, kiln__e_astype(e, codes, dtype), scales);
    return kiln__e_binary(e, KILN_OP_ADD, scaled, biases);
}

/* The factor of the codes of a group. */
static struct kiln_array *scale_values(struct kiln_expression *e, struct kiln_array *scale_codes,
                                       struct kiln_array *global_scale, enum kiln_quantize_mode mode)
{
    if (mode != KILN_NVFP4) return kiln__e_from_e8m0(e, scale_codes);
    struct kiln_array *scales = kiln__e_from_small(e, scale_codes, &kiln__e4m3);
    if (!global_scale) return scales;
    struct kiln_array *global = kiln__e_binary(e, KILN_OP_DIVIDE, kiln__e_reshape(e, global_scale, NULL, 0),
                                               kiln__e_number(e, global_unit, KILN_FLOAT32));
    return kiln__e_binary(e, KILN_OP_MULTIPLY, scales, global);
}

static struct kiln_array *float_values(struct kiln_expression *e, struct kiln_array *codes,
                                       const struct kiln_quantized *q, enum kiln_quantize_mode mode)
{
    struct kiln_array *scale_codes = kiln__e_astype(e, q->scales, KILN_UINT32);
    struct kiln_array *scales = beside_codes(e, scale_values(e, scale_codes, q->global_scale, mode));
    return kiln__e_binary(e, KILN_OP_MULTIPLY, kiln__e_from_small(e, codes, modes[mode].values), scales);
}

static enum kiln_dtype dtype_of(const struct kiln_quantized *q, enum kiln_quantize_mode mode)
{
    return mode == KILN_AFFINE ? kiln__dtype_promote(q->scales->dtype, q->biases->dtype) : KILN_BFLOAT16;
}

static kiln_status record_dequantize(const struct kiln_quantized *q, struct kiln_quantization how,
                                     enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_DEQUANTIZE);
    kiln__record_array(&record, q->w);
    kiln__record_array(&record, q->scales);
    kiln__record_array(&record, q->biases);
    kiln__record_array(&record, q->global_scale);
    kiln__record_number(&record, how.mode);
    kiln__record_number(&record, how.group_size);
    kiln__record_number(&record, how.bits);
    kiln__record_number(&record, dtype);
    return kiln__record_end(&record, out, err);
}

struct kiln_quantization kiln__recorded_quantization(struct kiln_record *record)
{
    struct kiln_quantization how = {.mode =
                                        (enum kiln_quantize_mode)kiln__recorded_choice(record, KILN_QUANTIZE_MODES)};
    how.group_size = (int)kiln__recorded_number(record);
    how.bits = (int)kiln__recorded_number(record);
    if (check_sizes("quantize", &how, NULL) == KILN_OK) return how;
    record->is_damaged = true;
    return (struct kiln_quantization){KILN_AFFINE, 64, 4};
}

kiln_status kiln__replay_dequantize(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_quantized q = {.w = kiln__recorded_array(record)};
    q.scales = kiln__recorded_array(record);
    q.biases = kiln__recorded_array(record);
    q.global_scale = kiln__recorded_array(record);
    struct kiln_quantization how = kiln__recorded_quantization(record);
    return kiln__dequantize("dequantize", &q, how, (enum kiln_dtype)kiln__recorded_choice(record, KILN_DTYPE_COUNT + 1),
                            out, err);
}

kiln_status kiln__dequantize(const char *name, const struct kiln_quantized *q, struct kiln_quantization how,
                             enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = kiln__check_quantized(name, q, &how, err);
    if (!status && dtype != KILN_DTYPE_COUNT && !kiln__dtype_is_float(dtype))
        status = kiln__fail(err, KILN_INVALID, "[%s] %s is not supported: expected a float type.", name,
                            kiln__dtypes[dtype].name);
    if (status) return status;
    if (kiln__is_recorded(q->w) || kiln__is_recorded(q->scales) || kiln__is_recorded(q->biases) ||
        kiln__is_recorded(q->global_scale))
        return record_dequantize(q, how, dtype, out, err);
    int size = q->scales->dims[q->w->ndim - 1] * how.group_size;
    struct kiln_array *codes = unpack(&e, q->w, &how);
    struct kiln_array *values =
        how.mode == KILN_AFFINE ? affine_values(&e, codes, q) : float_values(&e, codes, q, how.mode);
    values = kiln__e_astype(&e, values,
                            dtype != KILN_DTYPE_COUNT ? dtype
                            : q->global_scale         ? KILN_FLOAT32
                                                      : dtype_of(q, how.mode));
    return kiln__e_end(&e, join_last(&e, values, q->w, size), out);
}

/* ---- quantize ---------------------------------------------------------------------------------------------------- */

/* Borrowed from the expression; `groups` are (..., groups, 1). */
struct parts {
    struct kiln_array *codes, *scales, *biases;
};

/*
 * Of the ends of a group, the one that is farther from zero is hit exactly: it is the bias, and the scale, towards the
 * other end, is adjusted so that zero, if it is between the ends, is hit too.
 */
static struct parts affine_parts(struct kiln_expression *e, struct kiln_array *w, int bits)
{
    int axis = w ? w->ndim - 1 : 0;
    struct kiln_array *most = kiln__e_number(e, (1 << bits) - 1, KILN_FLOAT32),
                      *zero = kiln__e_number(e, 0, KILN_FLOAT32);
    struct kiln_array *high = kiln__e_reduce_axis(e, KILN_OP_MAX, w, axis);
    struct kiln_array *low = kiln__e_reduce_axis(e, KILN_OP_MIN, w, axis);
    struct kiln_array *from_low =
        kiln__e_binary(e, KILN_OP_GREATER, kiln__e_unary(e, KILN_OP_ABS, low), kiln__e_unary(e, KILN_OP_ABS, high));
    struct kiln_array *step = kiln__e_binary(e, KILN_OP_DIVIDE, kiln__e_binary(e, KILN_OP_SUBTRACT, high, low), most);
    step = kiln__e_binary(e, KILN_OP_MAXIMUM, step, kiln__e_number(e, 1e-7, KILN_FLOAT32));
    step = kiln__e_select(e, from_low, step, kiln__e_unary(e, KILN_OP_NEGATIVE, step));
    struct kiln_array *edge = kiln__e_select(e, from_low, low, high);
    struct kiln_array *steps = kiln__e_unary(e, KILN_OP_ROUND, kiln__e_binary(e, KILN_OP_DIVIDE, edge, step));
    struct kiln_array *is_far = kiln__e_binary(e, KILN_OP_NOT_EQUAL, steps, zero);
    struct parts parts = {.scales = kiln__e_select(e, is_far, kiln__e_binary(e, KILN_OP_DIVIDE, edge, steps), step),
                          .biases = kiln__e_select(e, is_far, edge, zero)};
    struct kiln_array *codes = kiln__e_binary(e, KILN_OP_SUBTRACT, w, parts.biases);
    codes = kiln__e_unary(e, KILN_OP_ROUND, kiln__e_binary(e, KILN_OP_DIVIDE, codes, parts.scales));
    codes = kiln__e_binary(e, KILN_OP_MINIMUM, kiln__e_binary(e, KILN_OP_MAXIMUM, codes, zero), most);
    parts.codes = kiln__e_astype(e, codes, KILN_UINT32);
    return parts;
}

/* The largest magnitude of a group is to be the largest number of the format. */
static struct parts float_parts(struct kiln_expression *e, struct kiln_array *w, struct kiln_array *global_scale,
                                enum kiln_quantize_mode mode)
{
    const struct kiln_small_float *format = modes[mode].values;
    struct kiln_array *zero = kiln__e_number(e, 0, KILN_FLOAT32), *request, *scales;
    struct kiln_array *most =
        kiln__e_reduce_axis(e, KILN_OP_MAX, kiln__e_unary(e, KILN_OP_ABS, w), w ? w->ndim - 1 : 0);
    struct parts parts = {NULL, NULL, NULL};
    request = kiln__e_binary(e, KILN_OP_DIVIDE, most, kiln__e_number(e, format->most, KILN_FLOAT32));
    if (global_scale) {
        struct kiln_array *factor = kiln__e_binary(e, KILN_OP_DIVIDE, kiln__e_number(e, global_unit, KILN_FLOAT32),
                                                   kiln__e_reshape(e, global_scale, NULL, 0));
        request = kiln__e_binary(e, KILN_OP_MULTIPLY, request, factor);
    }
    parts.scales = mode == KILN_NVFP4 ? kiln__e_to_small(e, request, &kiln__e4m3) : kiln__e_to_e8m0(e, request);
    scales = scale_values(e, parts.scales, global_scale, mode);
    struct kiln_array *values = kiln__e_binary(e, KILN_OP_DIVIDE, w, scales);
    values = kiln__e_select(e, kiln__e_binary(e, KILN_OP_EQUAL, scales, zero), zero, values);
    parts.codes = kiln__e_to_small(e, values, format);
    return parts;
}

/* The inputs fit. Only out[part], or all of them where it is negative. */
static kiln_status quantize_parts(struct kiln_array *w, struct kiln_array *global_scale, struct kiln_quantization how,
                                  int part, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int groups = w->dims[w->ndim - 1] / how.group_size;
    bool is_affine = how.mode == KILN_AFFINE;
    struct kiln_array *grouped = split_last(&e, kiln__e_astype(&e, w, KILN_FLOAT32), groups, how.group_size, 0);
    struct parts parts =
        is_affine ? affine_parts(&e, grouped, how.bits) : float_parts(&e, grouped, global_scale, how.mode);
    enum kiln_dtype scale_dtype = is_affine ? (enum kiln_dtype)w->dtype : KILN_UINT8;
    struct kiln_array *results[3] = {pack_codes(&e, parts.codes, w, how.bits),
                                     join_last(&e, kiln__e_astype(&e, parts.scales, scale_dtype), w, groups), NULL};
    if (is_affine) results[2] = join_last(&e, kiln__e_astype(&e, parts.biases, scale_dtype), w, groups);
    if (part >= 0) return kiln__e_end(&e, results[part], out);
    for (int i = 1; !e.status && i < 2 + is_affine; i++) out[i] = kiln__array_ref(results[i]);
    return kiln__e_end(&e, results[0], out);
}

static kiln_status record_quantize(struct kiln_array *w, struct kiln_array *global_scale, struct kiln_quantization how,
                                   int part, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_QUANTIZE);
    kiln__record_array(&record, w);
    kiln__record_array(&record, global_scale);
    kiln__record_number(&record, how.mode);
    kiln__record_number(&record, how.group_size);
    kiln__record_number(&record, how.bits);
    kiln__record_number(&record, part);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_quantize(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *w = kiln__recorded_array(record), *global_scale = kiln__recorded_array(record);
    struct kiln_quantization how = kiln__recorded_quantization(record);
    kiln_status status = check_weights("quantize", w, &how, err);
    if (!status) status = check_global_scale("quantize", global_scale, &how, err);
    return status ? status
                  : quantize_parts(w, global_scale, how, kiln__recorded_choice(record, how.mode == KILN_AFFINE ? 3 : 2),
                                   out, err);
}

kiln_status kiln__quantize(const char *name, struct kiln_array *w, struct kiln_array *global_scale,
                           struct kiln_quantization how, struct kiln_array *out[3], kiln_error *err)
{
    struct kiln_array *made[3] = {NULL, NULL, NULL};
    int count = how.mode == KILN_AFFINE ? 3 : 2;
    kiln_status status = check_weights(name, w, &how, err);
    if (!status) status = check_global_scale(name, global_scale, &how, err);
    if (status) return status;
    if (!kiln__is_recorded(w) && !kiln__is_recorded(global_scale))
        return quantize_parts(w, global_scale, how, -1, out, err);
    for (int i = 0; !status && i < count; i++) status = record_quantize(w, global_scale, how, i, &made[i], err);
    for (int i = 0; i < count; i++) {
        if (status)
            kiln__array_unref(made[i]);
        else
            out[i] = made[i];
    }
    return status;
}

/* ---- single numbers ---------------------------------------------------------------------------------------------- */

kiln_status kiln__to_fp8(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (a && !kiln__dtype_is_float(a->dtype))
        return kiln__fail(err, KILN_INVALID, "[to_fp8] %s is not supported: expected a float type.",
                          kiln__dtypes[a->dtype].name);
    struct kiln_array *codes = kiln__e_to_small(&e, kiln__e_astype(&e, a, KILN_FLOAT32), &kiln__e4m3);
    return kiln__e_end(&e, kiln__e_astype(&e, codes, KILN_UINT8), out);
}

kiln_status kiln__from_fp8(struct kiln_array *a, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (a && a->dtype != KILN_UINT8)
        return kiln__fail(err, KILN_INVALID, "[from_fp8] The input must be uint8, got %s.",
                          kiln__dtypes[a->dtype].name);
    if (!kiln__dtype_is_float(dtype))
        return kiln__fail(err, KILN_INVALID, "[from_fp8] %s is not supported: expected a float type.",
                          kiln__dtypes[dtype].name);
    struct kiln_array *values = kiln__e_from_small(&e, kiln__e_astype(&e, a, KILN_UINT32), &kiln__e4m3);
    return kiln__e_end(&e, kiln__e_astype(&e, values, dtype), out);
}
