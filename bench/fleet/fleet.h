/*
 * fleet.h - what the programs of bench/fleet share: times of single operations, and the line that run.sh reads.
 *
 * kiln-fleet-load moves entries through Kiln, kiln-fleet-mover moves the same bytes by hand: the floor. Both print one
 * line of the same form.
 */
#ifndef KILN_BENCH_FLEET_H
#define KILN_BENCH_FLEET_H

#include <stdbool.h>
#include <stddef.h>

double now_ns(void);

/* Prints `entries per second, p50 and p99 in microseconds, bytes`; sorts `ns`. */
void print_times(double *ns, size_t count, double total_ns, double bytes);

/* ---- by hand ------------------------------------------------------------------------------------------------- */

struct entry {
    char name[65];
    void *data; /* of malloc() */
    size_t size;
};

/* One connection to a server, used by one thread. Failures are said on stderr. */
struct connection;
struct mover {
    const char *scheme;
    struct connection *(*open)(const char *url);
    bool (*get)(struct connection *connection, struct entry *entry);
    /* Under a name of its own, so that what Kiln has put stays. */
    bool (*put)(struct connection *connection, const struct entry *entry);
    void (*close)(struct connection *connection);
};
extern const struct mover http_mover, s3_mover, redis_mover;

#endif
