/*
 * arrays.c - what the machine has, then arrays: from values, computed in place, counted up, and in a buffer of ours.
 *
 * Above the second rule the text depends on the machine, below it not.
 */
#include <stdlib.h>

#include "print.h"

static int print_version(void)
{
    mlx_string version = mlx_string_new();
    int failed = mlx_version(&version);
    if (!failed) printf("version %s\n", mlx_string_data(version));
    mlx_string_free(version);
    return failed;
}

static int print_key(mlx_device_info info, const char *key)
{
    bool is_text;
    const char *text;
    size_t size;
    if (mlx_device_info_is_string(&is_text, info, key)) return 1;
    if (is_text ? mlx_device_info_get_string(&text, info, key) : mlx_device_info_get_size(&size, info, key)) return 1;
    if (is_text) printf("  %s: %s\n", key, text);
    if (!is_text) printf("  %s: %zu\n", key, size);
    return 0;
}

static int print_device(void)
{
    mlx_device device = mlx_device_new_type(MLX_CPU, 0);
    mlx_device_info info = mlx_device_info_new();
    mlx_vector_string keys = mlx_vector_string_new();
    char *key;
    int failed = mlx_device_info_get(&info, device) || mlx_device_info_get_keys(&keys, info);
    for (size_t i = 0; !failed && i < mlx_vector_string_size(keys); i++)
        failed = mlx_vector_string_get(&key, keys, i) || print_key(info, key);
    mlx_vector_string_free(keys);
    mlx_device_info_free(info);
    mlx_device_free(device);
    return failed;
}

static int print_machine(void)
{
    int count;
    puts("=====");
    if (print_version() || mlx_device_count(&count, MLX_GPU)) return 1;
    printf("GPU device count: %d\n", count);
    if (print_device()) return 1;
    puts("=====");
    return 0;
}

static void free_buffer(void *buffer)
{
    puts("the buffer is freed");
    free(buffer);
}

/* The library uses the buffer where it is and gives it back. */
static int print_buffer(const int *shape)
{
    float *buffer = malloc(6 * sizeof *buffer);
    if (!buffer) return 1;
    for (int i = 0; i < 6; i++) buffer[i] = (float)i;
    mlx_array array = mlx_array_new_data_managed(buffer, shape, 2, MLX_FLOAT32, free_buffer);
    int failed = print_array("from user buffer", array);
    mlx_array_free(array);
    return failed;
}

int main(void)
{
    const float values[] = {1, 2, 3, 4, 5, 6};
    const int shape[] = {2, 3};
    if (print_machine()) return 1;
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_array array = mlx_array_new_data(values, shape, 2, MLX_FLOAT32), two = mlx_array_new_int(2);
    int failed = print_array("hello world!", array) || mlx_divide(&array, array, two, stream) ||
                 print_array("divide by 2!", array) || mlx_arange(&array, 0, 3, 0.5, MLX_FLOAT32, stream) ||
                 print_array("arange", array) || print_buffer(shape);
    mlx_array_free(array);
    mlx_array_free(two);
    mlx_stream_free(stream);
    return failed;
}
