/*
 * difference.c - two artifacts, and in words what differs between them. See kiln/inspect.h.
 */
#include <stdlib.h>
#include <string.h>

#include "key/explain.h"
#include "kiln/inspect.h"

static void print_content(const kiln_entry *entry, struct kiln_buffer *out)
{
    kiln_bytes name, value;
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++)
        kiln__field_print(&(struct kiln_field){name.data, name.size, value}, out);
}

static void print_call(const kiln_entry *entry, struct kiln_buffer *out)
{
    kiln_bytes call = kiln_entry_call(entry);
    if (call.size && !memchr(call.data, '\0', call.size)) kiln__buffer_append(out, call.data, call.size);
}

static char *compare(const kiln_entry *was, const kiln_entry *is,
                     void (*print)(const kiln_entry *entry, struct kiln_buffer *out))
{
    struct kiln_buffer old = {0}, new = {0}, text = {0};
    print(was, &old);
    print(is, &new);
    if (!old.failed && !new.failed && old.size &&new.size)
        kiln__explain((const char *)old.data, (const char *)new.data, &text);
    char *words = old.failed || new.failed || text.failed ? NULL : strdup(text.size ? (const char *)text.data : "");
    kiln__buffer_release(&old);
    kiln__buffer_release(&new);
    kiln__buffer_release(&text);
    return words;
}

static char *compare_texts(const kiln_entry *was, const kiln_entry *is)
{
    struct kiln_buffer text = {0};
    kiln__explain_lines(kiln_entry_get(was, "text"), kiln_entry_get(is, "text"), &text);
    char *words = text.failed ? NULL : strdup(text.size ? (const char *)text.data : "");
    kiln__buffer_release(&text);
    return words;
}

kiln_status kiln_entry_compare(const kiln_entry *was, const kiln_entry *is, kiln_difference *out, kiln_error *err)
{
    if (!was || !is || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_entry_compare: needs two entries and a pointer for the result");
    kiln_difference difference = {compare(was, is, print_content), compare(was, is, print_call),
                                  compare_texts(was, is)};
    if (!difference.content || !difference.call || !difference.text) {
        kiln_difference_release(&difference);
        return kiln__no_memory(err, "a comparison");
    }
    *out = difference;
    return KILN_OK;
}

void kiln_difference_release(kiln_difference *difference)
{
    if (!difference) return;
    free(difference->content);
    free(difference->call);
    free(difference->text);
    memset(difference, 0, sizeof *difference);
}

/* ---- the nearest one ------------------------------------------------------------------------------------------- */

static size_t length_of(const kiln_difference *difference)
{
    return strlen(difference->content) + strlen(difference->call) + strlen(difference->text);
}

static bool is_candidate(const kiln_entry *entry, const kiln_entry_info *of)
{
    kiln_entry_info info;
    kiln_entry_describe(entry, &info);
    bool is_other = strcmp(info.function, of->function) == 0 && strcmp(info.digest, of->digest) != 0;
    return is_other && strcmp(kiln_entry_kind(entry), "manifest") != 0;
}

struct nearest {
    kiln_entry *entry;
    kiln_difference difference;
};

static void release_nearest(struct nearest *nearest)
{
    if (nearest->entry) kiln_difference_release(&nearest->difference);
    kiln_entry_close(nearest->entry);
    *nearest = (struct nearest){NULL};
}

/* Takes `entry`, which is kept if it is nearer. */
static kiln_status try_entry(struct nearest *nearest, kiln_entry *entry, const kiln_entry *of, kiln_error *err)
{
    struct nearest other = {.entry = entry};
    kiln_status status = kiln_entry_compare(entry, of, &other.difference, err);
    if (status) {
        kiln_entry_close(entry);
        return status;
    }
    bool is_nearer = !nearest->entry || length_of(&other.difference) < length_of(&nearest->difference);
    release_nearest(is_nearer ? nearest : &other);
    if (is_nearer) *nearest = other;
    return KILN_OK;
}

kiln_status kiln_inspect_nearest(const kiln_inspector *inspector, const kiln_entry *of, kiln_entry **nearest,
                                 kiln_difference *out, kiln_error *err)
{
    if (!inspector || !of || !nearest || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_inspect_nearest: needs a folder, an entry and pointers for results");
    kiln_entry_info info;
    kiln_entry_describe(of, &info);
    struct nearest found = {NULL};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < kiln_inspect_count(inspector) && !status; i++) {
        kiln_entry *entry = NULL;
        if (kiln_entry_open(inspector, i, &entry, NULL) != KILN_OK) continue;
        if (is_candidate(entry, &info))
            status = try_entry(&found, entry, of, err);
        else
            kiln_entry_close(entry);
    }
    if (status) return release_nearest(&found), status;
    *nearest = found.entry;
    if (found.entry) *out = found.difference;
    return KILN_OK;
}
