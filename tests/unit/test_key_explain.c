/*
 * test_key_explain.c - what kiln_why() says about two keys.
 */
#include "cache_support.h"

#include "key/dlpack.h"
#include "key/explain.h"
#include "key/options.h"

/* A head as the cache writes it: id, generation, device. */
static void begin(struct kiln_signature *signature, uint64_t device)
{
    kiln__signature_init(signature);
    kiln__signature_word(signature, 1);
    kiln__signature_word(signature, 0);
    kiln__signature_word(signature, device);
    kiln__options_sign(signature);
}

static void add(struct kiln_signature *signature, const kiln_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_int_equal(kiln__signature_argument(signature, &args[i], i, NULL), KILN_OK);
}

static void expect(struct kiln_signature *was, struct kiln_signature *is, const char *text)
{
    struct kiln_buffer out = {0};
    kiln__explain(was->words, was->count, is->words, is->count, &out);
    assert_string_equal((const char *)out.data, text);
    kiln__buffer_release(&out);
    kiln__signature_release(was);
    kiln__signature_release(is);
}

static void explain(const kiln_arg *was, size_t was_count, const kiln_arg *is, size_t is_count, const char *text)
{
    struct kiln_signature old, new;
    begin(&old, 1ull << 32);
    begin(&new, 1ull << 32);
    add(&old, was, was_count);
    add(&new, is, is_count);
    expect(&old, &new, text);
}

static void test_arguments(void **state)
{
    (void)state;
    double half = 0.5;
    explain(ARGS(I64(1)), ARGS(I64(1)), "nothing differs: the entry was dropped");
    explain(ARGS(I64(1), I64(2)), ARGS(I64(1), I64(17)), "argument 1: const_i64 was 0x2, is 0x11");
    explain(ARGS(I64(1)), ARGS({&kiln_const_f64, &half}), "argument 0: type was const_i64, is const_f64");
    explain(ARGS({&kiln_const_string, "a"}), ARGS({&kiln_const_string, "b"}), "argument 0: its const_string differs");
    explain(ARGS(I64(1)), ARGS(I64(1), I64(2)), "more arguments than before");
    explain(ARGS(I64(1), I64(2)), ARGS(I64(1)), "fewer arguments than before");
}

static void test_tensors(void **state)
{
    (void)state;
    int64_t shape[] = {4, 8}, other_shape[] = {4, 16}, strides[] = {1, 4};
    struct kiln_dltensor t = {.data = (void *)4096, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape};
    struct kiln_dltensor wide = t, turned = t, flat = t, narrow = t, elsewhere = t;
    wide.shape = other_shape;
    turned.strides = strides;
    flat.ndim = 1;
    narrow.dtype.bits = 16;
    narrow.data = (void *)4098;
    elsewhere.device.type = 2;
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &wide}),
            "argument 0: dim 1 was 8, is 16; argument 0: stride 0 was 8, is 16");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &turned}),
            "argument 0: stride 0 was 8, is 1; argument 0: stride 1 was 1, is 4");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &flat}), "argument 0: rank was 2, is 1");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &narrow}),
            "argument 0: dtype bits was 32, is 16; argument 0: alignment (log2) was 6, is 1");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &elsewhere}), "argument 0: device type was 1, is 2");
    explain(ARGS({&kiln_tensor_dynamic, &t}), ARGS({&kiln_tensor_dynamic, &turned}), "argument 0: layout class differs");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor_dynamic, &t}), "argument 0: type was tensor, is tensor_dynamic");
}

static void test_device(void **state)
{
    (void)state;
    struct kiln_signature was, is;
    begin(&was, 1ull << 32), begin(&is, 2ull << 32);
    expect(&was, &is, "another device");
    begin(&was, 1ull << 32), begin(&is, 1ull << 32 | 1);
    expect(&was, &is, "the device was reset");
    begin(&was, 1ull << 32), begin(&is, 1ull << 32);
    was.words[1] = 2ull << 32 | 9, is.words[1] = 7ull << 32 | 9;
    expect(&was, &is, "KILN_OPT_LEVEL was 2, is 3; KILN_FAST_MATH was 0, is 1");
}

/* Options stand before the arguments, and must not shift their numbers. */
static void test_options(void **state)
{
    (void)state;
    struct kiln_signature was, is;
    begin(&was, 0);
    add(&was, ARGS(I64(1)));
    kiln_option_push("unroll", "4");
    begin(&is, 0);
    add(&is, ARGS(I64(1)));
    expect(&was, &is, "more pushed options than before");
    begin(&was, 0);
    add(&was, ARGS(I64(1)));
    begin(&is, 0);
    add(&is, ARGS(I64(2)));
    expect(&was, &is, "argument 0: const_i64 was 0x1, is 0x2");
    begin(&was, 0);
    add(&was, ARGS(I64(1)));
    kiln_option_pop();
    kiln_option_push("unroll", "8");
    begin(&is, 0);
    add(&is, ARGS(I64(1)));
    expect(&was, &is, "a pushed option has another value");
    kiln_option_pop();
}

static void test_watches(void **state)
{
    (void)state;
    static const struct {
        enum kiln_item tag;
        const char *text;
    } rows[] = {
        {KILN_ITEM_MEMORY, "a watched variable has another value"},
        {KILN_ITEM_ENVIRONMENT, "a watched environment variable has another value"},
        {KILN_ITEM_VARIABLE, "a watched kiln_var has another value"},
        {KILN_ITEM_DEPENDENCY, "a function it depends on was redefined"},
    };
    struct kiln_signature was, is;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(&was, 0), begin(&is, 0);
        add(&was, ARGS(I64(1)));
        add(&is, ARGS(I64(1)));
        kiln__signature_bytes(&was, rows[i].tag, 0, "a", 1);
        kiln__signature_bytes(&is, rows[i].tag, 0, "b", 1);
        expect(&was, &is, rows[i].text);
    }
    begin(&was, 0), begin(&is, 0);
    kiln__signature_bytes(&is, KILN_ITEM_MEMORY, 0, "b", 1);
    expect(&was, &is, "more watches than before");
    begin(&was, 0), begin(&is, 0);
    kiln__signature_bytes(&was, KILN_ITEM_MEMORY, 0, "b", 1);
    kiln__signature_bytes(&is, KILN_ITEM_VARIABLE, 0, "b", 1);
    expect(&was, &is, "item 0 is of another kind");
}

/* Arrays of the engine: info holds dtype and rank, dims stand two to a word. */
static void test_arrays(void **state)
{
    (void)state;
    struct kiln_signature was, is;
    const int32_t dims[] = {4, 8}, other[] = {4, 9};
    uint64_t word;
    for (int row = 0; row < 3; row++) {
        begin(&was, 0), begin(&is, 0);
        kiln__signature_word(&was, kiln__item(KILN_ITEM_ARRAY, 5u << 8 | 2, 1));
        memcpy(&word, dims, sizeof word);
        kiln__signature_word(&was, word);
        kiln__signature_word(&is, kiln__item(KILN_ITEM_ARRAY, (row == 1 ? 6u : 5u) << 8 | (row == 2 ? 1 : 2), 1));
        memcpy(&word, row == 0 ? other : dims, sizeof word);
        kiln__signature_word(&is, word);
        expect(&was, &is, row == 0 ? "input 0: dim 1 was 8, is 9" : row == 1 ? "input 0: dtype was 5, is 6" : "input 0: rank was 2, is 1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_tensors), cmocka_unit_test(test_device),
        cmocka_unit_test(test_options),   cmocka_unit_test(test_watches), cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
