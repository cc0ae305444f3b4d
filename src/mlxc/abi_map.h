/*
 * abi_map.h - the maps behind the two map handles and GGUF files: names to arrays or texts, in the order in which they
 * were inserted.
 *
 * One owner; not for several threads at once. Keys and texts stay where they are until they are replaced or freed.
 */
#ifndef KILN_MLXC_ABI_MAP_H
#define KILN_MLXC_ABI_MAP_H

#include "base/table.h"
#include "mlxc/handle.h"

struct kiln_map_entry {
    char *key;
    struct kiln_array *array; /* a reference, or NULL */
    char *text;               /* owned, or NULL */
    mlx_vector_string list;   /* owned, or empty; of a GGUF file's values (abi_gguf.c) */
};

struct kiln_map {
    struct kiln_map_entry *entries;
    size_t count, cap;
    struct kiln_table table;
};

struct kiln_map *kiln__map_new(void);      /* NULL when out of memory */
void kiln__map_free(struct kiln_map *map); /* NULL is fine */
/* All copy the key and replace what it had. The array's reference and the list pass to the map, also on failure. False:
 * out of memory. */
bool kiln__map_put_array(struct kiln_map *map, const char *key, struct kiln_array *array);
bool kiln__map_put_text(struct kiln_map *map, const char *key, const char *text);
bool kiln__map_put_list(struct kiln_map *map, const char *key, mlx_vector_string list);
const struct kiln_map_entry *kiln__map_get(const struct kiln_map *map, const char *key); /* NULL: not there */

/* Makes `map` the content of the handle whose ctx this is; frees what it was. */
void kiln__give_map(void **ctx, struct kiln_map *map);

#endif
