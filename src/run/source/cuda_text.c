/*
 * cuda_text.c - the text around a source in CUDA C++. All parameters have 8 bytes, so a launch packs them as words.
 */
#include <stdio.h>
#include <string.h>

#include "cache/kernels/nvrtc.h"
#include "run/source/cuda_kernel.h"

static const char *const type_names[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = "bool",
    [KILN_UINT8] = "uint8_t",
    [KILN_UINT16] = "uint16_t",
    [KILN_UINT32] = "uint32_t",
    [KILN_UINT64] = "uint64_t",
    [KILN_INT8] = "int8_t",
    [KILN_INT16] = "int16_t",
    [KILN_INT32] = "int32_t",
    [KILN_INT64] = "int64_t",
    [KILN_FLOAT16] = "__half",
    [KILN_FLOAT32] = "float",
    [KILN_FLOAT64] = "double",
    [KILN_BFLOAT16] = "__nv_bfloat16",
    [KILN_COMPLEX64] = "complex64_t",
};

/* What a source may rely on: NVRTC alone has no headers. */
static const char prologue[] =
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short "
    "uint16_t;\n"
    "typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;\n"
    "typedef unsigned uint;\n"
    "#define inf __int_as_float(0x7f800000)\n"
    "struct __align__(8) complex64_t { float x, y; };\n"
    "struct __align__(2) __half {\n"
    "    unsigned short bits;\n"
    "    __half() = default;\n"
    "    __device__ __half(float a) { asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(a)); }\n"
    "    __device__ operator float() const { float a; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(a) : \"h\"(bits)); return "
    "a; "
    "}\n"
    "};\n"
    "struct __align__(2) __nv_bfloat16 {\n"
    "    unsigned short bits;\n"
    "    __nv_bfloat16() = default;\n"
    "    __device__ __nv_bfloat16(float a)\n"
    "    {\n"
    "        unsigned u = __float_as_uint(a);\n"
    "        bits = (u & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (u + 0x7fffu + (u >> 16 & 1)) >> 16;\n"
    "    }\n"
    "    __device__ operator float() const { return __uint_as_float((unsigned)bits << 16); }\n"
    "};\n"
    "__device__ inline float __half2float(__half a) { return a; }\n"
    "__device__ inline __half __float2half(float a) { return a; }\n"
    "__device__ inline float __bfloat162float(__nv_bfloat16 a) { return a; }\n"
    "__device__ inline __nv_bfloat16 __float2bfloat16(float a) { return a; }\n"
    "namespace cooperative_groups {\n"
    "struct thread_block {\n"
    "    __device__ unsigned long long thread_rank() const\n"
    "    {\n"
    "        return threadIdx.x + blockDim.x * (threadIdx.y + (unsigned long long)blockDim.y * threadIdx.z);\n"
    "    }\n"
    "    __device__ unsigned long long size() const { return (unsigned long long)blockDim.x * blockDim.y * blockDim.z; "
    "}\n"
    "    __device__ unsigned long long num_threads() const { return size(); }\n"
    "    __device__ dim3 thread_index() const { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }\n"
    "    __device__ dim3 group_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }\n"
    "    __device__ dim3 group_dim() const { return dim3(blockDim.x, blockDim.y, blockDim.z); }\n"
    "    __device__ void sync() const { __syncthreads(); }\n"
    "};\n"
    "struct grid_group {\n"
    "    __device__ unsigned long long block_rank() const\n"
    "    {\n"
    "        return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);\n"
    "    }\n"
    "    __device__ unsigned long long thread_rank() const\n"
    "    {\n"
    "        return block_rank() * thread_block().size() + thread_block().thread_rank();\n"
    "    }\n"
    "    __device__ unsigned long long size() const\n"
    "    {\n"
    "        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * thread_block().size();\n"
    "    }\n"
    "    __device__ unsigned long long num_threads() const { return size(); }\n"
    "};\n"
    "__device__ inline thread_block this_thread_block() { return thread_block(); }\n"
    "__device__ inline grid_group this_grid() { return grid_group(); }\n"
    "}\n"
    "namespace cg = cooperative_groups;\n";

bool kiln__cuda_names(const struct kiln_cuda_source *source, const char *name, const char *ending)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s_%s", name, ending);
    return strstr(source->source, wanted) != NULL;
}

/* One parameter for each size and stride of an input that the source names. */
static void print_parameters(const struct kiln_cuda_source *source, size_t i, size_t ndim, struct kiln_buffer *out)
{
    static const char *const endings[] = {"shape", "strides"};
    for (int k = 0; k < 2; k++)
        for (size_t d = 0; kiln__cuda_names(source, source->input_names[i], endings[k]) && d < ndim; d++)
            kiln__buffer_printf(out, ", long long kiln_%s%zu_%zu", endings[k], i, d);
}

/* The arrays and the number made of them, at the top of the body. */
static void print_layout(const struct kiln_cuda_source *source, size_t i, size_t ndim, struct kiln_buffer *out)
{
    static const char *const endings[] = {"shape", "strides"}, *const types[] = {"int", "long long"};
    const char *name = source->input_names[i];
    for (int k = 0; k < 2; k++) {
        if (!kiln__cuda_names(source, name, endings[k])) continue;
        kiln__buffer_printf(out, "    const %s %s_%s[] = {", types[k], name, endings[k]);
        for (size_t d = 0; d < ndim; d++) kiln__buffer_printf(out, "(%s)kiln_%s%zu_%zu, ", types[k], endings[k], i, d);
        kiln__buffer_printf(out, "%s};\n", ndim ? "" : "0"); /* an array has an element */
    }
    if (kiln__cuda_names(source, name, "ndim")) kiln__buffer_printf(out, "    const int %s_ndim = %zu;\n", name, ndim);
}

static void print_template(const struct kiln_template_arg *arg, struct kiln_buffer *out)
{
    if (arg->kind == KILN_TEMPLATE_DTYPE)
        kiln__buffer_printf(out, "    using %s = %s;\n", arg->name, type_names[arg->value]);
    else if (arg->kind == KILN_TEMPLATE_INT)
        kiln__buffer_printf(out, "    constexpr int %s = %d;\n", arg->name, arg->value);
    else
        kiln__buffer_printf(out, "    constexpr bool %s = %s;\n", arg->name, arg->value ? "true" : "false");
}

void kiln__cuda_text(const struct kiln_cuda_source *source, const struct kiln_kernel_config *config,
                     const struct kiln_cuda_operand *inputs, struct kiln_buffer *out)
{
    const char *between = "";
    kiln__buffer_printf(out, KILN_NVRTC_FIRST_LINE "%s\n%s%s\nextern \"C\" __global__ void %s(", source->name, prologue,
                        source->header, source->name);
    for (size_t i = 0; i < source->input_count; i++, between = ", ") {
        kiln__buffer_printf(out, "%sconst %s *__restrict__ %s", between, type_names[inputs[i].dtype],
                            source->input_names[i]);
        print_parameters(source, i, inputs[i].ndim, out);
    }
    for (size_t i = 0; i < source->output_count; i++, between = ", ")
        kiln__buffer_printf(out, "%s%s *%s", between, type_names[config->outputs[i].dtype], source->output_names[i]);
    kiln__buffer_printf(out, ")\n{\n");
    for (size_t i = 0; i < config->template_count; i++) print_template(&config->template_args[i], out);
    for (size_t i = 0; i < source->input_count; i++) print_layout(source, i, inputs[i].ndim, out);
    kiln__buffer_printf(out, "%s\n}\n", source->source);
}
