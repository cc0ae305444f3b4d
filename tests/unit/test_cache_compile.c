/*
 * test_cache_compile.c - what compile() sees of a request: what its content key holds, since its artifact serves
 * everybody who comes with that key.
 */
#include "classes_support.h"

#include "key/signature.h"

static int a_variable = 1;

static struct {
    kiln_bytes argument;
    size_t count;
    const char *function;
    const kiln_device *device;
    kiln_status read;
} told; /* by the last compile that looked */

static void put_number(struct kiln_buffer *code, kiln_bytes argument)
{
    int64_t number = 0;
    if (argument.data) memcpy(&number, (const char *)argument.data + 8, sizeof number);
    kiln__buffer_printf(code, "%lld", (long long)number);
}

/* The first letter of the text says what is looked at. What it sees becomes the code. */
static kiln_status compile_what_it_sees(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                        kiln_error *err)
{
    (void)err;
    struct fake *fake = self;
    struct kiln_buffer code = {0};
    int value = 0;
    fake->compiles++;
    switch (*(const char *)text.data) {
    case 'a':
        put_number(&code, told.argument = kiln_request_arg(request, 0));
        break;
    case 'c':
        kiln__buffer_printf(&code, "%zu", told.count = kiln_request_arg_count(request));
        break;
    case 'd':
        told.device = kiln_request_device(request);
        kiln__buffer_printf(&code, "%s", told.device ? kiln_device_name(told.device) : "none");
        break;
    case 'f':
        kiln__buffer_printf(&code, "of '%s'", told.function = kiln_request_function(request));
        break;
    case 'r':
        told.read = kiln_read(request, "m", "a_variable", &a_variable, sizeof a_variable, &value);
        kiln__buffer_printf(&code, "%d", value);
        break;
    case 'v': {
        const char *setting = kiln_request_env(request, "KILN_TEST_A"),
                   *option = kiln_request_option(request, "unroll");
        kiln_bytes watched = kiln_request_watched(request, "m", "a_variable");
        if (watched.size == sizeof value) memcpy(&value, watched.data, sizeof value);
        kiln__buffer_printf(&code, "%d %s %s %s", value, setting ? setting : "-", option ? option : "-",
                            kiln_request_target(request));
        break;
    }
    }
    kiln_status status = kiln_artifact_put(out, "code", code.data, code.size);
    kiln__buffer_release(&code);
    return status;
}

static kiln_status lower_payload(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    return kiln_text_printf(text, "%s", (const char *)payload);
}

static kiln_function *looks_at(struct world *world, const char *name, const char *what, bool is_lowered, unsigned flags)
{
    world->fake.compiler.compile = compile_what_it_sees;
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = name,
                                           .compiler = &world->fake.compiler,
                                           .text = {is_lowered ? NULL : what, strlen(what)},
                                           .lower = is_lowered ? lower_payload : NULL,
                                           .payload = (void *)what,
                                           .flags = flags};
    kiln_function *function = NULL;
    CHECK_STATUS(kiln_function_new(world->cache, &options, &function, NULL), KILN_OK);
    return function;
}

/* Either it is refused, or each argument gets code that was made for it. */
static void is_never_for_another(kiln_function *function)
{
    char text[16];
    for (int64_t number = 1; number < 4; number++) {
        const kiln_arg argument = {&kiln_const_i64, &number};
        void *executable = NULL;
        snprintf(text, sizeof text, "%d", (int)number);
        if (!kiln_get(function, &argument, 1, NULL, &executable, NULL))
            CHECK_STR(((struct image *)executable)->text, text);
    }
}
#define is_never_for_another(...) CHECK_CALL(is_never_for_another, __VA_ARGS__)

static void test_argument_of_a_lowered_function(void **state)
{
    struct world *world = *state;
    for (int round = 0; round < 2; round++) { /* the second time as another process */
        reopen(world);
        kiln_function *f = looks_at(world, "f", "argument", true, 0);
        is_never_for_another(f);
        get_fails(f, ARGS(I64(1)), KILN_COMPILE_FAILED,
                  "f: compile() asked for argument 0 (kiln_request_arg), which is not in its content key; give the "
                  "function KILN_KEY_REQUEST, or print it into the text");
        CHECK_NULL(told.argument.data);
        CHECK_EQ(counters_of(world).disk_hits, 0); /* nothing was stored */
        kiln_function_free(f);
    }
}

static void test_refused(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *what;
        bool is_lowered;
        unsigned flags;
        const char *text;
    } rows[] = {
        {"count", true, 0, "f: compile() asked for the number of arguments (kiln_request_arg_count)"},
        {"device", true, 0, "f: compile() asked for the device (kiln_request_device)"},
        {"device", false, 0, "or use kiln_request_target(), which is in every content key"},
        {"read", true, 0, "f: compile() asked for a variable (kiln_read), which is not in its content key"},
        {"read", false, KILN_KEY_REQUEST, "read it in lower(), or watch it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kiln_function *f = looks_at(world, "f", rows[i].what, rows[i].is_lowered, rows[i].flags);
        told.count = 1, told.read = KILN_OK;
        told.device = (const kiln_device *)&told;
        get_fails(f, ARGS(I64(1)), KILN_COMPILE_FAILED, rows[i].text);
        if (*rows[i].what == 'c') CHECK_EQ(told.count, 0);
        if (*rows[i].what == 'd') CHECK_NULL(told.device);
        if (*rows[i].what == 'r') CHECK_EQ(told.read, KILN_INVALID);
        kiln_function_free(f);
    }
}

static kiln_status fail_after_asking(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                     kiln_error *err)
{
    (void)self, (void)text, (void)out;
    snprintf(err->text, sizeof err->text, "there is no argument");
    return kiln_request_arg(request, 3).data ? KILN_OK : KILN_COMPILE_FAILED;
}

/* The reason why it failed, not what it said. */
static void test_refused_and_failed(void **state)
{
    struct world *world = *state;
    kiln_function *f = looks_at(world, "f", "any", true, 0);
    world->fake.compiler.compile = fail_after_asking;
    get_fails(f, NO_ARGS, KILN_COMPILE_FAILED, "compile() asked for argument 3 (kiln_request_arg)");
    kiln_function_free(f);
}

/* For people: a compile() that puts it into messages goes on, and can't put it into code. */
static void test_name(void **state)
{
    struct world *world = *state;
    kiln_function *f = looks_at(world, "f", "function", true, 0), *g = looks_at(world, "g", "function", true, 0);
    gives(f, NO_ARGS, "of ''");
    gives(g, NO_ARGS, "of ''");
    CHECK_EQ(world->fake.compiles, 1);
    kiln_function_free(f), kiln_function_free(g);
    f = looks_at(world, "f", "function", true, KILN_KEY_REQUEST),
    g = looks_at(world, "g", "function", true, KILN_KEY_REQUEST);
    gives(f, NO_ARGS, "of 'f'");
    gives(g, NO_ARGS, "of 'g'");
    CHECK_EQ(world->fake.compiles, 3);
    kiln_function_free(f), kiln_function_free(g);
}

/* What KILN_KEY_REQUEST adds is part of the key, in memory and in a folder; what it does not name is not. */
static void test_keyed(void **state)
{
    struct world *world = *state;
    kiln_device *devices[2];
    CHECK_STATUS(kiln_device_find("cpu:native#1", &devices[0], NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:native#2", &devices[1], NULL), KILN_OK);
    for (int round = 0; round < 2; round++) {
        reopen(world);
        kiln_function *f = looks_at(world, "f", "argument", true, KILN_KEY_REQUEST),
                      *g = looks_at(world, "g", "device", true, KILN_KEY_REQUEST);
        gives(f, ARGS(I64(1)), "1");
        gives(f, ARGS(I64(2)), "2");
        for (int i = 0; i < 2; i++) CHECK_STR(get_on(g, NO_ARGS, devices[i])->text, kiln_device_name(devices[i]));
        CHECK_EQ(counters_of(world).compiles, round ? 0 : 4);
        CHECK_EQ(counters_of(world).disk_hits, round ? 4 : 0);
        kiln_function *bound = NULL; /* a bound function has its base's flags */
        CHECK_STATUS(kiln_function_bind(f, (void *)"argument", NULL, &bound, NULL), KILN_OK);
        gives(bound, ARGS(I64(2)), "2");
        CHECK_EQ(counters_of(world).kernel_hits, 1);
        kiln_function_free(f), kiln_function_free(g), kiln_function_free(bound);
    }
}

static void test_redefined_without_the_flag(void **state)
{
    struct world *world = *state;
    kiln_function *f = looks_at(world, "f", "argument", true, KILN_KEY_REQUEST);
    gives(f, ARGS(I64(1)), "1");
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &world->fake.compiler,
                                           .lower = lower_payload,
                                           .payload = (void *)"argument"};
    CHECK_STATUS(kiln_function_redefine(f, &options, NULL), KILN_OK);
    get_fails(f, ARGS(I64(1)), KILN_COMPILE_FAILED, "argument 0");
    kiln_function_free(f);
}

/* The arguments of a function with fixed text are in its content key without being asked for. */
static void test_argument_of_a_fixed_text(void **state)
{
    struct world *world = *state;
    for (int round = 0; round < 2; round++) {
        reopen(world);
        kiln_function *f = looks_at(world, "f", "argument", false, 0), *g = looks_at(world, "g", "count", false, 0);
        is_never_for_another(f);
        gives(g, ARGS(I64(1), I64(2)), "2");
        CHECK_EQ(counters_of(world).compiles, round ? 0 : 4);
        kiln_function_free(f), kiln_function_free(g);
    }
}

static void two_devices_share(struct world *world, bool is_lowered)
{
    kiln_device *devices[2];
    CHECK_STATUS(kiln_device_find("cpu:native#1", &devices[0], NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:native#2", &devices[1], NULL), KILN_OK);
    unsigned before = world->fake.compiles;
    kiln_function *f = looks_at(world, "f", is_lowered ? "values, lowered" : "values, fixed", is_lowered, 0);
    for (int i = 0; i < 2; i++) get_on(f, NO_ARGS, devices[i]);
    CHECK_EQ(world->fake.compiles, before + 1);
    kiln_function_free(f);
}

/* Options and the target are in every content key, watched values in that of a fixed text; of a lowered function what
 * is asked for becomes part of the artifact's key. So compile() may ask; and sees what the call's key saw. */
static void test_values(void **state)
{
    struct world *world = *state;
    const char *target = NULL;
    kiln_device *device = NULL;
    CHECK_STATUS(kiln_device_find("cpu", &device, NULL), KILN_OK);
    target = kiln_device_target(device);
    for (int round = 0; round < 4; round++) { /* twice as other processes */
        reopen(world);
        kiln_function *f = looks_at(world, "f", "values", round % 2, 0);
        WATCHES_INT(f, "a_variable", a_variable);
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        for (int i = 0; i < 8; i++) {
            char expected[64];
            a_variable = i & 1 ? 5 : 3;
            (i & 2 ? setenv("KILN_TEST_A", "set", 1) : unsetenv("KILN_TEST_A"));
            if (i & 4) kiln_option_push("unroll", "8");
            snprintf(expected, sizeof expected, "%d %s %s %s", a_variable, i & 2 ? "set" : "-", i & 4 ? "8" : "-",
                     target);
            gives(f, NO_ARGS, expected);
            if (i & 4) kiln_option_pop();
        }
        CHECK_EQ(counters_of(world).compiles, round < 2 ? 8 : 0);
        CHECK_EQ(counters_of(world).disk_hits, round < 2 ? 0 : 8);
        kiln_function_free(f);
    }
    for (int i = 0; i < 2; i++) two_devices_share(world, i);
}

/* ---- sections ------------------------------------------------------------------------------------------------- */

static int section_count;
static kiln_status last_put;

/* Without a look at what the puts say. */
static kiln_status put_many(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                            kiln_error *err)
{
    (void)self, (void)request, (void)err;
    for (int i = 0; i < section_count; i++) {
        char name[16];
        snprintf(name, sizeof name, i ? "more %d" : "code", i);
        last_put = kiln_artifact_put(out, name, text.data, text.size);
    }
    return KILN_OK;
}

/* The artifact has room for 16, and one is Kiln's. */
static void test_sections(void **state)
{
    struct world *world = *state;
    reopen(world);
    kiln_function *f = lowered(world, "f", print_int, &section_count);
    WATCHES_INT(f, "section_count", section_count);
    world->fake.compiler.compile = put_many;
    section_count = 15;
    gives(f, NO_ARGS, "15");
    CHECK_EQ(last_put, KILN_OK);
    section_count = 16;
    get_fails(
        f, NO_ARGS, KILN_COMPILE_FAILED,
        "f: section 'more 15' is one too many: an artifact has at most 15 sections of the compiler's, and 'text', "
        "which is Kiln's");
    CHECK_EQ(last_put, KILN_INVALID);
    kiln_function_free(f);
}

/* ---- the bytes of an argument --------------------------------------------------------------------------------- */

static char seen[8][256];
static size_t seen_sizes[8];

static kiln_status keep_arguments(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    size_t count = kiln_request_arg_count(request);
    for (size_t i = 0; i < count && i < 8; i++) {
        kiln_bytes bytes = kiln_request_arg(request, i);
        CHECK_TRUE(bytes.size <= sizeof seen[i] && bytes.size % 8 == 0 && (uintptr_t)bytes.data % 8 == 0);
        memcpy(seen[i], bytes.data, bytes.size);
        seen_sizes[i] = bytes.size;
    }
    CHECK_NULL(kiln_request_arg(request, count).data);
    return kiln_text_printf(text, "x");
}

static void see(struct world *world, const kiln_arg *args, size_t count)
{
    kiln_function *f = lowered(world, "f", keep_arguments, NULL);
    get(f, args, count);
    kiln_function_free(f);
}
#define see(...) CHECK_CALL(see, __VA_ARGS__)

static bool is_seen_alike(size_t a, size_t b)
{
    return seen_sizes[a] == seen_sizes[b] && !memcmp(seen[a], seen[b], seen_sizes[a]);
}

static kiln_status sign_seven(kiln_signature *signature, const void *value)
{
    (void)value;
    kiln_sign_u64(signature, 7);
    return KILN_OK;
}

/* Arguments that differ in their types alone print other bytes. */
static void test_types_are_in_the_bytes(void **state)
{
    static const kiln_type mine = {"mine", sign_seven}, twin = {"mine", sign_seven}, other = {"other", sign_seven};
    const int64_t one = 1;
    const double bits_of_one = 0x1p-1074;
    const bool yes = true;
    const kiln_bytes bytes = {"text", 4};
    struct world *world = *state;
    see(world, ARGS({&kiln_const_i64, &one}, {&kiln_const_bool, &yes}, {&kiln_const_f64, &bits_of_one},
                    {&kiln_const_string, "text"}, {&kiln_const_bytes, &bytes}, {&kiln_scalar_i64, NULL},
                    {&kiln_scalar_f64, NULL}, {&kiln_none, NULL}));
    for (size_t a = 0; a < 8; a++)
        for (size_t b = 0; b < a; b++)
            if (is_seen_alike(a, b)) CHECK_FAIL("arguments %zu and %zu print the same %zu bytes", a, b, seen_sizes[a]);
    const kiln_arg ints[] = {{&kiln_const_i64, &one}}, bools[] = {{&kiln_const_bool, &yes}};
    const kiln_args of_int = {ints, 1}, of_bool = {bools, 1};
    see(world, ARGS({&mine, NULL}, {&twin, NULL}, {&other, NULL}, {&kiln_list, &of_int}, {&kiln_list, &of_bool}));
    CHECK_TRUE(is_seen_alike(0, 1)); /* the name, not the address */
    CHECK_FALSE(is_seen_alike(0, 2));
    CHECK_FALSE(is_seen_alike(3, 4));
}

/* The layout of kiln.h: items, a zero word, names. */
static void test_layout_of_the_bytes(void **state)
{
    struct world *world = *state;
    const int64_t one = 1;
    const kiln_arg inner[] = {{&kiln_const_i64, &one}, {&kiln_none, NULL}};
    const kiln_args list = {inner, 2};
    see(world, ARGS({&kiln_const_i64, &one}, {&kiln_stream, NULL}, {&kiln_list, &list}));
    const uint64_t number[] = {kiln__item(KILN_ITEM_U64, 0, 1), 1, 0}, nothing[] = {0},
                   both[] = {kiln__item(KILN_ITEM_LIST, 0, 6),
                             kiln__item(KILN_ITEM_ARGUMENT, 0, 3),
                             0,
                             kiln__item(KILN_ITEM_U64, 0, 1),
                             1,
                             kiln__item(KILN_ITEM_ARGUMENT, 0, 1),
                             0,
                             0};
    static const struct {
        const char *names;
        size_t size;
    } expected[] = {{"const_i64\0\0\0\0\0\0", 16}, {"stream\0", 8}, {"list\0const_i64\0none\0\0\0\0", 24}};
    const uint64_t *const items[] = {number, nothing, both};
    const size_t sizes[] = {sizeof number, sizeof nothing, sizeof both};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(seen_sizes[i], sizes[i] + expected[i].size);
        CHECK_MEM(seen[i], items[i], sizes[i]);
        CHECK_MEM(seen[i] + sizes[i], expected[i].names, expected[i].size);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_argument_of_a_lowered_function),
        WITH_WORLD(test_refused),
        WITH_WORLD(test_refused_and_failed),
        WITH_WORLD(test_name),
        WITH_WORLD(test_keyed),
        WITH_WORLD(test_redefined_without_the_flag),
        WITH_WORLD(test_argument_of_a_fixed_text),
        WITH_WORLD(test_values),
        WITH_WORLD(test_sections),
        WITH_WORLD(test_types_are_in_the_bytes),
        WITH_WORLD(test_layout_of_the_bytes),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
