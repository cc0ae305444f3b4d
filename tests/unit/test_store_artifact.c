/*
 * test_store_artifact.c - the artifact in memory, its file, and every way in which a file can be wrong.
 */
#include "base/file.h"
#include "store/artifact.h"
#include "support/check.h"

static void replace_text(char **slot, const char *text)
{
    free(*slot);
    *slot = strdup(text);
}

static struct kiln_artifact *make_artifact(void)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    CHECK_NOT_NULL(artifact);
    CHECK_STATUS(kiln_artifact_put(artifact, "object", "machine code", 12), KILN_OK);
    CHECK_STATUS(kiln_artifact_put(artifact, "bitcode", "BC", 2), KILN_OK);
    CHECK_STATUS(kiln_artifact_put(artifact, "empty", NULL, 0), KILN_OK);
    CHECK_STATUS(kiln_artifact_set_entry(artifact, "kernel"), KILN_OK);
    replace_text(&artifact->target, "x86-64-v3");
    replace_text(&artifact->function, "swiglu");
    artifact->isa = KILN_ISA_X86_64_V3;
    artifact->compile_ns = 123456789012345u;
    artifact->created_unix_s = 1700000000u;
    kiln__buffer_append(&artifact->key, "the\0key", 7);
    kiln__buffer_append(&artifact->call_key, "call", 4);
    return artifact;
}

static struct kiln_buffer encode(const struct kiln_artifact *artifact)
{
    struct kiln_buffer bytes = {0};
    kiln_error err = {0};
    if (kiln__artifact_encode(artifact, &bytes, &err) != KILN_OK) CHECK_FAIL("%s", err.text);
    return bytes;
}

static kiln_status decode(const void *data, size_t size, struct kiln_artifact **out, kiln_error *err)
{
    return kiln__artifact_decode((kiln_bytes){data, size}, false, out, err);
}

static void expect_refused(const void *data, size_t size, const char *text)
{
    struct kiln_artifact *artifact = NULL;
    kiln_error err = {0};
    CHECK_STATUS(decode(data, size, &artifact, &err), KILN_INVALID, &err);
    CHECK_NULL(artifact);
    if (!strstr(err.text, text)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, text);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void sections_are_named_bytes(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact();
    kiln_bytes object = kiln_artifact_get(artifact, "object");
    CHECK_EQ(object.size, 12);
    CHECK_MEM(object.data, "machine code", 12);
    CHECK_NOT_NULL(kiln_artifact_get(artifact, "empty").data);
    CHECK_EQ(kiln_artifact_get(artifact, "empty").size, 0);
    CHECK_NULL(kiln_artifact_get(artifact, "ptx").data);
    CHECK_STATUS(kiln_artifact_put(artifact, "object", "new", 3), KILN_OK);
    CHECK_EQ(artifact->section_count, 3);
    CHECK_MEM(kiln_artifact_get(artifact, "object").data, "new", 3);
    CHECK_STR(kiln_artifact_entry(artifact), "kernel");
    kiln__artifact_unref(artifact);
}

static void bad_sections_are_refused(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = kiln__artifact_new();
    CHECK_STR(kiln_artifact_entry(artifact), "");
    CHECK_STATUS(kiln_artifact_put(artifact, "", "x", 1), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_put(artifact, "a name of 32 bytes is one too many", "x", 1), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_put(artifact, NULL, "x", 1), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_put(NULL, "object", "x", 1), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_put(artifact, "object", NULL, 1), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_put(artifact, "object", "x", (size_t)2 << 30), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_set_entry(artifact, NULL), KILN_INVALID);
    for (int i = 0; i < KILN_ARTIFACT_MAX_SECTIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "s%d", i);
        CHECK_STATUS(kiln_artifact_put(artifact, name, "x", 1), KILN_OK);
    }
    CHECK_STATUS(kiln_artifact_put(artifact, "more", "x", 1), KILN_INVALID);
    CHECK_STATUS(kiln_artifact_put(artifact, "s3", "y", 1), KILN_OK);
    kiln__artifact_unref(artifact);
    kiln__artifact_unref(NULL);
}

static void round_trip_keeps_everything(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact(), *again = NULL;
    struct kiln_buffer bytes = encode(artifact);
    kiln_error err = {0};
    CHECK_OK(decode(bytes.data, bytes.size, &again, &err), &err);
    CHECK_STR(again->target, "x86-64-v3");
    CHECK_STR(again->entry, "kernel");
    CHECK_STR(again->function, "swiglu");
    CHECK_EQ(again->isa, KILN_ISA_X86_64_V3);
    CHECK_TRUE(again->compile_ns == artifact->compile_ns && again->created_unix_s == artifact->created_unix_s);
    CHECK_EQ(again->key.size, 7);
    CHECK_MEM(again->key.data, "the\0key", 7);
    CHECK_EQ(again->call_key.size, 4);
    struct kiln_digest digest = kiln__digest("the\0key", 7);
    CHECK_MEM(&again->digest, &digest, sizeof(digest));
    CHECK_EQ(again->section_count, 3);
    kiln_bytes object = kiln_artifact_get(again, "object");
    CHECK_EQ(object.size, 12);
    CHECK_MEM(object.data, "machine code", 12);
    CHECK_TRUE((const unsigned char *)object.data > bytes.data &&
               (const unsigned char *)object.data < bytes.data + bytes.size);
    CHECK_EQ(((const unsigned char *)object.data - bytes.data) % 16, 0);
    struct kiln_buffer second = encode(again);
    CHECK_EQ(second.size, bytes.size);
    CHECK_MEM(second.data, bytes.data, bytes.size);
    kiln__artifact_unref(again);
    kiln__artifact_unref(artifact);
    kiln__buffer_release(&bytes);
    kiln__buffer_release(&second);
}

/* Sections in another order, other metadata: the compared part must not differ by a bit. */
static void equal_content_gives_equal_bytes(void **state)
{
    (void)state;
    struct kiln_artifact *first = make_artifact(), *second = kiln__artifact_new();
    kiln_artifact_put(second, "empty", "", 0);
    kiln_artifact_put(second, "object", "machine code", 12);
    kiln_artifact_put(second, "bitcode", "BC", 2);
    kiln_artifact_set_entry(second, "kernel");
    replace_text(&second->target, "x86-64-v3");
    second->isa = KILN_ISA_X86_64_V3;
    second->compile_ns = 1;
    kiln__buffer_append(&second->key, "the\0key", 7);
    struct kiln_buffer a = encode(first), b = encode(second), c = encode(first);
    uint64_t compared;
    memcpy(&compared, a.data + 16, sizeof(compared));
    CHECK_TRUE(compared < a.size && compared < b.size);
    CHECK_MEM(a.data, b.data, compared);
    CHECK_EQ(a.size, c.size);
    CHECK_MEM(a.data, c.data, a.size);
    kiln__buffer_release(&a);
    kiln__buffer_release(&b);
    kiln__buffer_release(&c);
    kiln__artifact_unref(first);
    kiln__artifact_unref(second);
}

/* Each copy has exactly its size, so that a sanitizer sees a read past the end. */
static void every_truncation_is_refused(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact();
    struct kiln_buffer bytes = encode(artifact);
    for (size_t size = 0; size < bytes.size; size++) {
        unsigned char *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, bytes.data, size);
        expect_refused(copy, size, "artifact");
        free(copy);
    }
    kiln__buffer_u8(&bytes, 0);
    expect_refused(bytes.data, bytes.size, "something follows the signature");
    kiln__buffer_release(&bytes);
    kiln__artifact_unref(artifact);
}

static void every_flipped_bit_is_refused(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact();
    struct kiln_buffer bytes = encode(artifact);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        expect_refused(bytes.data, bytes.size, "artifact");
        bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    kiln__buffer_release(&bytes);
    kiln__artifact_unref(artifact);
}

/* Changes one byte and makes the checksum right again, as somebody would who means harm. */
static void expect_refused_resealed(size_t at, unsigned char value, const char *text)
{
    struct kiln_artifact *artifact = make_artifact();
    struct kiln_buffer bytes = encode(artifact);
    uint64_t compared;
    memcpy(&compared, bytes.data + 16, sizeof(compared));
    bytes.data[at] = value;
    struct kiln_digest digest = kiln__digest(bytes.data, compared - KILN_DIGEST_SIZE);
    memcpy(bytes.data + compared - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
    expect_refused(bytes.data, bytes.size, text);
    kiln__buffer_release(&bytes);
    kiln__artifact_unref(artifact);
}
#define expect_refused_resealed(...) CHECK_CALL(expect_refused_resealed, __VA_ARGS__)

static void resealed_nonsense_is_refused(void **state)
{
    (void)state;
    size_t names = 40 + strlen("x86-64-v3") + strlen("kernel") + 7;
    expect_refused_resealed(0, 'x', "not an artifact");
    expect_refused_resealed(8, 1, "format version 1; this library reads version 2");
    expect_refused_resealed(8, 3, "format version 3; this library reads version 2");
    expect_refused_resealed(12, 9, "checksum algorithm");
    expect_refused_resealed(13, 1, "compression");
    expect_refused_resealed(14, 1, "authentication");
    expect_refused_resealed(15, 5, "instruction set");
    expect_refused_resealed(15, 0, "instruction set");
    expect_refused_resealed(24, 10, "do not fit");     /* target one longer */
    expect_refused_resealed(24, 48, "over its limit"); /* target too long */
    expect_refused_resealed(36, 17, "over its limit"); /* sections */
    expect_refused_resealed(36, 2, "do not fit");
    expect_refused_resealed(40, 0, "do not fit");           /* NUL in the target */
    expect_refused_resealed(names, 'z', "do not fit");      /* names out of order */
    expect_refused_resealed(names, 0, "do not fit");        /* an empty name */
    expect_refused_resealed(names + 31, 'x', "do not fit"); /* bytes behind a name */
    expect_refused_resealed(names + 32, 30, "do not fit");  /* section longer than its place */
    expect_refused_resealed(names + 39, 1, "do not fit");   /* section of 2^56 bytes */
}

static void unencodable_is_refused(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact();
    struct kiln_buffer bytes = {0};
    kiln_error err = {0};
    artifact->isa = 0;
    CHECK_STATUS(kiln__artifact_encode(artifact, &bytes, &err), KILN_INVALID, &err);
    artifact->isa = KILN_ISA_X86_64_V1;
    replace_text(&artifact->target, "a target name that has far more than forty-seven bytes");
    CHECK_STATUS(kiln__artifact_encode(artifact, &bytes, &err), KILN_INVALID, &err);
    CHECK_EQ(bytes.size, 0);
    kiln__artifact_unref(artifact);
}

static void sign_somehow(struct kiln_artifact *artifact)
{
    artifact->signing.is_signed = true;
    memset(artifact->signing.signer, 0xa5, sizeof artifact->signing.signer);
    memset(artifact->signing.bytes, 0x5a, sizeof artifact->signing.bytes);
}

static void a_signature_is_kept(void **state)
{
    (void)state;
    struct kiln_artifact *artifact = make_artifact(), *again = NULL;
    struct kiln_buffer unsigned_bytes = encode(artifact);
    sign_somehow(artifact);
    struct kiln_buffer bytes = encode(artifact);
    CHECK_EQ(bytes.size, unsigned_bytes.size + 96);
    CHECK_MEM(bytes.data, unsigned_bytes.data, unsigned_bytes.size - 8);
    CHECK_STATUS(decode(bytes.data, bytes.size, &again, NULL), KILN_OK);
    CHECK_TRUE(again->signing.is_signed);
    CHECK_MEM(&again->signing, &artifact->signing, sizeof again->signing);
    struct kiln_buffer second = encode(again);
    CHECK_EQ(second.size, bytes.size);
    CHECK_MEM(second.data, bytes.data, bytes.size);
    for (size_t size = unsigned_bytes.size - 8; size < bytes.size; size++)
        expect_refused(bytes.data, size, "truncated in the signature");
    kiln__buffer_u8(&bytes, 0);
    expect_refused(bytes.data, bytes.size, "something follows the signature");
    bytes.size--;
    for (size_t i = 0; i < 8; i++) {
        bytes.data[unsigned_bytes.size - 8 + i] ^= 2;
        expect_refused(bytes.data, bytes.size, "unknown kind of signature");
        bytes.data[unsigned_bytes.size - 8 + i] ^= 2;
    }
    kiln__buffer_release(&bytes);
    kiln__buffer_release(&unsigned_bytes);
    kiln__buffer_release(&second);
    kiln__artifact_unref(again);
    kiln__artifact_unref(artifact);
}

static struct kiln_artifact *make_decoded_and_signed(struct kiln_buffer *bytes)
{
    struct kiln_artifact *made = make_artifact(), *decoded = NULL;
    sign_somehow(made);
    *bytes = encode(made);
    CHECK_STATUS(decode(bytes->data, bytes->size, &decoded, NULL), KILN_OK);
    kiln__artifact_unref(made);
    return decoded;
}

/* The checksum that a signature covers is that of the file, whether decoded or about to be written. */
static void what_changes_an_artifact_drops_its_signature(void **state)
{
    (void)state;
    struct kiln_buffer bytes;
    struct kiln_artifact *decoded = make_decoded_and_signed(&bytes), *copy = kiln__artifact_copy(decoded);
    struct kiln_digest first, second;
    CHECK_FALSE(copy->signing.is_signed);
    CHECK_STATUS(kiln__artifact_checksum(decoded, &first, NULL), KILN_OK);
    CHECK_STATUS(kiln__artifact_checksum(copy, &second, NULL), KILN_OK);
    CHECK_MEM(&first, &second, sizeof first);
    CHECK_STATUS(kiln_artifact_put(copy, "cubin.sm_90", "code", 4), KILN_OK);
    CHECK_STATUS(kiln__artifact_checksum(copy, &second, NULL), KILN_OK);
    CHECK_TRUE(memcmp(&first, &second, sizeof first) != 0);
    CHECK_STATUS(kiln_artifact_put(decoded, "cubin.sm_90", "code", 4), KILN_OK);
    CHECK_FALSE(decoded->signing.is_signed);
    CHECK_STATUS(kiln__artifact_checksum(decoded, &first, NULL), KILN_OK);
    CHECK_MEM(&first, &second, sizeof first);
    sign_somehow(copy);
    CHECK_STATUS(kiln_artifact_set_entry(copy, "other"), KILN_OK);
    CHECK_FALSE(copy->signing.is_signed);
    kiln__artifact_unref(copy);
    kiln__artifact_unref(decoded);
    kiln__buffer_release(&bytes);
}

static struct kiln_buffer read_corpus(const char *name)
{
    char path[400];
    struct kiln_buffer bytes = {0};
    snprintf(path, sizeof path, "%s/artifact/%s", KILN_CORPUS, name);
    CHECK_EQ(kiln__file_read(path, 1 << 20, &bytes, NULL), KILN_DONE);
    return bytes;
}

static void other_versions_are_told_from_damage(void **state)
{
    (void)state;
    struct kiln_buffer bytes = read_corpus("version1.kiln");
    kiln_bytes whole = {bytes.data, bytes.size};
    CHECK_TRUE(kiln__artifact_is_earlier(whole));
    CHECK_FALSE(kiln__artifact_is_newer(whole));
    expect_refused(bytes.data, bytes.size, "format version 1");
    bytes.data[100] ^= 1;
    CHECK_FALSE(kiln__artifact_is_earlier(whole));
    CHECK_FALSE(kiln__artifact_is_earlier((kiln_bytes){bytes.data, 100}));
    kiln__buffer_release(&bytes);
    const char *const now[] = {"version2.kiln", "version2_signed.kiln"};
    for (int i = 0; i < 2; i++) {
        struct kiln_artifact *artifact = NULL;
        bytes = read_corpus(now[i]);
        CHECK_FALSE(kiln__artifact_is_earlier((kiln_bytes){bytes.data, bytes.size}));
        CHECK_FALSE(kiln__artifact_is_newer((kiln_bytes){bytes.data, bytes.size}));
        CHECK_STATUS(decode(bytes.data, bytes.size, &artifact, NULL), KILN_OK);
        CHECK_EQ(artifact->signing.is_signed, i == 1);
        CHECK_STR(artifact->entry, "kernel");
        kiln__artifact_unref(artifact);
        kiln__buffer_release(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_named_bytes),
        cmocka_unit_test(bad_sections_are_refused),
        cmocka_unit_test(round_trip_keeps_everything),
        cmocka_unit_test(equal_content_gives_equal_bytes),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(resealed_nonsense_is_refused),
        cmocka_unit_test(unencodable_is_refused),
        cmocka_unit_test(a_signature_is_kept),
        cmocka_unit_test(what_changes_an_artifact_drops_its_signature),
        cmocka_unit_test(other_versions_are_told_from_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
