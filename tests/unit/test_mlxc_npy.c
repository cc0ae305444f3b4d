/*
 * test_mlxc_npy.c - one array in a file (.npy): as others write it, as we do, what is no such file, and what is left on
 * the disk when saving fails.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "support/memory_io.h"
#include "support/one_file.h"

static int make_npy_folder(void **state)
{
    int code = make_folder(state);
    snprintf(path, sizeof path, "%s/file.npy", folder);
    return code || set_up(state);
}

static size_t put_bytes(const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK_NOT_NULL(file);
    CHECK_EQ(fwrite(data, 1, size, file), size);
    CHECK_EQ(fclose(file), 0);
    return size;
}
#define put_bytes(...) CHECK_CALL(put_bytes, __VA_ARGS__)

/* A file of this version with 24 bytes behind the header: 1, 2, 3 and so on. */
static void put_file(int version, const char *header)
{
    unsigned char data[600] = {0x93,
                               'N',
                               'U',
                               'M',
                               'P',
                               'Y',
                               (unsigned char)version,
                               0,
                               (unsigned char)strlen(header),
                               (unsigned char)(strlen(header) >> 8)};
    size_t start = version == 1 ? 10 : 12, size = strlen(header);
    CHECK_LE(start + size + 24, sizeof data);
    memcpy(data + start, header, size);
    for (size_t i = 0; i < 24; i++) data[start + size + i] = (unsigned char)(i + 1);
    put_bytes(data, start + size + 24);
}
#define put_file(...) CHECK_CALL(put_file, __VA_ARGS__)

static void test_round_trip(void **state)
{
    uint64_t random = 62;
    const struct shape shapes[] = {{0, {0}}, {1, {7}}, {2, {3, 5}}, {3, {2, 0, 4}}, {4, {2, 3, 1, 2}}};
    (void)state;
    for (int i = 0; i < 5 * DTYPE_COUNT; i++) {
        mlx_array loaded = mlx_array_new();
        struct numbers saved = numbers_filled(i % DTYPE_COUNT, &shapes[i / DTYPE_COUNT], random_value, &random);
        mlx_array a = make_array(&saved, i % LAYOUT_COUNT);
        expect_ok(mlx_save(path, a), "save");
        expect_ok(mlx_load(&loaded, path, stream), "load");
        expect_ok(mlx_save(path, loaded), "over the file that it comes from");
        struct numbers got = read_array(loaded);
        expect_same_bits(&got, &saved, "a loaded array");
        numbers_free(&got), numbers_free(&saved), mlx_array_free(loaded), mlx_array_free(a);
    }
}

static void test_header(void **state)
{
    static const char expected[] = "\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    char data[200] = {0};
    const int shape[] = {2};
    const float values[] = {1, 2};
    mlx_array a = mlx_array_new_data(values, shape, 1, MLX_FLOAT32);
    (void)state;
    expect_ok(mlx_save(path, a), "save");
    FILE *file = fopen(path, "rb");
    CHECK_EQ(fread(data, 1, sizeof data, file), 128 + 8);
    fclose(file);
    CHECK_MEM(data, expected, sizeof expected - 1);
    CHECK_EQ(data[127], '\n');
    CHECK_MEM(data + 128, values, 8);
    mlx_array_free(a);
}

/* What numpy and others write. The text is what tostring prints. */
static void test_others(void **state)
{
    static const struct {
        int version;
        const char *header, *text;
    } files[] = {
        {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n",
         "array([[1, 2, 3],\n       [4, 5, 6]], dtype=uint8)"},
        {1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }   \n",
         "array([[1, 3, 5],\n       [2, 4, 6]], dtype=uint8)"},
        {2, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", "array([513, 1027], dtype=uint16)"},
        {3, "{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }", "array([258, 772], dtype=uint16)"},
        {1, "{'descr': '>i4', 'fortran_order': True, 'shape': (), }", "array(16909060, dtype=int32)"},
        {1, "{\"shape\":(1L,2L),\"descr\":\"|b1\",\"fortran_order\":False}", "array([[true, true]], dtype=bool)"},
        {1, "{'descr': '=u1', 'fortran_order': False, 'shape': (0, 9), }", "array([], dtype=uint8)"},
        {1, "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "array([9.47742e-38], dtype=bfloat16)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        mlx_array array = mlx_array_new();
        mlx_string text = mlx_string_new();
        put_file(files[i].version, files[i].header);
        expect_ok(mlx_load(&array, path, stream), files[i].header);
        expect_ok(mlx_array_tostring(&text, array), files[i].header);
        CHECK_STR(mlx_string_data(text), files[i].text);
        mlx_string_free(text), mlx_array_free(array);
    }
}

static void test_swapped_complex(void **state)
{
    float value[2];
    mlx_array array = mlx_array_new();
    (void)state;
    put_file(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }");
    expect_ok(mlx_load(&array, path, stream), "load");
    expect_ok(mlx_array_eval(array), "eval");
    memcpy(value, mlx_array_data_uint8(array), 8);
    const unsigned char expected[] = {4, 3, 2, 1, 8, 7, 6, 5};
    CHECK_MEM(value, expected, 8);
    mlx_array_free(array);
}

static void expect_refused(const char *part)
{
    mlx_array res = mlx_array_new();
    CHECK_EQ(mlx_load(&res, path, stream), 1);
    CHECK_CONTAINS(error_text, part);
    CHECK_EQ(error_count, 1);
    CHECK_NULL(res.ctx);
    error_count = 0;
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void test_malformed(void **state)
{
    static const struct {
        int version;
        const char *header, *part;
    } files[] = {
        {4, "{}", "at byte 6 version 4"},
        {1, "", "at byte 10: expected '{'"},
        {1, "{'descr': '<f4', 'fortran_order': False}", "at byte 50: expected 'descr', 'fortran_order' and 'shape'"},
        {1, "{'descr': '<f4', 'descr': '<f4'}", "at byte 27: expected 'descr', 'fortran_order' and 'shape', each once"},
        {1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "at byte 20 elements are \"|O\""},
        {1, "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", "elements are \"<c16\""},
        {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "elements are \"structures\""},
        {1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "at byte 44: expected True or False"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "expected a size"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2147483648,), }", "at most 32 sizes"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", "take 28 bytes from byte 67 on"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (7 7), }", "expected ',' or ')'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", "expected the end"},
        {1, "{'descr': '<f4\n\x01%s', 'fortran_order': False, 'shape': (1,), }", "elements are \"<f4??%s\""},
        {1, "{'descr': '<f4", "at byte 20: expected the type"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2147483647,2147483647,2147483647,), }",
         "needs more bytes than can be counted"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CHECK_CONTEXT("%s", files[i].header);
        put_file(files[i].version, files[i].header);
        expect_refused(files[i].part);
    }
    put_bytes("", 0);
    expect_refused("at byte 0 expected");
    put_bytes("PK\3\4 and so on", 12);
    expect_refused("a zip archive begins, as .npz files are");
    put_bytes("\x93NUMPY\1\0\xff\xff", 10);
    expect_refused("at byte 8 a header of 65535 bytes in a file of 10");
    put_bytes("\x93NUMPY\2\0\xff\xff\xff\xff", 12);
    expect_refused("at byte 8 a header of 4294967295 bytes");
}

/* ---- what cannot be written ------------------------------------------------------------------------------------- */

static int count_files(void)
{
    int count = 0;
    DIR *all = opendir(folder);
    for (struct dirent *entry; (entry = readdir(all));) count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(all);
    return count;
}

/* The disk is full: as far as a process can tell, RLIMIT_FSIZE is that. The file of the name stays, and nothing else.
 */
static void test_full_disk(void **state)
{
    struct rlimit limit, small = {4096, RLIM_INFINITY};
    const int shape[] = {4096};
    static const float values[4096];
    mlx_array one = mlx_array_new_float(1.5f), big = mlx_array_new_data(values, shape, 1, MLX_FLOAT32), res = {0};
    (void)state;
    expect_ok(mlx_save(path, one), "save");
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small.rlim_max = limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = mlx_save(path, big);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQ(code, 1);
    CHECK_CONTAINS(error_text, "[save] writing failed: File too large");
    error_count = 0;
    CHECK_EQ(count_files(), 1);
    expect_ok(mlx_load(&res, path, stream), "the old file");
    float value;
    expect_ok(mlx_array_item_float32(&value, res), "item");
    CHECK_EQ(value, 1.5f);
    mlx_array_free(one), mlx_array_free(big), mlx_array_free(res);
}

static void test_paths(void **state)
{
    char name[400], link_name[100], target[100];
    mlx_array one = mlx_array_new_float(1), res = mlx_array_new();
    struct stat info;
    (void)state;
    snprintf(name, sizeof name, "%s/no such folder/x", folder);
    CHECK_EQ(mlx_save(name, one), 1);
    CHECK_CONTAINS(error_text, "no such folder/x.npy\" can't be written: No such file or directory");
    error_count = 0;
    CHECK_EQ(mlx_load(&res, name, stream), 1);
    CHECK_CONTAINS(error_text, "can't be opened: No such file");
    error_count = 0;
    CHECK_EQ(mlx_load(&res, folder, stream), 1);
    CHECK_CONTAINS(error_text, "it is not a file");
    error_count = 0;
    snprintf(name, sizeof name, "%s/a\nb %%s \x01", folder); /* without ending: it gets one */
    expect_ok(mlx_save(name, one), "a strange name");
    strcat(name, ".npy");
    expect_ok(mlx_load(&res, name, stream), "a strange name");
    CHECK_EQ(unlink(name), 0);
    snprintf(target, sizeof target, "%s/target.npy", folder);
    snprintf(link_name, sizeof link_name, "%s/link.npy", folder);
    expect_ok(mlx_save(target, one), "save");
    CHECK_EQ(symlink("target.npy", link_name), 0);
    expect_ok(mlx_save(link_name, one), "through a link");
    CHECK_EQ(lstat(link_name, &info), 0);
    CHECK_TRUE(S_ISLNK(info.st_mode)); /* it still leads there */
    CHECK_EQ(unlink(link_name), 0);
    CHECK_EQ(unlink(target), 0);
    memset(name + strlen(folder) + 1, 'x', 255 - 4); /* the longest name there is */
    name[strlen(folder) + 1 + 255 - 4] = '\0';
    expect_ok(mlx_save(name, one), "a long name");
    strcat(name, ".npy");
    CHECK_EQ(unlink(name), 0);
    mlx_array_free(one), mlx_array_free(res);
}

/* ---- the caller's functions ------------------------------------------------------------------------------------- */

static void test_readers(void **state)
{
    static struct memory memory;
    mlx_io_writer writer = mlx_io_writer_new(&memory, memory_table);
    const float values[] = {1, -2, 3};
    const int shape[] = {3};
    mlx_array a = mlx_array_new_data(values, shape, 1, MLX_FLOAT32), res = mlx_array_new();
    (void)state;
    expect_ok(mlx_save_writer(writer, a), "save");
    CHECK_EQ(memory.size, 128 + 12);
    mlx_io_writer_free(writer);
    CHECK_TRUE(memory.is_freed);
    memory.calls[0] = '\0', memory.at = 0, memory.is_freed = false;
    mlx_io_reader reader = mlx_io_reader_new(&memory, memory_table);
    expect_ok(mlx_load_reader(&res, reader, stream), "load");
    mlx_io_reader_free(reader);
    CHECK_STR(memory.calls, "open seek tell at12 at118 ");
    CHECK_FALSE(memory.is_freed); /* the elements are still to be read */
    struct numbers got = read_array(res);
    CHECK_MEM(got.data, values, 12);
    CHECK_TRUE(memory.is_freed);
    memory.is_bad = true;
    reader = mlx_io_reader_new(&memory, memory_table);
    CHECK_EQ(mlx_load_reader(&res, reader, stream), 1);
    CHECK_CONTAINS(error_text, "[load] the reader is not open");
    error_count = 0;
    mlx_io_reader_free(reader);
    writer = mlx_io_writer_new(&memory, memory_table);
    CHECK_EQ(mlx_save_writer(writer, a), 1);
    CHECK_CONTAINS(error_text, "[save] the writer is not open");
    mlx_io_writer_free(writer);
    numbers_free(&got), mlx_array_free(a), mlx_array_free(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_round_trip, set_up), cmocka_unit_test_setup(test_header, set_up),
        cmocka_unit_test_setup(test_others, set_up),     cmocka_unit_test_setup(test_swapped_complex, set_up),
        cmocka_unit_test_setup(test_malformed, set_up),  cmocka_unit_test_setup(test_full_disk, set_up),
        cmocka_unit_test_setup(test_paths, set_up),      cmocka_unit_test_setup(test_readers, set_up),
    };
    return cmocka_run_group_tests(tests, make_npy_folder, remove_folder);
}
