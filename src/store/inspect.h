/*
 * inspect.h - what exporting needs of an inspector (kiln/inspect.h) besides its public face.
 */
#ifndef KILN_STORE_INSPECT_H
#define KILN_STORE_INSPECT_H

#include "kiln/inspect.h"
#include "store/artifact.h"

/* Borrowed from the entry, which nobody else has yet. */
struct kiln_artifact *kiln__entry_artifact(kiln_entry *entry);
/* When file `index`, which is there, was last wanted, to the hour. */
uint64_t kiln__inspect_used_unix_s(const kiln_inspector *inspector, size_t index);

#endif
