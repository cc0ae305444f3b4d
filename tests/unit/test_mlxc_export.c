/*
 * test_mlxc_export.c - functions in files: what comes back computes the same bits, for other sizes too where they are
 * shapeless, plainly and compiled; and what is no such file is refused.
 */
#include "support/one_file.h"

static int make_function_folder(void **state)
{
    int code = make_folder(state);
    snprintf(path, sizeof path, "%s/function", folder);
    return code || set_up(state);
}

static int calls;

/* softmax(x @ w) * 2 + x, with w captured. */
static int layer(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = {0}, two = mlx_array_new_float(2), w = *(mlx_array *)payload;
    calls++;
    int code = mlx_vector_array_get(&x, in, 0);
    mlx_array y = {0};
    if (!code) code = mlx_matmul(&y, x, w, stream) || mlx_softmax_axis(&y, y, -1, false, stream);
    if (!code) code = mlx_multiply(&y, y, two, stream) || mlx_add(&y, y, x, stream);
    if (!code) code = mlx_vector_array_set_value(res, y);
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(two);
    return code;
}

static mlx_array random_array(int rows, int columns)
{
    static uint64_t random = 64;
    struct numbers numbers = numbers_new(MLX_FLOAT32, &(struct shape){2, {rows, columns}});
    for (int i = 0; i < numbers.size; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        ((float *)(void *)numbers.data)[i] = (float)(int32_t)(random >> 32) / 2e9f;
    }
    mlx_array array = packed_array(&numbers);
    numbers_free(&numbers);
    return array;
}

/* What a function of one array gives; `code` must be 0. */
static struct numbers only_output(int code, mlx_vector_array out)
{
    mlx_array array = {0};
    expect_ok(code, "apply");
    CHECK_EQ(mlx_vector_array_size(out), 1);
    expect_ok(mlx_vector_array_get(&array, out, 0), "get");
    struct numbers got = read_array(array);
    mlx_array_free(array), mlx_vector_array_free(out);
    return got;
}
#define only_output(...) CHECK_CALL(only_output, __VA_ARGS__)

static void expect_same(mlx_closure closure, mlx_imported_function imported, mlx_array x, const char *what)
{
    mlx_vector_array in = mlx_vector_array_new_value(x), out = {0}, again = {0};
    int code = mlx_closure_apply(&out, closure, in);
    struct numbers want = only_output(code, out);
    code = mlx_imported_function_apply(&again, imported, in);
    struct numbers got = only_output(code, again);
    expect_same_bits(&got, &want, what);
    numbers_free(&got), numbers_free(&want), mlx_vector_array_free(in);
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

static void test_plain(void **state)
{
    mlx_array x = random_array(3, 8), w = random_array(8, 8), other = random_array(4, 8);
    mlx_closure closure = mlx_closure_new_func_payload(layer, &w, NULL), compiled = {0};
    mlx_vector_array in = mlx_vector_array_new_value(x), bad = mlx_vector_array_new_value(other), out = {0};
    (void)state;
    expect_ok(mlx_compile(&compiled, closure, false), "compile");
    for (int is_compiled = 0; is_compiled < 2; is_compiled++) {
        calls = 0;
        expect_ok(mlx_export_function(path, is_compiled ? compiled : closure, in, false), "export");
        CHECK_EQ(calls, 1);
        mlx_imported_function imported = mlx_imported_function_new(path);
        CHECK_NOT_NULL(imported.ctx);
        CHECK_EQ(unlink(path), 0); /* all of it was read */
        expect_same(closure, imported, x, "a plain function");
        CHECK_EQ(mlx_imported_function_apply(&out, imported, bad), 1);
        CHECK_CONTAINS(error_text, "no function of the file takes (float32 (4,8)); there are (float32 (3,8))");
        error_count = 0;
        mlx_imported_function_free(imported);
    }
    CHECK_NULL(out.ctx);
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(other);
    mlx_closure_free(closure), mlx_closure_free(compiled), mlx_vector_array_free(in), mlx_vector_array_free(bad);
}

static int call_imported(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    return mlx_imported_function_apply(res, *(mlx_imported_function *)payload, in);
}

static void test_shapeless(void **state)
{
    mlx_array w = random_array(8, 8);
    mlx_closure closure = mlx_closure_new_func_payload(layer, &w, NULL);
    mlx_array first = random_array(3, 8);
    mlx_vector_array in = mlx_vector_array_new_value(first);
    (void)state;
    expect_ok(mlx_export_function(path, closure, in, true), "export");
    mlx_imported_function imported = mlx_imported_function_new(path);
    mlx_closure plain = mlx_closure_new_func_payload(call_imported, &imported, NULL), compiled = {0}, shapeless = {0};
    expect_ok(mlx_compile(&compiled, plain, false), "compile");
    expect_ok(mlx_compile(&shapeless, plain, true), "compile");
    for (int rows = 1; rows < 40; rows += 13) {
        mlx_array x = random_array(rows, 8);
        expect_same(closure, imported, x, "other sizes");
        mlx_vector_array other = mlx_vector_array_new_value(x), outs[3] = {{0}};
        struct numbers want = only_output(mlx_closure_apply(&outs[0], closure, other), outs[0]);
        int code = mlx_closure_apply(&outs[1], compiled, other);
        struct numbers got = only_output(code, outs[1]);
        expect_same_bits(&got, &want, "compiled");
        numbers_free(&got);
        code = mlx_closure_apply(&outs[2], shapeless, other);
        got = only_output(code, outs[2]);
        expect_same_bits(&got, &want, "compiled, shapeless");
        numbers_free(&got), numbers_free(&want), mlx_array_free(x), mlx_vector_array_free(other);
    }
    mlx_imported_function_free(imported);
    mlx_closure_free(closure), mlx_closure_free(plain), mlx_closure_free(compiled), mlx_closure_free(shapeless);
    mlx_array_free(w), mlx_array_free(first), mlx_vector_array_free(in);
}

/* What only a record can apply again: attention, of no fixed sizes and of fixed ones. */
static int attend(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = {0}, y = {0}, parts[3] = {{0}};
    const int shape[] = {1, 2, -1, 4};
    int code = mlx_vector_array_get(&x, in, 0);
    for (int i = 0; i < 3 && !code; i++) {
        mlx_array factor = mlx_array_new_float((float)i + 1);
        code = mlx_multiply(&parts[i], x, factor, stream) || mlx_reshape(&parts[i], parts[i], shape, 4, stream);
        mlx_array_free(factor);
    }
    if (!code)
        code = mlx_fast_scaled_dot_product_attention(&y, parts[0], parts[1], parts[2], 0.5f, "causal", (mlx_array){0},
                                                     (mlx_array){0}, false, stream) ||
               mlx_flatten(&y, y, 0, -1, stream) || mlx_fast_rms_norm(&y, y, (mlx_array){0}, 1e-5f, stream) ||
               mlx_vector_array_set_value(res, y);
    for (int i = 0; i < 3; i++) mlx_array_free(parts[i]);
    mlx_array_free(x), mlx_array_free(y);
    return code;
}

static void test_attention(void **state)
{
    mlx_closure closure = mlx_closure_new_func(attend);
    (void)state;
    for (int is_shapeless = 0; is_shapeless < 2; is_shapeless++) {
        mlx_array x = random_array(4, 8), y = random_array(8, 8);
        mlx_vector_array in = mlx_vector_array_new_value(x);
        expect_ok(mlx_export_function(path, closure, in, is_shapeless), "export");
        mlx_imported_function imported = mlx_imported_function_new(path);
        expect_ok(0, "import");
        expect_same(closure, imported, x, "attention");
        if (is_shapeless) expect_same(closure, imported, y, "attention of other sizes");
        mlx_imported_function_free(imported);
        mlx_array_free(x), mlx_array_free(y), mlx_vector_array_free(in);
    }
    mlx_closure_free(closure);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* a - b, of which b is named. */
static int difference(mlx_vector_array *res, const mlx_vector_array in, const mlx_map_string_to_array named)
{
    mlx_array a = {0}, b = {0};
    int code = mlx_vector_array_get(&a, in, 0) || mlx_map_string_to_array_get(&b, named, "b") ||
               mlx_subtract(&a, a, b, stream) || mlx_vector_array_set_value(res, a);
    mlx_array_free(a), mlx_array_free(b);
    return code;
}

static int subtract_all(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array sum = {0}, next = {0};
    int code = mlx_vector_array_get(&sum, in, 0);
    for (size_t i = 1; i < mlx_vector_array_size(in) && !code; i++)
        code = mlx_vector_array_get(&next, in, i) || mlx_subtract(&sum, sum, next, stream);
    if (!code) code = mlx_vector_array_set_value(res, sum);
    mlx_array_free(sum), mlx_array_free(next);
    return code;
}

static void expect_number(int code, mlx_vector_array out, float number)
{
    struct numbers got = only_output(code, out);
    CHECK_EQ(*(float *)(void *)got.data, number);
    numbers_free(&got);
}
#define expect_number(...) CHECK_CALL(expect_number, __VA_ARGS__)

static void test_named(void **state)
{
    mlx_array seven = mlx_array_new_float(7), two = mlx_array_new_float(2);
    mlx_vector_array one = mlx_vector_array_new_value(seven), none = mlx_vector_array_new(), out = {0};
    mlx_map_string_to_array named = mlx_map_string_to_array_new(), wrong = mlx_map_string_to_array_new();
    mlx_closure_kwargs closure = mlx_closure_kwargs_new_func(difference);
    mlx_closure plain = mlx_closure_new_func(subtract_all);
    (void)state;
    mlx_map_string_to_array_insert(named, "b", two), mlx_map_string_to_array_insert(wrong, "c\n", two);
    expect_ok(mlx_export_function_kwargs(path, closure, one, named, false), "export");
    mlx_imported_function imported = mlx_imported_function_new(path);
    int code = mlx_imported_function_apply_kwargs(&out, imported, one, named);
    expect_number(code, out, 5);
    out.ctx = NULL;
    CHECK_EQ(mlx_imported_function_apply_kwargs(&out, imported, one, wrong), 1);
    CHECK_CONTAINS(error_text, "takes (float32 (), c\n=float32 ()); there are (float32 (), b=float32 ())");
    error_count = 0;
    CHECK_EQ(mlx_imported_function_apply(&out, imported, one), 1);
    error_count = 0;
    CHECK_EQ(mlx_export_function_kwargs(path, closure, one, wrong, false), 1); /* the callback fails: the file stays */
    CHECK_CONTAINS(error_text, "mlx_closure returned a non-zero value");
    CHECK_EQ(error_count, 1);
    error_count = 0;
    mlx_imported_function_free(imported);
    mlx_imported_function_free(mlx_imported_function_new(path));
    expect_ok(0, "the file of before");
    /* A function of listed arrays, called by name. */
    expect_ok(mlx_export_function(path, plain, one, false), "export");
    imported = mlx_imported_function_new(path);
    code = mlx_imported_function_apply_kwargs(&out, imported, none, named);
    expect_number(code, out, 2);
    mlx_imported_function_free(imported);
    /* ... and an exporter that is. */
    mlx_function_exporter exporter = mlx_function_exporter_new(path, plain, false);
    expect_ok(mlx_function_exporter_apply_kwargs(exporter, one, named), "apply");
    mlx_function_exporter_free(exporter);
    imported = mlx_imported_function_new(path);
    out.ctx = NULL;
    code = mlx_imported_function_apply_kwargs(&out, imported, one, named);
    expect_number(code, out, 5);
    mlx_imported_function_free(imported);
    mlx_closure_kwargs_free(closure), mlx_closure_free(plain), mlx_array_free(seven), mlx_array_free(two);
    mlx_vector_array_free(one), mlx_vector_array_free(none);
    mlx_map_string_to_array_free(named), mlx_map_string_to_array_free(wrong);
}

/* ---- several signatures ------------------------------------------------------------------------------------------ */

static long file_size(void)
{
    FILE *file = fopen(path, "rb");
    CHECK_NOT_NULL(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    return size;
}

static void test_signatures(void **state)
{
    mlx_array w = random_array(64, 64);
    mlx_closure closure = mlx_closure_new_func_payload(layer, &w, NULL);
    mlx_function_exporter exporter = mlx_function_exporter_new(path, closure, false);
    mlx_array x[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        x[i] = random_array(i + 1, 64);
        mlx_vector_array in = mlx_vector_array_new_value(x[i]);
        expect_ok(mlx_function_exporter_apply(exporter, in), "apply");
        CHECK_EQ(mlx_function_exporter_apply(exporter, in), 1);
        CHECK_CONTAINS(error_text, "was exported before");
        error_count = 0;
        mlx_imported_function imported = mlx_imported_function_new(path); /* complete each time */
        for (int k = 0; k <= i; k++) expect_same(closure, imported, x[k], "one of several");
        mlx_imported_function_free(imported);
        mlx_vector_array_free(in);
    }
    CHECK_BETWEEN(file_size(), 64 * 64 * 4, 2 * 64 * 64 * 4); /* w stands there once */
    mlx_function_exporter_free(exporter), mlx_closure_free(closure), mlx_array_free(w);
    for (int i = 0; i < 3; i++) mlx_array_free(x[i]);
}

/* ---- malformed files ----------------------------------------------------------------------------------------------
 */

static size_t read_bytes(unsigned char *bytes, size_t cap)
{
    FILE *file = fopen(path, "rb");
    CHECK_NOT_NULL(file);
    size_t size = fread(bytes, 1, cap, file);
    fclose(file);
    return size;
}

static void expect_damaged(const unsigned char *bytes, size_t size, const char *part)
{
    FILE *file = fopen(path, "wb");
    CHECK_EQ(fwrite(bytes, 1, size, file), size);
    fclose(file);
    CHECK_NULL(mlx_imported_function_new(path).ctx);
    CHECK_CONTAINS(error_text, part);
    CHECK_EQ(error_count, 1);
    error_count = 0;
}
#define expect_damaged(...) CHECK_CALL(expect_damaged, __VA_ARGS__)

static void test_damaged(void **state)
{
    static unsigned char bytes[4096];
    mlx_array x = random_array(1, 2), w = random_array(2, 2);
    mlx_closure closure = mlx_closure_new_func_payload(layer, &w, NULL);
    mlx_vector_array in = mlx_vector_array_new_value(x);
    (void)state;
    expect_ok(mlx_export_function(path, closure, in, false), "export");
    size_t size = read_bytes(bytes, sizeof bytes);
    CHECK_BETWEEN(size, 100, sizeof bytes - 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        expect_damaged(bytes, size, "at byte");
        bytes[i] ^= 0x10;
    }
    for (size_t i = 0; i < size; i += 7) expect_damaged(bytes, i, "at byte");
    expect_damaged(bytes, size + 1, "at byte 16 the file should have");
    bytes[8] = 2;
    expect_damaged(bytes, size, "at byte 8 stands version 2; this is version 1");
    CHECK_EQ(unlink(path), 0);
    CHECK_NULL(mlx_imported_function_new(path).ctx);
    CHECK_CONTAINS(error_text, "can't be opened");
    error_count = 0;
    CHECK_EQ(mlx_export_function("/no such folder/f", closure, in, false), 1);
    CHECK_CONTAINS(error_text, "[export_function] \"/no such folder/f\" can't be written");
    error_count = 0;
    mlx_array_free(x), mlx_array_free(w), mlx_closure_free(closure), mlx_vector_array_free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_plain, set_up),      cmocka_unit_test_setup(test_shapeless, set_up),
        cmocka_unit_test_setup(test_attention, set_up),  cmocka_unit_test_setup(test_named, set_up),
        cmocka_unit_test_setup(test_signatures, set_up), cmocka_unit_test_setup(test_damaged, set_up),
    };
    return cmocka_run_group_tests(tests, make_function_folder, remove_folder);
}
