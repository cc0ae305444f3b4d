/*
 * runtime_library.c - the run-time library: bitcode built into the plug-in, one for each family of targets, made ready
 * for a target on request.
 *
 * Ready means: compiled for the target's CPU, always inlined, and linkonce_odr, so that a kernel takes only the helpers
 * it calls. What comes out depends on the built-in bitcode, the target's name and LLVM only.
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

#include "compiler/internal.h"

#define EMBED(name, file)                                                                                              \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".balign 16\n"                                                                                             \
            ".type " #name "_start, @object\n" #name "_start:\n"                                                       \
            ".incbin \"" file "\"\n" #name "_end:\n"                                                                   \
            ".byte 0\n"                                                                                                \
            ".popsection\n");                                                                                          \
    extern const char name##_start[] __attribute__((visibility("hidden")));                                            \
    extern const char name##_end[] __attribute__((visibility("hidden")))

#define LIBRARY(name, file)                                                                                            \
    EMBED(kiln_runtime_##name, file);                                                                                  \
    kiln_bytes kiln__runtime_##name(void)                                                                              \
    {                                                                                                                  \
        return (kiln_bytes){kiln_runtime_##name##_start,                                                               \
                            (size_t)(kiln_runtime_##name##_end - kiln_runtime_##name##_start)};                        \
    }

LIBRARY(x86, KILN_RUNTIME_X86)
LIBRARY(x86_fused, KILN_RUNTIME_X86_FUSED)
LIBRARY(nvptx, KILN_RUNTIME_NVPTX)
LIBRARY(nvptx_bf16, KILN_RUNTIME_NVPTX_BF16)

struct preparation {
    struct kiln_session session;
    const struct kiln_family *family;
    const char *target;
    struct kiln_buffer *bitcode;
};

static void make_ready(LLVMContextRef context, LLVMModuleRef module, const char *target)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f)) continue;
        kiln__attributes_set(context, f, target);
        kiln__attribute_add(context, f, "alwaysinline");
        LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    }
}

static kiln_status prepare(void *data, kiln_error *err)
{
    struct preparation *p = data;
    kiln_bytes source = p->family->runtime();
    LLVMMemoryBufferRef input = LLVMCreateMemoryBufferWithMemoryRange(source.data, source.size, "kiln_runtime", 0);
    LLVMModuleRef module = NULL;
    if (LLVMParseBitcodeInContext2(p->session.context, input, &module)) {
        LLVMDisposeMemoryBuffer(input);
        return kiln__session_fail(&p->session, "the built-in run-time library is not readable", NULL, err);
    }
    LLVMDisposeMemoryBuffer(input);
    make_ready(p->session.context, module, p->target);
    LLVMMemoryBufferRef output = LLVMWriteBitcodeToMemoryBuffer(module);
    kiln__buffer_append(p->bitcode, LLVMGetBufferStart(output), LLVMGetBufferSize(output));
    LLVMDisposeMemoryBuffer(output);
    LLVMDisposeModule(module);
    return p->bitcode->failed ? kiln__no_memory(err, "the run-time library") : KILN_OK;
}

kiln_status kiln__runtime_prepare(const char *target, struct kiln_buffer *bitcode, kiln_error *err)
{
    struct preparation p = {.target = target, .bitcode = bitcode};
    kiln_status status = kiln__family_get(target, &p.family, err);
    if (!status) status = kiln__session_open(&p.session, err);
    if (status) return status;
    status = kiln__session_guard(&p.session, prepare, &p, err);
    kiln__session_close(&p.session);
    return status;
}
