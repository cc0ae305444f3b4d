/*
 * ledger.h - what a folder holds, known to all who write to it without looking at its files. Inside the store layer.
 *
 * A file in the folder to which every put appends its size, and every count of all files its sum. The last count and
 * what was added since are never less than what is there, but for what is being put at this moment: whoever publishes
 * an artifact adds it right afterwards and looks at the sum then. What others remove is seen by the next count. There
 * are no locks: appending is all that is ever done. Whatever is wrong with the ledger, the worst is that somebody
 * counts. Format: docs/formats/artifact.md
 */
#ifndef KILN_STORE_LEDGER_H
#define KILN_STORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#define KILN_LEDGER_FILE ".sizes"     /* in the folder itself */
enum { KILN_LEDGER_LIMIT = 1 << 20 }; /* a larger file is none of ours */

struct kiln_total {
    uint64_t bytes, files;
};

/* Adds one file, and says what there is at most. False: that is not known, count. */
bool kiln__ledger_add(const char *folder, uint64_t size_bytes, struct kiln_total *out);

/* A count begins before the first file is looked at, and ends with what was found. */
struct kiln_count {
    int fd; /* the ledger; negative: there is none */
    uint64_t from;
};
void kiln__ledger_begin(const char *folder, struct kiln_count *count);
void kiln__ledger_end(const char *folder, const struct kiln_count *count, const struct kiln_total *total);

#endif
