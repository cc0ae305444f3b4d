/*
 * cli.h - what the commands of `kiln` share: options, exit codes, and how they print.
 *
 * The command sees public headers only, and of src the files that cli.cmake lists. Exit codes: 0 fine, 1 found
 * something wrong, 2 wrong usage. Results go to stdout, complaints to stderr; with --json, stdout is exactly one JSON
 * value.
 */
#ifndef KILN_CLI_H
#define KILN_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "kiln.h"

enum { EXIT_FINE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };

struct command {
    const char *name;
    const char *summary; /* one line, for `kiln --help` */
    const char *usage;   /* "kiln ls [--folder DIR] [--json]" */
    const char *help;    /* what --help adds to the usage; ends with a newline */
    const char *takes;   /* options with a value it knows, separated by spaces: "--folder --section" */
    const char *flags;   /* options without one, besides --json and --help; NULL: none */
    int max_operands;
    int (*run)(const struct command *command, int count, char **words);
    bool hidden;
};

extern const struct command cmd_demo, cmd_stats, cmd_ls, cmd_show, cmd_verify, cmd_prune, cmd_clear, cmd_warm,
    cmd_doctor;
extern const struct command cmd_run, cmd_report, cmd_why, cmd_audit, cmd_key, cmd_config, cmd_export, cmd_import;

/* The value of a setting that counts (kiln/config.h), without secrets, for the next call of any of these; "" also when
 * there is none. */
const char *setting_value(const char *name);
bool setting_is(const char *name, const char *value);
/* The library's log goes nowhere: the command says the same itself. */
void silence_log(void);

int run_demo_process(const struct command *command, int count, char **words); /* the other processes of the demo */

enum { MAX_TARGETS = 16, MANY_OPERANDS = 1 << 20 };

/* Words after the command's name, sorted out. */
struct options {
    bool json, help, repair, yes, dry_run, is_public, without_times;
    const char *folder, *section; /* NULL: not given */
    const char *size, *files, *older, *comment, *function, *used_since, *sort, *limit, *since, *output;
    const char *targets[MAX_TARGETS + 1]; /* --target may be given more than once; NULL at the end */
    int target_count;
    const char *operand; /* the last word that is no option; NULL: not given */
    char **operands;     /* all of them: the front of `words`, which is sorted for it */
    int operand_count;
};

/* EXIT_FINE; or EXIT_USAGE after saying on stderr what is right. */
int parse_options(const struct command *command, int count, char **words, struct options *out);
/* Says what is wrong and the usage line, on stderr; gives EXIT_USAGE. */
int usage_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "90", "15m", "12h", "30d", "8w" in seconds; 0: it is no time. */
uint64_t parse_seconds(const char *text);
/* "kiln ls: text" on stderr; gives EXIT_WRONG. */
int failure(const struct command *command, const char *text);

/* The program's exit code, 128 and more for a signal; -1: it could not be started, see errno. */
int run_program(char **words);

/* `kiln --man`: the texts of --help as a manual page (roff). */
void print_manual(FILE *out, const struct command *const *commands, const char *about, const char *exit_codes,
                  const char *version);

/* `kiln --completion SHELL`: a script for bash, zsh or fish, made of the commands' tables. */
int print_completion(const struct command *const *commands, const char *shell);

/* ---- printing ------------------------------------------------------------------------------------------------ */

/* The value that --json prints: written with base/json.h, then json_end() sends it to stdout, with a newline. */
extern struct kiln_json json_out;
void json_end(void);
/* kiln_counters as an object. */
void json_counters(const char *key, const kiln_counters *counters);
/* Names and texts out of files, for a terminal: a byte that can't be printed is \xNN, so they can't be taken for escape
 * sequences. Valid until the eighth call after this one. */
const char *clean(const char *text);
const char *clean_bytes(const void *data, size_t size);
/* The same for text of several lines, printed at once. */
void print_lines(FILE *out, const void *data, size_t size);
/* "1.5 MiB", "312 B". */
const char *format_bytes(char *buffer, size_t size, uint64_t bytes);
/* "1.24 s", "3.10 ms", "85 ns". */
const char *format_ns(char *buffer, size_t size, uint64_t ns);
/* "2026-01-31 12:00", local time. */
const char *format_time(char *buffer, size_t size, uint64_t unix_s);
/* Text in colour where `out` is a terminal that has colours and NO_COLOR is not set; else as it is. */
enum colour { PLAIN, BOLD, RED, GREEN, YELLOW, DIM };
const char *colour(FILE *out, enum colour colour);
/* True when every byte can stand on a line of a terminal. */
bool is_printable(const void *data, size_t size);

/* ---- progress ------------------------------------------------------------------------------------------------ */

/*
 * On stderr, when work takes longer than a second: on a terminal a line with a bar, the rate and the time left, which
 * is written anew and removed at the end; elsewhere a line each second.
 */
struct progress {
    const char *command;
    uint64_t start_ns, shown_ns;
    unsigned columns; /* of the terminal; 0: it is none */
    bool is_shown;
};

void progress_begin(struct progress *progress, const struct command *command);
void progress_report(void *progress, const char *what, uint64_t done, uint64_t total);
void progress_end(struct progress *progress); /* clears the line */

/* ---- counters ------------------------------------------------------------------------------------------------ */

struct counter {
    const char *name;
    size_t offset; /* of a uint64_t in kiln_counters */
};
extern const struct counter kiln_counter_list[]; /* ends with a NULL name */

static inline uint64_t *counter_in(const struct counter *counter, kiln_counters *counters)
{
    return (uint64_t *)((char *)counters + counter->offset);
}

#endif
