/*
 * watch_content.c - kiln__watched_content(): watched values as fields of a content key, see watch.h.
 *
 * Names and their order are those of every machine: modules and paths as they are known (roots.h).
 */
#include "key/watch.h"

struct named {
    const struct kiln_watched *watched;
    struct kiln_buffer module; /* as it is known; of a file its path as it is known */
};

static int by_module_and_name(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    const struct kiln_watch *left_watch = left->watched->watch, *right_watch = right->watched->watch;
    int order = strcmp((const char *)left->module.data, (const char *)right->module.data);
    if (!order) order = strcmp(left_watch->name, right_watch->name);
    if (!order) order = (int)left_watch->kind - (int)right_watch->kind;
    if (order) return order;
    /* two owners of one name: as they stand in the key */
    return (left->watched > right->watched) - (left->watched < right->watched);
}

/* The digest in words that people can read; nothing: there is no such file. */
static void add_file(const struct kiln_watched *watched, struct kiln_content_key *key)
{
    struct kiln_buffer root = {0}, rest = {0}, name = {0};
    char hex[KILN_DIGEST_HEX] = "";
    kiln__path_name(watched->watch->name, &root, &rest);
    if (!root.failed && !rest.failed)
        kiln__content_field_name(&name, "file", (const char *)root.data, (const char *)rest.data);
    if (watched->data) kiln__digest_hex(watched->data, hex);
    if (!name.failed && name.size) kiln__content_text(key, (const char *)name.data, hex);
    key->fields.failed |= name.failed || !name.size;
    kiln__buffer_release(&root);
    kiln__buffer_release(&rest);
    kiln__buffer_release(&name);
}

static void add_field(const struct named *named, struct kiln_content_key *key)
{
    const struct kiln_watched *watched = named->watched;
    const struct kiln_watch *watch = watched->watch;
    struct kiln_buffer name = {0};
    if (watch->kind == KILN_ITEM_FILE) {
        add_file(watched, key);
        return;
    }
    if (watch->kind == KILN_ITEM_MEMORY)
        kiln__content_field_name(&name, "watch", (const char *)named->module.data, watch->name);
    else
        kiln__buffer_printf(&name, "%s %s", watch->kind == KILN_ITEM_ENVIRONMENT ? "environment" : "variable",
                            watch->name);
    /* unset and empty differ: a set value of the environment has at least its NUL */
    if (!name.failed)
        kiln__content_field(key, (const char *)name.data, watched->data ? watched->data : "",
                            watched->data ? watched->size : 0);
    key->fields.failed |= name.failed;
    kiln__buffer_release(&name);
}

kiln_status kiln__watched_content(const struct kiln_watched *watched, size_t count, struct kiln_content_key *key,
                                  kiln_error *err)
{
    struct named *named = count ? calloc(count, sizeof *named) : NULL;
    bool failed = count && !named;
    for (size_t i = 0; named && i < count; i++) {
        const struct kiln_watch *watch = watched[i].watch;
        named[i].watched = &watched[i];
        if (watch->kind == KILN_ITEM_FILE)
            kiln__path_print(watch->name, &named[i].module);
        else
            kiln__module_name(watch->module, &named[i].module);
        failed |= named[i].module.failed || !named[i].module.data;
    }
    if (!failed && count) qsort(named, count, sizeof *named, by_module_and_name);
    for (size_t i = 0; !failed && i < count; i++) add_field(&named[i], key);
    for (size_t i = 0; named && i < count; i++) kiln__buffer_release(&named[i].module);
    free(named);
    return failed ? kiln__no_memory(err, "a content key") : KILN_OK;
}
