/*
 * closure.c - functions of arrays as values: a plain one, one with a payload, and one that fails.
 */
#include <math.h>
#include <stdlib.h>

#include "print.h"

/* The gpu stream is there without a GPU too. */
static int add_value(mlx_array *res, mlx_array x, float value)
{
    mlx_stream stream = mlx_default_gpu_stream_new();
    mlx_array addend = mlx_array_new_float(value);
    int failed = mlx_add(res, x, addend, stream);
    mlx_array_free(addend);
    mlx_stream_free(stream);
    return failed;
}

static int add_one(mlx_array *res, const mlx_array x)
{
    return add_value(res, x, 1);
}

/* ---- a payload ----------------------------------------------------------------------------------------------------
 */

struct addend {
    float value;
    const char *complaint; /* what went wrong, for the caller */
};

static int has_nan(bool *answer, mlx_array x)
{
    mlx_stream stream = mlx_default_gpu_stream_new();
    mlx_array flags = mlx_array_new();
    int failed =
        mlx_isnan(&flags, x, stream) || mlx_any(&flags, flags, false, stream) || mlx_array_item_bool(answer, flags);
    mlx_array_free(flags);
    mlx_stream_free(stream);
    return failed;
}

static int add_payload(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct addend *addend = payload;
    bool is_nan = false;
    mlx_array x = mlx_array_new();
    int failed = mlx_vector_array_get(&x, in, 0) || has_nan(&is_nan, x);
    if (!failed && is_nan) addend->complaint = "nan detected", failed = 1;
    if (!failed) failed = add_value(&x, x, addend->value) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    return failed;
}

/* ---- calls --------------------------------------------------------------------------------------------------------
 */

static int apply(mlx_closure closure, mlx_array x, const char *title)
{
    mlx_array result = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    int failed =
        mlx_closure_apply(&out, closure, in) || mlx_vector_array_get(&result, out, 0) || print_array(title, result);
    mlx_array_free(result);
    mlx_vector_array_free(in);
    mlx_vector_array_free(out);
    return failed;
}

static void ignore_error(const char *text, void *data)
{
    (void)data;
    printf("ignoring the error: <%s>\n", text);
}

int main(void)
{
    struct addend two = {2, NULL};
    mlx_array x = mlx_array_new_float(1);
    mlx_closure one_more = mlx_closure_new_unary(add_one);
    mlx_closure two_more = mlx_closure_new_func_payload(add_payload, &two, NULL);
    mlx_set_error_handler(ignore_error, NULL, NULL);
    int failed = print_array("x", x) || apply(one_more, x, "+1") || apply(two_more, x, "+2");
    if (!failed) failed = mlx_array_set_float(&x, NAN) || !apply(two_more, x, "+2"); /* this one has to fail */
    if (!failed) printf("closure failed with: <%s>\n", two.complaint);
    mlx_closure_free(one_more);
    mlx_closure_free(two_more);
    mlx_array_free(x);
    return failed;
}
