/*
 * test_run_copy.c - contiguous packs, concatenate puts each input into its place, along every axis.
 */
#include "unit/run_support.h"

static void contiguous_packs_views(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(2, 3)), *turned = transpose(a, (int64_t[]){1, 0});
    struct kiln_array *packed = unary(KILN_OP_CONTIGUOUS, turned), *same = unary(KILN_OP_CONTIGUOUS, a);
    eval(packed);
    eval(same);
    CHECK_TRUE(packed->row_contiguous);
    CHECK_MEM(packed->data, ((float[]){0, 3, 1, 4, 2, 5}), 24);
    CHECK_EQ(same->storage, a->storage);
    unref_all((struct kiln_array *[]){a, turned, packed, same}, 4);
}

/* Joins three arrays, one of them transposed, along `axis` of a (2, 3, 4) space and looks at each element. */
static void expect_joined(int axis, int last)
{
    int dims[3] = {2, 3, 4}, turned_dims[3] = {4, 3, 2}, last_dims[3] = {2, 3, 4};
    last_dims[axis] = last;
    struct kiln_array *a = counting(0, 3, dims), *base = counting(100, 3, turned_dims),
                      *c = counting(200, 3, last_dims);
    struct kiln_array *parts[3] = {a, transpose(base, (int64_t[]){2, 1, 0}), c}, *joined = NULL;
    must_be(kiln__concatenate(parts, 3, axis, &joined, &err));
    eval(joined);
    eval(parts[1]);
    for (int64_t i = 0; i < joined->size; i++) {
        int64_t index[3], rest = i, part = 0, position = 0;
        for (int k = 2; k >= 0; rest /= joined->dims[k], k--) index[k] = rest % joined->dims[k];
        while (index[axis] >= parts[part]->dims[axis]) index[axis] -= parts[part++]->dims[axis];
        for (int k = 0; k < 3; k++) position = position * parts[part]->dims[k] + index[k];
        CHECK_EQ(element_f32(joined, i), element_f32(parts[part], position));
    }
    unref_all((struct kiln_array *[]){a, base, c, parts[1], joined}, 5);
}

static void concatenate_along_every_axis(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        for (int last = 0; last < 4; last++) expect_joined(axis, last);
    }
}

static void concatenate_empty_and_single(void **state)
{
    (void)state;
    struct kiln_array *none = counting(0, SHAPE(0)), *both[2] = {none, none}, *joined = NULL, *alone = NULL;
    must_be(kiln__concatenate(both, 2, 0, &joined, &err));
    eval(joined);
    CHECK_EQ(joined->size, 0);
    struct kiln_array *one = counting(5, SHAPE(3));
    must_be(kiln__concatenate(&one, 1, 0, &alone, &err));
    eval(alone);
    CHECK_MEM(alone->data, one->data, 12);
    unref_all((struct kiln_array *[]){none, joined, one, alone}, 4);
}

static void small_dtypes_side_by_side(void **state)
{
    (void)state;
    uint8_t left[] = {1, 2, 3}, right[] = {4, 5, 6, 7, 8, 9};
    struct kiln_array *parts[2] = {from_data(left, KILN_UINT8, SHAPE(3, 1)), from_data(right, KILN_UINT8, SHAPE(3, 2))};
    struct kiln_array *joined = NULL;
    must_be(kiln__concatenate(parts, 2, 1, &joined, &err));
    eval(joined);
    CHECK_MEM(joined->data, ((uint8_t[]){1, 4, 5, 2, 6, 7, 3, 8, 9}), 9);
    unref_all((struct kiln_array *[]){parts[0], parts[1], joined}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_packs_views),
        cmocka_unit_test(concatenate_along_every_axis),
        cmocka_unit_test(concatenate_empty_and_single),
        cmocka_unit_test(small_dtypes_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
