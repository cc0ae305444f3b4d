/*
 * test_compiler_plugin.c - the LLVM plug-in by itself: what it refuses and how it says so, that it prints nothing, that
 * equal input gives equal bytes on every thread.
 */
#include <pthread.h>

#include "compiler_support.h"

static const char calls_exp[] = "define void @kernel(ptr %a, ptr %s, i64 %r, i64 %n) {\n  %x = load float, ptr %s\n"
                                "  %y = call float @kiln_exp_f32(float %x)\n  store float %y, ptr %a\n  ret void\n}\n"
                                "declare float @kiln_exp_f32(float)\n";

static void bad_text_is_an_error(void **state)
{
    (void)state;
    expect_failure("this is no IR", "x86-64-v3", KILN_COMPILE_FAILED, "not valid LLVM IR");
    expect_failure("define void @kernel() {\n  ret i32 0\n}\n", "x86-64-v3", KILN_COMPILE_FAILED, "not valid LLVM IR");
    expect_failure(
        "define void @kernel() {\n  br label %a\na:\n  %x = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret void\n}\n",
        "x86-64-v3", KILN_COMPILE_FAILED, "not valid LLVM IR");
    expect_failure("declare void @kernel()\n", "x86-64-v3", KILN_COMPILE_FAILED, "defines no entry");
    expect_failure("define internal void @f() {\n  ret void\n}\ndefine private void @g() {\n  ret void\n}\n"
                   "define void @0() {\n  ret void\n}\n",
                   "x86-64-v3", KILN_COMPILE_FAILED, "defines no entry; right would be @kernel, or one function");
    expect_failure("define void @f() {\n  ret void\n}\ndeclare void @kernel()\ndefine void @g() {\n  ret void\n}\n",
                   "x86-64-v3", KILN_COMPILE_FAILED, "defines @f and @g, and no @kernel");
}

static void what_comes_from_outside_is_named(void **state)
{
    (void)state;
    expect_failure("define void @kernel() {\n  call void @puts()\n  ret void\n}\ndeclare void @puts()\n", "x86-64-v3",
                   KILN_COMPILE_FAILED, "\"puts\"");
    expect_failure("define void @kernel(ptr %p) {\n  %x = load double, ptr %p\n  %y = frem double %x, 3.0\n"
                   "  store double %y, ptr %p\n  ret void\n}\n",
                   "x86-64-v3", KILN_COMPILE_FAILED, "\"fmod\"");
    expect_failure(
        "define void @kernel(ptr %p, i64 %n) {\n  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)\n"
        "  ret void\n}\n",
        "x86-64-v3", KILN_COMPILE_FAILED, "\"memset\"");
    expect_failure(
        "@table = external global i32\ndefine i32 @kernel() {\n  %x = load i32, ptr @table\n  ret i32 %x\n}\n",
        "x86-64-v3", KILN_COMPILE_FAILED, "\"table\"");
}

/* Errors that LLVM finds only while it makes machine code. */
static void code_that_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    expect_failure("define void @kernel() {\n  call void asm sideeffect \"no such thing\", \"\"()\n  ret void\n}\n",
                   "x86-64-v3", KILN_COMPILE_FAILED, "");
    expect_failure("define void @kernel() {\n  %x = call <16 x float> asm \"nop\", \"={nowhere}\"()\n  ret void\n}\n",
                   "x86-64-v3", KILN_COMPILE_FAILED, "");
}

static void unknown_targets_are_errors(void **state)
{
    (void)state;
    struct kiln_buffer bitcode = {0};
    kiln_error err = {0};
    expect_failure(simple, "pentium-9", KILN_INVALID, "pentium-9");
    expect_failure(simple, NULL, KILN_INVALID, "x86-64-v3");
    CHECK_STATUS(plugin->prepare("native", &bitcode, &err), KILN_INVALID, &err);
    CHECK_EQ(bitcode.size, 0);
}

static void a_damaged_runtime_is_an_error(void **state)
{
    (void)state;
    struct kiln_buffer object = {0}, entry = {0};
    kiln_error err = {0};
    struct kiln_plugin_job job = {.text = {calls_exp, sizeof calls_exp - 1}, .target = "x86-64-v3"};
    CHECK_STATUS(plugin->compile(&job, &object, &entry, &err), KILN_COMPILE_FAILED, &err);
    CHECK_CONTAINS(err.text, "kiln_exp_f32");
    job.runtime = (kiln_bytes){"BC garbage, no bitcode at all", 29};
    CHECK_STATUS(plugin->compile(&job, &object, &entry, &err), KILN_COMPILE_FAILED, &err);
    CHECK_CONTAINS(err.text, "run-time library");
    CHECK_EQ(object.size, 0);
    CHECK_EQ(entry.size, 0);
}

static void jobs_without_text_are_errors(void **state)
{
    (void)state;
    struct kiln_buffer object = {0}, entry = {0};
    kiln_error err = {0};
    struct kiln_plugin_job job = {.text = {simple, 0}, .target = "x86-64-v3"};
    CHECK_STATUS(plugin->compile(&job, &object, &entry, &err), KILN_INVALID, &err);
}

/* ---- the entry ------------------------------------------------------------------------------------------------ */

static void expect_entry(const char *text, const char *target, const char *name, const char *hidden)
{
    struct kiln_buffer code = {0}, entry = {0};
    kiln_error err = {0};
    struct kiln_plugin_job job = {.text = {text, strlen(text)}, .target = target, .opt_level = 2};
    CHECK_OK(plugin->compile(&job, &code, &entry, &err), &err);
    CHECK_STR((const char *)entry.data, name);
    CHECK_EQ(entry.size, strlen(name) + 1);
    CHECK_NOT_NULL(memmem(code.data, code.size, name, strlen(name)));
    if (strcmp(target, "sm_90") != 0) {
        struct kiln_image *image = NULL;
        CHECK_OK(kiln__image_load((kiln_bytes){code.data, code.size}, name, &image, &err), &err);
        kiln__image_free(image);
    }
    if (hidden) CHECK_NULL(memmem(code.data, code.size, hidden, strlen(hidden)));
    kiln__buffer_release(&code);
    kiln__buffer_release(&entry);
}
#define expect_entry(...) CHECK_CALL(expect_entry, __VA_ARGS__)

/* Texts that were written before entries had names define @kernel, and may define others, which are hidden. */
static void the_entry_is_kernel_or_the_only_visible_function(void **state)
{
    (void)state;
    expect_entry("define i32 @twice() {\n  ret i32 2\n}\ndefine i32 @kernel() {\n  ret i32 1\n}\n", "x86-64-v3",
                 "kernel", "twice");
    expect_entry("define internal i32 @kernel() {\n  ret i32 1\n}\n", "x86-64-v3", "kernel", NULL);
    expect_entry("declare float @llvm.sqrt.f32(float)\ndefine internal i32 @two() {\n  ret i32 2\n}\n"
                 "define i32 @twice() {\n  %x = call i32 @two()\n  ret i32 %x\n}\n",
                 "x86-64-v3", "twice", NULL);
    expect_entry("define ptx_kernel void @kiln_mul_f32_00c0ffee() {\n  ret void\n}\n", "sm_90", "kiln_mul_f32_00c0ffee",
                 "kernel");
}

/* ---- equal bytes --------------------------------------------------------------------------------------------------
 */

static void *compile_often(void *out)
{
    struct kiln_buffer *first = out;
    kiln_error err = {0};
    for (int i = 0; i < 20; i++) {
        struct kiln_buffer object = {0};
        if (compile(calls_exp, i % 2 ? "x86-64-v4" : "x86-64-v3", &object, &err)) return out;
        if (i == 0) *first = object;
        bool differs = i % 2 == 0 && (object.size != first->size || memcmp(object.data, first->data, first->size) != 0);
        if (i) kiln__buffer_release(&object);
        if (differs) return out;
    }
    return NULL;
}

static void equal_input_gives_equal_bytes_on_every_thread(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct kiln_buffer objects[THREADS] = {{0}};
    void *failed;
    runtime_for("x86-64-v3");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, compile_often, &objects[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        CHECK_NULL(failed);
        CHECK_EQ(objects[i].size, objects[0].size);
        CHECK_MEM(objects[i].data, objects[0].data, objects[0].size);
    }
    for (int i = 0; i < THREADS; i++) kiln__buffer_release(&objects[i]);
}

static void preparing_gives_equal_bytes(void **state)
{
    (void)state;
    struct kiln_buffer a = {0}, b = {0}, other = {0};
    CHECK_STATUS(plugin->prepare("x86-64-v3", &a, NULL), KILN_OK);
    CHECK_STATUS(plugin->prepare("x86-64-v4", &other, NULL), KILN_OK);
    CHECK_STATUS(plugin->prepare("x86-64-v3", &b, NULL), KILN_OK);
    CHECK_EQ(a.size, b.size);
    CHECK_MEM(a.data, b.data, a.size);
    CHECK_TRUE(other.size != a.size || memcmp(other.data, a.data, a.size) != 0);
    CHECK_EQ(strlen(plugin->runtime_digest), 64);
    kiln__buffer_release(&a), kiln__buffer_release(&b), kiln__buffer_release(&other);
}

/* A CPU with fused multiply-adds has them in its code; for one without they are computed, not asked of a library. */
static void helpers_need_nothing_on_any_cpu(void **state)
{
    (void)state;
    static const char *const cpus[] = {
        "x86-64",          "x86-64-v2", "nocona",     "k8-sse3",   "penryn",     "nehalem",   "westmere", "sandybridge",
        "core-avx-i",      "ivybridge", "corei7-avx", "amdfam10",  "barcelona",  "btver1",    "btver2",   "bdver1",
        "silvermont",      "goldmont",  "tremont",    "x86-64-v3", "x86-64-v4",  "core-avx2", "haswell",  "bdver2",
        "bdver4",          "knl",       "skylake",    "skx",       "cannonlake", "gracemont", "znver1",   "znver5",
        "clearwaterforest"};
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        struct kiln_buffer runtime = {0}, object = {0}, entry = {0};
        kiln_error err = {0};
        CHECK_OK(plugin->prepare(cpus[i], &runtime, &err), &err);
        struct kiln_plugin_job job = {.text = {calls_exp, sizeof calls_exp - 1},
                                      .runtime = {runtime.data, runtime.size},
                                      .target = cpus[i],
                                      .opt_level = 2};
        if (plugin->compile(&job, &object, &entry, &err)) CHECK_FAIL("%s: %s", cpus[i], err.text);
        kiln__buffer_release(&runtime), kiln__buffer_release(&object), kiln__buffer_release(&entry);
    }
}

static void an_object_runs(void **state)
{
    (void)state;
    struct kiln_buffer text = {0};
    kiln__buffer_append(&text, calls_exp, sizeof calls_exp - 1);
    float in = 1.0f, out = 0;
    kernel_entry entry = load_text(&text, "x86-64-v2");
    ((void (*)(float *, float *, int64_t, int64_t))entry)(&out, &in, 0, 0);
    CHECK_TRUE(out > 2.718281f && out < 2.718283f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_text_is_an_error),
        cmocka_unit_test(what_comes_from_outside_is_named),
        cmocka_unit_test(code_that_cannot_be_made_is_an_error),
        cmocka_unit_test(unknown_targets_are_errors),
        cmocka_unit_test(a_damaged_runtime_is_an_error),
        cmocka_unit_test(jobs_without_text_are_errors),
        cmocka_unit_test(the_entry_is_kernel_or_the_only_visible_function),
        cmocka_unit_test(equal_input_gives_equal_bytes_on_every_thread),
        cmocka_unit_test(preparing_gives_equal_bytes),
        cmocka_unit_test(helpers_need_nothing_on_any_cpu),
        cmocka_unit_test(an_object_runs),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
