/*
 * gpu_packed.c - the schedule for contiguous operands and outputs: element i is i elements behind its pointer.
 *
 *     the thread's elements all exist:  load all of them, compute, store
 *     else, in the last block:          those that exist, one after the other
 *
 * A thread has `width` elements: adjacent ones, loaded and stored as vectors, where the schedule config is wide; else
 * elements one block apart, so that accesses of a warp are coalesced. All loads stand before the first use.
 */
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
    kiln__gpu_first(k->p, k->config, KILN_GPU_BLOCK * k->width, k->config->wide ? k->width : 1);
    kiln__print(k->p->ir, "  %last = add nuw $0 %first, $1\n  %whole = icmp ult $0 %last, %n\n", k->type,
                (k->width - 1) * k->step);
}

/* %oN.at or %pN.at with the suffix of the pass: element %i of the pass. */
static struct kiln_name element_pointer(const struct packed *k, char side, uint32_t index, enum kiln_dtype dtype)
{
    struct kiln_name out = kiln__name(k->p->ir, "%$0$1.at$2", side, index, k->p->pass);
    kiln__print(k->p->ir, "  $0 = getelementptr inbounds [$1 x i8], ptr %$2$3, i64 %i$4.long\n", out.text,
                kiln__dtype_size(dtype), side, index, k->p->pass);
    return out;
}

static void load_element(const struct packed *k)
{
    struct kiln_printer *p = k->p;
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] != KILN_LAYOUT_PACKED) continue;
        struct kiln_name pointer = element_pointer(k, 'p', i, p->dtypes[i]);
        kiln__ir_load(p->ir, kiln__value_name(p, i).text, p->dtypes[i], pointer.text, "");
    }
}

static void store_element(const struct packed *k)
{
    struct kiln_printer *p = k->p;
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        struct kiln_name pointer = element_pointer(k, 'o', i, p->dtypes[value]);
        kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value], pointer.text, "");
    }
}

/* Neighbours from %first on, as vectors. */
static kiln_status print_wide(const struct packed *k, kiln_error *err)
{
    struct kiln_printer *p = k->p;
    kiln__gpu_extend(p, k->config, "%i.long", "%first");
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_PACKED)
            kiln__gpu_load_vector(p, i, element_pointer(k, 'p', i, p->dtypes[i]).text, k->width);
    kiln_status status = kiln__gpu_compute(p, k->width, err);
    for (uint32_t i = 0; i < p->group->output_count; i++)
        kiln__gpu_store_vector(p, i, element_pointer(k, 'o', i, p->dtypes[p->group->outputs[i]]).text, k->width);
    return status;
}

/* Elements %first, %first + step, ... */
static kiln_status print_narrow(const struct packed *k, kiln_error *err)
{
    struct kiln_printer *p = k->p;
    for (uint32_t e = 0; e < k->width; e++) {
        p->pass = kiln__gpu_pass(e);
        struct kiln_name at = kiln__name(k->p->ir, "%i$0", p->pass);
        struct kiln_name whole = kiln__name(k->p->ir, "%i$0.long", p->pass);
        kiln__print(p->ir, "  $0 = add nuw $1 %first, $2\n", at.text, k->type, e * k->step);
        kiln__gpu_extend(p, k->config, whole.text, at.text);
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
    kiln__print(p->ir,
                "rest:\n"
                "  %i.rest = phi $0 [ %first, %entry ], [ %i.next, %element ]\n"
                "  %exists = icmp ult $0 %i.rest, %n\n"
                "  br i1 %exists, label %element, label %exit\n\n"
                "element:\n",
                k->type);
    p->pass = ".rest";
    kiln__gpu_extend(p, k->config, "%i.rest.long", "%i.rest");
    load_element(k);
    kiln_status status = kiln__print_instrs(p, false, err);
    store_element(k);
    p->pass = "";
    kiln__print(p->ir, "  %i.next = add nuw $0 %i.rest, $1\n  br label %rest" KILN_GPU_ROLLED "\n\n", k->type, k->step);
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
    kiln__print(p->ir, "  br i1 %whole, label %all, label %rest\n\nall:\n");
    if (!status) status = config->wide ? print_wide(&k, err) : print_narrow(&k, err);
    kiln__print(p->ir, "  br label %exit\n\n");
    if (!status) status = print_rest(&k, err);
    kiln__print(p->ir, "exit:\n"
                       "  ret void\n"
                       "}\n");
    return status;
}
