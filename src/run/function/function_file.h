/*
 * function_file.h - functions in files: what a trace recorded, with the arrays that it captured.
 *
 * A file holds one function for each signature it was exported with: the number of listed inputs, the names of the
 * others, and the dtypes and shapes of all, or ranks where the function is shapeless. The format is written down in
 * docs/formats/function.md. What was read is immutable; any number of threads may apply it.
 */
#ifndef KILN_RUN_FUNCTION_FUNCTION_FILE_H
#define KILN_RUN_FUNCTION_FUNCTION_FILE_H

#include "run/io/sink.h"
#include "trace/trace.h"

/* Inputs of a call: those that are listed, then the others, by their names in the order of strcmp(). */
struct kiln_inputs {
    struct kiln_array *const *arrays;
    size_t listed, named;
    const char *const *names; /* of the last `named` arrays */
};

struct kiln_exported {
    struct kiln_tape *tape; /* as recorded: neither simplified nor fused */
    bool is_shapeless;
    size_t listed, named;
    char **names; /* malloc'ed, and so is each */
};

struct kiln_function_file {
    struct kiln_exported *functions;
    size_t count;
};

/* Traces `callback` for these inputs and adds what it recorded; evaluates what it captured. KILN_INVALID: a function of
 * this signature is there, or something in it has no place in a file. On failure the file is as before. */
kiln_status kiln__function_add(struct kiln_function_file *file, kiln_callback callback, void *payload,
                               const struct kiln_inputs *inputs, bool is_shapeless, kiln_error *err);
/* Forgets what was added last. */
void kiln__function_drop_last(struct kiln_function_file *file);
/* A kiln_saver of a kiln_function_file. */
kiln_status kiln__function_write(const struct kiln_sink *sink, const void *file, kiln_error *err);
/* On failure there is nothing to release. */
kiln_status kiln__function_read(const unsigned char *bytes, size_t size, struct kiln_function_file *out,
                                kiln_error *err);
void kiln__function_release(struct kiln_function_file *file);

/* Applies the function that takes these inputs: lazy arrays, or tracers inside of a trace. *outputs is a malloc'ed list
 * of references. */
kiln_status kiln__function_apply(const struct kiln_function_file *file, const struct kiln_inputs *inputs,
                                 struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

/* ---- the format ---- */

enum { KILN_FUNCTION_VERSION = 1, KILN_FUNCTION_HEADER = 56 }; /* bytes before the body */
extern const char kiln__function_magic[8];

/* Of the numbers that operations have in this version: attributes of deferred operations may be such numbers. */
uint32_t kiln__function_numbering(void);
/* Can this operation stand in a file? Not those that are no part of a trace, or only of one that is never replayed. */
bool kiln__function_has_op(enum kiln_op op);

#endif
