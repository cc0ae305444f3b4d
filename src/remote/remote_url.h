/*
 * remote_url.h - the URL of a remote in its parts. No failure repeats any of it, since it may hold a password.
 */
#ifndef KILN_REMOTE_REMOTE_URL_H
#define KILN_REMOTE_REMOTE_URL_H

#include "base/status.h"

/* Texts are decoded and never NULL; "" where the URL has no such part. */
struct kiln_remote_url {
    char *scheme, *user, *password;
    char *host; /* without the brackets of an IPv6 address */
    char *port;
    char *path; /* begins with '/', and does not end with one: "" or "/a/b" */
    char *query;
};

/* KILN_INVALID: it is no URL, or has a fragment. What it returned is released also after a failure. */
kiln_status kiln__remote_url_parse(const char *url, struct kiln_remote_url *out, kiln_error *err);
void kiln__remote_url_release(struct kiln_remote_url *url);

/* SCHEME://HOST[:PORT] and the path with its odd bytes escaped, in memory of its own. NULL: out of memory. */
char *kiln__remote_url_print(const struct kiln_remote_url *url);

#endif
