/*
 * gpu_rows.c - the schedule ROWS of gpu_schedule.h: reductions, softmax and norms along rows, a team of warps per row.
 *
 *     for each pass (stages.h), for each chunk c of 1024 elements, in warp c mod team of the row's team:
 *         combine the elements of each thread with its lane (gpu_row_lanes.c)
 *         combine the chunk's total with lane c mod 16 of the next level, which is always in the same warp
 *     exchange the team's lanes of the next level through shared memory; each warp reduces them
 *     compute what depends on values of the whole row only, in every thread
 *
 * That is the order of group.h for two levels, so n is at most KILN_GPU_MAX_ROW. Several elements of a thread are
 * loaded before the first is used.
 *
 * A thread has the same elements in every pass. Values of the last chunk of its warp that a later pass needs are kept
 * in shared memory, in slots that no other thread accesses: a row of up to 1024 elements per warp is read once and
 * nothing is computed twice. Far chunks, those before the last, are computed again from the operands. Only the last
 * chunk of a row may be shorter, and it is the last of its warp, so far chunks have no rest.
 *
 * Warps of rows past the end have no elements, but take part in every barrier. An element is read by the thread that
 * writes it only, except in the loop for zeros of a reduction, and values of the whole row are read before the first
 * barrier and written after it, so outputs may alias operands.
 */
#include "codegen/gpu/gpu_rows.h"

enum {
    FEWEST_WARPS = 4, /* of a block: a multiprocessor holds 64 warps, but only 32 blocks */
    TEAM_LANES = FEWEST_WARPS / 2 * KILN_ROW_LANES, /* lanes of a block's rows that have two warps or more */
    LANES_BYTES = 8 * TEAM_LANES,                   /* of a reduction, at most */
    SHARED_BYTES = 48 * 1024,
    KEPT_BYTES = KILN_SLOT_BYTES * KILN_ROW_CHUNK, /* of a warp */
    BLOCKS = 4, /* resident per multiprocessor, with 64 registers per thread; a softmax then reaches 0.96 of a copy's
                   speed, with 5, which spills, 0.77 */
    SIMPLE_POINTERS = 4,
    APART_NANOSECONDS = 4000,
};

bool kiln__rows_are_last(const struct kiln_rows *rows)
{
    return rows->pass == rows->stages.passes;
}

static bool is_reduced_now(const struct kiln_rows *rows, uint32_t index)
{
    if (!kiln__is_reduced_in(&rows->stages, index, rows->pass)) return false;
    struct kiln_reducer r = kiln__stages_reducer(&rows->stages, index);
    return !rows->is_exact || kiln__lane_order(&r) == KILN_LANES_QUICK;
}

bool kiln__rows_find_reduction(const struct kiln_rows *rows, uint32_t *index)
{
    while (*index < rows->p->group->instr_count && !is_reduced_now(rows, *index)) ++*index;
    return *index < rows->p->group->instr_count;
}

/* ---- the team -------------------------------------------------------------------------------------------------- */

/* %knownN: the next level's lanes of the whole row, in the threads of each of its warps. */
static void print_meeting(struct kiln_rows *rows)
{
    struct kiln_name end = kiln__name(rows->ir, "chunks.end$0", rows->tag.text);
    struct kiln_name meet = kiln__name(rows->ir, "meet$0", rows->tag.text);
    kiln__print(rows->ir,
                "  br i1 %is.alone, label %known$0, label %publish$0\n\n"
                "publish$0:\n"
                "  br i1 %is.owner, label %give$0, label %meet$0\n\n"
                "give$0:\n",
                rows->tag.text);
    uint32_t offset = rows->lanes_bytes;
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_store(&r, kiln__name(rows->ir, "%up$0$1", i, rows->tag.text).text, offset, TEAM_LANES, "%position");
        offset += kiln__lane_bytes(&r, TEAM_LANES);
    }
    kiln__print(rows->ir, "  br label %meet$0\n\nmeet$0:\n", rows->tag.text);
    kiln__gpu_barrier(rows->p);
    offset = rows->lanes_bytes;
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_load(&r, kiln__name(rows->ir, "%met$0$1", i, rows->tag.text).text, offset, TEAM_LANES, "%position");
        offset += kiln__lane_bytes(&r, TEAM_LANES);
    }
    rows->lanes_bytes = offset;
    kiln__print(rows->ir, "  br label %known$0\n\nknown$0:\n", rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%known$0$1", i, rows->tag.text).text,
                       kiln__name(rows->ir, "%up$0$1", i, rows->tag.text).text, end.text,
                       kiln__name(rows->ir, "%met$0$1", i, rows->tag.text).text, meet.text);
    }
}

/* The reductions of the pass as values of the row, in every thread. */
static void print_results(struct kiln_rows *rows)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name known = kiln__name(rows->ir, "known$0", rows->tag.text);
    struct kiln_name tree = kiln__name(rows->ir, "tree$0", rows->tag.text);
    kiln__print(rows->ir, "  br i1 %is.single, label %done$0, label %tree$0\n\ntree$0:\n", rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_total(p, &r, kiln__name(rows->ir, "%tree$0$1", i, rows->tag.text).text,
                         kiln__name(rows->ir, "%known$0$1", i, rows->tag.text).text, kiln__lane_combine);
    }
    kiln__print(rows->ir, "  br label %done$0\n\ndone$0:\n", rows->tag.text);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name(rows->ir, "%top$0$1", i, rows->tag.text).text,
                       kiln__name(rows->ir, "%known$0$1", i, rows->tag.text).text, known.text,
                       kiln__name(rows->ir, "%tree$0$1", i, rows->tag.text).text, tree.text);
    }
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name total = kiln__name(rows->ir, "%total$0$1", i, rows->tag.text);
        kiln__lane_first(p, &r, total.text, kiln__name(rows->ir, "%top$0$1", i, rows->tag.text).text);
        kiln__ir_cast(p->ir, kiln__value_name(p, rows->stages.first + i).text, r.out, total.text, r.lane, 0);
    }
}

/* ---- passes ---------------------------------------------------------------------------------------------------- */

static kiln_status print_pass(struct kiln_rows *rows, kiln_error *err)
{
    rows->tag = kiln__name(rows->ir, ".$0", rows->pass);
    kiln__slots_choose(&rows->slots, rows->pass);
    kiln_status status = kiln__row_print_chunks(rows, err);
    print_meeting(rows);
    print_results(rows);
    rows->before = kiln__name(rows->ir, "done$0", rows->tag.text);
    kiln__slots_turn(&rows->slots);
    return status ? status : kiln__print_stage(&rows->stages, rows->pass + 1, err);
}

static kiln_status print_element_outputs(struct kiln_rows *rows, kiln_error *err)
{
    if (!kiln__has_element_outputs(&rows->stages)) return KILN_OK;
    rows->tag = kiln__name(rows->ir, ".out");
    kiln__slots_choose(&rows->slots, rows->pass);
    if (!rows->stages.passes) kiln__gpu_barrier(rows->p);
    return kiln__row_print_chunks(rows, err);
}

static void print_row_outputs(struct kiln_rows *rows)
{
    struct kiln_printer *p = rows->p;
    kiln__print(rows->ir, "  br i1 %is.first, label %row.outputs, label %exit\n\nrow.outputs:\n");
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value])
            kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value],
                           kiln__name(rows->ir, "%o$0.base", i).text, "");
    }
    kiln__print(rows->ir, "  br label %exit\n\n"
                          "exit:\n"
                          "  ret void\n"
                          "}\n");
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* The warp's row, and its chunks of it. Rows past the end have no elements, and the position of row 0. */
static void print_team(struct kiln_rows *rows)
{
    kiln__declare(rows->ir, "declare i32 @llvm.cttz.i32(i32, i1 immarg)\n");
    kiln__declare(rows->ir, "declare i32 @llvm.umax.i32(i32, i32)\n");
    kiln__print(rows->ir,
                "  %lane = and i32 %thread, $0\n"
                "  %warp = lshr i32 %thread, 5\n"
                "  %team = trunc i64 %warps.word to i32\n"
                "  %team.bits = call i32 @llvm.cttz.i32(i32 %team, i1 true)\n"
                "  %team.mask = sub nuw nsw i32 %team, 1\n"
                "  %member = and i32 %warp, %team.mask\n"
                "  %row.here = lshr i32 %warp, %team.bits\n"
                "  %block.warps = call i32 @llvm.umax.i32(i32 %team, i32 $1)\n"
                "  %row.count = lshr i32 %block.warps, %team.bits\n"
                "  %block.long = zext i32 %block to i64\n"
                "  %row.count.long = zext i32 %row.count to i64\n"
                "  %row.here.long = zext i32 %row.here to i64\n"
                "  %row.block = mul nuw nsw i64 %block.long, %row.count.long\n"
                "  %row = add nuw nsw i64 %row.block, %row.here.long\n"
                "  %is.row = icmp ult i64 %row, %rows.word\n"
                "  %row.safe = select i1 %is.row, i64 %row, i64 0\n",
                KILN_GPU_WARP - 1, FEWEST_WARPS);
    kiln__print(rows->ir, rows->config->is_long ? "  %row.index = add i64 %row.safe, 0\n"
                                                : "  %row.index = trunc i64 %row.safe to i32\n");
    kiln__print(rows->ir, "  %length.all = trunc i64 %n.word to i32\n"
                          "  %length = select i1 %is.row, i32 %length.all, i32 0\n");
}

/*
 * A staggered start. Blocks that start at the same time all load first and all compute afterwards, when memory is idle;
 * they get out of phase only after some dozens of rows. So the first wave, the blocks that are resident at first, start
 * one after the other, spread over about the time in which each loads its rows: a softmax of 4096 x 4096 went from 0.89
 * to 0.92 of a copy's speed.
 */
static void print_staggered_start(struct kiln_rows *rows)
{
    if (!rows->slots.has_kept) return;
    kiln__declare(rows->ir, "declare void @llvm.nvvm.nanosleep(i32)\n");
    kiln__print(rows->ir,
                "  %is.early = icmp ult i64 %block.long, %apart.word\n"
                "  br i1 %is.early, label %early, label %start\n\n"
                "early:\n"
                "  %apart.short = trunc i64 %apart.word to i32\n"
                "  %apart.all = mul i32 %block, $0\n"
                "  %apart.time = udiv i32 %apart.all, %apart.short\n"
                "  call void @llvm.nvvm.nanosleep(i32 %apart.time)\n"
                "  br label %start\n\n"
                "start:\n",
                APART_NANOSECONDS);
    rows->before = kiln__name(rows->ir, "start");
}

/*
 * What is the same in all passes of this thread: its conditions, %position, the index of its lane of the next level in
 * shared memory, %spread, its first position in a span, and its slots.
 */
static void print_conditions(struct kiln_rows *rows)
{
    kiln__print(rows->ir,
                "  %is.alone = icmp eq i32 %team, 1\n"
                "  %length.less = sub i32 %length.all, 1\n"
                "  %is.single = icmp ult i32 %length.less, $0\n"
                "  %lane.low = and i32 %lane, $1\n"
                "  %is.low = icmp eq i32 %lane, %lane.low\n"
                "  %lane.member = and i32 %lane, %team.mask\n"
                "  %is.member = icmp eq i32 %lane.member, %member\n"
                "  %is.owner = and i1 %is.low, %is.member\n"
                "  %position.row = mul nuw nsw i32 %row.here, $2\n"
                "  %position.short = add nuw nsw i32 %position.row, %lane.low\n"
                "  %position = zext i32 %position.short to i64\n"
                "  %lane.any = or i32 %lane, %member\n"
                "  %is.leader = icmp eq i32 %lane.any, 0\n"
                "  %is.first = and i1 %is.leader, %is.row\n"
                "  %half = lshr i32 %lane, 4\n"
                "  %spread.half = mul nuw nsw i32 %half, $3\n"
                "  %spread = add nuw nsw i32 %spread.half, %lane.low\n",
                KILN_ROW_CHUNK, KILN_ROW_LANES - 1, KILN_ROW_LANES, KILN_ROW_LANES * (rows->is_split ? rows->span : 1));
    kiln__row_print_slots(rows);
}

/* Few registers are enough: few pointers, and no values of two registers. */
static bool is_simple(const struct kiln_printer *p)
{
    for (uint32_t i = 0; i < kiln__group_values(p->group); i++)
        if (kiln__dtype_size(p->dtypes[i]) > 4) return false;
    return p->group->operand_count + p->group->output_count <= SIMPLE_POINTERS;
}

static kiln_status print_body(struct kiln_rows *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    kiln__gpu_open(p, rows->config, "rows n warps apart inner");
    print_team(rows);
    print_staggered_start(rows);
    print_conditions(rows);
    kiln__gpu_print_bases(p, rows->config, "%row.index", 0, rows->config->axes);
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_stage(&rows->stages, 0, err);
    for (rows->pass = 0; rows->pass < rows->stages.passes && !status; rows->pass++) status = print_pass(rows, err);
    if (!status) status = print_element_outputs(rows, err);
    print_row_outputs(rows);
    if (rows->slots.has_kept && is_simple(p)) p->blocks = BLOCKS;
    if (rows->slots.has_kept) kiln__gpu_shared(p, "kept", "i8", 0);
    if (rows->lanes_bytes) kiln__gpu_shared(p, "lanes", "i8", rows->lanes_bytes);
    return status;
}

static uint32_t count_reductions(const struct kiln_group *group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->instr_count; i++) count += kiln__is_reduction(&group->instrs[i]);
    return count;
}

/* Nothing is left to keep for later of a reduction alone. */
uint32_t kiln__gpu_row_kept(const struct kiln_group *group)
{
    bool has_room = count_reductions(group) * LANES_BYTES + KEPT_BYTES * KILN_ROW_WARPS <= SHARED_BYTES;
    return has_room && group->instr_count > 1 ? KEPT_BYTES : 0;
}

/* Lanes must fit into shared memory, slots need not. */
static kiln_status check_memory(struct kiln_rows *rows, kiln_error *err)
{
    uint32_t count = count_reductions(rows->p->group), bytes = count * LANES_BYTES;
    rows->slots.is_closed = kiln__gpu_row_kept(rows->p->group) == 0;
    if (bytes <= SHARED_BYTES) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%u reductions of a row need %u bytes of a GPU's shared memory; it has %d",
                      count, bytes, SHARED_BYTES);
}

uint32_t kiln__gpu_row_warps(int64_t n)
{
    uint32_t warps = 1;
    while (warps < KILN_ROW_WARPS && (int64_t)warps * KILN_ROW_CHUNK < n) warps *= 2;
    return warps;
}

uint32_t kiln__gpu_row_block(uint32_t row_warps)
{
    return row_warps < FEWEST_WARPS ? FEWEST_WARPS : row_warps;
}

kiln_status kiln__gpu_print_rows(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    struct kiln_rows rows = {.p = p, .ir = p->ir, .config = config, .before = {"entry"}};
    kiln_status status = kiln__stages_init(&rows.stages, p, err);
    if (!status) status = kiln__slots_init(&rows.slots, &rows.stages, err);
    if (!status) status = check_memory(&rows, err);
    if (!status) kiln__row_plan(&rows);
    if (!status) status = print_body(&rows, err);
    kiln__slots_release(&rows.slots);
    kiln__stages_release(&rows.stages);
    return status;
}
