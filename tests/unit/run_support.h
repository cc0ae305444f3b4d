/*
 * run_support.h - what the tests of the run layer share: arrays from C, and their elements in row-major order.
 */
#ifndef KILN_TESTS_RUN_SUPPORT_H
#define KILN_TESTS_RUN_SUPPORT_H

#include "ops/compose.h"
#include "run/eval.h"
#include "support/check.h"

/* "float32 [2,3]" until the end of the block. */
#define CHECK_ARRAY_CONTEXT(what, dtype, ndim, dims)                                                                   \
    CHECK_CONTEXT("%s %s %s", (what), kiln__dtypes[dtype].name,                                                        \
                  kiln__shape_text((dims), (ndim), (char[KILN_SHAPE_TEXT]){""}))

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SHAPE(...)                                                                                                     \
    COUNT(((int[]){__VA_ARGS__})), (int[])                                                                             \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* must_be(call(..., &err)) */
#define must_be(call)                                                                                                  \
    do {                                                                                                               \
        kiln_error err = {.status = KILN_OK};                                                                          \
        CHECK_OK(call, &err);                                                                                          \
    } while (0)

static inline void eval(struct kiln_array *array)
{
    kiln_error err = {.text = ""};
    CHECK_OK(kiln__eval(&array, 1, &err), &err);
    CHECK_TRUE(kiln__array_is_ready(array));
}
#define eval(...) CHECK_CALL(eval, __VA_ARGS__)

static inline struct kiln_array *from_data(const void *data, enum kiln_dtype dtype, size_t ndim, const int *dims)
{
    struct kiln_array *array = NULL;
    must_be(kiln__array_from_data(data, dtype, ndim, dims, &array, &err));
    return array;
}
#define from_data(...) CHECK_CALL(from_data, __VA_ARGS__)

static inline struct kiln_array *apply(enum kiln_op op, struct kiln_array *const *inputs, size_t count,
                                       const int64_t *attrs, size_t attr_count)
{
    struct kiln_array *array = NULL;
    must_be(kiln__apply(op, inputs, count, attrs, attr_count, &array, &err));
    return array;
}
#define apply(...) CHECK_CALL(apply, __VA_ARGS__)

static inline struct kiln_array *unary(enum kiln_op op, struct kiln_array *a)
{
    return apply(op, &a, 1, NULL, 0);
}
#define unary(...) CHECK_CALL(unary, __VA_ARGS__)

static inline struct kiln_array *binary(enum kiln_op op, struct kiln_array *a, struct kiln_array *b)
{
    return apply(op, (struct kiln_array *[]){a, b}, 2, NULL, 0);
}
#define binary(...) CHECK_CALL(binary, __VA_ARGS__)

static inline struct kiln_array *transpose(struct kiln_array *a, const int64_t *axes)
{
    return apply(KILN_OP_TRANSPOSE, &a, 1, axes, a->ndim);
}
#define transpose(...) CHECK_CALL(transpose, __VA_ARGS__)

static inline struct kiln_array *sum_axis(struct kiln_array *a, int64_t axis, bool keep)
{
    return apply(KILN_OP_SUM, &a, 1, (int64_t[]){axis, keep}, 2);
}
#define sum_axis(...) CHECK_CALL(sum_axis, __VA_ARGS__)

/* The bytes of element `i` in row-major order of a ready array. */
static inline const void *element(const struct kiln_array *array, int64_t i)
{
    int64_t offset = 0;
    for (size_t axis = array->ndim; axis-- > 0;) {
        offset += i % array->dims[axis] * array->strides[axis];
        i /= array->dims[axis];
    }
    return array->data + offset * (int64_t)kiln__dtype_size(array->dtype);
}

static inline float element_f32(const struct kiln_array *array, int64_t i)
{
    float value;
    memcpy(&value, element(array, i), sizeof value);
    return value;
}

/* Elements of every dtype but complex64 as a double; exact for the small numbers that tests use. */
static inline double element_number(const struct kiln_array *array, int64_t i)
{
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } value;
    memcpy(&value, element(array, i), kiln__dtype_size(array->dtype));
    switch ((enum kiln_dtype)array->dtype) {
    case KILN_BOOL:
    case KILN_UINT8:
        return value.u8;
    case KILN_UINT16:
        return value.u16;
    case KILN_UINT32:
        return value.u32;
    case KILN_UINT64:
        return (double)value.u64;
    case KILN_INT8:
        return value.i8;
    case KILN_INT16:
        return value.i16;
    case KILN_INT32:
        return value.i32;
    case KILN_INT64:
        return (double)value.i64;
    case KILN_FLOAT16:
        return (double)kiln__half_to_float(value.u16);
    case KILN_BFLOAT16:
        return (double)kiln__bfloat_to_float(value.u16);
    case KILN_FLOAT64:
        return value.f64;
    default:
        return (double)value.f32;
    }
}

/* A float32 array of `ndim` axes with elements start, start + 1, ... */
static inline struct kiln_array *counting(float start, size_t ndim, const int *dims)
{
    struct kiln_array *array = NULL;
    must_be(kiln__array_alloc(KILN_FLOAT32, ndim, dims, &array, &err));
    for (int64_t i = 0; i < array->size; i++) {
        float value = start + (float)i;
        memcpy(array->data + i * 4, &value, sizeof value);
    }
    return array;
}
#define counting(...) CHECK_CALL(counting, __VA_ARGS__)

static inline void unref_all(struct kiln_array **arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) kiln__array_unref(arrays[i]);
}

#endif
