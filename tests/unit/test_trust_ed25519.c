/*
 * test_trust_ed25519.c - libkiln-trust.so, opened as the library opens it, signs and verifies what RFC 8032 says.
 */
#include "base/beside.h"
#include "support/check.h"
#include "trust/trust_plugin.h"

static const struct kiln_trust_plugin *plugin;

static int open_plugin(void **state)
{
    (void)state;
    kiln_error err = {0};
    const void *found = NULL;
    CHECK_OK(kiln__open_beside(KILN_TRUST_LIBRARY, KILN_TRUST_SYMBOL, &found, &err), &err);
    plugin = found;
    CHECK_EQ(plugin->version, KILN_TRUST_VERSION);
    return 0;
}

static void from_hex(const char *text, uint8_t *out, size_t size)
{
    CHECK_EQ(strlen(text), 2 * size);
    for (size_t i = 0; i < size; i++) CHECK_EQ(sscanf(text + 2 * i, "%2hhx", &out[i]), 1);
}

static const struct {
    const char *secret, *signer, *message, *signature;
} vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
     "55141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
     "00d291612bb0c00"},
};

static void known_signatures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint8_t secret[32], signer[32], wanted_signer[32], signature[64], wanted[64];
        size_t size = strlen(vectors[i].message);
        from_hex(vectors[i].secret, secret, 32);
        from_hex(vectors[i].signer, wanted_signer, 32);
        from_hex(vectors[i].signature, wanted, 64);
        CHECK_TRUE(plugin->public_key(secret, signer));
        CHECK_MEM(signer, wanted_signer, 32);
        CHECK_TRUE(plugin->sign(secret, vectors[i].message, size, signature));
        CHECK_MEM(signature, wanted, 64);
        CHECK_TRUE(plugin->verify(signer, vectors[i].message, size, signature));
        for (size_t bit = 0; bit < 8 * 64; bit++) {
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
            CHECK_FALSE(plugin->verify(signer, vectors[i].message, size, signature));
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        CHECK_FALSE(plugin->verify(signer, "other", 5, signature));
    }
}

static void keys_are_new(void **state)
{
    (void)state;
    uint8_t first[32] = {0}, second[32] = {0}, zeros[32] = {0};
    CHECK_TRUE(plugin->make_key(first) && plugin->make_key(second));
    CHECK_TRUE(memcmp(first, second, 32) != 0 && memcmp(first, zeros, 32) != 0);
}

/* For a key of small order everybody can make signatures. */
static void weak_keys_verify_nothing(void **state)
{
    (void)state;
    uint8_t signer[32] = {1}, signature[64] = {1};
    CHECK_FALSE(plugin->verify(signer, "message", 7, signature));
    memset(signer, 0, sizeof signer);
    memset(signature, 0, sizeof signature);
    CHECK_FALSE(plugin->verify(signer, "message", 7, signature));
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    const void *found = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln__open_beside("libkiln-none.so", "x", &found, &err), KILN_IO, &err);
    CHECK_NOT_NULL(strstr(err.text, "/libkiln-none.so is not there; it is installed beside libkiln.so"));
    CHECK_STATUS(kiln__open_beside(KILN_TRUST_LIBRARY, "nothing", &found, &err), KILN_IO, &err);
    CHECK_NOT_NULL(strstr(err.text, "has no nothing: it is not of this version"));
    CHECK_NULL(found);
    CHECK_EQ(kiln__own_folder()[0], '/');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_signatures),
        cmocka_unit_test(keys_are_new),
        cmocka_unit_test(weak_keys_verify_nothing),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
