/*
 * codegen_support.h - for tests that compile kernels: the plug-in of KILN_PLUGIN, the run-time library for a target,
 * and text to a callable kernel by our own loader.
 */
#ifndef KILN_TESTS_CODEGEN_SUPPORT_H
#define KILN_TESTS_CODEGEN_SUPPORT_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/group.h"
#include "compiler/plugin.h"
#include "link/link.h"

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
        if (plugin->prepare(target, &known[i].bitcode, &err)) fail_msg("%s", err.text);
        known[i].target = target;
    }
    return (kiln_bytes){known[i].bitcode.data, known[i].bitcode.size};
}

static void compile_text(const struct kiln_buffer *text, const char *target, unsigned opt_level,
                         struct kiln_buffer *object)
{
    kiln_error err = {0};
    struct kiln_plugin_job job = {.text = {text->data, text->size},
                                  .runtime = runtime_for(target),
                                  .target = target,
                                  .entry = "kernel",
                                  .opt_level = opt_level};
    if (plugin->compile(&job, object, &err)) fail_msg("%s\n%s", err.text, (const char *)text->data);
}

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
    assert_non_null(loaded);
    if (!loaded_images) atexit(free_images);
    *loaded = (struct loaded_image){loaded_images, image};
    loaded_images = loaded;
}

/* Empties `text`. The image stays mapped until the program ends. */
static __attribute__((unused)) kernel_entry load_text(struct kiln_buffer *text, const char *target)
{
    struct kiln_buffer object = {0};
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    compile_text(text, target, 2, &object);
    if (kiln__image_load((kiln_bytes){object.data, object.size}, "kernel", &image, &err)) fail_msg("%s", err.text);
    kiln__buffer_release(&object);
    kiln__buffer_release(text);
    keep_image(image);
    kernel_entry entry;
    void *address = kiln__image_entry(image);
    memcpy(&entry, &address, sizeof entry);
    return entry;
}

#endif
