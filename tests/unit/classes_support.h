/*
 * classes_support.h - for the tests of the failure classes of compile caches, numbered as in the list they are taken
 * from.
 *
 * Each check of stale code runs against builds that leave a segment of the key out as well, and must fail there; so
 * executables are never freed here: what a broken key hands out can be looked at. A program takes the name of the one
 * test to run.
 */
#ifndef TESTS_UNIT_CLASSES_SUPPORT_H
#define TESTS_UNIT_CLASSES_SUPPORT_H

#include "cache_support.h"

struct world {
    kiln_cache *cache;
    struct fake fake;
    char folder[64];
};

static void *kept_images[4096]; /* until the test is over */
static size_t kept_count;

UNUSED static void keep_image(void *self, void *executable)
{
    ((struct fake *)self)->unlinks++;
    CHECK_LT(kept_count, sizeof kept_images / sizeof *kept_images);
    kept_images[kept_count++] = executable;
}
#define keep_image(...) CHECK_CALL(keep_image, __VA_ARGS__)

UNUSED static int set_up(void **state)
{
    static const char *const unwanted[] = {"KILN_DRIFT", "KILN_TARGET", "KILN_OPT_LEVEL", "KILN_FAST_MATH",
                                           "KILN_MODE",  "KILN_AUDIT",  "KILN_TEST_A",    "KILN_TEST_B"};
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) unsetenv(unwanted[i]);
    struct world *world = calloc(1, sizeof *world);
    fake_init(&world->fake);
    world->fake.compiler.unlink = keep_image;
    world->cache = open_cache("");
    *state = world;
    return 0;
}
#define set_up(...) CHECK_CALL(set_up, __VA_ARGS__)

UNUSED static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_cache_close(world->cache);
    if (*world->folder) remove_folder(world->folder);
    while (kept_count) free(kept_images[--kept_count]);
    free(world);
    return 0;
}

/* Another cache, as another process would open it, on the test's own folder. */
UNUSED static void reopen(struct world *world)
{
    kiln_cache_close(world->cache);
    if (!*world->folder) make_folder(world->folder, sizeof world->folder);
    world->cache = open_cache(world->folder);
}
#define reopen(...) CHECK_CALL(reopen, __VA_ARGS__)

UNUSED static kiln_function *lowered(struct world *world, const char *name,
                                     kiln_status (*lower)(void *, const kiln_request *, kiln_text *, kiln_error *),
                                     void *payload)
{
    return new_function(world->cache, &world->fake.compiler, name, lower, payload);
}
#define lowered(...) CHECK_CALL(lowered, __VA_ARGS__)

UNUSED static kiln_counters counters_of(const struct world *world)
{
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    return counters;
}

/* The call gives code made from this text. */
UNUSED static void gives(kiln_function *function, const kiln_arg *args, size_t count, const char *text)
{
    CHECK_STR(get(function, args, count)->text, text);
}
#define gives(...) CHECK_CALL(gives, __VA_ARGS__)

UNUSED static kiln_status print_int(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    return kiln_text_printf(text, "%d", *(const int *)payload);
}

#define WATCHES_INT(function, name, variable)                                                                          \
    CHECK_STATUS(kiln_watch((function), "m", (name), &(variable), sizeof(variable), NULL), KILN_OK)
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

UNUSED static void only_named(int count, char **words)
{
    if (count > 1) cmocka_set_test_filter(words[1]);
}

#endif
