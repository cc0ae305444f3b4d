/*
 * product_pairs.c - products of bfloat16 by AVX-512 BF16: an instruction multiplies 32 numbers, and adds each two
 * products to a float32 lane. Codes of 4 bits are small integers, which bfloat16 holds exactly: with the bits of 128
 * above them they need no conversion. For a group
 *
 *     sum of x * (code * scale + bias)  =  scale * sum of x * (128 + code)  +  (bias - 128 * scale) * sum of x
 *
 * where the last sums, one for each row and group, are given.
 */
#include "codegen/cpu/product_printer.h"

enum { PAIRS = 16, NUMBERS = 2 * PAIRS };

void kiln__product_load_pairs(struct kiln_product_printer *p, const char *name, const char *pointer, const char *mask)
{
    if (!mask) {
        kiln__print(p->ir, "  $0 = load <$1 x bfloat>, ptr $2, align 2\n", name, NUMBERS, pointer);
        return;
    }
    kiln__print(p->ir,
                "  $0.bits = call <$1 x i16> @llvm.masked.load.v$1i16.p0(ptr $2, i32 2, <$1 x i1> $3, <$1 x i16> "
                "zeroinitializer)\n"
                "  $0 = bitcast <$1 x i16> $0.bits to <$1 x bfloat>\n",
                name, NUMBERS, pointer, mask);
    kiln__declare(p->ir, "declare <$0 x i16> @llvm.masked.load.v$0i16.p0(ptr, i32 immarg, <$0 x i1>, <$0 x i16>)\n",
                  NUMBERS);
}

/* The code of a byte's low half is first. 983055: the low four bits of each half of a lane; 1124090624: 128 in each. */
void kiln__product_decode_pairs(struct kiln_product_printer *p, const char *name, const char *pointer)
{
    kiln__print(p->ir,
                "  $0.bytes = load <$1 x i8>, ptr $2, align 1\n"
                "  $0.wide = zext <$1 x i8> $0.bytes to <$1 x i32>\n"
                "  $0.upper = shl nuw nsw <$1 x i32> $0.wide, splat (i32 12)\n"
                "  $0.both = or <$1 x i32> $0.wide, $0.upper\n"
                "  $0.clean = and <$1 x i32> $0.both, splat (i32 983055)\n"
                "  $0.codes = or <$1 x i32> $0.clean, splat (i32 1124090624)\n"
                "  $0 = bitcast <$1 x i32> $0.codes to <$3 x bfloat>\n",
                name, PAIRS, pointer, NUMBERS);
}

void kiln__product_add_pairs(struct kiln_product_printer *p, const char *sum, const char *x, const char *w)
{
    struct kiln_name old = kiln__name(p->ir, "$0.$1", x, sum + 1);
    kiln__print(
        p->ir,
        "  $0 = load <$1 x float>, ptr $2, align 64\n"
        "  $0.more = call <$1 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<$1 x float> $0, <$3 x bfloat> $4, <$3 x "
        "bfloat> $5)\n"
        "  store <$1 x float> $0.more, ptr $2, align 64\n",
        old.text, PAIRS, sum, NUMBERS, x, w);
    kiln__declare(
        p->ir, "declare <$0 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<$0 x float>, <$1 x bfloat>, <$1 x bfloat>)\n",
        PAIRS, NUMBERS);
}

/* ---- groups of codes ------------------------------------------------------------------------------------------------
 */

static void add_product(struct kiln_product_printer *p, const char *name, const char *sum, const char *a, const char *b)
{
    kiln__print(p->ir,
                "  $0.sum = load <$1 x float>, ptr $2, align 64\n"
                "  $0.more = call <$1 x float> @llvm.fmuladd.v$1f32(<$1 x float> $3, <$1 x float> $4, <$1 x float> "
                "$0.sum)\n"
                "  store <$1 x float> $0.more, ptr $2, align 64\n",
                name, PAIRS, sum, a, b);
    kiln__declare(p->ir, "declare <$0 x float> @llvm.fmuladd.v$0f32(<$0 x float>, <$0 x float>, <$0 x float>)\n",
                  PAIRS);
}

void kiln__product_begin_group(struct kiln_product_printer *p, int columns)
{
    for (int row = 0; row < p->config.rows; row++)
        for (int column = 0; column < columns; column++)
            kiln__print(p->ir, "  store <$0 x float> zeroinitializer, ptr %part.$1.$2.0, align 64\n", PAIRS, row,
                        column);
}

void kiln__product_end_group(struct kiln_product_printer *p, const char *block, int columns)
{
    for (int row = 0; row < p->config.rows; row++)
        for (int column = 0; column < columns; column++) {
            struct kiln_name name = kiln__name(p->ir, "%$0.part.$1.$2", block, row, column);
            kiln__print(p->ir, "  $0 = load <$1 x float>, ptr %part.$2.$3.0, align 64\n", name.text, PAIRS, row,
                        column);
            add_product(p, name.text, kiln__name(p->ir, "%sum.$0.$1.0", row, column).text, name.text,
                        kiln__name(p->ir, "%$0.group$1.scale", block, column).text);
        }
}

/* %<block>.side<column>.<part> = 16 scales or biases from group %<block>.side on */
static struct kiln_name load_side(struct kiln_product_printer *p, const char *block, int column, const char *part,
                                  const char *mask)
{
    struct kiln_name name = kiln__name(p->ir, "%$0.side$1.$2", block, column, part);
    kiln__print(p->ir, "  $0.at = getelementptr inbounds [$1 x i8], ptr %$2.$3$4, i64 %$3.side\n", name.text,
                kiln__dtype_size(p->config.scale_dtype), part, block, column);
    kiln__product_load(p, name.text, p->config.scale_dtype, kiln__name(p->ir, "$0.at", name.text).text, mask);
    return name;
}

void kiln__product_add_biases(struct kiln_product_printer *p, const char *block, int columns)
{
    struct kiln_name mask = kiln__name(p->ir, "%$0.side.on", block);
    kiln__print(p->ir,
                "  br label %$0.side.test\n\n"
                "$0.side.test:\n"
                "  %$0.side = phi i64 [ 0, %$0.end ], [ %$0.side.end, %$0.side.body ]\n"
                "  %$0.side.more = icmp slt i64 %$0.side, %groups\n"
                "  br i1 %$0.side.more, label %$0.side.body, label %$0.done\n\n"
                "$0.side.body:\n"
                "  %$0.side.end = add nuw nsw i64 %$0.side, $1\n"
                "  %$0.side.left = sub nsw i64 %groups, %$0.side\n",
                block, PAIRS);
    kiln__product_mask(p, kiln__name(p->ir, "%$0.side", block).text, PAIRS);
    for (int column = 0; column < columns; column++) {
        struct kiln_name scales = load_side(p, block, column, "scales", mask.text);
        struct kiln_name biases = load_side(p, block, column, "biases", mask.text);
        kiln__print(p->ir,
                    "  %$0.side$1 = call <$2 x float> @llvm.fmuladd.v$2f32(<$2 x float> $3, <$2 x float> splat (float "
                    "-128.0), <$2 x float> $4)\n",
                    block, column, PAIRS, scales.text, biases.text);
    }
    for (int row = 0; row < p->config.rows; row++) {
        struct kiln_name x = kiln__name(p->ir, "%$0.side.x$1", block, row);
        kiln__print(p->ir, "  $0.at = getelementptr inbounds float, ptr %s$1, i64 %$2.side\n", x.text, row, block);
        kiln__product_load(p, x.text, KILN_FLOAT32, kiln__name(p->ir, "$0.at", x.text).text, mask.text);
        for (int column = 0; column < columns; column++)
            add_product(p, kiln__name(p->ir, "$0.$1", x.text, column).text,
                        kiln__name(p->ir, "%sum.$0.$1.0", row, column).text, x.text,
                        kiln__name(p->ir, "%$0.side$1", block, column).text);
    }
    kiln__print(p->ir, "  br label %$0.side.test\n\n$0.done:\n", block);
}
