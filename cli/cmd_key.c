/*
 * cmd_key.c - `kiln key new | trust | ls | revoke`: keys that sign artifacts, and whom this machine believes.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "kiln/trust.h"

/* ---- new ----------------------------------------------------------------------------------------------------- */

static int make_key(const struct command *command, const struct options *options, const char *path)
{
    char key[KILN_KEY_TEXT];
    kiln_error err = {0};
    if (kiln_key_new(path, options->comment, key, &err) != KILN_OK) return failure(command, err.text);
    if (options->json) {
        char *public_path = NULL;
        if (asprintf(&public_path, "%s.pub", path) < 0) return failure(command, "out of memory");
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "key", key);
        kiln__json_text(&json_out, "comment", options->comment ? options->comment : "");
        kiln__json_text(&json_out, "secret_file", path);
        kiln__json_text(&json_out, "public_file", public_path);
        kiln__json_close(&json_out, '}');
        json_end();
        free(public_path);
        return EXIT_FINE;
    }
    printf("key     %s\nsecret  %s\npublic  %s.pub\n\n", key, clean(path), clean(path));
    printf("KILN_SIGN_KEY=%s signs what is stored; 'kiln key trust %s.pub' believes it on another machine.\n",
           clean(path), clean(path));
    return EXIT_FINE;
}

/* ---- trust, revoke --------------------------------------------------------------------------------------------- */

static int print_change(const struct options *options, const kiln_key_change *change, const char *done,
                        const char *stood)
{
    if (options->json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "list", change->list);
        kiln__json_number(&json_out, "added", change->added);
        kiln__json_number(&json_out, "before", change->before);
        kiln__json_close(&json_out, '}');
        json_end();
        return EXIT_FINE;
    }
    printf("%s: %llu %s", clean(change->list), (unsigned long long)change->added, done);
    if (change->before) printf(", %llu %s before", (unsigned long long)change->before, stood);
    puts("");
    return EXIT_FINE;
}

static int trust_key(const struct command *command, const struct options *options, const char *path)
{
    kiln_key_change change;
    kiln_error err = {0};
    if (kiln_key_trust(path, &change, &err) != KILN_OK) return failure(command, err.text);
    return print_change(options, &change, "trusted", "trusted");
}

static int revoke_key(const struct command *command, const struct options *options, const char *which)
{
    kiln_key_change change;
    kiln_error err = {0};
    if (kiln_key_revoke(which, &change, &err) != KILN_OK) return failure(command, err.text);
    return print_change(options, &change, "revoked", "revoked");
}

/* ---- ls -------------------------------------------------------------------------------------------------------- */

static const char *state_of(const kiln_key_info *info)
{
    if (info->is_revoked) return "revoked";
    return info->signs ? "signs" : "trusted";
}

static void print_json_key(const kiln_key_info *info)
{
    kiln__json_line(&json_out);
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "key", info->key);
    kiln__json_text(&json_out, "state", state_of(info));
    kiln__json_text(&json_out, "comment", info->comment);
    kiln__json_text(&json_out, "where", info->where);
    kiln__json_close(&json_out, '}');
}

static int list_keys(const struct command *command, const struct options *options, const char *none)
{
    (void)none;
    kiln_keys *keys = NULL;
    kiln_error err = {0};
    if (kiln_keys_open(&keys, &err) != KILN_OK) return failure(command, err.text);
    if (options->json) kiln__json_open(&json_out, NULL, '[');
    for (size_t i = 0; i < kiln_keys_count(keys); i++) {
        kiln_key_info info;
        kiln_keys_describe(keys, i, &info);
        if (options->json)
            print_json_key(&info);
        else
            printf("%-8s %s  %s  (%s)\n", state_of(&info), info.key, *info.comment ? clean(info.comment) : "-",
                   clean(info.where));
    }
    if (options->json) {
        kiln__json_close(&json_out, ']');
        json_end();
    } else if (kiln_keys_count(keys) == 0) {
        puts("no key is trusted; 'kiln key trust PATH.pub' adds one");
    }
    const char *problem = kiln_keys_problem(keys);
    int status = *problem ? failure(command, problem) : EXIT_FINE;
    kiln_keys_close(keys);
    return status;
}

/* ---- which ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *operand; /* what it needs; NULL: nothing */
    int (*run)(const struct command *command, const struct options *options, const char *operand);
} actions[] = {
    {"new", "a path for the key", make_key},
    {"trust", "a file with a public key: PATH.pub", trust_key},
    {"ls", NULL, list_keys},
    {"revoke", "a key, or a file with one: PATH.pub", revoke_key},
};

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    const char *name = options.operand_count > 0 ? options.operands[0] : "";
    const char *operand = options.operand_count > 1 ? options.operands[1] : NULL;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(name, actions[i].name) != 0) continue;
        if (actions[i].operand && !operand) return usage_error(command, "%s needs %s", name, actions[i].operand);
        if (!actions[i].operand && operand) return usage_error(command, "'%s' is one word too many", operand);
        if (options.comment && actions[i].run != make_key)
            return usage_error(command, "--comment is for 'kiln key new'");
        return actions[i].run(command, &options, operand);
    }
    return usage_error(command, "what to do? one of new, trust, ls and revoke");
}

const struct command cmd_key = {
    .name = "key",
    .summary = "make, trust, list and revoke keys that sign artifacts",
    .usage = "kiln key new PATH [--comment TEXT] | trust PATH.pub | ls | revoke KEY|PATH.pub  [--json]",
    .help =
        "Artifacts from elsewhere are machine code; they are used when a trusted key has signed them.\n\n"
        "  new PATH      makes a key: PATH is the secret half, which only its owner can read, and PATH.pub the public\n"
        "                one. Nothing is written over. KILN_SIGN_KEY=PATH signs what is stored from then on.\n"
        "  trust PATH.pub\n"
        "                believes what that key has signed: it is added to the list of KILN_TRUSTED_KEYS, else to\n"
        "                XDG_CONFIG_HOME/kiln/trusted_keys or ~/.config/kiln/trusted_keys\n"
        "  ls            lists the keys that are known here, and which file and line decides\n"
        "  revoke KEY|PATH.pub\n"
        "                refuses what that key has signed, whatever other lists say; of a key that is listed its "
        "first\n"
        "                8 digits will do\n\n"
        "Exit code 1: a file can't be read or written, has a wrong line, or others may change it.\n\n"
        "  --comment TEXT  of a new key: whose it is, for people\n"
        "  --json          an object; of ls a list of objects\n",
    .takes = "--comment",
    .max_operands = 2,
    .run = run,
};
