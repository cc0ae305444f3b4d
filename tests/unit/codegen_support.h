/*
 * codegen_support.h - for tests that compile kernels: the plug-in of KILN_PLUGIN, the run-time library for a target,
 * and text to a callable kernel by our own loader.
 */
#ifndef KILN_TESTS_CODEGEN_SUPPORT_H
#define KILN_TESTS_CODEGEN_SUPPORT_H

#include <dlfcn.h>

#include "codegen/group.h"
#include "compiler/plugin.h"
#include "link/link.h"
#include "support/check.h"

typedef void (*kernel_entry)(const uint64_t *args, const int64_t *strides, int64_t rows, int64_t n);

static const struct kiln_plugin *plugin;

static int open_plugin(void **state)
{
    (void)state;
    const char *path = getenv("KILN_PLUGIN");
    void *library = dlopen(path ? path : "libkiln-llvm.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) print_error("%s\n", dlerror());
    plugin = library ? dlsym(library, KILN_PLUGIN_SYMBOL) : NULL;
    return plugin && plugin->version == KILN_PLUGIN_VERSION ? 0 : -1;
}

static kiln_bytes runtime_for(const char *target)
{
    static struct {
        const char *target;
        struct kiln_buffer bitcode;
    } known[8];
    kiln_error err = {0};
    size_t i = 0;
    while (known[i].target && strcmp(known[i].target, target) != 0) i++;
    if (!known[i].target) {
        CHECK_OK(plugin->prepare(target, &known[i].bitcode, &err), &err);
        known[i].target = target;
    }
    return (kiln_bytes){known[i].bitcode.data, known[i].bitcode.size};
}
#define runtime_for(...) CHECK_CALL(runtime_for, __VA_ARGS__)

/* The name of the entry that was compiled last. */
static struct kiln_buffer compiled_entry;

static __attribute__((unused, destructor)) void free_compiled_entry(void)
{
    kiln__buffer_release(&compiled_entry);
}

static void compile_text(const struct kiln_buffer *text, const char *target, unsigned opt_level,
                         struct kiln_buffer *object)
{
    kiln_error err = {0};
    struct kiln_plugin_job job = {
        .text = {text->data, text->size}, .runtime = runtime_for(target), .target = target, .opt_level = opt_level};
    kiln__buffer_clear(&compiled_entry);
    if (plugin->compile(&job, object, &compiled_entry, &err)) CHECK_FAIL("%s\n%s", err.text, (const char *)text->data);
}
#define compile_text(...) CHECK_CALL(compile_text, __VA_ARGS__)

/* Images that load_text() made: kernels are called as long as the program runs. */
struct loaded_image {
    struct loaded_image *next;
    struct kiln_image *image;
};
static struct loaded_image *loaded_images;

static void free_images(void)
{
    for (struct loaded_image *loaded = loaded_images, *next; loaded; loaded = next) {
        next = loaded->next;
        kiln__image_free(loaded->image);
        free(loaded);
    }
    loaded_images = NULL;
}

static __attribute__((unused)) void keep_image(struct kiln_image *image)
{
    struct loaded_image *loaded = malloc(sizeof *loaded);
    CHECK_NOT_NULL(loaded);
    if (!loaded_images) atexit(free_images);
    *loaded = (struct loaded_image){loaded_images, image};
    loaded_images = loaded;
}
#define keep_image(...) CHECK_CALL(keep_image, __VA_ARGS__)

/* Empties `text`. The image stays mapped until the program ends. */
static __attribute__((unused)) kernel_entry load_text_at(struct kiln_buffer *text, const char *target,
                                                         unsigned opt_level)
{
    struct kiln_buffer object = {0};
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    compile_text(text, target, opt_level, &object);
    CHECK_OK(kiln__image_load((kiln_bytes){object.data, object.size}, (const char *)compiled_entry.data, &image, &err),
             &err);
    kiln__buffer_release(&object);
    kiln__buffer_release(text);
    keep_image(image);
    kernel_entry entry;
    void *address = kiln__image_entry(image);
    memcpy(&entry, &address, sizeof entry);
    return entry;
}
#define load_text_at(...) CHECK_CALL(load_text_at, __VA_ARGS__)

static __attribute__((unused)) kernel_entry load_text(struct kiln_buffer *text, const char *target)
{
    return load_text_at(text, target, 2);
}
#define load_text(...) CHECK_CALL(load_text, __VA_ARGS__)

/* A group of one element-wise operation. */
struct one_op {
    struct kiln_group group;
    struct kiln_instr instr;
    uint8_t dtypes[3];
    uint32_t output;
};

/* False where the operation is not defined for inputs of this dtype. `to`: of a cast. */
static __attribute__((unused)) bool make_one_op(struct one_op *one, enum kiln_op op, enum kiln_dtype dtype,
                                                enum kiln_dtype to)
{
    const struct kiln_op_info *info = &kiln__ops[op];
    if (info->kind != KILN_OP_ELEMENTWISE || !info->lower[kiln__dtypes[dtype].kind]) return false;
    one->instr = (struct kiln_instr){.op = (uint16_t)op, .dtype = (uint8_t)kiln__op_result(op, dtype), .in = {0, 1, 2}};
    if (info->dtype_rule == KILN_RULE_CAST) one->instr.dtype = (uint8_t)to;
    for (int i = 0; i < 3; i++) one->dtypes[i] = (uint8_t)dtype;
    if (info->dtype_rule == KILN_RULE_SELECT) one->dtypes[0] = KILN_BOOL;
    one->output = (uint32_t)info->arity;
    one->group = (struct kiln_group){.operand_count = (uint32_t)info->arity,
                                     .instr_count = 1,
                                     .output_count = 1,
                                     .operand_dtypes = one->dtypes,
                                     .instrs = &one->instr,
                                     .outputs = &one->output};
    return true;
}

#endif
