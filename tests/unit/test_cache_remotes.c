/*
 * test_cache_remotes.c - calls that reach a remote: what is asked, what is believed, what is put, exactly counted; and
 * a remote that is down, slow or wrong, which costs compiles and nothing else.
 *
 * Built again without the comparison of keys, and without signatures: there the tests of refusals must fail.
 */
#include "remote_support.h"

#include "base/file.h"
#include "cache/kernels/kernel.h"

struct world {
    char folder[64];
    struct shared *shared;
    struct lines lines;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->shared = share();
    open_stores();
    make_key(world->folder, 1);
    make_key(world->folder, 2);
    sign_with(world->folder, 1);
    trust(world->folder, "trusted", 1);
    setenv("KILN_REMOTE", "plain://0", 1);
    setenv("KILN_REMOTE_TIMEOUT", "60000", 1);
    kiln__backoff_set_limits(PATIENCE_MS, PATIENCE_MS);
    pthread_mutex_init(&world->lines.lock, NULL);
    kiln_set_log(KILN_LOG_FAULT, keep_line, &world->lines, NULL);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_set_log(0, NULL, NULL, NULL);
    kiln__backoff_set_limits(0, 0);
    kiln__writer_set_limit(0);
    setenv("KILN_REMOTE", "", 1);
    setenv("KILN_REMOTE_TIMEOUT", "", 1);
    setenv("KILN_MODE", "", 1);
    setenv("KILN_SIGN_KEY", "", 1);
    setenv("KILN_TRUSTED_KEYS", "", 1);
    remove_folder(world->folder);
    unshare_memory(world->shared);
    close_stores();
    free(world);
    return 0;
}

/* ---- a host -------------------------------------------------------------------------------------------------------
 */

static kiln_cache *open_host(struct world *world, const char *host)
{
    char folder[128] = "";
    if (*host) snprintf(folder, sizeof folder, "%s/%s", world->folder, host);
    return open_cache(folder);
}
#define open_host(...) CHECK_CALL(open_host, __VA_ARGS__)

static void get_text(kiln_cache *cache, const kiln_compiler *compiler, const char *text)
{
    kiln_function *function = new_text(cache, compiler, "f", text);
    CHECK_STR((const char *)get(function, NO_ARGS), text);
    kiln_function_free(function);
}
#define get_text(...) CHECK_CALL(get_text, __VA_ARGS__)

static kiln_counters counters_when_quiet(kiln_cache *cache)
{
    kiln_counters counters;
    kiln__store_flush(&cache->store, PATIENCE_MS);
    kiln_cache_counters(cache, &counters);
    return counters;
}

/* A process of a host, "" without a folder, that asks for some texts. */
static kiln_counters use_texts(struct world *world, const char *host, const char *const *texts, size_t count)
{
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, host);
    for (size_t i = 0; i < count; i++) get_text(cache, &compiler, texts[i]);
    kiln_counters counters = counters_when_quiet(cache);
    kiln_cache_close(cache);
    return counters;
}
#define use_texts(...) CHECK_CALL(use_texts, __VA_ARGS__)
#define use(world, host, ...)                                                                                          \
    use_texts((world), (host), (const char *const[]){__VA_ARGS__},                                                     \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* All that concerns remotes, and where the artifact came from. */
static void check_use(kiln_counters counters, kiln_counters expected)
{
#define SAME(field) CHECK_EQ(counters.field, expected.field)
    SAME(compiles), SAME(disk_hits), SAME(remote_hits), SAME(corrupt), SAME(cache_faults);
    SAME(remote_misses), SAME(remote_puts), SAME(remote_faults), SAME(remote_waits), SAME(refused_signatures);
#undef SAME
}
#define check_use(...)           CHECK_CALL(check_use, __VA_ARGS__)
#define CHECK_USE(counters, ...) check_use((counters), (kiln_counters){__VA_ARGS__})

/* ---- reading and writing ------------------------------------------------------------------------------------------
 */

static void test_one_compiles_for_all(void **state)
{
    struct world *world = *state;
    kiln_counters counters = use(world, "a", "one");
    CHECK_USE(counters, .compiles = 1, .remote_misses = 1, .remote_puts = 1);
    CHECK_EQ(counters.remote_bytes_written, stores[0].bytes_written);
    CHECK_GT(counters.remote_ns, 0);
    counters = use(world, "b", "one");
    CHECK_USE(counters, .remote_hits = 1);
    CHECK_EQ(counters.remote_bytes_read, stores[0].bytes_read);
    CHECK_USE(use(world, "b", "one"), .disk_hits = 1); /* it is in the folder now, and nobody is asked */
    CHECK_USE(use(world, "", "one"), .remote_hits = 1);
    CHECK_EQ(stores[0].gets, 3);
    CHECK_EQ(stores[0].entries, 3);
    CHECK_EQ(stores[0].exists, 0);
    CHECK_EQ(stores[0].opens, 3); /* the process that found it in its folder opened nothing */
    CHECK_EQ(stores[0].closes, 3);
}

static void test_what_travels_is_compressed(void **state)
{
    struct world *world = *state;
    static char text[100001];
    memset(text, 'a', sizeof text - 1);
    CHECK_USE(use(world, "a", text), .compiles = 1, .remote_misses = 1, .remote_puts = 1);
    CHECK_LT(stores[0].bytes_written, 4096);
    CHECK_USE(use(world, "b", text), .remote_hits = 1);
}

static void test_entry_is_the_file(void **state)
{
    struct world *world = *state;
    char name[65], path[256];
    use(world, "a", "one");
    for (int i = 0; i < SLOTS; i++)
        if (stores[0].slots[i].is_there) strcpy(name, stores[0].slots[i].name);
    use(world, "b", "one");
    struct kiln_buffer files[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        kiln_error err = {0};
        snprintf(path, sizeof path, "%s/%c/%.2s/%s.kiln", world->folder, "ab"[i], name, name);
        CHECK_EQ(kiln__file_read(path, 1 << 20, &files[i], &err), KILN_DONE);
    }
    CHECK_EQ(files[0].size, files[1].size);
    CHECK_MEM(files[0].data, files[1].data, files[0].size);
    kiln__buffer_release(&files[0]);
    kiln__buffer_release(&files[1]);
}

static void test_several_remotes_in_order(void **state)
{
    struct world *world = *state;
    setenv("KILN_REMOTE", "plain://1", 1);
    use(world, "a", "one");
    setenv("KILN_REMOTE", "  plain://0\tplain://1 ", 1);
    CHECK_USE(use(world, "b", "one"), .remote_hits = 1); /* the second one has it */
    CHECK_EQ(stores[0].gets, 1);
    CHECK_EQ(stores[0].puts, 0);
    CHECK_USE(use(world, "b", "one"), .disk_hits = 1);
    CHECK_USE(use(world, "b", "two"), .compiles = 1, .remote_misses = 1, .remote_puts = 2);
    CHECK_USE(use(world, "c", "two"), .remote_hits = 1); /* the first one has it: the second is not asked */
    CHECK_EQ(stores[1].gets, 3);
}

static void test_deadline_is_one_for_all(void **state)
{
    struct world *world = *state;
    setenv("KILN_REMOTE", "plain://0 plain://1", 1);
    setenv("KILN_REMOTE_TIMEOUT", "20", 1);
    stores[0].get_fault = GETS_STALL;
    CHECK_USE(use(world, "a", "one"), .compiles = 1, .remote_faults = 1, .remote_puts = 2);
    CHECK_EQ(stores[0].last_timeout_ms, 20);
    CHECK_EQ(stores[1].gets, 0); /* no time was left */
}

static void test_one_question_for_one_miss(void **state)
{
    struct world *world = *state;
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, "a");
    for (int i = 0; i < 3; i++) get_text(cache, &compiler, "one");
    CHECK_USE(counters_when_quiet(cache), .compiles = 1, .remote_misses = 1, .remote_puts = 1);
    CHECK_EQ(stores[0].gets, 1);
    kiln_cache_close(cache);
}

/* ---- faults -------------------------------------------------------------------------------------------------------
 */

static void test_wrong_answers(void **state)
{
    struct world *world = *state;
    static const struct {
        enum get_fault fault;
        const char *says;
    } rows[] = {{GETS_EMPTY, "without bytes"}, {GETS_GARBAGE, "not used"}, {GETS_TRUNCATED, "not used"},
                {GETS_FLIPPED, "not used"},    {GETS_BOMB, "not used"},    {GETS_HUGE, "the most is"},
                {GETS_OTHERS, "another key"}};
    use(world, "others", "other");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("row %zu", i);
        char first[8], second[8], text[8];
        snprintf(first, sizeof first, "a%zu", i);
        snprintf(second, sizeof second, "b%zu", i);
        snprintf(text, sizeof text, "t%zu", i);
        use(world, first, text);
        stores[0].get_fault = (int)rows[i].fault;
        CHECK_USE(use(world, second, text), .compiles = 1, .remote_misses = 1, .remote_faults = 1, .remote_puts = 1);
        stores[0].get_fault = GETS_WELL;
        CHECK_GE(count_lines(&world->lines, rows[i].says), 1);
        CHECK_USE(use(world, "c", text), .remote_hits = 1); /* what was put anew is right */
    }
}

static void test_entry_of_another_key(void **state)
{
    struct world *world = *state;
    use(world, "a", "one", "two");
    stores[0].get_fault = GETS_OTHERS;
    CHECK_USE(use(world, "b", "one"), .compiles = 1, .remote_misses = 1, .remote_faults = 1, .remote_puts = 1);
}

static void test_signed_by_nobody_who_is_trusted(void **state)
{
    struct world *world = *state;
    sign_with(world->folder, 2);
    use(world, "a", "one");
    sign_with(world->folder, 1);
    CHECK_USE(use(world, "b", "one"), .compiles = 1, .remote_misses = 1, .refused_signatures = 1, .remote_puts = 1);
    CHECK_EQ(count_lines(&world->lines, "not trusted here"), 1);
    CHECK_USE(use(world, "c", "one"), .remote_hits = 1);
}

static void test_signed_by_a_revoked_key(void **state)
{
    struct world *world = *state;
    use(world, "a", "one");
    sign_with(world->folder, 2);
    trust(world->folder, "revoked", 1);
    CHECK_USE(use(world, "b", "one"), .compiles = 1, .remote_misses = 1, .refused_signatures = 1, .remote_puts = 1);
}

/* As an attacker would who can write the store: a good artifact without its signature. */
static void test_signed_by_nobody(void **state)
{
    struct world *world = *state;
    use(world, "a", "one");
    struct slot *slot = NULL;
    for (int i = 0; i < SLOTS; i++)
        if (stores[0].slots[i].is_there) slot = &stores[0].slots[i];
    struct kiln_buffer raw = {0}, bytes = {0};
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln__decompress((kiln_bytes){slot->bytes, slot->size}, 1 << 20, &raw, &err), &err);
    CHECK_OK(kiln__artifact_decode((kiln_bytes){raw.data, raw.size}, false, &artifact, &err), &err);
    CHECK_TRUE(artifact->signing.is_signed);
    memset(&artifact->signing, 0, sizeof artifact->signing);
    struct kiln_buffer without = {0};
    CHECK_OK(kiln__artifact_encode(artifact, &without, &err), &err);
    CHECK_OK(kiln__compress((kiln_bytes){without.data, without.size}, &bytes), &err);
    memcpy(slot->bytes, bytes.data, bytes.size);
    slot->size = bytes.size;
    kiln__artifact_unref(artifact);
    kiln__buffer_release(&without);
    kiln__buffer_release(&bytes);
    kiln__buffer_release(&raw);
    CHECK_USE(use(world, "b", "one"), .compiles = 1, .remote_misses = 1, .refused_signatures = 1, .remote_puts = 1);
}

static void test_down_and_back(void **state)
{
    struct world *world = *state;
    use(world, "a", "one", "two", "three", "four");
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, "b");
    stores[0].get_fault = GETS_ERROR;
    unsigned gets = stores[0].gets;
    get_text(cache, &compiler, "one");
    CHECK_EQ(stores[0].gets, gets + 1);
    get_text(cache, &compiler, "two"); /* it is left alone */
    CHECK_EQ(stores[0].gets, gets + 1);
    CHECK_USE(counters_when_quiet(cache), .compiles = 2, .remote_faults = 1, .remote_puts = 2);
    CHECK_EQ(count_lines(&world->lines, "the store does not answer"), 1);
    CHECK_EQ(count_lines(&world->lines, "is back"), 0);
    stores[0].get_fault = GETS_WELL;
    kiln_cache_close(cache);

    kiln__backoff_set_limits(1, 1);
    cache = open_host(world, "c");
    stores[0].get_fault = GETS_ERROR;
    get_text(cache, &compiler, "one");
    sleep_ms(2);
    get_text(cache, &compiler, "two"); /* asked again, and down again: no second line */
    CHECK_EQ(stores[0].gets, gets + 3);
    stores[0].get_fault = GETS_WELL;
    sleep_ms(2);
    get_text(cache, &compiler, "three");
    get_text(cache, &compiler, "four");
    CHECK_USE(counters_when_quiet(cache), .compiles = 2, .remote_faults = 2, .remote_hits = 2, .remote_puts = 2);
    CHECK_EQ(count_lines(&world->lines, "plain://0 is back"), 1);
    kiln_cache_close(cache);
}

/* A store that can't be written is still read. */
static void test_full(void **state)
{
    struct world *world = *state;
    use(world, "a", "one");
    stores[0].put_fault = PUTS_ERROR;
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, "b");
    get_text(cache, &compiler, "two");
    CHECK_USE(counters_when_quiet(cache), .compiles = 1, .remote_misses = 1, .remote_faults = 1);
    get_text(cache, &compiler, "three"); /* nothing is put there for a while */
    CHECK_USE(counters_when_quiet(cache), .compiles = 2, .remote_misses = 2, .remote_faults = 1);
    CHECK_EQ(stores[0].puts, 2);
    get_text(cache, &compiler, "one");
    CHECK_USE(counters_when_quiet(cache), .compiles = 2, .remote_hits = 1, .remote_misses = 2, .remote_faults = 1);
    CHECK_EQ(count_lines(&world->lines, "putting nothing there"), 1);
    kiln_cache_close(cache);
}

/* One bad entry is passed by; who gives nothing else is left alone. */
static void test_liar(void **state)
{
    struct world *world = *state;
    use(world, "a", "one", "two", "three", "four", "five");
    stores[0].get_fault = GETS_GARBAGE;
    unsigned gets = stores[0].gets;
    CHECK_USE(use(world, "b", "one", "two", "three", "four"), .compiles = 4, .remote_misses = 3, .remote_faults = 3,
              .remote_puts = 4);
    CHECK_EQ(stores[0].gets, gets + 3);
    gets = stores[0].gets;
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, "c");
    get_text(cache, &compiler, "one");
    get_text(cache, &compiler, "two");
    stores[0].get_fault = GETS_WELL;
    get_text(cache, &compiler, "three");
    stores[0].get_fault = GETS_GARBAGE;
    get_text(cache, &compiler, "four");
    get_text(cache, &compiler, "five"); /* two lies in a row, never three */
    CHECK_EQ(stores[0].gets, gets + 5);
    kiln_cache_close(cache);
}

/* Signed by a friend, whole, and yet it can't be linked: the call does not fail. */
static kiln_status link_unless_foreign(void *self, const kiln_artifact *artifact, kiln_device *device,
                                       void **executable, kiln_error *err)
{
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    if (code.size == 3 && !memcmp(code.data, "bad", 3)) return KILN_LINK_FAILED;
    return shared_link(self, artifact, device, executable, err);
}

static kiln_status compile_badly(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                 kiln_error *err)
{
    (void)self, (void)request, (void)text, (void)err;
    return kiln_artifact_put(out, "code", "bad", 3);
}

static void test_entry_that_cant_be_linked(void **state)
{
    struct world *world = *state;
    kiln_compiler compiler = compiler_of(world->shared);
    compiler.compile = compile_badly;
    kiln_cache *cache = open_host(world, "a");
    kiln_function *function = new_text(cache, &compiler, "f", "one");
    CHECK_STR((const char *)get(function, NO_ARGS), "bad");
    kiln_function_free(function);
    kiln_cache_close(cache);

    compiler = compiler_of(world->shared);
    compiler.link = link_unless_foreign;
    cache = open_host(world, "b");
    get_text(cache, &compiler, "one");
    /* It came into the folder, and was put aside there. */
    CHECK_USE(counters_when_quiet(cache), .compiles = 1, .corrupt = 1, .remote_puts = 1);
    kiln_cache_close(cache);
    CHECK_USE(use(world, "c", "one"), .remote_hits = 1);
}

/* ---- who may ----------------------------------------------------------------------------------------------------- */

static void test_nobody_is_trusted(void **state)
{
    struct world *world = *state;
    sign_with(world->folder, 0);
    setenv("KILN_TRUSTED_KEYS", "", 1);
    setenv("KILN_REMOTE", "plain://0/untrusting", 1);
    CHECK_USE(use(world, "a", "one", "two"), .compiles = 2, .remote_faults = 1);
    CHECK_EQ(stores[0].opens, 0);
    CHECK_EQ(count_lines(&world->lines, "remote plain://0/untrusting is not used: no key is trusted"), 1);
    CHECK_EQ(count_lines(&world->lines, "kiln key trust PATH.pub"), 1);
}

static void test_without_a_key_to_sign_with(void **state)
{
    struct world *world = *state;
    use(world, "a", "one");
    sign_with(world->folder, 0);
    setenv("KILN_REMOTE", "leased://0", 1);
    CHECK_USE(use(world, "b", "one", "two"), .compiles = 1, .remote_hits = 1, .remote_misses = 1);
    CHECK_EQ(stores[0].puts, 1);
    CHECK_EQ(stores[0].leases, 0); /* nobody should wait for what nobody would believe */
    CHECK_EQ(count_lines(&world->lines, "KILN_SIGN_KEY is not set"), 1);
}

static void test_key_that_cant_be_used(void **state)
{
    struct world *world = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/key-1", world->folder);
    CHECK_EQ(chmod(path, 0644), 0);
    setenv("KILN_REMOTE", "leased://0", 1);
    CHECK_USE(use(world, "a", "one"), .compiles = 1, .remote_misses = 1, .remote_faults = 1);
    CHECK_EQ(stores[0].puts, 0);
    CHECK_EQ(stores[0].releases, stores[0].leases);
}

/* ---- URLs ---------------------------------------------------------------------------------------------------------
 */

static void test_urls(void **state)
{
    struct world *world = *state;
    setenv("KILN_REMOTE", "nonsense nosuch://:secret@host plain://9 plain://0", 1);
    CHECK_USE(use(world, "a", "one"), .compiles = 1, .remote_misses = 1, .remote_faults = 3, .remote_puts = 1);
    CHECK_EQ(count_lines(&world->lines, "KILN_REMOTE: nonsense is no URL"), 1);
    CHECK_EQ(count_lines(&world->lines, "there is no driver for nosuch://"), 1);
    CHECK_EQ(count_lines(&world->lines, "libkiln-remote-nosuch.so"), 1);
    CHECK_EQ(count_lines(&world->lines, "plain://9 is not used: there is no such store; expected plain://0"), 1);
    CHECK_EQ(count_lines(&world->lines, "secret"), 0);
    CHECK_USE(use(world, "b", "one"), .remote_hits = 1, .remote_faults = 3);
}

static kiln_status refuse_open(const char *url, const kiln_remote_host *host, void **remote, kiln_error *err)
{
    (void)remote;
    CHECK_STR(url, "late://0");
    CHECK_EQ(host->struct_size, sizeof *host);
    CHECK_STR(host->setting("KILN_REMOTE"), "late://0");
    host->log("from the driver");
    snprintf(err->text, sizeof err->text, "refused");
    return err->status = KILN_INVALID;
}

static void test_drivers(void **state)
{
    struct world *world = *state;
    static kiln_remote_driver late[2], bad;
    kiln_error err = {0};
    CHECK_STATUS(kiln_remote_add(NULL, &err), KILN_INVALID, &err);
    bad = plain_driver, bad.struct_size--;
    CHECK_STATUS(kiln_remote_add(&bad, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "struct_size");
    static const char *const schemes[] = {NULL, "", "Http", "a/b", "1a", "a b", "abcdefghijabcdefghijabcdefghijab"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        bad = plain_driver, bad.scheme = schemes[i];
        CHECK_STATUS(kiln_remote_add(&bad, &err), KILN_INVALID, &err);
        CHECK_CONTAINS(err.text, "lower-case letters");
    }
    bad = plain_driver, bad.exists = NULL;
    CHECK_STATUS(kiln_remote_add(&bad, &err), KILN_INVALID, &err);
    bad = leased_driver, bad.release = NULL;
    CHECK_STATUS(kiln_remote_add(&bad, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "lease and release");

    late[0] = plain_driver, late[0].scheme = "late", late[0].open = refuse_open;
    late[1] = plain_driver, late[1].scheme = "late";
    CHECK_OK(kiln_remote_add(&late[0], &err), &err);
    setenv("KILN_REMOTE", "late://0", 1);
    CHECK_USE(use(world, "a", "one"), .compiles = 1, .remote_faults = 1);
    CHECK_EQ(count_lines(&world->lines, "from the driver"), 1);
    CHECK_OK(kiln_remote_add(&late[1], &err), &err); /* the one that was added last counts */
    CHECK_USE(use(world, "b", "one"), .compiles = 1, .remote_misses = 1, .remote_puts = 1);
}

/* ---- modes --------------------------------------------------------------------------------------------------------
 */

static void test_no_compile(void **state)
{
    struct world *world = *state;
    use(world, "a", "one");
    setenv("KILN_MODE", "no-compile", 1);
    setenv("KILN_REMOTE", "leased://0", 1);
    CHECK_USE(use(world, "b", "one"), .remote_hits = 1);
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, "b");
    kiln_function *function = new_text(cache, &compiler, "f", "two");
    get_fails(function, NO_ARGS, KILN_WOULD_COMPILE, "nothing stored fits");
    CHECK_USE(counters_when_quiet(cache), .remote_misses = 1);
    CHECK_EQ(stores[0].leases, 0);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_off(void **state)
{
    struct world *world = *state;
    setenv("KILN_MODE", "off", 1);
    CHECK_USE(use(world, "a", "one"), .compiles = 1);
    CHECK_EQ(stores[0].opens, 0);
}

static kiln_counters fill(struct world *world, const char *host, const char *text)
{
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_cache *cache = open_host(world, host);
    kiln_function *function = new_text(cache, &compiler, "f", text);
    void *executable = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln_get(function, NO_ARGS, NULL, &executable, &err), KILN_COMPILED, &err);
    CHECK_NULL(executable);
    kiln_counters counters;
    kiln_cache_counters(cache, &counters); /* nothing is left to be waited for */
    kiln_function_free(function);
    kiln_cache_close(cache);
    return counters;
}

static void test_compile_only_fills_remotes(void **state)
{
    struct world *world = *state;
    setenv("KILN_REMOTE", "", 1);
    use(world, "a", "one");
    setenv("KILN_REMOTE", "plain://0", 1);
    setenv("KILN_MODE", "compile-only", 1);
    CHECK_USE(fill(world, "a", "one"), .disk_hits = 1, .remote_puts = 1); /* what the folder had goes there too */
    CHECK_USE(fill(world, "a", "one"), .disk_hits = 1);                   /* once */
    CHECK_EQ(stores[0].exists, 2);
    CHECK_EQ(stores[0].gets, 0);
    CHECK_USE(fill(world, "a", "two"), .compiles = 1, .remote_misses = 1, .remote_puts = 1);
    CHECK_USE(fill(world, "b", "two"), .remote_hits = 1);
    CHECK_EQ(count_stored(&stores[0]), 2);
}

/* ---- the queue ----------------------------------------------------------------------------------------------------
 */

static void test_puts_delay_nobody(void **state)
{
    struct world *world = *state;
    const kiln_compiler compiler = compiler_of(world->shared);
    stores[0].put_fault = PUTS_BLOCK;
    stores[0].is_blocked = 1;
    kiln__writer_set_limit(3);
    kiln_cache *cache = open_host(world, "a");
    get_text(cache, &compiler, "one");
    CHECK_TRUE(wait_for(&stores[0].blocked, 1));
    get_text(cache, &compiler, "two");
    get_text(cache, &compiler, "three");
    get_text(cache, &compiler, "four"); /* finds the queue full */
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    CHECK_USE(counters, .compiles = 4, .remote_misses = 4, .remote_faults = 1);
    stores[0].is_blocked = 0;
    CHECK_USE(counters_when_quiet(cache), .compiles = 4, .remote_misses = 4, .remote_faults = 1, .remote_puts = 3);
    kiln_cache_close(cache);
}

/* The put outlives the cache, and is done all the same. */
static void test_close_is_bounded(void **state)
{
    struct world *world = *state;
    const kiln_compiler compiler = compiler_of(world->shared);
    stores[0].put_fault = PUTS_BLOCK;
    stores[0].is_blocked = 1;
    kiln_cache *cache = open_host(world, "a");
    get_text(cache, &compiler, "one");
    CHECK_TRUE(wait_for(&stores[0].blocked, 1));
    kiln_cache_close(cache); /* returns, though the put is under way */
    CHECK_EQ(stores[0].closes, 0);
    stores[0].is_blocked = 0;
    CHECK_TRUE(wait_for(&stores[0].closes, 1));
    CHECK_EQ(count_stored(&stores[0]), 1);
}

/* ---- prefetch -----------------------------------------------------------------------------------------------------
 */

static void test_prefetch(void **state)
{
    struct world *world = *state;
    enum { COUNT = 30 };
    struct kiln_kernel_text kernels[COUNT + 1];
    char texts[COUNT][8];
    const kiln_compiler compiler = compiler_of(world->shared);
    kiln_device *device;
    kiln_error err = {0};
    CHECK_OK(kiln_device_find("cpu", &device, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "p%d", i);
        kernels[i] = (struct kiln_kernel_text){device, 0, "f", {texts[i], strlen(texts[i])}};
    }
    kernels[COUNT] = kernels[0]; /* a plan may have a kernel twice */
    kiln_cache *cache = open_host(world, "a");
    struct kiln_kernel *kernel;
    for (int i = 0; i < COUNT - 1; i++) {
        CHECK_OK(kiln__kernel_from_text(cache, &compiler, &kernels[i], NULL, &kernel, &err), &err);
        kiln__kernel_unref(kernel);
    }
    kiln_cache_close(cache);
    unsigned gets = stores[0].gets;

    cache = open_host(world, "b");
    for (int round = 0; round < 2; round++) {
        struct kiln_prefetch *prefetch = kiln__kernels_prefetch(cache, &compiler, kernels, COUNT + 1);
        for (int i = 0; i < COUNT; i++) {
            CHECK_OK(kiln__kernel_from_text(cache, &compiler, &kernels[i], NULL, &kernel, &err), &err);
            CHECK_STR(kernel->executable, texts[i]);
            kiln__kernel_unref(kernel);
        }
        kiln__prefetch_end(prefetch);
    }
    CHECK_EQ(stores[0].gets, gets + 1);
    CHECK_EQ(stores[0].together, COUNT);
    CHECK_USE(counters_when_quiet(cache), .compiles = 1, .remote_hits = COUNT - 1, .remote_misses = 1,
              .remote_puts = 1);
    kiln_cache_close(cache);
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

enum { THREADS = 8, KEYS = 200 };

struct side {
    kiln_cache *cache;
    const kiln_compiler *compiler;
    int first;
};

static void *get_all(void *context)
{
    struct side *side = context;
    char text[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(text, sizeof text, "k%d", (side->first + i) % KEYS);
        get_text(side->cache, side->compiler, text);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct world *world = *state;
    const kiln_compiler compiler = compiler_of(world->shared);
    struct side filler = {open_host(world, "a"), &compiler, 0};
    get_all(&filler);
    CHECK_USE(counters_when_quiet(filler.cache), .compiles = KEYS, .remote_misses = KEYS, .remote_puts = KEYS);
    kiln_cache_close(filler.cache);
    unsigned entries = stores[0].entries;
    kiln_cache *cache = open_host(world, "b");
    struct side sides[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        sides[i] = (struct side){cache, &compiler, i * KEYS / THREADS};
        CHECK_EQ(pthread_create(&threads[i], NULL, get_all, &sides[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_USE(counters_when_quiet(cache), .remote_hits = KEYS);
    CHECK_EQ(stores[0].entries, entries + KEYS);
    CHECK_EQ(stores[0].opens, 2);
    kiln_cache_close(cache);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_one_compiles_for_all),
        TEST(test_what_travels_is_compressed),
        TEST(test_entry_is_the_file),
        TEST(test_several_remotes_in_order),
        TEST(test_deadline_is_one_for_all),
        TEST(test_one_question_for_one_miss),
        TEST(test_wrong_answers),
        TEST(test_entry_of_another_key),
        TEST(test_signed_by_nobody_who_is_trusted),
        TEST(test_signed_by_a_revoked_key),
        TEST(test_signed_by_nobody),
        TEST(test_down_and_back),
        TEST(test_full),
        TEST(test_liar),
        TEST(test_entry_that_cant_be_linked),
        TEST(test_without_a_key_to_sign_with), /* its line is told once in a process, and the next test has no key
                                                  either */
        TEST(test_nobody_is_trusted),
        TEST(test_key_that_cant_be_used),
        TEST(test_urls),
        TEST(test_drivers),
        TEST(test_no_compile),
        TEST(test_off),
        TEST(test_compile_only_fills_remotes),
        TEST(test_puts_delay_nobody),
        TEST(test_close_is_bounded),
        TEST(test_prefetch),
        TEST(test_threads),
    };
    if (count > 1) cmocka_set_test_filter(words[1]);
    kiln_remote_add(&plain_driver, NULL);
    kiln_remote_add(&leased_driver, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
