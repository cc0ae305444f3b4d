; kiln gpu kernel, columns, 1 axes
; operand a0: bfloat16, packed
; operation v0: bfloat16 sum(a0)
; result v0: bfloat16

define ptx_kernel void @kiln_sum_bf16_b2d2f483(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, i64 %columns.word, i64 %n.word, i64 %chunks.word, i64 %step.word, i64 %advance.word, i64 %blocks.word, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %columns = trunc i64 %columns.word to i32
  %n = trunc i64 %n.word to i32
  %chunks = trunc i64 %chunks.word to i32
  %step = trunc i64 %step.word to i32
  %advance = trunc i64 %advance.word to i32
  %blocks = trunc i64 %blocks.word to i32
  %axis0.size = trunc i64 %axis0.size.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %pair = lshr i32 %thread, 5
  %blocks.short = trunc i64 %blocks.word to i32
  %chunks.short = trunc i64 %chunks.word to i32
  %column.block = urem i32 %block, %blocks.short
  %rest.block = udiv i32 %block, %blocks.short
  %chunk.short = urem i32 %rest.block, %chunks.short
  %outer.short = udiv i32 %rest.block, %chunks.short
  %column.block.long = zext i32 %column.block to i64
  %lane.long = zext i32 %lane to i64
  %chunk = zext i32 %chunk.short to i64
  %column.first = mul nuw nsw i64 %column.block.long, 32
  %column = add nuw nsw i64 %column.first, %lane.long
  %outer = add i32 %outer.short, 0
  %axis0.at = add i32 %outer, 0
  %axis0.long = zext i32 %axis0.at to i64
  %o0.skip0 = mul nsw i64 %axis0.long, %o0.axis0
  %o0.to0 = getelementptr inbounds i8, ptr %o0, i64 %o0.skip0
  %o0.base = getelementptr inbounds i8, ptr %o0.to0, i64 0
  %p0.skip0 = mul nsw i64 %axis0.long, %p0.axis0
  %p0.to0 = getelementptr inbounds i8, ptr %p0, i64 %p0.skip0
  %p0.base = getelementptr inbounds i8, ptr %p0.to0, i64 0
  %from = mul nuw nsw i64 %chunk, 1024
  %left = sub nsw i64 %n.word, %from
  %count.long = call i64 @llvm.umin.i64(i64 %left, i64 1024)
  %count.all = trunc i64 %count.long to i32
  %is.column = icmp ult i64 %column, %columns.word
  %count = select i1 %is.column, i32 %count.all, i32 0
  %p0.skip = mul nsw i64 %from, %step.word
  %p0.chunk = getelementptr inbounds i8, ptr %p0.base, i64 %p0.skip
  %p0.first = getelementptr inbounds [2 x i8], ptr %p0.chunk, i64 %column
  %o0.skip = mul nsw i64 %chunk, %advance.word
  %o0.chunk = getelementptr inbounds i8, ptr %o0.base, i64 %o0.skip
  %to = getelementptr inbounds [2 x i8], ptr %o0.chunk, i64 %column
  br label %spans

spans:
  %b = phi i32 [ 0, %entry ], [ %b.next, %span ]
  %lane0 = phi float [ 0.0, %entry ], [ %sum6, %span ]
  %lane1 = phi float [ 0.0, %entry ], [ %sum7, %span ]
  %b.next = add nuw nsw i32 %b, 64
  %b.more = icmp ule i32 %b.next, %count
  br i1 %b.more, label %span, label %rests

span:
  %b.pair = add nuw nsw i32 %b, %pair
  %k0 = add nuw nsw i32 %b.pair, 0
  %x0.long = zext i32 %k0 to i64
  %x0.skip = mul nsw i64 %x0.long, %step.word
  %x0.at = getelementptr inbounds i8, ptr %p0.first, i64 %x0.skip
  %x0.x.bits = load i16, ptr %x0.at, align 2
  %x0.x = call float @kiln_widen_bf16(i16 zeroext %x0.x.bits)
  %k1 = add nuw nsw i32 %b.pair, 8
  %x1.long = zext i32 %k1 to i64
  %x1.skip = mul nsw i64 %x1.long, %step.word
  %x1.at = getelementptr inbounds i8, ptr %p0.first, i64 %x1.skip
  %x1.x.bits = load i16, ptr %x1.at, align 2
  %x1.x = call float @kiln_widen_bf16(i16 zeroext %x1.x.bits)
  %k2 = add nuw nsw i32 %b.pair, 16
  %x2.long = zext i32 %k2 to i64
  %x2.skip = mul nsw i64 %x2.long, %step.word
  %x2.at = getelementptr inbounds i8, ptr %p0.first, i64 %x2.skip
  %x2.x.bits = load i16, ptr %x2.at, align 2
  %x2.x = call float @kiln_widen_bf16(i16 zeroext %x2.x.bits)
  %k3 = add nuw nsw i32 %b.pair, 24
  %x3.long = zext i32 %k3 to i64
  %x3.skip = mul nsw i64 %x3.long, %step.word
  %x3.at = getelementptr inbounds i8, ptr %p0.first, i64 %x3.skip
  %x3.x.bits = load i16, ptr %x3.at, align 2
  %x3.x = call float @kiln_widen_bf16(i16 zeroext %x3.x.bits)
  %k4 = add nuw nsw i32 %b.pair, 32
  %x4.long = zext i32 %k4 to i64
  %x4.skip = mul nsw i64 %x4.long, %step.word
  %x4.at = getelementptr inbounds i8, ptr %p0.first, i64 %x4.skip
  %x4.x.bits = load i16, ptr %x4.at, align 2
  %x4.x = call float @kiln_widen_bf16(i16 zeroext %x4.x.bits)
  %k5 = add nuw nsw i32 %b.pair, 40
  %x5.long = zext i32 %k5 to i64
  %x5.skip = mul nsw i64 %x5.long, %step.word
  %x5.at = getelementptr inbounds i8, ptr %p0.first, i64 %x5.skip
  %x5.x.bits = load i16, ptr %x5.at, align 2
  %x5.x = call float @kiln_widen_bf16(i16 zeroext %x5.x.bits)
  %k6 = add nuw nsw i32 %b.pair, 48
  %x6.long = zext i32 %k6 to i64
  %x6.skip = mul nsw i64 %x6.long, %step.word
  %x6.at = getelementptr inbounds i8, ptr %p0.first, i64 %x6.skip
  %x6.x.bits = load i16, ptr %x6.at, align 2
  %x6.x = call float @kiln_widen_bf16(i16 zeroext %x6.x.bits)
  %k7 = add nuw nsw i32 %b.pair, 56
  %x7.long = zext i32 %k7 to i64
  %x7.skip = mul nsw i64 %x7.long, %step.word
  %x7.at = getelementptr inbounds i8, ptr %p0.first, i64 %x7.skip
  %x7.x.bits = load i16, ptr %x7.at, align 2
  %x7.x = call float @kiln_widen_bf16(i16 zeroext %x7.x.bits)
  %x0 = bitcast float %x0.x to float
  %sum0 = fadd float %lane0, %x0
  %x1 = bitcast float %x1.x to float
  %sum1 = fadd float %lane1, %x1
  %x2 = bitcast float %x2.x to float
  %sum2 = fadd float %sum0, %x2
  %x3 = bitcast float %x3.x to float
  %sum3 = fadd float %sum1, %x3
  %x4 = bitcast float %x4.x to float
  %sum4 = fadd float %sum2, %x4
  %x5 = bitcast float %x5.x to float
  %sum5 = fadd float %sum3, %x5
  %x6 = bitcast float %x6.x to float
  %sum6 = fadd float %sum4, %x6
  %x7 = bitcast float %x7.x to float
  %sum7 = fadd float %sum5, %x7
  br label %spans

rests:
  %r = phi i32 [ %b, %spans ], [ %r.next, %join ]
  %rest0 = phi float [ %lane0, %spans ], [ %next0, %join ]
  %rest1 = phi float [ %lane1, %spans ], [ %next1, %join ]
  %r.pair = add nuw nsw i32 %r, %pair
  %r.more = icmp ult i32 %r.pair, %count
  br i1 %r.more, label %rest, label %total

rest:
  %y0.long = zext i32 %r.pair to i64
  %y0.skip = mul nsw i64 %y0.long, %step.word
  %y0.at = getelementptr inbounds i8, ptr %p0.first, i64 %y0.skip
  %y0.x.bits = load i16, ptr %y0.at, align 2
  %y0.x = call float @kiln_widen_bf16(i16 zeroext %y0.x.bits)
  %y0 = bitcast float %y0.x to float
  %next0 = fadd float %rest0, %y0
  %r.other = add nuw nsw i32 %r.pair, 8
  %r.both = icmp ult i32 %r.other, %count
  br i1 %r.both, label %other, label %join

other:
  %y1.long = zext i32 %r.other to i64
  %y1.skip = mul nsw i64 %y1.long, %step.word
  %y1.at = getelementptr inbounds i8, ptr %p0.first, i64 %y1.skip
  %y1.x.bits = load i16, ptr %y1.at, align 2
  %y1.x = call float @kiln_widen_bf16(i16 zeroext %y1.x.bits)
  %y1 = bitcast float %y1.x to float
  %sum.other = fadd float %rest1, %y1
  br label %join

join:
  %next1 = phi float [ %sum.other, %other ], [ %rest1, %rest ]
  %r.next = add nuw nsw i32 %r, 16
  br label %rests

total:
  %position = zext i32 %thread to i64
  %both = fadd float %rest0, %rest1
  %both.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %both.at = getelementptr inbounds float, ptr addrspace(3) %both.to, i64 %position
  store float %both, ptr addrspace(3) %both.at, align 4
  call void @llvm.nvvm.barrier0()
  %is.first = icmp eq i32 %pair, 0
  %is.last = and i1 %is.first, %is.column
  br i1 %is.last, label %finish, label %exit

finish:
  %position0 = add nuw nsw i64 %lane.long, 0
  %l8.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.0.at = getelementptr inbounds float, ptr addrspace(3) %l8.0.to, i64 %position0
  %l8.0 = load float, ptr addrspace(3) %l8.0.at, align 4
  %position1 = add nuw nsw i64 %lane.long, 32
  %l8.1.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.1.at = getelementptr inbounds float, ptr addrspace(3) %l8.1.to, i64 %position1
  %l8.1 = load float, ptr addrspace(3) %l8.1.at, align 4
  %position2 = add nuw nsw i64 %lane.long, 64
  %l8.2.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.2.at = getelementptr inbounds float, ptr addrspace(3) %l8.2.to, i64 %position2
  %l8.2 = load float, ptr addrspace(3) %l8.2.at, align 4
  %position3 = add nuw nsw i64 %lane.long, 96
  %l8.3.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.3.at = getelementptr inbounds float, ptr addrspace(3) %l8.3.to, i64 %position3
  %l8.3 = load float, ptr addrspace(3) %l8.3.at, align 4
  %position4 = add nuw nsw i64 %lane.long, 128
  %l8.4.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.4.at = getelementptr inbounds float, ptr addrspace(3) %l8.4.to, i64 %position4
  %l8.4 = load float, ptr addrspace(3) %l8.4.at, align 4
  %position5 = add nuw nsw i64 %lane.long, 160
  %l8.5.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.5.at = getelementptr inbounds float, ptr addrspace(3) %l8.5.to, i64 %position5
  %l8.5 = load float, ptr addrspace(3) %l8.5.at, align 4
  %position6 = add nuw nsw i64 %lane.long, 192
  %l8.6.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.6.at = getelementptr inbounds float, ptr addrspace(3) %l8.6.to, i64 %position6
  %l8.6 = load float, ptr addrspace(3) %l8.6.at, align 4
  %position7 = add nuw nsw i64 %lane.long, 224
  %l8.7.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %l8.7.at = getelementptr inbounds float, ptr addrspace(3) %l8.7.to, i64 %position7
  %l8.7 = load float, ptr addrspace(3) %l8.7.at, align 4
  %l4.0 = fadd float %l8.0, %l8.4
  %l4.1 = fadd float %l8.1, %l8.5
  %l4.2 = fadd float %l8.2, %l8.6
  %l4.3 = fadd float %l8.3, %l8.7
  %l2.0 = fadd float %l4.0, %l4.2
  %l2.1 = fadd float %l4.1, %l4.3
  %l1.0 = fadd float %l2.0, %l2.1
  %result.wide = bitcast float %l1.0 to float
  %result.bits = call zeroext i16 @kiln_narrow_bf16(float %result.wide)
  %result = call float @kiln_round_bf16(float %result.wide)
  store i16 %result.bits, ptr %to, align 2
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i64 @llvm.umin.i64(i64, i64)
declare float @kiln_widen_bf16(i16 zeroext)
declare void @llvm.nvvm.barrier0()
declare zeroext i16 @kiln_narrow_bf16(float)
declare float @kiln_round_bf16(float)
@lanes = internal addrspace(3) global [1024 x i8] undef, align 16

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_sum_bf16_b2d2f483, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
