/*
 * cuda_kernel.h - kernels that programs bring as CUDA C++: the text around a source, and its launches.
 *
 * A kernel becomes a function with C linkage whose parameters are its inputs and outputs, by their names; of an input
 * NAME whose NAME_shape, NAME_strides or NAME_ndim the source names, these are there too (int[], long long[], int).
 * Template arguments are types and constants at the top of the body. cooperative_groups has this_grid() and
 * this_thread_block(); __half and __nv_bfloat16 are there, which convert to float and back.
 *
 * Definitions are interned: equal ones are one, and stay until the process ends, so that nodes can name them by a
 * number. A definition keeps the kernels of the dtypes and ranks that it was called with.
 */
#ifndef KILN_RUN_SOURCE_CUDA_KERNEL_H
#define KILN_RUN_SOURCE_CUDA_KERNEL_H

#include "base/buffer.h"
#include "graph/node.h"
#include "run/source/kernel_config.h"

enum { KILN_CUDA_MOST_PARTS = 32, KILN_CUDA_SHARED_BYTES = 48 << 10 };

/* What a program said of a kernel; nothing is copied until it is interned. */
struct kiln_cuda_source {
    const char *name, *source, *header;
    const char *const *input_names, *const *output_names;
    size_t input_count, output_count;
    bool ensure_row_contiguous;
    size_t shared_bytes;
};

/* KILN_INVALID: a name that is none or is there twice, too much shared memory. */
kiln_status kiln__cuda_source_check(const struct kiln_cuda_source *source, kiln_error *err);

/* What a kernel takes or gives, as far as its text depends on it. */
struct kiln_cuda_operand {
    enum kiln_dtype dtype;
    size_t ndim;
};

/* Appends the text for NVRTC: nvrtc.h says how it begins. */
void kiln__cuda_text(const struct kiln_cuda_source *source, const struct kiln_kernel_config *config,
                     const struct kiln_cuda_operand *inputs, struct kiln_buffer *out);
/* Does the source name NAME_shape (and so on)? */
bool kiln__cuda_names(const struct kiln_cuda_source *source, const char *name, const char *ending);

/* A lazy array for each output of the configuration, at the device that this thread chose. The kernel is compiled now,
 * so that a fault in it is an error of this call. outputs[]: config->output_count references. */
kiln_status kiln__cuda_apply(const struct kiln_cuda_source *source, const struct kiln_kernel_config *config,
                             struct kiln_array *const *inputs, size_t count, struct kiln_array **outputs,
                             kiln_error *err);

#endif
