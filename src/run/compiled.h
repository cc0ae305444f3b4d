/*
 * compiled.h - compiled functions: trace once per signature, then run without calling the function.
 *
 * A signature is dtype and shape of each input. One trace per signature for the whole process; threads that come while
 * it runs wait for it. The thread cache of src/cache finds the plan. A shapeless function is traced once for dtypes and
 * ranks; a plan for other sizes is made from what that trace recorded. Functions may be made, used and freed on
 * different threads; the last reference frees the payload, once.
 */
#ifndef KILN_RUN_COMPILED_H
#define KILN_RUN_COMPILED_H

#include "trace/trace.h"

struct kiln_compiled; /* reference counted */
struct kiln_signature;
struct kiln_plan;

/* Numbered as in the mlx-c ABI. Read when a function is traced; "disabled" is for the ABI, which then makes plain
 * closures. */
enum kiln_compile_mode { KILN_COMPILE_DISABLED, KILN_COMPILE_NO_SIMPLIFY, KILN_COMPILE_NO_FUSE, KILN_COMPILE_ENABLED };

int kiln__compile_mode(void);
void kiln__set_compile_mode(int mode);

/* `name` appears in logs; copied. On failure the payload stays the caller's. */
kiln_status kiln__compiled_new(const char *name, kiln_callback callback, void *payload, void (*free_payload)(void *),
                               bool shapeless, struct kiln_compiled **out, kiln_error *err);
/* Before the first call: its name prefixes errors and is that of its kernels, and its traces may hold no
 * arrays (trace/trace.h). */
void kiln__compiled_use_name(struct kiln_compiled *compiled);
void kiln__compiled_ref(struct kiln_compiled *compiled);
void kiln__compiled_unref(struct kiln_compiled *compiled); /* NULL is fine */

struct kiln_output_list {
    size_t count;
    struct kiln_array **arrays; /* `few`, or malloc'ed; references */
    struct kiln_array *few[8];
};

void kiln__output_list_release(struct kiln_output_list *list);

/*
 * Calls it. Inside a running trace or transform the function itself is called and so becomes part of that. Otherwise
 * inputs are never evaluated: when all are ready and the plan makes at most KILN_RUN_AT_ONCE elements it runs now; else
 * the outputs are lazy, made by one node. On failure `out` holds nothing.
 *
 * A plan that consumes inputs (run/plan.h) runs later, unless all of those are donated: by then the caller may have let
 * go of them.
 */
enum { KILN_RUN_AT_ONCE = 1 << 15 };
kiln_status kiln__compiled_call(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                                struct kiln_output_list *out, kiln_error *err);
/* The same where the caller gives up its reference to inputs, a bool for each, until the call has returned: it releases
 * them afterwards, or keeps them on failure, unless kiln__array_is_consumed(). NULL: none. */
kiln_status kiln__compiled_call_donating(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                                         const bool *donated, struct kiln_output_list *out, kiln_error *err);

/* A function, for who has no reference to it. */
struct kiln_compiled_id {
    const struct kiln_compiled *compiled;
    uint64_t memo; /* the id of its memo table, which is never another's */
};
bool kiln__compiled_is_there(const struct kiln_compiled_id *id);
/* Puts another plan in the place of one that it has for this signature, with a reference of its own. False: the
 * function or its plan is gone. */
bool kiln__compiled_swap(const struct kiln_compiled_id *id, const struct kiln_signature *signature,
                         const struct kiln_plan *from, struct kiln_plan *to);

void kiln__compiled_clear(struct kiln_compiled *compiled); /* forgets its plans; running ones finish */
kiln_status kiln__compiled_clear_all(kiln_error *err);     /* of every function of the process */

#endif
