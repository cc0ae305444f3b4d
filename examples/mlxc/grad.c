/*
 * grad.c - the derivative of a function of an array, three times: with jvp, with value_and_grad, and with
 * value_and_grad of a function that has a payload.
 */
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

static int add_payload(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new();
    int failed = mlx_vector_array_get(&x, in, 0) || add_value(&x, x, *(const float *)payload) ||
                 mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    return failed;
}

static int print_first(const char *title, mlx_vector_array list)
{
    mlx_array first = mlx_array_new();
    int failed = mlx_vector_array_get(&first, list, 0) || print_array(title, first);
    mlx_array_free(first);
    return failed;
}

/* How x + 1 changes when x changes by 1. */
static int show_jvp(mlx_closure function, mlx_vector_array x)
{
    mlx_array one = mlx_array_new_float(1);
    mlx_vector_array tangent = mlx_vector_array_new_value(one);
    mlx_vector_array out = mlx_vector_array_new(), dout = mlx_vector_array_new();
    int failed = mlx_jvp(&out, &dout, function, x, tangent) || print_first("out", out) || print_first("dout", dout);
    mlx_vector_array_free(out);
    mlx_vector_array_free(dout);
    mlx_vector_array_free(tangent);
    mlx_array_free(one);
    return failed;
}

static int show_gradient(mlx_closure function, mlx_vector_array x)
{
    const int first = 0;
    mlx_closure_value_and_grad gradient = mlx_closure_value_and_grad_new();
    mlx_vector_array out = mlx_vector_array_new(), dout = mlx_vector_array_new();
    int failed = mlx_value_and_grad(&gradient, function, &first, 1) ||
                 mlx_closure_value_and_grad_apply(&out, &dout, gradient, x) || print_first("out", out) ||
                 print_first("dout", dout);
    mlx_vector_array_free(out);
    mlx_vector_array_free(dout);
    mlx_closure_value_and_grad_free(gradient);
    return failed;
}

int main(void)
{
    float one = 1;
    mlx_array x = mlx_array_new_float(1);
    mlx_vector_array in = mlx_vector_array_new_value(x);
    mlx_closure plain = mlx_closure_new_unary(add_one);
    mlx_closure with_payload = mlx_closure_new_func_payload(add_payload, &one, NULL);
    int failed = show_jvp(plain, in) || show_gradient(plain, in) || show_gradient(with_payload, in);
    mlx_closure_free(with_payload);
    mlx_closure_free(plain);
    mlx_vector_array_free(in);
    mlx_array_free(x);
    return failed;
}
