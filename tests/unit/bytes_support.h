/*
 * bytes_support.h - for tests of the bytes of others: keys and values as texts, one call for each thing that is asked.
 */
#ifndef TESTS_UNIT_BYTES_SUPPORT_H
#define TESTS_UNIT_BYTES_SUPPORT_H

#include "process_support.h"

#include "base/clock.h"

enum { FOREVER_MS = INT_MAX }; /* of a wait that must not begin: 24 days */

UNUSED static kiln_bytes bytes_of(const char *text)
{
    return (kiln_bytes){text, strlen(text)};
}

UNUSED static kiln_store_options waiting(uint32_t wait_ms)
{
    return (kiln_store_options){.struct_size = sizeof(kiln_store_options), .wait_ms = wait_ms};
}

UNUSED static bool is_text(kiln_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

/* What is stored is this text; it is looked at and released. */
UNUSED static bool holds_text(kiln_store_value *value, const char *text)
{
    bool is_it = value->bytes.data && is_text(value->bytes, text);
    kiln_store_release(value);
    return is_it;
}

/* A get with this patience; a value is compared with `text` (NULL: there must be none) and released. */
UNUSED static kiln_status get_text(kiln_cache *cache, const char *key, uint32_t wait_ms, const char *text,
                                   kiln_store_ticket **ticket)
{
    const kiln_store_options options = waiting(wait_ms);
    kiln_store_value value = {0};
    kiln_error err = {KILN_OK, ""};
    kiln_status status = kiln_store_get(cache, bytes_of(key), &options, &value, ticket, &err);
    if (status < 0) fprintf(stderr, "%s: %s\n", key, err.text);
    if (status == KILN_OK && (!text || !holds_text(&value, text))) {
        fprintf(stderr, "%s: it holds something else\n", key);
        return KILN_IO;
    }
    return status;
}

UNUSED static kiln_status put_text(kiln_cache *cache, const char *key, const char *text, kiln_store_ticket *ticket)
{
    return kiln_store_put(cache, bytes_of(key), bytes_of(text), NULL, ticket, NULL);
}

UNUSED static kiln_store_ticket *take_ticket(kiln_cache *cache, const char *key, uint32_t deadline_ms)
{
    const kiln_store_options options = {
        .struct_size = sizeof options, .wait_ms = PATIENCE_MS, .deadline_ms = deadline_ms};
    kiln_store_value value = {0};
    kiln_store_ticket *ticket = NULL;
    CHECK_STATUS(kiln_store_get(cache, bytes_of(key), &options, &value, &ticket, NULL), KILN_STORE_MISS);
    CHECK_NOT_NULL(ticket);
    return ticket;
}
#define take_ticket(...) CHECK_CALL(take_ticket, __VA_ARGS__)

#endif
