/*
 * deferred.c - see deferred.h. A node's attributes are the question's numbers: the formula, then in the order of asking 0
 * or 1 for an array that was left out or given, a number, or a count and as many numbers.
 */
#include "graph/deferred.h"

#include <string.h>

#include "graph/rules.h"

_Thread_local bool kiln__records_formulas;

static const struct {
    const char *name;
    kiln_answer *answer;
} formulas[KILN_FORMULA_COUNT] = {
#define KILN_FORMULA(ID, op_name) [KILN_FORMULA_##ID] = {#op_name, kiln__answer_##op_name},
#include "graph/deferred.def"
};

const char *kiln__operation_name(enum kiln_op op, const int64_t *attrs)
{
    return op == KILN_OP_FORMULA ? formulas[attrs[0]].name : kiln__ops[op].name;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

struct kiln_question kiln__ask(enum kiln_formula formula)
{
    struct kiln_question question;
    question.arrays = NULL;
    question.array_count = question.next_array = 0;
    question.number_count = question.next_number = 1;
    question.is_too_long = false;
    question.numbers[0] = formula;
    return question;
}

void kiln__ask_number(struct kiln_question *question, int64_t number)
{
    if (question->number_count < KILN_QUESTION_NUMBERS)
        question->numbers[question->number_count++] = number;
    else
        question->is_too_long = true;
}

void kiln__ask_real(struct kiln_question *question, float number)
{
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    kiln__ask_number(question, bits);
}

void kiln__ask_numbers(struct kiln_question *question, const int *numbers, size_t count)
{
    kiln__ask_number(question, (int64_t)count);
    for (size_t i = 0; i < count && !question->is_too_long; i++) kiln__ask_number(question, numbers[i]);
}

void kiln__ask_array(struct kiln_question *question, struct kiln_array *array)
{
    kiln__ask_number(question, array != NULL);
    if (array && question->array_count < KILN_QUESTION_ARRAYS)
        question->few[question->array_count++] = array;
    else if (array)
        question->is_too_long = true;
}

void kiln__ask_arrays(struct kiln_question *question, struct kiln_array *const *arrays, size_t count)
{
    question->arrays = arrays;
    question->array_count = count;
}

static kiln_status answer(struct kiln_question *question, struct kiln_array **out, kiln_error *err)
{
    question->next_array = 0;
    question->next_number = 1;
    return formulas[question->numbers[0]].answer(question, out, err);
}

kiln_status kiln__ask_end(struct kiln_question *question, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *plain = NULL;
    const char *name = formulas[question->numbers[0]].name;
    if (question->is_too_long) return kiln__fail(err, KILN_INVALID, "[%s] too many inputs or parameters.", name);
    if (!question->arrays) question->arrays = question->few;
    kiln__records_formulas = false;
    kiln_status status = answer(question, &plain, err);
    kiln__records_formulas = true;
    if (status) return status;
    struct kiln_call call = {KILN_OP_FORMULA, question->arrays, question->array_count, question->numbers,
                             question->number_count};
    struct kiln_result result = {.dtype = (enum kiln_dtype)plain->dtype, .ndim = plain->ndim};
    memcpy(result.dims, plain->dims, plain->ndim * sizeof *plain->dims);
    status = kiln__apply_result(&call, &result, out, err);
    kiln__array_unref(plain);
    return status;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

int64_t kiln__asked_number(struct kiln_question *question)
{
    return question->numbers[question->next_number++];
}

float kiln__asked_real(struct kiln_question *question)
{
    int32_t bits = (int32_t)kiln__asked_number(question);
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

size_t kiln__asked_numbers(struct kiln_question *question, int numbers[KILN_QUESTION_NUMBERS])
{
    size_t count = (size_t)kiln__asked_number(question);
    for (size_t i = 0; i < count; i++) numbers[i] = (int)kiln__asked_number(question);
    return count;
}

struct kiln_array *kiln__asked_array(struct kiln_question *question)
{
    return kiln__asked_number(question) ? question->arrays[question->next_array++] : NULL;
}

kiln_status kiln__formula_apply(struct kiln_array *const *inputs, size_t count, const int64_t *attrs, size_t attr_count,
                                struct kiln_array **out, kiln_error *err)
{
    struct kiln_question question = kiln__ask((enum kiln_formula)attrs[0]);
    memcpy(question.numbers, attrs, attr_count * sizeof *attrs);
    question.number_count = attr_count;
    kiln__ask_arrays(&question, inputs, count);
    return answer(&question, out, err);
}
