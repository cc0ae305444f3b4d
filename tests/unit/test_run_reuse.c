/*
 * test_run_reuse.c - which operands a kernel may write over, and which arrays may be updated in place.
 */
#include "run/reuse.h"
#include "support/check.h"

enum { AXES = 3 };

struct layout {
    int ndim, dims[AXES];
    int64_t strides[AXES]; /* all 0: packed */
};

static struct kiln_array *array_of(const struct layout *layout, enum kiln_dtype dtype)
{
    const int most[] = {4096};
    struct kiln_array *storage = NULL, *view = NULL;
    bool is_packed = true;
    for (int i = 0; i < layout->ndim; i++) is_packed &= layout->strides[i] == 0;
    if (is_packed) {
        CHECK_STATUS(kiln__array_alloc(dtype, (size_t)layout->ndim, layout->dims, &view, NULL), KILN_OK);
        return view;
    }
    CHECK_STATUS(kiln__array_alloc(dtype, 1, most, &storage, NULL), KILN_OK);
    CHECK_STATUS(kiln__array_view(storage, (size_t)layout->ndim, layout->dims, layout->strides, 0, &view, NULL),
                 KILN_OK);
    kiln__array_unref(storage);
    return view;
}

static const struct {
    struct layout operand, out, space;
    enum kiln_dtype operand_dtype, out_dtype;
    bool can;
    const char *what;
} kernels[] = {
    {{2, {4, 4}}, {2, {4, 4}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, true, "the same elements"},
    {{2, {4, 4}}, {2, {4, 4}}, {2, {4, 4}}, KILN_INT32, KILN_FLOAT32, true, "of one size"},
    {{2, {4, 4}}, {2, {4, 4}}, {2, {4, 4}}, KILN_FLOAT16, KILN_FLOAT32, false, "of another size"},
    {{1, {4}}, {2, {1, 4}}, {2, {1, 4}}, KILN_FLOAT32, KILN_FLOAT32, true, "without an axis of one"},
    {{3, {2, 1, 4}}, {3, {2, 1, 4}}, {3, {2, 1, 4}}, KILN_FLOAT32, KILN_FLOAT32, true, "with an axis of one"},
    {{1, {4}}, {1, {4}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "a row that all rows read"},
    {{1, {4}}, {2, {4, 1}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "the same, with its axis"},
    {{3, {3, 1, 4}}, {2, {3, 4}}, {3, {3, 4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "a row that some rows read"},
    {{3, {3, 1, 4}}, {3, {3, 4, 1}}, {3, {3, 4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "the same, with its axis"},
    {{2, {4, 1}}, {2, {4, 1}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "what a row shares"},
    {{2, {4, 4}, {1, 4}}, {2, {4, 4}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "turned"},
    {{2, {4, 4}, {0, 1}}, {2, {4, 4}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "repeated by a view"},
    {{2, {4, 4}, {8, 1}}, {2, {4, 4}}, {2, {4, 4}}, KILN_FLOAT32, KILN_FLOAT32, false, "with gaps"},
};

static void test_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct kiln_array *operand = array_of(&kernels[i].operand, kernels[i].operand_dtype), *out = NULL;
        const struct layout *space = &kernels[i].space;
        CHECK_STATUS(
            kiln__array_new(kernels[i].out_dtype, (size_t)kernels[i].out.ndim, kernels[i].out.dims, &out, NULL),
            KILN_OK);
        bool can = kiln__can_write_over(operand, out, space->dims, (size_t)space->ndim);
        if (can != kernels[i].can) CHECK_FAIL("%s: %s", kernels[i].what, can ? "written over" : "not written over");
        struct kiln_array *other = kiln__array_ref(operand);
        CHECK_FALSE(kiln__can_write_over(operand, out, space->dims, (size_t)space->ndim));
        kiln__array_unref(other), kiln__array_unref(operand), kiln__array_unref(out);
    }
}

static const struct {
    struct layout array;
    bool can;
    const char *what;
} updates[] = {
    {{2, {3, 4}}, true, "packed"},
    {{2, {3, 4}, {1, 3}}, true, "turned"},
    {{2, {3, 4}, {8, 2}}, true, "with gaps"},
    {{3, {2, 3, 4}, {1, 8, 2}}, true, "in any order of axes"},
    {{2, {3, 4}, {0, 1}}, false, "a row for all rows"},
    {{2, {3, 4}, {1, 1}}, false, "windows that overlap"},
    {{2, {3, 4}, {3, 1}}, false, "windows that overlap at their ends"},
    {{2, {1, 4}, {1, 1}}, true, "one window"},
    {{2, {3, 1}, {4, 1}}, true, "a column"},
    {{0, {0}}, true, "one element"},
};

static void test_updates(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        struct kiln_array *array = array_of(&updates[i].array, KILN_FLOAT32);
        bool can = kiln__can_update(array);
        if (can != updates[i].can) CHECK_FAIL("%s: %s", updates[i].what, can ? "updated" : "not updated");
        struct kiln_storage *other = kiln__storage_ref(array->storage);
        CHECK_FALSE(kiln__can_update(array));
        kiln__storage_unref(other), kiln__array_unref(array);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_updates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
