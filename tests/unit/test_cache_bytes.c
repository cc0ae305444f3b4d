/*
 * test_cache_bytes.c - the bytes of others in one process: they come back byte for byte; keys, sizes and options that
 * are refused; what stays when a folder fails; memory instead of a folder; counters.
 */
#include "bytes_support.h"

#include <sys/resource.h>

#include "cache/bytes/bytes_artifact.h"

struct world {
    char folder[64];
    kiln_cache *cache;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->cache = open_cache(world->folder);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_cache_close(world->cache);
    remove_folder(world->folder);
    free(world);
    return 0;
}

/* As another process would. */
static void reopen(struct world *world)
{
    kiln_cache_close(world->cache);
    world->cache = open_cache(world->folder);
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    struct world *world = *state;
    static const char made[] = "\0binary\n\xff bytes\0";
    const kiln_bytes bytes = {made, sizeof made};
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    CHECK_OK(kiln_store_put(world->cache, bytes_of("key"), bytes, NULL, ticket, NULL), NULL);
    CHECK_COUNTERS(world->cache, .calls = 0);
    for (unsigned i = 1; i <= 2; i++) {
        kiln_store_value value;
        ticket = (kiln_store_ticket *)&value;
        CHECK_OK(kiln_store_get(world->cache, bytes_of("key"), NULL, &value, &ticket, NULL), NULL);
        CHECK_NULL(ticket);
        CHECK_EQ(value.bytes.size, sizeof made);
        CHECK_MEM(value.bytes.data, made, sizeof made);
        CHECK_COUNTERS(world->cache, .disk_hits = 1);
        reopen(world);
        CHECK_MEM(value.bytes.data, made, sizeof made); /* until it is released */
        kiln_store_release(&value);
        CHECK_NULL(value.bytes.data);
        kiln_store_release(&value);
    }
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
}

/* What making it took is what a hit saves. */
static void test_saved_time(void **state)
{
    struct world *world = *state;
    kiln_counters counters;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    sleep_ms(20);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "value", NULL), NULL);
    kiln_cache_counters(world->cache, &counters);
    CHECK_GE(counters.saved_ns, 20000000);
    CHECK_EQ(counters.compiles, 0);
}

static void test_peek(void **state)
{
    struct world *world = *state;
    CHECK_EQ(get_text(world->cache, "key", 1, NULL, NULL), KILN_STORE_MISS);
    CHECK_EQ(count_files(world->folder, "", NULL), 0); /* and nobody waits for us */
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    CHECK_EQ(count_files(world->folder, ".lock", NULL), 1);
    CHECK_EQ(get_text(world->cache, "key", FOREVER_MS, NULL, NULL), KILN_STORE_MISS);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "value", NULL), NULL);
    CHECK_EQ(count_files(world->folder, ".lock", NULL), 0);
}

static void test_overwritten(void **state)
{
    struct world *world = *state;
    CHECK_OK(put_text(world->cache, "key", "a value", NULL), NULL);
    CHECK_OK(put_text(world->cache, "key", "b", NULL), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "b", NULL), NULL);
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
}

static void put_and_get(struct world *world, size_t size)
{
    unsigned char *made = malloc(size + 1);
    CHECK_NOT_NULL(made);
    for (size_t i = 0; i < size; i++) made[i] = (unsigned char)(i * 2654435761u >> 13);
    kiln_store_ticket *ticket = take_ticket(world->cache, "sized", 0);
    CHECK_OK(kiln_store_put(world->cache, bytes_of("sized"), (kiln_bytes){made, size}, NULL, ticket, NULL), NULL);
    reopen(world);
    kiln_store_value value;
    CHECK_OK(kiln_store_get(world->cache, bytes_of("sized"), NULL, &value, NULL, NULL), NULL);
    CHECK_NOT_NULL(value.bytes.data);
    CHECK_EQ(value.bytes.size, size);
    CHECK_EQ(memcmp(value.bytes.data, made, size), 0);
    kiln_store_release(&value);
    free(made);
}
#define put_and_get(...) CHECK_CALL(put_and_get, __VA_ARGS__)

static void test_no_bytes(void **state)
{
    struct world *world = *state;
    put_and_get(world, 0);
    CHECK_OK(kiln_store_put(world->cache, bytes_of("null"), (kiln_bytes){NULL, 0}, NULL, NULL, NULL), NULL);
    CHECK_OK(get_text(world->cache, "null", 1, "", NULL), NULL);
}

static void test_many_bytes(void **state)
{
    put_and_get(*state, (size_t)100 << 20);
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static void test_keys(void **state)
{
    struct world *world = *state;
    enum { KEYS = 8 };
    static char longest[1 << 20], other[1 << 20];
    struct kiln_content_key content = {0};
    memset(longest, 'x', sizeof longest);
    memcpy(other, longest, sizeof other);
    other[sizeof other - 1] = 'y';
    CHECK_OK(kiln__content_of_bytes(bytes_of("a"), &content, NULL), NULL);
    const kiln_bytes keys[KEYS] = {{"a", 1},
                                   {"a\0", 2},
                                   {"\0", 1},
                                   {"../../etc/passwd", 16},
                                   {"%s%n", 4},
                                   {longest, sizeof longest},
                                   {other, sizeof other},
                                   {content.fields.data, content.fields.size}};
    CHECK_EQ(sizeof longest, KILN_STORE_MAX_KEY);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < KEYS; i++) {
            CHECK_CONTEXT("key %u", i);
            kiln_store_value value;
            kiln_status status = kiln_store_get(world->cache, keys[i], NULL, &value, NULL, NULL);
            CHECK_EQ(status, round ? KILN_OK : KILN_STORE_MISS);
            if (round) CHECK_EQ(*(const unsigned char *)value.bytes.data, i);
            if (round) kiln_store_release(&value);
            const unsigned char made[] = {(unsigned char)i};
            if (!round) CHECK_OK(kiln_store_put(world->cache, keys[i], (kiln_bytes){made, 1}, NULL, NULL, NULL), NULL);
        }
        reopen(world);
    }
    CHECK_EQ(count_files(world->folder, "", NULL), KEYS);
    kiln__content_release(&content);
}

/* ---- what is refused -------------------------------------------------------------------------------------------- */

static void put_fails(kiln_cache *cache, kiln_bytes key, kiln_bytes value, const kiln_store_options *options,
                      const char *part)
{
    kiln_error err = {0};
    kiln_store_ticket *ticket = take_ticket(kiln_cache_default(), part, 0);
    CHECK_STATUS(kiln_store_put(cache, key, value, options, ticket, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, part);
    ticket = take_ticket(kiln_cache_default(), part, 0); /* the one before is over all the same */
    kiln_store_abandon(ticket);
}
#define put_fails(...) CHECK_CALL(put_fails, __VA_ARGS__)

/* Of both: outputs of a get are untouched. */
static void both_fail(kiln_cache *cache, kiln_bytes key, const kiln_store_options *options, const char *part)
{
    kiln_error err = {0};
    kiln_store_value value = {{"", 0}, NULL};
    kiln_store_ticket *ticket = (kiln_store_ticket *)&err;
    CHECK_STATUS(kiln_store_get(cache, key, options, &value, &ticket, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, part);
    CHECK_EQ(ticket, &err);
    CHECK_STR(value.bytes.data, "");
    put_fails(cache, key, bytes_of("1"), options, part);
}
#define both_fail(...) CHECK_CALL(both_fail, __VA_ARGS__)

static void test_refused(void **state)
{
    struct world *world = *state;
    const kiln_bytes key = bytes_of("key"), one = bytes_of("1");
    kiln_store_options options = {.struct_size = sizeof options};
    char *about = malloc(KILN_STORE_MAX_ABOUT + 2);
    memset(about, 'a', KILN_STORE_MAX_ABOUT + 1);
    about[KILN_STORE_MAX_ABOUT + 1] = '\0';
    both_fail(NULL, key, NULL, "no cache");
    both_fail(world->cache, (kiln_bytes){"", 0}, NULL, "1 to 1048576 bytes, not 0");
    both_fail(world->cache, (kiln_bytes){NULL, 5}, NULL, "at NULL");
    both_fail(world->cache, (kiln_bytes){about, KILN_STORE_MAX_KEY + 1}, NULL, "not 1048577");
    put_fails(world->cache, key, (kiln_bytes){about, KILN_STORE_MAX_VALUE + 1}, NULL, "the most is 264241152");
    put_fails(world->cache, key, (kiln_bytes){NULL, 3}, NULL, "a value of 3 bytes at NULL");
    options.struct_size = 0;
    both_fail(world->cache, key, &options, "struct_size is 0");
    options.struct_size = sizeof options + 8;
    both_fail(world->cache, key, &options, "sizeof(kiln_store_options)");
    options.struct_size = sizeof options;
    options.flags = 6;
    both_fail(world->cache, key, &options, "no such flags: 0x6");
    options.flags = 0;
    options.about = about;
    both_fail(world->cache, key, &options, "`about` has 65537 bytes");
    about[KILN_STORE_MAX_ABOUT] = '\0';
    CHECK_OK(kiln_store_put(world->cache, key, one, &options, NULL, NULL), NULL);
    put_fails(world->cache, key, one, NULL, "the ticket is of another cache");
    kiln_error err = {0};
    kiln_store_ticket *ticket = take_ticket(world->cache, "another", 0);
    CHECK_STATUS(kiln_store_put(world->cache, key, one, NULL, ticket, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "the ticket is for another key");
    CHECK_STATUS(kiln_store_get(world->cache, key, NULL, NULL, NULL, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "no pointer for the value");
    kiln_store_abandon(NULL);
    kiln_store_release(NULL);
    free(about);
}

/* ---- folders that fail ------------------------------------------------------------------------------------------ */

static void test_damaged(void **state)
{
    struct world *world = *state;
    char path[PATH_MAX];
    CHECK_OK(put_text(world->cache, "key", "value", NULL), NULL);
    CHECK_EQ(count_files(world->folder, ".kiln", path), 1);
    int fd = open(path, O_WRONLY);
    CHECK_EQ(pwrite(fd, "x", 1, 100), 1);
    close(fd);
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    CHECK_COUNTERS(world->cache, .corrupt = 1);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "value", NULL), NULL);
    CHECK_EQ(count_files(world->folder, ".bad", NULL), 1);
}

/* An artifact under such a key that holds no bytes: nobody but a program with our rights can have made it. */
static void test_without_bytes(void **state)
{
    struct world *world = *state;
    struct kiln_content_key key = {0};
    CHECK_OK(kiln__content_of_bytes(bytes_of("key"), &key, NULL), NULL);
    struct kiln_artifact *artifact = kiln__artifact_new();
    kiln__buffer_append(&artifact->key, key.fields.data, key.fields.size);
    CHECK_OK(kiln_artifact_put(artifact, "code", "x", 1), NULL);
    CHECK_EQ(kiln__store_put(&world->cache->store, artifact, NULL), KILN_DONE);
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    CHECK_COUNTERS(world->cache, .corrupt = 1);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "value", NULL), NULL);
    kiln__artifact_unref(artifact);
    kiln__content_release(&key);
}

/* In a child: no file may be longer than a few bytes, so locks can be made and artifacts can't. */
static void fill_disk(struct shared *shared, const char *folder, unsigned index)
{
    (void)shared, (void)index;
    kiln_cache *cache = open_cache(folder);
    kiln_counters counters;
    kiln_error err = {0};
    kiln_store_value value;
    kiln_store_ticket *ticket;
    signal(SIGXFSZ, SIG_IGN);
    require(setrlimit(RLIMIT_FSIZE, &(struct rlimit){200, 200}) == 0);
    require(kiln_store_get(cache, bytes_of("key"), NULL, &value, &ticket, NULL) == KILN_STORE_MISS && ticket);
    const kiln_store_options options = {.struct_size = sizeof options, .name = "fast/one"};
    require(kiln_store_put(cache, bytes_of("key"), bytes_of("value"), &options, ticket, &err) == KILN_IO);
    require(strstr(err.text, "fast/one: "));
    require(get_text(cache, "key", 1, "value", &ticket) == KILN_OK && !ticket); /* this process has it in memory */
    kiln_cache_counters(cache, &counters);
    require(counters.cache_faults == 1 && counters.disk_hits == 0);
    require(count_files(folder, "", NULL) == 0);
    kiln_cache_close(cache);
}

static void test_full_disk(void **state)
{
    struct world *world = *state;
    struct shared *shared = share();
    end_well(start_child(fill_disk, shared, world->folder, 0));
    unshare_memory(shared);
    CHECK_EQ(get_text(world->cache, "key", 1, NULL, NULL), KILN_STORE_MISS);
}

/* Where a sub-folder should be there is a file that can't be replaced by one: no lock, no artifact, and no error of
 * get. */
static void test_folder_that_cant_be_written(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    char path[256];
    for (unsigned i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "%s/%02x", world->folder, i);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    CHECK_STATUS(kiln_store_put(world->cache, bytes_of("key"), bytes_of("value"), NULL, ticket, &err), KILN_IO, &err);
    CHECK_OK(get_text(world->cache, "key", 1, "value", &ticket), NULL);
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    CHECK_GE(counters.cache_faults, 2);
    CHECK_EQ(counters.disk_hits, 0);
}

static kiln_cache *open_bounded(const char *folder, uint64_t max_bytes)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder, .max_bytes = max_bytes};
    kiln_cache *cache = NULL;
    CHECK_OK(kiln_cache_open(&options, &cache, NULL), NULL);
    return cache;
}
#define open_bounded(...) CHECK_CALL(open_bounded, __VA_ARGS__)

static void test_larger_than_the_cache(void **state)
{
    struct world *world = *state;
    char made[5000] = "";
    kiln_error err = {0};
    for (int with_folder = 0; with_folder < 2; with_folder++) {
        kiln_cache *cache = open_bounded(with_folder ? world->folder : "", 4096);
        const kiln_bytes bytes = {made, sizeof made};
        CHECK_STATUS(kiln_store_put(cache, bytes_of("key"), bytes, NULL, NULL, &err), KILN_IO, &err);
        CHECK_CONTAINS(err.text, "larger than the cache may be");
        CHECK_EQ(get_text(cache, "key", 1, NULL, NULL), KILN_STORE_MISS);
        kiln_cache_close(cache);
    }
}

static void test_bounds(void **state)
{
    struct world *world = *state;
    char made[1000] = "", key[8];
    for (int with_folder = 0; with_folder < 2; with_folder++) {
        kiln_cache *cache = open_bounded(with_folder ? world->folder : "", 10000);
        kiln_counters counters;
        for (unsigned i = 0; i < 100; i++) {
            snprintf(key, sizeof key, "%u", i);
            CHECK_OK(kiln_store_put(cache, bytes_of(key), (kiln_bytes){made, sizeof made}, NULL, NULL, NULL), NULL);
        }
        kiln_cache_counters(cache, &counters);
        CHECK_BETWEEN(counters.evictions, 90, 97);
        kiln_store_value value;
        CHECK_OK(kiln_store_get(cache, bytes_of("99"), NULL, &value, NULL, NULL), NULL);
        kiln_store_release(&value);
        CHECK_EQ(get_text(cache, "0", 1, NULL, NULL), KILN_STORE_MISS);
        kiln_cache_close(cache);
    }
}

/* ---- modes ------------------------------------------------------------------------------------------------------ */

static void check_in_memory(kiln_cache *cache)
{
    kiln_store_ticket *ticket = take_ticket(cache, "key", 0);
    CHECK_OK(put_text(cache, "key", "value", ticket), NULL);
    CHECK_OK(get_text(cache, "key", 1, "value", &ticket), NULL);
    CHECK_NULL(ticket);
    CHECK_OK(get_text(cache, "key", 1, "value", NULL), NULL);
    CHECK_OK(put_text(cache, "key", "other", NULL), NULL);
    CHECK_OK(get_text(cache, "key", 1, "other", NULL), NULL);
    CHECK_COUNTERS(cache, .calls = 0); /* memory is not counted */
}
#define check_in_memory(...) CHECK_CALL(check_in_memory, __VA_ARGS__)

static void test_modes(void **state)
{
    struct world *world = *state;
    setenv("KILN_MODE", "off", 1);
    kiln_cache *off = open_cache(world->folder), *memory = open_cache("");
    setenv("KILN_MODE", "no-compile", 1);
    kiln_cache *no_compile = open_cache(world->folder);
    setenv("KILN_MODE", "compile-only", 1);
    kiln_cache *compile_only = open_cache(world->folder);
    unsetenv("KILN_MODE");
    check_in_memory(off);
    check_in_memory(memory);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
    kiln_store_ticket *ticket = take_ticket(no_compile, "a", 0);
    CHECK_OK(put_text(no_compile, "a", "1", ticket), NULL);
    ticket = take_ticket(compile_only, "b", 0);
    CHECK_OK(put_text(compile_only, "b", "2", ticket), NULL);
    CHECK_OK(get_text(world->cache, "a", 1, "1", NULL), NULL);
    CHECK_OK(get_text(world->cache, "b", 1, "2", NULL), NULL);
    kiln_cache_close(off), kiln_cache_close(memory), kiln_cache_close(no_compile), kiln_cache_close(compile_only);
}

/* What a read-only folder has comes first. */
static void test_read_only_folder(void **state)
{
    struct world *world = *state;
    char other[80];
    snprintf(other, sizeof other, "%s/other", world->folder);
    CHECK_OK(put_text(world->cache, "key", "first", NULL), NULL);
    const kiln_cache_options options = {.struct_size = sizeof options,
                                        .folder = other,
                                        .read_only_folders = (const char *const[]){world->folder, NULL}};
    kiln_cache *cache = NULL;
    CHECK_OK(kiln_cache_open(&options, &cache, NULL), NULL);
    CHECK_OK(get_text(cache, "key", 1, "first", NULL), NULL);
    CHECK_OK(put_text(cache, "key", "second", NULL), NULL);
    CHECK_OK(get_text(cache, "key", 1, "first", NULL), NULL);
    CHECK_COUNTERS(cache, .disk_hits = 2);
    kiln_cache_close(cache);
}

/* ---- beside compiles -------------------------------------------------------------------------------------------- */

static void test_compile_while_holding(void **state)
{
    struct world *world = *state;
    struct fake fake;
    fake_init(&fake);
    kiln_function *function = new_text(world->cache, &fake.compiler, "f", "text");
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0), *second = take_ticket(world->cache, "other", 0);
    get(function, NO_ARGS);
    CHECK_OK(put_text(world->cache, "other", "1", second), NULL);
    CHECK_OK(put_text(world->cache, "key", "2", ticket), NULL);
    CHECK_COUNTERS(world->cache, .calls = 1, .compiles = 1, .links = 1);
    CHECK_OK(get_text(world->cache, "key", 1, "2", NULL), NULL);
    kiln_function_free(function);
}

static kiln_cache *cache_of_compile;

/* The holder of "held" may well be waiting for what is compiled here. */
static kiln_status compile_and_ask(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                   kiln_error *err)
{
    kiln_store_ticket *ticket = NULL;
    if (get_text(cache_of_compile, "held", FOREVER_MS, NULL, &ticket) != KILN_STORE_BUSY) return KILN_IO;
    if (get_text(cache_of_compile, "free", PATIENCE_MS, NULL, &ticket) != KILN_STORE_MISS || !ticket) return KILN_IO;
    if (put_text(cache_of_compile, "free", "1", ticket)) return KILN_IO;
    return fake_compile(self, request, text, out, err);
}

static void *hold(void *cache)
{
    return take_ticket(cache, "held", 0);
}

static void test_ask_while_compiling(void **state)
{
    struct world *world = *state;
    struct fake fake;
    for (int with_folder = 0; with_folder < 2; with_folder++) {
        pthread_t thread;
        void *ticket;
        kiln_cache *cache = cache_of_compile = open_cache(with_folder ? world->folder : "");
        fake_init(&fake);
        fake.compiler.compile = compile_and_ask;
        kiln_function *function = new_text(cache, &fake.compiler, "f", "text");
        pthread_create(&thread, NULL, hold, cache);
        pthread_join(thread, &ticket);
        get(function, NO_ARGS);
        CHECK_OK(put_text(cache, "held", "2", ticket), NULL);
        CHECK_OK(get_text(cache, "held", 1, "2", NULL), NULL);
        kiln_function_free(function);
        kiln_cache_close(cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down), /* it forks: while there is one thread */
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_saved_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peek, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overwritten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_that_cant_be_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_larger_than_the_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_only_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compile_while_holding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ask_while_compiling, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
