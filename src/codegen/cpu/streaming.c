/*
 * streaming.c - see streaming.h.
 */
#include "codegen/cpu/streaming.h"

void kiln__print_stream_count(struct kiln_printer *p, size_t size, const char *suffix)
{
    kiln__buffer_printf(p->text, "  %%at.bits%s = ptrtoint ptr %%at%s to i64\n", suffix, suffix);
    kiln__buffer_printf(p->text, "  %%over.bytes%s = and i64 %%at.bits%s, %d\n", suffix, suffix, KILN_STREAM_LINE - 1);
    kiln__buffer_printf(p->text, "  %%over%s = udiv i64 %%over.bytes%s, %zu\n", suffix, suffix, size);
    kiln__buffer_printf(p->text, "  %%whole%s = sub nsw i64 %zu, %%over%s\n", suffix, KILN_STREAM_TILE / size, suffix);
    kiln__buffer_printf(p->text, "  %%count%s = call i64 @llvm.smin.i64(i64 %%left%s, i64 %%whole%s)\n", suffix, suffix,
                        suffix);
}

/*
 * Copies a tile: elements up to the first cache line, whole lines past the caches, the rest as elements again. Elements
 * of 8 bytes go as two halves, because a complex64 needs to be aligned to 4 bytes only.
 */
void kiln__print_stream(struct kiln_printer *p, size_t element_size, struct kiln_stream_nodes nodes)
{
    size_t size = element_size > 4 ? 4 : element_size, bits = size * 8;
    kiln__buffer_printf(
        p->text,
        "\ndefine internal void @stream(ptr %%to, ptr %%from, i64 %%bytes) {\nentry:\n"
        "  %%to.bits = ptrtoint ptr %%to to i64\n  %%back = sub i64 0, %%to.bits\n  %%gap = and i64 %%back, %d\n"
        "  %%head = call i64 @llvm.smin.i64(i64 %%gap, i64 %%bytes)\n  %%rest = sub i64 %%bytes, %%head\n"
        "  %%lines = and i64 %%rest, -%d\n  %%lines.end = add i64 %%head, %%lines\n  br label %%head.test\n\n",
        KILN_STREAM_LINE - 1, KILN_STREAM_LINE);
    static const char *const edges[2][3] = {{"head", "entry", "0"}, {"tail", "line.test", "%line.at"}};
    for (int edge = 0; edge < 2; edge++) {
        const char *name = edges[edge][0];
        kiln__buffer_printf(
            p->text,
            "%s.test:\n  %%%s.at = phi i64 [ %s, %%%s ], [ %%%s.next, %%%s.body ]\n"
            "  %%%s.more = icmp ult i64 %%%s.at, %s\n  br i1 %%%s.more, label %%%s.body, label %%%s\n\n"
            "%s.body:\n  %%%s.src = getelementptr inbounds i8, ptr %%from, i64 %%%s.at\n"
            "  %%%s.dst = getelementptr inbounds i8, ptr %%to, i64 %%%s.at\n"
            "  %%%s.x = load i%zu, ptr %%%s.src, align %zu\n  store i%zu %%%s.x, ptr %%%s.dst, align %zu\n"
            "  %%%s.next = add nuw nsw i64 %%%s.at, %zu\n  br label %%%s.test, !llvm.loop !%u\n\n",
            name, name, edges[edge][2], edges[edge][1], name, name, name, name, edge ? "%bytes" : "%head", name, name,
            edge ? "end" : "line.test", name, name, name, name, name, name, bits, name, size, bits, name, name, size,
            name, name, size, name, nodes.loop);
        if (edge) break;
        kiln__buffer_printf(p->text,
                            "line.test:\n  %%line.at = phi i64 [ %%head, %%head.test ], [ %%line.next, %%line.body ]\n"
                            "  %%line.more = icmp ult i64 %%line.at, %%lines.end\n  br i1 %%line.more, label "
                            "%%line.body, label %%tail.test\n\n"
                            "line.body:\n  %%line.src = getelementptr inbounds i8, ptr %%from, i64 %%line.at\n"
                            "  %%line.dst = getelementptr inbounds i8, ptr %%to, i64 %%line.at\n"
                            "  %%line.x = load <16 x i32>, ptr %%line.src, align %zu\n"
                            "  store <16 x i32> %%line.x, ptr %%line.dst, align %d, !nontemporal !%u\n"
                            "  %%line.next = add nuw nsw i64 %%line.at, %d\n  br label %%line.test\n\n",
                            size, KILN_STREAM_LINE, nodes.nontemporal, KILN_STREAM_LINE);
    }
    kiln__buffer_printf(p->text, "end:\n  ret void\n}\n");
}
