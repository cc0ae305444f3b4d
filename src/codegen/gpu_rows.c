/*
 * gpu_rows.c - the schedule ROWS of gpu.h: reductions, softmax and norms along rows, a team of warps per row.
 *
 *     for each pass (stages.h), chunk by chunk of 1024 elements, chunk c by member c mod team of the row's warps:
 *         32 neighbours at a time: each thread computes what is reduced of one element; thread l of the first 16 adds
 *         its own to lane l, then that of thread l + 16; so element i is in lane i mod 16, in order of i
 *         the lanes' total goes to lane c mod 16 of the next level, which is always in the same warp
 *     the team's lanes of the next level meet in shared memory; each warp combines them
 *     then what the row shares from here on, computed by every thread
 *
 * That is the order of group.h for two levels, so n is at most KILN_GPU_MAX_ROW. Neighbouring threads have neighbouring
 * elements, so accesses are coalesced; several elements of a thread are loaded before the first is used.
 *
 * A thread meets the same elements in every pass. What it computed of the last chunk of its warp and a later pass needs
 * is kept in shared memory, in slots that no other thread touches: a row of up to 1024 elements per warp is read once
 * and nothing is computed twice. Far chunks, those before the last, are computed again from the operands. Only the last
 * chunk of a row may be shorter, and it is the last of its warp, so far chunks have no rest.
 *
 * Warps of rows past the end have no elements, but come to every barrier. No element is read by another thread than the
 * one that writes it, and what a row shares is read before the first barrier and written after it, so outputs may lie
 * where operands do.
 */
#include <stdio.h>
#include <string.h>

#include "codegen/gpu_lanes.h"
#include "codegen/gpu_printer.h"
#include "codegen/gpu_slots.h"

enum {
    WARPS = KILN_GPU_BLOCK / KILN_GPU_WARP,
    LANES = KILN_REDUCE_LANES,
    CHUNK = KILN_REDUCE_CHUNK,
    TEAM_LANES = WARPS / 2 * LANES, /* lanes of the rows that have two warps or more */
    SHARED_BYTES = 48 * 1024,
    KEPT_BYTES = KILN_SLOT_BYTES * WARPS * CHUNK,
    MAX_COPIES = 16,    /* what a thread loads before the first use: 8 reached 0.86 of a copy's speed, 16 0.91 */
    SLOT_COPIES = 8,    /* the same where nothing is loaded from arrays */
    COPIED_LOADS = 16,  /* loads of a thread under way, at most, */
    COPIED_INSTRS = 32, /* and instructions of the group in a loop */
};

struct rows {
    struct kiln_printer *p;
    const struct kiln_gpu_form *form;
    struct kiln_stages stages;
    struct kiln_slots slots;
    uint32_t lanes_bytes; /* of shared memory in use */
    uint32_t pass;
    char tag[16];    /* of the pass: ".0", or ".out" */
    char before[24]; /* the block before it */
};

/* How the chunks of a pass are computed: all alike, or far ones and the last one of each warp apart. */
struct kind {
    char letter;
    bool uses_held, keeps, has_rest;
};
static const struct kind every_chunk = {'w', false, true, true};
static const struct kind far_chunk = {'f', false, false, false};
static const struct kind last_chunk = {'l', true, true, true};

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

static bool is_output_pass(const struct rows *rows)
{
    return rows->pass == rows->stages.passes;
}

/* Goes to the next reduction of the pass, from `*index` on. */
static bool find_reduction(const struct rows *rows, uint32_t *index)
{
    while (*index < rows->p->group->instr_count && !kiln__is_reduced_in(&rows->stages, *index, rows->pass)) ++*index;
    return *index < rows->p->group->instr_count;
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* Is the value in a slot for chunks of this kind? */
static bool is_held(const struct rows *rows, const struct kind *kind, uint32_t value)
{
    return kind->uses_held && rows->slots.held[value];
}

static bool is_loaded(const struct rows *rows, const struct kind *kind, uint32_t operand)
{
    return rows->stages.needed[operand] && !rows->p->shared[operand] && !is_held(rows, kind, operand);
}

static bool is_computed(const struct rows *rows, const struct kind *kind, uint32_t index)
{
    uint32_t value = rows->stages.first + index;
    return rows->stages.needed[value] && !rows->p->shared[value] && !is_held(rows, kind, value);
}

/* Elements of a thread that a loop computes at a time. */
static int count_copies(const struct rows *rows, const struct kind *kind)
{
    int loads = 0, instrs = 0;
    for (uint32_t i = 0; i < rows->p->group->operand_count; i++) loads += is_loaded(rows, kind, i);
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) instrs += is_computed(rows, kind, i);
    int copies = loads ? MAX_COPIES : SLOT_COPIES;
    while (copies > 1 && (copies * loads > COPIED_LOADS || copies * instrs > COPIED_INSTRS)) copies /= 2;
    return copies;
}

/* pointer = byte `first` of the slot of the thread's element. */
static void print_slot(struct rows *rows, const char *pointer, int first)
{
    PRINT("  %1$s.slot = getelementptr inbounds [%2$d x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 "
          "%%s%3$s\n  %1$s = getelementptr inbounds i8, ptr %1$s.slot, i64 %4$d\n",
          pointer, KILN_SLOT_BYTES, rows->p->pass, first);
}

static void print_operand_load(struct rows *rows, uint32_t operand)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    struct kiln_name at = kiln__name("p", operand, ".at");
    snprintf(at.text + strlen(at.text), sizeof at.text - strlen(at.text), "%s", p->pass);
    if (p->letters[operand] == KILN_LAYOUT_STRIDED)
        PRINT("  %1$s.skip = mul nsw i64 %%i%2$s, %%p%3$u.inner\n"
              "  %1$s = getelementptr inbounds i8, ptr %%p%3$u.base, i64 %1$s.skip\n",
              at.text, p->pass, operand);
    else
        PRINT("  %s = getelementptr inbounds [%zu x i8], ptr %%p%u.base, i64 %%i%s\n", at.text,
              kiln__dtype_size(p->dtypes[operand]), operand, p->pass);
    kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, operand), p->dtypes[operand], at.text, "");
}

static void print_loads(struct rows *rows, const struct kind *kind)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (is_loaded(rows, kind, i)) print_operand_load(rows, i);
    for (uint32_t i = 0; i < kiln__group_values(p->group); i++) {
        if (!rows->stages.needed[i] || !is_held(rows, kind, i)) continue;
        struct kiln_name slot = kiln__name("held", i, p->pass);
        print_slot(rows, slot.text, rows->slots.held[i] - 1);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], slot.text, "");
    }
}

/* The value as it lies in memory, but any NaN: what is stored in the end settles that. */
static void print_keep(struct rows *rows, uint32_t value)
{
    struct kiln_printer *p = rows->p;
    enum kiln_dtype dtype = p->dtypes[value];
    struct kiln_name slot = kiln__name("keep", value, p->pass);
    char name[KILN_IR_NAME];
    bool is_narrow = dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
    print_slot(rows, slot.text, rows->slots.keeps[value] - 1);
    kiln__value_name(p, name, value);
    if (dtype == KILN_BOOL)
        kiln__ir_store(p->text, name, dtype, slot.text, "");
    else
        PRINT("  store %s %s%s, ptr %s, align %zu\n", kiln__ir_memory_type(dtype), name, is_narrow ? ".bits" : "",
              slot.text, kiln__dtype_size(dtype));
}

static kiln_status print_values(struct rows *rows, const struct kind *kind, kiln_error *err)
{
    const struct kiln_group *group = rows->p->group;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < group->instr_count && !status; i++)
        if (is_computed(rows, kind, i)) status = kiln__print_instr(rows->p, i, err);
    for (uint32_t i = 0; i < kiln__group_values(group) && kind->keeps; i++)
        if (rows->slots.keeps[i] && !rows->slots.held[i]) print_keep(rows, i);
    return status;
}

/* %eN = the element as reduction N sees it. */
static void print_entries(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    char source[KILN_IR_NAME];
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        r.declarations = p->declarations;
        kiln__reduce_enter(&r, kiln__name("e", i, p->pass).text, kiln__value_name(p, source, p->group->instrs[i].in[0]),
                           0);
        p->declarations = r.declarations;
    }
}

static void print_stores(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count && is_output_pass(rows); i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value]) continue;
        struct kiln_name at = kiln__name("o", i, ".at");
        snprintf(at.text + strlen(at.text), sizeof at.text - strlen(at.text), "%s", p->pass);
        PRINT("  %s = getelementptr inbounds [%zu x i8], ptr %%o%u.base, i64 %%i%s\n", at.text,
              kiln__dtype_size(p->dtypes[value]), i, p->pass);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], at.text, "");
    }
}

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

/* %bothN = lane N of before, and the elements of this thread and of the one 16 further on. */
static void print_accumulation(struct rows *rows, const char *tag, int copy)
{
    struct kiln_printer *p = rows->p;
    char before[KILN_IR_NAME];
    snprintf(before, sizeof before, "%s%d", tag, copy - 1);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name entry = kiln__name("e", i, p->pass), own = kiln__name("own", i, p->pass),
                         other = kiln__name("other", i, p->pass),
                         lane = copy ? kiln__name("both", i, before) : kiln__name("lane", i, tag);
        kiln__lane_down(p, &r, other.text, entry.text, LANES);
        kiln__reduce_combine(&r, own.text, lane.text, entry.text, 0);
        kiln__reduce_combine(&r, kiln__name("both", i, p->pass).text, own.text, other.text, 0);
    }
}

/* The same for elements that may be past the end: %r.is says whether this thread's is there, %r.other the other's. */
static void print_rest_accumulation(struct rows *rows, const char *tag)
{
    struct kiln_printer *p = rows->p;
    char is[KILN_IR_NAME], is_other[KILN_IR_NAME], from[KILN_IR_NAME], value[KILN_IR_NAME];
    snprintf(is, sizeof is, "%%r.is%s", tag);
    snprintf(is_other, sizeof is_other, "%%r.other%s", tag);
    snprintf(from, sizeof from, "rest%s", tag);
    snprintf(value, sizeof value, "value%s", tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("entry", i, tag).text, kiln__name("e", i, p->pass).text, value, NULL, from);
    }
    PRINT("  %%r.far%1$s = add nuw nsw i32 %%r.at%1$s, %2$d\n  %%r.other%1$s = icmp ult i32 %%r.far%1$s, %%count%3$s\n",
          tag, LANES, rows->tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name entry = kiln__name("entry", i, tag), lane = kiln__name("rest", i, tag),
                         own = kiln__name("own", i, tag), one = kiln__name("one", i, tag),
                         other = kiln__name("other", i, tag), both = kiln__name("both", i, tag);
        kiln__lane_down(p, &r, other.text, entry.text, LANES);
        kiln__reduce_combine(&r, own.text, lane.text, entry.text, 0);
        kiln__lane_select(&r, one.text, is, own.text, lane.text);
        kiln__reduce_combine(&r, both.text, one.text, other.text, 0);
        kiln__lane_select(&r, kiln__name("rest.next", i, tag).text, is_other, both.text, one.text);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

/* %i and %s, i64: number in the row and slot of the thread's element, `at` elements (an i32) into the chunk. */
static void print_place(struct rows *rows, const char *tag, const char *at)
{
    PRINT("  %%i.short%1$s = add nuw nsw i32 %%first%3$s, %2$s\n  %%i%1$s = zext i32 %%i.short%1$s to i64\n"
          "  %%s.row%1$s = mul nuw nsw i32 %2$s, %4$d\n  %%s.short%1$s = add nuw nsw i32 %%s.row%1$s, %%thread\n"
          "  %%s%1$s = zext i32 %%s.short%1$s to i64\n",
          tag, at, rows->tag, WARPS);
}

/* Whole groups of `copies` times 32 elements. */
static kiln_status print_block(struct rows *rows, const struct kind *kind, const char *tag, int copies, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char at[KILN_IR_NAME], pass[MAX_COPIES][24];
    kiln_status status = KILN_OK;
    snprintf(at, sizeof at, "%%b%s", tag);
    print_place(rows, tag, at);
    for (int copy = 0; copy < copies; copy++) {
        snprintf(pass[copy], sizeof pass[copy], "%.16s%d", tag, copy);
        p->pass = pass[copy];
        PRINT("  %%i%1$s = add nuw nsw i64 %%i%2$s, %3$d\n  %%s%1$s = add nuw nsw i64 %%s%2$s, %4$d\n", p->pass, tag,
              copy * KILN_GPU_WARP, copy * KILN_GPU_BLOCK);
        print_loads(rows, kind);
    }
    for (int copy = 0; copy < copies && !status; copy++) {
        p->pass = pass[copy];
        status = print_values(rows, kind, err);
        print_entries(rows);
        print_accumulation(rows, tag, copy);
    }
    for (int copy = 0; copy < copies; copy++) {
        p->pass = pass[copy];
        print_stores(rows);
    }
    p->pass = "";
    return status;
}

static kiln_status print_blocks(struct rows *rows, const struct kind *kind, const char *tag, kiln_error *err)
{
    int copies = count_copies(rows, kind);
    char last[24], chunk[24], block[24];
    snprintf(last, sizeof last, "%.16s%d", tag, copies - 1);
    snprintf(chunk, sizeof chunk, "chunk%s", rows->tag);
    snprintf(block, sizeof block, "block%.16s", tag);
    PRINT("blocks%1$s:\n  %%b%1$s = phi i32 [ 0, %%chunk%2$s ], [ %%b.next%1$s, %%block%1$s ]\n", tag, rows->tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("lane", i, tag).text, NULL, chunk, kiln__name("both", i, last).text, block);
    }
    PRINT("  %%b.next%1$s = add nuw nsw i32 %%b%1$s, %2$d\n  %%b.more%1$s = icmp ule i32 %%b.next%1$s, %%count%3$s\n"
          "  br i1 %%b.more%1$s, label %%block%1$s, label %%%4$s%5$s\n\nblock%1$s:\n",
          tag, copies * KILN_GPU_WARP, rows->tag, kind->has_rest ? "rests" : "chunk.end",
          kind->has_rest ? tag : rows->tag);
    kiln_status status = print_block(rows, kind, tag, copies, err);
    PRINT("  br label %%blocks%s\n\n", tag);
    return status;
}

static kiln_status print_rest_value(struct rows *rows, const struct kind *kind, const char *tag, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char at[KILN_IR_NAME], pass[24];
    snprintf(at, sizeof at, "%%r%s", tag);
    snprintf(pass, sizeof pass, "%.16sx", tag);
    p->pass = pass;
    print_place(rows, pass, at);
    print_loads(rows, kind);
    kiln_status status = print_values(rows, kind, err);
    print_entries(rows);
    print_stores(rows);
    PRINT("  br label %%join%1$s\n\njoin%1$s:\n", tag);
    if (!is_output_pass(rows)) print_rest_accumulation(rows, tag);
    p->pass = "";
    return status;
}

/* What is left over, 32 elements at a time; of the last ones not all are there. */
static kiln_status print_rest(struct rows *rows, const struct kind *kind, const char *tag, kiln_error *err)
{
    char blocks[24], join[24];
    snprintf(blocks, sizeof blocks, "blocks%.16s", tag);
    snprintf(join, sizeof join, "join%.16s", tag);
    PRINT("rests%1$s:\n  %%r%1$s = phi i32 [ %%b%1$s, %%blocks%1$s ], [ %%r.next%1$s, %%join%1$s ]\n", tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("rest", i, tag).text, kiln__name("lane", i, tag).text, blocks,
                       kiln__name("rest.next", i, tag).text, join);
    }
    PRINT("  %%r.more%1$s = icmp ult i32 %%r%1$s, %%count%2$s\n"
          "  br i1 %%r.more%1$s, label %%rest%1$s, label %%chunk.end%2$s\n\n"
          "rest%1$s:\n  %%r.at%1$s = add nuw nsw i32 %%r%1$s, %%lane\n"
          "  %%r.is%1$s = icmp ult i32 %%r.at%1$s, %%count%2$s\n"
          "  br i1 %%r.is%1$s, label %%value%1$s, label %%join%1$s\n\nvalue%1$s:\n",
          tag, rows->tag);
    kiln_status status = print_rest_value(rows, kind, tag, err);
    PRINT("  %%r.next%1$s = add nuw nsw i32 %%r%1$s, %2$d\n  br label %%rests%1$s\n\n", tag, KILN_GPU_WARP);
    return status;
}

static kiln_status print_chunk(struct rows *rows, const struct kind *kind, kiln_error *err)
{
    char tag[16];
    snprintf(tag, sizeof tag, "%.12s%c", rows->tag, kind->letter);
    kiln__stages_need_nothing(&rows->stages);
    kiln__stages_need(&rows->stages, rows->pass, kind->uses_held ? rows->slots.held : NULL);
    kiln_status status = print_blocks(rows, kind, tag, err);
    if (!status && kind->has_rest) status = print_rest(rows, kind, tag, err);
    return status;
}

/* %allN = the lanes of the chunk, from where its last loop was left. */
static void print_lane_ends(struct rows *rows, bool has_far)
{
    char far[16], last[16], from_far[24], from_last[24];
    snprintf(far, sizeof far, "%.12s%c", rows->tag, far_chunk.letter);
    snprintf(last, sizeof last, "%.12s%c", rows->tag, has_far ? last_chunk.letter : every_chunk.letter);
    snprintf(from_far, sizeof from_far, "blocks%s", far);
    snprintf(from_last, sizeof from_last, "rests%s", last);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("all", i, rows->tag).text, kiln__name("rest", i, last).text, from_last,
                       kiln__name("lane", i, far).text, has_far ? from_far : NULL);
    }
}

/* The chunk's total goes to its lane of the next level; where there is one chunk, it is that lane. */
static void print_carry(struct rows *rows)
{
    char mine[24];
    snprintf(mine, sizeof mine, "%%is.mine%.12s", rows->tag);
    PRINT("  %%c.lane%1$s = and i32 %%c%1$s, %2$d\n  %%is.mine%1$s = icmp eq i32 %%c.lane%1$s, %%lane\n", rows->tag,
          LANES - 1);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name total = kiln__name("chunk", i, rows->tag), whole = kiln__name("whole", i, rows->tag),
                         up = kiln__name("up", i, rows->tag), more = kiln__name("up.more", i, rows->tag),
                         sum = kiln__name("up.sum", i, rows->tag);
        kiln__lane_total(rows->p, &r, total.text, kiln__name("all", i, rows->tag).text);
        kiln__lane_first(rows->p, &r, whole.text, total.text);
        kiln__reduce_combine(&r, more.text, up.text, whole.text, 0);
        kiln__lane_select(&r, sum.text, "%is.single", whole.text, more.text);
        kiln__lane_select(&r, kiln__name("up.next", i, rows->tag).text, mine, sum.text, up.text);
    }
}

/* The loop over this warp's chunks: %c is the chunk, %from its first element, %first this thread's, %count how many. */
static void print_chunks_head(struct rows *rows)
{
    char end[24];
    snprintf(end, sizeof end, "chunk.end%.12s", rows->tag);
    PRINT("  br label %%chunks%1$s\n\nchunks%1$s:\n"
          "  %%c%1$s = phi i32 [ %%member, %%%2$s ], [ %%c.next%1$s, %%chunk.end%1$s ]\n",
          rows->tag, rows->before);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("up", i, rows->tag).text, NULL, rows->before,
                       kiln__name("up.next", i, rows->tag).text, end);
    }
    kiln__ir_declare(&rows->p->declarations, "i32", "llvm.umin.i32", "i32, i32");
    PRINT("  %%from%1$s = mul nuw nsw i32 %%c%1$s, %2$d\n  %%c.some%1$s = icmp ult i32 %%from%1$s, %%length\n"
          "  br i1 %%c.some%1$s, label %%chunk%1$s, label %%chunks.end%1$s\n\nchunk%1$s:\n"
          "  %%left%1$s = sub nuw nsw i32 %%length, %%from%1$s\n"
          "  %%count%1$s = call i32 @llvm.umin.i32(i32 %%left%1$s, i32 %2$d)\n"
          "  %%first%1$s = add nuw nsw i32 %%from%1$s, %%lane\n  %%c.next%1$s = add nuw nsw i32 %%c%1$s, %%team\n",
          rows->tag, CHUNK);
}

static kiln_status print_chunks(struct rows *rows, kiln_error *err)
{
    bool has_far = kiln__slots_hold_any(&rows->slots);
    kiln_status status = KILN_OK;
    print_chunks_head(rows);
    if (has_far) {
        PRINT("  %%c.far%1$s = mul nuw nsw i32 %%c.next%1$s, %2$d\n"
              "  %%is.far%1$s = icmp ult i32 %%c.far%1$s, %%length\n"
              "  br i1 %%is.far%1$s, label %%blocks%1$s%3$c, label %%blocks%1$s%4$c\n\n",
              rows->tag, CHUNK, far_chunk.letter, last_chunk.letter);
        status = print_chunk(rows, &far_chunk, err);
    } else {
        PRINT("  br label %%blocks%s%c\n\n", rows->tag, every_chunk.letter);
    }
    if (!status) status = print_chunk(rows, has_far ? &last_chunk : &every_chunk, err);
    PRINT("chunk.end%s:\n", rows->tag);
    print_lane_ends(rows, has_far);
    if (!is_output_pass(rows)) print_carry(rows);
    PRINT("  br label %%chunks%1$s\n\nchunks.end%1$s:\n", rows->tag);
    return status;
}

/* ---- the team -------------------------------------------------------------------------------------------------- */

/* %knownN: the next level's lanes of the whole row, in the threads of each of its warps. */
static void print_meeting(struct rows *rows)
{
    char end[24], meet[24];
    snprintf(end, sizeof end, "chunks.end%.12s", rows->tag);
    snprintf(meet, sizeof meet, "meet%.12s", rows->tag);
    PRINT("  br i1 %%is.alone, label %%known%1$s, label %%publish%1$s\n\npublish%1$s:\n"
          "  br i1 %%is.owner, label %%give%1$s, label %%meet%1$s\n\ngive%1$s:\n",
          rows->tag);
    uint32_t offset = rows->lanes_bytes;
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_store(&r, kiln__name("up", i, rows->tag).text, offset, TEAM_LANES, "%place");
        offset += kiln__lane_bytes(&r, TEAM_LANES);
    }
    PRINT("  br label %%meet%1$s\n\nmeet%1$s:\n", rows->tag);
    kiln__gpu_barrier(rows->p);
    offset = rows->lanes_bytes;
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_load(&r, kiln__name("met", i, rows->tag).text, offset, TEAM_LANES, "%place");
        offset += kiln__lane_bytes(&r, TEAM_LANES);
    }
    rows->lanes_bytes = offset;
    PRINT("  br label %%known%1$s\n\nknown%1$s:\n", rows->tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("known", i, rows->tag).text, kiln__name("up", i, rows->tag).text, end,
                       kiln__name("met", i, rows->tag).text, meet);
    }
}

/* The reductions of the pass as values of the row, in every thread. */
static void print_results(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    char known[24], tree[24], name[KILN_IR_NAME];
    snprintf(known, sizeof known, "known%.12s", rows->tag);
    snprintf(tree, sizeof tree, "tree%.12s", rows->tag);
    PRINT("  br i1 %%is.single, label %%done%1$s, label %%tree%1$s\n\ntree%1$s:\n", rows->tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_total(p, &r, kiln__name("tree", i, rows->tag).text, kiln__name("known", i, rows->tag).text);
    }
    PRINT("  br label %%done%1$s\n\ndone%1$s:\n", rows->tag);
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("top", i, rows->tag).text, kiln__name("known", i, rows->tag).text, known,
                       kiln__name("tree", i, rows->tag).text, tree);
    }
    for (uint32_t i = 0; find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name total = kiln__name("total", i, rows->tag);
        kiln__lane_first(p, &r, total.text, kiln__name("top", i, rows->tag).text);
        kiln__ir_cast(p->text, &p->declarations, kiln__value_name(p, name, rows->stages.first + i), r.out, total.text,
                      r.lane, 0);
    }
}

/* ---- passes ---------------------------------------------------------------------------------------------------- */

static kiln_status print_pass(struct rows *rows, kiln_error *err)
{
    snprintf(rows->tag, sizeof rows->tag, ".%u", rows->pass);
    kiln__slots_choose(&rows->slots, rows->pass);
    kiln_status status = print_chunks(rows, err);
    print_meeting(rows);
    print_results(rows);
    snprintf(rows->before, sizeof rows->before, "done%.12s", rows->tag);
    kiln__slots_turn(&rows->slots);
    return status ? status : kiln__print_stage(&rows->stages, rows->pass + 1, err);
}

static kiln_status print_element_outputs(struct rows *rows, kiln_error *err)
{
    if (!kiln__has_element_outputs(&rows->stages)) return KILN_OK;
    snprintf(rows->tag, sizeof rows->tag, ".out");
    kiln__slots_choose(&rows->slots, rows->pass);
    if (!rows->stages.passes) kiln__gpu_barrier(rows->p);
    return print_chunks(rows, err);
}

static void print_row_outputs(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    PRINT("  br i1 %%is.first, label %%row.outputs, label %%exit\n\nrow.outputs:\n");
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value])
            kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value],
                           kiln__name("o", i, ".base").text, "");
    }
    PRINT("  br label %%exit\n\nexit:\n  ret void\n}\n");
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* Which row, and which part of it. Rows past the end have no elements, and the place of row 0. */
static void print_team(struct rows *rows)
{
    const char *index = kiln__gpu_index(rows->form);
    kiln__ir_declare(&rows->p->declarations, "i32", "llvm.cttz.i32", "i32, i1 immarg");
    PRINT("  %%lane = and i32 %%thread, %d\n  %%warp = lshr i32 %%thread, 5\n"
          "  %%team = trunc i64 %%warps.word to i32\n"
          "  %%team.bits = call i32 @llvm.cttz.i32(i32 %%team, i1 true)\n"
          "  %%team.mask = sub nuw nsw i32 %%team, 1\n  %%member = and i32 %%warp, %%team.mask\n"
          "  %%row.here = lshr i32 %%warp, %%team.bits\n  %%row.count = lshr i32 %d, %%team.bits\n"
          "  %%block.long = zext i32 %%block to i64\n  %%row.count.long = zext i32 %%row.count to i64\n"
          "  %%row.here.long = zext i32 %%row.here to i64\n"
          "  %%row.block = mul nuw nsw i64 %%block.long, %%row.count.long\n"
          "  %%row = add nuw nsw i64 %%row.block, %%row.here.long\n"
          "  %%is.row = icmp ult i64 %%row, %%rows.word\n  %%row.safe = select i1 %%is.row, i64 %%row, i64 0\n",
          KILN_GPU_WARP - 1, WARPS);
    PRINT(rows->form->is_long ? "  %%row.index = add i64 %%row.safe, 0\n"
                              : "  %%row.index = trunc i64 %%row.safe to %s\n",
          index);
    PRINT("  %%length.all = trunc i64 %%n.word to i32\n  %%length = select i1 %%is.row, i32 %%length.all, i32 0\n");
}

/* Conditions of this thread, and %place, where a lane of the next level lies. */
static void print_conditions(struct rows *rows)
{
    PRINT("  %%is.alone = icmp eq i32 %%team, 1\n  %%length.less = sub i32 %%length.all, 1\n"
          "  %%is.single = icmp ult i32 %%length.less, %1$d\n  %%lane.low = and i32 %%lane, %2$d\n"
          "  %%is.low = icmp eq i32 %%lane, %%lane.low\n  %%lane.member = and i32 %%lane, %%team.mask\n"
          "  %%is.member = icmp eq i32 %%lane.member, %%member\n  %%is.owner = and i1 %%is.low, %%is.member\n"
          "  %%place.row = mul nuw nsw i32 %%row.here, %3$d\n"
          "  %%place.short = add nuw nsw i32 %%place.row, %%lane.low\n  %%place = zext i32 %%place.short to i64\n"
          "  %%lane.any = or i32 %%lane, %%member\n  %%is.leader = icmp eq i32 %%lane.any, 0\n"
          "  %%is.first = and i1 %%is.leader, %%is.row\n",
          CHUNK, LANES - 1, LANES);
}

static kiln_status print_body(struct rows *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    kiln__gpu_open(p, rows->form, "rows n warps inner");
    print_team(rows);
    print_conditions(rows);
    kiln__gpu_place(p, rows->form, "%row.index", 0, rows->form->axes);
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_stage(&rows->stages, 0, err);
    for (rows->pass = 0; rows->pass < rows->stages.passes && !status; rows->pass++) status = print_pass(rows, err);
    if (!status) status = print_element_outputs(rows, err);
    print_row_outputs(rows);
    if (rows->slots.has_kept) kiln__gpu_shared(p, "kept", "i8", KEPT_BYTES);
    if (rows->lanes_bytes) kiln__gpu_shared(p, "lanes", "i8", rows->lanes_bytes);
    return status;
}

/* Lanes must fit into shared memory, slots need not. */
static kiln_status check_memory(struct rows *rows, kiln_error *err)
{
    uint32_t bytes = 0, count = 0;
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        bytes += kiln__lane_bytes(&r, TEAM_LANES);
        count++;
    }
    rows->slots.is_closed = bytes + KEPT_BYTES > SHARED_BYTES;
    if (bytes <= SHARED_BYTES) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%u reductions of a row need %u bytes of a GPU's shared memory; it has %d",
                      count, bytes, SHARED_BYTES);
}

uint32_t kiln__gpu_row_warps(int64_t n)
{
    uint32_t warps = 1;
    while (warps < WARPS && (int64_t)warps * CHUNK < n) warps *= 2;
    return warps;
}

kiln_status kiln__gpu_print_rows(struct kiln_printer *p, const struct kiln_gpu_form *form, kiln_error *err)
{
    struct rows rows = {.p = p, .form = form, .before = "entry"};
    kiln_status status = kiln__stages_init(&rows.stages, p, err);
    if (!status) status = kiln__slots_init(&rows.slots, &rows.stages, err);
    if (!status) status = check_memory(&rows, err);
    if (!status) status = print_body(&rows, err);
    kiln__slots_release(&rows.slots);
    kiln__stages_release(&rows.stages);
    return status;
}
