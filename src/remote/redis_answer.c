/*
 * redis_answer.c - see redis_answer.h. A table: how a refusal begins, and what would be right.
 */
#include "remote/redis_answer.h"

#include <string.h>

#include "base/format.h"
#include "kiln/remote.h"

static const struct {
    const char *begins, *text;
} rows[] = {
    {"NOAUTH", "it asks for a password, which comes from the URL (redis://:PASSWORD@HOST/), from the file that "
               "KILN_REDIS_PASSWORD_FILE names, or from REDISCLI_AUTH"},
    {"WRONGPASS", "the name or the password is not the right one"},
    {"ERR invalid password", "the password is not the right one"},
    {"ERR AUTH <password> called without any password", "it has no password, yet one is set for it"},
    {"ERR Client sent AUTH, but no password is set", "it has no password, yet one is set for it"},
    {"ERR DB index is out of range", "it has no database of this number"},
    {"ERR invalid DB index", "it has no database of this number"},
    {"ERR SELECT is not allowed in cluster mode", "a cluster has one database only"},
    {"ERR max number of clients", "it has as many clients as it may: raise maxclients"},
    {"DENIED", "it is in protected mode: set a password, or bind it to the right address"},
    {"OOM", "it is full: raise maxmemory, or set maxmemory-policy allkeys-lru"},
    {"READONLY", "it is a replica, and reading renews an entry's expiry: use the URL of its primary"},
    {"MASTERDOWN", "it is a replica without its primary: use the URL of the primary"},
    {"LOADING", "it is loading its data"},
    {"BUSY", "it is busy with somebody's script"},
    {"MISCONF", "it can't save its data and so takes no more: see its log"},
    {"NOREPLICAS", "it has fewer replicas than it wants and so takes no data"},
    {"NOPERM", "this user may not do this: the rule is ~kiln:* +get +getex +set +exists +eval +pexpire +del +select"},
    {"MOVED", "it is a node of a cluster: use one server, or a proxy before the cluster"},
    {"ASK", "it is a node of a cluster: use one server, or a proxy before the cluster"},
    {"CROSSSLOT", "it is a node of a cluster: use one server, or a proxy before the cluster"},
    {"WRONGTYPE", "somebody else uses keys that begin with kiln: in this database"},
    {"ERR unknown command", "it lacks a command: Redis 6.2 or a later version is needed"},
};

static const char *find_text(const struct kiln_redis_reply *reply)
{
    for (size_t i = 0; reply->kind == KILN_REDIS_REFUSAL && i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(reply->data, rows[i].begins, strlen(rows[i].begins))) return rows[i].text;
    return NULL;
}

kiln_status kiln__redis_refused(const struct kiln_redis_reply *reply, kiln_error *err)
{
    char said[200] = "";
    const char *text = find_text(reply);
    if (text) return kiln__fail(err, KILN_IO, "Redis refuses: %s", text);
    if (reply->kind != KILN_REDIS_REFUSAL)
        return kiln__fail(err, KILN_IO, "what came back is no reply of Redis to this command; is it a Redis server?");
    said[kiln__escape(said, sizeof said - 1, reply->data, reply->size)] = '\0';
    return kiln__fail(err, KILN_IO, "Redis refuses: %s", said);
}

kiln_status kiln__redis_greeting_refused(const struct kiln_redis_server *server, const struct kiln_redis_reply *reply,
                                         kiln_error *err)
{
    const char *text = find_text(reply);
    if (text) return kiln__fail(err, KILN_IO, "Redis refuses: %s", text);
    return kiln__fail(err, KILN_IO, "Redis refuses %s",
                      server->password ? "the password or the database" : "the database");
}

kiln_status kiln__redis_too_large(kiln_error *err)
{
    return kiln__fail(err, KILN_IO, "the server sends more than %zu MiB for an entry, or %zu for one call",
                      KILN_REMOTE_MAX_BYTES >> 20, KILN_REMOTE_MAX_TOTAL >> 20);
}
