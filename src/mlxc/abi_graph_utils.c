/*
 * abi_graph_utils.c - graph_utils.h of the ABI: names of arrays, and their graph printed. A handle's ctx is the namer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_vector.h"
#include "run/graph_export.h"

mlx_node_namer mlx_node_namer_new(void)
{
    struct kiln_namer *namer = calloc(1, sizeof *namer);
    if (!namer) KILN_FAIL_TEXT("out of memory: a namer");
    return (mlx_node_namer){namer};
}

int mlx_node_namer_free(mlx_node_namer namer)
{
    if (namer.ctx) kiln__namer_release(namer.ctx);
    free(namer.ctx);
    return 0;
}

int mlx_node_namer_set_name(mlx_node_namer namer, const mlx_array arr, const char *name)
{
    if (KILN_NO_HANDLE(namer, "mlx_node_namer") || KILN_NO_ARRAY(arr) || KILN_NO_POINTER(name)) return 1;
    return kiln__namer_set(namer.ctx, kiln__unwrap(arr), name) ? 0 : KILN_FAIL_TEXT("out of memory: a name");
}

int mlx_node_namer_get_name(const char **name, mlx_node_namer namer, const mlx_array arr)
{
    if (KILN_NO_POINTER(name) || KILN_NO_HANDLE(namer, "mlx_node_namer") || KILN_NO_ARRAY(arr)) return 1;
    const char *got = kiln__namer_get(namer.ctx, kiln__unwrap(arr));
    if (!got) return KILN_FAIL_TEXT("out of memory: a name");
    *name = got;
    return 0;
}

typedef kiln_status print_graph(struct kiln_namer *namer, struct kiln_array *const *outputs, size_t count,
                                struct kiln_buffer *text, kiln_error *err);

static int write_graph(const char *name, print_graph *print, FILE *os, mlx_node_namer namer, mlx_vector_array outputs)
{
    kiln_error err;
    struct kiln_buffer text = {0};
    kiln_status status = print(namer.ctx, kiln__vector_data(outputs), kiln__vector_size(outputs), &text, &err);
    if (!status && (fwrite(text.data, 1, text.size, os) != text.size || fflush(os) != 0))
        status = kiln__fail(&err, KILN_IO, "[%s] writing failed: %s", name, strerror(errno));
    kiln__buffer_release(&text);
    return status ? KILN_FAIL(&err) : 0;
}

int mlx_export_to_dot(FILE *os, const mlx_node_namer namer, const mlx_vector_array outputs)
{
    if (KILN_NO_POINTER(os) || KILN_NO_HANDLE(namer, "mlx_node_namer") || KILN_NO_VECTOR(outputs)) return 1;
    return write_graph("export_to_dot", kiln__graph_dot, os, namer, outputs);
}

int mlx_print_graph(FILE *os, const mlx_node_namer namer, const mlx_vector_array outputs)
{
    if (KILN_NO_POINTER(os) || KILN_NO_HANDLE(namer, "mlx_node_namer") || KILN_NO_VECTOR(outputs)) return 1;
    return write_graph("print_graph", kiln__graph_lines, os, namer, outputs);
}
