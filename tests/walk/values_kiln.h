/*
 * values_kiln.h - good values for the parameters of kiln.h and its companions, and what their functions answer to NULL:
 * a status is KILN_INVALID with a text, a pointer NULL, a text "", a number 0, unless fine_kiln.tsv says that NULL is
 * fine.
 *
 * Objects that live inside of a callback only (kiln_request, kiln_text, kiln_artifact, kiln_signature) are there when
 * the call is made from that callback.
 */
#ifndef TESTS_WALK_VALUES_KILN_H
#define TESTS_WALK_VALUES_KILN_H

#include <unistd.h>

#include "kiln.h"
#include "kiln/gpu.h"
#include "kiln/inspect.h"
#include "kiln/maintain.h"
#include "kiln/remote.h"
#include "kiln/trust.h"
#include "walk/walk.h"

#define VALUE(type, name) __attribute__((unused)) static type good_##name(const char *function, const char *parameter)
#define PLACE(type, name)                                                                                              \
    VALUE(type *, name##_p)                                                                                            \
    {                                                                                                                  \
        static type place;                                                                                             \
        (void)function, (void)parameter;                                                                               \
        return &place;                                                                                                 \
    }
#define IGNORE (void)function, (void)parameter

extern struct world {
    kiln_cache *cache;
    kiln_function *function;
    kiln_var *var;
    kiln_inspector *inspector;
    kiln_entry *entry;
    kiln_keys *keys;
    const kiln_request *request; /* the following inside of callbacks only */
    kiln_text *text;
    kiln_artifact *artifact;
    kiln_signature *signature;
    kiln_error error;
} world;

extern const kiln_cache_options walk_cache_options;
extern const kiln_function_options walk_function_options;
extern const kiln_remote_driver walk_driver;

PLACE(kiln_counters, kiln_counters)
PLACE(kiln_difference, kiln_difference)
PLACE(kiln_entry_info, kiln_entry_info)
PLACE(kiln_key_change, kiln_key_change)
PLACE(kiln_key_info, kiln_key_info)
PLACE(kiln_signer, kiln_signer)
PLACE(kiln_prune_report, kiln_prune_report)
PLACE(kiln_export_report, kiln_export_report)
PLACE(kiln_import_report, kiln_import_report)
PLACE(kiln_progress, kiln_progress)
PLACE(kiln_bytes, kiln_bytes)
PLACE(kiln_store_value, kiln_store_value)
PLACE(kiln_warmed, kiln_warmed)
PLACE(uint64_t, uint64_t)
PLACE(kiln_cache *, kiln_cache_p)
PLACE(kiln_device *, kiln_device_p)
PLACE(kiln_function *, kiln_function_p)
PLACE(kiln_inspector *, kiln_inspector_p)
PLACE(kiln_entry *, kiln_entry_p)
PLACE(kiln_var *, kiln_var_p)
PLACE(kiln_keys *, kiln_keys_p)
PLACE(kiln_store_ticket *, kiln_store_ticket_p)

#define good_kiln_cache_pp        good_kiln_cache_p_p
#define good_kiln_store_ticket_pp good_kiln_store_ticket_p_p
#define good_kiln_device_pp       good_kiln_device_p_p
#define good_kiln_function_pp     good_kiln_function_p_p
#define good_kiln_inspector_pp    good_kiln_inspector_p_p
#define good_kiln_entry_pp        good_kiln_entry_p_p
#define good_kiln_var_pp          good_kiln_var_p_p
#define good_kiln_keys_pp         good_kiln_keys_p_p

VALUE(kiln_cache *, kiln_cache_p)
{
    IGNORE;
    return world.cache;
}
VALUE(kiln_function *, kiln_function_p)
{
    IGNORE;
    return world.function;
}
VALUE(kiln_var *, kiln_var_p)
{
    IGNORE;
    return world.var;
}
VALUE(kiln_keys *, kiln_keys_p)
{
    IGNORE;
    return world.keys;
}
VALUE(kiln_inspector *, kiln_inspector_p)
{
    IGNORE;
    return world.inspector;
}
VALUE(kiln_entry *, kiln_entry_p)
{
    IGNORE;
    return world.entry;
}
VALUE(kiln_error *, kiln_error_p)
{
    IGNORE;
    return &world.error;
}
VALUE(const kiln_request *, kiln_request_p)
{
    IGNORE;
    return world.request;
}
VALUE(kiln_text *, kiln_text_p)
{
    IGNORE;
    return world.text;
}
VALUE(kiln_artifact *, kiln_artifact_p)
{
    IGNORE;
    return world.artifact;
}
VALUE(kiln_signature *, kiln_signature_p)
{
    IGNORE;
    return world.signature;
}
VALUE(const kiln_cache_options *, kiln_cache_options_p)
{
    IGNORE;
    return &walk_cache_options;
}
VALUE(const kiln_function_options *, kiln_function_options_p)
{
    IGNORE;
    return &walk_function_options;
}
VALUE(const kiln_remote_driver *, kiln_remote_driver_p)
{
    IGNORE;
    return &walk_driver;
}
VALUE(kiln_remote_trial *, kiln_remote_trial_p)
{
    static kiln_remote_trial trial;
    IGNORE;
    trial.struct_size = sizeof trial;
    return &trial;
}
VALUE(kiln_status, kiln_status)
{
    IGNORE;
    return KILN_OK;
}
VALUE(double, double)
{
    IGNORE;
    return 1;
}
VALUE(uint64_t, uint64_t)
{
    IGNORE;
    return 1;
}
VALUE(unsigned, unsigned)
{
    IGNORE;
    return 0;
}
VALUE(kiln_bytes, kiln_bytes)
{
    IGNORE;
    return (kiln_bytes){"text", 4};
}
VALUE(void *, function)
{
    IGNORE;
    return free;
}

VALUE(const kiln_store_options *, kiln_store_options_p)
{
    static const kiln_store_options options = {.struct_size = sizeof options, .flags = KILN_STORE_NO_WAIT};
    IGNORE;
    return &options;
}

/* For the key that all calls are given. */
VALUE(kiln_store_ticket *, kiln_store_ticket_p)
{
    kiln_store_ticket *ticket = NULL;
    kiln_store_value value = {{NULL, 0}, NULL};
    IGNORE;
    kiln_store_get(world.cache, (kiln_bytes){"text", 4}, good_kiln_store_options_p(function, parameter), &value,
                   &ticket, NULL);
    kiln_store_release(&value);
    return ticket;
}

VALUE(kiln_usage *, kiln_usage_p)
{
    static _Thread_local kiln_usage usage = {.struct_size = sizeof usage};
    IGNORE;
    return &usage;
}

VALUE(kiln_watched_kind, kiln_watched_kind)
{
    IGNORE;
    return KILN_WATCHED_SIGNED;
}

static void ignore_line(void *context, kiln_log_kind kind, const char *text)
{
    (void)context, (void)kind, (void)text;
}

VALUE(kiln_log_function *, kiln_log_function_p)
{
    (void)function, (void)parameter;
    return ignore_line;
}

VALUE(kiln_device *, kiln_device_p)
{
    kiln_device *device = NULL;
    IGNORE;
    kiln_device_find("cpu", &device, NULL);
    return device;
}

VALUE(const kiln_prune_options *, kiln_prune_options_p)
{
    static const kiln_prune_options options = {.struct_size = sizeof options, .dry_run = true};
    IGNORE;
    return &options;
}

VALUE(const kiln_export_options *, kiln_export_options_p)
{
    static const kiln_export_options options = {.struct_size = sizeof options, .folder = "/nowhere"};
    IGNORE;
    return &options;
}

VALUE(const kiln_import_options *, kiln_import_options_p)
{
    static const kiln_import_options options = {.struct_size = sizeof options, .folder = "/nowhere"};
    IGNORE;
    return &options;
}

VALUE(kiln_gpu_info *, kiln_gpu_info_p)
{
    static kiln_gpu_info info = {.struct_size = sizeof info};
    IGNORE;
    return &info;
}

VALUE(kiln_gpu_counters *, kiln_gpu_counters_p)
{
    static kiln_gpu_counters counters = {.struct_size = sizeof counters};
    IGNORE;
    return &counters;
}

VALUE(const kiln_arg *, kiln_arg_p)
{
    static const int64_t one = 1;
    static const kiln_arg args[] = {{&kiln_const_i64, &one}};
    IGNORE;
    return args;
}

VALUE(const kiln_type *const *, kiln_type_pp)
{
    static const kiln_type *const types[] = {&kiln_const_i64};
    IGNORE;
    return types;
}

/* Room for what is written, and bytes to be read. */
VALUE(void *, void_p)
{
    static _Alignas(16) char bytes[4096];
    IGNORE;
    return bytes;
}

VALUE(void **, void_pp)
{
    static int64_t one = 1;
    static void *places[2]; /* one that is read, one that is written */
    IGNORE;
    places[0] = &one;
    return &places[strcmp(parameter, "values") != 0];
}

VALUE(size_t *, size_t_p)
{
    static size_t place;
    IGNORE;
    return &place;
}

/* The same place is read as a name and written as a path. */
VALUE(char *, char_p)
{
    static char texts[4][4096];
    static unsigned next;
    char *text = texts[next++ % 4];
    const char *value = strstr("folder path", parameter) ? "cache"
                        : !strcmp(parameter, "prefix")   ? ""
                        : !strcmp(parameter, "target")   ? "native"
                                                         : "cpu";
    (void)function;
    return strcpy(text, value);
}

/* Of arguments and of bytes one; of room for a path all there is; otherwise the first. */
VALUE(size_t, size_t)
{
    (void)function;
    if (!strcmp(parameter, "index")) return 0;
    return strstr(parameter, "size") && strstr(function, "inspect") ? 4096 : 1;
}

#endif
