/*
 * abi_tostring.c - an array as text: "array([[1, 2],\n       [3, 4]], dtype=int32)".
 *
 * Numbers come out as a C++ stream prints them by default, which is %g. An axis of more than 6 shows its first and
 * last 3. Only the last axis stays on one line; a line of axis d is indented by 7 + d, the length of "array(" and the
 * brackets that are open. Strides are honoured, so views print like any array.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "mlxc/handle.h"
#include "run/eval.h"

enum { EDGE = 3 }; /* elements shown at each end of a long axis */

#define KILN_PRINT_AS(name, type, ...)                                                                                 \
    static void print_##name(struct kiln_buffer *text, const char *data)                                               \
    {                                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, data, sizeof value);                                                                            \
        kiln__buffer_printf(text, __VA_ARGS__);                                                                        \
    }

KILN_PRINT_AS(bool, uint8_t, "%s", value ? "true" : "false")
KILN_PRINT_AS(uint8, uint8_t, "%" PRIu8, value)
KILN_PRINT_AS(uint16, uint16_t, "%" PRIu16, value)
KILN_PRINT_AS(uint32, uint32_t, "%" PRIu32, value)
KILN_PRINT_AS(uint64, uint64_t, "%" PRIu64, value)
KILN_PRINT_AS(int8, int8_t, "%" PRId8, value)
KILN_PRINT_AS(int16, int16_t, "%" PRId16, value)
KILN_PRINT_AS(int32, int32_t, "%" PRId32, value)
KILN_PRINT_AS(int64, int64_t, "%" PRId64, value)
KILN_PRINT_AS(float16, uint16_t, "%g", (double)kiln__half_to_float(value))
KILN_PRINT_AS(float32, float, "%g", (double)value)
KILN_PRINT_AS(float64, double, "%g", value)
KILN_PRINT_AS(bfloat16, uint16_t, "%g", (double)kiln__bfloat_to_float(value))

static void print_complex64(struct kiln_buffer *text, const char *data)
{
    float parts[2];
    memcpy(parts, data, sizeof parts);
    kiln__buffer_printf(text, "%g%s%gj", (double)parts[0], parts[1] < 0 ? "" : "+", (double)parts[1]);
}

static void (*const print_element[KILN_DTYPE_COUNT])(struct kiln_buffer *text, const char *data) = {
    [KILN_BOOL] = print_bool,         [KILN_UINT8] = print_uint8,         [KILN_UINT16] = print_uint16,
    [KILN_UINT32] = print_uint32,     [KILN_UINT64] = print_uint64,       [KILN_INT8] = print_int8,
    [KILN_INT16] = print_int16,       [KILN_INT32] = print_int32,         [KILN_INT64] = print_int64,
    [KILN_FLOAT16] = print_float16,   [KILN_FLOAT32] = print_float32,     [KILN_FLOAT64] = print_float64,
    [KILN_BFLOAT16] = print_bfloat16, [KILN_COMPLEX64] = print_complex64,
};

/* One axis and those inside it; recursion ends at the rank, which is at most KILN_MAX_NDIM. */
static void print_axis(struct kiln_buffer *text, const struct kiln_array *array, const char *data, int axis)
{
    bool is_last = axis == array->ndim - 1;
    int count = array->dims[axis];
    int64_t step = array->strides[axis] * (int64_t)kiln__dtype_size(array->dtype);
    kiln__buffer_append(text, "[", 1);
    for (int i = 0; i < count; i++) {
        if (i > 0 && !is_last) kiln__buffer_printf(text, "%*s", 7 + axis, "");
        if (i == EDGE && count > 2 * EDGE) {
            kiln__buffer_append(text, "...", 3);
            i = count - EDGE - 1;
        } else if (is_last) {
            print_element[array->dtype](text, data + i * step);
        } else {
            print_axis(text, array, data + i * step, axis + 1);
        }
        if (i < count - 1) kiln__buffer_append(text, is_last ? ", " : ",\n", 2);
    }
    kiln__buffer_append(text, "]", 1);
}

int mlx_array_tostring(mlx_string *str, const mlx_array arr)
{
    kiln_error err;
    if (KILN_NO_POINTER(str) || KILN_NO_ARRAY(arr)) return 1;
    struct kiln_array *array = kiln__unwrap(arr), *host;
    if (kiln__eval(&array, 1, &err) || kiln__array_fetch(array, &host, &err)) return KILN_FAIL(&err);
    struct kiln_buffer text = {0};
    kiln__buffer_append(&text, "array(", 6);
    if (array->ndim)
        print_axis(&text, host, host->data, 0);
    else
        print_element[array->dtype](&text, host->data);
    kiln__buffer_printf(&text, ", dtype=%s)", kiln__dtypes[array->dtype].name);
    int code = text.failed ? KILN_FAIL_TEXT("out of memory: the text of an array")
                           : kiln__give_text(str, (const char *)text.data, text.size);
    kiln__buffer_release(&text);
    kiln__array_unref(host);
    return code;
}
