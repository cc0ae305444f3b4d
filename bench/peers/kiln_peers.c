/*
 * kiln_peers.c - our part of make peers: the rows of peer.py through the C interface, each printed as it prints them.
 *
 *     kiln-peers first | warm REPEATS | kernels REPEATS | gradients REPEATS
 *
 * A line: the row, its times (ns of a call), and sampled values, which must be those of the other libraries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backward.h"
#include "bench.h"
#include "floors.h"

enum { SIDE = 4096, SAMPLES = 64, STRIDE = 7895243, SMALL = 1024, SMALL_CALLS = 2000 };

static struct compiled compiled;
static bool has_failed;

static void sample(mlx_array array)
{
    const float *values = mlx_array_data_float32(array);
    size_t length = mlx_array_size(array);
    for (size_t k = 0; k < SAMPLES; k++) printf("%s%.9g", k ? "," : "", (double)values[k * STRIDE % length]);
}

static void print_line(const char *library, const char *row, const double *ns, int count)
{
    mlx_array array = mlx_array_new();
    printf("{\"library\":\"%s\",\"row\":\"%s\",\"ns\":[", library, row);
    for (int i = 0; i < count; i++) printf("%s%.1f", i ? "," : "", ns[i]);
    printf("],\"samples\":[");
    for (size_t i = 0; strcmp(library, "memory") != 0 && i < mlx_vector_array_size(compiled.outputs); i++) {
        printf(i ? ",[" : "[");
        if (!mlx_vector_array_get(&array, compiled.outputs, i) && !mlx_array_eval(array)) sample(array);
        printf("]");
    }
    puts("]}");
    mlx_array_free(array);
}

static void call(void *ctx)
{
    (void)ctx;
    has_failed |= !backward_call(&compiled);
}

/* `repeats` samples of `calls` calls each, after some that are not counted. */
static void time_row(const char *library, const char *row, struct work work, int calls, int repeats)
{
    double ns[MAX_SAMPLES];
    for (int i = -2; i < repeats; i++) {
        double start = now_ns();
        for (int k = 0; k < calls; k++) work.run(work.ctx);
        if (i >= 0) ns[i] = (now_ns() - start) / calls;
    }
    print_line(library, row, ns, repeats);
}

/* ---- the pieces ------------------------------------------------------------------------------------------------ */

static bool make(enum expression expression, bool has_b, const int *shape, int ndim)
{
    size_t length = (size_t)shape[0] * (ndim > 1 ? (size_t)shape[1] : 1);
    float *a = malloc(length * sizeof *a), *b = malloc(length * sizeof *b);
    bool is_made = a && b;
    for (size_t i = 0; i < length && is_made; i++) a[i] = wide_number(i), b[i] = narrow_number(i);
    is_made = is_made && compiled_init_shaped(&compiled, expression, a, has_b ? b : NULL, shape, ndim);
    free(a), free(b);
    return is_made;
}

/* From the function to its first result. */
static void first(int repeats)
{
    static const int shape[] = {SMALL};
    (void)repeats;
    double start = now_ns(), ns;
    has_failed = !make(EXPRESSION_SWIGLU, true, shape, 1) || !backward_call(&compiled);
    ns = now_ns() - start;
    print_line("Kiln", "first call", &ns, 1);
}

static void warm(int repeats)
{
    static const int lengths[] = {16, SMALL};
    static const char *const rows[] = {"warm call, 16 floats", "warm call, 1024 floats"};
    for (int i = 0; i < 2; i++) {
        has_failed |= !make(EXPRESSION_MULTIPLY, true, &lengths[i], 1);
        time_row("Kiln", rows[i], (struct work){call, NULL, 0}, SMALL_CALLS, repeats);
        compiled_release(&compiled);
    }
}

static void kernels(int repeats)
{
    static const int shape[] = {SIDE, SIDE};
    static const struct {
        const char *row;
        enum expression expression;
        bool has_b;
    } kinds[] = {{"(a*b)*(a+b), 64 MiB each", EXPRESSION_PRODUCT_AND_SUM, true},
                 {"x*sigmoid(x)*y, 64 MiB each", EXPRESSION_SWIGLU, true},
                 {"gelu, 64 MiB each", EXPRESSION_GELU, false},
                 {"softmax, 4096 x 4096", EXPRESSION_SOFTMAX, false},
                 {"rms norm, 4096 x 4096", EXPRESSION_RMS_NORM, false}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        has_failed |= !make(kinds[i].expression, kinds[i].has_b, shape, 2);
        time_row("Kiln", kinds[i].row, (struct work){call, NULL, 0}, 1, repeats);
        compiled_release(&compiled);
    }
}

/* As many bytes as inputs and results have, half of them read and half written. */
static void time_copy(const char *row, size_t floats, int repeats)
{
    float *from = new_floats(floats), *to = new_floats(floats);
    struct floor floor = {.run = floor_copy_stream, .out = to, .a = from, .length = floats / LANES * LANES};
    has_failed |= !from || !to;
    for (size_t i = 0; i < floats && !has_failed; i++) from[i] = to[i] = 1;
    if (!has_failed) time_row("memory", row, (struct work){run_floor, &floor, 0}, 1, repeats);
    free(from), free(to);
}

static void gradients(int repeats)
{
    static const char *const rows[GRADIENT_COUNT] = {
        [GRADIENT_GELU] = "gradient of gelu, 64 MiB each",
        [GRADIENT_SOFTMAX] = "gradient of softmax, 4096 x 4096",
        [GRADIENT_LAYER_NORM] = "gradient of layer norm, 4096 x 4096",
        [GRADIENT_ATTENTION] = "gradient of attention, 8 x 1024 x 64",
    };
    for (int i = 0; i < GRADIENT_COUNT; i++) {
        has_failed |= !backward_init(&compiled, (enum gradient)i);
        time_row("Kiln", rows[i], (struct work){call, NULL, 0}, 1, repeats);
        time_copy(rows[i], backward_floats(&compiled) / 2, repeats);
        compiled_release(&compiled);
    }
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(int repeats);
    } pieces[] = {{"first", first}, {"warm", warm}, {"kernels", kernels}, {"gradients", gradients}};
    int repeats = count > 2 ? atoi(words[2]) : 1;
    for (size_t i = 0; count > 1 && repeats > 0 && repeats <= MAX_SAMPLES && i < sizeof pieces / sizeof *pieces; i++)
        if (strcmp(words[1], pieces[i].name) == 0) return pieces[i].run(repeats), has_failed;
    return fputs("usage: kiln-peers first | warm REPEATS | kernels REPEATS | gradients REPEATS\n", stderr), 2;
}
