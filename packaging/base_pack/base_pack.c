/*
 * base_pack.c - calls what nearly every program calls once, so that its kernels are compiled: tools/base_pack.sh makes
 * a pack of them.
 *
 *     base_pack [--short] [PART...]     PART: elementwise, casts, reductions, layers, functions; all when none is named
 *
 * --short: a few operations, in float32; tests use it. Prints how many calls there were, and fails if one did.
 */
#include <stdio.h>
#include <string.h>

#include "maker.h"

static const struct {
    const char *name;
    void (*make)(struct maker *maker);
} parts[] = {
    {"elementwise", make_elementwise}, {"casts", make_casts_and_copies}, {"reductions", make_reductions},
    {"layers", make_layers},           {"functions", make_functions},
};
enum { PARTS = sizeof parts / sizeof *parts };

static bool is_named(const char *part, int count, char **words)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(words[i], part)) return true;
    return count == 0;
}

static bool is_part(const char *word)
{
    for (size_t i = 0; i < PARTS; i++)
        if (!strcmp(parts[i].name, word)) return true;
    return false;
}

int main(int count, char **words)
{
    struct maker maker;
    bool is_short = count > 1 && !strcmp(words[1], "--short");
    words += 1 + is_short, count -= 1 + is_short;
    for (int i = 0; i < count; i++) {
        if (is_part(words[i])) continue;
        fprintf(stderr, "base_pack: there is no part %s\nusage: base_pack [--short] [PART...]\n", words[i]);
        return 2;
    }
    maker_init(&maker, is_short);
    for (size_t i = 0; i < PARTS; i++)
        if (is_named(parts[i].name, count, words)) parts[i].make(&maker);
    maker_release(&maker);
    printf("%zu calls, %zu failed\n", maker.calls, maker.failures);
    return maker.failures != 0;
}
