; kiln gpu kernel, rows, 1 axes
; operand a0: float32, packed
; operand a1: float32, packed
; operand a2: float32, scalar
; constant c0: float32
; operation v0: float32 square(a0)
; operation v1: float32 sum(v0)
; operation v2: float32 multiply(v1, a2)
; operation v3: float32 add(v2, c0)
; operation v4: float32 rsqrt(v3)
; operation v5: float32 multiply(a0, v4)
; operation v6: float32 multiply(v5, a1)
; result v6: float32

define ptx_kernel void @kiln_square_sum_mul_add_rsqrt_mul_mul_f32_9a1fe2b6(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, ptr addrspace(1) %p2.global, i64 %k0, i64 %rows.word, i64 %n.word, i64 %warps.word, i64 %apart.word, i64 %p0.inner, i64 %p1.inner, i64 %p2.inner, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0, i64 %p1.axis0, i64 %p2.axis0) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %p2 = addrspacecast ptr addrspace(1) %p2.global to ptr
  %c0.bits = trunc i64 %k0 to i32
  %c0 = bitcast i32 %c0.bits to float
  %rows = trunc i64 %rows.word to i32
  %n = trunc i64 %n.word to i32
  %warps = trunc i64 %warps.word to i32
  %apart = trunc i64 %apart.word to i32
  %axis0.size = trunc i64 %axis0.size.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %warp = lshr i32 %thread, 5
  %team = trunc i64 %warps.word to i32
  %team.bits = call i32 @llvm.cttz.i32(i32 %team, i1 true)
  %team.mask = sub nuw nsw i32 %team, 1
  %member = and i32 %warp, %team.mask
  %row.here = lshr i32 %warp, %team.bits
  %block.warps = call i32 @llvm.umax.i32(i32 %team, i32 4)
  %row.count = lshr i32 %block.warps, %team.bits
  %block.long = zext i32 %block to i64
  %row.count.long = zext i32 %row.count to i64
  %row.here.long = zext i32 %row.here to i64
  %row.block = mul nuw nsw i64 %block.long, %row.count.long
  %row = add nuw nsw i64 %row.block, %row.here.long
  %is.row = icmp ult i64 %row, %rows.word
  %row.safe = select i1 %is.row, i64 %row, i64 0
  %row.index = trunc i64 %row.safe to i32
  %length.all = trunc i64 %n.word to i32
  %length = select i1 %is.row, i32 %length.all, i32 0
  %is.early = icmp ult i64 %block.long, %apart.word
  br i1 %is.early, label %early, label %start

early:
  %apart.short = trunc i64 %apart.word to i32
  %apart.all = mul i32 %block, 4000
  %apart.time = udiv i32 %apart.all, %apart.short
  call void @llvm.nvvm.nanosleep(i32 %apart.time)
  br label %start

start:
  %is.alone = icmp eq i32 %team, 1
  %length.less = sub i32 %length.all, 1
  %is.single = icmp ult i32 %length.less, 1024
  %lane.low = and i32 %lane, 15
  %is.low = icmp eq i32 %lane, %lane.low
  %lane.member = and i32 %lane, %team.mask
  %is.member = icmp eq i32 %lane.member, %member
  %is.owner = and i1 %is.low, %is.member
  %position.row = mul nuw nsw i32 %row.here, 16
  %position.short = add nuw nsw i32 %position.row, %lane.low
  %position = zext i32 %position.short to i64
  %lane.any = or i32 %lane, %member
  %is.leader = icmp eq i32 %lane.any, 0
  %is.first = and i1 %is.leader, %is.row
  %half = lshr i32 %lane, 4
  %spread.half = mul nuw nsw i32 %half, 256
  %spread = add nuw nsw i32 %spread.half, %lane.low
  %slots.warp = mul nuw nsw i32 %warp, 1024
  %slots.lane = mul nuw nsw i32 %lane, 4
  %slots = add nuw nsw i32 %slots.warp, %slots.lane
  %axis0.at = add i32 %row.index, 0
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
  %p2.skip0 = mul nsw i64 %axis0.long, %p2.axis0
  %p2.to0 = getelementptr inbounds i8, ptr %p2, i64 %p2.skip0
  %p2.base = getelementptr inbounds i8, ptr %p2.to0, i64 0
  %a2 = load float, ptr %p2.base, align 4
  br label %chunks.0

chunks.0:
  %c.0 = phi i32 [ %member, %start ], [ %c.next.0, %carry.0 ]
  %up1.0 = phi float [ 0.0, %start ], [ %up.next1.0, %carry.0 ]
  %from.0 = mul nuw nsw i32 %c.0, 1024
  %c.some.0 = icmp ult i32 %from.0, %length
  br i1 %c.some.0, label %chunk.0, label %chunks.end.0

chunk.0:
  %left.0 = sub nuw nsw i32 %length, %from.0
  %count.0 = call i32 @llvm.umin.i32(i32 %left.0, i32 1024)
  %spans.0 = and i32 %count.0, -512
  %first.0 = add nuw nsw i32 %from.0, %spread
  %c.next.0 = add nuw nsw i32 %c.0, %team
  br label %blocks.0w

blocks.0w:
  %b.0w = phi i32 [ 0, %chunk.0 ], [ %b.next.0w, %block.end.0w ]
  %lane1.0w = phi float [ 0.0, %chunk.0 ], [ %lane.next1.0w, %block.end.0w ]
  %b.next.0w = add nuw nsw i32 %b.0w, 512
  %b.more.0w = icmp ule i32 %b.next.0w, %spans.0
  br i1 %b.more.0w, label %block.0w, label %rests.0w

block.0w:
  %i.part.0w = and i32 %b.0w, 511
  %i.half.0w = lshr i32 %i.part.0w, 1
  %i.at.0w = sub nuw nsw i32 %b.0w, %i.half.0w
  %i.short.0w = add nuw nsw i32 %first.0, %i.at.0w
  %i.0w = zext i32 %i.short.0w to i64
  %s.group.0w = and i32 %b.0w, -128
  %s.first.0w = add nuw nsw i32 %s.group.0w, %slots
  %s.number.0w = udiv i32 %b.0w, 32
  %s.member.0w = urem i32 %s.number.0w, 1
  %s.short.0w = add nuw nsw i32 %s.first.0w, %s.member.0w
  %s.0w = zext i32 %s.short.0w to i64
  %i.0w0 = add nuw nsw i64 %i.0w, 0
  %s.0w0 = add nuw nsw i64 %s.0w, 0
  %p0.at.0w0 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w0
  %a0.0w0 = load float, ptr %p0.at.0w0, align 4
  %i.0w1 = add nuw nsw i64 %i.0w, 16
  %s.0w1 = add nuw nsw i64 %s.0w, 1
  %p0.at.0w1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w1
  %a0.0w1 = load float, ptr %p0.at.0w1, align 4
  %i.0w2 = add nuw nsw i64 %i.0w, 32
  %s.0w2 = add nuw nsw i64 %s.0w, 2
  %p0.at.0w2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w2
  %a0.0w2 = load float, ptr %p0.at.0w2, align 4
  %i.0w3 = add nuw nsw i64 %i.0w, 48
  %s.0w3 = add nuw nsw i64 %s.0w, 3
  %p0.at.0w3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w3
  %a0.0w3 = load float, ptr %p0.at.0w3, align 4
  %i.0w4 = add nuw nsw i64 %i.0w, 64
  %s.0w4 = add nuw nsw i64 %s.0w, 128
  %p0.at.0w4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w4
  %a0.0w4 = load float, ptr %p0.at.0w4, align 4
  %i.0w5 = add nuw nsw i64 %i.0w, 80
  %s.0w5 = add nuw nsw i64 %s.0w, 129
  %p0.at.0w5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w5
  %a0.0w5 = load float, ptr %p0.at.0w5, align 4
  %i.0w6 = add nuw nsw i64 %i.0w, 96
  %s.0w6 = add nuw nsw i64 %s.0w, 130
  %p0.at.0w6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w6
  %a0.0w6 = load float, ptr %p0.at.0w6, align 4
  %i.0w7 = add nuw nsw i64 %i.0w, 112
  %s.0w7 = add nuw nsw i64 %s.0w, 131
  %p0.at.0w7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w7
  %a0.0w7 = load float, ptr %p0.at.0w7, align 4
  %i.0w8 = add nuw nsw i64 %i.0w, 128
  %s.0w8 = add nuw nsw i64 %s.0w, 256
  %p0.at.0w8 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w8
  %a0.0w8 = load float, ptr %p0.at.0w8, align 4
  %i.0w9 = add nuw nsw i64 %i.0w, 144
  %s.0w9 = add nuw nsw i64 %s.0w, 257
  %p0.at.0w9 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w9
  %a0.0w9 = load float, ptr %p0.at.0w9, align 4
  %i.0w10 = add nuw nsw i64 %i.0w, 160
  %s.0w10 = add nuw nsw i64 %s.0w, 258
  %p0.at.0w10 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w10
  %a0.0w10 = load float, ptr %p0.at.0w10, align 4
  %i.0w11 = add nuw nsw i64 %i.0w, 176
  %s.0w11 = add nuw nsw i64 %s.0w, 259
  %p0.at.0w11 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w11
  %a0.0w11 = load float, ptr %p0.at.0w11, align 4
  %i.0w12 = add nuw nsw i64 %i.0w, 192
  %s.0w12 = add nuw nsw i64 %s.0w, 384
  %p0.at.0w12 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w12
  %a0.0w12 = load float, ptr %p0.at.0w12, align 4
  %i.0w13 = add nuw nsw i64 %i.0w, 208
  %s.0w13 = add nuw nsw i64 %s.0w, 385
  %p0.at.0w13 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w13
  %a0.0w13 = load float, ptr %p0.at.0w13, align 4
  %i.0w14 = add nuw nsw i64 %i.0w, 224
  %s.0w14 = add nuw nsw i64 %s.0w, 386
  %p0.at.0w14 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w14
  %a0.0w14 = load float, ptr %p0.at.0w14, align 4
  %i.0w15 = add nuw nsw i64 %i.0w, 240
  %s.0w15 = add nuw nsw i64 %s.0w, 387
  %p0.at.0w15 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w15
  %a0.0w15 = load float, ptr %p0.at.0w15, align 4
  %v0.0w0 = fmul float %a0.0w0, %a0.0w0
  %v0.0w1 = fmul float %a0.0w1, %a0.0w1
  %v0.0w2 = fmul float %a0.0w2, %a0.0w2
  %v0.0w3 = fmul float %a0.0w3, %a0.0w3
  %v0.0w4 = fmul float %a0.0w4, %a0.0w4
  %v0.0w5 = fmul float %a0.0w5, %a0.0w5
  %v0.0w6 = fmul float %a0.0w6, %a0.0w6
  %v0.0w7 = fmul float %a0.0w7, %a0.0w7
  %v0.0w8 = fmul float %a0.0w8, %a0.0w8
  %v0.0w9 = fmul float %a0.0w9, %a0.0w9
  %v0.0w10 = fmul float %a0.0w10, %a0.0w10
  %v0.0w11 = fmul float %a0.0w11, %a0.0w11
  %v0.0w12 = fmul float %a0.0w12, %a0.0w12
  %v0.0w13 = fmul float %a0.0w13, %a0.0w13
  %v0.0w14 = fmul float %a0.0w14, %a0.0w14
  %v0.0w15 = fmul float %a0.0w15, %a0.0w15
  %e1.0w0 = bitcast float %v0.0w0 to float
  %e1.0w1 = bitcast float %v0.0w1 to float
  %e1.0w2 = bitcast float %v0.0w2 to float
  %e1.0w3 = bitcast float %v0.0w3 to float
  %e1.0w4 = bitcast float %v0.0w4 to float
  %e1.0w5 = bitcast float %v0.0w5 to float
  %e1.0w6 = bitcast float %v0.0w6 to float
  %e1.0w7 = bitcast float %v0.0w7 to float
  %e1.0w8 = bitcast float %v0.0w8 to float
  %e1.0w9 = bitcast float %v0.0w9 to float
  %e1.0w10 = bitcast float %v0.0w10 to float
  %e1.0w11 = bitcast float %v0.0w11 to float
  %e1.0w12 = bitcast float %v0.0w12 to float
  %e1.0w13 = bitcast float %v0.0w13 to float
  %e1.0w14 = bitcast float %v0.0w14 to float
  %e1.0w15 = bitcast float %v0.0w15 to float
  %keep.a0.0w0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w0
  %keep.a0.0w0 = getelementptr inbounds i8, ptr %keep.a0.0w0.slot, i64 0
  store float %a0.0w0, ptr %keep.a0.0w0, align 4
  %keep.a0.0w1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w1
  %keep.a0.0w1 = getelementptr inbounds i8, ptr %keep.a0.0w1.slot, i64 0
  store float %a0.0w1, ptr %keep.a0.0w1, align 4
  %keep.a0.0w2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w2
  %keep.a0.0w2 = getelementptr inbounds i8, ptr %keep.a0.0w2.slot, i64 0
  store float %a0.0w2, ptr %keep.a0.0w2, align 4
  %keep.a0.0w3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w3
  %keep.a0.0w3 = getelementptr inbounds i8, ptr %keep.a0.0w3.slot, i64 0
  store float %a0.0w3, ptr %keep.a0.0w3, align 4
  %keep.a0.0w4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w4
  %keep.a0.0w4 = getelementptr inbounds i8, ptr %keep.a0.0w4.slot, i64 0
  store float %a0.0w4, ptr %keep.a0.0w4, align 4
  %keep.a0.0w5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w5
  %keep.a0.0w5 = getelementptr inbounds i8, ptr %keep.a0.0w5.slot, i64 0
  store float %a0.0w5, ptr %keep.a0.0w5, align 4
  %keep.a0.0w6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w6
  %keep.a0.0w6 = getelementptr inbounds i8, ptr %keep.a0.0w6.slot, i64 0
  store float %a0.0w6, ptr %keep.a0.0w6, align 4
  %keep.a0.0w7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w7
  %keep.a0.0w7 = getelementptr inbounds i8, ptr %keep.a0.0w7.slot, i64 0
  store float %a0.0w7, ptr %keep.a0.0w7, align 4
  %keep.a0.0w8.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w8
  %keep.a0.0w8 = getelementptr inbounds i8, ptr %keep.a0.0w8.slot, i64 0
  store float %a0.0w8, ptr %keep.a0.0w8, align 4
  %keep.a0.0w9.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w9
  %keep.a0.0w9 = getelementptr inbounds i8, ptr %keep.a0.0w9.slot, i64 0
  store float %a0.0w9, ptr %keep.a0.0w9, align 4
  %keep.a0.0w10.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w10
  %keep.a0.0w10 = getelementptr inbounds i8, ptr %keep.a0.0w10.slot, i64 0
  store float %a0.0w10, ptr %keep.a0.0w10, align 4
  %keep.a0.0w11.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w11
  %keep.a0.0w11 = getelementptr inbounds i8, ptr %keep.a0.0w11.slot, i64 0
  store float %a0.0w11, ptr %keep.a0.0w11, align 4
  %keep.a0.0w12.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w12
  %keep.a0.0w12 = getelementptr inbounds i8, ptr %keep.a0.0w12.slot, i64 0
  store float %a0.0w12, ptr %keep.a0.0w12, align 4
  %keep.a0.0w13.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w13
  %keep.a0.0w13 = getelementptr inbounds i8, ptr %keep.a0.0w13.slot, i64 0
  store float %a0.0w13, ptr %keep.a0.0w13, align 4
  %keep.a0.0w14.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w14
  %keep.a0.0w14 = getelementptr inbounds i8, ptr %keep.a0.0w14.slot, i64 0
  store float %a0.0w14, ptr %keep.a0.0w14, align 4
  %keep.a0.0w15.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w15
  %keep.a0.0w15 = getelementptr inbounds i8, ptr %keep.a0.0w15.slot, i64 0
  store float %a0.0w15, ptr %keep.a0.0w15, align 4
  %low1.0w0 = fadd float %lane1.0w, %e1.0w0
  %low1.0w1 = fadd float %low1.0w0, %e1.0w1
  %low1.0w2 = fadd float %low1.0w1, %e1.0w2
  %low1.0w3 = fadd float %low1.0w2, %e1.0w3
  %low1.0w4 = fadd float %low1.0w3, %e1.0w4
  %low1.0w5 = fadd float %low1.0w4, %e1.0w5
  %low1.0w6 = fadd float %low1.0w5, %e1.0w6
  %low1.0w7 = fadd float %low1.0w6, %e1.0w7
  %low1.0w8 = fadd float %low1.0w7, %e1.0w8
  %low1.0w9 = fadd float %low1.0w8, %e1.0w9
  %low1.0w10 = fadd float %low1.0w9, %e1.0w10
  %low1.0w11 = fadd float %low1.0w10, %e1.0w11
  %low1.0w12 = fadd float %low1.0w11, %e1.0w12
  %low1.0w13 = fadd float %low1.0w12, %e1.0w13
  %low1.0w14 = fadd float %low1.0w13, %e1.0w14
  %low1.0w = fadd float %low1.0w14, %e1.0w15
  %across1.0w.from = bitcast float %low1.0w to i32
  %across1.0w.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %across1.0w.from, i32 16, i32 31)
  %across1.0w = bitcast i32 %across1.0w.to to float
  %high1.0w0 = fadd float %across1.0w, %e1.0w0
  %high1.0w1 = fadd float %high1.0w0, %e1.0w1
  %high1.0w2 = fadd float %high1.0w1, %e1.0w2
  %high1.0w3 = fadd float %high1.0w2, %e1.0w3
  %high1.0w4 = fadd float %high1.0w3, %e1.0w4
  %high1.0w5 = fadd float %high1.0w4, %e1.0w5
  %high1.0w6 = fadd float %high1.0w5, %e1.0w6
  %high1.0w7 = fadd float %high1.0w6, %e1.0w7
  %high1.0w8 = fadd float %high1.0w7, %e1.0w8
  %high1.0w9 = fadd float %high1.0w8, %e1.0w9
  %high1.0w10 = fadd float %high1.0w9, %e1.0w10
  %high1.0w11 = fadd float %high1.0w10, %e1.0w11
  %high1.0w12 = fadd float %high1.0w11, %e1.0w12
  %high1.0w13 = fadd float %high1.0w12, %e1.0w13
  %high1.0w14 = fadd float %high1.0w13, %e1.0w14
  %high1.0w = fadd float %high1.0w14, %e1.0w15
  %lane.next1.0w.from = bitcast float %high1.0w to i32
  %lane.next1.0w.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %lane.next1.0w.from, i32 16, i32 31)
  %lane.next1.0w = bitcast i32 %lane.next1.0w.to to float
  br label %block.end.0w

block.end.0w:
  br label %blocks.0w

rests.0w:
  %r.0w = phi i32 [ %b.0w, %blocks.0w ], [ %r.next.0w, %join.0w ]
  %rest1.0w = phi float [ %lane1.0w, %blocks.0w ], [ %rest.next1.0w, %join.0w ]
  %r.more.0w = icmp ult i32 %r.0w, %count.0
  br i1 %r.more.0w, label %rest.0w, label %chunk.end.0

rest.0w:
  %r.at.0w = add nuw nsw i32 %r.0w, %lane
  %r.is.0w = icmp ult i32 %r.at.0w, %count.0
  br i1 %r.is.0w, label %value.0w, label %join.0w

value.0w:
  %i.short.0wx = add nuw nsw i32 %from.0, %r.at.0w
  %i.0wx = zext i32 %i.short.0wx to i64
  %s.group.0wx = and i32 %r.0w, -128
  %s.first.0wx = add nuw nsw i32 %s.group.0wx, %slots
  %s.number.0wx = udiv i32 %r.0w, 32
  %s.member.0wx = urem i32 %s.number.0wx, 4
  %s.short.0wx = add nuw nsw i32 %s.first.0wx, %s.member.0wx
  %s.0wx = zext i32 %s.short.0wx to i64
  %p0.at.0wx = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0wx
  %a0.0wx = load float, ptr %p0.at.0wx, align 4
  %v0.0wx = fmul float %a0.0wx, %a0.0wx
  %keep.a0.0wx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0wx
  %keep.a0.0wx = getelementptr inbounds i8, ptr %keep.a0.0wx.slot, i64 0
  store float %a0.0wx, ptr %keep.a0.0wx, align 4
  %e1.0wx = bitcast float %v0.0wx to float
  br label %join.0w

join.0w:
  %entry1.0w = phi float [ %e1.0wx, %value.0w ], [ 0.0, %rest.0w ]
  %r.far.0w = add nuw nsw i32 %r.at.0w, 16
  %r.other.0w = icmp ult i32 %r.far.0w, %count.0
  %other1.0w.from = bitcast float %entry1.0w to i32
  %other1.0w.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other1.0w.from, i32 16, i32 31)
  %other1.0w = bitcast i32 %other1.0w.to to float
  %own1.0w = fadd float %rest1.0w, %entry1.0w
  %one1.0w = select i1 %r.is.0w, float %own1.0w, float %rest1.0w
  %both1.0w = fadd float %one1.0w, %other1.0w
  %rest.next1.0w = select i1 %r.other.0w, float %both1.0w, float %one1.0w
  %r.next.0w = add nuw nsw i32 %r.0w, 32
  br label %rests.0w

chunk.end.0:
  %all1.0 = phi float [ %rest1.0w, %rests.0w ]
  %chunk1.0.h8.from = bitcast float %all1.0 to i32
  %chunk1.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk1.0.h8.from, i32 8, i32 31)
  %chunk1.0.h8 = bitcast i32 %chunk1.0.h8.to to float
  %chunk1.0.l8 = fadd float %all1.0, %chunk1.0.h8
  %chunk1.0.h4.from = bitcast float %chunk1.0.l8 to i32
  %chunk1.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk1.0.h4.from, i32 4, i32 31)
  %chunk1.0.h4 = bitcast i32 %chunk1.0.h4.to to float
  %chunk1.0.l4 = fadd float %chunk1.0.l8, %chunk1.0.h4
  %chunk1.0.h2.from = bitcast float %chunk1.0.l4 to i32
  %chunk1.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk1.0.h2.from, i32 2, i32 31)
  %chunk1.0.h2 = bitcast i32 %chunk1.0.h2.to to float
  %chunk1.0.l2 = fadd float %chunk1.0.l4, %chunk1.0.h2
  %chunk1.0.h1.from = bitcast float %chunk1.0.l2 to i32
  %chunk1.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk1.0.h1.from, i32 1, i32 31)
  %chunk1.0.h1 = bitcast i32 %chunk1.0.h1.to to float
  %chunk1.0 = fadd float %chunk1.0.l2, %chunk1.0.h1
  %whole1.0.from = bitcast float %chunk1.0 to i32
  %whole1.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %whole1.0.from, i32 0, i32 31)
  %whole1.0 = bitcast i32 %whole1.0.to to float
  br label %carry.0

carry.0:
  %sum1.0 = phi float [ %whole1.0, %chunk.end.0 ]
  %c.lane.0 = and i32 %c.0, 15
  %is.mine.0 = icmp eq i32 %c.lane.0, %lane
  %up.more1.0 = fadd float %up1.0, %sum1.0
  %up.sum1.0 = select i1 %is.single, float %sum1.0, float %up.more1.0
  %up.next1.0 = select i1 %is.mine.0, float %up.sum1.0, float %up1.0
  br label %chunks.0

chunks.end.0:
  br i1 %is.alone, label %known.0, label %publish.0

publish.0:
  br i1 %is.owner, label %give.0, label %meet.0

give.0:
  %up1.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %up1.0.at = getelementptr inbounds float, ptr addrspace(3) %up1.0.to, i64 %position
  store float %up1.0, ptr addrspace(3) %up1.0.at, align 4
  br label %meet.0

meet.0:
  call void @llvm.nvvm.barrier0()
  %met1.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %met1.0.at = getelementptr inbounds float, ptr addrspace(3) %met1.0.to, i64 %position
  %met1.0 = load float, ptr addrspace(3) %met1.0.at, align 4
  br label %known.0

known.0:
  %known1.0 = phi float [ %up1.0, %chunks.end.0 ], [ %met1.0, %meet.0 ]
  br i1 %is.single, label %done.0, label %tree.0

tree.0:
  %tree1.0.h8.from = bitcast float %known1.0 to i32
  %tree1.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree1.0.h8.from, i32 8, i32 31)
  %tree1.0.h8 = bitcast i32 %tree1.0.h8.to to float
  %tree1.0.l8 = fadd float %known1.0, %tree1.0.h8
  %tree1.0.h4.from = bitcast float %tree1.0.l8 to i32
  %tree1.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree1.0.h4.from, i32 4, i32 31)
  %tree1.0.h4 = bitcast i32 %tree1.0.h4.to to float
  %tree1.0.l4 = fadd float %tree1.0.l8, %tree1.0.h4
  %tree1.0.h2.from = bitcast float %tree1.0.l4 to i32
  %tree1.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree1.0.h2.from, i32 2, i32 31)
  %tree1.0.h2 = bitcast i32 %tree1.0.h2.to to float
  %tree1.0.l2 = fadd float %tree1.0.l4, %tree1.0.h2
  %tree1.0.h1.from = bitcast float %tree1.0.l2 to i32
  %tree1.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree1.0.h1.from, i32 1, i32 31)
  %tree1.0.h1 = bitcast i32 %tree1.0.h1.to to float
  %tree1.0 = fadd float %tree1.0.l2, %tree1.0.h1
  br label %done.0

done.0:
  %top1.0 = phi float [ %known1.0, %known.0 ], [ %tree1.0, %tree.0 ]
  %total1.0.from = bitcast float %top1.0 to i32
  %total1.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %total1.0.from, i32 0, i32 31)
  %total1.0 = bitcast i32 %total1.0.to to float
  %v1 = bitcast float %total1.0 to float
  %v2 = fmul float %v1, %a2
  %v3 = fadd float %v2, %c0
  %v4.a = call float @llvm.sqrt.f32(float %v3)
  %v4 = fdiv float 1.0, %v4.a
  br label %chunks.out

chunks.out:
  %c.out = phi i32 [ %member, %done.0 ], [ %c.next.out, %carry.out ]
  %from.out = mul nuw nsw i32 %c.out, 1024
  %c.some.out = icmp ult i32 %from.out, %length
  br i1 %c.some.out, label %chunk.out, label %chunks.end.out

chunk.out:
  %left.out = sub nuw nsw i32 %length, %from.out
  %count.out = call i32 @llvm.umin.i32(i32 %left.out, i32 1024)
  %spans.out = and i32 %count.out, -512
  %first.out = add nuw nsw i32 %from.out, %spread
  %c.next.out = add nuw nsw i32 %c.out, %team
  %c.far.out = mul nuw nsw i32 %c.next.out, 1024
  %is.far.out = icmp ult i32 %c.far.out, %length
  br i1 %is.far.out, label %blocks.outf, label %blocks.outl

blocks.outf:
  %b.outf = phi i32 [ 0, %chunk.out ], [ %b.next.outf, %block.end.outf ]
  %b.next.outf = add nuw nsw i32 %b.outf, 256
  %b.more.outf = icmp ule i32 %b.next.outf, %spans.out
  br i1 %b.more.outf, label %block.outf, label %chunk.end.out

block.outf:
  %i.part.outf = and i32 %b.outf, 511
  %i.half.outf = lshr i32 %i.part.outf, 1
  %i.at.outf = sub nuw nsw i32 %b.outf, %i.half.outf
  %i.short.outf = add nuw nsw i32 %first.out, %i.at.outf
  %i.outf = zext i32 %i.short.outf to i64
  %s.group.outf = and i32 %b.outf, -128
  %s.first.outf = add nuw nsw i32 %s.group.outf, %slots
  %s.number.outf = udiv i32 %b.outf, 32
  %s.member.outf = urem i32 %s.number.outf, 1
  %s.short.outf = add nuw nsw i32 %s.first.outf, %s.member.outf
  %s.outf = zext i32 %s.short.outf to i64
  %i.outf0 = add nuw nsw i64 %i.outf, 0
  %s.outf0 = add nuw nsw i64 %s.outf, 0
  %p0.at.outf0 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf0
  %a0.outf0 = load float, ptr %p0.at.outf0, align 4
  %p1.at.outf0 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf0
  %a1.outf0 = load float, ptr %p1.at.outf0, align 4
  %i.outf1 = add nuw nsw i64 %i.outf, 16
  %s.outf1 = add nuw nsw i64 %s.outf, 1
  %p0.at.outf1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf1
  %a0.outf1 = load float, ptr %p0.at.outf1, align 4
  %p1.at.outf1 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf1
  %a1.outf1 = load float, ptr %p1.at.outf1, align 4
  %i.outf2 = add nuw nsw i64 %i.outf, 32
  %s.outf2 = add nuw nsw i64 %s.outf, 2
  %p0.at.outf2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf2
  %a0.outf2 = load float, ptr %p0.at.outf2, align 4
  %p1.at.outf2 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf2
  %a1.outf2 = load float, ptr %p1.at.outf2, align 4
  %i.outf3 = add nuw nsw i64 %i.outf, 48
  %s.outf3 = add nuw nsw i64 %s.outf, 3
  %p0.at.outf3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf3
  %a0.outf3 = load float, ptr %p0.at.outf3, align 4
  %p1.at.outf3 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf3
  %a1.outf3 = load float, ptr %p1.at.outf3, align 4
  %i.outf4 = add nuw nsw i64 %i.outf, 64
  %s.outf4 = add nuw nsw i64 %s.outf, 128
  %p0.at.outf4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf4
  %a0.outf4 = load float, ptr %p0.at.outf4, align 4
  %p1.at.outf4 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf4
  %a1.outf4 = load float, ptr %p1.at.outf4, align 4
  %i.outf5 = add nuw nsw i64 %i.outf, 80
  %s.outf5 = add nuw nsw i64 %s.outf, 129
  %p0.at.outf5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf5
  %a0.outf5 = load float, ptr %p0.at.outf5, align 4
  %p1.at.outf5 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf5
  %a1.outf5 = load float, ptr %p1.at.outf5, align 4
  %i.outf6 = add nuw nsw i64 %i.outf, 96
  %s.outf6 = add nuw nsw i64 %s.outf, 130
  %p0.at.outf6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf6
  %a0.outf6 = load float, ptr %p0.at.outf6, align 4
  %p1.at.outf6 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf6
  %a1.outf6 = load float, ptr %p1.at.outf6, align 4
  %i.outf7 = add nuw nsw i64 %i.outf, 112
  %s.outf7 = add nuw nsw i64 %s.outf, 131
  %p0.at.outf7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf7
  %a0.outf7 = load float, ptr %p0.at.outf7, align 4
  %p1.at.outf7 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outf7
  %a1.outf7 = load float, ptr %p1.at.outf7, align 4
  %v5.outf0 = fmul float %a0.outf0, %v4
  %v5.outf1 = fmul float %a0.outf1, %v4
  %v5.outf2 = fmul float %a0.outf2, %v4
  %v5.outf3 = fmul float %a0.outf3, %v4
  %v5.outf4 = fmul float %a0.outf4, %v4
  %v5.outf5 = fmul float %a0.outf5, %v4
  %v5.outf6 = fmul float %a0.outf6, %v4
  %v5.outf7 = fmul float %a0.outf7, %v4
  %v6.outf0 = fmul float %v5.outf0, %a1.outf0
  %v6.outf1 = fmul float %v5.outf1, %a1.outf1
  %v6.outf2 = fmul float %v5.outf2, %a1.outf2
  %v6.outf3 = fmul float %v5.outf3, %a1.outf3
  %v6.outf4 = fmul float %v5.outf4, %a1.outf4
  %v6.outf5 = fmul float %v5.outf5, %a1.outf5
  %v6.outf6 = fmul float %v5.outf6, %a1.outf6
  %v6.outf7 = fmul float %v5.outf7, %a1.outf7
  %o0.at.outf0 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf0
  %o0.at.outf0.out.nan = fcmp uno float %v6.outf0, 0.0
  %o0.at.outf0.out = select i1 %o0.at.outf0.out.nan, float 0x7FF8000000000000, float %v6.outf0
  store float %o0.at.outf0.out, ptr %o0.at.outf0, align 4
  %o0.at.outf1 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf1
  %o0.at.outf1.out.nan = fcmp uno float %v6.outf1, 0.0
  %o0.at.outf1.out = select i1 %o0.at.outf1.out.nan, float 0x7FF8000000000000, float %v6.outf1
  store float %o0.at.outf1.out, ptr %o0.at.outf1, align 4
  %o0.at.outf2 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf2
  %o0.at.outf2.out.nan = fcmp uno float %v6.outf2, 0.0
  %o0.at.outf2.out = select i1 %o0.at.outf2.out.nan, float 0x7FF8000000000000, float %v6.outf2
  store float %o0.at.outf2.out, ptr %o0.at.outf2, align 4
  %o0.at.outf3 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf3
  %o0.at.outf3.out.nan = fcmp uno float %v6.outf3, 0.0
  %o0.at.outf3.out = select i1 %o0.at.outf3.out.nan, float 0x7FF8000000000000, float %v6.outf3
  store float %o0.at.outf3.out, ptr %o0.at.outf3, align 4
  %o0.at.outf4 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf4
  %o0.at.outf4.out.nan = fcmp uno float %v6.outf4, 0.0
  %o0.at.outf4.out = select i1 %o0.at.outf4.out.nan, float 0x7FF8000000000000, float %v6.outf4
  store float %o0.at.outf4.out, ptr %o0.at.outf4, align 4
  %o0.at.outf5 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf5
  %o0.at.outf5.out.nan = fcmp uno float %v6.outf5, 0.0
  %o0.at.outf5.out = select i1 %o0.at.outf5.out.nan, float 0x7FF8000000000000, float %v6.outf5
  store float %o0.at.outf5.out, ptr %o0.at.outf5, align 4
  %o0.at.outf6 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf6
  %o0.at.outf6.out.nan = fcmp uno float %v6.outf6, 0.0
  %o0.at.outf6.out = select i1 %o0.at.outf6.out.nan, float 0x7FF8000000000000, float %v6.outf6
  store float %o0.at.outf6.out, ptr %o0.at.outf6, align 4
  %o0.at.outf7 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf7
  %o0.at.outf7.out.nan = fcmp uno float %v6.outf7, 0.0
  %o0.at.outf7.out = select i1 %o0.at.outf7.out.nan, float 0x7FF8000000000000, float %v6.outf7
  store float %o0.at.outf7.out, ptr %o0.at.outf7, align 4
  br label %block.end.outf

block.end.outf:
  br label %blocks.outf

blocks.outl:
  %b.outl = phi i32 [ 0, %chunk.out ], [ %b.next.outl, %block.end.outl ]
  %b.next.outl = add nuw nsw i32 %b.outl, 512
  %b.more.outl = icmp ule i32 %b.next.outl, %spans.out
  br i1 %b.more.outl, label %block.outl, label %rests.outl

block.outl:
  %i.part.outl = and i32 %b.outl, 511
  %i.half.outl = lshr i32 %i.part.outl, 1
  %i.at.outl = sub nuw nsw i32 %b.outl, %i.half.outl
  %i.short.outl = add nuw nsw i32 %first.out, %i.at.outl
  %i.outl = zext i32 %i.short.outl to i64
  %s.group.outl = and i32 %b.outl, -128
  %s.first.outl = add nuw nsw i32 %s.group.outl, %slots
  %s.number.outl = udiv i32 %b.outl, 32
  %s.member.outl = urem i32 %s.number.outl, 1
  %s.short.outl = add nuw nsw i32 %s.first.outl, %s.member.outl
  %s.outl = zext i32 %s.short.outl to i64
  %i.outl0 = add nuw nsw i64 %i.outl, 0
  %s.outl0 = add nuw nsw i64 %s.outl, 0
  %p1.at.outl0 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl0
  %a1.outl0 = load float, ptr %p1.at.outl0, align 4
  %held.a0.outl0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl0
  %held.a0.outl0 = getelementptr inbounds i8, ptr %held.a0.outl0.slot, i64 0
  %a0.outl0 = load float, ptr %held.a0.outl0, align 4
  %i.outl1 = add nuw nsw i64 %i.outl, 16
  %s.outl1 = add nuw nsw i64 %s.outl, 1
  %p1.at.outl1 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl1
  %a1.outl1 = load float, ptr %p1.at.outl1, align 4
  %held.a0.outl1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl1
  %held.a0.outl1 = getelementptr inbounds i8, ptr %held.a0.outl1.slot, i64 0
  %a0.outl1 = load float, ptr %held.a0.outl1, align 4
  %i.outl2 = add nuw nsw i64 %i.outl, 32
  %s.outl2 = add nuw nsw i64 %s.outl, 2
  %p1.at.outl2 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl2
  %a1.outl2 = load float, ptr %p1.at.outl2, align 4
  %held.a0.outl2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl2
  %held.a0.outl2 = getelementptr inbounds i8, ptr %held.a0.outl2.slot, i64 0
  %a0.outl2 = load float, ptr %held.a0.outl2, align 4
  %i.outl3 = add nuw nsw i64 %i.outl, 48
  %s.outl3 = add nuw nsw i64 %s.outl, 3
  %p1.at.outl3 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl3
  %a1.outl3 = load float, ptr %p1.at.outl3, align 4
  %held.a0.outl3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl3
  %held.a0.outl3 = getelementptr inbounds i8, ptr %held.a0.outl3.slot, i64 0
  %a0.outl3 = load float, ptr %held.a0.outl3, align 4
  %i.outl4 = add nuw nsw i64 %i.outl, 64
  %s.outl4 = add nuw nsw i64 %s.outl, 128
  %p1.at.outl4 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl4
  %a1.outl4 = load float, ptr %p1.at.outl4, align 4
  %held.a0.outl4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl4
  %held.a0.outl4 = getelementptr inbounds i8, ptr %held.a0.outl4.slot, i64 0
  %a0.outl4 = load float, ptr %held.a0.outl4, align 4
  %i.outl5 = add nuw nsw i64 %i.outl, 80
  %s.outl5 = add nuw nsw i64 %s.outl, 129
  %p1.at.outl5 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl5
  %a1.outl5 = load float, ptr %p1.at.outl5, align 4
  %held.a0.outl5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl5
  %held.a0.outl5 = getelementptr inbounds i8, ptr %held.a0.outl5.slot, i64 0
  %a0.outl5 = load float, ptr %held.a0.outl5, align 4
  %i.outl6 = add nuw nsw i64 %i.outl, 96
  %s.outl6 = add nuw nsw i64 %s.outl, 130
  %p1.at.outl6 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl6
  %a1.outl6 = load float, ptr %p1.at.outl6, align 4
  %held.a0.outl6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl6
  %held.a0.outl6 = getelementptr inbounds i8, ptr %held.a0.outl6.slot, i64 0
  %a0.outl6 = load float, ptr %held.a0.outl6, align 4
  %i.outl7 = add nuw nsw i64 %i.outl, 112
  %s.outl7 = add nuw nsw i64 %s.outl, 131
  %p1.at.outl7 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl7
  %a1.outl7 = load float, ptr %p1.at.outl7, align 4
  %held.a0.outl7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl7
  %held.a0.outl7 = getelementptr inbounds i8, ptr %held.a0.outl7.slot, i64 0
  %a0.outl7 = load float, ptr %held.a0.outl7, align 4
  %i.outl8 = add nuw nsw i64 %i.outl, 128
  %s.outl8 = add nuw nsw i64 %s.outl, 256
  %p1.at.outl8 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl8
  %a1.outl8 = load float, ptr %p1.at.outl8, align 4
  %held.a0.outl8.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl8
  %held.a0.outl8 = getelementptr inbounds i8, ptr %held.a0.outl8.slot, i64 0
  %a0.outl8 = load float, ptr %held.a0.outl8, align 4
  %i.outl9 = add nuw nsw i64 %i.outl, 144
  %s.outl9 = add nuw nsw i64 %s.outl, 257
  %p1.at.outl9 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl9
  %a1.outl9 = load float, ptr %p1.at.outl9, align 4
  %held.a0.outl9.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl9
  %held.a0.outl9 = getelementptr inbounds i8, ptr %held.a0.outl9.slot, i64 0
  %a0.outl9 = load float, ptr %held.a0.outl9, align 4
  %i.outl10 = add nuw nsw i64 %i.outl, 160
  %s.outl10 = add nuw nsw i64 %s.outl, 258
  %p1.at.outl10 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl10
  %a1.outl10 = load float, ptr %p1.at.outl10, align 4
  %held.a0.outl10.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl10
  %held.a0.outl10 = getelementptr inbounds i8, ptr %held.a0.outl10.slot, i64 0
  %a0.outl10 = load float, ptr %held.a0.outl10, align 4
  %i.outl11 = add nuw nsw i64 %i.outl, 176
  %s.outl11 = add nuw nsw i64 %s.outl, 259
  %p1.at.outl11 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl11
  %a1.outl11 = load float, ptr %p1.at.outl11, align 4
  %held.a0.outl11.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl11
  %held.a0.outl11 = getelementptr inbounds i8, ptr %held.a0.outl11.slot, i64 0
  %a0.outl11 = load float, ptr %held.a0.outl11, align 4
  %i.outl12 = add nuw nsw i64 %i.outl, 192
  %s.outl12 = add nuw nsw i64 %s.outl, 384
  %p1.at.outl12 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl12
  %a1.outl12 = load float, ptr %p1.at.outl12, align 4
  %held.a0.outl12.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl12
  %held.a0.outl12 = getelementptr inbounds i8, ptr %held.a0.outl12.slot, i64 0
  %a0.outl12 = load float, ptr %held.a0.outl12, align 4
  %i.outl13 = add nuw nsw i64 %i.outl, 208
  %s.outl13 = add nuw nsw i64 %s.outl, 385
  %p1.at.outl13 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl13
  %a1.outl13 = load float, ptr %p1.at.outl13, align 4
  %held.a0.outl13.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl13
  %held.a0.outl13 = getelementptr inbounds i8, ptr %held.a0.outl13.slot, i64 0
  %a0.outl13 = load float, ptr %held.a0.outl13, align 4
  %i.outl14 = add nuw nsw i64 %i.outl, 224
  %s.outl14 = add nuw nsw i64 %s.outl, 386
  %p1.at.outl14 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl14
  %a1.outl14 = load float, ptr %p1.at.outl14, align 4
  %held.a0.outl14.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl14
  %held.a0.outl14 = getelementptr inbounds i8, ptr %held.a0.outl14.slot, i64 0
  %a0.outl14 = load float, ptr %held.a0.outl14, align 4
  %i.outl15 = add nuw nsw i64 %i.outl, 240
  %s.outl15 = add nuw nsw i64 %s.outl, 387
  %p1.at.outl15 = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outl15
  %a1.outl15 = load float, ptr %p1.at.outl15, align 4
  %held.a0.outl15.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl15
  %held.a0.outl15 = getelementptr inbounds i8, ptr %held.a0.outl15.slot, i64 0
  %a0.outl15 = load float, ptr %held.a0.outl15, align 4
  %v5.outl0 = fmul float %a0.outl0, %v4
  %v5.outl1 = fmul float %a0.outl1, %v4
  %v5.outl2 = fmul float %a0.outl2, %v4
  %v5.outl3 = fmul float %a0.outl3, %v4
  %v5.outl4 = fmul float %a0.outl4, %v4
  %v5.outl5 = fmul float %a0.outl5, %v4
  %v5.outl6 = fmul float %a0.outl6, %v4
  %v5.outl7 = fmul float %a0.outl7, %v4
  %v5.outl8 = fmul float %a0.outl8, %v4
  %v5.outl9 = fmul float %a0.outl9, %v4
  %v5.outl10 = fmul float %a0.outl10, %v4
  %v5.outl11 = fmul float %a0.outl11, %v4
  %v5.outl12 = fmul float %a0.outl12, %v4
  %v5.outl13 = fmul float %a0.outl13, %v4
  %v5.outl14 = fmul float %a0.outl14, %v4
  %v5.outl15 = fmul float %a0.outl15, %v4
  %v6.outl0 = fmul float %v5.outl0, %a1.outl0
  %v6.outl1 = fmul float %v5.outl1, %a1.outl1
  %v6.outl2 = fmul float %v5.outl2, %a1.outl2
  %v6.outl3 = fmul float %v5.outl3, %a1.outl3
  %v6.outl4 = fmul float %v5.outl4, %a1.outl4
  %v6.outl5 = fmul float %v5.outl5, %a1.outl5
  %v6.outl6 = fmul float %v5.outl6, %a1.outl6
  %v6.outl7 = fmul float %v5.outl7, %a1.outl7
  %v6.outl8 = fmul float %v5.outl8, %a1.outl8
  %v6.outl9 = fmul float %v5.outl9, %a1.outl9
  %v6.outl10 = fmul float %v5.outl10, %a1.outl10
  %v6.outl11 = fmul float %v5.outl11, %a1.outl11
  %v6.outl12 = fmul float %v5.outl12, %a1.outl12
  %v6.outl13 = fmul float %v5.outl13, %a1.outl13
  %v6.outl14 = fmul float %v5.outl14, %a1.outl14
  %v6.outl15 = fmul float %v5.outl15, %a1.outl15
  %o0.at.outl0 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl0
  %o0.at.outl0.out.nan = fcmp uno float %v6.outl0, 0.0
  %o0.at.outl0.out = select i1 %o0.at.outl0.out.nan, float 0x7FF8000000000000, float %v6.outl0
  store float %o0.at.outl0.out, ptr %o0.at.outl0, align 4
  %o0.at.outl1 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl1
  %o0.at.outl1.out.nan = fcmp uno float %v6.outl1, 0.0
  %o0.at.outl1.out = select i1 %o0.at.outl1.out.nan, float 0x7FF8000000000000, float %v6.outl1
  store float %o0.at.outl1.out, ptr %o0.at.outl1, align 4
  %o0.at.outl2 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl2
  %o0.at.outl2.out.nan = fcmp uno float %v6.outl2, 0.0
  %o0.at.outl2.out = select i1 %o0.at.outl2.out.nan, float 0x7FF8000000000000, float %v6.outl2
  store float %o0.at.outl2.out, ptr %o0.at.outl2, align 4
  %o0.at.outl3 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl3
  %o0.at.outl3.out.nan = fcmp uno float %v6.outl3, 0.0
  %o0.at.outl3.out = select i1 %o0.at.outl3.out.nan, float 0x7FF8000000000000, float %v6.outl3
  store float %o0.at.outl3.out, ptr %o0.at.outl3, align 4
  %o0.at.outl4 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl4
  %o0.at.outl4.out.nan = fcmp uno float %v6.outl4, 0.0
  %o0.at.outl4.out = select i1 %o0.at.outl4.out.nan, float 0x7FF8000000000000, float %v6.outl4
  store float %o0.at.outl4.out, ptr %o0.at.outl4, align 4
  %o0.at.outl5 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl5
  %o0.at.outl5.out.nan = fcmp uno float %v6.outl5, 0.0
  %o0.at.outl5.out = select i1 %o0.at.outl5.out.nan, float 0x7FF8000000000000, float %v6.outl5
  store float %o0.at.outl5.out, ptr %o0.at.outl5, align 4
  %o0.at.outl6 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl6
  %o0.at.outl6.out.nan = fcmp uno float %v6.outl6, 0.0
  %o0.at.outl6.out = select i1 %o0.at.outl6.out.nan, float 0x7FF8000000000000, float %v6.outl6
  store float %o0.at.outl6.out, ptr %o0.at.outl6, align 4
  %o0.at.outl7 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl7
  %o0.at.outl7.out.nan = fcmp uno float %v6.outl7, 0.0
  %o0.at.outl7.out = select i1 %o0.at.outl7.out.nan, float 0x7FF8000000000000, float %v6.outl7
  store float %o0.at.outl7.out, ptr %o0.at.outl7, align 4
  %o0.at.outl8 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl8
  %o0.at.outl8.out.nan = fcmp uno float %v6.outl8, 0.0
  %o0.at.outl8.out = select i1 %o0.at.outl8.out.nan, float 0x7FF8000000000000, float %v6.outl8
  store float %o0.at.outl8.out, ptr %o0.at.outl8, align 4
  %o0.at.outl9 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl9
  %o0.at.outl9.out.nan = fcmp uno float %v6.outl9, 0.0
  %o0.at.outl9.out = select i1 %o0.at.outl9.out.nan, float 0x7FF8000000000000, float %v6.outl9
  store float %o0.at.outl9.out, ptr %o0.at.outl9, align 4
  %o0.at.outl10 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl10
  %o0.at.outl10.out.nan = fcmp uno float %v6.outl10, 0.0
  %o0.at.outl10.out = select i1 %o0.at.outl10.out.nan, float 0x7FF8000000000000, float %v6.outl10
  store float %o0.at.outl10.out, ptr %o0.at.outl10, align 4
  %o0.at.outl11 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl11
  %o0.at.outl11.out.nan = fcmp uno float %v6.outl11, 0.0
  %o0.at.outl11.out = select i1 %o0.at.outl11.out.nan, float 0x7FF8000000000000, float %v6.outl11
  store float %o0.at.outl11.out, ptr %o0.at.outl11, align 4
  %o0.at.outl12 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl12
  %o0.at.outl12.out.nan = fcmp uno float %v6.outl12, 0.0
  %o0.at.outl12.out = select i1 %o0.at.outl12.out.nan, float 0x7FF8000000000000, float %v6.outl12
  store float %o0.at.outl12.out, ptr %o0.at.outl12, align 4
  %o0.at.outl13 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl13
  %o0.at.outl13.out.nan = fcmp uno float %v6.outl13, 0.0
  %o0.at.outl13.out = select i1 %o0.at.outl13.out.nan, float 0x7FF8000000000000, float %v6.outl13
  store float %o0.at.outl13.out, ptr %o0.at.outl13, align 4
  %o0.at.outl14 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl14
  %o0.at.outl14.out.nan = fcmp uno float %v6.outl14, 0.0
  %o0.at.outl14.out = select i1 %o0.at.outl14.out.nan, float 0x7FF8000000000000, float %v6.outl14
  store float %o0.at.outl14.out, ptr %o0.at.outl14, align 4
  %o0.at.outl15 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl15
  %o0.at.outl15.out.nan = fcmp uno float %v6.outl15, 0.0
  %o0.at.outl15.out = select i1 %o0.at.outl15.out.nan, float 0x7FF8000000000000, float %v6.outl15
  store float %o0.at.outl15.out, ptr %o0.at.outl15, align 4
  br label %block.end.outl

block.end.outl:
  br label %blocks.outl

rests.outl:
  %r.outl = phi i32 [ %b.outl, %blocks.outl ], [ %r.next.outl, %join.outl ]
  %r.more.outl = icmp ult i32 %r.outl, %count.out
  br i1 %r.more.outl, label %rest.outl, label %chunk.end.out

rest.outl:
  %r.at.outl = add nuw nsw i32 %r.outl, %lane
  %r.is.outl = icmp ult i32 %r.at.outl, %count.out
  br i1 %r.is.outl, label %value.outl, label %join.outl

value.outl:
  %i.short.outlx = add nuw nsw i32 %from.out, %r.at.outl
  %i.outlx = zext i32 %i.short.outlx to i64
  %s.group.outlx = and i32 %r.outl, -128
  %s.first.outlx = add nuw nsw i32 %s.group.outlx, %slots
  %s.number.outlx = udiv i32 %r.outl, 32
  %s.member.outlx = urem i32 %s.number.outlx, 4
  %s.short.outlx = add nuw nsw i32 %s.first.outlx, %s.member.outlx
  %s.outlx = zext i32 %s.short.outlx to i64
  %p1.at.outlx = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i.outlx
  %a1.outlx = load float, ptr %p1.at.outlx, align 4
  %held.a0.outlx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outlx
  %held.a0.outlx = getelementptr inbounds i8, ptr %held.a0.outlx.slot, i64 0
  %a0.outlx = load float, ptr %held.a0.outlx, align 4
  %v5.outlx = fmul float %a0.outlx, %v4
  %v6.outlx = fmul float %v5.outlx, %a1.outlx
  %o0.at.outlx = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outlx
  %o0.at.outlx.out.nan = fcmp uno float %v6.outlx, 0.0
  %o0.at.outlx.out = select i1 %o0.at.outlx.out.nan, float 0x7FF8000000000000, float %v6.outlx
  store float %o0.at.outlx.out, ptr %o0.at.outlx, align 4
  br label %join.outl

join.outl:
  %r.next.outl = add nuw nsw i32 %r.outl, 32
  br label %rests.outl

chunk.end.out:
  br label %carry.out

carry.out:
  %c.lane.out = and i32 %c.out, 15
  %is.mine.out = icmp eq i32 %c.lane.out, %lane
  br label %chunks.out

chunks.end.out:
  br i1 %is.first, label %row.outputs, label %exit

row.outputs:
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.cttz.i32(i32, i1 immarg)
declare i32 @llvm.umax.i32(i32, i32)
declare void @llvm.nvvm.nanosleep(i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier0()
@kept = external addrspace(3) global [0 x i8], align 16
@lanes = internal addrspace(3) global [128 x i8] undef, align 16

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_square_sum_mul_add_rsqrt_mul_mul_f32_9a1fe2b6, !"maxntidx", i32 256, !"minctasm", i32 4}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
