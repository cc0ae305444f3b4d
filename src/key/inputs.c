/*
 * inputs.c - see inputs.h. An input is kind, module, NUL, name, NUL; sets are ordered by these bytes as they stand.
 */
#include "key/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/process/gate.h"

/* ---- sets ----------------------------------------------------------------------------------------------------- */

bool kiln__input_next(kiln_bytes set, size_t *offset, struct kiln_input *out)
{
    const char *bytes = set.data;
    if (*offset >= set.size) return false;
    out->kind = (enum kiln_input_kind)(unsigned char)bytes[*offset];
    out->module = bytes + *offset + 1;
    out->name = out->module + strlen(out->module) + 1;
    *offset = (size_t)(out->name + strlen(out->name) + 1 - bytes);
    return true;
}

/* The size of the input at the start of the bytes; 0: there is none. */
static size_t input_size(const char *bytes, size_t size)
{
    if (!size || !bytes[0] || (unsigned char)bytes[0] >= KILN_INPUT_KINDS) return 0;
    const char *end = memchr(bytes + 1, '\0', size - 1);
    if (end) end = memchr(end + 1, '\0', (size_t)(bytes + size - end - 1));
    return end ? (size_t)(end + 1 - bytes) : 0;
}

static int compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

bool kiln__inputs_check(kiln_bytes set)
{
    const char *at = set.data, *before = NULL;
    size_t rest = set.size, before_size = 0, count = 0;
    for (size_t size; rest; at += size, rest -= size) {
        size = input_size(at, rest);
        if (!size || ++count > KILN_MOST_INPUTS) return false;
        if (before && compare(before, before_size, at, size) >= 0) return false;
        before = at;
        before_size = size;
    }
    return true;
}

/* ---- collecting ----------------------------------------------------------------------------------------------- */

void kiln__inputs_init(struct kiln_inputs *inputs)
{
    memset(inputs, 0, sizeof *inputs);
    pthread_mutex_init(&inputs->lock, NULL);
}

void kiln__inputs_release(struct kiln_inputs *inputs)
{
    pthread_mutex_destroy(&inputs->lock);
    kiln__buffer_release(&inputs->bytes);
    kiln__table_release(&inputs->table);
    free(inputs->offsets);
}

static kiln_bytes input_at(const struct kiln_inputs *inputs, size_t index)
{
    const size_t *offset = &inputs->offsets[index];
    return (kiln_bytes){inputs->bytes.data + offset[0], offset[1] - offset[0]};
}

/* The one that is being added stands behind all others. */
static bool is_added(const void *context, uint32_t index)
{
    const struct kiln_inputs *inputs = context;
    kiln_bytes known = input_at(inputs, index);
    size_t at = inputs->offsets[inputs->count];
    return known.size == inputs->bytes.size - at && !memcmp(known.data, inputs->bytes.data + at, known.size);
}

static bool make_room(struct kiln_inputs *inputs)
{
    if (inputs->count + 2 <= inputs->cap) return true;
    size_t cap = inputs->cap ? inputs->cap * 2 : 16;
    size_t *offsets = realloc(inputs->offsets, cap * sizeof *offsets);
    if (!offsets) return false;
    if (!inputs->cap) offsets[0] = 0;
    inputs->offsets = offsets;
    inputs->cap = cap;
    return true;
}

/* With the lock held. */
static kiln_status add(struct kiln_inputs *inputs, const struct kiln_input *input)
{
    struct kiln_buffer *bytes = &inputs->bytes;
    if (inputs->count >= KILN_MOST_INPUTS) return KILN_INVALID;
    kiln__buffer_u8(bytes, (uint8_t)input->kind);
    kiln__buffer_append(bytes, input->module, strlen(input->module) + 1);
    kiln__buffer_append(bytes, input->name, strlen(input->name) + 1);
    if (bytes->failed || !make_room(inputs)) return KILN_NO_MEMORY;
    size_t at = inputs->offsets[inputs->count];
    uint64_t hash = kiln__hash(bytes->data + at, bytes->size - at);
    uint32_t *slot = kiln__table_slot(&inputs->table, hash, is_added, inputs);
    if (!slot) return KILN_NO_MEMORY;
    if (*slot == KILN_TABLE_EMPTY)
        *slot = (uint32_t)inputs->count++;
    else
        bytes->size = at;
    inputs->offsets[inputs->count] = bytes->size;
    return KILN_OK;
}

kiln_status kiln__inputs_add(struct kiln_inputs *inputs, const struct kiln_input *input)
{
    kiln__mutex_lock(&inputs->lock);
    if (!inputs->status) inputs->status = add(inputs, input);
    kiln_status status = inputs->status;
    kiln__mutex_unlock(&inputs->lock);
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    const kiln_bytes *left = a, *right = b;
    return compare(left->data, left->size, right->data, right->size);
}

void kiln__inputs_encode(const struct kiln_inputs *inputs, struct kiln_buffer *out)
{
    if (!inputs->count) return;
    kiln_bytes *sorted = malloc(inputs->count * sizeof *sorted);
    if (!sorted || inputs->status) out->failed = true;
    for (size_t i = 0; sorted && i < inputs->count; i++) sorted[i] = input_at(inputs, i);
    if (sorted) qsort(sorted, inputs->count, sizeof *sorted, by_bytes);
    for (size_t i = 0; sorted && i < inputs->count; i++) kiln__buffer_append(out, sorted[i].data, sorted[i].size);
    free(sorted);
}
