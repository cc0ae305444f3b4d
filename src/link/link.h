/*
 * link.h - an artifact and a device become something callable in this process.
 *
 * The CPU linker loads one position-independent, self-contained ELF object (section "object"): it places the
 * allocated sections, applies the few relocations our compiler emits, refuses every other, and never maps memory
 * writable and executable at once. Undefined symbols are refused. Input is untrusted: every offset is checked.
 */
#ifndef KILN_LINK_LINK_H
#define KILN_LINK_LINK_H

#include "base/status.h"
#include "device/device.h"

struct kiln_image; /* code mapped into this process; one owner */

/* Loads `object` and finds `entry` in it. KILN_LINK_FAILED with a text that says what was not acceptable. */
kiln_status kiln__image_load(kiln_bytes object, const char *entry, struct kiln_image **out, kiln_error *err);
void *kiln__image_entry(const struct kiln_image *image);
size_t kiln__image_size(const struct kiln_image *image); /* bytes mapped */
void kiln__image_free(struct kiln_image *image);         /* NULL is fine; nothing may be running in it */

#endif
