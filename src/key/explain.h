/*
 * explain.h - keys as text, and in words what differs between two of them.
 *
 * A key's text has one line per fact: a name, a tab, a value. It holds no address and no id, so it means the same in
 * every process; artifacts keep that of the first call (docs/formats/key.md). Two texts are compared by name.
 */
#ifndef KILN_KEY_EXPLAIN_H
#define KILN_KEY_EXPLAIN_H

#include "base/buffer.h"
#include "key/signature.h"
#include "key/watch.h"

/* The name of a type, by the word that stands for it in a key. */
typedef const char *kiln_type_namer(uint64_t type);

/*
 * Head, options and arguments of a call key. Returns where the rest begins, what a function watches. Whatever the words
 * say, nothing outside of them is read. `type_name` is for words of another origin than this process; NULL otherwise.
 */
uint32_t kiln__key_print(const uint64_t *words, uint32_t count, kiln_type_namer *type_name, struct kiln_buffer *out);
/* A line for a watched value, and for a function that is depended on. */
void kiln__watched_print(const struct kiln_watched *watched, struct kiln_buffer *out);
void kiln__callee_print(const char *name, uint64_t generation, struct kiln_buffer *out);
/* A line for a file and what it held, as that of a watched one. */
void kiln__file_print(const char *path, const struct kiln_file_value *value, struct kiln_buffer *out);
/* A line for a field of a content key. */
void kiln__field_print(const struct kiln_field *field, struct kiln_buffer *out);
/* Only the value: "unset", 3, fast, "two words", 616200. */
void kiln__value_print(const struct kiln_watched *watched, struct kiln_buffer *out);

/* "argument 1: dim 0 was 1024, is 2048; ..." for two texts; nothing when they say the same. */
void kiln__explain(const char *was, const char *is, struct kiln_buffer *out);
/* 'line 3 was "...", is "..."': the first line in which two texts differ; nothing when there is none. */
void kiln__explain_lines(kiln_bytes was, kiln_bytes is, struct kiln_buffer *out);

#endif
