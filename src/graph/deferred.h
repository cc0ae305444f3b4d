/*
 * deferred.h - operations as they were asked for, so that they can be asked for again with other sizes.
 *
 * A reshape with -1, an open slice, the divisor of a mean, the batch of a product: all of them are worked out from
 * sizes. While a shapeless function is traced, such an operation becomes one node, KILN_OP_FORMULA, which keeps what
 * the caller asked for: its arrays and its parameters. A formula is never evaluated. For each new shape the trace room
 * asks all of them again, outside of a shapeless trace, where the very same functions make plain nodes of the sizes at
 * hand, or say what does not fit (trace/shapeless.c).
 *
 * An operation and its answer are written as a pair, side by side; the answer reads what was asked, in the same order:
 *
 *     if (kiln__records(a)) {
 *         struct kiln_question question = kiln__ask(KILN_FORMULA_REPEAT);
 *         kiln__ask_array(&question, a);
 *         kiln__ask_number(&question, repeats);
 *         return kiln__ask_end(&question, out, err);
 *     }
 */
#ifndef KILN_GRAPH_DEFERRED_H
#define KILN_GRAPH_DEFERRED_H

#include "graph/node.h"

enum kiln_formula {
#define KILN_FORMULA(ID, name) KILN_FORMULA_##ID,
#include "graph/deferred.def"
    KILN_FORMULA_COUNT
};

enum { KILN_QUESTION_ARRAYS = 40, KILN_QUESTION_NUMBERS = 160 };

struct kiln_question {
    struct kiln_array *const *arrays; /* `few`, or the caller's */
    size_t array_count, number_count;
    size_t next_array, next_number; /* to be read */
    bool is_too_long;
    struct kiln_array *few[KILN_QUESTION_ARRAYS];
    int64_t numbers[KILN_QUESTION_NUMBERS]; /* first the formula */
};

/* Set by the trace room while a shapeless function runs on this thread. */
extern _Thread_local bool kiln__records_formulas;

/* Is it an array of a shapeless trace, so that what is done to it has to be kept as it was asked for? NULL is fine. */
static inline bool kiln__records(const struct kiln_array *array)
{
    return __builtin_expect(kiln__records_formulas, 0) && array && array->trace;
}

struct kiln_question kiln__ask(enum kiln_formula formula);
void kiln__ask_array(struct kiln_question *question, struct kiln_array *array); /* NULL is kept */
/* All arrays of a question that has no others; any number. The list is borrowed. */
void kiln__ask_arrays(struct kiln_question *question, struct kiln_array *const *arrays, size_t count);
void kiln__ask_number(struct kiln_question *question, int64_t number);
void kiln__ask_real(struct kiln_question *question, float number);
void kiln__ask_numbers(struct kiln_question *question, const int *numbers, size_t count);
/* Answers it for the sizes of the trace, and makes a node of it. As kiln__apply(). */
kiln_status kiln__ask_end(struct kiln_question *question, struct kiln_array **out, kiln_error *err);

/* The same for a question whose last array is a random key: NULL draws one now, so that each answer has the same. */
kiln_status kiln__ask_random(struct kiln_question *question, struct kiln_array *key, struct kiln_array **out,
                             kiln_error *err);

struct kiln_array *kiln__asked_array(struct kiln_question *question);
int64_t kiln__asked_number(struct kiln_question *question);
float kiln__asked_real(struct kiln_question *question);
/* Points into the caller's `numbers`, or is as long as KILN_QUESTION_NUMBERS; returns how many there are. */
size_t kiln__asked_numbers(struct kiln_question *question, int numbers[KILN_QUESTION_NUMBERS]);

/* Asks again what a node of KILN_OP_FORMULA has kept, with `inputs` for its inputs. */
kiln_status kiln__formula_apply(struct kiln_array *const *inputs, size_t count, const int64_t *attrs, size_t attr_count,
                                struct kiln_array **out, kiln_error *err);

/* The operation's name, or the formula's. */
const char *kiln__operation_name(enum kiln_op op, const int64_t *attrs);

typedef kiln_status kiln_answer(struct kiln_question *question, struct kiln_array **out, kiln_error *err);
#define KILN_FORMULA(ID, name) kiln_answer kiln__answer_##name;
#include "graph/deferred.def"

#endif
