/*
 * gpu_random.c - the schedule of random words: a thread hashes one counter with the key and stores what it gives.
 *
 * The layout of the words is that of array/threefry.h, and so is the hash: both halves of it are used, but for the last
 * of an odd number of words.
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
    kiln__buffer_printf(p->text,
                        "  %%%1$s.low = zext i32 %2$s to i64\n  %%%1$s.above = zext i32 %3$s to i64\n"
                        "  %%%1$s.high = shl nuw i64 %%%1$s.above, 32\n  %%%1$s = or i64 %%%1$s.low, %%%1$s.high\n",
                        name, first, second);
}

static void load_key(struct kiln_printer *p)
{
    kiln__buffer_printf(p->text, "  %%p0.at = getelementptr inbounds i8, ptr %%p0, i64 %%p0.inner\n"
                                 "  %%key0 = load i32, ptr %%p0, align 4\n  %%key1 = load i32, ptr %%p0.at, align 4\n");
    join(p, "key", "%key0", "%key1");
}

/* Places %place0 = t and %place1 = pairs + t; %both: is there a word at the second one? The counter's second half. */
static void make_counter(struct kiln_printer *p, const struct kiln_gpu_config *config)
{
    const char *type = kiln__gpu_index(config);
    kiln__buffer_printf(p->text, "  %%second = add nuw %s %%pairs, %%first\n", type);
    kiln__gpu_extend(p, config, "%place0", "%first");
    kiln__gpu_extend(p, config, "%place1", "%second");
    kiln__buffer_printf(p->text, "  %%both = icmp ult %s %%first, %%half\n", type);
    kiln__buffer_printf(p->text, "  %%counted = select i1 %%both, i64 %%place1, i64 0\n"
                                 "  %%count0 = trunc i64 %%place0 to i32\n  %%count1 = trunc i64 %%counted to i32\n");
    join(p, "counter", "%count0", "%count1");
}

static void hash(struct kiln_printer *p)
{
    kiln__ir_declare(&p->declarations, "i64", "kiln_threefry", "i64, i64");
    kiln__buffer_printf(p->text, "  %%words = call i64 @kiln_threefry(i64 %%key, i64 %%counter)\n"
                                 "  %%word0 = trunc i64 %%words to i32\n  %%words.above = lshr i64 %%words, 32\n"
                                 "  %%word1 = trunc i64 %%words.above to i32\n");
}

static void store_word(struct kiln_printer *p, int word)
{
    kiln__buffer_printf(p->text,
                        "  %%o0.at%1$d = getelementptr inbounds i32, ptr %%o0, i64 %%place%1$d\n"
                        "  store i32 %%word%1$d, ptr %%o0.at%1$d, align 4\n",
                        word);
}

kiln_status kiln__gpu_print_random(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    if (check_random(p, err)) return KILN_INVALID;
    kiln__gpu_open(p, config, "pairs half inner");
    kiln__gpu_first(p, config, KILN_GPU_BLOCK, 1);
    kiln__buffer_printf(p->text, "  %%exists = icmp ult %s %%first, %%pairs\n", kiln__gpu_index(config));
    kiln__buffer_printf(p->text, "  br i1 %%exists, label %%hash, label %%exit\n\nhash:\n");
    load_key(p);
    make_counter(p, config);
    hash(p);
    store_word(p, 0);
    kiln__buffer_printf(p->text, "  br i1 %%both, label %%more, label %%exit\n\nmore:\n");
    store_word(p, 1);
    kiln__buffer_printf(p->text, "  br label %%exit\n\nexit:\n  ret void\n}\n");
    return KILN_OK;
}
