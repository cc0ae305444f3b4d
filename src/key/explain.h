/*
 * explain.h - two keys, and in words what differs between them.
 */
#ifndef KILN_KEY_EXPLAIN_H
#define KILN_KEY_EXPLAIN_H

#include "base/buffer.h"
#include "key/signature.h"

/* "argument 1: dim 0 was 1024, is 2048; ..." for the items of two call keys of one function. Never empty. */
void kiln__explain(const uint64_t *was, uint32_t was_count, const uint64_t *is, uint32_t is_count, struct kiln_buffer *out);

/* The same for words of any origin, such as a file, where the address of a type means nothing: `type_name` gives its name. */
typedef const char *kiln_type_namer(uint64_t type);
void kiln__explain_words(const uint64_t *was, uint32_t was_count, const uint64_t *is, uint32_t is_count,
                         kiln_type_namer *type_name, struct kiln_buffer *out);

#endif
