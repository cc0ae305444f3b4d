/*
 * export.c - kiln_export(): a folder, or part of it, as one pack.
 *
 * Twice through the folder: what is selected first decides how much room index and manifest get, which stand in front;
 * then entries are written. What has gone in between leaves room that nobody uses. Invariant: what this machine would
 * not use itself is not exported, so that a pack of ours holds nothing that others have slipped into our folder.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/process/callback.h"
#include "base/status.h"
#include "kiln/maintain.h"
#include "store/inspect.h"
#include "store/pack/pack_manifest.h"
#include "store/pack/pack_writer.h"
#include "store/signing.h"

enum {
    LARGEST_MANIFEST = 256 << 10,
    SIGNER_LINE = 128, /* of the manifest: who signs what nobody has signed, which is known when it is done */
};

struct exporting {
    const kiln_export_options *options;
    kiln_inspector *inspector;
    bool *is_selected; /* by index */
    uint64_t used_since;
    struct kiln_tally tally;
    kiln_export_report report;
};

/* ---- selecting ------------------------------------------------------------------------------------------------- */

/* The bytes of others are for no target in particular. */
static bool fits_target(const kiln_export_options *options, const struct kiln_artifact *artifact)
{
    const char *const *at = *artifact->target ? options->targets : NULL;
    for (; at && *at; at++) {
        struct kiln_target target;
        bool is_resolved = kiln__target_resolve(*at, &target, NULL) == KILN_OK;
        if (strcmp(is_resolved ? target.name : *at, artifact->target) == 0) return true;
    }
    return !*artifact->target || !options->targets;
}

static bool fits(const kiln_export_options *options, const struct kiln_artifact *artifact)
{
    return fits_target(options, artifact) &&
           (!options->function || fnmatch(options->function, artifact->function, 0) == 0);
}

static void note_unusable(struct exporting *exporting, const char *digest, const char *why)
{
    kiln_export_report *report = &exporting->report;
    if (report->unusable_files++ == 0) snprintf(report->problem, sizeof report->problem, "%.12s: %.200s", digest, why);
}

/* NULL: it has gone, or is not to be exported, which is counted. */
static kiln_entry *open_entry(struct exporting *exporting, size_t index)
{
    kiln_error err = {0};
    kiln_entry *entry = NULL;
    const char *digest = kiln_inspect_digest(exporting->inspector, index);
    kiln_status status = kiln_entry_open(exporting->inspector, index, &entry, &err);
    if (status != KILN_OK) {
        if (!kiln_inspect_is_gone(exporting->inspector, index)) note_unusable(exporting, digest, err.text);
        return NULL;
    }
    /* KILN_INVALID: for another machine, which is what packs are for. */
    if (kiln_entry_check_usable(entry, &err) != KILN_IO) return entry;
    note_unusable(exporting, digest, err.text);
    kiln_entry_close(entry);
    return NULL;
}

static uint64_t raw_size(const kiln_entry *entry)
{
    kiln_entry_info info;
    kiln_entry_describe(entry, &info);
    return info.size_bytes;
}

static void report_progress(const kiln_export_options *options, const char *what, uint64_t done, uint64_t total)
{
    if (options->progress.report) options->progress.report(options->progress.context, what, done, total);
}

static void select_entries(struct exporting *exporting)
{
    const kiln_export_options *options = exporting->options;
    size_t count = kiln_inspect_count(exporting->inspector);
    for (size_t i = 0; i < count; i++) {
        bool is_recent = kiln__inspect_used_unix_s(exporting->inspector, i) >= exporting->used_since;
        kiln_entry *entry = is_recent ? open_entry(exporting, i) : NULL;
        exporting->is_selected[i] = entry && fits(options, kiln__entry_artifact(entry));
        if (exporting->is_selected[i])
            kiln__tally_add(&exporting->tally, kiln__entry_artifact(entry), raw_size(entry));
        else if (entry || !is_recent)
            exporting->report.left_out_files++;
        kiln_entry_close(entry);
        report_progress(options, "selecting", i + 1, count);
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Who signs is who exports: unless somebody has before. */
static kiln_status sign(struct kiln_artifact *artifact, kiln_error *err)
{
    kiln_error error = {0};
    if (artifact->signing.is_signed || kiln__artifact_sign(artifact, &error) != KILN_FAILED) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s", error.text);
}

/* They are metadata, which no signature covers. */
static void drop_times(const struct exporting *exporting, struct kiln_artifact *artifact)
{
    if (!exporting->options->without_times) return;
    artifact->created_unix_s = 0;
    artifact->compile_ns = 0;
}

static kiln_status write_entries(struct exporting *exporting, struct kiln_pack_writer *writer, kiln_error *err)
{
    size_t count = kiln_inspect_count(exporting->inspector);
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        kiln_entry *entry = exporting->is_selected[i] ? open_entry(exporting, i) : NULL;
        if (!entry) continue;
        struct kiln_artifact *artifact = kiln__entry_artifact(entry);
        drop_times(exporting, artifact);
        status = sign(artifact, err);
        if (status == KILN_OK) status = kiln__pack_add(writer, artifact, err);
        if (status == KILN_OK) kiln__tally_add(&exporting->tally, artifact, raw_size(entry));
        kiln_entry_close(entry);
        report_progress(exporting->options, "writing", i + 1, count);
    }
    return status;
}

static kiln_status write_pack(struct exporting *exporting, const char *path, kiln_error *err)
{
    struct kiln_pack_writer writer;
    struct kiln_buffer manifest = {0};
    time_t now = exporting->options->without_times ? 0 : time(NULL);
    kiln__manifest_print(&exporting->tally, now, LARGEST_MANIFEST, &manifest);
    uint32_t room = (uint32_t)manifest.size + SIGNER_LINE;
    kiln_status status = manifest.failed ? kiln__no_memory(err, "the manifest of a pack")
                                         : kiln__pack_begin(&writer, path, exporting->tally.entries, room, err);
    if (status != KILN_OK) {
        kiln__buffer_release(&manifest);
        return status;
    }
    struct kiln_tally written = {0};
    kiln__tally_name(&written, exporting->tally.toolchain);
    kiln__tally_release(&exporting->tally);
    exporting->tally = written;
    status = write_entries(exporting, &writer, err);
    kiln__buffer_clear(&manifest);
    if (status == KILN_OK) kiln__manifest_print(&exporting->tally, now, room, &manifest);
    if (status == KILN_OK && manifest.failed) status = kiln__no_memory(err, "the manifest of a pack");
    exporting->report.pack_bytes = writer.at;
    if (status == KILN_OK)
        status = kiln__pack_finish(&writer, (kiln_bytes){manifest.data, manifest.size},
                                   exporting->options->is_public ? 0644 : 0600, err);
    else
        kiln__pack_abandon(&writer);
    exporting->report.exported_files = exporting->tally.entries;
    exporting->report.exported_bytes = exporting->tally.raw_bytes;
    kiln__buffer_release(&manifest);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static kiln_status export_folder(struct exporting *exporting, const char *path, kiln_error *err)
{
    char toolchain[KILN_TOOLCHAIN_SIZE];
    const char *folder = kiln_inspect_folder(exporting->inspector);
    exporting->is_selected = calloc(kiln_inspect_count(exporting->inspector) + 1, sizeof(bool));
    if (!exporting->is_selected) return kiln__no_memory(err, "a list of artifacts");
    if (kiln_inspect_toolchain(folder, toolchain, sizeof toolchain, NULL) == KILN_OK)
        kiln__tally_name(&exporting->tally, toolchain);
    select_entries(exporting);
    if (exporting->tally.entries == 0)
        return kiln__fail(err, KILN_INVALID, "%s: nothing to export: %llu artifacts do not fit, %llu can't be used%s%s",
                          folder, (unsigned long long)exporting->report.left_out_files,
                          (unsigned long long)exporting->report.unusable_files,
                          *exporting->report.problem ? ", the first " : "", exporting->report.problem);
    return write_pack(exporting, path, err);
}

kiln_status kiln_export(const char *path, const kiln_export_options *options, kiln_export_report *report,
                        kiln_error *err)
{
    KILN_HOLD_CANCEL;
    static const kiln_export_options everything = {.struct_size = sizeof everything};
    if (!options) options = &everything;
    if (!path || options->struct_size != sizeof *options)
        return kiln__fail(err, KILN_INVALID, "kiln_export: needs a path, and options with their struct_size");
    if (!kiln__is_pack_name(path))
        return kiln__fail(err, KILN_INVALID,
                          "%s: the name of a pack ends in " KILN_PACK_SUFFIX ", by which caches tell it from a folder",
                          path);
    struct exporting exporting = {.options = options};
    uint64_t now = (uint64_t)time(NULL);
    if (options->max_age_s && options->max_age_s < now) exporting.used_since = now - options->max_age_s;
    kiln_status status = kiln_inspect_open(options->folder, &exporting.inspector, err);
    if (status == KILN_OK) status = export_folder(&exporting, path, err);
    if (report) *report = exporting.report;
    kiln__tally_release(&exporting.tally);
    free(exporting.is_selected);
    kiln_inspect_close(exporting.inspector);
    return status;
}
