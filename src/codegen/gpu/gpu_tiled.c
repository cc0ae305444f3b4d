/*
 * gpu_tiled.c - the schedule for transposed operands: a block computes a tile of 32 x 32 elements.
 *
 *     'c', 's', 'v':  warp y reads rows y, y + 8, y + 16, y + 24 of the tile, lane x the column x
 *     't':            warp y reads columns y, y + 8, ... of the tile, lane x the row x, into shared memory; then, past
 *                     a barrier, from there as above
 *
 * So every access to global memory is coalesced. In shared memory a column has 33 positions, so that reads along a row
 * have no bank conflicts. Positions outside the index space are clamped to its edge for loads and skipped for stores:
 * loads need no branches, and all of them stand before the barrier.
 *
 * No thread leaves before the barrier.
 */
#include "codegen/gpu/gpu_printer.h"

enum {
    TILE = KILN_GPU_TILE,
    WARPS = KILN_GPU_BLOCK / TILE,
    ELEMENTS = TILE / WARPS, /* of a thread */
    PITCH = TILE + 1,
    SHARED_BYTES = 48 * 1024, /* that a kernel may have without asking for more */
    TRANSPOSED = KILN_LAYOUT_TRANSPOSED
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
    struct kiln_ir *ir = k->p->ir;
    const char *type = k->type;
    kiln__print(ir, "  %x.lane = and i32 %thread, $0\n  %y.warp = lshr i32 %thread, 5\n", TILE - 1);
    static const char *const names[][2] = {{"x", "x.lane"}, {"y", "y.warp"}, {"tile", "block"}};
    for (int i = 0; i < 3; i++)
        kiln__print(ir, k->config->is_long ? "  %$0 = zext i32 %$1 to i64\n" : "  %$0 = add i32 %$1, 0\n", names[i][0],
                    names[i][1]);
    kiln__print(ir,
                "  %above = udiv $0 %tile, %across\n"
                "  %above.tiles = mul nuw $0 %above, %across\n"
                "  %tile.x = sub nuw $0 %tile, %above.tiles\n"
                "  %outer = udiv $0 %above, %down\n"
                "  %outer.tiles = mul nuw $0 %outer, %down\n"
                "  %tile.y = sub nuw $0 %above, %outer.tiles\n"
                "  %tile.row = shl nuw $0 %tile.y, 5\n"
                "  %tile.column = shl nuw $0 %tile.x, 5\n"
                "  %row.end = sub nuw $0 %axis$1.size, 1\n"
                "  %column.end = sub nuw $0 %axis$2.size, 1\n",
                type, k->row_axis, k->column_axis);
}

/* %NAME.long = %tile.AXIS + %LANE + add, moved inside. `name` is %row.far, %column.0, ... */
static void print_position(const struct tiled *k, const char *axis, const char *name, const char *lane, uint32_t add)
{
    struct kiln_ir *ir = k->p->ir;
    struct kiln_name inside = kiln__name(ir, "$0.inside", name);
    kiln__print(ir, "  $0.near = add nuw $1 %tile.$2, %$3\n  $0 = add nuw $1 $0.near, $4\n", name, k->type, axis, lane,
                add);
    kiln__print(ir, "  $0 = call $1 @llvm.umin.$1($1 $2, $1 %$3.end)\n", inside.text, k->type, name, axis);
    kiln__gpu_extend(k->p, k->config, kiln__name(ir, "$0.long", name).text, inside.text);
}

static void print_positions(const struct tiled *k)
{
    print_position(k, "column", "%column", "x", 0);
    print_position(k, "row", "%row.across", "x", 0); /* of what is read across */
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        const char *pass = kiln__gpu_pass(e);
        print_position(k, "row", kiln__name(k->p->ir, "%row$0", pass).text, "y", e * WARPS);
        print_position(k, "column", kiln__name(k->p->ir, "%column.across$0", pass).text, "y", e * WARPS);
    }
}

/* NAME = FROM + POSITION.long * the stride of %oN or %pN along the axis */
static void print_step(const struct tiled *k, const char *name, const char *from, const char *pointer, uint32_t axis,
                       const char *position)
{
    kiln__print(k->p->ir,
                "  $0.off = mul nsw i64 $1.long, $2.axis$3\n"
                "  $0 = getelementptr inbounds i8, ptr $4, i64 $0.off\n",
                name, position, pointer, axis, from);
}

/* %pN.at with the pass's suffix: the thread's element, its column first. */
static struct kiln_name print_pointer(const struct tiled *k, char side, uint32_t index)
{
    struct kiln_name pointer = kiln__name(k->p->ir, "%$0$1", side, index);
    struct kiln_name from = kiln__name(k->p->ir, "%$0$1.column", side, index);
    struct kiln_name position = kiln__name(k->p->ir, "%row$0", k->p->pass);
    struct kiln_name out = kiln__name(k->p->ir, "%$0$1.at$2", side, index, k->p->pass);
    print_step(k, out.text, from.text, pointer.text, k->row_axis, position.text);
    return out;
}

/* %oN.column, %pN.column: in the thread's column; %pN.across in its row, for what is read across. */
static void print_columns(const struct tiled *k, char side, uint32_t index, bool across)
{
    struct kiln_name pointer = kiln__name(k->p->ir, "%$0$1", side, index);
    struct kiln_name from = kiln__name(k->p->ir, "%$0$1.base", side, index);
    struct kiln_name name = kiln__name(k->p->ir, "%$0$1.$2", side, index, across ? "across" : "column");
    print_step(k, name.text, from.text, pointer.text, across ? k->row_axis : k->column_axis,
               across ? "%row.across" : "%column");
}

/* ---- through shared memory ------------------------------------------------------------------------------------- */

/* NAME = where operand N has position COLUMN * PITCH + ROW + more. */
static void print_shared_address(const struct tiled *k, uint32_t operand, const char *name, const char *column,
                                 const char *row, uint32_t more)
{
    struct kiln_ir *ir = k->p->ir;
    kiln__print(ir,
                "  $0.column = mul nuw i32 $1, $2\n"
                "  $0.row = add nuw i32 $0.column, $3\n"
                "  $0.position = add nuw i32 $0.row, $4\n",
                name, column, PITCH, row, more);
    kiln__print(ir,
                "  $0 = getelementptr inbounds [$1 x i8], ptr addrspacecast (ptr addrspace(3) @tile$2 to ptr), i32 "
                "$0.position\n",
                name, kiln__dtype_size(k->p->dtypes[operand]), operand);
}

/* %pN.bits with the pass's suffix, by their bits alone. */
static void load_across(const struct tiled *k, uint32_t operand)
{
    size_t size = kiln__dtype_size(k->p->dtypes[operand]), align = size / (size_t)kiln__ir_parts(k->p->dtypes[operand]);
    print_columns(k, 'p', operand, true);
    struct kiln_name pointer = kiln__name(k->p->ir, "%p$0", operand);
    struct kiln_name from = kiln__name(k->p->ir, "%p$0.across", operand);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        struct kiln_name name = kiln__name(k->p->ir, "%p$0.there$1", operand, kiln__gpu_pass(e));
        struct kiln_name position = kiln__name(k->p->ir, "%column.across$0", kiln__gpu_pass(e));
        print_step(k, name.text, from.text, pointer.text, k->column_axis, position.text);
        kiln__print(k->p->ir, "  %p$0.bits$1 = load i$2, ptr $3, align $4\n", operand, kiln__gpu_pass(e), size * 8,
                    name.text, align);
    }
}

static void store_shared(const struct tiled *k, uint32_t operand)
{
    size_t size = kiln__dtype_size(k->p->dtypes[operand]);
    struct kiln_name type = kiln__name(k->p->ir, "i$0", size * 8);
    kiln__gpu_shared(k->p, kiln__name(k->p->ir, "tile$0", operand).text, type.text, TILE * PITCH);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        struct kiln_name name = kiln__name(k->p->ir, "%p$0.put$1", operand, kiln__gpu_pass(e));
        print_shared_address(k, operand, name.text, "%y.warp", "%x.lane", e * WARPS * PITCH);
        kiln__print(k->p->ir, "  store $0 %p$1.bits$2, ptr $3, align $4\n", type.text, operand, kiln__gpu_pass(e),
                    name.text, size);
    }
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

static void print_load(const struct tiled *k, uint32_t operand, const char *pointer)
{
    struct kiln_printer *p = k->p;
    kiln__ir_load(p->ir, kiln__value_name(p, operand).text, p->dtypes[operand], pointer, "");
}

static void print_loads(const struct tiled *k)
{
    struct kiln_printer *p = k->p;
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (is_staged(k, i)) {
            load_across(k, i);
            continue;
        }
        print_columns(k, 'p', i, false);
        for (uint32_t e = 0; e < ELEMENTS; e++) {
            p->pass = kiln__gpu_pass(e);
            print_load(k, i, print_pointer(k, 'p', i).text);
        }
    }
    p->pass = "";
}

static void print_exchange(const struct tiled *k)
{
    struct kiln_printer *p = k->p;
    bool any = false;
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (is_staged(k, i)) store_shared(k, i), any = true;
    if (any) kiln__gpu_barrier(p);
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        for (uint32_t e = 0; e < ELEMENTS && is_staged(k, i); e++) {
            p->pass = kiln__gpu_pass(e);
            struct kiln_name pointer = kiln__name(k->p->ir, "%p$0.get$1", i, p->pass);
            print_shared_address(k, i, pointer.text, "%x.lane", "%y.warp", e * WARPS);
            print_load(k, i, pointer.text);
        }
    p->pass = "";
}

/* Only what is inside the index space. */
static void print_stores(const struct tiled *k)
{
    struct kiln_printer *p = k->p;
    for (uint32_t i = 0; i < p->group->output_count; i++) print_columns(k, 'o', i, false);
    kiln__print(p->ir, "  %column.exists = icmp ule $0 %column, %column.end\n", k->type);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        p->pass = kiln__gpu_pass(e);
        kiln__print(p->ir,
                    "  %row$0.exists = icmp ule $1 %row$0, %row.end\n"
                    "  %exists$0 = and i1 %row$0.exists, %column.exists\n"
                    "  br i1 %exists$0, label %store$0, label %after$0\n\n"
                    "store$0:\n",
                    p->pass, k->type);
        for (uint32_t i = 0; i < p->group->output_count; i++) {
            uint32_t value = p->group->outputs[i];
            struct kiln_name pointer = print_pointer(k, 'o', i);
            kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value], pointer.text, "");
        }
        kiln__print(p->ir, "  br label %after$0\n\nafter$0:\n", p->pass);
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
    kiln__print(p->ir, "  ret void\n}\n");
    return status;
}
