/*
 * test_mlxc_error.c - the error handler: text, thread, data and its destructor, and the default, which ends the
 * process.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mlxc_support.h"

static int destroyed;
static void *seen_data;

static void count_destroyed(void *data)
{
    (void)data;
    destroyed++;
}

static void remember_data(const char *text, void *data)
{
    (void)text;
    seen_data = data;
}

static void test_text_ends_in_file_and_line(void **state)
{
    (void)state;
    assert_int_equal(mlx_array_ndim(mlx_array_new()), 0);
    const char *at = strstr(error_text, "expected a non-empty mlx_array for arr of mlx_array_ndim at ");
    assert_ptr_equal(at, error_text);
    int line = 0;
    char file[200];
    assert_int_equal(sscanf(strstr(error_text, " at ") + 4, "%199[^:]:%d", file, &line), 2);
    assert_true(line > 0);
    expect_error("array.c");
}

/* A function that is made from the table names its row. */
static void test_text_ends_in_the_row(void **state)
{
    mlx_array res = {NULL};
    int line = 0;
    char name[80] = "", row[2048];
    (void)state;
    assert_int_equal(mlx_take(&res, mlx_array_new(), mlx_array_new(), (mlx_stream){NULL}), 1);
    const char *at = strstr(error_text, " at src/mlxc/abi.tsv:");
    assert_non_null(at);
    assert_int_equal(sscanf(at, " at src/mlxc/abi.tsv:%d", &line), 1);
    snprintf(row, sizeof row, "%s", __FILE__);
    strcpy(strrchr(row, '/'), "/../../src/mlxc/abi.tsv");
    FILE *table = fopen(row, "r");
    assert_non_null(table);
    for (int i = 0; i < line; i++) assert_non_null(fgets(row, sizeof row, table));
    fclose(table);
    assert_int_equal(sscanf(row, "%79s", name), 1);
    assert_string_equal(name, "mlx_take");
}

static void test_own_errors(void **state)
{
    (void)state;
    mlx_error("%d of %s", 3, "them");
    const int line = __LINE__ - 1;
    char expected[1200];
    snprintf(expected, sizeof expected, "3 of them at %s:%d", __FILE__, line);
    assert_string_equal(error_text, expected);
}

static void test_long_texts_are_whole(void **state)
{
    char text[1801];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mlx_error("%s", text);
    assert_int_equal(strspn(error_text, "x"), 1800);
}

static void test_data_needs_a_dtor(void **state)
{
    int value;
    (void)state;
    destroyed = 0;
    mlx_set_error_handler(remember_data, &value, NULL);
    seen_data = &value;
    mlx_error("x");
    assert_null(seen_data);
    mlx_set_error_handler(remember_data, &value, count_destroyed);
    mlx_error("x");
    assert_ptr_equal(seen_data, &value);
    assert_int_equal(destroyed, 0);
    mlx_set_error_handler(remember_error, NULL, NULL);
    assert_int_equal(destroyed, 1);
}

static void *fail_on_thread(void *unused)
{
    (void)unused;
    mlx_array_free(mlx_array_new_data(NULL, NULL, -1, MLX_FLOAT32));
    return (void *)(intptr_t)error_count;
}

static void test_handler_runs_on_the_calling_thread(void **state)
{
    pthread_t thread;
    void *count;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, fail_on_thread, NULL), 0);
    pthread_join(thread, &count);
    assert_int_equal((intptr_t)count, 1);
    assert_int_equal(error_count, 0);
}

static void test_default_prints_and_exits(void **state)
{
    int ends[2], status;
    char text[500] = {0};
    (void)state;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        mlx_set_error_handler(NULL, NULL, NULL);
        mlx_string_data(mlx_string_new());
        _exit(3);
    }
    close(ends[1]);
    ssize_t size = 0, got;
    while ((got = read(ends[0], text + size, sizeof text - 1 - (size_t)size)) > 0) size += got;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 255);
    assert_ptr_equal(strstr(text, "MLX error: expected a non-empty mlx_string for str of mlx_string_data at "), text);
    assert_int_equal(text[size - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_text_ends_in_file_and_line, install_handler),
        cmocka_unit_test_setup(test_text_ends_in_the_row, install_handler),
        cmocka_unit_test_setup(test_own_errors, install_handler),
        cmocka_unit_test_setup(test_long_texts_are_whole, install_handler),
        cmocka_unit_test_setup(test_data_needs_a_dtor, install_handler),
        cmocka_unit_test_setup(test_handler_runs_on_the_calling_thread, install_handler),
        cmocka_unit_test_setup(test_default_prints_and_exits, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
