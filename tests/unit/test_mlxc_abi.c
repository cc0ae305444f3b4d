/*
 * test_mlxc_abi.c - the library as a client sees it that opens it at run time: every name of the table is there, no
 * other is, and none of the functions crashes on empty handles.
 */
#include <dlfcn.h>

#include "mlxc_support.h"

enum { NAMES = 620 };

struct row {
    char name[80], returns[80], parameters[800];
};

static struct row rows[NAMES + 1];
static int row_count;
static void *library;
static char library_path[1024];

static int read_table(void **state)
{
    char path[1024], line[2048];
    (void)state;
    snprintf(path, sizeof path, "%s", __FILE__);
    *strrchr(path, '/') = '\0';
    strncat(path, "/../../src/mlxc/abi.tsv", sizeof path - strlen(path) - 1);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) return 1;
    while (row_count <= NAMES && fgets(line, sizeof line, file)) {
        struct row *row = &rows[row_count];
        if (sscanf(line, "%79[^\t]\t%*[^\t]\t%79[^\t]\t%799[^\t]", row->name, row->returns, row->parameters) == 3)
            row_count++;
    }
    fclose(file);
    Dl_info info;
    if (!dladdr(dlsym(RTLD_DEFAULT, "mlx_version"), &info)) return 1;
    snprintf(library_path, sizeof library_path, "%s", info.dli_fname);
    library = dlopen(library_path, RTLD_LAZY | RTLD_GLOBAL);
    return library ? 0 : 1;
}

static void test_every_name_exists(void **state)
{
    (void)state;
    CHECK_EQ(row_count, NAMES);
    for (int i = 0; i < row_count; i++)
        if (!dlsym(library, rows[i].name)) CHECK_FAIL("%s is missing", rows[i].name);
}

/* Those of include/kiln/compile.h, and the one that its inline functions of 0.1 called; not of mlx-c. */
static const char *const own_names[] = {
    "mlx_kiln_compile",           "mlx_kiln_compile_unary", "mlx_kiln_compile_binary",
    "mlx_kiln_compile_ternary",   "mlx_kiln_call",          "mlx_kiln_call_unary",
    "mlx_kiln_call_binary",       "mlx_kiln_call_ternary",  "_mlx_kiln_compile",
    "mlx_kiln_call_donating",     "mlx_kiln_dlpack_device", "mlx_kiln_dlpack_export",
    "mlx_kiln_dlpack_export_old", "mlx_kiln_dlpack_import", "mlx_kiln_dlpack_import_old",
};

static bool is_own(const char *name)
{
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        if (!strcmp(name, own_names[i])) return true;
    return false;
}

static void test_no_other_name_is_exported(void **state)
{
    char command[1200], line[400], name[300];
    int count = 0, own = 0;
    (void)state;
    snprintf(command, sizeof command, "nm -D --defined-only '%s'", library_path);
    FILE *names = popen(command, "r");
    CHECK_NOT_NULL(names);
    while (fgets(line, sizeof line, names)) {
        if (sscanf(line, "%*s %*s %299s", name) != 1) continue;
        if (strncmp(name, "mlx_", 4) && strncmp(name, "_mlx_", 5)) CHECK_FAIL("%s is exported", name);
        count++;
        own += is_own(name);
    }
    CHECK_EQ(pclose(names), 0);
    CHECK_EQ(own, sizeof own_names / sizeof *own_names);
    CHECK_EQ(count, NAMES + own);
}

/* Fourteen words of zero: every parameter of every function, on this machine's calling convention, but floats. */
#define ZEROS 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0

typedef long (*any_function)(long, long, long, long, long, long, long, long, long, long, long, long, long, long);

static any_function find(const char *name)
{
    any_function function;
    *(void **)&function = dlsym(library, name);
    return function;
}

/* Frees what a function that returns a handle gave. */
static void free_result(const struct row *row, long handle)
{
    char name[100];
    if (strncmp(row->returns, "mlx_", 4) || !strcmp(row->returns, "mlx_dtype") || !handle) return;
    snprintf(name, sizeof name, "%s_free", row->returns);
    find(name)(handle, ZEROS);
}

static void test_no_function_crashes_on_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < row_count; i++) {
        if (!strcmp(rows[i].name, "_mlx_error") || !strcmp(rows[i].name, "mlx_set_error_handler")) continue;
        error_count = 0;
        long result = find(rows[i].name)(0, ZEROS);
        if (error_count > 1) CHECK_FAIL("%s called the handler %d times", rows[i].name, error_count);
        free_result(&rows[i], result);
    }
    mlx_enable_compile();
}

/* An operation on an empty array: 1, one call of the handler, and a result that is as before. */
static void test_operations_refuse_empty_arrays(void **state)
{
    int count = 0;
    (void)state;
    for (int i = 0; i < row_count; i++) {
        mlx_array res = {NULL};
        if (strncmp(rows[i].parameters, "mlx_array* res, const mlx_array", 31)) continue;
        error_count = 0;
        if ((int)find(rows[i].name)((long)&res, ZEROS) != 1) CHECK_FAIL("%s did not return 1", rows[i].name);
        if (error_count != 1) CHECK_FAIL("%s called the handler %d times", rows[i].name, error_count);
        if (res.ctx) CHECK_FAIL("%s touched its result", rows[i].name);
        count++;
    }
    CHECK_GT(count, 200);
}

/* Freeing nothing is fine, silently. */
static void test_free_of_nothing_is_silent(void **state)
{
    static const char *const names[] = {
        "mlx_array_free",      "mlx_vector_array_free", "mlx_vector_vector_array_free",
        "mlx_vector_int_free", "mlx_string_free",       "mlx_vector_string_free",
        "mlx_closure_free",    "mlx_stream_free",       "mlx_device_info_free",
        "mlx_device_free",
    };
    (void)state;
    error_count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) CHECK_EQ((int)find(names[i])(0, ZEROS), 0);
    expect_no_error();
}

static void test_layouts(void **state)
{
    (void)state;
    CHECK_EQ(sizeof(mlx_array), 8);
    CHECK_EQ(sizeof(mlx_optional_int), 8);
    CHECK_EQ(sizeof(mlx_optional_float), 8);
    CHECK_EQ(offsetof(mlx_optional_float, has_value), 4);
    CHECK_EQ(sizeof(mlx_optional_dtype), 8);
    CHECK_EQ(sizeof(mlx_map_string_to_array_iterator), 16);
    CHECK_EQ(sizeof(mlx_io_vtable), 72);
    CHECK_EQ(offsetof(mlx_io_vtable, read_at_offset), 40);
    CHECK_EQ(offsetof(mlx_io_vtable, free), 64);
    CHECK_EQ(sizeof(mlx_complex64_t), 8);
    CHECK_EQ(MLX_FLOAT64, 11);
    CHECK_EQ(MLX_BFLOAT16, 12);
    CHECK_EQ(MLX_COMPLEX64, 13);
    CHECK_EQ(MLX_COMPILE_MODE_ENABLED, 3);
    CHECK_EQ(MLX_FFT_NORM_FORWARD, 2);
    CHECK_NULL(mlx_array_empty.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_name_exists, install_handler),
        cmocka_unit_test_setup(test_no_other_name_is_exported, install_handler),
        cmocka_unit_test_setup(test_no_function_crashes_on_nothing, install_handler),
        cmocka_unit_test_setup(test_operations_refuse_empty_arrays, install_handler),
        cmocka_unit_test_setup(test_free_of_nothing_is_silent, install_handler),
        cmocka_unit_test_setup(test_layouts, install_handler),
    };
    return cmocka_run_group_tests(tests, read_table, NULL);
}
