/*
 * options.c - the words after a command's name. Every command takes --json and --help; those with a value are listed in
 * the command's `takes`. An unknown option says which ones there are.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int usage_error(const struct command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "kiln %s: ", command->name);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\nusage: %s\n", command->usage);
    va_end(list);
    return EXIT_USAGE;
}

int failure(const struct command *command, const char *text)
{
    fprintf(stderr, "kiln %s: ", command->name);
    print_lines(stderr, text, strlen(text));
    fputs("\n", stderr);
    return EXIT_WRONG;
}

static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    return false;
}

/* Where an option's value goes; NULL when there is no such option, or no more room for it. */
static const char **value_of(struct options *options, const char *name)
{
    const struct {
        const char *name, **value;
    } values[] = {{"--folder", &options->folder},
                  {"--section", &options->section},
                  {"--size", &options->size},
                  {"--files", &options->files},
                  {"--older", &options->older},
                  {"--function", &options->function},
                  {"--used-since", &options->used_since},
                  {"--comment", &options->comment},
                  {"--sort", &options->sort},
                  {"--limit", &options->limit},
                  {"--since", &options->since},
                  {"--output", &options->output},
                  {"-o", &options->output}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(name, values[i].name) == 0) return values[i].value;
    bool is_target = strcmp(name, "--target") == 0 && options->target_count < MAX_TARGETS;
    return is_target ? &options->targets[options->target_count++] : NULL;
}

static bool *flag_of(const struct command *command, struct options *options, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--repair", &options->repair},
                 {"--yes", &options->yes},
                 {"--dry-run", &options->dry_run},
                 {"--public", &options->is_public},
                 {"--no-times", &options->without_times}};
    if (!command->flags || !is_listed(command->flags, name)) return NULL;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(name, flags[i].name) == 0) return flags[i].flag;
    return NULL;
}

static int unknown_option(const struct command *command, const char *word)
{
    const char *flags = command->flags ? command->flags : "";
    return usage_error(command, "there is no option '%s'; there are %s%s%s%s--json and --help", word, command->takes,
                       *command->takes ? " " : "", flags, *flags ? " " : "");
}

static int parse_option(const struct command *command, const char *word, const char *next, bool *took_next,
                        struct options *out)
{
    if (strcmp(word, "--json") == 0) return out->json = true, EXIT_FINE;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return out->help = true, EXIT_FINE;
    bool *flag = flag_of(command, out, word);
    if (flag) return *flag = true, EXIT_FINE;
    char name[32];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
    if (!is_listed(command->takes, name)) return unknown_option(command, word);
    const char *value = equals ? equals + 1 : next;
    if (!value || !*value) return usage_error(command, "%s needs a value", name);
    const char **slot = value_of(out, name);
    if (!slot) return usage_error(command, "%s can be given %d times at most", name, MAX_TARGETS);
    *slot = value;
    *took_next = !equals;
    return EXIT_FINE;
}

uint64_t parse_seconds(const char *text)
{
    static const struct {
        char letter;
        uint64_t seconds;
    } units[] = {{'\0', 1}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    size_t size = strspn(text, "0123456789");
    if (size == 0 || size > 9 || (text[size] && text[size + 1])) return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[size] == units[i].letter) return strtoull(text, NULL, 10) * units[i].seconds;
    return 0;
}

static void print_command_help(const struct command *command)
{
    printf("usage: %s\n\n%s", command->usage, command->help);
}

int parse_options(const struct command *command, int count, char **words, struct options *out)
{
    *out = (struct options){.operands = words};
    bool is_over = false; /* "--": what follows are operands, whatever they begin with */
    for (int i = 0; i < count; i++) {
        bool took_next = false;
        int status = EXIT_FINE;
        if (!is_over && strcmp(words[i], "--") == 0) {
            is_over = true;
        } else if (!is_over && words[i][0] == '-' && words[i][1]) {
            status = parse_option(command, words[i], i + 1 < count ? words[i + 1] : NULL, &took_next, out);
        } else if (out->operand_count == command->max_operands) {
            status = usage_error(command, "'%s' is one word too many", words[i]);
        } else {
            out->operand = out->operands[out->operand_count++] = words[i];
        }
        if (status != EXIT_FINE) return status;
        i += took_next;
    }
    if (out->help) print_command_help(command);
    return EXIT_FINE;
}
