/*
 * link.h - an artifact and a device become something callable in this process.
 *
 * The CPU linker loads one position-independent, self-contained ELF object (section "object"): it places the
 * allocated sections, applies the few relocations our compiler emits, refuses every other, and never maps memory
 * writable and executable at once. Undefined symbols are refused. Input is untrusted: every offset is checked.
 *
 * For GPUs the driver does both halves: it turns PTX into machine code for one architecture (slow, so the result is
 * kept as a section of the artifact), and loads machine code.
 */
#ifndef KILN_LINK_LINK_H
#define KILN_LINK_LINK_H

#include "base/buffer.h"
#include "base/status.h"
#include "device/device.h"

struct kiln_image; /* code mapped into this process; one owner */

/* Loads `object` and finds `entry` in it. KILN_LINK_FAILED with a text that says what was not acceptable, or
 * KILN_NO_MEMORY. */
kiln_status kiln__image_load(kiln_bytes object, const char *entry, struct kiln_image **out, kiln_error *err);
/* The same without code that could run: what is wrong with the object, and with nothing else. KILN_OK: whatever keeps
 * it from being loaded is no fault of its own. KILN_LINK_FAILED; KILN_NO_MEMORY: can't be told now. */
kiln_status kiln__image_check(kiln_bytes object, const char *entry, kiln_error *err);
void *kiln__image_entry(const struct kiln_image *image);
size_t kiln__image_size(const struct kiln_image *image); /* bytes of memory */
void kiln__image_free(struct kiln_image *image);         /* NULL is fine; nothing may be running in it */

struct kiln_module; /* code loaded into a GPU; one owner */

/* The section that holds machine code for `target`: "cubin.sm_90". */
enum { KILN_CUBIN_NAME = 32 };
const char *kiln__cubin_name(const char *target, char out[KILN_CUBIN_NAME]);
/* PTX to machine code for this GPU, by the driver; counted. KILN_LINK_FAILED with the driver's log. */
kiln_status kiln__ptx_assemble(const struct kiln_gpu *gpu, kiln_bytes ptx, struct kiln_buffer *cubin, kiln_error *err);
kiln_status kiln__module_load(const struct kiln_gpu *gpu, kiln_bytes cubin, const char *entry, struct kiln_module **out,
                              kiln_error *err);
void *kiln__module_function(const struct kiln_module *module); /* a CUfunction */
void kiln__module_free(struct kiln_module *module);            /* NULL is fine; nothing may be running in it */

#endif
