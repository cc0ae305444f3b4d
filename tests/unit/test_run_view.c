/*
 * test_run_view.c - views share storage and show the right elements; reshape copies only when it must.
 */
#include "unit/run_support.h"

static struct kiln_array *reshape(struct kiln_array *a, size_t ndim, const int *dims)
{
    struct kiln_array *out = NULL;
    must_be(kiln__reshape(a, dims, ndim, &out, &err));
    eval(out);
    return out;
}

static struct kiln_array *cut(struct kiln_array *a, const int *start, const int *stop, const int *step)
{
    struct kiln_array *out = NULL;
    must_be(kiln__slice(a, start, stop, step, a->ndim, &out, &err));
    return out;
}

/* Elements of both in row-major order are equal; they share storage or not, as said. */
static void expect_same(const struct kiln_array *a, const struct kiln_array *b, bool shared)
{
    CHECK_EQ(a->size, b->size);
    for (int64_t i = 0; i < a->size; i++) CHECK_EQ(element_f32(a, i), element_f32(b, i));
    if (shared)
        CHECK_EQ(a->storage, b->storage);
    else
        CHECK_NE(a->storage, b->storage);
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

static void reshape_of_packed_shares(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(4, 6)), *flat = reshape(a, SHAPE(24)),
                      *many = reshape(a, SHAPE(1, 2, 1, 2, 3, 2, 1));
    expect_same(a, flat, true);
    expect_same(a, many, true);
    CHECK_TRUE(flat->row_contiguous && many->row_contiguous);
    struct kiln_array *one = counting(7, 0, NULL), *grown = reshape(one, SHAPE(1, 1, 1)),
                      *back = reshape(grown, 0, NULL);
    expect_same(one, back, true);
    unref_all((struct kiln_array *[]){a, flat, many, one, grown, back}, 6);
}

static void reshape_of_views(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(6, 4)), *turned = transpose(a, (int64_t[]){1, 0});
    struct kiln_array *split = reshape(turned, SHAPE(4, 2, 3)), *flat = reshape(turned, SHAPE(24));
    expect_same(turned, split, true); /* the axis of 6 divides */
    expect_same(turned, flat, false);
    CHECK_TRUE(flat->row_contiguous);
    struct kiln_array *every = cut(a, (int[]){0, 0}, (int[]){6, 4}, (int[]){2, 1}),
                      *pairs = reshape(every, SHAPE(3, 2, 2));
    expect_same(every, pairs, true);
    struct kiln_array *joined = reshape(every, SHAPE(12));
    expect_same(every, joined, false);
    struct kiln_array *back = cut(a, (int[]){5, 3}, (int[]){-7, -5}, (int[]){-1, -1}), *line = reshape(back, SHAPE(24));
    expect_same(back, line, true); /* one stride of -1 does */
    unref_all((struct kiln_array *[]){a, turned, split, flat, every, pairs, joined, back, line}, 9);
}

static void reshape_of_nothing(void **state)
{
    (void)state;
    struct kiln_array *empty = counting(0, SHAPE(3, 0)), *other = reshape(empty, SHAPE(0, 7, 2));
    CHECK_EQ(other->size, 0);
    CHECK_EQ(other->dims[1], 7);
    unref_all((struct kiln_array *[]){empty, other}, 2);
}

static void broadcast_repeats(void **state)
{
    (void)state;
    struct kiln_array *column = counting(1, SHAPE(3, 1)), *wide = NULL;
    must_be(kiln__broadcast_to(column, (int[]){2, 3, 4}, 3, &wide, &err));
    eval(wide);
    CHECK_EQ(wide->storage, column->storage);
    CHECK_FALSE(wide->row_contiguous);
    for (int64_t i = 0; i < 24; i++) CHECK_EQ(element_f32(wide, i), 1.0f + (float)(i / 4 % 3));
    unref_all((struct kiln_array *[]){column, wide}, 2);
}

static void expand_and_squeeze(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(2, 3)), *turned = transpose(a, (int64_t[]){1, 0});
    for (int axis = 0; axis < 3; axis++) {
        struct kiln_array *grown = NULL, *back = NULL;
        must_be(kiln__expand_dims(turned, axis, &grown, &err));
        must_be(kiln__squeeze_axis(grown, axis, &back, &err));
        eval(back);
        eval(grown);
        CHECK_EQ(grown->dims[axis], 1);
        expect_same(grown, turned, true);
        expect_same(back, turned, true);
        unref_all((struct kiln_array *[]){grown, back}, 2);
    }
    unref_all((struct kiln_array *[]){a, turned}, 2);
}

static void slices_count_both_ways(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(5, 7));
    struct kiln_array *inner = cut(a, (int[]){1, 2}, (int[]){4, 7}, (int[]){1, 2});
    struct kiln_array *back = cut(a, (int[]){4, 6}, (int[]){-6, 0}, (int[]){-2, -3});
    struct kiln_array *none = cut(a, (int[]){3, 0}, (int[]){3, 7}, (int[]){1, 1});
    eval(inner);
    eval(back);
    eval(none);
    for (int64_t i = 0; i < inner->size; i++) {
        CHECK_EQ(element_f32(inner, i), (float)((1 + i / 3) * 7 + 2 + i % 3 * 2));
    }
    CHECK_EQ(back->dims[0], 3);
    CHECK_EQ(back->dims[1], 2);
    for (int64_t i = 0; i < back->size; i++) {
        CHECK_EQ(element_f32(back, i), (float)((4 - i / 2 * 2) * 7 + 6 - i % 2 * 3));
    }
    CHECK_EQ(back->storage, a->storage);
    CHECK_EQ(none->size, 0);
    unref_all((struct kiln_array *[]){a, inner, back, none}, 4);
}

static void a_view_keeps_the_bytes(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(2, 3)), *turned = transpose(a, (int64_t[]){1, 0});
    eval(turned);
    kiln__array_unref(a);
    CHECK_EQ(element_f32(turned, 1), 3);
    kiln__array_unref(turned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshape_of_packed_shares), cmocka_unit_test(reshape_of_views),
        cmocka_unit_test(reshape_of_nothing),       cmocka_unit_test(broadcast_repeats),
        cmocka_unit_test(expand_and_squeeze),       cmocka_unit_test(slices_count_both_ways),
        cmocka_unit_test(a_view_keeps_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
