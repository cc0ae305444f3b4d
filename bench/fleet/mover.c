/*
 * mover.c - the floor: moves entries with libcurl or hiredis alone, over kept connections, a thread for each.
 *
 *     kiln-fleet-mover get|put URL CONNECTIONS <names
 *
 * `get` fetches every entry once. `put` fetches them first, without looking at the clock, and stores the same bytes
 * under other names. Any failure ends the program with status 1.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"

enum { MAX_CONNECTIONS = 64 };

static const struct mover *const movers[] = {&http_mover, &s3_mover, &redis_mover};

struct job {
    const struct mover *mover;
    const char *url;
    struct entry *entries;
    double *ns;
    size_t count;
    atomic_size_t next; /* the entry that the next free thread takes */
    atomic_bool has_failed;
    bool is_put;
};

static void *move(void *context)
{
    struct job *job = context;
    struct connection *connection = job->mover->open(job->url);
    bool is_fine = connection != NULL;
    for (size_t i; is_fine && (i = atomic_fetch_add(&job->next, 1)) < job->count;) {
        struct entry *entry = &job->entries[i];
        double start = now_ns();
        is_fine = job->is_put ? job->mover->put(connection, entry) : job->mover->get(connection, entry);
        job->ns[i] = now_ns() - start;
    }
    if (connection) job->mover->close(connection);
    if (!is_fine) atomic_store(&job->has_failed, true);
    return NULL;
}

/* All entries, by `connections` threads. Returns the time, 0 when it failed. */
static double move_all(struct job *job, int connections, bool is_put)
{
    pthread_t threads[MAX_CONNECTIONS];
    int started = 0;
    job->is_put = is_put;
    atomic_store(&job->next, 0);
    double start = now_ns();
    while (started < connections && pthread_create(&threads[started], NULL, move, job) == 0) started++;
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return started == connections && !atomic_load(&job->has_failed) ? now_ns() - start : 0;
}

static struct entry *read_names(size_t *count)
{
    struct entry *entries = NULL;
    char line[128];
    for (*count = 0; fgets(line, sizeof line, stdin); ++*count) {
        if (*count % 1024 == 0) entries = realloc(entries, (*count + 1024) * sizeof *entries);
        if (!entries) exit(1);
        entries[*count] = (struct entry){.data = NULL};
        snprintf(entries[*count].name, sizeof entries->name, "%.64s", line);
    }
    return entries;
}

static const struct mover *find_mover(const char *url)
{
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
        size_t length = strlen(movers[i]->scheme);
        if (strncmp(url, movers[i]->scheme, length) == 0 && strncmp(url + length, "://", 3) == 0) return movers[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int connections = argc == 4 ? atoi(argv[3]) : 0;
    struct job job = {.mover = argc == 4 ? find_mover(argv[2]) : NULL};
    if (!job.mover || connections < 1 || connections > MAX_CONNECTIONS) {
        fprintf(stderr, "use: kiln-fleet-mover get|put http|s3|redis://... CONNECTIONS <names\n");
        return 2;
    }
    job.url = argv[2];
    job.entries = read_names(&job.count);
    job.ns = calloc(job.count + 1, sizeof *job.ns);
    if (!job.count || !job.ns) return 1;
    double total = move_all(&job, connections, false), bytes = 0;
    if (total && strcmp(argv[1], "put") == 0) total = move_all(&job, connections, true);
    if (!total) return 1;
    for (size_t i = 0; i < job.count; i++) {
        bytes += (double)job.entries[i].size;
        free(job.entries[i].data);
    }
    print_times(job.ns, job.count, total, bytes);
    free(job.entries);
    free(job.ns);
    return 0;
}
