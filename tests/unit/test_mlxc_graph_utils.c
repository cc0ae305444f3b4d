/*
 * test_mlxc_graph_utils.c - graphs printed as lines and for Graphviz, which draws them where it is installed.
 */
#include <unistd.h>

#include "support/arrays.h"

/* log(A / 2), where the quotient is also an output. */
struct graph {
    mlx_array a, two, quotient, result;
    mlx_vector_array outputs;
    mlx_node_namer namer;
};

static void make_graph(struct graph *out)
{
    const float values[] = {1, 2, 3, 4, 5, 6};
    const int shape[] = {2, 3};
    *out = (struct graph){.a = mlx_array_new_data(values, shape, 2, MLX_FLOAT32), .two = mlx_array_new_float(2)};
    expect_ok(mlx_divide(&out->quotient, out->a, out->two, stream), "divide");
    expect_ok(mlx_log(&out->result, out->quotient, stream), "log");
    out->outputs = mlx_vector_array_new_data((mlx_array[]){out->result, out->quotient}, 2);
    out->namer = mlx_node_namer_new();
}

static void free_graph(struct graph *graph)
{
    mlx_array_free(graph->a), mlx_array_free(graph->two), mlx_array_free(graph->quotient),
        mlx_array_free(graph->result);
    mlx_vector_array_free(graph->outputs), mlx_node_namer_free(graph->namer);
}

/* What a call printed; the caller frees it. */
static char *printed(int (*print)(FILE *, const mlx_node_namer, const mlx_vector_array), const struct graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    expect_ok(print(file, graph->namer, graph->outputs), "print");
    fclose(file);
    return text;
}

static void test_lines(void **state)
{
    struct graph graph;
    (void)state;
    make_graph(&graph);
    char *text = printed(mlx_print_graph, &graph);
    CHECK_STR(text, "Inputs: A (float32, (2,3)), B (float32, ())\n"
                    "divide A (float32, (2,3)), B (float32, ()) -> C (float32, (2,3))\n"
                    "log C (float32, (2,3)) -> D (float32, (2,3))\n"
                    "Outputs: D (float32, (2,3)), C (float32, (2,3))\n");
    free(text);
    expect_ok(mlx_array_eval(graph.result), "eval");
    text = printed(mlx_print_graph, &graph);
    CHECK_STR(text,
              "Inputs: D (float32, (2,3)), C (float32, (2,3))\nOutputs: D (float32, (2,3)), C (float32, (2,3))\n");
    free(text), free_graph(&graph);
}

static void test_names(void **state)
{
    struct graph graph;
    const char *name = NULL;
    (void)state;
    make_graph(&graph);
    expect_ok(mlx_node_namer_set_name(graph.namer, graph.a, "x"), "set");
    expect_ok(mlx_node_namer_set_name(graph.namer, graph.a, "line\n\"quoted\" \\ \x01 \xc3\xa9"), "set again");
    expect_ok(mlx_node_namer_get_name(&name, graph.namer, graph.a), "get");
    CHECK_STR(name, "line\n\"quoted\" \\ \x01 \xc3\xa9");
    char *text = printed(mlx_export_to_dot, &graph);
    CHECK_STR(text, "digraph {\n"
                    "{ rank=source; a2 [label=\"line\\n\\\"quoted\\\" \\\\ ? \xc3\xa9\"]; }\n"
                    "{ rank=source; a3 [label=\"A\"]; }\n"
                    "{ rank=sink; a1 [label=\"B\"]; }\n"
                    "{ rank=sink; a0 [label=\"C\"]; }\n"
                    "{ n2 [label=\"divide\", shape=rectangle]; }\n"
                    "a2 -> n2\na3 -> n2\nn2 -> a1\n"
                    "{ n3 [label=\"log\", shape=rectangle]; }\n"
                    "a1 -> n3\nn3 -> a0\n"
                    "}\n");
    free(text);
    for (int i = 0; i < 800; i++) {
        mlx_array other = mlx_array_new_float(1);
        expect_ok(mlx_node_namer_get_name(&name, graph.namer, other), "get");
        CHECK_STR(name, i == 0 ? "D" : i == 22 ? "Z" : i == 23 ? "AA" : i == 699 ? "AAA" : name);
        mlx_array_free(other);
    }
    free_graph(&graph);
}

static int two_outputs(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    (void)input_count, (void)context;
    return mlx_exp(&outputs[0], inputs[0], stream) || mlx_negative(&outputs[1], inputs[0], stream);
}

/* A call of a compiled function whose result is lazy is one operation with several results. */
static void test_compiled(void **state)
{
    struct traced_call call = {two_outputs, NULL, 2, 0};
    mlx_closure compiled = compile_call(&call, false);
    struct graph graph;
    mlx_array outputs[2];
    (void)state;
    make_graph(&graph);
    apply_compiled(compiled, &graph.result, 1, outputs, 2, "apply");
    mlx_vector_array_free(graph.outputs);
    graph.outputs = mlx_vector_array_new_data(outputs, 2);
    char *text = printed(mlx_print_graph, &graph);
    CHECK_CONTAINS(text, "\ncompiled D (float32, (2,3)) -> E (float32, (2,3)), F (float32, (2,3))\nOutputs: E");
    free(text);
    mlx_array_free(outputs[0]), mlx_array_free(outputs[1]), mlx_closure_free(compiled), free_graph(&graph);
}

/* A long chain of operations, and no outputs at all. */
static void test_sizes(void **state)
{
    mlx_array chain = mlx_array_new_float(1);
    mlx_node_namer namer = mlx_node_namer_new();
    (void)state;
    for (int i = 0; i < 200000; i++) mlx_negative(&chain, chain, stream);
    mlx_vector_array outputs = mlx_vector_array_new_value(chain), none = mlx_vector_array_new();
    FILE *file = fopen("/dev/null", "w"), *full = fopen("/dev/full", "w");
    expect_ok(mlx_export_to_dot(file, namer, outputs), "a long chain");
    expect_ok(mlx_print_graph(file, namer, none), "nothing");
    CHECK_EQ(mlx_print_graph(full, namer, outputs), 1);
    CHECK_CONTAINS(error_text, "[print_graph] writing failed: No space left");
    error_count = 0;
    fclose(file), fclose(full);
    mlx_vector_array_free(outputs), mlx_vector_array_free(none), mlx_node_namer_free(namer), mlx_array_free(chain);
}

static void test_graphviz(void **state)
{
    struct graph graph;
    char shown[4096] = "", path[] = "/tmp/kiln-dot-XXXXXX", command[100];
    (void)state;
    if (system("command -v dot > /dev/null 2>&1") != 0) {
        print_message("Graphviz is not installed, nothing is drawn\n");
        CHECK_SKIP();
    }
    make_graph(&graph);
    expect_ok(mlx_node_namer_set_name(graph.namer, graph.a, "line\n\"quoted\" \\ \x01 <b> \xc3\xa9"), "set");
    FILE *file = fdopen(mkstemp(path), "w");
    expect_ok(mlx_export_to_dot(file, graph.namer, graph.outputs), "export");
    fclose(file);
    snprintf(command, sizeof command, "dot -Tplain %s", path);
    FILE *drawn = popen(command, "r");
    CHECK_NE(fread(shown, 1, sizeof shown - 1, drawn), 0);
    CHECK_EQ(pclose(drawn), 0);
    CHECK_CONTAINS(shown, "rectangle");
    CHECK_CONTAINS(shown, "edge n2 a1");
    unlink(path), free_graph(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines, set_up),    cmocka_unit_test_setup(test_names, set_up),
        cmocka_unit_test_setup(test_compiled, set_up), cmocka_unit_test_setup(test_sizes, set_up),
        cmocka_unit_test_setup(test_graphviz, set_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
