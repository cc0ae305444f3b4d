/*
 * image_names.h - what profilers and debuggers are told of loaded images, as KILN_PERF asks for it (docs/profilers.md).
 *
 * map: a line for each function goes into /tmp/perf-PID.map, which perf reads. gdb: a copy of the object, whose
 * sections have their addresses, is registered with GDB's JIT interface. Where the setting is off nothing is done or
 * kept.
 */
#ifndef KILN_LINK_IMAGE_NAMES_H
#define KILN_LINK_IMAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Where a section went. */
struct kiln_placed_section {
    bool is_loaded;
    size_t offset; /* in the image */
};

/* An object that the loader has checked and placed: section and symbol tables are inside it, names end in NUL. */
struct kiln_placed_object {
    kiln_bytes bytes;
    const unsigned char *image;
    const struct kiln_placed_section *sections; /* in the order of the object's table */
    size_t section_count;
    const unsigned char *symbols; /* maybe not aligned */
    size_t symbol_count;
    const char *strings;
    size_t strings_size;
};

struct kiln_image_names; /* what others know of one image */

/* When its code can run. NULL: nobody is to be told, or there is no memory for it. Everything is copied. */
struct kiln_image_names *kiln__image_names_tell(const struct kiln_placed_object *object);
/* Before its code goes. NULL is fine. */
void kiln__image_names_forget(struct kiln_image_names *names);

#endif
