/*
 * gpu_random.c - the schedule of random words: a thread hashes one counter with the key and stores the two words of the
 * hash.
 *
 * The hash and the order of the words are those of array/threefry.h. Of an odd number of words the last hash gives one.
 */
#include "codegen/gpu/gpu_printer.h"

static kiln_status check_random(const struct kiln_printer *p, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    bool fits = group->operand_count == 1 && !group->constant_count && group->instr_count == 1 &&
                group->output_count == 1 && group->outputs[0] == 1 && group->instrs[0].op == KILN_OP_RANDOM_BITS &&
                group->instrs[0].dtype == KILN_UINT32 && group->operand_dtypes[0] == KILN_UINT32;
    if (fits) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "a random kernel has one instruction, random_bits, from uint32 to uint32");
}

/* %NAME: two i32 as one i64, the first below. */
static void join(struct kiln_printer *p, const char *name, const char *first, const char *second)
{
    kiln__print(p->ir,
                "  %$0.low = zext i32 $1 to i64\n"
                "  %$0.above = zext i32 $2 to i64\n"
                "  %$0.high = shl nuw i64 %$0.above, 32\n"
                "  %$0 = or i64 %$0.low, %$0.high\n",
                name, first, second);
}

static void load_key(struct kiln_printer *p)
{
    kiln__print(p->ir, "  %p0.at = getelementptr inbounds i8, ptr %p0, i64 %p0.inner\n"
                       "  %key0 = load i32, ptr %p0, align 4\n"
                       "  %key1 = load i32, ptr %p0.at, align 4\n");
    join(p, "key", "%key0", "%key1");
}

/* Positions %position0 = t and %position1 = pairs + t; %both: is there a word at the second? %counter: what is hashed.
 */
static void make_counter(struct kiln_printer *p, const struct kiln_gpu_config *config)
{
    const char *type = kiln__gpu_index(config);
    kiln__print(p->ir, "  %second = add nuw $0 %pairs, %first\n", type);
    kiln__gpu_extend(p, config, "%position0", "%first");
    kiln__gpu_extend(p, config, "%position1", "%second");
    kiln__print(p->ir,
                "  %both = icmp ult $0 %first, %half\n"
                "  %counted = select i1 %both, i64 %position1, i64 0\n"
                "  %count0 = trunc i64 %position0 to i32\n"
                "  %count1 = trunc i64 %counted to i32\n",
                type);
    join(p, "counter", "%count0", "%count1");
}

static void hash(struct kiln_printer *p)
{
    kiln__declare(p->ir, "declare i64 @kiln_threefry(i64, i64)\n");
    kiln__print(p->ir, "  %words = call i64 @kiln_threefry(i64 %key, i64 %counter)\n"
                       "  %word0 = trunc i64 %words to i32\n"
                       "  %words.above = lshr i64 %words, 32\n"
                       "  %word1 = trunc i64 %words.above to i32\n");
}

static void store_word(struct kiln_printer *p, int word)
{
    kiln__print(p->ir,
                "  %o0.at$0 = getelementptr inbounds i32, ptr %o0, i64 %position$0\n"
                "  store i32 %word$0, ptr %o0.at$0, align 4\n",
                word);
}

kiln_status kiln__gpu_print_random(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    if (check_random(p, err)) return KILN_INVALID;
    kiln__gpu_open(p, config, "pairs half inner");
    kiln__gpu_first(p, config, KILN_GPU_BLOCK, 1);
    kiln__print(p->ir,
                "  %exists = icmp ult $0 %first, %pairs\n"
                "  br i1 %exists, label %hash, label %exit\n\n"
                "hash:\n",
                kiln__gpu_index(config));
    load_key(p);
    make_counter(p, config);
    hash(p);
    store_word(p, 0);
    kiln__print(p->ir, "  br i1 %both, label %more, label %exit\n\nmore:\n");
    store_word(p, 1);
    kiln__print(p->ir, "  br label %exit\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    return KILN_OK;
}
