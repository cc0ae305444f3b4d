/*
 * agree_ordered.c - operations in which the order of elements counts, the same bits on both devices: results that are
 * accumulated, sorted, or written through indices that repeat; series and random words.
 */
#include <stdio.h>

#include "agree.h"

static const int shapes[][3] = {{3, 2100, 1}, {40, 70, 1}, {3, 20, 300}};
enum { SHAPES = sizeof shapes / sizeof *shapes, MERGES = 5, UPDATES = 57, LIMIT = 5 };

/* Integers from 0 on, below `limit`; of signed dtypes some count from the end. */
static mlx_array make_indices(mlx_dtype dtype, int limit, const int *shape, int ndim)
{
    mlx_array res = mlx_array_new(), key = mlx_array_new(), from = mlx_array_new_int(dtype < MLX_INT8 ? 0 : -limit);
    mlx_array to = mlx_array_new_int(limit);
    mlx_random_key(&key, next_random());
    if (!mlx_random_randint(&res, from, to, shape, (size_t)ndim, MLX_INT32, key, cpu))
        mlx_astype(&res, res, dtype, cpu);
    mlx_array_eval(res);
    return mlx_array_free(key), mlx_array_free(from), mlx_array_free(to), res;
}

/* Both streams of one call, of which both may refuse a dtype. */
#define CHECK_BOTH(what, dtype, call)                                                                                  \
    do {                                                                                                               \
        mlx_array both[2] = {mlx_array_new(), mlx_array_new()};                                                        \
        char text[80];                                                                                                 \
        int failed = 0;                                                                                                \
        snprintf(text, sizeof text, "%s(%s)", what, dtype_names[dtype]);                                               \
        for (int side = 0; side < 2; side++) {                                                                         \
            mlx_array *res = &both[side];                                                                              \
            const mlx_stream stream = side ? gpu : cpu;                                                                \
            failed |= (call) != 0;                                                                                     \
        }                                                                                                              \
        if (!failed) compare(text, both[0], both[1]);                                                                  \
        mlx_array_free(both[0]), mlx_array_free(both[1]);                                                              \
    } while (0)

static void check_cumulative(mlx_array x, mlx_dtype dtype)
{
    static const struct {
        const char *name;
        int (*call)(mlx_array *, const mlx_array, int, bool, bool, const mlx_stream);
    } rows[] = {{"cumsum", mlx_cumsum}, {"cumprod", mlx_cumprod}, {"cummax", mlx_cummax}, {"cummin", mlx_cummin}};
    for (int i = 0; i < 16; i++)
        if (!is_left_out()) CHECK_BOTH(rows[i / 4].name, dtype, rows[i / 4].call(res, x, 1, i & 1, i & 2, stream));
}

static void check_sorting(mlx_array x, mlx_dtype dtype)
{
    if (!is_left_out()) CHECK_BOTH("sort", dtype, mlx_sort_axis(res, x, 1, stream));
    if (!is_left_out()) CHECK_BOTH("argsort", dtype, mlx_argsort_axis(res, x, 1, stream));
}

/* Through two arrays of indices, and through one whose updates go over the first axis too. */
static void check_scatters(mlx_array x, const int *shape, mlx_dtype dtype)
{
    static int (*const calls[MERGES])(mlx_array *, const mlx_array, const mlx_vector_array, const mlx_array,
                                      const int *, size_t, const mlx_stream) = {
        mlx_scatter, mlx_scatter_add, mlx_scatter_prod, mlx_scatter_max, mlx_scatter_min};
    static const char *const names[] = {"scatter", "scatter_add", "scatter_prod", "scatter_max", "scatter_min"};
    for (int i = 0; i < 2 * MERGES; i++) {
        if (is_left_out()) continue;
        const bool is_pair = i < MERGES;
        const int rows[] = {UPDATES}, block[] = {UPDATES, is_pair ? 1 : shape[0], 1, shape[2]}, axes[] = {1, 0};
        mlx_array indices[2] = {make_indices(i & 1 ? MLX_INT64 : MLX_UINT8, LIMIT, rows, 1),
                                make_indices(MLX_INT32, shape[0], rows, 1)};
        mlx_array updates = make(dtype, block, 4);
        mlx_vector_array all = mlx_vector_array_new_data(indices, is_pair ? 2 : 1);
        CHECK_BOTH(names[i % MERGES], dtype, calls[i % MERGES](res, x, all, updates, axes, is_pair ? 2 : 1, stream));
        mlx_vector_array_free(all), mlx_array_free(updates);
        mlx_array_free(indices[0]), mlx_array_free(indices[1]);
    }
}

static void check_along(mlx_array x, const int *shape, mlx_dtype dtype)
{
    const int part[] = {shape[0], 9, shape[2]};
    mlx_array indices = make_indices(MLX_INT32, LIMIT, part, 3), updates = make(dtype, part, 3);
    if (!is_left_out()) CHECK_BOTH("put_along_axis", dtype, mlx_put_along_axis(res, x, indices, updates, 1, stream));
    if (!is_left_out())
        CHECK_BOTH("scatter_add_axis", dtype, mlx_scatter_add_axis(res, x, indices, updates, 1, stream));
    mlx_array_free(indices), mlx_array_free(updates);
}

void check_ordered(mlx_dtype dtype)
{
    for (size_t i = 0; i < SHAPES; i++) {
        mlx_array x = make(dtype, shapes[i], 3);
        check_cumulative(x, dtype);
        check_sorting(x, dtype);
        check_scatters(x, shapes[i], dtype);
        check_along(x, shapes[i], dtype);
        mlx_array_free(x);
    }
    if (dtype == MLX_BOOL) return;
    if (!is_left_out()) CHECK_BOTH("arange", dtype, mlx_arange(res, 3, 90, 1.7, dtype, stream));
    if (!is_left_out()) CHECK_BOTH("linspace", dtype, mlx_linspace(res, -3, 5, 77, dtype, stream));
}

/* From a key of the host, and from one that the same device makes. */
void check_random(void)
{
    static const int counts[] = {0, 1, 2, 3, 255, 1023, 1024, 1025, 100001, 3000000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int width = 1; width <= 4; width *= 2) {
            if (is_left_out()) continue;
            char what[80];
            mlx_array key = mlx_array_new(), res[4];
            mlx_random_key(&key, next_random());
            int code = 0;
            for (int k = 0; k < 4; k++) {
                mlx_array next = mlx_array_new(), made = mlx_array_new();
                res[k] = mlx_array_new();
                const mlx_stream stream = k % 2 ? gpu : cpu;
                code |= mlx_random_split(&next, &made, key, stream) ||
                        mlx_random_bits(&res[k], &counts[i], 1, width, k < 2 ? key : made, stream);
                mlx_array_free(next), mlx_array_free(made);
            }
            snprintf(what, sizeof what, "random bits, %d of %d bytes", counts[i], width);
            if (!code) compare(what, res[0], res[1]), compare(what, res[2], res[3]);
            for (int k = 0; k < 4; k++) mlx_array_free(res[k]);
            mlx_array_free(key);
        }
    }
}
