/*
 * compiler_support.h - for tests of the plug-in by itself: compile a text, and what a failure has to look like.
 */
#ifndef KILN_TESTS_COMPILER_SUPPORT_H
#define KILN_TESTS_COMPILER_SUPPORT_H

#include <stdio.h>
#include <unistd.h>

#include "codegen_support.h"

static const char simple[] =
    "define void @kernel(ptr %a, ptr %s, i64 %r, i64 %n) {\n  store i64 %n, ptr %a\n  ret void\n}\n";

static kiln_status compile(const char *text, const char *target, struct kiln_buffer *code, kiln_error *err)
{
    bool is_gpu = target && strncmp(target, "sm_", 3) == 0;
    struct kiln_plugin_job job = {.text = {text, strlen(text)},
                                  .runtime = runtime_for(is_gpu ? "sm_90" : "x86-64-v3"),
                                  .target = target,
                                  .opt_level = 2};
    struct kiln_buffer entry = {0};
    kiln_status status = plugin->compile(&job, code, &entry, err);
    kiln__buffer_release(&entry);
    return status;
}

/* Whatever LLVM has to say comes back as text; nothing reaches stderr. */
static void expect_failure(const char *text, const char *target, kiln_status status, const char *word)
{
    char path[] = "/tmp/kiln-test-XXXXXX", printed[64];
    struct kiln_buffer code = {0};
    kiln_error err = {0};
    int file = mkstemp(path), saved = dup(2);
    dup2(file, 2);
    kiln_status got = compile(text, target, &code, &err);
    dup2(saved, 2);
    close(saved);
    CHECK_EQ(pread(file, printed, sizeof printed, 0), 0);
    close(file);
    remove(path);
    CHECK_EQ(got, status);
    CHECK_EQ(err.status, status);
    CHECK_EQ(code.size, 0);
    CHECK_CONTAINS(err.text, word);
    CHECK_OK(compile(simple, "x86-64-v3", &code, &err), &err); /* and the next job is fine */
    kiln__buffer_release(&code);
}
#define expect_failure(...) CHECK_CALL(expect_failure, __VA_ARGS__)

#endif
