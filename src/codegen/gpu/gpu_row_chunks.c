/*
 * gpu_row_chunks.c - the loops of a warp over its chunks in one pass. See gpu_rows.h.
 *
 * A chunk is divided into spans and a rest. A span is 32 * S elements, S the kernel's `span`: thread l of the first 16
 * has elements l, l + 16, l + 32, ... of its first half, thread l + 16 the same of its second half, S each. So the
 * elements of a thread are consecutive ones of one lane, and an access of the warp is two segments of 64 bytes (of
 * float32), whole sectors. The rest, fewer elements than a span, is processed 32 adjacent elements at a time, and so
 * are spans where no reduction is ordered (gpu_lanes.h).
 *
 * Passes without an ordered reduction may process fewer than S elements of a thread at a time, but have the same spans:
 * the k-th element of a thread in a chunk is the same in every pass, and so is its slot. A warp has 1024 slots. Where a
 * value of 4 bytes is kept, the slots of four such elements are adjacent, so that one access of 16 bytes moves them.
 *
 * Slots hold values of the last chunk of each warp only; the chunks before it are called far.
 */
#include "codegen/gpu/gpu_rows.h"

enum {
    COPIED_LOADS = 16,  /* loads in flight per thread, at most, */
    COPIED_INSTRS = 32, /* and instructions of the group in a loop */
    SLOT_GROUP = 4,     /* neighbouring slots of a thread */
};

static const struct kiln_chunk_kind every_chunk = {"w", false, true, true, true};
static const struct kiln_chunk_kind far_chunk = {"f", false, false, true, false};
static const struct kiln_chunk_kind last_chunk = {"l", true, true, true, true};
/* Reads no slots: they may hold what this pass keeps already. */
static const struct kiln_chunk_kind exact_chunk = {"z", false, false, false, true};

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

/* Lanes are exchanged once per span, so ordered passes process whole spans: the span is what all of them can. */
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
    kiln__print(rows->ir,
                "  %slots.warp = mul nuw nsw i32 %warp, $0\n"
                "  %slots.lane = mul nuw nsw i32 %lane, $1\n"
                "  %slots = add nuw nsw i32 %slots.warp, %slots.lane\n",
                KILN_ROW_CHUNK, slot_group(rows));
}

/* %s, i64: slot of the thread's element, the (at / 32)-th of the chunk; that is a multiple of `copies`. */
static void print_slot_address(struct kiln_rows *rows, const char *tag, const char *at, int copies)
{
    int group = slot_group(rows), members = copies < group ? group : 1;
    kiln__print(rows->ir,
                "  %s.group$0 = and i32 $1, $2\n"
                "  %s.first$0 = add nuw nsw i32 %s.group$0, %slots\n"
                "  %s.number$0 = udiv i32 $1, $3\n"
                "  %s.member$0 = urem i32 %s.number$0, $4\n"
                "  %s.short$0 = add nuw nsw i32 %s.first$0, %s.member$0\n"
                "  %s$0 = zext i32 %s.short$0 to i64\n",
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
    kiln__print(rows->ir,
                "  %i.part$0 = and i32 %b$0, $1\n"
                "  %i.half$0 = lshr i32 %i.part$0, 1\n"
                "  %i.at$0 = sub nuw nsw i32 %b$0, %i.half$0\n"
                "  %i.short$0 = add nuw nsw i32 %first$2, %i.at$0\n"
                "  %i$0 = zext i32 %i.short$0 to i64\n",
                tag, part, rows->tag.text);
}

static kiln_status print_block(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag, int copies,
                               kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name passes[KILN_ROW_SPAN];
    print_span_start(rows, tag);
    print_slot_address(rows, tag, kiln__name(rows->ir, "%b$0", tag).text, copies);
    for (int copy = 0; copy < copies; copy++) {
        passes[copy] = kiln__name(rows->ir, "$0$1", tag, copy);
        p->pass = passes[copy].text;
        kiln__print(rows->ir, "  %i$0 = add nuw nsw i64 %i$1, $2\n  %s$0 = add nuw nsw i64 %s$1, $3\n", p->pass, tag,
                    copy * (rows->is_split ? KILN_ROW_LANES : KILN_GPU_WARP), slot_distance(rows, copy));
        kiln__row_print_loads(rows, kind);
    }
    kiln_status status = kiln__row_print_values(rows, kind, tag, passes, copies, err);
    for (int copy = 0; copy < copies; copy++) {
        p->pass = passes[copy].text;
        kiln__row_print_entries(rows);
    }
    for (int copy = 0; copy < copies; copy++) {
        p->pass = passes[copy].text;
        kiln__row_print_keeps(rows, kind);
    }
    kiln__row_print_accumulation(rows, tag, passes, copies);
    for (int copy = 0; copy < copies; copy++) {
        p->pass = passes[copy].text;
        kiln__row_print_stores(rows, copies);
    }
    p->pass = "";
    return status;
}

/* Needs the marks of count_copies(). */
static kiln_status print_spans(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag, int copies,
                               kiln_error *err)
{
    struct kiln_name chunk = kiln__name(rows->ir, "chunk$0", rows->tag.text);
    struct kiln_name block = kiln__name(rows->ir, "block.end$0", tag);
    kiln__print(rows->ir, "blocks$0:\n  %b$0 = phi i32 [ 0, %chunk$1 ], [ %b.next$0, %block.end$0 ]\n", tag,
                rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%lane$0$1", i, tag).text, NULL, chunk.text,
                       kiln__name(rows->ir, "%lane.next$0$1", i, tag).text, block.text);
    }
    kiln__print(rows->ir,
                "  %b.next$0 = add nuw nsw i32 %b$0, $1\n"
                "  %b.more$0 = icmp ule i32 %b.next$0, %spans$2\n"
                "  br i1 %b.more$0, label %block$0, label %$3$4\n\n"
                "block$0:\n",
                tag, copies * KILN_GPU_WARP, rows->tag.text, kind->has_rest ? "rests" : "chunk.end",
                kind->has_rest ? tag : rows->tag.text);
    kiln_status status = print_block(rows, kind, tag, copies, err);
    kiln__print(rows->ir,
                "  br label %block.end$0\n\n"
                "block.end$0:\n"
                "  br label %blocks$0\n\n",
                tag);
    return status;
}

/* ---- rests ----------------------------------------------------------------------------------------------------- */

static kiln_status print_rest_value(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                                    kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name pass = kiln__name(rows->ir, "$0x", tag);
    p->pass = pass.text;
    kiln__print(rows->ir, "  %i.short$0 = add nuw nsw i32 %from$1, %r.at$2\n  %i$0 = zext i32 %i.short$0 to i64\n",
                pass.text, rows->tag.text, tag);
    print_slot_address(rows, pass.text, kiln__name(rows->ir, "%r$0", tag).text, 1);
    kiln__row_print_loads(rows, kind);
    kiln_status status = kiln__row_print_values(rows, kind, tag, &pass, 1, err);
    kiln__row_print_keeps(rows, kind);
    kiln__row_print_entries(rows);
    kiln__row_print_stores(rows, 1);
    kiln__print(rows->ir, "  br label %join$0\n\njoin$0:\n", tag);
    if (!kiln__rows_are_last(rows)) kiln__row_print_rest_accumulation(rows, tag);
    p->pass = "";
    return status;
}

/* The rest, or the whole chunk, 32 elements at a time; of the last 32 not all exist. */
static kiln_status print_rest(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                              kiln_error *err)
{
    struct kiln_name join = kiln__name(rows->ir, "join$0", tag);
    struct kiln_name first = kind->has_spans ? kiln__name(rows->ir, "%b$0", tag) : (struct kiln_name){"0"};
    struct kiln_name before =
        kind->has_spans ? kiln__name(rows->ir, "blocks$0", tag) : kiln__name(rows->ir, "chunk.end$0", rows->tag.text);
    kiln__print(rows->ir, "rests$0:\n  %r$0 = phi i32 [ $1, %$2 ], [ %r.next$0, %join$0 ]\n", tag, first.text,
                before.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name lane = kiln__name(rows->ir, "%lane$0$1", i, tag);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%rest$0$1", i, tag).text, kind->has_spans ? lane.text : NULL,
                       before.text, kiln__name(rows->ir, "%rest.next$0$1", i, tag).text, join.text);
    }
    kiln__print(rows->ir,
                "  %r.more$0 = icmp ult i32 %r$0, %count$1\n"
                "  br i1 %r.more$0, label %rest$0, label %$2.end$1\n\n"
                "rest$0:\n"
                "  %r.at$0 = add nuw nsw i32 %r$0, %lane\n"
                "  %r.is$0 = icmp ult i32 %r.at$0, %count$1\n"
                "  br i1 %r.is$0, label %value$0, label %join$0\n\n"
                "value$0:\n",
                tag, rows->tag.text, kind->has_spans ? "chunk" : "exact");
    kiln_status status = print_rest_value(rows, kind, tag, err);
    kiln__print(rows->ir, "  %r.next$0 = add nuw nsw i32 %r$0, $1\n  br label %rests$0\n\n", tag, KILN_GPU_WARP);
    return status;
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

static kiln_status print_chunk(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, kiln_error *err)
{
    struct kiln_name tag = kiln__name(rows->ir, "$0$1", rows->tag.text, kind->suffix);
    int copies = count_copies(rows, kind, rows->span);
    kiln_status status = KILN_OK;
    if (kind->has_spans) status = print_spans(rows, kind, tag.text, has_ordered(rows) ? rows->span : copies, err);
    if (!status && kind->has_rest) status = print_rest(rows, kind, tag.text, err);
    return status;
}

/* %allN = the lanes of the chunk, by the loop that control comes from. */
static void print_lane_ends(struct kiln_rows *rows, bool has_far)
{
    struct kiln_name far = kiln__name(rows->ir, "$0$1", rows->tag.text, far_chunk.suffix);
    struct kiln_name last =
        kiln__name(rows->ir, "$0$1", rows->tag.text, has_far ? last_chunk.suffix : every_chunk.suffix);
    struct kiln_name from_far = kiln__name(rows->ir, "blocks$0", far.text);
    struct kiln_name from_last = kiln__name(rows->ir, "rests$0", last.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%all$0$1", i, rows->tag.text).text,
                       kiln__name(rows->ir, "%rest$0$1", i, last.text).text, from_last.text,
                       kiln__name(rows->ir, "%lane$0$1", i, far.text).text, has_far ? from_far.text : NULL);
    }
}

/* Computes the chunk again in order, for the sign of a zero. */
static kiln_status print_exact(struct kiln_rows *rows, kiln_error *err)
{
    struct kiln_name tag = kiln__name(rows->ir, "$0$1", rows->tag.text, exact_chunk.suffix);
    struct kiln_name from = kiln__name(rows->ir, "rests$0", tag.text);
    kiln__row_print_zero(rows);
    kiln__print(rows->ir, "  br i1 %is.zero$0, label %rests$1, label %carry$0\n\n", rows->tag.text, tag.text);
    rows->is_exact = true;
    kiln_status status = print_chunk(rows, &exact_chunk, err);
    kiln__print(rows->ir, "exact.end$0:\n", rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%all$0$1", i, tag.text).text,
                       kiln__name(rows->ir, "%rest$0$1", i, tag.text).text, from.text, NULL, NULL);
    }
    kiln__row_print_totals(rows, tag.text);
    rows->is_exact = false;
    return status;
}

/* The chunk's total goes to its lane of the next level. */
static kiln_status print_chunk_end(struct kiln_rows *rows, bool has_far, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__print(rows->ir, "chunk.end$0:\n", rows->tag.text);
    print_lane_ends(rows, has_far);
    kiln__row_print_totals(rows, rows->tag.text);
    if (kiln__row_has_quick(rows)) status = print_exact(rows, err);
    kiln__print(rows->ir, "  br label %carry$0\n\ncarry$0:\n", rows->tag.text);
    kiln__row_print_carry(rows);
    kiln__print(rows->ir, "  br label %chunks$0\n\nchunks.end$0:\n", rows->tag.text);
    return status;
}

/*
 * The loop over this warp's chunks: %c is the chunk, %from its first element, %count how many it has, %spans how many
 * of them are in whole spans, %first the first one of this thread.
 */
static void print_chunks_head(struct kiln_rows *rows)
{
    struct kiln_name end = kiln__name(rows->ir, "carry$0", rows->tag.text);
    kiln__print(rows->ir,
                "  br label %chunks$0\n\n"
                "chunks$0:\n"
                "  %c$0 = phi i32 [ %member, %$1 ], [ %c.next$0, %carry$0 ]\n",
                rows->tag.text, rows->before.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%up$0$1", i, rows->tag.text).text, NULL, rows->before.text,
                       kiln__name(rows->ir, "%up.next$0$1", i, rows->tag.text).text, end.text);
    }
    kiln__declare(rows->ir, "declare i32 @llvm.umin.i32(i32, i32)\n");
    kiln__print(rows->ir,
                "  %from$0 = mul nuw nsw i32 %c$0, $1\n"
                "  %c.some$0 = icmp ult i32 %from$0, %length\n"
                "  br i1 %c.some$0, label %chunk$0, label %chunks.end$0\n\n"
                "chunk$0:\n"
                "  %left$0 = sub nuw nsw i32 %length, %from$0\n"
                "  %count$0 = call i32 @llvm.umin.i32(i32 %left$0, i32 $1)\n"
                "  %spans$0 = and i32 %count$0, $2\n"
                "  %first$0 = add nuw nsw i32 %from$0, %spread\n"
                "  %c.next$0 = add nuw nsw i32 %c$0, %team\n",
                rows->tag.text, KILN_ROW_CHUNK, -KILN_GPU_WARP * rows->span);
}

kiln_status kiln__row_print_chunks(struct kiln_rows *rows, kiln_error *err)
{
    bool has_far = kiln__slots_hold_any(&rows->slots);
    kiln_status status = KILN_OK;
    print_chunks_head(rows);
    if (has_far) {
        kiln__print(rows->ir,
                    "  %c.far$0 = mul nuw nsw i32 %c.next$0, $1\n"
                    "  %is.far$0 = icmp ult i32 %c.far$0, %length\n"
                    "  br i1 %is.far$0, label %blocks$0$2, label %blocks$0$3\n\n",
                    rows->tag.text, KILN_ROW_CHUNK, far_chunk.suffix, last_chunk.suffix);
        status = print_chunk(rows, &far_chunk, err);
    } else {
        kiln__print(rows->ir, "  br label %blocks$0$1\n\n", rows->tag.text, every_chunk.suffix);
    }
    if (!status) status = print_chunk(rows, has_far ? &last_chunk : &every_chunk, err);
    return status ? status : print_chunk_end(rows, has_far, err);
}
