/*
 * kernel_config.h - kernels that the caller gives as source text, and how they are launched, as plain values.
 *
 * A kernel and a configuration each belong to one handle and are not for several threads at once; a call takes copies
 * of what it needs (source_call.h). Every function that can fail leaves what it was given as it was.
 */
#ifndef KILN_RUN_SOURCE_KERNEL_CONFIG_H
#define KILN_RUN_SOURCE_KERNEL_CONFIG_H

#include "array/array.h"

enum kiln_template_kind { KILN_TEMPLATE_DTYPE, KILN_TEMPLATE_INT, KILN_TEMPLATE_BOOL };

struct kiln_template_arg {
    char *name;
    enum kiln_template_kind kind;
    int value; /* a dtype, a number, or 0 and 1 */
};

struct kiln_kernel_output {
    enum kiln_dtype dtype;
    size_t ndim;
    int dims[KILN_MAX_NDIM];
};

/* A zeroed struct has no outputs, no threads and no value to begin with. */
struct kiln_kernel_config {
    struct kiln_kernel_output *outputs;
    struct kiln_template_arg *template_args;
    size_t output_count, template_count;
    int grid[3], block[3]; /* threads: all of them, and those of one block */
    bool has_init_value, is_verbose;
    float init_value; /* what outputs hold before the kernel runs */
};

kiln_status kiln__config_add_output(struct kiln_kernel_config *config, const int *dims, size_t ndim,
                                    enum kiln_dtype dtype, kiln_error *err);
/* `name` is copied; it must be an identifier that no other argument has. */
kiln_status kiln__config_add_template(struct kiln_kernel_config *config, const char *name, enum kiln_template_kind kind,
                                      int value, kiln_error *err);
kiln_status kiln__config_copy(struct kiln_kernel_config *to, const struct kiln_kernel_config *from, kiln_error *err);
void kiln__config_release(struct kiln_kernel_config *config);

/* Can it be a name in C++: letters, digits and '_', no digit first, at most 200 of them? */
bool kiln__is_identifier(const char *text);

#endif
