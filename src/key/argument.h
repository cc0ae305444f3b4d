/*
 * argument.h - a signed argument in bytes that mean the same in every process: with type names where the call key has
 * addresses. Encodings: docs/formats/key.md.
 */
#ifndef KILN_KEY_ARGUMENT_H
#define KILN_KEY_ARGUMENT_H

#include "base/buffer.h"
#include "key/signature.h"

/* Appends the value of the content key's field for the ARGUMENT item at `item`. */
void kiln__argument_content(const uint64_t *item, struct kiln_buffer *out);

/* Appends what kiln_request_arg() gives: the items as the type signed them, a zero word, the names of the types. Whole
 * words. */
void kiln__argument_bytes(const uint64_t *item, struct kiln_buffer *out);

#endif
