/*
 * test_compiler_lines.c - line tables of the plug-in: each instruction has its line, whatever stands around it; what
 * the code computes is the same; nothing is there unasked.
 */
#include <unistd.h>

#include "base/file.h"
#include "codegen_support.h"

static kiln_status compile_at(const char *text, const char *target, unsigned opt_level, bool lines,
                              struct kiln_buffer *code, kiln_error *err)
{
    struct kiln_plugin_job job = {.text = {text, strlen(text)},
                                  .runtime = runtime_for(target),
                                  .target = target,
                                  .opt_level = opt_level,
                                  .lines = lines};
    struct kiln_buffer entry = {0};
    kiln_status status = plugin->compile(&job, code, &entry, err);
    kiln__buffer_release(&entry);
    return status;
}

static bool contains(const struct kiln_buffer *code, const char *text)
{
    return memmem(code->data, code->size, text, strlen(text)) != NULL;
}

/* The lines that the line table of a text's code has, "3 4 7" for example, in their order and without repetitions. */
static void lines_of(const char *text, char *out, size_t size)
{
    char path[] = "/tmp/kiln-test-XXXXXX", command[256];
    struct kiln_buffer code = {0};
    kiln_error err = {0};
    CHECK_OK(compile_at(text, "x86-64-v2", 0, true, &code, &err), &err);
    int file = mkstemp(path);
    CHECK_EQ(write(file, code.data, code.size), (ssize_t)code.size);
    close(file);
    snprintf(command, sizeof command,
             "objdump --dwarf=decodedline %s | awk '$1 ~ /\\.ll$/ && $2 ~ /^[0-9]+$/ { print $2 }' | sort -nu", path);
    FILE *pipe = popen(command, "r");
    CHECK_NOT_NULL(pipe);
    size_t used = fread(out, 1, size - 1, pipe);
    out[used] = '\0';
    pclose(pipe);
    remove(path);
    for (char *at = out; *at; at++) *at = *at == '\n' ? ' ' : *at;
    kiln__buffer_release(&code);
}
#define lines_of(...) CHECK_CALL(lines_of, __VA_ARGS__)

static void instructions_have_their_lines(void **state)
{
    (void)state;
    char lines[256];
    lines_of("; a comment\n"
             "define i32 @kernel(i32 %x, ptr %to) {\n" /* 2 */
             "entry: ; preds\n"
             "  ; more\n"
             "\n"
             "  store volatile i32 1, ptr %to\n" /* 6 */
             "  switch i32 %x, label %other [\n" /* 7 */
             "    i32 3, label %three\n"
             "    i32 4, label %other\n"
             "  ]\n"
             "three:\n"
             "  store volatile i32 2, ptr %to ; [not: a label]\n" /* 12 */
             "  br label %other\n"
             "other:\r\n"
             "  store volatile i32 3, ptr %to\r\n" /* 15 */
             "  ret i32 %x\n"
             "}\n",
             lines, sizeof lines);
    CHECK_CONTAINS(lines, "2 6 7 12 ");
    CHECK_CONTAINS(lines, "15 16 ");
    CHECK_NULL(strstr(lines, "8 "));
    CHECK_NULL(strstr(lines, " 11 "));
}

/* As many lines as instructions, or the function's own. */
static void another_layout_has_the_lines_of_functions(void **state)
{
    (void)state;
    char lines[256];
    lines_of("define i32 @kernel(i32 %x,\n  ptr %to) {\n  store volatile i32 1, ptr %to\n  store volatile i32 2,\n"
             "    ptr %to\n  ret i32 1\n}\n",
             lines, sizeof lines);
    CHECK_STR(lines, "1 ");
    lines_of("\ndefine i32 @kernel() { ret i32 1 }\n", lines, sizeof lines);
    CHECK_STR(lines, "2 ");
}

static void a_text_may_bring_its_own(void **state)
{
    (void)state;
    char lines[256];
    lines_of(
        "define i32 @kernel() !dbg !3 {\n  ret i32 1, !dbg !5\n}\n!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
        "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)\n"
        "!1 = !DIFile(filename: \"mine.ll\", directory: \"\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
        "!3 = distinct !DISubprogram(name: \"kernel\", file: !1, line: 70, scopeLine: 70, type: !4, unit: !0, spFlags: "
        "DISPFlagDefinition)\n!4 = !DISubroutineType(types: !6)\n!5 = !DILocation(line: 77, scope: !3)\n!6 = !{}\n",
        lines, sizeof lines);
    CHECK_STR(lines, "70 77 ");
}

/* Row by row the same bits: helpers are inlined, loops vectorised, with lines and without. */
static const char sums[] = "declare float @kiln_exp_f32(float)\n"
                           "define internal float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n"
                           "define void @kernel(ptr noalias %out, ptr noalias %in, i64 %n, i64 %unused) {\n"
                           "entry:\n  br label %loop\nloop:\n"
                           "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
                           "  %from = getelementptr float, ptr %in, i64 %i\n  %x = load float, ptr %from\n"
                           "  %e = call float @kiln_exp_f32(float %x)\n  %y = call float @twice(float %e)\n"
                           "  %to = getelementptr float, ptr %out, i64 %i\n  store float %y, ptr %to\n"
                           "  %next = add i64 %i, 1\n  %more = icmp slt i64 %next, %n\n"
                           "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n";

static void run_sums(const char *target, unsigned opt_level, bool lines, const float *in, float *out, int count)
{
    struct kiln_buffer code = {0};
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    CHECK_OK(compile_at(sums, target, opt_level, lines, &code, &err), &err);
    CHECK_EQ(contains(&code, "kernel.ll"), lines);
    CHECK_EQ(contains(&code, ".debug_line"), lines);
    CHECK_EQ(contains(&code, ".debug_frame"), lines);
    CHECK_OK(kiln__image_load((kiln_bytes){code.data, code.size}, "kernel", &image, &err), &err);
    void *entry = kiln__image_entry(image);
    void (*kernel)(float *, const float *, int64_t, int64_t);
    memcpy(&kernel, &entry, sizeof kernel);
    kernel(out, in, count, 0);
    kiln__image_free(image);
    kiln__buffer_release(&code);
}
#define run_sums(...) CHECK_CALL(run_sums, __VA_ARGS__)

static void results_are_the_same(void **state)
{
    (void)state;
    enum { COUNT = 1003 };
    static const char *const targets[] = {"x86-64-v2", "x86-64-v3"};
    static float in[COUNT], with[COUNT], without[COUNT];
    for (int i = 0; i < COUNT; i++) in[i] = (float)(i - 500) * 0.013f;
    for (int i = 0; i < 4; i++) {
        run_sums(targets[i / 2], i % 2 ? 2 : 0, false, in, without, COUNT);
        run_sums(targets[i / 2], i % 2 ? 2 : 0, true, in, with, COUNT);
        CHECK_MEM(with, without, sizeof with);
        CHECK_TRUE(with[500] == 2);
    }
}

static void equal_texts_give_equal_bytes(void **state)
{
    (void)state;
    struct kiln_buffer one = {0}, two = {0};
    kiln_error err = {0};
    CHECK_OK(compile_at(sums, "x86-64-v3", 2, true, &one, &err), &err);
    CHECK_OK(compile_at(sums, "x86-64-v3", 2, true, &two, &err), &err);
    CHECK_EQ(one.size, two.size);
    CHECK_MEM(one.data, two.data, one.size);
    kiln__buffer_release(&one), kiln__buffer_release(&two);
}

/* A GPU's code is as it is without. */
static void gpus_have_none(void **state)
{
    (void)state;
    static const char text[] = "define ptx_kernel void @kernel() {\n  ret void\n}\n";
    struct kiln_buffer with = {0}, without = {0};
    kiln_error err = {0};
    CHECK_OK(compile_at(text, "sm_90", 2, true, &with, &err), &err);
    CHECK_OK(compile_at(text, "sm_90", 2, false, &without, &err), &err);
    CHECK_EQ(with.size, without.size);
    CHECK_MEM(with.data, without.data, with.size);
    kiln__buffer_release(&with), kiln__buffer_release(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_their_lines), cmocka_unit_test(another_layout_has_the_lines_of_functions),
        cmocka_unit_test(a_text_may_bring_its_own),      cmocka_unit_test(results_are_the_same),
        cmocka_unit_test(equal_texts_give_equal_bytes),  cmocka_unit_test(gpus_have_none),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
