/*
 * remote_support.c - see remote_support.h.
 */
#include "remote/remote_support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- drivers ----------------------------------------------------------------------------------------------------- */

static const char *setting(const char *name)
{
    return getenv(name);
}

static void log_line(const char *text)
{
    CHECK_TRUE(!strstr(text, SECRET));
}

static const kiln_remote_host host = {sizeof host, setting, log_line};

static const kiln_remote_driver *const *load(void)
{
    static const kiln_remote_driver *const *drivers;
    if (drivers) return drivers;
    void *library = dlopen(KILN_REMOTE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) CHECK_FAIL("%s", dlerror());
    drivers = dlsym(library, "kiln_remote_drivers");
    CHECK_NOT_NULL(drivers);
    return drivers;
}

const kiln_remote_driver *find_driver(const char *url)
{
    size_t size = strcspn(url, ":");
    for (const kiln_remote_driver *const *driver = load(); *driver; driver++) {
        CHECK_EQ((*driver)->struct_size, sizeof **driver);
        if (strlen((*driver)->scheme) == size && !memcmp((*driver)->scheme, url, size)) return *driver;
    }
    CHECK_FAIL("no driver for %s", url);
}

struct remote(open_remote)(const char *url)
{
    struct remote remote = {find_driver(url), NULL};
    kiln_error err = {0};
    CHECK_OK(remote.driver->open(url, &host, &remote.handle, &err), &err);
    CHECK_NOT_NULL(remote.handle);
    return remote;
}

void close_remote(struct remote *remote)
{
    remote->driver->close(remote->handle);
    remote->handle = NULL;
}

void(expect_text)(const kiln_error *err, const char *part)
{
    CHECK_CONTAINS(err->text, part);
    CHECK_GT(strlen(err->text), 0);
    if (strstr(err->text, SECRET)) CHECK_FAIL("a secret is told: %s", err->text);
}

void(expect_no_remote)(const char *url, kiln_status status, const char *part)
{
    kiln_error err = {0};
    void *handle = NULL;
    CHECK_STATUS(find_driver(url)->open(url, &host, &handle, &err), status, &err);
    CHECK_NULL(handle);
    CHECK_EQ(err.status, status);
    expect_text(&err, part);
    CHECK_STATUS(find_driver(url)->open(url, &host, &handle, NULL), status);
}

const char *server_setting(const char *name)
{
    const char *value = getenv(name);
    if (!value) CHECK_FAIL("%s is not set; tests/remote/run.sh sets it", name);
    return value;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

const char *entry_name(char out[NAME_SIZE], unsigned number)
{
    snprintf(out, NAME_SIZE, "%08x%056x", number * 2654435761u, number);
    return out;
}

unsigned char *entry_bytes(unsigned number, size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    CHECK_NOT_NULL(bytes);
    uint32_t state = number + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(state >> 24);
    }
    return bytes;
}

void(put_entry)(struct remote *remote, unsigned number, size_t size)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    unsigned char *bytes = entry_bytes(number, size);
    entry_name(name, number);
    CHECK_OK(remote->driver->put(remote->handle, name, (kiln_bytes){bytes, size}, NULL, PATIENCE_MS, &err), &err);
    free(bytes);
}

static void expect_bytes(const kiln_remote_entry *entry, unsigned number, size_t size)
{
    CHECK_CONTEXT("entry %u of %zu bytes", number, size);
    unsigned char *bytes = entry_bytes(number, size);
    CHECK_EQ(entry->status, KILN_OK);
    CHECK_EQ(entry->size, size);
    if (size) CHECK_MEM(entry->data, bytes, size);
    free(bytes);
}

void(expect_entry)(struct remote *remote, unsigned number, size_t size)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    kiln_remote_entry entry = {.name = entry_name(name, number)};
    CHECK_OK(remote->driver->get(remote->handle, &entry, 1, PATIENCE_MS, &err), &err);
    expect_bytes(&entry, number, size);
    free(entry.data);
}

/* Failures: the text, once more without one, and outputs untouched. */
static void check_outcome(kiln_status got, kiln_status status, const kiln_error *err, const char *part)
{
    CHECK_STATUS(got, status, err);
    if (status >= 0) return;
    CHECK_EQ(err->status, status);
    expect_text(err, part);
}

void(expect_get)(struct remote *remote, unsigned timeout_ms, kiln_status status, const char *part)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    kiln_remote_entry entry = {.name = entry_name(name, 1)};
    kiln_status got = remote->driver->get(remote->handle, &entry, 1, timeout_ms, &err);
    check_outcome(got, status < 0 ? status : KILN_OK, &err, part);
    CHECK_EQ(entry.status, status);
    if (status) CHECK_NULL(entry.data);
    free(entry.data);
}

void(expect_put)(struct remote *remote, unsigned timeout_ms, kiln_status status, const char *part)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    entry_name(name, 1);
    check_outcome(remote->driver->put(remote->handle, name, (kiln_bytes){"bytes", 5}, NULL, timeout_ms, &err), status,
                  &err, part);
}

void(expect_exists)(struct remote *remote, unsigned timeout_ms, kiln_status status, const char *part)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    bool exists = false;
    entry_name(name, 1);
    kiln_status got = remote->driver->exists(remote->handle, name, &exists, timeout_ms, &err);
    check_outcome(got, status < 0 ? status : KILN_OK, &err, part);
    CHECK_EQ(exists, status == KILN_OK);
}

/* ---- cases of every driver --------------------------------------------------------------------------------------- */

void case_round_trip(void **state)
{
    struct remote remote = open_remote(server_setting(*state));
    expect_get(&remote, PATIENCE_MS, KILN_REMOTE_ABSENT, "");
    expect_exists(&remote, PATIENCE_MS, KILN_REMOTE_ABSENT, "");
    expect_put(&remote, PATIENCE_MS, KILN_OK, "");
    expect_get(&remote, PATIENCE_MS, KILN_OK, "");
    expect_exists(&remote, PATIENCE_MS, KILN_OK, "");
    put_entry(&remote, 1, 10000); /* in the place of the first */
    expect_entry(&remote, 1, 10000);
    struct remote other = open_remote(server_setting(*state)); /* another connection */
    expect_entry(&other, 1, 10000);
    close_remote(&other);
    close_remote(&remote);
}

/* 1,000 entries of one get, every third of them absent; twice, the second time over kept connections. */
void case_many_entries(void **state)
{
    enum { COUNT = 1000, FIRST = 1000 };
    static char names[COUNT][NAME_SIZE];
    static kiln_remote_entry entries[COUNT];
    struct remote remote = open_remote(server_setting(*state));
    kiln_error err = {0};
    for (unsigned i = 0; i < COUNT; i++)
        if (i % 3) put_entry(&remote, FIRST + i, i * 7);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < COUNT; i++)
            entries[i] = (kiln_remote_entry){entry_name(names[i], FIRST + i), (void *)"junk", 4, KILN_OK};
        CHECK_OK(remote.driver->get(remote.handle, entries, COUNT, PATIENCE_MS, &err), &err);
        for (unsigned i = 0; i < COUNT; i++) {
            if (i % 3)
                expect_bytes(&entries[i], FIRST + i, i * 7);
            else
                CHECK_EQ(entries[i].status, KILN_REMOTE_ABSENT);
            if (!(i % 3)) CHECK_NULL(entries[i].data);
            free(entries[i].data);
        }
    }
    close_remote(&remote);
}

void case_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, 50000000};
    struct remote remote = open_remote(server_setting(*state));
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put_entry(&remote, 10 + i, sizes[i]);
        expect_entry(&remote, 10 + i, sizes[i]);
    }
    close_remote(&remote);
}

struct worker {
    struct remote *remote;
    unsigned first;
    atomic_uint *done;
};

enum { WORKERS = 8, ROUNDS = 50 };

/* Checks of other threads than the test's can't end it, so this one counts. */
static void *work(void *context)
{
    struct worker *worker = context;
    const kiln_remote_driver *driver = worker->remote->driver;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char names[2][NAME_SIZE];
        size_t size = 100 * i;
        unsigned number = worker->first + i;
        unsigned char *bytes = entry_bytes(number, size);
        kiln_remote_entry entries[] = {{.name = entry_name(names[0], number)}, {.name = entry_name(names[1], 999999)}};
        bool is_well =
            !driver->put(worker->remote->handle, names[0], (kiln_bytes){bytes, size}, NULL, PATIENCE_MS, NULL) &&
            !driver->get(worker->remote->handle, entries, 2, PATIENCE_MS, NULL) && entries[0].size == size &&
            (!size || !memcmp(entries[0].data, bytes, size)) && entries[1].status == KILN_REMOTE_ABSENT;
        if (is_well) atomic_fetch_add(worker->done, 1);
        free(entries[0].data);
        free(bytes);
    }
    return NULL;
}

void case_threads(void **state)
{
    struct remote remote = open_remote(server_setting(*state));
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    atomic_uint done = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){&remote, 100000 + 1000 * i, &done};
        CHECK_EQ(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(done, WORKERS * ROUNDS);
    close_remote(&remote);
}

/* What a child does with a remote of its parent; the exit status says how far it came. */
static int use_in_child(struct remote *remote, unsigned number)
{
    char name[NAME_SIZE];
    kiln_remote_entry entry = {.name = entry_name(name, number)};
    if (remote->driver->get(remote->handle, &entry, 1, PATIENCE_MS, NULL)) return 1;
    if (entry.size != 5000) return 2;
    free(entry.data);
    if (remote->driver->put(remote->handle, name, (kiln_bytes){"", 0}, NULL, PATIENCE_MS, NULL)) return 3;
    remote->driver->close(remote->handle);
    return 0;
}

/* Parent and child use one remote in turns: each has its own connections, and neither hears the other's answers. */
void case_fork(void **state)
{
    enum { CHILDREN = 8 };
    struct remote remote = open_remote(server_setting(*state));
    for (unsigned i = 0; i < CHILDREN; i++) put_entry(&remote, 30 + i, 5000);
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = fork();
        if (!child) _exit(use_in_child(&remote, 30 + i));
        expect_entry(&remote, 30 + (i + 1) % CHILDREN, i + 1 < CHILDREN ? 5000 : 0);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        expect_entry(&remote, 30 + i, 0); /* the parent's connection is whole after the child closed its remote */
    }
    close_remote(&remote);
}

struct busy {
    struct remote *remote;
    atomic_bool stops;
    atomic_uint gets;
};

static void *keep_busy(void *context)
{
    struct busy *busy = context;
    for (; !atomic_load(&busy->stops); atomic_fetch_add(&busy->gets, 1)) {
        char name[NAME_SIZE];
        kiln_remote_entry entry = {.name = entry_name(name, 50)};
        if (!busy->remote->driver->get(busy->remote->handle, &entry, 1, PATIENCE_MS, NULL)) free(entry.data);
    }
    return NULL;
}

/* A fork while other threads are inside of the driver leaves the child nothing that is locked. The allocators of the
 * sanitizers do leave something locked, so they are not asked. */
void case_fork_inside(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK_SKIP();
#endif
    enum { THREADS = 2, CHILDREN = 20 };
    struct remote remote = open_remote(server_setting(*state));
    struct busy busy = {.remote = &remote};
    pthread_t threads[THREADS];
    put_entry(&remote, 50, 5000);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, keep_busy, &busy), 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        unsigned gets = busy.gets;
        while (busy.gets < gets + 3) sched_yield();
        pid_t child = fork();
        if (!child) {
            alarm(120); /* a child that waits for a lock for ever */
            char name[NAME_SIZE];
            kiln_remote_entry entry = {.name = entry_name(name, 50)};
            kiln_status got = remote.driver->get(remote.handle, &entry, 1, PATIENCE_MS, NULL);
            _exit(got || entry.size != 5000);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    busy.stops = true;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    close_remote(&remote);
}

/* exit() while other threads are inside of the driver: they must not find what they use taken away. */
void case_exit(void **state)
{
    enum { THREADS = 4, CHILDREN = 20 };
    struct remote remote = open_remote(server_setting(*state));
    put_entry(&remote, 50, 5000);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            struct busy *busy = calloc(1, sizeof *busy);
            pthread_t thread;
            busy->remote = &remote;
            for (int j = 0; j < THREADS; j++)
                if (pthread_create(&thread, NULL, keep_busy, busy)) _exit(1);
            while (busy->gets < 20) sched_yield();
            exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    close_remote(&remote);
}

void case_names(void **state)
{
    static const char *const wrong[] = {"", "abc",
                                        "../../../../../../../../../../../../../../../../../../../../etc/passwd",
                                        "ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789",
                                        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"};
    struct remote remote = open_remote(server_setting(*state));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kiln_error err = {0};
        bool exists = true;
        kiln_remote_entry entry = {.name = wrong[i]};
        CHECK_STATUS(remote.driver->get(remote.handle, &entry, 1, PATIENCE_MS, &err), KILN_INVALID, &err);
        CHECK_EQ(entry.status, KILN_INVALID);
        CHECK_STATUS(remote.driver->exists(remote.handle, wrong[i], &exists, PATIENCE_MS, &err), KILN_INVALID, &err);
        CHECK_TRUE(exists);
        CHECK_STATUS(remote.driver->put(remote.handle, wrong[i], (kiln_bytes){"", 0}, NULL, PATIENCE_MS, &err),
                     KILN_INVALID, &err);
    }
    close_remote(&remote);
}
