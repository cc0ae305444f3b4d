/*
 * trial.c - kiln_remote_try(): one remote is tried with an entry that says nothing, for people who set remotes up.
 *
 * Invariant: what is asked of the driver is what calls ask of it, and what comes back is judged as theirs is
 * (arrival.h); but failures are told to the caller, and nothing is counted, logged or left alone for a while.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/process/gate.h"
#include "key/content.h"
#include "store/compressed.h"
#include "store/remotes/arrival.h"
#include "store/remotes/client.h"
#include "store/signing.h"

struct trial {
    struct kiln_remote remote;
    struct kiln_remote_events events; /* nobody looks at them */
    unsigned timeout_ms;
    struct kiln_content_key key;
    char name[KILN_DIGEST_HEX];
};

/* ---- the entry ------------------------------------------------------------------------------------------------ */

/* The same on every host, and no compiler's. */
static kiln_status make_key(struct trial *trial, kiln_error *err)
{
    kiln__content_text(&trial->key, "format", "3");
    kiln__content_text(&trial->key, "trial", "an entry with which remotes are tried");
    kiln_status status = kiln__content_finish(&trial->key, err);
    if (!status) kiln__digest_hex(&trial->key.digest, trial->name);
    return status;
}

static kiln_status fill_entry(struct kiln_artifact *artifact, const struct trial *trial, kiln_error *err)
{
    static const char text[] = "a remote was tried\n";
    artifact->isa = KILN_ISA_X86_64_V1; /* it is not run */
    artifact->digest = trial->key.digest;
    artifact->entry = strdup("");
    artifact->target = strdup("any");
    artifact->function = strdup("trial of a remote");
    kiln__buffer_append(&artifact->key, trial->key.fields.data, trial->key.fields.size);
    if (!artifact->entry || !artifact->target || !artifact->function || artifact->key.failed)
        return kiln__no_memory(err, "an entry");
    return kiln_artifact_put(artifact, "trial", text, sizeof text - 1);
}

/* Appends the entry, signed. KILN_REMOTE_ABSENT: this machine does not sign. */
static kiln_status make_entry(const struct trial *trial, struct kiln_buffer *out, kiln_error *err)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    if (!artifact) return kiln__no_memory(err, "an entry");
    kiln_status status = fill_entry(artifact, trial, err);
    enum kiln_outcome outcome = status ? KILN_FAILED : kiln__artifact_sign(artifact, err);
    if (outcome == KILN_MISS) status = KILN_REMOTE_ABSENT;
    if (outcome == KILN_FAILED && !status) status = err->status;
    if (!status) status = kiln__artifact_compress(artifact, out, err);
    kiln__artifact_unref(artifact);
    return status;
}

/* ---- requests ------------------------------------------------------------------------------------------------- */

static kiln_status judge(const struct trial *trial, kiln_bytes stored, kiln_error *err)
{
    struct kiln_artifact *artifact = NULL;
    kiln_bytes key = {trial->key.fields.data, trial->key.fields.size};
    switch (kiln__arrival_open(stored, &trial->key.digest, key, &artifact, err)) {
    case KILN_ARRIVED:
        kiln__artifact_unref(artifact);
        return KILN_OK;
    case KILN_ARRIVED_FOREIGN:
        return kiln__fail(err, KILN_INVALID, "what another version of Kiln has put there can't be used");
    default:
        return err->status;
    }
}

/* Asks for the entry and judges what came; *ns is how long the answer took, 0: there was none. */
static kiln_status read_entry(struct trial *trial, uint64_t *ns, kiln_error *err)
{
    kiln_remote_entry entry = {.name = trial->name, .status = KILN_IO};
    const struct kiln_remote *remote = &trial->remote;
    uint64_t start = kiln__clock_ns();
    kiln_status status = remote->driver->get(remote->handle, &entry, 1, trial->timeout_ms, err);
    *ns = status < 0 ? 0 : kiln__clock_ns() - start;
    if (!status) status = entry.status;
    if (!status) status = judge(trial, (kiln_bytes){entry.data, entry.size}, err);
    free(entry.data);
    return status;
}

static kiln_status write_entry(struct trial *trial, kiln_error *err)
{
    struct kiln_buffer bytes = {0};
    const struct kiln_remote *remote = &trial->remote;
    kiln_status status = make_entry(trial, &bytes, err);
    if (!status)
        status = remote->driver->put(remote->handle, trial->name, (kiln_bytes){bytes.data, bytes.size}, NULL,
                                     trial->timeout_ms, err);
    kiln__buffer_release(&bytes);
    return status;
}

/* A failure without a text is the driver's; people need one. */
static void note(kiln_error *out, kiln_status status)
{
    if (status < 0 && !out->text[0]) kiln__fail(out, status, "the driver failed without a message");
    out->status = status;
}

/* The second read finds the connection that the first one has made, and what was put. */
static void try_all(struct trial *trial, kiln_remote_trial *out)
{
    note(&out->read, read_entry(trial, &out->round_trip_ns, &out->read));
    note(&out->write, write_entry(trial, &out->write));
    if (!out->round_trip_ns && out->write.status) return;
    out->read = (kiln_error){.status = KILN_OK, .text = ""};
    note(&out->read, read_entry(trial, &out->round_trip_ns, &out->read));
}

/* ---- the interface -------------------------------------------------------------------------------------------- */

/* The URL number `index`, as KILN_REMOTE has it; the caller's to free. */
static char *url_at(size_t index)
{
    static const char blanks[] = " \t\r\n";
    const char *urls = kiln__config("KILN_REMOTE");
    for (urls = urls ? urls : ""; *(urls += strspn(urls, blanks)); urls += strcspn(urls, blanks))
        if (!index--) return strndup(urls, strcspn(urls, blanks));
    return NULL;
}

static void run(struct trial *trial, kiln_remote_trial *out, kiln_error *err, kiln_status *status)
{
    if (!kiln__work_begin()) {
        *status = kiln__fail(err, KILN_IO, "the process is leaving");
        return;
    }
    *status = make_key(trial, err);
    if (!*status) *status = kiln__remote_open(&trial->remote, err);
    if (!*status) out->has_leases = trial->remote.driver->lease;
    if (!*status) try_all(trial, out);
    kiln__work_end();
}

kiln_status kiln_remote_try(size_t index, kiln_remote_trial *out, kiln_error *err)
{
    kiln_error unread = {.status = KILN_OK, .text = ""};
    if (!err) err = &unread;
    if (!out || out->struct_size != sizeof *out)
        return kiln__fail(err, KILN_INVALID, "kiln_remote_try: needs a kiln_remote_trial with its struct_size");
    char *url = url_at(index);
    if (!url) return KILN_REMOTE_ABSENT;
    struct trial trial = {.timeout_ms = (unsigned)kiln__config_number("KILN_REMOTE_TIMEOUT")};
    if (!trial.timeout_ms) trial.timeout_ms = 1;
    kiln_status status = kiln__remote_init(&trial.remote, url, trial.timeout_ms, &trial.events);
    *out = (kiln_remote_trial){.struct_size = sizeof *out};
    if (status)
        kiln__no_memory(err, "a remote");
    else
        snprintf(out->label, sizeof out->label, "%s", trial.remote.label);
    if (!status) run(&trial, out, err, &status);
    kiln__remote_release(&trial.remote);
    kiln__content_release(&trial.key);
    free(url);
    return status;
}
