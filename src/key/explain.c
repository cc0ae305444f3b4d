/*
 * explain.c - comparing the texts of two keys, line by line; the texts are made in print.c.
 *
 * A line is found by its name, in the order of the other text, so that an option pushed before the arguments moves
 * nothing.
 */
#include "key/explain.h"

struct line {
    const char *name, *value;
    size_t name_size, value_size;
};

/* The line at *at, which moves behind it. False at the end. */
static bool next_line(const char **at, struct line *line)
{
    const char *start = *at;
    if (!start || !*start) return false;
    size_t size = strcspn(start, "\n");
    const char *tab = memchr(start, '\t', size);
    line->name = start;
    line->name_size = tab ? (size_t)(tab - start) : size;
    line->value = tab ? tab + 1 : start + size;
    line->value_size = (size_t)(start + size - line->value);
    *at = start + size + (start[size] == '\n');
    return true;
}

static bool is_same(const char *a, size_t a_size, const char *b, size_t b_size)
{
    return a_size == b_size && !memcmp(a, b, a_size);
}

/* From *at on, and then from the start: in texts of one function the line is the next one. */
static bool find_line(const char *text, const char **at, const struct line *wanted, struct line *found)
{
    const char *from = *at;
    while (next_line(&from, found))
        if (is_same(found->name, found->name_size, wanted->name, wanted->name_size)) {
            *at = from;
            return true;
        }
    for (from = text; from < *at && next_line(&from, found);)
        if (is_same(found->name, found->name_size, wanted->name, wanted->name_size)) return true;
    return false;
}

static bool begins(const struct line *line, const char *word)
{
    size_t size = strlen(word);
    return line->name_size > size && !memcmp(line->name, word, size);
}

static bool is_word(const char *text, size_t size, const char *word)
{
    return is_same(text, size, word, strlen(word));
}

static const char nothing[] = "not there"; /* a line that one of the texts has not */

/* Digests tell nobody anything. */
static void say_file(struct kiln_buffer *out, const char *was, size_t was_size, const char *is, size_t is_size)
{
    const char *what = is_word(was, was_size, nothing)    ? "was not depended on"
                       : is_word(is, is_size, nothing)    ? "is not depended on"
                       : is_word(was, was_size, "absent") ? "is new"
                       : is_word(is, is_size, "absent")   ? "is gone"
                                                          : "changed";
    kiln__buffer_printf(out, " %s", what);
}

static void say(struct kiln_buffer *out, const struct line *line, const char *was, size_t was_size, const char *is,
                size_t is_size)
{
    if (out->size) kiln__buffer_append(out, "; ", 2);
    kiln__buffer_append(out, line->name, line->name_size);
    if (begins(line, "function ")) {
        kiln__buffer_printf(out, ", which it uses, changed");
        return;
    }
    if (begins(line, "file ")) {
        say_file(out, was, was_size, is, is_size);
        return;
    }
    kiln__buffer_printf(out, " was %.*s, is %.*s", (int)was_size, was, (int)is_size, is);
}

/* Details of an argument that is not there, or is of another type, were said with its type or number. */
static bool is_detail(const struct line *line)
{
    return begins(line, "argument ") || begins(line, "input ");
}

static void say_missing(const char *text, const char *other, bool was, struct kiln_buffer *out)
{
    struct line line, found;
    const char *at = text, *other_at = other;
    while (next_line(&at, &line)) {
        if (is_detail(&line) || find_line(other, &other_at, &line, &found)) continue;
        if (was)
            say(out, &line, line.value, line.value_size, nothing, sizeof nothing - 1);
        else
            say(out, &line, nothing, sizeof nothing - 1, line.value, line.value_size);
    }
}

void kiln__explain(const char *was, const char *is, struct kiln_buffer *out)
{
    struct line old, new;
    const char *was_at = was, *is_at = is;
    while (next_line(&is_at, &new))
        if (find_line(was, &was_at, &new, &old) && !is_same(old.value, old.value_size, new.value, new.value_size))
            say(out, &new, old.value, old.value_size, new.value, new.value_size);
    say_missing(was, is, true, out);
    say_missing(is, was, false, out);
}

/* ---- two texts of a program ----------------------------------------------------------------------------------- */

static size_t line_size(const char *text, size_t size)
{
    const char *end = size ? memchr(text, '\n', size) : NULL;
    return end ? (size_t)(end - text) : size;
}

void kiln__explain_lines(kiln_bytes was, kiln_bytes is, struct kiln_buffer *out)
{
    enum { SHOWN = 160 };
    const char *old = was.data, *new = is.data;
    size_t old_rest = was.size, new_rest = is.size;
    for (size_t number = 1; old_rest || new_rest; number++) {
        size_t old_size = line_size(old, old_rest), new_size = line_size(new, new_rest);
        if (!old_rest || !new_rest || !is_same(old, old_size, new, new_size)) {
            kiln__buffer_printf(out, "line %zu was \"%.*s\", is \"%.*s\"", number,
                                (int)(old_size < SHOWN ? old_size : SHOWN), old ? old : "",
                                (int)(new_size < SHOWN ? new_size : SHOWN), new ? new : "");
            return;
        }
        old += old_size + (old_size < old_rest), old_rest -= old_size + (old_size < old_rest);
        new += new_size + (new_size < new_rest), new_rest -= new_size + (new_size < new_rest);
    }
}
