/*
 * web.h - a remote behind HTTP: GET, HEAD and PUT of BASE/ab/abcdef..., plain or signed as S3 wants it.
 *
 * The drivers http, https and s3 differ in how they open one; the other functions of their tables are these. A struct
 * kiln_web does not change once it is open, except for its pool of connections.
 */
#ifndef KILN_REMOTE_WEB_H
#define KILN_REMOTE_WEB_H

#include "kiln/remote.h"
#include "remote/connection_pool.h"

struct kiln_web {
    struct kiln_connection_pool sessions; /* web_session.h */
    char *base;                           /* the URL of all entries, without credentials */
    bool is_tls;
    char *user, *password; /* or key id and secret; NULL: none */
    char *signature;       /* S3: how libcurl signs, "aws:amz:REGION:s3"; NULL: user and password are sent */
    char *session_token;   /* S3: the header that goes with temporary credentials; NULL: none */
    char *netrc, *ca_file; /* NULL: none, and the system's authorities */
    bool uses_no_proxy;    /* this process believes no variables */
};

/* A remote without a base, to be filled in and closed with kiln__web_close(): the settings that both kinds have. */
kiln_status kiln__web_new(const kiln_remote_host *host, bool is_tls, struct kiln_web **out, kiln_error *err);

/* As kiln/remote.h says; `remote` is a struct kiln_web. */
void kiln__web_close(void *remote);
kiln_status kiln__web_get(void *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms, kiln_error *err);
kiln_status kiln__web_put(void *remote, const char *name, kiln_bytes bytes, const char *token, unsigned timeout_ms,
                          kiln_error *err);
kiln_status kiln__web_exists(void *remote, const char *name, bool *out, unsigned timeout_ms, kiln_error *err);

#endif
