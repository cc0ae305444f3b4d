/*
 * cmd_verify.c - `kiln verify`: every artifact of a folder is read in full: format, checksum, that its key's digest is
 * its name, that its code can be linked, and whether this machine would use it. With --repair, what is bad is put
 * aside.
 *
 * An artifact is bad when no machine can use it. One for another CPU is listed as foreign, because a folder may serve
 * many machines; one of an earlier or later format is passed over, as caches do. One that is removed or replaced while
 * it is read is not counted, because a folder may be in use.
 */
#include "cli.h"
#include "kiln/maintain.h"

enum kind { SOUND, FOREIGN, OTHER_FORMAT, BAD, KINDS, GONE };
static const char *const kind_names[KINDS] = {"sound", "foreign", "passed over", "bad"};

struct sums {
    uint64_t of[KINDS], repaired, bytes; /* `of` counts artifacts by kind */
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

static enum kind check(const kiln_inspector *inspector, size_t index, kiln_error *err)
{
    kiln_entry *entry = NULL;
    kiln_status status = kiln_entry_open(inspector, index, &entry, err);
    if (status != KILN_OK) {
        if (kiln_inspect_is_gone(inspector, index)) return GONE;
        return kiln_inspect_is_other_format(inspector, index) ? OTHER_FORMAT : BAD;
    }
    bool links = kiln_entry_check_links(entry, err) == KILN_OK;
    if (links) status = kiln_entry_check_usable(entry, err);
    kiln_entry_close(entry);
    if (!links) return BAD;
    return status == KILN_OK ? SOUND : status == KILN_INVALID ? FOREIGN : BAD;
}

/* An artifact that another process has put aside or replaced meanwhile counts as repaired. */
static void repair(const struct command *command, const kiln_inspector *inspector, size_t index, struct sums *sums)
{
    kiln_error err = {0};
    if (kiln_inspect_put_aside(inspector, index, &err) == KILN_OK || kiln_inspect_is_gone(inspector, index)) {
        sums->repaired++;
        return;
    }
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
        progress_report(&progress, "checking", i, count);
        enum kind kind = check(inspector, i, &err);
        if (kind == GONE) continue; /* removed by somebody who uses the folder */
        sums.bytes += kiln_inspect_size_bytes(inspector, i);
        sums.of[kind]++;
        if (kind == SOUND) continue;
        progress_end(&progress);
        print_finding(kiln_inspect_digest(inspector, i), kind_names[kind], err.text, options->json);
        if (kind == BAD && options->repair) repair(command, inspector, i, &sums);
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
        kiln__json_number(&json_out, "sound", sums->of[SOUND]);
        kiln__json_number(&json_out, "foreign", sums->of[FOREIGN]);
        kiln__json_number(&json_out, "passed_over", sums->of[OTHER_FORMAT]);
        kiln__json_number(&json_out, "bad", sums->of[BAD]);
        kiln__json_number(&json_out, "repaired", sums->repaired);
        kiln__json_number(&json_out, "size_bytes", sums->bytes);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("%s: %llu sound", clean(folder), (unsigned long long)sums->of[SOUND]);
    if (sums->of[FOREIGN]) printf(", %llu for other machines", (unsigned long long)sums->of[FOREIGN]);
    if (sums->of[OTHER_FORMAT]) printf(", %llu of another format", (unsigned long long)sums->of[OTHER_FORMAT]);
    printf(", %llu bad", (unsigned long long)sums->of[BAD]);
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
    return sums.of[BAD] > sums.repaired ? EXIT_WRONG : EXIT_FINE;
}

const struct command cmd_verify = {
    .name = "verify",
    .summary = "check every artifact of a folder",
    .usage = "kiln verify [--repair] [--folder DIR] [--json]",
    .help =
        "Reads every artifact in full: format, checksum, that its name is its key's digest, that its code can be "
        "linked,\n"
        "that only its owner can write it, and whether this machine can run it. Nothing of it is run. What is bad no\n"
        "process would use; each would compile anew. Artifacts for other machines and of earlier or later formats are\n"
        "counted, and are not bad; what processes that use the folder remove or replace meanwhile is passed over.\n"
        "Exit code 1: something bad is there, and was not put aside; or the folder can't be read.\n\n"
        "  --repair      put what is bad aside: DIGEST.kiln becomes DIGEST.bad, until it is pruned\n"
        "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  --json        an object: findings, and how many of each kind\n",
    .takes = "--folder",
    .flags = "--repair",
    .run = run,
};
