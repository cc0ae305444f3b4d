/*
 * import.c - kiln_import(): the artifacts of a pack, put into a folder.
 *
 * Invariants: nothing is put before everything was checked; and since a file of others may change meanwhile, what is
 * put was checked in the very bytes that are put.
 */
#include <stdlib.h>
#include <string.h>

#include "base/process/callback.h"
#include "base/trust.h"
#include "kiln/maintain.h"
#include "store/pack/pack.h"
#include "store/pack/pack_manifest.h"
#include "store/signing.h"

struct importing {
    struct kiln_pack pack;
    struct kiln_pack_row *rows;
    struct kiln_tier *folder;
    struct kiln_tier_events events;
    const kiln_progress *progress; /* NULL: nobody wants to know */
    kiln_import_report report;
};

static void report_progress(const struct importing *importing, const char *what, uint64_t done)
{
    const kiln_progress *progress = importing->progress;
    if (progress && progress->report) progress->report(progress->context, what, done, importing->pack.count);
}

/* Entry `index`, which may be used; KILN_OK and NULL: it is of another format. */
static kiln_status load(const struct importing *importing, uint64_t index, struct kiln_artifact **out, kiln_error *err)
{
    const struct kiln_pack *pack = &importing->pack;
    char hex[KILN_DIGEST_HEX];
    bool is_other_format;
    kiln_error why = {0};
    *out = NULL;
    kiln_status status = kiln__pack_read(pack, &importing->rows[index], out, &is_other_format, &why);
    if (is_other_format) return KILN_OK;
    if (status == KILN_OK && !kiln__file_is_trusted(&pack->info, true)) status = kiln__artifact_verify(*out, &why);
    if (status == KILN_OK) return KILN_OK;
    kiln__artifact_unref(*out);
    *out = NULL;
    kiln__digest_hex(&importing->rows[index].digest, hex);
    return kiln__fail(err, status, "entry %.12s: %s", hex, why.text);
}

static kiln_status check_all(const struct importing *importing, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint64_t i = 0; i < importing->pack.count && status == KILN_OK; i++) {
        struct kiln_artifact *artifact = NULL;
        status = load(importing, i, &artifact, err);
        kiln__artifact_unref(artifact);
        report_progress(importing, "checking", i + 1);
    }
    return status == KILN_OK ? KILN_OK : kiln__fail_as(err, status, "nothing was imported");
}

/* One with more sections has machine code for a GPU besides. */
static bool is_there(struct importing *importing, const struct kiln_artifact *artifact)
{
    struct kiln_artifact *held = NULL;
    kiln_error err;
    kiln_bytes key = {artifact->key.data, artifact->key.size};
    struct kiln_tier *folder = importing->folder;
    if (folder->methods->get(folder, &artifact->digest, key, &held, &err) != KILN_DONE) return false;
    bool is_as_good = held->section_count >= artifact->section_count;
    kiln__artifact_unref(held);
    return is_as_good;
}

static kiln_status put_one(struct importing *importing, uint64_t index, kiln_error *err)
{
    struct kiln_artifact *artifact = NULL;
    kiln_error error = {0};
    kiln_status status = load(importing, index, &artifact, err);
    if (status != KILN_OK) return status;
    if (!artifact) {
        importing->report.unused_files++;
    } else if (is_there(importing, artifact)) {
        importing->report.there_files++;
    } else {
        status = importing->folder->methods->put(importing->folder, artifact, &error);
        if (status != KILN_OK) return kiln__artifact_unref(artifact), kiln__fail(err, KILN_IO, "%s", error.text);
        importing->report.imported_files++;
        importing->report.imported_bytes += importing->rows[index].raw_size;
    }
    kiln__artifact_unref(artifact);
    return KILN_OK;
}

static kiln_status put_all(struct importing *importing, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint64_t i = 0; i < importing->pack.count && status == KILN_OK; i++) {
        status = put_one(importing, i, err);
        report_progress(importing, "importing", i + 1);
    }
    importing->report.evicted_files = atomic_load(&importing->events.evictions);
    return status;
}

/* The folder names who made what is in it now, for machines without a compiler. */
static kiln_status name_toolchain(struct importing *importing, kiln_error *err)
{
    struct kiln_buffer text = {0};
    char line[KILN_TOOLCHAIN_SIZE];
    kiln_error error = {0};
    kiln_status status = kiln__pack_manifest(&importing->pack, &text, err);
    if (status == KILN_OK && kiln__manifest_toolchain((kiln_bytes){text.data, text.size}, line) &&
        importing->folder->methods->set_toolchain(importing->folder, line, &error) != KILN_OK)
        status = kiln__fail(err, KILN_IO, "%s", error.text);
    kiln__buffer_release(&text);
    return status;
}

static kiln_status open_folder(struct importing *importing, const char *folder, kiln_error *err)
{
    char path[4096];
    uint64_t max_bytes, max_files;
    kiln_status status = folder ? KILN_OK : kiln_inspect_default_folder(path, sizeof path, err);
    kiln_default_bounds(&max_bytes, &max_files);
    if (status == KILN_OK)
        status = kiln__tier_folder(folder ? folder : path, true, max_bytes, max_files, &importing->events,
                                   &importing->folder, err);
    return status;
}

static kiln_status import(struct importing *importing, const char *folder, kiln_error *err)
{
    struct kiln_buffer text = {0};
    kiln_status status = kiln__pack_manifest(&importing->pack, &text, err);
    kiln__buffer_release(&text);
    if (status == KILN_OK) status = kiln__pack_rows(&importing->pack, &importing->rows, err);
    if (status == KILN_OK) status = check_all(importing, err);
    if (status == KILN_OK) status = open_folder(importing, folder, err);
    if (status == KILN_OK) status = put_all(importing, err);
    if (status == KILN_OK) status = name_toolchain(importing, err);
    if (importing->folder) importing->folder->methods->free(importing->folder);
    free(importing->rows);
    return status;
}

kiln_status kiln_import(const char *path, const kiln_import_options *options, kiln_import_report *report,
                        kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct importing importing = {.progress = options ? &options->progress : NULL};
    if (!path || (options && options->struct_size != sizeof *options))
        return kiln__fail(err, KILN_INVALID, "kiln_import: needs a path, and options with their struct_size");
    kiln_error error = {0};
    enum kiln_outcome outcome = kiln__pack_open(path, &importing.pack, &error);
    if (outcome == KILN_MISS) return kiln__fail(err, KILN_IO, "%s: there is no such file", path);
    if (outcome == KILN_FAILED) return kiln__fail(err, error.status, "%s", error.text);
    kiln_status status = import(&importing, options ? options->folder : NULL, err);
    kiln__pack_close(&importing.pack);
    if (report) *report = importing.report;
    return status;
}
