/*
 * test_compiler_ptx.c - the plug-in for NVIDIA GPUs, without one: what the PTX says about entry, accesses, rounding,
 * shared memory and loops; what is refused; that equal text gives equal PTX on every thread and in every process; and
 * that each helper of the run-time library can be compiled.
 */
#include <pthread.h>

#include "compiler_support.h"

static char *print_ptx(const char *text, const char *target, unsigned opt_level, bool fast_math)
{
    struct kiln_buffer code = {0}, entry = {0};
    kiln_error err = {0};
    struct kiln_plugin_job job = {.text = {text, strlen(text)},
                                  .runtime = runtime_for(target),
                                  .target = target,
                                  .opt_level = opt_level,
                                  .fast_math = fast_math};
    if (plugin->compile(&job, &code, &entry, &err)) CHECK_FAIL("%s\n%s", err.text, text);
    CHECK_TRUE(code.size > 0 && ((const char *)code.data)[code.size - 1] != 0);
    char *ptx = strndup((const char *)code.data, code.size);
    CHECK_EQ(strlen(ptx), code.size);
    kiln__buffer_release(&code);
    kiln__buffer_release(&entry);
    return ptx;
}

static int count(const char *ptx, const char *word)
{
    int found = 0;
    for (const char *at = strstr(ptx, word); at; at = strstr(at + 1, word)) found++;
    return found;
}

static void expect(const char *ptx, const char *word, int times)
{
    if (count(ptx, word) != times)
        CHECK_FAIL("%d times \"%s\" instead of %d in\n%s", count(ptx, word), word, times, ptx);
}
#define expect(...) CHECK_CALL(expect, __VA_ARGS__)

/* ---- what comes out ---------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                           \
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"                                                                   \
    "define ptx_kernel void @kernel(ptr addrspace(1) %o, ptr addrspace(1) %a, ptr addrspace(1) %b) {\n"                \
    "entry:\n"                                                                                                         \
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
#define FOUR_FLOATS                                                                                                    \
    "  %po = getelementptr <4 x float>, ptr addrspace(1) %o, i32 %t\n"                                                 \
    "  %pa = getelementptr <4 x float>, ptr addrspace(1) %a, i32 %t\n"                                                 \
    "  %pb = getelementptr <4 x float>, ptr addrspace(1) %b, i32 %t\n"                                                 \
    "  %x = load <4 x float>, ptr addrspace(1) %pa, align 16\n"                                                        \
    "  %y = load <4 x float>, ptr addrspace(1) %pb, align 16, !invariant.load !0\n"
#define TAIL "  ret void\n}\n!0 = !{}\n"

static const char arithmetic[] = HEAD FOUR_FLOATS "  %m = fmul <4 x float> %x, %y\n"
                                                  "  %s = fadd <4 x float> %m, %x\n"
                                                  "  %d = fsub <4 x float> %s, %y\n"
                                                  "  %q = fdiv <4 x float> %d, %y\n"
                                                  "  %r = call <4 x float> @llvm.sqrt.v4f32(<4 x float> %q)\n"
                                                  "  store <4 x float> %r, ptr addrspace(1) %po, align 16\n" TAIL
                                                  "declare <4 x float> @llvm.sqrt.v4f32(<4 x float>)\n"
                                                  "!nvvm.annotations = !{!1}\n"
                                                  "!1 = !{ptr @kernel, !\"maxntidx\", i32 256}\n";

static void a_kernel_is_an_entry(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        char line[32];
        snprintf(line, sizeof line, ".target %s\n", targets[i]);
        char *ptx = print_ptx(arithmetic, targets[i], 2, false);
        expect(ptx, ".visible .entry kernel(", 1);
        expect(ptx, ".version 8.1\n", 1);
        expect(ptx, line, 1);
        expect(ptx, ".address_size 64", 1);
        expect(ptx, ".maxntid 256", 1);
        expect(ptx, ".extern", 0);
        free(ptx);
    }
}

static void accesses_are_wide(void **state)
{
    (void)state;
    char *ptx = print_ptx(arithmetic, "sm_90", 2, false);
    expect(ptx, "ld.global.v4.f32", 1);
    expect(ptx, "ld.global.nc.v4.f32", 1);
    expect(ptx, "st.global.v4.f32", 1);
    free(ptx);
    static const char neighbours[] = HEAD "  %i = shl nsw i32 %t, 2\n"
                                          "  %p = getelementptr inbounds float, ptr addrspace(1) %o, i32 %i\n"
                                          "  %q = getelementptr inbounds i8, ptr addrspace(1) %p, i64 4\n"
                                          "  store float 1.0, ptr addrspace(1) %p, align 8\n"
                                          "  store float 2.0, ptr addrspace(1) %q, align 4\n" TAIL;
    ptx = print_ptx(neighbours, "sm_90", 2, false);
    expect(ptx, "st.global.v2.f32", 1);
    free(ptx);
}

/* Arithmetic without a rounding mode may be contracted by the driver; with one it never is. */
static void arithmetic_is_rounded_as_written(void **state)
{
    (void)state;
    for (unsigned level = 0; level <= 3; level++) {
        char *ptx = print_ptx(arithmetic, "sm_90", level, false);
        static const char *const words[] = {"mul.rn.f32", "add.rn.f32", "sub.rn.f32", "div.rn.f32", "sqrt.rn.f32"};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) expect(ptx, words[i], 4);
        expect(ptx, ".ftz", 0);
        expect(ptx, "fma", 0);
        expect(ptx, "approx", 0);
        free(ptx);
    }
}

static void fast_math_contracts(void **state)
{
    (void)state;
    char *ptx = print_ptx(arithmetic, "sm_90", 2, true);
    expect(ptx, "fma.rn.f32", 4);
    expect(ptx, "mul.", 1); /* of the address */
    expect(ptx, ".ftz", 0);
    free(ptx);
}

static void what_the_text_fuses_is_fused(void **state)
{
    (void)state;
    char *ptx = print_ptx(HEAD "  %x = load double, ptr addrspace(1) %a\n"
                               "  %r = call double @llvm.fma.f64(double %x, double %x, double %x)\n"
                               "  store double %r, ptr addrspace(1) %o\n" TAIL
                               "declare double @llvm.fma.f64(double, double, double)\n",
                          "sm_80", 2, false);
    expect(ptx, "fma.rn.f64", 1);
    free(ptx);
}

/* Shared memory of a fixed size and of the launch's, barrier, shuffle, a called function, generic pointers. */
static const char cooperation[] =
    "@tile = internal addrspace(3) global [32 x [33 x float]] undef, align 16\n"
    "@rest = external addrspace(3) global [0 x float], align 16\n"
    "define float @twice(float %x) noinline {\n  %y = fadd float %x, %x\n  ret float %y\n}\n" HEAD
    "  %p = getelementptr float, ptr addrspace(1) %a, i32 %t\n"
    "  %x = load float, ptr addrspace(1) %p\n"
    "  %s = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x, i32 16, i32 31)\n"
    "  %d = call float @twice(float %s)\n"
    "  %q = getelementptr [32 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 0, i32 %t\n"
    "  store float %d, ptr addrspace(3) %q\n"
    "  %r = getelementptr float, ptr addrspace(3) @rest, i32 %t\n"
    "  store float %d, ptr addrspace(3) %r\n"
    "  call void @llvm.nvvm.barrier0()\n"
    "  %n = xor i32 %t, 1\n"
    "  %u = getelementptr [32 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 0, i32 %n\n"
    "  %g = addrspacecast ptr addrspace(3) %u to ptr\n"
    "  %v = load float, ptr %g\n"
    "  %w = getelementptr float, ptr addrspace(1) %o, i32 %t\n"
    "  store float %v, ptr addrspace(1) %w\n" TAIL "declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)\n"
    "declare void @llvm.nvvm.barrier0()\n"
    "!nvvm.annotations = !{!1}\n!1 = !{ptr @kernel, !\"reqntidx\", i32 32, !\"minctasm\", i32 4}\n";

static void threads_work_together(void **state)
{
    (void)state;
    char *ptx = print_ptx(cooperation, "sm_90", 2, false);
    expect(ptx, ".shared .align 16 .b8 tile[4224]", 1);
    expect(ptx, ".extern .shared .align 16 .b8 rest[]", 1);
    expect(ptx, "shfl.sync.bfly.b32", 1);
    expect(ptx, "bar.sync", 1);
    expect(ptx, "ld.shared.f32", 1);
    expect(ptx, "st.shared.f32", 2);
    expect(ptx, ".reqntid 32", 1);
    expect(ptx, ".minnctapersm 4", 1);
    expect(ptx, ".func", 0);
    expect(ptx, "call", 0);
    free(ptx);
}

#define LOOP(first, metadata)                                                                                          \
    HEAD "  br label %loop\n"                                                                                          \
         "loop:\n"                                                                                                     \
         "  %k = phi i32 [ " first ", %entry ], [ %k1, %loop ]\n"                                                      \
         "  %i = mul i32 %k, 1000\n"                                                                                   \
         "  %p = getelementptr float, ptr addrspace(1) %a, i32 %i\n"                                                   \
         "  %x = load volatile float, ptr addrspace(1) %p\n"                                                           \
         "  %k1 = add i32 %k, 1\n"                                                                                     \
         "  %more = icmp slt i32 %k1, 8192\n"                                                                          \
         "  br i1 %more, label %loop, label %done, !llvm.loop !1\n"                                                    \
         "done:\n" TAIL metadata

static void loops_are_unrolled_where_the_text_asks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int loads;
    } rows[] = {
        {LOOP("0", "!1 = distinct !{!1}\n"), 1},
        {LOOP("0", "!1 = distinct !{!1, !2}\n!2 = !{!\"llvm.loop.unroll.count\", i32 4}\n"), 4},
        {LOOP("8176", "!1 = distinct !{!1, !2}\n!2 = !{!\"llvm.loop.unroll.full\"}\n"), 16},
        {LOOP("%t", "!1 = distinct !{!1}\n"), 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *ptx = print_ptx(rows[i].text, "sm_90", 2, false);
        expect(ptx, "ld.volatile.global.f32", rows[i].loads);
        free(ptx);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void bad_text_is_an_error(void **state)
{
    (void)state;
    expect_failure("this is no IR", "sm_90", KILN_COMPILE_FAILED, "not valid LLVM IR");
    expect_failure(HEAD "  ret i32 0\n}\n", "sm_90", KILN_COMPILE_FAILED, "not valid LLVM IR");
    expect_failure("declare ptx_kernel void @kernel()\n", "sm_90", KILN_COMPILE_FAILED, "defines no entry");
    expect_failure("define void @other() {\n  ret void\n}\n", "sm_90", KILN_COMPILE_FAILED,
                   "the entry \"other\" is no kernel; right would be define ptx_kernel void @other");
    expect_failure(simple, "sm_90", KILN_COMPILE_FAILED, "define ptx_kernel void @kernel");
    expect_failure("define ptx_kernel void @kernels() {\n  ret void\n}\ndefine void @kernel() {\n  ret void\n}\n",
                   "sm_90", KILN_COMPILE_FAILED, "define ptx_kernel void @kernel");
}

static void code_that_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    expect_failure(HEAD "  %x = load double, ptr addrspace(1) %a\n"
                        "  %y = call double @llvm.sin.f64(double %x)\n"
                        "  store double %y, ptr addrspace(1) %o\n" TAIL "declare double @llvm.sin.f64(double)\n",
                   "sm_90", KILN_COMPILE_FAILED, "");
}

static void what_comes_from_outside_is_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {HEAD "  call void @nothing()\n" TAIL "declare void @nothing()\n", "\"nothing\""},
        {HEAD "  %x = call float @__nv_expf(float 2.0)\n  store float %x, ptr addrspace(1) %o\n" TAIL
              "declare float @__nv_expf(float)\n",
         "\"__nv_expf\""},
        {HEAD "  %x = call float @kiln_no_such_f32(float 2.0)\n  store float %x, ptr addrspace(1) %o\n" TAIL
              "declare float @kiln_no_such_f32(float)\n",
         "\"kiln_no_such_f32\""},
        {HEAD "  %x = load i32, ptr addrspace(1) @elsewhere\n  store i32 %x, ptr addrspace(1) %o\n" TAIL
              "@elsewhere = external addrspace(1) global i32\n",
         "\"elsewhere\""},
        {HEAD "  %x = load i32, ptr addrspace(4) @table\n  store i32 %x, ptr addrspace(1) %o\n" TAIL
              "@table = external addrspace(4) global [4 x i32]\n",
         "\"table\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_failure(rows[i][0], "sm_90", KILN_COMPILE_FAILED, rows[i][1]);
}

static void unknown_targets_are_errors(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_90x", "sm_12", "sm_", "SM_90", "nvptx", "cuda:0", ""};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct kiln_buffer bitcode = {0};
        kiln_error err = {0};
        CHECK_STATUS(plugin->prepare(targets[i], &bitcode, &err), KILN_INVALID, &err);
        CHECK_CONTAINS(err.text, "sm_70, sm_75, sm_80, sm_86, sm_89, sm_90");
        CHECK_CONTAINS(err.text, "x86-64-v3");
        CHECK_CONTAINS(err.text, targets[i]);
        CHECK_EQ(bitcode.size, 0);
    }
    struct kiln_plugin_job job = {.text = {simple, sizeof simple - 1}, .target = "sm_12"};
    struct kiln_buffer code = {0}, entry = {0};
    CHECK_STATUS(plugin->compile(&job, &code, &entry, NULL), KILN_INVALID);
}

/* ---- equal PTX --------------------------------------------------------------------------------------------------- */

static const char calls_sin[] =
    HEAD "  %x = load double, ptr addrspace(1) %a\n"
         "  %y = call double @kiln_sin_f64(double %x)\n"
         "  store double %y, ptr addrspace(1) %o\n" TAIL "declare double @kiln_sin_f64(double)\n";

static void *print_often(void *expected)
{
    for (int i = 0; i < 10; i++) {
        struct kiln_buffer code = {0};
        if (compile(i % 2 ? arithmetic : calls_sin, "sm_90", &code, NULL)) return expected;
        bool differs = i % 2 == 0 && strncmp(expected, (const char *)code.data, code.size) != 0;
        kiln__buffer_release(&code);
        if (differs) return expected;
    }
    return NULL;
}

static void equal_text_gives_equal_ptx_on_every_thread(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    char *expected = print_ptx(calls_sin, "sm_90", 2, false);
    void *failed;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, print_often, expected);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        CHECK_NULL(failed);
    }
    free(expected);
}

static void equal_text_gives_equal_ptx_in_every_process(void **state)
{
    (void)state;
    char *here = print_ptx(calls_sin, "sm_90", 2, false), path[4096], command[4200];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK_GT(length, 0);
    path[length] = 0;
    snprintf(command, sizeof command, "'%s' --print", path);
    FILE *child = popen(command, "r");
    CHECK_NOT_NULL(child);
    char *there = calloc(1, strlen(here) + 2);
    fread(there, 1, strlen(here) + 1, child);
    CHECK_EQ(pclose(child), 0);
    CHECK_STR(here, there);
    free(here), free(there);
}

/* ---- the run-time library ---------------------------------------------------------------------------------------- */

/* "int32_t" to i32. NULL: no type of the helpers. */
static const char *ir_type(const char *c_type)
{
    static const char *const types[][2] = {
        {"float", "float"},  {"double", "double"}, {"int8_t", "i8"},    {"uint8_t", "i8"},  {"int16_t", "i16"},
        {"uint16_t", "i16"}, {"int32_t", "i32"},   {"uint32_t", "i32"}, {"int64_t", "i64"}, {"uint64_t", "i64"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i][0], c_type) == 0) return types[i][1];
    return NULL;
}

/* One to four arguments; those behind the second have its type. */
static void compile_helper(const char *name, const char *result, const char *first, const char *second, int arguments)
{
    static const char *const calls[] = {"%s @%s(%s %%x)", "%s @%s(%s %%x, %s %%y)", "%s @%s(%s %%x, %s %%y, %s %%y)",
                                        "%s @%s(%s %%x, %s %%y, %s %%y, %s %%y)"};
    static const char *const lists[] = {"%s", "%s, %s", "%s, %s, %s", "%s, %s, %s, %s"};
    char call[200], types[40], text[1000];
    snprintf(types, sizeof types, lists[arguments - 1], first, second, second, second);
    snprintf(call, sizeof call, calls[arguments - 1], result, name, first, second, second, second);
    snprintf(text, sizeof text,
             "%s  %%x = load %s, ptr addrspace(1) %%a\n  %%y = load %s, ptr addrspace(1) %%b\n  %%r = call %s\n"
             "  store %s %%r, ptr addrspace(1) %%o\n%sdeclare %s @%s(%s)\n",
             HEAD, first, second, call, result, TAIL, result, name, types);
    char *ptx = print_ptx(text, "sm_90", 2, false);
    static const char *const never[] = {".extern", ".func", "call",  "fma.rn.f64", ".local",
                                        "add.f",   "sub.f", "mul.f", "div.f",      "__nv"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) expect(ptx, never[i], 0);
    /* The one instruction that is not exact is where fused.h makes its result so. */
    int inverses = count(ptx, "rcp.approx.ftz.f32");
    expect(ptx, "approx", inverses);
    expect(ptx, ".ftz", inverses);
    free(ptx);
}

/* Reads the declarations in runtime.h, so that a new helper is looked at as well. */
static void each_helper_compiles_and_needs_nothing(void **state)
{
    (void)state;
    char line[200], result[20], name[40], first[20], second[20], third[20], fourth[20];
    int helpers = 0;
    FILE *header = fopen(KILN_RUNTIME_HEADER, "r");
    CHECK_NOT_NULL(header);
    while (fgets(line, sizeof line, header)) {
        int found = sscanf(
            line,
            "%19[a-z0-9_] %39[a-z0-9_](%19[a-z0-9_] %*[a-z], %19[a-z0-9_] %*[a-z], %19[a-z0-9_] %*[a-z], %19[a-z0-9_]",
            result, name, first, second, third, fourth);
        if (found < 3 || !ir_type(result)) continue;
        compile_helper(name, ir_type(result), ir_type(first), ir_type(found > 3 ? second : first), found - 2);
        helpers++;
    }
    fclose(header);
    CHECK_GE(helpers, 60);
}

static void tables_are_read_through_the_read_only_cache(void **state)
{
    (void)state;
    char *ptx = print_ptx(calls_sin, "sm_90", 2, false);
    expect(ptx, "trig_two_over_pi[208] =", 1);
    expect(ptx, "ld.global.nc.u32", 8);
    free(ptx);
}

/* One instruction rounds; NaN gets the bits it has on CPUs (0x7e00, 0x7fc0). */
static void short_floats_are_converted_by_instructions(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "  %x = load i16, ptr addrspace(1) %a\n"
             "  %w = call float @kiln_widen_f16(i16 %x)\n"
             "  %h = call i16 @kiln_narrow_f16(float %w)\n"
             "  %b16 = call i16 @kiln_narrow_bf16(float %w)\n"
             "  store i16 %h, ptr addrspace(1) %o\n"
             "  store i16 %b16, ptr addrspace(1) %b\n" TAIL "declare float @kiln_widen_f16(i16)\n"
             "declare i16 @kiln_narrow_f16(float)\n"
             "declare i16 @kiln_narrow_bf16(float)\n";
    char *ptx = print_ptx(text, "sm_90", 2, false);
    expect(ptx, "cvt.f32.f16", 1);
    expect(ptx, "cvt.rn.bf16.f32", 1);
    expect(ptx, ", 32256, %p", 1);
    expect(ptx, ", 32704, %p", 1);
    free(ptx);
    ptx = print_ptx(text, "sm_70", 2, false); /* which has no such instruction for bfloat16 */
    expect(ptx, "cvt.rn.bf16.f32", 0);
    expect(ptx, ", 32704, %p", 1);
    free(ptx);
}

/* A value on its way to the next operation keeps any NaN; a bfloat16 in the upper half of a pair is a float already. */
static void rounding_is_an_instruction(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "  %x = load float, ptr addrspace(1) %a\n"
             "  %r = call float @kiln_round_bf16(float %x)\n"
             "  store float %r, ptr addrspace(1) %o\n" TAIL "declare float @kiln_round_bf16(float)\n";
    char *ptx = print_ptx(text, "sm_90", 2, false);
    expect(ptx, "cvt.rn.bf16x2.f32", 1);
    expect(ptx, "cvt.", 1);
    expect(ptx, "selp", 0);
    free(ptx);
    ptx = print_ptx(text, "sm_75", 2, false);
    expect(ptx, "cvt.", 0);
    free(ptx);
}

/* a * b + a of pairs, rounded after each step, then one NaN for all; older GPUs get there with more instructions. */
static void pairs_are_computed_by_instructions(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "  %x = load float, ptr addrspace(1) %a\n"
             "  %y = load float, ptr addrspace(1) %b\n"
             "  %p = call i32 @kiln_pair_narrow_bf16(float %x, float %y)\n"
             "  %q = call i32 @kiln_pair_multiply_bf16(i32 %p, i32 %t)\n"
             "  %r = call i32 @kiln_pair_add_bf16(i32 %q, i32 %p)\n"
             "  %s = call i32 @kiln_pair_settle_bf16(i32 %r)\n"
             "  store i32 %s, ptr addrspace(1) %o\n" TAIL "declare i32 @kiln_pair_narrow_bf16(float, float)\n"
             "declare i32 @kiln_pair_multiply_bf16(i32, i32)\n"
             "declare i32 @kiln_pair_add_bf16(i32, i32)\n"
             "declare i32 @kiln_pair_settle_bf16(i32)\n";
    char *ptx = print_ptx(text, "sm_90", 2, false);
    expect(ptx, "cvt.rn.bf16x2.f32", 1);
    expect(ptx, "cvt.", 1);
    expect(ptx, "mul.rn.bf16x2", 1);
    expect(ptx, "add.rn.bf16x2", 1);
    expect(ptx, "min.s16x2", 1);
    free(ptx);
    ptx = print_ptx(text, "sm_80", 2, false);
    expect(ptx, "cvt.rn.bf16x2.f32", 1);
    expect(ptx, "mul.rn.f32", 2);
    expect(ptx, "add.rn.f32", 2);
    free(ptx);
    ptx = print_ptx(text, "sm_70", 2, false);
    expect(ptx, "bf16", 0);
    expect(ptx, "mul.rn.f32", 2);
    free(ptx);
}

static void preparing_gives_equal_bytes(void **state)
{
    (void)state;
    struct kiln_buffer a = {0}, b = {0};
    CHECK_STATUS(plugin->prepare("sm_80", &a, NULL), KILN_OK);
    CHECK_STATUS(plugin->prepare("sm_80", &b, NULL), KILN_OK);
    CHECK_EQ(a.size, b.size);
    CHECK_MEM(a.data, b.data, a.size);
    kiln__buffer_release(&a), kiln__buffer_release(&b);
}

/* For equal_text_gives_equal_ptx_in_every_process(). */
static int print_for_parent(void)
{
    if (open_plugin(NULL)) return 1;
    char *ptx = print_ptx(calls_sin, "sm_90", 2, false);
    fputs(ptx, stdout);
    free(ptx);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0) return print_for_parent();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_an_entry),
        cmocka_unit_test(accesses_are_wide),
        cmocka_unit_test(arithmetic_is_rounded_as_written),
        cmocka_unit_test(fast_math_contracts),
        cmocka_unit_test(what_the_text_fuses_is_fused),
        cmocka_unit_test(threads_work_together),
        cmocka_unit_test(loops_are_unrolled_where_the_text_asks),
        cmocka_unit_test(bad_text_is_an_error),
        cmocka_unit_test(code_that_cannot_be_made_is_an_error),
        cmocka_unit_test(what_comes_from_outside_is_named),
        cmocka_unit_test(unknown_targets_are_errors),
        cmocka_unit_test(equal_text_gives_equal_ptx_on_every_thread),
        cmocka_unit_test(equal_text_gives_equal_ptx_in_every_process),
        cmocka_unit_test(each_helper_compiles_and_needs_nothing),
        cmocka_unit_test(tables_are_read_through_the_read_only_cache),
        cmocka_unit_test(short_floats_are_converted_by_instructions),
        cmocka_unit_test(pairs_are_computed_by_instructions),
        cmocka_unit_test(rounding_is_an_instruction),
        cmocka_unit_test(preparing_gives_equal_bytes),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
