/*
 * lock.h - single flight across processes: one of them compiles an artifact, the others wait for it. Inside the store
 * layer.
 *
 * A lock is a file beside the artifact. It only ever saves work: whatever goes wrong with it, the worst is a second
 * compile of the same bytes. It needs hard links, or renaming without replacing; and flock(2), without which two may
 * take one dead lock over. Its holder writes who it is and renews the file's time (the heartbeat) from a thread of its
 * own. One of the others takes the lock over when the holder is known to be gone, or when the heartbeat stands still
 * for as long as `stale`; by their own clocks, so clocks of several machines need not agree. A holder that lives is
 * waited for as long as the caller says: for a compile `wait` or ten times the longest one of this process, whichever
 * is more; then everybody compiles on their own. Format: docs/formats/lock.md
 */
#ifndef KILN_STORE_LOCK_H
#define KILN_STORE_LOCK_H

#include "base/status.h"

struct kiln_lock;

/*
 * Takes the lock at `path`, in a folder that exists, or waits until the file `artifact` is there, or until `until_ns`
 * (0: waits for nobody). *out is NULL when the lock isn't held: the artifact came, or another has held it all the time.
 * KILN_DONE: the artifact is there now. KILN_MISS: it isn't: make it. KILN_FAILED: the lock can't be used; KILN_IO
 * leaves errno, which is ENOENT when there is no such folder.
 */
enum kiln_outcome kiln__lock_take(const char *path, const char *artifact, uint64_t until_ns, struct kiln_lock **out,
                                  kiln_error *err);
/*
 * Until when this thread may wait for others that compile. 0, not at all, when it holds a lock, since the other's
 * holder might wait for this one; is_last says that whoever holds that lock takes no further ones, which makes waiting
 * for it safe.
 */
uint64_t kiln__lock_until(bool is_last);

/* Call it after the artifact was put, on the thread that took it, or on any once that one holds it no more
 * (kiln__lock_detach); NULL is fine. */
void kiln__lock_release(struct kiln_lock *lock);
/* The lock stays, but this thread holds it no more (store/claim.h); how long that takes says nothing about compiles.
 * NULL is fine. */
void kiln__lock_detach(struct kiln_lock *lock);
/* What was done until now under the lock was waiting: only what follows is a compile. NULL is fine. */
void kiln__lock_restart(struct kiln_lock *lock);
/* At that time the file is removed, and others go on; the lock is still to be released. NULL is fine. */
void kiln__lock_expire_at(struct kiln_lock *lock, uint64_t until_ns);
/* The longest that anybody is waited for: see above. */
uint64_t kiln__lock_wait_ns(void);

/* `name` of a file beside artifacts is a lock's, or that of one being made. */
bool kiln__lock_is_name(const char *name);
/* It is one being made by a process that is known to be gone. */
bool kiln__lock_is_abandoned(const char *name);

/* For tests. 0 is the default: 10 s and 5 s. */
void kiln__lock_set_limits(uint64_t wait_ms, uint64_t stale_ms);

#endif
