/*
 * lease.c - see lease.h.
 */
#include "store/remotes/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/fork.h"

enum { LIFETIME_MS = 3000, RENEW_MS = 1000 };

static _Atomic uint64_t lifetime_limit_ms = LIFETIME_MS, renew_limit_ms = RENEW_MS;

void kiln__lease_set_limits(uint64_t lifetime_ms, uint64_t renew_ms)
{
    atomic_store(&lifetime_limit_ms, lifetime_ms ? lifetime_ms : LIFETIME_MS);
    atomic_store(&renew_limit_ms, renew_ms ? renew_ms : RENEW_MS);
}

static uint64_t renew_ms(void)
{
    return atomic_load(&renew_limit_ms);
}

static enum kiln_outcome ask(const struct kiln_lease *lease)
{
    return kiln__remote_lease(lease->remote, lease->name, lease->token, (unsigned)atomic_load(&lifetime_limit_ms),
                              lease->remote->timeout_ms);
}

static void renew(void *context)
{
    const struct kiln_lease *lease = context;
    if (ask(lease) == KILN_MISS)
        kiln__log(KILN_LOG_FAULT, "the lease on %s at remote %s is lost: another host may make the same", lease->name,
                  lease->remote->label);
}

/* No two leases have the same. */
static void make_token(char out[KILN_TOKEN_SIZE])
{
    static _Atomic uint32_t count;
    uint64_t random[2] = {0, 0};
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random[0] = kiln__clock_ns(), random[1] = (uint64_t)getpid() << 32 | atomic_fetch_add(&count, 1);
    snprintf(out, KILN_TOKEN_SIZE, "%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
}

enum kiln_outcome kiln__lease_take(struct kiln_remote *remote, const char *name,
                                   void (*release)(struct kiln_claim *claim), struct kiln_lease **out)
{
    struct kiln_lease *lease = calloc(1, sizeof *lease);
    if (!lease) return KILN_FAILED;
    lease->claim.release = release;
    lease->remote = remote;
    lease->forks = kiln__forks();
    snprintf(lease->name, sizeof lease->name, "%s", name);
    make_token(lease->token);
    enum kiln_outcome outcome = ask(lease);
    if (outcome != KILN_DONE) {
        free(lease);
        return outcome;
    }
    kiln__beat_start(&lease->beat, renew, lease, renew_ms);
    kiln__claim_add(&lease->claim);
    *out = lease;
    return KILN_DONE;
}

bool kiln__lease_is_ours(const struct kiln_lease *lease)
{
    return lease->forks == kiln__forks();
}

static void give_up(void *context)
{
    const struct kiln_lease *lease = context;
    kiln__remote_give_up_lease(lease->remote, lease->name, lease->token, lease->remote->timeout_ms);
}

void kiln__lease_expire_at(struct kiln_lease *lease, uint64_t until_ns)
{
    kiln__beat_expire_at(&lease->beat, until_ns, give_up);
}

void kiln__lease_end(struct kiln_lease *lease, unsigned timeout_ms)
{
    if (kiln__lease_is_ours(lease)) {
        kiln__beat_stop(&lease->beat);
        kiln__remote_give_up_lease(lease->remote, lease->name, lease->token, timeout_ms);
    }
    free(lease);
}
