/*
 * attention_kernel.c - see attention_kernel.h: the frame of a kernel, and the lines that its schedules share.
 *
 * The largest score begins at the lowest finite number, which is also what a score that is not seen becomes. So a row
 * of scores that are all minus infinity sums to 0 and gives NaN, and one that sees nothing weighs all keys alike, as
 * the formula does.
 */
#include "codegen/cpu/attention_printer.h"
#include "codegen/kernel_name.h"
#include "codegen/lower.h"

/* ---- the config ---------------------------------------------------------------------------------------------------
 */

unsigned kiln__attention_pack(const struct kiln_attention_config *config)
{
    return (unsigned)config->lanes | (unsigned)config->vectors << 8 | (unsigned)config->is_fused << 12 |
           (unsigned)config->combines << 13 | (unsigned)config->has_mask << 14 | (unsigned)config->dots << 24 |
           (unsigned)config->mask_dtype << 16;
}

struct kiln_attention_config kiln__attention_unpack(unsigned flags)
{
    return (struct kiln_attention_config){.lanes = flags & 0xff,
                                          .vectors = flags >> 8 & 15,
                                          .is_fused = flags >> 12 & 1,
                                          .combines = flags >> 13 & 1,
                                          .has_mask = flags >> 14 & 1,
                                          .dots = flags >> 24 & 15,
                                          .mask_dtype = (uint8_t)(flags >> 16)};
}

/* ---- lines ---------------------------------------------------------------------------------------------------------
 */

void kiln__attention_counters(struct kiln_attention_printer *p, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) kiln__print(p->ir, "  %$0.count = alloca i64, align 8\n", names[i]);
}

void kiln__attention_loop(struct kiln_attention_printer *p, const char *name, const char *end, int step)
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

void kiln__attention_end(struct kiln_attention_printer *p, const char *name)
{
    kiln__print(p->ir,
                "  store i64 %$0.next, ptr %$0.count, align 8\n"
                "  br label %$0.test\n\n"
                "$0.end:\n",
                name);
}

void kiln__attention_address(struct kiln_attention_printer *p, const char *name, const char *base, const char *index,
                             const char *size)
{
    kiln__print(p->ir,
                "  $0.offset = mul nsw i64 $2, $3\n"
                "  $0 = getelementptr inbounds i8, ptr $1, i64 $0.offset\n",
                name, base, index, size);
}

void kiln__attention_load(struct kiln_attention_printer *p, const char *name, const char *pointer)
{
    kiln__print(p->ir, "  $0 = load $1, ptr $2, align 4\n", name, p->vector.text, pointer);
}

void kiln__attention_store(struct kiln_attention_printer *p, const char *value, const char *pointer)
{
    kiln__print(p->ir, "  store $0 $1, ptr $2, align 4\n", p->vector.text, value, pointer);
}

void kiln__attention_multiply_add(struct kiln_attention_printer *p, const char *name, const char *a, const char *b,
                                  const char *c)
{
    if (!p->config.is_fused) {
        kiln__print(p->ir, "  $0.product = fmul $1 $2, $3\n  $0 = fadd $1 $0.product, $4\n", name, p->vector.text, a, b,
                    c);
        return;
    }
    kiln__declare(p->ir, "declare $1 @llvm.fma.v$0f32($1, $1, $1)\n", p->lanes, p->vector.text);
    kiln__print(p->ir, "  $0 = call $2 @llvm.fma.v$1f32($2 $3, $2 $4, $2 $5)\n", name, p->lanes, p->vector.text, a, b,
                c);
}

void kiln__attention_greater(struct kiln_attention_printer *p, const char *name, const char *a, const char *b)
{
    kiln__declare(p->ir, "declare $1 @llvm.maximum.v$0f32($1, $1)\n", p->lanes, p->vector.text);
    kiln__print(p->ir, "  $0 = call $2 @llvm.maximum.v$1f32($2 $3, $2 $4)\n", name, p->lanes, p->vector.text, a, b);
}

void kiln__attention_smaller(struct kiln_attention_printer *p, const char *name, const char *a, const char *b)
{
    kiln__declare(p->ir, "declare i64 @llvm.smin.i64(i64, i64)\n");
    kiln__print(p->ir, "  $0 = call i64 @llvm.smin.i64(i64 $1, i64 $2)\n", name, a, b);
}

void kiln__attention_splat(struct kiln_attention_printer *p, const char *name, const char *type, const char *value)
{
    kiln__print(p->ir,
                "  $0.one = insertelement <$1 x $2> poison, $2 $3, i64 0\n"
                "  $0 = shufflevector <$1 x $2> $0.one, <$1 x $2> poison, <$1 x i32> zeroinitializer\n",
                name, p->lanes, type, value);
}

void kiln__attention_exponentials(struct kiln_attention_printer *p, const char *count)
{
    kiln__declare(p->ir, "declare float @kiln_exp_f32(float)\n");
    kiln__attention_loop(p, "e", count, 1);
    kiln__print(p->ir, "  %e.at = getelementptr inbounds float, ptr %scores, i64 %e\n"
                       "  %e.x = load float, ptr %e.at, align 4\n"
                       "  %e.y = call float @kiln_exp_f32(float %e.x)\n"
                       "  store float %e.y, ptr %e.at, align 4\n");
    kiln__attention_end(p, "e");
}

void kiln__attention_begin_block(struct kiln_attention_printer *p)
{
    kiln__attention_loop(p, "b", "%n", KILN_ATTENTION_BLOCK);
    kiln__print(p->ir, "  %left = sub nsw i64 %n, %b\n");
    kiln__attention_smaller(p, "%count", "%left", kiln__name(p->ir, "$0", KILN_ATTENTION_BLOCK).text);
    kiln__print(p->ir, "  %last = sub nsw i64 %count, 1\n");
}

/* ---- the frame -----------------------------------------------------------------------------------------------------
 */

static void print_arguments(struct kiln_attention_printer *p)
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

/* sums / (the state's second row), as `dtype`, to where the outputs table says. */
static void print_finish(struct kiln_attention_printer *p)
{
    struct kiln_name item = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtype));
    kiln__print(p->ir, "  %is.last = icmp ne i64 %finishes, 0\n"
                       "  br i1 %is.last, label %finish, label %done\n\n"
                       "finish:\n");
    kiln__attention_loop(p, "o", "%rows", 1);
    kiln__print(p->ir,
                "  %o.entry = getelementptr inbounds ptr, ptr %outputs, i64 %o\n"
                "  %o.to = load ptr, ptr %o.entry, align 8\n"
                "  %o.sum = getelementptr inbounds float, ptr %sums, i64 %o\n"
                "  %o.index = add nuw nsw i64 %o, $0\n"
                "  %o.total.at = getelementptr inbounds float, ptr %state, i64 %o.index\n"
                "  %o.total = load float, ptr %o.total.at, align 4\n",
                p->rows);
    kiln__attention_loop(p, "od", "%width", 1);
    kiln__attention_address(p, "%od.from", "%o.sum", "%od", kiln__name(p->ir, "$0", p->rows * 4).text);
    kiln__attention_address(p, "%od.to", "%o.to", "%od", item.text);
    kiln__print(p->ir, "  %od.sum = load float, ptr %od.from, align 4\n"
                       "  %od.quotient = fdiv float %od.sum, %o.total\n");
    kiln__ir_cast(p->ir, "%od.value", p->dtype, "%od.quotient", KILN_FLOAT32, 0);
    kiln__ir_store(p->ir, "%od.value", p->dtype, "%od.to", "");
    kiln__attention_end(p, "od");
    kiln__attention_end(p, "o");
    kiln__print(p->ir, "  br label %done\n\ndone:\n  ret void\n}\n");
}

/* ---- the kernel ----------------------------------------------------------------------------------------------------
 */

static void print_heading(struct kiln_attention_printer *p)
{
    const struct kiln_attention_config *c = &p->config;
    kiln__print(p->ir, "; kiln attention kernel: $0, $1 x $2 rows", kiln__dtypes[p->dtype].name, c->vectors, c->lanes);
    if (c->combines) kiln__print(p->ir, ", ranges together");
    if (c->dots) kiln__print(p->ir, ", dots of $0", (int)c->dots);
    if (c->has_mask) kiln__print(p->ir, ", mask of $0", kiln__dtypes[c->mask_dtype].name);
    kiln__print(p->ir, "\n\n");
}

kiln_status kiln__attention_print(enum kiln_dtype dtype, const struct kiln_attention_config *config,
                                  struct kiln_buffer *text, kiln_error *err)
{
    static const char *const counters[] = {"b", "e", "o", "od"};
    struct kiln_ir ir = {.text = text};
    struct kiln_attention_printer p = {.ir = &ir,
                                       .config = *config,
                                       .dtype = dtype,
                                       .lanes = config->dots ? KILN_ATTENTION_DOT : config->lanes,
                                       .rows = config->lanes * config->vectors};
    if (dtype != KILN_FLOAT32 && !kiln__ir_is_narrow(dtype))
        return kiln__fail(err, KILN_INVALID, "no attention kernel computes with %s", kiln__dtypes[dtype].name);
    p.vector = kiln__name(&ir, "<$0 x float>", p.lanes);
    print_heading(&p);
    kiln__print(&ir, "define void $@(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) "
                     "#0 {\n"
                     "entry:\n");
    kiln__attention_counters(&p, counters, sizeof counters / sizeof *counters);
    print_arguments(&p);
    if (config->combines)
        kiln__attention_print_combination(&p);
    else if (config->dots)
        kiln__attention_print_dots(&p);
    else
        kiln__attention_print_lanes(&p);
    print_finish(&p);
    kiln__print_declarations(&ir);
    kiln__print(&ir, "attributes #0 = { \"prefer-vector-width\"=\"512\" }\n"); /* x86-64-v4 alone means 256 */
    kiln__print_operation_name(&ir, config->combines ? "attention_combine" : "attention", dtype);
    return kiln__ir_finish(&ir, KILN_OK, err);
}
