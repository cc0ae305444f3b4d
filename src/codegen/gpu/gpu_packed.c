/*
 * gpu_packed.c - the schedule for operands that lie as the outputs do: element i is i elements behind its pointer.
 *
 *     the thread's elements all exist:  load all of them, compute, store
 *     else, in the last block:          those that exist, one after the other
 *
 * A thread has `width` elements: neighbours, moved as vectors, where the schedule config is wide; else elements one
 * block apart, so that at any time the threads of a warp touch neighbours. All loads stand before the first use.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_printer.h"

struct packed {
    struct kiln_printer *p;
    const struct kiln_gpu_config *config;
    const char *type; /* of indices */
    uint32_t width, step;
};

/* %first: the thread's first element; %last: its last, when all exist. */
static void print_elements(const struct packed *k)
{
    struct kiln_buffer *text = k->p->text;
    kiln__gpu_first(k->p, k->config, KILN_GPU_BLOCK * k->width, k->config->wide ? k->width : 1);
    kiln__buffer_printf(text, "  %%last = add nuw %s %%first, %u\n", k->type, (k->width - 1) * k->step);
    kiln__buffer_printf(text, "  %%whole = icmp ult %s %%last, %%n\n", k->type);
}

/* %oN.at or %pN.at with the suffix of the pass: element %i of the pass. */
static const char *element_pointer(const struct packed *k, char *out, char side, uint32_t index, enum kiln_dtype dtype)
{
    snprintf(out, KILN_IR_NAME, "%%%c%u.at%s", side, index, k->p->pass);
    kiln__buffer_printf(k->p->text, "  %s = getelementptr inbounds [%zu x i8], ptr %%%c%u, i64 %%i%s.long\n", out,
                        kiln__dtype_size(dtype), side, index, k->p->pass);
    return out;
}

static void load_element(const struct packed *k)
{
    struct kiln_printer *p = k->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] != KILN_LAYOUT_PACKED) continue;
        element_pointer(k, pointer, 'p', i, p->dtypes[i]);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], pointer, "");
    }
}

static void store_element(const struct packed *k)
{
    struct kiln_printer *p = k->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        element_pointer(k, pointer, 'o', i, p->dtypes[value]);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, "");
    }
}

/* Neighbours from %first on, as vectors. */
static kiln_status print_wide(const struct packed *k, kiln_error *err)
{
    struct kiln_printer *p = k->p;
    char pointer[KILN_IR_NAME];
    kiln__gpu_extend(p, k->config, "%i.long", "%first");
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_PACKED)
            kiln__gpu_load_vector(p, i, element_pointer(k, pointer, 'p', i, p->dtypes[i]), k->width);
    kiln_status status = kiln__gpu_compute(p, k->width, err);
    for (uint32_t i = 0; i < p->group->output_count; i++)
        kiln__gpu_store_vector(p, i, element_pointer(k, pointer, 'o', i, p->dtypes[p->group->outputs[i]]), k->width);
    return status;
}

/* Elements %first, %first + step, ... */
static kiln_status print_narrow(const struct packed *k, kiln_error *err)
{
    struct kiln_printer *p = k->p;
    char at[KILN_IR_NAME], whole[KILN_IR_NAME];
    for (uint32_t e = 0; e < k->width; e++) {
        p->pass = kiln__gpu_pass(e);
        snprintf(at, sizeof at, "%%i%s", p->pass);
        snprintf(whole, sizeof whole, "%%i%s.long", p->pass);
        kiln__buffer_printf(p->text, "  %s = add nuw %s %%first, %u\n", at, k->type, e * k->step);
        kiln__gpu_extend(p, k->config, whole, at);
        load_element(k);
    }
    kiln__gpu_join(p, k->width);
    kiln_status status = kiln__gpu_compute(p, k->width, err);
    for (uint32_t e = 0; e < k->width; e++) {
        p->pass = kiln__gpu_pass(e);
        store_element(k);
    }
    p->pass = "";
    return status;
}

/* From %first to the end, in the thread's steps. */
static kiln_status print_rest(const struct packed *k, kiln_error *err)
{
    struct kiln_printer *p = k->p;
    kiln__buffer_printf(p->text, "rest:\n  %%i.rest = phi %s [ %%first, %%entry ], [ %%i.next, %%element ]\n", k->type);
    kiln__buffer_printf(p->text, "  %%exists = icmp ult %s %%i.rest, %%n\n", k->type);
    kiln__buffer_printf(p->text, "  br i1 %%exists, label %%element, label %%exit\n\nelement:\n");
    p->pass = ".rest";
    kiln__gpu_extend(p, k->config, "%i.rest.long", "%i.rest");
    load_element(k);
    kiln_status status = kiln__print_instrs(p, false, err);
    store_element(k);
    p->pass = "";
    kiln__buffer_printf(p->text, "  %%i.next = add nuw %s %%i.rest, %u\n  br label %%rest" KILN_GPU_ROLLED "\n\n",
                        k->type, k->step);
    return status;
}

kiln_status kiln__gpu_print_packed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    struct packed k = {.p = p, .config = config, .type = kiln__gpu_index(config)};
    k.width = kiln__gpu_width(p->group, p->layouts);
    k.step = config->wide ? 1 : KILN_GPU_BLOCK;
    kiln__gpu_open(p, config, "n");
    print_elements(&k);
    kiln__print_shared_loads(p, "");
    kiln_status status = kiln__print_instrs(p, true, err);
    kiln__buffer_printf(p->text, "  br i1 %%whole, label %%all, label %%rest\n\nall:\n");
    if (!status) status = config->wide ? print_wide(&k, err) : print_narrow(&k, err);
    kiln__buffer_printf(p->text, "  br label %%exit\n\n");
    if (!status) status = print_rest(&k, err);
    kiln__buffer_printf(p->text, "exit:\n  ret void\n}\n");
    return status;
}
