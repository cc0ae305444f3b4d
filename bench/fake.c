/*
 * fake.c - see fake.h.
 */
#include "fake.h"

#include "bench.h"

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)request, (void)err;
    struct fake *fake = self;
    atomic_fetch_add(&fake->compiles, 1);
    for (double end = now_ns() + fake->busy_ns; now_ns() < end;) {
    }
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

void fake_init(struct fake *fake)
{
    *fake = (struct fake){.compiler = {.struct_size = sizeof fake->compiler, .name = "bench", .digest = "1"}};
    fake->compiler.compile = compile;
    fake->compiler.link = link_nothing;
    fake->compiler.unlink = unlink_nothing;
    fake->compiler.self = fake;
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_append(text, "nothing", 7);
}

kiln_function *fake_function(kiln_cache *cache, const struct fake *fake, kiln_error *err)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "nothing", .compiler = &fake->compiler, .lower = lower};
    kiln_function *function = NULL;
    return kiln_function_new(cache, &options, &function, err) == KILN_OK ? function : NULL;
}
