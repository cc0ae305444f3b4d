/*
 * redis_connection.c - see redis_connection.h. Invariant: between exchanges `out` is empty, and the reader is if
 * is_in_order; so the next reply that arrives belongs to the next command.
 */
#include "remote/redis_connection.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kiln/remote.h"
#include "remote/redis_answer.h"
#include "remote/resolve.h"

enum { KEPT_BUFFER = 1 << 20 };

static kiln_status late(struct kiln_deadline deadline, kiln_error *err)
{
    return kiln__fail(err, KILN_IO, "no answer within %u ms (KILN_REMOTE_TIMEOUT)", deadline.timeout_ms);
}

/* ---- replies, as hiredis makes them ------------------------------------------------------------------------------ */

static struct kiln_redis_reply *new_reply(enum kiln_redis_kind kind, long long integer)
{
    struct kiln_redis_reply *reply = calloc(1, sizeof *reply);
    if (reply) *reply = (struct kiln_redis_reply){.kind = kind, .integer = integer};
    return reply;
}

static void free_reply(void *object)
{
    struct kiln_redis_reply *reply = object;
    if (reply) free(reply->data);
    free(reply);
}

static void *create_string(const redisReadTask *task, char *bytes, size_t size)
{
    enum kiln_redis_kind kind = task->type == REDIS_REPLY_ERROR    ? KILN_REDIS_REFUSAL
                                : task->type == REDIS_REPLY_STATUS ? KILN_REDIS_STATUS
                                                                   : KILN_REDIS_BYTES;
    struct kiln_redis_reply *reply = new_reply(kind, 0);
    if (reply) reply->data = malloc(size + 1);
    if (!reply || !reply->data) {
        free(reply);
        return NULL;
    }
    memcpy(reply->data, bytes, size);
    reply->data[size] = '\0';
    reply->size = size;
    return reply;
}

static void *create_integer(const redisReadTask *task, long long value)
{
    (void)task;
    return new_reply(KILN_REDIS_INTEGER, value);
}

static void *create_nil(const redisReadTask *task)
{
    (void)task;
    return new_reply(KILN_REDIS_NIL, 0);
}

/* No command of ours has such a reply; the reader stops as if there were no memory for it. */
static void *refuse(const redisReadTask *task)
{
    ((struct kiln_redis *)task->privdata)->is_strange = true;
    return NULL;
}

#if HIREDIS_MAJOR >= 1
static void *refuse_array(const redisReadTask *task, size_t count)
#else
static void *refuse_array(const redisReadTask *task, int count)
#endif
{
    (void)count;
    return refuse(task);
}

#if HIREDIS_MAJOR >= 1
static void *refuse_double(const redisReadTask *task, double value, char *text, size_t size)
{
    (void)value, (void)text, (void)size;
    return refuse(task);
}

static void *refuse_truth(const redisReadTask *task, int value)
{
    (void)value;
    return refuse(task);
}
#endif

static redisReplyObjectFunctions reply_functions = {
    .createString = create_string,
    .createArray = refuse_array,
    .createInteger = create_integer,
#if HIREDIS_MAJOR >= 1
    .createDouble = refuse_double,
    .createBool = refuse_truth,
#endif
    .createNil = create_nil,
    .freeObject = free_reply,
};

/* ---- connecting -------------------------------------------------------------------------------------------------- */

/* Waits for events on the socket; 0: the deadline has passed. */
static int wait_for(int fd, short events, int left_ms)
{
    struct pollfd polled = {fd, events, 0};
    int code;
    while ((code = poll(&polled, 1, left_ms)) < 0 && errno == EINTR) {
    }
    return code > 0 ? polled.revents : 0;
}

/* A connected socket, or -1 and errno. */
static int connect_to(const struct sockaddr *address, socklen_t size, int left_ms)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    int code = connect(fd, address, size) ? errno : 0, on = 1;
    socklen_t code_size = sizeof code;
    if (code == EINPROGRESS && !wait_for(fd, POLLOUT, left_ms))
        code = ETIMEDOUT;
    else if (code == EINPROGRESS)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &code_size);
    if (code) {
        close(fd);
        errno = code;
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* no such option of Unix sockets, which is fine */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return fd;
}

/* Each address of a host gets its share of the time that is left, so that one that is silent does not use it up. */
static kiln_status connect_host(const struct kiln_redis_server *server, struct kiln_deadline deadline, int *fd,
                                kiln_error *err)
{
    struct addrinfo *addresses = NULL;
    kiln_status status = kiln__resolve(server->host, server->port, deadline, &addresses, err);
    if (status) return status;
    int count = 0;
    for (struct addrinfo *address = addresses; address; address = address->ai_next) count++;
    for (struct addrinfo *address = addresses; address && *fd < 0; address = address->ai_next, count--)
        *fd = connect_to(address->ai_addr, address->ai_addrlen, kiln__deadline_left_ms(deadline) / count);
    int code = errno;
    freeaddrinfo(addresses);
    if (*fd >= 0) return KILN_OK;
    return kiln__fail(err, KILN_IO, "can't connect to %.200s port %s: %s", server->host, server->port, strerror(code));
}

static kiln_status connect_path(const struct kiln_redis_server *server, struct kiln_deadline deadline, int *fd,
                                kiln_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, server->path, sizeof address.sun_path - 1); /* open() has looked at its length */
    *fd = connect_to((struct sockaddr *)&address, sizeof address, kiln__deadline_left_ms(deadline));
    if (*fd >= 0) return KILN_OK;
    return kiln__fail(err, KILN_IO, "can't connect to %s: %s", server->path, strerror(errno));
}

void kiln__redis_close(struct kiln_connection *connection)
{
    struct kiln_redis *redis = (struct kiln_redis *)connection;
    if (redis->fd >= 0) close(redis->fd);
    if (redis->reader) redisReaderFree(redis->reader);
    kiln__buffer_release(&redis->out);
    free(redis);
}

static kiln_status take_greeting(void *context, size_t index, struct kiln_redis_reply *reply, kiln_error *err)
{
    (void)index;
    if (reply->kind == KILN_REDIS_STATUS) return KILN_OK;
    return kiln__redis_greeting_refused(context, reply, err);
}

static kiln_status greet(struct kiln_redis *redis, const struct kiln_redis_server *server,
                         struct kiln_deadline deadline, kiln_error *err)
{
    char database[16];
    kiln_bytes arguments[3] = {{"AUTH", 4}};
    size_t count = 1;
    if (server->user) arguments[count++] = (kiln_bytes){server->user, strlen(server->user)};
    if (server->password) {
        arguments[count++] = (kiln_bytes){server->password, strlen(server->password)};
        kiln__redis_command(redis, arguments, count);
    }
    if (server->database) {
        int size = snprintf(database, sizeof database, "%u", server->database);
        kiln__redis_command(redis, (kiln_bytes[]){{"SELECT", 6}, {database, (size_t)size}}, 2);
    }
    return kiln__redis_exchange(redis, take_greeting, (void *)server, deadline, err);
}

kiln_status kiln__redis_connect(const struct kiln_redis_server *server, struct kiln_deadline deadline,
                                struct kiln_redis **out, kiln_error *err)
{
    struct kiln_redis *redis = calloc(1, sizeof *redis);
    if (!redis) return kiln__no_memory(err, "a connection");
    redis->fd = -1;
    redis->connection.owner = getpid();
    redis->reader = redisReaderCreateWithFunctions(&reply_functions);
    kiln_status status = redis->reader ? KILN_OK : kiln__no_memory(err, "a connection");
    if (!status) {
        redis->reader->maxbuf = KEPT_BUFFER;
        redis->reader->privdata = redis;
        status = (server->path ? connect_path : connect_host)(server, deadline, &redis->fd, err);
    }
    if (!status) status = greet(redis, server, deadline, err);
    if (status)
        kiln__redis_close(&redis->connection);
    else
        *out = redis;
    return status;
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

void kiln__redis_command(struct kiln_redis *redis, const kiln_bytes *arguments, size_t count)
{
    kiln__buffer_printf(&redis->out, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        kiln__buffer_printf(&redis->out, "$%zu\r\n", arguments[i].size);
        kiln__buffer_append(&redis->out, arguments[i].data, arguments[i].size);
        kiln__buffer_append(&redis->out, "\r\n", 2);
    }
    redis->commands++;
}

struct exchange {
    kiln_redis_take *take;
    void *context;
    size_t sent, taken;
    kiln_status refusal; /* the first failure of take() */
    kiln_error *err;
};

static kiln_status broken(const struct kiln_redis *redis, const char *why, kiln_error *err)
{
    return kiln__fail(err, KILN_IO,
                      redis->has_heard ? "the connection broke off in the middle of a reply: %s"
                                       : "the connection was closed: %s",
                      why);
}

static kiln_status send_some(struct kiln_redis *redis, struct exchange *exchange)
{
    if (exchange->sent == redis->out.size) return KILN_OK;
    ssize_t sent = send(redis->fd, redis->out.data + exchange->sent, redis->out.size - exchange->sent, MSG_NOSIGNAL);
    if (sent >= 0)
        exchange->sent += (size_t)sent;
    else if (errno != EAGAIN && errno != EINTR)
        return broken(redis, strerror(errno), exchange->err);
    return KILN_OK;
}

static kiln_status strange(const struct kiln_redis *redis, kiln_error *err)
{
    bool is_memory = redis->reader->err == REDIS_ERR_OOM && !redis->is_strange;
    if (is_memory) return kiln__no_memory(err, "a reply");
    return kiln__fail(err, KILN_IO, "what came back is no reply of Redis to this command; is it a Redis server?");
}

/* Hands over what is complete. */
static kiln_status take_replies(struct kiln_redis *redis, struct exchange *exchange)
{
    while (exchange->taken < redis->commands) {
        void *object = NULL;
        if (redisReaderGetReply(redis->reader, &object) != REDIS_OK) return strange(redis, exchange->err);
        if (!object) break;
        struct kiln_redis_reply *reply = object;
        bool fits = reply->size <= KILN_REMOTE_MAX_BYTES;
        redis->received_bytes += reply->size;
        kiln_error *err = exchange->refusal ? NULL : exchange->err;
        kiln_status status = fits && redis->received_bytes <= KILN_REMOTE_MAX_TOTAL
                                 ? exchange->take(exchange->context, exchange->taken, reply, err)
                                 : kiln__redis_too_large(err);
        if (!exchange->refusal) exchange->refusal = status;
        exchange->taken++;
        free_reply(reply);
    }
    bool is_long = redis->reader->len - redis->reader->pos > KILN_REMOTE_MAX_BYTES + sizeof redis->chunk;
    return is_long ? kiln__redis_too_large(exchange->err) : KILN_OK;
}

/* `*is_full`: there may be more to read at once. */
static kiln_status receive_some(struct kiln_redis *redis, struct exchange *exchange, bool *is_full)
{
    ssize_t size = recv(redis->fd, redis->chunk, sizeof redis->chunk, 0);
    *is_full = size == sizeof redis->chunk;
    if (!size) return broken(redis, "the server ended it", exchange->err);
    if (size < 0) return errno == EAGAIN || errno == EINTR ? KILN_OK : broken(redis, strerror(errno), exchange->err);
    redis->has_heard = true;
    if (redisReaderFeed(redis->reader, redis->chunk, (size_t)size) != REDIS_OK) return strange(redis, exchange->err);
    return take_replies(redis, exchange);
}

static kiln_status run(struct kiln_redis *redis, struct exchange *exchange, struct kiln_deadline deadline)
{
    kiln_status status = redis->out.failed ? kiln__no_memory(exchange->err, "a command") : KILN_OK;
    for (bool is_full = false; !status && exchange->taken < redis->commands;) {
        status = send_some(redis, exchange);
        if (status) break;
        short events = exchange->sent < redis->out.size ? POLLIN | POLLOUT : POLLIN;
        int left_ms = kiln__deadline_left_ms(deadline);
        if (!left_ms || (!is_full && !wait_for(redis->fd, events, left_ms))) return late(deadline, exchange->err);
        status = receive_some(redis, exchange, &is_full);
    }
    return status;
}

kiln_status kiln__redis_exchange(struct kiln_redis *redis, kiln_redis_take *take, void *context,
                                 struct kiln_deadline deadline, kiln_error *err)
{
    struct exchange exchange = {.take = take, .context = context, .err = err};
    redis->has_heard = redis->is_in_order = false;
    redis->received_bytes = 0;
    kiln_status status = run(redis, &exchange, deadline);
    redis->is_in_order = !status && redis->reader->pos == redis->reader->len;
    redis->commands = 0;
    if (redis->out.cap > KEPT_BUFFER)
        kiln__buffer_release(&redis->out);
    else
        kiln__buffer_clear(&redis->out);
    return status ? status : exchange.refusal;
}
