/*
 * walk.h - a walk over every function of some headers, each called with nothing in the place of something.
 *
 * walk.awk makes a row of each prototype; a file of values (values_*.h) has a good value for each type of a parameter.
 * Each function is called in a child process with each pointer NULL in turn (a handle: empty), with all of them at
 * once, and with each count absurd; as "walk_NAME good" each with nothing absent, when it succeeds. A signal is a
 * failure, and so is an answer that is not what the headers promise: values_*.h judges it. Parameters that may be
 * absent are listed in fine_*.tsv.
 */
#ifndef TESTS_WALK_WALK_H
#define TESTS_WALK_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALK_MOST_PARAMETERS = 20 };

/* What a call answered; which member counts is said by the row's `returns`. */
struct walk_result {
    long long number;
    const void *pointer; /* also of handles and kiln_bytes */
    bool is_text;
    char text[200];
};

struct walk_row {
    const char *function, *types, *returns; /* types with spaces around each */
    const char *parameters[WALK_MOST_PARAMETERS];
    unsigned count;
    uint32_t pointers, fine,
        counts; /* bits of parameters: may be NULL; may be so by promise; are numbers of something */
    void (*call)(uint32_t absent, struct walk_result *result);
    /* With nothing absent: answers this number, or only an error that contains this text. */
    bool has_answer;
    long long answer;
    const char *refusal;
};

extern const struct walk_row walk_rows[];
extern const size_t walk_row_count;

/* Of the values: calls the row with what it needs around it, and judges. In a child process; what is wrong goes to
 * `out`. */
void walk_call(const struct walk_row *row, uint32_t absent, struct walk_result *result);
bool walk_judge(const struct walk_row *row, uint32_t absent, const struct walk_result *result, FILE *out);

/* Numbers that no count can be: all bits, and those whose bytes in elements of 4, 8 or 16 are few again. */
extern size_t walk_absurd;
#define WALK_ABSURD_size_t walk_absurd
#define WALK_ABSURD_int    INT_MIN

#define WALK_VALUE(at, type, parameter, nothing)                                                                       \
    __typeof__(good_##type(function, parameter)) a##at = good_##type(function, parameter);                             \
    if (absent & 1u << at) a##at = (__typeof__(a##at))                                                                 \
        {                                                                                                              \
            nothing                                                                                                    \
        }

#define WALK_GIVEN(at, type, nothing, ...)                                                                             \
    __typeof__(good_##type(function, "")) a##at = (__typeof__(a##at))__VA_ARGS__;                                      \
    if (absent & 1u << at) a##at = (__typeof__(a##at))                                                                 \
        {                                                                                                              \
            nothing                                                                                                    \
        }

#define KEEP_void(result, call)    ((result)->number = 0, call)
#define KEEP_NUMBER(result, call)  ((result)->number = (long long)(call))
#define KEEP_POINTER(result, call) ((result)->pointer = (call))
#define KEEP_char_p(result, call)                                                                                      \
    do {                                                                                                               \
        const char *text_ = (call);                                                                                    \
        (result)->pointer = text_;                                                                                     \
        (result)->is_text = true;                                                                                      \
        snprintf((result)->text, sizeof(result)->text, "%s", text_ ? text_ : "");                                      \
    } while (0)
#define KEEP_HANDLE(result, call)     ((result)->pointer = (call).ctx)
#define KEEP_kiln_bytes(result, call) ((result)->pointer = (call).data)

#endif
