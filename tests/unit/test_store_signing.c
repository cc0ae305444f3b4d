/*
 * test_store_signing.c - signatures of artifacts: what is accepted, and everything that is not.
 *
 * Built again without the checks (KILN_TEST_WITHOUT_SIGNATURES): there the tests of refusals must fail.
 */
#include "store/signing.h"

#include <ftw.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/keys/trust_library.h"
#include "store/keys/trusted_keys.h"
#include "store/ticket.h"
#include "support/check.h"

struct pair {
    uint8_t secret[KILN_SECRET_SIZE], signer[KILN_SIGNER_SIZE];
    char hex[KILN_KEY_HEX];
};

static char folder[64];
static struct pair ours, theirs;

/* ---- a machine of our own ---------------------------------------------------------------------------------------- */

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void make_pair(uint8_t seed, struct pair *out)
{
    const struct kiln_trust_plugin *library;
    kiln_error err = {0};
    CHECK_OK(kiln__trust_library(&library, &err), &err);
    memset(out->secret, seed, sizeof out->secret);
    CHECK_TRUE(library->public_key(out->secret, out->signer));
    kiln__key_hex(out->signer, out->hex);
}

static void write_text(const char *path, mode_t mode, const char *text)
{
    char fresh[200];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    CHECK_NOT_NULL(file);
    fputs(text, file);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(chmod(fresh, mode), 0);
    CHECK_EQ(rename(fresh, path), 0);
}

/* Makes `pair` the key of KILN_SIGN_KEY. */
static void sign_as(const struct pair *pair)
{
    struct kiln_key_line line = {.kind = KILN_KEY_SECRET, .comment = "signs"};
    struct kiln_buffer text = {0};
    memcpy(line.key, pair->secret, sizeof line.key);
    kiln__key_line_print(&line, &text);
    write_text(in_folder("secret"), 0600, (const char *)text.data);
    kiln__buffer_release(&text);
    setenv("KILN_SIGN_KEY", in_folder("secret"), 1);
}

/* The user's list: each line is a word of the format and a key. */
static void trust(const char *word, const struct pair *pair, const char *second_word, const struct pair *second)
{
    char text[400];
    int size = snprintf(text, sizeof text, "%s %s first\n", word, pair->hex);
    if (second) snprintf(text + size, sizeof text - (size_t)size, "%s %s second\n", second_word, second->hex);
    write_text(in_folder("kiln/trusted_keys"), 0644, text);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kiln-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    mkdir(in_folder("kiln"), 0700);
    setenv("XDG_CONFIG_HOME", folder, 1);
    unsetenv("KILN_SIGN_KEY");
    unsetenv("KILN_TRUSTED_KEYS");
    make_pair(1, &ours);
    make_pair(2, &theirs);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- artifacts --------------------------------------------------------------------------------------------------- */

static struct kiln_artifact *make_artifact(const char *key)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    kiln_artifact_put(artifact, "object", "machine code", 12);
    kiln_artifact_set_entry(artifact, "kernel");
    kiln__buffer_append(&artifact->key, key, strlen(key));
    artifact->digest = kiln__digest(key, strlen(key));
    return artifact;
}

static struct kiln_buffer encode(const struct kiln_artifact *artifact)
{
    struct kiln_buffer bytes = {0};
    CHECK_STATUS(kiln__artifact_encode(artifact, &bytes, NULL), KILN_OK);
    return bytes;
}

/* The file of an artifact that `pair` has signed. */
static struct kiln_buffer signed_file(const struct pair *pair, const char *key)
{
    kiln_error err = {0};
    struct kiln_artifact *artifact = make_artifact(key);
    sign_as(pair);
    if (kiln__artifact_sign(artifact, &err) != KILN_DONE) CHECK_FAIL("%s", err.text);
    unsetenv("KILN_SIGN_KEY");
    struct kiln_buffer bytes = encode(artifact);
    kiln__artifact_unref(artifact);
    return bytes;
}

/* The status of decoding and verifying what a machine would get. */
static kiln_status accept(const struct kiln_buffer *bytes, kiln_error *err)
{
    struct kiln_artifact *artifact = NULL;
    kiln_status status = kiln__artifact_decode((kiln_bytes){bytes->data, bytes->size}, false, &artifact, err);
    if (status == KILN_OK) status = kiln__artifact_verify(artifact, err);
    kiln__artifact_unref(artifact);
    return status;
}

static void expect_accepted(const struct kiln_buffer *bytes)
{
    kiln_error err = {0};
    CHECK_OK(accept(bytes, &err), &err);
}
#define expect_accepted(...) CHECK_CALL(expect_accepted, __VA_ARGS__)

static void expect_refused(const struct kiln_buffer *bytes, const char *message)
{
    kiln_error err = {0};
    CHECK_STATUS(accept(bytes, &err), KILN_INVALID, &err);
    if (!strstr(err.text, message)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, message);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

/* ---- refusals: each must fail in a build that does not check -------------------------------------------------------
 */

static void test_unsigned(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact("key");
    struct kiln_buffer bytes = encode(artifact);
    trust("kiln-key 1", &ours, NULL, NULL);
    expect_refused(&bytes, "not signed");
    kiln__buffer_release(&bytes);
    kiln__artifact_unref(artifact);
}

static void test_unknown_signer(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&theirs, "key");
    trust("kiln-key 1", &ours, NULL, NULL);
    expect_refused(&bytes, theirs.hex);
    expect_refused(&bytes, "which is not trusted here");
    unlink(in_folder("kiln/trusted_keys"));
    expect_refused(&bytes, "which is not trusted here");
    kiln__buffer_release(&bytes);
}

static size_t compared_size(const struct kiln_buffer *bytes)
{
    uint64_t size;
    memcpy(&size, bytes->data + 16, sizeof size);
    return (size_t)size;
}

/* Makes the checksum over the compared part right again, as somebody would who means harm. */
static void reseal(struct kiln_buffer *bytes)
{
    size_t size = compared_size(bytes);
    struct kiln_digest digest = kiln__digest(bytes->data, size - KILN_DIGEST_SIZE);
    memcpy(bytes->data + size - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
}

static void test_every_flipped_byte(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&ours, "key");
    trust("kiln-key 1", &ours, NULL, NULL);
    expect_accepted(&bytes);
    size_t compared = compared_size(&bytes), signature = bytes.size - KILN_SIGNER_SIZE - KILN_SIGNATURE_SIZE;
    for (size_t at = 0; at < compared; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            CHECK_CONTEXT("bit %u of byte %zu, %s", bit, at, "resealed");
            struct kiln_buffer copy = {0};
            kiln__buffer_append(&copy, bytes.data, bytes.size);
            copy.data[at] ^= (unsigned char)(1u << bit);
            expect_refused(&copy, ""); /* the checksum, or magic and version */
            if ((at < 16 || at >= 24) && at < compared - KILN_DIGEST_SIZE) {
                reseal(&copy);
                expect_refused(&copy, "");
            }
            kiln__buffer_release(&copy);
        }
    for (size_t at = signature; at < bytes.size; at++) {
        CHECK_CONTEXT("byte %zu of signer and signature", at - signature);
        bytes.data[at] ^= 1;
        expect_refused(&bytes, at < signature + KILN_SIGNER_SIZE ? "not trusted here" : "wrongly signed");
        bytes.data[at] ^= 1;
    }
    expect_accepted(&bytes);
    kiln__buffer_release(&bytes);
}

/* The signature of one artifact under another, whose content is the same. */
static void test_signed_for_another_key(void **state)
{
    (void)state;
    struct kiln_buffer one = signed_file(&ours, "key one"), two = signed_file(&ours, "key two");
    trust("kiln-key 1", &ours, NULL, NULL);
    CHECK_EQ(one.size, two.size);
    memcpy(two.data + two.size - KILN_SIGNATURE_SIZE, one.data + one.size - KILN_SIGNATURE_SIZE, KILN_SIGNATURE_SIZE);
    expect_refused(&two, "wrongly signed: the signature is not of this content and key");
    kiln__buffer_release(&one);
    kiln__buffer_release(&two);
}

static void test_signer_replaced(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&theirs, "key");
    trust("kiln-key 1", &ours, NULL, NULL);
    memcpy(bytes.data + bytes.size - KILN_SIGNATURE_SIZE - KILN_SIGNER_SIZE, ours.signer, KILN_SIGNER_SIZE);
    expect_refused(&bytes, "wrongly signed");
    kiln__buffer_release(&bytes);
}

static void test_revoked(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&theirs, "key");
    trust("kiln-key 1", &theirs, NULL, NULL);
    expect_accepted(&bytes);
    trust("kiln-key 1", &theirs, "revoked", &theirs);
    expect_refused(&bytes, "trusted_keys:2 revokes");
    trust("revoked", &theirs, "kiln-key 1", &theirs); /* in whatever order */
    expect_refused(&bytes, "trusted_keys:1 revokes");
    /* The named list trusts, and the user's revokes. */
    char text[200];
    snprintf(text, sizeof text, "kiln-key 1 %s\n", theirs.hex);
    write_text(in_folder("named"), 0600, text);
    setenv("KILN_TRUSTED_KEYS", in_folder("named"), 1);
    expect_refused(&bytes, "kiln/trusted_keys:1 revokes");
    /* Our own key is no exception. */
    unsetenv("KILN_TRUSTED_KEYS");
    sign_as(&theirs);
    expect_refused(&bytes, "revokes");
    kiln__buffer_release(&bytes);
}

/* Where somebody else could have written the list, or it can't be read as one, nobody is believed. */
static void test_list_that_cant_be_used(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&ours, "key");
    kiln_error err = {0};
    trust("kiln-key 1", &ours, NULL, NULL);
    expect_accepted(&bytes);
    CHECK_EQ(chmod(in_folder("kiln/trusted_keys"), 0666), 0);
    CHECK_STATUS(accept(&bytes, &err), KILN_IO, &err);
    CHECK_NOT_NULL(strstr(err.text, "run: chmod go-w"));
    CHECK_EQ(chmod(in_folder("kiln/trusted_keys"), 0644), 0);
    expect_accepted(&bytes);
    trust("kiln-key 1", &ours, "revokde", &theirs);
    CHECK_STATUS(accept(&bytes, &err), KILN_IO, &err);
    CHECK_NOT_NULL(strstr(err.text, "kiln/trusted_keys:2: a line is"));
    trust("kiln-key 1", &ours, NULL, NULL);
    setenv("KILN_TRUSTED_KEYS", in_folder("nothing"), 1);
    CHECK_STATUS(accept(&bytes, &err), KILN_IO, &err);
    CHECK_NOT_NULL(strstr(err.text, "nothing, which KILN_TRUSTED_KEYS names, is not there"));
    kiln__buffer_release(&bytes);
}

/* Only the named list says who is trusted. */
static void test_named_list(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&ours, "key");
    char text[200];
    trust("kiln-key 1", &ours, NULL, NULL);
    snprintf(text, sizeof text, "kiln-key 1 %s\n", theirs.hex);
    write_text(in_folder("named"), 0600, text);
    setenv("KILN_TRUSTED_KEYS", in_folder("named"), 1);
    expect_refused(&bytes, "which is not trusted here");
    kiln__buffer_release(&bytes);
}

/* ---- a folder that others may write -------------------------------------------------------------------------------
 */

struct shared {
    struct kiln_tier_events events;
    struct kiln_tier *tier;
};

/* Fills the folder as `pair`, or as somebody who signs nothing. */
static void fill(const struct pair *pair, const char *key)
{
    struct kiln_tier_events events = {0};
    struct kiln_store store = {0};
    kiln_error err = {0};
    struct kiln_artifact *artifact = make_artifact(key);
    chmod(in_folder("shared"), 0700);
    if (pair) sign_as(pair);
    CHECK_OK(kiln__tier_folder(in_folder("shared"), true, UINT64_MAX, UINT64_MAX, &events, &store.tiers, &err), &err);
    kiln__store_put(&store, artifact, NULL);
    kiln__store_release(&store);
    kiln__artifact_unref(artifact);
    unsetenv("KILN_SIGN_KEY");
    CHECK_EQ(chmod(in_folder("shared"), 0777), 0);
}

static const char *shared_path(const char *key)
{
    static char path[256];
    char hex[KILN_DIGEST_HEX];
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    kiln__digest_hex(&digest, hex);
    snprintf(path, sizeof path, "%s/%.2s/%s.kiln", in_folder("shared"), hex, hex);
    return path;
}

static kiln_status open_shared(struct shared *shared, kiln_error *err)
{
    *shared = (struct shared){0};
    return kiln__tier_folder(in_folder("shared"), false, 0, 0, &shared->events, &shared->tier, err);
}

/* The artifact, the caller's; NULL: none that may be used. */
static struct kiln_artifact *look_up(struct shared *shared, const char *key)
{
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    return kiln__chain_find(shared->tier, &digest, (kiln_bytes){key, strlen(key)}, NULL, NULL);
}

static void expect_found(struct shared *shared, const char *key, bool is_found, uint64_t refused)
{
    struct kiln_artifact *artifact = look_up(shared, key);
    CHECK_EQ(artifact != NULL, is_found);
    CHECK_EQ(shared->events.refused_signatures, refused);
    kiln__artifact_unref(artifact);
}
#define expect_found(...) CHECK_CALL(expect_found, __VA_ARGS__)

/* Changes one byte of the file in place. */
static void poke(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    CHECK_NOT_NULL(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void test_shared_folder(void **state)
{
    (void)state;
    struct shared shared;
    kiln_error err = {0};
    fill(&theirs, "signed");
    fill(NULL, "unsigned");
    fill(&ours, "stranger");
    CHECK_STATUS(open_shared(&shared, &err), KILN_IO, &err);
    CHECK_NOT_NULL(
        strstr(err.text, "neither group nor others may write it; or what is in it must be signed: no key is"));
    CHECK_NOT_NULL(strstr(err.text, "'kiln key trust PATH.pub'"));
    trust("kiln-key 1", &theirs, NULL, NULL);
    CHECK_OK(open_shared(&shared, &err), &err);
    expect_found(&shared, "signed", true, 0);
    expect_found(&shared, "unsigned", false, 1);
    expect_found(&shared, "stranger", false, 2);
    expect_found(&shared, "nothing", false, 2);
    poke(shared_path("signed"), -1);
    expect_found(&shared, "signed", false, 3);
    poke(shared_path("signed"), -1);
    expect_found(&shared, "signed", true, 3);
    CHECK_EQ(shared.events.corrupt, 0);
    trust("kiln-key 1", &theirs, "revoked", &theirs);
    expect_found(&shared, "signed", false, 4);
    CHECK_EQ(shared.events.faults, 0);
    kiln__chain_free(shared.tier);
}

/* An entry of one key under the name of another, signed as it is. */
static void test_shared_folder_misplaced(void **state)
{
    (void)state;
    struct shared shared;
    kiln_error err = {0};
    char from[256];
    fill(&theirs, "one");
    fill(&theirs, "two");
    trust("kiln-key 1", &theirs, NULL, NULL);
    strcpy(from, shared_path("one"));
    CHECK_EQ(rename(from, shared_path("two")), 0);
    CHECK_OK(open_shared(&shared, &err), &err);
    expect_found(&shared, "two", false, 0);
    CHECK_EQ(shared.events.corrupt, 1);
    kiln__chain_free(shared.tier);
}

/* Whoever owns the file changes it after it was checked: what we have does not change. */
static void test_shared_folder_is_copied(void **state)
{
    (void)state;
    struct shared shared;
    kiln_error err = {0};
    fill(&theirs, "key");
    trust("kiln-key 1", &theirs, NULL, NULL);
    CHECK_OK(open_shared(&shared, &err), &err);
    struct kiln_artifact *artifact = look_up(&shared, "key");
    CHECK_NOT_NULL(artifact);
    struct stat info;
    CHECK_EQ(stat(shared_path("key"), &info), 0);
    for (long at = 0; at < info.st_size; at++) poke(shared_path("key"), at);
    CHECK_EQ(truncate(shared_path("key"), 1), 0);
    CHECK_MEM(kiln_artifact_get(artifact, "object").data, "machine code", 12);
    CHECK_OK(kiln__artifact_verify(artifact, &err), &err);
    kiln__artifact_unref(artifact);
    kiln__chain_free(shared.tier);
}

/* A file without end is not read into memory. */
static void test_shared_folder_is_bounded(void **state)
{
    (void)state;
    struct shared shared;
    kiln_error err = {0};
    fill(&theirs, "key");
    trust("kiln-key 1", &theirs, NULL, NULL);
    CHECK_EQ(truncate(shared_path("key"), (256 << 20) + 1), 0);
    CHECK_OK(open_shared(&shared, &err), &err);
    expect_found(&shared, "key", false, 0);
    CHECK_EQ(shared.events.faults, 1);
    CHECK_EQ(shared.events.corrupt, 0); /* nobody looked */
    kiln__chain_free(shared.tier);
}

static void write_line(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/toolchain", in_folder(name));
    write_text(path, 0666, text);
}

/* Which tool chain a folder of others names counts, but not before one of our own. */
static void test_shared_folder_toolchain(void **state)
{
    (void)state;
    struct shared shared;
    struct kiln_tier_events events = {0};
    char line[KILN_TOOLCHAIN_SIZE] = "";
    kiln_error err = {0};
    fill(&theirs, "key");
    trust("kiln-key 1", &theirs, NULL, NULL);
    write_line("shared", "theirs\n");
    CHECK_OK(open_shared(&shared, &err), &err);
    CHECK_TRUE(kiln__chain_toolchain(shared.tier, line));
    CHECK_STR(line, "theirs");
    CHECK_OK(kiln__tier_folder(in_folder("own"), true, UINT64_MAX, UINT64_MAX, &events, &shared.tier->next, &err),
             &err);
    CHECK_TRUE(kiln__chain_toolchain(shared.tier, line));
    CHECK_STR(line, "theirs");
    kiln__chain_set_toolchain(shared.tier, "ours");
    CHECK_TRUE(kiln__chain_toolchain(shared.tier, line));
    CHECK_STR(line, "ours");
    kiln__chain_free(shared.tier);
}

/* What a folder holds after a put; the caller's. */
static struct kiln_artifact *put_and_find(const struct kiln_artifact *artifact)
{
    struct kiln_tier_events events = {0};
    struct kiln_store store = {0};
    kiln_error err = {0};
    CHECK_OK(kiln__tier_folder(in_folder("cache"), true, UINT64_MAX, UINT64_MAX, &events, &store.tiers, &err), &err);
    kiln__store_put(&store, artifact, NULL);
    kiln_bytes key = {artifact->key.data, artifact->key.size};
    struct kiln_artifact *found = kiln__store_find(&store, &artifact->digest, key, NULL, NULL);
    CHECK_NOT_NULL(found);
    kiln__store_release(&store);
    return found;
}

/* What lies in our own folder, and came from who is revoked since. What is put then is signed by nobody. */
static void test_revoked_in_our_folder(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact("key"), *found;
    struct kiln_tier_events events = {0};
    struct kiln_store store = {0};
    kiln_error err = {0};
    kiln_bytes key = {artifact->key.data, artifact->key.size};
    sign_as(&theirs);
    found = put_and_find(artifact);
    kiln__artifact_unref(found);
    CHECK_OK(kiln__tier_folder(in_folder("cache"), true, UINT64_MAX, UINT64_MAX, &events, &store.tiers, &err), &err);
    trust("revoked", &theirs, NULL, NULL);
    CHECK_NULL(kiln__store_find(&store, &artifact->digest, key, NULL, NULL));
    CHECK_EQ(events.refused_signatures, 1);
    CHECK_EQ(events.corrupt + events.faults, 0);
    CHECK_EQ(kiln__artifact_sign(artifact, &err), KILN_FAILED);
    CHECK_NOT_NULL(strstr(err.text, "secret is revoked by "));
    kiln__store_put(&store, artifact, NULL);
    found = kiln__store_find(&store, &artifact->digest, key, NULL, NULL);
    CHECK_NOT_NULL(found);
    CHECK_FALSE(found->signing.is_signed);
    CHECK_EQ(events.refused_signatures, 1);
    kiln__artifact_unref(found);
    kiln__artifact_unref(artifact);
    kiln__store_release(&store);
}

/* A file in our own folder that others may write: as if it came from elsewhere. */
static void test_shared_file(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact("key"), *found;
    sign_as(&theirs);
    found = put_and_find(artifact);
    kiln__artifact_unref(found);
    unsetenv("KILN_SIGN_KEY");
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    kiln_error err = {0};
    char path[300], hex[KILN_DIGEST_HEX];
    kiln__digest_hex(&artifact->digest, hex);
    snprintf(path, sizeof path, "%s/%.2s/%s.kiln", in_folder("cache"), hex, hex);
    CHECK_EQ(chmod(path, 0666), 0);
    CHECK_OK(kiln__tier_folder(in_folder("cache"), true, UINT64_MAX, UINT64_MAX, &events, &tier, &err), &err);
    kiln_bytes key = {artifact->key.data, artifact->key.size};
    CHECK_NULL(kiln__chain_find(tier, &artifact->digest, key, NULL, NULL));
    CHECK_EQ(events.faults, 1);
    trust("kiln-key 1", &theirs, NULL, NULL);
    found = kiln__chain_find(tier, &artifact->digest, key, NULL, NULL);
    CHECK_NOT_NULL(found);
    kiln__artifact_unref(found);
    kiln__artifact_unref(artifact);
    kiln__chain_free(tier);
}

/* ---- what is accepted ----------------------------------------------------------------------------------------------
 */

/* Both keys are believed while the new one takes over; then the old one no longer is. */
static void test_rotated(void **state)
{
    (void)state;
    struct kiln_buffer old = signed_file(&ours, "key"), new = signed_file(&theirs, "key");
    trust("kiln-key 1", &ours, NULL, NULL);
    expect_accepted(&old);
    trust("kiln-key 1", &ours, "kiln-key 1", &theirs);
    expect_accepted(&old);
    expect_accepted(&new);
    trust("kiln-key 1", &theirs, NULL, NULL);
    expect_accepted(&new);
    kiln__buffer_release(&old);
    kiln__buffer_release(&new);
}

/* What was signed by another program (openssl) with the message of docs/formats/artifact.md and the first key of RFC
 * 8032.
 */
static void test_signature_of_another_program(void **state)
{
    (void)state;
    struct kiln_buffer bytes = {0};
    CHECK_EQ(kiln__file_read(KILN_CORPUS "/artifact/version2_signed.kiln", 1 << 20, &bytes, NULL), KILN_DONE);
    write_text(in_folder("kiln/trusted_keys"), 0644,
               "kiln-key 1 d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a RFC 8032\n");
    expect_accepted(&bytes);
    kiln__buffer_release(&bytes);
}

static void test_own_key_is_trusted(void **state)
{
    (void)state;
    kiln_error err = {0};
    struct kiln_buffer bytes = signed_file(&ours, "key");
    CHECK_FALSE(kiln__trusts_anybody(&err));
    CHECK_NOT_NULL(strstr(err.text, "'kiln key trust PATH.pub'"));
    CHECK_NOT_NULL(strstr(err.text, "'kiln key new PATH'"));
    sign_as(&ours);
    CHECK_TRUE(kiln__trusts_anybody(&err));
    expect_accepted(&bytes);
    trust("revoked", &ours, NULL, NULL);
    CHECK_FALSE(kiln__trusts_anybody(&err));
    trust("revoked", &ours, "kiln-key 1", &theirs);
    CHECK_TRUE(kiln__trusts_anybody(&err));
    kiln__buffer_release(&bytes);
}

/* Metadata is for people: who changes it changes nothing that runs. */
static void test_metadata_is_not_covered(void **state)
{
    (void)state;
    struct kiln_buffer bytes = signed_file(&ours, "key");
    struct kiln_artifact *artifact = NULL;
    trust("kiln-key 1", &ours, NULL, NULL);
    CHECK_STATUS(kiln__artifact_decode((kiln_bytes){bytes.data, bytes.size}, false, &artifact, NULL), KILN_OK);
    artifact->compile_ns++;
    struct kiln_buffer again = encode(artifact);
    expect_accepted(&again);
    kiln__artifact_unref(artifact);
    kiln__buffer_release(&again);
    kiln__buffer_release(&bytes);
}

static void expect_unsignable(const char *message)
{
    kiln_error err = {0};
    struct kiln_artifact *artifact = make_artifact("key");
    CHECK_EQ(kiln__artifact_sign(artifact, &err), KILN_FAILED);
    if (!strstr(err.text, message)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, message);
    CHECK_FALSE(artifact->signing.is_signed);
    kiln__artifact_unref(artifact);
}
#define expect_unsignable(...) CHECK_CALL(expect_unsignable, __VA_ARGS__)

static void test_keys_that_cant_sign(void **state)
{
    (void)state;
    kiln_error err = {0};
    struct kiln_artifact *artifact = make_artifact("key");
    CHECK_EQ(kiln__artifact_sign(artifact, &err), KILN_MISS);
    CHECK_FALSE(artifact->signing.is_signed);
    kiln__artifact_unref(artifact);
    setenv("KILN_SIGN_KEY", in_folder("secret"), 1);
    expect_unsignable("secret, which KILN_SIGN_KEY names, is not there");
    sign_as(&ours);
    CHECK_EQ(chmod(in_folder("secret"), 0644), 0);
    expect_unsignable("run: chmod 600 ");
    CHECK_FALSE(kiln__trusts_anybody(&err));
    CHECK_NOT_NULL(strstr(err.text, "run: chmod 600 "));
    write_text(in_folder("secret"), 0600, "kiln-secret-key 1 1234\n");
    expect_unsignable("secret:1: a key is 64 of the digits 0-9 and a-f");
}

static void test_puts_are_signed(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact("key"), *found;
    kiln_error err = {0};
    found = put_and_find(artifact);
    CHECK_FALSE(found->signing.is_signed);
    kiln__artifact_unref(found);
    sign_as(&ours);
    found = put_and_find(artifact);
    CHECK_FALSE(artifact->signing.is_signed); /* others may be reading it */
    CHECK_MEM(found->signing.signer, ours.signer, KILN_SIGNER_SIZE);
    CHECK_OK(kiln__artifact_verify(found, &err), &err);
    sign_as(&theirs);
    struct kiln_artifact *kept = put_and_find(found); /* whoever vouched for it still does */
    CHECK_MEM(kept->signing.signer, ours.signer, KILN_SIGNER_SIZE);
    kiln__artifact_unref(kept);
    struct kiln_artifact *grown = kiln__artifact_copy(found);
    kiln_artifact_put(grown, "cubin.sm_90", "code", 4);
    kept = put_and_find(grown);
    CHECK_MEM(kept->signing.signer, theirs.signer, KILN_SIGNER_SIZE);
    CHECK_OK(kiln__artifact_verify(kept, &err), &err);
    kiln__artifact_unref(kept);
    CHECK_EQ(chmod(in_folder("secret"), 0640), 0);
    kept = put_and_find(artifact);
    CHECK_FALSE(kept->signing.is_signed);
    kiln__artifact_unref(kept);
    kiln__artifact_unref(grown);
    kiln__artifact_unref(found);
    kiln__artifact_unref(artifact);
}

/* A key that is changed while the process runs is the one that signs. */
static void test_files_are_read_again(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact("key");
    for (int i = 0; i < 20; i++) {
        const struct pair *pair = i % 2 ? &ours : &theirs;
        sign_as(pair);
        CHECK_EQ(kiln__artifact_sign(artifact, NULL), KILN_DONE);
        CHECK_MEM(artifact->signing.signer, pair->signer, KILN_SIGNER_SIZE);
    }
    kiln__artifact_unref(artifact);
}

/* In place, with the same size, faster than times of files are counted. */
static void test_lists_are_read_again(void **state)
{
    (void)state;
    struct kiln_known_key known;
    kiln_error err = {0};
    trust("kiln-key 1", &ours, NULL, NULL);
    for (int i = 0; i < 50; i++) {
        const struct pair *now = i % 2 ? &ours : &theirs, *before = i % 2 ? &theirs : &ours;
        FILE *file = fopen(in_folder("kiln/trusted_keys"), "r+");
        fprintf(file, "kiln-key 1 %s first\n", now->hex);
        fclose(file);
        CHECK_OK(kiln__key_look_up(now->signer, &known, &err), &err);
        CHECK_TRUE(kiln__key_is_trusted(&known));
        CHECK_STR(known.comment, "first");
        CHECK_OK(kiln__key_look_up(before->signer, &known, &err), &err);
        CHECK_FALSE(kiln__key_is_trusted(&known));
    }
}

static void *verify_many(void *bytes)
{
    intptr_t wrong = 0;
    kiln_error err;
    for (int i = 0; i < 200; i++) wrong += accept(bytes, &err) != KILN_OK;
    return (void *)wrong;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct kiln_buffer bytes = signed_file(&ours, "key");
    trust("kiln-key 1", &ours, NULL, NULL);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, verify_many, &bytes);
    for (int i = 0; i < 100; i++) trust("kiln-key 1", &ours, i % 2 ? "kiln-key 1" : "revoked", &theirs);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK_NULL(wrong);
    }
    kiln__buffer_release(&bytes);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_unsigned),
        WITH_WORLD(test_unknown_signer),
        WITH_WORLD(test_every_flipped_byte),
        WITH_WORLD(test_signed_for_another_key),
        WITH_WORLD(test_signer_replaced),
        WITH_WORLD(test_revoked),
        WITH_WORLD(test_list_that_cant_be_used),
        WITH_WORLD(test_named_list),
        WITH_WORLD(test_shared_folder),
        WITH_WORLD(test_shared_folder_misplaced),
        WITH_WORLD(test_shared_folder_is_copied),
        WITH_WORLD(test_shared_folder_is_bounded),
        WITH_WORLD(test_shared_folder_toolchain),
        WITH_WORLD(test_revoked_in_our_folder),
        WITH_WORLD(test_shared_file),
        WITH_WORLD(test_rotated),
        WITH_WORLD(test_signature_of_another_program),
        WITH_WORLD(test_own_key_is_trusted),
        WITH_WORLD(test_metadata_is_not_covered),
        WITH_WORLD(test_keys_that_cant_sign),
        WITH_WORLD(test_puts_are_signed),
        WITH_WORLD(test_files_are_read_again),
        WITH_WORLD(test_lists_are_read_again),
        WITH_WORLD(test_threads),
    };
    if (count > 1) cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
