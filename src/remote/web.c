/*
 * web.c - see web.h. Every call takes a session, which nobody else uses meanwhile, and gives it back.
 */
#include "remote/web.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "remote/credentials.h"
#include "remote/entry_name.h"
#include "remote/web_session.h"

static kiln_status take_authorities(struct kiln_web *web, const kiln_remote_host *host, kiln_error *err)
{
    const char *path = web->is_tls ? host->setting("KILN_REMOTE_CA") : NULL;
    if (!path || !*path) return KILN_OK;
    if (access(path, R_OK))
        return kiln__fail(err, KILN_INVALID, "KILN_REMOTE_CA names %.300s, which can't be read", path);
    web->ca_file = strdup(path);
    return web->ca_file ? KILN_OK : kiln__no_memory(err, "a remote");
}

kiln_status kiln__web_new(const kiln_remote_host *host, bool is_tls, struct kiln_web **out, kiln_error *err)
{
    kiln_status status = kiln__web_ready(err);
    if (status) return status;
    struct kiln_web *web = calloc(1, sizeof *web);
    if (!web) return kiln__no_memory(err, "a remote");
    web->sessions.close = kiln__web_session_close;
    web->sessions.abandon = kiln__web_session_abandon;
    web->is_tls = is_tls;
    web->uses_no_proxy = getauxval(AT_SECURE);
    status = take_authorities(web, host, err);
    if (status)
        kiln__web_close(web);
    else
        *out = web;
    return status;
}

void kiln__web_close(void *remote)
{
    struct kiln_web *web = remote;
    kiln__connection_pool_release(&web->sessions);
    free(web->base);
    free(web->user);
    free(web->password);
    free(web->signature);
    free(web->session_token);
    free(web->netrc);
    free(web->ca_file);
    free(web);
}

static kiln_status exchange(struct kiln_web *web, enum kiln_web_verb verb, kiln_bytes body, kiln_remote_entry *entries,
                            size_t count, unsigned timeout_ms, kiln_error *err)
{
    struct kiln_deadline deadline = kiln__deadline_in(timeout_ms);
    struct kiln_connection *session = kiln__connection_take(&web->sessions);
    if (!session) session = kiln__web_session_new();
    if (!session) return kiln__no_memory(err, "a session");
    struct kiln_web_exchange job = {web, verb, body, entries, count, deadline, .err = err};
    kiln_status status = kiln__web_session_run(session, &job);
    kiln__connection_keep(&web->sessions, session);
    return status;
}

kiln_status kiln__web_get(void *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && !status; i++) status = kiln__entry_name_check(entries[i].name, err);
    for (size_t i = 0; i < count; i++) {
        entries[i].data = NULL;
        entries[i].size = 0;
        entries[i].status = status ? status : KILN_NO_MEMORY;
    }
    return status ? status : exchange(remote, KILN_WEB_GET, (kiln_bytes){0}, entries, count, timeout_ms, err);
}

kiln_status kiln__web_put(void *remote, const char *name, kiln_bytes bytes, const char *token, unsigned timeout_ms,
                          kiln_error *err)
{
    (void)token; /* there are no leases */
    kiln_remote_entry entry = {.name = name};
    kiln_status status = kiln__entry_put_check(name, bytes, err);
    return status ? status : exchange(remote, KILN_WEB_PUT, bytes, &entry, 1, timeout_ms, err);
}

kiln_status kiln__web_exists(void *remote, const char *name, bool *out, unsigned timeout_ms, kiln_error *err)
{
    kiln_remote_entry entry = {.name = name};
    kiln_status status = kiln__entry_name_check(name, err);
    if (!status) status = exchange(remote, KILN_WEB_HEAD, (kiln_bytes){0}, &entry, 1, timeout_ms, err);
    if (!status) *out = entry.status == KILN_OK;
    return status;
}
