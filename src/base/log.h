/*
 * log.h - lines of the log: on stderr, or to the function that the program has set (kiln_set_log in kiln.h).
 *
 * KILN_LOG is a list of words separated by commas: miss (every lowering, trace and compile, with its reason),
 * fault (folders and files that could not be used), all. Faults are said once per text even without KILN_LOG.
 * Each line is one write, so lines of several threads and processes do not mix.
 */
#ifndef KILN_BASE_LOG_H
#define KILN_BASE_LOG_H

#include <stdbool.h>

#include "kiln.h"

/* Does anybody want lines of this kind? */
bool kiln__log_on(kiln_log_kind kind);
/* "kiln: " + text + newline, when `kind` is on. */
void kiln__log(kiln_log_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A fault that is told once per process and text (the last 64 texts are remembered), whatever KILN_LOG says. */
void kiln__log_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
