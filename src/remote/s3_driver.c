/*
 * s3_driver.c - s3://BUCKET[/PREFIX]: a bucket of S3 or of what speaks its protocol, by path style URLs, so that any
 * endpoint will do. libcurl signs requests (AWS Signature Version 4).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/credentials.h"
#include "remote/drivers.h"
#include "remote/remote_url.h"
#include "remote/web.h"

/* KILN_S3_ENDPOINT, else the variables of AWS, else theirs for the region; in memory of its own. */
static char *find_endpoint(const kiln_remote_host *host, const char *region)
{
    const char *endpoint = host->setting("KILN_S3_ENDPOINT");
    if (!endpoint || !*endpoint) endpoint = secure_getenv("AWS_ENDPOINT_URL_S3");
    if (!endpoint || !*endpoint) endpoint = secure_getenv("AWS_ENDPOINT_URL");
    if (endpoint && *endpoint) return strdup(endpoint);
    char *out = NULL;
    return asprintf(&out, "https://s3.%s.amazonaws.com", region) < 0 ? NULL : out;
}

static kiln_status check_bucket(const struct kiln_remote_url *url, kiln_error *err)
{
    if (!*url->host) return kiln__fail(err, KILN_INVALID, "the URL has no bucket: s3://BUCKET[/PREFIX]");
    if (*url->user || *url->password)
        return kiln__fail(err, KILN_INVALID,
                          "credentials of S3 do not stand in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                          "or write ~/.aws/credentials");
    if (*url->port || *url->query)
        return kiln__fail(err, KILN_INVALID,
                          "s3://BUCKET[/PREFIX] has no port and no '?'; KILN_S3_ENDPOINT names the server");
    return KILN_OK;
}

static bool is_endpoint(const struct kiln_remote_url *url)
{
    bool is_web = !strcmp(url->scheme, "http") || !strcmp(url->scheme, "https");
    return is_web && *url->host && !*url->query && !*url->user && !*url->password;
}

static kiln_status parse_endpoint(const kiln_remote_host *host, const char *region, struct kiln_remote_url *out,
                                  kiln_error *err)
{
    char *text = find_endpoint(host, region);
    if (!text) return kiln__no_memory(err, "a remote");
    kiln_status status = kiln__remote_url_parse(text, out, err);
    free(text);
    if (!status && is_endpoint(out)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "the endpoint of S3 (KILN_S3_ENDPOINT, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL) is written "
                      "http[s]://HOST[:PORT], without credentials");
}

/* The bucket and the prefix become the path at the endpoint. */
static bool make_base(struct kiln_web *web, const struct kiln_remote_url *bucket, struct kiln_remote_url *endpoint)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s%s", endpoint->path, bucket->host, bucket->path) < 0) return false;
    free(endpoint->path);
    endpoint->path = path;
    web->base = kiln__remote_url_print(endpoint);
    return web->base;
}

/* Moves the credentials into the remote. */
static bool take_credentials(struct kiln_web *web, struct kiln_aws_credentials *aws)
{
    if (*aws->session_token && asprintf(&web->session_token, "x-amz-security-token: %s", aws->session_token) < 0)
        web->session_token = NULL;
    if (asprintf(&web->signature, "aws:amz:%s:s3", aws->region) < 0) web->signature = NULL;
    web->user = aws->key_id;
    web->password = aws->secret;
    aws->key_id = aws->secret = NULL;
    return web->signature && (web->session_token || !*aws->session_token);
}

static kiln_status make(const kiln_remote_host *host, const struct kiln_remote_url *bucket,
                        struct kiln_aws_credentials *aws, struct kiln_web **out, kiln_error *err)
{
    struct kiln_remote_url endpoint = {0};
    kiln_status status = parse_endpoint(host, aws->region, &endpoint, err);
    if (!status) status = kiln__web_new(host, !strcmp(endpoint.scheme, "https"), out, err);
    if (!status && (!make_base(*out, bucket, &endpoint) || !take_credentials(*out, aws)))
        status = kiln__no_memory(err, "a remote");
    kiln__remote_url_release(&endpoint);
    return status;
}

static kiln_status open_s3(const char *text, const kiln_remote_host *host, void **remote, kiln_error *err)
{
    struct kiln_remote_url bucket;
    struct kiln_aws_credentials aws = {0};
    struct kiln_web *web = NULL;
    kiln_status status = kiln__remote_url_parse(text, &bucket, err);
    if (!status) status = check_bucket(&bucket, err);
    if (!status) status = kiln__aws_credentials_read(&aws, err);
    if (!status) status = make(host, &bucket, &aws, &web, err);
    kiln__aws_credentials_release(&aws);
    kiln__remote_url_release(&bucket);
    if (!status)
        *remote = web;
    else if (web)
        kiln__web_close(web);
    return status;
}

const kiln_remote_driver kiln__s3_driver = {
    .struct_size = sizeof(kiln_remote_driver),
    .scheme = "s3",
    .open = open_s3,
    .close = kiln__web_close,
    .get = kiln__web_get,
    .put = kiln__web_put,
    .exists = kiln__web_exists,
};
