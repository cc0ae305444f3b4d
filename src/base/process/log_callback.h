/*
 * log_callback.h - the program's log function (kiln_set_log in kiln.h), for log.c.
 */
#ifndef KILN_BASE_PROCESS_LOG_CALLBACK_H
#define KILN_BASE_PROCESS_LOG_CALLBACK_H

#include <stdbool.h>

#include "kiln.h"

/* The kinds that the program asked for; 0: none, or there is no function. */
unsigned kiln__log_callback_kinds(void);
/* False: there is no function, or this thread is inside of it. */
bool kiln__log_callback_call(kiln_log_kind kind, const char *text);

#endif
