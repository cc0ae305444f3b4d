/*
 * remote_support.h - for tests of remotes: a store in shared memory, of which forked processes are the hosts, with a
 * driver that counts its calls and can be told to be down, slow or wrong; keys to sign with; a log that is kept.
 *
 * Schemes: plain:// has no leases, leased:// has. The authority of the URL chooses one of the stores: plain://0,
 * plain://1.
 */
#ifndef TESTS_UNIT_REMOTE_SUPPORT_H
#define TESTS_UNIT_REMOTE_SUPPORT_H

#include "process_support.h"

#include "base/clock.h"
#include "base/compress.h"
#include "kiln/remote.h"
#include "store/keys/key_file.h"
#include "store/keys/trust_library.h"
#include "store/keys/trusted_keys.h"
#include "store/remotes/backoff.h"
#include "store/remotes/lease.h"
#include "store/remotes/writer.h"

/* ---- the store -------------------------------------------------------------------------------------------------- */

enum { STORES = 2, SLOTS = 512, SLOT_BYTES = 1 << 18 };

/* What a get does instead of answering. */
enum get_fault {
    GETS_WELL,
    GETS_ERROR,
    GETS_STALL,     /* until the timeout, then an error */
    GETS_NOTHING,   /* says that all is absent */
    GETS_EMPTY,     /* entries without bytes */
    GETS_GARBAGE,   /* other bytes */
    GETS_TRUNCATED, /* half of it */
    GETS_FLIPPED,   /* one bit is wrong, in the middle */
    GETS_BOMB,      /* a frame that says it holds a gigabyte */
    GETS_HUGE,      /* more bytes than allowed */
    GETS_OTHERS     /* the entry of another key */
};

enum put_fault { PUTS_WELL, PUTS_ERROR, PUTS_STALL, PUTS_BLOCK /* while `is_blocked` */ };
enum lease_fault { LEASES_WELL, LEASES_ERROR, LEASES_TAKEN /* by somebody else, for ever */ };

struct slot {
    char name[65], token[65];
    uint64_t until_ns; /* of the lease */
    size_t size;
    bool is_there;
    unsigned char bytes[SLOT_BYTES];
};

struct store {
    pthread_mutex_t lock;
    _Atomic int get_fault, put_fault, lease_fault;
    _Atomic unsigned is_blocked, blocked; /* puts that wait, now or before */
    _Atomic unsigned opens, closes, gets, entries, together, exists, puts, stored;
    _Atomic unsigned leases, takes, renewals, refusals, releases; /* asked for; given, renewed, refused; given back */
    _Atomic unsigned absent_gets;                                 /* so many more say that all is absent */
    _Atomic uint64_t bytes_read, bytes_written;
    _Atomic unsigned last_timeout_ms; /* of a get */
    struct slot slots[SLOTS];
};

static struct store *stores; /* shared by all processes of the test */

UNUSED static void open_stores(void)
{
    pthread_mutexattr_t attributes;
    stores =
        mmap(NULL, STORES * sizeof *stores, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK_NE(stores, MAP_FAILED);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < STORES; i++) pthread_mutex_init(&stores[i].lock, &attributes);
}

UNUSED static void close_stores(void)
{
    munmap(stores, STORES * sizeof *stores);
}

/* The slot of a name, a new one when there is none. The store is locked. */
UNUSED static struct slot *slot_of(struct store *store, const char *name)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &store->slots[i];
        if (!slot->name[0]) snprintf(slot->name, sizeof slot->name, "%s", name);
        if (!strcmp(slot->name, name)) return slot;
    }
    abort();
}

UNUSED static unsigned count_stored(struct store *store)
{
    unsigned count = 0;
    for (int i = 0; i < SLOTS; i++) count += store->slots[i].is_there;
    return count;
}

/* ---- its driver ------------------------------------------------------------------------------------------------- */

UNUSED static kiln_status store_open(const char *url, const kiln_remote_host *host, void **remote, kiln_error *err)
{
    const char *digit = strstr(url, "://");
    (void)host;
    if (!digit || digit[3] < '0' || digit[3] >= '0' + STORES) {
        snprintf(err->text, sizeof err->text, "there is no such store; expected plain://0");
        return err->status = KILN_INVALID;
    }
    struct store *store = &stores[digit[3] - '0'];
    store->opens++;
    *remote = store;
    return KILN_OK;
}

UNUSED static void store_close(void *remote)
{
    ((struct store *)remote)->closes++;
}

UNUSED static kiln_status say_down(const char *what, kiln_error *err)
{
    snprintf(err->text, sizeof err->text, "the store does not %s", what);
    return err->status = KILN_IO;
}

/* Replaces what was read by something else. */
UNUSED static void spoil(struct store *store, kiln_remote_entry *entry, const struct slot *of)
{
    static const unsigned char bomb[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40, 1, 0, 0};
    unsigned char *data = entry->data;
    switch (store->get_fault) {
    case GETS_EMPTY:
        entry->size = 0;
        break;
    case GETS_GARBAGE:
        memset(data, 'x', entry->size);
        break;
    case GETS_TRUNCATED:
        entry->size /= 2;
        break;
    case GETS_FLIPPED:
        data[entry->size / 2] ^= 1;
        break;
    case GETS_BOMB:
        memcpy(data, bomb, sizeof bomb);
        entry->size = sizeof bomb;
        break;
    case GETS_HUGE:
        entry->size = KILN_REMOTE_MAX_BYTES + 1;
        entry->data = realloc(data, entry->size);
        break;
    case GETS_OTHERS:
        for (int i = 0; i < SLOTS; i++) {
            const struct slot *other = &store->slots[i];
            if (!other->is_there || other == of) continue;
            memcpy(data, other->bytes, other->size);
            entry->size = other->size;
        }
        break;
    default:
        break;
    }
}

UNUSED static kiln_status store_get(void *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms,
                                    kiln_error *err)
{
    struct store *store = remote;
    store->gets++;
    store->entries += (unsigned)count;
    if (count > store->together) store->together = (unsigned)count;
    store->last_timeout_ms = timeout_ms;
    if (store->get_fault == GETS_STALL) sleep_ms(timeout_ms);
    if (store->get_fault == GETS_STALL || store->get_fault == GETS_ERROR) return say_down("answer", err);
    pthread_mutex_lock(&store->lock);
    bool is_absent = store->get_fault == GETS_NOTHING || store->absent_gets;
    if (store->absent_gets) store->absent_gets--;
    for (size_t i = 0; i < count; i++) {
        const struct slot *slot = slot_of(store, entries[i].name);
        entries[i].status = KILN_REMOTE_ABSENT;
        if (!slot->is_there || is_absent) continue;
        entries[i].status = KILN_OK;
        entries[i].data = malloc(SLOT_BYTES);
        entries[i].size = slot->size;
        memcpy(entries[i].data, slot->bytes, slot->size);
        spoil(store, &entries[i], slot);
        store->bytes_read += entries[i].size;
    }
    pthread_mutex_unlock(&store->lock);
    return KILN_OK;
}

UNUSED static kiln_status store_exists(void *remote, const char *name, bool *out, unsigned timeout_ms, kiln_error *err)
{
    struct store *store = remote;
    (void)timeout_ms;
    store->exists++;
    if (store->get_fault == GETS_ERROR) return say_down("answer", err);
    pthread_mutex_lock(&store->lock);
    *out = slot_of(store, name)->is_there;
    pthread_mutex_unlock(&store->lock);
    return KILN_OK;
}

/* As Redis does it: a lease that has run out is nobody's. */
UNUSED static bool holds(const struct slot *slot, const char *token)
{
    return kiln__clock_ns() < slot->until_ns && !strcmp(slot->token, token);
}

UNUSED static kiln_status store_put(void *remote, const char *name, kiln_bytes bytes, const char *token,
                                    unsigned timeout_ms, kiln_error *err)
{
    struct store *store = remote;
    store->puts++;
    if (store->put_fault == PUTS_STALL) sleep_ms(timeout_ms);
    if (store->put_fault == PUTS_STALL || store->put_fault == PUTS_ERROR) return say_down("take anything", err);
    if (store->put_fault == PUTS_BLOCK) {
        store->blocked++;
        while (store->is_blocked) sleep_ms(1);
    }
    if (bytes.size > SLOT_BYTES) return say_down("have room", err);
    pthread_mutex_lock(&store->lock);
    struct slot *slot = slot_of(store, name);
    bool is_lost = token && !holds(slot, token);
    if (!is_lost) {
        memcpy(slot->bytes, bytes.data, bytes.size);
        slot->size = bytes.size;
        slot->is_there = true;
        store->stored++;
        store->bytes_written += bytes.size;
    }
    pthread_mutex_unlock(&store->lock);
    return is_lost ? KILN_REMOTE_LEASE_LOST : KILN_OK;
}

UNUSED static kiln_status store_lease(void *remote, const char *name, const char *token, unsigned lifetime_ms,
                                      bool *is_ours, unsigned timeout_ms, kiln_error *err)
{
    struct store *store = remote;
    (void)timeout_ms;
    store->leases++;
    if (store->lease_fault == LEASES_ERROR) return say_down("lease", err);
    pthread_mutex_lock(&store->lock);
    struct slot *slot = slot_of(store, name);
    bool is_renewal = holds(slot, token);
    *is_ours = store->lease_fault != LEASES_TAKEN && (is_renewal || kiln__clock_ns() >= slot->until_ns);
    if (*is_ours) {
        snprintf(slot->token, sizeof slot->token, "%s", token);
        slot->until_ns = kiln__clock_ns() + lifetime_ms * 1000000ull;
        store->renewals += is_renewal;
        store->takes += !is_renewal;
    } else {
        store->refusals++;
    }
    pthread_mutex_unlock(&store->lock);
    return KILN_OK;
}

UNUSED static kiln_status store_release(void *remote, const char *name, const char *token, unsigned timeout_ms,
                                        kiln_error *err)
{
    struct store *store = remote;
    (void)timeout_ms, (void)err;
    store->releases++;
    pthread_mutex_lock(&store->lock);
    struct slot *slot = slot_of(store, name);
    if (holds(slot, token)) slot->until_ns = 0;
    pthread_mutex_unlock(&store->lock);
    return KILN_OK;
}

static const kiln_remote_driver plain_driver = {.struct_size = sizeof plain_driver,
                                                .scheme = "plain",
                                                .open = store_open,
                                                .close = store_close,
                                                .get = store_get,
                                                .put = store_put,
                                                .exists = store_exists};
static const kiln_remote_driver leased_driver = {.struct_size = sizeof leased_driver,
                                                 .scheme = "leased",
                                                 .open = store_open,
                                                 .close = store_close,
                                                 .get = store_get,
                                                 .put = store_put,
                                                 .exists = store_exists,
                                                 .lease = store_lease,
                                                 .release = store_release};

/* ---- keys ------------------------------------------------------------------------------------------------------- */

UNUSED static void write_text_file(const char *path, mode_t mode, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK_NOT_NULL(file);
    fputs(text, file);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(chmod(path, mode), 0);
}

/* A pair from a seed: the secret in FOLDER/key-SEED, its public half trusted in FOLDER/trusted-SEED. */
UNUSED static void make_key(const char *folder, uint8_t seed)
{
    const struct kiln_trust_plugin *library;
    struct kiln_key_line line = {.kind = KILN_KEY_SECRET, .comment = "of a test"};
    struct kiln_buffer text = {0};
    uint8_t signer[KILN_SIGNER_SIZE];
    char path[128], hex[KILN_KEY_HEX], words[160];
    kiln_error err = {0};
    CHECK_OK(kiln__trust_library(&library, &err), &err);
    memset(line.key, seed, sizeof line.key);
    CHECK_TRUE(library->public_key(line.key, signer));
    kiln__key_line_print(&line, &text);
    snprintf(path, sizeof path, "%s/key-%u", folder, seed);
    write_text_file(path, 0600, (const char *)text.data);
    kiln__buffer_release(&text);
    kiln__key_hex(signer, hex);
    snprintf(words, sizeof words, "kiln-key 1 %s of a test\n", hex);
    snprintf(path, sizeof path, "%s/trusted-%u", folder, seed);
    write_text_file(path, 0644, words);
    snprintf(words, sizeof words, "revoked %s\n", hex);
    snprintf(path, sizeof path, "%s/revoked-%u", folder, seed);
    write_text_file(path, 0644, words);
}
#define make_key(...) CHECK_CALL(make_key, __VA_ARGS__)

/* 0: with none. */
UNUSED static void sign_with(const char *folder, unsigned seed)
{
    char path[128];
    snprintf(path, sizeof path, "%s/key-%u", folder, seed);
    setenv("KILN_SIGN_KEY", seed ? path : "", 1);
}

UNUSED static void trust(const char *folder, const char *kind, unsigned seed)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s-%u", folder, kind, seed);
    setenv("KILN_TRUSTED_KEYS", path, 1);
}

/* ---- the log ---------------------------------------------------------------------------------------------------- */

struct lines {
    pthread_mutex_t lock;
    char text[16384];
};

UNUSED static void keep_line(void *context, kiln_log_kind kind, const char *text)
{
    struct lines *lines = context;
    (void)kind;
    pthread_mutex_lock(&lines->lock);
    size_t size = strlen(lines->text);
    snprintf(lines->text + size, sizeof lines->text - size, "%s\n", text);
    pthread_mutex_unlock(&lines->lock);
}

/* How many lines have this in them. */
UNUSED static unsigned count_lines(struct lines *lines, const char *part)
{
    unsigned count = 0;
    pthread_mutex_lock(&lines->lock);
    for (char *line = lines->text; *line;) {
        char *end = strchr(line, '\n');
        char *found = strstr(line, part);
        count += found && found < end;
        line = end + 1;
    }
    pthread_mutex_unlock(&lines->lock);
    return count;
}

#endif
