/*
 * attention_dots.c - attention of few rows, as of one token with the heads that share keys: keys and values are read
 * once, DOT features at a time, and multiplied with each row. The time is that of reading them.
 *
 * Scores lie as BLOCK numbers of each row, the rest of which is minus infinity, so that it weighs nothing. Sums are
 * DOT partial sums, added in pairs at the end. A row's own sums of values lie in %widened, as the features of a value
 * do; at the end they go to where the other schedule has them.
 */
#include "codegen/cpu/attention_printer.h"
#include "codegen/lower.h"

enum { DOT = KILN_ATTENTION_DOT, BLOCK = KILN_ATTENTION_BLOCK, VECTORS = BLOCK / DOT };

static int row_count(const struct kiln_attention_printer *p)
{
    return p->config.dots;
}

/* So many keys at once that their sums, one for each row, fit the registers. */
static int keys_together(const struct kiln_attention_printer *p)
{
    return p->config.dots == KILN_ATTENTION_MAX_DOTS ? 2 : 4;
}

/* ---- vectors -------------------------------------------------------------------------------------------------------
 */

/* name = DOT features of a key or a value at `pointer`, as float32. */
static void load_features(struct kiln_attention_printer *p, const char *name, const char *pointer)
{
    if (p->dtype == KILN_FLOAT32) {
        kiln__attention_load(p, name, pointer);
    } else if (p->dtype == KILN_FLOAT16) {
        kiln__print(p->ir,
                    "  $0.raw = load <$1 x half>, ptr $2, align 2\n"
                    "  $0 = fpext <$1 x half> $0.raw to <$1 x float>\n",
                    name, DOT, pointer);
    } else {
        kiln__print(p->ir,
                    "  $0.raw = load <$1 x i16>, ptr $2, align 2\n"
                    "  $0.low = zext <$1 x i16> $0.raw to <$1 x i32>\n"
                    "  $0.high = shl <$1 x i32> $0.low, splat (i32 16)\n"
                    "  $0 = bitcast <$1 x i32> $0.high to <$1 x float>\n",
                    name, DOT, pointer);
    }
}

/* name = the lanes of `vector` together, in pairs that are half a vector apart; `op` is fadd, or NULL: the largest. */
static void print_together(struct kiln_attention_printer *p, const char *name, const char *vector, const char *op)
{
    struct kiln_name whole = kiln__name(p->ir, "$0", vector);
    for (int half = DOT / 2; half >= 1; half /= 2) {
        struct kiln_name low = kiln__name(p->ir, "$0.l$1", name, half), high = kiln__name(p->ir, "$0.h$1", name, half);
        struct kiln_name both = kiln__name(p->ir, "$0.b$1", name, half);
        for (int side = 0; side < 2; side++) {
            kiln__print(p->ir, "  $0 = shufflevector <$1 x float> $2, <$1 x float> poison, <$3 x i32> <",
                        side ? high.text : low.text, half * 2, whole.text, half);
            for (int i = 0; i < half; i++) kiln__print(p->ir, "$0i32 $1", i ? ", " : "", i + side * half);
            kiln__print(p->ir, ">\n");
        }
        if (op) {
            kiln__print(p->ir, "  $0 = $1 <$2 x float> $3, $4\n", both.text, op, half, low.text, high.text);
        } else {
            kiln__declare(p->ir, "declare <$0 x float> @llvm.maximum.v$0f32(<$0 x float>, <$0 x float>)\n", half);
            kiln__print(p->ir, "  $0 = call <$1 x float> @llvm.maximum.v$1f32(<$1 x float> $2, <$1 x float> $3)\n",
                        both.text, half, low.text, high.text);
        }
        whole = both;
    }
    kiln__print(p->ir, "  $0 = extractelement <1 x float> $1, i64 0\n", name, whole.text);
}

/* ---- queries and sums ----------------------------------------------------------------------------------------------
 */

/* %turned gets the scaled features of each row side by side, and the row's sums are 0. */
static void begin_rows(struct kiln_attention_printer *p)
{
    struct kiln_name item = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtype));
    kiln__print(p->ir, "  %features.size = mul nuw nsw i64 %features, 4\n  %width.size = mul nuw nsw i64 %width, 4\n");
    kiln__attention_loop(p, "r", kiln__name(p->ir, "$0", row_count(p)).text, 1);
    kiln__print(p->ir, "  %r.entry = getelementptr inbounds ptr, ptr %queries, i64 %r\n"
                       "  %r.from = load ptr, ptr %r.entry, align 8\n");
    kiln__attention_address(p, "%r.to", "%turned", "%r", "%features.size");
    kiln__attention_address(p, "%r.sums", "%widened", "%r", "%width.size");
    kiln__attention_loop(p, "d", "%features", 1);
    kiln__attention_address(p, "%d.from", "%r.from", "%d", item.text);
    kiln__attention_address(p, "%d.to", "%r.to", "%d", "4");
    kiln__ir_load(p->ir, "%d.raw", p->dtype, "%d.from", "");
    kiln__ir_cast(p->ir, "%d.wide", KILN_FLOAT32, "%d.raw", p->dtype, 0);
    kiln__print(p->ir, "  %d.scaled = fmul float %d.wide, %scale\n"
                       "  store float %d.scaled, ptr %d.to, align 4\n");
    kiln__attention_end(p, "d");
    kiln__attention_loop(p, "z", "%width", DOT);
    kiln__attention_address(p, "%z.at", "%r.sums", "%z", "4");
    kiln__attention_store(p, "zeroinitializer", "%z.at");
    kiln__attention_end(p, "z");
    kiln__attention_end(p, "r");
}

/* %sums gets the sums of each row, as rows of a table's width for each feature. */
static void end_rows(struct kiln_attention_printer *p)
{
    kiln__attention_loop(p, "y", "%width", 1);
    kiln__attention_address(p, "%y.to", "%sums", "%y", kiln__name(p->ir, "$0", p->rows * 4).text);
    kiln__attention_address(p, "%y.from", "%widened", "%y", "4");
    for (int row = 0; row < row_count(p); row++) {
        kiln__attention_address(p, kiln__name(p->ir, "%y.from$0", row).text, "%y.from",
                                kiln__name(p->ir, "$0", row).text, "%width.size");
        kiln__print(p->ir,
                    "  %y.x$0 = load float, ptr %y.from$0, align 4\n"
                    "  %y.to$0 = getelementptr inbounds float, ptr %y.to, i64 $0\n"
                    "  store float %y.x$0, ptr %y.to$0, align 4\n",
                    row);
    }
    kiln__attention_end(p, "y");
}

/* ---- scores --------------------------------------------------------------------------------------------------------
 */

/* Behind the scores of all rows lie the factors of what was before: one number for each. */
static void clear_scores(struct kiln_attention_printer *p)
{
    kiln__attention_splat(p, "%nothing", "float", "0xFFF0000000000000");
    for (int i = 0; i < row_count(p) * VECTORS; i++) {
        struct kiln_name at = kiln__name(p->ir, "%clear$0", i);
        kiln__print(p->ir, "  $0 = getelementptr inbounds float, ptr %scores, i64 $1\n", at.text, i * DOT);
        kiln__attention_store(p, "%nothing", at.text);
    }
}

static void print_dot(struct kiln_attention_printer *p)
{
    kiln__attention_loop(p, "f", "%features", DOT);
    kiln__print(p->ir, "  %f.key.offset = mul nsw i64 %f, $0\n", kiln__dtype_size(p->dtype));
    kiln__attention_address(p, "%f.query", "%turned", "%f", "4");
    for (int row = 0; row < row_count(p); row++) {
        struct kiln_name at = kiln__name(p->ir, "%f.q$0.at", row);
        kiln__attention_address(p, at.text, "%f.query", kiln__name(p->ir, "$0", row).text, "%features.size");
        kiln__attention_load(p, kiln__name(p->ir, "%f.q$0", row).text, at.text);
    }
    for (int i = 0; i < keys_together(p); i++) {
        struct kiln_name key = kiln__name(p->ir, "%f.k$0", i);
        kiln__print(p->ir, "  $0.at = getelementptr inbounds i8, ptr %key$1, i64 %f.key.offset\n", key.text, i);
        load_features(p, key.text, kiln__name(p->ir, "$0.at", key.text).text);
        for (int row = 0; row < row_count(p); row++) {
            struct kiln_name sum = kiln__name(p->ir, "%dot$0.$1", i, row);
            struct kiln_name before = kiln__name(p->ir, "%f.b$0.$1", i, row);
            struct kiln_name after = kiln__name(p->ir, "%f.c$0.$1", i, row);
            kiln__attention_load(p, before.text, sum.text);
            kiln__attention_multiply_add(p, after.text, key.text, kiln__name(p->ir, "%f.q$0", row).text, before.text);
            kiln__attention_store(p, after.text, sum.text);
        }
    }
    kiln__attention_end(p, "f");
}

/* Keys behind the last one are the last once more, and their scores are its own. */
static void print_scores(struct kiln_attention_printer *p)
{
    kiln__attention_address(p, "%first.key", "%keys", "%b", "%key.step");
    kiln__attention_loop(p, "j", "%count", keys_together(p));
    for (int i = 0; i < keys_together(p); i++) {
        struct kiln_name index = kiln__name(p->ir, "%j.index$0", i);
        kiln__print(p->ir, "  $0.any = add nuw nsw i64 %j, $1\n", index.text, i);
        kiln__attention_smaller(p, index.text, kiln__name(p->ir, "$0.any", index.text).text, "%last");
        kiln__attention_address(p, kiln__name(p->ir, "%key$0", i).text, "%first.key", index.text, "%key.step");
        for (int row = 0; row < row_count(p); row++)
            kiln__attention_store(p, "zeroinitializer", kiln__name(p->ir, "%dot$0.$1", i, row).text);
    }
    print_dot(p);
    for (int i = 0; i < keys_together(p); i++)
        for (int row = 0; row < row_count(p); row++) {
            struct kiln_name all = kiln__name(p->ir, "%j.all$0.$1", i, row),
                             one = kiln__name(p->ir, "%j.one$0.$1", i, row);
            kiln__attention_load(p, all.text, kiln__name(p->ir, "%dot$0.$1", i, row).text);
            print_together(p, one.text, all.text, "fadd");
            kiln__print(p->ir,
                        "  $0.row = getelementptr inbounds float, ptr %scores, i64 $1\n"
                        "  $0.to = getelementptr inbounds float, ptr $0.row, i64 %j.index$2\n"
                        "  store float $0, ptr $0.to, align 4\n",
                        one.text, row * BLOCK, i);
        }
    kiln__attention_end(p, "j");
}

/* Masks and limits, number by number. */
static void print_unseen(struct kiln_attention_printer *p)
{
    enum kiln_dtype dtype = (enum kiln_dtype)p->config.mask_dtype;
    kiln__attention_loop(p, "m", kiln__name(p->ir, "$0", row_count(p)).text, 1);
    kiln__attention_address(p, "%m.scores", "%scores", "%m", kiln__name(p->ir, "$0", BLOCK * 4).text);
    kiln__print(p->ir, "  %m.limit.at = getelementptr inbounds i32, ptr %limits, i64 %m\n"
                       "  %m.limit.short = load i32, ptr %m.limit.at, align 4\n"
                       "  %m.limit = sext i32 %m.limit.short to i64\n");
    if (p->config.has_mask) {
        kiln__print(p->ir, "  %m.entry = getelementptr inbounds ptr, ptr %masks, i64 %m\n"
                           "  %m.row = load ptr, ptr %m.entry, align 8\n");
        kiln__attention_address(p, "%m.from", "%m.row", "%b", "%mask.step");
    }
    kiln__attention_loop(p, "mj", "%count", 1);
    kiln__print(p->ir, "  %mj.to = getelementptr inbounds float, ptr %m.scores, i64 %mj\n"
                       "  %mj.score = load float, ptr %mj.to, align 4\n");
    if (!p->config.has_mask) {
        kiln__print(p->ir, "  %mj.masked = bitcast float %mj.score to float\n");
    } else {
        kiln__attention_address(p, "%mj.at", "%m.from", "%mj", "%mask.step");
        kiln__ir_load(p->ir, "%mj.mask", dtype, "%mj.at", "");
        if (dtype == KILN_BOOL) {
            kiln__print(p->ir, "  %mj.masked = select i1 %mj.mask, float %mj.score, float $0\n", KILN_ATTENTION_LOWEST);
        } else {
            kiln__ir_cast(p->ir, "%mj.wide", KILN_FLOAT32, "%mj.mask", dtype, 0);
            kiln__print(p->ir, "  %mj.masked = fadd float %mj.score, %mj.wide\n");
        }
    }
    kiln__print(p->ir,
                "  %mj.key = add nuw nsw i64 %b, %mj\n"
                "  %mj.is.seen = icmp slt i64 %mj.key, %m.limit\n"
                "  %mj.seen = select i1 %mj.is.seen, float %mj.masked, float $0\n"
                "  store float %mj.seen, ptr %mj.to, align 4\n",
                KILN_ATTENTION_LOWEST);
    kiln__attention_end(p, "mj");
    kiln__attention_end(p, "m");
}

static void print_masks(struct kiln_attention_printer *p)
{
    if (!p->config.has_mask)
        kiln__print(p->ir, "  %block.end = add nuw nsw i64 %b, %count\n"
                           "  %is.cut = icmp sgt i64 %block.end, %visible\n"
                           "  br i1 %is.cut, label %cut, label %whole\n\n"
                           "cut:\n");
    print_unseen(p);
    if (!p->config.has_mask) kiln__print(p->ir, "  br label %whole\n\nwhole:\n");
}

/* ---- softmax -------------------------------------------------------------------------------------------------------
 */

/* name.V: the four vectors of a row's scores. */
static void load_scores(struct kiln_attention_printer *p, const char *name, int row)
{
    for (int v = 0; v < VECTORS; v++) {
        struct kiln_name one = kiln__name(p->ir, "$0.$1", name, v), at = kiln__name(p->ir, "$0.at$1", name, v);
        kiln__print(p->ir, "  $0 = getelementptr inbounds float, ptr %scores, i64 $1\n", at.text,
                    row * BLOCK + v * DOT);
        kiln__attention_load(p, one.text, at.text);
    }
}

/* Scores less the largest so far; behind them, the factor of what was before, as its logarithm. */
static void subtract_largest(struct kiln_attention_printer *p, int row)
{
    struct kiln_name x = kiln__name(p->ir, "%x$0", row), most = kiln__name(p->ir, "%most$0", row);
    load_scores(p, x.text, row);
    for (int v = 1; v < VECTORS; v++) {
        struct kiln_name before =
            v == 1 ? kiln__name(p->ir, "$0.0", x.text) : kiln__name(p->ir, "$0.most$1", x.text, v - 1);
        kiln__attention_greater(p, kiln__name(p->ir, "$0.most$1", x.text, v).text, before.text,
                                kiln__name(p->ir, "$0.$1", x.text, v).text);
    }
    print_together(p, kiln__name(p->ir, "$0.block", most.text).text,
                   kiln__name(p->ir, "$0.most$1", x.text, VECTORS - 1).text, NULL);
    kiln__declare(p->ir, "declare float @llvm.maximum.f32(float, float)\n");
    kiln__print(p->ir,
                "  $0.at = getelementptr inbounds float, ptr %state, i64 $1\n"
                "  $0.old = load float, ptr $0.at, align 4\n"
                "  $0 = call float @llvm.maximum.f32(float $0.old, float $0.block)\n"
                "  store float $0, ptr $0.at, align 4\n"
                "  $0.log = fsub float $0.old, $0\n"
                "  $0.to = getelementptr inbounds float, ptr %scores, i64 $2\n"
                "  store float $0.log, ptr $0.to, align 4\n",
                most.text, row, row_count(p) * BLOCK + row);
    kiln__attention_splat(p, kiln__name(p->ir, "$0.all", most.text).text, "float", most.text);
    for (int v = 0; v < VECTORS; v++) {
        struct kiln_name less = kiln__name(p->ir, "$0.less$1", x.text, v);
        kiln__print(p->ir, "  $0 = fsub $1 $2.$3, $4.all\n", less.text, p->vector.text, x.text, v, most.text);
        kiln__attention_store(p, less.text, kiln__name(p->ir, "$0.at$1", x.text, v).text);
    }
}

static void add_weights(struct kiln_attention_printer *p, int row)
{
    struct kiln_name w = kiln__name(p->ir, "%w$0", row), total = kiln__name(p->ir, "%total$0", row);
    load_scores(p, w.text, row);
    kiln__print(p->ir,
                "  $0.01 = fadd $1 $0.0, $0.1\n"
                "  $0.23 = fadd $1 $0.2, $0.3\n"
                "  $0.all = fadd $1 $0.01, $0.23\n",
                w.text, p->vector.text);
    print_together(p, kiln__name(p->ir, "$0.block", total.text).text, kiln__name(p->ir, "$0.all", w.text).text, "fadd");
    kiln__print(p->ir,
                "  %factor$1.at = getelementptr inbounds float, ptr %scores, i64 $2\n"
                "  %factor$1 = load float, ptr %factor$1.at, align 4\n"
                "  $0.at = getelementptr inbounds float, ptr %state, i64 $3\n"
                "  $0.old = load float, ptr $0.at, align 4\n"
                "  $0.scaled = fmul float $0.old, %factor$1\n"
                "  $0.new = fadd float $0.scaled, $0.block\n"
                "  store float $0.new, ptr $0.at, align 4\n",
                total.text, row, row_count(p) * BLOCK + row, p->rows + row);
    kiln__attention_splat(p, kiln__name(p->ir, "%factor$0.all", row).text, "float",
                          kiln__name(p->ir, "%factor$0", row).text);
}

/* ---- values --------------------------------------------------------------------------------------------------------
 */

static void add_values(struct kiln_attention_printer *p)
{
    struct kiln_name item = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtype));
    kiln__attention_address(p, "%first.value", "%values", "%b", "%value.step");
    kiln__attention_loop(p, "v", "%width", DOT);
    kiln__attention_address(p, "%v.column", "%first.value", "%v", item.text);
    kiln__attention_address(p, "%v.sums", "%widened", "%v", "4");
    for (int row = 0; row < row_count(p); row++) {
        struct kiln_name at = kiln__name(p->ir, "%v.at$0", row);
        kiln__attention_address(p, at.text, "%v.sums", kiln__name(p->ir, "$0", row).text, "%width.size");
        kiln__attention_load(p, kiln__name(p->ir, "%v.old$0", row).text, at.text);
        kiln__print(p->ir, "  %v.scaled$0 = fmul $1 %v.old$0, %factor$0.all\n", row, p->vector.text);
        kiln__attention_store(p, kiln__name(p->ir, "%v.scaled$0", row).text, kiln__name(p->ir, "%dot0.$0", row).text);
    }
    kiln__attention_loop(p, "u", "%count", 1);
    kiln__attention_address(p, "%u.from", "%v.column", "%u", "%value.step");
    load_features(p, "%u.value", "%u.from");
    for (int row = 0; row < row_count(p); row++) {
        struct kiln_name sum = kiln__name(p->ir, "%dot0.$0", row), weight = kiln__name(p->ir, "%u.w$0", row);
        kiln__print(p->ir,
                    "  $0.row = getelementptr inbounds float, ptr %scores, i64 $1\n"
                    "  $0.at = getelementptr inbounds float, ptr $0.row, i64 %u\n"
                    "  $0.number = load float, ptr $0.at, align 4\n",
                    weight.text, row * BLOCK);
        kiln__attention_splat(p, weight.text, "float", kiln__name(p->ir, "$0.number", weight.text).text);
        kiln__attention_load(p, kiln__name(p->ir, "%u.b$0", row).text, sum.text);
        kiln__attention_multiply_add(p, kiln__name(p->ir, "%u.c$0", row).text, "%u.value", weight.text,
                                     kiln__name(p->ir, "%u.b$0", row).text);
        kiln__attention_store(p, kiln__name(p->ir, "%u.c$0", row).text, sum.text);
    }
    kiln__attention_end(p, "u");
    for (int row = 0; row < row_count(p); row++) {
        kiln__attention_load(p, kiln__name(p->ir, "%v.new$0", row).text, kiln__name(p->ir, "%dot0.$0", row).text);
        kiln__attention_store(p, kiln__name(p->ir, "%v.new$0", row).text, kiln__name(p->ir, "%v.at$0", row).text);
    }
    kiln__attention_end(p, "v");
}

void kiln__attention_print_dots(struct kiln_attention_printer *p)
{
    static const char *const counters[] = {"r", "d", "z", "f", "j", "m", "mj", "v", "u", "y"};
    kiln__attention_counters(p, counters, sizeof counters / sizeof *counters);
    for (int i = 0; i < keys_together(p); i++)
        for (int row = 0; row < row_count(p); row++)
            kiln__print(p->ir, "  %dot$0.$1 = alloca $2, align 64\n", i, row, p->vector.text);
    begin_rows(p);
    kiln__attention_begin_block(p);
    clear_scores(p);
    print_scores(p);
    print_masks(p);
    for (int row = 0; row < row_count(p); row++) subtract_largest(p, row);
    kiln__attention_exponentials(p, kiln__name(p->ir, "$0", row_count(p) * (BLOCK + 1)).text);
    for (int row = 0; row < row_count(p); row++) add_weights(p, row);
    add_values(p);
    kiln__attention_end(p, "b");
    end_rows(p);
}
