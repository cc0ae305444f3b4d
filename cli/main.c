/*
 * main.c - finds the command by its name and runs it. A new command is one file and one row here.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct command cmd_demo_process = {.name = "demo-process", .run = run_demo_process, .hidden = true};

static const struct command *const all_commands[] = {
    &cmd_demo,   &cmd_run,    &cmd_why,    &cmd_report,       &cmd_stats,  &cmd_ls,     &cmd_show,
    &cmd_verify, &cmd_prune,  &cmd_clear,  &cmd_warm,         &cmd_export, &cmd_import, &cmd_audit,
    &cmd_key,    &cmd_config, &cmd_doctor, &cmd_demo_process, NULL,
};

static const char about[] = "Looks into the cache of compiled kernels, keeps it in order, and shows what it saves.\n";
static const char exit_codes[] = "Exit codes: 0 fine, 1 found something wrong, 2 wrong usage.\n";

static void print_help(FILE *out)
{
    fprintf(out, "usage: kiln COMMAND [OPTIONS]\n\n%s\n", about);
    for (const struct command *const *at = all_commands; *at; at++)
        if (!(*at)->hidden) fprintf(out, "  %-8s %s\n", (*at)->name, (*at)->summary);
    fprintf(out, "\nkiln help COMMAND says more. kiln --version prints the version, kiln --man the manual page.\n%s",
            exit_codes);
}

static const struct command *find_command(const char *name)
{
    for (const struct command *const *at = all_commands; *at; at++)
        if (strcmp((*at)->name, name) == 0) return *at;
    return NULL;
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "kiln: there is no command '%s'. Commands:", name);
    for (const struct command *const *at = all_commands; *at; at++)
        if (!(*at)->hidden) fprintf(stderr, " %s", (*at)->name);
    fputs("\n", stderr);
    return EXIT_USAGE;
}

static int help_with(const char *name)
{
    char *help[] = {(char[]){"--help"}};
    const struct command *command = find_command(name);
    return command && !command->hidden ? command->run(command, 1, help) : unknown_command(name);
}

/* What was printed must have arrived: a full disk or a closed pipe is an error, not silence. */
static int finish(int status)
{
    bool is_lost = ferror(stdout) || fflush(stdout) != 0;
    if (!is_lost) return status;
    perror("kiln: writing the result");
    return EXIT_WRONG;
}

int main(int count, char **words)
{
    if (count < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    bool wants_help = strcmp(words[1], "help") == 0;
    if (wants_help && count > 2) return finish(help_with(words[2]));
    if (wants_help || strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0) {
        print_help(stdout);
        return finish(EXIT_FINE);
    }
    if (strcmp(words[1], "--completion") == 0) return finish(print_completion(all_commands, count > 2 ? words[2] : ""));
    if (strcmp(words[1], "--version") == 0) {
        puts("kiln " KILN_VERSION);
        return finish(EXIT_FINE);
    }
    if (strcmp(words[1], "--man") == 0) {
        print_manual(stdout, all_commands, about, exit_codes, KILN_VERSION);
        return finish(EXIT_FINE);
    }
    const struct command *command = find_command(words[1]);
    if (!command) return unknown_command(words[1]);
    return finish(command->run(command, count - 2, words + 2));
}
