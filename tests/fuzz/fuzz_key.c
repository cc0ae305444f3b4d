/*
 * fuzz_key.c - any bytes as the text forms of keys: the fields of a content key, and the words of two call keys.
 *
 * Fields: every name and value lies within the bytes, the walk ends, and writing them again gives the bytes that were
 * walked. Call keys: whatever the words are, a text comes out, the same each time, and nothing outside is read: each
 * key stands in memory of exactly its size.
 */
#include <stdlib.h>
#include <string.h>

#include "key/content.h"
#include "key/explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_within(const void *at, size_t at_size, const uint8_t *data, size_t size)
{
    const uint8_t *start = at;
    return start >= data && start <= data + size && at_size <= (size_t)(data + size - start);
}

static void walk_fields(const uint8_t *data, size_t size)
{
    struct kiln_content_key again = {0};
    struct kiln_field field;
    size_t offset = 0, before = 0, walked = 0;
    bool has_nul = false;
    while (kiln__content_next((kiln_bytes){data, size}, &offset, &field)) {
        if (offset <= before || offset > size) abort();
        if (!lies_within(field.name, field.name_size, data, size)) abort();
        if (!lies_within(field.value.data, field.value.size, data, size)) abort();
        char *name = strndup(field.name, field.name_size); /* a name ends at a NUL when it is written */
        if (!name) return;
        has_nul |= strlen(name) != field.name_size;
        kiln__content_field(&again, name, field.value.data, field.value.size);
        free(name);
        before = walked = offset;
    }
    bool is_same = again.fields.size == walked && (walked == 0 || memcmp(again.fields.data, data, walked) == 0);
    if (!has_nul && !is_same) abort();
    kiln__content_release(&again);
}

static const char *name_of(uint64_t type)
{
    static const char *const names[] = {"tensor", "const_i64", "list", ""};
    return names[type % 4];
}

/* A copy that ends where the key does, so that the address sanitizer sees a read beyond it. */
static uint64_t *copy_words(const uint8_t *data, uint32_t count)
{
    uint64_t *words = malloc(count ? count * sizeof *words : 1);
    if (words && count) memcpy(words, data, count * sizeof *words);
    return words;
}

static void print(const uint64_t *words, uint32_t count, struct kiln_buffer *out)
{
    if (kiln__key_print(words, count, name_of, out) > count) abort();
    kiln__buffer_append(out, "", 0);
}

static const char *text_of(const struct kiln_buffer *buffer)
{
    return buffer->size ? (const char *)buffer->data : "";
}

static void explain(const uint8_t *data, size_t size)
{
    if (size < 1) return;
    uint32_t count = (uint32_t)((size - 1) / 8), first = count ? data[0] % (count + 1) : 0;
    uint64_t *was = copy_words(data + 1, first), *is = copy_words(data + 1 + first * 8, count - first);
    struct kiln_buffer old = {0}, new = {0}, again = {0}, text = {0}, same = {0};
    if (was && is) {
        print(was, first, &old);
        print(is, count - first, &new);
        print(is, count - first, &again);
        bool failed = old.failed || new.failed || again.failed;
        if (!failed && strcmp(text_of(&new), text_of(&again)) != 0) abort();
        if (!failed) kiln__explain(text_of(&old), text_of(&new), &text);
        if (!failed) kiln__explain(text_of(&new), text_of(&again), &same);
        kiln__explain_lines((kiln_bytes){data, size / 2}, (kiln_bytes){data + size / 2, size - size / 2}, &text);
        (void)same; /* names may come twice in words of any origin: then a text may differ from itself */
    }
    kiln__buffer_release(&old);
    kiln__buffer_release(&new);
    kiln__buffer_release(&again);
    kiln__buffer_release(&text);
    kiln__buffer_release(&same);
    free(was);
    free(is);
}

static void print_fields(const uint8_t *data, size_t size)
{
    struct kiln_buffer out = {0};
    struct kiln_field field;
    for (size_t offset = 0; kiln__content_next((kiln_bytes){data, size}, &offset, &field);)
        kiln__field_print(&field, &out);
    kiln__buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk_fields(data, size);
    print_fields(data, size);
    explain(data, size);
    return 0;
}
