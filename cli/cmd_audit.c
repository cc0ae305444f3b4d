/*
 * cmd_audit.c - `kiln audit PROGRAM [ARGS]`: runs a program with KILN_AUDIT, and says what its functions read that is
 * not in their keys. The program's processes append what they find to a temporary file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

struct findings {
    unsigned long long audited;
    char **differences; /* each once */
    size_t count;
};

static bool is_known(const struct findings *findings, const char *text)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->differences[i], text) == 0) return true;
    return false;
}

static void add_difference(struct findings *findings, const char *text)
{
    if (is_known(findings, text)) return;
    char **grown = realloc(findings->differences, (findings->count + 1) * sizeof *grown);
    if (!grown) return;
    findings->differences = grown;
    if ((grown[findings->count] = strdup(text))) findings->count++;
}

/* "difference NAME: words", and one "audited N" for each process. */
static bool read_findings(const char *path, struct findings *findings)
{
    static const char difference[] = "difference ", audited[] = "audited ";
    FILE *file = fopen(path, "r");
    if (!file) return false;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t size; (size = getline(&line, &room, file)) > 0;) {
        if (line[size - 1] == '\n') line[size - 1] = '\0';
        if (strncmp(line, difference, sizeof difference - 1) == 0)
            add_difference(findings, line + sizeof difference - 1);
        if (strncmp(line, audited, sizeof audited - 1) == 0)
            findings->audited += strtoull(line + sizeof audited - 1, NULL, 10);
    }
    free(line);
    fclose(file);
    return true;
}

static void print_findings(const struct findings *findings, int exit_code, bool json)
{
    FILE *out = stderr; /* stdout is the program's */
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_signed(&json_out, "exit_code", exit_code);
        kiln__json_number(&json_out, "audited", findings->audited);
        kiln__json_open(&json_out, "differences", '[');
        for (size_t i = 0; i < findings->count; i++) kiln__json_text(&json_out, NULL, findings->differences[i]);
        kiln__json_close(&json_out, ']');
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    fprintf(out, "kiln audit: %llu hits were looked at again; %zu give something else now\n", findings->audited,
            findings->count);
    for (size_t i = 0; i < findings->count; i++) fprintf(out, "  %s\n", clean(findings->differences[i]));
    if (!findings->audited)
        fputs("  (no function was called often enough with the same key: the third call is the first looked at)\n",
              out);
    if (exit_code) fprintf(out, "  the program itself ended with %d\n", exit_code);
}

static int audit(const struct command *command, char **words, bool json)
{
    char path[4096];
    const char *parent = secure_getenv("TMPDIR");
    struct findings findings = {0};
    snprintf(path, sizeof path, "%s/kiln-audit-XXXXXX", parent && *parent ? parent : "/tmp");
    int descriptor = mkstemp(path);
    if (descriptor < 0 || setenv("KILN_AUDIT", path, 1) != 0)
        return failure(command, "no temporary file could be made; TMPDIR says where");
    close(descriptor);
    int exit_code = run_program(words), error = errno;
    bool is_read = read_findings(path, &findings);
    unlink(path);
    if (exit_code < 0 || !is_read) {
        char text[512];
        snprintf(text, sizeof text, "%.400s: %s", words[0],
                 exit_code < 0 ? strerror(error) : "what it found can't be read");
        return failure(command, text);
    }
    print_findings(&findings, exit_code, json);
    for (size_t i = 0; i < findings.count; i++) free(findings.differences[i]);
    free(findings.differences);
    return findings.count || exit_code ? EXIT_WRONG : EXIT_FINE;
}

/* Words behind the program's name are the program's, whatever they look like. */
static int run(const struct command *command, int count, char **words)
{
    int own = 0;
    while (own < count && words[own][0] == '-' && strcmp(words[own], "--") != 0) own++;
    struct options options;
    int status = parse_options(command, own, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (own < count && strcmp(words[own], "--") == 0) own++;
    if (own == count) return usage_error(command, "which program?");
    return audit(command, words + own, options.json);
}

const struct command cmd_audit = {
    .name = "audit",
    .summary = "run a program and find what its functions read that is not in their keys",
    .usage = "kiln audit [--json] [--] PROGRAM [ARGUMENTS]",
    .help = "Runs PROGRAM with KILN_AUDIT: on hits 2, 4, 8, ... of each key its functions are lowered or traced again, "
            "and what\n"
            "comes out is compared with what the hit gave. A difference is something that a function reads and no key "
            "holds: watch\n"
            "it (kiln_watch, kiln_read), or pass it as an argument.\n"
            "Exit code 1: there was a difference, or the program did not end with 0.\n\n"
            "  --json  one object, behind what the program prints\n",
    .takes = "",
    .run = run,
};
