/*
 * kernel_config.c - see kernel_config.h.
 */
#include "run/source/kernel_config.h"

#include <stdlib.h>
#include <string.h>

bool kiln__is_identifier(const char *text)
{
    static const char allowed[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t size = strspn(text, allowed);
    return size > 0 && size <= 200 && !text[size] && !(text[0] >= '0' && text[0] <= '9');
}

kiln_status kiln__config_add_output(struct kiln_kernel_config *config, const int *dims, size_t ndim,
                                    enum kiln_dtype dtype, kiln_error *err)
{
    int64_t size;
    kiln_status status = kiln__shape_check(dims, ndim, dtype, &size, err);
    if (status) return status;
    struct kiln_kernel_output *longer =
        reallocarray(config->outputs, config->output_count + 1, sizeof *config->outputs);
    if (!longer) return kiln__no_memory(err, "an output of a kernel");
    config->outputs = longer;
    struct kiln_kernel_output *output = &longer[config->output_count++];
    *output = (struct kiln_kernel_output){.dtype = dtype, .ndim = ndim};
    if (ndim) memcpy(output->dims, dims, ndim * sizeof *dims);
    return KILN_OK;
}

kiln_status kiln__config_add_template(struct kiln_kernel_config *config, const char *name, enum kiln_template_kind kind,
                                      int value, kiln_error *err)
{
    if (!kiln__is_identifier(name))
        return kiln__fail(err, KILN_INVALID,
                          "[kernel_config] the template argument \"%.100s\" is no name: expected letters, digits and "
                          "'_', at most 200",
                          name);
    for (size_t i = 0; i < config->template_count; i++)
        if (!strcmp(config->template_args[i].name, name))
            return kiln__fail(err, KILN_INVALID, "[kernel_config] there is a template argument %s already", name);
    struct kiln_template_arg *longer =
        reallocarray(config->template_args, config->template_count + 1, sizeof *config->template_args);
    if (longer) config->template_args = longer;
    char *copy = longer ? strdup(name) : NULL;
    if (!copy) return kiln__no_memory(err, "a template argument");
    longer[config->template_count++] = (struct kiln_template_arg){copy, kind, value};
    return KILN_OK;
}

kiln_status kiln__config_copy(struct kiln_kernel_config *to, const struct kiln_kernel_config *from, kiln_error *err)
{
    kiln_status status = KILN_OK;
    struct kiln_kernel_config made = *from;
    made.outputs = NULL;
    made.template_args = NULL;
    made.output_count = made.template_count = 0;
    for (size_t i = 0; i < from->output_count && !status; i++) {
        const struct kiln_kernel_output *output = &from->outputs[i];
        status = kiln__config_add_output(&made, output->dims, output->ndim, output->dtype, err);
    }
    for (size_t i = 0; i < from->template_count && !status; i++) {
        const struct kiln_template_arg *arg = &from->template_args[i];
        status = kiln__config_add_template(&made, arg->name, arg->kind, arg->value, err);
    }
    if (status)
        kiln__config_release(&made);
    else
        *to = made;
    return status;
}

void kiln__config_release(struct kiln_kernel_config *config)
{
    for (size_t i = 0; i < config->template_count; i++) free(config->template_args[i].name);
    free(config->template_args);
    free(config->outputs);
    *config = (struct kiln_kernel_config){0};
}
