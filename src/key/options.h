/*
 * options.h - code generation options: from the environment, and pushed by the calling thread.
 *
 * A thread's pushed options are kept sorted and encoded, so that a look-up copies a few words, or one zero test when
 * there are none. The innermost push of a name wins. Other threads do not see them.
 */
#ifndef KILN_KEY_OPTIONS_H
#define KILN_KEY_OPTIONS_H

#include "key/content.h"
#include "key/signature.h"

/* Options every compile has, resolved from KILN_OPT_LEVEL (0 to 3, default 2) and KILN_FAST_MATH (default 0). */
struct kiln_options {
    unsigned opt_level;
    bool fast_math;
};

/* Reads the environment now. A value that is not allowed is logged once and the default taken. */
struct kiln_options kiln__options_from_environment(void);

/* Adds the thread's pushed options to a call key; nothing when there are none. */
extern _Thread_local struct kiln_pushed_option *kiln__pushed_options;
void kiln__options_sign_all(struct kiln_signature *signature);

static inline void kiln__options_sign(struct kiln_signature *signature)
{
    if (__builtin_expect(kiln__pushed_options != NULL, 0)) kiln__options_sign_all(signature);
}
/* Adds them, resolved, to a content key. */
void kiln__options_content(const struct kiln_options *options, struct kiln_content_key *key);
/* The thread's value of a pushed option, or NULL. */
const char *kiln__options_find(const char *name);

#endif
