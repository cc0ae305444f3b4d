/*
 * look_up.c - kiln_get alone, on a hit, with three tensors: the price of a safe look-up. The floor is the one thing
 * that can't be left out, comparing 256 bytes of key.
 */
#include <string.h>

#include "bench.h"
#include "kiln.h"

enum { CALLS = 20000 };

struct tensor { /* the layout of a DLTensor */
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

static kiln_status compile_nothing(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                   kiln_error *err)
{
    (void)self, (void)request, (void)err;
    return kiln_artifact_put(out, "nothing", text.data, text.size);
}

static kiln_status link_nothing(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                kiln_error *err)
{
    (void)artifact, (void)device, (void)err;
    *executable = self;
    return KILN_OK;
}

static void unlink_nothing(void *self, void *executable)
{
    (void)self, (void)executable;
}

struct look_up {
    kiln_function *function;
    kiln_arg args[3];
    kiln_status status;
};

static void get(void *ctx)
{
    struct look_up *look_up = ctx;
    void *executable;
    look_up->status |= kiln_get(look_up->function, look_up->args, 3, NULL, &executable, NULL);
}

struct keys {
    char left[256], right[256];
    int differs;
};

static void compare(void *ctx)
{
    struct keys *keys = ctx;
    __asm__ volatile("" : : "r"(keys) : "memory"); /* the bytes may have changed: compare again */
    keys->differs |= memcmp(keys->left, keys->right, sizeof keys->left);
}

int bench_look_up(struct row *rows, int repeats)
{
    static int anything;
    static const kiln_compiler compiler = {sizeof compiler, "bench",        "1",      compile_nothing,
                                           link_nothing,    unlink_nothing, &anything};
    int64_t shape[] = {128, 256}, strides[] = {256, 1};
    static _Alignas(64) char data[64];
    struct tensor tensors[3];
    for (int i = 0; i < 3; i++) tensors[i] = (struct tensor){data, 1, 0, 2, 2, 32, 1, shape, strides, 0};
    struct look_up look_up = {
        .args = {{&kiln_tensor, &tensors[0]}, {&kiln_tensor, &tensors[1]}, {&kiln_tensor, &tensors[2]}}};
    rows[0] = (struct row){.name = "look-up alone, 3 tensors", .floor_name = "memcmp of 256 bytes", .aim = "40 ns"};
    kiln_cache *cache = NULL;
    kiln_error err = {0};
    const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "nothing", .compiler = &compiler, .text = {"nothing", 7}};
    if (kiln_cache_open(&memory_only, &cache, &err) != KILN_OK ||
        kiln_function_new(cache, &options, &look_up.function, &err) != KILN_OK) {
        rows[0].is_missing = true;
        snprintf(rows[0].why, sizeof rows[0].why, "%.255s", err.text);
        return 1;
    }
    get(&look_up);
    struct keys keys = {{1}, {1}, 0};
    struct work works[] = {{get, &look_up, 0}, {compare, &keys, 0}};
    measure(works, 2, CALLS, repeats);
    rows[0].ns = works[0].ns;
    rows[0].floor_ns = works[1].ns;
    rows[0].is_missing = look_up.status != KILN_OK || keys.differs;
    kiln_function_free(look_up.function);
    kiln_cache_close(cache);
    return 1;
}
