/*
 * test_store_pack_tier.c - a pack among the tiers of a cache: what it gives, what it counts, and whom it believes.
 */
#include "pack_support.h"

#include "store/tier.h"

static struct kiln_tier_events events;

static struct kiln_tier *open_tier(const char *path)
{
    struct kiln_tier *tier = NULL;
    kiln_error err = {0};
    events = (struct kiln_tier_events){0};
    CHECK_OK(kiln__tier_pack(path, false, &events, &tier, &err), &err);
    CHECK_FALSE(tier->writable);
    return tier;
}

static enum kiln_outcome get(struct kiln_tier *tier, unsigned number, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_content_key key;
    make_key(number, &key);
    enum kiln_outcome outcome =
        tier->methods->get(tier, &key.digest, (kiln_bytes){key.fields.data, key.fields.size}, out, err);
    kiln__content_release(&key);
    return outcome;
}

static void expect_object(struct kiln_tier *tier, unsigned number)
{
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    char text[32];
    snprintf(text, sizeof text, "object %u", number);
    CHECK_EQ(get(tier, number, &artifact, &err), KILN_DONE);
    CHECK_STR((const char *)kiln_artifact_get(artifact, "object").data, text);
    CHECK_NOT_NULL(artifact->mapping.data); /* else it would count as made by this process */
    kiln__artifact_unref(artifact);
}
#define expect_object(...) CHECK_CALL(expect_object, __VA_ARGS__)

static void entries_are_found(void **state)
{
    (void)state;
    const char *path = pack_path("found.kilnpack");
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    char toolchain[KILN_TOOLCHAIN_SIZE];
    write_pack(path, 100);
    struct kiln_tier *tier = open_tier(path);
    for (unsigned i = 0; i < 100; i++) expect_object(tier, i);
    CHECK_EQ(get(tier, 100, &artifact, &err), KILN_MISS);
    CHECK_EQ(tier->methods->toolchain(tier, toolchain, &err), KILN_DONE);
    CHECK_STR(toolchain, "tool chain of the test");
    artifact = make_artifact(7);
    CHECK_STATUS(tier->methods->put(tier, artifact, &err), KILN_IO, &err);
    kiln__artifact_unref(artifact);
    CHECK_EQ(events.corrupt, 0);
    CHECK_EQ(events.faults, 0);

    /* It may be replaced, and go, while the tier is open. */
    write_pack(path, 3);
    expect_object(tier, 2);
    CHECK_EQ(get(tier, 50, &artifact, &err), KILN_MISS);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(get(tier, 2, &artifact, &err), KILN_MISS);
    CHECK_EQ(tier->methods->toolchain(tier, toolchain, &err), KILN_MISS);
    tier->methods->free(tier);
}

/* Equal digests do not make equal keys. */
static void the_whole_key_counts(void **state)
{
    (void)state;
    const char *path = pack_path("key.kilnpack");
    struct kiln_artifact *artifact = make_artifact(1), *found = NULL;
    kiln_error err = {0};
    write_pack(path, 3);
    struct kiln_tier *tier = open_tier(path);
    artifact->key.data[20] ^= 1;
    CHECK_EQ(
        tier->methods->get(tier, &artifact->digest, (kiln_bytes){artifact->key.data, artifact->key.size}, &found, &err),
        KILN_FAILED);
    CHECK_EQ(err.status, KILN_INVALID);
    CHECK_EQ(events.corrupt, 1);
    kiln__artifact_unref(artifact);
    tier->methods->free(tier);
}

static void missing_packs(void **state)
{
    (void)state;
    struct kiln_tier *tier = NULL;
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln__tier_pack(pack_path("absent.kilnpack"), false, &events, &tier, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "absent.kilnpack: No such file");
    CHECK_STATUS(kiln__tier_pack("", true, &events, &tier, &err), KILN_IO, &err);
    CHECK_OK(kiln__tier_pack(pack_path("absent.kilnpack"), true, &events, &tier, &err), &err);
    events = (struct kiln_tier_events){0};
    CHECK_EQ(get(tier, 1, &artifact, &err), KILN_MISS);
    CHECK_EQ(events.corrupt + events.faults, 0);
    tier->methods->free(tier);
}

/* Damage is counted, the rest of the pack serves, and a chain goes on to the next tier. */
static void damage_is_counted(void **state)
{
    (void)state;
    const char *path = pack_path("damaged.kilnpack"), *whole = pack_path("whole.kilnpack");
    struct kiln_artifact *artifact = make_artifact(0);
    struct kiln_pack pack;
    struct kiln_pack_row row;
    kiln_error err = {0};
    write_pack(path, 4);
    write_pack(whole, 1);
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    CHECK_EQ(kiln__pack_find(&pack, &artifact->digest, &row, &err), KILN_DONE);
    kiln__pack_close(&pack);
    struct kiln_buffer bytes = read_whole(path);
    bytes.data[row.offset + row.stored_size / 2] ^= 1;
    write_whole(path, bytes.data, bytes.size);

    struct kiln_tier *tier = open_tier(path);
    struct kiln_artifact *found = NULL;
    CHECK_EQ(get(tier, 0, &found, &err), KILN_FAILED);
    CHECK_EQ(err.status, KILN_INVALID);
    CHECK_EQ(events.corrupt, 1);
    for (unsigned i = 1; i < 4; i++) expect_object(tier, i);
    CHECK_EQ(events.corrupt, 1);

    CHECK_OK(kiln__tier_pack(whole, false, &events, &tier->next, &err), &err);
    found = kiln__chain_find(tier, &artifact->digest, (kiln_bytes){artifact->key.data, artifact->key.size}, NULL, NULL);
    CHECK_NOT_NULL(found);
    CHECK_EQ(events.corrupt, 2);
    CHECK_EQ(events.faults, 0);
    kiln__artifact_unref(found);

    bytes.data[KILN_PACK_MAGIC + 5] ^= 1; /* the header */
    write_whole(path, bytes.data, bytes.size);
    CHECK_EQ(get(tier, 1, &found, &err), KILN_FAILED);
    CHECK_EQ(events.corrupt, 3);
    kiln__buffer_release(&bytes);
    kiln__artifact_unref(artifact);
    kiln__chain_free(tier);
}

/* One that can't be linked is counted, when it is what the pack holds. */
static void discarded_entries_are_counted(void **state)
{
    (void)state;
    const char *path = pack_path("discard.kilnpack");
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    write_pack(path, 4);
    struct kiln_tier *tier = open_tier(path);
    CHECK_EQ(get(tier, 3, &artifact, &err), KILN_DONE);
    CHECK_TRUE(tier->methods->discard(tier, artifact));
    CHECK_EQ(events.corrupt, 1);
    artifact->mapping.size--;
    CHECK_FALSE(tier->methods->discard(tier, artifact));
    artifact->mapping.size++;
    CHECK_EQ(events.corrupt, 1);
    CHECK_EQ(unlink(path), 0);
    CHECK_FALSE(tier->methods->discard(tier, artifact));
    kiln__artifact_unref(artifact);
    tier->methods->free(tier);
}

/* A pack that others may write is not believed by its mode, nor is one of another owner; nothing in these is signed. */
static void packs_of_others(void **state)
{
    (void)state;
    const char *path = pack_path("others.kilnpack");
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    write_pack(path, 4);
    struct kiln_tier *tier = open_tier(path);
    static const mode_t modes[] = {0620, 0602, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CHECK_CONTEXT("mode %o", (unsigned)modes[i]);
        CHECK_EQ(chmod(path, modes[i]), 0);
        CHECK_EQ(get(tier, 1, &artifact, &err), KILN_MISS);
        CHECK_EQ(events.refused_signatures, i + 1);
    }
    CHECK_EQ(chmod(path, 0644), 0);
    expect_object(tier, 1);
    CHECK_EQ(events.refused_signatures, 3);
    if (geteuid() == 0) {
        CHECK_EQ(chown(path, 12345, 12345), 0);
        CHECK_EQ(get(tier, 1, &artifact, &err), KILN_MISS);
        CHECK_EQ(events.refused_signatures, 4);
    }
    CHECK_EQ(events.corrupt, 0);
    tier->methods->free(tier);
}

static int tear_down(void **state)
{
    (void)state;
    remove_pack_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found),
        cmocka_unit_test(the_whole_key_counts),
        cmocka_unit_test(missing_packs),
        cmocka_unit_test(damage_is_counted),
        cmocka_unit_test(discarded_entries_are_counted),
        cmocka_unit_test(packs_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
