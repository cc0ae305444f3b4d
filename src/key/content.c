/*
 * content.c - see content.h. Each field is length-prefixed twice (name, value), so no two keys encode alike.
 */
#include "key/content.h"

#include <string.h>

void kiln__content_field(struct kiln_content_key *key, const char *name, const void *value, size_t size)
{
    size_t name_size = strlen(name);
    if (size > UINT32_MAX) key->fields.failed = true;
    kiln__buffer_u32(&key->fields, (uint32_t)name_size);
    kiln__buffer_append(&key->fields, name, name_size);
    kiln__buffer_u32(&key->fields, (uint32_t)size);
    kiln__buffer_append(&key->fields, value, size);
}

void kiln__content_text(struct kiln_content_key *key, const char *name, const char *value)
{
    kiln__content_field(key, name, value, strlen(value));
}

void kiln__content_field_name(struct kiln_buffer *out, const char *prefix, const char *module, const char *name)
{
    kiln__buffer_printf(out, "%s %zu %s %s", prefix, strlen(module), module, name);
}

kiln_status kiln__content_finish(struct kiln_content_key *key, kiln_error *err)
{
    if (key->fields.failed) return kiln__no_memory(err, "a content key");
    key->digest = kiln__digest(key->fields.data, key->fields.size);
    return KILN_OK;
}

void kiln__content_release(struct kiln_content_key *key)
{
    kiln__buffer_release(&key->fields);
}

static const char bytes_format[] = "bytes 1"; /* those of compiles are numbers */

kiln_status kiln__content_of_bytes(kiln_bytes key, struct kiln_content_key *out, kiln_error *err)
{
    kiln__content_text(out, "format", bytes_format);
    kiln__content_field(out, "bytes", key.data, key.size);
    return kiln__content_finish(out, err);
}

bool kiln__content_is_of_bytes(kiln_bytes fields)
{
    struct kiln_field field;
    size_t offset = 0, size = sizeof bytes_format - 1;
    return kiln__content_next(fields, &offset, &field) && field.value.size == size &&
           !memcmp(field.value.data, bytes_format, size);
}

static bool take(kiln_bytes fields, size_t *offset, const char **data, size_t *size)
{
    const unsigned char *bytes = fields.data;
    if (fields.size - *offset < 4) return false;
    const unsigned char *p = bytes + *offset;
    *size = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (*size > fields.size - *offset - 4) return false;
    *data = (const char *)p + 4;
    *offset += 4 + *size;
    return true;
}

bool kiln__content_next(kiln_bytes fields, size_t *offset, struct kiln_field *out)
{
    const char *value;
    return take(fields, offset, &out->name, &out->name_size) && take(fields, offset, &value, &out->value.size) &&
           (out->value.data = value, true);
}
