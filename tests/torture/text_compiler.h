/*
 * text_compiler.h - a compiler of the client's own, whose executable is the text. What is unlinked is overwritten
 * first, so that a use afterwards is seen.
 */
#ifndef TESTS_TORTURE_TEXT_COMPILER_H
#define TESTS_TORTURE_TEXT_COMPILER_H

#include <stdlib.h>
#include <string.h>

#include "kiln.h"

static inline kiln_status copy_text(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                    kiln_error *err)
{
    (void)self, (void)request, (void)err;
    return kiln_artifact_put(out, "code", text.data, text.size);
}

static inline kiln_status link_text(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                    kiln_error *err)
{
    (void)self, (void)device, (void)err;
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    return (*executable = strndup(code.data, code.size)) ? KILN_OK : KILN_NO_MEMORY;
}

static inline void unlink_text(void *self, void *executable)
{
    (void)self;
    memset(executable, '!', strlen(executable));
    free(executable);
}

__attribute__((unused)) static const kiln_compiler text_compiler = {.struct_size = sizeof text_compiler,
                                                                    .name = "copy",
                                                                    .digest = "1",
                                                                    .compile = copy_text,
                                                                    .link = link_text,
                                                                    .unlink = unlink_text};

#endif
