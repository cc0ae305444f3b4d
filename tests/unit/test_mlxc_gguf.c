/*
 * test_mlxc_gguf.c - GGUF files: values of every type, plain arrays and those in blocks, what we write, and what is no
 * such file.
 */
#include "support/one_file.h"

static int make_gguf_folder(void **state)
{
    int code = make_folder(state);
    snprintf(path, sizeof path, "%s/file.gguf", folder);
    return code || set_up(state);
}

/* ---- a file, byte by byte --------------------------------------------------------------------------------------- */

static unsigned char bytes[8192];
static size_t size;

static void add(const void *data, size_t count)
{
    CHECK_LE(size + count, sizeof bytes);
    if (count) memcpy(bytes + size, data, count);
    size += count;
}

static void add_u32(uint32_t number)
{
    add(&number, 4);
}

static void add_u64(uint64_t number)
{
    add(&number, 8);
}

static void add_text(const char *text)
{
    add_u64(strlen(text));
    add(text, strlen(text));
}

static void begin(uint64_t tensors, uint64_t values)
{
    size = 0;
    add("GGUF", 4);
    add_u32(3);
    add_u64(tensors);
    add_u64(values);
}

static void add_value(const char *name, uint32_t type, const void *data, size_t count)
{
    add_text(name);
    add_u32(type);
    add(data, count);
}

static void add_tensor(const char *name, uint32_t rows, uint32_t columns, uint32_t type, uint64_t offset)
{
    add_text(name);
    add_u32(2);
    add_u64(columns);
    add_u64(rows);
    add_u32(type);
    add_u64(offset);
}

static void pad(void)
{
    while (size % 32) add("", 1);
}

static void put_file(void)
{
    FILE *file = fopen(path, "wb");
    CHECK_NOT_NULL(file);
    CHECK_EQ(fwrite(bytes, 1, size, file), size);
    CHECK_EQ(fclose(file), 0);
}
#define put_file(...) CHECK_CALL(put_file, __VA_ARGS__)

static mlx_io_gguf load_file(void)
{
    mlx_io_gguf io = {NULL};
    put_file();
    expect_ok(mlx_load_gguf(&io, path, stream), "load");
    return io;
}
#define load_file(...) CHECK_CALL(load_file, __VA_ARGS__)

/* What tostring prints of an array, or of a value. */
static void expect_text(mlx_io_gguf io, const char *key, bool is_value, const char *expected)
{
    mlx_array array = mlx_array_new();
    mlx_string text = mlx_string_new();
    expect_ok(is_value ? mlx_io_gguf_get_metadata_array(&array, io, key) : mlx_io_gguf_get_array(&array, io, key), key);
    expect_ok(mlx_array_tostring(&text, array), key);
    CHECK_STR(mlx_string_data(text), expected);
    mlx_string_free(text), mlx_array_free(array);
}
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

static void test_values(void **state)
{
    static const struct {
        const char *name;
        uint32_t type;
        unsigned char data[8];
        size_t count;
        const char *text;
    } values[] = {
        {"u8", 0, {200}, 1, "array(200, dtype=uint8)"},
        {"i8", 1, {200}, 1, "array(-56, dtype=int8)"},
        {"u16", 2, {1, 255}, 2, "array(65281, dtype=uint16)"},
        {"i16", 3, {1, 255}, 2, "array(-255, dtype=int16)"},
        {"u32", 4, {255, 255, 255, 255}, 4, "array(4294967295, dtype=uint32)"},
        {"i32", 5, {254, 255, 255, 255}, 4, "array(-2, dtype=int32)"},
        {"f32", 6, {0, 0, 192, 63}, 4, "array(1.5, dtype=float32)"},
        {"bool", 7, {7}, 1, "array(true, dtype=bool)"},
        {"u64", 10, {0, 0, 0, 0, 1}, 8, "array(4294967296, dtype=uint64)"},
        {"i64", 11, {255, 255, 255, 255, 255, 255, 255, 255}, 8, "array(-1, dtype=int64)"},
        {"f64", 12, {0, 0, 0, 0, 0, 0, 4, 192}, 8, "array(-2.5, dtype=float64)"},
    };
    enum { VALUES = sizeof values / sizeof *values };
    bool is_array = false, is_text = true, is_list = true;
    (void)state;
    begin(0, VALUES + 4);
    for (size_t i = 0; i < VALUES; i++) add_value(values[i].name, values[i].type, values[i].data, values[i].count);
    add_value("text", 8, "", 0), add_text("two\nlines \xc3\xa9");
    add_value("list", 9, "", 0), add_u32(8), add_u64(2), add_text("one"), add_text("");
    add_value("numbers", 9, "", 0), add_u32(3), add_u64(2), add_u32(0xfffe0005);
    add_value("none", 9, "", 0), add_u32(12), add_u64(0);
    mlx_io_gguf io = load_file();
    for (size_t i = 0; i < VALUES; i++) expect_text(io, values[i].name, true, values[i].text);
    expect_text(io, "numbers", true, "array([5, -2], dtype=int16)");
    expect_text(io, "none", true, "array([], dtype=float64)");
    mlx_string text = mlx_string_new();
    expect_ok(mlx_io_gguf_get_metadata_string(&text, io, "text"), "a text");
    CHECK_STR(mlx_string_data(text), "two\nlines \xc3\xa9");
    mlx_vector_string list = {NULL};
    char *item;
    expect_ok(mlx_io_gguf_get_metadata_vector_string(&list, io, "list"), "a list");
    CHECK_EQ(mlx_vector_string_size(list), 2);
    expect_ok(mlx_vector_string_get(&item, list, 1), "an item");
    CHECK_STR(item, "");
    expect_ok(mlx_io_gguf_has_metadata_array(&is_array, io, "u8"), "has");
    expect_ok(mlx_io_gguf_has_metadata_string(&is_text, io, "u8"), "has");
    expect_ok(mlx_io_gguf_has_metadata_vector_string(&is_list, io, "nothing"), "has");
    CHECK_TRUE(is_array && !is_text && !is_list);
    CHECK_EQ(mlx_io_gguf_get_metadata_string(&text, io, "u8"), 1);
    CHECK_CONTAINS(error_text, "there is no value that is a text with the name \"u8\"");
    error_count = 0;
    mlx_string_free(text), mlx_vector_string_free(list), mlx_io_gguf_free(io);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static void test_plain(void **state)
{
    const float values[] = {1, 2, 3, 4, 5, 6};
    (void)state;
    begin(2, 1);
    add_value("general.alignment", 4, "\x40\0\0\0", 4);
    add_tensor("x", 2, 3, 0, 0);
    add_tensor("h", 1, 2, 1, 64);
    while (size % 64) add("", 1);
    add(values, sizeof values);
    while (size % 64) add("", 1);
    add("\0\x3c\0\xc0", 4);
    mlx_io_gguf io = load_file(), other = mlx_io_gguf_new();
    void *before = other.ctx;
    expect_ok(mlx_load_gguf(&other, path, stream), "into a container");
    CHECK_EQ(other.ctx, before);
    CHECK_EQ(unlink(path), 0); /* it is still open */
    expect_text(io, "x", false, "array([[1, 2, 3],\n       [4, 5, 6]], dtype=float32)");
    expect_text(other, "h", false, "array([[1, -2]], dtype=float16)");
    mlx_vector_string keys = {NULL};
    char *key;
    expect_ok(mlx_io_gguf_get_keys(&keys, io), "keys");
    CHECK_EQ(mlx_vector_string_size(keys), 2);
    expect_ok(mlx_vector_string_get(&key, keys, 1), "a key");
    CHECK_STR(key, "h");
    mlx_array array = mlx_array_new();
    CHECK_EQ(mlx_io_gguf_get_array(&array, io, "y"), 1);
    CHECK_CONTAINS(error_text, "there is no array \"y\"");
    error_count = 0;
    mlx_vector_string_free(keys), mlx_io_gguf_free(io), mlx_io_gguf_free(other);
}

/* One row of 32 elements, whose code i is i for blocks of 8 bits and i % 16 for those of 4; scale 0.5, bias 2. */
static void test_blocks(void **state)
{
    static const struct {
        uint32_t type;
        int bits;
        const char *biases;
        double first; /* element 0 */
    } types[] = {{2, 4, "array([[-4]], dtype=float16)", -4},
                 {3, 4, "array([[2]], dtype=float16)", 2},
                 {8, 8, "array([[-64]], dtype=float16)", 0}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        begin(1, 0);
        add_tensor("layer.weight", 1, 32, types[k].type, 0);
        pad();
        add("\0\x38", 2);
        if (types[k].type == 3) add("\0\x40", 2);
        for (unsigned char i = 0; i < (types[k].bits == 4 ? 16 : 32); i++) {
            const unsigned char byte = types[k].bits == 4 ? (unsigned char)(i | i << 4) : i;
            add(&byte, 1);
        }
        mlx_io_gguf io = load_file();
        mlx_array w = {0}, scales = {0}, biases = {0}, dequantized = {0};
        expect_ok(mlx_io_gguf_get_array(&w, io, "layer.weight"), "codes");
        expect_ok(mlx_io_gguf_get_array(&scales, io, "layer.scales"), "scales");
        expect_ok(mlx_io_gguf_get_array(&biases, io, "layer.biases"), "biases");
        CHECK_EQ(mlx_array_dtype(w), MLX_UINT32);
        CHECK_EQ(mlx_array_dim(w, 1), types[k].bits);
        expect_text(io, "layer.scales", false, "array([[0.5]], dtype=float16)");
        expect_text(io, "layer.biases", false, types[k].biases);
        const mlx_optional_int group = {32, true}, bits = {types[k].bits, true};
        expect_ok(mlx_dequantize(&dequantized, w, scales, biases, group, bits, "affine", (mlx_array){0},
                                 (mlx_optional_dtype){MLX_FLOAT16, false}, stream),
                  "dequantize");
        struct numbers got = read_array(dequantized);
        for (int i = 0; i < 32; i++) {
            int code = types[k].bits == 4 ? i % 16 : i;
            CHECK_EQ(to_double(get(&got, i)), types[k].first + 0.5 * code);
        }
        numbers_free(&got), mlx_io_gguf_free(io);
        mlx_array_free(w), mlx_array_free(scales), mlx_array_free(biases), mlx_array_free(dequantized);
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    static const mlx_dtype kept[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT64,
                                     MLX_INT8,    MLX_INT16,   MLX_INT32,    MLX_INT64};
    static const mlx_dtype values[] = {MLX_BOOL,  MLX_UINT8, MLX_UINT16, MLX_UINT32,  MLX_UINT64, MLX_INT8,
                                       MLX_INT16, MLX_INT32, MLX_INT64,  MLX_FLOAT32, MLX_FLOAT64};
    enum { KEPT = sizeof kept / sizeof *kept, VALUES = sizeof values / sizeof *values };
    const struct shape shapes[] = {{2, {3, 5}}, {1, {4}}, {0, {0}}, {3, {2, 0, 3}}};
    uint64_t random = 63;
    struct numbers arrays[KEPT], numbers[VALUES];
    mlx_io_gguf io = mlx_io_gguf_new(), read = {0};
    const char *texts[] = {"a", "", "\xc3\xa9\n\""};
    char key[32];
    (void)state;
    for (int i = 0; i < KEPT; i++) {
        arrays[i] = numbers_filled(kept[i], &shapes[i % 4], random_value, &random);
        mlx_array array = make_array(&arrays[i], i % LAYOUT_COUNT);
        snprintf(key, sizeof key, "array %d\n", i);
        expect_ok(mlx_io_gguf_set_array(io, key, array), "set");
        mlx_array_free(array);
    }
    for (int i = 0; i < VALUES; i++) {
        numbers[i] = numbers_filled(values[i], &shapes[1 + i % 2], random_value, &random);
        mlx_array array = make_array(&numbers[i], PACKED);
        snprintf(key, sizeof key, "value %d", i);
        expect_ok(mlx_io_gguf_set_metadata_array(io, key, array), "set");
        mlx_array_free(array);
    }
    mlx_vector_string list = mlx_vector_string_new_data(texts, 3);
    expect_ok(mlx_io_gguf_set_metadata_string(io, "list", "replaced"), "set");
    expect_ok(mlx_io_gguf_set_metadata_vector_string(io, "list", list), "set");
    expect_ok(mlx_io_gguf_set_metadata_string(io, "text", "of any\nkind"), "set");
    for (int round = 0; round < 2; round++) { /* the second time over the file that it comes from */
        expect_ok(mlx_save_gguf(path, round ? read : io), "save");
        expect_ok(mlx_load_gguf(&read, path, stream), "load");
    }
    for (int i = 0; i < KEPT + VALUES; i++) {
        mlx_array array = mlx_array_new();
        struct numbers *want = i < KEPT ? &arrays[i] : &numbers[i - KEPT];
        snprintf(key, sizeof key, i < KEPT ? "array %d\n" : "value %d", i < KEPT ? i : i - KEPT);
        expect_ok(i < KEPT ? mlx_io_gguf_get_array(&array, read, key)
                           : mlx_io_gguf_get_metadata_array(&array, read, key),
                  key);
        struct numbers got = read_array(array);
        expect_same_bits(&got, want, key);
        numbers_free(&got), numbers_free(want), mlx_array_free(array);
    }
    mlx_string text = mlx_string_new();
    expect_ok(mlx_io_gguf_get_metadata_string(&text, read, "text"), "text");
    CHECK_STR(mlx_string_data(text), "of any\nkind");
    CHECK_EQ(mlx_io_gguf_get_metadata_string(&text, read, "list"), 1);
    error_count = 0;
    mlx_vector_string_free(list), list.ctx = NULL;
    expect_ok(mlx_io_gguf_get_metadata_vector_string(&list, read, "list"), "list");
    CHECK_EQ(mlx_vector_string_size(list), 3);
    mlx_vector_string_free(list), mlx_string_free(text), mlx_io_gguf_free(io), mlx_io_gguf_free(read);
}

static void expect_unsaved(mlx_io_gguf io, const char *part)
{
    CHECK_EQ(mlx_save_gguf(path, io), 1);
    CHECK_CONTAINS(error_text, part);
    CHECK_EQ(error_count, 1);
    error_count = 0;
    mlx_io_gguf_free(io);
}
#define expect_unsaved(...) CHECK_CALL(expect_unsaved, __VA_ARGS__)

static void test_unsaved(void **state)
{
    const int shape[] = {1, 1, 1, 1, 1};
    const float value = 1;
    mlx_array word = mlx_array_new_data(&value, shape, 1, MLX_UINT32),
              deep = mlx_array_new_data(&value, shape, 5, MLX_FLOAT32),
              half = mlx_array_new_data(&value, shape, 0, MLX_FLOAT16);
    mlx_io_gguf io = mlx_io_gguf_new();
    (void)state;
    mlx_io_gguf_set_array(io, "w", word);
    expect_unsaved(io, "the array \"w\" is uint32");
    io = mlx_io_gguf_new();
    mlx_io_gguf_set_array(io, "d", deep);
    expect_unsaved(io, "has 5 axes: the format has 4");
    io = mlx_io_gguf_new();
    mlx_io_gguf_set_metadata_array(io, "d", deep);
    expect_unsaved(io, "the value \"d\" has 5 axes");
    io = mlx_io_gguf_new();
    mlx_io_gguf_set_metadata_array(io, "h", half);
    expect_unsaved(io, "the value \"h\" is float16");
    io = mlx_io_gguf_new();
    mlx_io_gguf_set_metadata_string(io, "general.alignment", "7");
    expect_unsaved(io, "general.alignment");
    mlx_array_free(word), mlx_array_free(deep), mlx_array_free(half);
}

/* ---- malformed files ----------------------------------------------------------------------------------------------
 */

static void expect_refused(const char *part)
{
    mlx_io_gguf io = {NULL};
    put_file();
    CHECK_EQ(mlx_load_gguf(&io, path, stream), 1);
    CHECK_CONTAINS(error_text, part);
    CHECK_EQ(error_count, 1);
    CHECK_NULL(io.ctx);
    error_count = 0;
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void test_malformed(void **state)
{
    (void)state;
    size = 0, add("GGML", 4);
    expect_refused("at byte 0: expected \"GGUF\"");
    begin(0, 0), bytes[4] = 1;
    expect_refused("at byte 4: expected version 2 or 3");
    begin(0, 0), memcpy(bytes + 4, "\0\0\0\3", 4);
    expect_refused("may be a big-endian file");
    begin(1ull << 60, 0);
    expect_refused("at byte 8: 1152921504606846976 of something do not fit");
    begin(0, 1), add_u64(1000), add("some text", 9);
    expect_refused("at byte 24: 1000 of something do not fit");
    begin(0, 1), add_value("a\0b", 0, "1", 1);
    bytes[24] = 3, memmove(bytes + 35, bytes + 33, 5), memcpy(bytes + 32, "a\0b", 3), size += 2;
    expect_refused("at byte 24: expected a text without NUL");
    begin(0, 1), add_value("a", 99, "12345678", 8);
    expect_refused("at byte 33: expected a type of values");
    begin(0, 1), add_value("a", 9, "", 0), add_u32(9), add_u64(0);
    expect_refused("at byte 37: expected a list of numbers or of texts");
    begin(0, 2), add_value("a", 0, "1", 1), add_value("a", 0, "1", 1);
    expect_refused("at byte 38 the name \"a\" appears again");
    begin(0, 1), add_value("general.alignment", 4, "\3\0\0\0", 4);
    expect_refused("at byte 24: expected general.alignment to be a power of two");
    begin(1, 0), add_tensor("a", 2, 3, 12, 0);
    expect_refused("tensor \"a\" is of type 12; known are F32");
    begin(1, 0), add_tensor("a", 2, 3, 0, 0), pad(), add(bytes, 23);
    expect_refused("at byte 24 tensor \"a\" of 24 bytes lies at 0 of 23 bytes of data");
    begin(1, 0), add_tensor("a", 2, 3, 0, UINT64_MAX - 3), pad(), add(bytes, 24);
    expect_refused("lies at 18446744073709551612 of 24");
    begin(1, 0), add_tensor("a", 1, 33, 2, 0), pad(), add(bytes, 64);
    expect_refused("has rows that are no whole blocks of 32");
    begin(2, 0), add_tensor("a.weight", 1, 32, 2, 0), add_tensor("a.scales", 1, 1, 0, 0), pad(), add(bytes, 64);
    expect_refused("the name \"a.scales\" appears again");
    begin(1, 0), add_tensor("a", 2147483648u, 3, 0, 0);
    expect_refused("expected a size of less than 2^31");
}

/* Every shorter file is refused, or has all of its bytes. */
static void test_cut_off(void **state)
{
    (void)state;
    begin(1, 2);
    add_value("a", 9, "", 0), add_u32(8), add_u64(1), add_text("text");
    add_value("b", 12, "12345678", 8);
    add_tensor("c.weight", 1, 32, 8, 0);
    pad();
    add(bytes, 34);
    mlx_io_gguf_free(load_file());
    for (size_t whole = size; size-- > 0 && whole;) {
        mlx_io_gguf io = {NULL};
        put_file();
        CHECK_EQ(mlx_load_gguf(&io, path, stream), 1);
        CHECK_CONTAINS(error_text, "at byte");
        error_count = 0;
    }
}

/* Between loading and evaluation. */
static void test_shrinks(void **state)
{
    mlx_array array = mlx_array_new();
    (void)state;
    begin(1, 0), add_tensor("a", 2, 3, 0, 0), pad(), add(bytes, 24);
    mlx_io_gguf io = load_file();
    expect_ok(mlx_io_gguf_get_array(&array, io, "a"), "get");
    CHECK_EQ(truncate(path, (off_t)size - 1), 0);
    CHECK_EQ(mlx_array_eval(array), 1);
    CHECK_CONTAINS(error_text, "it has become shorter");
    error_count = 0;
    mlx_array_free(array), mlx_io_gguf_free(io);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_values, set_up),  cmocka_unit_test_setup(test_plain, set_up),
        cmocka_unit_test_setup(test_blocks, set_up),  cmocka_unit_test_setup(test_round_trip, set_up),
        cmocka_unit_test_setup(test_unsaved, set_up), cmocka_unit_test_setup(test_malformed, set_up),
        cmocka_unit_test_setup(test_cut_off, set_up), cmocka_unit_test_setup(test_shrinks, set_up),
    };
    return cmocka_run_group_tests(tests, make_gguf_folder, remove_folder);
}
