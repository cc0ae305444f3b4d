/*
 * abi_map.c - map.h of the ABI. Both kinds of maps share one implementation; so do their iterators, whose ctx counts
 * the entries that were handed out and whose map_ctx is the map, which must outlive them.
 */
#include "mlxc/abi_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { NOT_FOUND = 2 };

struct kiln_map *kiln__map_new(void)
{
    return calloc(1, sizeof(struct kiln_map));
}

static void release_content(struct kiln_map_entry *entry)
{
    kiln__array_unref(entry->array);
    free(entry->text);
    mlx_vector_string_free(entry->list);
}

static void map_clear(struct kiln_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        release_content(&map->entries[i]);
        free(map->entries[i].key);
    }
    free(map->entries);
    kiln__table_release(&map->table);
    memset(map, 0, sizeof *map);
}

void kiln__map_free(struct kiln_map *map)
{
    if (!map) return;
    map_clear(map);
    free(map);
}

struct lookup {
    const struct kiln_map *map;
    const char *key;
};

static bool same_key(const void *context, uint32_t index)
{
    const struct lookup *lookup = context;
    return strcmp(lookup->map->entries[index].key, lookup->key) == 0;
}

static bool make_room(struct kiln_map *map)
{
    if (map->count < map->cap) return true;
    size_t cap = map->cap ? 2 * map->cap : 8;
    struct kiln_map_entry *entries = realloc(map->entries, cap * sizeof *entries);
    if (!entries) return false;
    map->entries = entries;
    map->cap = cap;
    return true;
}

/* The entry of `key`, which is added when it is missing; NULL when out of memory. */
static struct kiln_map_entry *entry_of(struct kiln_map *map, const char *key)
{
    const struct lookup lookup = {map, key};
    size_t size = strlen(key) + 1;
    if (!make_room(map)) return NULL;
    uint32_t *slot = kiln__table_slot(&map->table, kiln__hash(key, size - 1), same_key, &lookup);
    if (!slot) return NULL;
    if (*slot != KILN_TABLE_EMPTY) return &map->entries[*slot];
    char *copy = malloc(size);
    if (!copy) return NULL;
    memcpy(copy, key, size);
    *slot = (uint32_t)map->count;
    map->entries[map->count] = (struct kiln_map_entry){.key = copy};
    return &map->entries[map->count++];
}

/* The content of `made` passes to the map. */
static bool put_entry(struct kiln_map *map, const char *key, struct kiln_map_entry made)
{
    struct kiln_map_entry *entry = entry_of(map, key), old = entry ? *entry : made;
    if (entry) {
        made.key = entry->key;
        *entry = made;
    }
    release_content(&old);
    return entry;
}

bool kiln__map_put_array(struct kiln_map *map, const char *key, struct kiln_array *array)
{
    return put_entry(map, key, (struct kiln_map_entry){.array = array});
}

bool kiln__map_put_text(struct kiln_map *map, const char *key, const char *text)
{
    char *copy = strdup(text);
    return copy && put_entry(map, key, (struct kiln_map_entry){.text = copy});
}

bool kiln__map_put_list(struct kiln_map *map, const char *key, mlx_vector_string list)
{
    return put_entry(map, key, (struct kiln_map_entry){.list = list});
}

const struct kiln_map_entry *kiln__map_get(const struct kiln_map *map, const char *key)
{
    const struct lookup lookup = {map, key};
    uint32_t index = kiln__table_find(&map->table, kiln__hash(key, strlen(key)), same_key, &lookup);
    return index == KILN_TABLE_EMPTY ? NULL : &map->entries[index];
}

static bool copy_entries(struct kiln_map *to, const struct kiln_map *from)
{
    bool done = true;
    for (size_t i = 0; done && i < from->count; i++) {
        const struct kiln_map_entry *entry = &from->entries[i];
        done = entry->array ? kiln__map_put_array(to, entry->key, kiln__array_ref(entry->array))
                            : kiln__map_put_text(to, entry->key, entry->text);
    }
    return done;
}

void kiln__give_map(void **ctx, struct kiln_map *map)
{
    struct kiln_map *box = *ctx;
    if (!box) {
        *ctx = map;
        return;
    }
    struct kiln_map old = *box;
    *box = *map;
    map_clear(&old);
    free(map);
}

/* ---- what both kinds do ------------------------------------------------------------------------------------------ */

static void *new_map(void)
{
    struct kiln_map *map = kiln__map_new();
    if (!map) KILN_FAIL_TEXT("out of memory: a map");
    return map;
}

static int set_map(void **ctx, const struct kiln_map *source)
{
    if (*ctx == source) return 0;
    struct kiln_map *map = kiln__map_new();
    if (!map || !copy_entries(map, source)) {
        kiln__map_free(map);
        return KILN_FAIL_TEXT("out of memory: a map");
    }
    kiln__give_map(ctx, map);
    return 0;
}

static void *new_iterator(void)
{
    size_t *next = calloc(1, sizeof *next);
    if (!next) KILN_FAIL_TEXT("out of memory: an iterator");
    return next;
}

/* NULL at the end. */
static const struct kiln_map_entry *next_entry(void *ctx, const struct kiln_map *map)
{
    size_t *next = ctx;
    return *next < map->count ? &map->entries[(*next)++] : NULL;
}

/* ---- the ABI ----------------------------------------------------------------------------------------------------- */

#define KILN_MAP(kind)                                                                                                 \
    mlx_map_string_to_##kind mlx_map_string_to_##kind##_new(void)                                                      \
    {                                                                                                                  \
        return (mlx_map_string_to_##kind){new_map()};                                                                  \
    }                                                                                                                  \
    int mlx_map_string_to_##kind##_set(mlx_map_string_to_##kind *map, const mlx_map_string_to_##kind src)              \
    {                                                                                                                  \
        if (KILN_NO_POINTER(map) || KILN_NO_HANDLE(src, "mlx_map_string_to_" #kind)) return 1;                         \
        return set_map(&map->ctx, src.ctx);                                                                            \
    }                                                                                                                  \
    int mlx_map_string_to_##kind##_free(mlx_map_string_to_##kind map)                                                  \
    {                                                                                                                  \
        kiln__map_free(map.ctx);                                                                                       \
        return 0;                                                                                                      \
    }                                                                                                                  \
    mlx_map_string_to_##kind##_iterator mlx_map_string_to_##kind##_iterator_new(mlx_map_string_to_##kind map)          \
    {                                                                                                                  \
        mlx_map_string_to_##kind##_iterator none = {NULL, NULL};                                                       \
        if (KILN_NO_HANDLE(map, "mlx_map_string_to_" #kind)) return none;                                              \
        return (mlx_map_string_to_##kind##_iterator){new_iterator(), map.ctx};                                         \
    }                                                                                                                  \
    int mlx_map_string_to_##kind##_iterator_free(mlx_map_string_to_##kind##_iterator it)                               \
    {                                                                                                                  \
        free(it.ctx);                                                                                                  \
        return 0;                                                                                                      \
    }

KILN_MAP(array)
KILN_MAP(string)

int mlx_map_string_to_array_insert(mlx_map_string_to_array map, const char *key, const mlx_array value)
{
    if (KILN_NO_HANDLE(map, "mlx_map_string_to_array") || KILN_NO_POINTER(key) || KILN_NO_ARRAY(value)) return 1;
    bool done = kiln__map_put_array(map.ctx, key, kiln__array_ref(kiln__unwrap(value)));
    return done ? 0 : KILN_FAIL_TEXT("out of memory: an entry of a map");
}

int mlx_map_string_to_string_insert(mlx_map_string_to_string map, const char *key, const char *value)
{
    if (KILN_NO_HANDLE(map, "mlx_map_string_to_string") || KILN_NO_POINTER(key) || KILN_NO_POINTER(value)) return 1;
    return kiln__map_put_text(map.ctx, key, value) ? 0 : KILN_FAIL_TEXT("out of memory: an entry of a map");
}

int mlx_map_string_to_array_get(mlx_array *value, const mlx_map_string_to_array map, const char *key)
{
    if (KILN_NO_POINTER(value) || KILN_NO_HANDLE(map, "mlx_map_string_to_array") || KILN_NO_POINTER(key)) return 1;
    const struct kiln_map_entry *entry = kiln__map_get(map.ctx, key);
    return entry ? kiln__give(value, kiln__array_ref(entry->array)) : NOT_FOUND;
}

int mlx_map_string_to_string_get(const char **value, const mlx_map_string_to_string map, const char *key)
{
    if (KILN_NO_POINTER(value) || KILN_NO_HANDLE(map, "mlx_map_string_to_string") || KILN_NO_POINTER(key)) return 1;
    const struct kiln_map_entry *entry = kiln__map_get(map.ctx, key);
    if (!entry) return NOT_FOUND;
    *value = entry->text;
    return 0;
}

int mlx_map_string_to_array_iterator_next(const char **key, mlx_array *value, mlx_map_string_to_array_iterator it)
{
    if (KILN_NO_HANDLE(it, "mlx_map_string_to_array_iterator") || KILN_NO_POINTER(key) || KILN_NO_POINTER(value))
        return 1;
    const struct kiln_map_entry *entry = next_entry(it.ctx, it.map_ctx);
    if (!entry) return NOT_FOUND;
    *key = entry->key;
    return kiln__give(value, kiln__array_ref(entry->array));
}

int mlx_map_string_to_string_iterator_next(const char **key, const char **value, mlx_map_string_to_string_iterator it)
{
    if (KILN_NO_HANDLE(it, "mlx_map_string_to_string_iterator") || KILN_NO_POINTER(key) || KILN_NO_POINTER(value))
        return 1;
    const struct kiln_map_entry *entry = next_entry(it.ctx, it.map_ctx);
    if (!entry) return NOT_FOUND;
    *key = entry->key;
    *value = entry->text;
    return 0;
}
