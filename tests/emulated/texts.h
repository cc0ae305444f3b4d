/*
 * texts.h - the text that PTX was compiled from: both are sections of one artifact in the cache's folder.
 */
#ifndef KILN_TESTS_EMULATED_TEXTS_H
#define KILN_TESTS_EMULATED_TEXTS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/digest.h"

/* Appends text and PTX of an artifact whose PTX has this digest; false: there is none. With the driver's lock held. */
bool emulated_text_find(const struct kiln_digest *digest, struct kiln_buffer *text, struct kiln_buffer *ptx);

#endif
