/*
 * credentials.c - see credentials.h. Files are small text: what is longer than the bound below is none of them.
 */
#include "remote/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"

enum { FILE_LIMIT = 1 << 20 };

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* `variable`'s value, else `name` in the home folder, in memory of its own; NULL: there is none. */
static char *find_path(const char *variable_name, const char *name)
{
    const char *path = variable(variable_name), *home = variable("HOME");
    char *out = NULL;
    if (path) return strdup(path);
    return home && asprintf(&out, "%s/%s", home, name) >= 0 ? out : NULL;
}

/* Appends a whole file and tells whose it is. False: errno says why not. */
static bool read_file(const char *path, struct kiln_buffer *out, struct stat *info)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    char part[4096];
    ssize_t got = fstat(fd, info);
    if (!got && !S_ISREG(info->st_mode)) got = -1, errno = EINVAL;
    if (!got) do {
            got = read(fd, part, sizeof part);
            if (got > 0) kiln__buffer_append(out, part, (size_t)got);
        } while (got > 0 && out->size < FILE_LIMIT);
    int code = out->failed ? ENOMEM : got > 0 ? EFBIG : errno;
    close(fd);
    errno = code;
    return !got && !out->failed;
}

/* ---- the files of AWS: [section] lines, and `name = value` below them -------------------------------------------- */

static char *trimmed(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size && strchr(" \t\r", text[size - 1])) text[--size] = '\0';
    return text;
}

/* Is this "[profile]", or "[profile NAME]" as the configuration file has it? */
static bool opens_profile(char *line, const char *profile)
{
    char *end = strchr(line, ']');
    if (!end) return false;
    *end = '\0';
    char *name = trimmed(line + 1);
    if (!strncmp(name, "profile ", 8)) name = trimmed(name + 8);
    return !strcmp(name, profile);
}

struct ini_row {
    const char *name;
    char **out;
};

static bool take_value(char *line, const struct ini_row *rows)
{
    char *equals = strchr(line, '=');
    if (!equals) return true;
    *equals = '\0';
    const char *name = trimmed(line);
    for (; rows->name; rows++) {
        if (strcmp(name, rows->name) || *rows->out) continue;
        *rows->out = strdup(trimmed(equals + 1));
        return *rows->out;
    }
    return true;
}

/* Fills the rows whose text is NULL so far. A file that is not there says nothing. */
static kiln_status read_profile(const char *path, const char *profile, const struct ini_row *rows, kiln_error *err)
{
    struct kiln_buffer text = {0};
    struct stat info;
    kiln_status status = KILN_OK;
    bool is_inside = false;
    if (path && !read_file(path, &text, &info) && errno != ENOENT)
        status = kiln__fail(err, KILN_INVALID, "%.300s can't be read: %s", path, strerror(errno));
    char *rest = status ? NULL : (char *)text.data;
    for (char *line; !status && rest && (line = strsep(&rest, "\n"));) {
        line = trimmed(line);
        if (*line == '[')
            is_inside = opens_profile(line, profile);
        else if (is_inside && *line != '#' && *line != ';' && !take_value(line, rows))
            status = kiln__no_memory(err, "credentials");
    }
    kiln__buffer_release(&text);
    return status;
}

static bool copy_variable(const char *name, char **out)
{
    const char *value = *out ? NULL : variable(name);
    return !value || (*out = strdup(value));
}

static kiln_status read_pair(struct kiln_aws_credentials *out, const char *profile, kiln_error *err)
{
    if (variable("AWS_ACCESS_KEY_ID") && variable("AWS_SECRET_ACCESS_KEY")) {
        bool is_well = copy_variable("AWS_ACCESS_KEY_ID", &out->key_id) &&
                       copy_variable("AWS_SECRET_ACCESS_KEY", &out->secret) &&
                       copy_variable("AWS_SESSION_TOKEN", &out->session_token);
        return is_well ? KILN_OK : kiln__no_memory(err, "credentials");
    }
    const struct ini_row rows[] = {{"aws_access_key_id", &out->key_id},
                                   {"aws_secret_access_key", &out->secret},
                                   {"aws_session_token", &out->session_token},
                                   {NULL, NULL}};
    char *path = find_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    kiln_status status = read_profile(path, profile, rows, err);
    if (!status && (!out->key_id || !out->secret || !*out->key_id || !*out->secret))
        status = kiln__fail(err, KILN_INVALID,
                            "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
                            "aws_access_key_id and aws_secret_access_key below [%.100s] in %s",
                            profile, path ? path : "the file that AWS_SHARED_CREDENTIALS_FILE names");
    free(path);
    return status;
}

static kiln_status read_region(struct kiln_aws_credentials *out, const char *profile, kiln_error *err)
{
    if (!copy_variable("AWS_REGION", &out->region) || !copy_variable("AWS_DEFAULT_REGION", &out->region))
        return kiln__no_memory(err, "credentials");
    if (out->region) return KILN_OK;
    const struct ini_row rows[] = {{"region", &out->region}, {NULL, NULL}};
    char *path = find_path("AWS_CONFIG_FILE", ".aws/config");
    kiln_status status = read_profile(path, profile, rows, err);
    free(path);
    return status;
}

static bool fill_in(char **text, const char *otherwise)
{
    if (*text && **text) return true;
    free(*text);
    *text = strdup(otherwise);
    return *text;
}

kiln_status kiln__aws_credentials_read(struct kiln_aws_credentials *out, kiln_error *err)
{
    *out = (struct kiln_aws_credentials){0};
    const char *profile = variable("AWS_PROFILE") ? variable("AWS_PROFILE") : "default";
    kiln_status status = read_pair(out, profile, err);
    if (!status) status = read_region(out, profile, err);
    if (!status && (!fill_in(&out->session_token, "") || !fill_in(&out->region, "us-east-1")))
        status = kiln__no_memory(err, "credentials");
    return status;
}

void kiln__aws_credentials_release(struct kiln_aws_credentials *credentials)
{
    free(credentials->key_id);
    free(credentials->secret);
    free(credentials->session_token);
    free(credentials->region);
    *credentials = (struct kiln_aws_credentials){0};
}

/* ---- files of one name or password ------------------------------------------------------------------------------- */

kiln_status kiln__netrc_path(char **out, kiln_error *err)
{
    *out = find_path("NETRC", ".netrc");
    if (!*out || !access(*out, R_OK)) return KILN_OK;
    kiln_status status = KILN_OK;
    if (variable("NETRC"))
        status = kiln__fail(err, KILN_INVALID, "NETRC names %.300s, which can't be read: %s", *out, strerror(errno));
    free(*out);
    *out = NULL;
    return status;
}

kiln_status kiln__password_file_read(const char *path, const char *what, char **out, kiln_error *err)
{
    struct kiln_buffer text = {0};
    struct stat info;
    kiln_status status = KILN_OK;
    bool is_read = read_file(path, &text, &info);
    size_t size = is_read && text.size ? strcspn((char *)text.data, "\r\n") : 0;
    if (!is_read)
        status = kiln__fail(err, KILN_INVALID, "%s names %.300s, which can't be read: %s", what, path, strerror(errno));
    else if (info.st_uid != geteuid() && info.st_uid)
        status = kiln__fail(err, KILN_INVALID, "%s names %.300s, which is neither yours nor root's", what, path);
    else if (info.st_mode & 07)
        status = kiln__fail(err, KILN_INVALID, "%s names %.300s, which everybody may use: chmod 600 it", what, path);
    else if (!size)
        status = kiln__fail(err, KILN_INVALID, "%s names %.300s, whose first line is empty", what, path);
    else if (!(*out = strndup((char *)text.data, size)))
        status = kiln__no_memory(err, "a password");
    kiln__buffer_release(&text);
    return status;
}
