/*
 * fuzz_key_file.c - any text as a file of keys: refused, or printed again to what is read as the same keys.
 */
#include <stdlib.h>
#include <string.h>

#include "store/keys/key_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(enum kiln_key_use use, const uint8_t *data, size_t size)
{
    struct kiln_key_lines lines = {0}, again = {0};
    struct kiln_buffer text = {0};
    kiln_error err;
    if (kiln__key_lines_parse("FILE", use, (kiln_bytes){data, size}, &lines, &err) != KILN_OK) return;
    for (size_t i = 0; i < lines.count; i++) kiln__key_line_print(&lines.lines[i], &text);
    if (kiln__key_lines_parse("FILE", use, (kiln_bytes){text.data, text.size}, &again, &err) != KILN_OK) abort();
    if (again.count != lines.count) abort();
    for (size_t i = 0; i < lines.count; i++) {
        const struct kiln_key_line *a = &lines.lines[i], *b = &again.lines[i];
        if (a->kind != b->kind || memcmp(a->key, b->key, sizeof a->key) != 0 || strcmp(a->comment, b->comment) != 0)
            abort();
    }
    kiln__buffer_release(&text);
    kiln__key_lines_release(&lines);
    kiln__key_lines_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int use = KILN_KEYS_LIST; use <= KILN_KEYS_SECRET; use++) check((enum kiln_key_use)use, data, size);
    return 0;
}
