/*
 * process_id.h - who a process is, so that another can tell whether it is still there.
 *
 * A process is a host (one boot of one kernel, one process-id namespace), a process id and the time it started. On the
 * same host the three say for certain that it is gone; of a process of another host nothing is known. Names of files
 * can carry the text form: lower-case hexadecimal and decimal digits with '-' between them.
 */
#ifndef KILN_BASE_PROCESS_PROCESS_ID_H
#define KILN_BASE_PROCESS_PROCESS_ID_H

#include <stdbool.h>
#include <stddef.h>

enum { KILN_PROCESS_TEXT = 64 };

/* "<host>-<pid>-<start>" of this process. */
void kiln__process_text(char out[KILN_PROCESS_TEXT]);

/*
 * `text` starts with the text form of a process of this host, and that process has ended. False for a living one, for
 * one of another host, and for any other text.
 */
bool kiln__process_is_gone(const char *text);

#endif
