/*
 * remote_url.c - see remote_url.h; libcurl's parser does the work, so that all schemes are read alike.
 */
#include "remote/remote_url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* A part as text of our own; false: out of memory, or bytes that no such part has. */
static bool take_part(CURLU *handle, CURLUPart part, char **out)
{
    char *text = NULL;
    CURLUcode code = curl_url_get(handle, part, &text, CURLU_URLDECODE);
    *out = strdup(code == CURLUE_OK && text ? text : "");
    curl_free(text);
    return *out && code != CURLUE_OUT_OF_MEMORY && code != CURLUE_URLDECODE;
}

static bool take_parts(CURLU *handle, struct kiln_remote_url *out)
{
    return take_part(handle, CURLUPART_SCHEME, &out->scheme) && take_part(handle, CURLUPART_USER, &out->user) &&
           take_part(handle, CURLUPART_PASSWORD, &out->password) && take_part(handle, CURLUPART_HOST, &out->host) &&
           take_part(handle, CURLUPART_PORT, &out->port) && take_part(handle, CURLUPART_PATH, &out->path) &&
           take_part(handle, CURLUPART_QUERY, &out->query);
}

/* libcurl takes what follows three slashes for a host too. Where a URL has none, this one is put in. */
static const char no_host[] = "no.host.invalid";

static CURLUcode set_url(CURLU *handle, const char *url)
{
    const char *authority = strstr(url, "://");
    authority = authority ? authority + 3 : url;
    size_t size = strcspn(authority, "/?#");
    bool has_host = size && authority[size - 1] != '@';
    char *text = NULL;
    int begin = (int)(authority + size - url);
    if (asprintf(&text, "%.*s%s%s", begin, url, has_host ? "" : no_host, url + begin) < 0) return CURLUE_OUT_OF_MEMORY;
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
    free(text);
    return code;
}

static void trim(struct kiln_remote_url *url)
{
    for (size_t size = strlen(url->path); size && url->path[size - 1] == '/';) url->path[--size] = '\0';
    if (!strcmp(url->host, no_host)) url->host[0] = '\0';
    size_t size = strlen(url->host);
    if (size < 2 || url->host[0] != '[') return;
    memmove(url->host, url->host + 1, size - 2);
    url->host[size - 2] = '\0';
}

kiln_status kiln__remote_url_parse(const char *url, struct kiln_remote_url *out, kiln_error *err)
{
    *out = (struct kiln_remote_url){0};
    CURLU *handle = curl_url();
    if (!handle) return kiln__no_memory(err, "a URL");
    char *fragment = NULL;
    kiln_status status = KILN_OK;
    CURLUcode code = set_url(handle, url);
    if (code != CURLUE_OK)
        status = kiln__fail(err, KILN_INVALID, "this is no URL (%s); one is written SCHEME://HOST[:PORT][/PREFIX]",
                            curl_url_strerror(code));
    else if (!curl_url_get(handle, CURLUPART_FRAGMENT, &fragment, 0))
        status =
            kiln__fail(err, KILN_INVALID, "the URL has a '#'; write %%23 where it belongs to a password or a path");
    else if (!take_parts(handle, out))
        status = kiln__fail(err, KILN_INVALID, "the URL has control characters, or there is no memory for it");
    else
        trim(out);
    curl_free(fragment);
    curl_url_cleanup(handle);
    return status;
}

void kiln__remote_url_release(struct kiln_remote_url *url)
{
    free(url->scheme);
    free(url->user);
    free(url->password);
    free(url->host);
    free(url->port);
    free(url->path);
    free(url->query);
    *url = (struct kiln_remote_url){0};
}

static void print_path(struct kiln_buffer *out, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    for (; *path; path++) kiln__buffer_printf(out, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
}

char *kiln__remote_url_print(const struct kiln_remote_url *url)
{
    struct kiln_buffer out = {0};
    bool is_v6 = strchr(url->host, ':');
    kiln__buffer_printf(&out, is_v6 ? "%s://[%s]" : "%s://%s", url->scheme, url->host);
    if (*url->port) kiln__buffer_printf(&out, ":%s", url->port);
    print_path(&out, url->path);
    if (!out.failed) return (char *)out.data;
    kiln__buffer_release(&out);
    return NULL;
}
