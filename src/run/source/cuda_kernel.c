/*
 * cuda_kernel.c - see cuda_kernel.h: definitions, the operation cuda_kernel and its launch.
 *
 * A node of cuda_kernel makes all outputs: the one there is, or one piece of memory with all of them, each from a
 * multiple of 256 bytes on, of which cuda_kernel_part shows one. Attributes of cuda_kernel: the definition's number,
 * the grid and the block in threads, whether there is a value to begin with and its bits, the number of outputs, then
 * of each its dtype, rank and sizes. Of cuda_kernel_part: the first byte, the dtype, the sizes.
 */
#include "run/source/cuda_kernel.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/process/fork.h"
#include "cache/cache.h"
#include "cache/kernels/kernel.h"
#include "cache/kernels/nvrtc.h"
#include "graph/default_device.h"
#include "graph/rules.h"
#include "run/gpu/gpu_launch.h"
#include "run/gpu/gpu_operations.h"
#include "run/placement.h"

enum { ALIGNMENT = 256, MOST_WORDS = KILN_CUDA_MOST_PARTS * (1 + 2 * KILN_MAX_NDIM), FIRST_OUTPUT = 10 };

/* ---- definitions ------------------------------------------------------------------------------------------------- */

/* A kernel for some dtypes and ranks: its text says which. */
struct variant {
    struct variant *next;
    kiln_device *device;
    uint32_t options;
    struct kiln_buffer text;
    struct kiln_kernel *kernel; /* NULL when nothing is linked (KILN_MODE=compile-only) */
};

struct definition {
    struct kiln_cuda_source source;   /* a copy */
    struct kiln_kernel_config config; /* template arguments, and the dtypes of outputs */
    struct variant *variants;
};

KILN_LEAF_LOCK(lock); /* guards the list and the lists of variants; entries never go */
static struct definition **definitions;
static size_t definition_count;

static bool same_names(const char *const *a, const char *const *b, size_t count)
{
    size_t i = 0;
    while (i < count && !strcmp(a[i], b[i])) i++;
    return i == count;
}

static bool same_source(const struct kiln_cuda_source *a, const struct kiln_cuda_source *b)
{
    return a->input_count == b->input_count && a->output_count == b->output_count && !strcmp(a->name, b->name) &&
           !strcmp(a->source, b->source) && !strcmp(a->header, b->header) && a->shared_bytes == b->shared_bytes &&
           a->ensure_row_contiguous == b->ensure_row_contiguous &&
           same_names(a->input_names, b->input_names, a->input_count) &&
           same_names(a->output_names, b->output_names, a->output_count);
}

static bool same_config(const struct kiln_kernel_config *a, const struct kiln_kernel_config *b)
{
    if (a->template_count != b->template_count || a->output_count != b->output_count) return false;
    for (size_t i = 0; i < a->template_count; i++) {
        const struct kiln_template_arg *x = &a->template_args[i], *y = &b->template_args[i];
        if (strcmp(x->name, y->name) || x->kind != y->kind || x->value != y->value) return false;
    }
    for (size_t i = 0; i < a->output_count; i++)
        if (a->outputs[i].dtype != b->outputs[i].dtype) return false;
    return true;
}

static const char **copy_names(const char *const *names, size_t count)
{
    const char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(names[i]))) return NULL;
    return copy;
}

/* What a failure leaves behind is a few names. */
static struct definition *copy_definition(const struct kiln_cuda_source *source,
                                          const struct kiln_kernel_config *config)
{
    struct definition *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->source = *source;
    made->source.name = strdup(source->name);
    made->source.source = strdup(source->source);
    made->source.header = strdup(source->header);
    made->source.input_names = copy_names(source->input_names, source->input_count);
    made->source.output_names = copy_names(source->output_names, source->output_count);
    bool is_whole = made->source.name && made->source.source && made->source.header && made->source.input_names &&
                    made->source.output_names && !kiln__config_copy(&made->config, config, NULL);
    return is_whole ? made : NULL;
}

static kiln_status intern(const struct kiln_cuda_source *source, const struct kiln_kernel_config *config, size_t *out,
                          kiln_error *err)
{
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < definition_count &&
           !(same_source(&definitions[i]->source, source) && same_config(&definitions[i]->config, config)))
        i++;
    if (i == definition_count) {
        struct definition **longer = reallocarray(definitions, i + 1, sizeof *longer);
        if (longer) definitions = longer;
        struct definition *made = longer ? copy_definition(source, config) : NULL;
        if (made)
            definitions[definition_count++] = made;
        else
            status = kiln__no_memory(err, "a kernel");
    }
    pthread_mutex_unlock(&lock);
    *out = i;
    return status;
}

static struct definition *definition_of(int64_t number)
{
    pthread_mutex_lock(&lock);
    struct definition *found = definitions[number];
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static struct variant *find_variant(const struct definition *definition, const struct variant *like)
{
    struct variant *at = definition->variants;
    while (at && (at->device != like->device || at->options != like->options || at->text.size != like->text.size ||
                  memcmp(at->text.data, like->text.data, like->text.size) != 0))
        at = at->next;
    return at;
}

static kiln_status make_kernel(const struct definition *definition, struct variant *variant, kiln_error *err)
{
    const kiln_compiler *compiler;
    kiln_error reason = {KILN_OK, ""};
    const struct kiln_kernel_text text = {
        variant->device, variant->options, definition->source.name, {variant->text.data, variant->text.size}};
    kiln_status status = kiln__nvrtc(&compiler, &reason);
    if (!status)
        status = kiln__kernel_from_text(kiln_cache_default(), compiler, &text, NULL, &variant->kernel, &reason);
    return status ? kiln__fail(err, status, "[cuda_kernel] %.1000s", reason.text) : KILN_OK;
}

/* The kernel for these inputs, compiled if nobody did before. *function is NULL where nothing is linked. */
static kiln_status get_kernel(struct definition *definition, const struct kiln_cuda_operand *inputs,
                              kiln_device *device, void **function, kiln_error *err)
{
    struct variant *found, *made = calloc(1, sizeof *made);
    if (!made) return kiln__no_memory(err, "a kernel");
    made->device = device;
    made->options = kiln__options_packed(kiln__environment());
    kiln__cuda_text(&definition->source, &definition->config, inputs, &made->text);
    kiln_status status = made->text.failed ? kiln__no_memory(err, "the text of a kernel") : KILN_OK;
    pthread_mutex_lock(&lock);
    found = status ? NULL : find_variant(definition, made);
    pthread_mutex_unlock(&lock);
    if (!status && !found) {
        status = make_kernel(definition, made, err);
        pthread_mutex_lock(&lock);
        found = status ? NULL : find_variant(definition, made);
        if (!status && !found) {
            made->next = definition->variants;
            definition->variants = made;
            found = made;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!status) *function = found->kernel ? found->kernel->executable : NULL;
    if (made != found) {
        kiln__kernel_unref(made->kernel);
        kiln__buffer_release(&made->text);
        free(made);
    }
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

static kiln_status check_name(const char *const *names, size_t i, const char *const *others, size_t count,
                              kiln_error *err)
{
    if (!kiln__is_identifier(names[i]) || !strncmp(names[i], "kiln_", 5))
        return kiln__fail(err, KILN_INVALID,
                          "[cuda_kernel] \"%.100s\" is no name for an array: expected letters, digits and '_', at most "
                          "200, and not \"kiln_\" in front",
                          names[i]);
    for (size_t k = 0; k < count; k++)
        if (&others[k] != &names[i] && !strcmp(others[k], names[i]))
            return kiln__fail(err, KILN_INVALID, "[cuda_kernel] two arrays have the name %s", names[i]);
    return KILN_OK;
}

kiln_status kiln__cuda_source_check(const struct kiln_cuda_source *source, kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (!kiln__is_identifier(source->name))
        return kiln__fail(err, KILN_INVALID,
                          "[cuda_kernel] \"%.100s\" is no name for a kernel: expected letters, digits and '_', at most "
                          "200",
                          source->name);
    if (source->output_count == 0 || source->input_count + source->output_count > KILN_CUDA_MOST_PARTS)
        return kiln__fail(err, KILN_INVALID, "[cuda_kernel] expected an output, and at most %d arrays",
                          KILN_CUDA_MOST_PARTS);
    if (source->shared_bytes > KILN_CUDA_SHARED_BYTES)
        return kiln__fail(err, KILN_INVALID, "[cuda_kernel] shared memory of at most %d bytes is there, not %zu",
                          KILN_CUDA_SHARED_BYTES, source->shared_bytes);
    for (size_t i = 0; i < source->input_count && !status; i++)
        status = check_name(source->input_names, i, source->input_names, source->input_count, err);
    for (size_t i = 0; i < source->output_count && !status; i++) {
        status = check_name(source->output_names, i, source->output_names, source->output_count, err);
        if (!status) status = check_name(source->output_names, i, source->input_names, source->input_count, err);
    }
    return status;
}

static kiln_status check_launch(const struct kiln_cuda_source *source, const struct kiln_kernel_config *config,
                                size_t count, kiln_error *err)
{
    const int *block = config->block;
    if (count != source->input_count)
        return kiln__fail(err, KILN_INVALID, "[cuda_kernel] %s takes %zu arrays, got %zu", source->name,
                          source->input_count, count);
    if (config->output_count != source->output_count)
        return kiln__fail(err, KILN_INVALID, "[cuda_kernel] %s gives %zu arrays, and the configuration has %zu",
                          source->name, source->output_count, config->output_count);
    if (!config->grid[0] || !block[0])
        return kiln__fail(err, KILN_INVALID, "[cuda_kernel] the configuration needs a grid and a thread group");
    if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 || (int64_t)block[0] * block[1] * block[2] > 1024)
        return kiln__fail(err, KILN_INVALID, "[cuda_kernel] a thread group has at most 1024 threads, not %d x %d x %d",
                          block[0], block[1], block[2]);
    for (int i = 1; i < 3; i++)
        if ((config->grid[i] - 1) / block[i] + 1 > 65535)
            return kiln__fail(err, KILN_INVALID, "[cuda_kernel] there are at most 65535 thread groups along y and z");
    return KILN_OK;
}

static kiln_status choose_device(kiln_device **out, kiln_error *err)
{
    kiln_error reason = {KILN_OK, ""};
    uint32_t device_index = kiln__current_device_index();
    if (device_index) return kiln__device_at_index(device_index, out, err);
    struct kiln_gpu *gpu;
    kiln_status status = kiln__gpu_get(0, &gpu, &reason);
    return kiln__fail(err, KILN_INVALID, "[cuda_kernel] a kernel in CUDA C++ runs on an NVIDIA GPU: %.300s",
                      status ? reason.text : "call it with that GPU's stream, not with the CPU's");
}

/* Bytes of output i, and before it. */
static uint64_t place_outputs(const struct kiln_kernel_config *config, uint64_t *places)
{
    uint64_t at = 0;
    for (size_t i = 0; i < config->output_count; i++) {
        uint64_t size = kiln__dtype_size(config->outputs[i].dtype);
        for (size_t d = 0; d < config->outputs[i].ndim; d++) size *= (uint64_t)config->outputs[i].dims[d];
        places[i] = at;
        at += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return at;
}

static struct kiln_result result_of(const struct kiln_kernel_output *output)
{
    struct kiln_result result = {.as_they_are = true, .dtype = output->dtype, .ndim = output->ndim};
    memcpy(result.dims, output->dims, sizeof result.dims);
    return result;
}

static kiln_status apply_part(struct kiln_array *all, const struct kiln_kernel_output *output, uint64_t place,
                              struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[2 + KILN_MAX_NDIM] = {(int64_t)place, output->dtype};
    const struct kiln_result result = result_of(output);
    for (size_t d = 0; d < output->ndim; d++) attrs[2 + d] = output->dims[d];
    const struct kiln_call call = {KILN_OP_CUDA_PART, &all, 1, attrs, 2 + output->ndim};
    return kiln__apply_result(&call, &result, out, err);
}

static size_t list_attrs(size_t definition, const struct kiln_kernel_config *config, int64_t *attrs)
{
    size_t count = FIRST_OUTPUT;
    uint32_t bits;
    memcpy(&bits, &config->init_value, sizeof bits);
    attrs[0] = (int64_t)definition;
    for (int i = 0; i < 3; i++) attrs[1 + i] = config->grid[i], attrs[4 + i] = config->block[i];
    attrs[7] = config->has_init_value;
    attrs[8] = bits;
    attrs[9] = (int64_t)config->output_count;
    for (size_t i = 0; i < config->output_count; i++) {
        attrs[count++] = config->outputs[i].dtype;
        attrs[count++] = (int64_t)config->outputs[i].ndim;
        for (size_t d = 0; d < config->outputs[i].ndim; d++) attrs[count++] = config->outputs[i].dims[d];
    }
    return count;
}

static kiln_status apply_outputs(const struct kiln_call *call, const struct kiln_kernel_config *config,
                                 struct kiln_array **outputs, kiln_error *err)
{
    uint64_t places[KILN_CUDA_MOST_PARTS], total = place_outputs(config, places);
    struct kiln_result result = result_of(&config->outputs[0]);
    struct kiln_array *all = NULL;
    if (config->output_count == 1) return kiln__apply_result(call, &result, outputs, err);
    if (total / ALIGNMENT > INT_MAX) return kiln__fail(err, KILN_INVALID, "[cuda_kernel] the outputs are too large");
    result = (struct kiln_result){.as_they_are = true, .dtype = KILN_UINT8, .ndim = 2};
    result.dims[0] = (int)(total / ALIGNMENT), result.dims[1] = ALIGNMENT;
    kiln_status status = kiln__apply_result(call, &result, &all, err);
    size_t made = 0;
    for (; made < config->output_count && !status; made += !status)
        status = apply_part(all, &config->outputs[made], places[made], &outputs[made], err);
    for (; status && made; made--) kiln__array_unref(outputs[made - 1]);
    kiln__array_unref(all);
    return status;
}

kiln_status kiln__cuda_apply(const struct kiln_cuda_source *source, const struct kiln_kernel_config *config,
                             struct kiln_array *const *inputs, size_t count, struct kiln_array **outputs,
                             kiln_error *err)
{
    struct kiln_cuda_operand operands[KILN_CUDA_MOST_PARTS];
    struct kiln_array *packed[KILN_CUDA_MOST_PARTS] = {NULL};
    int64_t attrs[FIRST_OUTPUT + KILN_CUDA_MOST_PARTS * (2 + KILN_MAX_NDIM)];
    kiln_device *device;
    size_t definition = 0;
    void *function;
    kiln_status status = check_launch(source, config, count, err);
    if (!status) status = choose_device(&device, err);
    if (!status) status = intern(source, config, &definition, err);
    for (size_t i = 0; i < count && !status; i++) {
        operands[i] = (struct kiln_cuda_operand){(enum kiln_dtype)inputs[i]->dtype, inputs[i]->ndim};
        packed[i] = inputs[i];
        if (source->ensure_row_contiguous)
            status = kiln__apply(KILN_OP_CONTIGUOUS, &inputs[i], 1, NULL, 0, &packed[i], err);
        else
            kiln__array_ref(packed[i]);
        if (status) packed[i] = NULL;
    }
    if (!status) status = get_kernel(definition_of((int64_t)definition), operands, device, &function, err);
    const struct kiln_call call = {KILN_OP_CUDA_KERNEL, packed, count, attrs, list_attrs(definition, config, attrs)};
    if (!status) status = apply_outputs(&call, config, outputs, err);
    for (size_t i = 0; i < count && i < KILN_CUDA_MOST_PARTS; i++) kiln__array_unref(packed[i]);
    return status;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

kiln_status kiln__run_cuda_kernel(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)node, (void)out;
    return kiln__fail(err, KILN_INVALID, "[cuda_kernel] a kernel in CUDA C++ runs on an NVIDIA GPU, not on the CPU");
}

kiln_status kiln__run_cuda_part(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *all = node->inputs[0];
    if (all->storage) out->storage = kiln__storage_ref(all->storage);
    out->data = all->data ? all->data + node->attrs[0] : NULL;
    return KILN_OK;
}

/* The configuration of a node, from its attributes; what it points to is `outputs`. */
static void read_attrs(const int64_t *attrs, struct kiln_kernel_config *config, struct kiln_kernel_output *outputs)
{
    uint32_t bits = (uint32_t)attrs[8];
    const int64_t *at = attrs + FIRST_OUTPUT;
    *config = (struct kiln_kernel_config){.outputs = outputs, .output_count = (size_t)attrs[9]};
    for (int i = 0; i < 3; i++) config->grid[i] = (int)attrs[1 + i], config->block[i] = (int)attrs[4 + i];
    config->has_init_value = attrs[7];
    memcpy(&config->init_value, &bits, sizeof bits);
    for (size_t i = 0; i < config->output_count; i++) {
        outputs[i] = (struct kiln_kernel_output){.dtype = (enum kiln_dtype)at[0], .ndim = (size_t)at[1]};
        for (size_t d = 0; d < outputs[i].ndim; d++) outputs[i].dims[d] = (int)at[2 + d];
        at += 2 + outputs[i].ndim;
    }
}

static size_t pack_words(const struct kiln_cuda_source *source, const struct kiln_node *node, const char *data,
                         const struct kiln_kernel_config *config, uint64_t *words)
{
    size_t count = 0;
    uint64_t places[KILN_CUDA_MOST_PARTS];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct kiln_array *input = node->inputs[i];
        words[count++] = (uint64_t)(uintptr_t)input->data;
        if (kiln__cuda_names(source, source->input_names[i], "shape"))
            for (size_t d = 0; d < input->ndim; d++) words[count++] = (uint64_t)input->dims[d];
        if (kiln__cuda_names(source, source->input_names[i], "strides"))
            for (size_t d = 0; d < input->ndim; d++) words[count++] = (uint64_t)input->strides[d];
    }
    place_outputs(config, places);
    for (size_t i = 0; i < config->output_count; i++) words[count++] = (uint64_t)(uintptr_t)(data + places[i]);
    return count;
}

static void put_number(char *to, enum kiln_dtype dtype, float value)
{
    const float complex_value[] = {value, 0};
    const double wide = (double)value;
    const int64_t whole = (int64_t)value;
    const uint8_t truth = value != 0;
    unsigned short half = dtype == KILN_FLOAT16 ? kiln__float_to_half(value) : kiln__float_to_bfloat(value);
    const void *from = dtype == KILN_BOOL                                 ? (const void *)&truth
                       : dtype == KILN_FLOAT64                            ? (const void *)&wide
                       : dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64 ? (const void *)complex_value
                       : dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16  ? (const void *)&half
                                                                          : (const void *)&whole;
    memcpy(to, from, kiln__dtype_size(dtype));
}

/* Uploaded from the host, which starts after all that was launched before. */
static kiln_status fill_outputs(const struct kiln_gpu *gpu, char *data, size_t size,
                                const struct kiln_kernel_config *config, kiln_error *err)
{
    uint64_t places[KILN_CUDA_MOST_PARTS], total = place_outputs(config, places);
    char *values = calloc(total + ALIGNMENT, 1);
    if (!values) return kiln__no_memory(err, "the value that outputs begin with");
    for (size_t i = 0; i < config->output_count; i++) {
        uint64_t end = i + 1 < config->output_count ? places[i + 1] : total;
        size_t item = kiln__dtype_size(config->outputs[i].dtype);
        for (uint64_t at = places[i]; at < end; at += item)
            put_number(values + at, config->outputs[i].dtype, config->init_value);
    }
    kiln_status status = gpu->is_absent ? KILN_OK : kiln__gpu_upload(gpu, data, values, size, err);
    free(values);
    return status;
}

/* A block has no more threads than the grid. */
static uint32_t threads_of(const struct kiln_kernel_config *config, int axis)
{
    return (uint32_t)(config->block[axis] < config->grid[axis] ? config->block[axis] : config->grid[axis]);
}

static uint32_t blocks_of(const struct kiln_kernel_config *config, int axis)
{
    return ((uint32_t)config->grid[axis] - 1) / threads_of(config, axis) + 1;
}

/* Its output has bytes, and so have its inputs, which are here. */
static kiln_status launch(const struct kiln_node *node, struct kiln_array *out, const kiln_device *device,
                          kiln_error *err)
{
    struct definition *definition = definition_of(node->attrs[0]);
    struct kiln_cuda_operand operands[KILN_CUDA_MOST_PARTS];
    struct kiln_kernel_output outputs[KILN_CUDA_MOST_PARTS];
    struct kiln_kernel_config config;
    uint64_t words[MOST_WORDS];
    struct kiln_gpu_call call = {.shared_bytes = definition->source.shared_bytes, .params = words};
    read_attrs(node->attrs, &config, outputs);
    for (uint32_t i = 0; i < node->input_count; i++)
        operands[i] = (struct kiln_cuda_operand){(enum kiln_dtype)node->inputs[i]->dtype, node->inputs[i]->ndim};
    kiln_status status = get_kernel(definition, operands, (kiln_device *)(uintptr_t)device, &call.function, err);
    if (!status && config.has_init_value)
        status = fill_outputs(device->gpu, out->data, (size_t)out->size * kiln__dtype_size(out->dtype), &config, err);
    if (status || !call.function) return status;
    call.param_count = pack_words(&definition->source, node, out->data, &config, words);
    call.grid = blocks_of(&config, 0);
    call.block = threads_of(&config, 0);
    for (int i = 0; i < 2; i++) {
        call.more[i] = blocks_of(&config, 1 + i);
        call.more[2 + i] = threads_of(&config, 1 + i);
    }
    return kiln__gpu_launch(device->gpu, &call, err);
}

/* What was collected before is started first: a launch of ours is not put into graphs. */
kiln_status kiln__gpu_cuda_kernel(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    kiln_status status = kiln__launch_graph_flush(err);
    if (!status) status = kiln__output_alloc(out, err);
    return status || out->size == 0 ? status : launch(node, out, kiln__active.device, err);
}
