/*
 * look_up.c - kiln_get alone, on a hit: the price of a safe look-up, with three tensors, and with what a function
 * watches. The floor is the one thing that can't be left out, comparing 256 bytes of key.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fake.h"

enum { CALLS = 20000 };

enum { MAX_TENSORS = 8, GLOBALS = 4, MORE_GLOBALS = 12, VARIABLES = 8 };

struct look_up {
    kiln_function *function;
    kiln_arg args[MAX_TENSORS];
    size_t count;
    kiln_status status;
};

static void get(void *ctx)
{
    struct look_up *look_up = ctx;
    void *executable;
    look_up->status |= kiln_get(look_up->function, look_up->args, look_up->count, NULL, &executable, NULL);
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

/* ---- what is looked up --------------------------------------------------------------------------------------- */

static int64_t globals[MORE_GLOBALS];

/* The first `count` globals, and the variables of the environment when there are any globals at all; two of those are
 * set. */
static kiln_status watch(kiln_function *function, size_t count, kiln_error *err)
{
    char name[32];
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && !status; i++) {
        snprintf(name, sizeof name, "global_%zu", i);
        status = kiln_watch(function, "bench", name, &globals[i], sizeof globals[i], err);
    }
    for (int i = 0; i < VARIABLES && count && !status; i++) {
        snprintf(name, sizeof name, "KILN_BENCH_%d", i);
        if (i < 2 && setenv(name, i ? "fast" : "1", 1) != 0) return KILN_NO_MEMORY;
        status = kiln_watch_env(function, name, err);
    }
    return status;
}

static const struct {
    size_t tensors, globals;
} kinds[] = {{3, 0}, {8, 0}, {3, GLOBALS}, {3, MORE_GLOBALS}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static kiln_status make(kiln_cache *cache, const kiln_compiler *compiler, struct tensor *tensors,
                        struct look_up *look_ups, kiln_error *err)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "nothing", .compiler = compiler, .text = {"nothing", 7}};
    kiln_status status = KILN_OK;
    for (int i = 0; i < KINDS && !status; i++) {
        look_ups[i].count = kinds[i].tensors;
        for (size_t k = 0; k < kinds[i].tensors; k++) look_ups[i].args[k] = (kiln_arg){&kiln_tensor, &tensors[k]};
        status = kiln_function_new(cache, &options, &look_ups[i].function, err);
        if (!status) status = watch(look_ups[i].function, kinds[i].globals, err);
    }
    return status;
}

static const char *const names[] = {"look-up alone, 3 tensors", "  with 4 globals, 8 variables (2 set)",
                                    "  each further watched word", "  each further tensor, signed, compared"};

static void fill_rows(struct row *rows, const struct work *works)
{
    double floor_ns = works[KINDS].ns;
    rows[0] = (struct row){.name = names[0], .aim = "40 ns", .ns = works[0].ns};
    rows[1] = (struct row){.name = names[1], .aim = "80 ns", .ns = works[2].ns};
    rows[2] =
        (struct row){.name = names[2], .aim = "3 ns", .ns = (works[3].ns - works[2].ns) / (MORE_GLOBALS - GLOBALS)};
    rows[3] = (struct row){.name = names[3],
                           .aim = "5 ns to sign",
                           .ns = (works[1].ns - works[0].ns) / (double)(kinds[1].tensors - kinds[0].tensors)};
    for (int i = 0; i < 4; i++) {
        rows[i].floor_name = i < 2 ? "memcmp of 256 bytes" : "memcmp of 256 bytes / 32";
        rows[i].floor_ns = i < 2 ? floor_ns : floor_ns / 32;
    }
}

int bench_look_up(struct row *rows, int repeats)
{
    bool wanted = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) wanted |= is_wanted(names[i]);
    if (!wanted) return 0;
    struct fake fake;
    fake_init(&fake);
    int64_t shape[] = {128, 256}, strides[] = {256, 1};
    static _Alignas(64) char data[64];
    struct tensor tensors[MAX_TENSORS];
    for (int i = 0; i < MAX_TENSORS; i++) tensors[i] = (struct tensor){data, 1, 0, 2, 2, 32, 1, shape, strides, 0};
    struct look_up look_ups[KINDS] = {{0}};
    struct keys keys = {{1}, {1}, 0};
    kiln_cache *cache = NULL;
    kiln_error err = {0};
    const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    if (kiln_cache_open(&memory_only, &cache, &err) != KILN_OK ||
        make(cache, &fake.compiler, tensors, look_ups, &err) != KILN_OK) {
        rows[0] = (struct row){.name = names[0], .is_missing = true};
        snprintf(rows[0].why, sizeof rows[0].why, "%.255s", err.text);
        return 1;
    }
    struct work works[KINDS + 1];
    for (int i = 0; i < KINDS; i++) works[i] = (struct work){get, &look_ups[i], 0};
    works[KINDS] = (struct work){compare, &keys, 0};
    measure(works, KINDS + 1, CALLS, repeats);
    fill_rows(rows, works);
    for (int i = 0; i < KINDS; i++) {
        if (look_ups[i].status != KILN_OK || keys.differs)
            for (int k = 0; k < 4; k++) rows[k].is_missing = true;
        kiln_function_free(look_ups[i].function);
    }
    kiln_cache_close(cache);
    return 4;
}
