/*
 * code.c - PTX, machine code and functions of the emulated GPU.
 *
 * PTX can't be run here. "Machine code" is the digest of the PTX and the name of its entry; when it is loaded, the
 * artifact with this PTX is in the cache's folder, and so is the kernel's text, which is translated and compiled for
 * the CPU. As with a real driver, machine code is all that the next process needs.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/plugin.h"
#include "emulated/driver.h"
#include "emulated/texts.h"
#include "link/link.h"
#include "support/gpu_emulator.h"

enum { MAX_PARAMETERS = 4096, MAX_BLOCK = 256, OPT_LEVEL = 0, NAME = 128 };
static const char magic[16] = "emulated cubin\n", host_target[] = "x86-64-v2";

struct machine_code {
    char magic[sizeof magic];
    struct kiln_digest ptx;
    char entry[NAME];
};

struct emulated_function {
    char entry[NAME];
    struct kiln_image *image;
    gpu_emulator_thread kernel;
    bool waits; /* threads wait for each other */
    size_t parameters;
    bool is_pointer[MAX_PARAMETERS];
};

struct linking {
    struct machine_code code;
    bool has_ptx;
    char *log;
    size_t log_size;
};

/* ---- PTX to machine code --------------------------------------------------------------------------------------------
 */

int emulated_link_new(unsigned option_count, const int *options, void **values, void **state)
{
    int result = emulated_enter(CALL_link_new);
    struct linking *linking = result ? NULL : calloc(1, sizeof *linking);
    for (unsigned i = 0; linking && i < option_count; i++) {
        if (options[i] == KILN_CUDA_ERROR_LOG) linking->log = values[i];
        if (options[i] == KILN_CUDA_ERROR_LOG_SIZE) linking->log_size = (size_t)(uintptr_t)values[i];
    }
    if (linking) *state = linking;
    return emulated_leave(result || linking ? result : OUT_OF_MEMORY);
}

/* ".visible .entry NAME(" */
static bool read_entry(const char *ptx, char entry[NAME])
{
    const char *at = strstr(ptx, ".entry ");
    return at && sscanf(at, ".entry %127[^( \n]", entry) == 1;
}

int emulated_link_add(void *state, int type, void *data, size_t size, const char *name, unsigned option_count,
                      const int *options, void **values)
{
    struct linking *linking = state;
    int result = emulated_enter(CALL_link_add);
    (void)option_count, (void)options, (void)values;
    bool is_text = type == KILN_CUDA_INPUT_PTX && size && ((const char *)data)[size - 1] == '\0';
    if (!result && (!is_text || !strstr(data, ".version") || !read_entry(data, linking->code.entry))) {
        result = INVALID_PTX;
        if (linking->log) snprintf(linking->log, linking->log_size, "%s is not PTX", name);
    }
    if (!result) linking->code.ptx = kiln__digest(data, size - 1), linking->has_ptx = true;
    return emulated_leave(result);
}

int emulated_link_finish(void *state, void **image, size_t *size)
{
    struct linking *linking = state;
    int result = emulated_enter(CALL_link_finish);
    if (!result && !linking->has_ptx) result = INVALID_VALUE;
    memcpy(linking->code.magic, magic, sizeof magic);
    *image = &linking->code;
    *size = sizeof linking->code;
    return emulated_leave(result);
}

int emulated_link_free(void *state)
{
    int result = emulated_enter(CALL_link_free);
    free(state);
    return emulated_leave(result);
}

/* ---- machine code to functions
 * --------------------------------------------------------------------------------------- */

static const struct kiln_plugin *plugin;
static struct kiln_buffer runtime;

static kiln_status open_compiler(kiln_error *err)
{
    if (plugin) return KILN_OK;
    void *library = dlopen(EMULATED_PLUGIN, RTLD_NOW | RTLD_LOCAL); /* of this build: nobody else's settings matter */
    const struct kiln_plugin *table = library ? dlsym(library, KILN_PLUGIN_SYMBOL) : NULL;
    if (!table) return kiln__fail(err, KILN_NO_COMPILER, "%s can't be opened", EMULATED_PLUGIN);
    kiln_status status = table->prepare(host_target, &runtime, err);
    if (!status) plugin = table;
    return status;
}

static kiln_status compile(const struct kiln_buffer *text, struct emulated_function *function, kiln_error *err)
{
    struct kiln_buffer object = {0}, entry = {0};
    kiln_status status = open_compiler(err);
    if (status) return status;
    const struct kiln_plugin_job job = {.text = {text->data, text->size},
                                        .runtime = {runtime.data, runtime.size},
                                        .target = host_target,
                                        .opt_level = OPT_LEVEL};
    status = plugin->compile(&job, &object, &entry, err);
    if (!status)
        status =
            kiln__image_load((kiln_bytes){object.data, object.size}, (const char *)entry.data, &function->image, err);
    kiln__buffer_release(&object);
    kiln__buffer_release(&entry);
    if (status) return status;
    void *address = kiln__image_entry(function->image);
    memcpy(&function->kernel, &address, sizeof address);
    return KILN_OK;
}

/* Several texts whose entries have one name may give one PTX, in which a pointer that the kernel does not use may stand
 * for a number of another. */
static bool is_read(const char *entry, const char *ptx, size_t parameter)
{
    char name[NAME + 32];
    snprintf(name, sizeof name, "[%s_param_%zu]", entry, parameter);
    return strstr(ptx, name) != NULL;
}

/* Parameters stand in the definition as "ptr addrspace(1) ... %name" or "i64 %name". */
static void read_parameters(const char *text, const char *ptx, struct emulated_function *function)
{
    size_t length;
    const char *entry = gpu_emulator_entry(text, &length), *at = entry ? strchr(entry, '(') + 1 : "";
    while ((*at == 'p' || *at == 'i') && function->parameters < MAX_PARAMETERS) {
        function->is_pointer[function->parameters] = *at == 'p' && is_read(function->entry, ptx, function->parameters);
        function->parameters++;
        at = strchr(at, '%');
        at += strcspn(at, ",)");
        if (*at == ',') at += 2;
    }
}

/* PTX that the emulated NVRTC made carries its text (nvrtc.c). */
static void take_carried_text(const struct kiln_buffer *ptx, struct kiln_buffer *text)
{
    static const char mark[] = "//ll ";
    const char *at = ptx->size ? strstr((const char *)ptx->data, mark) : NULL;
    if (!at) return;
    kiln__buffer_clear(text);
    for (; at; at = strstr(at, mark)) {
        at += sizeof mark - 1;
        kiln__buffer_append(text, at, strcspn(at, "\n"));
        kiln__buffer_append(text, "\n", 1);
    }
}

static int load(const struct kiln_digest *digest, struct emulated_function *function)
{
    struct kiln_buffer text = {0}, ptx = {0}, host = {0};
    kiln_error err = {0};
    int result = SUCCESS;
    if (!emulated_text_find(digest, &text, &ptx))
        result = emulated_refuse(INVALID_IMAGE, "no artifact in the cache's folder has this machine code");
    if (!result) take_carried_text(&ptx, &text);
    const char *fault = result ? NULL : gpu_emulator_translate((const char *)text.data, &host);
    if (fault) result = emulated_refuse(INVALID_IMAGE, "not understood by the emulator: %s", fault);
    if (!result) {
        read_parameters((const char *)text.data, (const char *)ptx.data, function);
        function->waits = gpu_emulator_waits((const char *)text.data);
    }
    if (!result && compile(&host, function, &err)) result = emulated_refuse(INVALID_IMAGE, "%s", err.text);
    kiln__buffer_release(&text);
    kiln__buffer_release(&ptx);
    kiln__buffer_release(&host);
    return result;
}

int emulated_module_load(void **module, const void *image)
{
    struct machine_code code;
    int result = emulated_enter(CALL_module_load);
    struct emulated_function *function = result ? NULL : calloc(1, sizeof *function);
    if (!result && !function) result = OUT_OF_MEMORY;
    if (!result && memcmp(image, magic, sizeof magic) != 0) result = INVALID_IMAGE;
    if (!result) memcpy(&code, image, sizeof code);
    if (!result) memcpy(function->entry, code.entry, sizeof function->entry);
    if (!result && !emulated_is_idle()) result = load(&code.ptx, function);
    if (result)
        free(function);
    else
        *module = function;
    return emulated_leave(result);
}

int emulated_module_unload(void *module)
{
    int result = emulated_enter(CALL_module_unload);
    struct emulated_function *function = module;
    if (!result) emulated_run_all(); /* what still waits may be of this module */
    if (!result) kiln__image_free(function->image);
    if (!result) free(function);
    return emulated_leave(result);
}

int emulated_module_function(void **function, void *module, const char *name)
{
    int result = emulated_enter(CALL_module_function);
    struct emulated_function *loaded = module;
    if (!result && strcmp(name, loaded->entry) != 0) result = NOT_FOUND;
    if (!result) *function = loaded;
    return emulated_leave(result);
}

/* ---- launches
 * ---------------------------------------------------------------------------------------------------------- */

const char *emulated_function_check(const struct emulated_function *function, uint32_t grid, uint32_t block,
                                    size_t words)
{
    if (!function) return "no function";
    if (grid < 1 || grid > INT32_MAX) return "a grid that is not possible";
    if (block < 1 || block > MAX_BLOCK) return "a block that the kernel was not compiled for";
    return words == function->parameters ? NULL : "another number of parameters than the kernel has";
}

int emulated_function_run(const struct emulated_function *function, uint32_t grid, uint32_t block, size_t shared_bytes,
                          const uint64_t *words)
{
    for (size_t i = 0; i < function->parameters; i++)
        if (function->is_pointer[i] && !emulated_memory_has(words[i], 1))
            return emulated_refuse(ILLEGAL_ADDRESS, "parameter %zu of a kernel points to no allocation", i);
    const char *fault = function->waits ? gpu_emulator_launch(function->kernel, grid, block, shared_bytes, words)
                                        : gpu_emulator_launch_apart(function->kernel, grid, block, words);
    return fault ? emulated_refuse(LAUNCH_FAILED, "%s", fault) : SUCCESS;
}
