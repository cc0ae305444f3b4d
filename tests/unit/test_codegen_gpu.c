/*
 * test_codegen_gpu.c - element-wise kernels for GPUs, run by the emulator, give bit for bit what the CPU's kernels
 * give, and write nothing else: every operation and dtype, every cast, every layout of each schedule.
 */
#include <stdio.h>

#include "gpu_support.h"

/* ---- the emulator ---------------------------------------------------------------------------------------------- */

/* out[block * 256 + i] = in[block * 256 + 255 - i] + the sum of i over the lanes of the warp, through the neighbours.
 */
static const char mirror[] =
    "@memory = internal addrspace(3) global [256 x i32] undef, align 16\n"
    "define ptx_kernel void @kernel(ptr addrspace(1) %o, ptr addrspace(1) %p, i64 %less) {\nentry:\n"
    "  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "  %from = mul i32 %block, 256\n  %i = add i32 %from, %thread\n"
    "  %p.at = getelementptr i32, ptr addrspace(1) %p, i32 %i\n  %x = load i32, ptr addrspace(1) %p.at\n"
    "  %m.at = getelementptr i32, ptr addrspace(3) @memory, i32 %thread\n  store i32 %x, ptr addrspace(3) %m.at\n"
    "  %limit = trunc i64 %less to i32\n  %stays = icmp ult i32 %thread, %limit\n"
    "  br i1 %stays, label %wait, label %exit\n\nwait:\n"
    "  call void @llvm.nvvm.barrier0()\n"
    "  %s1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)\n"
    "  %t1 = add i32 %thread, %s1\n"
    "  %s2 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %t1, i32 2, i32 31)\n"
    "  %s3 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %s2, i32 0, i32 31)\n"
    "  %s4 = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %s3, i32 31, i32 0)\n"
    "  %other = sub i32 255, %thread\n"
    "  %n.at = getelementptr i32, ptr addrspace(3) @memory, i32 %other\n  %y = load i32, ptr addrspace(3) %n.at\n"
    "  %z = add i32 %y, %s4\n"
    "  %o.at = getelementptr i32, ptr addrspace(1) %o, i32 %i\n  store i32 %z, ptr addrspace(1) %o.at\n"
    "  br label %exit\n\nexit:\n  ret void\n}\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "declare void @llvm.nvvm.barrier0()\ndeclare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)\n"
    "!nvvm.annotations = !{!0}\n!0 = !{ptr @kernel, !\"maxntidx\", i32 256}\n";

static void emulator_runs_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 3, COUNT = 3 * 256 };
    static int32_t in[COUNT], out[COUNT];
    struct kiln_buffer text = {0};
    for (int i = 0; i < COUNT; i++) in[i] = i * 1000;
    kiln__buffer_append(&text, mirror, strlen(mirror));
    gpu_emulator_thread kernel = load_gpu_text(&text);
    uint64_t words[3] = {(uint64_t)(uintptr_t)out, (uint64_t)(uintptr_t)in, 256};
    launch_gpu(kernel, BLOCKS, words);
    for (int i = 0; i < COUNT; i++) {
        int thread = i % 256, warp = thread / 32 * 32;
        CHECK_EQ(out[i], (i - thread + 255 - thread) * 1000 + (warp + 2) + (warp + 3));
    }
    words[2] = 255; /* one thread leaves, the others wait for it */
    CHECK_NOT_NULL(gpu_emulator_launch(kernel, BLOCKS, KILN_GPU_BLOCK, 0, words));
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

enum { MAX_POINTERS = 80, MAX_CONSTANTS = 320, ARENA = 1 << 16, MARGIN = 1 << 14 };

/* A kernel and an index space. Strides are in elements, start is where a pointer begins in its arena. */
struct launch {
    const struct kiln_group *group;
    const char *layouts;
    struct kiln_gpu_config config;
    uint32_t axes; /* of the index space; the config's are 0 for packed ones */
    int64_t sizes[KILN_GPU_MAX_AXES];
    int64_t strides[MAX_POINTERS][KILN_GPU_MAX_AXES];
    int64_t start[MAX_POINTERS];
    uint64_t constants[MAX_CONSTANTS];
    bool in_place; /* output 0 has the bytes of operand 0 */
};

static _Alignas(64) char arenas[MAX_POINTERS][ARENA]; /* outputs of the GPU, then operands */
static _Alignas(64) char wanted[4][ARENA];            /* outputs of the CPU */

static uint64_t random_bits(void)
{
    static uint64_t seed = 42;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 13 ^ seed << 19;
}

/* Any bits, or a number of moderate size. */
static uint64_t element_bits(enum kiln_dtype dtype)
{
    uint64_t bits = random_bits();
    double number = ((double)(bits % 2000001) - 1000000) / 100000;
    float single = (float)number;
    uint32_t word;
    memcpy(&word, &single, sizeof word);
    if (dtype == KILN_BOOL) return bits & 1;
    if (random_bits() % 4 == 0 || kiln__dtypes[dtype].kind < KILN_KIND_FLOAT) return bits >> random_bits() % 56;
    if (dtype == KILN_FLOAT64) memcpy(&bits, &number, sizeof bits);
    if (dtype == KILN_FLOAT16) return 0x3000 + bits % 0x2000 + (bits & 0x8000);
    if (dtype == KILN_BFLOAT16) return word >> 16;
    if (dtype == KILN_FLOAT32) return word;
    return dtype == KILN_COMPLEX64 ? (uint64_t)word << 32 | (word ^ (uint32_t)(bits << 31)) : bits;
}

static void fill(enum kiln_dtype dtype, char *data)
{
    size_t size = kiln__dtype_size(dtype);
    for (size_t i = 0; i + size <= ARENA; i += size) {
        uint64_t bits = element_bits(dtype);
        memcpy(data + i, &bits, size);
    }
}

static enum kiln_dtype dtype_of(const struct kiln_group *group, uint32_t value)
{
    uint32_t first = group->operand_count + group->constant_count;
    if (value < group->operand_count) return group->operand_dtypes[value];
    return value < first ? group->constant_dtypes[value - group->operand_count] : group->instrs[value - first].dtype;
}

static int64_t pointer_size(const struct kiln_group *group, uint32_t pointer)
{
    bool is_output = pointer < group->output_count;
    uint32_t value = is_output ? group->outputs[pointer] : pointer - group->output_count;
    return (int64_t)kiln__dtype_size(dtype_of(group, value));
}

static int64_t product(const int64_t *sizes, uint32_t count)
{
    int64_t total = 1;
    for (uint32_t i = 0; i < count; i++) total *= sizes[i];
    return total;
}

static uint64_t pointer_word(const struct launch *l, uint32_t pointer)
{
    return (uint64_t)(uintptr_t)(arenas[pointer] + MARGIN + l->start[pointer] * pointer_size(l->group, pointer));
}

/* One call of the CPU's kernel per element, so that every layout is the same to it. */
static void run_on_cpu(const struct launch *l, kernel_entry kernel)
{
    const struct kiln_group *group = l->group;
    uint32_t pointers = group->output_count + group->operand_count;
    uint64_t args[MAX_POINTERS + MAX_CONSTANTS];
    int64_t strides[2 * MAX_POINTERS] = {0}, total = product(l->sizes, l->axes);
    for (uint32_t i = 0; i < group->constant_count; i++) args[pointers + i] = l->constants[i];
    for (int64_t index = 0; index < total; index++) {
        for (uint32_t p = 0; p < pointers; p++) {
            int64_t left = index, offset = 0;
            for (uint32_t a = l->axes; a-- > 0; left /= l->sizes[a]) offset += left % l->sizes[a] * l->strides[p][a];
            args[p] = pointer_word(l, p) + (uint64_t)(offset * pointer_size(group, p));
            if (p < group->output_count) args[p] += (uint64_t)(wanted[p] - arenas[p]);
        }
        kernel(args, strides, 1, 1);
    }
}

static int64_t tiles(int64_t size)
{
    return (size + KILN_GPU_TILE - 1) / KILN_GPU_TILE;
}

/* The words of gpu.h; returns the grid. */
static uint32_t words_of(const struct launch *l, uint64_t *words)
{
    const struct kiln_group *group = l->group;
    uint32_t pointers = group->output_count + group->operand_count, axes = l->axes, next = 0;
    int64_t total = product(l->sizes, axes), width = kiln__gpu_width(group, l->layouts), blocks;
    bool tiled = l->config.schedule == KILN_GPU_TILED;
    for (uint32_t p = 0; p < pointers; p++) words[next++] = pointer_word(l, p);
    if (l->in_place) words[group->output_count] = words[0];
    for (uint32_t i = 0; i < group->constant_count; i++) words[next++] = l->constants[i];
    if (tiled) {
        words[next++] = (uint64_t)tiles(l->sizes[axes - 2]), words[next++] = (uint64_t)tiles(l->sizes[axes - 1]);
        blocks = tiles(l->sizes[axes - 2]) * tiles(l->sizes[axes - 1]) * product(l->sizes, axes - 2);
    } else {
        int64_t each = l->config.schedule == KILN_GPU_PACKED || l->config.wide ? width : 1;
        words[next++] = (uint64_t)total;
        blocks = (total + KILN_GPU_BLOCK * each - 1) / (KILN_GPU_BLOCK * each);
    }
    for (uint32_t a = 0; a < l->config.axes; a++) {
        words[next++] = (uint64_t)l->sizes[a];
        for (uint32_t p = 0; p < pointers; p++) words[next++] = (uint64_t)(l->strides[p][a] * pointer_size(group, p));
    }
    return (uint32_t)blocks;
}

static void explain(const struct launch *l, uint32_t output)
{
    for (size_t i = 0; i < ARENA; i++) {
        if (arenas[output][i] == wanted[output][i]) continue;
        CHECK_FAIL("[%s] of %s, letters \"%s\", schedule %d%s%s: output %u differs at byte %lld of %lld",
                   kiln__ops[l->group->instrs[l->group->instr_count - 1].op].name,
                   kiln__dtypes[l->group->operand_count ? l->group->operand_dtypes[0] : 0].name, l->layouts,
                   (int)l->config.schedule, l->config.wide ? ", wide" : "", l->config.is_long ? ", long" : "", output,
                   (long long)i - MARGIN - l->start[output] * pointer_size(l->group, output),
                   (long long)(product(l->sizes, l->axes) * pointer_size(l->group, output)));
    }
}

static unsigned opt_level = 2; /* 0 where many kernels run for a moment each */

static kernel_entry cpu_kernel(const struct kiln_group *group)
{
    char layouts[MAX_POINTERS + 1];
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    memset(layouts, 'v', group->operand_count);
    layouts[group->operand_count] = 0;
    CHECK_OK(kiln__group_print(group, layouts, 0, &text, &err), &err);
    return load_text_at(&text, "x86-64-v2", opt_level);
}

static gpu_emulator_thread gpu_kernel(const struct launch *l)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_OK(kiln__gpu_print(l->group, l->layouts, &l->config, &text, &err), &err);
    return load_gpu_text_at(&text, opt_level);
}

static void check_launch(const struct launch *l, kernel_entry cpu, gpu_emulator_thread gpu)
{
    static uint64_t words[MAX_POINTERS + MAX_CONSTANTS + 2 + KILN_GPU_MAX_AXES * (1 + MAX_POINTERS)];
    const struct kiln_group *group = l->group;
    memset(wanted, 0x55, sizeof wanted);
    for (uint32_t i = 0; i < group->output_count; i++) memset(arenas[i], 0x55, ARENA);
    for (uint32_t i = 0; i < group->operand_count; i++) fill(group->operand_dtypes[i], arenas[group->output_count + i]);
    if (l->in_place) {
        memcpy(arenas[0], arenas[group->output_count], ARENA);
        memcpy(wanted[0], arenas[group->output_count], ARENA);
    }
    run_on_cpu(l, cpu);
    uint32_t grid = words_of(l, words);
    launch_gpu(gpu, grid, words);
    for (uint32_t i = 0; i < group->output_count; i++)
        if (memcmp(arenas[i], wanted[i], ARENA) != 0) explain(l, i);
}
#define check_launch(...) CHECK_CALL(check_launch, __VA_ARGS__)

/* ---- every operation ------------------------------------------------------------------------------------------- */

static struct launch packed_launch(const struct kiln_group *group, const char *layouts, bool wide)
{
    struct launch l = {.group = group, .layouts = layouts, .config = {KILN_GPU_PACKED, 0, wide, false}, .axes = 1};
    for (uint32_t i = 0; i < group->output_count; i++) l.strides[i][0] = 1;
    for (uint32_t i = 0; i < group->operand_count; i++) l.strides[group->output_count + i][0] = layouts[i] == 'c';
    return l;
}

/* More than one block, a thread with some of its elements, and threads with none. */
static void check_packed(const struct kiln_group *group, const char *layouts, bool wide, kernel_entry cpu)
{
    struct launch l = packed_launch(group, layouts, wide);
    uint32_t width = kiln__gpu_width(group, layouts), pointers = group->output_count + group->operand_count;
    gpu_emulator_thread gpu = gpu_kernel(&l);
    for (uint32_t i = 0; i < pointers && !wide; i++) l.start[i] = i % 3 + 1;
    l.sizes[0] = KILN_GPU_BLOCK * width + 5 * width + width / 2;
    check_launch(&l, cpu, gpu);
    l.sizes[0] = 1;
    check_launch(&l, cpu, gpu);
}
#define check_packed(...) CHECK_CALL(check_packed, __VA_ARGS__)

static void check_op(enum kiln_op op, enum kiln_dtype dtype, enum kiln_dtype to)
{
    static const char *const choices[] = {"ccc", "csc", "scc", "ccs"};
    struct one_op one;
    char layouts[4];
    if (!make_one_op(&one, op, dtype, to)) return;
    snprintf(layouts, sizeof layouts, "%.*s", (int)one.group.operand_count, choices[(op + dtype) % 4]);
    kernel_entry cpu = cpu_kernel(&one.group);
    check_packed(&one.group, layouts, true, cpu);
    check_packed(&one.group, layouts, false, cpu);
}
#define check_op(...) CHECK_CALL(check_op, __VA_ARGS__)

static void packed_operations(void **state)
{
    (void)state;
    opt_level = 0;
    for (int op = 0; op < KILN_OP_COUNT; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++)
            if (op != KILN_OP_CAST) check_op(op, dtype, dtype);
    opt_level = 2;
}

static void packed_casts(void **state)
{
    (void)state;
    for (int from = 0; from < KILN_DTYPE_COUNT; from++)
        for (int to = 0; to < KILN_DTYPE_COUNT; to++) check_op(KILN_OP_CAST, from, to);
}

static void packed_in_place(void **state)
{
    (void)state;
    static const uint8_t dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_FLOAT64, KILN_BOOL};
    for (size_t d = 0; d < sizeof dtypes; d++)
        for (int wide = 0; wide < 2; wide++) {
            struct one_op one;
            CHECK_TRUE(make_one_op(&one, KILN_OP_MAXIMUM, dtypes[d], 0));
            struct launch l = packed_launch(&one.group, "cc", wide);
            l.in_place = true, l.sizes[0] = 3000;
            check_launch(&l, cpu_kernel(&one.group), gpu_kernel(&l));
        }
}

/* ---- mixed groups ---------------------------------------------------------------------------------------------- */

/*
 * Operands of different dtypes and a constant of each kind: the sum of all in float32, and it in other dtypes, as up to
 * four outputs.
 */
struct mixed {
    struct kiln_group group;
    uint8_t operands[MAX_POINTERS], constants[MAX_CONSTANTS];
    struct kiln_instr instrs[2 * (MAX_POINTERS + MAX_CONSTANTS) + 4];
    uint32_t outputs[4];
};

static void add_mixed(struct mixed *m, enum kiln_op op, enum kiln_dtype dtype, uint32_t a, uint32_t b)
{
    m->instrs[m->group.instr_count++] = (struct kiln_instr){(uint16_t)op, (uint8_t)dtype, {a, b}};
}

static void make_mixed(struct mixed *m, uint32_t operands, uint32_t constants, uint32_t outputs, uint32_t seed)
{
    static const uint8_t results[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_COMPLEX64, KILN_INT8, KILN_BOOL, KILN_FLOAT64};
    uint32_t inputs = operands + constants;
    memset(m, 0, sizeof *m);
    m->group = (struct kiln_group){operands, constants, 0, outputs, m->operands, m->constants, m->instrs, m->outputs};
    for (uint32_t i = 0; i < operands; i++) m->operands[i] = (uint8_t)((seed + i * 5) % KILN_DTYPE_COUNT);
    for (uint32_t i = 0; i < constants; i++) m->constants[i] = (uint8_t)((seed + i * 3) % KILN_DTYPE_COUNT);
    for (uint32_t i = 0; i < inputs; i++) add_mixed(m, KILN_OP_CAST, KILN_FLOAT32, i, 0);
    for (uint32_t i = 1; i < inputs; i++)
        add_mixed(m, KILN_OP_ADD, KILN_FLOAT32, i == 1 ? inputs : inputs + m->group.instr_count - 1, inputs + i);
    uint32_t sum = inputs + m->group.instr_count - 1;
    for (uint32_t i = 0; i < outputs; i++) {
        add_mixed(m, KILN_OP_CAST, results[(seed + i) % 6], sum, 0);
        m->outputs[i] = inputs + m->group.instr_count - 1;
    }
    m->outputs[outputs - 1] = outputs > 3 ? 0 : m->outputs[outputs - 1]; /* an operand as it is */
}

/*
 * 16-bit floats, which are computed in pairs: operands and a constant, arithmetic and helpers, what rounds and what
 * does not, casts and comparisons between them; outputs in the middle and at the end, and an operand as it is.
 */
static void make_short(struct mixed *m, enum kiln_dtype dtype, enum kiln_dtype other)
{
    enum { A, B, C, K, PRODUCT, CAST, SUM, SIGMOID, REST, NEGATIVE, LESS, CHOSEN, SECOND, QUOTIENT, WIDE };
    static const uint32_t outputs[] = {REST, QUOTIENT, WIDE, A};
    memset(m, 0, sizeof *m);
    m->group = (struct kiln_group){3, 1, 0, 4, m->operands, m->constants, m->instrs, m->outputs};
    m->operands[A] = m->operands[B] = m->constants[0] = (uint8_t)dtype, m->operands[C] = (uint8_t)other;
    memcpy(m->outputs, outputs, sizeof outputs);
    add_mixed(m, KILN_OP_MULTIPLY, dtype, A, B);
    add_mixed(m, KILN_OP_CAST, dtype, C, 0);
    add_mixed(m, KILN_OP_ADD, dtype, PRODUCT, CAST);
    add_mixed(m, KILN_OP_SIGMOID, dtype, SUM, 0);
    add_mixed(m, KILN_OP_SUBTRACT, dtype, SIGMOID, K);
    add_mixed(m, KILN_OP_NEGATIVE, dtype, REST, 0);
    add_mixed(m, KILN_OP_LESS, KILN_BOOL, NEGATIVE, SUM);
    m->instrs[m->group.instr_count++] = (struct kiln_instr){KILN_OP_SELECT, (uint8_t)dtype, {LESS, NEGATIVE, B}};
    add_mixed(m, KILN_OP_MULTIPLY, dtype, CHOSEN, NEGATIVE);
    add_mixed(m, KILN_OP_DIVIDE, dtype, SECOND, A);
    add_mixed(m, KILN_OP_CAST, other, QUOTIENT, 0);
}

/* One of the above, every fourth time. */
static void make_any(struct mixed *m, uint32_t operands, uint32_t constants, uint32_t outputs, uint32_t seed)
{
    if (seed % 4 == 3)
        make_short(m, seed / 4 % 2 ? KILN_FLOAT16 : KILN_BFLOAT16, seed / 8 % 2 ? KILN_FLOAT32 : KILN_INT8);
    else
        make_mixed(m, operands, constants, outputs, seed);
}

static void set_constants(struct launch *l)
{
    for (uint32_t i = 0; i < l->group->constant_count; i++) {
        enum kiln_dtype dtype = l->group->constant_dtypes[i];
        uint64_t bits = element_bits(dtype);
        memcpy(&l->constants[i], &bits, kiln__dtype_size(dtype));
    }
}

static void packed_mixed_groups(void **state)
{
    (void)state;
    static const struct {
        uint32_t operands, constants, outputs;
    } shapes[] = {{1, 0, 1}, {2, 3, 2}, {5, 2, 4}, {14, 14, 3}, {64, 0, 1}, {64, 300, 4}, {1, 300, 1}};
    struct mixed m;
    char layouts[MAX_POINTERS + 1] = "";
    for (uint32_t i = 0; i < 4 * sizeof shapes / sizeof shapes[0]; i++) {
        make_mixed(&m, shapes[i / 4].operands, shapes[i / 4].constants, shapes[i / 4].outputs, i);
        for (uint32_t k = 0; k < m.group.operand_count; k++) layouts[k] = random_bits() % 4 ? 'c' : 's';
        layouts[m.group.operand_count] = 0;
        struct launch l = packed_launch(&m.group, layouts, i % 2);
        l.config.is_long = i / 2 % 2;
        l.sizes[0] = 1 + (int64_t)(random_bits() % 2500);
        set_constants(&l);
        check_launch(&l, cpu_kernel(&m.group), gpu_kernel(&l));
    }
}

static void packed_short_floats(void **state)
{
    (void)state;
    static const char *const layouts[] = {"ccc", "scc", "csc", "ccs"};
    static const uint8_t others[] = {KILN_FLOAT32, KILN_INT8, KILN_FLOAT64};
    struct mixed m;
    for (uint32_t i = 0; i < 24; i++) {
        make_short(&m, i % 2 ? KILN_FLOAT16 : KILN_BFLOAT16, others[i % 3]);
        struct launch l = packed_launch(&m.group, layouts[i / 6], i / 2 % 2);
        l.sizes[0] = 1000 + (int64_t)(random_bits() % 1500);
        set_constants(&l);
        check_launch(&l, cpu_kernel(&m.group), gpu_kernel(&l));
    }
}

static void width_is_bounded(void **state)
{
    (void)state;
    struct mixed m;
    struct one_op one;
    static const struct {
        enum kiln_dtype dtype;
        uint32_t width;
    } expected[] = {{KILN_FLOAT32, 4}, {KILN_UINT8, 16}, {KILN_BFLOAT16, 8}, {KILN_FLOAT64, 2}, {KILN_COMPLEX64, 2}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK_TRUE(make_one_op(&one, KILN_OP_ADD, expected[i].dtype, 0));
        CHECK_EQ(kiln__gpu_width(&one.group, "cc"), expected[i].width);
    }
    CHECK_TRUE(make_one_op(&one, KILN_OP_LESS, KILN_FLOAT32, 0));
    CHECK_EQ(kiln__gpu_width(&one.group, "cc"), 4); /* a bool is smaller */
    make_mixed(&m, 64, 0, 1, 0);
    char layouts[65] = "";
    memset(layouts, 'c', 64);
    CHECK_EQ(kiln__gpu_width(&m.group, layouts), 1);
}

/* ---- index spaces ---------------------------------------------------------------------------------------------- */

enum { MAX_TOTAL = 1400 };

static void random_sizes(struct launch *l, uint32_t axes, uint32_t multiple)
{
    int64_t room = MAX_TOTAL / multiple;
    l->axes = l->config.axes = (uint8_t)axes;
    for (uint32_t a = axes; a-- > 0;) {
        int64_t most = axes > 4 && a + 2 < axes ? 3 : 70;
        l->sizes[a] = 1 + (int64_t)(random_bits() % (uint64_t)(most < room ? most : room));
        room /= l->sizes[a];
        if (a + 1 == axes) l->sizes[a] *= multiple;
    }
}

/* Packed in the order of the axes, `last` innermost, times `gap` but along the innermost. */
static void pack_strides(struct launch *l, uint32_t pointer, uint32_t last, int64_t gap)
{
    int64_t stride = 1;
    for (uint32_t k = 0; k < l->axes; k++) {
        uint32_t a = (last + l->axes - k) % l->axes;
        l->strides[pointer][a] = k ? stride * gap : 1;
        stride *= l->sizes[a];
    }
}

/* Some axes broadcast, some backwards; the last `kept` are left as they are. */
static void vary_strides(struct launch *l, uint32_t pointer, uint32_t kept)
{
    for (uint32_t a = 0; a + kept < l->axes; a++) {
        if (random_bits() % 4 == 0) l->strides[pointer][a] = 0;
        if (random_bits() % 4 != 0) continue;
        l->start[pointer] += (l->sizes[a] - 1) * l->strides[pointer][a];
        l->strides[pointer][a] = -l->strides[pointer][a];
    }
}

static void check_space(struct launch *l)
{
    set_constants(l);
    check_launch(l, cpu_kernel(l->group), gpu_kernel(l));
}
#define check_space(...) CHECK_CALL(check_space, __VA_ARGS__)

static void strided_spaces(void **state)
{
    (void)state;
    struct mixed m;
    for (uint32_t i = 0; i < 48; i++) {
        char layouts[MAX_POINTERS + 1] = "";
        make_mixed(&m, i % 16 == 15 ? 64 : 1 + i % 4, i % 3, 1 + i % 2, i);
        struct launch l = {.group = &m.group, .layouts = layouts};
        l.config = (struct kiln_gpu_config){.schedule = KILN_GPU_STRIDED, .is_long = i % 3 == 0};
        random_sizes(&l, 1 + i % 8, 1);
        for (uint32_t p = 0; p < m.group.output_count; p++) pack_strides(&l, p, l.axes - 1, 1);
        for (uint32_t k = 0; k < m.group.operand_count; k++) {
            uint32_t p = m.group.output_count + k;
            l.start[p] = (int64_t)(random_bits() % 3);
            pack_strides(&l, p, (uint32_t)(random_bits() % l.axes), 1 + (int64_t)(random_bits() % 2));
            vary_strides(&l, p, 0);
            int64_t inner = l.strides[p][l.axes - 1];
            layouts[k] = inner == 1 ? 'c' : inner == 0 ? 's' : 'v';
        }
        check_space(&l);
    }
}

static void strided_wide_spaces(void **state)
{
    (void)state;
    struct mixed m;
    for (uint32_t i = 0; i < 48; i++) {
        char layouts[8] = "";
        make_any(&m, 1 + i % 4, i % 3, 1 + i % 2, i);
        for (uint32_t k = 0; k < m.group.operand_count; k++) layouts[k] = random_bits() % 3 ? 'c' : 's';
        struct launch l = {.group = &m.group, .layouts = layouts};
        l.config = (struct kiln_gpu_config){.schedule = KILN_GPU_STRIDED, .wide = true, .is_long = i % 3 == 0};
        random_sizes(&l, 1 + i % 8, 16);
        for (uint32_t p = 0; p < m.group.output_count; p++) pack_strides(&l, p, l.axes - 1, 1);
        for (uint32_t k = 0; k < m.group.operand_count; k++) {
            uint32_t p = m.group.output_count + k;
            pack_strides(&l, p, l.axes - 1, 1 + (int64_t)(random_bits() % 2));
            vary_strides(&l, p, 1);
            if (layouts[k] == 's') l.strides[p][l.axes - 1] = 0, l.start[p] += 3;
        }
        check_space(&l);
    }
}

/* Operands that are packed along columns, along rows, or along another axis; rows and columns around whole tiles. */
static void check_tiled(struct mixed *m, uint32_t axes, bool is_long)
{
    char layouts[MAX_POINTERS + 1] = "";
    struct launch l = {.group = &m->group, .layouts = layouts};
    l.config = (struct kiln_gpu_config){.schedule = KILN_GPU_TILED, .is_long = is_long};
    random_sizes(&l, axes, 1);
    for (uint32_t p = 0; p < m->group.output_count; p++) pack_strides(&l, p, axes - 1, 1);
    for (uint32_t k = 0; k < m->group.operand_count; k++) {
        uint32_t p = m->group.output_count + k;
        uint32_t last = random_bits() % 2 ? axes - 2 : (uint32_t)(random_bits() % axes);
        l.start[p] = (int64_t)(random_bits() % 3);
        pack_strides(&l, p, last, 1 + (int64_t)(random_bits() % 2));
        vary_strides(&l, p, last == axes - 2 ? 2 : 0);
        int64_t inner = l.strides[p][axes - 1];
        layouts[k] = last == axes - 2 ? 't' : inner == 1 ? 'c' : inner == 0 ? 's' : 'v';
    }
    check_space(&l);
}
#define check_tiled(...) CHECK_CALL(check_tiled, __VA_ARGS__)

static void tiled_spaces(void **state)
{
    (void)state;
    struct mixed m;
    for (uint32_t i = 0; i < 48; i++) {
        make_any(&m, 1 + i % 4, i % 3, 1 + i % 2, i);
        check_tiled(&m, 2 + i % 4, i % 3 == 0);
    }
    for (uint32_t i = 0; i < 2; i++) { /* more than shared memory holds */
        make_mixed(&m, 40, 0, 1, i);
        check_tiled(&m, 2, false);
    }
}

/* A sum into its first operand, with and without a barrier: lanes outside the index space must not add once more. */
static void tiled_in_place(void **state)
{
    (void)state;
    static const char *const layouts[] = {"ct", "cv"};
    struct one_op one;
    CHECK_TRUE(make_one_op(&one, KILN_OP_ADD, KILN_INT32, 0));
    for (int i = 0; i < 2; i++) {
        struct launch l = {.group = &one.group, .layouts = layouts[i], .in_place = true, .axes = 2, .sizes = {35, 37}};
        l.config = (struct kiln_gpu_config){.schedule = KILN_GPU_TILED, .axes = 2};
        for (uint32_t p = 0; p < 3; p++) pack_strides(&l, p, p == 2 ? 0 : 1, 1);
        check_space(&l);
    }
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static void expect_invalid(const char *layouts, struct kiln_gpu_config config, const char *word)
{
    struct one_op one;
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_TRUE(make_one_op(&one, KILN_OP_ADD, KILN_FLOAT32, 0));
    CHECK_STATUS(kiln__gpu_print(&one.group, layouts, &config, &text, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, word);
    kiln__buffer_release(&text);
}
#define expect_invalid(...) CHECK_CALL(expect_invalid, __VA_ARGS__)

static void bad_forms_are_errors(void **state)
{
    (void)state;
    expect_invalid("cv", (struct kiln_gpu_config){KILN_GPU_PACKED, 0, false, false}, "one of c, s for each of 2");
    expect_invalid("ct", (struct kiln_gpu_config){KILN_GPU_STRIDED, 1, false, false}, "one of c, s, v for each of 2");
    expect_invalid("cx", (struct kiln_gpu_config){KILN_GPU_TILED, 2, false, false}, "one of c, s, v, t for each of 2");
    expect_invalid("cv", (struct kiln_gpu_config){KILN_GPU_STRIDED, 1, true, false}, "packed or scalar");
    expect_invalid("cc", (struct kiln_gpu_config){KILN_GPU_PACKED, 1, false, false}, "takes 0 to 0");
    expect_invalid("cc", (struct kiln_gpu_config){KILN_GPU_STRIDED, KILN_GPU_MAX_AXES + 1, false, false},
                   "takes 1 to 33");
    expect_invalid("cc", (struct kiln_gpu_config){KILN_GPU_TILED, 1, false, false}, "takes 2 to 33");
    expect_invalid("cc", (struct kiln_gpu_config){(enum kiln_gpu_schedule)99, 1, false, false}, "schedule 99");
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emulator_runs_blocks), cmocka_unit_test(packed_operations),
        cmocka_unit_test(packed_casts),         cmocka_unit_test(packed_in_place),
        cmocka_unit_test(packed_mixed_groups),  cmocka_unit_test(packed_short_floats),
        cmocka_unit_test(width_is_bounded),     cmocka_unit_test(strided_spaces),
        cmocka_unit_test(strided_wide_spaces),  cmocka_unit_test(tiled_spaces),
        cmocka_unit_test(tiled_in_place),       cmocka_unit_test(bad_forms_are_errors),
    };
    if (count > 1) cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
