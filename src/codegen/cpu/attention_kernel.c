/*
 * attention_kernel.c - see attention_kernel.h. Loops count in memory on the stack, and sums that live across a loop lie
 * there too: LLVM makes registers of all of it, and the printer needs no phis.
 *
 * The largest score begins at the lowest finite number, which is also what a score that is not seen becomes. So a row
 * of scores that are all minus infinity sums to 0 and gives NaN, and one that sees nothing weighs all keys alike, as
 * the formula does.
 */
#include "codegen/cpu/attention_kernel.h"

#include "codegen/lower.h"

static const char lowest[] = "0xC7EFFFFFE0000000"; /* -0x1.fffffep127 */

struct attention_printer {
    struct kiln_ir *ir;
    struct kiln_attention_config config;
    enum kiln_dtype dtype;
    struct kiln_name vector; /* "<16 x float>" */
    int rows;                /* lanes of all vectors */
};

/* ---- the config ---------------------------------------------------------------------------------------------------
 */

unsigned kiln__attention_pack(const struct kiln_attention_config *config)
{
    return (unsigned)config->lanes | (unsigned)config->vectors << 8 | (unsigned)config->is_fused << 12 |
           (unsigned)config->combines << 13 | (unsigned)config->has_mask << 14 | (unsigned)config->mask_dtype << 16;
}

struct kiln_attention_config kiln__attention_unpack(unsigned flags)
{
    return (struct kiln_attention_config){.lanes = flags & 0xff,
                                          .vectors = flags >> 8 & 15,
                                          .is_fused = flags >> 12 & 1,
                                          .combines = flags >> 13 & 1,
                                          .has_mask = flags >> 14 & 1,
                                          .mask_dtype = (uint8_t)(flags >> 16)};
}

/* ---- lines ---------------------------------------------------------------------------------------------------------
 */

/* %NAME counts from 0 to before `end` by `step`; what follows, up to end_loop(), is its body. */
static void begin_loop(struct attention_printer *p, const char *name, const char *end, int step)
{
    kiln__print(p->ir,
                "  store i64 0, ptr %$0.count, align 8\n"
                "  br label %$0.test\n\n"
                "$0.test:\n"
                "  %$0 = load i64, ptr %$0.count, align 8\n"
                "  %$0.more = icmp slt i64 %$0, $1\n"
                "  br i1 %$0.more, label %$0.body, label %$0.end\n\n"
                "$0.body:\n"
                "  %$0.next = add nuw nsw i64 %$0, $2\n",
                name, end, step);
}

static void end_loop(struct attention_printer *p, const char *name)
{
    kiln__print(p->ir,
                "  store i64 %$0.next, ptr %$0.count, align 8\n"
                "  br label %$0.test\n\n"
                "$0.end:\n",
                name);
}

/* name = base + index * size bytes. */
static void print_address(struct attention_printer *p, const char *name, const char *base, const char *index,
                          const char *size)
{
    kiln__print(p->ir,
                "  $0.offset = mul nsw i64 $2, $3\n"
                "  $0 = getelementptr inbounds i8, ptr $1, i64 $0.offset\n",
                name, base, index, size);
}

/* NAME.V: where vector V of row `index` of the scratch `base` lies. */
static void print_row(struct attention_printer *p, const char *name, const char *base, const char *index)
{
    print_address(p, kiln__name(p->ir, "$0.0", name).text, base, index, kiln__name(p->ir, "$0", p->rows * 4).text);
    for (int v = 1; v < p->config.vectors; v++)
        kiln__print(p->ir, "  $0.$1 = getelementptr inbounds i8, ptr $0.0, i64 $2\n", name, v, v * p->config.lanes * 4);
}

static void load_vector(struct attention_printer *p, const char *name, const char *pointer)
{
    kiln__print(p->ir, "  $0 = load $1, ptr $2, align 4\n", name, p->vector.text, pointer);
}

static void store_vector(struct attention_printer *p, const char *value, const char *pointer)
{
    kiln__print(p->ir, "  store $0 $1, ptr $2, align 4\n", p->vector.text, value, pointer);
}

/* name = a * b + c, rounded once where the target can. */
static void multiply_add(struct attention_printer *p, const char *name, const char *a, const char *b, const char *c)
{
    if (!p->config.is_fused) {
        kiln__print(p->ir, "  $0.product = fmul $1 $2, $3\n  $0 = fadd $1 $0.product, $4\n", name, p->vector.text, a, b,
                    c);
        return;
    }
    kiln__declare(p->ir, "declare $1 @llvm.fma.v$0f32($1, $1, $1)\n", p->config.lanes, p->vector.text);
    kiln__print(p->ir, "  $0 = call $2 @llvm.fma.v$1f32($2 $3, $2 $4, $2 $5)\n", name, p->config.lanes, p->vector.text,
                a, b, c);
}

static void print_greater(struct attention_printer *p, const char *name, const char *a, const char *b)
{
    kiln__declare(p->ir, "declare $1 @llvm.maximum.v$0f32($1, $1)\n", p->config.lanes, p->vector.text);
    kiln__print(p->ir, "  $0 = call $2 @llvm.maximum.v$1f32($2 $3, $2 $4)\n", name, p->config.lanes, p->vector.text, a,
                b);
}

static void print_smaller(struct attention_printer *p, const char *name, const char *a, const char *b)
{
    kiln__declare(p->ir, "declare i64 @llvm.smin.i64(i64, i64)\n");
    kiln__print(p->ir, "  $0 = call i64 @llvm.smin.i64(i64 $1, i64 $2)\n", name, a, b);
}

static void print_splat(struct attention_printer *p, const char *name, const char *type, const char *value)
{
    kiln__print(p->ir,
                "  $0.one = insertelement <$1 x $2> poison, $2 $3, i64 0\n"
                "  $0 = shufflevector <$1 x $2> $0.one, <$1 x $2> poison, <$1 x i32> zeroinitializer\n",
                name, p->config.lanes, type, value);
}

/* Every score of the first `count` rows becomes its exponential: one plain loop, which LLVM makes vectors of. */
static void print_exponentials(struct attention_printer *p, const char *count)
{
    kiln__declare(p->ir, "declare float @kiln_exp_f32(float)\n");
    kiln__print(p->ir, "  %e.all = mul nsw i64 $0, $1\n", count, p->rows);
    begin_loop(p, "e", "%e.all", 1);
    kiln__print(p->ir, "  %e.at = getelementptr inbounds float, ptr %scores, i64 %e\n"
                       "  %e.x = load float, ptr %e.at, align 4\n"
                       "  %e.y = call float @kiln_exp_f32(float %e.x)\n"
                       "  store float %e.y, ptr %e.at, align 4\n");
    end_loop(p, "e");
}

/* ---- the frame -----------------------------------------------------------------------------------------------------
 */

static void print_arguments(struct attention_printer *p)
{
    static const char *const pointers[] = {
        [KILN_ATTENTION_QUERIES] = "queries", [KILN_ATTENTION_OUTPUTS] = "outputs", [KILN_ATTENTION_MASKS] = "masks",
        [KILN_ATTENTION_LIMITS] = "limits",   [KILN_ATTENTION_KEYS] = "keys",       [KILN_ATTENTION_VALUES] = "values",
        [KILN_ATTENTION_STATE] = "state",     [KILN_ATTENTION_TURNED] = "turned",   [KILN_ATTENTION_SUMS] = "sums",
        [KILN_ATTENTION_SCORES] = "scores",   [KILN_ATTENTION_WIDENED] = "widened"};
    static const char *const numbers[] = {"features", "width", "scale.bits", "visible", "finishes"};
    static const char *const strides[] = {"key.step", "value.step", "mask.step"};
    for (int i = 0; i < KILN_ATTENTION_ARGS; i++) {
        bool is_pointer = i < KILN_ATTENTION_FEATURES;
        kiln__print(p->ir,
                    "  %arg$0 = getelementptr inbounds i64, ptr %args, i64 $0\n"
                    "  %$1 = load $2, ptr %arg$0, align 8\n",
                    i, is_pointer ? pointers[i] : numbers[i - KILN_ATTENTION_FEATURES], is_pointer ? "ptr" : "i64");
    }
    for (int i = 0; i < 3; i++)
        kiln__print(p->ir,
                    "  %stride$0 = getelementptr inbounds i64, ptr %strides, i64 $0\n"
                    "  %$1 = load i64, ptr %stride$0, align 8\n",
                    i, strides[i]);
    kiln__print(p->ir, "  %scale.short = trunc i64 %scale.bits to i32\n"
                       "  %scale = bitcast i32 %scale.short to float\n");
}

/* Counters of loops, and sums in registers. */
static void print_variables(struct attention_printer *p)
{
    static const char *const counters[] = {"r",        "d",   "z", "b",   "key.w", "key.wd", "value.w",
                                           "value.wd", "j.s", "f", "m",   "mj",    "c",      "s.a",
                                           "s.b",      "s.t", "e", "d.v", "j.v",   "o",      "od"};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        kiln__print(p->ir, "  %$0.count = alloca i64, align 8\n", counters[i]);
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__print(p->ir, "  %most.$0 = alloca $1, align 64\n", v, p->vector.text);
        for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++)
            kiln__print(p->ir, "  %sum$0.$1 = alloca $2, align 64\n", i, v, p->vector.text);
    }
}

/* sums / (the state's second row), as `dtype`, to where the outputs table says. */
static void print_finish(struct attention_printer *p)
{
    struct kiln_name item = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtype));
    kiln__print(p->ir, "  %is.last = icmp ne i64 %finishes, 0\n"
                       "  br i1 %is.last, label %finish, label %done\n\n"
                       "finish:\n");
    begin_loop(p, "o", "%rows", 1);
    kiln__print(p->ir,
                "  %o.entry = getelementptr inbounds ptr, ptr %outputs, i64 %o\n"
                "  %o.to = load ptr, ptr %o.entry, align 8\n"
                "  %o.sum = getelementptr inbounds float, ptr %sums, i64 %o\n"
                "  %o.index = add nuw nsw i64 %o, $0\n"
                "  %o.total.at = getelementptr inbounds float, ptr %state, i64 %o.index\n"
                "  %o.total = load float, ptr %o.total.at, align 4\n",
                p->rows);
    begin_loop(p, "od", "%width", 1);
    print_address(p, "%od.from", "%o.sum", "%od", kiln__name(p->ir, "$0", p->rows * 4).text);
    print_address(p, "%od.to", "%o.to", "%od", item.text);
    kiln__print(p->ir, "  %od.sum = load float, ptr %od.from, align 4\n"
                       "  %od.quotient = fdiv float %od.sum, %o.total\n");
    kiln__ir_cast(p->ir, "%od.value", p->dtype, "%od.quotient", KILN_FLOAT32, 0);
    kiln__ir_store(p->ir, "%od.value", p->dtype, "%od.to", "");
    end_loop(p, "od");
    end_loop(p, "o");
    kiln__print(p->ir, "  br label %done\n\ndone:\n  ret void\n}\n");
}

/* ---- scores --------------------------------------------------------------------------------------------------------
 */

static void turn_queries(struct attention_printer *p)
{
    struct kiln_name item = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtype));
    begin_loop(p, "r", kiln__name(p->ir, "$0", p->rows).text, 1);
    kiln__print(p->ir, "  %r.entry = getelementptr inbounds ptr, ptr %queries, i64 %r\n"
                       "  %r.from = load ptr, ptr %r.entry, align 8\n"
                       "  %r.to = getelementptr inbounds float, ptr %turned, i64 %r\n");
    begin_loop(p, "d", "%features", 1);
    print_address(p, "%d.from", "%r.from", "%d", item.text);
    print_address(p, "%d.to", "%r.to", "%d", kiln__name(p->ir, "$0", p->rows * 4).text);
    kiln__ir_load(p->ir, "%d.raw", p->dtype, "%d.from", "");
    kiln__ir_cast(p->ir, "%d.wide", KILN_FLOAT32, "%d.raw", p->dtype, 0);
    kiln__print(p->ir, "  %d.scaled = fmul float %d.wide, %scale\n"
                       "  store float %d.scaled, ptr %d.to, align 4\n");
    end_loop(p, "d");
    end_loop(p, "r");
}

static void clear_sums(struct attention_printer *p)
{
    begin_loop(p, "z", "%width", 1);
    print_row(p, "%z.at", "%sums", "%z");
    for (int v = 0; v < p->config.vectors; v++)
        store_vector(p, "zeroinitializer", kiln__name(p->ir, "%z.at.$0", v).text);
    end_loop(p, "z");
}

/*
 * name.base and name.pitch: `length` numbers of float32 for each of the block's keys, in the array itself, or as a copy
 * in %widened.
 */
static void print_block(struct attention_printer *p, const char *name, const char *base, const char *step,
                        const char *length)
{
    bool is_narrow = kiln__ir_is_narrow(p->dtype);
    struct kiln_name first = kiln__name(p->ir, "%$0.first", name), w = kiln__name(p->ir, "$0.w", name);
    struct kiln_name wd = kiln__name(p->ir, "$0.wd", name);
    print_address(p, first.text, base, "%b", step);
    if (!is_narrow) {
        kiln__print(p->ir, "  %$0.base = getelementptr inbounds i8, ptr $1, i64 0\n  %$0.pitch = add i64 $2, 0\n", name,
                    first.text, step);
        return;
    }
    kiln__print(p->ir, "  %$0.base = getelementptr inbounds i8, ptr %widened, i64 0\n  %$0.pitch = mul nsw i64 $1, 4\n",
                name, length);
    begin_loop(p, w.text, "%count", 1);
    print_address(p, kiln__name(p->ir, "%$0.from", w.text).text, first.text, kiln__name(p->ir, "%$0", w.text).text,
                  step);
    print_address(p, kiln__name(p->ir, "%$0.to", w.text).text, "%widened", kiln__name(p->ir, "%$0", w.text).text,
                  kiln__name(p->ir, "%$0.pitch", name).text);
    begin_loop(p, wd.text, length, 1);
    struct kiln_name value = kiln__name(p->ir, "%$0.raw", wd.text), wide = kiln__name(p->ir, "%$0.wide", wd.text);
    kiln__print(p->ir,
                "  %$0.at = getelementptr inbounds i16, ptr %$1.from, i64 %$0\n"
                "  %$0.to = getelementptr inbounds float, ptr %$1.to, i64 %$0\n",
                wd.text, w.text);
    kiln__ir_load(p->ir, value.text, p->dtype, kiln__name(p->ir, "%$0.at", wd.text).text, "");
    kiln__ir_cast(p->ir, wide.text, KILN_FLOAT32, value.text, p->dtype, 0);
    kiln__print(p->ir, "  store float $1, ptr %$0.to, align 4\n", wd.text, wide.text);
    end_loop(p, wd.text);
    end_loop(p, w.text);
}

/*
 * TOGETHER rows of sums, %sumI.V += a(i, k) * row k of `rows`, for k from 0 to before `end`. %NAME.aI points at the
 * number a(i, 0); from one k to the next it is `pitch` bytes.
 */
static void accumulate(struct attention_printer *p, const char *name, const char *end, const char *rows,
                       const char *pitch)
{
    struct kiln_name k = kiln__name(p->ir, "%$0", name), at = kiln__name(p->ir, "%$0.row", name);
    begin_loop(p, name, end, 1);
    print_row(p, at.text, rows, k.text);
    for (int v = 0; v < p->config.vectors; v++)
        load_vector(p, kiln__name(p->ir, "%$0.x$1", name, v).text, kiln__name(p->ir, "$0.$1", at.text, v).text);
    kiln__print(p->ir, "  %$0.a.offset = mul nsw i64 %$0, $1\n", name, pitch);
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++) {
        struct kiln_name all = kiln__name(p->ir, "%$0.all$1", name, i);
        kiln__print(p->ir,
                    "  %$0.at$1 = getelementptr inbounds i8, ptr %$0.a$1, i64 %$0.a.offset\n"
                    "  %$0.one$1 = load float, ptr %$0.at$1, align 4\n",
                    name, i);
        print_splat(p, all.text, "float", kiln__name(p->ir, "%$0.one$1", name, i).text);
        for (int v = 0; v < p->config.vectors; v++) {
            struct kiln_name sum = kiln__name(p->ir, "%sum$0.$1", i, v);
            struct kiln_name before = kiln__name(p->ir, "%$0.b$1.$2", name, i, v);
            struct kiln_name after = kiln__name(p->ir, "%$0.c$1.$2", name, i, v);
            load_vector(p, before.text, sum.text);
            multiply_add(p, after.text, all.text, kiln__name(p->ir, "%$0.x$1", name, v).text, before.text);
            store_vector(p, after.text, sum.text);
        }
    }
    end_loop(p, name);
}

/* Rows 1 to count of %scores: the products of queries and keys. Keys behind the last one are the last once more. */
static void print_products(struct attention_printer *p)
{
    begin_loop(p, "j.s", "%count", KILN_ATTENTION_TOGETHER);
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++) {
        struct kiln_name key = kiln__name(p->ir, "%j.s.key$0", i);
        kiln__print(p->ir, "  $0.any = add nuw nsw i64 %j.s, $1\n", key.text, i);
        print_smaller(p, key.text, kiln__name(p->ir, "$0.any", key.text).text, "%last");
        print_address(p, kiln__name(p->ir, "%f.a$0", i).text, "%key.base", key.text, "%key.pitch");
        for (int v = 0; v < p->config.vectors; v++)
            store_vector(p, "zeroinitializer", kiln__name(p->ir, "%sum$0.$1", i, v).text);
    }
    accumulate(p, "f", "%features", "%turned", "4");
    kiln__print(p->ir, "  %j.s.row = add nuw nsw i64 %j.s, 1\n");
    print_row(p, "%j.s.to", "%scores", "%j.s.row");
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++)
        for (int v = 0; v < p->config.vectors; v++) {
            struct kiln_name value = kiln__name(p->ir, "%j.s.v$0.$1", i, v);
            struct kiln_name to = kiln__name(p->ir, "%j.s.to$0.$1", i, v);
            load_vector(p, value.text, kiln__name(p->ir, "%sum$0.$1", i, v).text);
            kiln__print(p->ir, "  $0 = getelementptr inbounds i8, ptr %j.s.to.$1, i64 $2\n", to.text, v,
                        i * p->rows * 4);
            store_vector(p, value.text, to.text);
        }
    end_loop(p, "j.s");
}

/* ---- masks ---------------------------------------------------------------------------------------------------------
 */

static void print_mask(struct attention_printer *p)
{
    enum kiln_dtype dtype = (enum kiln_dtype)p->config.mask_dtype;
    kiln__print(p->ir, "  %mask.offset = mul nsw i64 %b, %mask.step\n");
    begin_loop(p, "m", kiln__name(p->ir, "$0", p->rows).text, 1);
    kiln__print(p->ir,
                "  %m.entry = getelementptr inbounds ptr, ptr %masks, i64 %m\n"
                "  %m.row = load ptr, ptr %m.entry, align 8\n"
                "  %m.from = getelementptr inbounds i8, ptr %m.row, i64 %mask.offset\n"
                "  %m.index = add nuw nsw i64 %m, $0\n"
                "  %m.score = getelementptr inbounds float, ptr %scores, i64 %m.index\n",
                p->rows);
    begin_loop(p, "mj", "%count", 1);
    print_address(p, "%mj.at", "%m.from", "%mj", "%mask.step");
    print_address(p, "%mj.to", "%m.score", "%mj", kiln__name(p->ir, "$0", p->rows * 4).text);
    kiln__ir_load(p->ir, "%mj.mask", dtype, "%mj.at", "");
    kiln__print(p->ir, "  %mj.score = load float, ptr %mj.to, align 4\n");
    if (dtype == KILN_BOOL) {
        kiln__print(p->ir, "  %mj.seen = select i1 %mj.mask, float %mj.score, float $0\n", lowest);
    } else {
        kiln__ir_cast(p->ir, "%mj.wide", KILN_FLOAT32, "%mj.mask", dtype, 0);
        kiln__print(p->ir, "  %mj.seen = fadd float %mj.score, %mj.wide\n");
    }
    kiln__print(p->ir, "  store float %mj.seen, ptr %mj.to, align 4\n");
    end_loop(p, "mj");
    end_loop(p, "m");
}

/* Keys from a row's limit on are not seen. */
static void print_limits(struct attention_printer *p)
{
    int lanes = p->config.lanes;
    kiln__print(p->ir, "  %block.end = add nuw nsw i64 %b, %count\n"
                       "  %is.cut = icmp sgt i64 %block.end, %visible\n"
                       "  br i1 %is.cut, label %cut, label %whole\n\n"
                       "cut:\n");
    print_splat(p, "%unseen", "float", lowest);
    for (int v = 0; v < p->config.vectors; v++)
        kiln__print(p->ir,
                    "  %limit$0.at = getelementptr inbounds i32, ptr %limits, i64 $1\n"
                    "  %limit$0 = load <$2 x i32>, ptr %limit$0.at, align 4\n",
                    v, v * lanes, lanes);
    begin_loop(p, "c", "%count", 1);
    kiln__print(p->ir, "  %c.key = add nuw nsw i64 %b, %c\n"
                       "  %c.short = trunc i64 %c.key to i32\n"
                       "  %c.row = add nuw nsw i64 %c, 1\n");
    print_splat(p, "%c.all", "i32", "%c.short");
    print_row(p, "%c.at", "%scores", "%c.row");
    for (int v = 0; v < p->config.vectors; v++) {
        struct kiln_name at = kiln__name(p->ir, "%c.at.$0", v);
        load_vector(p, kiln__name(p->ir, "%c.x$0", v).text, at.text);
        kiln__print(p->ir,
                    "  %c.sees$0 = icmp slt <$1 x i32> %c.all, %limit$0\n"
                    "  %c.y$0 = select <$1 x i1> %c.sees$0, $2 %c.x$0, $2 %unseen\n",
                    v, lanes, p->vector.text);
        store_vector(p, kiln__name(p->ir, "%c.y$0", v).text, at.text);
    }
    end_loop(p, "c");
    kiln__print(p->ir, "  br label %whole\n\nwhole:\n");
}

/* ---- softmax -------------------------------------------------------------------------------------------------------
 */

/*
 * `first` row of %scores and `count` behind it: %most.V becomes the largest of each lane and `before`, then each row is
 * what is left when it is subtracted.
 */
static void print_largest(struct attention_printer *p, const char *count, int first)
{
    begin_loop(p, "s.a", count, 1);
    kiln__print(p->ir, "  %s.a.row = add nuw nsw i64 %s.a, $0\n", first);
    print_row(p, "%s.a.at", "%scores", "%s.a.row");
    for (int v = 0; v < p->config.vectors; v++) {
        struct kiln_name before = kiln__name(p->ir, "%s.a.b$0", v), x = kiln__name(p->ir, "%s.a.x$0", v);
        struct kiln_name after = kiln__name(p->ir, "%s.a.c$0", v), most = kiln__name(p->ir, "%most.$0", v);
        load_vector(p, before.text, most.text);
        load_vector(p, x.text, kiln__name(p->ir, "%s.a.at.$0", v).text);
        print_greater(p, after.text, before.text, x.text);
        store_vector(p, after.text, most.text);
    }
    end_loop(p, "s.a");
    for (int v = 0; v < p->config.vectors; v++)
        load_vector(p, kiln__name(p->ir, "%largest$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
    begin_loop(p, "s.b", count, 1);
    kiln__print(p->ir, "  %s.b.row = add nuw nsw i64 %s.b, $0\n", first);
    print_row(p, "%s.b.at", "%scores", "%s.b.row");
    for (int v = 0; v < p->config.vectors; v++) {
        struct kiln_name at = kiln__name(p->ir, "%s.b.at.$0", v);
        load_vector(p, kiln__name(p->ir, "%s.b.x$0", v).text, at.text);
        kiln__print(p->ir, "  %s.b.y$0 = fsub $1 %s.b.x$0, %largest$0\n", v, p->vector.text);
        store_vector(p, kiln__name(p->ir, "%s.b.y$0", v).text, at.text);
    }
    end_loop(p, "s.b");
}

/* The block's scores become weights; row 0 of %scores what the sums before have to be multiplied with. */
static void weigh(struct attention_printer *p)
{
    print_row(p, "%most.at", "%state", "0");
    print_row(p, "%total.at", "%state", "1");
    print_row(p, "%factor.at", "%scores", "0");
    for (int v = 0; v < p->config.vectors; v++) {
        load_vector(p, kiln__name(p->ir, "%before$0", v).text, kiln__name(p->ir, "%most.at.$0", v).text);
        store_vector(p, kiln__name(p->ir, "%before$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
    }
    print_largest(p, "%count", 1);
    for (int v = 0; v < p->config.vectors; v++) {
        kiln__print(p->ir, "  %factor.log$0 = fsub $1 %before$0, %largest$0\n", v, p->vector.text);
        store_vector(p, kiln__name(p->ir, "%factor.log$0", v).text, kiln__name(p->ir, "%factor.at.$0", v).text);
        store_vector(p, kiln__name(p->ir, "%largest$0", v).text, kiln__name(p->ir, "%most.at.$0", v).text);
        store_vector(p, "zeroinitializer", kiln__name(p->ir, "%most.$0", v).text);
    }
    kiln__print(p->ir, "  %filled = add nuw nsw i64 %count, 1\n");
    print_exponentials(p, "%filled");
    begin_loop(p, "s.t", "%count", 1);
    kiln__print(p->ir, "  %s.t.row = add nuw nsw i64 %s.t, 1\n");
    print_row(p, "%s.t.at", "%scores", "%s.t.row");
    for (int v = 0; v < p->config.vectors; v++) {
        load_vector(p, kiln__name(p->ir, "%s.t.x$0", v).text, kiln__name(p->ir, "%s.t.at.$0", v).text);
        load_vector(p, kiln__name(p->ir, "%s.t.b$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        kiln__print(p->ir, "  %s.t.c$0 = fadd $1 %s.t.b$0, %s.t.x$0\n", v, p->vector.text);
        store_vector(p, kiln__name(p->ir, "%s.t.c$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
    }
    end_loop(p, "s.t");
    for (int v = 0; v < p->config.vectors; v++) {
        load_vector(p, kiln__name(p->ir, "%factor$0", v).text, kiln__name(p->ir, "%factor.at.$0", v).text);
        load_vector(p, kiln__name(p->ir, "%total.old$0", v).text, kiln__name(p->ir, "%total.at.$0", v).text);
        load_vector(p, kiln__name(p->ir, "%total.block$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        kiln__print(p->ir,
                    "  %total.scaled$0 = fmul $1 %total.old$0, %factor$0\n"
                    "  %total.new$0 = fadd $1 %total.scaled$0, %total.block$0\n",
                    v, p->vector.text);
        store_vector(p, kiln__name(p->ir, "%total.new$0", v).text, kiln__name(p->ir, "%total.at.$0", v).text);
    }
}

/* sums = sums * factor + weights times values. Features behind the last one are the last once more. */
static void add_values(struct attention_printer *p)
{
    kiln__print(p->ir,
                "  %last.feature = sub nsw i64 %width, 1\n"
                "  %weights = getelementptr inbounds i8, ptr %scores, i64 $0\n",
                p->rows * 4);
    begin_loop(p, "d.v", "%width", KILN_ATTENTION_TOGETHER);
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++) {
        struct kiln_name feature = kiln__name(p->ir, "%d.v.f$0", i), at = kiln__name(p->ir, "%d.v.at$0", i);
        kiln__print(p->ir, "  $0.any = add nuw nsw i64 %d.v, $1\n", feature.text, i);
        print_smaller(p, feature.text, kiln__name(p->ir, "$0.any", feature.text).text, "%last.feature");
        print_address(p, kiln__name(p->ir, "%j.v.a$0", i).text, "%value.base", feature.text, "4");
        print_row(p, at.text, "%sums", feature.text);
        for (int v = 0; v < p->config.vectors; v++) {
            load_vector(p, kiln__name(p->ir, "%d.v.old$0.$1", i, v).text, kiln__name(p->ir, "$0.$1", at.text, v).text);
            kiln__print(p->ir, "  %d.v.scaled$0.$1 = fmul $2 %d.v.old$0.$1, %factor$1\n", i, v, p->vector.text);
            store_vector(p, kiln__name(p->ir, "%d.v.scaled$0.$1", i, v).text,
                         kiln__name(p->ir, "%sum$0.$1", i, v).text);
        }
    }
    accumulate(p, "j.v", "%count", "%weights", "%value.pitch");
    for (int i = 0; i < KILN_ATTENTION_TOGETHER; i++)
        for (int v = 0; v < p->config.vectors; v++) {
            struct kiln_name value = kiln__name(p->ir, "%d.v.new$0.$1", i, v);
            load_vector(p, value.text, kiln__name(p->ir, "%sum$0.$1", i, v).text);
            store_vector(p, value.text, kiln__name(p->ir, "%d.v.at$0.$1", i, v).text);
        }
    end_loop(p, "d.v");
}

static void print_range(struct attention_printer *p)
{
    turn_queries(p);
    clear_sums(p);
    begin_loop(p, "b", "%n", KILN_ATTENTION_BLOCK);
    kiln__print(p->ir, "  %left = sub nsw i64 %n, %b\n");
    print_smaller(p, "%count", "%left", kiln__name(p->ir, "$0", KILN_ATTENTION_BLOCK).text);
    kiln__print(p->ir, "  %last = sub nsw i64 %count, 1\n");
    print_block(p, "key", "%keys", "%key.step", "%features");
    print_products(p);
    if (p->config.has_mask) print_mask(p);
    print_limits(p);
    weigh(p);
    print_block(p, "value", "%values", "%value.step", "%width");
    add_values(p);
    end_loop(p, "b");
}

/* ---- ranges together -----------------------------------------------------------------------------------------------
 */

/* Row `index` of the scratch that entry %NAME of a table points at. */
static void print_entry(struct attention_printer *p, const char *name, const char *table, const char *index)
{
    kiln__print(p->ir,
                "  %$0.entry = getelementptr inbounds ptr, ptr $1, i64 %$0\n"
                "  %$0.base = load ptr, ptr %$0.entry, align 8\n",
                name, table);
    print_row(p, kiln__name(p->ir, "%$0.in", name).text, kiln__name(p->ir, "%$0.base", name).text, index);
}

/* Scores are the largest of each range; their exponentials are the weights of its sums. */
static void print_combination(struct attention_printer *p)
{
    int vectors = p->config.vectors;
    begin_loop(p, "r", "%n", 1);
    print_entry(p, "r", "%keys", "0");
    print_row(p, "%r.to", "%scores", "%r");
    for (int v = 0; v < vectors; v++) {
        load_vector(p, kiln__name(p->ir, "%r.x$0", v).text, kiln__name(p->ir, "%r.in.$0", v).text);
        store_vector(p, kiln__name(p->ir, "%r.x$0", v).text, kiln__name(p->ir, "%r.to.$0", v).text);
    }
    end_loop(p, "r");
    print_splat(p, "%least", "float", lowest);
    for (int v = 0; v < vectors; v++) store_vector(p, "%least", kiln__name(p->ir, "%most.$0", v).text);
    print_largest(p, "%n", 0);
    print_exponentials(p, "%n");
    for (int v = 0; v < vectors; v++) store_vector(p, "zeroinitializer", kiln__name(p->ir, "%most.$0", v).text);
    begin_loop(p, "c", "%n", 1);
    print_entry(p, "c", "%keys", "1");
    print_row(p, "%c.weight", "%scores", "%c");
    for (int v = 0; v < vectors; v++) {
        struct kiln_name most = kiln__name(p->ir, "%most.$0", v), x = kiln__name(p->ir, "%c.x$0", v);
        struct kiln_name weight = kiln__name(p->ir, "%c.w$0", v), before = kiln__name(p->ir, "%c.b$0", v);
        load_vector(p, x.text, kiln__name(p->ir, "%c.in.$0", v).text);
        load_vector(p, weight.text, kiln__name(p->ir, "%c.weight.$0", v).text);
        load_vector(p, before.text, most.text);
        multiply_add(p, kiln__name(p->ir, "%c.y$0", v).text, x.text, weight.text, before.text);
        store_vector(p, kiln__name(p->ir, "%c.y$0", v).text, most.text);
    }
    end_loop(p, "c");
    print_row(p, "%total.at", "%state", "1");
    for (int v = 0; v < vectors; v++) {
        load_vector(p, kiln__name(p->ir, "%total$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        store_vector(p, kiln__name(p->ir, "%total$0", v).text, kiln__name(p->ir, "%total.at.$0", v).text);
    }
    begin_loop(p, "d", "%width", 1);
    for (int v = 0; v < vectors; v++) store_vector(p, "zeroinitializer", kiln__name(p->ir, "%most.$0", v).text);
    begin_loop(p, "m", "%n", 1);
    print_entry(p, "m", "%values", "%d");
    print_row(p, "%m.weight", "%scores", "%m");
    for (int v = 0; v < vectors; v++) {
        struct kiln_name most = kiln__name(p->ir, "%most.$0", v), x = kiln__name(p->ir, "%m.x$0", v);
        struct kiln_name weight = kiln__name(p->ir, "%m.w$0", v), before = kiln__name(p->ir, "%m.b$0", v);
        load_vector(p, x.text, kiln__name(p->ir, "%m.in.$0", v).text);
        load_vector(p, weight.text, kiln__name(p->ir, "%m.weight.$0", v).text);
        load_vector(p, before.text, most.text);
        multiply_add(p, kiln__name(p->ir, "%m.y$0", v).text, x.text, weight.text, before.text);
        store_vector(p, kiln__name(p->ir, "%m.y$0", v).text, most.text);
    }
    end_loop(p, "m");
    print_row(p, "%d.to", "%sums", "%d");
    for (int v = 0; v < vectors; v++) {
        load_vector(p, kiln__name(p->ir, "%d.sum$0", v).text, kiln__name(p->ir, "%most.$0", v).text);
        store_vector(p, kiln__name(p->ir, "%d.sum$0", v).text, kiln__name(p->ir, "%d.to.$0", v).text);
    }
    end_loop(p, "d");
}

/* ---- the kernel ----------------------------------------------------------------------------------------------------
 */

static void print_heading(struct attention_printer *p)
{
    const struct kiln_attention_config *c = &p->config;
    kiln__print(p->ir, "; kiln attention kernel: $0, $1 x $2 rows$3$4$5\n\n", kiln__dtypes[p->dtype].name, c->vectors,
                c->lanes, c->combines ? ", ranges together" : "", c->has_mask ? ", mask of " : "",
                c->has_mask ? kiln__dtypes[c->mask_dtype].name : "");
}

kiln_status kiln__attention_print(enum kiln_dtype dtype, const struct kiln_attention_config *config,
                                  struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    struct attention_printer p = {
        .ir = &ir, .config = *config, .dtype = dtype, .rows = config->lanes * config->vectors};
    if (dtype != KILN_FLOAT32 && !kiln__ir_is_narrow(dtype))
        return kiln__fail(err, KILN_INVALID, "no attention kernel computes with %s", kiln__dtypes[dtype].name);
    p.vector = kiln__name(&ir, "<$0 x float>", config->lanes);
    print_heading(&p);
    kiln__print(&ir,
                "define void @kernel(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) "
                "#0 {\n"
                "entry:\n");
    print_variables(&p);
    print_arguments(&p);
    if (config->combines)
        print_combination(&p);
    else
        print_range(&p);
    print_finish(&p);
    kiln__print_declarations(&ir);
    kiln__print(&ir, "attributes #0 = { \"prefer-vector-width\"=\"512\" }\n"); /* x86-64-v4 alone means 256 */
    return kiln__ir_finish(&ir, KILN_OK, err);
}
