/*
 * dlopen.c - a client that opens the library at run time, as bindings do: all names of the table at once, then a sum,
 * a compiled callback called twice, a named one (kiln/compile.h) and an error. It is linked with neither library.
 * Usage: dlopen LIBRARY TABLE
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

/* What is called below, by the types of the headers. */
#define FUNCTIONS(X)                                                                                                   \
    X(mlx_add)                                                                                                         \
    X(mlx_array_free)                                                                                                  \
    X(mlx_array_item_float32)                                                                                          \
    X(mlx_array_new)                                                                                                   \
    X(mlx_array_new_data)                                                                                              \
    X(mlx_closure_apply)                                                                                               \
    X(mlx_closure_free)                                                                                                \
    X(mlx_closure_new)                                                                                                 \
    X(mlx_closure_new_func_payload)                                                                                    \
    X(mlx_compile)                                                                                                     \
    X(mlx_default_cpu_stream_new)                                                                                      \
    X(mlx_kiln_call_unary)                                                                                             \
    X(mlx_kiln_compile_unary)                                                                                          \
    X(mlx_multiply)                                                                                                    \
    X(mlx_set_error_handler)                                                                                           \
    X(mlx_stream_free)                                                                                                 \
    X(mlx_sum)                                                                                                         \
    X(mlx_vector_array_free)                                                                                           \
    X(mlx_vector_array_get)                                                                                            \
    X(mlx_vector_array_new)                                                                                            \
    X(mlx_vector_array_new_value)                                                                                      \
    X(mlx_vector_array_set_data)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
} f;

static int stop(const char *what, const char *why)
{
    fprintf(stderr, "dlopen: %s: %s\n", what, why);
    exit(1);
}

/* How many names of the table's first column the library has; one missing ends the program. */
static int resolve_all(void *library, const char *table)
{
    char line[4096];
    int count = 0;
    FILE *file = fopen(table, "r");
    if (!file || !fgets(line, sizeof line, file)) stop(table, "cannot be read");
    for (; fgets(line, sizeof line, file); count++) {
        line[strcspn(line, "\t\n")] = '\0';
        if (!dlsym(library, line)) stop(line, "is missing");
    }
    fclose(file);
#define RESOLVE(name) *(void **)&f.name = dlsym(library, #name);
    FUNCTIONS(RESOLVE)
    return count;
}

/* ---- work ---------------------------------------------------------------------------------------------------------
 */

struct payload {
    int calls;
    mlx_stream stream;
};

/* x * x + x; frees every handle it made, as bindings do. */
static int body(mlx_vector_array *res, const mlx_vector_array in, void *data)
{
    struct payload *payload = data;
    mlx_array x = f.mlx_array_new(), square = f.mlx_array_new();
    payload->calls++;
    int failed = f.mlx_vector_array_get(&x, in, 0) || f.mlx_multiply(&square, x, x, payload->stream) ||
                 f.mlx_add(&square, square, x, payload->stream) || f.mlx_vector_array_set_data(res, &square, 1);
    f.mlx_array_free(x);
    f.mlx_array_free(square);
    return failed;
}

/* The sum of what the closure makes of `count` values. */
static float apply(mlx_closure closure, const float *values, int count, mlx_stream stream)
{
    float sum = -1;
    mlx_array x = f.mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
    mlx_vector_array in = f.mlx_vector_array_new_value(x), out = f.mlx_vector_array_new();
    if (f.mlx_closure_apply(&out, closure, in) || f.mlx_vector_array_get(&x, out, 0) ||
        f.mlx_sum(&x, x, false, stream) || f.mlx_array_item_float32(&sum, x))
        stop("a compiled call", "failed");
    f.mlx_array_free(x);
    f.mlx_vector_array_free(in);
    f.mlx_vector_array_free(out);
    return sum;
}

static void compiled_calls(mlx_stream stream)
{
    struct payload payload = {0, stream};
    mlx_closure plain = f.mlx_closure_new_func_payload(body, &payload, NULL), compiled = f.mlx_closure_new();
    if (f.mlx_compile(&compiled, plain, false)) stop("mlx_compile", "failed");
    f.mlx_closure_free(plain);
    float first = apply(compiled, (float[]){1, 2, 3}, 3, stream);
    float second = apply(compiled, (float[]){4, 5, 6}, 3, stream);
    f.mlx_closure_free(compiled);
    printf("%g and %g from %d call of the callback\n", (double)first, (double)second, payload.calls);
}

/* x * x, the function of kiln_compile_unary. */
static int square(mlx_array *res, const mlx_array x, void *data)
{
    struct payload *payload = data;
    payload->calls++;
    return f.mlx_multiply(res, x, x, payload->stream);
}

static void named_calls(mlx_stream stream)
{
    float value = -1;
    struct payload payload = {0, stream};
    mlx_closure fast = f.mlx_closure_new();
    mlx_array x = f.mlx_array_new_data((float[]){3}, (int[]){1}, 1, MLX_FLOAT32);
    if (f.mlx_kiln_compile_unary(&fast, "square", square, &payload, NULL, false) ||
        f.mlx_kiln_call_unary(&x, fast, x) || f.mlx_kiln_call_unary(&x, fast, x) || f.mlx_array_item_float32(&value, x))
        stop("a named function", "failed");
    f.mlx_array_free(x);
    f.mlx_closure_free(fast);
    printf("%g from %d call of square\n", (double)value, payload.calls);
}

static void remember(const char *text, void *data)
{
    snprintf(data, 200, "%s", text);
}

static void keep(void *data)
{
    (void)data;
}

static void errors(mlx_stream stream)
{
    static char text[200];
    mlx_array res = f.mlx_array_new(), nothing = {NULL};
    f.mlx_set_error_handler(remember, text, keep);
    int code = f.mlx_add(&res, nothing, nothing, stream);
    char *place = strstr(text, " at ");
    if (place) *place = 0;
    printf("code %d: %s\n", code, text);
}

int main(int argc, char **argv)
{
    if (argc != 3) stop("usage", "dlopen LIBRARY TABLE");
    void *library = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
    if (!library) stop(argv[1], dlerror());
    printf("%d names\n", resolve_all(library, argv[2]));
    mlx_stream stream = f.mlx_default_cpu_stream_new();
    compiled_calls(stream);
    named_calls(stream);
    errors(stream);
    f.mlx_stream_free(stream);
    if (dlclose(library)) stop("dlclose", dlerror());
    printf("closed\n");
    return 0;
}
