/*
 * test_cache_depended_travels.c - what compile() depends on travels with its artifact: over a remote, signed, and in a
 * pack. Hosts are caches with folders and trees of their own, one after the other.
 */
#include "depended_support.h"
#include "remote_support.h"

#include "kiln/maintain.h"

static int set_up_hosts(void **state)
{
    set_up(state);
    reopen(*state);
    const char *folder = ((struct world *)*state)->folder;
    open_stores();
    make_key(folder, 1);
    make_key(folder, 2);
    sign_with(folder, 1);
    trust(folder, "trusted", 1);
    setenv("KILN_REMOTE_TIMEOUT", "60000", 1);
    return 0;
}

static int tear_down_hosts(void **state)
{
    static const char *const variables[] = {"KILN_REMOTE", "KILN_REMOTE_TIMEOUT", "KILN_SIGN_KEY", "KILN_TRUSTED_KEYS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) setenv(variables[i], "", 1);
    CHECK_STATUS(kiln_set_root("tree", NULL, NULL), KILN_OK);
    tear_down(state); /* its cache puts into the stores until it is closed */
    close_stores();
    return 0;
}

#define WITH_HOSTS(test) cmocka_unit_test_setup_teardown(test, set_up_hosts, tear_down_hosts)

/* Calls on a host whose tree stands elsewhere: before an edit and after it. How many compiles that took. */
static uint64_t use(struct world *world, const char *host, const kiln_cache_options *options)
{
    char own[96];
    snprintf(own, sizeof own, "%s/tree-of-%s", world->folder, host);
    plant(own);
    CHECK_STATUS(kiln_set_root("tree", own, NULL), KILN_OK);
    kiln_cache_close(world->cache);
    CHECK_STATUS(kiln_cache_open(options, &world->cache, NULL), KILN_OK);
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, "two");
    write_in_tree("second/scale.h", "six");
    gives(f, NO_ARGS, "six");
    write_in_tree("first/scale.h", "one");
    gives(f, NO_ARGS, "one");
    kiln_function_free(f);
    kiln__store_flush(&world->cache->store, PATIENCE_MS);
    return counters_of(world).compiles;
}
#define use(...) CHECK_CALL(use, __VA_ARGS__)

static uint64_t use_folder_of(struct world *world, const char *host)
{
    char folder[96];
    snprintf(folder, sizeof folder, "%s/cache-of-%s", world->folder, host);
    return use(world, host, &(kiln_cache_options){.struct_size = sizeof(kiln_cache_options), .folder = folder});
}
#define use_folder_of(...) CHECK_CALL(use_folder_of, __VA_ARGS__)

static void test_over_a_remote(void **state)
{
    struct world *world = *state;
    setenv("KILN_REMOTE", "plain://0", 1);
    CHECK_EQ(use_folder_of(world, "a"), 3);
    CHECK_EQ(count_stored(&stores[0]), 4); /* three and the manifest */
    CHECK_EQ(use_folder_of(world, "b"), 0);
    CHECK_EQ(counters_of(world).remote_hits + counters_of(world).disk_hits, 3); /* or fetched while it was looked for */
    CHECK_GT(stores[0].bytes_read, 0);
    sign_with(world->folder, 2);
    trust(world->folder, "trusted", 2); /* neither the manifest nor what it leads to */
    CHECK_EQ(use_folder_of(world, "c"), 3);
    CHECK_GT(counters_of(world).refused_signatures, 0);
}

static void test_in_a_pack(void **state)
{
    struct world *world = *state;
    char from[96], into[96], pack[96];
    kiln_export_report exported;
    kiln_error err = {0};
    snprintf(from, sizeof from, "%s/cache-of-a", world->folder);
    snprintf(into, sizeof into, "%s/cache-of-c", world->folder);
    snprintf(pack, sizeof pack, "%s/all.kilnpack", world->folder);
    CHECK_EQ(use_folder_of(world, "a"), 3);
    CHECK_OK(kiln_export(pack, &(kiln_export_options){.struct_size = sizeof(kiln_export_options), .folder = from},
                         &exported, &err),
             &err);
    CHECK_EQ(exported.exported_files, 4);
    const char *const packs[] = {pack, NULL};
    const kiln_cache_options in_pack = {.struct_size = sizeof in_pack, .folder = "", .read_only_folders = packs};
    CHECK_EQ(use(world, "b", &in_pack), 0);
    CHECK_EQ(counters_of(world).disk_hits, 3);
    CHECK_OK(kiln_import(pack, &(kiln_import_options){.struct_size = sizeof(kiln_import_options), .folder = into}, NULL,
                         &err),
             &err);
    CHECK_EQ(use_folder_of(world, "c"), 0);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_HOSTS(test_over_a_remote),
        WITH_HOSTS(test_in_a_pack),
    };
    only_named(count, words);
    kiln_remote_add(&plain_driver, NULL);
    kiln_remote_add(&leased_driver, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
