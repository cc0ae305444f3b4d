/*
 * runtime.c - the run-time library: bitcode built into the plug-in, made ready for a target on request.
 *
 * Ready means: compiled for the target's CPU, always inlined, and linkonce_odr, so that a kernel takes only the helpers
 * it calls. What comes out depends on the built-in bitcode, the target's name and LLVM only.
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

#include "compiler/internal.h"

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".type kiln_runtime_start, @object\n"
        "kiln_runtime_start:\n"
        ".incbin \"" KILN_RUNTIME_BITCODE "\"\n"
        "kiln_runtime_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char kiln_runtime_start[] __attribute__((visibility("hidden")));
extern const char kiln_runtime_end[] __attribute__((visibility("hidden")));

kiln_bytes kiln__runtime_bitcode(void)
{
    return (kiln_bytes){kiln_runtime_start, (size_t)(kiln_runtime_end - kiln_runtime_start)};
}

struct preparation {
    struct kiln_session session;
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
    kiln_bytes source = kiln__runtime_bitcode();
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
    kiln_status status = kiln__machine_check(target, err);
    if (status) return status;
    status = kiln__session_open(&p.session, err);
    if (status) return status;
    status = kiln__session_guard(&p.session, prepare, &p, err);
    kiln__session_close(&p.session);
    return status;
}
