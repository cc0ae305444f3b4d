/*
 * replay.c - see replay.h. The table of replayers is here, not in the graph layer, because each calls an operation of
 * this layer.
 */
#include "ops/replay.h"

#include <limits.h>
#include <string.h>

#include "graph/marking.h"
#include "graph/rules.h"

kiln_replayer *kiln__gradient_replayer, *kiln__tangent_replayer;

kiln_status kiln__replay_gradient(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    return kiln__gradient_replayer(record, out, err);
}

kiln_status kiln__replay_tangent(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    return kiln__tangent_replayer(record, out, err);
}

static kiln_replayer *const replayers[KILN_DEFERRED_COUNT] = {
#define KILN_DEFERRED(ID, name) [KILN_DEFERRED_##ID] = kiln__replay_##name,
#include "graph/deferred.def"
};

static kiln_status replay(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    record->next_array = 0;
    record->next_number = 1;
    return replayers[record->numbers[0]](record, out, err);
}

kiln_status kiln__record_end(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *plain = NULL;
    const char *name = kiln__operation_name(KILN_OP_DEFERRED, record->numbers);
    if (record->is_too_long) return kiln__fail(err, KILN_INVALID, "[%s] too many inputs or parameters.", name);
    if (!record->arrays) record->arrays = record->few;
    kiln__records_deferred = false;
    kiln__marking.paused++;
    kiln_status status = replay(record, &plain, err);
    kiln__marking.paused--;
    kiln__records_deferred = true;
    if (status) return status;
    struct kiln_call call = {KILN_OP_DEFERRED, record->arrays, record->array_count, record->numbers,
                             record->number_count};
    struct kiln_result result = {.dtype = (enum kiln_dtype)plain->dtype, .ndim = plain->ndim};
    memcpy(result.dims, plain->dims, plain->ndim * sizeof *plain->dims);
    status = kiln__apply_result(&call, &result, out, err);
    kiln__array_unref(plain);
    return status;
}

kiln_status kiln__deferred_replay(struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                                  size_t attr_count, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin((enum kiln_deferred)attrs[0]);
    memcpy(record.numbers, attrs, attr_count * sizeof *attrs);
    record.number_count = attr_count;
    kiln__record_arrays(&record, inputs, count);
    return replay(&record, out, err);
}

/* How many of the arrays, the first ones, are never left out; 0: all. */
static const uint8_t required[KILN_DEFERRED_COUNT] = {
    [KILN_DEFERRED_RMS_NORM] = 1,          [KILN_DEFERRED_LAYER_NORM] = 1, [KILN_DEFERRED_ROPE] = 2,
    [KILN_DEFERRED_ATTENTION] = 3,         [KILN_DEFERRED_DEQUANTIZE] = 2, [KILN_DEFERRED_QUANTIZE] = 1,
    [KILN_DEFERRED_QUANTIZED_PRODUCT] = 3,
};

kiln_status kiln__deferred_replay_checked(struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                                          size_t attr_count, struct kiln_array **out, kiln_error *err)
{
    bool is_known = attr_count > 0 && attrs[0] >= 0 && attrs[0] < KILN_DEFERRED_COUNT;
    if (!is_known || attr_count > KILN_RECORD_NUMBERS || count == 0)
        return kiln__fail(err, KILN_INVALID, "[deferred] no operation is recorded like this");
    struct kiln_record record = kiln__record_begin((enum kiln_deferred)attrs[0]);
    memcpy(record.numbers, attrs, attr_count * sizeof *attrs);
    record.number_count = attr_count;
    record.is_checked = true;
    record.required_arrays = required[attrs[0]] ? required[attrs[0]] : UINT_MAX;
    kiln__record_arrays(&record, inputs, count);
    kiln_status status = replay(&record, out, err);
    if (status || (!record.is_damaged && record.next_number == attr_count)) return status;
    kiln__array_unref(*out);
    *out = NULL;
    return kiln__fail(err, KILN_INVALID, "[%s] it is recorded with other arrays and numbers",
                      kiln__operation_name(KILN_OP_DEFERRED, attrs));
}
