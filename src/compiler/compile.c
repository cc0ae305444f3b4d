/*
 * compile.c - from text to an object or PTX, as a recipe: parse, attributes, link the helpers, hide, passes, emit,
 * check.
 *
 * Each job has a context of its own; only the target machine is kept. Nothing of the process (environment, addresses,
 * order of jobs) reaches the result.
 */
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "compiler/internal.h"

struct compilation {
    struct kiln_session session;
    const struct kiln_plugin_job *job;
    const struct kiln_family *family;
    struct kiln_buffer *code;
    struct kiln_machine *machine;
    LLVMModuleRef module;
};

static kiln_status parse(struct compilation *c, kiln_error *err)
{
    kiln_bytes text = c->job->text;
    char *message = NULL;
    LLVMMemoryBufferRef input = LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "kernel");
    if (LLVMParseIRInContext(c->session.context, input, &c->module, &message))
        return kiln__session_fail(&c->session, "the text is not valid LLVM IR", message, err);
    LLVMValueRef entry = LLVMGetNamedFunction(c->module, c->job->entry);
    if (!entry || LLVMIsDeclaration(entry))
        return kiln__fail(err, KILN_COMPILE_FAILED, "the text does not define the entry \"%s\"", c->job->entry);
    return KILN_OK;
}

static void set_target(struct compilation *c)
{
    char *triple = LLVMGetTargetMachineTriple(c->machine->llvm);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine->llvm);
    LLVMSetTarget(c->module, triple);
    LLVMSetModuleDataLayout(c->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) kiln__attributes_set(c->session.context, f, c->job->target);
}

static bool uses_runtime(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t size;
        if (LLVMIsDeclaration(f) && strncmp(LLVMGetValueName2(f, &size), "kiln_", 5) == 0) return true;
    }
    return false;
}

/* The bitcode is read lazily: only the bodies of the helpers in use are. */
static kiln_status link_runtime(struct compilation *c, kiln_error *err)
{
    kiln_bytes bytes = c->job->runtime;
    LLVMModuleRef runtime = NULL;
    if (!bytes.size || !uses_runtime(c->module)) return KILN_OK;
    LLVMMemoryBufferRef input = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.data, bytes.size, "runtime");
    if (LLVMGetBitcodeModuleInContext2(c->session.context, input, &runtime)) {
        LLVMDisposeMemoryBuffer(input);
        return kiln__session_fail(&c->session, "the run-time library is not readable", NULL, err);
    }
    LLVMSetTarget(runtime, LLVMGetTarget(c->module));
    LLVMSetDataLayout(runtime, LLVMGetDataLayoutStr(c->module));
    if (LLVMLinkModules2(c->module, runtime))
        return kiln__session_fail(&c->session, "the run-time library does not fit the text", NULL, err);
    return KILN_OK;
}

static void hide_all_but_entry(struct compilation *c)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f; f = LLVMGetNextFunction(f)) {
        size_t size;
        if (LLVMIsDeclaration(f)) continue;
        bool is_entry = strcmp(LLVMGetValueName2(f, &size), c->job->entry) == 0;
        LLVMSetLinkage(f, is_entry ? LLVMExternalLinkage : LLVMInternalLinkage);
        if (!is_entry && c->family->inlines_all) kiln__attribute_add(c->session.context, f, "alwaysinline");
    }
}

static void allow_fast_math(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (LLVMCanValueUseFastMathFlags(i))
                    LLVMSetFastMathFlags(i, LLVMFastMathAllowContract | LLVMFastMathAllowReassoc);
}

static kiln_status run_passes(struct compilation *c, kiln_error *err)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error =
        LLVMRunPasses(c->module, c->family->pipelines[c->job->opt_level > 0], c->machine->llvm, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error) return KILN_OK;
    char *message = LLVMGetErrorMessage(error);
    kiln__fail(err, KILN_COMPILE_FAILED, "LLVM's passes failed: %s", message);
    LLVMDisposeErrorMessage(message);
    return KILN_COMPILE_FAILED;
}

static kiln_status emit(struct compilation *c, kiln_error *err)
{
    static const char failed[] = "LLVM could not make code of the text";
    LLVMMemoryBufferRef output = NULL;
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->machine->llvm, c->module, c->family->output, &message, &output))
        return kiln__session_fail(&c->session, failed, message, err);
    const char *start = LLVMGetBufferStart(output);
    size_t size = LLVMGetBufferSize(output);
    kiln_status status = KILN_OK;
    if (c->session.diagnostic[0]) status = kiln__session_fail(&c->session, failed, NULL, err);
    if (!status) status = c->family->check(start, size, c->job->entry, err);
    if (!status) kiln__buffer_append(c->code, start, size);
    if (!status && c->code->failed) status = kiln__no_memory(err, "a kernel's code");
    LLVMDisposeMemoryBuffer(output);
    return status;
}

static kiln_status compile(void *data, kiln_error *err)
{
    struct compilation *c = data;
    char *message = NULL;
    kiln_status status = kiln__machine_get(c->family, c->job->target, c->job->opt_level, &c->machine, err);
    if (!status) status = parse(c, err);
    if (status) return status;
    set_target(c);
    status = link_runtime(c, err);
    if (status) return status;
    hide_all_but_entry(c);
    if (c->job->fast_math) allow_fast_math(c->module);
    if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message))
        return kiln__session_fail(&c->session, "the text is not valid LLVM IR", message, err);
    LLVMDisposeMessage(message);
    status = run_passes(c, err);
    return status ? status : emit(c, err);
}

kiln_status kiln__compile(const struct kiln_plugin_job *job, struct kiln_buffer *code, kiln_error *err)
{
    struct compilation c = {.job = job, .code = code};
    if (!job->entry || !job->entry[0] || !job->text.size)
        return kiln__fail(err, KILN_INVALID, "a job needs text and the name of an entry");
    kiln_status status = kiln__family_get(job->target, &c.family, err);
    if (!status) status = kiln__session_open(&c.session, err);
    if (status) return status;
    status = kiln__session_guard(&c.session, compile, &c, err);
    if (c.session.context && c.module) LLVMDisposeModule(c.module);
    if (c.session.context) kiln__machine_put(c.machine);
    kiln__session_close(&c.session);
    return status;
}
