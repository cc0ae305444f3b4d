/*
 * gpu_pairs.c - the instructions for the adjacent elements of one thread: one element after the other, or, for 16-bit
 * floats, two at a time in one register.
 *
 * Rounding is most of the work with 16-bit floats. GPUs round two floats with one instruction, and add and multiply
 * pairs in the dtype itself (runtime/pairs.c). So a value of elements e and e + 1 has, beside "%vN.e" and "%vN.f", the
 * register "%vN.e.pair", an i32; a shared value, the same for both, has "%vN.pair". LLVM removes what is not used. Only
 * outputs have bits to store; they are taken from the settled pair, whose NaNs are canonical.
 */
#include "codegen/gpu/gpu_printer.h"

/* ---- which ------------------------------------------------------------------------------------------------------- */

/* Operations on whole pairs, by their name in the helper's name. */
static const char *const pair_words[KILN_OP_COUNT] = {
    [KILN_OP_ADD] = "add", [KILN_OP_SUBTRACT] = "subtract", [KILN_OP_MULTIPLY] = "multiply"};

static uint32_t first_result(const struct kiln_printer *p)
{
    return p->group->operand_count + p->group->constant_count;
}

static bool is_narrow(const struct kiln_printer *p, uint32_t value)
{
    return kiln__ir_is_narrow(p->dtypes[value]);
}

/* Casts are printed for each element, as everywhere else. */
static bool makes_pairs(const struct kiln_printer *p, uint32_t index)
{
    return is_narrow(p, first_result(p) + index) && p->group->instrs[index].op != KILN_OP_CAST;
}

static bool is_elementwise(const struct kiln_printer *p, uint32_t index)
{
    return !p->shared[first_result(p) + index];
}

static bool has_pairs(const struct kiln_printer *p)
{
    for (uint32_t i = 0; i < p->group->instr_count; i++)
        if (is_elementwise(p, i) && makes_pairs(p, i)) return true;
    return false;
}

/* Does an instruction take this value as a pair? */
static bool is_read_as_pair(const struct kiln_printer *p, uint32_t value)
{
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        const struct kiln_instr *instr = &p->group->instrs[i];
        if (!is_elementwise(p, i) || !makes_pairs(p, i) || !pair_words[instr->op]) continue;
        if (instr->in[0] == value || instr->in[1] == value) return true;
    }
    return false;
}

static bool is_output(const struct kiln_printer *p, uint32_t value)
{
    for (uint32_t i = 0; i < p->group->output_count; i++)
        if (p->group->outputs[i] == value) return true;
    return false;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The names of a value for the two elements, and of the pair. */
struct names {
    struct kiln_name one[2], pair;
};

static struct names names_of(struct kiln_printer *p, uint32_t value, uint32_t element)
{
    struct names names;
    for (uint32_t k = 0; k < 2; k++) {
        p->pass = kiln__gpu_pass(element + k);
        names.one[k] = kiln__value_name(p, value);
    }
    p->pass = "";
    names.pair = kiln__name(p->ir, "$0.pair", names.one[0].text);
    return names;
}

/* out = kiln_pair_WORD_DTYPE(a, b), or of `a` alone where `b` is NULL. */
static void call(struct kiln_printer *p, const char *out, const char *result, const char *word, enum kiln_dtype dtype,
                 const char *type, const char *a, const char *b)
{
    struct kiln_name function = kiln__name(p->ir, "kiln_pair_$0_$1", word, dtype == KILN_FLOAT16 ? "f16" : "bf16");
    struct kiln_name arguments = kiln__name(p->ir, "$0$1$2", type, b ? ", " : "", b ? type : "");
    kiln__declare(p->ir, "declare $0 @$1($2)\n", result, function.text, arguments.text);
    kiln__print(p->ir, "  $0 = call $1 @$2($3 $4", out, result, function.text, type, a);
    if (b) kiln__print(p->ir, ", $0 $1", type, b);
    kiln__print(p->ir, ")\n");
}

/* The pair of two values that were loaded or cast one by one. */
static void print_join(struct kiln_printer *p, uint32_t value, uint32_t element)
{
    struct names n = names_of(p, value, element);
    if (!is_narrow(p, value) || !is_read_as_pair(p, value)) return;
    kiln__declare(p->ir, "declare i32 @kiln_pair_join(i16 zeroext, i16 zeroext)\n");
    kiln__print(p->ir, "  $0 = call i32 @kiln_pair_join(i16 zeroext $1.bits, i16 zeroext $2.bits)\n", n.pair.text,
                n.one[0].text, n.one[1].text);
}

static void print_halves(struct kiln_printer *p, const struct names *n, enum kiln_dtype dtype)
{
    call(p, n->one[0].text, "float", "low", dtype, "i32", n->pair.text, NULL);
    call(p, n->one[1].text, "float", "high", dtype, "i32", n->pair.text, NULL);
}

/* %vN.e.bits and %vN.f.bits */
static void print_bits(struct kiln_printer *p, const struct names *n, const char *pair)
{
    kiln__print(p->ir,
                "  $0.bits = trunc i32 $1 to i16\n"
                "  $1.high = lshr i32 $1, 16\n"
                "  $2.bits = trunc i32 $1.high to i16\n",
                n->one[0].text, pair, n->one[1].text);
}

static void print_settled_bits(struct kiln_printer *p, const struct names *n, enum kiln_dtype dtype)
{
    struct kiln_name settled = kiln__name(p->ir, "$0.settled", n->pair.text);
    call(p, settled.text, "i32", "settle", dtype, "i32", n->pair.text, NULL);
    print_bits(p, n, settled.text);
}

void kiln__gpu_take_pair(struct kiln_printer *p, uint32_t operand, const char *vector, uint32_t element)
{
    struct names n = names_of(p, operand, element);
    kiln__print(p->ir, "  $0 = extractelement $1 %p$2.parts, i32 $3\n", n.pair.text, vector, operand, element / 2);
    print_halves(p, &n, p->dtypes[operand]);
    if (is_output(p, operand)) print_bits(p, &n, n.pair.text);
}

/* Each element on its own, then both rounded, unless there is nothing to round. */
static kiln_status print_apart(struct kiln_printer *p, const struct kiln_instr *instr, uint32_t element,
                               const struct names *n, kiln_error *err)
{
    const struct kiln_op_info *info = &kiln__ops[instr->op];
    enum kiln_dtype in_dtype = p->dtypes[instr->in[info->dtype_rule == KILN_RULE_SELECT]];
    bool rounds = !kiln__ir_is_exact(instr->op, in_dtype);
    struct kiln_name wide[2];
    kiln_status status = KILN_OK;
    for (uint32_t k = 0; k < 2 && !status; k++) {
        struct names in[3];
        const char *inputs[3] = {in[0].one[k].text, in[1].one[k].text, in[2].one[k].text};
        for (int i = 0; i < info->arity; i++) in[i] = names_of(p, instr->in[i], element);
        wide[k] = kiln__name(p->ir, "$0$1", n->one[k].text, rounds ? ".wide" : "");
        status = kiln__ir_compute(p->ir, wide[k].text, instr->op, in_dtype, inputs, err);
    }
    call(p, n->pair.text, "i32", "narrow", instr->dtype, "float", wide[0].text, wide[1].text);
    if (rounds) print_halves(p, n, instr->dtype);
    return status;
}

static kiln_status print_pair(struct kiln_printer *p, uint32_t index, uint32_t element, kiln_error *err)
{
    const struct kiln_instr *instr = &p->group->instrs[index];
    uint32_t value = first_result(p) + index;
    struct names n = names_of(p, value, element);
    kiln_status status = KILN_OK;
    if (pair_words[instr->op]) {
        struct names a = names_of(p, instr->in[0], element), b = names_of(p, instr->in[1], element);
        call(p, n.pair.text, "i32", pair_words[instr->op], instr->dtype, "i32", a.pair.text, b.pair.text);
        print_halves(p, &n, instr->dtype);
    } else {
        status = print_apart(p, instr, element, &n, err);
    }
    if (is_output(p, value)) print_settled_bits(p, &n, instr->dtype);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static kiln_status print_both(struct kiln_printer *p, uint32_t index, uint32_t element, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t k = 0; k < 2 && !status; k++) {
        p->pass = kiln__gpu_pass(element + k);
        status = kiln__print_instr(p, index, err);
    }
    p->pass = "";
    print_join(p, first_result(p) + index, element);
    return status;
}

static kiln_status compute_pairs(struct kiln_printer *p, uint32_t width, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < first_result(p) + p->group->instr_count; i++)
        if (p->shared[i]) print_join(p, i, 0);
    for (uint32_t e = 0; e < width && !status; e += 2) {
        for (uint32_t i = 0; i < p->group->instr_count && !status; i++)
            if (is_elementwise(p, i)) status = makes_pairs(p, i) ? print_pair(p, i, e, err) : print_both(p, i, e, err);
    }
    return status;
}

void kiln__gpu_join(struct kiln_printer *p, uint32_t width)
{
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        for (uint32_t e = 0; e < width && width % 2 == 0; e += 2)
            if (!p->shared[i]) print_join(p, i, e);
}

kiln_status kiln__gpu_compute(struct kiln_printer *p, uint32_t width, kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (width % 2 == 0 && has_pairs(p)) return compute_pairs(p, width, err);
    for (uint32_t e = 0; e < width && !status; e++) {
        p->pass = kiln__gpu_pass(e);
        status = kiln__print_instrs(p, false, err);
    }
    p->pass = "";
    return status;
}
