; kiln gpu kernel, argreduce, 1 axes
; operand a0: float32, packed
; operand a1: uint32, scalar
; operation v0: uint32 argmax(a0)
; result v0: uint32

define ptx_kernel void @kiln_argmax_u32_8d3e523f(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, i64 %rows.word, i64 %n.word, i64 %chunk.word, i64 %chunks.word, i64 %stride.word, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0, i64 %p1.axis0) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %rows = trunc i64 %rows.word to i32
  %n = trunc i64 %n.word to i32
  %chunk = trunc i64 %chunk.word to i32
  %chunks = trunc i64 %chunks.word to i32
  %stride = trunc i64 %stride.word to i32
  %axis0.size = trunc i64 %axis0.size.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %own = lshr i32 %thread, 5
  %block.index = add i32 %block, 0
  %own.index = add i32 %own, 0
  %before = mul nuw i32 %block.index, 8
  %warp = add nuw i32 %before, %own.index
  %total = mul nuw i32 %rows, %chunks
  %exists = icmp ult i32 %warp, %total
  br i1 %exists, label %row, label %exit

row:
  %row.at = udiv i32 %warp, %chunks
  %row.whole = mul nuw i32 %row.at, %chunks
  %chunk.at = sub nuw i32 %warp, %row.whole
  %chunk.long = zext i32 %chunk.at to i64
  %begin.long = mul nuw i64 %chunk.long, %chunk.word
  %begin = trunc i64 %begin.long to i32
  %size = trunc i64 %n.word to i32
  %length = trunc i64 %chunk.word to i32
  %after = add nuw i32 %begin, %length
  %end = call i32 @llvm.umin.i32(i32 %after, i32 %size)
  %last = sub nuw i32 %end, 1
  %start = add nuw i32 %begin, %lane
  %axis0.at = add i32 %row.at, 0
  %axis0.long = zext i32 %axis0.at to i64
  %o0.skip0 = mul nsw i64 %axis0.long, %o0.axis0
  %o0.to0 = getelementptr inbounds i8, ptr %o0, i64 %o0.skip0
  %o0.base = getelementptr inbounds i8, ptr %o0.to0, i64 0
  %p0.skip0 = mul nsw i64 %axis0.long, %p0.axis0
  %p0.to0 = getelementptr inbounds i8, ptr %p0, i64 %p0.skip0
  %p0.base = getelementptr inbounds i8, ptr %p0.to0, i64 0
  %p1.skip0 = mul nsw i64 %axis0.long, %p1.axis0
  %p1.to0 = getelementptr inbounds i8, ptr %p1, i64 %p1.skip0
  %p1.base = getelementptr inbounds i8, ptr %p1.to0, i64 0
  br label %search

search:
  %round = phi i32 [ %begin, %row ], [ %round.next, %search ]
  %best = phi i32 [ 0, %row ], [ %best.7, %search ]
  %where = phi i32 [ %start, %row ], [ %where.7, %search ]
  %i = add nuw i32 %round, %lane
  %i.0 = add nuw i32 %i, 0
  %at.0 = call i32 @llvm.umin.i32(i32 %i.0, i32 %last)
  %position.0 = add i32 %at.0, 0
  %p0.at0.long = zext i32 %position.0 to i64
  %p0.at0.off = mul nsw i64 %p0.at0.long, 4
  %p0.at0 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at0.off
  %raw.0 = load i32, ptr %p0.at0, align 4
  %i.1 = add nuw i32 %i, 32
  %at.1 = call i32 @llvm.umin.i32(i32 %i.1, i32 %last)
  %position.1 = add i32 %at.1, 0
  %p0.at1.long = zext i32 %position.1 to i64
  %p0.at1.off = mul nsw i64 %p0.at1.long, 4
  %p0.at1 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at1.off
  %raw.1 = load i32, ptr %p0.at1, align 4
  %i.2 = add nuw i32 %i, 64
  %at.2 = call i32 @llvm.umin.i32(i32 %i.2, i32 %last)
  %position.2 = add i32 %at.2, 0
  %p0.at2.long = zext i32 %position.2 to i64
  %p0.at2.off = mul nsw i64 %p0.at2.long, 4
  %p0.at2 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at2.off
  %raw.2 = load i32, ptr %p0.at2, align 4
  %i.3 = add nuw i32 %i, 96
  %at.3 = call i32 @llvm.umin.i32(i32 %i.3, i32 %last)
  %position.3 = add i32 %at.3, 0
  %p0.at3.long = zext i32 %position.3 to i64
  %p0.at3.off = mul nsw i64 %p0.at3.long, 4
  %p0.at3 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at3.off
  %raw.3 = load i32, ptr %p0.at3, align 4
  %i.4 = add nuw i32 %i, 128
  %at.4 = call i32 @llvm.umin.i32(i32 %i.4, i32 %last)
  %position.4 = add i32 %at.4, 0
  %p0.at4.long = zext i32 %position.4 to i64
  %p0.at4.off = mul nsw i64 %p0.at4.long, 4
  %p0.at4 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at4.off
  %raw.4 = load i32, ptr %p0.at4, align 4
  %i.5 = add nuw i32 %i, 160
  %at.5 = call i32 @llvm.umin.i32(i32 %i.5, i32 %last)
  %position.5 = add i32 %at.5, 0
  %p0.at5.long = zext i32 %position.5 to i64
  %p0.at5.off = mul nsw i64 %p0.at5.long, 4
  %p0.at5 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at5.off
  %raw.5 = load i32, ptr %p0.at5, align 4
  %i.6 = add nuw i32 %i, 192
  %at.6 = call i32 @llvm.umin.i32(i32 %i.6, i32 %last)
  %position.6 = add i32 %at.6, 0
  %p0.at6.long = zext i32 %position.6 to i64
  %p0.at6.off = mul nsw i64 %p0.at6.long, 4
  %p0.at6 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at6.off
  %raw.6 = load i32, ptr %p0.at6, align 4
  %i.7 = add nuw i32 %i, 224
  %at.7 = call i32 @llvm.umin.i32(i32 %i.7, i32 %last)
  %position.7 = add i32 %at.7, 0
  %p0.at7.long = zext i32 %position.7 to i64
  %p0.at7.off = mul nsw i64 %p0.at7.long, 4
  %p0.at7 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.at7.off
  %raw.7 = load i32, ptr %p0.at7, align 4
  %order.0 = call i32 @kiln_order_f32(i32 %raw.0)
  %key.0 = add i32 %order.0, 0
  %order.1 = call i32 @kiln_order_f32(i32 %raw.1)
  %key.1 = add i32 %order.1, 0
  %order.2 = call i32 @kiln_order_f32(i32 %raw.2)
  %key.2 = add i32 %order.2, 0
  %order.3 = call i32 @kiln_order_f32(i32 %raw.3)
  %key.3 = add i32 %order.3, 0
  %order.4 = call i32 @kiln_order_f32(i32 %raw.4)
  %key.4 = add i32 %order.4, 0
  %order.5 = call i32 @kiln_order_f32(i32 %raw.5)
  %key.5 = add i32 %order.5, 0
  %order.6 = call i32 @kiln_order_f32(i32 %raw.6)
  %key.6 = add i32 %order.6, 0
  %order.7 = call i32 @kiln_order_f32(i32 %raw.7)
  %key.7 = add i32 %order.7, 0
  %better.0 = icmp ugt i32 %key.0, %best
  %best.0 = select i1 %better.0, i32 %key.0, i32 %best
  %where.0 = select i1 %better.0, i32 %i.0, i32 %where
  %better.1 = icmp ugt i32 %key.1, %best.0
  %best.1 = select i1 %better.1, i32 %key.1, i32 %best.0
  %where.1 = select i1 %better.1, i32 %i.1, i32 %where.0
  %better.2 = icmp ugt i32 %key.2, %best.1
  %best.2 = select i1 %better.2, i32 %key.2, i32 %best.1
  %where.2 = select i1 %better.2, i32 %i.2, i32 %where.1
  %better.3 = icmp ugt i32 %key.3, %best.2
  %best.3 = select i1 %better.3, i32 %key.3, i32 %best.2
  %where.3 = select i1 %better.3, i32 %i.3, i32 %where.2
  %better.4 = icmp ugt i32 %key.4, %best.3
  %best.4 = select i1 %better.4, i32 %key.4, i32 %best.3
  %where.4 = select i1 %better.4, i32 %i.4, i32 %where.3
  %better.5 = icmp ugt i32 %key.5, %best.4
  %best.5 = select i1 %better.5, i32 %key.5, i32 %best.4
  %where.5 = select i1 %better.5, i32 %i.5, i32 %where.4
  %better.6 = icmp ugt i32 %key.6, %best.5
  %best.6 = select i1 %better.6, i32 %key.6, i32 %best.5
  %where.6 = select i1 %better.6, i32 %i.6, i32 %where.5
  %better.7 = icmp ugt i32 %key.7, %best.6
  %best.7 = select i1 %better.7, i32 %key.7, i32 %best.6
  %where.7 = select i1 %better.7, i32 %i.7, i32 %where.6
  %round.next = add nuw i32 %round, 256
  %more = icmp ult i32 %round.next, %end
  br i1 %more, label %search, label %agree, !llvm.loop !1

agree:
  %other.key16 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %best.7, i32 16, i32 31)
  %other.at16 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %where.7, i32 16, i32 31)
  %above16 = icmp ugt i32 %other.key16, %best.7
  %equal16 = icmp eq i32 %other.key16, %best.7
  %sooner16 = icmp ult i32 %other.at16, %where.7
  %first16 = and i1 %equal16, %sooner16
  %wins16 = or i1 %above16, %first16
  %best.d16 = select i1 %wins16, i32 %other.key16, i32 %best.7
  %where.d16 = select i1 %wins16, i32 %other.at16, i32 %where.7
  %other.key8 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %best.d16, i32 8, i32 31)
  %other.at8 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %where.d16, i32 8, i32 31)
  %above8 = icmp ugt i32 %other.key8, %best.d16
  %equal8 = icmp eq i32 %other.key8, %best.d16
  %sooner8 = icmp ult i32 %other.at8, %where.d16
  %first8 = and i1 %equal8, %sooner8
  %wins8 = or i1 %above8, %first8
  %best.d8 = select i1 %wins8, i32 %other.key8, i32 %best.d16
  %where.d8 = select i1 %wins8, i32 %other.at8, i32 %where.d16
  %other.key4 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %best.d8, i32 4, i32 31)
  %other.at4 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %where.d8, i32 4, i32 31)
  %above4 = icmp ugt i32 %other.key4, %best.d8
  %equal4 = icmp eq i32 %other.key4, %best.d8
  %sooner4 = icmp ult i32 %other.at4, %where.d8
  %first4 = and i1 %equal4, %sooner4
  %wins4 = or i1 %above4, %first4
  %best.d4 = select i1 %wins4, i32 %other.key4, i32 %best.d8
  %where.d4 = select i1 %wins4, i32 %other.at4, i32 %where.d8
  %other.key2 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %best.d4, i32 2, i32 31)
  %other.at2 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %where.d4, i32 2, i32 31)
  %above2 = icmp ugt i32 %other.key2, %best.d4
  %equal2 = icmp eq i32 %other.key2, %best.d4
  %sooner2 = icmp ult i32 %other.at2, %where.d4
  %first2 = and i1 %equal2, %sooner2
  %wins2 = or i1 %above2, %first2
  %best.d2 = select i1 %wins2, i32 %other.key2, i32 %best.d4
  %where.d2 = select i1 %wins2, i32 %other.at2, i32 %where.d4
  %other.key1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %best.d2, i32 1, i32 31)
  %other.at1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %where.d2, i32 1, i32 31)
  %above1 = icmp ugt i32 %other.key1, %best.d2
  %equal1 = icmp eq i32 %other.key1, %best.d2
  %sooner1 = icmp ult i32 %other.at1, %where.d2
  %first1 = and i1 %equal1, %sooner1
  %wins1 = or i1 %above1, %first1
  %best.d1 = select i1 %wins1, i32 %other.key1, i32 %best.d2
  %where.d1 = select i1 %wins1, i32 %other.at1, i32 %where.d2
  %is.first = icmp eq i32 %lane, 0
  br i1 %is.first, label %store, label %exit

store:
  %position = add i32 %where.d1, 0
  %o0.to = getelementptr inbounds i32, ptr %o0.base, i64 %chunk.long
  store i32 %position, ptr %o0.to, align 4
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @kiln_order_f32(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_argmax_u32_8d3e523f, !"maxntidx", i32 256, !"minctasm", i32 4}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
