/*
 * test_base_digest.c - SHA-256 against published vectors, by both compressors and for every split of the input.
 */
#include "base/digest.h"
#include "support/check.h"

static const struct {
    const char *text;
    size_t repeat;
    const char *hex;
} vectors[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void check_vectors(void)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct kiln_sha256 sha;
        struct kiln_digest digest;
        char hex[KILN_DIGEST_HEX];
        kiln__sha256_init(&sha);
        for (size_t n = 0; n < vectors[i].repeat; n++) {
            kiln__sha256_update(&sha, vectors[i].text, strlen(vectors[i].text));
        }
        kiln__sha256_final(&sha, &digest);
        kiln__digest_hex(&digest, hex);
        CHECK_STR(hex, vectors[i].hex);
    }
}
#define check_vectors(...) CHECK_CALL(check_vectors, __VA_ARGS__)

static void portable_matches_vectors(void **state)
{
    (void)state;
    kiln__sha256_force_portable(1);
    check_vectors();
    kiln__sha256_force_portable(0);
}

static void native_matches_vectors(void **state)
{
    (void)state;
    check_vectors();
}

static void both_agree_on_every_length(void **state)
{
    (void)state;
    uint8_t data[400];
    for (size_t i = 0; i < sizeof(data); i++) data[i] = (uint8_t)(i * 37 + 11);
    for (size_t size = 0; size <= sizeof(data); size++) {
        kiln__sha256_force_portable(1);
        struct kiln_digest portable = kiln__digest(data, size);
        kiln__sha256_force_portable(0);
        struct kiln_digest native = kiln__digest(data, size);
        CHECK_MEM(&portable, &native, sizeof(native));
    }
}

static void every_split_gives_one_digest(void **state)
{
    (void)state;
    uint8_t data[200];
    for (size_t i = 0; i < sizeof(data); i++) data[i] = (uint8_t)(i ^ 0x5a);
    struct kiln_digest whole = kiln__digest(data, sizeof(data));
    for (size_t split = 0; split <= sizeof(data); split++) {
        struct kiln_sha256 sha;
        struct kiln_digest digest;
        kiln__sha256_init(&sha);
        kiln__sha256_update(&sha, data, split);
        kiln__sha256_update(&sha, data + split, sizeof(data) - split);
        kiln__sha256_final(&sha, &digest);
        CHECK_MEM(&digest, &whole, sizeof(whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portable_matches_vectors),
        cmocka_unit_test(native_matches_vectors),
        cmocka_unit_test(both_agree_on_every_length),
        cmocka_unit_test(every_split_gives_one_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
