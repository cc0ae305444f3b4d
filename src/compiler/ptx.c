/*
 * ptx.c - the last check of the PTX that LLVM made: the entry is there, and nothing is needed from outside.
 *
 * Only the driver would notice, on another machine and much later. What is asked from outside stands in lines that
 * begin with ".extern"; shared memory whose size the launch gives (.extern .shared) is no such thing.
 */
#include <string.h>

#include "compiler/internal.h"

/* A view into the text: [at, end). */
struct cursor {
    const char *at, *end;
};

static void skip(struct cursor *c, const char *characters)
{
    while (c->at < c->end && strchr(characters, *c->at)) c->at++;
}

static void skip_until(struct cursor *c, const char *characters)
{
    while (c->at < c->end && !strchr(characters, *c->at)) c->at++;
}

static bool take(struct cursor *c, const char *word)
{
    size_t size = strlen(word);
    skip(c, " \t");
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0) return false;
    c->at += size;
    return true;
}

/*
 * What is declared after ".extern": a function has its result in parentheses before its name and its parameters after
 * it; a variable has directives (.global .align 4 .b32) before its name.
 */
static struct cursor declared_name(struct cursor c)
{
    bool is_function = take(&c, ".func");
    if (is_function && take(&c, "(")) {
        skip_until(&c, ")");
        skip(&c, ")");
    }
    for (;;) {
        skip(&c, " \t0123456789");
        if (c.at == c.end || *c.at != '.') break;
        skip_until(&c, " \t\n");
    }
    struct cursor name = c;
    skip_until(&c, " \t\n([;");
    name.end = c.at;
    return name;
}

static bool is_entry(struct cursor line, const char *entry)
{
    take(&line, ".visible");
    return take(&line, ".entry") && take(&line, entry) && (take(&line, "(") || line.at == line.end);
}

static kiln_status check_line(struct cursor line, kiln_error *err)
{
    struct cursor shared;
    if (!take(&line, ".extern")) return KILN_OK;
    shared = line;
    if (take(&shared, ".shared")) return KILN_OK;
    struct cursor name = declared_name(line);
    return kiln__fail(err, KILN_COMPILE_FAILED, "the kernel needs \"%.*s\", which is not in the run-time library",
                      (int)(name.end - name.at), name.at);
}

kiln_status kiln__ptx_check(const void *data, size_t size, const char *entry, kiln_error *err)
{
    struct cursor rest = {data, (const char *)data + size};
    bool has_entry = false;
    while (rest.at < rest.end) {
        struct cursor line = rest;
        skip_until(&rest, "\n");
        line.end = rest.at;
        skip(&rest, "\n");
        kiln_status status = check_line(line, err);
        if (status) return status;
        has_entry = has_entry || is_entry(line, entry);
    }
    if (has_entry) return KILN_OK;
    return kiln__fail(err, KILN_COMPILE_FAILED,
                      "the entry \"%s\" is no kernel; right would be define ptx_kernel void @%s", entry, entry);
}
