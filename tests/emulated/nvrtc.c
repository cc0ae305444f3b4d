/*
 * nvrtc.c - NVIDIA's run-time compiler, emulated: a libnvrtc.so.12 beside the emulated driver, for tests.
 *
 * C++ can't be compiled here. A source says in lines that begin with "//ll " what its body is in LLVM's language; the
 * parameters are those of the function, as %p0, %p1 and so on: pointers, or numbers of 64 bits. The "PTX" names the
 * function and carries the whole text in such lines, which the emulated driver runs. A source with "#error" is refused.
 * KILN_TEST_NVRTC=MINOR sets the version, 12.MINOR; without it that is 12.8.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **out, const char *text, const char *name, int count, const char *const *headers,
                       const char *const *names);
int nvrtcCompileProgram(void *program, int count, const char *const *options);
int nvrtcGetProgramLogSize(void *program, size_t *size);
int nvrtcGetProgramLog(void *program, char *log);
int nvrtcGetPTXSize(void *program, size_t *size);
int nvrtcGetPTX(void *program, char *ptx);
int nvrtcDestroyProgram(void **program);

enum { INVALID_OPTION = 5, COMPILATION = 6 };

struct program {
    char *text;
    const char *log;
    struct kiln_buffer ptx;
};

int nvrtcVersion(int *major, int *minor)
{
    const char *number = getenv("KILN_TEST_NVRTC");
    *major = 12;
    *minor = number ? atoi(number) : 8;
    return 0;
}

int nvrtcCreateProgram(void **out, const char *text, const char *name, int count, const char *const *headers,
                       const char *const *names)
{
    struct program *program = calloc(1, sizeof *program);
    (void)name, (void)count, (void)headers, (void)names;
    program->text = strdup(text);
    program->log = "";
    *out = program;
    return 0;
}

/* The function's name and its parameters, "(const float *a, long long n, float *out)". */
static const char *find_function(const char *text, char name[128])
{
    const char *at = strstr(text, "extern \"C\" __global__ void ");
    return at && sscanf(at, "extern \"C\" __global__ void %127[^(](", name) == 1 ? strchr(at, '(') + 1 : NULL;
}

/* Number and kind of the parameters, as a list for LLVM or as lines. */
static void print_parameters(struct kiln_buffer *out, const char *at, const char *name, bool as_lines)
{
    for (int i = 0; *at && *at != ')'; i++) {
        const char *end = at + strcspn(at, ",)");
        bool is_pointer = memchr(at, '*', (size_t)(end - at));
        if (as_lines && is_pointer)
            kiln__buffer_printf(out, "//ll   %%p%d = addrspacecast ptr addrspace(1) %%p%d.global to ptr\n", i, i);
        else if (as_lines)
            kiln__buffer_printf(out, "// [%s_param_%d] is no pointer\n", name, i);
        else
            kiln__buffer_printf(out, is_pointer ? "%sptr addrspace(1) %%p%d.global" : "%si64 %%p%d", i ? ", " : "", i);
        at = *end == ',' ? end + 2 : end;
    }
}

static void print_body(struct kiln_buffer *out, const char *text)
{
    for (const char *at = strstr(text, "//ll "); at; at = strstr(at + 1, "//ll ")) {
        kiln__buffer_append(out, at, strcspn(at, "\n"));
        kiln__buffer_append(out, "\n", 1);
    }
}

int nvrtcCompileProgram(void *given, int count, const char *const *options)
{
    struct program *program = given;
    char name[128];
    const char *parameters = find_function(program->text, name);
    if (count < 1 || strncmp(options[0], "-arch=compute_", 14) != 0) return INVALID_OPTION;
    if (!parameters || strstr(program->text, "#error")) {
        program->log = "kernel.cu(1): error: #error directive: \"as the source wants\"\n";
        return COMPILATION;
    }
    struct kiln_buffer *ptx = &program->ptx;
    kiln__buffer_printf(ptx, ".version 8.0\n.target sm_%s\n.visible .entry %s(\n)\n", options[0] + 14, name);
    kiln__buffer_printf(ptx, "//ll define ptx_kernel void @%s(", name);
    print_parameters(ptx, parameters, name, false);
    kiln__buffer_printf(ptx, ") {\n//ll entry:\n");
    print_parameters(ptx, parameters, name, true);
    print_body(ptx, program->text);
    kiln__buffer_printf(ptx, "//ll }\n//ll \n");
    static const char *const registers[] = {"tid.x", "ctaid.x", "ntid.x"};
    for (int i = 0; i < 3; i++)
        kiln__buffer_printf(ptx, "//ll declare i32 @llvm.nvvm.read.ptx.sreg.%s()\n", registers[i]);
    return 0;
}

int nvrtcGetProgramLogSize(void *program, size_t *size)
{
    *size = strlen(((struct program *)program)->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *log)
{
    strcpy(log, ((struct program *)program)->log);
    return 0;
}

int nvrtcGetPTXSize(void *program, size_t *size)
{
    *size = ((struct program *)program)->ptx.size + 1;
    return 0;
}

int nvrtcGetPTX(void *program, char *ptx)
{
    const struct kiln_buffer *made = &((struct program *)program)->ptx;
    memcpy(ptx, made->data, made->size + 1);
    return 0;
}

int nvrtcDestroyProgram(void **given)
{
    struct program *program = *given;
    kiln__buffer_release(&program->ptx);
    free(program->text);
    free(program);
    *given = NULL;
    return 0;
}
