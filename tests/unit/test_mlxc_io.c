/*
 * test_mlxc_io.c - maps, closures with named arrays, and safetensors through files and through the caller's functions.
 */
#include "support/memory_io.h"
#include "support/one_file.h"

/* ---- maps
 * ------------------------------------------------------------------------------------------------------------ */

static void maps_keep_what_they_get(void **state)
{
    mlx_map_string_to_array map = mlx_map_string_to_array_new(), copy = {0}, none = {0};
    mlx_array value = mlx_array_new_float(1), other = mlx_array_new_float(2), got = mlx_array_new();
    char key[16];
    float number;
    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "key %d", i);
        expect_ok(mlx_map_string_to_array_insert(map, key, value), "insert");
    }
    expect_ok(mlx_map_string_to_array_insert(map, "key 7", other), "insert again");
    mlx_array_free(value), mlx_array_free(other);
    expect_ok(mlx_map_string_to_array_set(&copy, map), "set");
    mlx_map_string_to_array_free(map);
    expect_ok(mlx_map_string_to_array_get(&got, copy, "key 7"), "get");
    expect_ok(mlx_array_item_float32(&number, got), "item");
    CHECK_EQ(number, 2);
    CHECK_EQ(mlx_map_string_to_array_get(&got, copy, "key 100"), 2);
    CHECK_EQ(error_count, 0);
    mlx_map_string_to_array_iterator it = mlx_map_string_to_array_iterator_new(copy);
    const char *name;
    int count = 0;
    while (!mlx_map_string_to_array_iterator_next(&name, &got, it)) {
        snprintf(key, sizeof key, "key %d", count++);
        CHECK_STR(name, key);
    }
    CHECK_EQ(count, 100);
    CHECK_EQ(mlx_map_string_to_array_iterator_next(&name, &got, it), 2);
    mlx_map_string_to_array_iterator_free(it);
    CHECK_EQ(mlx_map_string_to_array_get(&got, none, "key"), 1);
    CHECK_EQ(error_count, 1);
    mlx_map_string_to_array_free(copy), mlx_map_string_to_array_free(none), mlx_array_free(got);
}

static void maps_of_texts(void **state)
{
    mlx_map_string_to_string map = mlx_map_string_to_string_new();
    const char *key, *text = NULL;
    (void)state;
    expect_ok(mlx_map_string_to_string_insert(map, "a", "one"), "insert");
    expect_ok(mlx_map_string_to_string_insert(map, "b", "two"), "insert");
    expect_ok(mlx_map_string_to_string_insert(map, "a", "three"), "insert again");
    expect_ok(mlx_map_string_to_string_get(&text, map, "a"), "get");
    CHECK_STR(text, "three");
    CHECK_EQ(mlx_map_string_to_string_get(&text, map, "c"), 2);
    mlx_map_string_to_string_iterator it = mlx_map_string_to_string_iterator_new(map);
    CHECK_EQ(mlx_map_string_to_string_iterator_next(&key, &text, it), 0);
    CHECK_STR(key, "a");
    CHECK_EQ(mlx_map_string_to_string_iterator_next(&key, &text, it), 0);
    CHECK_STR(text, "two");
    CHECK_EQ(mlx_map_string_to_string_iterator_next(&key, &text, it), 2);
    mlx_map_string_to_string_iterator_free(it), mlx_map_string_to_string_free(map);
}

/* ---- closures
 * ---------------------------------------------------------------------------------------------------------- */

static int freed;

static void count_free(void *payload)
{
    (void)payload;
    freed++;
}

static int add_named(mlx_vector_array *res, const mlx_vector_array in, const mlx_map_string_to_array named,
                     void *payload)
{
    mlx_array a = mlx_array_new(), b = mlx_array_new();
    if (*(int *)payload) return 1;
    int code = mlx_vector_array_get(&a, in, 0) || mlx_map_string_to_array_get(&b, named, "b") ||
               mlx_add(&a, a, b, stream) || mlx_vector_array_set_value(res, a);
    mlx_array_free(a), mlx_array_free(b);
    return code;
}

static void closures_with_named_arrays(void **state)
{
    int fails = 0;
    float number;
    mlx_array one = mlx_array_new_float(1), got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(one), out = mlx_vector_array_new();
    mlx_map_string_to_array named = mlx_map_string_to_array_new();
    mlx_closure_kwargs closure = mlx_closure_kwargs_new_func_payload(add_named, &fails, count_free), other = {0};
    (void)state;
    expect_ok(mlx_map_string_to_array_insert(named, "b", one), "insert");
    expect_ok(mlx_closure_kwargs_set(&other, closure), "set");
    expect_ok(mlx_closure_kwargs_apply(&out, closure, in, named), "apply");
    expect_ok(mlx_vector_array_get(&got, out, 0), "get");
    expect_ok(mlx_array_item_float32(&number, got), "item");
    CHECK_EQ(number, 2);
    fails = 1;
    CHECK_EQ(mlx_closure_kwargs_apply(&out, other, in, named), 1);
    CHECK_CONTAINS(error_text, "mlx_closure returned a non-zero value");
    mlx_closure_kwargs_free(closure);
    CHECK_EQ(freed, 0);
    mlx_closure_kwargs_free(other);
    CHECK_EQ(freed, 1);
    mlx_array_free(one), mlx_array_free(got), mlx_vector_array_free(in), mlx_vector_array_free(out);
    mlx_map_string_to_array_free(named);
}

/* ---- files
 * ------------------------------------------------------------------------------------------------------------- */

/* Every dtype in several layouts, an empty array and a scalar; loaded lazily, after the maps are gone. */
static void files_hold_every_dtype(void **state)
{
    uint64_t random = 61;
    struct shape shapes[3] = {{2, {3, 5}}, {0, {0}}, {2, {0, 4}}};
    struct numbers saved[3 * DTYPE_COUNT];
    mlx_array loaded[3 * DTYPE_COUNT];
    mlx_map_string_to_array map = mlx_map_string_to_array_new(), read = {0};
    mlx_map_string_to_string texts = mlx_map_string_to_string_new(), read_texts = {0};
    const char *text;
    char key[32];
    (void)state;
    for (int i = 0; i < 3 * DTYPE_COUNT; i++) {
        saved[i] = numbers_filled(i % DTYPE_COUNT, &shapes[i / DTYPE_COUNT], random_value, &random);
        mlx_array a = make_array(&saved[i], i % LAYOUT_COUNT);
        snprintf(key, sizeof key, "tensor \"%d\"\\", i);
        expect_ok(mlx_map_string_to_array_insert(map, key, a), "insert");
        mlx_array_free(a);
    }
    mlx_map_string_to_string_insert(texts, "name", "line\n\"quoted\" \xc3\xa9");
    expect_ok(mlx_save_safetensors(path, map, texts), "save");
    mlx_map_string_to_array_free(map), mlx_map_string_to_string_free(texts);
    expect_ok(mlx_load_safetensors(&read, &read_texts, path, stream), "load");
    expect_ok(mlx_map_string_to_string_get(&text, read_texts, "name"), "get");
    CHECK_STR(text, "line\n\"quoted\" \xc3\xa9");
    for (int i = 0; i < 3 * DTYPE_COUNT; i++) {
        snprintf(key, sizeof key, "tensor \"%d\"\\", i);
        loaded[i] = mlx_array_new();
        expect_ok(mlx_map_string_to_array_get(&loaded[i], read, key), "get");
    }
    mlx_map_string_to_array_free(read), mlx_map_string_to_string_free(read_texts);
    for (int i = 0; i < 3 * DTYPE_COUNT; i++) {
        struct numbers got = read_array(loaded[i]);
        expect_same_bits(&got, &saved[i], "a loaded array");
        numbers_free(&got), numbers_free(&saved[i]), mlx_array_free(loaded[i]);
    }
}

static void write_file(const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK_NOT_NULL(file);
    CHECK_EQ(fwrite(data, 1, size, file), size);
    fclose(file);
}
#define write_file(...) CHECK_CALL(write_file, __VA_ARGS__)

static void expect_damaged(const void *data, size_t size, const char *what)
{
    mlx_map_string_to_array map = {0};
    mlx_map_string_to_string texts = {0};
    write_file(data, size);
    int code = mlx_load_safetensors(&map, &texts, path, stream);
    if (code != 1 || error_count != 1 || map.ctx || texts.ctx) CHECK_FAIL("%s was accepted: %s", what, error_text);
    error_count = 0;
}
#define expect_damaged(...) CHECK_CALL(expect_damaged, __VA_ARGS__)

static void expect_bad_header(const char *header)
{
    char data[1024] = {(char)strlen(header)};
    memcpy(data + 8, header, strlen(header));
    expect_damaged(data, 8 + strlen(header) + 8, header);
}
#define expect_bad_header(...) CHECK_CALL(expect_bad_header, __VA_ARGS__)

static void damaged_files_are_refused(void **state)
{
    static const char good[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    char data[8 + sizeof good + 8] = {(char)(sizeof good - 1)};
    mlx_map_string_to_array map = {0};
    mlx_map_string_to_string texts = {0};
    (void)state;
    memcpy(data + 8, good, sizeof good - 1);
    size_t whole = 8 + sizeof good - 1 + 8;
    write_file(data, whole);
    expect_ok(mlx_load_safetensors(&map, &texts, path, stream), "the whole file");
    mlx_map_string_to_array_free(map), mlx_map_string_to_string_free(texts);
    for (size_t size = 0; size < whole; size++) expect_damaged(data, size, "a file that is cut off");
    data[7] = (char)0xff;
    expect_damaged(data, whole, "a huge header");
    expect_bad_header("");
    expect_bad_header("[]");
    expect_bad_header("{\"a\":{}}");
    expect_bad_header("{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,16]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[18446744073709551608,0]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[2147483647,2147483647,2147483647],\"data_offsets\":[0,1]}}");
    expect_bad_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296],\"data_offsets\":[0,0]}}");
    expect_bad_header("{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
    expect_bad_header(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
        "\"data_offsets\":[0,1]}}");
    unlink(path);
    CHECK_EQ(mlx_load_safetensors(&map, &texts, path, stream), 1);
    CHECK_CONTAINS(error_text, "can't be opened");
}

/* A file that becomes shorter between loading and evaluation. */
static void files_that_shrink(void **state)
{
    float values[1000] = {0};
    int count = 1000;
    mlx_array a = mlx_array_new_data(values, &count, 1, MLX_FLOAT32), got = mlx_array_new();
    mlx_map_string_to_array map = mlx_map_string_to_array_new(), read = {0};
    mlx_map_string_to_string texts = mlx_map_string_to_string_new(), read_texts = {0};
    (void)state;
    mlx_map_string_to_array_insert(map, "a", a);
    expect_ok(mlx_save_safetensors(path, map, texts), "save");
    expect_ok(mlx_load_safetensors(&read, &read_texts, path, stream), "load");
    expect_ok(mlx_map_string_to_array_get(&got, read, "a"), "get");
    CHECK_EQ(truncate(path, 500), 0);
    CHECK_EQ(mlx_array_eval(got), 1);
    CHECK_CONTAINS(error_text, "shorter");
    mlx_array_free(a), mlx_array_free(got);
    mlx_map_string_to_array_free(map), mlx_map_string_to_array_free(read);
    mlx_map_string_to_string_free(texts), mlx_map_string_to_string_free(read_texts);
}

/* ---- the caller's functions
 * ---------------------------------------------------------------------------------------------- */

static void readers_and_writers(void **state)
{
    static struct memory memory;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"mlx\"},\"a\":{\"data_offsets\":[0,4],\"dtype\":\"F32\",\"shape\":"
        "[1]},\"b\":{\"data_offsets\":[4,8],\"dtype\":\"F32\",\"shape\":[1]}}";
    float one = 1, two = 2;
    int count = 1;
    mlx_array a = mlx_array_new_data(&one, &count, 1, MLX_FLOAT32),
              b = mlx_array_new_data(&two, &count, 1, MLX_FLOAT32);
    mlx_map_string_to_array map = mlx_map_string_to_array_new(), read = {0};
    mlx_map_string_to_string texts = mlx_map_string_to_string_new(), read_texts = {0};
    mlx_string label = mlx_string_new();
    (void)state;
    mlx_map_string_to_array_insert(map, "a", a), mlx_map_string_to_array_insert(map, "b", b);
    mlx_map_string_to_string_insert(texts, "format", "mlx");
    mlx_io_writer writer = mlx_io_writer_new(&memory, memory_table);
    expect_ok(mlx_save_safetensors_writer(writer, map, texts), "save");
    CHECK_STR(memory.calls, "open write8 write139 write4 write4 ");
    CHECK_EQ(memory.at, 155);
    CHECK_MEM(memory.data + 8, header, sizeof header - 1);
    mlx_io_writer_free(writer);
    CHECK_TRUE(memory.is_freed);

    memory.is_freed = false, memory.at = 0, memory.calls[0] = '\0';
    mlx_io_reader reader = mlx_io_reader_new(&memory, memory_table);
    expect_ok(mlx_io_reader_tostring(&label, reader), "label");
    CHECK_STR(mlx_string_data(label), "some memory");
    expect_ok(mlx_load_safetensors_reader(&read, &read_texts, reader, stream), "load");
    CHECK_STR(memory.calls, "open read8 seek tell seek read139 ");
    mlx_io_reader_free(reader);
    mlx_array_free(a), mlx_array_free(b);
    a = mlx_array_new(), b = mlx_array_new();
    expect_ok(mlx_map_string_to_array_get(&a, read, "a"), "get");
    expect_ok(mlx_map_string_to_array_get(&b, read, "b"), "get");
    mlx_map_string_to_array_free(read), mlx_map_string_to_string_free(read_texts);
    expect_ok(mlx_array_item_float32(&one, a), "item");
    CHECK_FALSE(memory.is_freed);
    expect_ok(mlx_array_item_float32(&two, b), "item");
    CHECK_TRUE(one == 1 && two == 2 && memory.is_freed);
    CHECK_STR(memory.calls, "open read8 seek tell seek read139 at4 at4 ");
    mlx_array_free(a), mlx_array_free(b), mlx_string_free(label);
    mlx_map_string_to_array_free(map), mlx_map_string_to_string_free(texts);
}

static void incomplete_tables(void **state)
{
    mlx_io_vtable empty = {0};
    (void)state;
    CHECK_NULL(mlx_io_reader_new(NULL, empty).ctx);
    CHECK_NULL(mlx_io_writer_new(NULL, empty).ctx);
    CHECK_EQ(error_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(maps_keep_what_they_get, set_up),
        cmocka_unit_test_setup(maps_of_texts, set_up),
        cmocka_unit_test_setup(closures_with_named_arrays, set_up),
        cmocka_unit_test_setup(files_hold_every_dtype, set_up),
        cmocka_unit_test_setup(damaged_files_are_refused, set_up),
        cmocka_unit_test_setup(files_that_shrink, set_up),
        cmocka_unit_test_setup(readers_and_writers, set_up),
        cmocka_unit_test_setup(incomplete_tables, set_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
