/*
 * test_key_signature.c - call keys: what is different has different keys, what is the same has the same.
 */
#include "cache_support.h"

#include "key/dlpack.h"
#include "key/signature.h"

struct key {
    uint32_t count;
    uint64_t words[256];
};

static struct key sign(const kiln_arg *args, size_t count)
{
    struct kiln_signature signature;
    struct key key = {0};
    kiln__signature_init(&signature);
    for (size_t i = 0; i < count; i++) {
        kiln_error err = {0};
        CHECK_OK(kiln__signature_argument(&signature, &args[i], i, &err), &err);
    }
    CHECK_LE(signature.count, 256);
    key.count = signature.count;
    memcpy(key.words, signature.words, signature.count * sizeof *key.words);
    kiln__signature_release(&signature);
    return key;
}

static bool same(struct key a, struct key b)
{
    return a.count == b.count && kiln__key_equal(a.words, b.words, a.count);
}

#define assert_same(a, b)      CHECK_TRUE(same(a, b))
#define assert_different(a, b) CHECK_FALSE(same(a, b))
#define SIGN(...)              sign(ARGS(__VA_ARGS__))
#define F64(x)                                                                                                         \
    {                                                                                                                  \
        &kiln_const_f64, &(const double)                                                                               \
        {                                                                                                              \
            x                                                                                                          \
        }                                                                                                              \
    }
#define BOOL(x)                                                                                                        \
    {                                                                                                                  \
        &kiln_const_bool, &(const bool)                                                                                \
        {                                                                                                              \
            x                                                                                                          \
        }                                                                                                              \
    }
#define STRING(x) {&kiln_const_string, x}
#define LIST(...)                                                                                                      \
    {                                                                                                                  \
        &kiln_list, &(const kiln_args)                                                                                 \
        {                                                                                                              \
            ARGS(__VA_ARGS__)                                                                                          \
        }                                                                                                              \
    }

static void test_constants(void **state)
{
    (void)state;
    assert_same(SIGN(I64(1)), SIGN(I64(1)));
    assert_different(SIGN(I64(1)), SIGN(I64(2)));
    assert_different(SIGN(I64(1)), SIGN(F64(1.0)));
    assert_different(SIGN(I64(1)), SIGN(BOOL(true)));
    assert_different(SIGN(F64(1.0)), SIGN(BOOL(true)));
    assert_different(SIGN(BOOL(false)), SIGN(BOOL(true)));
    assert_different(SIGN(F64(0.0)), SIGN(F64(-0.0)));
    /* one double, seen as an integer with the same bits */
    double one = 1.0;
    assert_different(SIGN({&kiln_const_i64, &one}), SIGN({&kiln_const_f64, &one}));
    uint64_t quiet = 0x7ff8000000000000u, payload = 0x7ff8000000000001u;
    assert_different(SIGN({&kiln_const_f64, &quiet}), SIGN({&kiln_const_f64, &payload}));
    assert_same(SIGN({&kiln_const_f64, &payload}), SIGN({&kiln_const_f64, &payload}));
}

static void test_strings_and_bytes(void **state)
{
    (void)state;
    assert_same(SIGN(STRING("abc")), SIGN(STRING("abc")));
    assert_different(SIGN(STRING("ab"), STRING("c")), SIGN(STRING("a"), STRING("bc")));
    assert_different(SIGN(STRING("")), SIGN(STRING("a")));
    const kiln_bytes seven = {"1234567", 7}, eight = {"1234567", 8}, none = {NULL, 0}, zero = {"", 1};
    assert_different(SIGN({&kiln_const_bytes, &seven}), SIGN({&kiln_const_bytes, &eight}));
    assert_different(SIGN({&kiln_const_bytes, &none}), SIGN({&kiln_const_bytes, &zero}));
    assert_different(SIGN({&kiln_const_bytes, &none}), SIGN({&kiln_none, NULL}));
    const kiln_bytes as_bytes = {"abc", 3};
    assert_different(SIGN({&kiln_const_bytes, &as_bytes}), SIGN(STRING("abc")));
}

static void test_types_alone(void **state)
{
    (void)state;
    const kiln_type *const types[] = {&kiln_scalar_i64, &kiln_scalar_f64, &kiln_pointer, &kiln_stream, &kiln_none};
    int64_t one = 1, two = 2;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_same(SIGN({types[i], &one}), SIGN({types[i], &two})); /* the value is not part of the key */
        assert_same(SIGN({types[i], NULL}), SIGN({types[i], &two}));
        for (size_t j = 0; j < i; j++) assert_different(SIGN({types[i], &one}), SIGN({types[j], &one}));
    }
}

static void test_lists(void **state)
{
    (void)state;
    assert_different(SIGN(LIST(I64(1)), LIST(I64(2))), SIGN(LIST(I64(1), I64(2))));
    assert_different(SIGN(LIST(LIST(I64(1)))), SIGN(LIST(I64(1))));
    const kiln_args empty = {NULL, 0};
    assert_different(SIGN({&kiln_list, &empty}), SIGN({&kiln_none, NULL}));
    assert_different(SIGN({&kiln_list, &empty}, LIST(I64(1))), SIGN(LIST(I64(1)), {&kiln_list, &empty}));
    assert_same(SIGN(LIST(STRING("x"), I64(3))), SIGN(LIST(STRING("x"), I64(3))));
    assert_different(SIGN({&kiln_none, NULL}), sign(NULL, 0));
}

static void test_list_that_holds_itself(void **state)
{
    (void)state;
    kiln_arg self = {&kiln_list, NULL};
    kiln_args list = {&self, 1};
    self.value = &list;
    struct kiln_signature signature;
    kiln_error err = {0};
    kiln__signature_init(&signature);
    CHECK_STATUS(kiln__signature_argument(&signature, &self, 0, &err), KILN_UNSIGNED, &err);
    CHECK_CONTAINS(err.text, "list");
    kiln__signature_release(&signature);
}

/* ---- tensors -------------------------------------------------------------------------------------------------- */

static struct kiln_dltensor tensor(int ndim, const int64_t *shape, const int64_t *strides)
{
    struct kiln_dltensor t = {.data = (void *)4096, .device = {1, 0}, .ndim = ndim, .dtype = {2, 32, 1}};
    t.shape = (int64_t *)shape;
    t.strides = (int64_t *)strides;
    return t;
}

#define DIMS(...)                                                                                                      \
    (const int64_t[])                                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define TENSOR(t)  SIGN({&kiln_tensor, &(t)})
#define DYNAMIC(t) SIGN({&kiln_tensor_dynamic, &(t)})

static void test_tensor_dims_and_strides(void **state)
{
    (void)state;
    struct kiln_dltensor a = tensor(2, DIMS(12, 3), NULL), b = tensor(2, DIMS(1, 23), NULL),
                         c = tensor(2, DIMS(12, 3), DIMS(3, 1));
    struct kiln_dltensor backwards = tensor(2, DIMS(12, 3), DIMS(3, -8)), spread = tensor(2, DIMS(12, 3), DIMS(0, 1));
    struct kiln_dltensor flat = tensor(1, DIMS(36), NULL), scalar = tensor(0, NULL, NULL);
    assert_different(TENSOR(a), TENSOR(b));
    assert_same(TENSOR(a), TENSOR(c)); /* packed, said or not */
    assert_different(TENSOR(a), TENSOR(backwards));
    assert_different(TENSOR(a), TENSOR(spread));
    assert_different(TENSOR(backwards), TENSOR(spread));
    assert_different(TENSOR(a), TENSOR(flat));
    assert_different(TENSOR(flat), TENSOR(scalar));
    assert_same(TENSOR(scalar), TENSOR(scalar));
    assert_different(SIGN({&kiln_tensor, &flat}, {&kiln_tensor, &scalar}),
                     SIGN({&kiln_tensor, &scalar}, {&kiln_tensor, &flat}));
}

static void test_tensor_facts(void **state)
{
    (void)state;
    const struct kiln_dltensor base = tensor(1, DIMS(8), NULL);
    struct kiln_dltensor other = base;
    other.data = (void *)(4096 + 128);
    assert_same(TENSOR(base), TENSOR(other)); /* the pointer is not, its alignment up to 64 is */
    const unsigned offsets[] = {1, 2, 4, 8, 16, 32};
    for (size_t i = 0; i < 6; i++) {
        other.data = (void *)(uintptr_t)(4096 + offsets[i]);
        assert_different(TENSOR(base), TENSOR(other));
        other.data = (void *)4096;
        other.byte_offset = offsets[i];
        assert_different(TENSOR(base), TENSOR(other));
        other = base;
    }
    other.device.type = 2;
    assert_different(TENSOR(base), TENSOR(other));
    other.device.type = 1 + 256;
    assert_different(TENSOR(base), TENSOR(other));
    other = base, other.device.id = 7;
    assert_same(TENSOR(base), TENSOR(other));
    other = base, other.dtype.code = 1;
    assert_different(TENSOR(base), TENSOR(other));
    other = base, other.dtype.bits = 64;
    assert_different(TENSOR(base), TENSOR(other));
    other = base, other.dtype.lanes = 4;
    assert_different(TENSOR(base), TENSOR(other));
    assert_different(TENSOR(base), DYNAMIC(base));
}

static void test_tensor_dynamic(void **state)
{
    (void)state;
    struct kiln_dltensor small = tensor(2, DIMS(2, 3), NULL), large = tensor(2, DIMS(200, 300), DIMS(300, 1));
    struct kiln_dltensor turned = tensor(2, DIMS(200, 300), DIMS(1, 200)),
                         any = tensor(2, DIMS(200, 300), DIMS(301, 1));
    struct kiln_dltensor spread = tensor(2, DIMS(200, 300), DIMS(0, 1)), flat = tensor(1, DIMS(6), NULL),
                         unaligned = large;
    assert_same(DYNAMIC(small), DYNAMIC(large));
    assert_different(DYNAMIC(large), DYNAMIC(turned));
    assert_different(DYNAMIC(large), DYNAMIC(any));
    assert_different(DYNAMIC(large), DYNAMIC(spread));
    assert_different(DYNAMIC(any), DYNAMIC(spread));
    assert_different(DYNAMIC(small), DYNAMIC(flat));
    unaligned.data = (void *)4097;
    assert_same(DYNAMIC(large), DYNAMIC(unaligned));
    unaligned.dtype.bits = 16;
    assert_different(DYNAMIC(large), DYNAMIC(unaligned));
    struct kiln_dltensor other_device = large;
    other_device.device.type = 2;
    assert_different(DYNAMIC(large), DYNAMIC(other_device));
}

/* ---- what can't be signed ------------------------------------------------------------------------------------- */

static void refused(const kiln_type *type, const void *value, kiln_status status, const char *text)
{
    struct kiln_signature signature;
    kiln_error err = {0};
    const kiln_arg arg = {type, value};
    kiln__signature_init(&signature);
    CHECK_EQ(kiln__signature_argument(&signature, &arg, 4, &err), status);
    if (!strstr(err.text, text) || !strstr(err.text, "argument 4")) CHECK_FAIL("\"%s\"", err.text);
    CHECK_EQ(kiln__signature_argument(&signature, &arg, 4, NULL), status);
    kiln__signature_release(&signature);
}
#define refused(...) CHECK_CALL(refused, __VA_ARGS__)

static kiln_status sign_nothing_right(kiln_signature *signature, const void *value)
{
    (void)signature, (void)value;
    return KILN_INVALID;
}

static void test_unsigned(void **state)
{
    (void)state;
    const kiln_type mute = {"my_matrix", NULL}, failing = {"my_graph", sign_nothing_right}, unnamed = {NULL, NULL};
    const kiln_arg mute_arg = {&mute, &mute};
    const kiln_args list = {&mute_arg, 1}, no_data = {NULL, 1};
    const kiln_bytes no_bytes = {NULL, 3};
    struct kiln_dltensor deep = tensor(65, DIMS(1), NULL), negative = tensor(-1, DIMS(1), NULL),
                         bare = tensor(1, NULL, NULL);
    struct kiln_dltensor nowhere = tensor(1, DIMS(1), NULL);
    nowhere.device.type = 1 << 20;
    refused(&mute, &mute, KILN_UNSIGNED, "my_matrix");
    refused(&failing, &mute, KILN_UNSIGNED, "my_graph");
    refused(&unnamed, &mute, KILN_UNSIGNED, "unnamed");
    refused(NULL, &mute, KILN_UNSIGNED, "can't sign itself");
    refused(&kiln_list, &list, KILN_UNSIGNED, "list");
    refused(&kiln_list, &no_data, KILN_UNSIGNED, "list");
    refused(&kiln_const_i64, NULL, KILN_UNSIGNED, "const_i64");
    refused(&kiln_const_f64, NULL, KILN_UNSIGNED, "const_f64");
    refused(&kiln_const_bool, NULL, KILN_UNSIGNED, "const_bool");
    refused(&kiln_const_string, NULL, KILN_UNSIGNED, "const_string");
    refused(&kiln_const_bytes, &no_bytes, KILN_UNSIGNED, "const_bytes");
    refused(&kiln_tensor, NULL, KILN_UNSIGNED, "tensor");
    refused(&kiln_tensor, &deep, KILN_UNSIGNED, "tensor");
    refused(&kiln_tensor, &negative, KILN_UNSIGNED, "tensor");
    refused(&kiln_tensor, &bare, KILN_UNSIGNED, "tensor");
    refused(&kiln_tensor, &nowhere, KILN_UNSIGNED, "tensor");
    refused(&kiln_tensor_dynamic, &bare, KILN_UNSIGNED, "tensor_dynamic");
}

static void test_too_large(void **state)
{
    (void)state;
    size_t size = (size_t)9 << 20;
    char *data = calloc(1, size);
    const kiln_bytes too_large = {data, size}, half = {data, size / 3};
    refused(&kiln_const_bytes, &too_large, KILN_NO_MEMORY, "too large");
    struct kiln_signature signature; /* the same bound for many that are each within it */
    const kiln_arg arg = {&kiln_const_bytes, &half};
    kiln_status status = KILN_OK;
    kiln__signature_init(&signature);
    size_t fitting = 0;
    for (; !status && fitting < 100; fitting++) status = kiln__signature_argument(&signature, &arg, fitting, NULL);
    CHECK_EQ(status, KILN_NO_MEMORY);
    CHECK_EQ(fitting, 3);
    kiln__signature_release(&signature);
    free(data);
}

/* A key that outgrows the stack keeps what it had. */
static void test_spill(void **state)
{
    (void)state;
    struct kiln_signature signature;
    kiln__signature_init(&signature);
    for (int64_t i = 0; i < 1000; i++) {
        const kiln_arg arg = {&kiln_const_i64, &i};
        CHECK_STATUS(kiln__signature_argument(&signature, &arg, (size_t)i, NULL), KILN_OK);
    }
    CHECK_EQ(signature.count, 4000);
    CHECK_NE(signature.words, signature.few);
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK_EQ(signature.words[4 * i], kiln__item(KILN_ITEM_ARGUMENT, 0, 3));
        CHECK_EQ((void *)(uintptr_t)signature.words[4 * i + 1], &kiln_const_i64);
        CHECK_EQ(signature.words[4 * i + 2], kiln__item(KILN_ITEM_U64, 0, 1));
        CHECK_EQ(signature.words[4 * i + 3], i);
    }
    kiln__signature_release(&signature);
}

/* A type of the user's, by all three ways of signing. */
static kiln_status sign_mine(kiln_signature *signature, const void *value)
{
    const double *numbers = value;
    kiln_sign_u64(signature, (uint64_t)numbers[0]);
    kiln_sign_f64(signature, numbers[1]);
    kiln_sign_bytes(signature, "xyz", (size_t)numbers[2]);
    return KILN_OK;
}

static void test_own_type(void **state)
{
    (void)state;
    const kiln_type mine = {"mine", sign_mine}, twin = {"mine", sign_mine};
    const double base[] = {1, 0.5, 2}, u64[] = {2, 0.5, 2}, f64[] = {1, 0.25, 2}, bytes[] = {1, 0.5, 3};
    struct key key = SIGN({&mine, base});
    CHECK_EQ(key.count, 2 + 2 + 2 + 2);
    assert_same(key, SIGN({&mine, base}));
    assert_different(key, SIGN({&twin, base})); /* same when the addresses are */
    assert_different(key, SIGN({&mine, u64}));
    assert_different(key, SIGN({&mine, f64}));
    assert_different(key, SIGN({&mine, bytes}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_strings_and_bytes),
        cmocka_unit_test(test_types_alone),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_list_that_holds_itself),
        cmocka_unit_test(test_tensor_dims_and_strides),
        cmocka_unit_test(test_tensor_facts),
        cmocka_unit_test(test_tensor_dynamic),
        cmocka_unit_test(test_unsigned),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_spill),
        cmocka_unit_test(test_own_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
