/*
 * json.h - JSON, written and read. Formats that are JSON (KILN_STATS, safetensors, --json) are made and taken apart
 * here and nowhere else.
 *
 * The writer appends to a buffer and puts commas, quotes and escapes by itself; that keys stand in objects, and that
 * brackets match, is the caller's. A buffer out of memory is marked (buffer.h), so that a writer checks once.
 *
 * The reader walks forward through untrusted bytes, checks the end before each look, never backs up, and does not
 * recurse, so that depth costs no stack. Neither allocates but in the buffers it is given. One owner each.
 */
#ifndef KILN_BASE_JSON_H
#define KILN_BASE_JSON_H

#include "base/buffer.h"

/* ---- writing -------------------------------------------------------------------------------------------------- */

struct kiln_json {
    struct kiln_buffer *out;
    bool keeps_bytes; /* bytes that are no UTF-8 are written as they are; else each becomes U+FFFD */
    bool is_next;     /* a value stands before, so that the next one needs a comma */
    bool is_on_line;  /* ... and begins a line */
};

/* One value each. `key`: its name in the object that is open; NULL in a list, and for the outermost value. */
void kiln__json_text(struct kiln_json *json, const char *key, const char *text);
void kiln__json_bytes(struct kiln_json *json, const char *key, const void *data, size_t size);
void kiln__json_number(struct kiln_json *json, const char *key, uint64_t value);
void kiln__json_thousandths(struct kiln_json *json, const char *key, uint64_t value); /* 1500 is 1.500 */
void kiln__json_signed(struct kiln_json *json, const char *key, int64_t value);
void kiln__json_decimal(struct kiln_json *json, const char *key, double value, int digits); /* behind the point */
void kiln__json_bool(struct kiln_json *json, const char *key, bool value);
void kiln__json_null(struct kiln_json *json, const char *key);

/* `bracket`: '{' or '[', and '}' or ']' to close it. */
void kiln__json_open(struct kiln_json *json, const char *key, char bracket);
void kiln__json_close(struct kiln_json *json, char bracket);

/* The next value begins a line, unless it is the first in its brackets. */
void kiln__json_line(struct kiln_json *json);

/* ---- reading -------------------------------------------------------------------------------------------------- */

struct kiln_json_reader {
    const char *text, *at, *end;
    const char *expected; /* after a failure: what should stand at `at`, "a string"; NULL: memory for it */
};

/* The next byte that is not space; 0 at the end. */
char kiln__json_peek(struct kiln_json_reader *reader);
/* Passes the next byte that is not space, when it is `wanted`. */
bool kiln__json_accept(struct kiln_json_reader *reader, char wanted);
/* Passes a string; *out becomes what it says, with escapes resolved. It may hold NUL. */
bool kiln__json_read_text(struct kiln_json_reader *reader, struct kiln_buffer *out);
/* Passes a whole number that fits. */
bool kiln__json_read_number(struct kiln_json_reader *reader, uint64_t *out);
/* Passes any value. Brackets are counted, not matched: enough to find its end. `unused` is written over. */
bool kiln__json_skip(struct kiln_json_reader *reader, struct kiln_buffer *unused);

#endif
