/*
 * test_run_random.c - the words of a key are those of the reference generator, whatever the key's layout.
 */
#include "unit/run_support.h"

static struct kiln_array *bits(struct kiln_array *key, size_t ndim, const int *dims)
{
    struct kiln_array *out = NULL;
    must_be(kiln__random_bits(dims, ndim, key, &out, &err));
    eval(out);
    return out;
}

static void known_words(void **state)
{
    (void)state;
    uint32_t words[2] = {0, 42};
    struct kiln_array *key = from_data(words, KILN_UINT32, SHAPE(2)), *four = bits(key, SHAPE(2, 2));
    CHECK_EQ(four->dtype, KILN_UINT32);
    CHECK_MEM(four->data, ((uint32_t[]){2465931498u, 3679230171u, 255383827u, 267815257u}), 16);
    unref_all((struct kiln_array *[]){key, four}, 2);
}

static void a_strided_key(void **state)
{
    (void)state;
    uint32_t words[4] = {42, 9, 0, 9};
    struct kiln_array *base = from_data(words, KILN_UINT32, SHAPE(4)), *key = NULL;
    must_be(kiln__slice(base, (int[]){2}, (int[]){-5}, (int[]){-2}, 1, &key, &err));
    struct kiln_array *four = bits(key, SHAPE(4));
    CHECK_MEM(four->data, ((uint32_t[]){2465931498u, 3679230171u, 255383827u, 267815257u}), 16);
    unref_all((struct kiln_array *[]){base, key, four}, 3);
}

static void odd_and_empty_counts(void **state)
{
    (void)state;
    uint32_t words[2] = {0, 42};
    struct kiln_array *key = from_data(words, KILN_UINT32, SHAPE(2)), *none = bits(key, SHAPE(0, 3)),
                      *three = bits(key, SHAPE(3));
    CHECK_EQ(none->size, 0);
    CHECK_EQ(three->size, 3);
    unref_all((struct kiln_array *[]){key, none, three}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_words),
        cmocka_unit_test(a_strided_key),
        cmocka_unit_test(odd_and_empty_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
