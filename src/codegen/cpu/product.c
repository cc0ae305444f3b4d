/*
 * product.c - see product.h: the frame of a kernel, and vectors in memory. Rows that are not there are the last one
 * once more: it is computed and stored again, with the same bits, so that no kernel asks how many there are.
 */
#include "codegen/cpu/product_printer.h"

#include "codegen/kernel_name.h"
#include "codegen/lower.h"

/* ---- the config ----------------------------------------------------------------------------------------------------
 */

unsigned kiln__product_pack(const struct kiln_product_config *config)
{
    unsigned scale = config->scale_dtype == KILN_FLOAT32 ? 0 : config->scale_dtype == KILN_FLOAT16 ? 1 : 2;
    unsigned flags = (unsigned)config->is_transposed | (unsigned)config->is_near << 1 |
                     (unsigned)config->is_expanding << 2 | (unsigned)config->has_bf16 << 3 |
                     (unsigned)config->rows << 4 | (unsigned)config->lanes << 8;
    if (!config->codes) return flags;
    return flags | (unsigned)config->codes << 13 | (unsigned)config->bits << 16 |
           (unsigned)kiln__product_group_shift(config) << 20 | scale << 24 | (unsigned)config->digits << 26 |
           (unsigned)config->is_splitting << 28;
}

struct kiln_product_config kiln__product_unpack(unsigned flags)
{
    static const enum kiln_dtype scales[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16, KILN_BFLOAT16};
    return (struct kiln_product_config){.is_transposed = flags & 1,
                                        .is_near = flags >> 1 & 1,
                                        .is_expanding = flags >> 2 & 1,
                                        .has_bf16 = flags >> 3 & 1,
                                        .rows = flags >> 4 & 15,
                                        .lanes = flags >> 8 & 31,
                                        .codes = (enum kiln_product_codes)(flags >> 13 & 7),
                                        .bits = flags >> 16 & 15,
                                        .group_size = (uint8_t)(1u << (flags >> 20 & 15)),
                                        .scale_dtype = scales[flags >> 24 & 3],
                                        .digits = flags >> 26 & 3,
                                        .is_splitting = flags >> 28 & 1};
}

/* ---- vectors -------------------------------------------------------------------------------------------------------
 */

static void splat(struct kiln_product_printer *p, const char *name, const char *type, const char *value, int lanes)
{
    kiln__print(p->ir,
                "  $0.one = insertelement <$1 x $2> poison, $2 $3, i64 0\n"
                "  $0 = shufflevector <$1 x $2> $0.one, <$1 x $2> poison, <$1 x i32> zeroinitializer\n",
                name, lanes, type, value);
}

void kiln__product_splat(struct kiln_product_printer *p, const char *name, const char *type, const char *value)
{
    splat(p, name, type, value, p->config.lanes);
}

void kiln__product_mask(struct kiln_product_printer *p, const char *name, int lanes)
{
    splat(p, kiln__name(p->ir, "$0.all", name).text, "i64", kiln__name(p->ir, "$0.left", name).text, lanes);
    kiln__print(p->ir, "  $0.on = icmp ult <$1 x i64> <", name, lanes);
    for (int i = 0; i < lanes; i++) kiln__print(p->ir, "$0i64 $1", i ? ", " : "", i);
    kiln__print(p->ir, ">, $0.all\n", name);
}

/* In memory: its element type in a vector, and how LLVM's intrinsics call that. */
static const char *element_type(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 ? "float" : dtype == KILN_FLOAT16 ? "half" : "i16";
}

static const char *element_suffix(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 ? "f32" : dtype == KILN_FLOAT16 ? "f16" : "i16";
}

void kiln__product_load(struct kiln_product_printer *p, const char *name, enum kiln_dtype dtype, const char *pointer,
                        const char *mask)
{
    int lanes = p->config.lanes;
    const char *type = element_type(dtype), *suffix = element_suffix(dtype);
    struct kiln_name raw = kiln__name(p->ir, "$0$1", name, dtype == KILN_FLOAT32 ? "" : ".raw");
    if (mask) {
        kiln__print(p->ir,
                    "  $0 = call <$1 x $2> @llvm.masked.load.v$1$3.p0(ptr $4, i32 $5, <$1 x i1> $6, <$1 x $2> "
                    "zeroinitializer)\n",
                    raw.text, lanes, type, suffix, pointer, kiln__dtype_size(dtype), mask);
        kiln__declare(p->ir, "declare <$0 x $1> @llvm.masked.load.v$0$2.p0(ptr, i32 immarg, <$0 x i1>, <$0 x $1>)\n",
                      lanes, type, suffix);
    } else {
        kiln__print(p->ir, "  $0 = load <$1 x $2>, ptr $3, align $4\n", raw.text, lanes, type, pointer,
                    kiln__dtype_size(dtype));
    }
    if (dtype == KILN_FLOAT16) kiln__print(p->ir, "  $0 = fpext <$1 x half> $0.raw to <$1 x float>\n", name, lanes);
    if (dtype == KILN_BFLOAT16)
        kiln__print(p->ir,
                    "  $0.low = zext <$1 x i16> $0.raw to <$1 x i32>\n"
                    "  $0.high = shl <$1 x i32> $0.low, splat (i32 16)\n"
                    "  $0 = bitcast <$1 x i32> $0.high to <$1 x float>\n",
                    name, lanes);
}

/* A NaN is settled, as in lower.c: the sign clear and no payload. */
const char *kiln__product_narrow(struct kiln_product_printer *p, const char *name, const char *value, int count)
{
    kiln__print(p->ir, "  $0.nan = fcmp uno <$1 x float> $2, zeroinitializer\n", name, count, value);
    if (p->out == KILN_FLOAT32) {
        kiln__print(p->ir,
                    "  $0 = select <$1 x i1> $0.nan, <$1 x float> splat (float 0x7FF8000000000000), <$1 x float> "
                    "$2\n",
                    name, count, value);
        return "float";
    }
    if (p->out == KILN_FLOAT16)
        kiln__print(p->ir,
                    "  $0.half = fptrunc <$1 x float> $2 to <$1 x half>\n"
                    "  $0.short = bitcast <$1 x half> $0.half to <$1 x i16>\n",
                    name, count, value);
    else
        kiln__print(p->ir,
                    "  $0.bits = bitcast <$1 x float> $2 to <$1 x i32>\n"
                    "  $0.down = lshr <$1 x i32> $0.bits, splat (i32 16)\n"
                    "  $0.odd = and <$1 x i32> $0.down, splat (i32 1)\n"
                    "  $0.up = add <$1 x i32> $0.odd, splat (i32 32767)\n"
                    "  $0.near = add <$1 x i32> $0.bits, $0.up\n"
                    "  $0.upper = lshr <$1 x i32> $0.near, splat (i32 16)\n"
                    "  $0.short = trunc <$1 x i32> $0.upper to <$1 x i16>\n",
                    name, count, value);
    kiln__print(p->ir, "  $0 = select <$1 x i1> $0.nan, <$1 x i16> splat (i16 $2), <$1 x i16> $0.short\n", name, count,
                p->out == KILN_FLOAT16 ? 0x7e00 : 0x7fc0);
    return "i16";
}

/* ---- the frame -----------------------------------------------------------------------------------------------------
 */

static void print_arguments(struct kiln_product_printer *p)
{
    static const char *const pointers[] = {"o", "x", "w", "scales", "biases"};
    for (int i = 0; i < (p->config.codes ? 5 : 3); i++)
        kiln__print(p->ir,
                    "  %$0.arg = getelementptr inbounds i64, ptr %args, i64 $1\n"
                    "  %$0 = load ptr, ptr %$0.arg, align 8\n"
                    "  %$0.stride = getelementptr inbounds i64, ptr %strides, i64 $2\n"
                    "  %$0.row = load i64, ptr %$0.stride, align 8\n",
                    pointers[i], i, 2 * i);
    kiln__print(p->ir, "  %k.arg = getelementptr inbounds i64, ptr %args, i64 5\n"
                       "  %k = load i64, ptr %k.arg, align 8\n"
                       "  %factor.arg = getelementptr inbounds i64, ptr %args, i64 6\n"
                       "  %factor = load float, ptr %factor.arg, align 8\n"
                       "  %last = sub nsw i64 %rows, 1\n");
    if (p->config.is_expanding || p->config.is_splitting) return;
    if (p->config.digits) kiln__product_print_digit_layout(p);
    for (int row = 0; row < p->config.rows; row++)
        kiln__print(p->ir,
                    "  %row$0 = call i64 @llvm.smin.i64(i64 %last, i64 $0)\n"
                    "  %x$0.offset = mul nsw i64 %row$0, %x.row\n"
                    "  %x$0 = getelementptr inbounds i8, ptr %x, i64 %x$0.offset\n"
                    "  %o$0.offset = mul nsw i64 %row$0, %o.row\n"
                    "  %o$0 = getelementptr inbounds i8, ptr %o, i64 %o$0.offset\n",
                    row);
    kiln__declare(p->ir, "declare i64 @llvm.smin.i64(i64, i64)\n");
}

static bool is_known(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 || dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
}

static void print_heading(struct kiln_product_printer *p)
{
    static const char *const names[] = {"", "affine", "mxfp4", "mxfp8", "nvfp4"};
    const struct kiln_product_config *config = &p->config;
    struct kiln_name weight = kiln__name(p->ir, "$0", kiln__dtypes[p->weight].name);
    if (config->codes == KILN_CODES_AFFINE)
        weight = kiln__name(p->ir, "affine $0 bits, groups of $1 with $2", config->bits, config->group_size,
                            kiln__dtypes[config->scale_dtype].name);
    else if (config->codes)
        weight = kiln__name(p->ir, "$0", names[config->codes]);
    if (config->is_expanding)
        kiln__print(p->ir, "; kiln weight: float32 = $0, $1 lanes\n\n", weight.text, config->lanes);
    else if (config->is_splitting)
        kiln__print(p->ir, "; kiln digits: $0 of each $1, for codes of $2 bits, groups of $3\n\n", config->digits,
                    kiln__dtypes[p->out].name, config->bits, config->group_size);
    else if (config->digits)
        kiln__print(p->ir, "; kiln product: $0 = $1 digits * $2 transposed, $3 rows\n\n", kiln__dtypes[p->out].name,
                    config->digits, weight.text, config->rows);
    else
        kiln__print(p->ir, "; kiln product: $0 = $6 * $1$2, $3 rows, $4 lanes$5\n\n", kiln__dtypes[p->out].name,
                    weight.text, config->is_transposed ? " transposed" : "", config->rows, config->lanes,
                    config->is_near ? ", near" : "", config->has_bf16 ? "bfloat16" : "float32");
}

kiln_status kiln__product_print(enum kiln_dtype weight, enum kiln_dtype out, const struct kiln_product_config *config,
                                struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    struct kiln_product_printer p = {weight, out, *config, &ir};
    if ((!config->codes && !is_known(weight)) || !is_known(out))
        return kiln__fail(err, KILN_INVALID, "no kernel multiplies with %s to %s", kiln__dtypes[weight].name,
                          kiln__dtypes[out].name);
    print_heading(&p);
    kiln__print(&ir, "define void $@(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) "
                     "#0 {\n"
                     "entry:\n");
    print_arguments(&p);
    if (config->is_expanding)
        kiln__product_print_expansion(&p);
    else if (config->is_splitting)
        kiln__product_print_splitting(&p);
    else if (config->is_transposed)
        kiln__product_print_dots(&p);
    else
        kiln__product_print_columns(&p);
    kiln__print_declarations(&ir);
    kiln__print(&ir, "attributes #0 = { \"prefer-vector-width\"=\"512\"$0 }\n", /* x86-64-v4 alone means 256 */
                config->has_bf16 ? " \"kiln-features\"=\"+avx512bf16\""
                : config->digits ? " \"kiln-features\"=\"+avx512vnni\""
                                 : "");
    kiln__print_operation_name(&ir,
                               config->is_expanding   ? "expand"
                               : config->is_splitting ? "digits"
                               : config->codes        ? "quantized_matmul"
                                                      : "matmul",
                               out);
    return kiln__ir_finish(&ir, KILN_OK, err);
}
