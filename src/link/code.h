/*
 * code.h - memory for machine code: runs of pages in arenas that many images share.
 *
 * A process may have some 65,000 mappings, so an image has none of its own. A run of pages is writable until it is
 * sealed, and readable and executable from then on: never writable and executable at once (W^X). Sealed neighbours look
 * alike to the system, which joins them to one mapping; so the number of mappings follows the arenas, and what is being
 * linked at the moment. Pages that are freed give their memory back at once and are used again.
 *
 * The memory is private: a forked child has a copy, and sees nothing of what its parent frees and uses again.
 */
#ifndef KILN_LINK_CODE_H
#define KILN_LINK_CODE_H

#include <stdbool.h>
#include <stddef.h>

enum { KILN_CODE_PAGE = 4096 };

struct kiln_code {
    unsigned char *base;
    size_t size; /* whole pages */
    struct kiln_code_arena *arena;
};

/* `size` bytes, or more, zero and writable. False: no memory, or no mapping, is left. */
bool kiln__code_new(size_t size, struct kiln_code *out);
/* Readable and executable from here on. False: errno says why; it can still be freed. */
bool kiln__code_seal(const struct kiln_code *code);
/* Nothing may be running in it. When built with KILN_DEBUG, touching it afterwards is a fault until it is used again.
 */
void kiln__code_free(struct kiln_code *code);

#endif
