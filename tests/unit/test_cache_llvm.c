/*
 * test_cache_llvm.c - the real compiler behind kiln.h: LLVM IR in, machine code out, and no LLVM in the process that
 * follows. Skipped when KILN_PLUGIN names no plug-in.
 */
#include "cache_support.h"

#include <sys/wait.h>

static const char twice_plus_one[] = "define i64 @kernel(i64 %x) {\n"
                                     "  %twice = shl i64 %x, 1\n"
                                     "  %sum = add i64 %twice, 1\n"
                                     "  ret i64 %sum\n"
                                     "}\n";

typedef int64_t kernel(int64_t x);

static bool have_plugin(void)
{
    const char *plugin = getenv("KILN_PLUGIN");
    if (plugin && access(plugin, R_OK) == 0) return true;
    print_message("skipped: KILN_PLUGIN=%s is not there\n", plugin ? plugin : "");
    return false;
}

static bool is_mapped(const char *name)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, name) != NULL;
    if (maps) fclose(maps);
    return found;
}

static kernel *get_kernel(kiln_function *function, kiln_device *device)
{
    void *executable = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_get(function, NULL, 0, device, &executable, &err), &err);
    return (kernel *)executable;
}

static void run_once(const char *folder, kiln_counters *counters)
{
    kiln_cache *cache = open_cache(folder);
    kiln_function *function = new_text(cache, NULL, "twice_plus_one", twice_plus_one);
    kernel *run = get_kernel(function, NULL);
    for (int64_t x = -3; x < 4; x++) CHECK_EQ(run(x), 2 * x + 1);
    kiln_cache_counters(cache, counters);
    kiln_function_free(function);
    kiln_cache_close(cache);
}
#define run_once(...) CHECK_CALL(run_once, __VA_ARGS__)

/* The plug-in is installed or replaced after the cache was opened. The status of a compile is the result. */
static int compile_late(const char *folder)
{
    kiln_cache *cache = open_cache(folder);
    CHECK_NOT_NULL(kiln_compiler_llvm()->digest);
    setenv("KILN_PLUGIN", getenv("KILN_TEST_PLUGIN"), 1);
    kiln_function *function = new_text(cache, NULL, "f", "define i64 @kernel(i64 %x) {\n  ret i64 %x\n}\n");
    void *executable;
    kiln_error err = {0};
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    kiln_function_free(function);
    kiln_cache_close(cache);
    if (status == KILN_OK) return 0;
    return status == KILN_NO_COMPILER && strstr(err.text, "is not the one by which it finds kernels") ? 2 : 1;
}

static int child(const char *task, const char *folder)
{
    kiln_counters counters;
    if (!strcmp(task, "warm")) {
        run_once(folder, &counters);
        return counters.compiles == 0 && counters.disk_hits == 1 && counters.links == 1 && !is_mapped("libLLVM") ? 0
                                                                                                                 : 1;
    }
    if (!strcmp(task, "late")) return compile_late(folder);
    kiln_cache *cache = open_cache(folder); /* "missing": KILN_PLUGIN names nothing */
    kiln_function *function = new_text(cache, NULL, "f", twice_plus_one);
    kiln_error err = {0};
    void *executable;
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return status == KILN_NO_COMPILER && strstr(err.text, "/no/plug-in/here") && strstr(err.text, "KILN_PLUGIN") ? 0
                                                                                                                 : 1;
}

static void run_child(const char *task, const char *folder, const char *plugin, int expected)
{
    char program[4096] = "";
    CHECK_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (plugin) setenv("KILN_PLUGIN", plugin, 1);
        execl(program, program, task, folder, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, expected << 8);
}
#define run_child(...) CHECK_CALL(run_child, __VA_ARGS__)

static void test_from_cold_to_warm(void **state)
{
    (void)state;
    if (!have_plugin()) CHECK_SKIP();
    char root[64], folder[80];
    make_folder(root, sizeof root);
    snprintf(folder, sizeof folder, "%s/cache", root);
    kiln_counters counters;
    run_once(folder, &counters);
    CHECK_EQ(counters.compiles, 1);
    CHECK_EQ(counters.links, 1);
    run_child("warm", folder, NULL, 0);
    remove_folder(root);
}

static void set_toolchain(const char *folder, const char *line)
{
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    CHECK_STATUS(kiln__tier_folder(folder, true, 0, 0, &events, &tier, NULL), KILN_OK);
    kiln__chain_set_toolchain(tier, line);
    kiln__chain_free(tier);
    CHECK_EQ(events.faults, 0);
}
#define set_toolchain(...) CHECK_CALL(set_toolchain, __VA_ARGS__)

/* A folder that a cache was told to use names the tool chain that filled it. */
static void test_warm_without_a_plugin(void **state)
{
    (void)state;
    if (!have_plugin()) CHECK_SKIP();
    char root[64], folder[80];
    make_folder(root, sizeof root);
    snprintf(folder, sizeof folder, "%s/cache", root);
    kiln_counters counters;
    run_once(folder, &counters);
    run_child("warm", folder, "/no/plug-in/here", 0);
    set_toolchain(folder, "plugin:another llvm:another");
    run_child("missing", folder, "/no/plug-in/here", 0);
    remove_folder(root);
}

/* What another compiler makes is not stored under the name of the one that filled the folder. */
static void test_late_plugin_has_to_be_the_one(void **state)
{
    (void)state;
    if (!have_plugin()) CHECK_SKIP();
    char root[64], folder[80];
    make_folder(root, sizeof root);
    snprintf(folder, sizeof folder, "%s/cache", root);
    setenv("KILN_TEST_PLUGIN", getenv("KILN_PLUGIN"), 1);
    set_toolchain(folder, kiln_compiler_llvm()->digest);
    run_child("late", folder, "/no/plug-in/here", 0);
    set_toolchain(folder, "plugin:another llvm:another");
    run_child("late", folder, "/no/plug-in/here", 2);
    run_child("late", folder, "/proc/self/exe", 2); /* one that was there at first */
    remove_folder(root);
}

static void test_missing_plugin(void **state)
{
    (void)state;
    run_child("missing", "", "/no/plug-in/here", 0);
}

static void test_devices_and_faults(void **state)
{
    (void)state;
    if (!have_plugin()) CHECK_SKIP();
    kiln_cache *cache = open_cache("");
    kiln_device *first = NULL, *second = NULL;
    CHECK_STATUS(kiln_device_find("cpu:native", &first, NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:native#1", &second, NULL), KILN_OK);
    kiln_function *function = new_text(cache, kiln_compiler_llvm(), "f", twice_plus_one);
    kernel *one = get_kernel(function, first), *two = get_kernel(function, second);
    CHECK_NE(one, two);
    CHECK_EQ(one(20), 41);
    CHECK_EQ(two(20), 41);
    CHECK_COUNTERS(cache, .calls = 2, .compiles = 1, .links = 2);
    kiln_device_reset(first);
    CHECK_EQ(get_kernel(function, first)(20), 41);
    CHECK_COUNTERS(cache, .calls = 3, .compiles = 1, .links = 3);
    kiln_function *wrong = new_text(cache, NULL, "wrong", "define i64 @kernel(i64 %x) {\n  ret i64 %y\n}\n");
    get_fails(wrong, NO_ARGS, KILN_COMPILE_FAILED, "wrong: ");
    kiln_function *hidden = new_text(cache, NULL, "hidden", "define internal i64 @other(i64 %x) {\n  ret i64 %x\n}\n");
    get_fails(hidden, NO_ARGS, KILN_COMPILE_FAILED, "defines no entry; right would be @kernel");
    kiln_function_free(function);
    kiln_function_free(wrong);
    kiln_function_free(hidden);
    kiln_cache_close(cache);
}

/* @kernel before all others, so that texts mean what they meant; where there is none, the only visible function. */
static void test_entries(void **state)
{
    (void)state;
    if (!have_plugin()) CHECK_SKIP();
    kiln_cache *cache = open_cache("");
    kiln_function *old = new_text(cache, NULL, "old",
                                  "define i64 @other(i64 %x) {\n  ret i64 %x\n}\n"
                                  "define i64 @kernel(i64 %x) {\n  %y = add i64 %x, 5\n  ret i64 %y\n}\n");
    kiln_function *named = new_text(cache, NULL, "named",
                                    "define internal i64 @kernels(i64 %x) {\n  %y = add i64 %x, 6\n  ret i64 %y\n}\n"
                                    "define i64 @add_7(i64 %x) {\n  %y = call i64 @kernels(i64 %x)\n"
                                    "  %z = add i64 %y, 1\n  ret i64 %z\n}\n");
    CHECK_EQ(get_kernel(old, NULL)(20), 25);
    CHECK_EQ(get_kernel(named, NULL)(20), 27);
    kiln_function_free(old);
    kiln_function_free(named);
    kiln_cache_close(cache);
}

/* The run-time library is the same whatever options are pushed: prepared once. */
static void test_runtime_library_once(void **state)
{
    (void)state;
    if (!have_plugin()) CHECK_SKIP();
    kiln_cache *cache = open_cache("");
    kiln_function *function = new_text(cache, NULL, "f", twice_plus_one);
    get_kernel(function, NULL);
    kiln_option_push("unroll", "4");
    get_kernel(function, NULL);
    kiln_option_pop();
    CHECK_EQ(cache->runtimes.count, 1);
    CHECK_COUNTERS(cache, .calls = 2, .compiles = 2, .links = 2);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_compiler(void **state)
{
    (void)state;
    const kiln_compiler *compiler = kiln_compiler_llvm();
    CHECK_EQ(compiler, kiln_compiler_llvm());
    CHECK_EQ(compiler->struct_size, sizeof *compiler);
    CHECK_STR(compiler->name, "llvm");
    CHECK_CONTAINS(compiler->digest, "plugin:");
    CHECK_CONTAINS(compiler->digest, "llvm:");
}

int main(int argc, char **argv)
{
    if (argc == 3) return child(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiler),
        cmocka_unit_test(test_from_cold_to_warm),
        cmocka_unit_test(test_warm_without_a_plugin),
        cmocka_unit_test(test_late_plugin_has_to_be_the_one),
        cmocka_unit_test(test_missing_plugin),
        cmocka_unit_test(test_devices_and_faults),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_runtime_library_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
