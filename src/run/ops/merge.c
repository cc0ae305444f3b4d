/*
 * merge.c - see merge.h: one function per mode and dtype, made by macros from one loop.
 */
#include "run/ops/merge.h"

#include <math.h>
#include <string.h>

#include "codegen/runtime/complex_number.h"

#define SAME(x)           (x)
/* Every NaN is stored as one, as kernels do. */
#define SETTLED(x)        ((x) == (x) ? (x) : NAN)
#define SETTLED_HALF(x)   kiln__float_to_half(SETTLED(x))
#define SETTLED_BFLOAT(x) kiln__float_to_bfloat(SETTLED(x))
#define SECOND(a, b)      ((void)(a), (b))
#define PLUS(a, b)        ((a) + (b))
#define TIMES(a, b)       ((a) * (b))
#define LARGER(a, b)      ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b)     ((a) < (b) || (a) != (a) ? (a) : (b))
#define OR(a, b)          ((a) | (b))
#define AND(a, b)         ((a) & (b))

#define DEFINE_MERGE(name, memory, wide, FROM, TO, STEP)                                                               \
    static void name(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n)                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) {                                            \
            memory old, new;                                                                                           \
            memcpy(&old, to, sizeof old);                                                                              \
            memcpy(&new, from, sizeof new);                                                                            \
            wide a = (wide)FROM(old), b = (wide)FROM(new);                                                             \
            new = (memory)TO((STEP(a, b)));                                                                            \
            memcpy(to, &new, sizeof new);                                                                              \
        }                                                                                                              \
    }
#define DEFINE_NUMBER(name, memory, wide, FROM, TO)                                                                    \
    DEFINE_MERGE(add_##name, memory, wide, FROM, TO, PLUS)                                                             \
    DEFINE_MERGE(multiply_##name, memory, wide, FROM, TO, TIMES)                                                       \
    DEFINE_MERGE(larger_##name, memory, wide, FROM, TO, LARGER)                                                        \
    DEFINE_MERGE(smaller_##name, memory, wide, FROM, TO, SMALLER)
/* Signed numbers are added as unsigned ones, which wrap. */
#define DEFINE_SIGNED(name, memory, unsigned_memory)                                                                   \
    DEFINE_MERGE(larger_##name, memory, memory, SAME, SAME, LARGER)                                                    \
    DEFINE_MERGE(smaller_##name, memory, memory, SAME, SAME, SMALLER)

DEFINE_NUMBER(u8, uint8_t, uint64_t, SAME, SAME)
DEFINE_NUMBER(u16, uint16_t, uint64_t, SAME, SAME)
DEFINE_NUMBER(u32, uint32_t, uint64_t, SAME, SAME)
DEFINE_NUMBER(u64, uint64_t, uint64_t, SAME, SAME)
DEFINE_SIGNED(i8, int8_t, uint8_t)
DEFINE_SIGNED(i16, int16_t, uint16_t)
DEFINE_SIGNED(i32, int32_t, uint32_t)
DEFINE_SIGNED(i64, int64_t, uint64_t)
DEFINE_NUMBER(f16, uint16_t, float, kiln__half_to_float, SETTLED_HALF)
DEFINE_NUMBER(bf16, uint16_t, float, kiln__bfloat_to_float, SETTLED_BFLOAT)
DEFINE_NUMBER(f32, float, float, SAME, SETTLED)
DEFINE_NUMBER(f64, double, double, SAME, SETTLED)
DEFINE_MERGE(or_bool, uint8_t, uint8_t, SAME, SAME, OR)
DEFINE_MERGE(and_bool, uint8_t, uint8_t, SAME, SAME, AND)

#define DEFINE_COMPLEX(name, STEP)                                                                                     \
    static void name(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n)                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) {                                            \
            struct complex_number a, b;                                                                                \
            memcpy(&a, to, sizeof a);                                                                                  \
            memcpy(&b, from, sizeof b);                                                                                \
            a = complex_settled(STEP(a, b));                                                                           \
            memcpy(to, &a, sizeof a);                                                                                  \
        }                                                                                                              \
    }

DEFINE_COMPLEX(add_c64, complex_plus)
DEFINE_COMPLEX(multiply_c64, complex_times)
DEFINE_COMPLEX(larger_c64, complex_larger)
DEFINE_COMPLEX(smaller_c64, complex_smaller)

/* By size of an element: the bytes are moved as they are. */
#define DEFINE_SET(name, memory)                                                                                       \
    static void name(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n)                        \
    {                                                                                                                  \
        if (to_step == sizeof(memory) && from_step == sizeof(memory)) {                                                \
            memcpy(to, from, (size_t)n * sizeof(memory));                                                              \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) memcpy(to, from, sizeof(memory));            \
    }

DEFINE_SET(set_1, uint8_t)
DEFINE_SET(set_2, uint16_t)
DEFINE_SET(set_4, uint32_t)
DEFINE_SET(set_8, uint64_t)

#define NUMBER(name)                {NULL, add_##name, multiply_##name, larger_##name, smaller_##name}
#define SIGNED(name, unsigned_name) {NULL, add_##unsigned_name, multiply_##unsigned_name, larger_##name, smaller_##name}

static kiln_merge *const merges[KILN_DTYPE_COUNT][KILN_MERGE_MODES] = {
    [KILN_BOOL] = {NULL, or_bool, and_bool, or_bool, and_bool},
    [KILN_UINT8] = NUMBER(u8),
    [KILN_UINT16] = NUMBER(u16),
    [KILN_UINT32] = NUMBER(u32),
    [KILN_UINT64] = NUMBER(u64),
    [KILN_INT8] = SIGNED(i8, u8),
    [KILN_INT16] = SIGNED(i16, u16),
    [KILN_INT32] = SIGNED(i32, u32),
    [KILN_INT64] = SIGNED(i64, u64),
    [KILN_FLOAT16] = NUMBER(f16),
    [KILN_FLOAT32] = NUMBER(f32),
    [KILN_FLOAT64] = NUMBER(f64),
    [KILN_BFLOAT16] = NUMBER(bf16),
    [KILN_COMPLEX64] = NUMBER(c64),
};

kiln_merge *kiln__merge(enum kiln_merge_mode mode, enum kiln_dtype dtype)
{
    static kiln_merge *const sets[] = {set_1, set_2, set_4, set_8};
    if (mode == KILN_MERGE_SET) return sets[__builtin_ctz((unsigned)kiln__dtype_size(dtype))];
    return merges[dtype][mode];
}

void kiln__merge_block(const struct kiln_loop *block, kiln_merge *merge, int64_t to_offset, int64_t from_offset)
{
    const int64_t *to_strides = block->regions[0].strides, *from_strides = block->regions[1].strides;
    char *to = block->regions[0].data + to_offset;
    const char *from = block->regions[1].data + from_offset;
    if (block->ndim == 0) {
        merge(to, block->regions[0].item, from, block->regions[1].item, 1);
        return;
    }
    size_t last = block->ndim - 1;
    int64_t index[KILN_MAX_NDIM + 1] = {0};
    for (size_t axis = last;;) {
        merge(to, to_strides[last], from, from_strides[last], block->dims[last]);
        for (axis = last; axis-- > 0;) {
            bool wraps = ++index[axis] == block->dims[axis];
            int64_t steps = wraps ? 1 - block->dims[axis] : 1;
            if (wraps) index[axis] = 0;
            to += steps * to_strides[axis];
            from += steps * from_strides[axis];
            if (!wraps) break;
        }
        if (axis == SIZE_MAX) return;
    }
}
