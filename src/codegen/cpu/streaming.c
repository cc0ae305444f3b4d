/*
 * streaming.c - see streaming.h.
 */
#include "codegen/cpu/streaming.h"

void kiln__print_stream_count(struct kiln_printer *p, size_t size, const char *suffix)
{
    kiln__print(p->ir,
                "  %at.bits$0 = ptrtoint ptr %at$0 to i64\n"
                "  %over.bytes$0 = and i64 %at.bits$0, $1\n"
                "  %over$0 = udiv i64 %over.bytes$0, $2\n"
                "  %whole$0 = sub nsw i64 $3, %over$0\n"
                "  %count$0 = call i64 @llvm.smin.i64(i64 %left$0, i64 %whole$0)\n",
                suffix, KILN_STREAM_LINE - 1, size, KILN_STREAM_TILE / size);
}

/*
 * Copies a tile: elements up to the first cache line, whole lines with non-temporal stores, then single elements again.
 * Elements of 8 bytes go as two halves, because a complex64 needs to be aligned to 4 bytes only.
 */
void kiln__print_stream(struct kiln_printer *p, size_t element_size, struct kiln_stream_nodes nodes)
{
    size_t size = element_size > 4 ? 4 : element_size, bits = size * 8;
    kiln__print(p->ir,
                "\n"
                "define internal void @stream(ptr %to, ptr %from, i64 %bytes) {\n"
                "entry:\n"
                "  %to.bits = ptrtoint ptr %to to i64\n"
                "  %back = sub i64 0, %to.bits\n"
                "  %gap = and i64 %back, $0\n"
                "  %head = call i64 @llvm.smin.i64(i64 %gap, i64 %bytes)\n"
                "  %rest = sub i64 %bytes, %head\n"
                "  %lines = and i64 %rest, -$1\n"
                "  %lines.end = add i64 %head, %lines\n"
                "  br label %head.test\n\n",
                KILN_STREAM_LINE - 1, KILN_STREAM_LINE);
    static const char *const edges[2][3] = {{"head", "entry", "0"}, {"tail", "line.test", "%line.at"}};
    for (int edge = 0; edge < 2; edge++) {
        const char *name = edges[edge][0];
        kiln__print(p->ir,
                    "$0.test:\n"
                    "  %$0.at = phi i64 [ $1, %$2 ], [ %$0.next, %$0.body ]\n"
                    "  %$0.more = icmp ult i64 %$0.at, $3\n"
                    "  br i1 %$0.more, label %$0.body, label %$4\n\n"
                    "$0.body:\n"
                    "  %$0.src = getelementptr inbounds i8, ptr %from, i64 %$0.at\n"
                    "  %$0.dst = getelementptr inbounds i8, ptr %to, i64 %$0.at\n"
                    "  %$0.x = load i$5, ptr %$0.src, align $6\n"
                    "  store i$5 %$0.x, ptr %$0.dst, align $6\n"
                    "  %$0.next = add nuw nsw i64 %$0.at, $6\n"
                    "  br label %$0.test, !llvm.loop !$7\n\n",
                    name, edges[edge][2], edges[edge][1], edge ? "%bytes" : "%head", edge ? "end" : "line.test", bits,
                    size, nodes.loop);
        if (edge) break;
        kiln__print(p->ir,
                    "line.test:\n"
                    "  %line.at = phi i64 [ %head, %head.test ], [ %line.next, %line.body ]\n"
                    "  %line.more = icmp ult i64 %line.at, %lines.end\n"
                    "  br i1 %line.more, label %line.body, label %tail.test\n\n"
                    "line.body:\n"
                    "  %line.src = getelementptr inbounds i8, ptr %from, i64 %line.at\n"
                    "  %line.dst = getelementptr inbounds i8, ptr %to, i64 %line.at\n"
                    "  %line.x = load <16 x i32>, ptr %line.src, align $0\n"
                    "  store <16 x i32> %line.x, ptr %line.dst, align $1, !nontemporal !$2\n"
                    "  %line.next = add nuw nsw i64 %line.at, $1\n"
                    "  br label %line.test\n\n",
                    size, KILN_STREAM_LINE, nodes.nontemporal);
    }
    kiln__print(p->ir, "end:\n  ret void\n}\n");
}
