/*
 * connection_pool.c - see connection_pool.h. Invariant: a connection is in one slot or in the hands of one thread.
 */
#include "remote/connection_pool.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* The slots are searched in one order, so that those used last, whose peers have not closed them yet, come first. */
struct kiln_connection *kiln__connection_take(struct kiln_connection_pool *pool)
{
    pid_t self = getpid();
    for (int i = 0; i < KILN_KEPT_CONNECTIONS; i++) {
        if (!atomic_load_explicit(&pool->kept[i], memory_order_relaxed)) continue;
        struct kiln_connection *found = atomic_exchange(&pool->kept[i], NULL);
        if (found && found->owner == self) return found;
        if (found) pool->abandon(found);
    }
    return NULL;
}

void kiln__connection_keep(struct kiln_connection_pool *pool, struct kiln_connection *connection)
{
    for (int i = 0; i < KILN_KEPT_CONNECTIONS; i++) {
        struct kiln_connection *none = NULL;
        if (atomic_compare_exchange_strong(&pool->kept[i], &none, connection)) return;
    }
    pool->close(connection);
}

void kiln__connection_pool_release(struct kiln_connection_pool *pool)
{
    for (struct kiln_connection *found; (found = kiln__connection_take(pool));) pool->close(found);
}
