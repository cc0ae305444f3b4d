/*
 * variant.c - kernels of groups and of uncompiled operations, found without a lock.
 *
 * Lists and the table only grow: an entry is filled before a release store makes it visible, and never changes after.
 * An entry has a reference to its kernel, so a launch, during which its group lives, needs none of its own. Two threads
 * that make the same entry both compile through the cache, which compiles once; one entry stays. An entry of a plan's
 * group is made before the plan runs (run/prepare.c), or by the launch that needs it: then it is a lazy variant.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/kernels/kernel.h"
#include "codegen/cpu/attention_kernel.h"
#include "codegen/cpu/product.h"
#include "codegen/gpu/gpu_attention.h"
#include "codegen/gpu/gpu_ordered.h"
#include "codegen/gpu/gpu_product.h"
#include "codegen/gpu/gpu_schedule.h"
#include "device/device.h"
#include "run/gpu/gpu_launch.h"
#include "run/kernels/dry_run.h"
#include "run/kernels/kernel_set.h"
#include "run/provenance.h"

void kiln__group_release(struct kiln_group *group)
{
    free(group->operand_dtypes);
    free(group->constant_dtypes);
    free(group->instrs);
    free(group->outputs);
    memset(group, 0, sizeof *group);
}

/* A GPU may still have launches in its queue, and graphs that replay them (launch_graph.c): its kernels stay linked. */
void kiln__variant_free(struct kiln_variant *variant)
{
    if (!variant->device->gpu) kiln__kernel_unref(variant->kernel);
    free(variant);
}

void kiln__group_kernels_release(struct kiln_group_kernels *kernels)
{
    struct kiln_variant *variant = atomic_load_explicit(&kernels->variants, memory_order_acquire);
    while (variant) {
        struct kiln_variant *next = variant->next;
        kiln__variant_free(variant);
        variant = next;
    }
    atomic_store_explicit(&kernels->variants, NULL, memory_order_relaxed);
    kiln__launch_cache_clear(kernels);
    if (kernels->same)
        kiln__shared_leave(kernels);
    else
        kiln__group_release(&kernels->group);
}

/* ---- variants of a group ------------------------------------------------------------------------------------- */

/* What a variant is found by, besides its layouts. */
struct variant_key {
    kiln_device *device;
    uint32_t generation, options;
    unsigned flags;
};

static const struct kiln_variant *find(const struct kiln_variant *list, const struct variant_key *key,
                                       const char *layouts, size_t count)
{
    for (; list; list = list->next) {
        if (list->device == key->device && list->generation == key->generation && list->options == key->options &&
            list->flags == key->flags && memcmp(list->layouts, layouts, count) == 0) {
            return list;
        }
    }
    return NULL;
}

static bool is_reduction(const struct kiln_group *group)
{
    return group->instr_count == 1 && kiln__ops[group->instrs[0].op].kind == KILN_OP_REDUCE;
}

static bool is_product(const struct kiln_group *group)
{
    return group->instr_count == 1 &&
           (group->instrs[0].op == KILN_OP_MATMUL || group->instrs[0].op == KILN_OP_QUANTIZED_MATMUL);
}

/* The flags of a variant for a GPU are its schedule config, packed. */
static const unsigned on_gpu = 1u << 31;

static unsigned pack_config(const struct kiln_gpu_config *config)
{
    if (config->schedule >= KILN_GPU_PRODUCT) return (unsigned)config->schedule | config->form << 8 | on_gpu;
    return (unsigned)config->schedule | (unsigned)config->axes << 8 | (unsigned)config->wide << 16 |
           (unsigned)config->is_long << 17 | on_gpu;
}

static struct kiln_gpu_config unpack_config(unsigned flags)
{
    if ((flags & 0xff) >= KILN_GPU_PRODUCT)
        return (struct kiln_gpu_config){.schedule = (enum kiln_gpu_schedule)(flags & 0xff),
                                        .form = (flags & ~on_gpu) >> 8};
    return (struct kiln_gpu_config){.schedule = (enum kiln_gpu_schedule)(flags & 0xff),
                                    .axes = (uint8_t)(flags >> 8),
                                    .wide = flags >> 16 & 1,
                                    .is_long = flags >> 17 & 1};
}

kiln_status kiln__variant_print(const struct kiln_group_kernels *kernels, const struct kiln_variant *variant,
                                struct kiln_buffer *text, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    const struct kiln_gpu_config config = unpack_config(variant->flags);
    const char *layouts = variant->layouts;
    if (variant->flags & on_gpu && config.schedule == KILN_GPU_PRODUCT) {
        const struct kiln_gpu_product_config product = kiln__gpu_product_unpack(config.form);
        return kiln__gpu_product_print(group->instrs[0].dtype, &product, text, err);
    }
    if (variant->flags & on_gpu && config.schedule == KILN_GPU_ATTENTION) {
        const struct kiln_gpu_attention_config attention = kiln__gpu_attention_unpack(config.form);
        return kiln__gpu_attention_print(group->instrs[0].dtype, &attention, text, err);
    }
    if (variant->flags & on_gpu && config.schedule == KILN_GPU_ORDERED) {
        const struct kiln_gpu_ordered_config ordered = kiln__gpu_ordered_unpack(config.form);
        return kiln__gpu_ordered_print(group->instrs[0].dtype, &ordered, text, err);
    }
    if (variant->flags & on_gpu) return kiln__gpu_print(group, layouts, &config, text, err);
    if (group->instrs[0].op == KILN_OP_ATTENTION) {
        const struct kiln_attention_config attention = kiln__attention_unpack(variant->flags);
        return kiln__attention_print(group->instrs[0].dtype, &attention, text, err);
    }
    if (is_product(group)) {
        const struct kiln_product_config product = kiln__product_unpack(variant->flags);
        return kiln__product_print(group->operand_dtypes[1], group->instrs[0].dtype, &product, text, err);
    }
    if (!is_reduction(group)) return kiln__group_print(group, layouts, variant->flags, text, err);
    const struct kiln_instr *instr = &group->instrs[0];
    return kiln__reduction_print(instr->op, group->operand_dtypes[0], instr->dtype, layouts[0], text, err);
}

static struct kiln_variant *variant_new(const struct variant_key *key, const char *layouts, size_t count)
{
    struct kiln_variant *variant = calloc(1, sizeof *variant + count + 1);
    if (!variant) return NULL;
    variant->device = key->device;
    variant->generation = key->generation;
    variant->options = key->options;
    variant->flags = key->flags;
    memcpy(variant->layouts, layouts, count);
    return variant;
}

/* Prints it into `text`, which the caller releases, also after a failure. */
static kiln_status print_text(const struct kiln_group_kernels *kernels, const struct kiln_variant *variant,
                              struct kiln_buffer *text, struct kiln_kernel_text *out, kiln_error *err)
{
    kiln_status status = kiln__variant_print(kernels, variant, text, err);
    if (!status && text->failed) status = kiln__no_memory(err, "the text of a kernel");
    *out = (struct kiln_kernel_text){variant->device, variant->options, kernels->name, {text->data, text->size}};
    return status;
}

kiln_status kiln__variant_compile(const struct kiln_group_kernels *kernels, struct kiln_variant *variant,
                                  kiln_error *err)
{
    struct kiln_buffer text = {0};
    struct kiln_kernel_text kernel;
    const struct kiln_provenance_of of = {kernels, variant->layouts};
    const struct kiln_provenance note = {kiln__provenance_print, &of};
    kiln_status status = print_text(kernels, variant, &text, &kernel, err);
    if (!status)
        status =
            kiln__kernel_from_text(kiln_cache_default(), kiln_compiler_llvm(), &kernel, &note, &variant->kernel, err);
    kiln__buffer_release(&text);
    variant->executable = variant->kernel ? variant->kernel->executable : NULL;
    return status;
}

enum kiln_outcome kiln__variant_load(const struct kiln_group_kernels *kernels, struct kiln_variant *variant,
                                     kiln_error *err)
{
    struct kiln_buffer text = {0};
    struct kiln_kernel_text kernel;
    enum kiln_outcome outcome = kiln__outcome(print_text(kernels, variant, &text, &kernel, err), err);
    if (outcome == KILN_DONE)
        outcome = kiln__kernel_at_hand(kiln_cache_default(), kiln_compiler_llvm(), &kernel, &variant->kernel, err);
    kiln__buffer_release(&text);
    variant->executable = variant->kernel ? variant->kernel->executable : NULL;
    return outcome;
}

static struct kiln_group_kernels *home_of(struct kiln_group_kernels *kernels)
{
    return kernels->same ? kernels->same : kernels;
}

const struct kiln_variant *kiln__variant_publish(struct kiln_group_kernels *kernels, struct kiln_variant *mine)
{
    struct kiln_group_kernels *home = home_of(kernels);
    const struct variant_key key = {mine->device, mine->generation, mine->options, mine->flags};
    struct kiln_variant *head = atomic_load_explicit(&home->variants, memory_order_acquire);
    do {
        const struct kiln_variant *other = find(head, &key, mine->layouts, kernels->group.operand_count);
        if (other) {
            kiln__variant_free(mine);
            return other;
        }
        mine->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&home->variants, &head, mine, memory_order_acq_rel,
                                                    memory_order_acquire));
    return mine;
}

static _Atomic uint64_t lazy_variants;

uint64_t kiln__lazy_variants(void)
{
    return atomic_load_explicit(&lazy_variants, memory_order_relaxed);
}

/* Compiles the lazy variant `mine` now, inside of the launch that needs it. */
static kiln_status make_lazy(struct kiln_group_kernels *kernels, struct kiln_variant *mine,
                             const struct kiln_variant **out, kiln_error *err)
{
    kiln_status status = kiln__variant_compile(kernels, mine, err);
    if (status != KILN_OK) {
        kiln__variant_free(mine);
        return status;
    }
    if (kernels->plan) atomic_fetch_add_explicit(&lazy_variants, 1, memory_order_relaxed);
    *out = kiln__variant_publish(kernels, mine);
    return KILN_OK;
}

/* In a dry run *out is NULL: nothing is to be run. */
static kiln_status get(struct kiln_group_kernels *kernels, struct variant_key *key, const char *layouts, void **out,
                       kiln_error *err)
{
    size_t count = kernels->group.operand_count;
    kiln_status status = KILN_OK;
    key->generation = atomic_load_explicit(&key->device->generation, memory_order_relaxed);
    const struct kiln_variant *known =
        find(atomic_load_explicit(&home_of(kernels)->variants, memory_order_acquire), key, layouts, count);
    if (!known) {
        struct kiln_variant *mine = variant_new(key, layouts, count);
        if (!mine) return kiln__no_memory(err, "a kernel variant");
        status = kiln__dry_run ? kiln__dry_run_note(kernels, mine, err) : make_lazy(kernels, mine, &known, err);
    }
    *out = known && !kiln__dry_run ? known->executable : NULL;
    return status;
}

kiln_status kiln__variant_get(struct kiln_group_kernels *kernels, const char *layouts, unsigned flags,
                              kiln_kernel_entry *out, kiln_error *err)
{
    const struct kiln_environment *environment = kiln__environment();
    struct variant_key key = {.device = kiln__device_current_in(environment, err),
                              .options = kiln__options_packed(environment),
                              .flags = flags};
    void *executable = NULL;
    if (!key.device) return KILN_INVALID;
    kiln_status status = get(kernels, &key, layouts, &executable, err);
    if (status == KILN_OK) memcpy(out, &executable, sizeof executable);
    return status;
}

kiln_status kiln__gpu_variant_get(struct kiln_group_kernels *kernels, kiln_device *device, const char *layouts,
                                  const struct kiln_gpu_config *config, void **function, kiln_error *err)
{
    struct variant_key key = {
        .device = device, .options = kiln__options_packed(kiln__environment()), .flags = pack_config(config)};
    return get(kernels, &key, layouts, function, err);
}

/* ---- kernels of uncompiled operations ------------------------------------------------------------------------ */

static _Atomic(struct kiln_group_kernels *) table[KILN_OP_COUNT][KILN_DTYPE_COUNT][KILN_DTYPE_COUNT];

static bool fill_group(struct kiln_group *group, enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out)
{
    uint32_t arity = kiln__ops[op].arity < 0 ? 2 : (uint32_t)kiln__ops[op].arity; /* those whose dtypes count */
    bool has_places = kiln__ops[op].kind == KILN_OP_ARGREDUCE; /* an operand more: codegen/gpu/gpu_schedule.h */
    group->operand_count = arity + has_places;
    group->instr_count = group->output_count = 1;
    group->operand_dtypes = calloc(group->operand_count, sizeof *group->operand_dtypes);
    group->instrs = calloc(1, sizeof *group->instrs);
    group->outputs = calloc(1, sizeof *group->outputs);
    if (!group->operand_dtypes || !group->instrs || !group->outputs) return false;
    group->instrs[0].op = (uint16_t)op;
    group->instrs[0].dtype = (uint8_t)out;
    group->outputs[0] = group->operand_count;
    if (has_places) group->operand_dtypes[arity] = KILN_UINT32;
    for (uint32_t i = 0; i < arity; i++) {
        group->operand_dtypes[i] = (uint8_t)(kiln__ops[op].dtype_rule == KILN_RULE_SELECT && i == 0 ? KILN_BOOL : in);
        group->instrs[0].in[i] = i;
    }
    return true;
}

static void free_kernels(struct kiln_group_kernels *kernels)
{
    kiln__group_kernels_release(kernels);
    free(kernels);
}

static kiln_status make_op_kernels(enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out,
                                   struct kiln_group_kernels **result, kiln_error *err)
{
    struct kiln_group_kernels *mine = calloc(1, sizeof *mine), *other = NULL;
    if (!mine) return kiln__no_memory(err, "the kernels of an operation");
    if (!fill_group(&mine->group, op, in, out)) {
        free_kernels(mine);
        return kiln__no_memory(err, "the kernels of an operation");
    }
    strncpy(mine->name, kiln__ops[op].name, sizeof mine->name - 1);
    if (!atomic_compare_exchange_strong_explicit(&table[op][in][out], &other, mine, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        free_kernels(mine);
        mine = other;
    }
    *result = mine;
    return KILN_OK;
}

kiln_status kiln__op_kernels(enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out,
                             struct kiln_group_kernels **kernels, kiln_error *err)
{
    struct kiln_group_kernels *known = atomic_load_explicit(&table[op][in][out], memory_order_acquire);
    if (!known) return make_op_kernels(op, in, out, kernels, err);
    *kernels = known;
    return KILN_OK;
}
