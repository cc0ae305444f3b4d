/*
 * forgetful.c - a program whose function reads a variable; watched only when its first argument says so. For `kiln
 * audit`.
 */
#include <stdlib.h>

#include "kiln.h"

static int scale = 1;

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_printf(text, "scale %d\n", scale);
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self, (void)request, (void)err;
    return kiln_artifact_put(out, "code", text.data, text.size);
}

static kiln_status link_it(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                           kiln_error *err)
{
    (void)artifact, (void)device, (void)err;
    *executable = self;
    return KILN_OK;
}

int main(int count, char **words)
{
    static int anything;
    static const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                           .name = "none",
                                           .digest = "1",
                                           .compile = compile,
                                           .link = link_it,
                                           .self = &anything};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "forgetful", .compiler = &compiler, .lower = lower};
    kiln_function *function = NULL;
    void *executable;
    (void)words;
    if (kiln_function_new(kiln_cache_default(), &options, &function, NULL)) return 2;
    if (count > 1 && KILN_WATCH(function, scale)) return 2;
    for (int i = 0; i < 8; i++) {
        if (kiln_get(function, NULL, 0, NULL, &executable, NULL)) return 2;
        if (i == 1) scale = 2;
    }
    kiln_function_free(function);
    return 0;
}
