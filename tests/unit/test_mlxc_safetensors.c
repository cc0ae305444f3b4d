/*
 * test_mlxc_safetensors.c - the safetensors format as others write it: every type it has, what it leaves open, and the
 * texts of what can't be read. A sound file is never called damaged.
 */
#include "support/one_file.h"

/* A file of `header` and `size` bytes of data, which count from 1 up. */
static void write_file(const char *header, size_t size)
{
    FILE *file = fopen(path, "wb");
    uint64_t length = strlen(header);
    CHECK_NOT_NULL(file);
    for (int i = 0; i < 8; i++) fputc((int)(length >> 8 * i & 0xff), file);
    fputs(header, file);
    for (size_t i = 0; i < size; i++) fputc((int)((i + 1) & 0xff), file);
    CHECK_EQ(fclose(file), 0);
}
#define write_file(...) CHECK_CALL(write_file, __VA_ARGS__)

struct loaded {
    mlx_map_string_to_array arrays;
    mlx_map_string_to_string texts;
};

static int load(struct loaded *out)
{
    *out = (struct loaded){{0}, {0}};
    return mlx_load_safetensors(&out->arrays, &out->texts, path, stream);
}

static void unload(struct loaded *loaded)
{
    mlx_map_string_to_array_free(loaded->arrays), mlx_map_string_to_string_free(loaded->texts);
}

static void load_well(struct loaded *out, const char *header)
{
    if (load(out) || error_count) CHECK_FAIL("%.300s: %s", header, error_text);
}
#define load_well(...) CHECK_CALL(load_well, __VA_ARGS__)

static mlx_array get_array(const struct loaded *loaded, const char *name)
{
    mlx_array array = mlx_array_new();
    expect_ok(mlx_map_string_to_array_get(&array, loaded->arrays, name), name);
    return array;
}

/* ---- types ---------------------------------------------------------------------------------------------------------
 */

/* Of shape (2, 4): as many bytes as the type has bits. */
static const struct {
    const char *name;
    mlx_dtype dtype;
    int bits;
} types[] = {
    {"BOOL", MLX_BOOL, 8},     {"U8", MLX_UINT8, 8},          {"I8", MLX_INT8, 8},           {"U16", MLX_UINT16, 16},
    {"I16", MLX_INT16, 16},    {"U32", MLX_UINT32, 32},       {"I32", MLX_INT32, 32},        {"U64", MLX_UINT64, 64},
    {"I64", MLX_INT64, 64},    {"F16", MLX_FLOAT16, 16},      {"BF16", MLX_BFLOAT16, 16},    {"F32", MLX_FLOAT32, 32},
    {"F64", MLX_FLOAT64, 64},  {"C64", MLX_COMPLEX64, 64},    {"F8_E4M3", MLX_UINT8, 8},     {"F8_E5M2", MLX_UINT8, 8},
    {"F8_E8M0", MLX_UINT8, 8}, {"F8_E4M3FNUZ", MLX_UINT8, 8}, {"F8_E5M2FNUZ", MLX_UINT8, 8}, {"F6_E2M3", MLX_UINT8, 6},
    {"F6_E3M2", MLX_UINT8, 6}, {"F4", MLX_UINT8, 4},
};
enum { TYPES = sizeof types / sizeof *types };

static void every_type_of_the_format(void **state)
{
    (void)state;
    for (int i = 0; i < TYPES; i++) {
        struct loaded loaded;
        char header[200];
        int bytes = types[i].bits, columns = types[i].bits < 8 ? 4 * types[i].bits / 8 : 4;
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[3,%d]}}",
                 types[i].name, 3 + bytes);
        write_file(header, 3 + (size_t)bytes);
        load_well(&loaded, header);
        mlx_array array = get_array(&loaded, "a");
        if (mlx_array_dtype(array) != types[i].dtype || mlx_array_ndim(array) != 2 || mlx_array_dim(array, 0) != 2 ||
            mlx_array_dim(array, 1) != columns || (int)mlx_array_nbytes(array) != bytes)
            CHECK_FAIL("%s is of dtype %d and shape (%d,%d)", types[i].name, mlx_array_dtype(array),
                       mlx_array_dim(array, 0), mlx_array_dim(array, 1));
        expect_ok(mlx_array_eval(array), "eval");
        const uint8_t *data = mlx_array_data_uint8(array);
        for (int k = 0; k < bytes; k++)
            if (data[k] != (types[i].dtype == MLX_BOOL ? 1 : 4 + k))
                CHECK_FAIL("%s: byte %d is %d", types[i].name, k, data[k]);
        mlx_array_free(array), unload(&loaded);
    }
}

/* What was read is saved as the dtype it has here, and read again to the same bytes. */
static void what_was_read_can_be_saved(void **state)
{
    (void)state;
    for (int i = 0; i < TYPES; i++) {
        struct loaded loaded, again;
        char header[200];
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%d]}}",
                 types[i].name, types[i].bits);
        write_file(header, (size_t)types[i].bits);
        load_well(&loaded, header);
        expect_ok(mlx_save_safetensors(path, loaded.arrays, loaded.texts), types[i].name);
        load_well(&again, "the saved file");
        mlx_array a = get_array(&loaded, "a"), b = get_array(&again, "a");
        struct numbers before = read_array(a), after = read_array(b);
        expect_same_bits(&after, &before, types[i].name);
        numbers_free(&before), numbers_free(&after);
        mlx_array_free(a), mlx_array_free(b), unload(&loaded), unload(&again);
    }
}

/* ---- what is open ---------------------------------------------------------------------------------------------------
 */

/* Each has an array "a" of `size` elements at the end. */
static void sound_files(void **state)
{
    static const struct {
        const char *header;
        int size;
    } files[] = {
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}      ", 2},
        {"{\"a\":{\"data_offsets\":[0,2],\"shape\":[1,2,1],\"dtype\":\"U8\"}}", 2},
        {" { \"a\" :\n{\"dtype\" : \"U8\" , \"shape\" : [ 2 ] , \"data_offsets\" : [ 0 , 2 ] } } ", 2},
        {"{\"__metadata__\":{},\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2},
        {"{\"__metadata__\":null,\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[3,0,2],\"data_offsets\":[8,8]}}", 0},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[5,8]}}",
         3},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
         3},
        {"{\"a\":{\"dtype\":\"U8\",\"note\":{\"x\":[1,-2.5e3,\"]}\",null,{}]},\"shape\":[2],\"n\":true,"
         "\"data_offsets\":[0,2],\"text\":\"\\\"\"}}",
         2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct loaded loaded;
        write_file(files[i].header, 8);
        load_well(&loaded, files[i].header);
        mlx_array array = get_array(&loaded, "a");
        expect_ok(mlx_array_eval(array), files[i].header);
        CHECK_EQ(mlx_array_size(array), files[i].size);
        mlx_array_free(array), unload(&loaded);
    }
}

static void texts_are_read_as_written(void **state)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"\\u00e9\\ud83d\\ude00\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\","
        "\"empty\":\"\"}}";
    struct loaded loaded;
    const char *text = NULL;
    (void)state;
    write_file(header, 0);
    load_well(&loaded, header);
    expect_ok(mlx_map_string_to_string_get(&text, loaded.texts, "format"), "format");
    CHECK_STR(text, "pt");
    expect_ok(mlx_map_string_to_string_get(&text, loaded.texts, "\xc3\xa9\xf0\x9f\x98\x80"), "a name beyond ASCII");
    CHECK_STR(text, "\"\\/\b\f\n\r\t");
    expect_ok(mlx_map_string_to_string_get(&text, loaded.texts, "empty"), "empty");
    CHECK_STR(text, "");
    unload(&loaded);
}

/* Two megabytes of header: many tensors, long names. */
static void a_large_header(void **state)
{
    enum { TENSORS = 20000 };
    size_t room = (size_t)TENSORS * 160, used = 0;
    char *header = malloc(room), name[100];
    struct loaded loaded;
    (void)state;
    for (int i = 0; i < TENSORS; i++)
        used += (size_t)snprintf(header + used, room - used,
                                 "%c\"model.layers.%d.with.a.long.name.weight\":{\"dtype\":\"U8\",\"shape\":[1],"
                                 "\"data_offsets\":[%d,%d]}",
                                 i ? ',' : '{', i, i, i + 1);
    snprintf(header + used, room - used, "}");
    write_file(header, TENSORS);
    load_well(&loaded, "a large header");
    for (int i = 0; i < TENSORS; i += 777) {
        snprintf(name, sizeof name, "model.layers.%d.with.a.long.name.weight", i);
        mlx_array array = get_array(&loaded, name);
        uint8_t value = 0;
        expect_ok(mlx_array_item_uint8(&value, array), name);
        CHECK_EQ(value, (i + 1) & 0xff);
        mlx_array_free(array);
    }
    unload(&loaded);
    free(header);
}

/* ---- what can't be read
 * ----------------------------------------------------------------------------------------------- */

/* The text has every part, and speaks of damage only where something can't be sound. */
static void texts_of_refusals(void **state)
{
    static const struct {
        const char *header, *parts[3];
        bool is_damaged;
    } refusals[] = {
        {"{\"w\":{\"dtype\":\"F3_E1M1\",\"shape\":[2],\"data_offsets\":[0,2]}}",
         {"tensor \"w\"", "unknown dtype \"F3_E1M1\"", "known are BOOL, U8, U16"},
         false},
        {"{\"w\":{\"dtype\":\"f32\",\"shape\":[2],\"data_offsets\":[0,8]}}", {"\"f32\"", "F8_E4M3", "F4"}, false},
        {"{\"w\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[0,3]}}",
         {"tensor \"w\" is F4 of shape (2,3)", "no whole bytes"},
         false},
        {"{\"w\":{\"dtype\":\"F6_E3M2\",\"shape\":[4,2],\"data_offsets\":[0,6]}}", {"F6_E3M2 of shape (4,2)"}, false},
        {"{\"w\":{\"dtype\":\"F4\",\"shape\":[],\"data_offsets\":[0,0]}}", {"F4 of shape ()"}, false},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[4294967296,0],\"data_offsets\":[0,0]}}", {"tensor \"w\"", "2^31"}, false},
        {"{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
         {"tensor \"w\" appears twice"},
         false},
        {"{\"w\\u0000\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", {"byte 10 holds a NUL"}, false},
        {"{\"w\":{\"shape\":[1],\"data_offsets\":[0,1]}}", {"tensor \"w\" needs dtype"}, false},
        {"{\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[9],\"data_offsets\":[0,9]}}", {"tensor \"w\" of 9 bytes"}, true},
        {"{\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,8]}}", {"tensor \"w\" of 4 bytes"}, true},
        {"{\"w\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,4]}}", {"tensor \"w\" of 2 bytes"}, true},
        {"{\"w\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", {"once each"}, true},
        {"{\"w\":{\"dtype\":\"U8\",\"note\":[1,{\"shape\":[1],\"data_offsets\":[0,1]}}", {"byte"}, true},
        {"{\"w\":{\"dtype\":\"U8\",\"note\":,\"shape\":[1],\"data_offsets\":[0,1]}}", {"a value"}, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct loaded loaded;
        write_file(refusals[i].header, 8);
        if (load(&loaded) != 1 || error_count != 1) CHECK_FAIL("%s is not refused", refusals[i].header);
        if (loaded.arrays.ctx || loaded.texts.ctx) CHECK_FAIL("%s: a map was made", refusals[i].header);
        for (int k = 0; k < 3 && refusals[i].parts[k]; k++)
            if (!strstr(error_text, refusals[i].parts[k]))
                CHECK_FAIL("%s: \"%s\" is missing in: %s", refusals[i].header, refusals[i].parts[k], error_text);
        if (!strstr(error_text, "damaged") == refusals[i].is_damaged)
            CHECK_FAIL("%s: %s", refusals[i].header, error_text);
        error_count = 0;
    }
}

/* The format has a bound for headers; the file is sparse, so that it takes no room. */
static void a_header_that_is_too_long(void **state)
{
    struct loaded loaded;
    const long length = 100000001;
    FILE *file = fopen(path, "wb");
    (void)state;
    for (int i = 0; i < 8; i++) fputc((int)((uint64_t)length >> 8 * i & 0xff), file);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(truncate(path, 8 + length), 0);
    CHECK_EQ(load(&loaded), 1);
    if (!strstr(error_text, "the format allows 100000000")) CHECK_FAIL("%s", error_text);
}

/* Its name would be that of the texts. */
static void the_name_of_the_texts(void **state)
{
    mlx_map_string_to_array arrays = mlx_map_string_to_array_new();
    mlx_map_string_to_string texts = mlx_map_string_to_string_new();
    mlx_array one = mlx_array_new_float(1);
    (void)state;
    expect_ok(mlx_map_string_to_array_insert(arrays, "__metadata__", one), "insert");
    CHECK_EQ(mlx_save_safetensors(path, arrays, texts), 1);
    if (!strstr(error_text, "can't have the name \"__metadata__\"")) CHECK_FAIL("%s", error_text);
    mlx_array_free(one), mlx_map_string_to_array_free(arrays), mlx_map_string_to_string_free(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_type_of_the_format, set_up),
        cmocka_unit_test_setup(what_was_read_can_be_saved, set_up),
        cmocka_unit_test_setup(sound_files, set_up),
        cmocka_unit_test_setup(texts_are_read_as_written, set_up),
        cmocka_unit_test_setup(a_large_header, set_up),
        cmocka_unit_test_setup(texts_of_refusals, set_up),
        cmocka_unit_test_setup(a_header_that_is_too_long, set_up),
        cmocka_unit_test_setup(the_name_of_the_texts, set_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
