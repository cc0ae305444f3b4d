/*
 * test_cache_classes.c - failure classes 1 to 12: code that is stale because something it was made from has changed.
 */
#include "classes_support.h"

#include <dlfcn.h>

#include "base/environment.h"

static kiln_device *device_named(const char *name)
{
    kiln_device *device = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_device_find(name, &device, &err), &err);
    return device;
}

/* A watched global goes from 3 to 5: followed; and back: no third compile. */
static void test_key_class_01_stale_global(void **state)
{
    struct world *world = *state;
    int scale = 3;
    kiln_function *f = lowered(world, "f", print_int, &scale);
    WATCHES_INT(f, "scale", scale);
    gives(f, NO_ARGS, "3");
    scale = 5;
    gives(f, NO_ARGS, "5");
    scale = 3;
    gives(f, NO_ARGS, "3");
    CHECK_EQ(world->fake.compiles, 2);
    kiln_function_free(f);
}

/* ---- 2: behind helpers ---------------------------------------------------------------------------------------- */

static int hidden = 3;

__attribute__((noinline)) static int read_by_helper(void)
{
    __asm__ volatile("");
    return hidden;
}

static inline int read_inlined(void)
{
    return hidden;
}

static int (*pointer_to_reader)(void) = read_by_helper;

struct readers {
    int (*read)(void); /* NULL: inlined */
};

static kiln_status print_read(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    const struct readers *readers = payload;
    return kiln_text_printf(text, "%d", readers->read ? readers->read() : read_inlined());
}

static void follows(struct world *world, int (*read)(void), int *variable)
{
    struct readers readers = {read};
    kiln_function *f = lowered(world, "f", print_read, &readers);
    WATCHES_INT(f, "hidden", *variable);
    *variable = 3;
    gives(f, NO_ARGS, "3");
    *variable = 5;
    gives(f, NO_ARGS, "5");
    *variable = 3;
    gives(f, NO_ARGS, "3");
    kiln_function_free(f);
}
#define follows(...) CHECK_CALL(follows, __VA_ARGS__)

static void *load_module(const char *name)
{
    char path[4096], self[4000];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK_GT(size, 0);
    self[size] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, sizeof path, "%s/%s.so", self, name);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) CHECK_FAIL("%s", dlerror());
    return module;
}
#define load_module(...) CHECK_CALL(load_module, __VA_ARGS__)

static void test_key_class_02_behind_helpers(void **state)
{
    struct world *world = *state;
    void *module = load_module("module_one");
    int (*of_module)(void);
    void *symbol = dlsym(module, "module_read");
    memcpy(&of_module, &symbol, sizeof symbol);
    follows(world, read_by_helper, &hidden);
    follows(world, NULL, &hidden);
    follows(world, pointer_to_reader, &hidden);
    follows(world, of_module, dlsym(module, "module_value"));
    dlclose(module);
    /* a helper that is a function of Kiln's own: only the inner one watches, the outer one follows */
    int scale = 1;
    kiln_function *outer = lowered(world, "outer", print_int, &scale),
                  *inner = lowered(world, "inner", print_int, &scale);
    WATCHES_INT(inner, "scale", scale);
    CHECK_STATUS(kiln_depends(outer, inner, NULL), KILN_OK);
    gives(outer, NO_ARGS, "1");
    scale = 2;
    gives(outer, NO_ARGS, "2");
    kiln_function_free(inner);
    kiln_function_free(outer);
}

/* ---- 3 to 6: what else can be behind a name ------------------------------------------------------------------- */

static kiln_status print_pointee(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    return kiln_text_printf(text, "%d", **(int *const *)payload);
}

static void test_key_class_03_pointee(void **state)
{
    struct world *world = *state;
    int pointee = 3, *pointer = &pointee;
    kiln_function *f = lowered(world, "f", print_pointee, &pointer);
    CHECK_STATUS(kiln_watch(f, "m", "*pointer", pointer, sizeof *pointer, NULL), KILN_OK);
    gives(f, NO_ARGS, "3");
    pointee = 5;
    gives(f, NO_ARGS, "5");
    kiln_function_free(f);
    const kiln_function_options strict = {.struct_size = sizeof strict,
                                          .name = "g",
                                          .compiler = &world->fake.compiler,
                                          .lower = print_pointee,
                                          .payload = &pointer,
                                          .flags = KILN_STRICT};
    kiln_function *g = NULL;
    CHECK_STATUS(kiln_function_new(world->cache, &strict, &g, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(g, "m", "*pointer", pointer, sizeof *pointer, NULL), KILN_OK);
    gives(g, NO_ARGS, "5");
    pointee = 7;
    get_fails(g, NO_ARGS, KILN_DRIFTED, "g: m: *pointer was 5, is 7");
    kiln_function_free(g);
}

static int when_large = 1;

static kiln_status read_when_large(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int64_t n;
    int value = 0;
    memcpy(&n, (const char *)kiln_request_arg(request, 0).data + 8, sizeof n); /* behind the item's header */
    if (n > 8 && kiln_read(request, "m", "when_large", &when_large, sizeof when_large, &value)) return KILN_INVALID;
    return kiln_text_printf(text, "%d: %d", (int)n, value);
}

/* A global that is read only when n > 8: n = 4 first, then 16, then it changes. */
static void test_key_class_04_read_in_a_branch(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", read_when_large, NULL);
    when_large = 1;
    gives(f, ARGS(I64(4)), "4: 0");
    gives(f, ARGS(I64(16)), "16: 1");
    when_large = 2;
    unsigned long long traces = counters_of(world).traces;
    gives(f, ARGS(I64(4)), "4: 0");
    CHECK_EQ(counters_of(world).traces, traces); /* that entry did not read it */
    gives(f, ARGS(I64(16)), "16: 2");
    when_large = 1;
    gives(f, ARGS(I64(16)), "16: 1");
    CHECK_EQ(world->fake.compiles, 3);
    kiln_function_free(f);
}

/* One function, two payloads; the second reads an extra global, which changes when both are warm. */
static void test_key_class_05_second_owner(void **state)
{
    struct world *world = *state;
    int first = 1, extra = 1;
    kiln_function *base = lowered(world, "f", print_int, &first), *owner = NULL;
    WATCHES_INT(base, "first", first);
    CHECK_STATUS(kiln_function_bind(base, &extra, NULL, &owner, NULL), KILN_OK);
    WATCHES_INT(owner, "extra", extra);
    gives(base, NO_ARGS, "1");
    gives(owner, NO_ARGS, "1");
    extra = 2;
    gives(owner, NO_ARGS, "2");
    unsigned long long traces = counters_of(world).traces;
    gives(base, NO_ARGS, "1");
    CHECK_EQ(counters_of(world).traces, traces);
    kiln_function_free(owner);
    setenv("KILN_DRIFT", "error", 1); /* checked from its first call on */
    CHECK_STATUS(kiln_function_bind(base, &extra, NULL, &owner, NULL), KILN_OK);
    WATCHES_INT(owner, "extra", extra);
    gives(owner, NO_ARGS, "2");
    extra = 3;
    get_fails(owner, NO_ARGS, KILN_DRIFTED, "m: extra was 2, is 3");
    kiln_function_free(owner);
    kiln_function_free(base);
}

/* A configuration object, changed in place; and two processes with different ones on one folder. The text is fixed. */
static void test_key_class_06_configuration(void **state)
{
    struct world *world = *state;
    struct {
        int mode;
        char name[12];
    } config = {1, "plain"};
    for (int round = 0; round < 4; round++) {
        reopen(world);
        config.mode = 1 + round % 2;
        kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "as configured");
        CHECK_STATUS(kiln_watch(f, "m", "config", &config, sizeof config, NULL), KILN_OK);
        get(f, NO_ARGS);
        CHECK_EQ(counters_of(world).compiles, round < 2);
        CHECK_EQ(counters_of(world).disk_hits, round >= 2);
        config.name[0] = (char)('a' + round); /* in place */
        get(f, NO_ARGS);
        CHECK_EQ(counters_of(world).compiles, (round < 2) + 1);
        config.name[0] = 'p';
        kiln_function_free(f);
    }
}

/* ---- 7 to 9: addresses that are used again -------------------------------------------------------------------- */

static void test_key_class_07_payload_in_place(void **state)
{
    struct world *world = *state;
    int payload = 1;
    kiln_function *f = lowered(world, "f", print_int, &payload);
    WATCHES_INT(f, "payload", payload);
    gives(f, NO_ARGS, "1");
    payload = 2;
    gives(f, NO_ARGS, "2");
    kiln_function_free(f);
}

static void test_key_class_07_payload_at_the_same_address(void **state)
{
    struct world *world = *state;
    static int payload; /* as a new one that happens to be where the last one was */
    char text[16];
    for (payload = 0; payload < 1000; payload++) {
        kiln_function *f = lowered(world, "f", print_int, &payload);
        snprintf(text, sizeof text, "%d", payload);
        gives(f, NO_ARGS, text);
        kiln_function_free(f);
    }
}

static void test_key_class_08_reloaded_module(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"module_one", "module_two"}, *const texts[] = {"one", "two"};
    for (int round = 0; round < 20; round++) {
        void *module = load_module(names[round % 2]), *symbol = dlsym(module, "module_lower");
        kiln_status (*lower)(void *, const kiln_request *, kiln_text *, kiln_error *);
        memcpy(&lower, &symbol, sizeof symbol);
        kiln_function *f = lowered(world, "f", lower, NULL);
        gives(f, NO_ARGS, texts[round % 2]);
        kiln_function_free(f);
        dlclose(module);
    }
}

struct user {
    pthread_barrier_t turn;
    kiln_function *function;
    char texts[2][16];
};

static void *use_twice(void *context)
{
    struct user *user = context;
    for (int i = 0; i < 2; i++) {
        pthread_barrier_wait(&user->turn);
        void *executable = NULL;
        if (!kiln_get(user->function, NO_ARGS, NULL, &executable, NULL))
            snprintf(user->texts[i], sizeof user->texts[i], "%s", ((struct image *)executable)->text);
        pthread_barrier_wait(&user->turn);
    }
    return NULL;
}

/* Made on A, used on B, freed on A; a new one, used on B, must not see the old entry. */
static void test_key_class_09_threads(void **state)
{
    struct world *world = *state;
    struct user user = {.function = NULL};
    pthread_t thread;
    pthread_barrier_init(&user.turn, NULL, 2);
    pthread_create(&thread, NULL, use_twice, &user);
    for (int i = 0; i < 2; i++) {
        int payload = i;
        user.function = lowered(world, "f", print_int, &payload);
        pthread_barrier_wait(&user.turn);
        pthread_barrier_wait(&user.turn);
        kiln_function_free(user.function);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&user.turn);
    CHECK_STR(user.texts[0], "0");
    CHECK_STR(user.texts[1], "1");
}

/* ---- 10 to 12: environment, target, options ------------------------------------------------------------------- */

static kiln_status print_variable(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    const char *value = kiln_request_env(request, "KILN_TEST_A");
    return kiln_text_printf(text, "%s", value ? *value ? value : "(empty)" : "(unset)");
}

static void flip(kiln_function *f)
{
    static char buffer[] = "KILN_TEST_A=1";
    unsetenv("KILN_TEST_A");
    gives(f, NO_ARGS, "(unset)");
    setenv("KILN_TEST_A", "", 1);
    gives(f, NO_ARGS, "(empty)");
    buffer[12] = '1';
    putenv(buffer);
    gives(f, NO_ARGS, "1");
    buffer[12] = '2'; /* in place: nobody is told */
    gives(f, NO_ARGS, "2");
    buffer[12] = '1';
    gives(f, NO_ARGS, "1");
    setenv("KILN_TEST_A", "long enough for several words of a key", 1);
    gives(f, NO_ARGS, "long enough for several words of a key");
    unsetenv("KILN_TEST_A");
}
#define flip(...) CHECK_CALL(flip, __VA_ARGS__)

static void test_key_class_10_environment(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", print_variable, NULL);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    flip(f);
    CHECK_EQ(world->fake.compiles, 5);
    unsigned long long traces = counters_of(world).traces;
    setenv("KILN_TEST_B", "unrelated", 1);
    flip(f);
    kiln__environment_set_fast(false); /* getenv() each time: the very same keys */
    flip(f);
    kiln__environment_set_fast(true);
    flip(f);
    CHECK_EQ(counters_of(world).traces, traces);
    CHECK_EQ(world->fake.compiles, 5);
    kiln_function_free(f);
}

/* One process is told the target, the next finds it out: the same artifact. */
static void test_key_class_11_source_of_the_target(void **state)
{
    struct world *world = *state;
    char native[48];
    snprintf(native, sizeof native, "%s", kiln_device_target(device_named("cpu:native")));
    for (int round = 0; round < 3; round++) {
        reopen(world);
        if (round == 0) setenv("KILN_TARGET", native, 1);
        if (round == 1) unsetenv("KILN_TARGET");
        kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "same");
        get_on(f, NO_ARGS, round == 2 ? device_named("cpu:native") : NULL);
        CHECK_EQ(counters_of(world).compiles, round == 0);
        kiln_function_free(f);
    }
}

static kiln_status compile_with_option(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                       kiln_error *err)
{
    (void)self, (void)text, (void)err;
    char code[160];
    const char *unroll = kiln_request_option(request, "unroll");
    setenv("KILN_OPT_LEVEL", "1", 1); /* too late for this one */
    kiln_option_push("unroll", "16");
    int size =
        snprintf(code, sizeof code, "level %s, fast %s, unroll %s, for %s", kiln_request_option(request, "opt_level"),
                 kiln_request_option(request, "fast_math"), unroll ? unroll : "-", kiln_request_target(request));
    kiln_option_pop();
    kiln_status status = kiln_artifact_put(out, "code", code, (size_t)size);
    return status ? status : kiln_artifact_set_entry(out, "start");
}

/* Changes whatever it can between key and compile. */
static kiln_status change_everything(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    setenv("KILN_OPT_LEVEL", "3", 1);
    setenv("KILN_FAST_MATH", "1", 1);
    setenv("KILN_TARGET", "x86-64", 1);
    kiln_option_pop();
    kiln_set_current_device(payload);
    return kiln_text_printf(text, "text");
}

/* What is stored matches its key, whatever changed between the key and the compile. */
static void test_key_class_12_key_and_compile(void **state)
{
    struct world *world = *state;
    char expected[2][160];
    const char *target = kiln_device_target(device_named("cpu:native"));
    snprintf(expected[0], sizeof expected[0], "level 2, fast 0, unroll 4, for %s", target);
    snprintf(expected[1], sizeof expected[1], "level 3, fast 1, unroll -, for x86-64");
    world->fake.compiler.compile = compile_with_option;
    for (int round = 0; round < 2; round++) { /* the second time from the folder */
        reopen(world);
        kiln_function *f = lowered(world, "f", change_everything, device_named("cpu:native#3"));
        unsetenv("KILN_OPT_LEVEL"), unsetenv("KILN_FAST_MATH"), unsetenv("KILN_TARGET");
        kiln_option_push("unroll", "4");
        gives(f, NO_ARGS, expected[0]);
        kiln_set_current_device(NULL);
        setenv("KILN_OPT_LEVEL", "3", 1), setenv("KILN_FAST_MATH", "1", 1), setenv("KILN_TARGET", "x86-64", 1);
        gives(f, NO_ARGS, expected[1]);
        kiln_set_current_device(NULL);
        unsetenv("KILN_OPT_LEVEL"), unsetenv("KILN_FAST_MATH"), unsetenv("KILN_TARGET");
        kiln_option_push("unroll", "4");
        gives(f, NO_ARGS, expected[0]); /* a hit */
        kiln_option_pop();
        CHECK_EQ(counters_of(world).compiles, round == 0 ? 2 : 0);
        CHECK_EQ(counters_of(world).disk_hits, round == 0 ? 0 : 2);
        kiln_function_free(f);
    }
}

static int disturbed;

static kiln_status disturb(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    if (disturbed == 1) disturbed = 2; /* as another thread might, after the key was signed */
    return kiln_text_printf(text, "%d", disturbed);
}

static kiln_status never_rest(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_printf(text, "%d", ++disturbed);
}

/* A watched variable changes while lower() runs: what was lowered is not kept under the old value. */
static void test_key_class_12_variable_changes_meanwhile(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", disturb, NULL), *g = lowered(world, "g", never_rest, NULL);
    WATCHES_INT(f, "disturbed", disturbed);
    WATCHES_INT(g, "disturbed", disturbed);
    disturbed = 1;
    gives(f, NO_ARGS, "2");
    disturbed = 3;
    gives(f, NO_ARGS, "3");
    disturbed = 1;
    gives(f, NO_ARGS, "2"); /* again: there is no entry for 1 */
    CHECK_EQ(world->fake.compiles, 2);
    get_fails(g, NO_ARGS, KILN_DRIFTED, "changed in each of");
    kiln_counters counters = counters_of(world);
    CHECK_EQ(counters.calls, 4);
    kiln_function_free(f);
    kiln_function_free(g);
}

/* The same function and state in another process: the same content key. */
static int in_another_process(const char *folder)
{
    int scale = 7;
    struct world world = {.cache = open_cache(folder)};
    fake_init(&world.fake);
    kiln_function *f = new_text(world.cache, &world.fake.compiler, "f", "fixed"),
                  *g = lowered(&world, "g", print_int, &scale);
    setenv("KILN_TEST_A", "on", 1);
    kiln_watch(f, "m", "scale", &scale, sizeof scale, NULL);
    kiln_watch_env(f, "KILN_TEST_A", NULL);
    get(f, ARGS(I64(1), {&kiln_const_string, "s"}));
    get(g, ARGS(I64(1)));
    kiln_counters counters = counters_of(&world);
    kiln_function_free(f);
    kiln_function_free(g);
    kiln_cache_close(world.cache);
    return (int)(counters.compiles * 10 + counters.disk_hits);
}

static void test_key_two_processes(void **state)
{
    struct world *world = *state;
    make_folder(world->folder, sizeof world->folder);
    char command[4200], self[4000];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK_GT(size, 0);
    self[size] = '\0';
    snprintf(command, sizeof command, "'%s' --child '%s'", self, world->folder);
    CHECK_EQ(WEXITSTATUS(system(command)), 20); /* two compiles */
    CHECK_EQ(WEXITSTATUS(system(command)), 2);  /* two hits on disk, at other addresses */
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_key_class_01_stale_global),
        WITH_WORLD(test_key_class_02_behind_helpers),
        WITH_WORLD(test_key_class_03_pointee),
        WITH_WORLD(test_key_class_04_read_in_a_branch),
        WITH_WORLD(test_key_class_05_second_owner),
        WITH_WORLD(test_key_class_06_configuration),
        WITH_WORLD(test_key_class_07_payload_in_place),
        WITH_WORLD(test_key_class_07_payload_at_the_same_address),
        WITH_WORLD(test_key_class_08_reloaded_module),
        WITH_WORLD(test_key_class_09_threads),
        WITH_WORLD(test_key_class_10_environment),
        WITH_WORLD(test_key_class_11_source_of_the_target),
        WITH_WORLD(test_key_class_12_key_and_compile),
        WITH_WORLD(test_key_class_12_variable_changes_meanwhile),
        WITH_WORLD(test_key_two_processes),
    };
    if (count == 3 && !strcmp(words[1], "--child")) return in_another_process(words[2]);
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
