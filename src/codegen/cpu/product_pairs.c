/*
 * product_pairs.c - products of bfloat16 by AVX-512 BF16: an instruction multiplies 32 numbers, and adds each two
 * products to a float32 lane.
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
