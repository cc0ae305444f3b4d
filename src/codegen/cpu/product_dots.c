/*
 * product_dots.c - a product with a transposed weight: each element of out is the dot product of two packed rows.
 *
 *     for each block of `columns` columns:
 *         for k in steps of unroll * lanes:   sums[row][column][i] += x[row][k + i] * weight[column][k + i] (vectors)
 *         what is left of k, masked:          sums[row][column][0] += ...
 *         out[row][column] = the sums of all lanes, added in pairs
 *
 * A thread reads the weight from its first byte to its last, a few rows at a time: that is the order in which
 * processors fetch ahead by themselves. What they don't see, the next rows of a block of several, is asked for here.
 */
#include "codegen/cpu/product_printer.h"

enum { LINE = 64 };

/* Elements of k in one vector. */
static int width_of(const struct kiln_product_config *config)
{
    return config->has_bf16 ? 2 * config->lanes : config->lanes;
}

/* Sums that do not wait for each other: enough to keep two multipliers busy, and no more than registers hold. */
static int columns_together(const struct kiln_product_config *config)
{
    if (config->digits) return config->rows <= 2 ? 4 : config->rows == 4 ? 3 : 2;
    if (config->rows < 4) return 1;
    if (config->codes) return config->lanes == 16 || config->rows == 4 ? 2 : 1;
    if (config->rows == 4) return config->is_near && config->lanes == 8 ? 3 : 2;
    return config->lanes == 16 ? 3 : 1;
}

static int unrolled(const struct kiln_product_config *config)
{
    if (config->digits) return 1;
    return config->rows < 4 ? 4 : config->rows == 4 && config->lanes == 16 ? 2 : 1;
}

/* ---- one step of k --------------------------------------------------------------------------------------------------
 */

/* <k>.w<column> = the vector of the weight at `k` */
static void print_weight(struct kiln_product_printer *p, const char *block, const char *k, int column, const char *mask)
{
    struct kiln_name w = kiln__name(p->ir, "$0.w$1", k, column), at = kiln__name(p->ir, "$0.at", w.text);
    if (p->config.codes) {
        struct kiln_name offset = kiln__name(p->ir, "$0.offset", w.text);
        kiln__product_code_offset(p, offset.text, k);
        kiln__print(p->ir, "  $0 = getelementptr inbounds i8, ptr %$1.w$2, i64 $3\n", at.text, block, column,
                    offset.text);
        kiln__product_decode(p, w.text, at.text, kiln__name(p->ir, "%$0.group$1", block, column).text);
        return;
    }
    kiln__print(p->ir, "  $0 = getelementptr inbounds [$1 x i8], ptr %$2.w$3, i64 $4\n", at.text,
                kiln__dtype_size(p->weight), block, column, k);
    if (p->config.has_bf16)
        kiln__product_load_pairs(p, w.text, at.text, mask);
    else
        kiln__product_load(p, w.text, p->weight, at.text, mask);
}

/* The vectors at `step` vectors behind %<block>.<at>: one of the weight's for each column, one of x's for each row. */
static void print_step(struct kiln_product_printer *p, const char *block, const char *at, int columns, int step,
                       const char *mask)
{
    int lanes = p->config.lanes, sum = mask ? 0 : step % unrolled(&p->config);
    struct kiln_name k = kiln__name(p->ir, "%$0.$1$2", block, at, step);
    kiln__print(p->ir, "  $0 = add nuw nsw i64 %$1.$2, $3\n", k.text, block, at, step * width_of(&p->config));
    for (int column = 0; column < columns; column++) print_weight(p, block, k.text, column, mask);
    for (int row = 0; row < p->config.rows; row++) {
        struct kiln_name x = kiln__name(p->ir, "$0.x$1", k.text, row), x_at = kiln__name(p->ir, "$0.at", x.text);
        kiln__print(p->ir, "  $0 = getelementptr inbounds $1, ptr %x$2, i64 $3\n", x_at.text,
                    p->config.has_bf16 ? "i16" : "float", row, k.text);
        if (p->config.has_bf16)
            kiln__product_load_pairs(p, x.text, x_at.text, mask);
        else
            kiln__product_load(p, x.text, KILN_FLOAT32, x_at.text, mask);
        for (int column = 0; column < columns; column++) {
            struct kiln_name place = kiln__name(p->ir, "%sum.$0.$1.$2", row, column, sum);
            struct kiln_name w = kiln__name(p->ir, "$0.w$1", k.text, column);
            if (p->config.has_bf16) {
                kiln__product_add_pairs(p, place.text, x.text, w.text);
                continue;
            }
            kiln__print(p->ir,
                        "  $0.sum$1 = load <$2 x float>, ptr $3, align 64\n"
                        "  $0.more$1 = call <$2 x float> @llvm.fmuladd.v$2f32(<$2 x float> $0, <$2 x float> $4, <$2 x "
                        "float> $0.sum$1)\n"
                        "  store <$2 x float> $0.more$1, ptr $3, align 64\n",
                        x.text, column, lanes, place.text, w.text);
            kiln__declare(
                p->ir, "declare <$0 x float> @llvm.fmuladd.v$0f32(<$0 x float>, <$0 x float>, <$0 x float>)\n", lanes);
        }
    }
}

/* The rows after those of this block, where the loop is in its own. */
static void print_fetch(struct kiln_product_printer *p, const char *block, int columns, int steps)
{
    int bytes = (int)kiln__dtype_size(p->weight) * width_of(&p->config) * steps;
    for (int column = 0; column < columns; column++) {
        kiln__print(p->ir, "  %$0.ahead$1 = getelementptr [$2 x i8], ptr %$0.next.w$1, i64 %$0.k\n", block, column,
                    kiln__dtype_size(p->weight));
        for (int line = 0; line * LINE < bytes; line++)
            kiln__print(p->ir,
                        "  %$0.ahead$1.$2 = getelementptr i8, ptr %$0.ahead$1, i64 $3\n"
                        "  call void @llvm.prefetch.p0(ptr %$0.ahead$1.$2, i32 0, i32 2, i32 1)\n",
                        block, column, line, line * LINE);
    }
    kiln__declare(p->ir, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n");
}

/* %<block>.k from 0 on in steps of `step` while a whole step is left, and at least once where k is a multiple of it;
 * the test is at the end, so that sums stay in their registers. Leaves for %<block>.<after>, from here or from the
 * loop. */
static void open_steps(struct kiln_product_printer *p, const char *block, int step, const char *after)
{
    kiln__print(p->ir,
                "  %$0.k.any = icmp sge i64 %k, $1\n"
                "  br i1 %$0.k.any, label %$0.k.body, label %$0.$2\n\n"
                "$0.k.body:\n"
                "  %$0.k = phi i64 [ 0, %$0.body ], [ %$0.k.end, %$0.k.body ]\n"
                "  %$0.k.end = add nuw nsw i64 %$0.k, $1\n",
                block, step, after);
}

static void close_steps(struct kiln_product_printer *p, const char *block, int step, const char *after)
{
    kiln__print(p->ir,
                "  %$0.k.more = add nuw nsw i64 %$0.k.end, $1\n"
                "  %$0.k.fits = icmp sle i64 %$0.k.more, %k\n"
                "  br i1 %$0.k.fits, label %$0.k.body, label %$0.$2\n\n"
                "$0.$2:\n",
                block, step, after);
}

/* A group of codes at a time; k is whole groups. */
static void print_groups(struct kiln_product_printer *p, const char *block, int columns)
{
    int size = p->config.group_size;
    open_steps(p, block, size, "end");
    kiln__print(p->ir, "  %$0.group = lshr exact i64 %$0.k, $1\n", block, kiln__product_group_shift(&p->config));
    for (int column = 0; column < columns; column++)
        kiln__product_print_scale(p, kiln__name(p->ir, "%$0.group$1", block, column).text,
                                  kiln__name(p->ir, ".$0$1", block, column).text,
                                  kiln__name(p->ir, "%$0.group", block).text);
    for (int step = 0; step < size / width_of(&p->config); step++) print_step(p, block, "k", columns, step, NULL);
    close_steps(p, block, size, "end");
}

static void print_loops(struct kiln_product_printer *p, const char *block, int columns)
{
    int steps = unrolled(&p->config), lanes = width_of(&p->config);
    open_steps(p, block, steps * lanes, "tail.start");
    if (p->config.rows > 1 && !p->config.is_near) print_fetch(p, block, columns, steps);
    for (int step = 0; step < steps; step++) print_step(p, block, "k", columns, step, NULL);
    close_steps(p, block, steps * lanes, "tail.start");
    kiln__print(p->ir,
                "  %$0.tail.first = phi i64 [ 0, %$0.body ], [ %$0.k.end, %$0.k.body ]\n"
                "  br label %$0.tail.test\n\n"
                "$0.tail.test:\n"
                "  %$0.tail = phi i64 [ %$0.tail.first, %$0.tail.start ], [ %$0.tail.end, %$0.tail.body ]\n"
                "  %$0.tail.more = icmp slt i64 %$0.tail, %k\n"
                "  br i1 %$0.tail.more, label %$0.tail.body, label %$0.end\n\n"
                "$0.tail.body:\n"
                "  %$0.tail.end = add nuw nsw i64 %$0.tail, $1\n"
                "  %$0.tail.left = sub nsw i64 %k, %$0.tail\n",
                block, lanes);
    kiln__product_mask(p, kiln__name(p->ir, "%$0.tail", block).text, lanes);
    print_step(p, block, "tail", columns, 0, kiln__name(p->ir, "%$0.tail.on", block).text);
    kiln__print(p->ir, "  br label %$0.tail.test\n\n$0.end:\n", block);
}

/* ---- sums of lanes
 * --------------------------------------------------------------------------------------------------- */

/* The indices of two halves of a shuffle: of `width` lanes each value has `each` in a row, of which one half. */
static void print_half(struct kiln_product_printer *p, int width, int each, int half, bool has_other)
{
    int count = has_other ? 2 : 1, item = 0;
    kiln__print(p->ir, "<$0 x i32> <", width * count / 2);
    for (int start = 0; start < width; start += each)
        for (int vector = 0; vector < count; vector++)
            for (int i = 0; i < each / 2; i++)
                kiln__print(p->ir, "$0i32 $1", item++ ? ", " : "", vector * width + start + half * each / 2 + i);
    kiln__print(p->ir, ">\n");
}

/* name = halves of a and b (NULL: of a alone), added. */
static void print_fold(struct kiln_product_printer *p, const char *name, const char *a, const char *b, int width,
                       int each)
{
    for (int half = 0; half < 2; half++) {
        kiln__print(p->ir, "  $0.half$1 = shufflevector <$2 x float> $3, <$2 x float> $4, ", name, half, width, a,
                    b ? b : "poison");
        print_half(p, width, each, half, b);
    }
    kiln__print(p->ir, "  $0 = fadd <$1 x float> $0.half0, $0.half1\n", name, b ? width : width / 2);
}

/*
 * A vector with the total of `%<prefix>0` in lane 0, of `%<prefix>1` in lane 1, and so on. Vectors are folded in
 * pairs, so that each addition works on all lanes: after `level` of them a vector holds 2^level sums of lanes >>
 * level lanes each.
 */
static struct kiln_name print_totals(struct kiln_product_printer *p, const char *prefix, int count)
{
    int width = p->config.lanes, each = width, level = 0;
    struct kiln_name values[KILN_PRODUCT_ROWS];
    for (int i = 0; i < count; i++) values[i] = kiln__name(p->ir, "$0$1", prefix, i);
    for (; each > 1; each /= 2, level++) {
        bool is_pair = count > 1;
        if (is_pair) count /= 2;
        for (int i = 0; i < count; i++) {
            struct kiln_name name = kiln__name(p->ir, "$0.$1.$2", prefix, level, i);
            print_fold(p, name.text, values[i].text, is_pair ? values[i + count].text : NULL, width, each);
            values[i] = name;
        }
        if (!is_pair) width /= 2;
    }
    return values[0];
}

/* <prefix><item> = the sums of the unrolled steps, added in pairs */
static void print_unrolled_sum(struct kiln_product_printer *p, const char *prefix, int item, int column, int row)
{
    int steps = unrolled(&p->config), lanes = p->config.lanes;
    for (int i = 0; i < steps; i++)
        kiln__print(p->ir, "  $0$1$2 = load <$3 x float>, ptr %sum.$6.$4.$5, align 64\n", prefix, item,
                    steps == 1 ? "" : kiln__name(p->ir, "s$0", i).text, lanes, column, i, row);
    for (int half = steps / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            kiln__print(p->ir, "  $0$1$2 = fadd <$3 x float> $0$1$4, $0$1$5\n", prefix, item,
                        half == 1 ? "" : kiln__name(p->ir, "t$0", i).text, lanes,
                        kiln__name(p->ir, "$0$1", half * 2 == steps ? "s" : "t", i).text,
                        kiln__name(p->ir, "$0$1", half * 2 == steps ? "s" : "t", i + half).text);
}

/* out = lane `lane` of the <count x type> `values`, at `row` and the column `column` of the block. */
static void print_result(struct kiln_product_printer *p, const char *block, const char *values, int count,
                         const char *type, int lane, int row, int column)
{
    kiln__print(p->ir,
                "  $0$1 = extractelement <$2 x $3> $0, i64 $1\n"
                "  $0$1.column = add nuw nsw i64 %$4, $5\n"
                "  $0$1.at = getelementptr inbounds $3, ptr %o$6, i64 $0$1.column\n"
                "  store $3 $0$1, ptr $0$1.at, align $7\n",
                values, lane, count, type, block, column, row, kiln__dtype_size(p->out));
}

/* The sums of one column's rows are folded together; of one row, those of all columns. */
static void print_results(struct kiln_product_printer *p, const char *block, int columns)
{
    bool is_one_row = p->config.rows == 1;
    int rows = p->config.rows, lists = is_one_row ? 1 : columns, count = is_one_row ? columns : rows;
    for (int list = 0; list < lists; list++) {
        struct kiln_name prefix = kiln__name(p->ir, "%$0.sum$1.", block, list);
        for (int i = 0; i < count; i++)
            print_unrolled_sum(p, prefix.text, i, is_one_row ? i : list, is_one_row ? 0 : i);
        struct kiln_name totals = print_totals(p, prefix.text, count), out = kiln__name(p->ir, "$0out", prefix.text);
        const char *type = kiln__product_narrow(p, out.text, totals.text, count);
        for (int i = 0; i < count; i++)
            print_result(p, block, out.text, count, type, i, is_one_row ? 0 : i, is_one_row ? i : list);
    }
}

/* ---- blocks of columns
 * ----------------------------------------------------------------------------------------------- */

/* All blocks of `columns` columns from the phi's other input on; leaves for %<next>. */
static void print_block(struct kiln_product_printer *p, const char *block, int columns, const char *before,
                        const char *first, const char *next)
{
    int lanes = p->config.lanes;
    kiln__print(p->ir,
                "$0.test:\n"
                "  %$0 = phi i64 [ $1, %$2 ], [ %$0.after, %$0.$5 ]\n"
                "  %$0.after = add nuw nsw i64 %$0, $3\n"
                "  %$0.fits = icmp sle i64 %$0.after, %n\n"
                "  br i1 %$0.fits, label %$0.body, label %$4\n\n"
                "$0.body:\n",
                block, first, before, columns, next, p->config.digits ? "done" : "end");
    for (int column = 0; column < columns; column++) {
        kiln__print(p->ir,
                    "  %$0.c$1 = add nuw nsw i64 %$0, $1\n"
                    "  %$0.w$1.offset = mul nsw i64 %$0.c$1, %w.row\n"
                    "  %$0.w$1 = getelementptr inbounds i8, ptr %w, i64 %$0.w$1.offset\n"
                    "  %$0.next.c$1 = mul nsw i64 %w.row, $2\n"
                    "  %$0.next.w$1 = getelementptr i8, ptr %$0.w$1, i64 %$0.next.c$1\n",
                    block, column, columns);
        for (int i = 0; p->config.codes && i < 2; i++)
            kiln__print(p->ir,
                        "  %$0.$1$2.offset = mul nsw i64 %$1.c$2, %$0.row\n"
                        "  %$0.$1$2 = getelementptr inbounds i8, ptr %$0, i64 %$0.$1$2.offset\n",
                        i ? "biases" : "scales", block, column);
        for (int row = 0; row < p->config.rows; row++)
            for (int step = 0; step < unrolled(&p->config); step++)
                kiln__print(p->ir, "  store <$0 x float> zeroinitializer, ptr %sum.$1.$2.$3, align 64\n", lanes, row,
                            column, step);
    }
    if (p->config.digits)
        kiln__product_print_digit_sums(p, block, columns);
    else
        (p->config.codes ? print_groups : print_loops)(p, block, columns);
    print_results(p, block, columns);
    kiln__print(p->ir, "  br label %$0.test\n\n", block);
}

void kiln__product_print_dots(struct kiln_product_printer *p)
{
    int columns = columns_together(&p->config);
    for (int row = 0; row < p->config.rows; row++)
        for (int column = 0; column < columns; column++)
            for (int step = 0; step < unrolled(&p->config); step++)
                kiln__print(p->ir, "  %sum.$0.$1.$2 = alloca <$3 x float>, align 64\n", row, column, step,
                            p->config.lanes);
    kiln__print(p->ir, "  br label %$0.test\n\n", columns > 1 ? "some" : "one");
    if (columns > 1) print_block(p, "some", columns, "entry", "0", "one.test");
    print_block(p, "one", 1, columns > 1 ? "some.test" : "entry", columns > 1 ? "%some" : "0", "exit");
    kiln__print(p->ir, "exit:\n  ret void\n}\n");
}
