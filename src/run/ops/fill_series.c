/*
 * fill_series.c - fills a series (ops/creation.h). Each number is computed from its position, not from the one before
 * it.
 */
#include <math.h>
#include <string.h>

#include "ops/creation.h"
#include "run/ops/operation.h"

/* At `part` of a window, 0 to 1/2. Blackman's is 0.42 - 0.5 cos(x) + 0.08 cos(2 x), in factors, so that its ends are
 * 0. */
static double window_at(enum kiln_series_kind window, double part)
{
    double turn = cos(2 * M_PI * part);
    switch (window) {
    case KILN_SERIES_BARTLETT:
        return 2 * part;
    case KILN_SERIES_BLACKMAN:
        return (1 - turn) * (0.34 - 0.16 * turn);
    case KILN_SERIES_HAMMING:
        return 0.54 - 0.46 * turn;
    default:
        return 0.5 * (1 - turn);
    }
}

static double number_at(enum kiln_series_kind kind, const double numbers[2], int64_t i, int64_t count)
{
    int64_t from_end = count - 1 - i;
    double at = count > 1 ? (double)i / (double)(count - 1) : 0;
    if (kind == KILN_SERIES_STEPS) return numbers[0] + (double)i * numbers[1];
    if (kind == KILN_SERIES_SPACED)
        return i > 0 && from_end == 0 ? numbers[1] : numbers[0] * (1 - at) + numbers[1] * at;
    return count == 1 ? 1 : window_at(kind, (double)(i < from_end ? i : from_end) / (double)(count - 1));
}

/* No inputs. Attributes: the kind, two numbers by their bits. */
kiln_status kiln__run_series(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    double numbers[2];
    memcpy(numbers, node->attrs + 1, sizeof numbers);
    kiln_status status = kiln__output_alloc(out, err);
    double *values = (double *)(void *)out->data;
    for (int64_t i = 0; i < out->size && !status; i++)
        values[i] = number_at((enum kiln_series_kind)node->attrs[0], numbers, i, out->size);
    return status;
}
