/*
 * setting_check.c - kiln/config.h: what settings are, and whether the library can use them.
 *
 * Invariant: what a value must be is said by the code that uses it; here it is only called, so that tools and programs
 * can't disagree. A setting that has no row is one whose kind says it all (base/settings/setting.c).
 */
#include "kiln/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "base/process/callback.h"
#include "base/settings/config_file.h"
#include "base/trust.h"
#include "base/url.h"
#include "cache/base_pack.h"
#include "cache/cache.h"
#include "cache/kernels/toolchain.h"
#include "device/device.h"
#include "device/gpu.h"
#include "device/isa.h"
#include "kiln/inspect.h"
#include "store/keys/trusted_keys.h"
#include "store/settings.h"

/* ---- checks: a value that is set and not empty ---------------------------------------------------------------- */

static kiln_status check_output(const char *value, kiln_error *err)
{
    if (!strcmp(value, "0") || !strcmp(value, "1")) return KILN_OK;
    char *path = kiln__path_absolute(value, kiln__folder_at_load());
    kiln_status status = path ? kiln__file_can_append(path, err) : kiln__no_memory(err, "a path");
    free(path);
    return status;
}

static kiln_status check_readable(const char *value, kiln_error *err)
{
    struct kiln_buffer first = {0};
    enum kiln_outcome outcome = kiln__file_read(value, 1, &first, err);
    kiln__buffer_release(&first);
    if (outcome == KILN_MISS) return kiln__fail(err, KILN_IO, "there is no such file");
    return kiln__outcome_status(outcome, err);
}

static kiln_status check_folder(const char *value, kiln_error *err)
{
    return kiln_inspect_check_folder(value, err);
}

static kiln_status check_base_pack(const char *value, kiln_error *err)
{
    return strcmp(value, "0") ? kiln_inspect_check_read_only(value, err) : KILN_OK;
}

static kiln_status check_search_path(const char *value, kiln_error *err)
{
    size_t count = 0;
    kiln_status status = KILN_OK;
    for (const char *at = value; *at && !status;) {
        size_t size = strcspn(at, ":");
        char *path = strndup(at, size);
        if (!path) return kiln__no_memory(err, "a path");
        if (size && ++count > KILN_MAX_SEARCH_PATH)
            status = kiln__fail(err, KILN_INVALID, "more than %d folders and packs; the rest is not used",
                                KILN_MAX_SEARCH_PATH);
        else if (size)
            status = kiln_inspect_check_read_only(path, err);
        free(path);
        at += size + (at[size] == ':');
    }
    return status;
}

static kiln_status check_device(const char *value, kiln_error *err)
{
    kiln_device *device;
    return kiln_device_find(value, &device, err);
}

static kiln_status check_gpu_target(const char *value, kiln_error *err)
{
    struct kiln_gpu *gpu;
    return kiln__gpu_absent(value, &gpu, err);
}

static kiln_status check_target(const char *value, kiln_error *err)
{
    struct kiln_target target;
    kiln_status status = kiln__target_resolve(value, &target, err);
    return status ? status : kiln__target_check_host(&target, err);
}

static kiln_status check_plugin(const char *value, kiln_error *err)
{
    char path[4096];
    (void)value;
    return kiln__plugin_path(path, sizeof path, err);
}

/* Each by itself: one that is wrong is passed by alone. */
static kiln_status check_remotes(const char *value, kiln_error *err)
{
    for (value += strspn(value, " "); *value; value += strspn(value, " ")) {
        size_t size = strcspn(value, " ");
        if (!kiln__is_url(value, size)) return kiln__fail(err, KILN_INVALID, "not a URL such as https://host/prefix");
        value += size;
    }
    return KILN_OK;
}

static kiln_status check_signing_key(const char *value, kiln_error *err)
{
    uint8_t secret[KILN_SECRET_SIZE], signer[KILN_SIGNER_SIZE];
    (void)value;
    enum kiln_outcome outcome = kiln__signing_key(secret, signer, err);
    explicit_bzero(secret, sizeof secret);
    return outcome == KILN_FAILED ? err->status : KILN_OK;
}

static kiln_status check_trusted_keys(const char *value, kiln_error *err)
{
    struct kiln_known_key *keys = NULL;
    size_t count;
    kiln_status status = check_readable(value, err);
    if (!status) status = kiln__keys_all(&keys, &count, err);
    free(keys);
    return status;
}

static const struct {
    const char *name;
    kiln_status (*check)(const char *value, kiln_error *err);
} checks[] = {
    {"KILN_AUDIT", check_output},
    {"KILN_BASE_PACK", check_base_pack},
    {"KILN_CACHE_DIR", check_folder},
    {"KILN_CACHE_PATH", check_search_path},
    {"KILN_DEVICE", check_device},
    {"KILN_GPU_TARGET", check_gpu_target},
    {"KILN_PLUGIN", check_plugin},
    {"KILN_REMOTE", check_remotes},
    {"KILN_REMOTE_CA", check_readable},
    {"KILN_SIGN_KEY", check_signing_key},
    {"KILN_STATS", check_output},
    {"KILN_TARGET", check_target},
    {"KILN_TRUSTED_KEYS", check_trusted_keys},
};

/* ---- the interface -------------------------------------------------------------------------------------------- */

static void print_value(const struct kiln_setting *setting, const char *value, char *out, size_t size)
{
    if (setting->kind == KILN_SETTING_URL || setting->kind == KILN_SETTING_URLS)
        kiln__url_without_secrets(value, out, size);
    else
        snprintf(out, size, "%s", value);
}

/* "KILN_TARGET=pdp11 (/etc/kiln/config:3): " in front of the text. */
static kiln_status fail_as(const struct kiln_setting *setting, const char *value, kiln_status status, kiln_error *err)
{
    char shown[256], name[1024];
    print_value(setting, value, shown, sizeof shown);
    snprintf(name, sizeof name, "%s=%s%s", setting->name, shown, kiln__config_where(setting->name));
    return kiln__fail_as(err, status, name);
}

static kiln_status unknown_setting(const char *name, kiln_error *err)
{
    const struct kiln_setting *nearest = kiln__setting_nearest(name, strlen(name));
    return kiln__fail(err, KILN_INVALID, "there is no setting %.64s%s%s%s", name, nearest ? "; did you mean " : "",
                      nearest ? nearest->name : "", nearest ? "?" : "; `kiln config` lists them");
}

const char *kiln_setting_name(size_t index)
{
    for (const struct kiln_setting *setting = kiln__settings; setting->name; setting++)
        if (!index--) return setting->name;
    return NULL;
}

/* What counts when nobody says anything: a path, where the table can only describe it. */
static void print_default(const struct kiln_setting *setting, char *out, size_t size)
{
    struct kiln_buffer found = {0};
    char path[4096];
    kiln_error error;
    snprintf(out, size, "%s", setting->fallback);
    if (!strcmp(setting->name, "KILN_CACHE_DIR")) kiln__default_folder(&found);
    if (!strcmp(setting->name, "KILN_BASE_PACK")) kiln__base_pack_path(&found);
    if (found.size && !found.failed) {
        snprintf(out, size, "%s", (const char *)found.data);
    } else if (!strcmp(setting->name, "KILN_PLUGIN") && !kiln__plugin_path(path, sizeof path, &error)) {
        snprintf(out, size, "%s", path);
    }
    kiln__buffer_release(&found);
}

kiln_status kiln_setting_describe(const char *name, kiln_setting_info *out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (!name || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_setting_describe: needs a name and room for the answer");
    if (out->struct_size != sizeof *out)
        return kiln__fail(err, KILN_INVALID, "kiln_setting_describe: struct_size is %zu, expected %zu",
                          out->struct_size, sizeof *out);
    const struct kiln_setting *setting = kiln__setting_find(name);
    if (!setting) return unknown_setting(name, err);
    struct kiln_config_value value = kiln__config_find(setting);
    out->help = setting->help;
    out->origin = value.file   ? KILN_SETTING_BY_FILE
                  : value.text ? KILN_SETTING_BY_ENVIRONMENT
                               : KILN_SETTING_BY_DEFAULT;
    out->file = value.file;
    out->line = value.line;
    if (value.text)
        print_value(setting, value.text, out->value, sizeof out->value);
    else
        print_default(setting, out->value, sizeof out->value);
    return KILN_OK;
}

/* A variable that the setting can't have is wrong although a file may have a value that counts. */
static kiln_status check_variable(const struct kiln_setting *setting, kiln_error *err)
{
    char prefix[64];
    const char *value = kiln__config_variable(setting);
    if (!value || kiln__setting_fits(setting, value)) return KILN_OK;
    snprintf(prefix, sizeof prefix, "%s=", setting->name);
    char *text = kiln__setting_complaint(setting, prefix, value);
    if (!text) return kiln__no_memory(err, "a message");
    kiln__fail(err, KILN_INVALID, "%s", text);
    free(text);
    return KILN_INVALID;
}

kiln_status kiln_setting_check(const char *name, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    kiln_error unread;
    if (!err) err = &unread;
    if (!name) return kiln__fail(err, KILN_INVALID, "kiln_setting_check: needs a name");
    const struct kiln_setting *setting = kiln__setting_find(name);
    if (!setting) return unknown_setting(name, err);
    kiln_status status = check_variable(setting, err);
    const char *value = kiln__config_find(setting).text;
    if (status || !value || !*value) return status;
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++)
        if (!strcmp(checks[i].name, name) && (status = checks[i].check(value, err)))
            fail_as(setting, value, status, err);
    return status;
}

const char *kiln_config_problem(size_t index)
{
    return kiln__config_problem(index);
}

kiln_status kiln_config_file(unsigned index, char *path, size_t size, kiln_error *err)
{
    if (!path || !size) return kiln__fail(err, KILN_INVALID, "kiln_config_file: needs room for a path");
    if (kiln__config_path(index, path, size)) return KILN_OK;
    path[0] = '\0';
    return kiln__fail(err, KILN_INVALID, "there is no such file for this process, or its path is longer than %zu bytes",
                      size);
}
