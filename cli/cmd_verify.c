/*
 * cmd_verify.c - `kiln verify`: every artifact of a folder is read in full: format, checksum, that its key's digest is
 * its name, that its code can be linked, and whether this machine would use it. With --repair, what is bad is put
 * aside.
 *
 * An artifact is bad when no machine can use it. One for another CPU is listed as foreign, because a folder may serve
 * many machines. One that is removed or replaced while it is read is not counted, because a folder may be in use.
 */
#include "cli.h"
#include "kiln/maintain.h"

struct sums {
    uint64_t sound, foreign, bad, repaired, failed, bytes;
};

static void print_finding(const char *digest, const char *kind, const char *text, bool json)
{
    if (!json) {
        printf("%.12s  %s: %s\n", digest, kind, clean(text));
        return;
    }
    kiln__json_line(&json_out);
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "digest", digest);
    kiln__json_text(&json_out, "kind", kind);
    kiln__json_text(&json_out, "text", text);
    kiln__json_close(&json_out, '}');
}

/* KILN_OK; KILN_INVALID with *is_foreign: sound, for another machine; otherwise bad, or gone. */
static kiln_status check(const kiln_inspector *inspector, size_t index, bool *is_foreign, kiln_error *err)
{
    kiln_entry *entry = NULL;
    *is_foreign = false;
    kiln_status status = kiln_entry_open(inspector, index, &entry, err);
    if (status != KILN_OK) return status;
    status = kiln_entry_check_links(entry, err);
    if (status == KILN_OK) status = kiln_entry_check_usable(entry, err);
    *is_foreign = status == KILN_INVALID;
    kiln_entry_close(entry);
    return status;
}

/* An artifact that another process has put aside or replaced meanwhile counts as repaired. */
static void repair(const struct command *command, const kiln_inspector *inspector, size_t index, struct sums *sums)
{
    kiln_error err = {0};
    if (kiln_inspect_put_aside(inspector, index, &err) == KILN_OK || kiln_inspect_is_gone(inspector, index)) {
        sums->repaired++;
        return;
    }
    sums->failed++;
    failure(command, err.text);
}

static struct sums verify_all(const struct command *command, const struct options *options,
                              const kiln_inspector *inspector)
{
    struct sums sums = {0};
    struct progress progress;
    size_t count = kiln_inspect_count(inspector);
    progress_begin(&progress, command);
    for (size_t i = 0; i < count; i++) {
        kiln_error err = {0};
        bool is_foreign;
        progress_report(&progress, "checking", i, count);
        kiln_status status = check(inspector, i, &is_foreign, &err);
        if (status != KILN_OK && kiln_inspect_is_gone(inspector, i))
            continue; /* removed by somebody who uses the folder */
        sums.bytes += kiln_inspect_size_bytes(inspector, i);
        if (status == KILN_OK) {
            sums.sound++;
            continue;
        }
        progress_end(&progress);
        print_finding(kiln_inspect_digest(inspector, i), is_foreign ? "foreign" : "bad", err.text, options->json);
        *(is_foreign ? &sums.foreign : &sums.bad) += 1;
        if (!is_foreign && options->repair) repair(command, inspector, i, &sums);
    }
    progress_end(&progress);
    return sums;
}

static void print_sums(const char *folder, const struct sums *sums, bool json)
{
    char size[32];
    if (json) {
        kiln__json_close(&json_out, ']');
        kiln__json_text(&json_out, "folder", folder);
        kiln__json_number(&json_out, "sound", sums->sound);
        kiln__json_number(&json_out, "foreign", sums->foreign);
        kiln__json_number(&json_out, "bad", sums->bad);
        kiln__json_number(&json_out, "repaired", sums->repaired);
        kiln__json_number(&json_out, "size_bytes", sums->bytes);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("%s: %llu sound", clean(folder), (unsigned long long)sums->sound);
    if (sums->foreign) printf(", %llu for other machines", (unsigned long long)sums->foreign);
    printf(", %llu bad", (unsigned long long)sums->bad);
    if (sums->repaired) printf(" (%llu put aside)", (unsigned long long)sums->repaired);
    printf(", %s\n", format_bytes(size, sizeof size, sums->bytes));
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(options.folder, &inspector, &err) != KILN_OK) return failure(command, err.text);
    if (options.json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_open(&json_out, "findings", '[');
    }
    struct sums sums = verify_all(command, &options, inspector);
    print_sums(kiln_inspect_folder(inspector), &sums, options.json);
    kiln_inspect_close(inspector);
    return sums.bad > sums.repaired ? EXIT_WRONG : EXIT_FINE;
}

const struct command cmd_verify = {
    .name = "verify",
    .summary = "check every artifact of a folder",
    .usage = "kiln verify [--repair] [--folder DIR] [--json]",
    .help =
        "Reads every artifact in full: format, checksum, that its name is its key's digest, that its code can be "
        "linked,\n"
        "that only its owner can write it, and whether this machine can run it. Nothing of it is run. What is bad no\n"
        "process would use; each would compile anew. Artifacts for other machines are counted, and are not bad; what\n"
        "processes that use the folder remove or replace meanwhile is passed over.\n"
        "Exit code 1: something bad is there, and was not put aside; or the folder can't be read.\n\n"
        "  --repair      put what is bad aside: DIGEST.kiln becomes DIGEST.bad, until it is pruned\n"
        "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
        "  --json        an object: findings, and how many of each kind\n",
    .takes = "--folder",
    .flags = "--repair",
    .run = run,
};
