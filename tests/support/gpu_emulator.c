/*
 * gpu_emulator.c - see gpu_emulator.h.
 *
 * Translating: intrinsics become calls of the functions below by their addresses, shared variables become addresses in
 * `shared`, the kernel becomes internal and gets a wrapper that reads the parameters from memory.
 *
 * Running: a fiber goes on until it waits or ends. When all threads of a warp (of the block) wait at the warp (at the
 * block), they go on; when nobody can, the launch is at fault. Every other round runs backwards, and shared memory is
 * garbage at the start of a block, so that a missing barrier shows.
 */
#include "support/gpu_emulator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/fiber.h"

enum {
    MAX_BLOCK = 1024,
    WARP = 32,
    STACK_BYTES = 256 * 1024,
    SHARED_BYTES = 64 * 1024,
    MOST_GIVEN = 48 * 1024,
    GARBAGE = 0xA5,
    NAME = 64,
    MAX_NAMES = 64
};

enum waiting { READY, AT_WARP, AT_BLOCK, ENDED };

struct thread {
    struct fiber fiber;
    enum waiting waiting;
    uint32_t shuffles;
    uint32_t sent[2]; /* by turns: who shuffles next may not overwrite what others still read */
};

static struct {
    gpu_emulator_thread kernel;
    const uint64_t *words;
    uint32_t block, grid, threads, thread;
    size_t given_bytes;
    struct thread *thread_list;
    char *stacks;
    struct fiber fiber; /* that launched */
} now;

static _Alignas(16) char shared[SHARED_BYTES], given[SHARED_BYTES]; /* by the kernel; by the launch */

/* ---- what kernels call ----------------------------------------------------------------------------------------- */

static uint32_t thread_number(void)
{
    return now.thread;
}

static uint32_t block_number(void)
{
    return now.block;
}

static uint32_t threads_in_block(void)
{
    return now.threads;
}

static uint32_t blocks_in_grid(void)
{
    return now.grid;
}

static uint32_t lane_number(void)
{
    return now.thread % WARP;
}

/* These are left without returning when a thread has ended; the sanitizer must not count them as entered. */
#define LEFT_EARLY __attribute__((no_sanitize("thread")))

static LEFT_EARLY void wait_at(enum waiting where)
{
    struct thread *self = &now.thread_list[now.thread];
    self->waiting = where;
    fiber_switch(&self->fiber, &now.fiber);
}

static void block_barrier(void)
{
    wait_at(AT_BLOCK);
}

static void sleep_a_while(uint32_t nanoseconds)
{
    (void)nanoseconds;
}

static void warp_barrier(uint32_t mask)
{
    (void)mask;
    wait_at(AT_WARP);
}

/* Values of the lanes of a warp, then the one of lane `from` where the segment that `clamp` describes allows it. */
static uint32_t shuffle(uint32_t value, uint32_t from, bool is_inside)
{
    struct thread *self = &now.thread_list[now.thread];
    uint32_t turn = self->shuffles++ % 2;
    self->sent[turn] = value;
    wait_at(AT_WARP);
    return is_inside ? now.thread_list[now.thread / WARP * WARP + from % WARP].sent[turn] : value;
}

/* PTX: bits 8 to 12 of `clamp` mask the lanes of a segment, bits 0 to 4 are its last (for up: its first) lane. */
static uint32_t first_lane(uint32_t clamp)
{
    return now.thread % WARP & (clamp >> 8);
}

static uint32_t last_lane(uint32_t clamp)
{
    return first_lane(clamp) | (clamp & ~(clamp >> 8) & (WARP - 1));
}

static uint32_t shuffle_idx(uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp)
{
    uint32_t from = first_lane(clamp) | (lane & ~(clamp >> 8) & (WARP - 1));
    (void)mask;
    return shuffle(value, from, from <= last_lane(clamp));
}

static uint32_t shuffle_bfly(uint32_t mask, uint32_t value, uint32_t lanes, uint32_t clamp)
{
    uint32_t from = now.thread % WARP ^ lanes;
    (void)mask;
    return shuffle(value, from, from <= last_lane(clamp));
}

static uint32_t shuffle_down(uint32_t mask, uint32_t value, uint32_t delta, uint32_t clamp)
{
    uint32_t from = now.thread % WARP + delta;
    (void)mask;
    return shuffle(value, from, from <= last_lane(clamp));
}

static uint32_t shuffle_up(uint32_t mask, uint32_t value, uint32_t delta, uint32_t clamp)
{
    uint32_t from = now.thread % WARP - delta;
    (void)mask;
    return shuffle(value, from, (int32_t)from >= (int32_t)last_lane(clamp));
}

#define SHUFFLE_FLOAT(kind)                                                                                            \
    static float shuffle_##kind##_float(uint32_t mask, float value, uint32_t lane, uint32_t clamp)                     \
    {                                                                                                                  \
        uint32_t bits;                                                                                                 \
        memcpy(&bits, &value, sizeof bits);                                                                            \
        bits = shuffle_##kind(mask, bits, lane, clamp);                                                                \
        memcpy(&value, &bits, sizeof bits);                                                                            \
        return value;                                                                                                  \
    }
SHUFFLE_FLOAT(idx)
SHUFFLE_FLOAT(bfly)
SHUFFLE_FLOAT(down)
SHUFFLE_FLOAT(up)

static float swap_lanes(float value, uint32_t lanes)
{
    return shuffle_bfly_float(0, value, lanes, WARP - 1);
}

/* ---- translating ----------------------------------------------------------------------------------------------- */

struct name {
    char name[NAME];
    char text[NAME]; /* stands in its place */
};

struct translation {
    struct name names[MAX_NAMES];
    size_t count, shared_bytes;
};

static void add_address(struct translation *t, const char *name, const void *address, const char *space)
{
    struct name *added = &t->names[t->count++];
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->text, sizeof added->text, "inttoptr (i64 %llu to ptr%s)", (unsigned long long)(uintptr_t)address,
             space);
}

#define ADD_FUNCTION(name, function) add_address(t, "llvm.nvvm." name, (const void *)(uintptr_t)function, "")

static void add_functions(struct translation *t)
{
    ADD_FUNCTION("read.ptx.sreg.tid.x", thread_number);
    ADD_FUNCTION("read.ptx.sreg.ctaid.x", block_number);
    ADD_FUNCTION("read.ptx.sreg.ntid.x", threads_in_block);
    ADD_FUNCTION("read.ptx.sreg.nctaid.x", blocks_in_grid);
    ADD_FUNCTION("read.ptx.sreg.laneid", lane_number);
    ADD_FUNCTION("barrier0", block_barrier);
    ADD_FUNCTION("nanosleep", sleep_a_while);
    ADD_FUNCTION("bar.warp.sync", warp_barrier);
    ADD_FUNCTION("fma.rn.f", fmaf);
    ADD_FUNCTION("shfl.sync.idx.i32", shuffle_idx);
    ADD_FUNCTION("shfl.sync.bfly.i32", shuffle_bfly);
    ADD_FUNCTION("shfl.sync.down.i32", shuffle_down);
    ADD_FUNCTION("shfl.sync.up.i32", shuffle_up);
    ADD_FUNCTION("shfl.sync.idx.f32", shuffle_idx_float);
    ADD_FUNCTION("shfl.sync.bfly.f32", shuffle_bfly_float);
    ADD_FUNCTION("shfl.sync.down.f32", shuffle_down_float);
    ADD_FUNCTION("shfl.sync.up.f32", shuffle_up_float);
}

static void add_entry(struct translation *t, const char *name, size_t length)
{
    snprintf(t->names[t->count].name, NAME, "%.*s", (int)length, name);
    snprintf(t->names[t->count++].text, NAME, "@gpu_kernel");
}

/* Bytes of "i16", "float", "[32 x <4 x i32>]"; 0 for others. */
static size_t type_bytes(const char *type)
{
    if (*type == '[' || *type == '<') return strtoul(type + 1, NULL, 10) * type_bytes(strchr(type, 'x') + 2);
    if (*type == 'i') return (strtoul(type + 1, NULL, 10) + 7) / 8;
    return strncmp(type, "float", 5) == 0 ? 4 : strncmp(type, "double", 6) == 0 ? 8 : 0;
}

/* A line "@name = internal addrspace(3) global TYPE undef, ..." gets a place, an external one what the launch gives. */
static const char *add_shared(struct translation *t, const char *line)
{
    char name[NAME];
    const char *type = strstr(line, " global ");
    if (sscanf(line, "@%63[^ =]", name) != 1 || !type || t->count == MAX_NAMES) return "a shared variable";
    size_t bytes = type_bytes(type + 8);
    if (strstr(line, "external") == line + strlen(name) + 4) {
        add_address(t, name, given, " addrspace(3)");
        return NULL;
    }
    if (!bytes || t->shared_bytes + bytes > SHARED_BYTES) return "the type or size of a shared variable";
    add_address(t, name, shared + t->shared_bytes, " addrspace(3)");
    t->shared_bytes += (bytes + 15) / 16 * 16;
    return NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_shared(const char *line)
{
    const char *end = strchr(line, '\n'), *space = strstr(line, "addrspace(3) global ");
    return *line == '@' && space && space < end;
}

static size_t line_length(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? (size_t)(end - line) + 1 : strlen(line);
}

/* The longest symbol that begins behind '@'. */
static size_t symbol_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._");
}

static const char *copy_line(const struct translation *t, const char *line, size_t length, struct kiln_buffer *out)
{
    for (const char *at = line; at < line + length; at++) {
        const struct name *found = NULL;
        size_t size = *at == '@' ? symbol_length(at + 1) : 0;
        for (size_t i = 0; size && i < t->count; i++)
            if (strlen(t->names[i].name) == size && memcmp(t->names[i].name, at + 1, size) == 0) found = &t->names[i];
        if (!found && starts_with(at, "@llvm.nvvm.")) return "an intrinsic of GPUs";
        if (found)
            kiln__buffer_printf(out, "%s", found->text), at += size;
        else
            kiln__buffer_append(out, at, 1);
    }
    return NULL;
}

/* @kernel as on CPUs; the parameters' types stand in the definition that begins at `define`. */
static void print_wrapper(const char *define, struct kiln_buffer *out)
{
    struct kiln_buffer call = {0};
    const char *at = strchr(define, '(') + 1;
    kiln__buffer_printf(out, "\ndefine void @kernel(ptr %%words, ptr %%a, i64 %%b, i64 %%c) {\n");
    for (int i = 0; *at == 'p' || *at == 'i'; i++) {
        const char *type = *at == 'p' ? "ptr addrspace(1)" : "i64";
        kiln__buffer_printf(
            out, "  %%at%d = getelementptr i64, ptr %%words, i64 %d\n  %%w%d = load %s, ptr %%at%d, align 8\n", i, i, i,
            type, i);
        kiln__buffer_printf(&call, "%s%s %%w%d", i ? ", " : "", type, i);
        at = strchr(at, '%');
        at += strcspn(at, ",)");
        if (*at == ',') at += 2;
    }
    kiln__buffer_printf(out, "  call void @gpu_kernel(%s)\n  ret void\n}\n", call.data ? (const char *)call.data : "");
    kiln__buffer_release(&call);
}

/* What kernels that are C (codegen/runtime/gpu/lanes.h) call on a CPU. */
static void print_functions(struct kiln_buffer *out)
{
    static const struct {
        const char *name, *result, *parameters, *arguments;
        const void *function;
    } functions[] = {
        {"thread", "i32", "", "", (const void *)(uintptr_t)thread_number},
        {"block", "i32", "", "", (const void *)(uintptr_t)block_number},
        {"barrier", "void", "", "", (const void *)(uintptr_t)block_barrier},
        {"swap", "float", "float %value, i32 %lanes", "float %value, i32 %lanes", (const void *)(uintptr_t)swap_lanes},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bool is_void = strcmp(functions[i].result, "void") == 0;
        kiln__buffer_printf(
            out, "\ndefine %s @kiln_emulated_%s(%s) {\n  %scall %s inttoptr (i64 %llu to ptr)(%s)\n  ret %s\n}\n",
            functions[i].result, functions[i].name, functions[i].parameters,
            is_void ? "" : "%r = ", functions[i].result, (unsigned long long)(uintptr_t)functions[i].function,
            functions[i].arguments,
            is_void                                   ? "void"
            : strcmp(functions[i].result, "i32") == 0 ? "i32 %r"
                                                      : "float %r");
    }
}

static const char define[] = "define ptx_kernel void @";

const char *gpu_emulator_entry(const char *text, size_t *length)
{
    const char *definition = strstr(text, define);
    *length = definition ? symbol_length(definition + sizeof define - 1) : 0;
    return *length ? definition + sizeof define - 1 : NULL;
}

const char *gpu_emulator_translate(const char *text, struct kiln_buffer *out)
{
    struct translation t = {0};
    size_t length;
    const char *fault = NULL, *entry = gpu_emulator_entry(text, &length);
    if (!entry) return "no kernel";
    if (length >= NAME) return "a name that is too long";
    const char *definition = entry - (sizeof define - 1);
    add_functions(&t);
    add_entry(&t, entry, length);
    for (const char *line = text; *line && !fault; line += line_length(line))
        if (is_shared(line)) fault = add_shared(&t, line);
    for (const char *line = text; *line && !fault; line += line_length(line)) {
        if (is_shared(line) || (starts_with(line, "declare ") && strstr(line, "@llvm.nvvm.") &&
                                strstr(line, "@llvm.nvvm.") < line + line_length(line)))
            continue;
        size_t skipped = line == definition ? sizeof define - 1 + length + 1 : 0;
        if (skipped) kiln__buffer_printf(out, "define internal void @gpu_kernel(");
        fault = copy_line(&t, line + skipped, line_length(line) - skipped, out);
    }
    print_wrapper(definition, out);
    if (strstr(text, "@kiln_gpu_")) print_functions(out);
    return fault;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static LEFT_EARLY void run_thread(void)
{
    now.kernel(now.words, NULL, 0, 0);
    wait_at(ENDED);
}

static void start_block(void)
{
    memset(shared, GARBAGE, sizeof shared);
    memset(given, GARBAGE, sizeof given);
    for (uint32_t i = 0; i < now.threads; i++) {
        struct thread *thread = &now.thread_list[i];
        thread->waiting = READY, thread->shuffles = 0;
        fiber_start(&thread->fiber, now.stacks + (size_t)i * STACK_BYTES, STACK_BYTES, run_thread);
    }
}

/* Lets the threads of [first, last) go on when all of them wait at `where`. */
static void release(uint32_t first, uint32_t last, enum waiting where)
{
    for (uint32_t i = first; i < last; i++)
        if (now.thread_list[i].waiting != where) return;
    for (uint32_t i = first; i < last; i++) now.thread_list[i].waiting = READY;
}

/* Every thread that can, goes on once. Returns how many did. */
static uint32_t run_round(bool backwards)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < now.threads; i++) {
        now.thread = backwards ? now.threads - 1 - i : i;
        struct thread *thread = &now.thread_list[now.thread];
        if (thread->waiting != READY) continue;
        count++;
        fiber_switch(&now.fiber, &thread->fiber);
    }
    for (uint32_t first = 0; first < now.threads; first += WARP)
        release(first, first + WARP < now.threads ? first + WARP : now.threads, AT_WARP);
    release(0, now.threads, AT_BLOCK);
    return count;
}

static const char *run_block(void)
{
    start_block();
    bool backwards = now.block % 2;
    for (; run_round(backwards); backwards = !backwards) continue;
    for (uint32_t i = 0; i < now.threads; i++)
        if (now.thread_list[i].waiting != ENDED) return "a thread waits for others that will not come";
    for (size_t i = now.given_bytes; i < sizeof given; i++)
        if ((unsigned char)given[i] != GARBAGE) return "a thread wrote behind the shared memory of its launch";
    return NULL;
}

const char *gpu_emulator_launch(gpu_emulator_thread kernel, uint32_t grid, uint32_t block, size_t shared_bytes,
                                const uint64_t *words)
{
    static struct thread threads[MAX_BLOCK];
    const char *fault = NULL;
    if (!block || block > MAX_BLOCK || block % WARP)
        return "a block that is not whole warps, or has more than 1024 threads";
    if (shared_bytes > MOST_GIVEN) return "more shared memory than a launch may ask for";
    if (!now.stacks) {
        void *stacks = mmap(NULL, (size_t)MAX_BLOCK * STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED) return "no memory for stacks";
        now.stacks = stacks;
    }
    now.thread_list = threads, now.kernel = kernel, now.words = words, now.grid = grid, now.threads = block;
    now.given_bytes = shared_bytes;
    fiber_begin(&now.fiber);
    for (now.block = 0; now.block < grid && !fault; now.block++) fault = run_block();
    return fault;
}

/* ---- threads that do not wait ---------------------------------------------------------------------------------- */

bool gpu_emulator_waits(const char *text)
{
    static const char *const waits[] = {"@llvm.nvvm.barrier0", "@llvm.nvvm.bar.warp.sync", "@llvm.nvvm.shfl.sync",
                                        "@kiln_gpu_"};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strstr(text, waits[i])) return true;
    return false;
}

const char *gpu_emulator_launch_apart(gpu_emulator_thread kernel, uint32_t grid, uint32_t block, const uint64_t *words)
{
    now.grid = grid, now.threads = block;
    for (now.block = 0; now.block < grid; now.block++) {
        for (uint32_t i = 0; i < block; i++) {
            now.thread = now.block % 2 ? block - 1 - i : i;
            kernel(words, NULL, 0, 0);
        }
    }
    return NULL;
}
