/*
 * gpu_printer.h - what the printers of GPU schedules share. Inside the codegen layer.
 *
 * kiln__gpu_open() prints the head of the kernel and gives its parameters the names that printer.h and lower.h use:
 *
 *     %oN, %pN               pointers of outputs and operands: cast to plain pointers, so that loads and stores are
 *                            those of lower.c; LLVM finds the address space again
 *     %cN                    constants
 *     %thread, %block        i32, of this block and of the grid
 *     %NAME.word, %NAME      a param of the schedule: as it came (i64), and in the index type of the schedule config
 *     %axisA.size.word, %axisA.size; %oN.axisA, %pN.axisA    size of axis A; byte strides (i64) along it
 *
 * The index type is i32, or i64 where the schedule config is long: kiln__gpu_index(). A schedule's printer prints from
 * `define` to the closing brace; kiln__gpu_print() does heading, declarations and annotations. What several elements of
 * one thread compute has the suffix `pass` of the printer, as in row kernels.
 */
#ifndef KILN_CODEGEN_GPU_GPU_PRINTER_H
#define KILN_CODEGEN_GPU_GPU_PRINTER_H

#include "codegen/gpu/gpu_schedule.h"
#include "codegen/printer.h"

/* At the back edge of a loop that rarely runs: it is not unrolled. */
#define KILN_GPU_ROLLED ", !llvm.loop !1"

const char *kiln__gpu_index(const struct kiln_gpu_config *config);

/*
 * `params`: the names of the schedule's params, separated by blanks, without the axes, which follow them. The word
 * "inner" stands for one param per operand, i64 and named %pN.inner; "indices" for four per operand with the layout
 * 'i', i64 and named %pN.size, %pN.step, %pN.count and %pN.report.
 */
void kiln__gpu_open(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *params);

/* %first = %block * per_block + %thread * per_thread, of the index type. */
void kiln__gpu_first(struct kiln_printer *p, const struct kiln_gpu_config *config, uint32_t per_block,
                     uint32_t per_thread);

/*
 * %oN.base and %pN.base: the pointers moved to position `index` (a name or number of the index type) of the axes from
 * `first` to before `last`, in row-major order. %axisA.at are the coordinates. Once per kernel and axis.
 */
void kiln__gpu_print_bases(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *index,
                           uint32_t first, uint32_t last);

/* name = the index `source` as i64. */
void kiln__gpu_extend(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *name,
                      const char *source);

/*
 * @name: `count` elements of `type` that the threads of a block share; use it as ptr addrspace(3) @name. 0: as many as
 * the launch asks for, once per kernel.
 */
void kiln__gpu_shared(struct kiln_printer *p, const char *name, const char *type, uint32_t count);

/* All threads of the block wait for each other. */
void kiln__gpu_barrier(struct kiln_printer *p);

/*
 * Neighbours of one thread, element k with the suffix kiln__gpu_pass(k). From `pointer` on they are loaded into the
 * values of an operand, or stored from the value of an output, with one access of at most 16 bytes, to which it is
 * aligned.
 */
enum { KILN_GPU_MAX_WIDTH = 16 };
const char *kiln__gpu_pass(uint32_t element);
void kiln__gpu_load_vector(struct kiln_printer *p, uint32_t operand, const char *pointer, uint32_t width);
void kiln__gpu_store_vector(struct kiln_printer *p, uint32_t output, const char *pointer, uint32_t width);
/*
 * gpu_pairs.c: the instructions whose results are not shared, for elements 0 to width - 1. Operands that were not
 * loaded as vectors are joined to pairs first.
 */
kiln_status kiln__gpu_compute(struct kiln_printer *p, uint32_t width, kiln_error *err);
void kiln__gpu_join(struct kiln_printer *p, uint32_t width);
/* Elements e and e + 1 of an operand, 16-bit floats, from %pN.parts, a `vector` of pairs. */
void kiln__gpu_take_pair(struct kiln_printer *p, uint32_t operand, const char *vector, uint32_t element);

/* One per schedule: see gpu_schedule.h. The group is checked. */
kiln_status kiln__gpu_print_packed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_strided(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_tiled(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_rows(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_columns(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_indexed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_placed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_argreduce(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
kiln_status kiln__gpu_print_random(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);

#endif
