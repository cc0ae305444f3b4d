/*
 * sink.h - where arrays are saved: a file, which replaces another of its name when it is whole, or a writer of the
 * caller's.
 *
 * A file is written beside the one that it replaces, under a name of its own, and renamed when all of it is on the
 * disk; so whoever reads finds the old file or the new one, and after a failure the old one and nothing else.
 */
#ifndef KILN_RUN_IO_SINK_H
#define KILN_RUN_IO_SINK_H

#include "array/array.h"

struct kiln_sink {
    const char *name; /* of the function that saves: errors begin with "[name] " */
    bool (*write)(void *context, const void *data, size_t size); /* false: errno says why */
    void *context;
};

kiln_status kiln__sink_write(const struct kiln_sink *sink, const void *data, size_t size, kiln_error *err);
/* The packed elements of an array that is ready, wherever it is. */
kiln_status kiln__sink_write_array(const struct kiln_sink *sink, struct kiln_array *array, kiln_error *err);

/* Writes all of `what`. */
typedef kiln_status kiln_saver(const struct kiln_sink *sink, const void *what, kiln_error *err);
/* To the file `path`, with `ending` behind it unless it ends so already. Errors begin with "[name] ". */
kiln_status kiln__save_file(const char *name, const char *path, const char *ending, kiln_saver *save, const void *what,
                            kiln_error *err);

#endif
