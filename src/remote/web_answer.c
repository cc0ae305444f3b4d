/*
 * web_answer.c - see web_answer.h. Tables: a status or code, and what would be right.
 */
#include "remote/web_answer.h"

#include <ctype.h>
#include <string.h>

#include "remote/web.h"

enum { CODE_SIZE = 64 };

/* ---- no answer --------------------------------------------------------------------------------------------------- */

static const char *curl_hint(CURLcode code)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
        return "; an authority of your own is named by KILN_REMOTE_CA, a file of PEM certificates";
    case CURLE_SSL_CACERT_BADFILE:
        return "; KILN_REMOTE_CA names a file of PEM certificates";
    case CURLE_PARTIAL_FILE:
        return "; the server ended an entry too early";
    case CURLE_SSL_CONNECT_ERROR:
        return "; is it a server for https?";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        return "; is it a server for HTTP?";
    default:
        return "";
    }
}

static kiln_status no_answer(const struct kiln_web_reply *reply, kiln_error *err)
{
    switch (reply->fault) {
    case KILN_WEB_LATE:
        return kiln__fail(err, KILN_IO, "no answer within %u ms (KILN_REMOTE_TIMEOUT)",
                          reply->exchange->deadline.timeout_ms);
    case KILN_WEB_NO_MEMORY:
        return kiln__no_memory(err, "an entry");
    case KILN_WEB_TOO_LARGE:
        break;
    case KILN_WEB_WELL:
        if (reply->code == CURLE_OUT_OF_MEMORY) return kiln__no_memory(err, "a request");
        if (reply->code == CURLE_FILESIZE_EXCEEDED) break;
        return kiln__fail(err, KILN_IO, "%s%s", *reply->detail ? reply->detail : curl_easy_strerror(reply->code),
                          curl_hint(reply->code));
    }
    return kiln__fail(err, KILN_IO, "the server sends more than %zu MiB for an entry, or %zu for one call",
                      KILN_REMOTE_MAX_BYTES >> 20, KILN_REMOTE_MAX_TOTAL >> 20);
}

/* ---- answers that are no entry ----------------------------------------------------------------------------------- */

/* The code in the XML of S3, such as "NoSuchBucket"; "": none. */
static void find_code(kiln_bytes body, char out[CODE_SIZE])
{
    static const char tag[] = "<Code>";
    const char *at = body.size ? memmem(body.data, body.size, tag, strlen(tag)) : NULL;
    const char *end = (const char *)body.data + body.size;
    size_t size = 0;
    for (at += at ? strlen(tag) : 0; at && at < end && isalnum((unsigned char)*at) && size + 1 < CODE_SIZE; at++)
        out[size++] = *at;
    out[size] = '\0';
}

/* Of where a redirection points only scheme and host are told: the rest may hold anything. */
static kiln_status redirected(const struct kiln_web_reply *reply, kiln_error *err)
{
    CURLU *url = curl_url();
    char *scheme = NULL, *host = NULL;
    bool is_known = url && reply->redirect && !curl_url_set(url, CURLUPART_URL, reply->redirect, 0) &&
                    !curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) && !curl_url_get(url, CURLUPART_HOST, &host, 0);
    kiln__fail(
        err, KILN_IO,
        "the server redirects (status %ld%s%.8s%s%.200s), which is not followed: use the URL where entries are%s",
        reply->status, is_known ? ", to " : "", is_known ? scheme : "", is_known ? "://" : "", is_known ? host : "",
        reply->exchange->web->signature ? "; for S3, is AWS_REGION that of the bucket?" : "");
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    return KILN_IO;
}

struct row {
    long status;
    const char *text;
};

static const struct row of_http[] = {
    {401, "it asks for a name and a password, which come from the URL (http://NAME:PASSWORD@HOST/), from the file that "
          "NETRC names, or from ~/.netrc"},
    {403, "it forbids this: look at the server's access rules and its log"},
    {405, "it does not allow this method: nginx needs dav_methods PUT"},
    {407, "the proxy asks for a name and a password"},
    {409, "it can't make the folder: nginx needs create_full_put_path on"},
    {411, "it wants a length, which was sent: is there a proxy before it?"},
    {413, "the entry is too large for it: nginx needs client_max_body_size 256m"},
    {429, "it has too many requests"},
    {500, "it has a fault: see its log; nginx needs create_full_put_path on, and a folder that it may write"},
    {507, "it is full"},
};

static const struct row of_s3[] = {
    {400, "are AWS_REGION and the endpoint right?"},
    {401, "the credentials are not accepted"},
    {403,
     "the credentials are not accepted, or may not do this: they need s3:GetObject, s3:PutObject and s3:ListBucket, "
     "without which an entry that is not there looks forbidden; and the clock must be right"},
    {404, "is the bucket right, and are the credentials?"},
    {429, "it has too many requests"},
    {503, "it asks for fewer requests"},
};

static const char *find_text(const struct row *rows, size_t count, long status)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].status == status) return rows[i].text;
    return status >= 500 ? "it has a fault: see its log" : "no such answer was expected";
}

static kiln_status refused(const struct kiln_web_reply *reply, const char *code, kiln_error *err)
{
    bool is_s3 = reply->exchange->web->signature;
    const char *text = is_s3 ? find_text(of_s3, sizeof of_s3 / sizeof *of_s3, reply->status)
                             : find_text(of_http, sizeof of_http / sizeof *of_http, reply->status);
    return kiln__fail(err, KILN_IO, "the server answers %ld%s%s: %s", reply->status, *code ? " " : "", code, text);
}

static bool is_done(enum kiln_web_verb verb, long status)
{
    return status == 200 || (verb == KILN_WEB_PUT && (status == 201 || status == 204));
}

kiln_status kiln__web_answer(const struct kiln_web_reply *reply, kiln_error *err)
{
    const struct kiln_web_exchange *exchange = reply->exchange;
    bool is_cut = reply->code == CURLE_WRITE_ERROR && !reply->fault; /* a long page, which says nothing that we need */
    if (reply->fault || (reply->code && !is_cut)) return no_answer(reply, err);
    if (is_done(exchange->verb, reply->status)) return KILN_OK;
    if (reply->status >= 300 && reply->status < 400) return redirected(reply, err);
    char code[CODE_SIZE] = "";
    if (exchange->web->signature) find_code(reply->body, code);
    bool is_absent = (reply->status == 404 || reply->status == 410) && (!*code || !strcmp(code, "NoSuchKey"));
    if (is_absent && exchange->verb != KILN_WEB_PUT) return KILN_REMOTE_ABSENT;
    return refused(reply, code, err);
}
