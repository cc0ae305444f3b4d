/*
 * attention_lanes.c - attention of many rows: each stands in a lane, and a key's feature is multiplied with all of
 * them.
 */
#include "codegen/cpu/attention_printer.h"
#include "codegen/lower.h"

/* NAME.V: where vector V of row `index` of the scratch `base` lies. */
static void print_row(struct kiln_attention_printer *p, const char *name, const char *base, const char *index)
{
    kiln__attention_address(p, kiln__name(p->ir, "$0.0", name).text, base, index,
                            kiln__name(p->ir, "$0", p->rows * 4).text);
    for (int v = 1; v < p->config.vectors; v++)
        kiln__print(p->ir, "  $0.$1 = getelementptr inbounds i8, ptr $0.0, i64 $2\n", name, v, v * p->lanes * 4);
}

/* ---- scores --------------------------------------------------------------------------------------------------------
 */

static void turn_queries(struct kiln_attention_printer *p)
{
    struct kiln_name item = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtype));
    kiln__attention_loop(p, "r", kiln__name(p->ir, "$0", p->rows).text, 1);
    kiln__print(p->ir, "  %r.entry = getelementptr inbounds ptr, ptr %queries, i64 %r\n"
                       "  %r.from = load ptr, ptr %r.entry, align 8\n"
                       "  %r.to = getelementptr inbounds float, ptr %turned, i64 %r\n");
    kiln__attention_loop(p, "d", "%features", 1);
    kiln__attention_address(p, "%d.from", "%r.from", "%d", item.text);
    kiln__attention_address(p, "%d.to", "%r.to", "%d", kiln__name(p->ir, "$0", p->rows * 4).text);
    kiln__ir_load(p->ir, "%d.raw", p->dtype, "%d.from", "");
    kiln__ir_cast(p->ir, "%d.wide", KILN_FLOAT32, "%d.raw", p->dtype, 0);
    kiln__print(p->ir, "  %d.scaled = fmul float %d.wide, %scale\n"
                       "  store float %d.scaled, ptr %d.to, align 4\n");
    kiln__attention_end(p, "d");
    kiln__attention_end(p, "r");
}

static void clear_sums(struct kiln_attention_printer *p)
{
    kiln__attention_loop(p, "z", "%width", 1);
    print_row(p, "%z.at", "%sums", "%z");
    for (int v = 0; v < p->config.vectors; v++)
        kiln__attention_store(p, "zeroinitializer", kiln__name(p->ir, "%z.at.$0", v).text);
    kiln__attention_end(p, "z");
}

/*
 * name.base and name.pitch: `length` numbers of float32 for each of the block's keys, in the array itself, or as a copy
 * in %widened.
 */
static void print_block(struct kiln_attention_printer *p, const char *name, const char *base, const char *step,
                        const char *length)
{
    bool is_narrow = kiln__ir_is_narrow(p->dtype);
    struct kiln_name first = kiln__name(p->ir, "%$0.first", name), w = kiln__name(p->ir, "$0.w", name);
    struct kiln_name wd = kiln__name(p->ir, "$0.wd", name);
    kiln__attention_address(p, first.text, base, "%b", step);
    if (!is_narrow) {
        kiln__print(p->ir, "  %$0.base = getelementptr inbounds i8, ptr $1, i64 0\n  %$0.pitch = add i64 $2, 0\n", name,
                    first.text, step);
        return;
    }
    kiln__print(p->ir, "  %$0.base = getelementptr inbounds i8, ptr %widened, i64 0\n  %$0.pitch = mul nsw i64 $1, 4\n",
                name, length);
    kiln__attention_loop(p, w.text, "%count", 1);
    kiln__attention_address(p, kiln__name(p->ir, "%$0.from", w.text).text, first.text,
                            kiln__name(p->ir, "%$0", w.text).text, step);
    kiln__attention_address(p, kiln__name(p->ir, "%$0.to", w.text).text, "%widened",
                            kiln__name(p->ir, "%$0", w.text).text, kiln__name(p->ir, "%$0.pitch", name).text);
    kiln__attention_loop(p, wd.text, length, 1);
    struct kiln_name value = kiln__name(p->ir, "%$0.raw", wd.text), wide = kiln__name(p->ir, "%$0.wide", wd.text);
    kiln__print(p->ir,
                "  %$0.at = getelementptr inbounds i16, ptr %$1.from, i64 %$0\n"
                "  %$0.to = getelementptr inbounds float, ptr %$1.to, i64 %$0\n",
                wd.text, w.text);
    kiln__ir_load(p->ir, value.text, p->dtype, kiln__name(p->ir, "%$0.at", wd.text).text, "");
    kiln__ir_cast(p->ir, wide.text, KILN_FLOAT32, value.text, p->dtype, 0);
    kiln__print(p->ir, "  store float $1, ptr %$0.to, align 4\n", wd.text, wide.text);
    kiln__attention_end(p, wd.text);
    kiln__attention_end(p, w.text);
}

/*
 * TOGETHER rows of sums, %sumI.V += a(i, k) * row k of `rows`, for k from 0 to before `end`. %NAME.aI points at the
 * number a(i, 0); from one k to the next it is `pitch` bytes.
 */
static void accumulate(struct kiln_attention_printer *p, const char *name, const char *end, const char *rows,
                       const char *pitch)
{
    struct kiln_name k = kiln__name(p->ir, "%$0", name), at = kiln__name(p->ir, "%$0.row", name);
    kiln__attention_loop(p, name, end, 1);
    print_row(p, at.text, rows, k.text);
    for (int v = 0; v < p->config.vectors; v++)
        kiln__attention_load(p, kiln__name(p->ir, "%$0.x$1", name, v).text,
                             kiln__name(p->ir, "$0.$1", at.text, v).text);
    kiln__print(p->ir, "  %$0.a.offset = mul nsw i64 %$0, $1\n", name, pitch);
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++) {
        struct kiln_name all = kiln__name(p->ir, "%$0.all$1", name, i);
        kiln__print(p->ir,
                    "  %$0.at$1 = getelementptr inbounds i8, ptr %$0.a$1, i64 %$0.a.offset\n"
                    "  %$0.one$1 = load float, ptr %$0.at$1, align 4\n",
                    name, i);
        kiln__attention_splat(p, all.text, "float", kiln__name(p->ir, "%$0.one$1", name, i).text);
        for (int v = 0; v < p->config.vectors; v++) {
            struct kiln_name sum = kiln__name(p->ir, "%sum$0.$1", i, v);
            struct kiln_name before = kiln__name(p->ir, "%$0.b$1.$2", name, i, v);
            struct kiln_name after = kiln__name(p->ir, "%$0.c$1.$2", name, i, v);
            kiln__attention_load(p, before.text, sum.text);
            kiln__attention_multiply_add(p, after.text, all.text, kiln__name(p->ir, "%$0.x$1", name, v).text,
                                         before.text);
            kiln__attention_store(p, after.text, sum.text);
        }
    }
    kiln__attention_end(p, name);
}

/* Rows 1 to count of %scores: the products of queries and keys. Keys behind the last one are the last once more. */
static void print_products(struct kiln_attention_printer *p)
{
    kiln__attention_loop(p, "j.s", "%count", KILN_ATTENTION_TOGETHER);
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++) {
        struct kiln_name key = kiln__name(p->ir, "%j.s.key$0", i);
        kiln__print(p->ir, "  $0.any = add nuw nsw i64 %j.s, $1\n", key.text, i);
        kiln__attention_smaller(p, key.text, kiln__name(p->ir, "$0.any", key.text).text, "%last");
        kiln__attention_address(p, kiln__name(p->ir, "%f.a$0", i).text, "%key.base", key.text, "%key.pitch");
        for (int v = 0; v < p->config.vectors; v++)
            kiln__attention_store(p, "zeroinitializer", kiln__name(p->ir, "%sum$0.$1", i, v).text);
    }
    accumulate(p, "f", "%features", "%turned", "4");
    kiln__print(p->ir, "  %j.s.row = add nuw nsw i64 %j.s, 1\n");
    print_row(p, "%j.s.to", "%scores", "%j.s.row");
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++)
        for (int v = 0; v < p->config.vectors; v++) {
            struct kiln_name value = kiln__name(p->ir, "%j.s.v$0.$1", i, v);
            struct kiln_name to = kiln__name(p->ir, "%j.s.to$0.$1", i, v);
            kiln__attention_load(p, value.text, kiln__name(p->ir, "%sum$0.$1", i, v).text);
            kiln__print(p->ir, "  $0 = getelementptr inbounds i8, ptr %j.s.to.$1, i64 $2\n", to.text, v,
                        i * p->rows * 4);
            kiln__attention_store(p, value.text, to.text);
        }
    kiln__attention_end(p, "j.s");
}

/* ---- masks ---------------------------------------------------------------------------------------------------------
 */

static void print_mask(struct kiln_attention_printer *p)
{
    enum kiln_dtype dtype = (enum kiln_dtype)p->config.mask_dtype;
    kiln__print(p->ir, "  %mask.offset = mul nsw i64 %b, %mask.step\n");
    kiln__attention_loop(p, "m", kiln__name(p->ir, "$0", p->rows).text, 1);
    kiln__print(p->ir,
                "  %m.entry = getelementptr inbounds ptr, ptr %masks, i64 %m\n"
                "  %m.row = load ptr, ptr %m.entry, align 8\n"
                "  %m.from = getelementptr inbounds i8, ptr %m.row, i64 %mask.offset\n"
                "  %m.index = add nuw nsw i64 %m, $0\n"
                "  %m.score = getelementptr inbounds float, ptr %scores, i64 %m.index\n",
                p->rows);
    kiln__attention_loop(p, "mj", "%count", 1);
    kiln__attention_address(p, "%mj.at", "%m.from", "%mj", "%mask.step");
    kiln__attention_address(p, "%mj.to", "%m.score", "%mj", kiln__name(p->ir, "$0", p->rows * 4).text);
    kiln__ir_load(p->ir, "%mj.mask", dtype, "%mj.at", "");
    kiln__print(p->ir, "  %mj.score = load float, ptr %mj.to, align 4\n");
    if (dtype == KILN_BOOL) {
        kiln__print(p->ir, "  %mj.seen = select i1 %mj.mask, float %mj.score, float $0\n", KILN_ATTENTION_LOWEST);
    } else {
        kiln__ir_cast(p->ir, "%mj.wide", KILN_FLOAT32, "%mj.mask", dtype, 0);
        kiln__print(p->ir, "  %mj.seen = fadd float %mj.score, %mj.wide\n");
    }
    kiln__print(p->ir, "  store float %mj.seen, ptr %mj.to, align 4\n");
    kiln__attention_end(p, "mj");
    kiln__attention_end(p, "m");
}

/* Keys from a row's limit on are not seen. */
static void print_limits(struct kiln_attention_printer *p)
{
    int lanes = p->lanes;
    kiln__print(p->ir, "  %block.end = add nuw nsw i64 %b, %count\n"
                       "  %is.cut = icmp sgt i64 %block.end, %visible\n"
                       "  br i1 %is.cut, label %cut, label %whole\n\n"
                       "cut:\n");
    kiln__attention_splat(p, "%unseen", "float", KILN_ATTENTION_LOWEST);
    for (int v = 0; v < p->config.vectors; v++)
        kiln__print(p->ir,
                    "  %limit$0.at = getelementptr inbounds i32, ptr %limits, i64 $1\n"
                    "  %limit$0 = load <$2 x i32>, ptr %limit$0.at, align 4\n",
                    v, v * lanes, lanes);
    kiln__attention_loop(p, "c", "%count", 1);
    kiln__print(p->ir, "  %c.key = add nuw nsw i64 %b, %c\n"
                       "  %c.short = trunc i64 %c.key to i32\n"
                       "  %c.row = add nuw nsw i64 %c, 1\n");
    kiln__attention_splat(p, "%c.all", "i32", "%c.short");
    print_row(p, "%c.at", "%scores", "%c.row");
    for (int v = 0; v < p->config.vectors; v++) {
        struct kiln_name at = kiln__name(p->ir, "%c.at.$0", v);
        kiln__attention_load(p, kiln__name(p->ir, "%c.x$0", v).text, at.text);
        kiln__print(p->ir,
                    "  %c.sees$0 = icmp slt <$1 x i32> %c.all, %limit$0\n"
                    "  %c.y$0 = select <$1 x i1> %c.sees$0, $2 %c.x$0, $2 %unseen\n",
                    v, lanes, p->vector.text);
        kiln__attention_store(p, kiln__name(p->ir, "%c.y$0", v).text, at.text);
    }
    kiln__attention_end(p, "c");
    kiln__print(p->ir, "  br label %whole\n\nwhole:\n");
}

/* ---- softmax -------------------------------------------------------------------------------------------------------
 */

/*
 * `first` row of %scores and `count` behind it: %most.V becomes the largest of each lane and `before`, then each row is
 * what is left when it is subtracted.
 */
static void print_largest(struct kiln_attention_printer *p, const char *count, int first)
{
    kiln__attention_loop(p, "s.a", count, 1);
    kiln__print(p->ir, "  %s.a.row = add nuw nsw i64 %s.a, $0\n", first);
    print_row(p, "%s.a.at", "%scores", "%s.a.row");
    for (int v = 0; v < p->config.vectors; v++) {
        struct kiln_name before = kiln__name(p->ir, "%s.a.b$0", v), x = kiln__name(p->ir, "%s.a.x$0", v);
        struct kiln_name after = kiln__name(p->ir, "%s.a.c$0", v), most = kiln__name(p->ir, "%most.$0", v);
        kiln__attention_load(p, before.text, most.text);
        kiln__attention_load(p, x.text, kiln__name(p->ir, "%s.a.at.$0", v).text);
        kiln__attention_greater(p, after.text, before.text, x.text);
        kiln__attention_store(p, after.text, most.text);
    }
    kiln__attention_end(p, "s.a");
    for (int v = 0; v < p->config.vectors; v++)
        kiln__attention_load(p, kiln__name(p->ir, "%largest$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
    kiln__attention_loop(p, "s.b", count, 1);
    kiln__print(p->ir, "  %s.b.row = add nuw nsw i64 %s.b, $0\n", first);
    print_row(p, "%s.b.at", "%scores", "%s.b.row");
    for (int v = 0; v < p->config.vectors; v++) {
        struct kiln_name at = kiln__name(p->ir, "%s.b.at.$0", v);
        kiln__attention_load(p, kiln__name(p->ir, "%s.b.x$0", v).text, at.text);
        kiln__print(p->ir, "  %s.b.y$0 = fsub $1 %s.b.x$0, %largest$0\n", v, p->vector.text);
        kiln__attention_store(p, kiln__name(p->ir, "%s.b.y$0", v).text, at.text);
    }
    kiln__attention_end(p, "s.b");
}

/* The block's scores become weights; row 0 of %scores what the sums before have to be multiplied with. */
static void weigh(struct kiln_attention_printer *p)
{
    print_row(p, "%most.at", "%state", "0");
    print_row(p, "%total.at", "%state", "1");
    print_row(p, "%factor.at", "%scores", "0");
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__attention_load(p, kiln__name(p->ir, "%before$0", v).text, kiln__name(p->ir, "%most.at.$0", v).text);
        kiln__attention_store(p, kiln__name(p->ir, "%before$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
    }
    print_largest(p, "%count", 1);
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__print(p->ir, "  %factor.log$0 = fsub $1 %before$0, %largest$0\n", v, p->vector.text);
        kiln__attention_store(p, kiln__name(p->ir, "%factor.log$0", v).text,
                              kiln__name(p->ir, "%factor.at.$0", v).text);
        kiln__attention_store(p, kiln__name(p->ir, "%largest$0", v).text, kiln__name(p->ir, "%most.at.$0", v).text);
        kiln__attention_store(p, "zeroinitializer", kiln__name(p->ir, "%most.$0", v).text);
    }
    kiln__print(p->ir, "  %filled.rows = add nuw nsw i64 %count, 1\n  %filled = mul nuw nsw i64 %filled.rows, $0\n",
                p->rows);
    kiln__attention_exponentials(p, "%filled");
    kiln__attention_loop(p, "s.t", "%count", 1);
    kiln__print(p->ir, "  %s.t.row = add nuw nsw i64 %s.t, 1\n");
    print_row(p, "%s.t.at", "%scores", "%s.t.row");
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__attention_load(p, kiln__name(p->ir, "%s.t.x$0", v).text, kiln__name(p->ir, "%s.t.at.$0", v).text);
        kiln__attention_load(p, kiln__name(p->ir, "%s.t.b$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        kiln__print(p->ir, "  %s.t.c$0 = fadd $1 %s.t.b$0, %s.t.x$0\n", v, p->vector.text);
        kiln__attention_store(p, kiln__name(p->ir, "%s.t.c$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
    }
    kiln__attention_end(p, "s.t");
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__attention_load(p, kiln__name(p->ir, "%factor$0", v).text, kiln__name(p->ir, "%factor.at.$0", v).text);
        kiln__attention_load(p, kiln__name(p->ir, "%total.old$0", v).text, kiln__name(p->ir, "%total.at.$0", v).text);
        kiln__attention_load(p, kiln__name(p->ir, "%total.block$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        kiln__print(p->ir,
                    "  %total.scaled$0 = fmul $1 %total.old$0, %factor$0\n"
                    "  %total.new$0 = fadd $1 %total.scaled$0, %total.block$0\n",
                    v, p->vector.text);
        kiln__attention_store(p, kiln__name(p->ir, "%total.new$0", v).text, kiln__name(p->ir, "%total.at.$0", v).text);
    }
}

/* sums = sums * factor + weights times values. Features behind the last one are the last once more. */
static void add_values(struct kiln_attention_printer *p)
{
    kiln__print(p->ir,
                "  %last.feature = sub nsw i64 %width, 1\n"
                "  %weights = getelementptr inbounds i8, ptr %scores, i64 $0\n",
                p->rows * 4);
    kiln__attention_loop(p, "d.v", "%width", KILN_ATTENTION_TOGETHER);
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++) {
        struct kiln_name feature = kiln__name(p->ir, "%d.v.f$0", i), at = kiln__name(p->ir, "%d.v.at$0", i);
        kiln__print(p->ir, "  $0.any = add nuw nsw i64 %d.v, $1\n", feature.text, i);
        kiln__attention_smaller(p, feature.text, kiln__name(p->ir, "$0.any", feature.text).text, "%last.feature");
        kiln__attention_address(p, kiln__name(p->ir, "%j.v.a$0", i).text, "%value.base", feature.text, "4");
        print_row(p, at.text, "%sums", feature.text);
        for (int v = 0; v < p->config.vectors; v++) {
            kiln__attention_load(p, kiln__name(p->ir, "%d.v.old$0.$1", i, v).text,
                                 kiln__name(p->ir, "$0.$1", at.text, v).text);
            kiln__print(p->ir, "  %d.v.scaled$0.$1 = fmul $2 %d.v.old$0.$1, %factor$1\n", i, v, p->vector.text);
            kiln__attention_store(p, kiln__name(p->ir, "%d.v.scaled$0.$1", i, v).text,
                                  kiln__name(p->ir, "%sum$0.$1", i, v).text);
        }
    }
    accumulate(p, "j.v", "%count", "%weights", "%value.pitch");
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++)
        for (int v = 0; v < p->config.vectors; v++) {
            struct kiln_name value = kiln__name(p->ir, "%d.v.new$0.$1", i, v);
            kiln__attention_load(p, value.text, kiln__name(p->ir, "%sum$0.$1", i, v).text);
            kiln__attention_store(p, value.text, kiln__name(p->ir, "%d.v.at$0.$1", i, v).text);
        }
    kiln__attention_end(p, "d.v");
}

/* Sums in registers. */
static void print_variables(struct kiln_attention_printer *p)
{
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__print(p->ir, "  %most.$0 = alloca $1, align 64\n", v, p->vector.text);
        for (int i = 0; i < KILN_ATTENTION_TOGETHER && !p->config.combines; i++)
            kiln__print(p->ir, "  %sum$0.$1 = alloca $2, align 64\n", i, v, p->vector.text);
    }
}

void kiln__attention_print_lanes(struct kiln_attention_printer *p)
{
    static const char *const counters[] = {"r", "d",  "z", "key.w", "key.wd", "value.w", "value.wd", "j.s", "f",
                                           "m", "mj", "c", "s.a",   "s.b",    "s.t",     "d.v",      "j.v"};
    kiln__attention_counters(p, counters, sizeof counters / sizeof *counters);
    print_variables(p);
    turn_queries(p);
    clear_sums(p);
    kiln__attention_begin_block(p);
    print_block(p, "key", "%keys", "%key.step", "%features");
    print_products(p);
    if (p->config.has_mask) print_mask(p);
    print_limits(p);
    weigh(p);
    print_block(p, "value", "%values", "%value.step", "%width");
    add_values(p);
    kiln__attention_end(p, "b");
}

/* ---- ranges together -----------------------------------------------------------------------------------------------
 */

/* Row `index` of the scratch that entry %NAME of a table points at. */
static void print_entry(struct kiln_attention_printer *p, const char *name, const char *table, const char *index)
{
    kiln__print(p->ir,
                "  %$0.entry = getelementptr inbounds ptr, ptr $1, i64 %$0\n"
                "  %$0.base = load ptr, ptr %$0.entry, align 8\n",
                name, table);
    print_row(p, kiln__name(p->ir, "%$0.in", name).text, kiln__name(p->ir, "%$0.base", name).text, index);
}

/* Into %most: the sum over the ranges, by `counter`, of what stands in `array` at `column`, times the ranges' weights.
 */
static void print_sum(struct kiln_attention_printer *p, const char *counter, const char *array, const char *column)
{
    int vectors = p->config.vectors;
    for (int v = 0; v < vectors; v++)
        kiln__attention_store(p, "zeroinitializer", kiln__name(p->ir, "%most.$0", v).text);
    kiln__attention_loop(p, counter, "%n", 1);
    print_entry(p, counter, array, column);
    print_row(p, kiln__name(p->ir, "%$0.weight", counter).text, "%scores", kiln__name(p->ir, "%$0", counter).text);
    for (int v = 0; v < vectors; v++) {
        struct kiln_name most = kiln__name(p->ir, "%most.$0", v), x = kiln__name(p->ir, "%$0.x$1", counter, v);
        struct kiln_name weight = kiln__name(p->ir, "%$0.w$1", counter, v);
        struct kiln_name before = kiln__name(p->ir, "%$0.b$1", counter, v);
        struct kiln_name sum = kiln__name(p->ir, "%$0.y$1", counter, v);
        kiln__attention_load(p, x.text, kiln__name(p->ir, "%$0.in.$1", counter, v).text);
        kiln__attention_load(p, weight.text, kiln__name(p->ir, "%$0.weight.$1", counter, v).text);
        kiln__attention_load(p, before.text, most.text);
        kiln__attention_multiply_add(p, sum.text, x.text, weight.text, before.text);
        kiln__attention_store(p, sum.text, most.text);
    }
    kiln__attention_end(p, counter);
}

/* Scores are the largest of each range; their exponentials are the weights of its sums. */
void kiln__attention_print_combination(struct kiln_attention_printer *p)
{
    static const char *const counters[] = {"r", "s.a", "s.b", "c", "d", "m"};
    const int vectors = p->config.vectors;
    kiln__attention_counters(p, counters, sizeof counters / sizeof *counters);
    print_variables(p);
    kiln__attention_loop(p, "r", "%n", 1);
    print_entry(p, "r", "%keys", "0");
    print_row(p, "%r.to", "%scores", "%r");
    for (int v = 0; v < vectors; v++) {
        kiln__attention_load(p, kiln__name(p->ir, "%r.x$0", v).text, kiln__name(p->ir, "%r.in.$0", v).text);
        kiln__attention_store(p, kiln__name(p->ir, "%r.x$0", v).text, kiln__name(p->ir, "%r.to.$0", v).text);
    }
    kiln__attention_end(p, "r");
    kiln__attention_splat(p, "%least", "float", KILN_ATTENTION_LOWEST);
    for (int v = 0; v < vectors; v++) kiln__attention_store(p, "%least", kiln__name(p->ir, "%most.$0", v).text);
    print_largest(p, "%n", 0);
    kiln__print(p->ir, "  %filled = mul nuw nsw i64 %n, $0\n", p->rows);
    kiln__attention_exponentials(p, "%filled");
    print_sum(p, "c", "%keys", "1");
    print_row(p, "%total.at", "%state", "1");
    for (int v = 0; v < vectors; v++) {
        kiln__attention_load(p, kiln__name(p->ir, "%total$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        kiln__attention_store(p, kiln__name(p->ir, "%total$0", v).text, kiln__name(p->ir, "%total.at.$0", v).text);
    }
    kiln__attention_loop(p, "d", "%width", 1);
    print_sum(p, "m", "%values", "%d");
    print_row(p, "%d.to", "%sums", "%d");
    for (int v = 0; v < vectors; v++) {
        kiln__attention_load(p, kiln__name(p->ir, "%d.sum$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        kiln__attention_store(p, kiln__name(p->ir, "%d.sum$0", v).text, kiln__name(p->ir, "%d.to.$0", v).text);
    }
    kiln__attention_end(p, "d");
}
