/*
 * deferred.c - see deferred.h. A node's attributes are the record's numbers: the operation, then in the order of
 * recording 0 or 1 for an array that was left out or given, a number, or a count and as many numbers.
 */
#include "graph/deferred.h"

#include <string.h>

_Thread_local bool kiln__records_deferred;

static const char *const names[KILN_DEFERRED_COUNT] = {
#define KILN_DEFERRED(ID, name) [KILN_DEFERRED_##ID] = #name,
#include "graph/deferred.def"
};

const char *kiln__operation_name(enum kiln_op op, const int64_t *attrs)
{
    return op == KILN_OP_DEFERRED ? names[attrs[0]] : kiln__ops[op].name;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

struct kiln_record kiln__record_begin(enum kiln_deferred op)
{
    struct kiln_record record;
    record.arrays = NULL;
    record.array_count = record.next_array = 0;
    record.number_count = record.next_number = 1;
    record.is_too_long = record.is_damaged = record.is_checked = false;
    record.required_arrays = 0;
    record.numbers[0] = op;
    return record;
}

void kiln__record_number(struct kiln_record *record, int64_t number)
{
    if (record->number_count < KILN_RECORD_NUMBERS)
        record->numbers[record->number_count++] = number;
    else
        record->is_too_long = true;
}

void kiln__record_real(struct kiln_record *record, float number)
{
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    kiln__record_number(record, bits);
}

void kiln__record_numbers(struct kiln_record *record, const int *numbers, size_t count)
{
    kiln__record_number(record, (int64_t)count);
    for (size_t i = 0; i < count && !record->is_too_long; i++) kiln__record_number(record, numbers[i]);
}

void kiln__record_array(struct kiln_record *record, struct kiln_array *array)
{
    kiln__record_number(record, array != NULL);
    if (array && record->array_count < KILN_RECORD_ARRAYS)
        record->few[record->array_count++] = array;
    else if (array)
        record->is_too_long = true;
}

void kiln__record_arrays(struct kiln_record *record, struct kiln_array *const *arrays, size_t count)
{
    record->arrays = arrays;
    record->array_count = count;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

/* A record of a file may end too early (ops/replay.h); it then reads as zeros. */
int64_t kiln__recorded_number(struct kiln_record *record)
{
    if (record->next_number < record->number_count) return record->numbers[record->next_number++];
    record->is_damaged = true;
    return 0;
}

int kiln__recorded_choice(struct kiln_record *record, int64_t count)
{
    int64_t number = kiln__recorded_number(record);
    if (number >= 0 && number < count) return (int)number;
    record->is_damaged = true;
    return 0;
}

float kiln__recorded_real(struct kiln_record *record)
{
    int32_t bits = (int32_t)kiln__recorded_number(record);
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

size_t kiln__recorded_numbers(struct kiln_record *record, int numbers[KILN_RECORD_NUMBERS])
{
    size_t count = (size_t)kiln__recorded_number(record);
    if (count > record->number_count - record->next_number) {
        record->is_damaged = true;
        count = 0;
    }
    for (size_t i = 0; i < count; i++) numbers[i] = (int)kiln__recorded_number(record);
    if (record->is_checked) memset(numbers + count, 0, (KILN_RECORD_NUMBERS - count) * sizeof *numbers);
    return count;
}

struct kiln_array *kiln__recorded_array(struct kiln_record *record)
{
    bool is_required = record->required_arrays > 0;
    record->required_arrays -= is_required;
    if (kiln__recorded_number(record) && record->next_array < record->array_count)
        return record->arrays[record->next_array++];
    if (!is_required) return NULL;
    record->is_damaged = true;
    return record->arrays[0];
}
