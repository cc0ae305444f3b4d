/*
 * gpu_row_chunks.c - the loops of a warp over its chunks in one pass. See gpu_rows.h.
 *
 * A chunk is spans and a rest. A span is 32 * S elements, S the kernel's `span`: thread l of the first 16 has elements
 * l, l + 16, l + 32, ... of its first half, thread l + 16 the same of its second half, S each. So a thread has elements
 * of one lane, in order, and the accesses of a warp are two runs of 64 bytes (of float32) that fill whole sectors. The
 * rest, fewer elements than a span, is taken 32 neighbours at a time, and so are spans where no order shows.
 *
 * Passes whose order does not show may take fewer than S elements of a thread at a time, but have the same spans: the
 * k-th element of a thread in a chunk is the same in every pass, and so is its slot. A warp has 1024 slots. Those of
 * four such elements are neighbours, where something of 4 bytes is kept: then one access of 16 bytes moves them.
 *
 * Where slots hold something, all chunks but the last one of each warp are far: nothing of them is held.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_rows.h"

enum {
    COPIED_LOADS = 16,  /* loads of a thread under way, at most, */
    COPIED_INSTRS = 32, /* and instructions of the group in a loop */
    SLOT_GROUP = 4,     /* neighbouring slots of a thread */
};

static const struct kiln_chunk_kind every_chunk = {'w', false, true, true, true};
static const struct kiln_chunk_kind far_chunk = {'f', false, false, true, false};
static const struct kiln_chunk_kind last_chunk = {'l', true, true, true, true};
/* Slots may hold what this pass keeps already, so they are of no use. */
static const struct kiln_chunk_kind exact_chunk = {'z', false, false, false, true};

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

/* ---- how many elements at a time ------------------------------------------------------------------------------- */

/* Elements of a thread that a loop computes at a time, `most` or fewer. Fills the stages' marks. */
static int count_copies(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, int most)
{
    kiln__stages_need_nothing(&rows->stages);
    kiln__stages_need(&rows->stages, rows->pass, kind->uses_held ? rows->slots.held : NULL);
    int loads = kiln__row_count_loads(rows, kind), instrs = kiln__row_count_instrs(rows, kind);
    while (most > 1 && (most * loads > COPIED_LOADS || most * instrs > COPIED_INSTRS)) most /= 2;
    return most;
}

static bool has_ordered(const struct kiln_rows *rows)
{
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        if (kiln__lane_order(&r) == KILN_LANES_ORDERED) return true;
    }
    return false;
}

/* The lanes go across once per span, so passes with order take whole spans; what they can take is a span. */
void kiln__row_plan(struct kiln_rows *rows)
{
    rows->span = KILN_ROW_SPAN;
    for (rows->pass = 0; rows->pass <= rows->stages.passes; rows->pass++) {
        bool has_far = kiln__slots_hold_any(&rows->slots);
        kiln__slots_choose(&rows->slots, rows->pass);
        if (has_ordered(rows)) {
            rows->is_split = true;
            rows->span = count_copies(rows, has_far ? &last_chunk : &every_chunk, rows->span);
            rows->span = count_copies(rows, &far_chunk, rows->span);
        }
        kiln__slots_turn(&rows->slots);
    }
}

/* ---- spans ----------------------------------------------------------------------------------------------------- */

static int slot_group(const struct kiln_rows *rows)
{
    return rows->slots.has_words ? SLOT_GROUP : 1;
}

void kiln__row_print_slots(struct kiln_rows *rows)
{
    PRINT("  %%slots.warp = mul nuw nsw i32 %%warp, %d\n  %%slots.lane = mul nuw nsw i32 %%lane, %d\n"
          "  %%slots = add nuw nsw i32 %%slots.warp, %%slots.lane\n",
          KILN_ROW_CHUNK, slot_group(rows));
}

/* %s, i64: slot of the thread's element, the (at / 32)-th of the chunk; that is a multiple of `copies`. */
static void print_slot_address(struct kiln_rows *rows, const char *tag, const char *at, int copies)
{
    int group = slot_group(rows), members = copies < group ? group : 1;
    PRINT("  %%s.group%1$s = and i32 %2$s, %3$d\n  %%s.first%1$s = add nuw nsw i32 %%s.group%1$s, %%slots\n"
          "  %%s.number%1$s = udiv i32 %2$s, %4$d\n  %%s.member%1$s = urem i32 %%s.number%1$s, %5$d\n"
          "  %%s.short%1$s = add nuw nsw i32 %%s.first%1$s, %%s.member%1$s\n"
          "  %%s%1$s = zext i32 %%s.short%1$s to i64\n",
          tag, at, -group * KILN_GPU_WARP, KILN_GPU_WARP, members);
}

/* Slots from that of the first copy, whose number is a multiple of that of copies, to that of another one. */
static int slot_distance(const struct kiln_rows *rows, int copy)
{
    int group = slot_group(rows);
    return copy / group * group * KILN_GPU_WARP + copy % group;
}

/* %i, i64: number in the row of the thread's first element of those at %b; a part of a span is half as far. */
static void print_span_start(struct kiln_rows *rows, const char *tag)
{
    int part = rows->is_split ? KILN_GPU_WARP * rows->span - 1 : 0;
    PRINT("  %%i.part%1$s = and i32 %%b%1$s, %2$d\n  %%i.half%1$s = lshr i32 %%i.part%1$s, 1\n"
          "  %%i.at%1$s = sub nuw nsw i32 %%b%1$s, %%i.half%1$s\n"
          "  %%i.short%1$s = add nuw nsw i32 %%first%3$s, %%i.at%1$s\n  %%i%1$s = zext i32 %%i.short%1$s to i64\n",
          tag, part, rows->tag);
}

static kiln_status print_block(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag, int copies,
                               kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char at[KILN_IR_NAME], passes[KILN_ROW_SPAN][24];
    snprintf(at, sizeof at, "%%b%s", tag);
    print_span_start(rows, tag);
    print_slot_address(rows, tag, at, copies);
    for (int copy = 0; copy < copies; copy++) {
        snprintf(passes[copy], sizeof passes[copy], "%.12s%d", tag, copy);
        p->pass = passes[copy];
        PRINT("  %%i%1$s = add nuw nsw i64 %%i%2$s, %3$d\n  %%s%1$s = add nuw nsw i64 %%s%2$s, %4$d\n", p->pass, tag,
              copy * (rows->is_split ? KILN_ROW_LANES : KILN_GPU_WARP), slot_distance(rows, copy));
        kiln__row_print_loads(rows, kind);
    }
    kiln_status status = kiln__row_print_values(rows, kind, tag, passes, copies, err);
    for (int copy = 0; copy < copies; copy++) {
        p->pass = passes[copy];
        kiln__row_print_entries(rows);
    }
    for (int copy = 0; copy < copies; copy++) {
        p->pass = passes[copy];
        kiln__row_print_keeps(rows, kind);
    }
    kiln__row_print_accumulation(rows, tag, passes, copies);
    for (int copy = 0; copy < copies; copy++) {
        p->pass = passes[copy];
        kiln__row_print_stores(rows, copies);
    }
    p->pass = "";
    return status;
}

/* Needs the marks of count_copies(). */
static kiln_status print_spans(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag, int copies,
                               kiln_error *err)
{
    char chunk[24], block[24];
    snprintf(chunk, sizeof chunk, "chunk%s", rows->tag);
    snprintf(block, sizeof block, "block.end%.14s", tag);
    PRINT("blocks%1$s:\n  %%b%1$s = phi i32 [ 0, %%chunk%2$s ], [ %%b.next%1$s, %%block.end%1$s ]\n", tag, rows->tag);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("lane", i, tag).text, NULL, chunk, kiln__name("lane.next", i, tag).text, block);
    }
    PRINT("  %%b.next%1$s = add nuw nsw i32 %%b%1$s, %2$d\n  %%b.more%1$s = icmp ule i32 %%b.next%1$s, %%spans%3$s\n"
          "  br i1 %%b.more%1$s, label %%block%1$s, label %%%4$s%5$s\n\nblock%1$s:\n",
          tag, copies * KILN_GPU_WARP, rows->tag, kind->has_rest ? "rests" : "chunk.end",
          kind->has_rest ? tag : rows->tag);
    kiln_status status = print_block(rows, kind, tag, copies, err);
    PRINT("  br label %%block.end%1$s\n\nblock.end%1$s:\n  br label %%blocks%1$s\n\n", tag);
    return status;
}

/* ---- rests ----------------------------------------------------------------------------------------------------- */

static kiln_status print_rest_value(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                                    kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char at[KILN_IR_NAME], passes[1][24], *pass = passes[0];
    snprintf(at, sizeof at, "%%r%s", tag);
    snprintf(pass, sizeof passes[0], "%.16sx", tag);
    p->pass = pass;
    PRINT("  %%i.short%1$s = add nuw nsw i32 %%from%2$s, %%r.at%3$s\n  %%i%1$s = zext i32 %%i.short%1$s to i64\n", pass,
          rows->tag, tag);
    print_slot_address(rows, pass, at, 1);
    kiln__row_print_loads(rows, kind);
    kiln_status status = kiln__row_print_values(rows, kind, tag, passes, 1, err);
    kiln__row_print_keeps(rows, kind);
    kiln__row_print_entries(rows);
    kiln__row_print_stores(rows, 1);
    PRINT("  br label %%join%1$s\n\njoin%1$s:\n", tag);
    if (!kiln__rows_are_last(rows)) kiln__row_print_rest_accumulation(rows, tag);
    p->pass = "";
    return status;
}

/* What follows the spans, or all of the chunk, 32 elements at a time; of the last ones not all are there. */
static kiln_status print_rest(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                              kiln_error *err)
{
    char before[24], join[24], first[24] = "0";
    snprintf(before, sizeof before, "%s%.14s", kind->has_spans ? "blocks" : "chunk.end",
             kind->has_spans ? tag : rows->tag);
    snprintf(join, sizeof join, "join%.16s", tag);
    if (kind->has_spans) snprintf(first, sizeof first, "%%b%.16s", tag);
    PRINT("rests%1$s:\n  %%r%1$s = phi i32 [ %2$s, %%%3$s ], [ %%r.next%1$s, %%join%1$s ]\n", tag, first, before);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name lane = kiln__name("lane", i, tag);
        kiln__lane_phi(&r, kiln__name("rest", i, tag).text, kind->has_spans ? lane.text : NULL, before,
                       kiln__name("rest.next", i, tag).text, join);
    }
    PRINT("  %%r.more%1$s = icmp ult i32 %%r%1$s, %%count%2$s\n"
          "  br i1 %%r.more%1$s, label %%rest%1$s, label %%%3$s.end%2$s\n\n"
          "rest%1$s:\n  %%r.at%1$s = add nuw nsw i32 %%r%1$s, %%lane\n"
          "  %%r.is%1$s = icmp ult i32 %%r.at%1$s, %%count%2$s\n"
          "  br i1 %%r.is%1$s, label %%value%1$s, label %%join%1$s\n\nvalue%1$s:\n",
          tag, rows->tag, kind->has_spans ? "chunk" : "exact");
    kiln_status status = print_rest_value(rows, kind, tag, err);
    PRINT("  %%r.next%1$s = add nuw nsw i32 %%r%1$s, %2$d\n  br label %%rests%1$s\n\n", tag, KILN_GPU_WARP);
    return status;
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

static kiln_status print_chunk(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, kiln_error *err)
{
    char tag[16];
    snprintf(tag, sizeof tag, "%.12s%c", rows->tag, kind->layout);
    int copies = count_copies(rows, kind, rows->span);
    kiln_status status = KILN_OK;
    if (kind->has_spans) status = print_spans(rows, kind, tag, has_ordered(rows) ? rows->span : copies, err);
    if (!status && kind->has_rest) status = print_rest(rows, kind, tag, err);
    return status;
}

/* %allN = the lanes of the chunk, from where its last loop was left. */
static void print_lane_ends(struct kiln_rows *rows, bool has_far)
{
    char far[16], last[16], from_far[24], from_last[24];
    snprintf(far, sizeof far, "%.12s%c", rows->tag, far_chunk.layout);
    snprintf(last, sizeof last, "%.12s%c", rows->tag, has_far ? last_chunk.layout : every_chunk.layout);
    snprintf(from_far, sizeof from_far, "blocks%s", far);
    snprintf(from_last, sizeof from_last, "rests%s", last);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("all", i, rows->tag).text, kiln__name("rest", i, last).text, from_last,
                       kiln__name("lane", i, far).text, has_far ? from_far : NULL);
    }
}

/* The chunk once more, for the sign of zeros. */
static kiln_status print_exact(struct kiln_rows *rows, kiln_error *err)
{
    char tag[16], from[24];
    snprintf(tag, sizeof tag, "%.12s%c", rows->tag, exact_chunk.layout);
    snprintf(from, sizeof from, "rests%.16s", tag);
    kiln__row_print_zero(rows);
    PRINT("  br i1 %%is.zero%1$s, label %%rests%2$s, label %%carry%1$s\n\n", rows->tag, tag);
    rows->is_exact = true;
    kiln_status status = print_chunk(rows, &exact_chunk, err);
    PRINT("exact.end%s:\n", rows->tag);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("all", i, tag).text, kiln__name("rest", i, tag).text, from, NULL, NULL);
    }
    kiln__row_print_totals(rows, tag);
    rows->is_exact = false;
    return status;
}

/* The chunk's total goes to its lane of the next level. */
static kiln_status print_chunk_end(struct kiln_rows *rows, bool has_far, kiln_error *err)
{
    kiln_status status = KILN_OK;
    PRINT("chunk.end%s:\n", rows->tag);
    print_lane_ends(rows, has_far);
    kiln__row_print_totals(rows, rows->tag);
    if (kiln__row_has_quick(rows)) status = print_exact(rows, err);
    PRINT("  br label %%carry%1$s\n\ncarry%1$s:\n", rows->tag);
    kiln__row_print_carry(rows);
    PRINT("  br label %%chunks%1$s\n\nchunks.end%1$s:\n", rows->tag);
    return status;
}

/*
 * The loop over this warp's chunks: %c is the chunk, %from its first element, %count how many it has, %spans how many
 * of them are in whole spans, %first the first one of this thread.
 */
static void print_chunks_head(struct kiln_rows *rows)
{
    char end[24];
    snprintf(end, sizeof end, "carry%.12s", rows->tag);
    PRINT("  br label %%chunks%1$s\n\nchunks%1$s:\n"
          "  %%c%1$s = phi i32 [ %%member, %%%2$s ], [ %%c.next%1$s, %%carry%1$s ]\n",
          rows->tag, rows->before);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("up", i, rows->tag).text, NULL, rows->before,
                       kiln__name("up.next", i, rows->tag).text, end);
    }
    kiln__ir_declare(&rows->p->declarations, "i32", "llvm.umin.i32", "i32, i32");
    PRINT("  %%from%1$s = mul nuw nsw i32 %%c%1$s, %2$d\n  %%c.some%1$s = icmp ult i32 %%from%1$s, %%length\n"
          "  br i1 %%c.some%1$s, label %%chunk%1$s, label %%chunks.end%1$s\n\nchunk%1$s:\n"
          "  %%left%1$s = sub nuw nsw i32 %%length, %%from%1$s\n"
          "  %%count%1$s = call i32 @llvm.umin.i32(i32 %%left%1$s, i32 %2$d)\n"
          "  %%spans%1$s = and i32 %%count%1$s, %3$d\n"
          "  %%first%1$s = add nuw nsw i32 %%from%1$s, %%spread\n  %%c.next%1$s = add nuw nsw i32 %%c%1$s, %%team\n",
          rows->tag, KILN_ROW_CHUNK, -KILN_GPU_WARP * rows->span);
}

kiln_status kiln__row_print_chunks(struct kiln_rows *rows, kiln_error *err)
{
    bool has_far = kiln__slots_hold_any(&rows->slots);
    kiln_status status = KILN_OK;
    print_chunks_head(rows);
    if (has_far) {
        PRINT("  %%c.far%1$s = mul nuw nsw i32 %%c.next%1$s, %2$d\n"
              "  %%is.far%1$s = icmp ult i32 %%c.far%1$s, %%length\n"
              "  br i1 %%is.far%1$s, label %%blocks%1$s%3$c, label %%blocks%1$s%4$c\n\n",
              rows->tag, KILN_ROW_CHUNK, far_chunk.layout, last_chunk.layout);
        status = print_chunk(rows, &far_chunk, err);
    } else {
        PRINT("  br label %%blocks%s%c\n\n", rows->tag, every_chunk.layout);
    }
    if (!status) status = print_chunk(rows, has_far ? &last_chunk : &every_chunk, err);
    return status ? status : print_chunk_end(rows, has_far, err);
}
