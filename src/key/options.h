/*
 * options.h - code generation options: from the settings, and pushed by the calling thread.
 *
 * Read once per call, into the call key; lowering, compile and content key take them from there, so what changes later,
 * in another thread or inside a callback, is the next call's. The innermost push of a name wins; other threads do not
 * see it.
 */
#ifndef KILN_KEY_OPTIONS_H
#define KILN_KEY_OPTIONS_H

#include "base/environment.h"
#include "key/content.h"
#include "key/segments.h"
#include "key/signature.h"

/* Options every compile has, resolved from KILN_OPT_LEVEL (0 to 3, default 2), KILN_FAST_MATH and KILN_LINES (default
 * 0); and those that were pushed, as they stand in a call key. */
struct kiln_options {
    unsigned opt_level;
    bool fast_math;
    bool lines;             /* line tables; in a content key only when true */
    uint32_t pushed_count;  /* words */
    const uint64_t *pushed; /* OPTIONS items, sorted by name; borrowed from the key */
};

/* Reads the settings now; nothing pushed. */
struct kiln_options kiln__options_from_settings(void);

/* The same in 4 bits, for keys; remembered as long as the environment has that version (NULL: could not look). */
uint32_t kiln__options_packed(const struct kiln_environment *environment);
struct kiln_options kiln__options_unpack(uint32_t packed);

/* Adds the thread's pushed options to a call key; nothing when there are none. */
extern _Thread_local struct kiln_pushed_option *kiln__pushed_options;
void kiln__options_sign_all(struct kiln_signature *signature);

static inline void kiln__options_sign(struct kiln_signature *signature)
{
    if (__builtin_expect(KILN_SEGMENT_OPTIONS && kiln__pushed_options, 0)) kiln__options_sign_all(signature);
}

/* The OPTIONS items at the start of these words of a key become the pushed ones. */
void kiln__options_take(struct kiln_options *options, const uint64_t *words, uint32_t count);
/* A pushed option's value, or NULL. */
const char *kiln__options_find(const struct kiln_options *options, const char *name);
/* Adds all to a content key. */
void kiln__options_content(const struct kiln_options *options, struct kiln_content_key *key);

#endif
