/*
 * product_codes.c - weights from codes of a few bits, a vector at a time: whole bytes are loaded, each code is moved to
 * the low end of a lane of its own, and becomes a float32 exactly. Small floats get there as float16, whose exponent is
 * wider, and a power of two.
 */
#include "codegen/cpu/product_printer.h"

int kiln__product_group_shift(const struct kiln_product_config *config)
{
    int shift = 0;
    while (config->group_size >> shift > 1) shift++;
    return shift;
}

/* ---- scales
 * ---------------------------------------------------------------------------------------------------------- */

/* %name.value = one affine scale or bias, as a float. */
static void load_affine(struct kiln_product_printer *p, const char *name, const char *row, const char *group)
{
    enum kiln_dtype dtype = p->config.scale_dtype;
    const char *type = dtype == KILN_FLOAT32 ? "float" : dtype == KILN_FLOAT16 ? "half" : "i16";
    kiln__print(p->ir,
                "  $0.at = getelementptr inbounds $1, ptr $2, i64 $3\n"
                "  $0.$4 = load $1, ptr $0.at, align $5\n",
                name, type, row, group, dtype == KILN_FLOAT32 ? "value" : "raw", kiln__dtype_size(dtype));
    if (dtype == KILN_FLOAT16) kiln__print(p->ir, "  $0.value = fpext half $0.raw to float\n", name);
    if (dtype == KILN_BFLOAT16)
        kiln__print(p->ir,
                    "  $0.low = zext i16 $0.raw to i32\n"
                    "  $0.high = shl i32 $0.low, 16\n"
                    "  $0.value = bitcast i32 $0.high to float\n",
                    name);
}

/* 2^(code - 127): the exponent of a float32, but for the first, which is a denormal one. */
static void load_e8m0(struct kiln_product_printer *p, const char *name, const char *row, const char *group)
{
    kiln__print(p->ir,
                "  $0.at = getelementptr inbounds i8, ptr $1, i64 $2\n"
                "  $0.code = load i8, ptr $0.at, align 1\n"
                "  $0.wide = zext i8 $0.code to i32\n"
                "  $0.exponent = shl nuw nsw i32 $0.wide, 23\n"
                "  $0.bits = call i32 @llvm.umax.i32(i32 $0.exponent, i32 4194304)\n"
                "  $0.value = bitcast i32 $0.bits to float\n",
                name, row, group);
    kiln__declare(p->ir, "declare i32 @llvm.umax.i32(i32, i32)\n");
}

static void load_e4m3(struct kiln_product_printer *p, const char *name, const char *row, const char *group)
{
    kiln__print(p->ir,
                "  $0.at = getelementptr inbounds i8, ptr $1, i64 $2\n"
                "  $0.code = load i8, ptr $0.at, align 1\n"
                "  $0.wide = zext i8 $0.code to i16\n"
                "  $0.size = and i16 $0.wide, 127\n"
                "  $0.size.at = shl nuw nsw i16 $0.size, 7\n"
                "  $0.sign = and i16 $0.wide, 128\n"
                "  $0.sign.at = shl nuw i16 $0.sign, 8\n"
                "  $0.bits = or i16 $0.size.at, $0.sign.at\n"
                "  $0.half = bitcast i16 $0.bits to half\n"
                "  $0.float = fpext half $0.half to float\n"
                "  $0.real = fmul float $0.float, 256.0\n"
                "  $0.nan = icmp eq i16 $0.size, 127\n"
                "  $0.scale = select i1 $0.nan, float 0x7FF8000000000000, float $0.real\n"
                "  $0.value = fmul float $0.scale, %factor\n",
                name, row, group);
}

void kiln__product_print_scale(struct kiln_product_printer *p, const char *name, const char *row, const char *group)
{
    bool is_affine = p->config.codes == KILN_CODES_AFFINE;
    for (int part = 0; part < 1 + is_affine; part++) {
        struct kiln_name part_name = kiln__name(p->ir, "$0.$1", name, part ? "bias" : "scale");
        struct kiln_name part_row = kiln__name(p->ir, "%$0$1", part ? "biases" : "scales", row);
        if (is_affine)
            load_affine(p, part_name.text, part_row.text, group);
        else if (p->config.codes == KILN_CODES_NVFP4)
            load_e4m3(p, part_name.text, part_row.text, group);
        else
            load_e8m0(p, part_name.text, part_row.text, group);
        kiln__product_splat(p, part_name.text, "float", kiln__name(p->ir, "$0.value", part_name.text).text);
    }
}

/* ---- codes
 * ----------------------------------------------------------------------------------------------------------- */

/* %name.codes = <lanes x i32>, of 4 bits: a byte becomes the low and the high half of 64 bits. */
static void spread_nibbles(struct kiln_product_printer *p, const char *name, const char *pointer)
{
    kiln__print(p->ir,
                "  $0.bytes = load <$1 x i8>, ptr $2, align 1\n"
                "  $0.pairs = zext <$1 x i8> $0.bytes to <$1 x i64>\n"
                "  $0.upper = shl nuw nsw <$1 x i64> $0.pairs, splat (i64 28)\n"
                "  $0.both = or <$1 x i64> $0.pairs, $0.upper\n"
                "  $0.clean = and <$1 x i64> $0.both, splat (i64 64424509455)\n"
                "  $0.codes = bitcast <$1 x i64> $0.clean to <$3 x i32>\n",
                name, p->config.lanes / 2, pointer, p->config.lanes);
}

static void spread_bytes(struct kiln_product_printer *p, const char *name, const char *pointer)
{
    kiln__print(p->ir,
                "  $0.bytes = load <$1 x i8>, ptr $2, align 1\n"
                "  $0.codes = zext <$1 x i8> $0.bytes to <$1 x i32>\n",
                name, p->config.lanes, pointer);
}

/* Of any width: each lane gets the two bytes that hold its code, which it shifts down. */
static void spread_bits(struct kiln_product_printer *p, const char *name, const char *pointer)
{
    int lanes = p->config.lanes, bits = p->config.bits, bytes = lanes * bits / 8;
    kiln__print(p->ir,
                "  $0.bytes = load <$1 x i8>, ptr $2, align 1\n"
                "  $0.pairs = shufflevector <$1 x i8> $0.bytes, <$1 x i8> poison, <$3 x i32> <",
                name, bytes, pointer, 2 * lanes);
    for (int i = 0; i < lanes; i++) {
        int first = i * bits / 8, second = first + 1 < bytes ? first + 1 : first;
        kiln__print(p->ir, "$0i32 $1, i32 $2", i ? ", " : "", first, second);
    }
    kiln__print(p->ir,
                ">\n"
                "  $0.words = bitcast <$1 x i8> $0.pairs to <$2 x i16>\n"
                "  $0.down = lshr <$2 x i16> $0.words, <",
                name, 2 * lanes, lanes);
    for (int i = 0; i < lanes; i++) kiln__print(p->ir, "$0i16 $1", i ? ", " : "", i * bits % 8);
    kiln__print(p->ir,
                ">\n"
                "  $0.clean = and <$1 x i16> $0.down, splat (i16 $2)\n"
                "  $0.codes = zext <$1 x i16> $0.clean to <$1 x i32>\n",
                name, lanes, (1 << bits) - 1);
}

/* %name.real = the numbers for %name.codes: a sign and `magnitude` bits below it, of which `mantissa` are digits. */
static void small_floats(struct kiln_product_printer *p, const char *name, int magnitude, int mantissa,
                         const char *unit)
{
    int lanes = p->config.lanes, sizes = (1 << magnitude) - 1;
    kiln__print(p->ir,
                "  $0.narrow = trunc <$1 x i32> $0.codes to <$1 x i16>\n"
                "  $0.size = and <$1 x i16> $0.narrow, splat (i16 $2)\n"
                "  $0.size.at = shl nuw nsw <$1 x i16> $0.size, splat (i16 $3)\n"
                "  $0.sign = and <$1 x i16> $0.narrow, splat (i16 $4)\n"
                "  $0.sign.at = shl <$1 x i16> $0.sign, splat (i16 $5)\n"
                "  $0.half.bits = or <$1 x i16> $0.size.at, $0.sign.at\n"
                "  $0.half = bitcast <$1 x i16> $0.half.bits to <$1 x half>\n"
                "  $0.float = fpext <$1 x half> $0.half to <$1 x float>\n"
                "  $0.$6 = fmul <$1 x float> $0.float, splat (float $7)\n",
                name, lanes, sizes, 10 - mantissa, sizes + 1, 15 - magnitude, magnitude == 7 ? "finite" : "real", unit);
    if (magnitude == 7)
        kiln__print(p->ir,
                    "  $0.nan = icmp eq <$1 x i16> $0.size, splat (i16 127)\n"
                    "  $0.real = select <$1 x i1> $0.nan, <$1 x float> splat (float 0x7FF8000000000000), <$1 x float> "
                    "$0.finite\n",
                    name, lanes);
}

void kiln__product_decode(struct kiln_product_printer *p, const char *name, const char *pointer, const char *group)
{
    int lanes = p->config.lanes, bits = p->config.bits;
    (bits == 4 ? spread_nibbles : bits == 8 ? spread_bytes : spread_bits)(p, name, pointer);
    if (p->config.codes == KILN_CODES_AFFINE) {
        kiln__print(p->ir,
                    "  $0.real = uitofp <$1 x i32> $0.codes to <$1 x float>\n"
                    "  $0 = call <$1 x float> @llvm.fmuladd.v$1f32(<$1 x float> $0.real, <$1 x float> $2.scale, <$1 x "
                    "float> $2.bias)\n",
                    name, lanes, group);
        kiln__declare(p->ir, "declare <$0 x float> @llvm.fmuladd.v$0f32(<$0 x float>, <$0 x float>, <$0 x float>)\n",
                      lanes);
        return;
    }
    if (bits == 8)
        small_floats(p, name, 7, 3, "256.0");
    else
        small_floats(p, name, 3, 1, "16384.0");
    kiln__print(p->ir, "  $0 = fmul <$1 x float> $0.real, $2.scale\n", name, lanes, group);
}

void kiln__product_code_offset(struct kiln_product_printer *p, const char *name, const char *index)
{
    kiln__print(p->ir, "  $0.bits = mul nuw nsw i64 $1, $2\n  $0 = lshr exact i64 $0.bits, 3\n", name, index,
                p->config.bits);
}

/* ---- expanding
 * ------------------------------------------------------------------------------------------------------- */

/* A row is whole groups. */
void kiln__product_print_expansion(struct kiln_product_printer *p)
{
    int group_size = p->config.group_size, lanes = p->config.lanes;
    kiln__print(p->ir, "  br label %row.test\n\n"
                       "row.test:\n"
                       "  %row = phi i64 [ 0, %entry ], [ %row.next, %group.test ]\n"
                       "  %row.more = icmp slt i64 %row, %rows\n"
                       "  br i1 %row.more, label %row.body, label %exit\n\n"
                       "row.body:\n"
                       "  %row.next = add nuw nsw i64 %row, 1\n");
    static const char *const pointers[] = {"o", "w", "scales", "biases"};
    for (int i = 0; i < 4; i++)
        kiln__print(p->ir,
                    "  %$0.row.offset = mul nsw i64 %row, %$0.row\n"
                    "  %$0.base = getelementptr inbounds i8, ptr %$0, i64 %$0.row.offset\n",
                    pointers[i]);
    kiln__print(p->ir,
                "  br label %group.test\n\n"
                "group.test:\n"
                "  %at = phi i64 [ 0, %row.body ], [ %at.next, %group.body ]\n"
                "  %group.more = icmp slt i64 %at, %n\n"
                "  br i1 %group.more, label %group.body, label %row.test\n\n"
                "group.body:\n"
                "  %at.next = add nuw nsw i64 %at, $0\n"
                "  %group = lshr exact i64 %at, $1\n",
                group_size, kiln__product_group_shift(&p->config));
    kiln__product_print_scale(p, "%group", ".base", "%group");
    for (int i = 0; i < group_size / lanes; i++) {
        struct kiln_name name = kiln__name(p->ir, "%value$0", i);
        kiln__print(p->ir, "  $0.index = add nuw nsw i64 %at, $1\n", name.text, i * lanes);
        kiln__product_code_offset(p, kiln__name(p->ir, "$0.offset", name.text).text,
                                  kiln__name(p->ir, "$0.index", name.text).text);
        kiln__print(p->ir, "  $0.from = getelementptr inbounds i8, ptr %w.base, i64 $0.offset\n", name.text);
        kiln__product_decode(p, name.text, kiln__name(p->ir, "$0.from", name.text).text, "%group");
        kiln__print(p->ir,
                    "  $0.to = getelementptr inbounds float, ptr %o.base, i64 $0.index\n"
                    "  store <$1 x float> $0, ptr $0.to, align 4\n",
                    name.text, lanes);
    }
    kiln__print(p->ir, "  br label %group.test\n\nexit:\n  ret void\n}\n");
}
