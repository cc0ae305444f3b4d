/*
 * demo_drift.c - a variable that a function watches changes: followed by default, refused when strict. One function
 * each, with a compiler that only counts.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "demo_drift.h"

static int scale;

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_printf(text, "scale %d", scale);
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self, (void)request, (void)err;
    return kiln_artifact_put(out, "code", text.data, text.size);
}

/* The executable is the text that it was made from. */
static kiln_status link_code(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                             kiln_error *err)
{
    (void)self, (void)device, (void)err;
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    *executable = strndup(code.data, code.size);
    return *executable ? KILN_OK : KILN_NO_MEMORY;
}

static void unlink_code(void *self, void *executable)
{
    (void)self;
    free(executable);
}

static const kiln_compiler counting = {.struct_size = sizeof counting,
                                       .name = "demo",
                                       .digest = "1",
                                       .compile = compile,
                                       .link = link_code,
                                       .unlink = unlink_code};

static void call(kiln_cache *cache, kiln_function *function, int value, struct drift_step *step)
{
    kiln_counters before, after;
    kiln_error err = {KILN_OK, ""};
    void *executable = NULL;
    char expected[32];
    scale = value;
    snprintf(expected, sizeof expected, "scale %d", value);
    kiln_cache_counters(cache, &before);
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    kiln_cache_counters(cache, &after);
    step->value = value;
    step->is_refused = status == KILN_DRIFTED;
    step->is_compiled = after.compiles != before.compiles;
    step->is_right = status == KILN_OK ? strcmp(executable, expected) == 0 : step->is_refused;
    snprintf(step->text, sizeof step->text, "%.*s", (int)sizeof step->text - 1, err.text);
}

bool demo_drift(bool strict, struct drift_step steps[DRIFT_STEPS])
{
    static const int values[DRIFT_STEPS] = {1, 2, 1};
    const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = strict ? "strict" : "follow",
                                           .compiler = &counting,
                                           .lower = lower,
                                           .flags = strict ? KILN_STRICT : 0};
    kiln_cache *cache = NULL;
    kiln_function *function = NULL;
    bool is_made = kiln_cache_open(&memory_only, &cache, NULL) == KILN_OK &&
                   kiln_function_new(cache, &options, &function, NULL) == KILN_OK &&
                   kiln_watch(function, "demo", "scale", &scale, sizeof scale, NULL) == KILN_OK;
    for (int i = 0; i < DRIFT_STEPS && is_made; i++) call(cache, function, values[i], &steps[i]);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return is_made;
}
