/*
 * test_mlxc_empty.c - every function of the table with one handle empty and all others good, for each of its handles.
 *
 * The calls are made from the table's parameters. On this machine's calling convention handles, pointers and integers
 * are words, in order, and floats lie elsewhere, so a call is a list of words. Each is refused: 1 (or 0 from a function
 * that returns something else), one call of the handler with a text that names function and type, results untouched.
 */
#include <ctype.h>
#include <dlfcn.h>

#include "mlxc_support.h"

enum { WORDS = 20, LONGEST = 1024 };

struct row {
    char name[80], returns[80], parameters[LONGEST], nullable[LONGEST];
};

struct parameter {
    char type[80], name[80]; /* without const */
    bool is_pointer;
};

typedef long any_function(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                          long, long, long, long, long);

static any_function *find(const char *name)
{
    any_function *function;
    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    return function;
}

/* ---- reading a row ------------------------------------------------------------------------------------------------
 */

static bool read_row(FILE *file, struct row *row)
{
    char line[4096];
    memset(row, 0, sizeof *row);
    return fgets(line, sizeof line, file) && sscanf(line, "%79[^\t]\t%*[^\t]\t%79[^\t]\t%1023[^\t]\t%1023[^\t]",
                                                    row->name, row->returns, row->parameters, row->nullable) == 4;
}

/* Reads one parameter, up to a comma outside of parentheses; returns what follows, or NULL after the last. */
static const char *read_parameter(const char *text, struct parameter *out)
{
    char copy[LONGEST] = "";
    int depth = 0;
    size_t size = 0;
    while (*text == ' ') text++;
    for (; *text && (depth || *text != ','); text++) {
        depth += (*text == '(') - (*text == ')');
        if (size < sizeof copy - 1) copy[size++] = *text;
    }
    const char *type = memcmp(copy, "const ", 6) ? copy : copy + 6;
    memset(out, 0, sizeof *out);
    out->is_pointer = strpbrk(type, "*[(") != NULL;
    sscanf(type, "%79[^ *(]", out->type);
    while (size && !isalnum((unsigned char)copy[size - 1]) && copy[size - 1] != '_') copy[--size] = '\0';
    while (size && (isalnum((unsigned char)copy[size - 1]) || copy[size - 1] == '_')) size--;
    snprintf(out->name, sizeof out->name, "%.79s", copy + size);
    return *text ? text + 1 : NULL;
}

/* Is `name` one of a list with commas? */
static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += size)
        if ((at == list || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[size]) && at[size] != '_')
            return true;
    return false;
}

/* ---- good values --------------------------------------------------------------------------------------------------
 */

static int callback(mlx_vector_array *res, const mlx_vector_array in)
{
    return mlx_vector_array_set(res, in);
}

static int callback_kwargs(mlx_vector_array *res, const mlx_vector_array in, const mlx_map_string_to_array map)
{
    (void)map;
    return mlx_vector_array_set(res, in);
}

static struct {
    const char *type;
    long word;
} handles[16];

static int handle_count;

static void keep(const char *type, void *handle)
{
    CHECK_NOT_NULL(handle);
    handles[handle_count].type = type, handles[handle_count++].word = (long)handle;
}
#define keep(...) CHECK_CALL(keep, __VA_ARGS__)

static void make_handles(void)
{
    mlx_array one = mlx_array_new_float(1);
    mlx_string text = mlx_string_new_data("x");
    mlx_device_info info = mlx_device_info_new();
    mlx_device device = mlx_device_new_type(MLX_CPU, 0);
    mlx_device_info_get(&info, device);
    keep("mlx_array", one.ctx), keep("mlx_string", text.ctx), keep("mlx_device", device.ctx);
    keep("mlx_device_info", info.ctx), keep("mlx_stream", mlx_default_cpu_stream_new().ctx);
    keep("mlx_vector_array", mlx_vector_array_new_value(one).ctx);
    keep("mlx_vector_vector_array", mlx_vector_vector_array_new().ctx);
    keep("mlx_vector_int", mlx_vector_int_new().ctx), keep("mlx_vector_string", mlx_vector_string_new().ctx);
    keep("mlx_map_string_to_array", mlx_map_string_to_array_new().ctx);
    keep("mlx_map_string_to_string", mlx_map_string_to_string_new().ctx);
    keep("mlx_closure", mlx_closure_new_func(callback).ctx);
    keep("mlx_closure_kwargs", mlx_closure_kwargs_new_func(callback_kwargs).ctx);
}

static void free_handles(void)
{
    for (int i = 0; i < handle_count; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s_free", handles[i].type);
        find(name)(handles[i].word, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }
}

/* 0: none is made; only functions that are not there yet take such a one. */
static long good_handle(const char *type)
{
    for (int i = 0; i < handle_count; i++)
        if (!strcmp(handles[i].type, type)) return handles[i].word;
    return 0;
}

static bool is_handle(const struct parameter *parameter)
{
    static const char *const values[] = {"mlx_dtype",        "mlx_optional", "mlx_device_type",
                                         "mlx_compile_mode", "mlx_fft_norm", "mlx_io_vtable"};
    if (parameter->is_pointer || strncmp(parameter->type, "mlx_", 4)) return false;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strncmp(parameter->type, values[i], strlen(values[i])) && strcmp(parameter->type, "mlx_device_info"))
            return false;
    return true;
}

/* ---- calls --------------------------------------------------------------------------------------------------------
 */

struct call {
    long words[WORDS];
    int word_count;
    bool is_possible;
    char missing[80]; /* the type of the empty handle; "" when there is none at this place */
    char missing_name[80];
};

static long results[WORDS][64]; /* what pointers of the calls point to: empty handles, zeros */

/* The arguments, with handle number `empty` of the row's empty. */
static struct call make_call(const struct row *row, int empty)
{
    struct call call = {.is_possible = true};
    struct parameter parameter;
    int handle = 0;
    for (const char *at = row->parameters; at && call.word_count < WORDS - 1;) {
        at = read_parameter(at, &parameter);
        long *word = &call.words[call.word_count];
        if (!strcmp(parameter.type, "mlx_io_vtable") && !parameter.is_pointer) call.is_possible = false;
        if (!strcmp(parameter.type, "void") && !parameter.is_pointer) break;
        if (!parameter.is_pointer && (!strcmp(parameter.type, "float") || !strcmp(parameter.type, "double"))) continue;
        call.word_count++;
        if (parameter.is_pointer)
            *word = !strcmp(parameter.type, "char") ? (long)"constant" : (long)results[call.word_count];
        if (!is_handle(&parameter)) continue;
        *word = good_handle(parameter.type);
        if (is_listed(row->nullable, parameter.name)) continue;
        if (!*word) call.is_possible = false;
        if (handle++ != empty) continue;
        *word = 0;
        snprintf(call.missing, sizeof call.missing, "%s", parameter.type);
        snprintf(call.missing_name, sizeof call.missing_name, "%s", parameter.name);
    }
    return call;
}

static long run(const struct row *row, const struct call *call)
{
    const long *w = call->words;
    memset(results, 0, sizeof results);
    error_count = 0, error_text[0] = '\0';
    return find(row->name)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13],
                           w[14], w[15], w[16], w[17], w[18], w[19]);
}

static bool ends_in(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

/* What is wrong with how the call was refused; NULL: nothing. */
static const char *complaint(const struct row *row, const struct call *call, long result)
{
    static const long zeros[WORDS][64];
    char place[100];
    snprintf(place, sizeof place, " for %s of ", call->missing_name);
    if (ends_in(row->name, "_free")) return error_count || (int)result ? "freeing nothing is not silent" : NULL;
    if (error_count != 1) return "the handler is not called once";
    bool gives_code = !strcmp(row->returns, "int") && strcmp(row->name, "mlx_array_dim");
    if (gives_code && (int)result != 1) return "the code is not 1";
    if (!gives_code && (int)result) return "something is returned";
    if (!strstr(error_text, call->missing)) return "the text does not name the type";
    if (!strstr(error_text, row->name)) return "the text does not name the function";
    if (!strstr(error_text, place)) return "the text does not name the argument";
    if (memcmp(results, zeros, sizeof results)) return "a result is touched";
    return NULL;
}

static void test_each_handle_of_each_function(void **state)
{
    char path[1024];
    struct row row;
    int count = 0, wrong = 0;
    (void)state;
    snprintf(path, sizeof path, "%s", __FILE__);
    *strrchr(path, '/') = '\0';
    strncat(path, "/../../src/mlxc/abi.tsv", sizeof path - strlen(path) - 1);
    FILE *file = fopen(path, "r");
    CHECK_NOT_NULL(file);
    CHECK_TRUE(read_row(file, &row)); /* titles */
    make_handles();
    while (read_row(file, &row))
        for (int empty = 0;; empty++) {
            struct call call = make_call(&row, empty);
            if (!call.missing[0] || !call.is_possible) break;
            const char *what = complaint(&row, &call, run(&row, &call));
            if (what)
                print_error("%s without %s: %s: %d errors: \"%s\"\n", row.name, call.missing_name, what, error_count,
                            error_text);
            wrong += what != NULL, count++;
        }
    fclose(file);
    free_handles();
    print_message("%d calls\n", count);
    CHECK_GT(count, 800);
    CHECK_EQ(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_each_handle_of_each_function, install_handler)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
