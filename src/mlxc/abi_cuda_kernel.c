/*
 * abi_cuda_kernel.c - kernels in CUDA C++ in fast.h of the ABI. A handle's ctx is what was said of the kernel; nothing
 * is compiled before it is applied.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_vector.h"
#include "run/source/cuda_kernel.h"

struct cuda_kernel {
    struct kiln_cuda_source source; /* points to what follows */
    char *name, *text, *header;
    mlx_vector_string input_names, output_names;
};

/* An item of such a vector is a pointer to a text. */
static const char *const *names_of(mlx_vector_string names)
{
    return (const char *const *)((const struct kiln_vector *)names.ctx)->data;
}

void mlx_fast_cuda_kernel_free(mlx_fast_cuda_kernel cls)
{
    struct cuda_kernel *kernel = cls.ctx;
    if (!kernel) return;
    mlx_vector_string_free(kernel->input_names);
    mlx_vector_string_free(kernel->output_names);
    free(kernel->name);
    free(kernel->text);
    free(kernel->header);
    free(kernel);
}

static bool fill(struct cuda_kernel *kernel, const char *name, mlx_vector_string input_names,
                 mlx_vector_string output_names, const char *source, const char *header)
{
    kernel->name = strdup(name);
    kernel->text = strdup(source);
    kernel->header = strdup(header);
    if (!kernel->name || !kernel->text || !kernel->header) return false;
    return !mlx_vector_string_set(&kernel->input_names, input_names) &&
           !mlx_vector_string_set(&kernel->output_names, output_names);
}

mlx_fast_cuda_kernel mlx_fast_cuda_kernel_new(const char *name, const mlx_vector_string input_names,
                                              const mlx_vector_string output_names, const char *source,
                                              const char *header, bool ensure_row_contiguous, int shared_memory)
{
    kiln_error err;
    const mlx_fast_cuda_kernel none = {NULL};
    if (KILN_NO_POINTER(name) || KILN_NO_POINTER(source) || KILN_NO_POINTER(header) ||
        KILN_NO_HANDLE(input_names, "mlx_vector_string") || KILN_NO_HANDLE(output_names, "mlx_vector_string"))
        return none;
    struct cuda_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel || !fill(kernel, name, input_names, output_names, source, header)) {
        mlx_fast_cuda_kernel_free((mlx_fast_cuda_kernel){kernel});
        KILN_FAIL_TEXT("out of memory: a kernel");
        return none;
    }
    kernel->source = (struct kiln_cuda_source){kernel->name,
                                               kernel->text,
                                               kernel->header,
                                               names_of(kernel->input_names),
                                               names_of(kernel->output_names),
                                               mlx_vector_string_size(kernel->input_names),
                                               mlx_vector_string_size(kernel->output_names),
                                               ensure_row_contiguous,
                                               shared_memory < 0 ? SIZE_MAX : (size_t)shared_memory};
    if (kiln__cuda_source_check(&kernel->source, &err) == KILN_OK) return (mlx_fast_cuda_kernel){kernel};
    mlx_fast_cuda_kernel_free((mlx_fast_cuda_kernel){kernel});
    KILN_FAIL(&err);
    return none;
}

/* As the program asked for. */
static void print_text(const struct cuda_kernel *kernel, const struct kiln_kernel_config *config,
                       mlx_vector_array inputs)
{
    struct kiln_buffer text = {0};
    struct kiln_cuda_operand operands[KILN_CUDA_MOST_PARTS];
    if (kiln__vector_size(inputs) != kernel->source.input_count || config->output_count != kernel->source.output_count)
        return;
    for (size_t i = 0; i < kernel->source.input_count; i++) {
        const struct kiln_array *input = kiln__vector_data(inputs)[i];
        operands[i] = (struct kiln_cuda_operand){(enum kiln_dtype)input->dtype, input->ndim};
    }
    kiln__cuda_text(&kernel->source, config, operands, &text);
    if (!text.failed) fwrite(text.data, 1, text.size, stdout);
    kiln__buffer_release(&text);
}

int mlx_fast_cuda_kernel_apply(mlx_vector_array *outputs, mlx_fast_cuda_kernel cls, const mlx_vector_array inputs,
                               const mlx_fast_cuda_kernel_config config, const mlx_stream stream)
{
    kiln_error err;
    struct kiln_array *made[KILN_CUDA_MOST_PARTS];
    if (KILN_NO_HANDLE(cls, "mlx_fast_cuda_kernel") || KILN_NO_VECTOR(inputs) ||
        KILN_NO_HANDLE(config, "mlx_fast_cuda_kernel_config") || KILN_NO_STREAM(stream) || KILN_NO_POINTER(outputs))
        return 1;
    const struct cuda_kernel *kernel = cls.ctx;
    const struct kiln_kernel_config *how = config.ctx;
    if (how->is_verbose) print_text(kernel, how, inputs);
    if (kiln__cuda_apply(&kernel->source, how, kiln__vector_data(inputs), kiln__vector_size(inputs), made, &err))
        return KILN_FAIL(&err);
    return kiln__give_arrays(outputs, made, how->output_count);
}
