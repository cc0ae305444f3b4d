/*
 * web_session.c - see web_session.h. Invariants: a transfer is idle, or it stands for one entry and is in the multi
 * handle; sockets[] has every socket that libcurl opened here and not closed yet, as far as there is room.
 */
#include "remote/web_session.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/status.h"
#include "remote/web.h"
#include "remote/web_answer.h"

enum {
    CONNECTIONS = 8,
    TRANSFERS = 64, /* at once, where one connection may carry many */
    SOCKETS = 64,
    FIRST_BYTES = 1 << 24, /* the most that is allocated because a server says how much will come */
    REFUSAL_BYTES = 1 << 11,
    REFUSAL_LIMIT = 1 << 16, /* of an answer that is no entry: kept, and waited for */
};

struct transfer {
    CURL *easy;               /* NULL: never used */
    int verb;                 /* that it is set up for; -1: none */
    kiln_remote_entry *entry; /* NULL: idle */
    struct kiln_web_exchange *exchange;
    struct curl_slist *headers;
    unsigned char *data;
    size_t size, cap, refusal_bytes;
    enum kiln_web_fault fault;
    char error[CURL_ERROR_SIZE];
};

struct session {
    struct kiln_connection connection;
    struct session *next_abandoned;
    CURLM *multi;
    struct kiln_buffer url;
    size_t running;
    struct transfer transfers[TRANSFERS];
    int sockets[SOCKETS]; /* -1: none */
};

/* ---- libcurl and this process ------------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode ready_code;

/* OpenSSL would free its tables when the process exits, under the feet of threads that are in the middle of a call. */
static void keep_openssl_at_exit(void)
{
    enum { NO_ATEXIT = 0x00080000 }; /* OPENSSL_INIT_NO_ATEXIT */
    int (*initialise)(uint64_t, const void *);
    *(void **)&initialise = dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
    if (initialise) initialise(NO_ATEXIT, NULL);
}

static void make_ready(void)
{
    keep_openssl_at_exit();
    ready_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

kiln_status kiln__web_ready(kiln_error *err)
{
    if (getauxval(AT_SECURE) && getenv("SSLKEYLOGFILE"))
        return kiln__fail(err, KILN_INVALID,
                          "SSLKEYLOGFILE is set, and libcurl would write to that file with rights "
                          "that the user who set it does not have: unset it");
    pthread_once(&once, make_ready);
    return ready_code ? kiln__fail(err, KILN_NO_MEMORY, "libcurl: %s", curl_easy_strerror(ready_code)) : KILN_OK;
}

/* libcurl looks up names in threads of its own, which inherit this thread's mask, so signals are blocked meanwhile: but
 * not while it waits, and not those of faults, which are this thread's own. */
static void perform(CURLM *multi)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t blocked, before;
    int running;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    curl_multi_perform(multi, &running);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

static void replace_socket(struct session *session, int old, int new)
{
    for (int i = 0; i < SOCKETS; i++) {
        if (session->sockets[i] != old) continue;
        session->sockets[i] = new;
        return;
    }
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) replace_socket(context, -1, fd);
    return fd;
}

static int close_socket(void *context, curl_socket_t fd)
{
    replace_socket(context, fd, -1);
    return close(fd);
}

/* ---- life of a session ------------------------------------------------------------------------------------------- */

struct kiln_connection *kiln__web_session_new(void)
{
    struct session *session = calloc(1, sizeof *session);
    if (session) session->multi = curl_multi_init();
    if (!session || !session->multi) {
        free(session);
        return NULL;
    }
    curl_multi_setopt(session->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)CONNECTIONS);
    curl_multi_setopt(session->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
    for (int i = 0; i < TRANSFERS; i++) session->transfers[i].verb = -1;
    for (int i = 0; i < SOCKETS; i++) session->sockets[i] = -1;
    session->connection.owner = getpid();
    return &session->connection;
}

void kiln__web_session_close(struct kiln_connection *connection)
{
    struct session *session = (struct session *)connection;
    for (int i = 0; i < TRANSFERS; i++) {
        curl_easy_cleanup(session->transfers[i].easy);
        curl_slist_free_all(session->transfers[i].headers);
    }
    curl_multi_cleanup(session->multi);
    kiln__buffer_release(&session->url);
    free(session);
}

/* Freeing libcurl's handles would end TLS connections that the parent still uses, so they are left, where a checker of
 * leaks finds them. */
void kiln__web_session_abandon(struct kiln_connection *connection)
{
    static _Atomic(struct session *) abandoned;
    struct session *session = (struct session *)connection;
    for (int i = 0; i < SOCKETS; i++)
        if (session->sockets[i] >= 0) close(session->sockets[i]);
    session->next_abandoned = atomic_load(&abandoned);
    while (!atomic_compare_exchange_weak(&abandoned, &session->next_abandoned, session)) {
    }
}

/* ---- a transfer -------------------------------------------------------------------------------------------------- */

/* Room for `size` more bytes; what a server announces is believed up to a bound. */
static bool make_room(struct transfer *transfer, size_t size)
{
    if (size <= transfer->cap - transfer->size) return true;
    curl_off_t announced = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    size_t cap = transfer->cap ? 2 * transfer->cap : announced > FIRST_BYTES ? FIRST_BYTES : (size_t)announced;
    if (announced < 0 || cap < transfer->size + size) cap = 2 * (transfer->size + size);
    if (cap > KILN_REMOTE_MAX_BYTES) cap = KILN_REMOTE_MAX_BYTES;
    unsigned char *data = realloc(transfer->data, cap);
    if (!data) return false;
    transfer->data = data;
    transfer->cap = cap;
    return true;
}

/* Both: bytes that were taken; fewer than `size` end the transfer. */
static size_t receive_entry(struct transfer *transfer, const char *bytes, size_t size)
{
    struct kiln_web_exchange *exchange = transfer->exchange;
    bool fits =
        size <= KILN_REMOTE_MAX_BYTES - transfer->size && size <= KILN_REMOTE_MAX_TOTAL - exchange->received_bytes;
    transfer->fault = !fits ? KILN_WEB_TOO_LARGE : !make_room(transfer, size) ? KILN_WEB_NO_MEMORY : KILN_WEB_WELL;
    if (transfer->fault) return 0;
    memcpy(transfer->data + transfer->size, bytes, size);
    transfer->size += size;
    exchange->received_bytes += size;
    return size;
}

static size_t receive_refusal(struct transfer *transfer, const char *bytes, size_t size)
{
    size_t kept = size < REFUSAL_BYTES - transfer->size ? size : REFUSAL_BYTES - transfer->size;
    if (kept && make_room(transfer, kept)) {
        memcpy(transfer->data + transfer->size, bytes, kept);
        transfer->size += kept;
    }
    transfer->refusal_bytes += size;
    return transfer->refusal_bytes <= REFUSAL_LIMIT ? size : 0;
}

static size_t receive(char *bytes, size_t one, size_t size, void *context)
{
    (void)one;
    struct transfer *transfer = context;
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return (status == 200 ? receive_entry : receive_refusal)(transfer, bytes, size);
}

static bool add_header(struct transfer *transfer, const char *text)
{
    struct curl_slist *longer = text ? curl_slist_append(transfer->headers, text) : transfer->headers;
    if (longer) transfer->headers = longer;
    return longer || !text;
}

/* S3 signs the digest of the body. */
static bool add_digest(struct transfer *transfer, kiln_bytes body)
{
    char header[32 + KILN_DIGEST_HEX] = "x-amz-content-sha256: ";
    struct kiln_digest digest = kiln__digest(body.size ? body.data : "", body.size);
    kiln__digest_hex(&digest, header + strlen(header));
    return add_header(transfer, header);
}

static bool set_headers(struct transfer *transfer, const struct kiln_web_exchange *exchange)
{
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
    const struct kiln_web *web = exchange->web;
    if (web->signature && (!add_digest(transfer, exchange->body) || !add_header(transfer, web->session_token)))
        return false;
    if (exchange->verb == KILN_WEB_PUT && !add_header(transfer, "Content-Type: application/octet-stream")) return false;
    return curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers) == CURLE_OK;
}

static bool set_credentials(CURL *easy, const struct kiln_web *web)
{
    bool is_well = true;
    if (web->user) is_well = !curl_easy_setopt(easy, CURLOPT_USERNAME, web->user);
    if (web->password) is_well &= !curl_easy_setopt(easy, CURLOPT_PASSWORD, web->password);
    if (web->signature) return is_well && !curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, web->signature);
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    if (!web->netrc) return is_well;
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    return is_well && !curl_easy_setopt(easy, CURLOPT_NETRC_FILE, web->netrc);
}

/* What all requests of one verb to one remote have in common. */
static bool set_up(struct session *session, struct transfer *transfer, const struct kiln_web_exchange *exchange)
{
    const struct kiln_web *web = exchange->web;
    if (!transfer->easy) transfer->easy = curl_easy_init();
    CURL *easy = transfer->easy;
    if (!easy) return false;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* giving up does not wait for a name that is being looked up */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "kiln/" KILN_VERSION);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 65536L);
    curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS,
                     1L); /* servers that know of it answer, others are not waited for */
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)KILN_REMOTE_MAX_BYTES);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, web->is_tls ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, session);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, session);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    if (exchange->verb == KILN_WEB_HEAD) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (web->uses_no_proxy && curl_easy_setopt(easy, CURLOPT_PROXY, "")) return false;
    if (web->ca_file && curl_easy_setopt(easy, CURLOPT_CAINFO, web->ca_file)) return false;
    return set_credentials(easy, web);
}

/* The body goes out with the headers in one piece where it is small, which an upload by callback does not do. */
static bool set_body(struct transfer *transfer, const struct kiln_web_exchange *exchange)
{
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body.size);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, exchange->body.size ? exchange->body.data : "");
    return !curl_easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, "PUT");
}

static bool start(struct session *session, struct transfer *transfer, struct kiln_web_exchange *exchange)
{
    kiln_remote_entry *entry = &exchange->entries[exchange->started++];
    *transfer = (struct transfer){transfer->easy, transfer->verb, entry, exchange, transfer->headers};
    bool is_put = exchange->verb == KILN_WEB_PUT, is_other = transfer->verb != (int)exchange->verb;
    transfer->verb = -1;
    if (is_other && !set_up(session, transfer, exchange)) return false;
    if ((is_other || is_put) && !set_headers(transfer, exchange)) return false;
    if (is_put && !set_body(transfer, exchange)) return false;
    transfer->verb = exchange->verb;
    kiln__buffer_clear(&session->url);
    kiln__buffer_printf(&session->url, "%s/%.2s/%s", exchange->web->base, entry->name, entry->name);
    if (session->url.failed || curl_easy_setopt(transfer->easy, CURLOPT_URL, session->url.data)) return false;
    if (curl_multi_add_handle(session->multi, transfer->easy)) return false;
    session->running++;
    return true;
}

static void fail_exchange(struct kiln_web_exchange *exchange, kiln_status status, const kiln_error *err)
{
    if (exchange->failure) return;
    exchange->failure = status;
    if (exchange->err) *exchange->err = *err;
}

/* The entry gets its status and, of a GET, its bytes. */
static void finish(struct session *session, struct transfer *transfer, CURLcode code)
{
    struct kiln_web_exchange *exchange = transfer->exchange;
    struct kiln_web_reply reply = {.exchange = exchange,
                                   .code = code,
                                   .fault = transfer->fault,
                                   .detail = transfer->error,
                                   .body = {transfer->data, transfer->size}};
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &reply.status);
    curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &reply.redirect);
    kiln_error err;
    kiln_status status = kiln__web_answer(&reply, &err);
    curl_multi_remove_handle(session->multi, transfer->easy);
    session->running--;
    transfer->entry->status = status;
    if (status < 0) fail_exchange(exchange, status, &err);
    if (!status && exchange->verb == KILN_WEB_GET) {
        transfer->entry->data = transfer->data;
        transfer->entry->size = transfer->size;
        transfer->data = NULL;
    }
    free(transfer->data);
    transfer->data = NULL;
    transfer->entry = NULL;
}

/* ---- an exchange ------------------------------------------------------------------------------------------------- */

static bool has_more(const struct kiln_web_exchange *exchange)
{
    return exchange->started < exchange->count && !exchange->failure;
}

static void start_idle(struct session *session, struct kiln_web_exchange *exchange)
{
    size_t at_once = exchange->web->is_tls ? TRANSFERS : CONNECTIONS;
    for (size_t i = 0; i < at_once && session->running < at_once && has_more(exchange); i++) {
        struct transfer *transfer = &session->transfers[i];
        if (transfer->entry || start(session, transfer, exchange)) continue;
        transfer->entry->status = KILN_NO_MEMORY;
        transfer->entry = NULL;
        kiln_error err;
        fail_exchange(exchange, kiln__no_memory(&err, "a request"), &err);
    }
}

/* Were there any? */
static bool finish_ended(struct session *session)
{
    int left;
    size_t before = session->running;
    for (CURLMsg *message; (message = curl_multi_info_read(session->multi, &left));) {
        struct transfer *transfer = NULL;
        CURLcode code = message->data.result; /* the message goes with the handle */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        finish(session, transfer, code);
    }
    return session->running < before;
}

/* libcurl closes the connections of requests that are taken from it before their end. */
static void give_up(struct session *session)
{
    for (int i = 0; i < TRANSFERS; i++) {
        struct transfer *transfer = &session->transfers[i];
        if (!transfer->entry) continue;
        transfer->fault = KILN_WEB_LATE;
        finish(session, transfer, CURLE_OPERATION_TIMEDOUT);
    }
}

/* What was never started shares the fate of what failed. */
static void fail_rest(struct kiln_web_exchange *exchange)
{
    while (exchange->started < exchange->count) exchange->entries[exchange->started++].status = exchange->failure;
}

kiln_status kiln__web_session_run(struct kiln_connection *connection, struct kiln_web_exchange *exchange)
{
    struct session *session = (struct session *)connection;
    do {
        int left_ms;
        start_idle(session, exchange);
        perform(session->multi);
        if (finish_ended(session)) continue;
        if ((left_ms = kiln__deadline_left_ms(exchange->deadline)))
            curl_multi_poll(session->multi, NULL, 0, left_ms, NULL);
        else
            give_up(session);
    } while (session->running || has_more(exchange));
    fail_rest(exchange);
    return exchange->failure;
}
