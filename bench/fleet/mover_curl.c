/*
 * mover_curl.c - HTTP and S3 by libcurl alone: one easy handle, so one kept connection.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"

struct connection {
    CURL *curl;
    struct curl_slist *headers;
    char base[512];
    char *data;
    size_t size, capacity;
    const char *sent; /* what is left to send */
    size_t to_send;
};

static size_t receive(char *data, size_t one, size_t size, void *context)
{
    struct connection *connection = context;
    (void)one;
    if (connection->size + size > connection->capacity) {
        size_t capacity = (connection->size + size) * 2;
        char *grown = realloc(connection->data, capacity);
        if (!grown) return 0;
        connection->data = grown;
        connection->capacity = capacity;
    }
    memcpy(connection->data + connection->size, data, size);
    connection->size += size;
    return size;
}

static size_t send_more(char *out, size_t one, size_t room, void *context)
{
    struct connection *connection = context;
    size_t size = room * one < connection->to_send ? room * one : connection->to_send;
    memcpy(out, connection->sent, size);
    connection->sent += size;
    connection->to_send -= size;
    return size;
}

static struct connection *open_base(const char *base)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) return NULL;
    connection->curl = curl_easy_init();
    connection->headers = curl_slist_append(NULL, "Expect:");
    snprintf(connection->base, sizeof connection->base, "%s", base);
    curl_easy_setopt(connection->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(connection->curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(connection->curl, CURLOPT_WRITEDATA, connection);
    curl_easy_setopt(connection->curl, CURLOPT_READFUNCTION, send_more);
    curl_easy_setopt(connection->curl, CURLOPT_READDATA, connection);
    curl_easy_setopt(connection->curl, CURLOPT_HTTPHEADER, connection->headers);
    return connection;
}

/* s3://bucket/prefix at KILN_S3_ENDPOINT, with the keys of AWS_*. */
static struct connection *open_s3(const char *url)
{
    const char *endpoint = getenv("KILN_S3_ENDPOINT"), *id = getenv("AWS_ACCESS_KEY_ID"),
               *secret = getenv("AWS_SECRET_ACCESS_KEY"), *region = getenv("AWS_REGION");
    char text[512];
    if (!endpoint || !id || !secret || !region) {
        fprintf(stderr, "kiln-fleet-mover: S3 needs KILN_S3_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                        "AWS_REGION\n");
        return NULL;
    }
    snprintf(text, sizeof text, "%s/%s", endpoint, url + strlen("s3://"));
    struct connection *connection = open_base(text);
    if (!connection) return NULL;
    connection->headers = curl_slist_append(connection->headers, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    curl_easy_setopt(connection->curl, CURLOPT_HTTPHEADER, connection->headers);
    snprintf(text, sizeof text, "%s:%s", id, secret);
    curl_easy_setopt(connection->curl, CURLOPT_USERPWD, text);
    snprintf(text, sizeof text, "aws:amz:%s:s3", region);
    curl_easy_setopt(connection->curl, CURLOPT_AWS_SIGV4, text);
    return connection;
}

static bool perform(struct connection *connection, const char *suffix, const struct entry *entry)
{
    char url[1024];
    long status = 0;
    snprintf(url, sizeof url, "%s%s/%.2s/%s", connection->base, suffix, entry->name, entry->name);
    curl_easy_setopt(connection->curl, CURLOPT_URL, url);
    connection->size = 0;
    CURLcode code = curl_easy_perform(connection->curl);
    curl_easy_getinfo(connection->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status >= 200 && status < 300) return true;
    fprintf(stderr, "kiln-fleet-mover: %s: %s, status %ld\n", url, curl_easy_strerror(code), status);
    return false;
}

static bool curl_get(struct connection *connection, struct entry *entry)
{
    if (!perform(connection, "", entry)) return false;
    free(entry->data);
    entry->data = malloc(connection->size + 1);
    if (!entry->data) return false;
    memcpy(entry->data, connection->data, connection->size);
    entry->size = connection->size;
    return true;
}

static bool curl_put(struct connection *connection, const struct entry *entry)
{
    connection->sent = entry->data;
    connection->to_send = entry->size;
    curl_easy_setopt(connection->curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(connection->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)entry->size);
    return perform(connection, "-by-hand", entry);
}

static void curl_close(struct connection *connection)
{
    curl_easy_cleanup(connection->curl);
    curl_slist_free_all(connection->headers);
    free(connection->data);
    free(connection);
}

const struct mover http_mover = {"http", open_base, curl_get, curl_put, curl_close};
const struct mover s3_mover = {"s3", open_s3, curl_get, curl_put, curl_close};
