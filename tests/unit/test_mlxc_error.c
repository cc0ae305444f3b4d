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
    CHECK_EQ(mlx_array_ndim(mlx_array_new()), 0);
    const char *at = strstr(error_text, "expected a non-empty mlx_array for arr of mlx_array_ndim at ");
    CHECK_EQ(at, error_text);
    int line = 0;
    char file[200];
    CHECK_EQ(sscanf(strstr(error_text, " at ") + 4, "%199[^:]:%d", file, &line), 2);
    CHECK_GT(line, 0);
    expect_error("array.c");
}

/* A function that is made from the table names its row. */
static void test_text_ends_in_the_row(void **state)
{
    mlx_array res = {NULL};
    int line = 0;
    char name[80] = "", row[2048];
    (void)state;
    CHECK_EQ(mlx_take(&res, mlx_array_new(), mlx_array_new(), (mlx_stream){NULL}), 1);
    const char *at = strstr(error_text, " at src/mlxc/abi.tsv:");
    CHECK_NOT_NULL(at);
    CHECK_EQ(sscanf(at, " at src/mlxc/abi.tsv:%d", &line), 1);
    snprintf(row, sizeof row, "%s", __FILE__);
    strcpy(strrchr(row, '/'), "/../../src/mlxc/abi.tsv");
    FILE *table = fopen(row, "r");
    CHECK_NOT_NULL(table);
    for (int i = 0; i < line; i++) CHECK_NOT_NULL(fgets(row, sizeof row, table));
    fclose(table);
    CHECK_EQ(sscanf(row, "%79s", name), 1);
    CHECK_STR(name, "mlx_take");
}

static void test_own_errors(void **state)
{
    (void)state;
    mlx_error("%d of %s", 3, "them");
    const int line = __LINE__ - 1;
    char expected[1200];
    snprintf(expected, sizeof expected, "3 of them at %s:%d", __FILE__, line);
    CHECK_STR(error_text, expected);
}

static void test_long_texts_are_whole(void **state)
{
    char text[1801];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mlx_error("%s", text);
    CHECK_EQ(strspn(error_text, "x"), 1800);
}

static void test_data_needs_a_dtor(void **state)
{
    int value;
    (void)state;
    destroyed = 0;
    mlx_set_error_handler(remember_data, &value, NULL);
    seen_data = &value;
    mlx_error("x");
    CHECK_NULL(seen_data);
    mlx_set_error_handler(remember_data, &value, count_destroyed);
    mlx_error("x");
    CHECK_EQ(seen_data, &value);
    CHECK_EQ(destroyed, 0);
    mlx_set_error_handler(remember_error, NULL, NULL);
    CHECK_EQ(destroyed, 1);
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
    CHECK_EQ(pthread_create(&thread, NULL, fail_on_thread, NULL), 0);
    pthread_join(thread, &count);
    CHECK_EQ((intptr_t)count, 1);
    CHECK_EQ(error_count, 0);
}

static void test_default_prints_and_exits(void **state)
{
    int ends[2], status;
    char text[500] = {0};
    (void)state;
    CHECK_EQ(pipe(ends), 0);
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
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_TRUE(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 255);
    CHECK_EQ(strstr(text, "MLX error: expected a non-empty mlx_string for str of mlx_string_data at "), text);
    CHECK_EQ(text[size - 1], '\n');
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
