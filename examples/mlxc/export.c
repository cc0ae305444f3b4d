/*
 * export.c - functions in files: one of a listed array, called with the array and by a name, and one of named arrays.
 */
#include "print.h"

/* The gpu stream is there without a GPU too. */
static int add_one(mlx_array *res, const mlx_array x)
{
    mlx_stream stream = mlx_default_gpu_stream_new();
    mlx_array one = mlx_array_new_float(1);
    int failed = mlx_add(res, x, one, stream);
    mlx_array_free(one);
    mlx_stream_free(stream);
    return failed;
}

static int square_x(mlx_vector_array *res, const mlx_vector_array listed, const mlx_map_string_to_array named)
{
    mlx_stream stream = mlx_default_gpu_stream_new();
    mlx_array x = mlx_array_new();
    (void)listed;
    int failed = mlx_map_string_to_array_get(&x, named, "x") || mlx_multiply(&x, x, x, stream) ||
                 mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    mlx_stream_free(stream);
    return failed;
}

/* x becomes what the function of the file gives for it, which is told apart by name or not. */
static int apply(const char *file, mlx_array *x, bool by_name)
{
    mlx_imported_function function = mlx_imported_function_new(file);
    mlx_vector_array listed = mlx_vector_array_new(), out = mlx_vector_array_new();
    mlx_map_string_to_array named = mlx_map_string_to_array_new();
    int failed = by_name ? mlx_map_string_to_array_insert(named, "x", *x) : mlx_vector_array_append_value(listed, *x);
    if (!failed) failed = mlx_imported_function_apply_kwargs(&out, function, listed, named);
    if (!failed) failed = mlx_vector_array_get(x, out, 0);
    mlx_vector_array_free(listed);
    mlx_vector_array_free(out);
    mlx_map_string_to_array_free(named);
    mlx_imported_function_free(function);
    return failed;
}

static int export_both(mlx_array x)
{
    mlx_closure increment = mlx_closure_new_unary(add_one);
    mlx_closure_kwargs square = mlx_closure_kwargs_new_func(square_x);
    mlx_vector_array listed = mlx_vector_array_new_value(x), none = mlx_vector_array_new();
    mlx_map_string_to_array named = mlx_map_string_to_array_new();
    int failed = mlx_map_string_to_array_insert(named, "x", x) ||
                 mlx_export_function("increment.kiln", increment, listed, false) ||
                 mlx_export_function_kwargs("square.kiln", square, none, named, false);
    mlx_closure_free(increment);
    mlx_closure_kwargs_free(square);
    mlx_vector_array_free(listed);
    mlx_vector_array_free(none);
    mlx_map_string_to_array_free(named);
    return failed;
}

int main(void)
{
    mlx_array x = mlx_array_new_float(1);
    int failed = export_both(x) || print_array("x", x) || apply("increment.kiln", &x, false) ||
                 print_array("x + 1", x) || apply("increment.kiln", &x, true) || print_array("x + 1, by name", x) ||
                 apply("square.kiln", &x, true) || print_array("x * x", x);
    mlx_array_free(x);
    remove("increment.kiln");
    remove("square.kiln");
    return failed;
}
