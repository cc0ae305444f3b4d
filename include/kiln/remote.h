/*
 * kiln/remote.h - what a store of artifacts on the network must be able to do: for sites that bring their own.
 *
 * A remote is a store of named bytes that many hosts share. Kiln asks it for what its folder lacks, before the compiler
 * runs, and gives it what was compiled. A driver knows how to talk to one kind of store and is chosen by the scheme of
 * the URL in KILN_REMOTE. libkiln-remote.so has http, https, s3, redis and redis+unix; docs/remotes.md says how such
 * servers are set up.
 *
 * Bring your own. Fill a kiln_remote_driver, and either hand it to kiln_remote_add() before the cache is opened, or
 * build it into libkiln-remote-SCHEME.so, installed beside libkiln.so, which defines
 *
 *     const kiln_remote_driver *const kiln_remote_drivers[] = {&mine, NULL};
 *
 * Such a library is opened when a URL of its scheme is first used, and never closed. Needed are open, close, get, put
 * and exists. lease and release are for stores that can compare and set; without them each host compiles for itself
 * what is not there yet.
 *
 * What a driver need not do: it never judges bytes. Kiln bounds, decodes and compares what arrives, and checks its
 * signature; a store that loses, mixes up or damages entries costs compiles and nothing else. Nor does it repeat what
 * failed, beyond a kept connection that turns out to be dead: Kiln leaves a faulty remote alone for a growing pause.
 *
 * Threads. Every function may be called from any thread, several at once, also on one remote, except that close() comes
 * when no other call uses the remote. Callers hold off cancellation. A driver keeps its connections for calls that
 * follow, must not raise SIGPIPE or change how signals are handled, and threads that it starts block all signals.
 *
 * fork() may be called at any time, also while other threads are inside of the driver. The child may go on to use the
 * remote: it must not wait for a lock that a thread of its parent held, nor use or shut down a connection of its
 * parent. Pages of parent and child differ from then on, so a connection that remembers the getpid() of who opened it
 * is enough.
 *
 * Time. `timeout_ms` is at least 1 and bounds the whole call: looking up the host's name, connecting, and every entry.
 * A call that can't be finished by then gives up, says so, and keeps no connection in an unknown state.
 *
 * Outcomes. KILN_OK; a positive status, which is an answer and no fault; or a failure, with a text in `err` (may be
 * NULL) that says what was wrong and what would be right: KILN_IO for a fault of the store or of the way to it,
 * KILN_INVALID for a call or a URL that can never work, KILN_NO_MEMORY. A failure leaves outputs untouched, except
 * where a comment says otherwise. No text and no line of the log may hold a password, a key, a token or a URL with one.
 */
#ifndef KILN_REMOTE_H
#define KILN_REMOTE_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most that one entry holds, and that the entries of one get() hold together. A driver stops to receive what turns
 * out to be larger: KILN_IO. */
#define KILN_REMOTE_MAX_BYTES ((size_t)256 << 20)
#define KILN_REMOTE_MAX_TOTAL ((size_t)1 << 30)

/* What Kiln does for a driver. Lives as long as the process. */
typedef struct kiln_remote_host {
    size_t struct_size; /* sizeof(kiln_remote_host) of the library that runs: fields beyond it are not there */
    /*
     * The value of a setting by the name of its variable ("KILN_REMOTE_TTL"): from the environment, else from the
     * configuration files. NULL: nowhere, or not to be believed here, as in a set-user-id program. To be copied at
     * once; rules for threads as getenv(). Variables of others (AWS_PROFILE, NETRC) are read with secure_getenv().
     */
    const char *(*setting)(const char *name);
    /* One line for people under KILN_LOG, without a newline. Not for failures: those are returned. */
    void (*log)(const char *text);
} kiln_remote_host;

/* One of the entries that a get() asks for. */
typedef struct kiln_remote_entry {
    const char *name; /* set by Kiln: 64 lower-case hexadecimal digits */
    void *data;  /* set by get(): memory of malloc(), which Kiln frees; NULL unless status is KILN_OK, and it may be
                  * NULL for an entry of no bytes */
    size_t size; /* bytes at `data` */
    kiln_status status; /* KILN_OK, KILN_REMOTE_ABSENT: the store has no such entry, or why it is not known */
} kiln_remote_entry;

typedef struct kiln_remote_driver {
    size_t struct_size; /* sizeof(kiln_remote_driver) */
    const char *scheme; /* "http": what stands before "://", in lower case: letters, digits, '+', '-' and '.' */
    /*
     * Makes a remote of a URL without connecting: reads it, and settings and files with credentials. `url` is to be
     * copied, `host` may be kept. KILN_INVALID: what the URL or a setting says can't be used.
     */
    kiln_status (*open)(const char *url, const kiln_remote_host *host, void **remote, kiln_error *err);
    /* Closes connections and frees everything, without waiting for the server. In a forked child too. */
    void (*close)(void *remote);
    /*
     * Fetches `count` (at least 1) entries together, in one round trip where the protocol can, not one after the other.
     * Every entry gets its status. KILN_OK: each one was answered, with bytes or with KILN_REMOTE_ABSENT. Otherwise the
     * first failure: entries that were answered before it or in spite of it have their bytes, all others a failure.
     */
    kiln_status (*get)(void *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms, kiln_error *err);
    /*
     * Stores bytes (at most KILN_REMOTE_MAX_BYTES) under a name, in place of what was there. Readers must see the old
     * or the new entry and never a part of one. `token`: stored only if the lease on the name is still held with this
     * token, in one step; KILN_REMOTE_LEASE_LOST: it is not, and nothing was stored. NULL: no lease is asked for. A
     * store without leases takes no notice of it.
     */
    kiln_status (*put)(void *remote, const char *name, kiln_bytes bytes, const char *token, unsigned timeout_ms,
                       kiln_error *err);
    /* Is there such an entry? Without fetching it. */
    kiln_status (*exists)(void *remote, const char *name, bool *out, unsigned timeout_ms, kiln_error *err);
    /*
     * Takes the lease on a name, or renews it when this token holds it: it is ours for `lifetime_ms` from now on, then
     * anybody's. *is_ours false: somebody else holds it. A token is text that no other caller uses, at most 64 letters,
     * digits and '-'. A lease says who makes an entry; it is not needed to get or put one. NULL: the store has no
     * leases.
     */
    kiln_status (*lease)(void *remote, const char *name, const char *token, unsigned lifetime_ms, bool *is_ours,
                         unsigned timeout_ms, kiln_error *err);
    /* Gives the lease up if this token holds it. KILN_OK also when it does not. NULL where `lease` is. */
    kiln_status (*release)(void *remote, const char *name, const char *token, unsigned timeout_ms, kiln_error *err);
} kiln_remote_driver;

/*
 * Makes a driver known to this process, in front of those of libkiln-remote.so and of others with the same scheme that
 * were added before. For caches that are opened later. The table is not copied: it must live as long as the process.
 * KILN_INVALID: a struct_size that is not one of this or an earlier version, a scheme that is none, or one of the
 * needed functions is NULL, or one of lease and release alone.
 */
kiln_status kiln_remote_add(const kiln_remote_driver *driver, kiln_error *err);

/* What a try of a remote showed. */
typedef struct kiln_remote_trial {
    size_t struct_size; /* sizeof(kiln_remote_trial), set by the caller */
    char label[1024];   /* the URL, without secrets */
    /* read.status: KILN_OK, an entry came back whole, and somebody who is trusted here has signed it;
     * KILN_REMOTE_ABSENT, the store answers and has no such entry; or a failure, with its text. */
    kiln_error read;
    /* write.status: KILN_OK, the entry was put; KILN_REMOTE_ABSENT, KILN_SIGN_KEY is not set, so nothing is put from
     * here; or a failure, with its text. */
    kiln_error write;
    uint64_t round_trip_ns; /* of a read on a connection that was kept; 0: there was no answer */
    bool has_leases;        /* the driver's store can make hosts wait for each other */
} kiln_remote_trial;

/*
 * For tools: tries the remote number `index` of KILN_REMOTE. Where this machine signs, a small entry is put, always the
 * same one; it is read back, or looked for. Each request takes at most KILN_REMOTE_TIMEOUT. KILN_REMOTE_ABSENT: there
 * are not so many. A failure, and `out` has its label only: the remote can't be used here at all, and the text says
 * why: no such scheme, no URL, nobody is trusted here.
 */
kiln_status kiln_remote_try(size_t index, kiln_remote_trial *out, kiln_error *err);

#ifdef __cplusplus
}
#endif

#endif
