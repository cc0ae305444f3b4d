/*
 * redis_connection.h - one connection to a Redis server: commands out, replies in, by a deadline.
 *
 * Commands are collected and sent together, and replies are read while they go out, so that neither side waits for
 * the other with full buffers. hiredis reads the protocol; reading and waiting are done here, because its own time
 * limits begin anew with every byte. One user at a time. After a failure a connection is of no use and is to be closed;
 * the refusal of a command is no failure but a reply.
 */
#ifndef KILN_REMOTE_REDIS_CONNECTION_H
#define KILN_REMOTE_REDIS_CONNECTION_H

#include "base/buffer.h"
#include "base/status.h"
#include "remote/connection_pool.h"
#include "remote/deadline.h"

/* Where a server is, and as whom we speak to it. */
struct kiln_redis_server {
    char *host, *port;     /* or */
    char *path;            /* of a Unix socket; NULL: TCP */
    char *user, *password; /* NULL: none */
    unsigned database;
};

enum kiln_redis_kind { KILN_REDIS_NIL, KILN_REDIS_INTEGER, KILN_REDIS_BYTES, KILN_REDIS_STATUS, KILN_REDIS_REFUSAL };

struct kiln_redis_reply {
    enum kiln_redis_kind kind;
    long long integer;
    char *data; /* memory of malloc(), ending in a NUL; who sets it to NULL has taken it */
    size_t size;
};

struct kiln_redis {
    struct kiln_connection connection; /* for the pool */
    int fd;
    struct redisReader *reader;
    struct kiln_buffer out; /* commands that go out next, and how many */
    size_t commands;
    bool has_heard;   /* a byte came back in the last exchange; without one, the server may have closed it long ago */
    bool is_in_order; /* all replies of the last exchange were read, whatever they were: it can be used again */
    bool is_strange;  /* a reply of a kind that no command of ours has */
    size_t received_bytes; /* of replies of this exchange */
    char chunk[1 << 16];
};

/* Connects, and says who we are. KILN_IO: no connection, or refused; nothing is left open. */
kiln_status kiln__redis_connect(const struct kiln_redis_server *server, struct kiln_deadline deadline,
                                struct kiln_redis **out, kiln_error *err);
/* Also in a forked child, of the connections of its parent: nothing is sent. */
void kiln__redis_close(struct kiln_connection *connection);

/* Adds a command to those that go out next. */
void kiln__redis_command(struct kiln_redis *redis, const kiln_bytes *arguments, size_t count);

/*
 * Sends the commands and hands the replies, one for each, to `take` in their order. A failure of take() is returned
 * once all replies are read, the first one; a failure of the connection at once.
 */
typedef kiln_status kiln_redis_take(void *context, size_t index, struct kiln_redis_reply *reply, kiln_error *err);
kiln_status kiln__redis_exchange(struct kiln_redis *redis, kiln_redis_take *take, void *context,
                                 struct kiln_deadline deadline, kiln_error *err);

#endif
