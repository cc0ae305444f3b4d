/*
 * test_key_content.c - content keys: the exact encoding, and that different requests have different keys.
 */
#include "cache_support.h"

#include "key/request.h"

static kiln_device *cpu(void)
{
    kiln_device *device = NULL;
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2", &device, NULL), KILN_OK);
    return device;
}

static bool is_field(const struct kiln_field *field, const char *name, const char *value)
{
    return field->name_size == strlen(name) && !memcmp(field->name, name, field->name_size) &&
           field->value.size == strlen(value) && !memcmp(field->value.data, value, field->value.size);
}

static void test_encoding(void **state)
{
    (void)state;
    struct kiln_content_key key = {0};
    kiln__content_text(&key, "ab", "cde");
    kiln__content_field(&key, "x", "\0\1", 2);
    CHECK_STATUS(kiln__content_finish(&key, NULL), KILN_OK);
    const char expected[] = "\2\0\0\0ab\3\0\0\0cde\1\0\0\0x\2\0\0\0\0\1";
    CHECK_EQ(key.fields.size, sizeof expected - 1);
    CHECK_MEM(key.fields.data, expected, sizeof expected - 1);
    struct kiln_digest digest = kiln__digest(expected, sizeof expected - 1);
    CHECK_MEM(&key.digest, &digest, sizeof digest);
    kiln__content_release(&key);
}

static void test_walk(void **state)
{
    (void)state;
    const char text[] = "\2\0\0\0ab\3\0\0\0cde\1\0\0\0x\0\0\0\0";
    struct kiln_field field;
    size_t offset = 0;
    kiln_bytes whole = {text, sizeof text - 1};
    CHECK_TRUE(kiln__content_next(whole, &offset, &field));
    CHECK_TRUE(is_field(&field, "ab", "cde"));
    CHECK_TRUE(kiln__content_next(whole, &offset, &field));
    CHECK_TRUE(is_field(&field, "x", ""));
    CHECK_FALSE(kiln__content_next(whole, &offset, &field));
    for (size_t cut = 0; cut < sizeof text - 1; cut++) { /* never beyond the end, wherever it is cut */
        char *copy = malloc(cut + 1);
        memcpy(copy, text, cut);
        size_t fields = 0;
        for (offset = 0; kiln__content_next((kiln_bytes){copy, cut}, &offset, &field);) fields++;
        CHECK_EQ(fields, cut >= 13 ? 1 : 0);
        free(copy);
    }
    const char lies[] = "\377\377\377\377ab";
    offset = 0;
    CHECK_FALSE(kiln__content_next((kiln_bytes){lies, 6}, &offset, &field));
}

static void content(const kiln_request *request, const char *compiler, const char *toolchain, const char *text,
                    struct kiln_content_key *out)
{
    *out = (struct kiln_content_key){0};
    CHECK_STATUS(kiln__request_content(request, compiler, toolchain, (kiln_bytes){text, strlen(text)}, out, NULL),
                 KILN_OK);
}
#define content(...) CHECK_CALL(content, __VA_ARGS__)

/* "unroll" is pushed and signed; then it is popped again, which changes nothing for this key. */
static void push_one(struct kiln_signature *signature, struct kiln_options *options)
{
    kiln__signature_init(signature);
    kiln_option_push("unroll", "4");
    kiln__options_sign(signature);
    kiln_option_pop();
    kiln__options_take(options, signature->words, signature->count);
}

static void test_fields_of_a_request(void **state)
{
    (void)state;
    struct kiln_signature pushed;
    kiln_request request = {.device = cpu(), .function = "f", .options = {2, false}};
    static const char *const expected[][2] = {
        {"format", "3"},
        {"compiler", "fake"},
        {"toolchain", "7"},
        {"target", "x86-64-v2"},
        {"option opt_level", "2"},
        {"option fast_math", "0"},
        {"pushed", "unroll\0004"},
        {"text", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}, /* SHA-256 of "abc" */
    };
    struct kiln_content_key key;
    push_one(&pushed, &request.options);
    content(&request, "fake", "7", "abc", &key);
    struct kiln_field field;
    size_t offset = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK_TRUE(kiln__content_next((kiln_bytes){key.fields.data, key.fields.size}, &offset, &field));
        if (!strcmp(expected[i][0], "pushed")) {
            CHECK_EQ(field.value.size, 8);
            CHECK_MEM(field.value.data, "unroll\0004", 8);
        } else {
            CHECK_TRUE(is_field(&field, expected[i][0], expected[i][1]));
        }
    }
    CHECK_EQ(offset, key.fields.size);
    kiln__content_release(&key);
}

/* Each change of one thing changes the digest; the function's name does not. */
static void test_what_decides(void **state)
{
    (void)state;
    struct kiln_content_key base, other;
    kiln_request request = {.device = cpu(), .function = "f", .options = {2, false}};
    content(&request, "fake", "1", "abc", &base);
#define SAME(expected, ...)                                                                                            \
    content(__VA_ARGS__, &other);                                                                                      \
    CHECK_EQ(!memcmp(&base.digest, &other.digest, sizeof base.digest), expected);                                      \
    kiln__content_release(&other)
    SAME(true, &request, "fake", "1", "abc");
    SAME(false, &request, "cake", "1", "abc");
    SAME(false, &request, "fake", "2", "abc");
    SAME(false, &request, "fake", "1", "abd");
    request.function = "g";
    SAME(true, &request, "fake", "1", "abc");
    request.options.opt_level = 3;
    SAME(false, &request, "fake", "1", "abc");
    request.options = (struct kiln_options){2, true};
    SAME(false, &request, "fake", "1", "abc");
    request.options.fast_math = false;
    SAME(true, &request, "fake", "1", "abc");
    request.options.lines = true;
    SAME(false, &request, "fake", "1", "abc");
    request.options.lines = false;
    struct kiln_signature pushed;
    push_one(&pushed, &request.options);
    SAME(false, &request, "fake", "1", "abc");
    request.options.pushed_count = 0;
    SAME(true, &request, "fake", "1", "abc");
    CHECK_STATUS(kiln_device_find("cpu:x86-64", &request.device, NULL), KILN_OK);
    SAME(false, &request, "fake", "1", "abc");
    kiln__content_release(&base);
}

/* ---- arguments, watches, reads -------------------------------------------------------------------------------- */

static struct kiln_digest with_args(const kiln_arg *args, size_t count)
{
    struct kiln_signature signature;
    kiln__signature_init(&signature);
    for (size_t i = 0; i < count; i++) CHECK_STATUS(kiln__signature_argument(&signature, &args[i], i, NULL), KILN_OK);
    kiln_request request = {.device = cpu(), .function = "f", .keyed = KILN_KEYED_ARGUMENTS};
    CHECK_STATUS(kiln__request_arguments(&request, signature.words, count), KILN_OK);
    struct kiln_content_key key;
    content(&request, "fake", "1", "abc", &key);
    kiln__content_release(&key);
    kiln__request_release(&request);
    kiln__signature_release(&signature);
    return key.digest;
}

static bool equal(struct kiln_digest a, struct kiln_digest b)
{
    return !memcmp(&a, &b, sizeof a);
}

static kiln_status sign_it(kiln_signature *signature, const void *value)
{
    kiln_sign_bytes(signature, value, 3);
    return KILN_OK;
}

static void test_arguments_by_type_name(void **state)
{
    (void)state;
    const kiln_type mine = {"mine", sign_it}, twin = {"mine", sign_it}, other = {"other", sign_it};
    CHECK_TRUE(equal(with_args(ARGS({&mine, "abc"})),
                     with_args(ARGS({&twin, "abc"})))); /* addresses differ between processes */
    CHECK_FALSE(equal(with_args(ARGS({&mine, "abc"})), with_args(ARGS({&other, "abc"}))));
    CHECK_FALSE(equal(with_args(ARGS({&mine, "abc"})), with_args(ARGS({&mine, "abd"}))));
    const kiln_arg in_list[] = {{&mine, "abc"}}, twin_in_list[] = {{&twin, "abc"}},
                   two[] = {{&mine, "abc"}, {&mine, "abc"}};
    const kiln_args list = {in_list, 1}, twin_list = {twin_in_list, 1}, list_of_two = {two, 2};
    CHECK_TRUE(equal(with_args(ARGS({&kiln_list, &list})), with_args(ARGS({&kiln_list, &twin_list}))));
    CHECK_FALSE(
        equal(with_args(ARGS({&kiln_list, &list}, {&kiln_list, &list})), with_args(ARGS({&kiln_list, &list_of_two}))));
    CHECK_FALSE(equal(with_args(ARGS(I64(1), I64(2))), with_args(ARGS(I64(2), I64(1)))));
}

static kiln_status add(struct kiln_watches *watches, enum kiln_item kind, const char *module, const char *name,
                       const void *address, size_t size, kiln_var *var)
{
    return kiln__watches_add(watches, kind, module, name, address, size, var, NULL);
}

static enum kiln_keyed keyed = KILN_KEYED_ARGUMENTS;

static struct kiln_digest with_watches(const struct kiln_watches *watches)
{
    struct kiln_signature signature;
    struct kiln_watched watched[8];
    size_t count = 0;
    uint32_t at = 0;
    kiln__signature_init(&signature);
    kiln__watches_sign(watches, kiln__environment(), &signature);
    for (const struct kiln_watch *watch = watches->first; watch; watch = watch->next)
        watched[count++] = kiln__watched_read(watch, signature.words, &at);
    CHECK_EQ(at, signature.count);
    const kiln_request request = {
        .device = cpu(), .function = "f", .keyed = keyed, .watched = watched, .watched_count = count};
    struct kiln_content_key key;
    content(&request, "fake", "1", "abc", &key);
    kiln__content_release(&key);
    kiln__signature_release(&signature);
    return key.digest;
}

/* One watch: its digest. */
static struct kiln_digest with_watch(enum kiln_item kind, const char *module, const char *name, const void *address,
                                     size_t size, kiln_var *var)
{
    struct kiln_watches watches = {0};
    CHECK_STATUS(add(&watches, kind, module, name, address, size, var), KILN_OK);
    struct kiln_digest digest = with_watches(&watches);
    kiln__watches_release(&watches);
    return digest;
}

static void test_watches(void **state)
{
    (void)state;
    char one[2] = "1", two[2] = "2";
    kiln_var *var = NULL;
    CHECK_STATUS(kiln_var_new("KILN_TEST_X", "1", 2, &var, NULL), KILN_OK);
    setenv("KILN_TEST_X", "1", 1);
    struct kiln_digest base = with_watch(KILN_ITEM_MEMORY, "m", "x", one, 2, NULL);
    CHECK_TRUE(
        equal(base, with_watch(KILN_ITEM_MEMORY, "m", "x", (char[2]){"1"}, 2, NULL))); /* by value, not by address */
    CHECK_FALSE(equal(base, with_watch(KILN_ITEM_MEMORY, "m", "x", two, 2, NULL)));
    CHECK_FALSE(equal(base, with_watch(KILN_ITEM_MEMORY, "m", "y", one, 2, NULL)));
    CHECK_FALSE(equal(with_watch(KILN_ITEM_MEMORY, "a b", "c", one, 2, NULL),
                      with_watch(KILN_ITEM_MEMORY, "a", "b c", one, 2, NULL)));
    struct kiln_digest memory = with_watch(KILN_ITEM_MEMORY, "", "KILN_TEST_X", one, 2, NULL);
    struct kiln_digest environment = with_watch(KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_X", NULL, 0, NULL);
    struct kiln_digest variable = with_watch(KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var);
    CHECK_FALSE(equal(memory, environment)); /* same name and bytes, another kind */
    CHECK_FALSE(equal(environment, variable));
    CHECK_FALSE(equal(memory, variable));
    setenv("KILN_TEST_X", "", 1);
    struct kiln_digest empty = with_watch(KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_X", NULL, 0, NULL);
    unsetenv("KILN_TEST_X");
    CHECK_FALSE(equal(empty, with_watch(KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_X", NULL, 0, NULL)));
    kiln_var_free(var);
}

static void test_order_of_registration(void **state)
{
    (void)state;
    char a = 1, b = 2;
    struct kiln_watches ab = {0}, ba = {0};
    add(&ab, KILN_ITEM_MEMORY, "m", "a", &a, 1, NULL);
    add(&ab, KILN_ITEM_MEMORY, "m", "b", &b, 1, NULL);
    add(&ba, KILN_ITEM_MEMORY, "m", "b", &b, 1, NULL);
    add(&ba, KILN_ITEM_MEMORY, "m", "a", &a, 1, NULL);
    CHECK_TRUE(equal(with_watches(&ab), with_watches(&ba)));
    kiln__watches_release(&ab);
    kiln__watches_release(&ba);
}

static struct kiln_digest with_read(const char *module, const char *name, int value)
{
    kiln_request request = {.device = cpu(), .function = "f", .keyed = keyed};
    int out = 0;
    CHECK_STATUS(kiln_read(&request, module, name, &value, sizeof value, &out), KILN_OK);
    CHECK_EQ(out, value);
    struct kiln_content_key key;
    content(&request, "fake", "1", "abc", &key);
    kiln__content_release(&key);
    CHECK_TRUE(kiln__reads_hold(request.reads));
    value++;
    CHECK_FALSE(kiln__reads_hold(request.reads));
    kiln__reads_free(request.reads);
    return key.digest;
}

static void test_reads(void **state)
{
    (void)state;
    CHECK_TRUE(equal(with_read("m", "x", 1), with_read("m", "x", 1)));
    CHECK_FALSE(equal(with_read("m", "x", 1), with_read("m", "x", 2)));
    CHECK_FALSE(equal(with_read("a b", "c", 1), with_read("a", "b c", 1)));
    kiln_request request = {.device = cpu(), .function = "f"};
    int out;
    CHECK_STATUS(kiln_read(NULL, "m", "x", &out, 4, &out), KILN_INVALID);
    CHECK_STATUS(kiln_read(&request, NULL, "x", &out, 4, &out), KILN_INVALID);
    CHECK_STATUS(kiln_read(&request, "m", NULL, &out, 4, &out), KILN_INVALID);
    CHECK_STATUS(kiln_read(&request, "m", "x", NULL, 4, &out), KILN_INVALID);
    CHECK_STATUS(kiln_read(&request, "m", "x", &out, 4, NULL), KILN_INVALID);
    CHECK_NULL(request.reads);
}

/* lower() has printed what counts of them. */
static void test_values_of_a_lowered_function(void **state)
{
    (void)state;
    keyed = KILN_KEYED_TEXT;
    setenv("KILN_TEST_X", "1", 1);
    struct kiln_digest one = with_watch(KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_X", NULL, 0, NULL);
    unsetenv("KILN_TEST_X");
    CHECK_TRUE(equal(one, with_watch(KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_X", NULL, 0, NULL)));
    CHECK_TRUE(equal(one, with_watch(KILN_ITEM_MEMORY, "m", "x", "1", 2, NULL)));
    CHECK_TRUE(equal(one, with_read("m", "x", 2)));
    keyed = KILN_KEYED_ARGUMENTS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_fields_of_a_request),
        cmocka_unit_test(test_what_decides),
        cmocka_unit_test(test_arguments_by_type_name),
        cmocka_unit_test(test_watches),
        cmocka_unit_test(test_order_of_registration),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_values_of_a_lowered_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
