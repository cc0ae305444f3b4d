/*
 * gpu_tiled.c - the schedule for transposed operands: a block computes a tile of 32 x 32 elements.
 *
 *     'c', 's', 'v':  warp y reads rows y, y + 8, y + 16, y + 24 of the tile, lane x the column x
 *     't':            warp y reads columns y, y + 8, ... of the tile, lane x the row x, into shared memory; then, past
 *                     a barrier, from there as above
 *
 * So all lanes of a warp touch neighbours, in every access to the GPU's memory. In shared memory a column has 33
 * positions, so that lanes that read along a row touch different banks. Places outside the index space are moved to its
 * edge for loads and left out for stores: loads need no branches, and all of them stand before the barrier.
 *
 * No thread leaves before the barrier.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_printer.h"

enum {
    TILE = KILN_GPU_TILE,
    WARPS = KILN_GPU_BLOCK / TILE,
    ELEMENTS = TILE / WARPS, /* of a thread */
    PITCH = TILE + 1,
    SHARED_BYTES = 48 * 1024, /* that a kernel may have without asking for more */
    TRANSPOSED = 't'
};

struct tiled {
    struct kiln_printer *p;
    const struct kiln_gpu_config *config;
    const char *type; /* of indices */
    uint32_t row_axis, column_axis;
};

/* Whether an operand goes through shared memory; those it has no room for are read by their strides. */
static bool is_staged(const struct tiled *k, uint32_t operand)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i <= operand; i++)
        if (k->p->layouts[i] == TRANSPOSED) bytes += TILE * PITCH * kiln__dtype_size(k->p->dtypes[i]);
    return k->p->layouts[operand] == TRANSPOSED && bytes <= SHARED_BYTES;
}

/* ---- positions ----------------------------------------------------------------------------------------------------
 */

/* %tile.row and %tile.column: the first of the tile; %outer: its position in the outer axes. */
static void print_tile(const struct tiled *k)
{
    struct kiln_buffer *text = k->p->text;
    const char *type = k->type;
    kiln__buffer_printf(text, "  %%x.lane = and i32 %%thread, %d\n  %%y.warp = lshr i32 %%thread, 5\n", TILE - 1);
    static const char *const names[][2] = {{"x", "x.lane"}, {"y", "y.warp"}, {"tile", "block"}};
    for (int i = 0; i < 3; i++)
        kiln__buffer_printf(text, k->config->is_long ? "  %%%s = zext i32 %%%s to i64\n" : "  %%%s = add i32 %%%s, 0\n",
                            names[i][0], names[i][1]);
    kiln__buffer_printf(text, "  %%above = udiv %s %%tile, %%across\n  %%above.tiles = mul nuw %s %%above, %%across\n",
                        type, type);
    kiln__buffer_printf(text, "  %%tile.x = sub nuw %s %%tile, %%above.tiles\n", type);
    kiln__buffer_printf(text, "  %%outer = udiv %s %%above, %%down\n  %%outer.tiles = mul nuw %s %%outer, %%down\n",
                        type, type);
    kiln__buffer_printf(text, "  %%tile.y = sub nuw %s %%above, %%outer.tiles\n", type);
    kiln__buffer_printf(text, "  %%tile.row = shl nuw %s %%tile.y, 5\n  %%tile.column = shl nuw %s %%tile.x, 5\n", type,
                        type);
    kiln__buffer_printf(text,
                        "  %%row.end = sub nuw %s %%axis%u.size, 1\n  %%column.end = sub nuw %s %%axis%u.size, 1\n",
                        type, k->row_axis, type, k->column_axis);
}

/* %NAME.long = %tile.AXIS + %LANE + add, moved inside. `name` is %row.far, %column.0, ... */
static void print_position(const struct tiled *k, const char *axis, const char *name, const char *lane, uint32_t add)
{
    struct kiln_buffer *text = k->p->text;
    char inside[KILN_IR_NAME], whole[KILN_IR_NAME];
    snprintf(inside, sizeof inside, "%s.inside", name);
    snprintf(whole, sizeof whole, "%s.long", name);
    kiln__buffer_printf(text, "  %s.near = add nuw %s %%tile.%s, %%%s\n", name, k->type, axis, lane);
    kiln__buffer_printf(text, "  %s = add nuw %s %s.near, %u\n", name, k->type, name, add);
    kiln__buffer_printf(text, "  %s = call %s @llvm.umin.%s(%s %s, %s %%%s.end)\n", inside, k->type, k->type, k->type,
                        name, k->type, axis);
    kiln__gpu_extend(k->p, k->config, whole, inside);
}

static void print_positions(const struct tiled *k)
{
    char name[KILN_IR_NAME];
    print_position(k, "column", "%column", "x", 0);
    print_position(k, "row", "%row.across", "x", 0); /* of what is read across */
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        snprintf(name, sizeof name, "%%row%s", kiln__gpu_pass(e));
        print_position(k, "row", name, "y", e * WARPS);
        snprintf(name, sizeof name, "%%column.across%s", kiln__gpu_pass(e));
        print_position(k, "column", name, "y", e * WARPS);
    }
}

/* NAME = FROM + POSITION.long * the stride of %oN or %pN along the axis */
static void print_step(const struct tiled *k, const char *name, const char *from, const char *pointer, uint32_t axis,
                       const char *position)
{
    kiln__buffer_printf(k->p->text, "  %s.off = mul nsw i64 %s.long, %s.axis%u\n", name, position, pointer, axis);
    kiln__buffer_printf(k->p->text, "  %s = getelementptr inbounds i8, ptr %s, i64 %s.off\n", name, from, name);
}

/* %pN.at with the pass's suffix: the thread's element, its column first. */
static const char *print_pointer(const struct tiled *k, char *out, char side, uint32_t index)
{
    char pointer[KILN_IR_NAME], from[KILN_IR_NAME], position[KILN_IR_NAME];
    snprintf(pointer, sizeof pointer, "%%%c%u", side, index);
    snprintf(from, sizeof from, "%%%c%u.column", side, index);
    snprintf(position, sizeof position, "%%row%s", k->p->pass);
    snprintf(out, KILN_IR_NAME, "%%%c%u.at%s", side, index, k->p->pass);
    print_step(k, out, from, pointer, k->row_axis, position);
    return out;
}

/* %oN.column, %pN.column: in the thread's column; %pN.across in its row, for what is read across. */
static void print_columns(const struct tiled *k, char side, uint32_t index, bool across)
{
    char pointer[KILN_IR_NAME], from[KILN_IR_NAME], name[KILN_IR_NAME];
    snprintf(pointer, sizeof pointer, "%%%c%u", side, index);
    snprintf(from, sizeof from, "%%%c%u.base", side, index);
    snprintf(name, sizeof name, "%%%c%u.%s", side, index, across ? "across" : "column");
    print_step(k, name, from, pointer, across ? k->row_axis : k->column_axis, across ? "%row.across" : "%column");
}

/* ---- through shared memory ------------------------------------------------------------------------------------- */

/* NAME = where operand N has position COLUMN * PITCH + ROW + more. */
static void print_shared_address(const struct tiled *k, uint32_t operand, const char *name, const char *column,
                                 const char *row, uint32_t more)
{
    struct kiln_buffer *text = k->p->text;
    kiln__buffer_printf(text, "  %s.column = mul nuw i32 %s, %d\n  %s.row = add nuw i32 %s.column, %s\n", name, column,
                        PITCH, name, name, row);
    kiln__buffer_printf(text, "  %s.place = add nuw i32 %s.row, %u\n", name, name, more);
    kiln__buffer_printf(
        text,
        "  %s = getelementptr inbounds [%zu x i8], ptr addrspacecast (ptr addrspace(3) @tile%u to ptr), "
        "i32 %s.place\n",
        name, kiln__dtype_size(k->p->dtypes[operand]), operand, name);
}

/* %pN.bits with the pass's suffix, by their bits alone. */
static void load_across(const struct tiled *k, uint32_t operand)
{
    char name[KILN_IR_NAME], from[KILN_IR_NAME], pointer[KILN_IR_NAME], position[KILN_IR_NAME];
    size_t size = kiln__dtype_size(k->p->dtypes[operand]), align = size / (size_t)kiln__ir_parts(k->p->dtypes[operand]);
    print_columns(k, 'p', operand, true);
    snprintf(pointer, sizeof pointer, "%%p%u", operand);
    snprintf(from, sizeof from, "%%p%u.across", operand);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        snprintf(name, sizeof name, "%%p%u.there%s", operand, kiln__gpu_pass(e));
        snprintf(position, sizeof position, "%%column.across%s", kiln__gpu_pass(e));
        print_step(k, name, from, pointer, k->column_axis, position);
        kiln__buffer_printf(k->p->text, "  %%p%u.bits%s = load i%zu, ptr %s, align %zu\n", operand, kiln__gpu_pass(e),
                            size * 8, name, align);
    }
}

static void store_shared(const struct tiled *k, uint32_t operand)
{
    char name[KILN_IR_NAME], type[8];
    size_t size = kiln__dtype_size(k->p->dtypes[operand]);
    snprintf(type, sizeof type, "i%zu", size * 8);
    snprintf(name, sizeof name, "tile%u", operand);
    kiln__gpu_shared(k->p, name, type, TILE * PITCH);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        snprintf(name, sizeof name, "%%p%u.put%s", operand, kiln__gpu_pass(e));
        print_shared_address(k, operand, name, "%y.warp", "%x.lane", e * WARPS * PITCH);
        kiln__buffer_printf(k->p->text, "  store %s %%p%u.bits%s, ptr %s, align %zu\n", type, operand,
                            kiln__gpu_pass(e), name, size);
    }
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

static void print_load(const struct tiled *k, uint32_t operand, const char *pointer)
{
    struct kiln_printer *p = k->p;
    char name[KILN_IR_NAME];
    kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, operand), p->dtypes[operand], pointer, "");
}

static void print_loads(const struct tiled *k)
{
    struct kiln_printer *p = k->p;
    char pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (is_staged(k, i)) {
            load_across(k, i);
            continue;
        }
        print_columns(k, 'p', i, false);
        for (uint32_t e = 0; e < ELEMENTS; e++) {
            p->pass = kiln__gpu_pass(e);
            print_load(k, i, print_pointer(k, pointer, 'p', i));
        }
    }
    p->pass = "";
}

static void print_exchange(const struct tiled *k)
{
    struct kiln_printer *p = k->p;
    char pointer[KILN_IR_NAME];
    bool any = false;
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (is_staged(k, i)) store_shared(k, i), any = true;
    if (any) kiln__gpu_barrier(p);
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        for (uint32_t e = 0; e < ELEMENTS && is_staged(k, i); e++) {
            p->pass = kiln__gpu_pass(e);
            snprintf(pointer, sizeof pointer, "%%p%u.get%s", i, p->pass);
            print_shared_address(k, i, pointer, "%x.lane", "%y.warp", e * WARPS);
            print_load(k, i, pointer);
        }
    p->pass = "";
}

/* Only what is inside the index space. */
static void print_stores(const struct tiled *k)
{
    struct kiln_printer *p = k->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count; i++) print_columns(k, 'o', i, false);
    kiln__buffer_printf(p->text, "  %%column.exists = icmp ule %s %%column, %%column.end\n", k->type);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        p->pass = kiln__gpu_pass(e);
        kiln__buffer_printf(p->text, "  %%row%s.exists = icmp ule %s %%row%s, %%row.end\n", p->pass, k->type, p->pass);
        kiln__buffer_printf(p->text, "  %%exists%s = and i1 %%row%s.exists, %%column.exists\n", p->pass, p->pass);
        kiln__buffer_printf(p->text, "  br i1 %%exists%s, label %%store%s, label %%after%s\n\nstore%s:\n", p->pass,
                            p->pass, p->pass, p->pass);
        for (uint32_t i = 0; i < p->group->output_count; i++) {
            uint32_t value = p->group->outputs[i];
            print_pointer(k, pointer, 'o', i);
            kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, "");
        }
        kiln__buffer_printf(p->text, "  br label %%after%s\n\nafter%s:\n", p->pass, p->pass);
    }
    p->pass = "";
}

kiln_status kiln__gpu_print_tiled(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    struct tiled k = {.p = p, .config = config, .type = kiln__gpu_index(config)};
    k.row_axis = config->axes - 2u, k.column_axis = config->axes - 1u;
    kiln__printer_share(p, 0); /* an 's' may change from row to row */
    kiln__gpu_open(p, config, "down across");
    print_tile(&k);
    kiln__gpu_print_bases(p, config, "%outer", 0, k.row_axis);
    print_positions(&k);
    print_loads(&k);
    print_exchange(&k);
    kiln_status status = kiln__print_instrs(p, true, err);
    kiln__gpu_join(p, ELEMENTS);
    if (!status) status = kiln__gpu_compute(p, ELEMENTS, err);
    print_stores(&k);
    kiln__buffer_printf(p->text, "  ret void\n}\n");
    return status;
}
