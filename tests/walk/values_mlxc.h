/*
 * values_mlxc.h - good values for the parameters of mlx/c and kiln/compile.h, and what their functions answer to an
 * empty handle or NULL: a code other than 0 after the error handler was told why, an empty handle, a number 0 or NULL,
 * unless fine_mlxc.tsv or abi.tsv says that it may be absent.
 */
#ifndef TESTS_WALK_VALUES_MLXC_H
#define TESTS_WALK_VALUES_MLXC_H

#include <stdarg.h>

#include "kiln/compile.h"
#include "kiln/dlpack.h"
#include "mlx/c/mlx.h"
#include "walk/walk.h"

#define VALUE(type, name) __attribute__((unused)) static type good_##name(const char *function, const char *parameter)
#define IGNORE            (void)function, (void)parameter

/* A handle that is made by an expression, one of a type that only fails to be made, and places for each. */
#define HANDLE(type, expression)                                                                                       \
    VALUE(type, type)                                                                                                  \
    {                                                                                                                  \
        IGNORE;                                                                                                        \
        return expression;                                                                                             \
    }                                                                                                                  \
    VALUE(type *, type##_p)                                                                                            \
    {                                                                                                                  \
        static type place;                                                                                             \
        place = good_##type(function, parameter);                                                                      \
        return &place;                                                                                                 \
    }
/* As HANDLE; but a place that is no input (`data`, `inputs`) holds nothing yet. */
#define RESULT(type, expression, member)                                                                               \
    VALUE(type, type)                                                                                                  \
    {                                                                                                                  \
        IGNORE;                                                                                                        \
        return expression;                                                                                             \
    }                                                                                                                  \
    VALUE(type *, type##_p)                                                                                            \
    {                                                                                                                  \
        static type place;                                                                                             \
        bool is_input = strcmp(parameter, "data") == 0 || strcmp(parameter, "inputs") == 0;                            \
        place = is_input ? good_##type(function, parameter) : type##_new();                                            \
        if (!is_input) walk_results.member = &place;                                                                   \
        return &place;                                                                                                 \
    }
#define NUMBER(type, name, value)                                                                                      \
    VALUE(type, name)                                                                                                  \
    {                                                                                                                  \
        IGNORE;                                                                                                        \
        return value;                                                                                                  \
    }                                                                                                                  \
    VALUE(type *, name##_p)                                                                                            \
    {                                                                                                                  \
        static type places[16] = {value, value, value, value};                                                         \
        IGNORE;                                                                                                        \
        return places;                                                                                                 \
    }

/* Arrays whose dtype may be tried: as DATA(2, 3) of float32, or of the dtype that was chosen. They are counted, so that
 * a call can be made once more with given ones. */
enum { WALK_MOST_DATA = 16 };
extern struct walk_data {
    bool is_dtype_chosen;
    mlx_dtype dtype;
    int count, given_count;
    mlx_array made[WALK_MOST_DATA], given[WALK_MOST_DATA];
} walk_data;

#define WALK_DIMS(...)      (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#define DATA_OF(dtype, ...) walk_data_of(dtype, WALK_DIMS(__VA_ARGS__))
#define DATA(...)           DATA_OF(MLX_FLOAT32, __VA_ARGS__)
#define NUMBERS(dtype, ...) walk_numbers(dtype, WALK_DIMS(__VA_ARGS__))
mlx_array walk_data_of(mlx_dtype dtype, const int *dims, int ndim);
mlx_array walk_numbers(mlx_dtype dtype, const int *dims, int ndim);

/* Where the last call puts its arrays; NULL: it has no such parameter. */
extern struct walk_results {
    mlx_array *array;
    mlx_vector_array *list;
} walk_results;

/* The call has failed with the text that its row permits. */
bool walk_is_refused(const struct walk_row *row);

mlx_array walk_array(void);
mlx_closure walk_closure(void);
mlx_vector_array walk_vector_array(void);
mlx_vector_string walk_vector_string(void);
mlx_vector_int walk_vector_int(void);
mlx_vector_vector_array walk_vector_vector_array(void);
mlx_map_string_to_array walk_map_string_to_array(void);
mlx_map_string_to_string walk_map_string_to_string(void);
mlx_io_vtable walk_vtable(void);
mlx_distributed_group walk_group(void);
mlx_imported_function walk_imported_function(void);
mlx_fast_cuda_kernel walk_cuda_kernel(void);
mlx_fast_cuda_kernel_config walk_cuda_config(void);
mlx_device_info walk_device_info(void);
mlx_io_gguf walk_gguf(const char *what);
mlx_io_reader walk_file_reader(const char *name);
const char *walk_saved(const char *name);
mlx_vector_array walk_trace(int which);
void walk_handler(const char *text, void *data);
void *walk_function(const char *function, const char *parameter);

RESULT(mlx_array, walk_array(), array)
HANDLE(mlx_stream, mlx_default_cpu_stream_new())
HANDLE(mlx_device, mlx_device_new_type(MLX_CPU, 0))
HANDLE(mlx_device_info, walk_device_info())
HANDLE(mlx_string, mlx_string_new_data("text"))
RESULT(mlx_vector_array, walk_vector_array(), list)
HANDLE(mlx_vector_string, walk_vector_string())
HANDLE(mlx_vector_int, walk_vector_int())
HANDLE(mlx_vector_vector_array, walk_vector_vector_array())
HANDLE(mlx_map_string_to_array, walk_map_string_to_array())
HANDLE(mlx_map_string_to_string, walk_map_string_to_string())
HANDLE(mlx_map_string_to_array_iterator, mlx_map_string_to_array_iterator_new(walk_map_string_to_array()))
HANDLE(mlx_map_string_to_string_iterator, mlx_map_string_to_string_iterator_new(walk_map_string_to_string()))
HANDLE(mlx_closure, walk_closure())
HANDLE(mlx_closure_kwargs, mlx_closure_kwargs_new_func(walk_function("mlx_closure_kwargs", "fun")))
HANDLE(mlx_closure_value_and_grad,
       mlx_closure_value_and_grad_new_func(walk_function("mlx_closure_value_and_grad", "fun")))
HANDLE(mlx_closure_custom, mlx_closure_custom_new_func(walk_function("mlx_closure_custom", "fun")))
HANDLE(mlx_closure_custom_jvp, mlx_closure_custom_jvp_new_func(walk_function("mlx_closure_custom_jvp", "fun")))
HANDLE(mlx_closure_custom_vmap, mlx_closure_custom_vmap_new_func(walk_function("mlx_closure_custom_vmap", "fun")))
HANDLE(mlx_io_reader, mlx_io_reader_new(NULL, walk_vtable()))
HANDLE(mlx_io_writer, mlx_io_writer_new(NULL, walk_vtable()))
HANDLE(mlx_io_gguf, mlx_io_gguf_new())
HANDLE(mlx_distributed_group, walk_group())
HANDLE(mlx_node_namer, mlx_node_namer_new())
HANDLE(mlx_fast_metal_kernel, (mlx_fast_metal_kernel){NULL})
HANDLE(mlx_fast_metal_kernel_config, mlx_fast_metal_kernel_config_new())
HANDLE(mlx_fast_cuda_kernel, walk_cuda_kernel())
HANDLE(mlx_fast_cuda_kernel_config, mlx_fast_cuda_kernel_config_new())
HANDLE(mlx_function_exporter, mlx_function_exporter_new("exported", walk_closure(), false))
HANDLE(mlx_imported_function, walk_imported_function())

NUMBER(int, int, 1)
NUMBER(size_t, size_t, 1)
NUMBER(float, float, 1)
NUMBER(double, double, 1)
NUMBER(_Bool, _Bool, true)
NUMBER(uintptr_t, uintptr_t, 1)
NUMBER(uint8_t, uint8_t, 1)
NUMBER(uint16_t, uint16_t, 1)
NUMBER(uint32_t, uint32_t, 1)
NUMBER(uint64_t, uint64_t, 1)
NUMBER(int8_t, int8_t, 1)
NUMBER(int16_t, int16_t, 1)
NUMBER(int32_t, int32_t, 1)
NUMBER(int64_t, int64_t, 1)
NUMBER(mlx_dtype, mlx_dtype, MLX_FLOAT32)
NUMBER(mlx_device_type, mlx_device_type, MLX_CPU)

NUMBER(float16_t, float16_t, 1)
NUMBER(bfloat16_t, bfloat16_t, 1)
NUMBER(mlx_complex64_t, mlx_complex64_t, 1)

VALUE(mlx_fft_norm, mlx_fft_norm)
{
    IGNORE;
    return (mlx_fft_norm)0;
}
VALUE(mlx_error_handler_func, mlx_error_handler_func)
{
    IGNORE;
    return walk_handler;
}
VALUE(mlx_compile_mode, mlx_compile_mode)
{
    IGNORE;
    return MLX_COMPILE_MODE_ENABLED;
}
VALUE(mlx_optional_int, mlx_optional_int)
{
    IGNORE;
    return (mlx_optional_int){0, false};
}
VALUE(mlx_optional_float, mlx_optional_float)
{
    IGNORE;
    return (mlx_optional_float){0, false};
}
VALUE(mlx_optional_dtype, mlx_optional_dtype)
{
    IGNORE;
    return (mlx_optional_dtype){MLX_FLOAT32, false};
}
VALUE(mlx_io_vtable, mlx_io_vtable)
{
    IGNORE;
    return walk_vtable();
}
VALUE(void *, function)
{
    return walk_function(function, parameter);
}
VALUE(FILE *, FILE_p)
{
    IGNORE;
    return stderr;
}

VALUE(char *, char_p)
{
    static char texts[4][256];
    static unsigned next;
    IGNORE;
    return strcpy(texts[next++ % 4], "text");
}

VALUE(char **, char_pp)
{
    static char *texts[] = {"text", "text"};
    IGNORE;
    return texts;
}

VALUE(void *, void_p)
{
    static _Alignas(16) char bytes[4096];
    IGNORE;
    return bytes;
}

struct DLManagedTensorVersioned *walk_tensor(void);
struct DLManagedTensor *walk_old_tensor(void);

VALUE(struct DLManagedTensorVersioned *, DLManagedTensorVersioned_p)
{
    IGNORE;
    return walk_tensor();
}
VALUE(struct DLManagedTensorVersioned **, DLManagedTensorVersioned_pp)
{
    static struct DLManagedTensorVersioned *place;
    IGNORE;
    return &place;
}
VALUE(struct DLManagedTensor *, DLManagedTensor_p)
{
    IGNORE;
    return walk_old_tensor();
}
VALUE(struct DLManagedTensor **, DLManagedTensor_pp)
{
    static struct DLManagedTensor *place;
    IGNORE;
    return &place;
}

VALUE(void **, void_pp)
{
    static void *place;
    IGNORE;
    return &place;
}

#endif
