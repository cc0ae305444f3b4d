/*
 * show_function.c - all artifacts of a function: for a compiled function of arrays its plans, step by step, and each
 * kernel with what it fused, the bytes it moves, and its text.
 *
 * What a kernel was compiled for ends with the lines of its plan, from "plan" on (src/run/provenance.c). Their steps
 * name kernels with a mark, "[5f2a91c3]", so kernels that were first compiled for another function are found as well.
 */
#include <stdlib.h>
#include <string.h>

#include "show.h"

/* ---- facts ---------------------------------------------------------------------------------------------------- */

/* The value of a fact; data NULL: there is none. */
static kiln_bytes find_fact(const kiln_entry *entry, const char *word)
{
    kiln_bytes name, value, rest = kiln_entry_call(entry);
    while (next_fact(&rest, &name, &value))
        if (fact_is(name, word)) return value;
    return (kiln_bytes){NULL, 0};
}

/* The lines of its plan; empty for what is no kernel of a plan. */
static kiln_bytes plan_of(const kiln_entry *entry)
{
    kiln_bytes name, value, rest = kiln_entry_call(entry), from = rest;
    for (; next_fact(&rest, &name, &value); from = rest)
        if (fact_is(name, "plan")) return from;
    return (kiln_bytes){NULL, 0};
}

static bool is_of(const kiln_entry *entry, const char *name)
{
    kiln_entry_info info;
    kiln_entry_describe(entry, &info);
    kiln_bytes function = find_fact(entry, "function");
    return strcmp(info.function, name) == 0 || (function.data && fact_is(function, name));
}

/* Where the plan first names this kernel; SIZE_MAX: nowhere. */
static size_t offset_in(kiln_bytes plan, const kiln_entry *entry)
{
    kiln_bytes mark = find_fact(entry, "mark");
    const char *text = plan.data;
    for (size_t at = 0; mark.size && at + mark.size + 2 <= plan.size; at++)
        if (text[at] == '[' && text[at + 1 + mark.size] == ']' && memcmp(text + at + 1, mark.data, mark.size) == 0)
            return at;
    return SIZE_MAX;
}

/* ---- the list ------------------------------------------------------------------------------------------------- */

static bool add(struct shown *shown, kiln_entry *entry)
{
    kiln_entry **entries = realloc(shown->entries, (shown->count + 1) * sizeof *entries);
    if (!entries) return false;
    entries[shown->count++] = entry;
    shown->entries = entries;
    return true;
}

/* Adds what `wanted` says yes to, given the list so far. Damaged files are left to `kiln verify`. */
static void collect(const kiln_inspector *inspector, struct shown *shown, const char *name,
                    bool (*wanted)(const struct shown *shown, const kiln_entry *entry, const char *name))
{
    for (size_t i = 0; i < kiln_inspect_count(inspector); i++) {
        kiln_entry *entry = NULL;
        if (kiln_entry_open(inspector, i, &entry, NULL) != KILN_OK) continue;
        if (!wanted(shown, entry, name) || !add(shown, entry)) kiln_entry_close(entry);
    }
}

static bool has_name(const struct shown *shown, const kiln_entry *entry, const char *name)
{
    (void)shown;
    return is_of(entry, name);
}

/* A kernel of one of the function's plans that has another function's name. */
static bool is_shared(const struct shown *shown, const kiln_entry *entry, const char *name)
{
    bool is_named = false;
    for (size_t i = 0; i < shown->own && !is_named; i++)
        is_named = offset_in(plan_of(shown->entries[i]), entry) != SIZE_MAX;
    return is_named && !is_of(entry, name);
}

static int by_age(const void *a, const void *b)
{
    kiln_entry_info left, right;
    kiln_entry_describe(*(kiln_entry *const *)a, &left);
    kiln_entry_describe(*(kiln_entry *const *)b, &right);
    int order = (left.created_unix_s > right.created_unix_s) - (left.created_unix_s < right.created_unix_s);
    return order ? order : strcmp(left.digest, right.digest);
}

kiln_status find_shown(const kiln_inspector *inspector, const char *name, struct shown *out, kiln_error *err)
{
    *out = (struct shown){0};
    collect(inspector, out, name, has_name);
    if (out->count) {
        qsort(out->entries, out->count, sizeof *out->entries, by_age);
        out->own = out->count;
        return KILN_OK;
    }
    err->status = KILN_INVALID;
    snprintf(err->text, sizeof err->text,
             "no artifact in %.400s begins with '%.64s' or was first compiled for a function of that name; kernels of "
             "equal text are shared, so another function may have been first: `kiln ls` lists them",
             kiln_inspect_folder(inspector), name);
    return KILN_INVALID;
}

void add_shared(const kiln_inspector *inspector, const char *name, struct shown *shown)
{
    collect(inspector, shown, name, is_shared);
}

void release_shown(struct shown *shown)
{
    for (size_t i = 0; i < shown->count; i++) kiln_entry_close(shown->entries[i]);
    free(shown->entries);
}

/* ---- printing ------------------------------------------------------------------------------------------------- */

/* What is for programs: `kiln report` draws edges. */
static bool is_hidden(kiln_bytes name)
{
    return fact_is(name, "function") || fact_is(name, "mark") || (name.size >= 5 && !memcmp(name.data, "edges", 5));
}

static void print_fact(kiln_bytes name, kiln_bytes value)
{
    printf("  %-14s  %s\n", clean_bytes(name.data, name.size), clean_bytes(value.data, value.size));
}

static void print_plan(kiln_bytes plan, const char *function)
{
    kiln_bytes name, value;
    next_fact(&plan, &name, &value);
    printf("plan of %s: %s\n", clean(function), clean_bytes(value.data, value.size));
    while (next_fact(&plan, &name, &value))
        if (!is_hidden(name)) print_fact(name, value);
}

static void print_kernel(const kiln_entry *entry)
{
    char compiled[32], created[32];
    kiln_entry_info info;
    kiln_bytes name, value, rest = kiln_entry_call(entry), mark = find_fact(entry, "mark");
    kiln_entry_describe(entry, &info);
    const char *signer = signed_by(entry);
    printf("\nkernel %s [%s]  %.12s  for %s, compiled %s in %s%s%s\n", clean(info.function),
           clean_bytes(mark.data, mark.size), info.digest, clean(info.target),
           format_time(created, sizeof created, info.created_unix_s),
           format_ns(compiled, sizeof compiled, info.compile_ns), *signer ? ", " : "", signer);
    printf("  %-14s  %s\n", "entry", clean(info.entry));
    while (next_fact(&rest, &name, &value) && !fact_is(name, "plan"))
        if (!is_hidden(name)) print_fact(name, value);
    print_text(entry);
}

/* The next kernel of the plan that was not printed yet; count: none is left. */
static size_t next_kernel(const struct shown *shown, const bool *is_printed, kiln_bytes plan)
{
    size_t best = shown->count, best_offset = SIZE_MAX;
    for (size_t i = 0; i < shown->count; i++) {
        size_t offset = is_printed[i] ? SIZE_MAX : offset_in(plan, shown->entries[i]);
        if (offset < best_offset) {
            best = i;
            best_offset = offset;
        }
    }
    return best;
}

static bool is_equal(kiln_bytes a, kiln_bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* Each plan once, each kernel once, with the first plan that it is part of. */
static void print_plans(const struct shown *shown, bool *is_printed, const char *function)
{
    for (size_t i = 0; i < shown->own; i++) {
        kiln_bytes plan = plan_of(shown->entries[i]);
        bool is_new = plan.size > 0;
        for (size_t k = 0; k < i && is_new; k++) is_new = !is_equal(plan, plan_of(shown->entries[k]));
        if (!is_new) continue;
        if (i) puts("");
        print_plan(plan, function);
        for (size_t k; (k = next_kernel(shown, is_printed, plan)) < shown->count;) {
            print_kernel(shown->entries[k]);
            is_printed[k] = true;
        }
    }
}

void print_shown(const struct shown *shown, const char *name)
{
    bool *is_printed = calloc(shown->count + 1, sizeof *is_printed);
    if (!is_printed) return;
    print_plans(shown, is_printed, name);
    for (size_t i = 0; i < shown->count; i++) {
        if (is_printed[i]) continue;
        if (i) puts("");
        print_entry(shown->entries[i]);
    }
    free(is_printed);
}

void print_json_shown(const struct shown *shown, const char *name)
{
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "function", name);
    kiln__json_open(&json_out, "artifacts", '[');
    for (size_t i = 0; i < shown->count; i++) {
        kiln__json_line(&json_out);
        print_json_entry(shown->entries[i]);
    }
    kiln__json_close(&json_out, ']');
    kiln__json_close(&json_out, '}');
    json_end();
}
