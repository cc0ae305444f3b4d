/*
 * nvrtc.c - see nvrtc.h. The library is opened under pthread_once and never closed; programs of its are made, compiled
 * and destroyed by one thread each, and several at once are fine.
 */
#include "cache/kernels/nvrtc.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "cache/kernels/compiler_steps.h"
#include "cache/kernels/llvm_link.h"
#include "key/request.h"

enum { LOG_SIZE = 700, NAME_SIZE = 256 };

/* One row per function: the field, the symbol, its parameters. */
#define NVRTC_FUNCTIONS(F)                                                                                             \
    F(version, "nvrtcVersion", (int *major, int *minor))                                                               \
    F(create, "nvrtcCreateProgram",                                                                                    \
      (void **program, const char *text, const char *name, int count, const char *const *headers,                      \
       const char *const *names))                                                                                      \
    F(compile, "nvrtcCompileProgram", (void *program, int count, const char *const *options))                          \
    F(log_size, "nvrtcGetProgramLogSize", (void *program, size_t *size))                                               \
    F(log, "nvrtcGetProgramLog", (void *program, char *log))                                                           \
    F(ptx_size, "nvrtcGetPTXSize", (void *program, size_t *size))                                                      \
    F(ptx, "nvrtcGetPTX", (void *program, char *ptx))                                                                  \
    F(destroy, "nvrtcDestroyProgram", (void **program))

static struct {
#define NVRTC_FIELD(field, symbol, parameters) int(*field) parameters;
    NVRTC_FUNCTIONS(NVRTC_FIELD)
#undef NVRTC_FIELD
} nvrtc;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[400]; /* "": the table is complete */
static char digest[160];

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The build id of the library that has this address, as digits. */
struct identified {
    uintptr_t address;
    char id[80];
};

static void read_notes(const char *at, size_t size, char *id, size_t room)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name = (note->n_namesz + 3u) & ~3u, value = (note->n_descsz + 3u) & ~3u;
        if (size < sizeof *note + name + value) return;
        const unsigned char *bytes = (const unsigned char *)at + sizeof *note + name;
        for (size_t i = 0; note->n_type == NT_GNU_BUILD_ID && i < note->n_descsz && 2 * i + 3 < room; i++)
            snprintf(id + 2 * i, 3, "%02x", bytes[i]);
        at += sizeof *note + name + value;
        size -= sizeof *note + name + value;
    }
}

static int identify(struct dl_phdr_info *info, size_t size, void *context)
{
    struct identified *identified = context;
    bool is_it = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        is_it |= part->p_type == PT_LOAD && identified->address >= start && identified->address < start + part->p_memsz;
    }
    for (int i = 0; is_it && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE)
            read_notes((const char *)(info->dlpi_addr + part->p_vaddr), part->p_memsz, identified->id,
                       sizeof identified->id);
    }
    return is_it;
}

static bool fill(void *library)
{
    static const struct {
        const char *symbol;
        size_t offset;
    } fields[] = {
#define NVRTC_ROW(field, symbol, parameters) {symbol, offsetof(__typeof__(nvrtc), field)},
        NVRTC_FUNCTIONS(NVRTC_ROW)
#undef NVRTC_ROW
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        void *address = dlsym(library, fields[i].symbol);
        if (!address) {
            snprintf(problem, sizeof problem, "libnvrtc has no %s", fields[i].symbol);
            return false;
        }
        memcpy((char *)&nvrtc + fields[i].offset, &address, sizeof address);
    }
    return true;
}

static void open_library(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    struct identified identified = {0};
    void *library = NULL;
    int major = 0, minor = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, sizeof problem,
                 "kernels in CUDA C++ need NVIDIA's compiler NVRTC: neither libnvrtc.so.13 nor libnvrtc.so.12 nor "
                 "libnvrtc.so can be opened");
        return;
    }
    if (!fill(library)) return;
    memcpy(&identified.address, &nvrtc.version, sizeof identified.address);
    dl_iterate_phdr(identify, &identified);
    nvrtc.version(&major, &minor);
    snprintf(digest, sizeof digest, "nvrtc %d.%d %s", major, minor, identified.id);
    kiln__exit_watch(); /* before the destructors that it has registered by now */
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static kiln_status read_entry(kiln_bytes text, char entry[NAME_SIZE], kiln_error *err)
{
    static const char first[] = KILN_NVRTC_FIRST_LINE;
    const char *at = text.data, *end = text.size ? memchr(at, '\n', text.size) : NULL;
    size_t size = end && text.size > sizeof first && !memcmp(at, first, sizeof first - 1)
                      ? (size_t)(end - at) - (sizeof first - 1)
                      : 0;
    if (size == 0 || size >= NAME_SIZE)
        return kiln__fail(err, KILN_INVALID, "a text for NVRTC begins with \"" KILN_NVRTC_FIRST_LINE "NAME\"");
    memcpy(entry, at + sizeof first - 1, size);
    entry[size] = '\0';
    return KILN_OK;
}

static kiln_status fail_with_log(void *program, kiln_error *err)
{
    size_t size = 0;
    nvrtc.log_size(program, &size);
    char *log = calloc(size + 1, 1);
    if (!log) return kiln__no_memory(err, "the log of NVRTC");
    nvrtc.log(program, log);
    for (size_t end = strlen(log); end && log[end - 1] == '\n'; end--) log[end - 1] = '\0';
    kiln__fail(err, KILN_COMPILE_FAILED, "NVRTC refuses the kernel: %.*s", LOG_SIZE, log[0] ? log : "it says nothing");
    free(log);
    return KILN_COMPILE_FAILED;
}

static kiln_status put_ptx(void *program, kiln_artifact *out, kiln_error *err)
{
    size_t size = 0;
    if (nvrtc.ptx_size(program, &size) || size < 2) return kiln__fail(err, KILN_COMPILE_FAILED, "NVRTC gave no PTX");
    char *ptx = malloc(size);
    if (!ptx) return kiln__no_memory(err, "PTX");
    kiln_status status = nvrtc.ptx(program, ptx) ? kiln__fail(err, KILN_COMPILE_FAILED, "NVRTC gave no PTX")
                                                 : kiln_artifact_put(out, "ptx", ptx, size - 1); /* without its NUL */
    free(ptx);
    return status;
}

static kiln_status compile_program(const kiln_request *request, const char *text, kiln_artifact *out, kiln_error *err)
{
    char architecture[64];
    const char *target = kiln_request_target(request);
    const char *options[] = {architecture, "-std=c++17", "-no-source-include", "-use_fast_math"};
    void *program = NULL;
    snprintf(architecture, sizeof architecture, "-arch=compute_%s", strncmp(target, "sm_", 3) ? target : target + 3);
    if (nvrtc.create(&program, text, "kernel.cu", 0, NULL, NULL))
        return kiln__fail(err, KILN_COMPILE_FAILED, "NVRTC can't make a program");
    int result = nvrtc.compile(program, request->options.fast_math ? 4 : 3, options);
    kiln_status status = result ? fail_with_log(program, err) : put_ptx(program, out, err);
    nvrtc.destroy(&program);
    return status;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    KILN_HOLD_CANCEL;
    char entry[NAME_SIZE];
    (void)self;
    if (!request->device->gpu) return kiln__fail(err, KILN_COMPILE_FAILED, "NVRTC compiles for NVIDIA's GPUs");
    kiln_status status = read_entry(text, entry, err);
    if (status) return status;
    char *copy = malloc(text.size + 1);
    if (!copy) return kiln__no_memory(err, "a text");
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    status = compile_program(request, copy, out, err);
    if (!status) status = kiln_artifact_set_entry(out, entry);
    free(copy);
    return status;
}

/* What becomes of PTX is the same whoever made it. */
static const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                       .name = "nvrtc",
                                       .digest = digest,
                                       .compile = compile,
                                       .link = kiln__llvm_link,
                                       .unlink = kiln__llvm_unlink};

bool kiln__is_nvrtc(const kiln_compiler *other)
{
    return other == &compiler;
}

kiln_status kiln__nvrtc(const kiln_compiler **out, kiln_error *err)
{
    pthread_once(&once, open_library);
    if (problem[0]) return kiln__fail(err, KILN_NO_COMPILER, "%s", problem);
    *out = &compiler;
    return KILN_OK;
}
