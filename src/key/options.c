/*
 * options.c - see options.h. The stack holds copies; a look-up walks it from the top, so nesting needs no bookkeeping.
 */
#include "key/options.h"

#include <pthread.h>
#include <stdio.h>

#include "base/log.h"

struct kiln_pushed_option {
    struct kiln_pushed_option *below;
    char *value; /* points behind the name */
    char name[];
};

_Thread_local struct kiln_pushed_option *kiln__pushed_options;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_stack(void *stack)
{
    kiln__pushed_options = NULL; /* destructors that run later may still call Kiln */
    for (struct kiln_pushed_option *option = stack, *below; option; option = below) {
        below = option->below;
        free(option);
    }
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, free_stack);
}

kiln_status kiln_option_push(const char *name, const char *value)
{
    if (!name || !*name || !value) return KILN_INVALID;
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    struct kiln_pushed_option *option = malloc(sizeof *option + name_size + value_size);
    if (!option) return KILN_NO_MEMORY;
    pthread_once(&once, make_key);
    memcpy(option->name, name, name_size);
    option->value = option->name + name_size;
    memcpy(option->value, value, value_size);
    option->below = kiln__pushed_options;
    kiln__pushed_options = option;
    pthread_setspecific(at_thread_end, kiln__pushed_options);
    return KILN_OK;
}

void kiln_option_pop(void)
{
    struct kiln_pushed_option *option = kiln__pushed_options;
    if (!option) return;
    kiln__pushed_options = option->below;
    pthread_setspecific(at_thread_end, kiln__pushed_options);
    free(option);
}

const char *kiln__options_find(const char *name)
{
    for (const struct kiln_pushed_option *option = kiln__pushed_options; option; option = option->below)
        if (!strcmp(option->name, name)) return option->value;
    return NULL;
}

/* The smallest visible name that is greater than `after` (NULL: the smallest); sorted order without a sorted copy. */
static const struct kiln_pushed_option *next_by_name(const char *after)
{
    const struct kiln_pushed_option *best = NULL;
    for (const struct kiln_pushed_option *option = kiln__pushed_options; option; option = option->below)
        if ((!after || strcmp(option->name, after) > 0) && (!best || strcmp(option->name, best->name) < 0)) best = option;
    return best;
}

void kiln__options_sign_all(struct kiln_signature *signature)
{
    for (const struct kiln_pushed_option *option = next_by_name(NULL); option; option = next_by_name(option->name)) {
        kiln__signature_bytes(signature, KILN_ITEM_OPTIONS, 0, option->name, strlen(option->name));
        kiln__signature_bytes(signature, KILN_ITEM_OPTIONS, 1, option->value, strlen(option->value));
    }
}

void kiln__options_content(const struct kiln_options *options, struct kiln_content_key *key)
{
    char level[16];
    snprintf(level, sizeof level, "%u", options->opt_level);
    kiln__content_text(key, "option opt_level", level);
    kiln__content_text(key, "option fast_math", options->fast_math ? "1" : "0");
    for (const struct kiln_pushed_option *option = next_by_name(NULL); option; option = next_by_name(option->name)) {
        /* name and value stand behind one another, each with its NUL */
        kiln__content_field(key, "pushed", option->name, strlen(option->name) + 1 + strlen(option->value));
    }
}

static unsigned read_digit(const char *name, unsigned largest, unsigned otherwise)
{
    const char *value = getenv(name);
    if (!value || !*value) return otherwise;
    if (value[0] >= '0' && (unsigned)(value[0] - '0') <= largest && !value[1]) return (unsigned)(value[0] - '0');
    kiln__log_once("%s=%s is not a number from 0 to %u; using %u", name, value, largest, otherwise);
    return otherwise;
}

struct kiln_options kiln__options_from_environment(void)
{
    return (struct kiln_options){.opt_level = read_digit("KILN_OPT_LEVEL", 3, 2),
                                 .fast_math = read_digit("KILN_FAST_MATH", 1, 0) != 0};
}
