/*
 * eval.c - evaluates a graph: sorts its nodes topologically and runs each of them once, whichever thread comes first.
 *
 * Invariants:
 * - `array->node` is read and referenced in one step under `graph.lock`, and set to NULL only under it; so a node
 *   is not freed between the two. Nothing that can block is done under that lock.
 * - A walk holds a reference to each of its nodes until the node has run; a node holds its inputs, so every array
 *   that a walk has met stays alive. The inputs of a node that has run are released with the last walk that holds it.
 * - The thread that sets a node's state to RUNNING runs the node, and waits for no other thread until it has set the
 *   next state. So waiting for a RUNNING node ends.
 * - A FAILED node is run again by the next evaluation, as a WAITING one is. Nodes that depend on a failed node are
 *   FAILED too, with its error, so that a later read of their arrays reports the reason.
 */
#include "run/eval.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/callback.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "base/process/timeline.h"
#include "run/kernels/launch.h"
#include "run/ops/operation.h"
#include "run/placement.h"

kiln_status (*kiln__plan_eval)(struct kiln_node *node, kiln_error *err);

/* The node that a thread runs now: in the child of a fork that thread does not exist. */
struct worker {
    _Atomic(struct kiln_node *) running;
    uint64_t number;        /* later evaluations have larger ones */
    atomic_bool overwrites; /* it began to write over its inputs: it can't be run a second time */
    struct worker *next, *previous;
};

/* The innermost evaluation of this thread: a program's reader (run/io/source.h) may begin another. */
static _Thread_local struct worker *current;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved_on; /* some node left RUNNING */
    int waiting;             /* threads that wait for that, or for a worker to go */
    struct worker *workers;
    uint64_t newest; /* number of a worker */
} graph = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved_on = PTHREAD_COND_INITIALIZER};

/* ---- fork ---------------------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&graph.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&graph.lock);
}

/*
 * What other threads were running will never end here: it waits again for somebody to run it. fork waited for what
 * overwrites its inputs (base/process/gate.h); if that took too long, neither inputs nor outputs are there any more.
 */
static void after_fork_in_child(void)
{
    for (struct worker *worker = graph.workers; worker; worker = worker->next) {
        struct kiln_node *node = atomic_load(&worker->running);
        uint8_t running = KILN_NODE_RUNNING, next = worker->overwrites ? KILN_NODE_LOST : KILN_NODE_WAITING;
        if (node) atomic_compare_exchange_strong(&node->state, &running, next);
    }
    graph.workers = NULL;
    graph.waiting = 0;
    pthread_cond_init(&graph.moved_on, NULL);
    pthread_mutex_unlock(&graph.lock);
}

KILN_AT_FORK(KILN_FORK_GRAPH, before_fork, after_fork_in_parent, after_fork_in_child);

static void add_worker(struct worker *worker)
{
    pthread_mutex_lock(&graph.lock);
    worker->number = ++graph.newest;
    worker->previous = NULL;
    worker->next = graph.workers;
    if (worker->next) worker->next->previous = worker;
    graph.workers = worker;
    pthread_mutex_unlock(&graph.lock);
}

static void remove_worker(struct worker *worker)
{
    pthread_mutex_lock(&graph.lock);
    if (worker->next) worker->next->previous = worker->previous;
    if (worker->previous)
        worker->previous->next = worker->next;
    else
        graph.workers = worker->next;
    if (graph.waiting > 0) pthread_cond_broadcast(&graph.moved_on);
    pthread_mutex_unlock(&graph.lock);
}

/* ---- the walk: nodes in an order in which each comes after its inputs ------------------------------------------ */

enum { INLINE_STEPS = 32, INLINE_SLOTS = 64, BURST = 256 };

struct step {
    struct kiln_array *array; /* an output of `node`; held by a node that comes later, or as a root */
    struct kiln_node *node;   /* our reference */
    uint32_t next_input;
};

struct steps {
    struct step *data;
    size_t count, cap;
    struct step inside[INLINE_STEPS];
};

struct walk {
    struct steps open, order; /* nodes whose inputs are being visited; nodes in order */
    struct kiln_node **slots; /* set of all nodes met; open addressing, a power of two, at most half full */
    size_t slot_count, met;
    unsigned burst;
    struct kiln_node *inside[INLINE_SLOTS];
};

static void walk_init(struct walk *walk)
{
    walk->open.data = walk->open.inside;
    walk->order.data = walk->order.inside;
    walk->open.cap = walk->order.cap = INLINE_STEPS;
    walk->open.count = walk->order.count = walk->met = 0;
    walk->burst = 0;
    walk->slots = walk->inside;
    walk->slot_count = INLINE_SLOTS;
    memset(walk->inside, 0, sizeof walk->inside);
}

static void steps_release(struct steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->data[i].node) kiln__node_unref(steps->data[i].node);
    }
    if (steps->data != steps->inside) free(steps->data);
}

static void walk_release(struct walk *walk)
{
    steps_release(&walk->open);
    steps_release(&walk->order);
    if (walk->slots != walk->inside) free(walk->slots);
}

static bool steps_push(struct steps *steps, struct step step)
{
    if (steps->count == steps->cap) {
        bool is_inside = steps->data == steps->inside;
        struct step *data = realloc(is_inside ? NULL : steps->data, 2 * steps->cap * sizeof *data);
        if (!data) return false;
        if (is_inside) memcpy(data, steps->inside, sizeof steps->inside);
        steps->data = data;
        steps->cap *= 2;
    }
    steps->data[steps->count++] = step;
    return true;
}

static struct kiln_node **find_slot(struct kiln_node **slots, size_t count, const struct kiln_node *node)
{
    size_t i = (size_t)(((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15u >> 20) & (count - 1);
    while (slots[i] && slots[i] != node) i = (i + 1) & (count - 1);
    return &slots[i];
}

static bool grow_slots(struct walk *walk)
{
    size_t count = 4 * walk->slot_count;
    struct kiln_node **slots = calloc(count, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < walk->slot_count; i++) {
        if (walk->slots[i]) *find_slot(slots, count, walk->slots[i]) = walk->slots[i];
    }
    if (walk->slots != walk->inside) free(walk->slots);
    walk->slots = slots;
    walk->slot_count = count;
    return true;
}

/* With graph.lock held. Opens the array's node unless the array is ready or the node was met before. */
static bool open_array(struct walk *walk, struct kiln_array *array)
{
    struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_acquire);
    if (!node) return true;
    if (2 * walk->met >= walk->slot_count && !grow_slots(walk)) return false;
    struct kiln_node **slot = find_slot(walk->slots, walk->slot_count, node);
    if (*slot) return true;
    if (!steps_push(&walk->open, (struct step){array, node, 0})) return false;
    atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    *slot = node;
    walk->met++;
    return true;
}

/* Releases the lock from time to time: a graph may have a million nodes. */
static void breathe(struct walk *walk)
{
    if (++walk->burst % BURST) return;
    pthread_mutex_unlock(&graph.lock);
    pthread_mutex_lock(&graph.lock);
}

/* With graph.lock held. Depth first; the stack is walk->open. */
static bool visit(struct walk *walk, struct kiln_array *root)
{
    if (!open_array(walk, root)) return false;
    while (walk->open.count > 0) {
        struct step *top = &walk->open.data[walk->open.count - 1];
        breathe(walk);
        if (top->next_input < top->node->input_count) {
            if (!open_array(walk, top->node->inputs[top->next_input++])) return false;
        } else {
            if (!steps_push(&walk->order, *top)) return false;
            walk->open.count--;
        }
    }
    return true;
}

static kiln_status plan_order(struct walk *walk, struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    bool done = true;
    pthread_mutex_lock(&graph.lock);
    for (size_t i = 0; done && i < count; i++) done = visit(walk, arrays[i]);
    pthread_mutex_unlock(&graph.lock);
    return done ? KILN_OK : kiln__no_memory(err, "the walk over a graph");
}

/* ---- running one node ------------------------------------------------------------------------------------------ */

kiln_status kiln__run_elementwise(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_group_kernels *kernels;
    enum kiln_dtype in = node->inputs[node->input_count - 1]->dtype; /* the first input of where is bool */
    kiln_status status = kiln__op_kernels(node->op, in, out->dtype, &kernels, err);
    if (status == KILN_OK) status = kiln__output_alloc(out, err);
    if (status == KILN_OK) status = kiln__launch(kernels, node->inputs, NULL, &out, err);
    return status;
}

/* Plans and deferred operations have no function. */
kiln_status kiln__run_nothing(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)out;
    return kiln__fail(err, KILN_INVALID, "[%s] This operation is not evaluated by itself.", kiln__ops[node->op].name);
}

/* Takes back what a failed attempt gave to the array. */
static void take_bytes_away(struct kiln_array *array)
{
    kiln__storage_unref(array->storage);
    array->storage = NULL;
    array->data = NULL;
}

static kiln_status run_plan(struct kiln_node *node, kiln_error *err)
{
    if (!kiln__plan_eval) {
        return kiln__fail(err, KILN_INVALID, "[eval] A compiled function can't run: no plan runner is installed.");
    }
    kiln_status status = kiln__plan_eval(node, err);
    for (uint32_t i = 0; status != KILN_OK && i < node->output_count; i++) {
        struct kiln_array *output = kiln__node_output(node, i);
        if (output) take_bytes_away(output);
        kiln__array_unref(output);
    }
    return status;
}

static bool can_run_at(uint32_t device_index, const struct kiln_node *node)
{
    const struct kiln_backend *backend = kiln__backend_of(device_index);
    return backend->operations[node->op] && (!backend->can_run || backend->can_run(node));
}

/* A view stays where its bytes are. What a device lacks runs on the CPU, and is counted unless it begins there. */
static uint32_t device_index_for(const struct kiln_node *node)
{
    if (kiln__ops[node->op].kind == KILN_OP_VIEW) return kiln__array_device_index(node->inputs[0]);
    if (can_run_at(node->device_index, node)) return node->device_index;
    if (kiln__ops[node->op].kind != KILN_OP_SOURCE) kiln__gpu_count_add(KILN_GPU_HOST_OPERATIONS, 1);
    return 0;
}

static kiln_status run_elsewhere(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    uint32_t device_index = device_index_for(node);
    const struct kiln_backend *backend = kiln__backend_of(device_index);
    struct kiln_placement before;
    struct kiln_moved moved = {.arrays = moved.few};
    struct kiln_stream_work work;
    struct kiln_node there = {.op = node->op,
                              .device_index = node->device_index,
                              .stream = node->stream,
                              .attrs = node->attrs,
                              .attr_count = node->attr_count,
                              .input_count = node->input_count,
                              .is_last_use = node->is_last_use}; /* state and error are other threads' meanwhile */
    kiln_status status = backend->check ? backend->check(node, err) : KILN_OK;
    if (!status) status = kiln__move(&moved, node->inputs, node->input_count, device_index, err);
    there.inputs = moved.arrays;
    if (!status) status = kiln__run_at(device_index, &before, err);
    if (!status) {
        status = kiln__stream_begin(&work, node->stream, moved.arrays, node->input_count, err);
        if (!status) {
            status = backend->operations[node->op](&there, out, err);
            kiln__stream_end(&work, moved.arrays, node->input_count, &out, 1);
        }
        kiln__active = before;
    }
    kiln__moved_release(&moved);
    return status;
}

kiln_status kiln__run_operation(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    uint64_t start_ns = kiln__timeline_begin();
    bool is_here = !node->device_index && kiln__all_at(node->inputs, node->input_count, 0);
    kiln_status status = __builtin_expect(!is_here, 0) ? run_elsewhere(node, out, err)
                                                       : kiln__cpu_backend.operations[node->op](node, out, err);
    if (start_ns)
        kiln__timeline_end(start_ns, &(struct kiln_event){.kind = "operation",
                                                          .name = kiln__ops[node->op].name,
                                                          .outcome = status ? "failed" : NULL,
                                                          .bytes = (uint64_t)out->size * kiln__dtype_size(out->dtype)});
    return status;
}

/* A gather on a GPU reads no indices on the host: they are checked before that (kiln__indexed_check), or by the kernel.
 */
bool kiln__op_only_launches(enum kiln_op op, uint32_t device_index)
{
    enum kiln_op_kind kind = (enum kiln_op_kind)kiln__ops[op].kind;
    bool always = kind == KILN_OP_ELEMENTWISE || kind == KILN_OP_VIEW || kind == KILN_OP_REDUCE ||
                  kind == KILN_OP_LAYER || kind == KILN_OP_COPY || op == KILN_OP_SLICE_DYNAMIC;
    /* What a library multiplies launches nothing. */
    bool is_product = op == KILN_OP_MATMUL || op == KILN_OP_QUANTIZED_MATMUL || op == KILN_OP_GATHER_MATMUL;
    bool is_ordered = (op >= KILN_OP_CUMSUM && op <= KILN_OP_CUMMIN) || op == KILN_OP_SORT || op == KILN_OP_ARGSORT;
    bool has_kernels = kind != KILN_OP_LIBRARY || is_product || is_ordered;
    bool on_gpu = kiln__gpu_backend.operations[op] && has_kernels && kind != KILN_OP_UPDATE;
    return always || (device_index ? on_gpu : is_product || kind == KILN_OP_KERNEL);
}

bool kiln__runs_here(const struct kiln_node *node)
{
    return can_run_at(kiln__active.device_index, node);
}

kiln_status kiln__run_here(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    return kiln__active.backend->operations[node->op](node, out, err);
}

static kiln_status run_node(struct kiln_node *node, struct kiln_array *array, kiln_error *err)
{
    if (node->op == KILN_OP_PLAN) return run_plan(node, err);
    kiln_status status = kiln__run_operation(node, array, err);
    if (status == KILN_OK) return status;
    take_bytes_away(array);
    return status == KILN_NO_MEMORY ? kiln__fail_as(err, status, kiln__ops[node->op].name) : status;
}

/* With graph.lock held. */
static void move_on(struct kiln_node *node, enum kiln_node_state state)
{
    atomic_store_explicit(&node->state, (uint8_t)state, memory_order_release);
    if (graph.waiting > 0) pthread_cond_broadcast(&graph.moved_on);
}

static void make_ready(struct kiln_node *node, struct kiln_array *array)
{
    pthread_mutex_lock(&graph.lock);
    atomic_store_explicit(&array->node, NULL, memory_order_release);
    move_on(node, KILN_NODE_DONE);
    pthread_mutex_unlock(&graph.lock);
    kiln__node_unref(node);
}

/*
 * All outputs of a plan; an output that another thread frees meanwhile has let go of the node by itself. Each leaves
 * the node in one step under the lock, so that a fork between two of them leaves the child a plan with the others to
 * make.
 */
static void make_outputs_ready(struct kiln_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        pthread_mutex_lock(&graph.lock);
        struct kiln_array *output = kiln__node_take_output(node, i);
        if (output) atomic_store_explicit(&output->node, NULL, memory_order_release);
        pthread_mutex_unlock(&graph.lock);
        if (output) kiln__node_unref(node);
        kiln__array_unref(output);
    }
    pthread_mutex_lock(&graph.lock);
    move_on(node, KILN_NODE_DONE);
    pthread_mutex_unlock(&graph.lock);
}

/* With graph.lock held. */
static void set_error(struct kiln_node *node, const kiln_error *error)
{
    if (!node->error) node->error = malloc(sizeof *node->error);
    if (node->error) *node->error = *error;
}

/* Has a run taken the bytes of an input? */
static bool has_consumed(const struct kiln_node *node)
{
    for (uint32_t i = 0; node->op == KILN_OP_PLAN && i < node->input_count; i++)
        if (kiln__array_is_consumed(node->inputs[i])) return true;
    return false;
}

/* A node whose inputs are gone can't run again: the error is what every later evaluation gets. */
static void keep_error(struct kiln_node *node, const kiln_error *error)
{
    enum kiln_node_state state = has_consumed(node) ? KILN_NODE_LOST : KILN_NODE_FAILED;
    pthread_mutex_lock(&graph.lock);
    set_error(node, error);
    move_on(node, state);
    pthread_mutex_unlock(&graph.lock);
}

bool kiln__eval_failure(struct kiln_array *array, kiln_error *out)
{
    pthread_mutex_lock(&graph.lock);
    struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_acquire);
    enum kiln_node_state state = node ? (enum kiln_node_state)atomic_load(&node->state) : KILN_NODE_DONE;
    bool has_failed = node && node->error && (state == KILN_NODE_FAILED || state == KILN_NODE_LOST);
    if (has_failed) *out = *node->error;
    pthread_mutex_unlock(&graph.lock);
    return has_failed;
}

struct kiln_node *kiln__eval_node(struct kiln_array *array)
{
    pthread_mutex_lock(&graph.lock);
    struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_acquire);
    if (node) atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&graph.lock);
    return node;
}

/* A node with an input that failed fails with the error of that input. */
static bool pass_failure_on(struct kiln_node *node)
{
    uint8_t waiting = KILN_NODE_WAITING;
    kiln_error error;
    uint32_t i = 0;
    while (i < node->input_count && kiln__array_is_ready(node->inputs[i])) i++;
    if (i == node->input_count) return false;
    if (kiln__eval_failure(node->inputs[i], &error)) {
        pthread_mutex_lock(&graph.lock);
        if (atomic_compare_exchange_strong(&node->state, &waiting, KILN_NODE_FAILED)) set_error(node, &error);
        pthread_mutex_unlock(&graph.lock);
    }
    return true;
}

static kiln_status run_and_move_on(const struct step *step, kiln_error *err)
{
    kiln_error error = {.status = KILN_OK};
    kiln_status status = run_node(step->node, step->array, &error);
    if (status != KILN_OK) {
        error.status = status;
        keep_error(step->node, &error);
        if (err) *err = error;
    } else if (step->node->op == KILN_OP_PLAN) {
        make_outputs_ready(step->node);
    } else {
        make_ready(step->node, step->array);
    }
    return status;
}

/* Waits until `node` is not RUNNING; its error if it has failed. */
static kiln_status wait_for(struct kiln_node *node, kiln_error *err)
{
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&graph.lock);
    graph.waiting++;
    while (atomic_load_explicit(&node->state, memory_order_acquire) == KILN_NODE_RUNNING) {
        pthread_cond_wait(&graph.moved_on, &graph.lock);
    }
    graph.waiting--;
    if (atomic_load_explicit(&node->state, memory_order_acquire) == KILN_NODE_FAILED) {
        status = node->error ? node->error->status : KILN_NO_MEMORY;
        if (err && node->error)
            *err = *node->error;
        else
            kiln__no_memory(err, "the error of an evaluation");
    }
    pthread_mutex_unlock(&graph.lock);
    return status;
}

/* Its run failed after it had consumed inputs, or was lost in a fork. */
static kiln_status refuse_lost(const struct kiln_node *node, kiln_error *err)
{
    if (node->error) {
        if (err) *err = *node->error;
        return node->error->status;
    }
    return kiln__fail(err, KILN_INVALID,
                      "[eval] The process was forked while another thread of its parent computed this array over its "
                      "own inputs, which are lost here; evaluate it before fork().");
}

void kiln__eval_overwrites(void)
{
    if (!current || current->overwrites) return;
    kiln__overwrite_begin();
    current->overwrites = true;
}

static void end_overwriting(struct worker *worker)
{
    if (!worker->overwrites) return;
    worker->overwrites = false;
    kiln__overwrite_end();
}

static kiln_status take_step(const struct step *step, struct worker *worker, kiln_error *err)
{
    for (;;) {
        uint8_t state = atomic_load_explicit(&step->node->state, memory_order_acquire);
        if (state == KILN_NODE_DONE) return KILN_OK;
        if (state == KILN_NODE_LOST) return refuse_lost(step->node, err);
        if (state == KILN_NODE_RUNNING) {
            kiln_status status = wait_for(step->node, err);
            if (status != KILN_OK) return status;
            continue;
        }
        atomic_store_explicit(&worker->running, step->node, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&step->node->state, &state, KILN_NODE_RUNNING, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            kiln_status status = run_and_move_on(step, err);
            end_overwriting(worker);
            atomic_store_explicit(&worker->running, NULL, memory_order_release);
            return status;
        }
        atomic_store_explicit(&worker->running, NULL, memory_order_release);
    }
}

/* ---- evaluation ---------------------------------------------------------------------------------------------- */

kiln_status kiln__eval_check(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!arrays[i]) return kiln__fail(err, KILN_INVALID, "[eval] Array %zu is empty.", i);
        if (arrays[i]->trace) {
            return kiln__fail(err, KILN_INVALID,
                              "[eval] Attempting to eval an array during function transformations "
                              "like compile is not allowed.");
        }
    }
    return KILN_OK;
}

static bool all_ready(struct kiln_array *const *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!kiln__array_is_ready(arrays[i])) return false;
    }
    return true;
}

static kiln_status run_in_order(struct walk *walk, kiln_error *err)
{
    struct worker worker = {.running = NULL}, *outer = current;
    kiln_status status = KILN_OK;
    add_worker(&worker);
    current = &worker;
    for (size_t i = 0; i < walk->order.count; i++) {
        struct step *step = &walk->order.data[i];
        if (status == KILN_OK)
            status = take_step(step, &worker, err);
        else if (!pass_failure_on(step->node))
            take_step(step, &worker, NULL);
        kiln__node_unref(step->node); /* the last one frees what the node read */
        step->node = NULL;
    }
    current = outer;
    remove_worker(&worker);
    return status;
}

static kiln_status evaluate(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct walk walk;
    walk_init(&walk);
    for (size_t i = 0; i < count; i++) kiln__array_ref(arrays[i]); /* another thread may drop the caller's meanwhile */
    kiln_status status = plan_order(&walk, arrays, count, err);
    if (status == KILN_OK) status = run_in_order(&walk, err);
    walk_release(&walk);
    for (size_t i = 0; i < count; i++) kiln__array_unref(arrays[i]);
    return status;
}

kiln_status kiln__eval(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    kiln_status status = kiln__eval_check(arrays, count, err);
    if (status != KILN_OK) return status;
    kiln__async_wait_together(arrays, count);
    return all_ready(arrays, count) ? KILN_OK : evaluate(arrays, count, err);
}

/* With graph.lock held. */
static bool is_any_left(uint64_t last)
{
    for (const struct worker *worker = graph.workers; worker; worker = worker->next)
        if (worker->number <= last) return true;
    return false;
}

bool kiln__eval_await(struct kiln_array *array)
{
    if (kiln__array_is_ready(array) || array->trace || current) return kiln__array_is_ready(array);
    KILN_HOLD_CANCEL;
    kiln__async_wait_until_ready(array);
    pthread_mutex_lock(&graph.lock);
    uint64_t last = graph.newest;
    graph.waiting++;
    while (!kiln__array_is_ready(array) && is_any_left(last)) pthread_cond_wait(&graph.moved_on, &graph.lock);
    graph.waiting--;
    pthread_mutex_unlock(&graph.lock);
    return kiln__array_is_ready(array);
}
