/*
 * product_kernels.c - x @ w with few rows of x: each weight is read once, as it lies, in floats or in codes. Sums are
 * float32.
 *
 * Two kernels. With dots a row of the weight is a column of the result (w transposed, as clients keep it): the lanes of
 * `split` warps share such a row and add up what they have. With columns a row of the weight has an element of each
 * column: a lane has neighbouring columns, and the lanes and warps of a block share the rows.
 *
 * The order of a sum depends on k, the kind of weight and `split`; not on columns, rows, alignment, or how many of them
 * a warp computes together: elements that are not there are zeros.
 *
 * `block` counts columns first, then tiles of `rows` rows, then the products of a batch, whose operands are `..._step`
 * bytes apart; with `picks` the weight's number is the pick of the product.
 */
#include "codegen/runtime/gpu/elements.h"

enum {
    MOST_SUMS = 64,   /* of a lane */
    MOST_WORDS = 8,   /* of a chunk: the part of a row of weights that a lane reads at once */
    MOST_UNROLL = 4,  /* chunks that are read before the first is used */
    MOST_COLUMNS = 8, /* that a warp computes together, with dots */
    ACROSS = 4        /* lanes side by side, with columns */
};

/* What a kernel depends on: constants. */
struct form {
    int type, rows, codes, bits, group, scale_type, wide;
};

struct matrix {
    const char *weights, *scales, *biases; /* of one product */
    int64_t row, scale_row, bias_row;
    float factor;
};

/* A chunk of weights with its scale. */
struct chunk {
    uint32_t words[MOST_WORDS];
    float scale, bias;
};

/* Elements of a chunk, which never crosses a group. */
static inline int chunk_size(const struct form *form)
{
    return !form->codes ? 8 : form->group < 32 ? form->group : 32;
}

/* Chunk `at` of row `row`, of which `left` elements are there. */
static inline void load_chunk(struct chunk *chunk, const struct form *form, const struct matrix *matrix, int64_t row,
                              int64_t at, int64_t left)
{
    const int size = chunk_size(form);
    const char *from = matrix->weights + row * matrix->row;
    if (!form->codes) {
        load_eight(chunk->words, from + at * (8 * type_bytes(form->type)), form->type, left, form->wide);
        return;
    }
    load_words(chunk->words, from + at * (size * form->bits / 8), size * form->bits / 32, form->wide);
    int64_t group = at / (form->group / size);
    chunk->scale =
        load_scale(matrix->scales + row * matrix->scale_row, group, form->codes, form->scale_type, matrix->factor);
    if (form->codes == CODES_AFFINE)
        chunk->bias = load_element(matrix->biases + row * matrix->bias_row + group * type_bytes(form->scale_type),
                                   form->scale_type);
}

static inline float weight_of(const struct chunk *chunk, const struct form *form, int i)
{
    if (!form->codes) return element_of(chunk->words, i, form->type);
    float value = code_value(code_of(chunk->words, i, form->bits), form->codes);
    return form->codes == CODES_AFFINE ? f32_fma(value, chunk->scale, chunk->bias) : value * chunk->scale;
}

/* ---- which part of the result ---------------------------------------------------------------------------------------
 */

struct place {
    uint32_t block;   /* of columns */
    int64_t row;      /* the first one of the tile */
    int64_t product;  /* of the batch */
    int64_t in_batch; /* the matrix */
};

static inline struct place find_place(uint32_t column_blocks, uint32_t tiles, int rows)
{
    uint32_t block = this_block(), tile = block / column_blocks, product = tile / tiles;
    return (struct place){.block = block - tile * column_blocks,
                          .row = (int64_t)(tile - product * tiles) * rows,
                          .product = product,
                          .in_batch = product};
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- dots ----------------------------------------------------------------------------------------------------------
 */

/* sums[r * columns + c] += the part of the products that chunk `at` of each column has. */
static inline void multiply_chunks(float *sums, const struct chunk *chunks, const char *const *x,
                                   const struct form *form, int columns, int64_t at, int64_t left)
{
    const int size = chunk_size(form), bytes = type_bytes(form->type);
    EACH(part, size / 8)
    {
        uint32_t words[8 * 16];
        EACH(r, form->rows)
        load_eight(words + 8 * r, x[r] + (at * size + 8 * part) * bytes, form->type, left - 8 * part, form->wide);
        EACH(c, columns)
        EACH(i, 8)
        {
            float weight = weight_of(&chunks[c], form, 8 * part + i);
            EACH(r, form->rows)
            sums[r * columns + c] = f32_fma(element_of(words + 8 * r, i, form->type), weight, sums[r * columns + c]);
        }
    }
}

/*
 * The same of affine codes and x of 16 bits, in fewer instructions: a code is a field of its word, which is 2^-40 times
 * the code when it is made larger, and scale and bias are applied to the sums of a chunk, of codes times x and of x.
 * What is lost of small x is below 2^-109.
 *
 * With few rows x is made larger instead (`few`), so that a code is used as it stands: the products are the same. This
 * x is finite below 2^19; with larger ones a sum is no finite number, and repair_sums() sees that.
 */
static inline void multiply_codes(float *sums, const struct chunk *chunks, const char *const *x,
                                  const struct form *form, int columns, int64_t at, int64_t left, int few)
{
    const int size = chunk_size(form), bytes = type_bytes(form->type);
    float of_codes[MOST_SUMS], of_x[16];
    EACH(i, form->rows * columns) of_codes[i] = 0;
    EACH(r, form->rows) of_x[r] = 0;
    EACH(part, size / 8)
    {
        uint32_t words[8 * 16];
        EACH(r, form->rows)
        load_eight(words + 8 * r, x[r] + (at * size + 8 * part) * bytes, form->type, left - 8 * part, form->wide);
        EACH(i, 8)
        {
            const float larger = f32_of_bits((uint32_t)(127 + 149 - 40 - field_place(8 * part + i, form->bits)) << 23);
            float values[16];
            EACH(r, form->rows)
            {
                values[r] = element_of(words + 8 * r, i, form->type);
                of_x[r] += values[r];
                if (few) values[r] *= larger;
            }
            EACH(c, columns)
            {
                float code = field_of(chunks[c].words, 8 * part + i, form->bits);
                if (!few) code *= larger;
                EACH(r, form->rows)
                of_codes[r * columns + c] = f32_fma(values[r], code, of_codes[r * columns + c]);
            }
        }
    }
    EACH(c, columns)
    EACH(r, form->rows)
    {
        float sum = f32_fma(of_x[r], chunks[c].bias, sums[r * columns + c]);
        sums[r * columns + c] = f32_fma(of_codes[r * columns + c] * 0x1p40f, chunks[c].scale, sum);
    }
}

static inline int has_fields(const struct form *form)
{
    return form->codes == CODES_AFFINE && form->type != TYPE_F32;
}

static inline int has_few(const struct form *form)
{
    return form->rows <= 2;
}

/* Which chunks of which columns a lane multiplies. */
struct share {
    const struct matrix *matrix;
    const char *const *x;
    const int64_t *column;
    int64_t first, stride, k;
};

/* Sums that are not finite are made again, as with more rows: each by itself, so that no sum depends on others. */
static inline void repair_sums(float *sums, const struct share *share, const struct form *form, int columns)
{
    const int size = chunk_size(form), count = form->rows * columns;
    float again[MOST_SUMS];
    int is_finite = 1;
    EACH(i, count) is_finite &= sums[i] - sums[i] == 0;
    if (is_finite) return;
    EACH(i, count) again[i] = 0;
    _Pragma("clang loop unroll(disable)") for (int64_t at = share->first; at * size < share->k; at += share->stride)
    {
        struct chunk loaded[MOST_COLUMNS];
        EACH(c, columns)
        load_chunk(&loaded[c], form, share->matrix, share->column[c], at, share->k - at * size);
        multiply_codes(again, loaded, share->x, form, columns, at, share->k - at * size, 0);
    }
    EACH(i, count) sums[i] = sums[i] - sums[i] == 0 ? sums[i] : again[i];
}

void kiln_gpu_product_dots(char *out, const char *x, const char *weights, const char *scales, const char *biases,
                           const char *global_scale, float *shared, int64_t m, int64_t n, int64_t k, int64_t x_row,
                           int64_t row, int64_t scale_row, int64_t bias_row, int64_t x_step, int64_t step,
                           int64_t scale_step, int64_t bias_step, int64_t column_blocks, int64_t tiles, int64_t split,
                           int type, int rows, int columns, int codes, int bits, int group, int scale_type,
                           int has_global, int wide)
{
    const struct form form = {type, rows, codes, bits, group, scale_type, wide};
    const int size = chunk_size(&form), sums_count = rows * columns;
    const int unroll = rows > 4 || columns > 4 ? 1 : rows > 2 || codes ? 2 : 4;
    const uint32_t thread = this_thread(), warp = thread / WARP, lane = thread % WARP;
    const uint32_t slices = (uint32_t)split, team = warp / slices, slice = warp - team * slices;
    const struct place place = find_place((uint32_t)column_blocks, (uint32_t)tiles, rows);
    const int64_t first_column = ((int64_t)place.block * (WARPS / slices) + team) * columns;
    const struct matrix matrix = {weights + place.in_batch * step,
                                  scales + place.in_batch * scale_step,
                                  biases + place.in_batch * bias_step,
                                  row,
                                  scale_row,
                                  bias_row,
                                  has_global ? *(const float *)global_scale / (448.0f * 6.0f) : 1.0f};
    const char *rows_of_x[16];
    int64_t column[MOST_COLUMNS];
    float sums[MOST_SUMS];
    EACH(r, rows) rows_of_x[r] = x + place.product * x_step + least(place.row + r, m - 1) * x_row;
    EACH(c, columns) column[c] = least(first_column + c, n - 1);
    EACH(i, sums_count) sums[i] = 0;

    const int64_t chunks = (k + size - 1) / size, stride = (int64_t)WARP * slices;
    int64_t at = (int64_t)slice * WARP + lane;
    const struct share share = {&matrix, rows_of_x, column, at, stride, k};
    const int64_t full = unroll > 1 ? (k / size) / (stride * unroll) * (stride * unroll) : 0;
    for (; at < full; at += stride * unroll) {
        struct chunk loaded[MOST_UNROLL * MOST_COLUMNS];
        EACH(u, unroll)
        EACH(c, columns) load_chunk(&loaded[u * columns + c], &form, &matrix, column[c], at + u * stride, size);
        EACH(u, unroll)
        {
            if (has_fields(&form))
                multiply_codes(sums, loaded + u * columns, rows_of_x, &form, columns, at + u * stride, size,
                               has_few(&form));
            else
                multiply_chunks(sums, loaded + u * columns, rows_of_x, &form, columns, at + u * stride, size);
        }
    }
    for (; at < chunks; at += stride) {
        struct chunk loaded[MOST_COLUMNS];
        int64_t left = k - at * size;
        EACH(c, columns) load_chunk(&loaded[c], &form, &matrix, column[c], at, left);
        if (has_fields(&form))
            multiply_codes(sums, loaded, rows_of_x, &form, columns, at, left, has_few(&form));
        else
            multiply_chunks(sums, loaded, rows_of_x, &form, columns, at, left);
    }
    if (has_fields(&form) && has_few(&form)) repair_sums(sums, &share, &form, columns);

    struct lane_sums own = {sums, sums_count, 0};
    sum_lanes(&own, 1);
    EACH(i, own.size) shared[warp * (uint32_t)sums_count + own.first + (uint32_t)i] = sums[i];
    wait_for_block();
    for (uint32_t i = thread; i < WARPS / slices * (uint32_t)sums_count; i += BLOCK) {
        const uint32_t of = i / (uint32_t)sums_count, which = i % (uint32_t)sums_count;
        const int64_t r = place.row + which / (uint32_t)columns;
        const int64_t c = ((int64_t)place.block * (WARPS / slices) + of) * columns + which % (uint32_t)columns;
        float sum = shared[of * slices * (uint32_t)sums_count + which];
        for (uint32_t s = 1; s < slices; s++) sum += shared[(of * slices + s) * (uint32_t)sums_count + which];
        if (r < m && c < n) store_element(out + ((place.product * m + r) * n + c) * type_bytes(type), sum, type);
    }
}

/* ---- columns -------------------------------------------------------------------------------------------------------
 */

void kiln_gpu_product_columns(char *out, const char *x, const char *weights, const char *scales, const char *biases,
                              const char *global_scale, float *shared, int64_t m, int64_t n, int64_t k, int64_t x_row,
                              int64_t row, int64_t scale_row, int64_t bias_row, int64_t x_step, int64_t step,
                              int64_t scale_step, int64_t bias_step, int64_t column_blocks, int64_t tiles,
                              int64_t split, int type, int rows, int columns, int codes, int bits, int group,
                              int scale_type, int has_global, int wide)
{
    const struct form form = {type, rows, codes, bits, group, scale_type, wide};
    const int size = chunk_size(&form), sums_count = rows * size, bytes = type_bytes(type);
    const int unroll = rows > 1 ? 2 : 4, together = WARP / ACROSS * WARPS;
    const uint32_t thread = this_thread(), warp = thread / WARP, lane = thread % WARP, beside = lane % ACROSS;
    const struct place place = find_place((uint32_t)column_blocks, (uint32_t)tiles, rows);
    const struct matrix matrix = {weights + place.in_batch * step,
                                  scales + place.in_batch * scale_step,
                                  biases + place.in_batch * bias_step,
                                  row,
                                  scale_row,
                                  bias_row,
                                  has_global ? *(const float *)global_scale / (448.0f * 6.0f) : 1.0f};
    const char *rows_of_x[16];
    float sums[MOST_SUMS];
    (void)columns, (void)split;
    EACH(r, rows) rows_of_x[r] = x + place.product * x_step + least(place.row + r, m - 1) * x_row;
    EACH(i, sums_count) sums[i] = 0;

    const int64_t chunk = least((int64_t)place.block * ACROSS + beside, (n + size - 1) / size - 1);
    const int64_t left = n - chunk * size;
    int64_t at = warp * (WARP / ACROSS) + lane / ACROSS, full = k / (together * unroll) * (together * unroll);
    for (; at < full; at += together * unroll) {
        struct chunk loaded[MOST_UNROLL];
        EACH(u, unroll) load_chunk(&loaded[u], &form, &matrix, at + u * together, chunk, left);
        EACH(u, unroll)
        EACH(r, rows)
        {
            float value = load_element(rows_of_x[r] + (at + u * together) * bytes, type);
            EACH(i, size)
            sums[r * size + i] = f32_fma(value, weight_of(&loaded[u], &form, i), sums[r * size + i]);
        }
    }
    for (; at < k; at += together) {
        struct chunk loaded;
        load_chunk(&loaded, &form, &matrix, at, chunk, left);
        EACH(r, rows)
        {
            float value = load_element(rows_of_x[r] + at * bytes, type);
            EACH(i, size)
            sums[r * size + i] = f32_fma(value, weight_of(&loaded, &form, i), sums[r * size + i]);
        }
    }

    struct lane_sums own = {sums, sums_count, 0};
    sum_lanes(&own, ACROSS);
    EACH(i, own.size) shared[(warp * ACROSS + beside) * (uint32_t)sums_count + own.first + (uint32_t)i] = sums[i];
    wait_for_block();
    for (uint32_t i = thread; i < ACROSS * (uint32_t)sums_count; i += BLOCK) {
        const int64_t r = place.row + i % (uint32_t)sums_count / (uint32_t)size;
        const int64_t c = ((int64_t)place.block * ACROSS + i / (uint32_t)sums_count) * size + i % (uint32_t)size;
        float sum = shared[i];
        EACH(w, WARPS - 1) sum += shared[(uint32_t)(w + 1) * ACROSS * (uint32_t)sums_count + i];
        if (r < m && c < n) store_element(out + ((place.product * m + r) * n + c) * bytes, sum, type);
    }
}
