/*
 * manual.c - `kiln --man`: the manual page, made from the very texts that --help prints.
 *
 * A help text is paragraphs, and lines that begin with two spaces: "  --option VALUE  what it does", continued by lines
 * that are indented deeper. Options become tagged paragraphs, whatever else is indented is shown as it is.
 */
#include <stdbool.h>
#include <string.h>

#include "cli.h"
#include "kiln/config.h"

/* Text that roff takes as it stands: a minus is a minus, and no line begins with a request. */
static void print_text(FILE *out, const char *text, size_t size)
{
    if (size && (*text == '.' || *text == '\'')) fputs("\\&", out);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
    fputc('\n', out);
}

/* "  --option VALUE  what it does" */
static void print_option(FILE *out, const char *line, size_t size)
{
    line += 2, size -= 2;
    const char *gap = memmem(line, size, "  ", 2);
    size_t tag = gap ? (size_t)(gap - line) : size, rest = tag;
    while (rest < size && line[rest] == ' ') rest++;
    fputs(".TP\n.B ", out);
    print_text(out, line, tag);
    if (rest < size) print_text(out, line + rest, size - rest);
}

enum kind { NOTHING, PARAGRAPH, OPTION, EXAMPLE };

static enum kind kind_of(const char *line, size_t size, enum kind before)
{
    size_t indent = 0;
    while (indent < size && line[indent] == ' ') indent++;
    if (size == 0) return NOTHING;
    if (indent < 2) return PARAGRAPH;
    if (indent == 2 && line[2] == '-') return OPTION;
    return before == OPTION ? OPTION : EXAMPLE;
}

static void print_line(FILE *out, const char *line, size_t size, enum kind before, enum kind kind)
{
    if (before == EXAMPLE && kind != EXAMPLE) fputs(".EE\n", out);
    if (kind == EXAMPLE && before != EXAMPLE) fputs(".PP\n.EX\n", out);
    if (kind == PARAGRAPH && before != PARAGRAPH) fputs(".PP\n", out);
    size_t indent = 0;
    while (indent < size && line[indent] == ' ') indent++;
    if (kind == OPTION && indent == 2)
        print_option(out, line, size);
    else if (kind == EXAMPLE)
        print_text(out, line, size);
    else if (kind != NOTHING)
        print_text(out, line + indent, size - indent);
}

static void print_help_text(FILE *out, const char *help)
{
    enum kind before = NOTHING;
    while (*help) {
        size_t size = strcspn(help, "\n");
        enum kind kind = kind_of(help, size, before);
        print_line(out, help, size, before, kind);
        before = kind;
        help += size + (help[size] == '\n');
    }
    if (before == EXAMPLE) fputs(".EE\n", out);
}

static void print_command(FILE *out, const struct command *command)
{
    fprintf(out, ".SS ");
    print_text(out, command->usage, strlen(command->usage));
    print_help_text(out, command->help);
}

static void print_tagged(FILE *out, const char *tag, const char *text)
{
    fputs(".TP\n.B ", out);
    print_text(out, tag, strlen(tag));
    print_text(out, text, strlen(text));
}

/* Every setting of the library, as kiln/config.h lists them. */
static void print_environment(FILE *out)
{
    kiln_setting_info info = {.struct_size = sizeof info};
    const char *name;
    fputs(".SH ENVIRONMENT\nEach may also stand in a file of settings, in small letters and without the prefix.\n",
          out);
    for (size_t i = 0; (name = kiln_setting_name(i)); i++)
        if (kiln_setting_describe(name, &info, NULL) == KILN_OK) print_tagged(out, name, info.help);
    print_tagged(out, "NO_COLOR", "when it is not empty, nothing is printed in colour");
}

static void print_files(FILE *out)
{
    static const char *const files[][2] = {
        {"~/.cache/kiln", "the folder of artifacts, where KILN_CACHE_DIR names no other"},
        {"~/.config/kiln/config, /etc/kiln/config", "settings, one in a line: name = value"},
        {"~/.config/kiln/trusted_keys", "keys whose signatures are believed"},
        {"~/.local/state/kiln/last-run.json", "the time line of the last kiln run, for kiln why and kiln report"},
        {"LIBDIR/kiln/VERSION/", "the compiler, signatures, remotes and the base pack of an installed version"},
    };
    fputs(".SH FILES\n", out);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) print_tagged(out, files[i][0], files[i][1]);
}

static void print_examples(FILE *out)
{
    static const char *const examples[][2] = {
        {"kiln run -- ./program", "run a program, and see what compiling cost"},
        {"kiln why", "why it compiled, the most expensive cause first"},
        {"kiln ls --sort compile --limit 10", "the ten artifacts that took longest"},
        {"kiln show swiglu", "plan and kernels of a function"},
        {"kiln warm kernels/*.ll --target x86-64-v3 --folder cache", "fill a folder to be shipped"},
        {"kiln prune --older 30d", "remove what nobody used for a month"},
        {"kiln doctor", "what is wrong with this machine's settings"},
    };
    fputs(".SH EXAMPLES\n", out);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) print_tagged(out, examples[i][0], examples[i][1]);
}

void print_manual(FILE *out, const struct command *const *commands, const char *about, const char *exit_codes,
                  const char *version)
{
    fprintf(out, ".TH KILN 1 \"\" \"kiln %s\" \"User Commands\"\n.SH NAME\nkiln \\- the cache of compiled kernels\n",
            version);
    fputs(".SH SYNOPSIS\n.B kiln\nCOMMAND [OPTIONS]\n.br\n.B kiln\n\\-\\-help | \\-\\-version | \\-\\-man\n.SH "
          "DESCRIPTION\n",
          out);
    print_help_text(out, about);
    for (const struct command *const *at = commands; *at; at++) {
        if ((*at)->hidden) continue;
        fprintf(out, ".TP\n.B %s\n", (*at)->name);
        print_text(out, (*at)->summary, strlen((*at)->summary));
    }
    fputs(".SH COMMANDS\nEvery command takes\n.B \\-\\-help\nand\n.BR \\-\\-json .\n", out);
    for (const struct command *const *at = commands; *at; at++)
        if (!(*at)->hidden) print_command(out, *at);
    fputs(".SH EXIT STATUS\n", out);
    print_help_text(out, exit_codes);
    print_environment(out);
    print_files(out);
    print_examples(out);
}
