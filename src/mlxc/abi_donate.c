/*
 * abi_donate.c - mlx_kiln_call_donating() of kiln/compile.h.
 *
 * Before the call each donated handle lets go of its array and gets a stand-in (kiln__donated()), so the call holds the
 * only reference if the handle did. Whatever else refers to the array or its bytes, another handle, the same handle
 * twice, a view, a lazy array or a captured one, holds references too, and so keeps the bytes from being written over.
 */
#include <stdlib.h>

#include "kiln/compile.h"
#include "mlxc/abi_closure.h"
#include "ops/creation.h"

struct donation {
    struct kiln_array_box *box; /* NULL: not donated, or donated by an earlier input of the same handle */
    struct kiln_array *stand_in;
};

struct inputs {
    size_t count;
    struct kiln_array **arrays; /* a reference each */
    struct donation *donations;
    bool *donated;
};

static bool is_valid(const mlx_array *inputs, size_t count)
{
    if (KILN_NO_ELEMENTS(inputs, count)) return false;
    for (size_t i = 0; i < count; i++)
        if (KILN_NO_ARRAY(inputs[i])) return false;
    return true;
}

static void free_lists(struct inputs *in)
{
    free(in->arrays);
    free(in->donations);
    free(in->donated);
    *in = (struct inputs){0};
}

/* Handles are as before on failure. */
static kiln_status make_stand_ins(struct inputs *in, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < in->count && !status; i++)
        if (in->donated[i]) status = kiln__donated(in->arrays[i], &in->donations[i].stand_in, err);
    return status;
}

static void let_go(struct inputs *in, const mlx_array *inputs)
{
    for (size_t i = 0; i < in->count; i++) {
        struct kiln_array_box *box = inputs[i].ctx;
        if (!in->donated[i] || box->array != in->arrays[i]) continue;
        in->donations[i].box = box;
        box->array = in->donations[i].stand_in;
        in->donations[i].stand_in = NULL;
        kiln__array_unref(in->arrays[i]); /* not the last: `arrays` has one */
    }
}

static kiln_status take_inputs(struct inputs *in, const mlx_array *inputs, size_t count, const bool *donate,
                               kiln_error *err)
{
    in->count = count;
    in->arrays = calloc(count + 1, sizeof *in->arrays);
    in->donations = calloc(count + 1, sizeof *in->donations);
    in->donated = calloc(count + 1, sizeof *in->donated);
    if (!in->arrays || !in->donations || !in->donated) {
        free_lists(in);
        return kiln__no_memory(err, "the inputs of a call");
    }
    for (size_t i = 0; i < count; i++) {
        in->arrays[i] = kiln__array_ref(kiln__unwrap(inputs[i]));
        in->donated[i] = donate && donate[i];
    }
    kiln_status status = make_stand_ins(in, err);
    if (!status) let_go(in, inputs);
    return status;
}

/* A failed call gives back what it did not consume. */
static void release_inputs(struct inputs *in, bool failed)
{
    for (size_t i = 0; i < in->count; i++) {
        struct donation *donation = &in->donations[i];
        kiln__array_unref(donation->stand_in);
        if (failed && donation->box && !kiln__array_is_consumed(in->arrays[i])) {
            kiln__array_unref(donation->box->array);
            donation->box->array = in->arrays[i];
        } else {
            kiln__array_unref(in->arrays[i]);
        }
    }
    free_lists(in);
}

int mlx_kiln_call_donating(mlx_vector_array *res, const mlx_closure fun, const mlx_array *inputs, size_t count,
                           const bool *donate)
{
    kiln_error err;
    struct inputs in = {0};
    mlx_vector_array made = {NULL};
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun) || !is_valid(inputs, count)) return 1;
    kiln_status status = take_inputs(&in, inputs, count, donate, &err);
    if (status && !in.arrays) return KILN_FAIL(&err);
    struct kiln_closure *closure = kiln__closure_ref(kiln__unwrap_closure(fun)); /* the function may free `fun` */
    if (!status) status = kiln__closure_run_donating(closure, in.arrays, count, in.donated, &made, &err);
    kiln__closure_unref(closure);
    release_inputs(&in, status);
    int code = status ? KILN_FAIL(&err) : kiln__give_outputs(res, &made);
    mlx_vector_array_free(made);
    return code;
}
