/*
 * cache_support.h - for the tests of the key and cache layers: a compiler that counts, a function that counts, exact
 * counters.
 *
 * The fake compiler's artifact is its text; its executable is a struct that remembers text and device, so a test can
 * see whose result it was given.
 */
#ifndef TESTS_UNIT_CACHE_SUPPORT_H
#define TESTS_UNIT_CACHE_SUPPORT_H

#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache.h"
#include "support/check.h"

#define UNUSED __attribute__((unused))

/* ---- a compiler ----------------------------------------------------------------------------------------------- */

struct image {
    const kiln_device *device;
    char text[];
};

struct fake {
    kiln_compiler compiler;
    _Atomic unsigned compiles, links, unlinks;
    _Atomic bool fails_to_compile, fails_to_link;
    pthread_barrier_t *at_compile; /* both sides wait here, when set */
};

UNUSED static kiln_status fake_compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                       kiln_error *err)
{
    struct fake *fake = self;
    fake->compiles++;
    if (fake->at_compile) pthread_barrier_wait(fake->at_compile);
    if (fake->fails_to_compile) {
        snprintf(err->text, sizeof err->text, "no such instruction for %s", kiln_request_target(request));
        return KILN_COMPILE_FAILED;
    }
    kiln_status status = kiln_artifact_put(out, "code", text.data, text.size);
    return status ? status : kiln_artifact_set_entry(out, "start");
}

UNUSED static kiln_status fake_link(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                    kiln_error *err)
{
    struct fake *fake = self;
    fake->links++;
    if (fake->fails_to_link) {
        snprintf(err->text, sizeof err->text, "no room on %s", kiln_device_name(device));
        return KILN_LINK_FAILED;
    }
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    struct image *image = malloc(sizeof *image + code.size + 1);
    image->device = device;
    memcpy(image->text, code.data, code.size);
    image->text[code.size] = '\0';
    *executable = image;
    return KILN_OK;
}

UNUSED static void fake_unlink(void *self, void *executable)
{
    ((struct fake *)self)->unlinks++;
    free(executable);
}

UNUSED static void fake_init(struct fake *fake)
{
    *fake = (struct fake){.compiler = {.struct_size = sizeof fake->compiler,
                                       .name = "fake",
                                       .digest = "1",
                                       .compile = fake_compile,
                                       .link = fake_link,
                                       .unlink = fake_unlink,
                                       .self = fake}};
}

/* ---- a function that is lowered ------------------------------------------------------------------------------- */

struct program {
    const char *text;
    _Atomic unsigned lowers, frees;
    _Atomic bool fails;
    unsigned sleep_us;
    pthread_barrier_t *at_lower;
};

UNUSED static kiln_status program_lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request;
    struct program *program = payload;
    program->lowers++;
    if (program->at_lower) pthread_barrier_wait(program->at_lower);
    if (program->sleep_us) usleep(program->sleep_us);
    if (program->fails) {
        snprintf(err->text, sizeof err->text, "cannot lower that");
        return KILN_INVALID;
    }
    return kiln_text_printf(text, "%s", program->text);
}

UNUSED static void program_free(void *payload)
{
    ((struct program *)payload)->frees++;
}

/* ---- caches, functions, calls --------------------------------------------------------------------------------- */

UNUSED static kiln_cache *open_cache(const char *folder)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    kiln_cache *cache = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_cache_open(&options, &cache, &err), &err);
    return cache;
}
#define open_cache(...) CHECK_CALL(open_cache, __VA_ARGS__)

UNUSED static kiln_function *new_function(kiln_cache *cache, const kiln_compiler *compiler, const char *name,
                                          kiln_status (*lower)(void *, const kiln_request *, kiln_text *, kiln_error *),
                                          void *payload)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = name, .compiler = compiler, .lower = lower, .payload = payload};
    kiln_function *function = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_function_new(cache, &options, &function, &err), &err);
    return function;
}
#define new_function(...) CHECK_CALL(new_function, __VA_ARGS__)

UNUSED static kiln_function *new_text(kiln_cache *cache, const kiln_compiler *compiler, const char *name,
                                      const char *text)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = name, .compiler = compiler, .text = {text, strlen(text)}};
    kiln_function *function = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_function_new(cache, &options, &function, &err), &err);
    return function;
}
#define new_text(...) CHECK_CALL(new_text, __VA_ARGS__)

#define ARGS(...) (const kiln_arg[]){__VA_ARGS__}, sizeof((const kiln_arg[]){__VA_ARGS__}) / sizeof(kiln_arg)
#define NO_ARGS   NULL, 0
#define I64(x)                                                                                                         \
    {                                                                                                                  \
        &kiln_const_i64, &(const int64_t)                                                                              \
        {                                                                                                              \
            x                                                                                                          \
        }                                                                                                              \
    }

UNUSED static struct image *get_on(kiln_function *function, const kiln_arg *args, size_t count, kiln_device *device)
{
    void *executable = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_get(function, args, count, device, &executable, &err), &err);
    return executable;
}
#define get_on(...) CHECK_CALL(get_on, __VA_ARGS__)

UNUSED static struct image *get(kiln_function *function, const kiln_arg *args, size_t count)
{
    return get_on(function, args, count, NULL);
}
#define get(...) CHECK_CALL(get, __VA_ARGS__)

UNUSED static struct image *get_i64(kiln_function *function, int64_t value)
{
    const kiln_arg arg = {&kiln_const_i64, &value};
    return get(function, &arg, 1);
}
#define get_i64(...) CHECK_CALL(get_i64, __VA_ARGS__)

/* The call must fail like this, with this in its text, and leave the result alone. */
UNUSED static void get_fails(kiln_function *function, const kiln_arg *args, size_t count, kiln_status status,
                             const char *text)
{
    kiln_error err = {0};
    void *executable = &err;
    CHECK_EQ(kiln_get(function, args, count, NULL, &executable, &err), status);
    CHECK_EQ(err.status, status);
    CHECK_EQ(executable, &err);
    CHECK_CONTAINS(err.text, text);
}
#define get_fails(...) CHECK_CALL(get_fails, __VA_ARGS__)

/* ---- counters ------------------------------------------------------------------------------------------------- */

/* Every counter but the times, exactly; calls = front_hits + process_hits + misses, where a test gives the misses. */
UNUSED static void check_counters(const kiln_cache *cache, kiln_counters expected)
{
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
#ifdef KILN_TEST_EQUAL_HASHES /* then the thread cache has one slot: which of the two it was is not what is tested */
    counters.front_hits += counters.process_hits, counters.process_hits = 0;
    expected.front_hits += expected.process_hits, expected.process_hits = 0;
#endif
    counters.trace_ns = counters.compile_ns = counters.link_ns = counters.saved_ns = counters.remote_ns = 0;
    counters.linked_bytes = counters.linked_images = 0; /* what is there now, not what happened */
    char differences[1024] = "";
    size_t length = 0;
#define ROW(field)                                                                                                     \
    if (counters.field != expected.field && length < sizeof differences)                                               \
        length +=                                                                                                      \
            (size_t)snprintf(differences + length, sizeof differences - length, "\n    %s = %llu, expected %llu",      \
                             #field, (unsigned long long)counters.field, (unsigned long long)expected.field);
    KILN_COUNTERS(ROW)
#undef ROW
    if (length) CHECK_FAIL("counters differ:%s", differences);
}
#define check_counters(...)        CHECK_CALL(check_counters, __VA_ARGS__)
#define CHECK_COUNTERS(cache, ...) check_counters((cache), (kiln_counters){__VA_ARGS__})

/* ---- folders -------------------------------------------------------------------------------------------------- */

UNUSED static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info, (void)kind, (void)ftw;
    return remove(path);
}

UNUSED static void make_folder(char *out, size_t size)
{
    snprintf(out, size, "/tmp/kiln-test-XXXXXX");
    CHECK_NOT_NULL(mkdtemp(out));
}
#define make_folder(...) CHECK_CALL(make_folder, __VA_ARGS__)

UNUSED static void remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
