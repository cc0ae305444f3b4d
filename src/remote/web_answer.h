/*
 * web_answer.h - what the end of a request means for its entry, and in which words.
 */
#ifndef KILN_REMOTE_WEB_ANSWER_H
#define KILN_REMOTE_WEB_ANSWER_H

#include <curl/curl.h>

#include "base/status.h"
#include "remote/web_session.h"

/* Why a transfer was ended on this side. */
enum kiln_web_fault { KILN_WEB_WELL, KILN_WEB_TOO_LARGE, KILN_WEB_NO_MEMORY, KILN_WEB_LATE };

struct kiln_web_reply {
    const struct kiln_web_exchange *exchange;
    CURLcode code;
    enum kiln_web_fault fault;
    const char *detail;   /* libcurl's words; "": none */
    long status;          /* of HTTP; 0: none came */
    const char *redirect; /* where it points; NULL: nowhere */
    kiln_bytes body;      /* the beginning of it, where `status` is not 200 */
};

/* KILN_OK, KILN_REMOTE_ABSENT or a failure. No text repeats what a server says, except for codes of S3. */
kiln_status kiln__web_answer(const struct kiln_web_reply *reply, kiln_error *err);

#endif
