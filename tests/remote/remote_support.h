/*
 * remote_support.h - what tests of drivers share: libkiln-remote.so as Kiln opens it, entries, failures without
 * secrets, and the cases that every driver must pass.
 *
 * Passwords in tests are all SECRET, so that a text can be searched for it.
 */
#ifndef KILN_TESTS_REMOTE_SUPPORT_H
#define KILN_TESTS_REMOTE_SUPPORT_H

#include "kiln/remote.h"
#include "support/check.h"

#define SECRET "swordfish-4711"

enum { NAME_SIZE = 65, PATIENCE_MS = 60000 };

/* A driver and one of its remotes. */
struct remote {
    const kiln_remote_driver *driver;
    void *handle;
};

/* The driver of the URL's scheme; the test fails if there is none. */
const kiln_remote_driver *find_driver(const char *url);
/* Settings of the host are the variables of the environment. */
struct remote open_remote(const char *url);
#define open_remote(...) CHECK_CALL(open_remote, __VA_ARGS__)
void close_remote(struct remote *remote);

/* open() fails with this status, and its text has this part and no secret. */
void expect_no_remote(const char *url, kiln_status status, const char *part);
#define expect_no_remote(...) CHECK_CALL(expect_no_remote, __VA_ARGS__)

/* A text of a failure: it has this part, is not empty, and has no secret. */
void expect_text(const kiln_error *err, const char *part);
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

/* The name of entry `number` of this process. */
const char *entry_name(char out[NAME_SIZE], unsigned number);
/* The bytes of an entry, which differ from entry to entry; malloc(). */
unsigned char *entry_bytes(unsigned number, size_t size);

void put_entry(struct remote *remote, unsigned number, size_t size);
#define put_entry(...) CHECK_CALL(put_entry, __VA_ARGS__)
/* It is there with these bytes. */
void expect_entry(struct remote *remote, unsigned number, size_t size);
#define expect_entry(...) CHECK_CALL(expect_entry, __VA_ARGS__)
/* A get() of one entry that must give this status; for failures the text has this part. */
void expect_get(struct remote *remote, unsigned timeout_ms, kiln_status status, const char *part);
#define expect_get(...) CHECK_CALL(expect_get, __VA_ARGS__)
void expect_put(struct remote *remote, unsigned timeout_ms, kiln_status status, const char *part);
#define expect_put(...) CHECK_CALL(expect_put, __VA_ARGS__)
void expect_exists(struct remote *remote, unsigned timeout_ms, kiln_status status, const char *part);
#define expect_exists(...) CHECK_CALL(expect_exists, __VA_ARGS__)

/* The value of a variable that tests/remote/run.sh sets. */
const char *server_setting(const char *name);

/* ---- cases of every driver ----------------------------------------------------------------------------------------
 */

/* *state is the name of the variable that has the URL. */
void case_round_trip(void **state);
void case_many_entries(void **state);
void case_sizes(void **state);
void case_threads(void **state);
void case_fork(void **state);
void case_fork_inside(void **state);
void case_exit(void **state);
void case_names(void **state);

#define REMOTE_CASE(name, variable) {#name " " variable, case_##name, NULL, NULL, (void *)variable}
#define REMOTE_CASES(variable)                                                                                         \
    REMOTE_CASE(round_trip, variable), REMOTE_CASE(many_entries, variable), REMOTE_CASE(sizes, variable),              \
        REMOTE_CASE(threads, variable), REMOTE_CASE(fork, variable), REMOTE_CASE(fork_inside, variable),               \
        REMOTE_CASE(exit, variable), REMOTE_CASE(names, variable)

#endif
