/*
 * options.c - see options.h. The stack holds copies; a look-up walks it from the top, so nesting needs no bookkeeping.
 */
#include "key/options.h"

#include <stdio.h>

#include "base/config.h"
#include "base/process/thread_state.h"

struct kiln_pushed_option {
    struct kiln_pushed_option *below;
    char *value; /* points behind the name */
    char name[];
};

_Thread_local struct kiln_pushed_option *kiln__pushed_options;

static void free_stack(void *stack)
{
    kiln__pushed_options = NULL; /* a thread that ends may still call Kiln */
    for (struct kiln_pushed_option *option = stack, *below; option; option = below) {
        below = option->below;
        free(option);
    }
}

kiln_status kiln_option_push(const char *name, const char *value)
{
    if (!name || !*name || !value) return KILN_INVALID;
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    struct kiln_pushed_option *option = malloc(sizeof *option + name_size + value_size);
    if (!option) return KILN_NO_MEMORY;
    memcpy(option->name, name, name_size);
    option->value = option->name + name_size;
    memcpy(option->value, value, value_size);
    option->below = kiln__pushed_options;
    kiln__pushed_options = option;
    kiln__thread_state_set(KILN_THREAD_OPTIONS, free_stack, kiln__pushed_options);
    return KILN_OK;
}

void kiln_option_pop(void)
{
    struct kiln_pushed_option *option = kiln__pushed_options;
    if (!option) return;
    kiln__pushed_options = option->below;
    kiln__thread_state_set(KILN_THREAD_OPTIONS, free_stack, kiln__pushed_options);
    free(option);
}

/* The smallest visible name that is greater than `after` (NULL: the smallest); sorted order without a sorted copy. */
static const struct kiln_pushed_option *next_by_name(const char *after)
{
    const struct kiln_pushed_option *best = NULL;
    for (const struct kiln_pushed_option *option = kiln__pushed_options; option; option = option->below)
        if ((!after || strcmp(option->name, after) > 0) && (!best || strcmp(option->name, best->name) < 0))
            best = option;
    return best;
}

/* One item per visible option: name and value stand behind one another, each with its NUL. */
void kiln__options_sign_all(struct kiln_signature *signature)
{
    for (const struct kiln_pushed_option *option = next_by_name(NULL); option; option = next_by_name(option->name))
        kiln__signature_bytes(signature, KILN_ITEM_OPTIONS, 0, option->name,
                              strlen(option->name) + 1 + strlen(option->value) + 1);
}

/* ---- options of a key ----------------------------------------------------------------------------------------- */

void kiln__options_take(struct kiln_options *options, const uint64_t *words, uint32_t count)
{
    options->pushed = words;
    options->pushed_count = 0;
    while (options->pushed_count < count && kiln__item_tag(words[options->pushed_count]) == KILN_ITEM_OPTIONS)
        options->pushed_count += 1 + kiln__item_words(words[options->pushed_count]);
}

const char *kiln__options_find(const struct kiln_options *options, const char *name)
{
    for (uint32_t at = 0; at < options->pushed_count; at += 1 + kiln__item_words(options->pushed[at])) {
        const char *text = (const char *)(options->pushed + at + 1);
        if (!strcmp(text, name)) return text + strlen(text) + 1;
    }
    return NULL;
}

void kiln__options_content(const struct kiln_options *options, struct kiln_content_key *key)
{
    char level[16];
    snprintf(level, sizeof level, "%u", options->opt_level);
    kiln__content_text(key, "option opt_level", level);
    kiln__content_text(key, "option fast_math", options->fast_math ? "1" : "0");
    if (options->lines) kiln__content_text(key, "option lines", "1");
    for (uint32_t at = 0; at < options->pushed_count; at += 1 + kiln__item_words(options->pushed[at])) {
        const char *text = (const char *)(options->pushed + at + 1);
        size_t name_size = strlen(text) + 1;
        kiln__content_field(key, "pushed", text, name_size + strlen(text + name_size));
    }
}

/* ---- options of the settings ---------------------------------------------------------------------------------- */

struct kiln_options kiln__options_from_settings(void)
{
    return (struct kiln_options){.opt_level = (unsigned)kiln__config_number("KILN_OPT_LEVEL"),
                                 .fast_math = kiln__config_number("KILN_FAST_MATH") != 0,
                                 .lines = kiln__config_number("KILN_LINES") != 0};
}

static _Thread_local struct {
    uint64_t version; /* of the environment; 0: nothing known */
    uint32_t packed;
} known;

uint32_t kiln__options_packed(const struct kiln_environment *environment)
{
    if (__builtin_expect(environment && known.version == environment->version, 1)) return known.packed;
    struct kiln_options options = kiln__options_from_settings();
    known.packed = options.opt_level | (uint32_t)options.fast_math << 2 | (uint32_t)options.lines << 3;
    known.version = environment ? environment->version : 0;
    return known.packed;
}

struct kiln_options kiln__options_unpack(uint32_t packed)
{
    return (struct kiln_options){
        .opt_level = packed & 3, .fast_math = (packed >> 2 & 1) != 0, .lines = (packed >> 3 & 1) != 0};
}
