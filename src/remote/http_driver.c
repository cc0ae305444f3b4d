/*
 * http_driver.c - http://[NAME:PASSWORD@]HOST[:PORT][/PREFIX] and the same with https: any server that keeps what is
 * PUT, such as nginx with its DAV module.
 */
#include <string.h>

#include "remote/credentials.h"
#include "remote/drivers.h"
#include "remote/remote_url.h"
#include "remote/web.h"

static bool take_user(struct kiln_web *web, const struct kiln_remote_url *url)
{
    if (!*url->user && !*url->password) return true;
    web->user = strdup(url->user);
    web->password = strdup(url->password);
    return web->user && web->password;
}

static kiln_status fill(struct kiln_web *web, const struct kiln_remote_url *url, kiln_error *err)
{
    if (!*url->host) return kiln__fail(err, KILN_INVALID, "the URL has no host: http://HOST[:PORT][/PREFIX]");
    if (*url->query)
        return kiln__fail(err, KILN_INVALID, "the URL has a '?'; write %%3F where it belongs to a password or a path");
    web->base = kiln__remote_url_print(url);
    if (!web->base || !take_user(web, url)) return kiln__no_memory(err, "a remote");
    return web->user ? KILN_OK : kiln__netrc_path(&web->netrc, err);
}

static kiln_status open_http(const char *text, const kiln_remote_host *host, void **remote, kiln_error *err)
{
    struct kiln_remote_url url;
    struct kiln_web *web = NULL;
    kiln_status status = kiln__remote_url_parse(text, &url, err);
    if (!status) status = kiln__web_new(host, !strcmp(url.scheme, "https"), &web, err);
    if (!status) status = fill(web, &url, err);
    kiln__remote_url_release(&url);
    if (!status)
        *remote = web;
    else if (web)
        kiln__web_close(web);
    return status;
}

#define HTTP_FUNCTIONS                                                                                                 \
    .open = open_http, .close = kiln__web_close, .get = kiln__web_get, .put = kiln__web_put, .exists = kiln__web_exists
const kiln_remote_driver kiln__http_driver = {sizeof(kiln_remote_driver), "http", HTTP_FUNCTIONS};
const kiln_remote_driver kiln__https_driver = {sizeof(kiln_remote_driver), "https", HTTP_FUNCTIONS};
