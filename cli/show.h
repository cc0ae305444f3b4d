/*
 * show.h - what `kiln show` prints of an artifact, and of all artifacts of a function.
 */
#ifndef KILN_CLI_SHOW_H
#define KILN_CLI_SHOW_H

#include "cli.h"
#include "kiln/inspect.h"

/* One line of what an artifact was first compiled for: a name, a tab and a value. False: *rest holds no more. */
bool next_fact(kiln_bytes *rest, kiln_bytes *name, kiln_bytes *value);
bool fact_is(kiln_bytes name, const char *word);

/* "signed by 1a2b3c4d build farm", with what is wrong with it behind; "" when nobody did. Valid until the next call. */
const char *signed_by(const kiln_entry *entry);
void print_json_signer(const kiln_entry *entry); /* fields of an object, into json_out */

void print_entry(const kiln_entry *entry);
/* Fields of an object, into json_out. */
void print_json_metadata(const kiln_entry *entry, const kiln_entry_info *info, bool with_path);
void print_json_entry(const kiln_entry *entry); /* into json_out */
void print_text(const kiln_entry *entry);       /* what it was compiled from, if that was kept */

/* Is it no code, but the names of what compile() depends on (docs/formats/manifest.md)? */
bool is_manifest(const kiln_entry *entry);
void print_names(const kiln_entry *manifest);

/* Artifacts of a function, opened. */
struct shown {
    kiln_entry **entries;
    size_t count;
    size_t own; /* the first ones, from the oldest to the youngest, were first compiled for it */
};
/* What was first compiled for a function of that name. Release it. KILN_INVALID: there is none. */
kiln_status find_shown(const kiln_inspector *inspector, const char *name, struct shown *out, kiln_error *err);
/* Adds kernels of its plans that were first compiled for others. */
void add_shared(const kiln_inspector *inspector, const char *name, struct shown *shown);
void release_shown(struct shown *shown);
void print_shown(const struct shown *shown, const char *name);
void print_json_shown(const struct shown *shown, const char *name);

#endif
