/*
 * test_remote_redis.c - redis and redis+unix against redis-server. tests/remote/run.sh starts the servers.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/remote_support.h"

/* Another client of the server at this port: says a line, reads the first line of the reply. */
static const char *ask(const char *port, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *ask(const char *port, const char *format, ...)
{
    static char reply[256];
    char line[512];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(line, sizeof line - 2, format, list);
    va_end(list);
    strcpy(line + size, "\r\n");
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(send(fd, line, (size_t)size + 2, 0), size + 2);
    size_t used = 0;
    while (used + 1 < sizeof reply && recv(fd, reply + used, 1, 0) == 1 && reply[used] != '\n') used++;
    reply[used] = '\0';
    close(fd);
    return reply;
}

static const char *main_port(void)
{
    return server_setting("REMOTE_REDIS_PORT");
}

/* Keys, and expiry by last use. */
static void test_expiry(void **state)
{
    (void)state;
    char name[NAME_SIZE];
    entry_name(name, 60);
    setenv("KILN_REMOTE_TTL", "5000", 1);
    struct remote remote = open_remote(server_setting("REMOTE_REDIS"));
    unsetenv("KILN_REMOTE_TTL");
    put_entry(&remote, 60, 100);
    CHECK_BETWEEN(atoi(ask(main_port(), "TTL kiln:%s", name) + 1), 4000, 5000);
    CHECK_STR(ask(main_port(), "STRLEN kiln:%s", name), ":100\r");
    CHECK_STR(ask(main_port(), "EXPIRE kiln:%s 1000", name), ":1\r");
    bool exists;
    CHECK_STATUS(remote.driver->exists(remote.handle, name, &exists, PATIENCE_MS, NULL), KILN_OK);
    CHECK_LE(atoi(ask(main_port(), "TTL kiln:%s", name) + 1), 1000); /* to look is no use */
    expect_entry(&remote, 60, 100);
    CHECK_BETWEEN(atoi(ask(main_port(), "TTL kiln:%s", name) + 1), 4000, 5000);
    close_remote(&remote);
    remote = open_remote(server_setting("REMOTE_REDIS"));
    put_entry(&remote, 60, 100);
    CHECK_BETWEEN(atoi(ask(main_port(), "TTL kiln:%s", name) + 1), 2500000, 30 * 24 * 3600);
    close_remote(&remote);
}

static void test_databases(void **state)
{
    (void)state;
    char url[128];
    snprintf(url, sizeof url, "redis://127.0.0.1:%s/3", main_port());
    struct remote third = open_remote(url), first = open_remote(server_setting("REMOTE_REDIS"));
    char name[NAME_SIZE];
    entry_name(name, 61);
    kiln_remote_entry entry = {.name = name};
    put_entry(&third, 61, 10);
    expect_entry(&third, 61, 10);
    CHECK_STATUS(first.driver->get(first.handle, &entry, 1, PATIENCE_MS, NULL), KILN_OK);
    CHECK_EQ(entry.status, KILN_REMOTE_ABSENT);
    close_remote(&first);
    close_remote(&third);
    snprintf(url, sizeof url, "redis://127.0.0.1:%s/1000", main_port());
    struct remote none = open_remote(url);
    expect_get(&none, PATIENCE_MS, KILN_IO, "Redis refuses: it has no database of this number");
    close_remote(&none);
}

static void expect_password_works(const char *url)
{
    struct remote remote = open_remote(url);
    put_entry(&remote, 5, 500);
    expect_entry(&remote, 5, 500);
    close_remote(&remote);
}

/* In the URL, in a variable, in a file; wrong, missing, and one that the server does not want. */
static void test_password(void **state)
{
    (void)state;
    char bare[128], url[256], path[] = "/tmp/kiln-password-XXXXXX";
    const char *port = server_setting("REMOTE_GUARDED_PORT");
    snprintf(bare, sizeof bare, "redis://127.0.0.1:%s", port);
    struct remote remote = open_remote(bare);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "Redis refuses: it asks for a password, which comes from the URL");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "it asks for a password");
    close_remote(&remote);
    snprintf(url, sizeof url, "redis://:wrong-%s@127.0.0.1:%s/", SECRET, port);
    remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "Redis refuses: the name or the password is not the right one");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "the name or the password is not the right one");
    close_remote(&remote);
    snprintf(url, sizeof url, "redis://:%s@127.0.0.1:%s/", SECRET, port);
    expect_password_works(url);
    snprintf(url, sizeof url, "redis://default:%s@127.0.0.1:%s/2", SECRET, port);
    expect_password_works(url);
    setenv("REDISCLI_AUTH", SECRET, 1);
    expect_password_works(bare);
    setenv("REDISCLI_AUTH", "wrong-" SECRET, 1);
    int fd = mkstemp(path);
    CHECK_EQ(write(fd, SECRET "\n", 15), 15);
    close(fd);
    setenv("KILN_REDIS_PASSWORD_FILE", path, 1);
    expect_password_works(bare);
    unsetenv("KILN_REDIS_PASSWORD_FILE");
    unlink(path);
    remote = open_remote(server_setting("REMOTE_REDIS"));
    expect_get(&remote, PATIENCE_MS, KILN_IO, "it has no password, yet one is set for it");
    close_remote(&remote);
    unsetenv("REDISCLI_AUTH");
}

/* ---- leases -------------------------------------------------------------------------------------------------------
 */

static bool lease(struct remote *remote, const char *token, unsigned lifetime_ms)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    bool is_ours = false;
    entry_name(name, 70);
    CHECK_OK(remote->driver->lease(remote->handle, name, token, lifetime_ms, &is_ours, PATIENCE_MS, &err), &err);
    return is_ours;
}

static void release(struct remote *remote, const char *token)
{
    char name[NAME_SIZE];
    kiln_error err = {0};
    entry_name(name, 70);
    CHECK_OK(remote->driver->release(remote->handle, name, token, PATIENCE_MS, &err), &err);
}

static kiln_status put_with(struct remote *remote, const char *token, const char *bytes)
{
    char name[NAME_SIZE];
    entry_name(name, 70);
    return remote->driver->put(remote->handle, name, (kiln_bytes){bytes, strlen(bytes)}, token, PATIENCE_MS, NULL);
}

static void expect_stored(struct remote *remote, const char *bytes)
{
    char name[NAME_SIZE];
    kiln_remote_entry entry = {.name = entry_name(name, 70)};
    CHECK_STATUS(remote->driver->get(remote->handle, &entry, 1, PATIENCE_MS, NULL), KILN_OK);
    CHECK_EQ(entry.status, bytes ? KILN_OK : KILN_REMOTE_ABSENT);
    if (bytes) CHECK_MEM(entry.data, bytes, strlen(bytes));
    free(entry.data);
}

enum { LONG_MS = 1000000 };

static void test_lease(void **state)
{
    (void)state;
    char name[NAME_SIZE];
    struct remote remote = open_remote(server_setting("REMOTE_REDIS"));
    entry_name(name, 70);
    CHECK_TRUE(lease(&remote, "one", LONG_MS));
    CHECK_FALSE(lease(&remote, "two", LONG_MS));
    CHECK_TRUE(lease(&remote, "one", 2 * LONG_MS)); /* renewed */
    CHECK_GT(atoi(ask(main_port(), "PTTL kiln:lease:%s", name) + 1), LONG_MS);
    release(&remote, "two"); /* not its own */
    CHECK_FALSE(lease(&remote, "two", LONG_MS));
    CHECK_EQ(put_with(&remote, "two", "by two"), KILN_REMOTE_LEASE_LOST);
    expect_stored(&remote, NULL);
    CHECK_EQ(put_with(&remote, "one", "by one"), KILN_OK);
    expect_stored(&remote, "by one");
    CHECK_GT(atoi(ask(main_port(), "TTL kiln:%s", name) + 1), 2500000);
    release(&remote, "one");
    release(&remote, "one"); /* nothing to give up any more */
    CHECK_EQ(put_with(&remote, "one", "late"), KILN_REMOTE_LEASE_LOST);
    CHECK_TRUE(lease(&remote, "two", LONG_MS));
    CHECK_EQ(put_with(&remote, NULL, "by anybody"), KILN_OK); /* asks for no lease */
    expect_stored(&remote, "by anybody");
    release(&remote, "two");
    close_remote(&remote);
}

/* Who does not renew a lease loses it, and can't put with it any more. */
static void test_lost_lease(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_REDIS")),
                  other = open_remote(server_setting("REMOTE_REDIS"));
    CHECK_TRUE(lease(&remote, "one", 20));
    while (!lease(&other, "two", LONG_MS)) usleep(1000);
    CHECK_EQ(put_with(&remote, "one", "too late"), KILN_REMOTE_LEASE_LOST);
    CHECK_FALSE(lease(&remote, "one", LONG_MS));
    CHECK_EQ(put_with(&other, "two", "in time"), KILN_OK);
    expect_stored(&remote, "in time");
    release(&other, "two");
    close_remote(&other);
    close_remote(&remote);
}

/* ---- servers in trouble ---------------------------------------------------------------------------------------------
 */

/* Kept connections that the server has closed are replaced without a word. */
static void test_closed_connections(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_REDIS"));
    for (unsigned i = 0; i < 5; i++) {
        put_entry(&remote, 80, 800);
        CHECK_GE(atoi(ask(main_port(), "CLIENT KILL TYPE normal SKIPME yes") + 1), 1);
        expect_entry(&remote, 80, 800);
    }
    close_remote(&remote);
}

static void test_foreign_key(void **state)
{
    (void)state;
    char name[NAME_SIZE];
    entry_name(name, 1);
    ask(main_port(), "DEL kiln:%s", name);
    CHECK_STR(ask(main_port(), "RPUSH kiln:%s element", name), ":1\r");
    struct remote remote = open_remote(server_setting("REMOTE_REDIS"));
    expect_get(&remote, PATIENCE_MS, KILN_IO, "somebody else uses keys that begin with kiln:");
    expect_put(&remote, PATIENCE_MS, KILN_OK, "");
    close_remote(&remote);
}

static void test_full(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_FULL"));
    kiln_error err = {0};
    char name[NAME_SIZE], leased[NAME_SIZE];
    enum { SIZE = 100000 };
    unsigned char *bytes = entry_bytes(0, SIZE);
    unsigned stored = 0;
    bool is_ours = false;
    entry_name(leased, 5000);
    kiln_status status = remote.driver->lease(remote.handle, leased, "one", LONG_MS, &is_ours, PATIENCE_MS, &err);
    CHECK_OK(status, &err);
    CHECK_TRUE(is_ours);
    do {
        entry_name(name, stored);
        status = remote.driver->put(remote.handle, name, (kiln_bytes){bytes, SIZE}, NULL, PATIENCE_MS, &err);
    } while (!status && ++stored < 1000);
    CHECK_STATUS(status, KILN_IO, &err);
    expect_text(&err, "Redis refuses: it is full: raise maxmemory, or set maxmemory-policy allkeys-lru");
    CHECK_GT(stored, 0);
    expect_entry(&remote, 0, SIZE); /* what is there can be had */
    CHECK_STATUS(remote.driver->put(remote.handle, leased, (kiln_bytes){bytes, SIZE}, "one", PATIENCE_MS, &err),
                 KILN_IO, &err);
    expect_text(&err, "Redis refuses: it is full");
    free(bytes);
    close_remote(&remote);
}

static void test_replica(void **state)
{
    (void)state;
    const char *port = strrchr(server_setting("REMOTE_FULL"), ':') + 1;
    CHECK_STR(ask(port, "REPLICAOF 127.0.0.1 %s", main_port()), "+OK\r");
    struct remote remote = open_remote(server_setting("REMOTE_FULL"));
    expect_put(&remote, PATIENCE_MS, KILN_IO, "use the URL of its primary");
    close_remote(&remote);
}

static void test_permissions(void **state)
{
    (void)state;
    char url[128];
    CHECK_STR(ask(main_port(), "ACL SETUSER reader on >%s ~kiln:* +get +getex +exists +select", SECRET), "+OK\r");
    snprintf(url, sizeof url, "redis://reader:%s@127.0.0.1:%s/0", SECRET, main_port());
    struct remote remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_OK, "");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "this user may not do this: the rule is ~kiln:* +get +getex +set");
    close_remote(&remote);
    /* the rule that the text tells is enough */
    CHECK_STR(ask(main_port(), "ACL SETUSER writer on >%s ~kiln:* +get +getex +set +exists +eval +pexpire +del +select",
                  SECRET),
              "+OK\r");
    snprintf(url, sizeof url, "redis://writer:%s@127.0.0.1:%s/0", SECRET, main_port());
    remote = open_remote(url);
    expect_put(&remote, PATIENCE_MS, KILN_OK, "");
    expect_exists(&remote, PATIENCE_MS, KILN_OK, "");
    CHECK_TRUE(lease(&remote, "one", LONG_MS));
    CHECK_TRUE(lease(&remote, "one", LONG_MS));
    CHECK_EQ(put_with(&remote, "one", "by one"), KILN_OK);
    release(&remote, "one");
    CHECK_TRUE(lease(&remote, "two", LONG_MS));
    release(&remote, "two");
    close_remote(&remote);
}

static void test_unix_socket(void **state)
{
    (void)state;
    char url[300];
    const char *path = server_setting("REMOTE_UNIX_PATH");
    snprintf(url, sizeof url, "redis+unix://%s?db=5", path);
    struct remote remote = open_remote(url);
    put_entry(&remote, 90, 900);
    expect_entry(&remote, 90, 900);
    close_remote(&remote);
    remote = open_remote("redis+unix:///no/such/socket");
    expect_get(&remote, PATIENCE_MS, KILN_IO, "can't connect to /no/such/socket: No such file or directory");
    close_remote(&remote);
}

/* The last test: after it the server is gone. */
static void test_killed(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_REDIS"));
    put_entry(&remote, 1, 100);
    expect_entry(&remote, 1, 100);
    kill(atoi(server_setting("REMOTE_REDIS_PID")), SIGKILL);
    kiln_error err = {0};
    char name[NAME_SIZE];
    kiln_remote_entry entry = {.name = entry_name(name, 1)};
    while (!remote.driver->get(remote.handle, &entry, 1, PATIENCE_MS, &err)) free(entry.data); /* as long as it lives */
    expect_text(&err, "");
    expect_get(&remote, PATIENCE_MS, KILN_IO, "Connection refused");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "Connection refused");
    close_remote(&remote);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REMOTE_CASES("REMOTE_REDIS"),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_databases),
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_lease),
        cmocka_unit_test(test_lost_lease),
        cmocka_unit_test(test_closed_connections),
        cmocka_unit_test(test_foreign_key),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_replica),
        cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
