/*
 * argument.c - see argument.h.
 *
 * An ARGUMENT item holds a type's address and the items that the type signed; of these only a LIST holds further
 * ARGUMENT items. Both encodings walk that tree in the order of the key.
 */
#include "key/argument.h"

static bool is_argument(uint64_t header)
{
    return kiln__item_tag(header) == KILN_ITEM_ARGUMENT;
}

static const char *name_of(const uint64_t *item)
{
    const kiln_type *type = (const kiln_type *)(uintptr_t)item[1];
    return type->name ? type->name : "";
}

/* Where the items inside of this one start; 0: there are none. */
static uint32_t inner_items(uint64_t header)
{
    return is_argument(header) ? 2 : kiln__item_tag(header) == KILN_ITEM_LIST ? 1 : 0;
}

void kiln__argument_content(const uint64_t *item, struct kiln_buffer *out)
{
    uint32_t count = kiln__item_words(*item), inner = inner_items(*item);
    if (is_argument(*item)) {
        const char *name = name_of(item);
        kiln__buffer_u32(out, (uint32_t)strlen(name));
        kiln__buffer_append(out, name, strlen(name));
    }
    kiln__buffer_append(out, item, sizeof *item);
    if (!inner) kiln__buffer_append(out, item + 1, (size_t)count * sizeof *item);
    for (uint32_t at = inner; inner && at <= count; at += 1 + kiln__item_words(item[at]))
        kiln__argument_content(item + at, out);
}

/* The words with 0 in the place of each address. */
static void append_items(const uint64_t *item, struct kiln_buffer *out)
{
    static const uint64_t no_type = 0;
    uint32_t count = kiln__item_words(*item), inner = inner_items(*item);
    kiln__buffer_append(out, item, sizeof *item);
    if (is_argument(*item)) kiln__buffer_append(out, &no_type, sizeof no_type);
    if (!inner) kiln__buffer_append(out, item + 1, (size_t)count * sizeof *item);
    for (uint32_t at = inner; inner && at <= count; at += 1 + kiln__item_words(item[at])) append_items(item + at, out);
}

static void append_names(const uint64_t *item, struct kiln_buffer *out)
{
    uint32_t count = kiln__item_words(*item), inner = inner_items(*item);
    if (is_argument(*item)) kiln__buffer_append(out, name_of(item), strlen(name_of(item)) + 1);
    for (uint32_t at = inner; inner && at <= count; at += 1 + kiln__item_words(item[at])) append_names(item + at, out);
}

void kiln__argument_bytes(const uint64_t *item, struct kiln_buffer *out)
{
    static const uint64_t zero = 0;
    uint32_t count = kiln__item_words(*item);
    for (uint32_t at = 2; at <= count; at += 1 + kiln__item_words(item[at])) append_items(item + at, out);
    kiln__buffer_append(out, &zero, sizeof zero);
    append_names(item, out);
    kiln__buffer_append(out, &zero, -out->size % sizeof zero);
}
