/*
 * content.h - the content key (K2): everything that decides what the compiler would produce.
 *
 * A sequence of named fields, kept whole in the artifact so that two keys can be compared field by field, and a SHA-256
 * of it, which names the artifact. The same in every process: no address, id or counter enters it.
 * Encoding: docs/formats/key.md.
 */
#ifndef KILN_KEY_CONTENT_H
#define KILN_KEY_CONTENT_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/status.h"

struct kiln_content_key {
    struct kiln_buffer fields;
    struct kiln_digest digest; /* set by kiln__content_finish() */
};

/* Appends a field. Fields are written in one fixed order by key/request.c; values are any bytes. */
void kiln__content_field(struct kiln_content_key *key, const char *name, const void *value, size_t size);
void kiln__content_text(struct kiln_content_key *key, const char *name, const char *value);
/* Name of a field for a variable: "<prefix> <bytes of module> <module> <name>", so that the two can't merge. */
void kiln__content_field_name(struct kiln_buffer *out, const char *prefix, const char *module, const char *name);
/* KILN_NO_MEMORY when a field could not be added. */
kiln_status kiln__content_finish(struct kiln_content_key *key, kiln_error *err);
void kiln__content_release(struct kiln_content_key *key);

/* The key of what a program stores itself (kiln_store_put): no compile's key begins like it, so the two never meet. */
kiln_status kiln__content_of_bytes(kiln_bytes key, struct kiln_content_key *out, kiln_error *err);
/* Are these fields of such a key? */
bool kiln__content_is_of_bytes(kiln_bytes fields);

/* Walks fields: false at the end or when the rest is not well formed. Start with *offset = 0. */
struct kiln_field {
    const char *name;
    size_t name_size;
    kiln_bytes value;
};
bool kiln__content_next(kiln_bytes fields, size_t *offset, struct kiln_field *out);

#endif
