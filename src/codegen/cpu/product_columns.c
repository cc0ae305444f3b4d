/*
 * product_columns.c - a product with a weight whose rows have an element for each column of out.
 *
 *     for each block of columns, `vectors` vectors wide:
 *         for each k:  sums[row][column] += x[row][k] * weight[k][column]     (vectors across the columns)
 *         out[row][columns] = sums[row]
 *
 * k is at least 1, and tested at the end of the loop, so that sums stay in their registers. Wide blocks come first,
 * then vectors, then one that is masked. One row reads a kilobyte of each row of the weight at a time; with more rows
 * the registers hold sums of fewer columns, and fetching ahead takes the place of long reads.
 */
#include "codegen/cpu/product_printer.h"

enum { LINE = 64, FETCH_ROWS = 16 };

/* Vectors of columns, so that all sums are 16 or 8 registers. */
static int vectors_together(const struct kiln_product_config *config)
{
    int registers = config->lanes == 16 ? 16 : 8;
    return registers / config->rows;
}

static void print_fetch(struct kiln_product_printer *p, const char *block, int vectors)
{
    int bytes = (int)kiln__dtype_size(p->weight) * p->config.lanes * vectors;
    kiln__print(p->ir, "  %$0.ahead = getelementptr i8, ptr %$0.w.k, i64 %w.ahead\n", block);
    for (int line = 0; line * LINE < bytes; line++)
        kiln__print(p->ir,
                    "  %$0.ahead.$1 = getelementptr i8, ptr %$0.ahead, i64 $2\n"
                    "  call void @llvm.prefetch.p0(ptr %$0.ahead.$1, i32 0, i32 2, i32 1)\n",
                    block, line, line * LINE);
    kiln__declare(p->ir, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n");
}

/* Do vectors i - 1 and i of a block have one group of codes? Blocks and groups are powers of two, one in the other. */
static bool is_same_group(const struct kiln_product_config *config, int i, int vectors)
{
    int size = config->group_size, lanes = config->lanes;
    return i > 0 && (vectors * lanes <= size || i * lanes / size == (i - 1) * lanes / size);
}

static void print_codes(struct kiln_product_printer *p, const char *block, int vectors)
{
    struct kiln_name group = {""};
    for (int i = 0; i < vectors; i++) {
        struct kiln_name w = kiln__name(p->ir, "%$0.w$1", block, i);
        kiln__print(p->ir, "  $0.column = add nuw nsw i64 %$1, $2\n", w.text, block, i * p->config.lanes);
        if (!is_same_group(&p->config, i, vectors)) {
            group = kiln__name(p->ir, "$0.group", w.text);
            kiln__print(p->ir, "  $0 = lshr i64 $1.column, $2\n", group.text, w.text,
                        kiln__product_group_shift(&p->config));
            kiln__product_print_scale(p, group.text, kiln__name(p->ir, ".$0.k", block).text, group.text);
        }
        kiln__product_code_offset(p, kiln__name(p->ir, "$0.offset", w.text).text,
                                  kiln__name(p->ir, "$0.column", w.text).text);
        kiln__print(p->ir, "  $0.at = getelementptr inbounds i8, ptr %$1.w.k, i64 $0.offset\n", w.text, block);
        kiln__product_decode(p, w.text, kiln__name(p->ir, "$0.at", w.text).text, group.text);
    }
}

/* sums of all rows += x[row][k] times the weight's row k */
static void print_step(struct kiln_product_printer *p, const char *block, int vectors, const char *mask)
{
    int lanes = p->config.lanes;
    if (p->config.codes) print_codes(p, block, vectors);
    for (int i = 0; i < vectors && !p->config.codes; i++) {
        struct kiln_name w = kiln__name(p->ir, "%$0.w$1", block, i);
        kiln__print(p->ir, "  $0.at = getelementptr inbounds [$1 x i8], ptr %$2.w.k, i64 $3\n", w.text,
                    kiln__dtype_size(p->weight), block, i * lanes);
        kiln__product_load(p, w.text, p->weight, kiln__name(p->ir, "$0.at", w.text).text, mask);
    }
    for (int row = 0; row < p->config.rows; row++) {
        struct kiln_name x = kiln__name(p->ir, "%$0.x$1", block, row);
        kiln__print(p->ir,
                    "  $0.at = getelementptr inbounds float, ptr %x$1, i64 %$2.k\n"
                    "  $0.value = load float, ptr $0.at, align 4\n",
                    x.text, row, block);
        kiln__product_splat(p, x.text, "float", kiln__name(p->ir, "$0.value", x.text).text);
        for (int i = 0; i < vectors; i++)
            kiln__print(p->ir,
                        "  $0.sum$1 = load <$2 x float>, ptr %sum.$3.$1, align 64\n"
                        "  $0.more$1 = call <$2 x float> @llvm.fmuladd.v$2f32(<$2 x float> $0, <$2 x float> %$4.w$1, "
                        "<$2 x float> $0.sum$1)\n"
                        "  store <$2 x float> $0.more$1, ptr %sum.$3.$1, align 64\n",
                        x.text, i, lanes, row, block);
    }
    kiln__declare(p->ir, "declare <$0 x float> @llvm.fmuladd.v$0f32(<$0 x float>, <$0 x float>, <$0 x float>)\n",
                  lanes);
}

static void print_results(struct kiln_product_printer *p, const char *block, int vectors, const char *mask)
{
    int lanes = p->config.lanes;
    for (int row = 0; row < p->config.rows; row++)
        for (int i = 0; i < vectors; i++) {
            struct kiln_name out = kiln__name(p->ir, "%$0.out$1.$2", block, row, i);
            kiln__print(p->ir, "  $0.sum = load <$1 x float>, ptr %sum.$2.$3, align 64\n", out.text, lanes, row, i);
            const char *type = kiln__product_narrow(p, out.text, kiln__name(p->ir, "$0.sum", out.text).text, lanes);
            kiln__print(p->ir,
                        "  $0.column = add nuw nsw i64 %$1, $2\n"
                        "  $0.at = getelementptr inbounds $3, ptr %o$4, i64 $0.column\n",
                        out.text, block, i * lanes, type, row);
            if (!mask) {
                kiln__print(p->ir, "  store <$0 x $1> $2, ptr $2.at, align $3\n", lanes, type, out.text,
                            kiln__dtype_size(p->out));
                continue;
            }
            const char *suffix = p->out == KILN_FLOAT32 ? "f32" : "i16";
            kiln__print(p->ir,
                        "  call void @llvm.masked.store.v$0$1.p0(<$0 x $2> $3, ptr $3.at, i32 $4, <$0 x i1> $5)\n",
                        lanes, suffix, type, out.text, kiln__dtype_size(p->out), mask);
            kiln__declare(p->ir, "declare void @llvm.masked.store.v$0$1.p0(<$0 x $2>, ptr, i32 immarg, <$0 x i1>)\n",
                          lanes, suffix, type);
        }
}

/* All blocks of `vectors` vectors from %<before> on, or one with fewer columns than a vector has. */
static void print_block(struct kiln_product_printer *p, const char *block, int vectors, const char *before,
                        const char *first, const char *next, bool is_masked)
{
    int lanes = p->config.lanes;
    struct kiln_name on = kiln__name(p->ir, "%$0.on", block);
    const char *mask = is_masked ? on.text : NULL;
    kiln__print(p->ir,
                "$0.test:\n"
                "  %$0 = phi i64 [ $1, %$2 ], [ %$0.after, %$0.end ]\n"
                "  %$0.after = add nuw nsw i64 %$0, $3\n"
                "  %$0.fits = icmp $4 i64 %$0$5, %n\n"
                "  br i1 %$0.fits, label %$0.body, label %$6\n\n"
                "$0.body:\n",
                block, first, before, vectors * lanes, is_masked ? "slt" : "sle", is_masked ? "" : ".after", next);
    for (int row = 0; row < p->config.rows; row++)
        for (int i = 0; i < vectors; i++)
            kiln__print(p->ir, "  store <$0 x float> zeroinitializer, ptr %sum.$1.$2, align 64\n", lanes, row, i);
    kiln__print(p->ir, "  %$0.first = getelementptr inbounds [$1 x i8], ptr %w, i64 $2\n", block,
                kiln__dtype_size(p->weight), p->config.codes ? "0" : kiln__name(p->ir, "%$0", block).text);
    if (is_masked) {
        kiln__print(p->ir, "  %$0.left = sub nsw i64 %n, %$0\n", block);
        kiln__product_mask(p, kiln__name(p->ir, "%$0", block).text, lanes);
    }
    kiln__print(p->ir,
                "  br label %$0.k.body\n\n"
                "$0.k.body:\n"
                "  %$0.k = phi i64 [ 0, %$0.body ], [ %$0.k.next, %$0.k.body ]\n"
                "  %$0.w.k = phi ptr [ %$0.first, %$0.body ], [ %$0.w.next, %$0.k.body ]\n"
                "  %$0.k.next = add nuw nsw i64 %$0.k, 1\n"
                "  %$0.w.next = getelementptr i8, ptr %$0.w.k, i64 %w.row\n",
                block);
    for (int i = 0; p->config.codes && i < 2; i++)
        kiln__print(p->ir,
                    "  %$0.$1.offset = mul nuw nsw i64 %$1.k, %$0.row\n"
                    "  %$0.$1.k = getelementptr inbounds i8, ptr %$0, i64 %$0.$1.offset\n",
                    i ? "biases" : "scales", block);
    if (p->config.rows > 1 && !p->config.codes && vectors > 1 && !p->config.is_near) print_fetch(p, block, vectors);
    print_step(p, block, vectors, mask);
    kiln__print(p->ir,
                "  %$0.k.more = icmp slt i64 %$0.k.next, %k\n"
                "  br i1 %$0.k.more, label %$0.k.body, label %$0.end\n\n"
                "$0.end:\n",
                block);
    print_results(p, block, vectors, mask);
    kiln__print(p->ir, "  br label %$0.test\n\n", block);
}

void kiln__product_print_columns(struct kiln_product_printer *p)
{
    int vectors = vectors_together(&p->config);
    for (int row = 0; row < p->config.rows; row++)
        for (int i = 0; i < vectors; i++)
            kiln__print(p->ir, "  %sum.$0.$1 = alloca <$2 x float>, align 64\n", row, i, p->config.lanes);
    kiln__print(p->ir, "  %w.ahead = mul nsw i64 %w.row, $0\n  br label %$1.test\n\n", FETCH_ROWS,
                vectors > 1 ? "some" : "one");
    if (vectors > 1) print_block(p, "some", vectors, "entry", "0", "one.test", false);
    print_block(p, "one", 1, vectors > 1 ? "some.test" : "entry", vectors > 1 ? "%some" : "0",
                p->config.codes ? "exit" : "rest.test", false);
    if (!p->config.codes) print_block(p, "rest", 1, "one.test", "%one", "exit", true); /* rows are whole groups */
    kiln__print(p->ir, "exit:\n  ret void\n}\n");
}
