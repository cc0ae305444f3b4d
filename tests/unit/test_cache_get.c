/*
 * test_cache_get.c - every public function of kiln.h but the watches, on one thread, with all counters exact.
 */
#include "cache_support.h"

#include "key/dlpack.h"

struct world {
    kiln_cache *cache;
    struct fake fake;
    struct program program;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    fake_init(&world->fake);
    world->program.text = "add r0, r1";
    world->cache = open_cache("");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_cache_close(world->cache);
    CHECK_EQ(world->fake.unlinks + (world->fake.fails_to_link ? world->fake.links : 0), world->fake.links);
    free(world);
    return 0;
}

static kiln_function *lowered(struct world *world)
{
    return new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
}

/* ---- outcomes, caches ----------------------------------------------------------------------------------------- */

static void test_status_names(void **state)
{
    (void)state;
    static const struct {
        kiln_status status;
        const char *name;
    } rows[] = {
        {KILN_OK, "KILN_OK"},
        {KILN_INVALID, "KILN_INVALID"},
        {KILN_NO_MEMORY, "KILN_NO_MEMORY"},
        {KILN_UNSIGNED, "KILN_UNSIGNED"},
        {KILN_DRIFTED, "KILN_DRIFTED"},
        {KILN_LOWER_FAILED, "KILN_LOWER_FAILED"},
        {KILN_COMPILE_FAILED, "KILN_COMPILE_FAILED"},
        {KILN_LINK_FAILED, "KILN_LINK_FAILED"},
        {KILN_NO_COMPILER, "KILN_NO_COMPILER"},
        {KILN_WOULD_COMPILE, "KILN_WOULD_COMPILE"},
        {KILN_IO, "KILN_IO"},
        {KILN_COMPILED, "KILN_COMPILED"},
        {KILN_REMOTE_ABSENT, "KILN_REMOTE_ABSENT"},
        {KILN_REMOTE_LEASE_LOST, "KILN_REMOTE_LEASE_LOST"},
        {KILN_STORE_MISS, "KILN_STORE_MISS"},
        {KILN_STORE_BUSY, "KILN_STORE_BUSY"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) CHECK_STR(kiln_status_name(rows[i].status), rows[i].name);
    CHECK_STR(kiln_status_name((kiln_status)1), "unknown status");
    CHECK_STR(kiln_status_name((kiln_status)9), "unknown status");
    CHECK_STR(kiln_status_name((kiln_status)99), "unknown status");
    CHECK_STR(kiln_status_name((kiln_status)-11), "unknown status");
    CHECK_STR(kiln_status_name((kiln_status)INT32_MIN), "unknown status");
}

static void test_open_and_close(void **state)
{
    (void)state;
    kiln_error err = {0};
    kiln_cache *cache = NULL;
    kiln_cache_options options = {.struct_size = sizeof options, .folder = ""};
    CHECK_STATUS(kiln_cache_open(&options, NULL, &err), KILN_INVALID, &err);
    options.struct_size = 0;
    CHECK_STATUS(kiln_cache_open(&options, &cache, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "struct_size is 0");
    options.struct_size = sizeof options + 8;
    CHECK_STATUS(kiln_cache_open(&options, &cache, NULL), KILN_INVALID);
    CHECK_NULL(cache);
    options.struct_size = offsetof(kiln_cache_options, max_bytes); /* an older program's struct */
    CHECK_OK(kiln_cache_open(&options, &cache, &err), &err);
    CHECK_COUNTERS(cache, .calls = 0);
    kiln_cache_close(cache);
    kiln_cache_close(NULL);
}

static void test_many_caches(void **state)
{
    (void)state;
    kiln_cache *caches[64];
    struct fake fake;
    fake_init(&fake);
    size_t count = 0;
    kiln_error err = {0};
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = ""};
    while (count < 64 && kiln_cache_open(&options, &caches[count], &err) == KILN_OK) count++;
    kiln_cache *one_more = NULL;
    CHECK_STATUS(kiln_cache_open(&options, &one_more, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "64 caches are open");
    CHECK_NULL(one_more);
    for (size_t i = 0; i < count;
         i++) { /* counts of one cache are not another's, nor those of an earlier one with its place */
        kiln_function *function = new_text(caches[i], &fake.compiler, "f", "x");
        for (size_t j = 0; j <= i; j++) get(function, NO_ARGS);
        CHECK_COUNTERS(caches[i], .calls = i + 1, .front_hits = i, .compiles = 1, .links = 1);
        kiln_function_free(function);
        kiln_cache_close(caches[i]);
        caches[i] = open_cache("");
        CHECK_COUNTERS(caches[i], .calls = 0);
    }
    while (count--) kiln_cache_close(caches[count]);
}

static void *ask_for_default(void *out)
{
    *(kiln_cache **)out = kiln_cache_default();
    return NULL;
}

static void test_default_cache(void **state)
{
    (void)state;
    kiln_cache *seen[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, ask_for_default, &seen[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) CHECK_EQ(seen[i], kiln_cache_default());
    CHECK_NOT_NULL(seen[0]);
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

static void test_function_options(void **state)
{
    struct world *world = *state;
    kiln_function *function = NULL;
    kiln_error err = {0};
    const kiln_function_options good = {.struct_size = sizeof good,
                                        .name = "f",
                                        .compiler = &world->fake.compiler,
                                        .lower = program_lower,
                                        .payload = &world->program,
                                        .free_payload = program_free};
    kiln_compiler broken = world->fake.compiler;
#define REFUSED(change, what)                                                                                          \
    do {                                                                                                               \
        kiln_function_options options = good;                                                                          \
        change;                                                                                                        \
        CHECK_STATUS(kiln_function_new(world->cache, &options, &function, &err), KILN_INVALID, &err);                  \
        if (!strstr(err.text, what)) CHECK_FAIL("%s", err.text);                                                       \
    } while (0)
    REFUSED(options.struct_size = 8, "struct_size is 8");
    REFUSED(options.struct_size++, "struct_size");
    REFUSED(options.name = NULL, "name");
    REFUSED(options.name = "", "name");
    REFUSED(options.lower = NULL, "text or lower()");
    REFUSED(options.text = ((kiln_bytes){"x", 1}), "text or lower()");
    REFUSED(options.flags = 8 | KILN_RECLAIM, "unknown flags 0x8");
    REFUSED((options.compiler = &broken, broken.struct_size = 1), "compiler");
    broken = world->fake.compiler;
    REFUSED((options.compiler = &broken, broken.name = NULL), "compiler");
    broken = world->fake.compiler;
    REFUSED((options.compiler = &broken, broken.digest = NULL), "compiler");
    broken = world->fake.compiler;
    REFUSED((options.compiler = &broken, broken.compile = NULL), "compiler");
    broken = world->fake.compiler;
    REFUSED((options.compiler = &broken, broken.link = NULL), "compiler");
    CHECK_STATUS(kiln_function_new(world->cache, NULL, &function, NULL), KILN_INVALID);
    CHECK_STATUS(kiln_function_new(NULL, &good, &function, NULL), KILN_INVALID);
    CHECK_STATUS(kiln_function_new(world->cache, &good, NULL, NULL), KILN_INVALID);
    CHECK_NULL(function);
    CHECK_EQ(world->program.frees, 0); /* after a failure the payload is still the caller's */
    CHECK_STATUS(kiln_function_new(world->cache, &good, &function, NULL), KILN_OK);
    kiln_function_free(function);
    CHECK_EQ(world->program.frees, 1);
    kiln_function_free(NULL);
    kiln_function_trim(NULL);
}

static void test_hit_and_miss(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    struct image *one = get(f, ARGS(I64(1)));
    CHECK_STR(one->text, "add r0, r1");
    CHECK_STR(kiln_device_name(one->device), kiln_device_name(one->device));
    CHECK_COUNTERS(world->cache, .calls = 1, .traces = 1, .compiles = 1, .links = 1);
    CHECK_EQ(get(f, ARGS(I64(1))), one);
    CHECK_COUNTERS(world->cache, .calls = 2, .front_hits = 1, .traces = 1, .compiles = 1, .links = 1);
    CHECK_EQ(get(f, ARGS(I64(2))), one); /* lowered again, to the same text */
    CHECK_COUNTERS(world->cache, .calls = 3, .front_hits = 1, .traces = 2, .kernel_hits = 1, .compiles = 1, .links = 1);
    CHECK_EQ(world->program.lowers, 2);
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    CHECK_TRUE(counters.trace_ns > 0 && counters.compile_ns > 0 && counters.link_ns > 0 && counters.saved_ns == 0);
    kiln_function_free(f);
    CHECK_EQ(world->fake.unlinks, 1);
}

static void test_text_of_a_function(void **state)
{
    struct world *world = *state;
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "mul"),
                  *g = new_text(world->cache, &world->fake.compiler, "g", "mul");
    struct image *image = get(f, ARGS(I64(1)));
    CHECK_STR(image->text, "mul");
    CHECK_EQ(get(g, ARGS(I64(1))), image); /* the same content, whatever it is called */
    CHECK_NE(get(g, ARGS(I64(2))), image); /* fixed text: the arguments are content */
    CHECK_COUNTERS(world->cache, .calls = 3, .kernel_hits = 1, .compiles = 2, .links = 2);
    kiln_function_free(f);
    CHECK_EQ(world->fake.unlinks, 0); /* g uses it still */
    kiln_function_free(g);
    CHECK_EQ(world->fake.unlinks, 2);
}

static void test_invalid_calls(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    const kiln_type mute = {"my_matrix", NULL};
    void *executable = NULL;
    CHECK_STATUS(kiln_get(NULL, NULL, 0, NULL, &executable, NULL), KILN_INVALID);
    CHECK_STATUS(kiln_get(f, NULL, 0, NULL, NULL, NULL), KILN_INVALID);
    CHECK_STATUS(kiln_get(f, NULL, 1, NULL, &executable, NULL), KILN_INVALID);
    get_fails(f, ARGS(I64(1), {&mute, &mute}), KILN_UNSIGNED, "argument 1: type my_matrix can't sign itself");
    get_fails(f, ARGS({NULL, NULL}), KILN_UNSIGNED, "argument 0");
    size_t size = (size_t)9 << 20;
    const kiln_bytes huge = {calloc(1, size), size};
    get_fails(f, ARGS({&kiln_const_bytes, &huge}), KILN_NO_MEMORY, "too large");
    free((void *)huge.data);
    CHECK_COUNTERS(world->cache, .calls = 3);
    kiln_function_free(f);
}

/* A key beyond the stack and beyond the thread cache: found in the process. */
static void test_large_keys(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    struct image *image = get(f, ARGS({&kiln_const_string, text}));
    CHECK_EQ(get(f, ARGS({&kiln_const_string, text})), image);
    CHECK_COUNTERS(world->cache, .calls = 2, .process_hits = 1, .traces = 1, .compiles = 1, .links = 1);
    text[1000] = 'y';
    get(f, ARGS({&kiln_const_string, text}));
    CHECK_COUNTERS(world->cache, .calls = 3, .process_hits = 1, .traces = 2, .kernel_hits = 1, .compiles = 1,
                   .links = 1);
    kiln_function_free(f);
}

/* More signatures than the thread cache has slots: each is made once, then found here or there. */
static void test_many_signatures(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    enum { MANY = 1024 }; /* as many as are kept; test_cache_bounds.c has the rest */
    for (int round = 0; round < 3; round++)
        for (int64_t i = 0; i < MANY; i++) get_i64(f, i);
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    CHECK_EQ(counters.calls, 3 * MANY);
    CHECK_EQ(counters.traces, MANY);
    CHECK_EQ(counters.front_hits + counters.process_hits, 2 * MANY);
    CHECK_EQ(counters.kernel_hits, MANY - 1);
    CHECK_EQ(counters.compiles, 1);
    kiln_function_free(f);
}

static void test_failures(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    world->program.fails = true;
    get_fails(f, NO_ARGS, KILN_LOWER_FAILED, "f: cannot lower that");
    world->program.fails = false;
    CHECK_COUNTERS(world->cache, .calls = 1, .traces = 1);
    world->fake.fails_to_compile = true;
    get_fails(f, NO_ARGS, KILN_COMPILE_FAILED, "f: no such instruction for ");
    world->fake.fails_to_compile = false;
    CHECK_COUNTERS(world->cache, .calls = 2, .traces = 2, .compiles = 1);
    world->fake.fails_to_link = true;
    get_fails(f, NO_ARGS, KILN_LINK_FAILED, "f: no room on cpu");
    world->fake.fails_to_link = false;
    CHECK_COUNTERS(world->cache, .calls = 3, .traces = 3, .compiles = 2, .links = 1);
    get(f, NO_ARGS); /* nothing failed is remembered; what was compiled is */
    CHECK_COUNTERS(world->cache, .calls = 4, .traces = 4, .compiles = 2, .links = 2);
    get(f, NO_ARGS);
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 1, .traces = 4, .compiles = 2, .links = 2);
    kiln_function_free(f);
    CHECK_EQ(world->fake.unlinks, 1);
    world->fake.links--; /* the failed one has nothing to unlink */
}

static kiln_status link_to_nothing(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                   kiln_error *err)
{
    (void)self, (void)artifact, (void)device, (void)err;
    *executable = NULL;
    return KILN_OK;
}

static kiln_status fail_silently(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)text, (void)err;
    return KILN_NO_MEMORY;
}

static kiln_status missing_compiler(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                    kiln_error *err)
{
    (void)self, (void)request, (void)text, (void)out;
    snprintf(err->text, sizeof err->text, "install it");
    return KILN_NO_COMPILER;
}

static void test_odd_failures(void **state)
{
    struct world *world = *state;
    kiln_compiler odd = world->fake.compiler;
    odd.link = link_to_nothing;
    kiln_function *f = new_text(world->cache, &odd, "f", "x");
    get_fails(f, NO_ARGS, KILN_LINK_FAILED, "link() gave no executable");
    kiln_function *g = new_function(world->cache, &odd, "g", fail_silently, NULL);
    get_fails(g, NO_ARGS, KILN_LOWER_FAILED, "g: lower() failed without a message");
    odd.compile = missing_compiler;
    kiln_function *h = new_text(world->cache, &odd, "h", "y");
    get_fails(h, NO_ARGS, KILN_NO_COMPILER, "h: install it");
    CHECK_COUNTERS(world->cache, .calls = 3, .traces = 1, .compiles = 2, .links = 1);
    kiln_function_free(f);
    kiln_function_free(g);
    kiln_function_free(h);
}

/* ---- what callbacks see --------------------------------------------------------------------------------------- */

static kiln_status look_at_request(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    const kiln_device *device = payload;
    CHECK_STR(kiln_request_function(request), "looker");
    CHECK_EQ(kiln_request_device(request), device);
    CHECK_STR(kiln_request_target(request), kiln_device_target(device));
    CHECK_EQ(kiln_request_arg_count(request), 2);
    kiln_bytes first = kiln_request_arg(request, 0), second = kiln_request_arg(request, 1),
               none = kiln_request_arg(request, 2);
    const uint64_t expected[] = {kiln__item(KILN_ITEM_U64, 0, 1), 7, 0};
    CHECK_GT(first.size, sizeof expected);
    CHECK_MEM(first.data, expected, sizeof expected);
    CHECK_STR((const char *)first.data + sizeof expected, "const_i64");
    CHECK_STR((const char *)second.data + 8, "pointer");
    CHECK_NULL(none.data);
    CHECK_STR(kiln_request_option(request, "unroll"), "4");
    CHECK_STR(kiln_request_option(request, "opt_level"), "2");
    CHECK_STR(kiln_request_option(request, "fast_math"), "0");
    CHECK_NULL(kiln_request_option(request, "other"));
    CHECK_NULL(kiln_request_env(request, "HOME")); /* not watched */
    CHECK_STATUS(kiln_text_append(text, "ab", 2), KILN_OK);
    return kiln_text_printf(text, "-%d-%s", 5, "cd");
}

static void test_request_and_text(void **state)
{
    struct world *world = *state;
    kiln_device *device = NULL;
    CHECK_STATUS(kiln_device_find("cpu:native#3", &device, NULL), KILN_OK);
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "looker", look_at_request, device);
    kiln_option_push("unroll", "4");
    struct image *image = get_on(f, ARGS(I64(7), {&kiln_pointer, NULL}), device);
    kiln_option_pop();
    CHECK_STR(image->text, "ab-5-cd");
    kiln_function_free(f);
}

static kiln_status look_at_artifact(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                    kiln_error *err)
{
    CHECK_STR(kiln_artifact_entry(artifact), "start");
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    CHECK_EQ(code.size, 3);
    CHECK_MEM(code.data, "mul", 3);
    CHECK_NULL(kiln_artifact_get(artifact, "other").data);
    return fake_link(self, artifact, device, executable, err);
}

static void test_artifact(void **state)
{
    struct world *world = *state;
    world->fake.compiler.link = look_at_artifact;
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "mul");
    get(f, NO_ARGS);
    kiln_function_free(f);
}

/* ---- options -------------------------------------------------------------------------------------------------- */

static void test_pushed_options(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    struct image *plain = get(f, NO_ARGS);
    kiln_option_push("unroll", "4");
    struct image *four = get(f, NO_ARGS);
    kiln_option_push("unroll", "8");
    struct image *eight = get(f, NO_ARGS);
    CHECK_COUNTERS(world->cache, .calls = 3, .traces = 3, .compiles = 3, .links = 3);
    kiln_option_pop();
    CHECK_EQ(get(f, NO_ARGS), four);
    kiln_option_pop();
    CHECK_EQ(get(f, NO_ARGS), plain);
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 2, .traces = 3, .compiles = 3, .links = 3);
    CHECK_TRUE(plain != four && four != eight && plain != eight);
    kiln_function_free(f);
}

/* Those of the environment are read live, and key and compile see the same. */
static kiln_status print_options(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    return kiln_text_printf(text, "%s %s", kiln_request_option(request, "opt_level"),
                            kiln_request_option(request, "fast_math"));
}

static void test_options_of_the_environment(void **state)
{
    struct world *world = *state;
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", print_options, NULL);
    struct image *usual = get(f, NO_ARGS);
    CHECK_STR(usual->text, "2 0");
    setenv("KILN_OPT_LEVEL", "3", 1);
    CHECK_STR(get(f, NO_ARGS)->text, "3 0");
    CHECK_STR(kiln_why(), "f: KILN_OPT_LEVEL was 2 or unset, is 3");
    setenv("KILN_FAST_MATH", "1", 1);
    CHECK_STR(get(f, NO_ARGS)->text, "3 1");
    CHECK_CONTAINS(kiln_why(), "KILN_FAST_MATH was unset or 0, is 1");
    unsetenv("KILN_OPT_LEVEL");
    unsetenv("KILN_FAST_MATH");
    CHECK_EQ(get(f, NO_ARGS), usual);
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 1, .traces = 3, .compiles = 3, .links = 3);
    kiln_function_free(f);
}

/* ---- devices -------------------------------------------------------------------------------------------------- */

static void test_two_devices_of_one_target(void **state)
{
    struct world *world = *state;
    kiln_device *first = NULL, *second = NULL;
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2", &first, NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2#1", &second, NULL), KILN_OK);
    CHECK_STR(kiln_device_target(first), kiln_device_target(second));
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "mul");
    struct image *a = get_on(f, NO_ARGS, first), *b = get_on(f, NO_ARGS, second);
    CHECK_EQ(a->device, first);
    CHECK_EQ(b->device, second);
    CHECK_EQ(get_on(f, NO_ARGS, first), a);
    CHECK_EQ(get_on(f, NO_ARGS, second), b);
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 2, .compiles = 1, .links = 2);
    kiln_function_free(f);
}

static void test_current_device(void **state)
{
    struct world *world = *state;
    kiln_device *second = NULL;
    CHECK_STATUS(kiln_device_find("cpu:native#2", &second, NULL), KILN_OK);
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "mul");
    struct image *on_cpu = get(f, NO_ARGS);
    CHECK_STATUS(kiln_set_current_device(second), KILN_OK);
    CHECK_EQ(get(f, NO_ARGS)->device, second);
    CHECK_STATUS(kiln_set_current_device(NULL), KILN_OK);
    CHECK_EQ(get(f, NO_ARGS), on_cpu);
    CHECK_COUNTERS(world->cache, .calls = 3, .front_hits = 1, .compiles = 1, .links = 2);
    kiln_function_free(f);
}

static void test_reset_links_again(void **state)
{
    struct world *world = *state;
    kiln_device *first = NULL, *second = NULL;
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2#4", &first, NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2#5", &second, NULL), KILN_OK);
    kiln_function *f = lowered(world), *g = lowered(world);
    get_on(f, NO_ARGS, first);
    get_on(g, NO_ARGS, first);
    struct image *other = get_on(f, NO_ARGS, second);
    CHECK_COUNTERS(world->cache, .calls = 3, .traces = 3, .kernel_hits = 1, .compiles = 1, .links = 2);
    kiln_device_reset(first);
    CHECK_EQ(world->fake.unlinks, 1); /* at once, also from functions that are not called again */
    CHECK_EQ(get_on(f, NO_ARGS, second), other);
    CHECK_EQ(get_on(f, NO_ARGS, first)->device, first);
    CHECK_CONTAINS(kiln_why(), "#4; resets of the device was 0, is 1");
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 1, .traces = 4, .kernel_hits = 1, .compiles = 1, .links = 3);
    for (int i = 0; i < 100; i++) { /* nothing piles up */
        kiln_device_reset(first);
        get_on(f, NO_ARGS, first);
    }
    CHECK_EQ(world->fake.links - world->fake.unlinks, 2);
    CHECK_EQ(world->fake.compiles, 1);
    kiln_device_reset(NULL);
    kiln_function_free(f);
    kiln_function_free(g);
}

/* ---- trim, redefine, bind ------------------------------------------------------------------------------------- */

static void test_trim(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world);
    get(f, NO_ARGS);
    kiln_function_trim(f);
    CHECK_EQ(world->fake.unlinks, 1);
    get(f, NO_ARGS);
    CHECK_COUNTERS(world->cache, .calls = 2, .traces = 2, .compiles = 1, .links = 2);
    kiln_function_free(f);
}

static void test_redefine(void **state)
{
    struct world *world = *state;
    struct program next = {.text = "sub"};
    kiln_function_options options = {.struct_size = sizeof options,
                                     .name = "f2",
                                     .compiler = &world->fake.compiler,
                                     .lower = program_lower,
                                     .payload = &world->program,
                                     .free_payload = program_free};
    kiln_function *f = NULL, *g = lowered(world), *h = lowered(world);
    kiln_error err = {0};
    CHECK_STATUS(kiln_function_new(world->cache, &options, &f, NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(g, f, NULL), KILN_OK);
    get(f, NO_ARGS);
    get(g, NO_ARGS);
    get(h, NO_ARGS);
    options.struct_size = 1;
    CHECK_STATUS(kiln_function_redefine(f, &options, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_function_redefine(NULL, &options, &err), KILN_INVALID, &err);
    options.struct_size = sizeof options;
    get(f, NO_ARGS); /* a refused definition changes nothing */
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 1, .traces = 3, .kernel_hits = 2, .compiles = 1, .links = 1);
    options.payload = &next;
    CHECK_OK(kiln_function_redefine(f, &options, &err), &err);
    CHECK_EQ(world->program.frees, 1);
    CHECK_STR(get(f, NO_ARGS)->text, "sub");
    unsigned lowers = world->program.lowers;
    get(g, NO_ARGS); /* depends on f: misses */
    CHECK_EQ(world->program.lowers, lowers + 1);
    CHECK_STR(kiln_why(), "f: function f2, which it uses, changed");
    get(h, NO_ARGS); /* does not: hits */
    CHECK_EQ(world->program.lowers, lowers + 1);
    CHECK_COUNTERS(world->cache, .calls = 7, .front_hits = 2, .traces = 5, .kernel_hits = 3, .compiles = 2, .links = 2);
    kiln_function_free(f);
    CHECK_EQ(next.frees, 0); /* g depends on it still */
    get(g, NO_ARGS);
    kiln_function_free(g);
    CHECK_EQ(next.frees, 1);
    kiln_function_free(h);
}

static void test_bind(void **state)
{
    struct world *world = *state;
    struct program mine = {.text = "mine"}, yours = {.text = "yours"};
    kiln_function *base = lowered(world), *a = NULL, *b = NULL, *none = NULL;
    CHECK_STATUS(kiln_function_bind(base, &mine, program_free, &a, NULL), KILN_OK);
    CHECK_STATUS(kiln_function_bind(a, &yours, program_free, &b, NULL), KILN_OK);
    CHECK_STATUS(kiln_function_bind(NULL, &mine, program_free, &none, NULL), KILN_INVALID);
    CHECK_STATUS(kiln_function_bind(base, &mine, program_free, NULL, NULL), KILN_INVALID);
    CHECK_STR(get(base, NO_ARGS)->text, "add r0, r1");
    CHECK_STR(get(a, NO_ARGS)->text, "mine");
    CHECK_STR(get(b, NO_ARGS)->text, "yours");
    kiln_function_free(base);
    get(a, NO_ARGS);
    kiln_function_free(a);
    CHECK_EQ(mine.frees, 1);
    get(b, NO_ARGS);
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 2, .traces = 3, .compiles = 3, .links = 3);
    kiln_function_free(b);
    CHECK_EQ(yours.frees, 1);
    kiln_function *fixed = new_text(world->cache, &world->fake.compiler, "t", "text"), *bound = NULL;
    CHECK_STATUS(kiln_function_bind(fixed, NULL, NULL, &bound, NULL), KILN_OK);
    CHECK_EQ(get(bound, NO_ARGS), get(fixed, NO_ARGS));
    kiln_function_free(fixed);
    kiln_function_free(bound);
}

/* ---- recursion ------------------------------------------------------------------------------------------------ */

struct nest {
    kiln_function *self;
    int64_t depth, deepest;
    kiln_status status;
    char text[1020];
};

static kiln_status ask_for_myself(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    struct nest *nest = payload;
    void *executable;
    kiln_error error = {0};
    nest->status = kiln_get(nest->self, ARGS(I64(1)), NULL, &executable, &error);
    strcpy(nest->text, error.text);
    return kiln_text_printf(text, "nest");
}

static void test_asking_for_itself(void **state)
{
    struct world *world = *state;
    struct nest nest = {0};
    nest.self = new_function(world->cache, &world->fake.compiler, "nest", ask_for_myself, &nest);
    get(nest.self, ARGS(I64(1)));
    CHECK_EQ(nest.status, KILN_INVALID);
    CHECK_CONTAINS(nest.text, "nest: lower() asks for the very entry it is making");
    CHECK_COUNTERS(world->cache, .calls = 2, .traces = 1, .compiles = 1, .links = 1);
    get(nest.self, ARGS(I64(1)));
    kiln_function_free(nest.self);
}

/* lower() of f(n) asks for f(n - 1). */
static kiln_status count_down(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    struct nest *nest = payload;
    int64_t n, less;
    memcpy(&n, (const uint64_t *)kiln_request_arg(request, 0).data + 1, sizeof n);
    less = n - 1;
    void *executable;
    if (nest->depth < ++nest->deepest) nest->depth = nest->deepest;
    const kiln_arg arg = {&kiln_const_i64, &less};
    kiln_status status = n ? kiln_get(nest->self, &arg, 1, NULL, &executable, err) : KILN_OK;
    nest->deepest--;
    return status ? status : kiln_text_printf(text, "n%lld", (long long)n);
}

static void test_nesting(void **state)
{
    struct world *world = *state;
    struct nest nest = {0};
    nest.self = new_function(world->cache, &world->fake.compiler, "down", count_down, &nest);
    CHECK_STR(get(nest.self, ARGS(I64(20)))->text, "n20");
    CHECK_COUNTERS(world->cache, .calls = 21, .traces = 21, .compiles = 21, .links = 21);
    CHECK_STR(get(nest.self, ARGS(I64(3)))->text, "n3");
    nest.depth = nest.deepest = 0;
    get_fails(nest.self, ARGS(I64(INT64_MAX)), KILN_LOWER_FAILED, "down: "); /* ends, and not at the end of the stack */
    CHECK_EQ(nest.depth, 512);
    kiln_function_free(nest.self);
}

/* ---- why ------------------------------------------------------------------------------------------------------ */

static void *first_why(void *out)
{
    *(bool *)out = !strcmp(kiln_why(), "");
    return NULL;
}

static void test_why(void **state)
{
    struct world *world = *state;
    bool empty = false;
    pthread_t thread;
    pthread_create(&thread, NULL, first_why, &empty);
    pthread_join(thread, NULL);
    CHECK_TRUE(empty);
    kiln_function *f = lowered(world);
    int64_t shape[] = {1024, 4};
    struct kiln_dltensor t = {.data = (void *)4096, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape};
    get(f, ARGS(I64(1), {&kiln_tensor, &t}));
    CHECK_STR(kiln_why(), "f: first call");
    get(f, ARGS(I64(1), {&kiln_tensor, &t}));
    CHECK_STR(kiln_why(), "f: first call"); /* a hit explains nothing */
    shape[0] = 2048;
    get(f, ARGS(I64(1), {&kiln_tensor, &t}));
    CHECK_STR(kiln_why(), "f: argument 1: dim 0 was 1024, is 2048");
    get(f, ARGS(I64(2), {&kiln_tensor, &t}));
    CHECK_STR(kiln_why(), "f: argument 0: const_i64 was 1, is 2");
    kiln_option_push("unroll", "4");
    get(f, ARGS(I64(2), {&kiln_tensor, &t}));
    kiln_option_pop();
    CHECK_STR(kiln_why(), "f: option unroll was not there, is 4");
    kiln_function_free(f);
}

/* unlink() may call Kiln: no lock is held while it runs. */
static kiln_function *asked_by_unlink;

static void unlink_and_ask(void *self, void *executable)
{
    fake_unlink(self, executable);
    if (asked_by_unlink) get(asked_by_unlink, ARGS(I64(((struct fake *)self)->unlinks)));
}

static void test_unlink_may_call(void **state)
{
    struct world *world = *state;
    struct fake loud;
    fake_init(&loud);
    loud.compiler.unlink = unlink_and_ask;
    asked_by_unlink = lowered(world);
    kiln_function *f = new_text(world->cache, &loud.compiler, "f", "loud");
    get(f, NO_ARGS);
    kiln_function_trim(f);
    CHECK_EQ(loud.unlinks, 1);
    kiln_device *device = NULL;
    CHECK_STATUS(kiln_device_find("cpu:native#6", &device, NULL), KILN_OK);
    get_on(f, NO_ARGS, device);
    kiln_device_reset(device);
    CHECK_EQ(loud.unlinks, 2);
    get(f, NO_ARGS);
    kiln_function_free(f);
    CHECK_EQ(loud.unlinks, 3);
    CHECK_EQ(world->program.lowers, 3);
    kiln_function_free(asked_by_unlink);
    asked_by_unlink = NULL;
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names),
        cmocka_unit_test(test_open_and_close),
        cmocka_unit_test(test_many_caches),
        cmocka_unit_test(test_default_cache),
        WITH_WORLD(test_function_options),
        WITH_WORLD(test_hit_and_miss),
        WITH_WORLD(test_text_of_a_function),
        WITH_WORLD(test_invalid_calls),
        WITH_WORLD(test_large_keys),
        WITH_WORLD(test_many_signatures),
        WITH_WORLD(test_failures),
        WITH_WORLD(test_odd_failures),
        WITH_WORLD(test_request_and_text),
        WITH_WORLD(test_artifact),
        WITH_WORLD(test_pushed_options),
        WITH_WORLD(test_options_of_the_environment),
        WITH_WORLD(test_two_devices_of_one_target),
        WITH_WORLD(test_current_device),
        WITH_WORLD(test_reset_links_again),
        WITH_WORLD(test_trim),
        WITH_WORLD(test_redefine),
        WITH_WORLD(test_bind),
        WITH_WORLD(test_asking_for_itself),
        WITH_WORLD(test_nesting),
        WITH_WORLD(test_why),
        WITH_WORLD(test_unlink_may_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
