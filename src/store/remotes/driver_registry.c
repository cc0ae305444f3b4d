/*
 * driver_registry.c - see driver_registry.h. Invariant: a driver that is handed out has all functions it needs; it
 * lives as long as the process.
 */
#include "store/remotes/driver_registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beside.h"
#include "base/buffer.h"
#include "base/process/callback.h"
#include "base/process/fork.h"

struct added {
    const kiln_remote_driver *driver;
    struct added *next;
};

KILN_LEAF_LOCK(lock); /* guards the list */
static struct added *added;

/* ---- schemes -------------------------------------------------------------------------------------------------- */

/* Letters, digits, '+', '-' and '.', a letter first, all in lower case; how many of them. 0: no scheme. */
static size_t scheme_size(const char *text)
{
    if (*text < 'a' || *text > 'z') return 0;
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+-.");
}

bool kiln__scheme_of(const char *url, char out[KILN_SCHEME_SIZE])
{
    size_t size = scheme_size(url);
    if (!size || size >= KILN_SCHEME_SIZE || strncmp(url + size, "://", 3) != 0) return false;
    memcpy(out, url, size);
    out[size] = '\0';
    return true;
}

/* ---- drivers -------------------------------------------------------------------------------------------------- */

static kiln_status check(const kiln_remote_driver *driver, kiln_error *err)
{
    if (driver->struct_size != sizeof *driver)
        return kiln__fail(err, KILN_INVALID, "a driver with struct_size %zu; expected sizeof(kiln_remote_driver), %zu",
                          driver->struct_size, sizeof *driver);
    size_t size = driver->scheme ? scheme_size(driver->scheme) : 0;
    if (!size || size >= KILN_SCHEME_SIZE || driver->scheme[size])
        return kiln__fail(err, KILN_INVALID,
                          "a driver for the scheme \"%.40s\"; expected at most %d lower-case letters, digits, '+', '-' "
                          "and '.', a letter first",
                          driver->scheme ? driver->scheme : "", KILN_SCHEME_SIZE - 1);
    if (!driver->open || !driver->close || !driver->get || !driver->put || !driver->exists)
        return kiln__fail(err, KILN_INVALID, "the driver for %s lacks open, close, get, put or exists", driver->scheme);
    if (!driver->lease != !driver->release)
        return kiln__fail(err, KILN_INVALID, "the driver for %s has one of lease and release without the other",
                          driver->scheme);
    return KILN_OK;
}

kiln_status kiln_remote_add(const kiln_remote_driver *driver, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (!driver) return kiln__fail(err, KILN_INVALID, "kiln_remote_add: no driver");
    kiln_status status = check(driver, err);
    if (status) return kiln__fail_as(err, status, "kiln_remote_add");
    struct added *mine = malloc(sizeof *mine);
    if (!mine) return kiln__no_memory(err, "a driver");
    mine->driver = driver;
    pthread_mutex_lock(&lock);
    mine->next = added;
    added = mine;
    pthread_mutex_unlock(&lock);
    return KILN_OK;
}

static const kiln_remote_driver *find_added(const char *scheme)
{
    const kiln_remote_driver *found = NULL;
    pthread_mutex_lock(&lock);
    for (const struct added *at = added; at && !found; at = at->next)
        if (!strcmp(at->driver->scheme, scheme)) found = at->driver;
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- libraries ------------------------------------------------------------------------------------------------ */

/* KILN_MISS: the library can't be opened, or has no driver for the scheme; `err` says which. */
static enum kiln_outcome find_in(const char *file, const char *scheme, const kiln_remote_driver **out, kiln_error *err)
{
    const void *symbol = NULL;
    struct kiln_buffer others = {0};
    if (kiln__open_beside(file, "kiln_remote_drivers", &symbol, err)) return KILN_MISS;
    for (const kiln_remote_driver *const *at = symbol; *at; at++) {
        const char *name = (*at)->scheme ? (*at)->scheme : "";
        if (!strcmp(name, scheme)) {
            kiln__buffer_release(&others);
            *out = *at;
            return kiln__outcome(check(*at, err), err);
        }
        kiln__buffer_printf(&others, "%s%.40s", others.size ? ", " : "", name);
    }
    kiln__fail(err, KILN_INVALID, "%s knows %s", file, others.size && !others.failed ? (char *)others.data : "none");
    kiln__buffer_release(&others);
    return KILN_MISS;
}

kiln_status kiln__driver_find(const char *scheme, const kiln_remote_driver **out, kiln_error *err)
{
    char file[KILN_SCHEME_SIZE + 32];
    kiln_error common = {KILN_OK, ""}, own = {KILN_OK, ""};
    if ((*out = find_added(scheme))) return KILN_OK;
    enum kiln_outcome outcome = find_in("libkiln-remote.so", scheme, out, &common);
    if (outcome == KILN_MISS) {
        snprintf(file, sizeof file, "libkiln-remote-%s.so", scheme);
        outcome = find_in(file, scheme, out, &own);
    }
    if (outcome == KILN_DONE) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "there is no driver for %s://; %.200s%s%.200s", scheme, common.text,
                      own.text[0] ? "; " : "", own.text);
}
