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
    for (size_t i = 0; i < count; i++) CHECK_STATUS(kiln__signature_argument(signature, &args[i], i, NULL), KILN_OK);
}
#define add(...) CHECK_CALL(add, __VA_ARGS__)

static void expect(struct kiln_signature *was, struct kiln_signature *is, const char *text)
{
    struct kiln_buffer out = {0}, old = {0}, new = {0};
    CHECK_EQ(kiln__key_print(was->words, was->count, NULL, &old), was->count);
    CHECK_EQ(kiln__key_print(is->words, is->count, NULL, &new), is->count);
    kiln__explain(old.size ? (const char *)old.data : "", new.size ? (const char *)new.data : "", &out);
    CHECK_STR(out.size ? (const char *)out.data : "", text);
    kiln__buffer_release(&out);
    kiln__buffer_release(&old);
    kiln__buffer_release(&new);
    kiln__signature_release(was);
    kiln__signature_release(is);
}
#define expect(...) CHECK_CALL(expect, __VA_ARGS__)

static void explain(const kiln_arg *was, size_t was_count, const kiln_arg *is, size_t is_count, const char *text)
{
    struct kiln_signature old, new;
    begin(&old, 1ull << 32);
    begin(&new, 1ull << 32);
    add(&old, was, was_count);
    add(&new, is, is_count);
    expect(&old, &new, text);
}
#define explain(...) CHECK_CALL(explain, __VA_ARGS__)

static kiln_status sign_pair(kiln_signature *signature, const void *value)
{
    const double *pair = value;
    kiln_sign_f64(signature, pair[0]);
    kiln_sign_f64(signature, pair[1]);
    return KILN_OK;
}

static void test_arguments(void **state)
{
    (void)state;
    static const kiln_type pair_type = {"pair", sign_pair};
    double half = 0.5, minus_zero = -0.0, zero = 0, one_two[] = {1, 2}, one_three[] = {1, 3};
    bool yes = true, no = false;
    explain(ARGS(I64(1)), ARGS(I64(1)), "");
    explain(ARGS(I64(1), I64(2)), ARGS(I64(1), I64(-17)), "argument 1: const_i64 was 2, is -17");
    explain(ARGS(I64(1)), ARGS({&kiln_const_f64, &half}), "argument 0: type was const_i64, is const_f64");
    explain(ARGS({&kiln_const_f64, &zero}), ARGS({&kiln_const_f64, &minus_zero}), "argument 0: const_f64 was 0, is -0");
    explain(ARGS({&kiln_const_bool, &no}), ARGS({&kiln_const_bool, &yes}), "argument 0: const_bool was false, is true");
    explain(ARGS({&kiln_const_string, "a"}), ARGS({&kiln_const_string, "b\tc"}),
            "argument 0: const_string was a, is \"b\\x09c\"");
    explain(ARGS({&kiln_const_bytes, &((kiln_bytes){"ab", 2})}), ARGS({&kiln_const_bytes, &((kiln_bytes){"ac", 2})}),
            "argument 0: const_bytes was 6162, is 6163");
    explain(ARGS({&pair_type, one_two}), ARGS({&pair_type, one_three}), "argument 0: pair[1] was 2, is 3");
    explain(ARGS(I64(1)), ARGS(I64(1), I64(2)), "number of arguments was 1, is 2");
    explain(ARGS(I64(1), I64(2)), ARGS(I64(1)), "number of arguments was 2, is 1");
    char longest[2][101];
    memset(longest, 'x', sizeof longest);
    longest[0][100] = longest[1][100] = '\0';
    longest[1][99] = 'y'; /* beyond what is shown: the hash tells */
    struct kiln_signature was, is;
    struct kiln_buffer old = {0}, new = {0}, out = {0};
    begin(&was, 0), begin(&is, 0);
    add(&was, ARGS({&kiln_const_string, longest[0]}));
    add(&is, ARGS({&kiln_const_string, longest[1]}));
    kiln__key_print(was.words, was.count, NULL, &old);
    kiln__key_print(is.words, is.count, NULL, &new);
    kiln__explain((char *)old.data, (char *)new.data, &out);
    CHECK_CONTAINS((char *)out.data, "xxx\"... (100 bytes, hash ");
    kiln__buffer_release(&old), kiln__buffer_release(&new), kiln__buffer_release(&out);
}

static void test_lists(void **state)
{
    (void)state;
    const kiln_arg one[] = {I64(1), I64(2)}, two[] = {I64(1), I64(3)};
    const kiln_args short_list = {one, 1}, list = {one, 2}, other = {two, 2};
    const kiln_arg nested = {&kiln_list, &list}, nested_other = {&kiln_list, &other};
    const kiln_args outer = {&nested, 1}, outer_other = {&nested_other, 1};
    explain(ARGS({&kiln_list, &list}), ARGS({&kiln_list, &other}), "argument 0: item 1: const_i64 was 2, is 3");
    explain(ARGS({&kiln_list, &short_list}), ARGS({&kiln_list, &list}), "argument 0: number of items was 1, is 2");
    explain(ARGS({&kiln_list, &outer}), ARGS({&kiln_list, &outer_other}),
            "argument 0: item 0: item 1: const_i64 was 2, is 3");
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
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &flat}),
            "argument 0: rank was 2, is 1; argument 0: stride 0 was 8, is 1");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &narrow}),
            "argument 0: dtype was float32, is float16; argument 0: alignment was 64, is 2");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor, &elsewhere}), "argument 0: device type was 1, is 2");
    explain(ARGS({&kiln_tensor_dynamic, &t}), ARGS({&kiln_tensor_dynamic, &turned}),
            "argument 0: stride 0 was packed, is 1; argument 0: stride 1 was 1, is any");
    const kiln_rule fixed[] = {{KILN_STATIC, 0}, {KILN_STATIC, 0}},
                    free_rows[] = {{KILN_DYNAMIC, 0}, {KILN_DIVISIBLE, 8}};
    const kiln_tensor_spec all = {&t, fixed, NULL, 2}, some = {&t, free_rows, NULL, 2},
                           odd = {&turned, free_rows, free_rows, 2};
    explain(ARGS({&kiln_tensor_ruled, &all}), ARGS({&kiln_tensor_ruled, &some}),
            "argument 0: dim 0 was 4, is dynamic; argument 0: dim 1 was 8, is divisible by 8");
    explain(ARGS({&kiln_tensor_ruled, &some}), ARGS({&kiln_tensor_ruled, &odd}),
            "argument 0: stride 0 was 8, is dynamic; argument 0: stride 1 was 1, is not divisible by 8");
    explain(ARGS({&kiln_tensor, &t}), ARGS({&kiln_tensor_dynamic, &t}),
            "argument 0: type was tensor, is tensor_dynamic; argument 0: stride 0 was 8, is packed");
}

static void test_device(void **state)
{
    (void)state;
    struct kiln_signature was, is;
    kiln_device *first = NULL, *second = NULL;
    CHECK_STATUS(kiln_device_find("cpu:x86-64", &first, NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:x86-64#1", &second, NULL), KILN_OK);
    begin(&was, (uint64_t)first->id << 32), begin(&is, (uint64_t)second->id << 32);
    expect(&was, &is, "device was cpu:x86-64, is cpu:x86-64#1");
    begin(&was, (uint64_t)first->id << 32), begin(&is, (uint64_t)first->id << 32 | 1);
    expect(&was, &is, "resets of the device was 0, is 1");
}

/* Those of the environment stand above the generation, in the second word. */
static void test_options_of_the_environment(void **state)
{
    (void)state;
    struct kiln_signature was, is;
    begin(&was, 1ull << 32), begin(&is, 1ull << 32);
    was.words[1] |= 2ull << 32;
    is.words[1] |= 7ull << 32;
    expect(&was, &is, "KILN_OPT_LEVEL was 2 or unset, is 3; KILN_FAST_MATH was unset or 0, is 1");
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
    expect(&was, &is, "option unroll was not there, is 4");
    begin(&was, 0);
    add(&was, ARGS(I64(1)));
    begin(&is, 0);
    add(&is, ARGS(I64(2)));
    expect(&was, &is, "argument 0: const_i64 was 1, is 2");
    begin(&was, 0);
    add(&was, ARGS(I64(1)));
    kiln_option_pop();
    begin(&is, 0);
    add(&is, ARGS(I64(2)));
    expect(&was, &is, "argument 0: const_i64 was 1, is 2; option unroll was 4, is not there");
    kiln_option_push("unroll", "4");
    begin(&was, 0);
    add(&was, ARGS(I64(1)));
    kiln_option_pop();
    kiln_option_push("unroll", "8");
    begin(&is, 0);
    add(&is, ARGS(I64(1)));
    expect(&was, &is, "option unroll was 4, is 8");
    kiln_option_pop();
}

static void compare_values(const struct kiln_watched *was, const struct kiln_watched *is, const char *text)
{
    struct kiln_buffer old = {0}, new = {0}, out = {0};
    kiln__watched_print(was, &old);
    kiln__watched_print(is, &new);
    kiln__explain((char *)old.data, (char *)new.data, &out);
    CHECK_STR((char *)out.data, text);
    kiln__buffer_release(&old), kiln__buffer_release(&new), kiln__buffer_release(&out);
}
#define compare_values(...) CHECK_CALL(compare_values, __VA_ARGS__)

static void test_watches(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    kiln_var *var = NULL;
    int32_t one = 1, two = 2;
    int64_t wide = -5, wider = 6;
    CHECK_STATUS(kiln_var_new("tile", "8", 1, &var, NULL), KILN_OK);
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m.c", "scale", &one, 4, NULL, NULL), KILN_OK);
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_E", NULL, 0, NULL, NULL), KILN_OK);
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, NULL), KILN_OK);
    struct kiln_watch *memory = watches.first, *environment = memory->next, *variable = environment->next;
    compare_values(&(struct kiln_watched){memory, &one, 4}, &(struct kiln_watched){memory, &two, 4},
                   "m.c: scale was 1, is 2");
    compare_values(&(struct kiln_watched){memory, &wide, 8}, &(struct kiln_watched){memory, &wider, 8},
                   "m.c: scale was -5, is 6");
    compare_values(&(struct kiln_watched){memory, "ab", 3}, &(struct kiln_watched){memory, "cb", 3},
                   "m.c: scale was 616200, is 636200");
    compare_values(&(struct kiln_watched){environment, NULL, 0}, &(struct kiln_watched){environment, "1", 2},
                   "KILN_TEST_E was unset, is 1");
    compare_values(&(struct kiln_watched){environment, "", 1}, &(struct kiln_watched){environment, "unset", 6},
                   "KILN_TEST_E was \"\", is \"unset\"");
    compare_values(&(struct kiln_watched){variable, "8", 1}, &(struct kiln_watched){variable, "16", 2},
                   "variable tile was 38, is 3136");
    kiln__watches_release(&watches);
    kiln_var_free(var);
}

static void test_callees(void **state)
{
    (void)state;
    struct kiln_buffer old = {0}, new = {0}, out = {0};
    kiln__callee_print("g", 1, &old);
    kiln__callee_print("g", 2, &new);
    kiln__explain((char *)old.data, (char *)new.data, &out);
    CHECK_STR((char *)out.data, "function g, which it uses, changed");
    kiln__buffer_release(&old), kiln__buffer_release(&new), kiln__buffer_release(&out);
}

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *was, *is, *text;
    } rows[] = {
        {"", "", ""},
        {"a\nb\n", "a\nb\n", ""},
        {"a\nb\nc", "a\nx\nc", "line 2 was \"b\", is \"x\""},
        {"a\n", "a\nb", "line 2 was \"\", is \"b\""},
        {"a\nb", "a", "line 2 was \"b\", is \"\""},
        {"", "a", "line 1 was \"\", is \"a\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_buffer out = {0};
        kiln__explain_lines((kiln_bytes){rows[i].was, strlen(rows[i].was)},
                            (kiln_bytes){rows[i].is, strlen(rows[i].is)}, &out);
        CHECK_STR(out.size ? (char *)out.data : "", rows[i].text);
        kiln__buffer_release(&out);
    }
}

/* Fields of content keys: variables under their names, whatever the encoding needs to keep them apart. */
static void test_fields(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        size_t size;
        const char *text;
    } rows[] = {
        {"target", "x86-64-v3", 9, "target\tx86-64-v3\n"},
        {"watch 3 m.c scale", "\1\0\0\0", 4, "m.c: scale\t1\n"},
        {"read 0  x", "ab", 2, "x\t6162\n"},
        {"environment A", "", 0, "A\tunset\n"},
        {"environment A", "on", 3, "A\ton\n"},
        {"variable tile", "8", 1, "variable tile\t38\n"},
        {"watch 99 m", "1", 1, "m: \t31\n"},
        {"file 0  /src/a.h", "", 0, "file /src/a.h\tabsent\n"},
        {"file 3 src a.h", "0123456789abcdef", 16, "file src/a.h\t0123456789ab\n"},
        {"depends watch 1 m scale", "=\1\0\0\0", 5, "m: scale\t1\n"},
        {"depends watch 1 m scale", "", 0, "m: scale\tnothing\n"},
        {"depends environment A", "=on", 4, "A\ton\n"},
        {"depends environment A", "", 0, "A\tunset\n"},
        {"depends file 0  a.h", "", 0, "file a.h\tabsent\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_buffer out = {0};
        kiln__field_print(&(struct kiln_field){rows[i].name, strlen(rows[i].name), {rows[i].value, rows[i].size}},
                          &out);
        CHECK_STR((char *)out.data, rows[i].text);
        kiln__buffer_release(&out);
    }
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
        expect(&was, &is,
               row == 0   ? "input 0: dim 1 was 8, is 9"
               : row == 1 ? "input 0: dtype was 5, is 6"
                          : "input 0: rank was 2, is 1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_tensors),   cmocka_unit_test(test_device),
        cmocka_unit_test(test_options),   cmocka_unit_test(test_options_of_the_environment),
        cmocka_unit_test(test_watches),   cmocka_unit_test(test_callees),
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_fields),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
