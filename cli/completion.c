/*
 * completion.c - `kiln --completion SHELL`: what a shell offers behind `kiln`, made of the same tables as the commands.
 */
#include <string.h>

#include "cli.h"

static void print_options(const struct command *command)
{
    printf("%s%s%s%s--json --help", command->takes, *command->takes ? " " : "", command->flags ? command->flags : "",
           command->flags ? " " : "");
}

static void print_names(const struct command *const *commands)
{
    for (; *commands; commands++)
        if (!(*commands)->hidden) printf("%s ", (*commands)->name);
    fputs("help", stdout);
}

static void print_bash(const struct command *const *commands)
{
    fputs("# kiln for bash\n_kiln()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} words\n"
          "    if [ \"$COMP_CWORD\" = 1 ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n        words=\"",
          stdout);
    print_names(commands);
    fputs("\"\n    else\n        case ${COMP_WORDS[1]} in\n", stdout);
    for (const struct command *const *at = commands; *at; at++) {
        if ((*at)->hidden) continue;
        printf("        %s) words=\"", (*at)->name);
        print_options(*at);
        fputs("\" ;;\n", stdout);
    }
    fputs("        esac\n        case $word in -*) ;; *) words= ;; esac\n    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
          "complete -o default -F _kiln kiln\n",
          stdout);
}

/* A word for zsh between quotes: those inside end and begin them again. */
static void print_quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void print_zsh(const struct command *const *commands)
{
    fputs("#compdef kiln\n_kiln()\n{\n    local -a commands=(\n", stdout);
    for (const struct command *const *at = commands; *at; at++) {
        if ((*at)->hidden) continue;
        printf("        '%s:", (*at)->name);
        print_quoted((*at)->summary);
        fputs("'\n", stdout);
    }
    fputs("        'help:more about a command'\n    )\n"
          "    if ((CURRENT == 2)) || [[ $words[2] = help ]]; then\n        _describe command commands\n        "
          "return\n    fi\n"
          "    case $words[2] in\n",
          stdout);
    for (const struct command *const *at = commands; *at; at++) {
        if ((*at)->hidden) continue;
        printf("    %s) [[ $words[CURRENT] = -* ]] && compadd -- ", (*at)->name);
        print_options(*at);
        fputs(" && return ;;\n", stdout);
    }
    fputs("    esac\n    _files\n}\n_kiln \"$@\"\n", stdout);
}

static void print_fish_options(const struct command *command, const char *list, const char *flags)
{
    while (list && *list) {
        size_t size = strcspn(list, " ");
        if (size > 2 && !strncmp(list, "--", 2))
            printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -l %.*s%s\n", command->name, (int)size - 2,
                   list + 2, flags);
        list += size + (list[size] == ' ');
    }
}

static void print_fish(const struct command *const *commands)
{
    fputs("# kiln for fish\n", stdout);
    for (const struct command *const *at = commands; *at; at++) {
        if ((*at)->hidden) continue;
        printf("complete -c kiln -n __fish_use_subcommand -f -a %s -d '", (*at)->name);
        for (const char *text = (*at)->summary; *text; text++) {
            if (*text == '\'') putchar('\\');
            putchar(*text);
        }
        fputs("'\n", stdout);
        print_fish_options(*at, (*at)->takes, " -r");
        print_fish_options(*at, (*at)->flags, "");
        print_fish_options(*at, "--json --help", "");
    }
}

int print_completion(const struct command *const *commands, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(const struct command *const *commands);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shell, shells[i].name)) return shells[i].print(commands), EXIT_FINE;
    fprintf(stderr, "kiln: --completion makes a script for bash, zsh or fish, not for '%s'\n", clean(shell));
    return EXIT_USAGE;
}
