/*
 * mover_redis.c - Redis by hiredis alone.
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"

struct connection {
    redisContext *redis;
};

static void redis_close(struct connection *connection)
{
    if (connection->redis) redisFree(connection->redis);
    free(connection);
}

/* redis://127.0.0.1:port/database, without a password. */
static struct connection *redis_open(const char *url)
{
    struct connection *connection = calloc(1, sizeof *connection);
    char host[128];
    int port = 0, database = 0;
    if (!connection || sscanf(url, "redis://%127[^:/@]:%d/%d", host, &port, &database) < 2)
        return free(connection), NULL;
    connection->redis = redisConnect(host, port);
    redisReply *reply = connection->redis ? redisCommand(connection->redis, "SELECT %d", database) : NULL;
    bool is_fine = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (is_fine) return connection;
    fprintf(stderr, "kiln-fleet-mover: can't use database %d of %s:%d\n", database, host, port);
    redis_close(connection);
    return NULL;
}

static bool redis_get(struct connection *connection, struct entry *entry)
{
    redisReply *reply = redisCommand(connection->redis, "GETEX kiln:%s EX 2592000", entry->name);
    bool is_fine = reply && reply->type == REDIS_REPLY_STRING;
    if (is_fine) {
        free(entry->data);
        entry->size = reply->len;
        entry->data = malloc(entry->size + 1);
        if (entry->data) memcpy(entry->data, reply->str, entry->size);
        is_fine = entry->data != NULL;
    } else {
        fprintf(stderr, "kiln-fleet-mover: kiln:%s: %s\n", entry->name, reply ? "no such entry" : "no answer");
    }
    freeReplyObject(reply);
    return is_fine;
}

static bool redis_put(struct connection *connection, const struct entry *entry)
{
    redisReply *reply =
        redisCommand(connection->redis, "SET by-hand:%s %b EX 2592000", entry->name, entry->data, entry->size);
    bool is_fine = reply && reply->type == REDIS_REPLY_STATUS;
    if (!is_fine) fprintf(stderr, "kiln-fleet-mover: SET: %s\n", reply && reply->str ? reply->str : "no answer");
    freeReplyObject(reply);
    return is_fine;
}

const struct mover redis_mover = {"redis", redis_open, redis_get, redis_put, redis_close};
