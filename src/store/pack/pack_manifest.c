/*
 * pack_manifest.c - see pack_manifest.h. Facts about entries are kept as lines and counted once they are sorted, so
 * that a manifest of fewer entries is never longer.
 */
#include "store/pack/pack_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "key/content.h"

enum { LONGEST_FACT = 256 };

static const char toolchain_name[] = "toolchain ";

/* ---- counting -------------------------------------------------------------------------------------------------- */

static void add_fact(struct kiln_tally *tally, const char *kind, const char *value)
{
    char line[LONGEST_FACT];
    size_t size = (size_t)snprintf(line, sizeof line, "%s ", kind);
    size += kiln__escape(line + size, sizeof line - size - 1, value, strlen(value));
    if (tally->count == tally->cap) {
        size_t cap = tally->cap ? tally->cap * 2 : 64;
        char **grown = realloc(tally->facts, cap * sizeof *grown);
        if (grown) tally->facts = grown, tally->cap = cap;
    }
    char *copy = tally->count < tally->cap ? strndup(line, size) : NULL;
    if (copy)
        tally->facts[tally->count++] = copy;
    else
        tally->failed = true;
}

static bool has_name(const struct kiln_field *field, const char *name)
{
    return field->name_size == strlen(name) && memcmp(field->name, name, field->name_size) == 0;
}

/* The newest kernel's: what a machine without a compiler looks kernels up by. */
static void note_toolchain(struct kiln_tally *tally, const struct kiln_artifact *artifact)
{
    struct kiln_field field;
    bool is_llvm = false;
    if (artifact->created_unix_s < tally->toolchain_unix_s) return;
    for (size_t offset = 0;
         kiln__content_next((kiln_bytes){artifact->key.data, artifact->key.size}, &offset, &field);) {
        if (has_name(&field, "compiler")) is_llvm = field.value.size == 4 && memcmp(field.value.data, "llvm", 4) == 0;
        if (!is_llvm || !has_name(&field, "toolchain") || field.value.size >= KILN_TOOLCHAIN_SIZE) continue;
        snprintf(tally->toolchain, sizeof tally->toolchain, "%.*s", (int)field.value.size,
                 (const char *)field.value.data);
        tally->toolchain_unix_s = artifact->created_unix_s;
    }
}

void kiln__tally_add(struct kiln_tally *tally, const struct kiln_artifact *artifact, uint64_t raw_bytes)
{
    tally->entries++;
    tally->raw_bytes += raw_bytes;
    add_fact(tally, "function", artifact->function);
    if (*artifact->target) add_fact(tally, "target", artifact->target);
    if (artifact->signing.is_signed) {
        char hex[KILN_DIGEST_HEX];
        struct kiln_digest signer;
        memcpy(signer.bytes, artifact->signing.signer, sizeof signer.bytes);
        kiln__digest_hex(&signer, hex);
        add_fact(tally, "signer", hex);
    }
    note_toolchain(tally, artifact);
}

void kiln__tally_name(struct kiln_tally *tally, const char *toolchain)
{
    snprintf(tally->toolchain, sizeof tally->toolchain, "%s", toolchain);
    tally->toolchain_unix_s = UINT64_MAX;
}

void kiln__tally_release(struct kiln_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++) free(tally->facts[i]);
    free(tally->facts);
    *tally = (struct kiln_tally){0};
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_facts(const struct kiln_tally *tally, bool with_functions, struct kiln_buffer *out)
{
    size_t same;
    for (size_t i = 0; i < tally->count; i += same) {
        const char *fact = tally->facts[i], *value = strchr(fact, ' ') + 1;
        for (same = 1; i + same < tally->count && strcmp(fact, tally->facts[i + same]) == 0;) same++;
        if (*fact != 'f' || with_functions)
            kiln__buffer_printf(out, "%.*s%zu %s\n", (int)(value - fact), fact, same, value);
    }
}

void kiln__manifest_print(struct kiln_tally *tally, time_t now, size_t limit, struct kiln_buffer *out)
{
    struct tm parts;
    char made[32] = "?";
    if (gmtime_r(&now, &parts)) strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (tally->count) qsort(tally->facts, tally->count, sizeof *tally->facts, by_text);
    size_t start = out->size;
    for (int with_functions = 1; with_functions >= 0; with_functions--) {
        out->size = start;
        kiln__buffer_printf(out, "kiln " KILN_VERSION "\n");
        if (now) kiln__buffer_printf(out, "made %s\n", made);
        if (tally->toolchain[0]) kiln__buffer_printf(out, "%s%s\n", toolchain_name, tally->toolchain);
        kiln__buffer_printf(out, "entries %llu\nbytes %llu\n", (unsigned long long)tally->entries,
                            (unsigned long long)tally->raw_bytes);
        print_facts(tally, with_functions, out);
        if (out->size - start <= limit) break;
    }
    out->failed |= tally->failed;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

bool kiln__manifest_toolchain(kiln_bytes manifest, char out[KILN_TOOLCHAIN_SIZE])
{
    const char *at = manifest.data, *end = at + manifest.size;
    size_t name = sizeof toolchain_name - 1;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) return false;
        kiln_bytes line = {at + name, (size_t)(newline + 1 - at) - name};
        if ((size_t)(newline - at) > name && memcmp(at, toolchain_name, name) == 0) {
            if (!kiln__is_toolchain_line(line)) return false;
            snprintf(out, KILN_TOOLCHAIN_SIZE, "%.*s", (int)line.size - 1, (const char *)line.data);
            return true;
        }
        at = newline + 1;
    }
    return false;
}
