/*
 * abi_vmap.c - transforms_impl.h of the ABI: the two halves of vmap. Axes as in transform/vmap/vmap.h.
 */
#include <stdlib.h>

#include "mlxc/abi_closure.h"
#include "transform/vmap/vmap.h"

/* Both halves have one axis for each array of a list. */
static bool has_other_count(const char *what, size_t axes, mlx_vector_array arrays)
{
    kiln_error err;
    if (axes == kiln__vector_size(arrays)) return false;
    kiln__fail(&err, KILN_INVALID, "[vmap] Expected one of %s_axes for each %sput, got %zu for %zu.", what, what, axes,
               kiln__vector_size(arrays));
    return KILN_FAIL(&err);
}

/* Gives *first to *res_0 and *second to *res_1, both or none. */
static int give_both(mlx_vector_array *res_0, mlx_vector_array *first, mlx_vector_array *res_1,
                     mlx_vector_array *second)
{
    mlx_vector_array room = {NULL};
    if (!res_1->ctx && (room = mlx_vector_array_new()).ctx == NULL) return 1;
    if (kiln__give_outputs(res_0, first)) {
        mlx_vector_array_free(room);
        return 1;
    }
    if (!res_1->ctx) *res_1 = room;
    return mlx_vector_array_set(res_1, *second);
}

int mlx_detail_vmap_trace(mlx_vector_array *res_0, mlx_vector_array *res_1, const mlx_closure fun,
                          const mlx_vector_array inputs, const int *in_axes, size_t in_axes_num)
{
    kiln_error err;
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_CLOSURE(fun) || KILN_NO_VECTOR(inputs) ||
        KILN_NO_ELEMENTS(in_axes, in_axes_num) || has_other_count("in", in_axes_num, inputs))
        return 1;
    struct kiln_closure *closure = kiln__closure_ref(kiln__unwrap_closure(fun)); /* the function may free its handle */
    struct kiln_array **placeholders = calloc(in_axes_num + 1, sizeof *placeholders), **outputs = NULL;
    size_t count = 0;
    mlx_vector_array made[2] = {{NULL}, {NULL}};
    kiln_status status = placeholders ? KILN_OK : kiln__no_memory(&err, "placeholders");
    if (!status)
        status = kiln__vmap_trace(kiln__closure_callback, closure, kiln__vector_data(inputs), in_axes, in_axes_num,
                                  placeholders, &outputs, &count, &err);
    int code = status ? KILN_FAIL(&err) : 0;
    if (!status) { /* giving takes the references also on failure */
        int first = kiln__give_arrays(&made[0], placeholders, in_axes_num);
        int second = kiln__give_arrays(&made[1], outputs, count);
        code = first || second ? KILN_FAIL_TEXT("out of memory: the results of vmap_trace")
                               : give_both(res_0, &made[0], res_1, &made[1]);
    }
    mlx_vector_array_free(made[0]);
    mlx_vector_array_free(made[1]);
    free(placeholders);
    free(outputs);
    kiln__closure_unref(closure);
    return code;
}

static int give_replaced(mlx_vector_array *res, struct kiln_array *const *arrays, size_t count)
{
    mlx_vector_array made = {NULL};
    int code = kiln__give_arrays(&made, arrays, count) ? KILN_FAIL_TEXT("out of memory: the results of vmap_replace")
                                                       : kiln__give_outputs(res, &made);
    mlx_vector_array_free(made);
    return code;
}

int mlx_detail_vmap_replace(mlx_vector_array *res, const mlx_vector_array inputs, const mlx_vector_array s_inputs,
                            const mlx_vector_array s_outputs, const int *in_axes, size_t in_axes_num,
                            const int *out_axes, size_t out_axes_num)
{
    kiln_error err;
    if (KILN_NO_POINTER(res) || KILN_NO_VECTOR(inputs) || KILN_NO_VECTOR(s_inputs) || KILN_NO_VECTOR(s_outputs) ||
        KILN_NO_ELEMENTS(in_axes, in_axes_num) || KILN_NO_ELEMENTS(out_axes, out_axes_num) ||
        has_other_count("in", in_axes_num, inputs) || has_other_count("in", in_axes_num, s_inputs) ||
        has_other_count("out", out_axes_num, s_outputs))
        return 1;
    const struct kiln_vmap_half half = {kiln__vector_data(inputs),
                                        kiln__vector_data(s_inputs),
                                        in_axes,
                                        in_axes_num,
                                        kiln__vector_data(s_outputs),
                                        out_axes,
                                        out_axes_num};
    struct kiln_array **arrays = calloc(out_axes_num + 1, sizeof *arrays);
    kiln_status status = arrays ? kiln__vmap_replace(&half, arrays, &err) : kiln__no_memory(&err, "mapped arrays");
    int code = status ? KILN_FAIL(&err) : give_replaced(res, arrays, out_axes_num);
    free(arrays);
    return code;
}
