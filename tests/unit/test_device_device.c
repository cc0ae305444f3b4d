/*
 * test_device_device.c - names of devices, targets, and the current device of a thread.
 */
#include <pthread.h>

#include "device/device.h"
#include "support/check.h"

static kiln_device *find(const char *name)
{
    kiln_device *device = NULL;
    kiln_error err = {0};
    if (kiln_device_find(name, &device, &err) != KILN_OK) CHECK_FAIL("%s: %s", name, err.text);
    return device;
}

static void expect_invalid(const char *name, const char *text)
{
    kiln_device *device = (kiln_device *)(uintptr_t)1;
    kiln_error err = {0};
    CHECK_STATUS(kiln_device_find(name, &device, &err), KILN_INVALID, &err);
    CHECK_EQ(err.status, KILN_INVALID);
    if (!strstr(err.text, text)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, text);
    CHECK_EQ(device, (kiln_device *)(uintptr_t)1);
    CHECK_STATUS(kiln_device_find(name, &device, NULL), KILN_INVALID);
}
#define expect_invalid(...) CHECK_CALL(expect_invalid, __VA_ARGS__)

static void names_of_one_device_are_one_pointer(void **state)
{
    (void)state;
    char name[64];
    kiln_device *native = find("cpu:native");
    snprintf(name, sizeof(name), "cpu:%s", kiln__isa_name(kiln__isa_host()));
    CHECK_EQ(native, find(name));
    CHECK_EQ(native, find("cpu:native#0"));
    CHECK_STR(kiln_device_name(native), name);
    CHECK_STR(kiln_device_target(native), name + 4);
}

static void numbered_devices_share_a_target(void **state)
{
    (void)state;
    kiln_device *first = find("cpu:native"), *second = find("cpu:native#1");
    CHECK_NE(first, second);
    CHECK_EQ(second, find("cpu:native#1"));
    CHECK_NE(first->id, second->id);
    CHECK_STR(kiln_device_target(first), kiln_device_target(second));
    CHECK_NE(strcmp(kiln_device_name(first), kiln_device_name(second)), 0);
}

static void plain_cpu_follows_the_variable(void **state)
{
    (void)state;
    unsetenv("KILN_TARGET");
    CHECK_EQ(find("cpu"), find("cpu:native"));
    setenv("KILN_TARGET", "x86-64", 1);
    CHECK_STR(kiln_device_target(find("cpu")), "x86-64");
    CHECK_STR(kiln_device_name(find("cpu#2")), "cpu:x86-64#2");
    setenv("KILN_TARGET", "no-such-cpu", 1);
    expect_invalid("cpu", "unknown target \"no-such-cpu\"");
    setenv("KILN_TARGET", "", 1);
    CHECK_EQ(find("cpu"), find("cpu:native"));
    unsetenv("KILN_TARGET");
}

static void bad_names_say_what_is_right(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "gpu",
        "cpu:",
        "cpu#",
        "cpu:native#",
        "cpu:#1",
        "cpu:native#x",
        "cpu:native#-1",
        "cpu:native#1024",
        "cpux",
        "cpu:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) expect_invalid(names[i], "right would be");
    expect_invalid("cuda:sm_1", "known are sm_70");
    expect_invalid("cudax", "right would be \"cuda:0\"");
    expect_invalid("cpu:pentium9", "known are native, x86-64, x86-64-v2");
    expect_invalid("cpu:native:x", "unknown target");
    CHECK_STATUS(kiln_device_find(NULL, NULL, NULL), KILN_INVALID);
}

/* Which targets are refused depends on the machine; that exactly those above its level are does not. */
static void targets_above_the_host_are_refused(void **state)
{
    (void)state;
    for (enum kiln_isa isa = KILN_ISA_X86_64_V1; isa <= KILN_ISA_X86_64_V4; isa++) {
        char name[64];
        struct kiln_target target;
        snprintf(name, sizeof(name), "cpu:%s", kiln__isa_name(isa));
        CHECK_STATUS(kiln__target_resolve(kiln__isa_name(isa), &target, NULL), KILN_OK);
        CHECK_EQ(target.isa, isa);
        if (isa <= kiln__isa_host())
            CHECK_STR(kiln_device_target(find(name)), kiln__isa_name(isa));
        else
            expect_invalid(name, "it can run native, x86-64");
    }
}

static void cpu_names_have_levels(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum kiln_isa isa;
    } rows[] = {{"nehalem", KILN_ISA_X86_64_V2},        {"haswell", KILN_ISA_X86_64_V3},
                {"znver3", KILN_ISA_X86_64_V3},         {"znver4", KILN_ISA_X86_64_V4},
                {"skylake-avx512", KILN_ISA_X86_64_V4}, {"sapphirerapids", KILN_ISA_X86_64_V4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kiln_target target;
        CHECK_STATUS(kiln__target_resolve(rows[i].name, &target, NULL), KILN_OK);
        CHECK_STR(target.name, rows[i].name);
        CHECK_EQ(target.isa, rows[i].isa);
    }
}

/* GCC's own probe must agree with ours. */
static void level_agrees_with_the_compiler(void **state)
{
    (void)state;
    bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    bool has_v3 =
        has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    CHECK_EQ(kiln__isa_host(), 1 + has_v2 + has_v3 + has_v4);
}

static void reset_bumps_the_generation(void **state)
{
    (void)state;
    kiln_device *device = find("cpu:native#7");
    uint32_t before = device->generation;
    kiln_device_reset(device);
    CHECK_EQ(device->generation, before + 1);
    kiln_device_reset(NULL);
}

static void *current_elsewhere(void *unused)
{
    (void)unused;
    return kiln__device_current(NULL);
}

static void current_device_is_of_the_thread(void **state)
{
    (void)state;
    unsetenv("KILN_TARGET");
    kiln_device *native = find("cpu"), *second = find("cpu:native#1");
    pthread_t thread;
    void *seen = NULL;
    CHECK_EQ(kiln__device_current(NULL), native);
    CHECK_STATUS(kiln_set_current_device(second), KILN_OK);
    CHECK_EQ(kiln__device_current(NULL), second);
    pthread_create(&thread, NULL, current_elsewhere, NULL);
    pthread_join(thread, &seen);
    CHECK_EQ(seen, native);
    kiln_set_current_device(NULL);
    CHECK_EQ(kiln__device_current(NULL), native);
}

static void current_device_follows_the_variable(void **state)
{
    (void)state;
    static char buffer[64] = "KILN_TARGET=x86-64";
    unsetenv("KILN_TARGET");
    kiln_device *native = kiln__device_current(NULL), *base = find("cpu:x86-64");
    setenv("KILN_TARGET", "x86-64", 1);
    CHECK_EQ(kiln__device_current(NULL), base);
    unsetenv("KILN_TARGET");
    CHECK_EQ(kiln__device_current(NULL), native);
    setenv("KILN_OTHER", "1", 1);
    CHECK_EQ(kiln__device_current(NULL), native);
    unsetenv("KILN_OTHER");
    setenv("KILN_TARGET", "x86-64", 1); /* as many entries as before, another one last */
    CHECK_EQ(kiln__device_current(NULL), base);
    unsetenv("KILN_TARGET");
    putenv(buffer);
    CHECK_EQ(kiln__device_current(NULL), base);
    strcpy(buffer, "KILN_TARGET=native"); /* edited in place */
    CHECK_EQ(kiln__device_current(NULL), native);
    strcpy(buffer, "KILN_TARGET=nonsense");
    kiln_error err = {0};
    CHECK_NULL(kiln__device_current(&err));
    CHECK_CONTAINS(err.text, "nonsense");
    unsetenv("KILN_TARGET");
    CHECK_EQ(kiln__device_current(NULL), native);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_one_device_are_one_pointer), cmocka_unit_test(numbered_devices_share_a_target),
        cmocka_unit_test(plain_cpu_follows_the_variable),      cmocka_unit_test(bad_names_say_what_is_right),
        cmocka_unit_test(targets_above_the_host_are_refused),  cmocka_unit_test(cpu_names_have_levels),
        cmocka_unit_test(level_agrees_with_the_compiler),      cmocka_unit_test(reset_bumps_the_generation),
        cmocka_unit_test(current_device_is_of_the_thread),     cmocka_unit_test(current_device_follows_the_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
