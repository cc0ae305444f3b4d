/*
 * json.c - see json.h.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/format.h"

/* ---- writing -------------------------------------------------------------------------------------------------- */

/* The character at `text` can't stand in a string as it is: writes its escape and returns how many bytes it was. */
static size_t put_escape(struct kiln_json *json, const unsigned char *text, size_t size)
{
    bool is_pair = size > 1 && text[0] == 0xc2 && text[1] >> 5 == 4; /* U+0080 to U+009f */
    if (text[0] < 0x20 || text[0] == 0x7f || is_pair)
        kiln__buffer_printf(json->out, "\\u%04x", text[is_pair]);
    else if (json->keeps_bytes)
        kiln__buffer_append(json->out, text, 1);
    else
        kiln__buffer_append(json->out, "\\ufffd", 6);
    return is_pair ? 2 : 1;
}

static void put_string(struct kiln_json *json, const char *text, size_t size)
{
    kiln__buffer_append(json->out, "\"", 1);
    for (size_t at = 0; at < size;) {
        size_t from = at, length;
        while (at < size && text[at] != '"' && text[at] != '\\' && (length = kiln__printable(text + at, size - at)))
            at += length;
        kiln__buffer_append(json->out, text + from, at - from);
        if (at == size) break;
        if (text[at] == '"' || text[at] == '\\')
            kiln__buffer_printf(json->out, "\\%c", text[at++]);
        else
            at += put_escape(json, (const unsigned char *)text + at, size - at);
    }
    kiln__buffer_append(json->out, "\"", 1);
}

/* What stands before a value: a comma, the start of a line, its key. */
static void begin(struct kiln_json *json, const char *key)
{
    if (json->is_next) kiln__buffer_append(json->out, ",\n", json->is_on_line ? 2 : 1);
    if (key) {
        put_string(json, key, strlen(key));
        kiln__buffer_append(json->out, ":", 1);
    }
    json->is_next = true;
    json->is_on_line = false;
}

void kiln__json_bytes(struct kiln_json *json, const char *key, const void *data, size_t size)
{
    begin(json, key);
    put_string(json, data, size);
}

void kiln__json_text(struct kiln_json *json, const char *key, const char *text)
{
    kiln__json_bytes(json, key, text, strlen(text));
}

/* Behind a point as many digits as are asked for. By hand: a time line prints hundreds of thousands. */
static void put_number(struct kiln_json *json, uint64_t value, int behind_point)
{
    char digits[24];
    size_t at = sizeof digits;
    for (int i = 0; value || i <= behind_point; i++) {
        if (behind_point && i == behind_point) digits[--at] = '.';
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    }
    kiln__buffer_append(json->out, digits + at, sizeof digits - at);
}

void kiln__json_number(struct kiln_json *json, const char *key, uint64_t value)
{
    begin(json, key);
    put_number(json, value, 0);
}

void kiln__json_thousandths(struct kiln_json *json, const char *key, uint64_t value)
{
    begin(json, key);
    put_number(json, value, 3);
}

void kiln__json_signed(struct kiln_json *json, const char *key, int64_t value)
{
    begin(json, key);
    kiln__buffer_printf(json->out, "%" PRId64, value);
}

void kiln__json_bool(struct kiln_json *json, const char *key, bool value)
{
    begin(json, key);
    kiln__buffer_printf(json->out, "%s", value ? "true" : "false");
}

void kiln__json_null(struct kiln_json *json, const char *key)
{
    begin(json, key);
    kiln__buffer_append(json->out, "null", 4);
}

/* JSON has no infinity and no NaN. */
void kiln__json_decimal(struct kiln_json *json, const char *key, double value, int digits)
{
    if (!isfinite(value)) {
        kiln__json_null(json, key);
        return;
    }
    begin(json, key);
    kiln__buffer_printf(json->out, "%.*f", digits, value);
}

void kiln__json_open(struct kiln_json *json, const char *key, char bracket)
{
    begin(json, key);
    kiln__buffer_append(json->out, &bracket, 1);
    json->is_next = false;
}

void kiln__json_close(struct kiln_json *json, char bracket)
{
    kiln__buffer_append(json->out, &bracket, 1);
    json->is_next = true;
    json->is_on_line = false;
}

void kiln__json_line(struct kiln_json *json)
{
    json->is_on_line = true;
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

static bool refuse(struct kiln_json_reader *reader, const char *expected)
{
    reader->expected = expected;
    return false;
}

char kiln__json_peek(struct kiln_json_reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4)) reader->at++;
    return reader->at < reader->end ? *reader->at : '\0';
}

bool kiln__json_accept(struct kiln_json_reader *reader, char wanted)
{
    bool is_there = kiln__json_peek(reader) == wanted && reader->at < reader->end;
    reader->at += is_there;
    return is_there;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hex(struct kiln_json_reader *reader, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        int digit = reader->at < reader->end ? hex_digit(*reader->at) : -1;
        if (digit < 0) return false;
        *out = *out * 16 + (unsigned)digit;
    }
    return true;
}

static void append_utf8(char **to, unsigned code)
{
    if (code < 0x80) {
        *(*to)++ = (char)code;
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
    *(*to)++ = (char)(heads[more] | code >> 6 * more);
    while (more-- > 0) *(*to)++ = (char)(0x80 | (code >> 6 * more & 0x3f));
}

/* Behind the backslash. */
static bool read_escape(struct kiln_json_reader *reader, char **to)
{
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = reader->at < reader->end && *reader->at ? strchr(plain, *reader->at) : NULL;
    unsigned code, low;
    if (found) {
        *(*to)++ = meant[found - plain];
        reader->at++;
        return true;
    }
    if (reader->at >= reader->end || *reader->at++ != 'u' || !read_hex(reader, &code)) return false;
    if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
        if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u') return false;
        reader->at += 2;
        if (!read_hex(reader, &low) || low < 0xdc00 || low > 0xdfff) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return false;
    }
    append_utf8(to, code);
    return true;
}

/* What an escape means is never longer than the escape, so that the source's length is enough. */
bool kiln__json_read_text(struct kiln_json_reader *reader, struct kiln_buffer *out)
{
    if (!kiln__json_accept(reader, '"')) return refuse(reader, "a string");
    const char *close = reader->at;
    while (close < reader->end && *close != '"') close += *close == '\\' ? 2 : 1;
    if (close >= reader->end) return refuse(reader, "the end of a string");
    kiln__buffer_clear(out);
    char *text = kiln__buffer_grow(out, (size_t)(close - reader->at) + 1), *to = text;
    if (!text) return refuse(reader, NULL);
    while (reader->at < close) {
        char c = *reader->at;
        if ((unsigned char)c < 0x20) return refuse(reader, "a string without control characters");
        reader->at++;
        if (c != '\\')
            *to++ = c;
        else if (!read_escape(reader, &to))
            return refuse(reader, "a valid escape");
    }
    reader->at = close + 1;
    *to = '\0';
    out->size = (size_t)(to - text);
    return true;
}

bool kiln__json_read_number(struct kiln_json_reader *reader, uint64_t *out)
{
    char c = kiln__json_peek(reader);
    *out = 0;
    if (c < '0' || c > '9') return refuse(reader, "a whole number");
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
        if (__builtin_mul_overflow(*out, (uint64_t)10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*reader->at - '0'), out))
            return refuse(reader, "a smaller number");
    return true;
}

/* Bytes of the number, true, false or null that begins here. */
static size_t word_length(const struct kiln_json_reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && *at && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *at)) at++;
    return (size_t)(at - reader->at);
}

bool kiln__json_skip(struct kiln_json_reader *reader, struct kiln_buffer *unused)
{
    size_t depth = 0;
    do {
        char c = kiln__json_peek(reader);
        bool is_close = c == ']' || c == '}', is_open = c == '[' || c == '{';
        size_t word = word_length(reader);
        if (c == '"') {
            if (!kiln__json_read_text(reader, unused)) return false;
        } else if (is_open || (depth > 0 && (is_close || c == ',' || c == ':'))) {
            reader->at++;
            depth += is_open;
            depth -= is_close;
        } else if (word > 0) {
            reader->at += word;
        } else {
            return refuse(reader, "a value");
        }
    } while (depth > 0);
    return true;
}
