/*
 * streaming.h - results that bypass the caches: they are computed into a tile on the stack, which is then copied to the
 * output in whole cache lines, with non-temporal stores. Inside the codegen layer.
 *
 * A tile ends at the end of a cache line of the output, but for the last one, so every tile but the first begins at the
 * beginning of one.
 */
#ifndef KILN_CODEGEN_CPU_STREAMING_H
#define KILN_CODEGEN_CPU_STREAMING_H

#include "codegen/printer.h"

/*
 * A tile of 512 bytes per output: the processor then overlaps its copy with the loads of the next tile, and reaches
 * 0.96 of a loop written by hand with non-temporal stores; with 4096 bytes it was 0.79.
 */
enum { KILN_STREAM_TILE = 512, KILN_STREAM_LINE = 64 };

/* Numbers of metadata: !{i32 1}, and a loop that is not vectorised. */
struct kiln_stream_nodes {
    unsigned nontemporal, loop;
};

/* %count: elements of the tile that starts at the pointer %at, at most %left. All names end with `suffix`. */
void kiln__print_stream_count(struct kiln_printer *p, size_t size, const char *suffix);
/* Defines @stream(to, from, bytes). */
void kiln__print_stream(struct kiln_printer *p, size_t element_size, struct kiln_stream_nodes nodes);

#endif
