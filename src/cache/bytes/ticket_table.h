/*
 * ticket_table.h - who in this process has a ticket for the bytes of others, and which threads wait for it. Inside the
 * cache layer.
 *
 * Of those who want to make the bytes of a key, one gets the ticket here first; then it asks other processes and hosts
 * for theirs (store/ticket.h). Threads of this process wait for the first, whatever it waits for. Nobody holds a lock
 * while waiting. A forked child has none of its parent's tickets, and can only free them.
 */
#ifndef KILN_CACHE_BYTES_TICKET_TABLE_H
#define KILN_CACHE_BYTES_TICKET_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "key/content.h"
#include "store/ticket.h"

/* Inside of struct kiln_cache. */
struct kiln_ticket_table {
    pthread_mutex_t lock; /* guards the list and the tickets in it */
    struct kiln_store_ticket *first;
};

struct kiln_store_ticket {
    struct kiln_store_ticket *next;  /* in the table */
    struct kiln_ticket_table *table; /* NULL: it was closed */
    struct kiln_content_key key;
    struct kiln_ticket shared;    /* among processes and hosts; its holder's */
    char *name;                   /* for people; may be NULL; the holder's */
    uint64_t since_ns;            /* when the holder began to make the bytes; the holder's */
    _Atomic uint64_t expires_ns;  /* from then on it is nothing; UINT64_MAX while it is asked for */
    pid_t thread;                 /* that got it */
    unsigned forks;               /* kiln__forks() when it was made */
    unsigned refs;                /* the holder and those who wait */
    struct kiln_artifact *stored; /* what was put; NULL: nothing was */
    pthread_mutex_t waiting;      /* guards `is_over`, which is written with the table's lock too; taken after it */
    pthread_cond_t changed;
    bool is_over;
};

void kiln__tickets_init(struct kiln_ticket_table *table);
/* Nobody waits any more. Tickets that are held make nobody wait from here on; their holders free them. */
void kiln__tickets_release(struct kiln_ticket_table *table);

/*
 * A ticket for the key, or what another thread has put while we waited for its ticket, until `until_ns`. KILN_DONE:
 * *stored is the caller's reference. KILN_MISS: *out is ours; NULL: another thread has it, or this one. KILN_FAILED:
 * out of memory.
 */
enum kiln_outcome kiln__tickets_take(struct kiln_ticket_table *table, const struct kiln_content_key *key,
                                     uint64_t until_ns, struct kiln_store_ticket **out, struct kiln_artifact **stored,
                                     kiln_error *err);
/* The holder begins to make the bytes; until then others wait. */
void kiln__tickets_hold(struct kiln_store_ticket *ticket, uint64_t expires_ns);
/* What was put under a key: all tickets for it are over, and who waits for one gets it. */
void kiln__tickets_put(struct kiln_ticket_table *table, struct kiln_artifact *stored);
/* Others go on; then it is freed, with what it shares among processes. NULL is fine. */
void kiln__tickets_end(struct kiln_store_ticket *ticket);

#endif
