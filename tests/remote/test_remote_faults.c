/*
 * test_remote_faults.c - drivers against servers that stall, lie, break off and repeat secrets; and against none. Needs
 * no server: they are threads of this program.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/fake_server.h"
#include "remote/remote_support.h"

enum { SHORT_MS = 200 };

/* ---- names of hosts: this program's getaddrinfo() stands before that of the C library ---------------------------- */

static sem_t stalled_lookups, released_lookups;
static atomic_bool lookups_blocked_signals;

__attribute__((visibility("default"))) int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!host || strcmp(host, "stalls.invalid") || (hints && hints->ai_flags & AI_NUMERICHOST))
        return next(host, port, hints, out);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    lookups_blocked_signals = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    sem_post(&stalled_lookups);
    sem_wait(&released_lookups);
    return EAI_NONAME;
}

static void test_stalled_name(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://stalls.invalid/kiln", "redis://stalls.invalid/0"};
    sem_init(&stalled_lookups, 0, 0);
    sem_init(&released_lookups, 0, 0);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        CHECK_CONTEXT("%s", urls[i]);
        struct remote remote = open_remote(urls[i]);
        lookups_blocked_signals = false;
        expect_get(&remote, SHORT_MS, KILN_IO, "within 200 ms (KILN_REMOTE_TIMEOUT)");
        sem_wait(&stalled_lookups);
        CHECK_TRUE(lookups_blocked_signals);
        close_remote(&remote); /* does not wait for the look-up either */
    }
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) sem_post(&released_lookups);
}

static void test_no_host(void **state)
{
    (void)state;
    struct remote remote = open_remote("http://nowhere.invalid/");
    expect_get(&remote, PATIENCE_MS, KILN_IO, "nowhere.invalid");
    close_remote(&remote);
    remote = open_remote("redis://nowhere.invalid:1234/");
    expect_get(&remote, PATIENCE_MS, KILN_IO, "no host nowhere.invalid");
    close_remote(&remote);
}

/* ---- URLs -------------------------------------------------------------------------------------------------------- */

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *part;
    } rows[] = {
        {"http://", "the URL has no host"},
        {"http:///path", "the URL has no host"},
        {"http://u:" SECRET "@/path", "the URL has no host"},
        {"http://u:" SECRET "@host:port/", "this is no URL"},
        {"http://u:" SECRET "@host:99999/", "this is no URL"},
        {"http://u:" SECRET "@ho st/", "this is no URL"},
        {"https://u:" SECRET "@host/?" SECRET, "write %3F"},
        {"https://u:" SECRET "@host/#" SECRET, "write %23"},
        {"http://u:" SECRET "%00@host/", "control characters"},
        {"redis://", "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]"},
        {"redis://:" SECRET "@host/x", "the database of a Redis server is a number"},
        {"redis://:" SECRET "@host/-1", "the database of a Redis server is a number"},
        {"redis://:" SECRET "@host/1/2", "the database of a Redis server is a number"},
        {"redis://:" SECRET "@host/99999999999999999999", "the database of a Redis server is a number"},
        {"redis://host/0?x=" SECRET, "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]"},
        {"redis://name@host/", "the URL has a user and no password is known"},
        {"redis+unix://host/path", "redis+unix:///PATH[?db=DATABASE]"},
        {"redis+unix:///", "redis+unix:///PATH[?db=DATABASE]"},
        {"redis+unix:///path?" SECRET, "db=DATABASE"},
        {"redis+unix:///path?db=x", "the database of a Redis server is a number"},
        {"s3://", "s3://BUCKET[/PREFIX]"},
        {"s3:///prefix", "s3://BUCKET[/PREFIX]"},
        {"s3://bucket:12/", "has no port"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%s", rows[i].url);
        expect_no_remote(rows[i].url, KILN_INVALID, rows[i].part);
    }
    char url[300] = "redis+unix:///";
    memset(url + strlen(url), 'a', 200);
    expect_no_remote(url, KILN_INVALID, "at most 107 bytes");
}

static void test_settings(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0", "-1", "x", "12 ", "1e3", "99999999999999999999", "3153600001"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("KILN_REMOTE_TTL", wrong[i], 1);
        expect_no_remote("redis://host/", KILN_INVALID, "KILN_REMOTE_TTL is a number of seconds from 1 to 3153600000");
    }
    unsetenv("KILN_REMOTE_TTL");
    char path[] = "/tmp/kiln-password-XXXXXX";
    int fd = mkstemp(path);
    CHECK_GE(fd, 0);
    setenv("KILN_REDIS_PASSWORD_FILE", path, 1);
    expect_no_remote("redis://host/", KILN_INVALID, "whose first line is empty");
    CHECK_EQ(write(fd, "\n" SECRET, 15), 15);
    expect_no_remote("redis://host/", KILN_INVALID, "whose first line is empty");
    CHECK_EQ(fchmod(fd, 0644), 0);
    expect_no_remote("redis://host/", KILN_INVALID, "which everybody may use: chmod 600 it");
    close(fd);
    unlink(path);
    expect_no_remote("redis://host/", KILN_INVALID, "which can't be read: No such file");
    struct remote remote = open_remote("redis://:" SECRET "@host/"); /* which has its own */
    close_remote(&remote);
    unsetenv("KILN_REDIS_PASSWORD_FILE");
}

/* ---- servers of HTTP --------------------------------------------------------------------------------------------- */

static struct remote open_fake(const char *scheme, const struct fake_server *server)
{
    char url[128];
    snprintf(url, sizeof url, "%s://u:" SECRET "@127.0.0.1:%u", scheme, server->port);
    return open_remote(url);
}

/* What every request is answered with, whatever it asks; then the connection goes on, or ends. */
struct answer {
    const char *text;
    bool ends;
};

static void answer_http(int fd, void *context)
{
    const struct answer *answer = context;
    char head[4096];
    while (fake_read_http(fd, head, sizeof head) && fake_say(fd, answer->text) && !answer->ends) {
    }
}

static void test_statuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kiln_status get, put;
        const char *part;
    } rows[] = {
        {"200 OK\r\nContent-Length: 2\r\n\r\nhi", KILN_OK, KILN_OK, ""},
        {"201 Created\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_OK, "answers 201: no such answer was expected"},
        {"204 No Content\r\n\r\n", KILN_IO, KILN_OK, "answers 204"},
        {"206 Partial\r\nContent-Length: 2\r\n\r\nhi", KILN_IO, KILN_IO, "answers 206"},
        {"404 No\r\nContent-Length: 2\r\n\r\nhi", KILN_REMOTE_ABSENT, KILN_IO, "answers 404"},
        {"410 Gone\r\nContent-Length: 0\r\n\r\n", KILN_REMOTE_ABSENT, KILN_IO, "answers 410"},
        {"401 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "answers 401: it asks for a name and a password"},
        {"403 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "answers 403: it forbids this"},
        {"409 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "answers 409: it can't make the folder"},
        {"413 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "client_max_body_size"},
        {"429 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "too many requests"},
        {"500 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "answers 500: it has a fault: see its log"},
        {"502 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "answers 502: it has a fault: see its log"},
        {"507 No\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "it is full"},
        {"301 Moved\r\nLocation: https://u:" SECRET "@other.example/" SECRET "?x=" SECRET
         "\r\nContent-Length: 0\r\n\r\n",
         KILN_IO, KILN_IO, "the server redirects (status 301, to https://other.example), which is not followed"},
        {"302 Found\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "the server redirects (status 302), which is not"},
        {"307 Found\r\nLocation: /else\r\nContent-Length: 0\r\n\r\n", KILN_IO, KILN_IO, "to http://127.0.0.1)"},
        {"401 No\r\nWWW-Authenticate: Basic realm=\"" SECRET "\"\r\nContent-Length: 14\r\n\r\n" SECRET, KILN_IO,
         KILN_IO, "401"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        CHECK_CONTEXT("%s", rows[i].text);
        snprintf(text, sizeof text, "HTTP/1.1 %s", rows[i].text);
        struct answer answer = {text, false};
        struct fake_server *server = fake_start(answer_http, &answer);
        struct remote remote = open_fake("http", server);
        for (int round = 0; round < 2; round++) { /* the second over the kept connection */
            expect_get(&remote, PATIENCE_MS, rows[i].get, rows[i].part);
            expect_put(&remote, PATIENCE_MS, rows[i].put, rows[i].part);
        }
        CHECK_EQ(server->connections, 1);
        close_remote(&remote);
        fake_stop(server);
    }
}

static void test_broken_http(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "Empty reply"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort", "the server ended an entry too early"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nshort", ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n", ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 300000000\r\n\r\nmuch", "more than 256 MiB for an entry"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nmuch", ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nmuch", ""},
        {"HTTP/1.1 200", ""},
        {"HTTP/9.9 200 OK\r\n\r\n", ""},
        {"-ERR unknown command\r\n", "is it a server for HTTP?"},
        {"\x16\x03\x01\x02\xff garbage \x80\x81", "is it a server for HTTP?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%zu: %s", i, rows[i].text);
        struct answer answer = {rows[i].text, true};
        struct fake_server *server = fake_start(answer_http, &answer);
        struct remote remote = open_fake("http", server);
        expect_get(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        expect_get(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        close_remote(&remote);
        fake_stop(server);
    }
}

static void hang_up(int fd, void *context)
{
    (void)fd, (void)context;
}

static void stay_silent(int fd, void *context)
{
    (void)context;
    fake_wait_for_end(fd);
}

/* A byte now and then, so that nothing seems to stall. */
static void drip(int fd, void *context)
{
    struct timespec pause = {0, 10000000};
    if (context && !fake_say(fd, context)) return;
    while (fake_say(fd, "x")) nanosleep(&pause, NULL);
}

/* The deadline holds for the whole call: how long it took is bounded by a factor that no machine needs. */
static void expect_late(struct remote *remote, bool is_silent)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    expect_get(remote, SHORT_MS, KILN_IO, "no answer within 200 ms (KILN_REMOTE_TIMEOUT)");
    expect_put(remote, SHORT_MS, KILN_IO, "no answer within 200 ms (KILN_REMOTE_TIMEOUT)");
    if (is_silent) expect_exists(remote, SHORT_MS, KILN_IO, "no answer within 200 ms (KILN_REMOTE_TIMEOUT)");
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK_LT(end.tv_sec - begin.tv_sec, 30);
}

static void test_late(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        fake_talk *talk;
        const char *text;
    } rows[] = {
        {"http", stay_silent, NULL},
        {"https", stay_silent, NULL},
        {"http", drip, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"},
        {"http", drip, "HTTP/1.1 200 OK\r\nX-Header: "},
        {"redis", stay_silent, NULL},
        {"redis", drip, "+OK\r\n$100000\r\n"},
        {"redis", drip, "$100000\r\n"},
        {"redis", drip, "+O"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%zu: %s", i, rows[i].scheme);
        struct fake_server *server = fake_start(rows[i].talk, (void *)rows[i].text);
        struct remote remote = open_fake(rows[i].scheme, server);
        expect_late(&remote, rows[i].talk == stay_silent);
        close_remote(&remote);
        fake_stop(server);
    }
}

static void test_nobody_there(void **state)
{
    (void)state;
    static const char *const schemes[] = {"http", "https", "redis"};
    struct fake_server *server = fake_start(hang_up, NULL);
    struct fake_server gone = {.port = server->port};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct remote remote = open_fake(schemes[i], server);
        expect_get(&remote, PATIENCE_MS, KILN_IO, "");
        expect_put(&remote, PATIENCE_MS, KILN_IO, "");
        close_remote(&remote);
    }
    fake_stop(server);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct remote remote = open_fake(schemes[i], &gone);
        expect_get(&remote, PATIENCE_MS, KILN_IO, "127.0.0.1 port");
        expect_put(&remote, PATIENCE_MS, KILN_IO, "127.0.0.1 port");
        close_remote(&remote);
    }
}

/* Ends each connection after one answer without a word of it: requests over the kept one are sent again over another.
 */
static void test_closed_between(void **state)
{
    (void)state;
    struct answer answer = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true};
    struct fake_server *server = fake_start(answer_http, &answer);
    struct remote remote = open_fake("http", server);
    for (int i = 0; i < 10; i++) {
        expect_get(&remote, PATIENCE_MS, KILN_OK, "");
        expect_put(&remote, PATIENCE_MS, KILN_OK, "");
    }
    close_remote(&remote);
    fake_stop(server);
}

static void send_endlessly(int fd, void *context)
{
    char head[4096], part[1 << 16] = {0};
    if (!fake_read_http(fd, head, sizeof head) || !fake_say(fd, context)) return;
    while (fake_send(fd, part, sizeof part)) {
    }
}

static void test_endless(void **state)
{
    (void)state;
    struct fake_server *server = fake_start(send_endlessly, "HTTP/1.1 200 OK\r\n\r\n");
    struct remote remote = open_fake("http", server);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "more than 256 MiB for an entry");
    close_remote(&remote);
    fake_stop(server);
    server = fake_start(send_endlessly, "HTTP/1.1 404 Not Found\r\n\r\n"); /* a page that need not be read */
    remote = open_fake("http", server);
    expect_get(&remote, PATIENCE_MS, KILN_REMOTE_ABSENT, "");
    close_remote(&remote);
    fake_stop(server);
}

/* Reads a little of what is sent and hangs up, in the middle of a large entry. SIGPIPE would end this process. */
static void hang_up_early(int fd, void *context)
{
    (void)context;
    char part[1000];
    (void)!recv(fd, part, sizeof part, 0);
}

static void test_no_sigpipe(void **state)
{
    (void)state;
    static const char *const schemes[] = {"http", "redis"};
    static unsigned char bytes[20 << 20];
    char name[NAME_SIZE];
    signal(SIGPIPE, SIG_DFL);
    entry_name(name, 1);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct fake_server *server = fake_start(hang_up_early, NULL);
        char url[64];
        snprintf(url, sizeof url, "%s://127.0.0.1:%u", schemes[i], server->port);
        struct remote remote = open_remote(url);
        for (int round = 0; round < 5; round++) {
            kiln_error err = {0};
            CHECK_STATUS(
                remote.driver->put(remote.handle, name, (kiln_bytes){bytes, sizeof bytes}, NULL, PATIENCE_MS, &err),
                KILN_IO, &err);
        }
        sigset_t pending;
        sigpending(&pending);
        CHECK_FALSE(sigismember(&pending, SIGPIPE));
        close_remote(&remote);
        fake_stop(server);
    }
}

/* Large entries to a server that never says "100 Continue". */
static void test_large_put(void **state)
{
    (void)state;
    static unsigned char bytes[3 << 20];
    char name[NAME_SIZE];
    kiln_error err = {0};
    struct answer answer = {"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", false};
    struct fake_server *server = fake_start(answer_http, &answer);
    struct remote remote = open_fake("http", server);
    entry_name(name, 1);
    for (int i = 0; i < 3; i++)
        CHECK_OK(remote.driver->put(remote.handle, name, (kiln_bytes){bytes, sizeof bytes}, NULL, PATIENCE_MS, &err),
                 &err);
    CHECK_STATUS(remote.driver->put(remote.handle, name, (kiln_bytes){bytes, KILN_REMOTE_MAX_BYTES + 1}, NULL,
                                    PATIENCE_MS, &err),
                 KILN_INVALID, &err);
    expect_text(&err, "an entry has at most 256 MiB");
    close_remote(&remote);
    fake_stop(server);
}

/* Answers a few requests, then with a fault. */
static void answer_some(int fd, void *context)
{
    char head[4096];
    while (fake_read_http(fd, head, sizeof head)) {
        bool is_well = atomic_fetch_add((atomic_uint *)context, 1) < 20;
        if (!fake_say(fd, is_well ? "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell"
                                  : "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
            return;
    }
}

static void answer_some_commands(int fd, void *context)
{
    char last[256];
    while (fake_read_command(fd, last, sizeof last)) {
        unsigned before = atomic_fetch_add((atomic_uint *)context, 1);
        if (before == 20 || !fake_say(fd, "$4\r\nwell\r\n")) return;
    }
}

/* What was answered before a fault counts; the rest is known to be unknown. */
static void test_half_of_a_get(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        fake_talk *talk;
    } rows[] = {{"http", answer_some}, {"redis", answer_some_commands}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum { COUNT = 100 };
        char names[COUNT][NAME_SIZE], url[64];
        kiln_remote_entry entries[COUNT];
        kiln_error err = {0};
        atomic_uint answered = 0;
        unsigned found = 0;
        struct fake_server *server = fake_start(rows[i].talk, &answered);
        snprintf(url, sizeof url, "%s://127.0.0.1:%u", rows[i].scheme, server->port);
        struct remote remote = open_remote(url);
        for (unsigned j = 0; j < COUNT; j++) entries[j] = (kiln_remote_entry){.name = entry_name(names[j], j)};
        CHECK_STATUS(remote.driver->get(remote.handle, entries, COUNT, PATIENCE_MS, &err), KILN_IO, &err);
        CHECK_LE(server->connections, 8);
        for (unsigned j = 0; j < COUNT; j++) {
            CHECK_TRUE(entries[j].status == KILN_OK || entries[j].status == KILN_IO);
            if (entries[j].status == KILN_OK) CHECK_MEM(entries[j].data, "well", 4);
            if (entries[j].status) CHECK_NULL(entries[j].data);
            found += entries[j].status == KILN_OK;
            free(entries[j].data);
        }
        CHECK_EQ(found, 20);
        close_remote(&remote);
        fake_stop(server);
    }
}

/* ---- servers of Redis -------------------------------------------------------------------------------------------- */

struct script {
    const char *greeting; /* the reply to AUTH */
    const char *reply;    /* to everything else */
    bool ends;
};

static void answer_redis(int fd, void *context)
{
    const struct script *script = context;
    char last[256];
    if (!fake_read_command(fd, last, sizeof last) || strcmp(last, SECRET) || !fake_say(fd, script->greeting)) return;
    while (fake_read_command(fd, last, sizeof last) && fake_say(fd, script->reply) && !script->ends) {
    }
}

static void test_redis_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *part;
    } rows[] = {
        {"-LOADING Redis is loading the dataset in memory\r\n", "Redis refuses: it is loading its data"},
        {"-READONLY You can't write against a read only replica.\r\n", "use the URL of its primary"},
        {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", "it is full: raise maxmemory"},
        {"-NOPERM this user has no permissions\r\n", "this user may not do this"},
        {"-MOVED 3999 127.0.0.1:6381\r\n", "it is a node of a cluster"},
        {"-MISCONF Redis is configured to save\r\n", "it can't save its data"},
        {"-WRONGTYPE Operation against a key\r\n", "somebody else uses keys"},
        {"-ERR unknown command 'GETEX', with args beginning with: 'kiln:'\r\n",
         "Redis 6.2 or a later version is needed"},
        {"-ERR something \x1b[31m new\r\n", "Redis refuses: ERR something \\x1b[31m new"},
        {"+WHAT\r\n", "what came back is no reply of Redis to this command"},
        {"*2\r\n$1\r\na\r\n$1\r\nb\r\n", "is it a Redis server?"},
        {"*1000000000\r\n", "is it a Redis server?"},
        {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "is it a Redis server?"},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "is it a Redis server?"},
        {"$-7\r\n", "is it a Redis server?"},
        {"$99999999999999999999\r\n", "is it a Redis server?"},
        {":12x\r\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%s", rows[i].reply);
        struct script script = {"+OK\r\n", rows[i].reply, false};
        struct fake_server *server = fake_start(answer_redis, &script);
        struct remote remote = open_fake("redis", server);
        expect_get(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        expect_exists(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        bool is_refusal = rows[i].reply[0] == '-' || rows[i].reply[0] == '+';
        CHECK_EQ(server->connections, is_refusal ? 1 : 2); /* one that made no sense is not used again */
        close_remote(&remote);
        fake_stop(server);
    }
}

/* Servers that repeat what they were sent, and others that do not like it. */
static void test_redis_greetings(void **state)
{
    (void)state;
    static const struct {
        const char *greeting, *part;
    } rows[] = {
        {"-ERR unknown command `AUTH`, with args beginning with: `u`, `" SECRET "`\r\n", "Redis 6.2 or a later"},
        {"-ERR I do not like " SECRET "\r\n", "Redis refuses the password or the database"},
        {"+OK\r\n", ""},
        {"$14\r\n" SECRET "\r\n", "Redis refuses the password or the database"},
        {"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
         "the name or the password is not the right one"},
        {"-ERR Client sent AUTH, but no password is set\r\n", "it has no password, yet one is set for it"},
        {"-DENIED Redis is running in protected mode\r\n", "it is in protected mode"},
        {"-ERR max number of clients reached\r\n", "it has as many clients as it may"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%s", rows[i].greeting);
        struct script script = {rows[i].greeting, "-ERR no\r\n", false};
        struct fake_server *server = fake_start(answer_redis, &script);
        struct remote remote = open_fake("redis", server);
        expect_get(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        expect_put(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        close_remote(&remote);
        fake_stop(server);
    }
}

static void test_broken_redis(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *part;
    } rows[] = {
        {"", "the connection was closed"},
        {"$100\r\nshort", "in the middle of a reply"},
        {"$5", "in the middle of a reply"},
        {"\r\n\r\n\r\n", "is it a Redis server?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%s", rows[i].reply);
        struct script script = {"+OK\r\n", rows[i].reply, true};
        struct fake_server *server = fake_start(answer_redis, &script);
        struct remote remote = open_fake("redis", server);
        expect_get(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        expect_get(&remote, PATIENCE_MS, KILN_IO, rows[i].part);
        close_remote(&remote);
        fake_stop(server);
    }
}

/* A reply too many would be taken for that of the next command. */
static void test_reply_too_many(void **state)
{
    (void)state;
    struct script script = {"+OK\r\n", "$3\r\none\r\n$3\r\ntwo\r\n", false};
    struct fake_server *server = fake_start(answer_redis, &script);
    struct remote remote = open_fake("redis", server);
    for (int i = 0; i < 3; i++) {
        char name[NAME_SIZE];
        kiln_error err = {0};
        kiln_remote_entry entry = {.name = entry_name(name, 1)};
        CHECK_OK(remote.driver->get(remote.handle, &entry, 1, PATIENCE_MS, &err), &err);
        CHECK_MEM(entry.data, "one", 3);
        free(entry.data);
    }
    close_remote(&remote);
    fake_stop(server);
}

static void send_large_bulk(int fd, void *context)
{
    char last[256], part[1 << 16] = {0};
    if (!fake_read_command(fd, last, sizeof last) || !fake_say(fd, context)) return;
    while (fake_send(fd, part, sizeof part)) {
    }
}

static void test_large_reply(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK_SKIP(); /* hiredis makes room for a MiB more at a time, and this realloc() copies all of it every time */
#endif
    char url[64];
    struct fake_server *server = fake_start(send_large_bulk, "$400000000\r\n");
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", server->port);
    struct remote remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "more than 256 MiB for an entry");
    close_remote(&remote);
    fake_stop(server);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK_NOT_NULL(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* Sockets are not inherited by programs that this one starts, and none are left behind. */
static void test_descriptors(void **state)
{
    (void)state;
    static const char *const schemes[] = {"http", "redis"};
    static const char *const replies[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "$2\r\nhi\r\n"};
    unsigned before = count_descriptors();
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct answer answer = {replies[0], false};
        struct script script = {"+OK\r\n", replies[1], false};
        struct fake_server *server = i ? fake_start(answer_redis, &script) : fake_start(answer_http, &answer);
        struct remote remote = open_fake(schemes[i], server);
        expect_get(&remote, PATIENCE_MS, KILN_OK, "");
        for (int fd = 3; fd < 256; fd++) {
            struct sockaddr_storage peer;
            socklen_t size = sizeof peer;
            if (getpeername(fd, (struct sockaddr *)&peer, &size) || peer.ss_family != AF_INET) continue;
            CHECK_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }
        close_remote(&remote);
        fake_stop(server);
    }
    CHECK_EQ(count_descriptors(), before);
}

int main(void)
{
    setenv("AWS_ACCESS_KEY_ID", "key", 1);
    setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stalled_name),
        cmocka_unit_test(test_no_host),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_broken_http),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_closed_between),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_no_sigpipe),
        cmocka_unit_test(test_large_put),
        cmocka_unit_test(test_half_of_a_get),
        cmocka_unit_test(test_redis_refusals),
        cmocka_unit_test(test_redis_greetings),
        cmocka_unit_test(test_broken_redis),
        cmocka_unit_test(test_reply_too_many),
        cmocka_unit_test(test_large_reply),
        cmocka_unit_test(test_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
