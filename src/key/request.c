/*
 * request.c - what lower() and compile() may ask, and the content key made from the same struct.
 *
 * Nothing here reads the environment, a device or memory again: all values are those the call key was made of.
 */
#include "key/request.h"

#include <stdio.h>

const char *kiln_request_function(const kiln_request *request)
{
    return request->function;
}

const char *kiln_request_target(const kiln_request *request)
{
    return request->device->target.name;
}

kiln_device *kiln_request_device(const kiln_request *request)
{
    return request->device;
}

size_t kiln_request_arg_count(const kiln_request *request)
{
    return request->arg_count;
}

kiln_bytes kiln_request_arg(const kiln_request *request, size_t index)
{
    if (index >= request->arg_count) return (kiln_bytes){NULL, 0};
    const uint64_t *item = request->args[index];
    return (kiln_bytes){item + 2, ((size_t)kiln__item_words(*item) - 1) * sizeof *item};
}

/* The first one in the key, which is the function's own where a function it depends on watches the same name. */
static const struct kiln_watched *take_watched(const kiln_request *request, enum kiln_item kind, const char *module,
                                               const char *name)
{
    for (size_t i = 0; i < request->watched_count; i++) {
        struct kiln_watched *watched = &request->watched[i];
        const struct kiln_watch *watch = watched->watch;
        if (watch->kind != kind || strcmp(watch->module, module) || strcmp(watch->name, name)) continue;
        __atomic_store_n(&watched->is_taken, true, __ATOMIC_RELAXED); /* lower() may have threads */
        return watched;
    }
    return NULL;
}

const char *kiln_request_env(const kiln_request *request, const char *name)
{
    const struct kiln_watched *watched = take_watched(request, KILN_ITEM_ENVIRONMENT, "", name);
    return watched ? watched->data : NULL;
}

kiln_bytes kiln_request_watched(const kiln_request *request, const char *module, const char *name)
{
    if (!request || !name) return (kiln_bytes){NULL, 0};
    const struct kiln_watched *watched = take_watched(request, KILN_ITEM_MEMORY, module ? module : "", name);
    if (!watched && (!module || !*module)) watched = take_watched(request, KILN_ITEM_VARIABLE, "", name);
    return watched ? (kiln_bytes){watched->data, watched->size} : (kiln_bytes){NULL, 0};
}

const char *kiln_request_option(const kiln_request *request, const char *name)
{
    static const char *const levels[] = {"0", "1", "2", "3"};
    const char *pushed = kiln__options_find(&request->options, name);
    if (pushed) return pushed;
    if (!strcmp(name, "opt_level")) return levels[request->options.opt_level & 3];
    if (!strcmp(name, "fast_math")) return levels[request->options.fast_math];
    return NULL;
}

kiln_status kiln_text_append(kiln_text *text, const void *data, size_t size)
{
    kiln__buffer_append(&text->buffer, data, size);
    return text->buffer.failed ? KILN_NO_MEMORY : KILN_OK;
}

kiln_status kiln_text_printf(kiln_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    kiln__buffer_vprintf(&text->buffer, format, list);
    va_end(list);
    return text->buffer.failed ? KILN_NO_MEMORY : KILN_OK;
}

/* ---- reads ---------------------------------------------------------------------------------------------------- */

/* A variable is read once for an entry: code made from two values of it would fit neither. */
static const struct kiln_read_record *find_read(const struct kiln_read_record *reads, const char *module,
                                                const char *name, const void *address, size_t size)
{
    while (reads && (reads->address != address || reads->size != size || strcmp(reads->module, module) ||
                     strcmp(reads->name, name)))
        reads = reads->next;
    return reads;
}

kiln_status kiln_read(const kiln_request *request, const char *module, const char *name, const void *address,
                      size_t size, void *out)
{
    if (!request || !module || !name || !address || !out) return KILN_INVALID;
    kiln_request *mutable_request = (kiln_request *)request; /* the record of reads is ours, not the callback's */
    const struct kiln_read_record *known = find_read(request->reads, module, name, address, size);
    if (known) {
        memcpy(out, known->value, size);
        return KILN_OK;
    }
    size_t module_size = strlen(module) + 1, name_size = strlen(name) + 1;
    struct kiln_read_record *record = malloc(sizeof *record + size + module_size + name_size);
    if (!record) return mutable_request->read_status = KILN_NO_MEMORY;
    record->address = address;
    record->size = size;
    kiln__memory_copy(record->value, address, size);
    record->module = (char *)record->value + size;
    record->name = record->module + module_size;
    memcpy(record->module, module, module_size);
    memcpy(record->name, name, name_size);
    record->next = request->reads;
    mutable_request->reads = record;
    memcpy(out, record->value, size);
    return KILN_OK;
}

bool kiln__reads_hold(const struct kiln_read_record *reads)
{
    for (; reads && KILN_SEGMENT_READS; reads = reads->next)
        if (!kiln__memory_holds(reads->address, reads->value, reads->size)) return false;
    return true;
}

void kiln__reads_free(struct kiln_read_record *reads)
{
    while (reads) {
        struct kiln_read_record *next = reads->next;
        free(reads);
        reads = next;
    }
}

/* ---- content key ---------------------------------------------------------------------------------------------- */

/* Type addresses differ between processes: a copy of the item with every address replaced by the type's name. */
static void argument_content(const uint64_t *item, struct kiln_buffer *out)
{
    uint32_t count = kiln__item_words(*item);
    if (kiln__item_tag(*item) == KILN_ITEM_ARGUMENT) {
        const kiln_type *type = (const kiln_type *)(uintptr_t)item[1];
        const char *name = type->name ? type->name : "";
        kiln__buffer_u32(out, (uint32_t)strlen(name));
        kiln__buffer_append(out, name, strlen(name));
    }
    bool nested = kiln__item_tag(*item) == KILN_ITEM_ARGUMENT || kiln__item_tag(*item) == KILN_ITEM_LIST;
    kiln__buffer_append(out, item, sizeof *item);
    if (!nested) {
        kiln__buffer_append(out, item + 1, (size_t)count * sizeof *item);
        return;
    }
    for (uint32_t at = kiln__item_tag(*item) == KILN_ITEM_ARGUMENT ? 2 : 1; at <= count;
         at += 1 + kiln__item_words(item[at]))
        argument_content(item + at, out);
}

static void arguments_content(const kiln_request *request, struct kiln_content_key *key)
{
    for (size_t i = 0; i < request->arg_count; i++) {
        char name[32];
        struct kiln_buffer value = {0};
        snprintf(name, sizeof name, "argument %zu", i);
        argument_content(request->args[i], &value);
        kiln__content_field(key, name, value.data, value.size);
        key->fields.failed |= value.failed;
        kiln__buffer_release(&value);
    }
}

static void reads_content(const kiln_request *request, struct kiln_content_key *key)
{
    for (const struct kiln_read_record *read = request->reads; read; read = read->next) {
        struct kiln_buffer name = {0};
        kiln__content_place(&name, "read", read->module, read->name);
        if (!name.failed) kiln__content_field(key, (const char *)name.data, read->value, read->size);
        key->fields.failed |= name.failed;
        kiln__buffer_release(&name);
    }
}

kiln_status kiln__request_content(const struct kiln_request *request, const char *compiler, const char *toolchain,
                                  kiln_bytes text, bool with_arguments, struct kiln_content_key *out, kiln_error *err)
{
    kiln__content_text(out, "format", "1");
    kiln__content_text(out, "compiler", compiler);
    kiln__content_text(out, "toolchain", toolchain);
    kiln__content_text(out, "target", request->device->target.name);
    if (!request->without_options) kiln__options_content(&request->options, out);
    kiln_status status = kiln__watched_content(request->watched, request->watched_count, out, err);
    if (status) return status;
    reads_content(request, out);
    if (with_arguments) arguments_content(request, out);
    struct kiln_digest digest = kiln__digest(text.data, text.size);
    char hex[KILN_DIGEST_HEX];
    kiln__digest_hex(&digest, hex);
    kiln__content_text(out, "text", hex);
    return kiln__content_finish(out, err);
}
