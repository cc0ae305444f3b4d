/*
 * compile.c - from text to an object or PTX, as a recipe: parse, find the entry, attributes, link the helpers, hide,
 * passes, emit, check.
 *
 * Each job has a context of its own; only the target machine is kept. Nothing of the process (environment, addresses,
 * order of jobs) reaches the result.
 */
#include <stdlib.h>
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
    struct kiln_buffer *code, *entry;
    struct kiln_buffer entry_name; /* with a NUL */
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
    return KILN_OK;
}

static const char *name_of(LLVMValueRef function)
{
    size_t size;
    return LLVMGetValueName2(function, &size);
}

static bool is_visible(LLVMValueRef function)
{
    LLVMLinkage linkage = LLVMGetLinkage(function);
    return !LLVMIsDeclaration(function) && name_of(function)[0] && linkage != LLVMInternalLinkage &&
           linkage != LLVMPrivateLinkage;
}

static kiln_status find_entry(struct compilation *c, kiln_error *err)
{
    static const char right[] = "right would be @kernel, or one function that is neither internal nor private";
    LLVMValueRef entry = LLVMGetNamedFunction(c->module, "kernel"), other = NULL;
    if (!entry || LLVMIsDeclaration(entry)) {
        entry = NULL;
        for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f && !other; f = LLVMGetNextFunction(f)) {
            if (!is_visible(f)) continue;
            if (entry) other = f;
            if (!entry) entry = f;
        }
    }
    if (!entry) return kiln__fail(err, KILN_COMPILE_FAILED, "the text defines no entry; %s", right);
    if (other)
        return kiln__fail(err, KILN_COMPILE_FAILED, "the text defines @%.80s and @%.80s, and no @kernel; %s",
                          name_of(entry), name_of(other), right);
    kiln__buffer_append(&c->entry_name, name_of(entry), strlen(name_of(entry)) + 1);
    return c->entry_name.failed ? kiln__no_memory(err, "the name of an entry") : KILN_OK;
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
        if (LLVMIsDeclaration(f) && strncmp(name_of(f), "kiln_", 5) == 0) return true;
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
        if (LLVMIsDeclaration(f)) continue;
        bool is_entry = strcmp(name_of(f), (const char *)c->entry_name.data) == 0;
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
    if (!status) status = c->family->check(start, size, (const char *)c->entry_name.data, err);
    if (!status) kiln__buffer_append(c->code, start, size);
    if (!status) kiln__buffer_append(c->entry, c->entry_name.data, c->entry_name.size);
    if (!status && (c->code->failed || c->entry->failed)) status = kiln__no_memory(err, "a kernel's code");
    LLVMDisposeMemoryBuffer(output);
    return status;
}

static void phase_ended(const struct compilation *c, const char *phase)
{
    if (c->job->phase_ended) c->job->phase_ended(phase, c->job->context);
}

static kiln_status compile(void *data, kiln_error *err)
{
    struct compilation *c = data;
    char *message = NULL;
    kiln_status status = kiln__machine_get(c->family, c->job->target, c->job->opt_level, &c->machine, err);
    phase_ended(c, "target machine");
    if (!status) status = parse(c, err);
    if (!status) status = find_entry(c, err);
    if (status) return status;
    phase_ended(c, "parse");
    set_target(c);
    if (c->job->lines && c->family->output == LLVMObjectFile)
        kiln__lines_set(c->module, c->job->text, (const char *)c->entry_name.data);
    status = link_runtime(c, err);
    if (status) return status;
    hide_all_but_entry(c);
    if (c->job->fast_math) allow_fast_math(c->module);
    if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message))
        return kiln__session_fail(&c->session, "the text is not valid LLVM IR", message, err);
    LLVMDisposeMessage(message);
    phase_ended(c, "helpers");
    status = run_passes(c, err);
    if (status) return status;
    phase_ended(c, "optimize");
    status = emit(c, err);
    phase_ended(c, "emit");
    return status;
}

kiln_status kiln__compile(const struct kiln_plugin_job *job, struct kiln_buffer *code, struct kiln_buffer *entry,
                          kiln_error *err)
{
    struct compilation c = {.job = job, .code = code, .entry = entry};
    if (!job->text.size) return kiln__fail(err, KILN_INVALID, "a job needs text");
    kiln_status status = kiln__family_get(job->target, &c.family, err);
    if (!status) status = kiln__session_open(&c.session, err);
    if (status) return status;
    status = kiln__session_guard(&c.session, compile, &c, err);
    if (c.session.context && c.module) LLVMDisposeModule(c.module);
    if (c.session.context)
        kiln__machine_put(c.machine);
    else
        free(c.machine); /* LLVM's own is in an unknown state: lost */
    kiln__session_close(&c.session);
    kiln__buffer_release(&c.entry_name);
    return status;
}
