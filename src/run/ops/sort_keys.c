/*
 * sort_keys.c - see sort_keys.h. The keys are those that kernels use: codegen/runtime/order_keys.h.
 */
#include "run/ops/sort_keys.h"

#include <string.h>

#include "codegen/runtime/order_keys.h"

#define DEFINE_KEYS(name, type)                                                                                        \
    static void keys_##name(const char *data, int64_t stride, int64_t n, uint64_t *keys)                               \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type bits;                                                                                                 \
            memcpy(&bits, data + i * stride, sizeof bits);                                                             \
            keys[i] = key_##name(bits);                                                                                \
        }                                                                                                              \
    }

DEFINE_KEYS(b1, uint8_t)
DEFINE_KEYS(u8, uint8_t)
DEFINE_KEYS(u16, uint16_t)
DEFINE_KEYS(u32, uint32_t)
DEFINE_KEYS(u64, uint64_t)
DEFINE_KEYS(i8, uint8_t)
DEFINE_KEYS(i16, uint16_t)
DEFINE_KEYS(i32, uint32_t)
DEFINE_KEYS(i64, uint64_t)
DEFINE_KEYS(f16, uint16_t)
DEFINE_KEYS(f32, uint32_t)
DEFINE_KEYS(f64, uint64_t)
DEFINE_KEYS(bf16, uint16_t)
DEFINE_KEYS(c64, uint64_t)

kiln_order_keys *const kiln__order_keys[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = keys_b1,       [KILN_UINT8] = keys_u8,      [KILN_UINT16] = keys_u16,  [KILN_UINT32] = keys_u32,
    [KILN_UINT64] = keys_u64,    [KILN_INT8] = keys_i8,       [KILN_INT16] = keys_i16,   [KILN_INT32] = keys_i32,
    [KILN_INT64] = keys_i64,     [KILN_FLOAT16] = keys_f16,   [KILN_FLOAT32] = keys_f32, [KILN_FLOAT64] = keys_f64,
    [KILN_BFLOAT16] = keys_bf16, [KILN_COMPLEX64] = keys_c64,
};

uint64_t kiln__order_nan(enum kiln_dtype dtype)
{
    if (kiln__dtypes[dtype].kind < KILN_KIND_FLOAT) return 0;
    return UINT64_MAX >> (64 - 8 * kiln__dtype_size(dtype));
}
