/*
 * facts_mlxc.c - what each function of mlx/c is seen to do with the good values of walk.h, as lines of text for
 * tools/operations.awk: name, dtypes that it takes, dtype of its result, operations that it is composed of, and whether
 * it can be traced without sizes, differentiated and mapped. A tab between each; "-" where there is nothing to say.
 *
 * Nothing is evaluated. Data arrays (DATA() of values_mlxc.h) become inputs of a function, which is then traced.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "walk/values_mlxc.h"

/* Numbers of mlx_dtype, in its order. */
static const char *const dtype_names[] = {"bool",  "uint8", "uint16",  "uint32",  "uint64",  "int8",     "int16",
                                          "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64"};
enum { DTYPES = sizeof dtype_names / sizeof *dtype_names };

size_t walk_absurd; /* nothing is absurd here */
static mlx_stream stream;
static bool has_operations; /* of the row whose line is written */

enum { ZERO = 3 }; /* the exit code of a child that found a gradient of zero */

static bool call(const struct walk_row *row)
{
    struct walk_result result = {0};
    walk_call(row, 0, &result);
    return result.number == 0;
}

/* The arrays that the last call gave. */
static mlx_vector_array results(void)
{
    mlx_vector_array list = mlx_vector_array_new();
    if (walk_results.list && walk_results.list->ctx) mlx_vector_array_set(&list, *walk_results.list);
    if (!list.ctx) list = mlx_vector_array_new_data(NULL, 0);
    if (walk_results.array && walk_results.array->ctx) mlx_vector_array_append_value(list, *walk_results.array);
    return list;
}

static bool gives_arrays(const struct walk_row *row)
{
    return !strncmp(row->types, " mlx_array_p ", 13) || !strncmp(row->types, " mlx_vector_array_p ", 20);
}

/* ---- dtypes -------------------------------------------------------------------------------------------------------
 */

/* One that is taken, for what follows; -1: none. */
static int print_dtypes(const struct walk_row *row)
{
    int taken = -1, count = 0;
    printf("\t");
    for (int i = 0; i < DTYPES; i++) {
        walk_data.is_dtype_chosen = true;
        walk_data.dtype = (mlx_dtype)i;
        bool is_taken = call(row);
        if (!is_taken) continue;
        if (taken < 0 || i == MLX_FLOAT32) taken = i;
        printf("%s%s", count++ ? "," : "", dtype_names[i]);
    }
    if (!count) printf("-");
    walk_data.dtype = (mlx_dtype)taken;
    return taken;
}

/* ---- operations ---------------------------------------------------------------------------------------------------
 */

static void print_result_dtypes(mlx_vector_array list)
{
    printf("\t");
    for (size_t i = 0; i < mlx_vector_array_size(list); i++) {
        mlx_array one = mlx_array_new();
        mlx_vector_array_get(&one, list, i);
        printf("%s%s", i ? "," : "", dtype_names[mlx_array_dtype(one)]);
    }
    if (!mlx_vector_array_size(list)) printf("-");
}

/* The first word of each line of a printed graph but its inputs and outputs. */
static void print_operations(mlx_vector_array list)
{
    char *text = NULL, *rest, seen[4096] = ",", word[100];
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    mlx_print_graph(file, mlx_node_namer_new(), list);
    fclose(file);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "%98[^ :]", word) != 1 || !strcmp(word, "Inputs") || !strcmp(word, "Outputs")) continue;
        char entry[100 + 2];
        snprintf(entry, sizeof entry, ",%s,", word);
        if (!strstr(seen, entry)) strncat(seen, entry + 1, sizeof seen - strlen(seen) - 1);
    }
    has_operations = seen[1];
    seen[strlen(seen) - 1] = '\0';
    printf("\t%s", seen[0] ? seen + 1 : "-");
}

/* ---- transforms ---------------------------------------------------------------------------------------------------
 */

/* A closure: the row's call with the inputs in the place of its data. */
static int call_with(mlx_vector_array *res, const mlx_vector_array inputs, void *payload)
{
    walk_data.given_count = (int)mlx_vector_array_size(inputs);
    for (int i = 0; i < walk_data.given_count; i++) {
        walk_data.given[i] = mlx_array_new();
        mlx_vector_array_get(&walk_data.given[i], inputs, (size_t)i);
    }
    bool is_done = call(payload);
    walk_data.given_count = 0;
    if (!is_done) return 1;
    mlx_vector_array list = results();
    return mlx_vector_array_set(res, list);
}

/* Each with one more axis in front. */
static mlx_vector_array mapped(mlx_vector_array inputs)
{
    mlx_vector_array list = mlx_vector_array_new_data(NULL, 0);
    for (size_t i = 0; i < mlx_vector_array_size(inputs); i++) {
        mlx_array one = mlx_array_new(), wide = mlx_array_new();
        mlx_vector_array_get(&one, inputs, i);
        mlx_expand_dims(&wide, one, 0, stream);
        mlx_vector_array_append_value(list, wide);
    }
    return list;
}

static bool can_be_mapped(mlx_closure closure, mlx_vector_array inputs)
{
    static const int axes[64] = {0};
    mlx_vector_array res = mlx_vector_array_new(), from = mlx_vector_array_new(), to = mlx_vector_array_new();
    mlx_vector_array wide = mapped(inputs);
    size_t count = mlx_vector_array_size(inputs);
    return !mlx_detail_vmap_trace(&from, &to, closure, wide, axes, count) &&
           !mlx_detail_vmap_replace(&res, wide, from, to, axes, count, axes, mlx_vector_array_size(to));
}

/* Where nothing is computed the gradient is that of an input, or of one that is held back. */
static bool is_zero(mlx_vector_array gradients)
{
    mlx_array one = mlx_array_new(), any = mlx_array_new();
    bool is_any = true;
    bool is_told = !mlx_vector_array_get(&one, gradients, 0) && !mlx_any(&any, one, false, stream) &&
                   !mlx_array_item_bool(&is_any, any);
    return is_told && !is_any;
}

static bool can_be_differentiated(mlx_closure closure, mlx_vector_array inputs, mlx_vector_array list)
{
    mlx_vector_array values = mlx_vector_array_new(), gradients = mlx_vector_array_new();
    mlx_vector_array cotangents = mlx_vector_array_new_data(NULL, 0);
    for (size_t i = 0; i < mlx_vector_array_size(list); i++) {
        mlx_array one = mlx_array_new(), ones = mlx_array_new();
        mlx_vector_array_get(&one, list, i);
        mlx_ones_like(&ones, one, stream);
        mlx_vector_array_append_value(cotangents, ones);
    }
    if (mlx_vjp(&values, &gradients, closure, inputs, cotangents)) return false;
    if (!has_operations && is_zero(gradients)) _exit(ZERO);
    return true;
}

static bool is_shapeless(mlx_closure closure, mlx_vector_array inputs)
{
    mlx_closure compiled = mlx_closure_new();
    mlx_vector_array res = mlx_vector_array_new();
    return !mlx_compile(&compiled, closure, true) && !mlx_closure_apply(&res, compiled, inputs);
}

/* A child for each, so that none sees what another one left. */
static const char *answer_of(bool (*try)(const struct walk_row *), const struct walk_row *row)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(try(row) ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child) exit(2);
    if (!WIFEXITED(status)) return "no";
    return WEXITSTATUS(status) == 0 ? "yes" : WEXITSTATUS(status) == ZERO ? "zero" : "no";
}

static mlx_closure closure_of(const struct walk_row *row)
{
    return mlx_closure_new_func_payload(call_with, (void *)row, NULL);
}

static mlx_vector_array inputs_of(const struct walk_row *row)
{
    call(row);
    return mlx_vector_array_new_data(walk_data.made, (size_t)walk_data.count);
}

static bool try_shapeless(const struct walk_row *row)
{
    mlx_vector_array inputs = inputs_of(row);
    return is_shapeless(closure_of(row), inputs);
}

static bool try_gradient(const struct walk_row *row)
{
    mlx_vector_array inputs = inputs_of(row), list = results();
    return can_be_differentiated(closure_of(row), inputs, list);
}

static bool try_map(const struct walk_row *row)
{
    mlx_vector_array inputs = inputs_of(row);
    return can_be_mapped(closure_of(row), inputs);
}

/* ---- lines --------------------------------------------------------------------------------------------------------
 */

static void print_row(const struct walk_row *row)
{
    walk_data.is_dtype_chosen = false;
    bool works = gives_arrays(row) && call(row);
    int inputs = walk_data.count, taken = -1;
    printf("%s", row->function);
    if (!works) {
        printf("\t-\t-\t-\t-\t-\t-\n");
        return;
    }
    if (inputs)
        taken = print_dtypes(row);
    else
        printf("\t-");
    walk_data.is_dtype_chosen = taken >= 0;
    call(row);
    mlx_vector_array list = results();
    print_result_dtypes(list);
    print_operations(list);
    bool is_traced = inputs > 0 && inputs <= WALK_MOST_DATA && taken >= 0;
    printf("\t%s", is_traced ? answer_of(try_shapeless, row) : "-");
    printf("\t%s", is_traced ? answer_of(try_gradient, row) : "-");
    printf("\t%s\n", is_traced ? answer_of(try_map, row) : "-");
}

int main(void)
{
    stream = mlx_default_cpu_stream_new();
    mlx_set_error_handler(walk_handler, NULL, NULL);
    for (size_t i = 0; i < walk_row_count; i++) {
        int status = 0;
        if (!strncmp(walk_rows[i].function, "kiln_", 5) || !strncmp(walk_rows[i].function, "mlx_kiln_", 9)) continue;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            print_row(&walk_rows[i]);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            printf("%s: the child ended with %d\n", walk_rows[i].function, status);
            return 1;
        }
    }
    return 0;
}
