/*
 * json_tree.c - see json_tree.h. A parser by recursive descent; depth is bounded, so that a hostile file can't use up
 * the stack, and every look at a byte stops at the NUL that ends the text.
 */
#include "json_tree.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

enum { MAX_DEPTH = 64 };

struct parser {
    const char *at;
    int depth;
};

static bool read_value(struct parser *parser, struct json *out);

static char next_byte(struct parser *parser)
{
    parser->at += strspn(parser->at, " \t\r\n");
    return *parser->at;
}

static bool accept(struct parser *parser, char wanted)
{
    if (next_byte(parser) != wanted) return false;
    parser->at++;
    return true;
}

/* Of \uXXXX. Names and numbers of a model are ASCII; what is not becomes '?'. */
static bool read_code(struct parser *parser, char *to)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        char c = parser->at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return false;
        code = code * 16 + (unsigned)digit;
    }
    parser->at += 4;
    *to = code > 0 && code < 128 ? (char)code : '?';
    return true;
}

static bool read_escape(struct parser *parser, char *to)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = *parser->at ? strchr(escapes, *parser->at) : NULL;
    if (found) {
        *to = meant[found - escapes];
        parser->at++;
        return true;
    }
    return *parser->at++ == 'u' && read_code(parser, to);
}

/* What a text says is never longer than how it is written. */
static char *read_text(struct parser *parser)
{
    if (!accept(parser, '"')) return NULL;
    const char *end = parser->at;
    while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
    char *text = *end ? malloc((size_t)(end - parser->at) + 1) : NULL, *to = text;
    while (text && parser->at < end) {
        if (*parser->at != '\\') {
            *to++ = *parser->at++;
        } else if (parser->at++, !read_escape(parser, to++)) {
            free(text);
            return NULL;
        }
    }
    if (!text) return NULL;
    *to = '\0';
    parser->at = end + 1;
    return text;
}

/* One more item at the end of `out`, and its name when it is an object; NULL: no memory. */
static struct json *append(struct json *out)
{
    struct json *items = realloc(out->items, (out->count + 1) * sizeof *items);
    if (items) out->items = items;
    char **names = out->kind == JSON_OBJECT ? realloc(out->names, (out->count + 1) * sizeof *names) : NULL;
    if (names) out->names = names;
    if (!items || (out->kind == JSON_OBJECT && !names)) return NULL;
    if (names) out->names[out->count] = NULL;
    out->items[out->count] = (struct json){0};
    return &out->items[out->count++];
}

static bool read_items(struct parser *parser, struct json *out, char close)
{
    parser->at++;
    if (accept(parser, close)) return true;
    do {
        struct json *item = append(out);
        if (!item) return false;
        if (out->kind == JSON_OBJECT) {
            out->names[out->count - 1] = read_text(parser);
            if (!out->names[out->count - 1] || !accept(parser, ':')) return false;
        }
        if (!read_value(parser, item)) return false;
    } while (accept(parser, ','));
    return accept(parser, close);
}

static bool read_word(struct parser *parser, struct json *out)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(parser->at, words[i].word, length) != 0) continue;
        parser->at += length;
        out->kind = words[i].kind;
        return true;
    }
    char *end;
    out->kind = JSON_NUMBER;
    out->number = strtod(parser->at, &end);
    bool is_number = end > parser->at && strchr("-0123456789", *parser->at);
    parser->at = end;
    return is_number;
}

static bool read_value(struct parser *parser, struct json *out)
{
    char c = next_byte(parser);
    if (c == '"') {
        out->kind = JSON_TEXT;
        out->text = read_text(parser);
        return !!out->text;
    }
    if (c != '{' && c != '[') return c && read_word(parser, out);
    if (parser->depth == MAX_DEPTH) return false;
    parser->depth++;
    out->kind = c == '{' ? JSON_OBJECT : JSON_LIST;
    bool is_read = read_items(parser, out, c == '{' ? '}' : ']');
    parser->depth--;
    return is_read;
}

static void release(struct json *value)
{
    for (size_t i = 0; i < value->count; i++) {
        release(&value->items[i]);
        if (value->names) free(value->names[i]);
    }
    free(value->items), free(value->names), free(value->text);
}

void json_free(struct json *root)
{
    if (!root) return;
    release(root);
    free(root);
}

/* The whole file and a NUL behind it. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) text = calloc((size_t)size + 1, 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) free(text), text = NULL;
    if (file) fclose(file);
    return text;
}

struct json *json_read(const char *path)
{
    char *text = read_file(path);
    struct parser parser = {.at = text};
    struct json *root = text ? calloc(1, sizeof *root) : NULL;
    if (!root) {
        llama_fail("%s cannot be read", path);
    } else if (!read_value(&parser, root) || next_byte(&parser)) {
        llama_fail("%s is not JSON: error at byte %zu", path, (size_t)(parser.at - text));
        json_free(root);
        root = NULL;
    }
    free(text);
    return root;
}

const struct json *json_get(const struct json *object, const char *name)
{
    for (size_t i = 0; object && object->kind == JSON_OBJECT && i < object->count; i++)
        if (strcmp(object->names[i], name) == 0) return &object->items[i];
    return NULL;
}
