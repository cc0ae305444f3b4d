/*
 * log.h - what the library says, on stderr, and only when asked.
 *
 * KILN_LOG is a list of words separated by commas: miss (every lowering, trace and compile, with its reason),
 * fault (folders and files that could not be used), all. Faults are said once per text even without KILN_LOG.
 * Each line is one write, so lines of several threads and processes do not mix.
 */
#ifndef KILN_BASE_LOG_H
#define KILN_BASE_LOG_H

#include <stdbool.h>

enum kiln_log { KILN_LOG_MISS = 1u << 0, KILN_LOG_FAULT = 1u << 1 };

bool kiln__log_on(enum kiln_log kind);
/* "kiln: " + text + newline, when `kind` is on. */
void kiln__log(enum kiln_log kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same text is printed once per process (the last 64 texts are remembered), whatever KILN_LOG says. */
void kiln__log_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
