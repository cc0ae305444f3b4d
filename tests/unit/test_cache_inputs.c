/*
 * test_cache_inputs.c - the text of a lowered function decides; and what compile() asks for besides becomes part of its
 * artifact's key, through a manifest.
 */
#include "process_support.h"

#include "base/file.h"
#include "cache/kernels/manifest.h"
#include "classes_support.h"

/* ---- the text decides ------------------------------------------------------------------------------------------ */

static int a_variable, another_variable;

/* What is watched or read leads to the same text, unless it is above 9. */
static kiln_status print_if_large(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int number = 0;
    kiln_status status =
        kiln_read(request, "m", "another_variable", &another_variable, sizeof another_variable, &number);
    if (number < a_variable) number = a_variable;
    return status ? status : kiln_text_printf(text, number > 9 ? "%d" : "small", number);
}

static kiln_function *follower(struct world *world, kiln_var *var)
{
    kiln_function *f = lowered(world, "f", print_if_large, NULL);
    WATCHES_INT(f, "a_variable", a_variable);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_var(f, var, NULL), KILN_OK);
    return f;
}
#define follower(...) CHECK_CALL(follower, __VA_ARGS__)

static void test_equal_texts_share(void **state)
{
    struct world *world = *state;
    kiln_var *var = NULL;
    CHECK_STATUS(kiln_var_new("var", "1", 1, &var, NULL), KILN_OK);
    a_variable = another_variable = 1;
    kiln_function *f = follower(world, var);
    gives(f, NO_ARGS, "small");
    a_variable = 2;
    gives(f, NO_ARGS, "small");
    CHECK_COUNTERS(world->cache, .calls = 2, .traces = 2, .kernel_hits = 1, .compiles = 1, .links = 1, .drifts = 1);
    setenv("KILN_TEST_A", "set", 1);
    gives(f, NO_ARGS, "small");
    kiln_var_set(var, "2", 1);
    gives(f, NO_ARGS, "small");
    another_variable = 2;
    gives(f, NO_ARGS, "small");
    CHECK_EQ(counters_of(world).traces, 5);
    CHECK_EQ(counters_of(world).compiles, 1);
    another_variable = 10;
    gives(f, NO_ARGS, "10");
    CHECK_EQ(counters_of(world).compiles, 2);
    kiln_function_free(f);
    kiln_var_free(var);
}

/* In a process of its own: this value, this code, this many compiles. */
static void call_with(const char *folder, int value, const char *code, unsigned compiles)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
        struct fake fake;
        fake_init(&fake);
        const kiln_function_options of = {
            .struct_size = sizeof of, .name = "f", .compiler = &fake.compiler, .lower = print_if_large};
        kiln_cache *cache = NULL;
        kiln_function *f = NULL;
        void *executable = NULL;
        kiln_counters counters;
        a_variable = value, another_variable = 0;
        require(!kiln_cache_open(&options, &cache, NULL) && !kiln_function_new(cache, &of, &f, NULL));
        require(!kiln_watch(f, "m", "a_variable", &a_variable, sizeof a_variable, NULL));
        require(!kiln_get(f, NULL, 0, NULL, &executable, NULL));
        require(!strcmp(((struct image *)executable)->text, code));
        kiln_cache_counters(cache, &counters);
        require(counters.traces == 1 && counters.compiles == compiles && counters.disk_hits == !compiles);
        _exit(0);
    }
    end_well(child);
}
#define call_with(...) CHECK_CALL(call_with, __VA_ARGS__)

static void test_equal_texts_share_over_processes(void **state)
{
    struct world *world = *state;
    reopen(world);
    call_with(world->folder, 1, "small", 1);
    call_with(world->folder, 2, "small", 0);
    call_with(world->folder, 10, "10", 1);
    call_with(world->folder, 3, "small", 0);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 2); /* no manifest: compile() depends on nothing else */
}

/* A fixed text is the same whatever is watched, so there values stay in the key; and with KILN_KEY_REQUEST. */
static void test_fixed_texts_do_not_share(void **state)
{
    struct world *world = *state;
    kiln_function *fixed = new_text(world->cache, &world->fake.compiler, "fixed", "same");
    WATCHES_INT(fixed, "a_variable", a_variable);
    for (a_variable = 0; a_variable < 3; a_variable++) gives(fixed, NO_ARGS, "same");
    CHECK_EQ(counters_of(world).compiles, 3);
    kiln_function_free(fixed);
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "keyed",
                                           .compiler = &world->fake.compiler,
                                           .lower = print_if_large,
                                           .flags = KILN_KEY_REQUEST};
    kiln_function *keyed = NULL;
    CHECK_STATUS(kiln_function_new(world->cache, &options, &keyed, NULL), KILN_OK);
    for (another_variable = 0; another_variable < 3; another_variable++) gives(keyed, NO_ARGS, "small");
    CHECK_EQ(counters_of(world).compiles, 6);
    kiln_function_free(keyed);
}

/* ---- compile() asks -------------------------------------------------------------------------------------------- */

/* Asks for what the text names: "$NAME" in the environment, "module:NAME" of what is watched; as long as answers are
 * given that name something else to ask for. The answers become the code. */
static kiln_status compile_answers(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                   kiln_error *err)
{
    (void)err;
    struct fake *fake = self;
    struct kiln_buffer code = {0};
    char question[64];
    fake->compiles++;
    snprintf(question, sizeof question, "%.*s", (int)text.size, (const char *)text.data);
    for (char *colon; *question == '$' || strchr(question, ':');) {
        kiln_bytes answer = {NULL, 0};
        if (*question == '$') {
            answer.data = kiln_request_env(request, question + 1);
            answer.size = answer.data ? strlen(answer.data) : 0;
        } else {
            colon = strchr(question, ':');
            *colon = '\0';
            answer = kiln_request_watched(request, question, colon + 1);
        }
        kiln__buffer_printf(&code, "%s%.*s", code.size ? " " : "", answer.data ? (int)answer.size : 4,
                            answer.data ? (const char *)answer.data : "none");
        snprintf(question, sizeof question, "%.*s", (int)answer.size, answer.data ? (const char *)answer.data : "");
    }
    kiln_status status = kiln_artifact_put(out, "code", code.data, code.size);
    kiln__buffer_release(&code);
    return status;
}

static kiln_status print_payload(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    return kiln_text_printf(text, "%s", (const char *)payload);
}

static kiln_function *asker(struct world *world, const char *question)
{
    world->fake.compiler.compile = compile_answers;
    return lowered(world, "f", print_payload, (void *)question);
}
#define asker(...) CHECK_CALL(asker, __VA_ARGS__)

/* As programs built with 0.1 may: the right code for each value, in each process, compiled once. */
static void test_value_that_compile_asks_for(void **state)
{
    struct world *world = *state;
    static const char *const values[] = {"one", "two", "one", "", NULL};
    for (int round = 0; round < 3; round++) {
        if (round) reopen(world); /* at first in memory alone */
        kiln_function *f = asker(world, "$KILN_TEST_A");
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            values[i] ? setenv("KILN_TEST_A", values[i], 1) : unsetenv("KILN_TEST_A");
            gives(f, NO_ARGS, values[i] ? values[i] : "none");
        }
        CHECK_EQ(counters_of(world).compiles, round < 2 ? 4 : 0);
        CHECK_EQ(counters_of(world).disk_hits, round < 2 ? 0 : 4);
        CHECK_EQ(counters_of(world).links, 4);
        kiln_function_free(f);
    }
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 5); /* four and the manifest */
}

/* Two functions with one text; only one of them watches what compile() asks for. */
static void test_value_that_nobody_watches(void **state)
{
    struct world *world = *state;
    char value[] = "three";
    kiln_var *var = NULL;
    CHECK_STATUS(kiln_var_new("a", "var", 3, &var, NULL), KILN_OK);
    for (int round = 0; round < 2; round++) {
        reopen(world);
        kiln_function *f = asker(world, "m:a"), *g = asker(world, "m:a"), *h = asker(world, ":a");
        CHECK_STATUS(kiln_watch(g, "m", "a", value, 5, NULL), KILN_OK);
        gives(f, NO_ARGS, "none");
        gives(g, NO_ARGS, "three");
        gives(h, NO_ARGS, "none");
        CHECK_STATUS(kiln_watch_var(h, var, NULL), KILN_OK);
        gives(h, NO_ARGS, "var");
        kiln_var_set(var, "", 0); /* is there, and empty */
        gives(h, NO_ARGS, "");
        kiln_var_set(var, "var", 3);
        CHECK_EQ(counters_of(world).compiles, round ? 0 : 5);
        kiln_function_free(f), kiln_function_free(g), kiln_function_free(h);
    }
    kiln_var_free(var);
}

/* What is asked for depends on the answers: a set of names for each way. */
static void test_longer_set(void **state)
{
    struct world *world = *state;
    for (int round = 0; round < 3; round++) {
        if (round) reopen(world);
        kiln_function *f = asker(world, "$KILN_TEST_A");
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_B", NULL), KILN_OK);
        setenv("KILN_TEST_A", "plain", 1), setenv("KILN_TEST_B", "1", 1);
        gives(f, NO_ARGS, "plain");
        setenv("KILN_TEST_B", "2", 1);
        gives(f, NO_ARGS, "plain"); /* was not asked for */
        setenv("KILN_TEST_A", "$KILN_TEST_B", 1);
        gives(f, NO_ARGS, "$KILN_TEST_B 2");
        setenv("KILN_TEST_B", "1", 1);
        gives(f, NO_ARGS, "$KILN_TEST_B 1");
        setenv("KILN_TEST_A", "plain", 1);
        gives(f, NO_ARGS, "plain");
        CHECK_EQ(counters_of(world).compiles, round < 2 ? 3 : 0);
        kiln_function_free(f);
    }
    unsetenv("KILN_TEST_A"), unsetenv("KILN_TEST_B");
}

/* More sets than a manifest keeps: the oldest go, and are compiled again; no code is ever another's. */
static void test_many_sets(void **state)
{
    struct world *world = *state;
    enum { SETS = KILN_MOST_SETS + 4 };
    for (int round = 0; round < 3; round++) {
        if (round) reopen(world);
        kiln_function *f = asker(world, "$KILN_TEST_A");
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        for (int i = 0; i < SETS; i++) {
            char value[32], code[64];
            snprintf(value, sizeof value, "m:%d", i);
            snprintf(code, sizeof code, "%s none", value);
            setenv("KILN_TEST_A", value, 1);
            gives(f, NO_ARGS, code);
        }
        CHECK_BETWEEN(counters_of(world).compiles, round < 2 ? SETS : 4, SETS);
        kiln_function_free(f);
    }
    unsetenv("KILN_TEST_A");
}

/* Many threads, each with a value of its own: each gets its code, and no code is compiled twice. */
enum { THREADS = 8, VALUES = 4 };

struct caller {
    struct world *world;
    int number;
    bool is_right;
};

static void *call_own(void *context)
{
    struct caller *caller = context;
    char value[16];
    snprintf(value, sizeof value, "v%d", caller->number % VALUES);
    kiln_function *f = NULL;
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &caller->world->fake.compiler,
                                           .lower = print_payload,
                                           .payload = (void *)"m:own"};
    void *executable = NULL;
    caller->is_right = !kiln_function_new(caller->world->cache, &options, &f, NULL) &&
                       !kiln_watch(f, "m", "own", value, 2, NULL) && !kiln_get(f, NULL, 0, NULL, &executable, NULL) &&
                       !strcmp(((struct image *)executable)->text, value);
    kiln_function_free(f);
    return NULL;
}

static void test_threads_with_their_own_values(void **state)
{
    struct world *world = *state;
    world->fake.compiler.compile = compile_answers;
    for (int round = 0; round < 20; round++) {
        struct caller callers[THREADS];
        pthread_t threads[THREADS];
        if (round % 2) reopen(world);
        for (int i = 0; i < THREADS; i++) {
            callers[i] = (struct caller){world, i, false};
            pthread_create(&threads[i], NULL, call_own, &callers[i]);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) CHECK_TRUE(callers[i].is_right);
        CHECK_EQ(world->fake.compiles, round ? 2 * VALUES : VALUES); /* in memory, then in the folder */
    }
}

/* ---- modes, damage --------------------------------------------------------------------------------------------- */

static void test_no_compile(void **state)
{
    struct world *world = *state;
    reopen(world);
    setenv("KILN_TEST_A", "one", 1);
    for (int round = 0; round < 2; round++) {
        kiln_function *f = asker(world, "$KILN_TEST_A");
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        gives(f, NO_ARGS, "one");
        if (round) {
            setenv("KILN_TEST_A", "two", 1);
            get_fails(f, NO_ARGS, KILN_WOULD_COMPILE, "KILN_MODE=no-compile and nothing stored fits");
        }
        kiln_function_free(f);
        setenv("KILN_MODE", "no-compile", 1);
        reopen(world);
    }
    unsetenv("KILN_MODE"), unsetenv("KILN_TEST_A");
}

static void test_compile_only(void **state)
{
    struct world *world = *state;
    setenv("KILN_MODE", "compile-only", 1), setenv("KILN_TEST_A", "one", 1);
    reopen(world);
    kiln_function *f = asker(world, "$KILN_TEST_A");
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    void *executable = &f;
    CHECK_STATUS(kiln_get(f, NO_ARGS, NULL, &executable, NULL), KILN_COMPILED);
    CHECK_NULL(executable);
    kiln_function_free(f);
    unsetenv("KILN_MODE");
    reopen(world);
    f = asker(world, "$KILN_TEST_A");
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    gives(f, NO_ARGS, "one");
    CHECK_EQ(counters_of(world).compiles, 0);
    kiln_function_free(f);
    unsetenv("KILN_TEST_A");
}

/* Writes another manifest in place of the one of the folder; its section is `bytes`. */
static void replace_manifest(struct world *world, kiln_bytes bytes)
{
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln__tier_folder(world->folder, true, 0, 0, &events, &tier, &err), &err);
    char path[PATH_MAX];
    unsigned count = 0;
    for (char first = '0'; first <= 'f'; first = first == '9' ? 'a' : (char)(first + 1))
        for (char second = '0'; second <= 'f'; second = second == '9' ? 'a' : (char)(second + 1)) {
            char folder[PATH_MAX];
            snprintf(folder, sizeof folder, "%s/%c%c", world->folder, first, second);
            if (!count_files(folder, ".kiln", path)) continue;
            kiln_bytes file;
            struct kiln_artifact *artifact = NULL;
            CHECK_EQ(kiln__file_map(path, &file, &err), KILN_DONE);
            CHECK_OK(kiln__artifact_decode(file, true, &artifact, &err), &err);
            if (kiln__is_manifest(artifact)) {
                CHECK_STATUS(kiln_artifact_put(artifact, "manifest", bytes.data, bytes.size), KILN_OK);
                CHECK_OK(tier->methods->put(tier, artifact, &err), &err);
                count++;
            }
            kiln__artifact_unref(artifact);
        }
    CHECK_EQ(count, 1);
    tier->methods->free(tier);
}
#define replace_manifest(...) CHECK_CALL(replace_manifest, __VA_ARGS__)

/* One that can't be read, say of a later version, is as none: compiled, and replaced. */
static void test_manifest_that_cannot_be_read(void **state)
{
    struct world *world = *state;
    static const char later[] = "\2\0\0\0\1\0\0\0more", empty[] = "\1\0\0\0\0\0\0\0",
                      cut[] = "\1\0\0\0\1\0\0\0\x40\0\0\0\1";
    const kiln_bytes unreadable[] = {{later, sizeof later}, {empty, 8}, {cut, sizeof cut}, {"", 0}};
    setenv("KILN_TEST_A", "one", 1);
    for (size_t i = 0; i <= sizeof unreadable / sizeof *unreadable; i++) {
        reopen(world);
        kiln_function *f = asker(world, "$KILN_TEST_A");
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        gives(f, NO_ARGS, "one");
        CHECK_EQ(counters_of(world).compiles, 1);
        CHECK_EQ(counters_of(world).corrupt + counters_of(world).cache_faults, 0);
        kiln_function_free(f);
        reopen(world); /* it is right again */
        f = asker(world, "$KILN_TEST_A");
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        gives(f, NO_ARGS, "one");
        CHECK_EQ(counters_of(world).compiles, 0);
        kiln_function_free(f);
        if (i < sizeof unreadable / sizeof *unreadable) replace_manifest(world, unreadable[i]);
    }
    unsetenv("KILN_TEST_A");
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_equal_texts_share),
        WITH_WORLD(test_equal_texts_share_over_processes),
        WITH_WORLD(test_fixed_texts_do_not_share),
        WITH_WORLD(test_value_that_compile_asks_for),
        WITH_WORLD(test_value_that_nobody_watches),
        WITH_WORLD(test_longer_set),
        WITH_WORLD(test_many_sets),
        WITH_WORLD(test_threads_with_their_own_values),
        WITH_WORLD(test_no_compile),
        WITH_WORLD(test_compile_only),
        WITH_WORLD(test_manifest_that_cannot_be_read),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
