/*
 * types.c - the built-in argument types of kiln.h.
 *
 * A constant signs its bits, a scalar, pointer or stream only that it is one, a tensor its metadata and never its data.
 */
#include "key/dlpack.h"
#include "key/signature.h"

static kiln_status sign_const_word(kiln_signature *signature, const void *value)
{
    if (!value) return KILN_INVALID;
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    kiln__signature_u64(signature, bits);
    return KILN_OK;
}

static kiln_status sign_const_bool(kiln_signature *signature, const void *value)
{
    if (!value) return KILN_INVALID;
    kiln__signature_u64(signature, *(const bool *)value);
    return KILN_OK;
}

static kiln_status sign_const_string(kiln_signature *signature, const void *value)
{
    if (!value) return KILN_INVALID;
    kiln_sign_bytes(signature, value, strlen(value));
    return KILN_OK;
}

static kiln_status sign_const_bytes(kiln_signature *signature, const void *value)
{
    const kiln_bytes *bytes = value;
    if (!bytes || (!bytes->data && bytes->size)) return KILN_INVALID;
    kiln_sign_bytes(signature, bytes->data, bytes->size);
    return KILN_OK;
}

/* The type alone is the signature. */
static kiln_status sign_nothing(kiln_signature *signature, const void *value)
{
    (void)signature, (void)value;
    return KILN_OK;
}

static void write_packed_strides(const struct kiln_dltensor *tensor, uint64_t *out)
{
    uint64_t stride = 1;
    for (int i = tensor->ndim; i-- > 0;) {
        out[i] = stride;
        stride *= (uint64_t)tensor->shape[i];
    }
}

static kiln_status sign_tensor(kiln_signature *signature, const void *value)
{
    const struct kiln_dltensor *tensor = value;
    if (!kiln__tensor_is_sound(tensor)) return KILN_INVALID;
    uint64_t *words = kiln__signature_grow(signature, 2 + 2 * (uint32_t)tensor->ndim);
    if (!words) return KILN_NO_MEMORY;
    kiln__tensor_write(tensor, words);
    return KILN_OK;
}

static enum kiln_stride_class classify(int64_t stride, int64_t packed)
{
    return stride == 1        ? KILN_STRIDE_ONE
           : stride == 0      ? KILN_STRIDE_ZERO
           : stride == packed ? KILN_STRIDE_PACKED
                              : KILN_STRIDE_ANY;
}

static kiln_status sign_tensor_dynamic(kiln_signature *signature, const void *value)
{
    const struct kiln_dltensor *tensor = value;
    if (!kiln__tensor_is_sound(tensor)) return KILN_INVALID;
    uint64_t classes[2] = {0, 0}, packed[KILN_TENSOR_MAX_NDIM] = {0};
    write_packed_strides(tensor, packed);
    for (int i = 0; i < tensor->ndim; i++) {
        int64_t stride = tensor->strides ? tensor->strides[i] : (int64_t)packed[i];
        classes[i / 32] |= (uint64_t)classify(stride, (int64_t)packed[i]) << (2 * (i % 32));
    }
    uint64_t *words = kiln__signature_grow(signature, 4);
    if (!words) return KILN_NO_MEMORY;
    words[0] = kiln__item(KILN_ITEM_TENSOR, KILN_TENSOR_DYNAMIC, 3);
    words[1] = kiln__tensor_facts(tensor, false);
    words[2] = classes[0];
    words[3] = classes[1];
    return KILN_OK;
}

/* ---- a rule per axis ------------------------------------------------------------------------------------------ */

static bool rules_are_sound(const kiln_rule *rules, size_t count)
{
    for (size_t i = 0; rules && i < count; i++)
        if (rules[i].kind > KILN_DIVISIBLE || (rules[i].kind == KILN_DIVISIBLE) != (rules[i].divisor != 0))
            return false;
    return true;
}

/* What code made under a rule may rely on. */
static uint64_t ruled(const kiln_rule *rule, int64_t value)
{
    if (!rule || rule->kind == KILN_STATIC) return (uint64_t)value;
    return rule->kind == KILN_DIVISIBLE && value % (int64_t)rule->divisor == 0;
}

static uint64_t rule_word(const kiln_rule *rule)
{
    return rule ? (uint64_t)rule->kind << 32 | rule->divisor : KILN_STATIC;
}

/* Per axis four words: rule of the dim, the dim under it, rule of the stride, the stride under it. */
static kiln_status sign_tensor_spec(kiln_signature *signature, const void *value)
{
    const kiln_tensor_spec *spec = value;
    const struct kiln_dltensor *tensor = spec ? spec->tensor : NULL;
    if (!kiln__tensor_is_sound(tensor)) return KILN_INVALID;
    uint32_t ndim = (uint32_t)tensor->ndim;
    bool is_bare = !spec->dims && !spec->strides;
    if ((!is_bare && spec->count != ndim) || !rules_are_sound(spec->dims, ndim) ||
        !rules_are_sound(spec->strides, ndim))
        return KILN_INVALID;
    uint64_t packed[KILN_TENSOR_MAX_NDIM] = {0}, *words = kiln__signature_grow(signature, 2 + 4 * ndim);
    if (!words) return KILN_NO_MEMORY;
    words[0] = kiln__item(KILN_ITEM_TENSOR, KILN_TENSOR_RULED, 1 + 4 * ndim);
    words[1] = kiln__tensor_facts(tensor, true);
    write_packed_strides(tensor, packed);
    for (uint32_t i = 0; i < ndim; i++) {
        const kiln_rule *dim = spec->dims ? &spec->dims[i] : NULL, *stride = spec->strides ? &spec->strides[i] : NULL;
        uint64_t *axis = words + 2 + 4 * i;
        axis[0] = rule_word(dim);
        axis[1] = ruled(dim, tensor->shape[i]);
        axis[2] = rule_word(stride);
        axis[3] = ruled(stride, tensor->strides ? tensor->strides[i] : (int64_t)packed[i]);
    }
    return KILN_OK;
}

static kiln_status sign_list(kiln_signature *signature, const void *value)
{
    enum { DEEPEST = 64 }; /* a list that holds itself is an error, not a stack overflow */
    const kiln_args *args = value;
    if (!args || (args->count && !args->data) || signature->depth >= DEEPEST) return KILN_INVALID;
    uint32_t start = signature->count;
    kiln__signature_word(signature, 0);
    signature->depth++;
    for (size_t i = 0; i < args->count; i++)
        if (kiln__signature_argument(signature, &args->data[i], i, NULL)) return KILN_UNSIGNED;
    signature->depth--;
    if (!signature->status) signature->words[start] = kiln__item(KILN_ITEM_LIST, 0, signature->count - start - 1);
    return KILN_OK;
}

const kiln_type kiln_const_i64 = {"const_i64", sign_const_word};
const kiln_type kiln_const_f64 = {"const_f64", sign_const_word};
const kiln_type kiln_const_bool = {"const_bool", sign_const_bool};
const kiln_type kiln_const_string = {"const_string", sign_const_string};
const kiln_type kiln_const_bytes = {"const_bytes", sign_const_bytes};
const kiln_type kiln_scalar_i64 = {"scalar_i64", sign_nothing};
const kiln_type kiln_scalar_f64 = {"scalar_f64", sign_nothing};
const kiln_type kiln_pointer = {"pointer", sign_nothing};
const kiln_type kiln_stream = {"stream", sign_nothing};
const kiln_type kiln_tensor = {"tensor", sign_tensor};
const kiln_type kiln_tensor_dynamic = {"tensor_dynamic", sign_tensor_dynamic};
const kiln_type kiln_tensor_ruled = {"tensor_ruled", sign_tensor_spec};
const kiln_type kiln_list = {"list", sign_list};
const kiln_type kiln_none = {"none", sign_nothing};
