/*
 * client.c - see client.h.
 *
 * Invariant: every call of a driver stands between begin() and end(). So it counts as work (base/process/gate.h): no
 * library that it uses is torn down meanwhile, and fork waits for it. And its outcome is counted, and decides whether
 * the remote is asked again.
 */
#include "store/remotes/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/process/exit.h"
#include "base/process/gate.h"
#include "base/url.h"
#include "store/remotes/driver_registry.h"
#include "store/signing.h"

enum { MOST_LIES = 3 };

/* ---- open ----------------------------------------------------------------------------------------------------- */

kiln_status kiln__remote_init(struct kiln_remote *remote, const char *url, unsigned timeout_ms,
                              struct kiln_remote_events *events)
{
    size_t room = strlen(url) + 16; /* "***" may be longer than what it hides */
    *remote =
        (struct kiln_remote){.url = strdup(url), .label = malloc(room), .events = events, .timeout_ms = timeout_ms};
    kiln__backoff_init(&remote->reads);
    kiln__backoff_init(&remote->writes);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&remote->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (!remote->url || !remote->label) return KILN_NO_MEMORY;
    kiln__url_without_secrets(url, remote->label, room);
    return KILN_OK;
}

void kiln__remote_release(struct kiln_remote *remote)
{
    if (remote->handle) remote->driver->close(remote->handle);
    kiln__backoff_release(&remote->reads);
    kiln__backoff_release(&remote->writes);
    pthread_mutex_destroy(&remote->lock);
    free(remote->url);
    free(remote->label);
}

static void log_for_driver(const char *text)
{
    kiln__log(KILN_LOG_FAULT, "%s", text);
}

static const kiln_remote_host host = {.struct_size = sizeof host, .setting = kiln__config, .log = log_for_driver};

static kiln_status open_handle(struct kiln_remote *remote, kiln_error *err)
{
    char scheme[KILN_SCHEME_SIZE];
    const kiln_remote_driver *driver = NULL;
    if (!kiln__scheme_of(remote->url, scheme))
        return kiln__fail(err, KILN_INVALID,
                          "that is no URL; expected one such as http://host/prefix, s3://bucket/prefix or "
                          "redis://host:port/db");
    kiln_status status = kiln__driver_find(scheme, &driver, err);
    if (!status && !kiln__trusts_anybody(err)) status = KILN_INVALID;
    if (!status) status = driver->open(remote->url, &host, &remote->handle, err);
    if (!status) remote->driver = driver;
    kiln__exit_watch(); /* what the driver's libraries do at exit comes after us */
    return status;
}

kiln_status kiln__remote_open(struct kiln_remote *remote, kiln_error *err)
{
    kiln_status status = open_handle(remote, err);
    atomic_store(&remote->state, status ? KILN_REMOTE_REFUSED : KILN_REMOTE_OPEN);
    return status;
}

static void open_now(struct kiln_remote *remote)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    if (!kiln__remote_open(remote, &err)) return;
    kiln__event(&remote->events->faults, 1);
    kiln__log_once("remote %s is not used: %s", remote->label, err.text);
}

/* One thread opens it, the others wait. A driver may log while it does, and the program's log callback may call Kiln:
 * what asks for this remote from there finds none. */
static bool is_open(struct kiln_remote *remote)
{
    int state = atomic_load_explicit(&remote->state, memory_order_acquire);
    if (state == KILN_REMOTE_NEW || state == KILN_REMOTE_OPENING) {
        if (!kiln__work_begin()) return false;
        kiln__mutex_lock(&remote->lock);
        if (atomic_load(&remote->state) == KILN_REMOTE_NEW) {
            atomic_store(&remote->state, KILN_REMOTE_OPENING);
            open_now(remote);
        }
        state = atomic_load(&remote->state);
        kiln__mutex_unlock(&remote->lock);
        kiln__work_end();
    }
    return state == KILN_REMOTE_OPEN;
}

bool kiln__remote_has_leases(struct kiln_remote *remote)
{
    return is_open(remote) && remote->driver->lease;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

/* May the driver be called now? Then end() follows. */
static bool begin(struct kiln_remote *remote, struct kiln_backoff *backoff)
{
    return is_open(remote) && kiln__backoff_may_try(backoff, kiln__clock_ns()) && kiln__work_begin();
}

/* The reason is part of the line that everybody sees, because the program goes on and nobody else would ask for it. */
static void say_down(const struct kiln_remote *remote, bool is_write, const char *reason)
{
    static const char line[] = "remote %s: %s; %s, and trying again later";
    const char *result = is_write ? "putting nothing there" : "going on without it";
    if (kiln__log_on(KILN_LOG_FAULT))
        kiln__log(KILN_LOG_FAULT, line, remote->label, reason, result);
    else
        kiln__log_once(line, remote->label, reason, result);
}

static void note_fault(struct kiln_remote *remote, struct kiln_backoff *backoff, const kiln_error *err)
{
    const char *reason = err->text[0] ? err->text : "the driver failed without a message";
    kiln__event(&remote->events->faults, 1);
    if (kiln__backoff_failed(backoff, kiln__clock_ns()))
        say_down(remote, backoff == &remote->writes, reason);
    else
        kiln__log(KILN_LOG_FAULT, "remote %s: %s", remote->label, reason);
}

static void note_success(struct kiln_remote *remote, struct kiln_backoff *backoff)
{
    bool is_liar = backoff == &remote->reads && atomic_load(&remote->lies) >= MOST_LIES;
    if (is_liar || !kiln__backoff_worked(backoff)) return;
    kiln__log(KILN_LOG_FAULT, "remote %s is back%s", remote->label, backoff == &remote->writes ? " for writing" : "");
}

static void end(struct kiln_remote *remote, struct kiln_backoff *backoff, kiln_status status, const kiln_error *err)
{
    kiln__work_end();
    if (status < 0)
        note_fault(remote, backoff, err);
    else
        note_success(remote, backoff);
}

void kiln__remote_lied(struct kiln_remote *remote, const kiln_error *err)
{
    if (atomic_fetch_add(&remote->lies, 1) + 1 >= MOST_LIES) {
        note_fault(remote, &remote->reads, err);
        return;
    }
    kiln__event(&remote->events->faults, 1);
    kiln__log_once("an entry of remote %s is not used: %s", remote->label, err->text);
}

void kiln__remote_was_honest(struct kiln_remote *remote)
{
    atomic_store(&remote->lies, 0);
    note_success(remote, &remote->reads);
}

void kiln__remote_get(struct kiln_remote *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    for (size_t i = 0; i < count; i++) entries[i].data = NULL, entries[i].size = 0, entries[i].status = KILN_IO;
    if (!begin(remote, &remote->reads)) return;
    kiln_status status = remote->driver->get(remote->handle, entries, count, timeout_ms, &err);
    for (size_t i = 0; i < count; i++)
        if (entries[i].status == KILN_OK) kiln__event(&remote->events->bytes_read, entries[i].size);
    end(remote, &remote->reads, status, &err);
}

enum kiln_outcome kiln__remote_put(struct kiln_remote *remote, const char *name, kiln_bytes bytes, const char *token,
                                   unsigned timeout_ms)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    if (!begin(remote, &remote->writes)) return KILN_FAILED;
    kiln_status status = remote->driver->put(remote->handle, name, bytes, token, timeout_ms, &err);
    end(remote, &remote->writes, status, &err);
    if (status == KILN_REMOTE_LEASE_LOST) return KILN_MISS;
    if (status) return KILN_FAILED;
    kiln__event(&remote->events->puts, 1);
    kiln__event(&remote->events->bytes_written, bytes.size);
    return KILN_DONE;
}

enum kiln_outcome kiln__remote_exists(struct kiln_remote *remote, const char *name, unsigned timeout_ms)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    bool exists = false;
    if (!begin(remote, &remote->reads)) return KILN_FAILED;
    kiln_status status = remote->driver->exists(remote->handle, name, &exists, timeout_ms, &err);
    end(remote, &remote->reads, status, &err);
    if (status) return KILN_FAILED;
    return exists ? KILN_DONE : KILN_MISS;
}

enum kiln_outcome kiln__remote_lease(struct kiln_remote *remote, const char *name, const char *token,
                                     unsigned lifetime_ms, unsigned timeout_ms)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    bool is_ours = false;
    if (!begin(remote, &remote->writes)) return KILN_FAILED;
    kiln_status status = remote->driver->lease(remote->handle, name, token, lifetime_ms, &is_ours, timeout_ms, &err);
    end(remote, &remote->writes, status, &err);
    if (status) return KILN_FAILED;
    return is_ours ? KILN_DONE : KILN_MISS;
}

void kiln__remote_give_up_lease(struct kiln_remote *remote, const char *name, const char *token, unsigned timeout_ms)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    if (!begin(remote, &remote->writes)) return;
    end(remote, &remote->writes, remote->driver->release(remote->handle, name, token, timeout_ms, &err), &err);
}
