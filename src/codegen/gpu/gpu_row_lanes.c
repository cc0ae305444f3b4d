/*
 * gpu_row_lanes.c - combines the elements of a chunk with its lanes, and the lanes into a total, with the bits of
 * group.h's order.
 *
 * Ordered reductions (gpu_lanes.h): thread l of the first 16 has lane l; threads l and l + 16 have elements of it, the
 * latter the later ones. In each span the first 16 threads combine theirs, a shuffle moves the lanes to the other 16,
 * which combine theirs, and a second shuffle moves the lanes back. All 32 threads execute both steps, and half of the
 * results are discarded: cheaper than a shuffle per element.
 *
 * Other reductions: each of the 32 threads combines its own elements, and the warp is reduced at the end of the chunk.
 * A quick total that is a zero is computed again in order: `is_exact`.
 */
#include "codegen/gpu/gpu_rows.h"

static bool is_ordered(const struct kiln_rows *rows, const struct kiln_reducer *r)
{
    return rows->is_exact || kiln__lane_order(r) == KILN_LANES_ORDERED;
}

/* to = from, combined with the entries of all elements in turn. */
static void print_chain(struct kiln_rows *rows, struct kiln_reducer *r, uint32_t index, struct kiln_name from,
                        const struct kiln_name *to, const char *stem, const struct kiln_name *passes, int count)
{
    for (int k = 0; k < count; k++) {
        struct kiln_name next = k == count - 1 ? *to : kiln__name(rows->ir, "%$0$1$2", stem, index, passes[k].text);
        kiln__lane_combine_quickly(rows->p, r, next.text, from.text,
                                   kiln__name(rows->ir, "%e$0$1", index, passes[k].text).text);
        from = next;
    }
}

/* With one element per thread, the element is shuffled instead of the lane. */
static void print_ordered(struct kiln_rows *rows, struct kiln_reducer *r, uint32_t i, const char *tag,
                          const struct kiln_name *passes, int count)
{
    struct kiln_name lane = kiln__name(rows->ir, "%lane$0$1", i, tag),
                     next = kiln__name(rows->ir, "%lane.next$0$1", i, tag),
                     low = kiln__name(rows->ir, "%low$0$1", i, tag),
                     across = kiln__name(rows->ir, "%across$0$1", i, tag),
                     high = kiln__name(rows->ir, "%high$0$1", i, tag);
    print_chain(rows, r, i, lane, &low, "low", passes, count);
    if (count == 1) {
        kiln__lane_across(rows->p, r, across.text, kiln__name(rows->ir, "%e$0$1", i, passes[0].text).text);
        kiln__reduce_combine(r, next.text, low.text, across.text, 0);
        return;
    }
    kiln__lane_across(rows->p, r, across.text, low.text);
    print_chain(rows, r, i, across, &high, "high", passes, count);
    kiln__lane_across(rows->p, r, next.text, high.text);
}

void kiln__row_print_accumulation(struct kiln_rows *rows, const char *tag, const struct kiln_name *passes, int count)
{
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name lane = kiln__name(rows->ir, "%lane$0$1", i, tag),
                         next = kiln__name(rows->ir, "%lane.next$0$1", i, tag);
        if (is_ordered(rows, &r))
            print_ordered(rows, &r, i, tag, passes, count);
        else
            print_chain(rows, &r, i, lane, &next, "low", passes, count);
    }
}

static void print_ordered_rest(struct kiln_rows *rows, struct kiln_reducer *r, uint32_t i, const char *tag)
{
    struct kiln_name entry = kiln__name(rows->ir, "%entry$0$1", i, tag),
                     lane = kiln__name(rows->ir, "%rest$0$1", i, tag), own = kiln__name(rows->ir, "%own$0$1", i, tag),
                     one = kiln__name(rows->ir, "%one$0$1", i, tag), other = kiln__name(rows->ir, "%other$0$1", i, tag),
                     both = kiln__name(rows->ir, "%both$0$1", i, tag);
    struct kiln_name is = kiln__name(rows->ir, "%r.is$0", tag);
    struct kiln_name is_other = kiln__name(rows->ir, "%r.other$0", tag);
    kiln__lane_down(rows->p, r, other.text, entry.text, KILN_ROW_LANES);
    kiln__reduce_combine(r, own.text, lane.text, entry.text, 0);
    kiln__lane_select(r, one.text, is.text, own.text, lane.text);
    kiln__reduce_combine(r, both.text, one.text, other.text, 0);
    kiln__lane_select(r, kiln__name(rows->ir, "%rest.next$0$1", i, tag).text, is_other.text, both.text, one.text);
}

/* An element past the end is the identity element, which changes nothing in an unordered reduction. */
void kiln__row_print_rest_accumulation(struct kiln_rows *rows, const char *tag)
{
    struct kiln_name from = kiln__name(rows->ir, "rest$0", tag);
    struct kiln_name value = kiln__name(rows->ir, "value$0", tag);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%entry$0$1", i, tag).text,
                       kiln__name(rows->ir, "%e$0$1", i, rows->p->pass).text, value.text, NULL, from.text);
    }
    kiln__print(rows->ir,
                "  %r.far$0 = add nuw nsw i32 %r.at$0, $1\n"
                "  %r.other$0 = icmp ult i32 %r.far$0, %count$2\n",
                tag, KILN_ROW_LANES, rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        if (is_ordered(rows, &r))
            print_ordered_rest(rows, &r, i, tag);
        else
            kiln__lane_combine_quickly(rows->p, &r, kiln__name(rows->ir, "%rest.next$0$1", i, tag).text,
                                       kiln__name(rows->ir, "%rest$0$1", i, tag).text,
                                       kiln__name(rows->ir, "%entry$0$1", i, tag).text);
    }
}

void kiln__row_print_totals(struct kiln_rows *rows, const char *suffix)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name lanes = kiln__name(rows->ir, "%all$0$1", i, suffix),
                         total = kiln__name(rows->ir, "%chunk$0$1", i, suffix),
                         across = kiln__name(rows->ir, "%far$0$1", i, suffix),
                         both = kiln__name(rows->ir, "%met.all$0$1", i, suffix);
        if (is_ordered(rows, &r)) {
            kiln__lane_total(p, &r, total.text, lanes.text, kiln__lane_combine);
        } else {
            kiln__lane_across(p, &r, across.text, lanes.text);
            kiln__lane_combine_quickly(p, &r, both.text, lanes.text, across.text);
            kiln__lane_total(p, &r, total.text, both.text, kiln__lane_combine_quickly);
        }
        kiln__lane_first(p, &r, kiln__name(rows->ir, "%whole$0$1", i, suffix).text, total.text);
    }
}

static bool is_quick(const struct kiln_rows *rows, uint32_t index)
{
    struct kiln_reducer r = kiln__stages_reducer(&rows->stages, index);
    return kiln__lane_order(&r) == KILN_LANES_QUICK;
}

bool kiln__row_has_quick(const struct kiln_rows *rows)
{
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++)
        if (is_quick(rows, i)) return true;
    return false;
}

void kiln__row_print_zero(struct kiln_rows *rows)
{
    struct kiln_name before = {"false"};
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        if (!is_quick(rows, i)) continue;
        struct kiln_name zero = kiln__name(rows->ir, "%zero$0$1", i, rows->tag.text),
                         any = kiln__name(rows->ir, "%zeros$0$1", i, rows->tag.text);
        kiln__print(rows->ir, "  $0 = fcmp oeq float $1, 0.0\n  $2 = or i1 $3, $0\n", zero.text,
                    kiln__name(rows->ir, "%whole$0$1", i, rows->tag.text).text, any.text, before.text);
        before = any;
    }
    kiln__print(rows->ir, "  %is.zero$0 = or i1 $1, false\n", rows->tag.text, before.text);
}

/* Where there is one chunk, its total is the lane of the next level. */
void kiln__row_print_carry(struct kiln_rows *rows)
{
    struct kiln_name mine = kiln__name(rows->ir, "%is.mine$0", rows->tag.text);
    struct kiln_name exact = kiln__name(rows->ir, "$0z", rows->tag.text);
    struct kiln_name from = kiln__name(rows->ir, "chunk.end$0", rows->tag.text);
    struct kiln_name from_exact = kiln__name(rows->ir, "exact.end$0", rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name whole = kiln__name(rows->ir, "%whole$0$1", i, rows->tag.text);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%sum$0$1", i, rows->tag.text).text, whole.text, from.text,
                       is_quick(rows, i) ? kiln__name(rows->ir, "%whole$0$1", i, exact.text).text : whole.text,
                       kiln__row_has_quick(rows) ? from_exact.text : NULL);
    }
    kiln__print(rows->ir, "  %c.lane$0 = and i32 %c$0, $1\n  %is.mine$0 = icmp eq i32 %c.lane$0, %lane\n",
                rows->tag.text, KILN_ROW_LANES - 1);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name whole = kiln__name(rows->ir, "%sum$0$1", i, rows->tag.text),
                         up = kiln__name(rows->ir, "%up$0$1", i, rows->tag.text),
                         more = kiln__name(rows->ir, "%up.more$0$1", i, rows->tag.text),
                         sum = kiln__name(rows->ir, "%up.sum$0$1", i, rows->tag.text);
        kiln__reduce_combine(&r, more.text, up.text, whole.text, 0);
        kiln__lane_select(&r, sum.text, "%is.single", whole.text, more.text);
        kiln__lane_select(&r, kiln__name(rows->ir, "%up.next$0$1", i, rows->tag.text).text, mine.text, sum.text,
                          up.text);
    }
}
