/*
 * usage.h - what processes got from a folder, summed up beside its artifacts in `.hits`, for people (`kiln stats`).
 *
 * Each process appends one record of fixed size when it ends; a file that has grown long is replaced by its sum. No
 * lock is taken: a record that is appended while the file is replaced may be lost, and nothing depends on it. Safe
 * among processes. Format: docs/formats/artifact.md.
 */
#ifndef KILN_STORE_USAGE_H
#define KILN_STORE_USAGE_H

#include "kiln/inspect.h"

#define KILN_USAGE_FILE ".hits"
enum { KILN_USAGE_LIMIT = 1 << 20 }; /* no file of ours is longer */

/* Adds a record to a folder that is there; what can't be written is left. */
void kiln__usage_add(const char *folder, const kiln_usage *usage);
/* The sum; zeros where there is none. */
void kiln__usage_read(const char *folder, kiln_usage *out);

#endif
