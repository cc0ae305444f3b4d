/*
 * cuda_module.c - PTX and machine code of GPUs, through the driver.
 *
 * A module belongs to the context it was loaded into; it is entered before loading and before unloading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"
#include "link/link.h"

enum { LOG_SIZE = 800 };

struct kiln_module {
    const struct kiln_gpu *gpu;
    void *module, *function;
};

const char *kiln__cubin_name(const char *target, char out[KILN_CUBIN_NAME])
{
    snprintf(out, KILN_CUBIN_NAME, "cubin.%.20s", target);
    return out;
}

/* The GPU is entered. `text` ends in a NUL. */
static int assemble(const struct kiln_cuda *cuda, const struct kiln_buffer *text, struct kiln_buffer *cubin, char *log)
{
    const int options[] = {KILN_CUDA_ERROR_LOG, KILN_CUDA_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)(LOG_SIZE - 1)}, *state = NULL, *image = NULL;
    size_t size = 0;
    int result = cuda->link_new(2, options, values, &state);
    if (result) return result;
    result = cuda->link_add(state, KILN_CUDA_INPUT_PTX, text->data, text->size, "kernel", 0, NULL, NULL);
    if (!result) result = cuda->link_finish(state, &image, &size);
    if (!result) kiln__buffer_append(cubin, image, size); /* the image goes with the state */
    cuda->link_free(state);
    return result;
}

kiln_status kiln__ptx_assemble(const struct kiln_gpu *gpu, kiln_bytes ptx, struct kiln_buffer *cubin, kiln_error *err)
{
    const struct kiln_cuda *cuda;
    struct kiln_buffer text = {0};
    char log[LOG_SIZE] = "";
    kiln_status status = kiln__cuda(&cuda, err);
    if (!status) status = kiln__gpu_enter(gpu, err);
    if (status) return status;
    kiln__buffer_append(&text, ptx.data, ptx.size);
    kiln__buffer_append(&text, "", 1);
    if (text.failed) return kiln__no_memory(err, "PTX");
    kiln__gpu_count_add(KILN_GPU_DRIVER_COMPILES, 1);
    int result = assemble(cuda, &text, cubin, log);
    kiln__buffer_release(&text);
    if (result) return kiln__cuda_fail(err, KILN_LINK_FAILED, result, log[0] ? log : "PTX is refused");
    return cubin->failed ? kiln__no_memory(err, "machine code") : KILN_OK;
}

kiln_status kiln__module_load(const struct kiln_gpu *gpu, kiln_bytes cubin, const char *entry, struct kiln_module **out,
                              kiln_error *err)
{
    const struct kiln_cuda *cuda;
    kiln_status status = kiln__cuda(&cuda, err);
    if (!status) status = kiln__gpu_enter(gpu, err);
    if (status) return status;
    struct kiln_module *module = calloc(1, sizeof *module);
    if (!module) return kiln__no_memory(err, "a module");
    module->gpu = gpu;
    int result = cuda->module_load(&module->module, cubin.data);
    if (!result) result = cuda->module_function(&module->function, module->module, entry);
    if (result) {
        kiln__module_free(module);
        return kiln__cuda_fail(err, KILN_LINK_FAILED, result, "machine code can't be loaded");
    }
    *out = module;
    return KILN_OK;
}

void *kiln__module_function(const struct kiln_module *module)
{
    return module->function;
}

void kiln__module_free(struct kiln_module *module)
{
    const struct kiln_cuda *cuda;
    if (!module) return;
    bool is_loaded = module->module && !kiln__cuda(&cuda, NULL) && !kiln__gpu_enter(module->gpu, NULL);
    if (is_loaded) cuda->module_unload(module->module);
    free(module);
}
