/*
 * product_digits.c - products with affine codes of 4 and 8 bits by AVX-512 VNNI: an instruction multiplies 64 bytes and
 * adds each four products to an integer lane, so codes stay what they are. A row of x becomes whole numbers first, one
 * power of two for each group of codes, and these become digits to the base 256, from -128 to 127:
 *
 *     x  =  unit of its group * (256^2 * digit[0] + 256 * digit[1] + digit[2])           (or without the first term)
 *     sum of x * (code * scale + bias)  =  scale * unit * sum of digits * codes  +  bias * sum of x
 *
 * Sums of integers are exact. A number is off by 2^-22 of the largest in its group at the most, with three digits, and
 * by 2^-14 with two; smaller than 2^-100 counts as that. A group with an infinity or a NaN gives NaN.
 *
 * A row of digits is blocks of as many elements as 64 bytes of codes have; the last one is filled with zeros:
 *
 *     for each digit, the highest first: 64 bytes for each part of a byte of codes (the even elements, then the odd)
 *     16 float32: the units, for the elements that a lane of integers adds up
 *
 * and behind all blocks the sum of x in each group, as float32, whose number is filled up to 16.
 */
#include "codegen/cpu/product_printer.h"

enum { LANES = 16, VECTOR = 64, AHEAD = 16384 /* bytes of codes that are asked for before they are read */ };

/* ---- the layout ---------------------------------------------------------------------------------------------------*/

static int elements_of_block(const struct kiln_product_config *config)
{
    return VECTOR * 8 / config->bits;
}

/* Codes in a byte. */
static int parts_of_byte(const struct kiln_product_config *config)
{
    return 8 / config->bits;
}

static int bytes_of_block(const struct kiln_product_config *config)
{
    return (config->digits * parts_of_byte(config) + 1) * VECTOR;
}

static int64_t blocks_of(const struct kiln_product_config *config, int64_t k)
{
    return (k + elements_of_block(config) - 1) / elements_of_block(config);
}

int64_t kiln__product_digits_bytes(const struct kiln_product_config *config, int64_t k)
{
    int64_t groups = (k / config->group_size + LANES - 1) / LANES * LANES;
    return blocks_of(config, k) * bytes_of_block(config) + groups * (int64_t)sizeof(float);
}

/* %blocks = those that are whole, %sums = where in a row of digits the sums of groups begin. */
static void print_layout(struct kiln_product_printer *p)
{
    int elements = elements_of_block(&p->config);
    kiln__print(p->ir,
                "  %blocks = udiv i64 %k, $0\n"
                "  %filled = add nuw nsw i64 %k, $1\n"
                "  %blocks.filled = udiv i64 %filled, $0\n"
                "  %sums = mul nuw nsw i64 %blocks.filled, $2\n",
                elements, elements - 1, bytes_of_block(&p->config));
}

/* ---- x to digits --------------------------------------------------------------------------------------------------*/

/* %unit of the group and its reciprocal: the exponent of the largest magnitude, less the bits that digits hold. */
static void print_unit(struct kiln_product_printer *p, int vectors)
{
    int bits = 8 * p->config.digits - 3;
    for (int i = 0; i < vectors; i++) {
        kiln__print(p->ir,
                    "  %bits$0 = bitcast <16 x float> %x$0 to <16 x i32>\n"
                    "  %size$0 = and <16 x i32> %bits$0, splat (i32 2147483647)\n",
                    i);
        if (i)
            kiln__print(p->ir, "  %most$0 = call <16 x i32> @llvm.umax.v16i32(<16 x i32> %$2$1, <16 x i32> %size$0)\n",
                        i, i - 1, i == 1 ? "size" : "most");
    }
    kiln__print(p->ir,
                "  %largest = call i32 @llvm.vector.reduce.umax.v16i32(<16 x i32> %most$0)\n"
                "  %exponent.all = lshr i32 %largest, 23\n"
                "  %is.finite = icmp ne i32 %exponent.all, 255\n"
                "  %exponent = call i32 @llvm.umax.i32(i32 %exponent.all, i32 27)\n"
                "  %unit.exponent = sub nsw i32 %exponent, $1\n"
                "  %unit.bits = shl i32 %unit.exponent, 23\n"
                "  %unit.finite = bitcast i32 %unit.bits to float\n"
                "  %unit = select i1 %is.finite, float %unit.finite, float 0x7FF8000000000000\n"
                "  %inverse.exponent = sub nsw i32 $2, %exponent\n"
                "  %inverse.bits = shl i32 %inverse.exponent, 23\n"
                "  %inverse.value = bitcast i32 %inverse.bits to float\n",
                vectors - 1, bits, 254 + bits);
    kiln__product_splat(p, "%inverse", "float", "%inverse.value");
    kiln__declare(p->ir, "declare <16 x i32> @llvm.umax.v16i32(<16 x i32>, <16 x i32>)\n");
    kiln__declare(p->ir, "declare i32 @llvm.vector.reduce.umax.v16i32(<16 x i32>)\n");
    kiln__declare(p->ir, "declare i32 @llvm.umax.i32(i32, i32)\n");
}

/* %q<i>: rounded by what the addition of 1.5 * 2^23 leaves no room for. %digit<d>.<i>, the highest first. */
static void print_digits(struct kiln_product_printer *p, int vector)
{
    struct kiln_name rest = kiln__name(p->ir, "%q$0", vector);
    kiln__print(p->ir,
                "  $0.scaled = fmul <16 x float> %x$1, %inverse\n"
                "  $0.near = fadd <16 x float> $0.scaled, splat (float 12582912.0)\n"
                "  $0.bits = bitcast <16 x float> $0.near to <16 x i32>\n"
                "  $0 = sub <16 x i32> $0.bits, splat (i32 1262485504)\n",
                rest.text, vector);
    for (int digit = p->config.digits - 1; digit >= 0; digit--) {
        kiln__print(p->ir, "  %digit$0.$1 = trunc <16 x i32> $2 to <16 x i8>\n", digit, vector, rest.text);
        if (digit == 0) break;
        struct kiln_name next = kiln__name(p->ir, "%rest$0.$1", digit, vector);
        kiln__print(p->ir,
                    "  $0.up = add <16 x i32> $1, splat (i32 128)\n"
                    "  $0 = ashr <16 x i32> $0.up, splat (i32 8)\n",
                    next.text, rest.text);
        rest = next;
    }
}

/* %<name>.all = the vectors %<name>.<first> and on, `count` of 16 bytes, in one. */
static struct kiln_name print_joined(struct kiln_product_printer *p, const char *name, int first, int count)
{
    struct kiln_name parts[8];
    for (int i = 0; i < count; i++) parts[i] = kiln__name(p->ir, "$0.$1", name, first + i);
    for (int width = LANES; count > 1; width *= 2, count /= 2)
        for (int i = 0; i < count / 2; i++) {
            struct kiln_name joined = kiln__name(p->ir, "$0.$1x$2", name, first + i, 2 * width);
            kiln__print(p->ir, "  $0 = shufflevector <$1 x i8> $2, <$1 x i8> $3, <$4 x i32> <", joined.text, width,
                        parts[2 * i].text, parts[2 * i + 1].text, 2 * width);
            for (int lane = 0; lane < 2 * width; lane++) kiln__print(p->ir, "$0i32 $1", lane ? ", " : "", lane);
            kiln__print(p->ir, ">\n");
            parts[i] = joined;
        }
    return parts[0];
}

/* Digits and units of `count` elements of the group, from its vector `first` on, to their place in a block. */
static void print_placed(struct kiln_product_printer *p, int first, int count)
{
    int parts = parts_of_byte(&p->config), bytes = count / parts;
    struct kiln_name at = kiln__name(p->ir, "%place$0", first);
    kiln__print(p->ir,
                "  $0.element = add nuw nsw i64 %at, $1\n"
                "  $0.block = udiv i64 $0.element, $2\n"
                "  $0.inside = urem i64 $0.element, $2\n"
                "  $0.block.offset = mul nuw nsw i64 $0.block, $3\n"
                "  $0.inside.offset = udiv i64 $0.inside, $4\n"
                "  $0.offset = add nuw nsw i64 $0.block.offset, $0.inside.offset\n"
                "  $0 = getelementptr inbounds i8, ptr %row.out, i64 $0.offset\n",
                at.text, first * LANES, elements_of_block(&p->config), bytes_of_block(&p->config), parts);
    for (int digit = 0; digit < p->config.digits; digit++) {
        struct kiln_name all = print_joined(p, kiln__name(p->ir, "%digit$0", digit).text, first, count / LANES);
        for (int part = 0; part < parts; part++) {
            struct kiln_name one = kiln__name(p->ir, "$0.part$1", all.text, part);
            kiln__print(p->ir, "  $0.at = getelementptr inbounds i8, ptr $1, i64 $2\n", one.text, at.text,
                        (digit * parts + part) * VECTOR);
            if (parts == 1)
                kiln__print(p->ir, "  $0 = bitcast <$1 x i8> $2 to <$1 x i8>\n", one.text, count, all.text);
            else
                kiln__print(p->ir,
                            "  $0.both = bitcast <$1 x i8> $2 to <$3 x i16>\n"
                            "  $0.down = lshr <$3 x i16> $0.both, splat (i16 $4)\n"
                            "  $0 = trunc <$3 x i16> $0.down to <$3 x i8>\n",
                            one.text, count, all.text, bytes, 8 * part);
            kiln__print(p->ir, "  store <$1 x i8> $0, ptr $0.at, align 1\n", one.text, bytes);
        }
    }
    int lanes = bytes / 4;
    kiln__print(p->ir,
                "  $0.units.one = insertelement <$1 x float> poison, float %unit, i64 0\n"
                "  $0.units = shufflevector <$1 x float> $0.units.one, <$1 x float> poison, <$1 x i32> "
                "zeroinitializer\n"
                "  $0.units.at = getelementptr inbounds i8, ptr $0, i64 $2\n"
                "  store <$1 x float> $0.units, ptr $0.units.at, align 4\n",
                at.text, lanes, p->config.digits * parts * VECTOR);
}

static void print_sum(struct kiln_product_printer *p, int vectors)
{
    for (int i = 1; i < vectors; i++)
        kiln__print(p->ir, "  %total$0 = add <16 x i32> %$2$1, %q$0\n", i, i - 1, i == 1 ? "q" : "total");
    kiln__print(p->ir,
                "  %total = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %total$0)\n"
                "  %total.float = sitofp i32 %total to float\n"
                "  %sum = fmul float %total.float, %unit\n"
                "  %sum.at = getelementptr inbounds float, ptr %row.sums, i64 %group\n"
                "  store float %sum, ptr %sum.at, align 4\n",
                vectors - 1);
    kiln__declare(p->ir, "declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)\n");
}

void kiln__product_print_splitting(struct kiln_product_printer *p)
{
    int size = p->config.group_size, elements = elements_of_block(&p->config),
        chunk = size < elements ? size : elements;
    print_layout(p);
    kiln__print(p->ir,
                "  br label %row.test\n\n"
                "row.test:\n"
                "  %row = phi i64 [ 0, %entry ], [ %row.next, %group.test ]\n"
                "  %row.more = icmp slt i64 %row, %rows\n"
                "  br i1 %row.more, label %row.body, label %exit\n\n"
                "row.body:\n"
                "  %row.next = add nuw nsw i64 %row, 1\n"
                "  %row.x.offset = mul nsw i64 %row, %x.row\n"
                "  %row.x = getelementptr inbounds i8, ptr %x, i64 %row.x.offset\n"
                "  %row.out.offset = mul nsw i64 %row, %o.row\n"
                "  %row.out = getelementptr inbounds i8, ptr %o, i64 %row.out.offset\n"
                "  %row.sums = getelementptr inbounds i8, ptr %row.out, i64 %sums\n"
                "  br label %group.test\n\n"
                "group.test:\n"
                "  %at = phi i64 [ 0, %row.body ], [ %at.next, %group.body ]\n"
                "  %group.more = icmp slt i64 %at, %k\n"
                "  br i1 %group.more, label %group.body, label %row.test\n\n"
                "group.body:\n"
                "  %at.next = add nuw nsw i64 %at, $0\n"
                "  %group = udiv i64 %at, $0\n"
                "  %group.x = getelementptr inbounds [$1 x i8], ptr %row.x, i64 %at\n",
                size, kiln__dtype_size(p->weight));
    for (int i = 0; i < size / LANES; i++) {
        struct kiln_name x = kiln__name(p->ir, "%x$0", i);
        kiln__print(p->ir, "  $0.at = getelementptr inbounds [$1 x i8], ptr %group.x, i64 $2\n", x.text,
                    kiln__dtype_size(p->weight), i * LANES);
        kiln__product_load(p, x.text, p->weight, kiln__name(p->ir, "$0.at", x.text).text, NULL);
    }
    print_unit(p, size / LANES);
    for (int i = 0; i < size / LANES; i++) print_digits(p, i);
    for (int first = 0; first < size; first += chunk) print_placed(p, first / LANES, chunk);
    print_sum(p, size / LANES);
    kiln__print(p->ir, "  br label %group.test\n\nexit:\n  ret void\n}\n");
}

/* ---- one block ----------------------------------------------------------------------------------------------------*/

/* %<at>.c<column>.<part> = 64 codes, one in a byte each. */
static void print_codes(struct kiln_product_printer *p, const char *block, const char *at, int column, bool is_last)
{
    struct kiln_name codes = kiln__name(p->ir, "$0.c$1", at, column);
    kiln__print(p->ir,
                "  $0.offset = shl nuw nsw i64 $1, 6\n"
                "  $0.at = getelementptr inbounds i8, ptr %$2.w$3, i64 $0.offset\n",
                codes.text, at, block, column);
    if (is_last) {
        kiln__print(p->ir,
                    "  $0.raw = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr $0.at, i32 1, <64 x i1> $1.bytes.on, "
                    "<64 x i8> zeroinitializer)\n",
                    codes.text, at);
        kiln__declare(p->ir, "declare <64 x i8> @llvm.masked.load.v64i8.p0(ptr, i32 immarg, <64 x i1>, <64 x i8>)\n");
    } else {
        kiln__print(p->ir, "  $0.raw = load <64 x i8>, ptr $0.at, align 1\n", codes.text);
    }
    kiln__print(p->ir,
                "  $0.ahead = getelementptr i8, ptr $0.at, i64 $1\n"
                "  call void @llvm.prefetch.p0(ptr $0.ahead, i32 0, i32 2, i32 1)\n",
                codes.text, AHEAD);
    kiln__declare(p->ir, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n");
    if (p->config.bits == 8)
        kiln__print(p->ir, "  $0.0 = bitcast <64 x i8> $0.raw to <16 x i32>\n", codes.text);
    else
        kiln__print(p->ir,
                    "  $0.words = bitcast <64 x i8> $0.raw to <16 x i32>\n"
                    "  $0.0 = and <16 x i32> $0.words, splat (i32 252645135)\n"
                    "  $0.down = lshr <16 x i32> $0.words, splat (i32 4)\n"
                    "  $0.1 = and <16 x i32> $0.down, splat (i32 252645135)\n",
                    codes.text);
}

/* %<at>.scale<column> = for each lane the scale of its group. */
static void print_scales(struct kiln_product_printer *p, const char *block, const char *at, int column, bool is_last)
{
    enum kiln_dtype dtype = p->config.scale_dtype;
    int elements = elements_of_block(&p->config), size = p->config.group_size, count = elements / size;
    struct kiln_name name = kiln__name(p->ir, "$0.scale$1", at, column), some = kiln__name(p->ir, "$0.some", name.text);
    kiln__print(p->ir,
                "  $0.first = mul nuw nsw i64 $1, $2\n"
                "  $0.group = udiv i64 $0.first, $3\n"
                "  $0.at = getelementptr inbounds [$4 x i8], ptr %scales.$5$6, i64 $0.group\n",
                name.text, at, elements, size, kiln__dtype_size(dtype), block, column);
    int lanes = p->config.lanes;
    p->config.lanes = (uint8_t)(count > 1 ? count : 1);
    kiln__product_load(p, some.text, dtype, kiln__name(p->ir, "$0.at", name.text).text,
                       is_last ? kiln__name(p->ir, "$0.groups.on", at).text : NULL);
    p->config.lanes = (uint8_t)lanes;
    kiln__print(p->ir, "  $0 = shufflevector <$1 x float> $0.some, <$1 x float> poison, <16 x i32> <", name.text,
                count > 1 ? count : 1);
    for (int lane = 0; lane < LANES; lane++)
        kiln__print(p->ir, "$0i32 $1", lane ? ", " : "", count > 1 ? lane * count / LANES : 0);
    kiln__print(p->ir, ">\n");
}

/* %<name> = %<sum> + codes times a digit of x. */
static void print_dot(struct kiln_product_printer *p, const char *name, const char *sum, const char *codes,
                      const char *digit)
{
    kiln__print(p->ir,
                "  $0 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> $1, <16 x i32> $2, <16 x i32> $3)\n",
                name, sum, codes, digit);
    kiln__declare(p->ir, "declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <16 x i32>, <16 x i32>)\n");
}

/* Where sums of three digits leave no room in an integer, which are those of 8 bits, the last one has its own. */
static struct kiln_name print_digit_sums(struct kiln_product_printer *p, const char *at, int row, int column, int first,
                                         int end)
{
    struct kiln_name sum = {"zeroinitializer"};
    for (int digit = first; digit < end; digit++) {
        if (digit > first) {
            struct kiln_name up = kiln__name(p->ir, "$0.up$1.$2.$3", at, row, column, digit);
            kiln__print(p->ir, "  $0 = shl <16 x i32> $1, splat (i32 8)\n", up.text, sum.text);
            sum = up;
        }
        for (int part = 0; part < parts_of_byte(&p->config); part++) {
            struct kiln_name more = kiln__name(p->ir, "$0.dot$1.$2.$3.$4", at, row, column, digit, part);
            print_dot(p, more.text, sum.text, kiln__name(p->ir, "$0.c$1.$2", at, column, part).text,
                      kiln__name(p->ir, "$0.x$1.$2.$3", at, row, digit, part).text);
            sum = more;
        }
    }
    struct kiln_name out = kiln__name(p->ir, "$0.f$1.$2.$3", at, row, column, first);
    kiln__print(p->ir, "  $0 = sitofp <16 x i32> $1 to <16 x float>\n", out.text, sum.text);
    return out;
}

static void print_fused(struct kiln_product_printer *p, const char *name, const char *a, const char *b, const char *c)
{
    kiln__print(p->ir,
                "  $0 = call <16 x float> @llvm.fmuladd.v16f32(<16 x float> $1, <16 x float> $2, <16 x float> $3)\n",
                name, a, b, c);
    kiln__declare(p->ir, "declare <16 x float> @llvm.fmuladd.v16f32(<16 x float>, <16 x float>, <16 x float>)\n");
}

static void add_to_sum(struct kiln_product_printer *p, const char *name, int row, int column, const char *a,
                       const char *b)
{
    struct kiln_name old = kiln__name(p->ir, "$0.old", name), place = kiln__name(p->ir, "%sum.$0.$1.0", row, column);
    kiln__print(p->ir, "  $0 = load <16 x float>, ptr $1, align 64\n", old.text, place.text);
    print_fused(p, name, a, b, old.text);
    kiln__print(p->ir, "  store <16 x float> $0, ptr $1, align 64\n", name, place.text);
}

/* %<at>.x<row>.<digit>.<part> and %<at>.x<row>.units */
static void print_x(struct kiln_product_printer *p, const char *at, int row)
{
    int parts = parts_of_byte(&p->config), vectors = p->config.digits * parts;
    struct kiln_name x = kiln__name(p->ir, "$0.x$1", at, row);
    kiln__print(p->ir,
                "  $0.offset = mul nuw nsw i64 $1, $2\n"
                "  $0.base = getelementptr inbounds i8, ptr %x$3, i64 $0.offset\n",
                x.text, at, bytes_of_block(&p->config), row);
    for (int i = 0; i < vectors; i++)
        kiln__print(p->ir,
                    "  $0.$1.$2.at = getelementptr inbounds i8, ptr $0.base, i64 $3\n"
                    "  $0.$1.$2 = load <16 x i32>, ptr $0.$1.$2.at, align 64\n",
                    x.text, i / parts, i % parts, i * VECTOR);
    kiln__print(p->ir,
                "  $0.units.at = getelementptr inbounds i8, ptr $0.base, i64 $1\n"
                "  $0.units = load <16 x float>, ptr $0.units.at, align 64\n",
                x.text, vectors * VECTOR);
}

static void print_block(struct kiln_product_printer *p, const char *block, const char *at, int columns, bool is_last)
{
    int digits = p->config.digits;
    bool is_wide = p->config.bits == 8 && digits == 3;
    for (int column = 0; column < columns; column++) {
        print_codes(p, block, at, column, is_last);
        print_scales(p, block, at, column, is_last);
    }
    for (int row = 0; row < p->config.rows; row++) {
        print_x(p, at, row);
        for (int column = 0; column < columns; column++) {
            struct kiln_name sum = print_digit_sums(p, at, row, column, 0, is_wide ? 2 : digits);
            if (is_wide) {
                struct kiln_name low = print_digit_sums(p, at, row, column, 2, 3);
                struct kiln_name all = kiln__name(p->ir, "$0.all$1.$2", at, row, column);
                print_fused(p, all.text, sum.text, "splat (float 256.0)", low.text);
                sum = all;
            }
            struct kiln_name real = kiln__name(p->ir, "$0.real$1.$2", at, row, column);
            kiln__print(p->ir, "  $0 = fmul <16 x float> $1, $2.x$3.units\n", real.text, sum.text, at, row);
            add_to_sum(p, kiln__name(p->ir, "$0.sum$1.$2", at, row, column).text, row, column, real.text,
                       kiln__name(p->ir, "$0.scale$1", at, column).text);
        }
    }
}

/* ---- all blocks of some columns -----------------------------------------------------------------------------------*/

/* %<name>.on = which of `lanes` items are below the i64 `count`. */
static void print_on(struct kiln_product_printer *p, const char *name, const char *count, int lanes)
{
    kiln__print(p->ir, "  $0.left = add i64 $1, 0\n", name, count);
    kiln__product_mask(p, name, lanes);
}

/* What is left of k, where it need not be whole blocks. */
static void print_last(struct kiln_product_printer *p, const char *block, int columns)
{
    int elements = elements_of_block(&p->config), size = p->config.group_size;
    struct kiln_name at = kiln__name(p->ir, "%$0.last", block);
    kiln__print(p->ir,
                "  %$0.is.whole = icmp eq i64 %blocks, %blocks.filled\n"
                "  br i1 %$0.is.whole, label %$0.side.start, label %$0.last.body\n\n"
                "$0.last.body:\n"
                "  $1 = add nuw nsw i64 %blocks, 0\n"
                "  $1.first = mul nuw nsw i64 %blocks, $2\n"
                "  $1.elements = sub nuw nsw i64 %k, $1.first\n"
                "  $1.bytes.count = udiv i64 $1.elements, $3\n"
                "  $1.groups.count = udiv i64 $1.elements, $4\n",
                block, at.text, elements, parts_of_byte(&p->config), size);
    print_on(p, kiln__name(p->ir, "$0.bytes", at.text).text, kiln__name(p->ir, "$0.bytes.count", at.text).text, VECTOR);
    print_on(p, kiln__name(p->ir, "$0.groups", at.text).text, kiln__name(p->ir, "$0.groups.count", at.text).text,
             elements / size);
    print_block(p, block, at.text, columns, true);
}

/* bias * the sum of x, 16 groups at a time. */
static void print_biases(struct kiln_product_printer *p, const char *block, int columns)
{
    struct kiln_name mask = kiln__name(p->ir, "%$0.side.on", block);
    kiln__print(p->ir,
                "  br label %$0.side.start\n\n"
                "$0.side.start:\n"
                "  br label %$0.side.test\n\n"
                "$0.side.test:\n"
                "  %$0.side = phi i64 [ 0, %$0.side.start ], [ %$0.side.end, %$0.side.body ]\n"
                "  %$0.side.more = icmp slt i64 %$0.side, %groups\n"
                "  br i1 %$0.side.more, label %$0.side.body, label %$0.done\n\n"
                "$0.side.body:\n"
                "  %$0.side.end = add nuw nsw i64 %$0.side, $1\n"
                "  %$0.side.left = sub nsw i64 %groups, %$0.side\n",
                block, LANES);
    kiln__product_mask(p, kiln__name(p->ir, "%$0.side", block).text, LANES);
    for (int column = 0; column < columns; column++) {
        struct kiln_name bias = kiln__name(p->ir, "%$0.side.b$1", block, column);
        kiln__print(p->ir, "  $0.at = getelementptr inbounds [$1 x i8], ptr %biases.$2$3, i64 %$2.side\n", bias.text,
                    kiln__dtype_size(p->config.scale_dtype), block, column);
        kiln__product_load(p, bias.text, p->config.scale_dtype, kiln__name(p->ir, "$0.at", bias.text).text, mask.text);
    }
    for (int row = 0; row < p->config.rows; row++) {
        struct kiln_name x = kiln__name(p->ir, "%$0.side.x$1", block, row);
        kiln__print(p->ir,
                    "  $0.base = getelementptr inbounds i8, ptr %x$1, i64 %sums\n"
                    "  $0.at = getelementptr inbounds float, ptr $0.base, i64 %$2.side\n"
                    "  $0 = load <16 x float>, ptr $0.at, align 64\n",
                    x.text, row, block);
        for (int column = 0; column < columns; column++)
            add_to_sum(p, kiln__name(p->ir, "$0.$1", x.text, column).text, row, column, x.text,
                       kiln__name(p->ir, "%$0.side.b$1", block, column).text);
    }
    kiln__print(p->ir, "  br label %$0.side.test\n\n$0.done:\n", block);
}

void kiln__product_print_digit_layout(struct kiln_product_printer *p)
{
    kiln__print(p->ir, "  %groups = udiv i64 %k, $0\n", p->config.group_size);
    print_layout(p);
}

void kiln__product_print_digit_sums(struct kiln_product_printer *p, const char *block, int columns)
{
    struct kiln_name at = kiln__name(p->ir, "%$0.b", block);
    kiln__print(p->ir,
                "  br label %$0.b.test\n\n"
                "$0.b.test:\n"
                "  %$0.b = phi i64 [ 0, %$0.body ], [ %$0.b.next, %$0.b.body ]\n"
                "  %$0.b.more = icmp slt i64 %$0.b, %blocks\n"
                "  br i1 %$0.b.more, label %$0.b.body, label %$0.b.end\n\n"
                "$0.b.body:\n"
                "  %$0.b.next = add nuw nsw i64 %$0.b, 1\n",
                block);
    print_block(p, block, at.text, columns, false);
    kiln__print(p->ir, "  br label %$0.b.test\n\n$0.b.end:\n", block);
    if (p->config.group_size < elements_of_block(&p->config)) print_last(p, block, columns);
    print_biases(p, block, columns);
}
