/*
 * row_division.c - see row_division.h.
 */
#include "codegen/row_division.h"

static bool reads(const struct kiln_instr *instr, uint32_t value)
{
    for (int i = 0; i < kiln__ops[instr->op].arity; i++)
        if (instr->in[i] == value) return true;
    return false;
}

/* What is divided in place may be read by the division only, and by reductions, which have run by then. */
static bool is_only_reader(const struct kiln_stages *stages, uint32_t index, uint32_t value)
{
    const struct kiln_group *group = stages->p->group;
    for (uint32_t i = 0; i < group->instr_count; i++)
        if (i != index && !kiln__is_reduction(&group->instrs[i]) && reads(&group->instrs[i], value)) return false;
    for (uint32_t i = 0; i < group->output_count; i++)
        if (group->outputs[i] == value) return false;
    return true;
}

uint32_t kiln__row_division_find(const struct kiln_stages *stages, const struct kiln_keeping *keeping)
{
    const struct kiln_printer *p = stages->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        const struct kiln_instr *instr = &p->group->instrs[i];
        if (instr->op != KILN_OP_DIVIDE || instr->dtype != KILN_FLOAT32) continue;
        uint32_t kept = kiln__kept_in(keeping, instr->in[0]);
        bool is_last = stages->stage[stages->first + i] == stages->passes;
        if (kept < stages->passes && is_last && p->shared[instr->in[1]] && is_only_reader(stages, i, instr->in[0]))
            return i;
    }
    return KILN_NEVER;
}

void kiln__row_division_call(const struct kiln_stages *stages, uint32_t index)
{
    struct kiln_printer *p = stages->p;
    const struct kiln_instr *instr = &p->group->instrs[index];
    kiln__print(p->ir, "  call void @divide(ptr %kept$0, float $1, i64 %n)\n", instr->in[0] - stages->first,
                kiln__value_name(p, instr->in[1]).text);
}

/* A loop over all values; `quotient` is the line that makes %NAME.q of %NAME.x. */
static void print_loop(struct kiln_printer *p, const char *name, const char *quotient)
{
    kiln__print(p->ir,
                "$0:\n"
                "  %$0.i = phi i64 [ 0, %check ], [ %$0.next, %$0 ]\n"
                "  %$0.at = getelementptr inbounds float, ptr %values, i64 %$0.i\n"
                "  %$0.x = load float, ptr %$0.at, align 4\n"
                "  %$0.q = $1\n"
                "  store float %$0.q, ptr %$0.at, align 4\n"
                "  %$0.next = add nuw nsw i64 %$0.i, 1\n"
                "  %$0.done = icmp eq i64 %$0.next, %n\n"
                "  br i1 %$0.done, label %exit, label %$0\n\n",
                name, quotient);
}

/* The bounds are compared with the bits of the floats minus 1: +0, which is allowed, wraps around to the largest. */
void kiln__row_division_define(const struct kiln_stages *stages)
{
    struct kiln_printer *p = stages->p;
    kiln__declare(p->ir, "declare i32 @llvm.umin.i32(i32, i32)\n");
    kiln__declare(p->ir, "declare i32 @llvm.umax.i32(i32, i32)\n");
    kiln__declare(p->ir, "declare float @kiln_quotient_f32(float, float, float)\n");
    kiln__print(p->ir, "\n"
                       "define internal void @divide(ptr %values, float %divisor, i64 %n) #0 {\n"
                       "entry:\n"
                       "  %some = icmp sgt i64 %n, 0\n"
                       "  br i1 %some, label %look, label %exit\n\n"
                       "look:\n"
                       "  %i = phi i64 [ 0, %entry ], [ %i.next, %look ]\n"
                       "  %least = phi i32 [ -1, %entry ], [ %least.next, %look ]\n"
                       "  %most = phi i32 [ 0, %entry ], [ %most.next, %look ]\n"
                       "  %at = getelementptr inbounds i32, ptr %values, i64 %i\n"
                       "  %bits = load i32, ptr %at, align 4\n"
                       "  %less = sub i32 %bits, 1\n"
                       "  %least.next = call i32 @llvm.umin.i32(i32 %least, i32 %less)\n"
                       "  %most.next = call i32 @llvm.umax.i32(i32 %most, i32 %bits)\n"
                       "  %i.next = add nuw nsw i64 %i, 1\n"
                       "  %i.done = icmp eq i64 %i.next, %n\n"
                       "  br i1 %i.done, label %check, label %look\n\n");
    kiln__print(p->ir,
                "check:\n  %fits.least = icmp uge i32 %least.next, $0\n"
                "  %fits.most = icmp ule i32 %most.next, $1\n"
                "  %fits.low = fcmp oge float %divisor, " KILN_QUOTIENT_LEAST_DIVISOR "\n"
                "  %fits.high = fcmp ole float %divisor, " KILN_QUOTIENT_MOST_DIVISOR "\n"
                "  %fits.all = and i1 %fits.least, %fits.most\n"
                "  %fits.divisor = and i1 %fits.low, %fits.high\n"
                "  %fits = and i1 %fits.all, %fits.divisor\n  %inverse = fdiv float 1.0, %divisor\n"
                "  br i1 %fits, label %quick, label %plain\n\n",
                KILN_QUOTIENT_LEAST - 1, KILN_QUOTIENT_MOST);
    print_loop(p, "quick", "call float @kiln_quotient_f32(float %quick.x, float %divisor, float %inverse)");
    print_loop(p, "plain", "fdiv float %plain.x, %divisor");
    kiln__print(p->ir, "exit:\n"
                       "  ret void\n"
                       "}\n");
}
