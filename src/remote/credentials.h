/*
 * credentials.h - names and passwords from the places where other programs keep them.
 *
 * All variables are read as if unset in a process whose rights are not those of who started it. No failure repeats what
 * a file holds.
 */
#ifndef KILN_REMOTE_CREDENTIALS_H
#define KILN_REMOTE_CREDENTIALS_H

#include "base/status.h"

/* Texts are never NULL once read; "" where nothing is said. */
struct kiln_aws_credentials {
    char *key_id, *secret, *session_token, *region;
};

/*
 * From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else the profile AWS_PROFILE ("default") of
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). The region from AWS_REGION, AWS_DEFAULT_REGION, the profile in
 * AWS_CONFIG_FILE (~/.aws/config), else "us-east-1". KILN_INVALID: no complete pair is found, or a file can't be used.
 * What was read is to be released also after a failure.
 */
kiln_status kiln__aws_credentials_read(struct kiln_aws_credentials *out, kiln_error *err);
void kiln__aws_credentials_release(struct kiln_aws_credentials *credentials);

/* The file named by NETRC, else ~/.netrc, in *out, if it can be read; else *out is NULL. */
kiln_status kiln__netrc_path(char **out, kiln_error *err);

/*
 * The first line of a file in *out, without its end. KILN_INVALID: it can't be read, is empty, or its owner or mode
 * make it no secret; `what` is the variable that names it.
 */
kiln_status kiln__password_file_read(const char *path, const char *what, char **out, kiln_error *err);

#endif
