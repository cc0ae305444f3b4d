/*
 * connection_pool.h - connections that wait for the next call, of any thread.
 *
 * Nothing here takes a lock, so a fork at any moment leaves the child a pool that works: a slot holds a connection or
 * none, and who takes one has it alone. A connection remembers the process that opened it. In a child those of the
 * parent are abandoned: both processes hold the same sockets, and whatever one of them sends is read as the other's.
 */
#ifndef KILN_REMOTE_CONNECTION_POOL_H
#define KILN_REMOTE_CONNECTION_POOL_H

#include <sys/types.h>

enum { KILN_KEPT_CONNECTIONS = 16 };

/* The first member of what a pool holds. */
struct kiln_connection {
    pid_t owner; /* set by the pool's user: getpid() of who opened it */
};

struct kiln_connection_pool {
    _Atomic(struct kiln_connection *) kept[KILN_KEPT_CONNECTIONS];
    void (*close)(struct kiln_connection *connection);
    /* Closes the sockets without a word on them. What memory can't be freed without one is left. */
    void (*abandon)(struct kiln_connection *connection);
};

/* One of this process that nobody uses, now the caller's; NULL: there is none. */
struct kiln_connection *kiln__connection_take(struct kiln_connection_pool *pool);
/* Gives one back, to be kept or, when there are enough, closed. */
void kiln__connection_keep(struct kiln_connection_pool *pool, struct kiln_connection *connection);
/* Closes or abandons all. */
void kiln__connection_pool_release(struct kiln_connection_pool *pool);

#endif
