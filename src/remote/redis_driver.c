/*
 * redis_driver.c - redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] and redis+unix://[USER:PASSWORD@]/PATH[?db=DATABASE].
 *
 * An entry is the string kiln:NAME, which expires when nobody has asked for it for KILN_REMOTE_TTL seconds. A lease is
 * the string kiln:lease:NAME, whose value is the token of who holds it and which expires with the lease. What compares
 * a token and then acts is a script, which Redis runs in one step. Every command may be repeated without harm.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "remote/credentials.h"
#include "remote/drivers.h"
#include "remote/entry_name.h"
#include "remote/redis_answer.h"
#include "remote/redis_connection.h"
#include "remote/remote_url.h"

enum { KEY_SIZE = 16 + KILN_ENTRY_NAME, DEFAULT_TTL_S = 30 * 24 * 3600, DATABASES = 1 << 16 };
static const unsigned MOST_TTL_S = 3153600000;

struct remote {
    struct kiln_redis_server server;
    struct kiln_connection_pool connections;
    char ttl[24]; /* seconds, as text */
};

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* A whole text of decimal digits, at most `limit`. */
static bool read_number(const char *text, unsigned long limit, unsigned long *out)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value > limit) return false;
    *out = value;
    return true;
}

static kiln_status take_database(struct remote *remote, const char *text, kiln_error *err)
{
    unsigned long number = 0;
    if (*text && !read_number(text, DATABASES, &number))
        return kiln__fail(err, KILN_INVALID, "the database of a Redis server is a number: redis://HOST[:PORT]/0");
    remote->server.database = (unsigned)number;
    return KILN_OK;
}

static kiln_status take_place(struct remote *remote, struct kiln_remote_url *url, kiln_error *err)
{
    struct kiln_redis_server *server = &remote->server;
    if (!strcmp(url->scheme, "redis+unix")) {
        if (*url->host || !*url->path || strlen(url->path) >= sizeof((struct sockaddr_un *)0)->sun_path)
            return kiln__fail(err, KILN_INVALID,
                              "a Unix socket is written redis+unix:///PATH[?db=DATABASE]; a path has "
                              "at most 107 bytes");
        if (*url->query && strncmp(url->query, "db=", 3))
            return kiln__fail(err, KILN_INVALID, "after the '?' of redis+unix:///PATH stands db=DATABASE");
        server->path = strdup(url->path);
        return server->path ? take_database(remote, *url->query ? url->query + 3 : "", err)
                            : kiln__no_memory(err, "a remote");
    }
    if (!*url->host || *url->query)
        return kiln__fail(err, KILN_INVALID,
                          "a Redis server is written redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]");
    server->host = strdup(url->host);
    server->port = strdup(*url->port ? url->port : "6379");
    if (!server->host || !server->port) return kiln__no_memory(err, "a remote");
    return take_database(remote, *url->path ? url->path + 1 : "", err);
}

/* From the URL, else from the file, else from the variable that redis-cli reads. */
static kiln_status take_credentials(struct remote *remote, const struct kiln_remote_url *url,
                                    const kiln_remote_host *host, kiln_error *err)
{
    static const char setting[] = "KILN_REDIS_PASSWORD_FILE";
    struct kiln_redis_server *server = &remote->server;
    const char *path = host->setting(setting), *password = secure_getenv("REDISCLI_AUTH");
    if (*url->user && !(server->user = strdup(url->user))) return kiln__no_memory(err, "a remote");
    if (!*url->password && path && *path) return kiln__password_file_read(path, setting, &server->password, err);
    if (*url->password) password = url->password;
    if (password && *password && !(server->password = strdup(password))) return kiln__no_memory(err, "a remote");
    if (server->user && !server->password)
        return kiln__fail(err, KILN_INVALID,
                          "the URL has a user and no password is known; %s or REDISCLI_AUTH may have it", setting);
    return KILN_OK;
}

static kiln_status take_ttl(struct remote *remote, const kiln_remote_host *host, kiln_error *err)
{
    const char *text = host->setting("KILN_REMOTE_TTL");
    unsigned long seconds = DEFAULT_TTL_S;
    if (text && *text && (!read_number(text, MOST_TTL_S, &seconds) || !seconds))
        return kiln__fail(err, KILN_INVALID, "KILN_REMOTE_TTL is a number of seconds from 1 to %u", MOST_TTL_S);
    snprintf(remote->ttl, sizeof remote->ttl, "%lu", seconds);
    return KILN_OK;
}

static void close_redis(void *context)
{
    struct remote *remote = context;
    kiln__connection_pool_release(&remote->connections);
    free(remote->server.host);
    free(remote->server.port);
    free(remote->server.path);
    free(remote->server.user);
    free(remote->server.password);
    free(remote);
}

static kiln_status open_redis(const char *text, const kiln_remote_host *host, void **out, kiln_error *err)
{
    struct kiln_remote_url url;
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote) return kiln__no_memory(err, "a remote");
    remote->connections.close = remote->connections.abandon = kiln__redis_close;
    kiln_status status = kiln__remote_url_parse(text, &url, err);
    if (!status) status = take_place(remote, &url, err);
    if (!status) status = take_credentials(remote, &url, host, err);
    if (!status) status = take_ttl(remote, host, err);
    kiln__remote_url_release(&url);
    if (status)
        close_redis(remote);
    else
        *out = remote;
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* What a call sends, and what it makes of the replies. */
struct call {
    void (*ask)(struct kiln_redis *redis, void *context);
    kiln_redis_take *take;
    void *context;
};

/* A kept connection may have been closed by the server meanwhile: then another one is tried, a new one last. */
static kiln_status run(struct remote *remote, const struct call *call, unsigned timeout_ms, kiln_error *err)
{
    struct kiln_deadline deadline = kiln__deadline_in(timeout_ms);
    for (;;) {
        struct kiln_connection *kept = kiln__connection_take(&remote->connections);
        struct kiln_redis *redis = (struct kiln_redis *)kept;
        kiln_status status = kept ? KILN_OK : kiln__redis_connect(&remote->server, deadline, &redis, err);
        if (status) return status;
        call->ask(redis, call->context);
        status = kiln__redis_exchange(redis, call->take, call->context, deadline, err);
        bool was_closed = kept && status == KILN_IO && !redis->has_heard && kiln__deadline_left_ms(deadline);
        if (redis->is_in_order)
            kiln__connection_keep(&remote->connections, &redis->connection);
        else
            kiln__redis_close(&redis->connection);
        if (!was_closed) return status;
    }
}

static kiln_bytes text_bytes(const char *text)
{
    return (kiln_bytes){text, strlen(text)};
}

static kiln_bytes entry_key(const char *name, char out[KEY_SIZE])
{
    return (kiln_bytes){out, (size_t)snprintf(out, KEY_SIZE, "kiln:%s", name)};
}

static kiln_bytes lease_key(const char *name, char out[KEY_SIZE])
{
    return (kiln_bytes){out, (size_t)snprintf(out, KEY_SIZE, "kiln:lease:%s", name)};
}

/* ---- get --------------------------------------------------------------------------------------------------------- */

struct get {
    const struct remote *remote;
    kiln_remote_entry *entries;
    size_t count;
};

static void ask_get(struct kiln_redis *redis, void *context)
{
    const struct get *get = context;
    for (size_t i = 0; i < get->count; i++) {
        char key[KEY_SIZE];
        kiln_bytes arguments[] = {text_bytes("GETEX"), entry_key(get->entries[i].name, key), text_bytes("EX"),
                                  text_bytes(get->remote->ttl)};
        kiln__redis_command(redis, arguments, 4);
    }
}

static kiln_status take_get(void *context, size_t index, struct kiln_redis_reply *reply, kiln_error *err)
{
    const struct get *get = context;
    kiln_remote_entry *entry = &get->entries[index];
    if (reply->kind == KILN_REDIS_NIL) {
        entry->status = KILN_REMOTE_ABSENT;
        return KILN_OK;
    }
    if (reply->kind != KILN_REDIS_BYTES) return entry->status = kiln__redis_refused(reply, err);
    entry->data = reply->data;
    entry->size = reply->size;
    entry->status = KILN_OK;
    reply->data = NULL;
    return KILN_OK;
}

static kiln_status get_redis(void *context, kiln_remote_entry *entries, size_t count, unsigned timeout_ms,
                             kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && !status; i++) status = kiln__entry_name_check(entries[i].name, err);
    for (size_t i = 0; i < count; i++) {
        entries[i].data = NULL;
        entries[i].size = 0;
        entries[i].status = status ? status : KILN_IO;
    }
    struct get get = {context, entries, count};
    return status ? status : run(context, &(struct call){ask_get, take_get, &get}, timeout_ms, err);
}

/* ---- commands with one reply ------------------------------------------------------------------------------------- */

struct command {
    kiln_bytes arguments[8];
    size_t count;
    enum kiln_redis_kind kind; /* of the reply */
    long long integer;         /* of the reply */
};

static void ask_command(struct kiln_redis *redis, void *context)
{
    const struct command *command = context;
    kiln__redis_command(redis, command->arguments, command->count);
}

static kiln_status take_command(void *context, size_t index, struct kiln_redis_reply *reply, kiln_error *err)
{
    (void)index;
    struct command *command = context;
    if (reply->kind != command->kind) return kiln__redis_refused(reply, err);
    command->integer = reply->integer;
    return KILN_OK;
}

static kiln_status run_command(struct remote *remote, struct command *command, unsigned timeout_ms, kiln_error *err)
{
    return run(remote, &(struct call){ask_command, take_command, command}, timeout_ms, err);
}

/* KEYS: lease, entry. ARGV: token, bytes, seconds. */
static const char put_script[] = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
                                 "redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3]) return 1";
/* KEYS: lease. ARGV: token, milliseconds. */
static const char lease_script[] = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end "
                                   "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
                                   "redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1";
/* KEYS: lease. ARGV: token. */
static const char release_script[] = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
                                     "return redis.call('DEL', KEYS[1])";

static kiln_status put_redis(void *context, const char *name, kiln_bytes bytes, const char *token, unsigned timeout_ms,
                             kiln_error *err)
{
    struct remote *remote = context;
    char entry[KEY_SIZE], lease[KEY_SIZE];
    kiln_status status = kiln__entry_put_check(name, bytes, err);
    if (status) return status;
    kiln_bytes key = entry_key(name, entry), ttl = text_bytes(remote->ttl);
    if (token) {
        struct command held = {{text_bytes("EVAL"), text_bytes(put_script), text_bytes("2"), lease_key(name, lease),
                                key, text_bytes(token), bytes, ttl},
                               8,
                               KILN_REDIS_INTEGER,
                               0};
        status = run_command(remote, &held, timeout_ms, err);
        return !status && !held.integer ? KILN_REMOTE_LEASE_LOST : status;
    }
    struct command plain = {{text_bytes("SET"), key, bytes, text_bytes("EX"), ttl}, 5, KILN_REDIS_STATUS, 0};
    return run_command(remote, &plain, timeout_ms, err);
}

static kiln_status exists_redis(void *context, const char *name, bool *out, unsigned timeout_ms, kiln_error *err)
{
    char key[KEY_SIZE];
    kiln_status status = kiln__entry_name_check(name, err);
    if (status) return status;
    struct command command = {{text_bytes("EXISTS"), entry_key(name, key)}, 2, KILN_REDIS_INTEGER, 0};
    status = run_command(context, &command, timeout_ms, err);
    if (!status) *out = command.integer;
    return status;
}

static kiln_status lease_redis(void *context, const char *name, const char *token, unsigned lifetime_ms, bool *is_ours,
                               unsigned timeout_ms, kiln_error *err)
{
    char key[KEY_SIZE], lifetime[16];
    kiln_status status = kiln__entry_name_check(name, err);
    if (status) return status;
    snprintf(lifetime, sizeof lifetime, "%u", lifetime_ms);
    struct command command = {{text_bytes("EVAL"), text_bytes(lease_script), text_bytes("1"), lease_key(name, key),
                               text_bytes(token), text_bytes(lifetime)},
                              6,
                              KILN_REDIS_INTEGER,
                              0};
    status = run_command(context, &command, timeout_ms, err);
    if (!status) *is_ours = command.integer;
    return status;
}

static kiln_status release_redis(void *context, const char *name, const char *token, unsigned timeout_ms,
                                 kiln_error *err)
{
    char key[KEY_SIZE];
    kiln_status status = kiln__entry_name_check(name, err);
    if (status) return status;
    struct command command = {
        {text_bytes("EVAL"), text_bytes(release_script), text_bytes("1"), lease_key(name, key), text_bytes(token)},
        5,
        KILN_REDIS_INTEGER,
        0};
    return run_command(context, &command, timeout_ms, err);
}

#define REDIS_FUNCTIONS                                                                                                \
    .open = open_redis, .close = close_redis, .get = get_redis, .put = put_redis, .exists = exists_redis,              \
    .lease = lease_redis, .release = release_redis
const kiln_remote_driver kiln__redis_driver = {sizeof(kiln_remote_driver), "redis", REDIS_FUNCTIONS};
const kiln_remote_driver kiln__redis_unix_driver = {sizeof(kiln_remote_driver), "redis+unix", REDIS_FUNCTIONS};
