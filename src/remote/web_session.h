/*
 * web_session.h - a libcurl multi handle with its kept connections, for one caller at a time.
 *
 * Several entries travel at once: over at most 8 connections, on which HTTP/2 carries many at a time.
 */
#ifndef KILN_REMOTE_WEB_SESSION_H
#define KILN_REMOTE_WEB_SESSION_H

#include "kiln/remote.h"
#include "remote/connection_pool.h"
#include "remote/deadline.h"

struct kiln_web;

enum kiln_web_verb { KILN_WEB_GET, KILN_WEB_HEAD, KILN_WEB_PUT };

/* The same done with each of some entries. */
struct kiln_web_exchange {
    const struct kiln_web *web;
    enum kiln_web_verb verb;
    kiln_bytes body; /* of a PUT */
    kiln_remote_entry *entries;
    size_t count;
    struct kiln_deadline deadline;
    size_t started, received_bytes;
    kiln_status failure; /* the first; nothing is started after it */
    kiln_error *err;     /* its text; may be NULL */
};

/* Prepares libcurl, once. KILN_INVALID: it is not safe to use in this process. */
kiln_status kiln__web_ready(kiln_error *err);

/* NULL: out of memory. */
struct kiln_connection *kiln__web_session_new(void);
void kiln__web_session_close(struct kiln_connection *session);
void kiln__web_session_abandon(struct kiln_connection *session);

/* Runs until all entries have a status or the deadline passes; the first failure, or KILN_OK. */
kiln_status kiln__web_session_run(struct kiln_connection *session, struct kiln_web_exchange *exchange);

#endif
