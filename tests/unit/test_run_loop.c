/*
 * test_run_loop.c - collapsing keeps every element's address and leaves as few axes as can be.
 */
#include "run/kernels/loop.h"
#include "unit/run_support.h"

/* A loop over `dims` with two float regions of the given strides, in elements. */
static void make(struct kiln_loop *loop, struct kiln_region *regions, size_t ndim, const int *dims,
                 const int64_t *first, const int64_t *second)
{
    kiln__loop_init(loop, ndim, dims, regions, 2);
    const int64_t *strides[2] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        regions[i].data = NULL;
        regions[i].item = 4;
        for (size_t axis = 0; axis < ndim; axis++) regions[i].strides[axis] = strides[i][axis] * 4;
    }
}

static int64_t address(const struct kiln_loop *loop, size_t region, int64_t i)
{
    int64_t sum = 0;
    for (size_t axis = loop->ndim; axis-- > 0;) {
        sum += i % loop->dims[axis] * loop->regions[region].strides[axis];
        i /= loop->dims[axis];
    }
    return sum;
}

static void expect(size_t ndim, const int *dims, const int64_t *first, const int64_t *second, size_t axes_left)
{
    struct kiln_region before[2], after[2];
    struct kiln_loop whole, collapsed;
    make(&whole, before, ndim, dims, first, second);
    make(&collapsed, after, ndim, dims, first, second);
    kiln__loop_collapse(&collapsed);
    CHECK_EQ(collapsed.ndim, axes_left);
    CHECK_EQ(kiln__loop_size(&collapsed), kiln__loop_size(&whole));
    for (int64_t i = 0; i < kiln__loop_size(&whole); i++) {
        for (size_t region = 0; region < 2; region++) {
            CHECK_EQ(address(&collapsed, region, i), address(&whole, region, i));
        }
    }
}
#define expect(...) CHECK_CALL(expect, __VA_ARGS__)

static void packed_becomes_one_axis(void **state)
{
    (void)state;
    expect(SHAPE(2, 3, 4), (int64_t[]){12, 4, 1}, (int64_t[]){12, 4, 1}, 1);
}

static void axes_of_one_go(void **state)
{
    (void)state;
    expect(SHAPE(1, 3, 1), (int64_t[]){77, 2, 99}, (int64_t[]){5, 1, 6}, 1);
    expect(SHAPE(1, 1), (int64_t[]){3, 4}, (int64_t[]){5, 6}, 0);
}

static void broadcast_axes_merge_together(void **state)
{
    (void)state;
    expect(SHAPE(2, 3, 4), (int64_t[]){12, 4, 1}, (int64_t[]){0, 0, 1}, 2);
    expect(SHAPE(2, 3, 4), (int64_t[]){12, 4, 1}, (int64_t[]){0, 0, 0}, 1);
}

static void transposed_axes_stay_apart(void **state)
{
    (void)state;
    expect(SHAPE(3, 4), (int64_t[]){4, 1}, (int64_t[]){1, 3}, 2);
    expect(SHAPE(3, 4, 5), (int64_t[]){20, 5, 1}, (int64_t[]){-1, 15, 3}, 2);
}

static void an_axis_can_be_taken_out_and_put_in(void **state)
{
    (void)state;
    struct kiln_region regions[2];
    struct kiln_loop loop;
    make(&loop, regions, SHAPE(2, 3, 4), (int64_t[]){12, 4, 1}, (int64_t[]){1, 2, 6});
    kiln__loop_remove_axis(&loop, 1);
    CHECK_EQ(loop.ndim, 2);
    CHECK_EQ(loop.dims[1], 4);
    CHECK_EQ(regions[1].strides[1], 24);
    kiln__loop_insert_axis(&loop, 1, 5);
    CHECK_EQ(loop.ndim, 3);
    CHECK_MEM(loop.dims, ((int64_t[]){2, 5, 4}), 3 * sizeof *loop.dims);
    CHECK_EQ(regions[1].strides[2], 24);
    kiln__loop_remove_axis(&loop, 1);
    kiln__loop_append_unit(&loop);
    CHECK_EQ(loop.ndim, 3);
    CHECK_EQ(loop.dims[2], 1);
    CHECK_EQ(regions[0].strides[2], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_becomes_one_axis),
        cmocka_unit_test(axes_of_one_go),
        cmocka_unit_test(broadcast_axes_merge_together),
        cmocka_unit_test(transposed_axes_stay_apart),
        cmocka_unit_test(an_axis_can_be_taken_out_and_put_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
