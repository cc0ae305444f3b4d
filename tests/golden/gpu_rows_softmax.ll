; kiln gpu kernel, rows, 1 axes
; operand a0: float32, packed
; operation v0: float32 max(a0)
; operation v1: float32 subtract(a0, v0)
; operation v2: float32 exp(v1)
; operation v3: float32 sum(v2)
; operation v4: float32 divide(v2, v3)
; result v4: float32

define ptx_kernel void @kiln_max_sub_exp_sum_div_f32_b7b57ce6(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, i64 %rows.word, i64 %n.word, i64 %warps.word, i64 %apart.word, i64 %p0.inner, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
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
  br label %chunks.0

chunks.0:
  %c.0 = phi i32 [ %member, %start ], [ %c.next.0, %carry.0 ]
  %up0.0 = phi float [ 0xFFF0000000000000, %start ], [ %up.next0.0, %carry.0 ]
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
  %lane0.0w = phi float [ 0xFFF0000000000000, %chunk.0 ], [ %lane.next0.0w, %block.end.0w ]
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
  %e0.0w0 = bitcast float %a0.0w0 to float
  %e0.0w1 = bitcast float %a0.0w1 to float
  %e0.0w2 = bitcast float %a0.0w2 to float
  %e0.0w3 = bitcast float %a0.0w3 to float
  %e0.0w4 = bitcast float %a0.0w4 to float
  %e0.0w5 = bitcast float %a0.0w5 to float
  %e0.0w6 = bitcast float %a0.0w6 to float
  %e0.0w7 = bitcast float %a0.0w7 to float
  %e0.0w8 = bitcast float %a0.0w8 to float
  %e0.0w9 = bitcast float %a0.0w9 to float
  %e0.0w10 = bitcast float %a0.0w10 to float
  %e0.0w11 = bitcast float %a0.0w11 to float
  %e0.0w12 = bitcast float %a0.0w12 to float
  %e0.0w13 = bitcast float %a0.0w13 to float
  %e0.0w14 = bitcast float %a0.0w14 to float
  %e0.0w15 = bitcast float %a0.0w15 to float
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
  %low0.0w0 = call float @llvm.maximum.f32(float %lane0.0w, float %e0.0w0)
  %low0.0w1 = call float @llvm.maximum.f32(float %low0.0w0, float %e0.0w1)
  %low0.0w2 = call float @llvm.maximum.f32(float %low0.0w1, float %e0.0w2)
  %low0.0w3 = call float @llvm.maximum.f32(float %low0.0w2, float %e0.0w3)
  %low0.0w4 = call float @llvm.maximum.f32(float %low0.0w3, float %e0.0w4)
  %low0.0w5 = call float @llvm.maximum.f32(float %low0.0w4, float %e0.0w5)
  %low0.0w6 = call float @llvm.maximum.f32(float %low0.0w5, float %e0.0w6)
  %low0.0w7 = call float @llvm.maximum.f32(float %low0.0w6, float %e0.0w7)
  %low0.0w8 = call float @llvm.maximum.f32(float %low0.0w7, float %e0.0w8)
  %low0.0w9 = call float @llvm.maximum.f32(float %low0.0w8, float %e0.0w9)
  %low0.0w10 = call float @llvm.maximum.f32(float %low0.0w9, float %e0.0w10)
  %low0.0w11 = call float @llvm.maximum.f32(float %low0.0w10, float %e0.0w11)
  %low0.0w12 = call float @llvm.maximum.f32(float %low0.0w11, float %e0.0w12)
  %low0.0w13 = call float @llvm.maximum.f32(float %low0.0w12, float %e0.0w13)
  %low0.0w14 = call float @llvm.maximum.f32(float %low0.0w13, float %e0.0w14)
  %lane.next0.0w = call float @llvm.maximum.f32(float %low0.0w14, float %e0.0w15)
  br label %block.end.0w

block.end.0w:
  br label %blocks.0w

rests.0w:
  %r.0w = phi i32 [ %b.0w, %blocks.0w ], [ %r.next.0w, %join.0w ]
  %rest0.0w = phi float [ %lane0.0w, %blocks.0w ], [ %rest.next0.0w, %join.0w ]
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
  %keep.a0.0wx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0wx
  %keep.a0.0wx = getelementptr inbounds i8, ptr %keep.a0.0wx.slot, i64 0
  store float %a0.0wx, ptr %keep.a0.0wx, align 4
  %e0.0wx = bitcast float %a0.0wx to float
  br label %join.0w

join.0w:
  %entry0.0w = phi float [ %e0.0wx, %value.0w ], [ 0xFFF0000000000000, %rest.0w ]
  %r.far.0w = add nuw nsw i32 %r.at.0w, 16
  %r.other.0w = icmp ult i32 %r.far.0w, %count.0
  %rest.next0.0w = call float @llvm.maximum.f32(float %rest0.0w, float %entry0.0w)
  %r.next.0w = add nuw nsw i32 %r.0w, 32
  br label %rests.0w

chunk.end.0:
  %all0.0 = phi float [ %rest0.0w, %rests.0w ]
  %far0.0.from = bitcast float %all0.0 to i32
  %far0.0.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %far0.0.from, i32 16, i32 31)
  %far0.0 = bitcast i32 %far0.0.to to float
  %met.all0.0 = call float @llvm.maximum.f32(float %all0.0, float %far0.0)
  %chunk0.0.h8.from = bitcast float %met.all0.0 to i32
  %chunk0.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h8.from, i32 8, i32 31)
  %chunk0.0.h8 = bitcast i32 %chunk0.0.h8.to to float
  %chunk0.0.l8 = call float @llvm.maximum.f32(float %met.all0.0, float %chunk0.0.h8)
  %chunk0.0.h4.from = bitcast float %chunk0.0.l8 to i32
  %chunk0.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h4.from, i32 4, i32 31)
  %chunk0.0.h4 = bitcast i32 %chunk0.0.h4.to to float
  %chunk0.0.l4 = call float @llvm.maximum.f32(float %chunk0.0.l8, float %chunk0.0.h4)
  %chunk0.0.h2.from = bitcast float %chunk0.0.l4 to i32
  %chunk0.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h2.from, i32 2, i32 31)
  %chunk0.0.h2 = bitcast i32 %chunk0.0.h2.to to float
  %chunk0.0.l2 = call float @llvm.maximum.f32(float %chunk0.0.l4, float %chunk0.0.h2)
  %chunk0.0.h1.from = bitcast float %chunk0.0.l2 to i32
  %chunk0.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h1.from, i32 1, i32 31)
  %chunk0.0.h1 = bitcast i32 %chunk0.0.h1.to to float
  %chunk0.0 = call float @llvm.maximum.f32(float %chunk0.0.l2, float %chunk0.0.h1)
  %whole0.0.from = bitcast float %chunk0.0 to i32
  %whole0.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %whole0.0.from, i32 0, i32 31)
  %whole0.0 = bitcast i32 %whole0.0.to to float
  %zero0.0 = fcmp oeq float %whole0.0, 0.0
  %zeros0.0 = or i1 false, %zero0.0
  %is.zero.0 = or i1 %zeros0.0, false
  br i1 %is.zero.0, label %rests.0z, label %carry.0

rests.0z:
  %r.0z = phi i32 [ 0, %chunk.end.0 ], [ %r.next.0z, %join.0z ]
  %rest0.0z = phi float [ 0xFFF0000000000000, %chunk.end.0 ], [ %rest.next0.0z, %join.0z ]
  %r.more.0z = icmp ult i32 %r.0z, %count.0
  br i1 %r.more.0z, label %rest.0z, label %exact.end.0

rest.0z:
  %r.at.0z = add nuw nsw i32 %r.0z, %lane
  %r.is.0z = icmp ult i32 %r.at.0z, %count.0
  br i1 %r.is.0z, label %value.0z, label %join.0z

value.0z:
  %i.short.0zx = add nuw nsw i32 %from.0, %r.at.0z
  %i.0zx = zext i32 %i.short.0zx to i64
  %s.group.0zx = and i32 %r.0z, -128
  %s.first.0zx = add nuw nsw i32 %s.group.0zx, %slots
  %s.number.0zx = udiv i32 %r.0z, 32
  %s.member.0zx = urem i32 %s.number.0zx, 4
  %s.short.0zx = add nuw nsw i32 %s.first.0zx, %s.member.0zx
  %s.0zx = zext i32 %s.short.0zx to i64
  %p0.at.0zx = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0zx
  %a0.0zx = load float, ptr %p0.at.0zx, align 4
  %e0.0zx = bitcast float %a0.0zx to float
  br label %join.0z

join.0z:
  %entry0.0z = phi float [ %e0.0zx, %value.0z ], [ 0xFFF0000000000000, %rest.0z ]
  %r.far.0z = add nuw nsw i32 %r.at.0z, 16
  %r.other.0z = icmp ult i32 %r.far.0z, %count.0
  %other0.0z.from = bitcast float %entry0.0z to i32
  %other0.0z.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0z.from, i32 16, i32 31)
  %other0.0z = bitcast i32 %other0.0z.to to float
  %own0.0z.a = fcmp ogt float %rest0.0z, %entry0.0z
  %own0.0z.b = fcmp uno float %rest0.0z, %rest0.0z
  %own0.0z.c = or i1 %own0.0z.a, %own0.0z.b
  %own0.0z = select i1 %own0.0z.c, float %rest0.0z, float %entry0.0z
  %one0.0z = select i1 %r.is.0z, float %own0.0z, float %rest0.0z
  %both0.0z.a = fcmp ogt float %one0.0z, %other0.0z
  %both0.0z.b = fcmp uno float %one0.0z, %one0.0z
  %both0.0z.c = or i1 %both0.0z.a, %both0.0z.b
  %both0.0z = select i1 %both0.0z.c, float %one0.0z, float %other0.0z
  %rest.next0.0z = select i1 %r.other.0z, float %both0.0z, float %one0.0z
  %r.next.0z = add nuw nsw i32 %r.0z, 32
  br label %rests.0z

exact.end.0:
  %all0.0z = phi float [ %rest0.0z, %rests.0z ]
  %chunk0.0z.h8.from = bitcast float %all0.0z to i32
  %chunk0.0z.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0z.h8.from, i32 8, i32 31)
  %chunk0.0z.h8 = bitcast i32 %chunk0.0z.h8.to to float
  %chunk0.0z.l8.a = fcmp ogt float %all0.0z, %chunk0.0z.h8
  %chunk0.0z.l8.b = fcmp uno float %all0.0z, %all0.0z
  %chunk0.0z.l8.c = or i1 %chunk0.0z.l8.a, %chunk0.0z.l8.b
  %chunk0.0z.l8 = select i1 %chunk0.0z.l8.c, float %all0.0z, float %chunk0.0z.h8
  %chunk0.0z.h4.from = bitcast float %chunk0.0z.l8 to i32
  %chunk0.0z.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0z.h4.from, i32 4, i32 31)
  %chunk0.0z.h4 = bitcast i32 %chunk0.0z.h4.to to float
  %chunk0.0z.l4.a = fcmp ogt float %chunk0.0z.l8, %chunk0.0z.h4
  %chunk0.0z.l4.b = fcmp uno float %chunk0.0z.l8, %chunk0.0z.l8
  %chunk0.0z.l4.c = or i1 %chunk0.0z.l4.a, %chunk0.0z.l4.b
  %chunk0.0z.l4 = select i1 %chunk0.0z.l4.c, float %chunk0.0z.l8, float %chunk0.0z.h4
  %chunk0.0z.h2.from = bitcast float %chunk0.0z.l4 to i32
  %chunk0.0z.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0z.h2.from, i32 2, i32 31)
  %chunk0.0z.h2 = bitcast i32 %chunk0.0z.h2.to to float
  %chunk0.0z.l2.a = fcmp ogt float %chunk0.0z.l4, %chunk0.0z.h2
  %chunk0.0z.l2.b = fcmp uno float %chunk0.0z.l4, %chunk0.0z.l4
  %chunk0.0z.l2.c = or i1 %chunk0.0z.l2.a, %chunk0.0z.l2.b
  %chunk0.0z.l2 = select i1 %chunk0.0z.l2.c, float %chunk0.0z.l4, float %chunk0.0z.h2
  %chunk0.0z.h1.from = bitcast float %chunk0.0z.l2 to i32
  %chunk0.0z.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0z.h1.from, i32 1, i32 31)
  %chunk0.0z.h1 = bitcast i32 %chunk0.0z.h1.to to float
  %chunk0.0z.a = fcmp ogt float %chunk0.0z.l2, %chunk0.0z.h1
  %chunk0.0z.b = fcmp uno float %chunk0.0z.l2, %chunk0.0z.l2
  %chunk0.0z.c = or i1 %chunk0.0z.a, %chunk0.0z.b
  %chunk0.0z = select i1 %chunk0.0z.c, float %chunk0.0z.l2, float %chunk0.0z.h1
  %whole0.0z.from = bitcast float %chunk0.0z to i32
  %whole0.0z.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %whole0.0z.from, i32 0, i32 31)
  %whole0.0z = bitcast i32 %whole0.0z.to to float
  br label %carry.0

carry.0:
  %sum0.0 = phi float [ %whole0.0, %chunk.end.0 ], [ %whole0.0z, %exact.end.0 ]
  %c.lane.0 = and i32 %c.0, 15
  %is.mine.0 = icmp eq i32 %c.lane.0, %lane
  %up.more0.0.a = fcmp ogt float %up0.0, %sum0.0
  %up.more0.0.b = fcmp uno float %up0.0, %up0.0
  %up.more0.0.c = or i1 %up.more0.0.a, %up.more0.0.b
  %up.more0.0 = select i1 %up.more0.0.c, float %up0.0, float %sum0.0
  %up.sum0.0 = select i1 %is.single, float %sum0.0, float %up.more0.0
  %up.next0.0 = select i1 %is.mine.0, float %up.sum0.0, float %up0.0
  br label %chunks.0

chunks.end.0:
  br i1 %is.alone, label %known.0, label %publish.0

publish.0:
  br i1 %is.owner, label %give.0, label %meet.0

give.0:
  %up0.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %up0.0.at = getelementptr inbounds float, ptr addrspace(3) %up0.0.to, i64 %position
  store float %up0.0, ptr addrspace(3) %up0.0.at, align 4
  br label %meet.0

meet.0:
  call void @llvm.nvvm.barrier0()
  %met0.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %met0.0.at = getelementptr inbounds float, ptr addrspace(3) %met0.0.to, i64 %position
  %met0.0 = load float, ptr addrspace(3) %met0.0.at, align 4
  br label %known.0

known.0:
  %known0.0 = phi float [ %up0.0, %chunks.end.0 ], [ %met0.0, %meet.0 ]
  br i1 %is.single, label %done.0, label %tree.0

tree.0:
  %tree0.0.h8.from = bitcast float %known0.0 to i32
  %tree0.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h8.from, i32 8, i32 31)
  %tree0.0.h8 = bitcast i32 %tree0.0.h8.to to float
  %tree0.0.l8.a = fcmp ogt float %known0.0, %tree0.0.h8
  %tree0.0.l8.b = fcmp uno float %known0.0, %known0.0
  %tree0.0.l8.c = or i1 %tree0.0.l8.a, %tree0.0.l8.b
  %tree0.0.l8 = select i1 %tree0.0.l8.c, float %known0.0, float %tree0.0.h8
  %tree0.0.h4.from = bitcast float %tree0.0.l8 to i32
  %tree0.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h4.from, i32 4, i32 31)
  %tree0.0.h4 = bitcast i32 %tree0.0.h4.to to float
  %tree0.0.l4.a = fcmp ogt float %tree0.0.l8, %tree0.0.h4
  %tree0.0.l4.b = fcmp uno float %tree0.0.l8, %tree0.0.l8
  %tree0.0.l4.c = or i1 %tree0.0.l4.a, %tree0.0.l4.b
  %tree0.0.l4 = select i1 %tree0.0.l4.c, float %tree0.0.l8, float %tree0.0.h4
  %tree0.0.h2.from = bitcast float %tree0.0.l4 to i32
  %tree0.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h2.from, i32 2, i32 31)
  %tree0.0.h2 = bitcast i32 %tree0.0.h2.to to float
  %tree0.0.l2.a = fcmp ogt float %tree0.0.l4, %tree0.0.h2
  %tree0.0.l2.b = fcmp uno float %tree0.0.l4, %tree0.0.l4
  %tree0.0.l2.c = or i1 %tree0.0.l2.a, %tree0.0.l2.b
  %tree0.0.l2 = select i1 %tree0.0.l2.c, float %tree0.0.l4, float %tree0.0.h2
  %tree0.0.h1.from = bitcast float %tree0.0.l2 to i32
  %tree0.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h1.from, i32 1, i32 31)
  %tree0.0.h1 = bitcast i32 %tree0.0.h1.to to float
  %tree0.0.a = fcmp ogt float %tree0.0.l2, %tree0.0.h1
  %tree0.0.b = fcmp uno float %tree0.0.l2, %tree0.0.l2
  %tree0.0.c = or i1 %tree0.0.a, %tree0.0.b
  %tree0.0 = select i1 %tree0.0.c, float %tree0.0.l2, float %tree0.0.h1
  br label %done.0

done.0:
  %top0.0 = phi float [ %known0.0, %known.0 ], [ %tree0.0, %tree.0 ]
  %total0.0.from = bitcast float %top0.0 to i32
  %total0.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %total0.0.from, i32 0, i32 31)
  %total0.0 = bitcast i32 %total0.0.to to float
  %v0 = bitcast float %total0.0 to float
  br label %chunks.1

chunks.1:
  %c.1 = phi i32 [ %member, %done.0 ], [ %c.next.1, %carry.1 ]
  %up3.1 = phi float [ 0.0, %done.0 ], [ %up.next3.1, %carry.1 ]
  %from.1 = mul nuw nsw i32 %c.1, 1024
  %c.some.1 = icmp ult i32 %from.1, %length
  br i1 %c.some.1, label %chunk.1, label %chunks.end.1

chunk.1:
  %left.1 = sub nuw nsw i32 %length, %from.1
  %count.1 = call i32 @llvm.umin.i32(i32 %left.1, i32 1024)
  %spans.1 = and i32 %count.1, -512
  %first.1 = add nuw nsw i32 %from.1, %spread
  %c.next.1 = add nuw nsw i32 %c.1, %team
  %c.far.1 = mul nuw nsw i32 %c.next.1, 1024
  %is.far.1 = icmp ult i32 %c.far.1, %length
  br i1 %is.far.1, label %blocks.1f, label %blocks.1l

blocks.1f:
  %b.1f = phi i32 [ 0, %chunk.1 ], [ %b.next.1f, %block.end.1f ]
  %lane3.1f = phi float [ 0.0, %chunk.1 ], [ %lane.next3.1f, %block.end.1f ]
  %b.next.1f = add nuw nsw i32 %b.1f, 512
  %b.more.1f = icmp ule i32 %b.next.1f, %spans.1
  br i1 %b.more.1f, label %block.1f, label %chunk.end.1

block.1f:
  %i.part.1f = and i32 %b.1f, 511
  %i.half.1f = lshr i32 %i.part.1f, 1
  %i.at.1f = sub nuw nsw i32 %b.1f, %i.half.1f
  %i.short.1f = add nuw nsw i32 %first.1, %i.at.1f
  %i.1f = zext i32 %i.short.1f to i64
  %s.group.1f = and i32 %b.1f, -128
  %s.first.1f = add nuw nsw i32 %s.group.1f, %slots
  %s.number.1f = udiv i32 %b.1f, 32
  %s.member.1f = urem i32 %s.number.1f, 1
  %s.short.1f = add nuw nsw i32 %s.first.1f, %s.member.1f
  %s.1f = zext i32 %s.short.1f to i64
  %i.1f0 = add nuw nsw i64 %i.1f, 0
  %s.1f0 = add nuw nsw i64 %s.1f, 0
  %p0.at.1f0 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f0
  %a0.1f0 = load float, ptr %p0.at.1f0, align 4
  %i.1f1 = add nuw nsw i64 %i.1f, 16
  %s.1f1 = add nuw nsw i64 %s.1f, 1
  %p0.at.1f1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f1
  %a0.1f1 = load float, ptr %p0.at.1f1, align 4
  %i.1f2 = add nuw nsw i64 %i.1f, 32
  %s.1f2 = add nuw nsw i64 %s.1f, 2
  %p0.at.1f2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f2
  %a0.1f2 = load float, ptr %p0.at.1f2, align 4
  %i.1f3 = add nuw nsw i64 %i.1f, 48
  %s.1f3 = add nuw nsw i64 %s.1f, 3
  %p0.at.1f3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f3
  %a0.1f3 = load float, ptr %p0.at.1f3, align 4
  %i.1f4 = add nuw nsw i64 %i.1f, 64
  %s.1f4 = add nuw nsw i64 %s.1f, 128
  %p0.at.1f4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f4
  %a0.1f4 = load float, ptr %p0.at.1f4, align 4
  %i.1f5 = add nuw nsw i64 %i.1f, 80
  %s.1f5 = add nuw nsw i64 %s.1f, 129
  %p0.at.1f5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f5
  %a0.1f5 = load float, ptr %p0.at.1f5, align 4
  %i.1f6 = add nuw nsw i64 %i.1f, 96
  %s.1f6 = add nuw nsw i64 %s.1f, 130
  %p0.at.1f6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f6
  %a0.1f6 = load float, ptr %p0.at.1f6, align 4
  %i.1f7 = add nuw nsw i64 %i.1f, 112
  %s.1f7 = add nuw nsw i64 %s.1f, 131
  %p0.at.1f7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f7
  %a0.1f7 = load float, ptr %p0.at.1f7, align 4
  %i.1f8 = add nuw nsw i64 %i.1f, 128
  %s.1f8 = add nuw nsw i64 %s.1f, 256
  %p0.at.1f8 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f8
  %a0.1f8 = load float, ptr %p0.at.1f8, align 4
  %i.1f9 = add nuw nsw i64 %i.1f, 144
  %s.1f9 = add nuw nsw i64 %s.1f, 257
  %p0.at.1f9 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f9
  %a0.1f9 = load float, ptr %p0.at.1f9, align 4
  %i.1f10 = add nuw nsw i64 %i.1f, 160
  %s.1f10 = add nuw nsw i64 %s.1f, 258
  %p0.at.1f10 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f10
  %a0.1f10 = load float, ptr %p0.at.1f10, align 4
  %i.1f11 = add nuw nsw i64 %i.1f, 176
  %s.1f11 = add nuw nsw i64 %s.1f, 259
  %p0.at.1f11 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f11
  %a0.1f11 = load float, ptr %p0.at.1f11, align 4
  %i.1f12 = add nuw nsw i64 %i.1f, 192
  %s.1f12 = add nuw nsw i64 %s.1f, 384
  %p0.at.1f12 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f12
  %a0.1f12 = load float, ptr %p0.at.1f12, align 4
  %i.1f13 = add nuw nsw i64 %i.1f, 208
  %s.1f13 = add nuw nsw i64 %s.1f, 385
  %p0.at.1f13 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f13
  %a0.1f13 = load float, ptr %p0.at.1f13, align 4
  %i.1f14 = add nuw nsw i64 %i.1f, 224
  %s.1f14 = add nuw nsw i64 %s.1f, 386
  %p0.at.1f14 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f14
  %a0.1f14 = load float, ptr %p0.at.1f14, align 4
  %i.1f15 = add nuw nsw i64 %i.1f, 240
  %s.1f15 = add nuw nsw i64 %s.1f, 387
  %p0.at.1f15 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f15
  %a0.1f15 = load float, ptr %p0.at.1f15, align 4
  %v1.1f0 = fsub float %a0.1f0, %v0
  %v1.1f1 = fsub float %a0.1f1, %v0
  %v1.1f2 = fsub float %a0.1f2, %v0
  %v1.1f3 = fsub float %a0.1f3, %v0
  %v1.1f4 = fsub float %a0.1f4, %v0
  %v1.1f5 = fsub float %a0.1f5, %v0
  %v1.1f6 = fsub float %a0.1f6, %v0
  %v1.1f7 = fsub float %a0.1f7, %v0
  %v1.1f8 = fsub float %a0.1f8, %v0
  %v1.1f9 = fsub float %a0.1f9, %v0
  %v1.1f10 = fsub float %a0.1f10, %v0
  %v1.1f11 = fsub float %a0.1f11, %v0
  %v1.1f12 = fsub float %a0.1f12, %v0
  %v1.1f13 = fsub float %a0.1f13, %v0
  %v1.1f14 = fsub float %a0.1f14, %v0
  %v1.1f15 = fsub float %a0.1f15, %v0
  %size2.1f0.bits = bitcast float %v1.1f0 to i32
  %size2.1f1.bits = bitcast float %v1.1f1 to i32
  %size2.1f2.bits = bitcast float %v1.1f2 to i32
  %size2.1f3.bits = bitcast float %v1.1f3 to i32
  %size2.1f4.bits = bitcast float %v1.1f4 to i32
  %size2.1f5.bits = bitcast float %v1.1f5 to i32
  %size2.1f6.bits = bitcast float %v1.1f6 to i32
  %size2.1f7.bits = bitcast float %v1.1f7 to i32
  %size2.1f8.bits = bitcast float %v1.1f8 to i32
  %size2.1f9.bits = bitcast float %v1.1f9 to i32
  %size2.1f10.bits = bitcast float %v1.1f10 to i32
  %size2.1f11.bits = bitcast float %v1.1f11 to i32
  %size2.1f12.bits = bitcast float %v1.1f12 to i32
  %size2.1f13.bits = bitcast float %v1.1f13 to i32
  %size2.1f14.bits = bitcast float %v1.1f14 to i32
  %size2.1f15.bits = bitcast float %v1.1f15 to i32
  %lowest2.1f1 = call i32 @llvm.umax.i32(i32 %size2.1f0.bits, i32 %size2.1f1.bits)
  %lowest2.1f2 = call i32 @llvm.umax.i32(i32 %lowest2.1f1, i32 %size2.1f2.bits)
  %lowest2.1f3 = call i32 @llvm.umax.i32(i32 %lowest2.1f2, i32 %size2.1f3.bits)
  %lowest2.1f4 = call i32 @llvm.umax.i32(i32 %lowest2.1f3, i32 %size2.1f4.bits)
  %lowest2.1f5 = call i32 @llvm.umax.i32(i32 %lowest2.1f4, i32 %size2.1f5.bits)
  %lowest2.1f6 = call i32 @llvm.umax.i32(i32 %lowest2.1f5, i32 %size2.1f6.bits)
  %lowest2.1f7 = call i32 @llvm.umax.i32(i32 %lowest2.1f6, i32 %size2.1f7.bits)
  %lowest2.1f8 = call i32 @llvm.umax.i32(i32 %lowest2.1f7, i32 %size2.1f8.bits)
  %lowest2.1f9 = call i32 @llvm.umax.i32(i32 %lowest2.1f8, i32 %size2.1f9.bits)
  %lowest2.1f10 = call i32 @llvm.umax.i32(i32 %lowest2.1f9, i32 %size2.1f10.bits)
  %lowest2.1f11 = call i32 @llvm.umax.i32(i32 %lowest2.1f10, i32 %size2.1f11.bits)
  %lowest2.1f12 = call i32 @llvm.umax.i32(i32 %lowest2.1f11, i32 %size2.1f12.bits)
  %lowest2.1f13 = call i32 @llvm.umax.i32(i32 %lowest2.1f12, i32 %size2.1f13.bits)
  %lowest2.1f14 = call i32 @llvm.umax.i32(i32 %lowest2.1f13, i32 %size2.1f14.bits)
  %lowest2.1f = call i32 @llvm.umax.i32(i32 %lowest2.1f14, i32 %size2.1f15.bits)
  %highest2.1f1 = call i32 @llvm.smax.i32(i32 %size2.1f0.bits, i32 %size2.1f1.bits)
  %highest2.1f2 = call i32 @llvm.smax.i32(i32 %highest2.1f1, i32 %size2.1f2.bits)
  %highest2.1f3 = call i32 @llvm.smax.i32(i32 %highest2.1f2, i32 %size2.1f3.bits)
  %highest2.1f4 = call i32 @llvm.smax.i32(i32 %highest2.1f3, i32 %size2.1f4.bits)
  %highest2.1f5 = call i32 @llvm.smax.i32(i32 %highest2.1f4, i32 %size2.1f5.bits)
  %highest2.1f6 = call i32 @llvm.smax.i32(i32 %highest2.1f5, i32 %size2.1f6.bits)
  %highest2.1f7 = call i32 @llvm.smax.i32(i32 %highest2.1f6, i32 %size2.1f7.bits)
  %highest2.1f8 = call i32 @llvm.smax.i32(i32 %highest2.1f7, i32 %size2.1f8.bits)
  %highest2.1f9 = call i32 @llvm.smax.i32(i32 %highest2.1f8, i32 %size2.1f9.bits)
  %highest2.1f10 = call i32 @llvm.smax.i32(i32 %highest2.1f9, i32 %size2.1f10.bits)
  %highest2.1f11 = call i32 @llvm.smax.i32(i32 %highest2.1f10, i32 %size2.1f11.bits)
  %highest2.1f12 = call i32 @llvm.smax.i32(i32 %highest2.1f11, i32 %size2.1f12.bits)
  %highest2.1f13 = call i32 @llvm.smax.i32(i32 %highest2.1f12, i32 %size2.1f13.bits)
  %highest2.1f14 = call i32 @llvm.smax.i32(i32 %highest2.1f13, i32 %size2.1f14.bits)
  %highest2.1f = call i32 @llvm.smax.i32(i32 %highest2.1f14, i32 %size2.1f15.bits)
  %above2.1f = icmp ule i32 %lowest2.1f, 3266052096
  %below2.1f = icmp sle i32 %highest2.1f, 1118830592
  %near2.1f = and i1 %above2.1f, %below2.1f
  br i1 %near2.1f, label %quick2.1f, label %slow2.1f

quick2.1f:
  %quick2.1f0 = call float @kiln_exp_near_f32(float %v1.1f0)
  %quick2.1f1 = call float @kiln_exp_near_f32(float %v1.1f1)
  %quick2.1f2 = call float @kiln_exp_near_f32(float %v1.1f2)
  %quick2.1f3 = call float @kiln_exp_near_f32(float %v1.1f3)
  %quick2.1f4 = call float @kiln_exp_near_f32(float %v1.1f4)
  %quick2.1f5 = call float @kiln_exp_near_f32(float %v1.1f5)
  %quick2.1f6 = call float @kiln_exp_near_f32(float %v1.1f6)
  %quick2.1f7 = call float @kiln_exp_near_f32(float %v1.1f7)
  %quick2.1f8 = call float @kiln_exp_near_f32(float %v1.1f8)
  %quick2.1f9 = call float @kiln_exp_near_f32(float %v1.1f9)
  %quick2.1f10 = call float @kiln_exp_near_f32(float %v1.1f10)
  %quick2.1f11 = call float @kiln_exp_near_f32(float %v1.1f11)
  %quick2.1f12 = call float @kiln_exp_near_f32(float %v1.1f12)
  %quick2.1f13 = call float @kiln_exp_near_f32(float %v1.1f13)
  %quick2.1f14 = call float @kiln_exp_near_f32(float %v1.1f14)
  %quick2.1f15 = call float @kiln_exp_near_f32(float %v1.1f15)
  br label %together2.1f

slow2.1f:
  %plain2.1f0.out = call float @kiln_exp_f32(float %v1.1f0)
  %plain2.1f1.out = call float @kiln_exp_f32(float %v1.1f1)
  %plain2.1f2.out = call float @kiln_exp_f32(float %v1.1f2)
  %plain2.1f3.out = call float @kiln_exp_f32(float %v1.1f3)
  %plain2.1f4.out = call float @kiln_exp_f32(float %v1.1f4)
  %plain2.1f5.out = call float @kiln_exp_f32(float %v1.1f5)
  %plain2.1f6.out = call float @kiln_exp_f32(float %v1.1f6)
  %plain2.1f7.out = call float @kiln_exp_f32(float %v1.1f7)
  %plain2.1f8.out = call float @kiln_exp_f32(float %v1.1f8)
  %plain2.1f9.out = call float @kiln_exp_f32(float %v1.1f9)
  %plain2.1f10.out = call float @kiln_exp_f32(float %v1.1f10)
  %plain2.1f11.out = call float @kiln_exp_f32(float %v1.1f11)
  %plain2.1f12.out = call float @kiln_exp_f32(float %v1.1f12)
  %plain2.1f13.out = call float @kiln_exp_f32(float %v1.1f13)
  %plain2.1f14.out = call float @kiln_exp_f32(float %v1.1f14)
  %plain2.1f15.out = call float @kiln_exp_f32(float %v1.1f15)
  br label %together2.1f

together2.1f:
  %v2.1f0 = phi float [ %quick2.1f0, %quick2.1f ], [ %plain2.1f0.out, %slow2.1f ]
  %v2.1f1 = phi float [ %quick2.1f1, %quick2.1f ], [ %plain2.1f1.out, %slow2.1f ]
  %v2.1f2 = phi float [ %quick2.1f2, %quick2.1f ], [ %plain2.1f2.out, %slow2.1f ]
  %v2.1f3 = phi float [ %quick2.1f3, %quick2.1f ], [ %plain2.1f3.out, %slow2.1f ]
  %v2.1f4 = phi float [ %quick2.1f4, %quick2.1f ], [ %plain2.1f4.out, %slow2.1f ]
  %v2.1f5 = phi float [ %quick2.1f5, %quick2.1f ], [ %plain2.1f5.out, %slow2.1f ]
  %v2.1f6 = phi float [ %quick2.1f6, %quick2.1f ], [ %plain2.1f6.out, %slow2.1f ]
  %v2.1f7 = phi float [ %quick2.1f7, %quick2.1f ], [ %plain2.1f7.out, %slow2.1f ]
  %v2.1f8 = phi float [ %quick2.1f8, %quick2.1f ], [ %plain2.1f8.out, %slow2.1f ]
  %v2.1f9 = phi float [ %quick2.1f9, %quick2.1f ], [ %plain2.1f9.out, %slow2.1f ]
  %v2.1f10 = phi float [ %quick2.1f10, %quick2.1f ], [ %plain2.1f10.out, %slow2.1f ]
  %v2.1f11 = phi float [ %quick2.1f11, %quick2.1f ], [ %plain2.1f11.out, %slow2.1f ]
  %v2.1f12 = phi float [ %quick2.1f12, %quick2.1f ], [ %plain2.1f12.out, %slow2.1f ]
  %v2.1f13 = phi float [ %quick2.1f13, %quick2.1f ], [ %plain2.1f13.out, %slow2.1f ]
  %v2.1f14 = phi float [ %quick2.1f14, %quick2.1f ], [ %plain2.1f14.out, %slow2.1f ]
  %v2.1f15 = phi float [ %quick2.1f15, %quick2.1f ], [ %plain2.1f15.out, %slow2.1f ]
  %e3.1f0 = bitcast float %v2.1f0 to float
  %e3.1f1 = bitcast float %v2.1f1 to float
  %e3.1f2 = bitcast float %v2.1f2 to float
  %e3.1f3 = bitcast float %v2.1f3 to float
  %e3.1f4 = bitcast float %v2.1f4 to float
  %e3.1f5 = bitcast float %v2.1f5 to float
  %e3.1f6 = bitcast float %v2.1f6 to float
  %e3.1f7 = bitcast float %v2.1f7 to float
  %e3.1f8 = bitcast float %v2.1f8 to float
  %e3.1f9 = bitcast float %v2.1f9 to float
  %e3.1f10 = bitcast float %v2.1f10 to float
  %e3.1f11 = bitcast float %v2.1f11 to float
  %e3.1f12 = bitcast float %v2.1f12 to float
  %e3.1f13 = bitcast float %v2.1f13 to float
  %e3.1f14 = bitcast float %v2.1f14 to float
  %e3.1f15 = bitcast float %v2.1f15 to float
  %low3.1f0 = fadd float %lane3.1f, %e3.1f0
  %low3.1f1 = fadd float %low3.1f0, %e3.1f1
  %low3.1f2 = fadd float %low3.1f1, %e3.1f2
  %low3.1f3 = fadd float %low3.1f2, %e3.1f3
  %low3.1f4 = fadd float %low3.1f3, %e3.1f4
  %low3.1f5 = fadd float %low3.1f4, %e3.1f5
  %low3.1f6 = fadd float %low3.1f5, %e3.1f6
  %low3.1f7 = fadd float %low3.1f6, %e3.1f7
  %low3.1f8 = fadd float %low3.1f7, %e3.1f8
  %low3.1f9 = fadd float %low3.1f8, %e3.1f9
  %low3.1f10 = fadd float %low3.1f9, %e3.1f10
  %low3.1f11 = fadd float %low3.1f10, %e3.1f11
  %low3.1f12 = fadd float %low3.1f11, %e3.1f12
  %low3.1f13 = fadd float %low3.1f12, %e3.1f13
  %low3.1f14 = fadd float %low3.1f13, %e3.1f14
  %low3.1f = fadd float %low3.1f14, %e3.1f15
  %across3.1f.from = bitcast float %low3.1f to i32
  %across3.1f.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %across3.1f.from, i32 16, i32 31)
  %across3.1f = bitcast i32 %across3.1f.to to float
  %high3.1f0 = fadd float %across3.1f, %e3.1f0
  %high3.1f1 = fadd float %high3.1f0, %e3.1f1
  %high3.1f2 = fadd float %high3.1f1, %e3.1f2
  %high3.1f3 = fadd float %high3.1f2, %e3.1f3
  %high3.1f4 = fadd float %high3.1f3, %e3.1f4
  %high3.1f5 = fadd float %high3.1f4, %e3.1f5
  %high3.1f6 = fadd float %high3.1f5, %e3.1f6
  %high3.1f7 = fadd float %high3.1f6, %e3.1f7
  %high3.1f8 = fadd float %high3.1f7, %e3.1f8
  %high3.1f9 = fadd float %high3.1f8, %e3.1f9
  %high3.1f10 = fadd float %high3.1f9, %e3.1f10
  %high3.1f11 = fadd float %high3.1f10, %e3.1f11
  %high3.1f12 = fadd float %high3.1f11, %e3.1f12
  %high3.1f13 = fadd float %high3.1f12, %e3.1f13
  %high3.1f14 = fadd float %high3.1f13, %e3.1f14
  %high3.1f = fadd float %high3.1f14, %e3.1f15
  %lane.next3.1f.from = bitcast float %high3.1f to i32
  %lane.next3.1f.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %lane.next3.1f.from, i32 16, i32 31)
  %lane.next3.1f = bitcast i32 %lane.next3.1f.to to float
  br label %block.end.1f

block.end.1f:
  br label %blocks.1f

blocks.1l:
  %b.1l = phi i32 [ 0, %chunk.1 ], [ %b.next.1l, %block.end.1l ]
  %lane3.1l = phi float [ 0.0, %chunk.1 ], [ %lane.next3.1l, %block.end.1l ]
  %b.next.1l = add nuw nsw i32 %b.1l, 512
  %b.more.1l = icmp ule i32 %b.next.1l, %spans.1
  br i1 %b.more.1l, label %block.1l, label %rests.1l

block.1l:
  %i.part.1l = and i32 %b.1l, 511
  %i.half.1l = lshr i32 %i.part.1l, 1
  %i.at.1l = sub nuw nsw i32 %b.1l, %i.half.1l
  %i.short.1l = add nuw nsw i32 %first.1, %i.at.1l
  %i.1l = zext i32 %i.short.1l to i64
  %s.group.1l = and i32 %b.1l, -128
  %s.first.1l = add nuw nsw i32 %s.group.1l, %slots
  %s.number.1l = udiv i32 %b.1l, 32
  %s.member.1l = urem i32 %s.number.1l, 1
  %s.short.1l = add nuw nsw i32 %s.first.1l, %s.member.1l
  %s.1l = zext i32 %s.short.1l to i64
  %i.1l0 = add nuw nsw i64 %i.1l, 0
  %s.1l0 = add nuw nsw i64 %s.1l, 0
  %held.a0.1l0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l0
  %held.a0.1l0 = getelementptr inbounds i8, ptr %held.a0.1l0.slot, i64 0
  %a0.1l0 = load float, ptr %held.a0.1l0, align 4
  %i.1l1 = add nuw nsw i64 %i.1l, 16
  %s.1l1 = add nuw nsw i64 %s.1l, 1
  %held.a0.1l1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l1
  %held.a0.1l1 = getelementptr inbounds i8, ptr %held.a0.1l1.slot, i64 0
  %a0.1l1 = load float, ptr %held.a0.1l1, align 4
  %i.1l2 = add nuw nsw i64 %i.1l, 32
  %s.1l2 = add nuw nsw i64 %s.1l, 2
  %held.a0.1l2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l2
  %held.a0.1l2 = getelementptr inbounds i8, ptr %held.a0.1l2.slot, i64 0
  %a0.1l2 = load float, ptr %held.a0.1l2, align 4
  %i.1l3 = add nuw nsw i64 %i.1l, 48
  %s.1l3 = add nuw nsw i64 %s.1l, 3
  %held.a0.1l3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l3
  %held.a0.1l3 = getelementptr inbounds i8, ptr %held.a0.1l3.slot, i64 0
  %a0.1l3 = load float, ptr %held.a0.1l3, align 4
  %i.1l4 = add nuw nsw i64 %i.1l, 64
  %s.1l4 = add nuw nsw i64 %s.1l, 128
  %held.a0.1l4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l4
  %held.a0.1l4 = getelementptr inbounds i8, ptr %held.a0.1l4.slot, i64 0
  %a0.1l4 = load float, ptr %held.a0.1l4, align 4
  %i.1l5 = add nuw nsw i64 %i.1l, 80
  %s.1l5 = add nuw nsw i64 %s.1l, 129
  %held.a0.1l5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l5
  %held.a0.1l5 = getelementptr inbounds i8, ptr %held.a0.1l5.slot, i64 0
  %a0.1l5 = load float, ptr %held.a0.1l5, align 4
  %i.1l6 = add nuw nsw i64 %i.1l, 96
  %s.1l6 = add nuw nsw i64 %s.1l, 130
  %held.a0.1l6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l6
  %held.a0.1l6 = getelementptr inbounds i8, ptr %held.a0.1l6.slot, i64 0
  %a0.1l6 = load float, ptr %held.a0.1l6, align 4
  %i.1l7 = add nuw nsw i64 %i.1l, 112
  %s.1l7 = add nuw nsw i64 %s.1l, 131
  %held.a0.1l7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l7
  %held.a0.1l7 = getelementptr inbounds i8, ptr %held.a0.1l7.slot, i64 0
  %a0.1l7 = load float, ptr %held.a0.1l7, align 4
  %i.1l8 = add nuw nsw i64 %i.1l, 128
  %s.1l8 = add nuw nsw i64 %s.1l, 256
  %held.a0.1l8.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l8
  %held.a0.1l8 = getelementptr inbounds i8, ptr %held.a0.1l8.slot, i64 0
  %a0.1l8 = load float, ptr %held.a0.1l8, align 4
  %i.1l9 = add nuw nsw i64 %i.1l, 144
  %s.1l9 = add nuw nsw i64 %s.1l, 257
  %held.a0.1l9.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l9
  %held.a0.1l9 = getelementptr inbounds i8, ptr %held.a0.1l9.slot, i64 0
  %a0.1l9 = load float, ptr %held.a0.1l9, align 4
  %i.1l10 = add nuw nsw i64 %i.1l, 160
  %s.1l10 = add nuw nsw i64 %s.1l, 258
  %held.a0.1l10.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l10
  %held.a0.1l10 = getelementptr inbounds i8, ptr %held.a0.1l10.slot, i64 0
  %a0.1l10 = load float, ptr %held.a0.1l10, align 4
  %i.1l11 = add nuw nsw i64 %i.1l, 176
  %s.1l11 = add nuw nsw i64 %s.1l, 259
  %held.a0.1l11.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l11
  %held.a0.1l11 = getelementptr inbounds i8, ptr %held.a0.1l11.slot, i64 0
  %a0.1l11 = load float, ptr %held.a0.1l11, align 4
  %i.1l12 = add nuw nsw i64 %i.1l, 192
  %s.1l12 = add nuw nsw i64 %s.1l, 384
  %held.a0.1l12.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l12
  %held.a0.1l12 = getelementptr inbounds i8, ptr %held.a0.1l12.slot, i64 0
  %a0.1l12 = load float, ptr %held.a0.1l12, align 4
  %i.1l13 = add nuw nsw i64 %i.1l, 208
  %s.1l13 = add nuw nsw i64 %s.1l, 385
  %held.a0.1l13.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l13
  %held.a0.1l13 = getelementptr inbounds i8, ptr %held.a0.1l13.slot, i64 0
  %a0.1l13 = load float, ptr %held.a0.1l13, align 4
  %i.1l14 = add nuw nsw i64 %i.1l, 224
  %s.1l14 = add nuw nsw i64 %s.1l, 386
  %held.a0.1l14.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l14
  %held.a0.1l14 = getelementptr inbounds i8, ptr %held.a0.1l14.slot, i64 0
  %a0.1l14 = load float, ptr %held.a0.1l14, align 4
  %i.1l15 = add nuw nsw i64 %i.1l, 240
  %s.1l15 = add nuw nsw i64 %s.1l, 387
  %held.a0.1l15.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l15
  %held.a0.1l15 = getelementptr inbounds i8, ptr %held.a0.1l15.slot, i64 0
  %a0.1l15 = load float, ptr %held.a0.1l15, align 4
  %v1.1l0 = fsub float %a0.1l0, %v0
  %v1.1l1 = fsub float %a0.1l1, %v0
  %v1.1l2 = fsub float %a0.1l2, %v0
  %v1.1l3 = fsub float %a0.1l3, %v0
  %v1.1l4 = fsub float %a0.1l4, %v0
  %v1.1l5 = fsub float %a0.1l5, %v0
  %v1.1l6 = fsub float %a0.1l6, %v0
  %v1.1l7 = fsub float %a0.1l7, %v0
  %v1.1l8 = fsub float %a0.1l8, %v0
  %v1.1l9 = fsub float %a0.1l9, %v0
  %v1.1l10 = fsub float %a0.1l10, %v0
  %v1.1l11 = fsub float %a0.1l11, %v0
  %v1.1l12 = fsub float %a0.1l12, %v0
  %v1.1l13 = fsub float %a0.1l13, %v0
  %v1.1l14 = fsub float %a0.1l14, %v0
  %v1.1l15 = fsub float %a0.1l15, %v0
  %size2.1l0.bits = bitcast float %v1.1l0 to i32
  %size2.1l1.bits = bitcast float %v1.1l1 to i32
  %size2.1l2.bits = bitcast float %v1.1l2 to i32
  %size2.1l3.bits = bitcast float %v1.1l3 to i32
  %size2.1l4.bits = bitcast float %v1.1l4 to i32
  %size2.1l5.bits = bitcast float %v1.1l5 to i32
  %size2.1l6.bits = bitcast float %v1.1l6 to i32
  %size2.1l7.bits = bitcast float %v1.1l7 to i32
  %size2.1l8.bits = bitcast float %v1.1l8 to i32
  %size2.1l9.bits = bitcast float %v1.1l9 to i32
  %size2.1l10.bits = bitcast float %v1.1l10 to i32
  %size2.1l11.bits = bitcast float %v1.1l11 to i32
  %size2.1l12.bits = bitcast float %v1.1l12 to i32
  %size2.1l13.bits = bitcast float %v1.1l13 to i32
  %size2.1l14.bits = bitcast float %v1.1l14 to i32
  %size2.1l15.bits = bitcast float %v1.1l15 to i32
  %lowest2.1l1 = call i32 @llvm.umax.i32(i32 %size2.1l0.bits, i32 %size2.1l1.bits)
  %lowest2.1l2 = call i32 @llvm.umax.i32(i32 %lowest2.1l1, i32 %size2.1l2.bits)
  %lowest2.1l3 = call i32 @llvm.umax.i32(i32 %lowest2.1l2, i32 %size2.1l3.bits)
  %lowest2.1l4 = call i32 @llvm.umax.i32(i32 %lowest2.1l3, i32 %size2.1l4.bits)
  %lowest2.1l5 = call i32 @llvm.umax.i32(i32 %lowest2.1l4, i32 %size2.1l5.bits)
  %lowest2.1l6 = call i32 @llvm.umax.i32(i32 %lowest2.1l5, i32 %size2.1l6.bits)
  %lowest2.1l7 = call i32 @llvm.umax.i32(i32 %lowest2.1l6, i32 %size2.1l7.bits)
  %lowest2.1l8 = call i32 @llvm.umax.i32(i32 %lowest2.1l7, i32 %size2.1l8.bits)
  %lowest2.1l9 = call i32 @llvm.umax.i32(i32 %lowest2.1l8, i32 %size2.1l9.bits)
  %lowest2.1l10 = call i32 @llvm.umax.i32(i32 %lowest2.1l9, i32 %size2.1l10.bits)
  %lowest2.1l11 = call i32 @llvm.umax.i32(i32 %lowest2.1l10, i32 %size2.1l11.bits)
  %lowest2.1l12 = call i32 @llvm.umax.i32(i32 %lowest2.1l11, i32 %size2.1l12.bits)
  %lowest2.1l13 = call i32 @llvm.umax.i32(i32 %lowest2.1l12, i32 %size2.1l13.bits)
  %lowest2.1l14 = call i32 @llvm.umax.i32(i32 %lowest2.1l13, i32 %size2.1l14.bits)
  %lowest2.1l = call i32 @llvm.umax.i32(i32 %lowest2.1l14, i32 %size2.1l15.bits)
  %highest2.1l1 = call i32 @llvm.smax.i32(i32 %size2.1l0.bits, i32 %size2.1l1.bits)
  %highest2.1l2 = call i32 @llvm.smax.i32(i32 %highest2.1l1, i32 %size2.1l2.bits)
  %highest2.1l3 = call i32 @llvm.smax.i32(i32 %highest2.1l2, i32 %size2.1l3.bits)
  %highest2.1l4 = call i32 @llvm.smax.i32(i32 %highest2.1l3, i32 %size2.1l4.bits)
  %highest2.1l5 = call i32 @llvm.smax.i32(i32 %highest2.1l4, i32 %size2.1l5.bits)
  %highest2.1l6 = call i32 @llvm.smax.i32(i32 %highest2.1l5, i32 %size2.1l6.bits)
  %highest2.1l7 = call i32 @llvm.smax.i32(i32 %highest2.1l6, i32 %size2.1l7.bits)
  %highest2.1l8 = call i32 @llvm.smax.i32(i32 %highest2.1l7, i32 %size2.1l8.bits)
  %highest2.1l9 = call i32 @llvm.smax.i32(i32 %highest2.1l8, i32 %size2.1l9.bits)
  %highest2.1l10 = call i32 @llvm.smax.i32(i32 %highest2.1l9, i32 %size2.1l10.bits)
  %highest2.1l11 = call i32 @llvm.smax.i32(i32 %highest2.1l10, i32 %size2.1l11.bits)
  %highest2.1l12 = call i32 @llvm.smax.i32(i32 %highest2.1l11, i32 %size2.1l12.bits)
  %highest2.1l13 = call i32 @llvm.smax.i32(i32 %highest2.1l12, i32 %size2.1l13.bits)
  %highest2.1l14 = call i32 @llvm.smax.i32(i32 %highest2.1l13, i32 %size2.1l14.bits)
  %highest2.1l = call i32 @llvm.smax.i32(i32 %highest2.1l14, i32 %size2.1l15.bits)
  %above2.1l = icmp ule i32 %lowest2.1l, 3266052096
  %below2.1l = icmp sle i32 %highest2.1l, 1118830592
  %near2.1l = and i1 %above2.1l, %below2.1l
  br i1 %near2.1l, label %quick2.1l, label %slow2.1l

quick2.1l:
  %quick2.1l0 = call float @kiln_exp_near_f32(float %v1.1l0)
  %quick2.1l1 = call float @kiln_exp_near_f32(float %v1.1l1)
  %quick2.1l2 = call float @kiln_exp_near_f32(float %v1.1l2)
  %quick2.1l3 = call float @kiln_exp_near_f32(float %v1.1l3)
  %quick2.1l4 = call float @kiln_exp_near_f32(float %v1.1l4)
  %quick2.1l5 = call float @kiln_exp_near_f32(float %v1.1l5)
  %quick2.1l6 = call float @kiln_exp_near_f32(float %v1.1l6)
  %quick2.1l7 = call float @kiln_exp_near_f32(float %v1.1l7)
  %quick2.1l8 = call float @kiln_exp_near_f32(float %v1.1l8)
  %quick2.1l9 = call float @kiln_exp_near_f32(float %v1.1l9)
  %quick2.1l10 = call float @kiln_exp_near_f32(float %v1.1l10)
  %quick2.1l11 = call float @kiln_exp_near_f32(float %v1.1l11)
  %quick2.1l12 = call float @kiln_exp_near_f32(float %v1.1l12)
  %quick2.1l13 = call float @kiln_exp_near_f32(float %v1.1l13)
  %quick2.1l14 = call float @kiln_exp_near_f32(float %v1.1l14)
  %quick2.1l15 = call float @kiln_exp_near_f32(float %v1.1l15)
  br label %together2.1l

slow2.1l:
  %plain2.1l0.out = call float @kiln_exp_f32(float %v1.1l0)
  %plain2.1l1.out = call float @kiln_exp_f32(float %v1.1l1)
  %plain2.1l2.out = call float @kiln_exp_f32(float %v1.1l2)
  %plain2.1l3.out = call float @kiln_exp_f32(float %v1.1l3)
  %plain2.1l4.out = call float @kiln_exp_f32(float %v1.1l4)
  %plain2.1l5.out = call float @kiln_exp_f32(float %v1.1l5)
  %plain2.1l6.out = call float @kiln_exp_f32(float %v1.1l6)
  %plain2.1l7.out = call float @kiln_exp_f32(float %v1.1l7)
  %plain2.1l8.out = call float @kiln_exp_f32(float %v1.1l8)
  %plain2.1l9.out = call float @kiln_exp_f32(float %v1.1l9)
  %plain2.1l10.out = call float @kiln_exp_f32(float %v1.1l10)
  %plain2.1l11.out = call float @kiln_exp_f32(float %v1.1l11)
  %plain2.1l12.out = call float @kiln_exp_f32(float %v1.1l12)
  %plain2.1l13.out = call float @kiln_exp_f32(float %v1.1l13)
  %plain2.1l14.out = call float @kiln_exp_f32(float %v1.1l14)
  %plain2.1l15.out = call float @kiln_exp_f32(float %v1.1l15)
  br label %together2.1l

together2.1l:
  %v2.1l0 = phi float [ %quick2.1l0, %quick2.1l ], [ %plain2.1l0.out, %slow2.1l ]
  %v2.1l1 = phi float [ %quick2.1l1, %quick2.1l ], [ %plain2.1l1.out, %slow2.1l ]
  %v2.1l2 = phi float [ %quick2.1l2, %quick2.1l ], [ %plain2.1l2.out, %slow2.1l ]
  %v2.1l3 = phi float [ %quick2.1l3, %quick2.1l ], [ %plain2.1l3.out, %slow2.1l ]
  %v2.1l4 = phi float [ %quick2.1l4, %quick2.1l ], [ %plain2.1l4.out, %slow2.1l ]
  %v2.1l5 = phi float [ %quick2.1l5, %quick2.1l ], [ %plain2.1l5.out, %slow2.1l ]
  %v2.1l6 = phi float [ %quick2.1l6, %quick2.1l ], [ %plain2.1l6.out, %slow2.1l ]
  %v2.1l7 = phi float [ %quick2.1l7, %quick2.1l ], [ %plain2.1l7.out, %slow2.1l ]
  %v2.1l8 = phi float [ %quick2.1l8, %quick2.1l ], [ %plain2.1l8.out, %slow2.1l ]
  %v2.1l9 = phi float [ %quick2.1l9, %quick2.1l ], [ %plain2.1l9.out, %slow2.1l ]
  %v2.1l10 = phi float [ %quick2.1l10, %quick2.1l ], [ %plain2.1l10.out, %slow2.1l ]
  %v2.1l11 = phi float [ %quick2.1l11, %quick2.1l ], [ %plain2.1l11.out, %slow2.1l ]
  %v2.1l12 = phi float [ %quick2.1l12, %quick2.1l ], [ %plain2.1l12.out, %slow2.1l ]
  %v2.1l13 = phi float [ %quick2.1l13, %quick2.1l ], [ %plain2.1l13.out, %slow2.1l ]
  %v2.1l14 = phi float [ %quick2.1l14, %quick2.1l ], [ %plain2.1l14.out, %slow2.1l ]
  %v2.1l15 = phi float [ %quick2.1l15, %quick2.1l ], [ %plain2.1l15.out, %slow2.1l ]
  %e3.1l0 = bitcast float %v2.1l0 to float
  %e3.1l1 = bitcast float %v2.1l1 to float
  %e3.1l2 = bitcast float %v2.1l2 to float
  %e3.1l3 = bitcast float %v2.1l3 to float
  %e3.1l4 = bitcast float %v2.1l4 to float
  %e3.1l5 = bitcast float %v2.1l5 to float
  %e3.1l6 = bitcast float %v2.1l6 to float
  %e3.1l7 = bitcast float %v2.1l7 to float
  %e3.1l8 = bitcast float %v2.1l8 to float
  %e3.1l9 = bitcast float %v2.1l9 to float
  %e3.1l10 = bitcast float %v2.1l10 to float
  %e3.1l11 = bitcast float %v2.1l11 to float
  %e3.1l12 = bitcast float %v2.1l12 to float
  %e3.1l13 = bitcast float %v2.1l13 to float
  %e3.1l14 = bitcast float %v2.1l14 to float
  %e3.1l15 = bitcast float %v2.1l15 to float
  %keep.v2.1l0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l0
  %keep.v2.1l0 = getelementptr inbounds i8, ptr %keep.v2.1l0.slot, i64 0
  store float %v2.1l0, ptr %keep.v2.1l0, align 4
  %keep.v2.1l1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l1
  %keep.v2.1l1 = getelementptr inbounds i8, ptr %keep.v2.1l1.slot, i64 0
  store float %v2.1l1, ptr %keep.v2.1l1, align 4
  %keep.v2.1l2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l2
  %keep.v2.1l2 = getelementptr inbounds i8, ptr %keep.v2.1l2.slot, i64 0
  store float %v2.1l2, ptr %keep.v2.1l2, align 4
  %keep.v2.1l3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l3
  %keep.v2.1l3 = getelementptr inbounds i8, ptr %keep.v2.1l3.slot, i64 0
  store float %v2.1l3, ptr %keep.v2.1l3, align 4
  %keep.v2.1l4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l4
  %keep.v2.1l4 = getelementptr inbounds i8, ptr %keep.v2.1l4.slot, i64 0
  store float %v2.1l4, ptr %keep.v2.1l4, align 4
  %keep.v2.1l5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l5
  %keep.v2.1l5 = getelementptr inbounds i8, ptr %keep.v2.1l5.slot, i64 0
  store float %v2.1l5, ptr %keep.v2.1l5, align 4
  %keep.v2.1l6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l6
  %keep.v2.1l6 = getelementptr inbounds i8, ptr %keep.v2.1l6.slot, i64 0
  store float %v2.1l6, ptr %keep.v2.1l6, align 4
  %keep.v2.1l7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l7
  %keep.v2.1l7 = getelementptr inbounds i8, ptr %keep.v2.1l7.slot, i64 0
  store float %v2.1l7, ptr %keep.v2.1l7, align 4
  %keep.v2.1l8.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l8
  %keep.v2.1l8 = getelementptr inbounds i8, ptr %keep.v2.1l8.slot, i64 0
  store float %v2.1l8, ptr %keep.v2.1l8, align 4
  %keep.v2.1l9.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l9
  %keep.v2.1l9 = getelementptr inbounds i8, ptr %keep.v2.1l9.slot, i64 0
  store float %v2.1l9, ptr %keep.v2.1l9, align 4
  %keep.v2.1l10.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l10
  %keep.v2.1l10 = getelementptr inbounds i8, ptr %keep.v2.1l10.slot, i64 0
  store float %v2.1l10, ptr %keep.v2.1l10, align 4
  %keep.v2.1l11.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l11
  %keep.v2.1l11 = getelementptr inbounds i8, ptr %keep.v2.1l11.slot, i64 0
  store float %v2.1l11, ptr %keep.v2.1l11, align 4
  %keep.v2.1l12.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l12
  %keep.v2.1l12 = getelementptr inbounds i8, ptr %keep.v2.1l12.slot, i64 0
  store float %v2.1l12, ptr %keep.v2.1l12, align 4
  %keep.v2.1l13.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l13
  %keep.v2.1l13 = getelementptr inbounds i8, ptr %keep.v2.1l13.slot, i64 0
  store float %v2.1l13, ptr %keep.v2.1l13, align 4
  %keep.v2.1l14.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l14
  %keep.v2.1l14 = getelementptr inbounds i8, ptr %keep.v2.1l14.slot, i64 0
  store float %v2.1l14, ptr %keep.v2.1l14, align 4
  %keep.v2.1l15.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l15
  %keep.v2.1l15 = getelementptr inbounds i8, ptr %keep.v2.1l15.slot, i64 0
  store float %v2.1l15, ptr %keep.v2.1l15, align 4
  %low3.1l0 = fadd float %lane3.1l, %e3.1l0
  %low3.1l1 = fadd float %low3.1l0, %e3.1l1
  %low3.1l2 = fadd float %low3.1l1, %e3.1l2
  %low3.1l3 = fadd float %low3.1l2, %e3.1l3
  %low3.1l4 = fadd float %low3.1l3, %e3.1l4
  %low3.1l5 = fadd float %low3.1l4, %e3.1l5
  %low3.1l6 = fadd float %low3.1l5, %e3.1l6
  %low3.1l7 = fadd float %low3.1l6, %e3.1l7
  %low3.1l8 = fadd float %low3.1l7, %e3.1l8
  %low3.1l9 = fadd float %low3.1l8, %e3.1l9
  %low3.1l10 = fadd float %low3.1l9, %e3.1l10
  %low3.1l11 = fadd float %low3.1l10, %e3.1l11
  %low3.1l12 = fadd float %low3.1l11, %e3.1l12
  %low3.1l13 = fadd float %low3.1l12, %e3.1l13
  %low3.1l14 = fadd float %low3.1l13, %e3.1l14
  %low3.1l = fadd float %low3.1l14, %e3.1l15
  %across3.1l.from = bitcast float %low3.1l to i32
  %across3.1l.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %across3.1l.from, i32 16, i32 31)
  %across3.1l = bitcast i32 %across3.1l.to to float
  %high3.1l0 = fadd float %across3.1l, %e3.1l0
  %high3.1l1 = fadd float %high3.1l0, %e3.1l1
  %high3.1l2 = fadd float %high3.1l1, %e3.1l2
  %high3.1l3 = fadd float %high3.1l2, %e3.1l3
  %high3.1l4 = fadd float %high3.1l3, %e3.1l4
  %high3.1l5 = fadd float %high3.1l4, %e3.1l5
  %high3.1l6 = fadd float %high3.1l5, %e3.1l6
  %high3.1l7 = fadd float %high3.1l6, %e3.1l7
  %high3.1l8 = fadd float %high3.1l7, %e3.1l8
  %high3.1l9 = fadd float %high3.1l8, %e3.1l9
  %high3.1l10 = fadd float %high3.1l9, %e3.1l10
  %high3.1l11 = fadd float %high3.1l10, %e3.1l11
  %high3.1l12 = fadd float %high3.1l11, %e3.1l12
  %high3.1l13 = fadd float %high3.1l12, %e3.1l13
  %high3.1l14 = fadd float %high3.1l13, %e3.1l14
  %high3.1l = fadd float %high3.1l14, %e3.1l15
  %lane.next3.1l.from = bitcast float %high3.1l to i32
  %lane.next3.1l.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %lane.next3.1l.from, i32 16, i32 31)
  %lane.next3.1l = bitcast i32 %lane.next3.1l.to to float
  br label %block.end.1l

block.end.1l:
  br label %blocks.1l

rests.1l:
  %r.1l = phi i32 [ %b.1l, %blocks.1l ], [ %r.next.1l, %join.1l ]
  %rest3.1l = phi float [ %lane3.1l, %blocks.1l ], [ %rest.next3.1l, %join.1l ]
  %r.more.1l = icmp ult i32 %r.1l, %count.1
  br i1 %r.more.1l, label %rest.1l, label %chunk.end.1

rest.1l:
  %r.at.1l = add nuw nsw i32 %r.1l, %lane
  %r.is.1l = icmp ult i32 %r.at.1l, %count.1
  br i1 %r.is.1l, label %value.1l, label %join.1l

value.1l:
  %i.short.1lx = add nuw nsw i32 %from.1, %r.at.1l
  %i.1lx = zext i32 %i.short.1lx to i64
  %s.group.1lx = and i32 %r.1l, -128
  %s.first.1lx = add nuw nsw i32 %s.group.1lx, %slots
  %s.number.1lx = udiv i32 %r.1l, 32
  %s.member.1lx = urem i32 %s.number.1lx, 4
  %s.short.1lx = add nuw nsw i32 %s.first.1lx, %s.member.1lx
  %s.1lx = zext i32 %s.short.1lx to i64
  %held.a0.1lx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1lx
  %held.a0.1lx = getelementptr inbounds i8, ptr %held.a0.1lx.slot, i64 0
  %a0.1lx = load float, ptr %held.a0.1lx, align 4
  %v1.1lx = fsub float %a0.1lx, %v0
  %v2.1lx = call float @kiln_exp_f32(float %v1.1lx)
  %keep.v2.1lx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1lx
  %keep.v2.1lx = getelementptr inbounds i8, ptr %keep.v2.1lx.slot, i64 0
  store float %v2.1lx, ptr %keep.v2.1lx, align 4
  %e3.1lx = bitcast float %v2.1lx to float
  br label %join.1l

join.1l:
  %entry3.1l = phi float [ %e3.1lx, %value.1l ], [ 0.0, %rest.1l ]
  %r.far.1l = add nuw nsw i32 %r.at.1l, 16
  %r.other.1l = icmp ult i32 %r.far.1l, %count.1
  %other3.1l.from = bitcast float %entry3.1l to i32
  %other3.1l.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l.from, i32 16, i32 31)
  %other3.1l = bitcast i32 %other3.1l.to to float
  %own3.1l = fadd float %rest3.1l, %entry3.1l
  %one3.1l = select i1 %r.is.1l, float %own3.1l, float %rest3.1l
  %both3.1l = fadd float %one3.1l, %other3.1l
  %rest.next3.1l = select i1 %r.other.1l, float %both3.1l, float %one3.1l
  %r.next.1l = add nuw nsw i32 %r.1l, 32
  br label %rests.1l

chunk.end.1:
  %all3.1 = phi float [ %rest3.1l, %rests.1l ], [ %lane3.1f, %blocks.1f ]
  %chunk3.1.h8.from = bitcast float %all3.1 to i32
  %chunk3.1.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk3.1.h8.from, i32 8, i32 31)
  %chunk3.1.h8 = bitcast i32 %chunk3.1.h8.to to float
  %chunk3.1.l8 = fadd float %all3.1, %chunk3.1.h8
  %chunk3.1.h4.from = bitcast float %chunk3.1.l8 to i32
  %chunk3.1.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk3.1.h4.from, i32 4, i32 31)
  %chunk3.1.h4 = bitcast i32 %chunk3.1.h4.to to float
  %chunk3.1.l4 = fadd float %chunk3.1.l8, %chunk3.1.h4
  %chunk3.1.h2.from = bitcast float %chunk3.1.l4 to i32
  %chunk3.1.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk3.1.h2.from, i32 2, i32 31)
  %chunk3.1.h2 = bitcast i32 %chunk3.1.h2.to to float
  %chunk3.1.l2 = fadd float %chunk3.1.l4, %chunk3.1.h2
  %chunk3.1.h1.from = bitcast float %chunk3.1.l2 to i32
  %chunk3.1.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk3.1.h1.from, i32 1, i32 31)
  %chunk3.1.h1 = bitcast i32 %chunk3.1.h1.to to float
  %chunk3.1 = fadd float %chunk3.1.l2, %chunk3.1.h1
  %whole3.1.from = bitcast float %chunk3.1 to i32
  %whole3.1.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %whole3.1.from, i32 0, i32 31)
  %whole3.1 = bitcast i32 %whole3.1.to to float
  br label %carry.1

carry.1:
  %sum3.1 = phi float [ %whole3.1, %chunk.end.1 ]
  %c.lane.1 = and i32 %c.1, 15
  %is.mine.1 = icmp eq i32 %c.lane.1, %lane
  %up.more3.1 = fadd float %up3.1, %sum3.1
  %up.sum3.1 = select i1 %is.single, float %sum3.1, float %up.more3.1
  %up.next3.1 = select i1 %is.mine.1, float %up.sum3.1, float %up3.1
  br label %chunks.1

chunks.end.1:
  br i1 %is.alone, label %known.1, label %publish.1

publish.1:
  br i1 %is.owner, label %give.1, label %meet.1

give.1:
  %up3.1.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 128
  %up3.1.at = getelementptr inbounds float, ptr addrspace(3) %up3.1.to, i64 %position
  store float %up3.1, ptr addrspace(3) %up3.1.at, align 4
  br label %meet.1

meet.1:
  call void @llvm.nvvm.barrier0()
  %met3.1.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 128
  %met3.1.at = getelementptr inbounds float, ptr addrspace(3) %met3.1.to, i64 %position
  %met3.1 = load float, ptr addrspace(3) %met3.1.at, align 4
  br label %known.1

known.1:
  %known3.1 = phi float [ %up3.1, %chunks.end.1 ], [ %met3.1, %meet.1 ]
  br i1 %is.single, label %done.1, label %tree.1

tree.1:
  %tree3.1.h8.from = bitcast float %known3.1 to i32
  %tree3.1.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree3.1.h8.from, i32 8, i32 31)
  %tree3.1.h8 = bitcast i32 %tree3.1.h8.to to float
  %tree3.1.l8 = fadd float %known3.1, %tree3.1.h8
  %tree3.1.h4.from = bitcast float %tree3.1.l8 to i32
  %tree3.1.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree3.1.h4.from, i32 4, i32 31)
  %tree3.1.h4 = bitcast i32 %tree3.1.h4.to to float
  %tree3.1.l4 = fadd float %tree3.1.l8, %tree3.1.h4
  %tree3.1.h2.from = bitcast float %tree3.1.l4 to i32
  %tree3.1.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree3.1.h2.from, i32 2, i32 31)
  %tree3.1.h2 = bitcast i32 %tree3.1.h2.to to float
  %tree3.1.l2 = fadd float %tree3.1.l4, %tree3.1.h2
  %tree3.1.h1.from = bitcast float %tree3.1.l2 to i32
  %tree3.1.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree3.1.h1.from, i32 1, i32 31)
  %tree3.1.h1 = bitcast i32 %tree3.1.h1.to to float
  %tree3.1 = fadd float %tree3.1.l2, %tree3.1.h1
  br label %done.1

done.1:
  %top3.1 = phi float [ %known3.1, %known.1 ], [ %tree3.1, %tree.1 ]
  %total3.1.from = bitcast float %top3.1 to i32
  %total3.1.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %total3.1.from, i32 0, i32 31)
  %total3.1 = bitcast i32 %total3.1.to to float
  %v3 = bitcast float %total3.1 to float
  br label %chunks.out

chunks.out:
  %c.out = phi i32 [ %member, %done.1 ], [ %c.next.out, %carry.out ]
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
  %i.outf1 = add nuw nsw i64 %i.outf, 16
  %s.outf1 = add nuw nsw i64 %s.outf, 1
  %p0.at.outf1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf1
  %a0.outf1 = load float, ptr %p0.at.outf1, align 4
  %i.outf2 = add nuw nsw i64 %i.outf, 32
  %s.outf2 = add nuw nsw i64 %s.outf, 2
  %p0.at.outf2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf2
  %a0.outf2 = load float, ptr %p0.at.outf2, align 4
  %i.outf3 = add nuw nsw i64 %i.outf, 48
  %s.outf3 = add nuw nsw i64 %s.outf, 3
  %p0.at.outf3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf3
  %a0.outf3 = load float, ptr %p0.at.outf3, align 4
  %i.outf4 = add nuw nsw i64 %i.outf, 64
  %s.outf4 = add nuw nsw i64 %s.outf, 128
  %p0.at.outf4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf4
  %a0.outf4 = load float, ptr %p0.at.outf4, align 4
  %i.outf5 = add nuw nsw i64 %i.outf, 80
  %s.outf5 = add nuw nsw i64 %s.outf, 129
  %p0.at.outf5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf5
  %a0.outf5 = load float, ptr %p0.at.outf5, align 4
  %i.outf6 = add nuw nsw i64 %i.outf, 96
  %s.outf6 = add nuw nsw i64 %s.outf, 130
  %p0.at.outf6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf6
  %a0.outf6 = load float, ptr %p0.at.outf6, align 4
  %i.outf7 = add nuw nsw i64 %i.outf, 112
  %s.outf7 = add nuw nsw i64 %s.outf, 131
  %p0.at.outf7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf7
  %a0.outf7 = load float, ptr %p0.at.outf7, align 4
  %v1.outf0 = fsub float %a0.outf0, %v0
  %v1.outf1 = fsub float %a0.outf1, %v0
  %v1.outf2 = fsub float %a0.outf2, %v0
  %v1.outf3 = fsub float %a0.outf3, %v0
  %v1.outf4 = fsub float %a0.outf4, %v0
  %v1.outf5 = fsub float %a0.outf5, %v0
  %v1.outf6 = fsub float %a0.outf6, %v0
  %v1.outf7 = fsub float %a0.outf7, %v0
  %size2.outf0.bits = bitcast float %v1.outf0 to i32
  %size2.outf1.bits = bitcast float %v1.outf1 to i32
  %size2.outf2.bits = bitcast float %v1.outf2 to i32
  %size2.outf3.bits = bitcast float %v1.outf3 to i32
  %size2.outf4.bits = bitcast float %v1.outf4 to i32
  %size2.outf5.bits = bitcast float %v1.outf5 to i32
  %size2.outf6.bits = bitcast float %v1.outf6 to i32
  %size2.outf7.bits = bitcast float %v1.outf7 to i32
  %lowest2.outf1 = call i32 @llvm.umax.i32(i32 %size2.outf0.bits, i32 %size2.outf1.bits)
  %lowest2.outf2 = call i32 @llvm.umax.i32(i32 %lowest2.outf1, i32 %size2.outf2.bits)
  %lowest2.outf3 = call i32 @llvm.umax.i32(i32 %lowest2.outf2, i32 %size2.outf3.bits)
  %lowest2.outf4 = call i32 @llvm.umax.i32(i32 %lowest2.outf3, i32 %size2.outf4.bits)
  %lowest2.outf5 = call i32 @llvm.umax.i32(i32 %lowest2.outf4, i32 %size2.outf5.bits)
  %lowest2.outf6 = call i32 @llvm.umax.i32(i32 %lowest2.outf5, i32 %size2.outf6.bits)
  %lowest2.outf = call i32 @llvm.umax.i32(i32 %lowest2.outf6, i32 %size2.outf7.bits)
  %highest2.outf1 = call i32 @llvm.smax.i32(i32 %size2.outf0.bits, i32 %size2.outf1.bits)
  %highest2.outf2 = call i32 @llvm.smax.i32(i32 %highest2.outf1, i32 %size2.outf2.bits)
  %highest2.outf3 = call i32 @llvm.smax.i32(i32 %highest2.outf2, i32 %size2.outf3.bits)
  %highest2.outf4 = call i32 @llvm.smax.i32(i32 %highest2.outf3, i32 %size2.outf4.bits)
  %highest2.outf5 = call i32 @llvm.smax.i32(i32 %highest2.outf4, i32 %size2.outf5.bits)
  %highest2.outf6 = call i32 @llvm.smax.i32(i32 %highest2.outf5, i32 %size2.outf6.bits)
  %highest2.outf = call i32 @llvm.smax.i32(i32 %highest2.outf6, i32 %size2.outf7.bits)
  %above2.outf = icmp ule i32 %lowest2.outf, 3266052096
  %below2.outf = icmp sle i32 %highest2.outf, 1118830592
  %near2.outf = and i1 %above2.outf, %below2.outf
  br i1 %near2.outf, label %quick2.outf, label %slow2.outf

quick2.outf:
  %quick2.outf0 = call float @kiln_exp_near_f32(float %v1.outf0)
  %quick2.outf1 = call float @kiln_exp_near_f32(float %v1.outf1)
  %quick2.outf2 = call float @kiln_exp_near_f32(float %v1.outf2)
  %quick2.outf3 = call float @kiln_exp_near_f32(float %v1.outf3)
  %quick2.outf4 = call float @kiln_exp_near_f32(float %v1.outf4)
  %quick2.outf5 = call float @kiln_exp_near_f32(float %v1.outf5)
  %quick2.outf6 = call float @kiln_exp_near_f32(float %v1.outf6)
  %quick2.outf7 = call float @kiln_exp_near_f32(float %v1.outf7)
  br label %together2.outf

slow2.outf:
  %plain2.outf0.out = call float @kiln_exp_f32(float %v1.outf0)
  %plain2.outf1.out = call float @kiln_exp_f32(float %v1.outf1)
  %plain2.outf2.out = call float @kiln_exp_f32(float %v1.outf2)
  %plain2.outf3.out = call float @kiln_exp_f32(float %v1.outf3)
  %plain2.outf4.out = call float @kiln_exp_f32(float %v1.outf4)
  %plain2.outf5.out = call float @kiln_exp_f32(float %v1.outf5)
  %plain2.outf6.out = call float @kiln_exp_f32(float %v1.outf6)
  %plain2.outf7.out = call float @kiln_exp_f32(float %v1.outf7)
  br label %together2.outf

together2.outf:
  %v2.outf0 = phi float [ %quick2.outf0, %quick2.outf ], [ %plain2.outf0.out, %slow2.outf ]
  %v2.outf1 = phi float [ %quick2.outf1, %quick2.outf ], [ %plain2.outf1.out, %slow2.outf ]
  %v2.outf2 = phi float [ %quick2.outf2, %quick2.outf ], [ %plain2.outf2.out, %slow2.outf ]
  %v2.outf3 = phi float [ %quick2.outf3, %quick2.outf ], [ %plain2.outf3.out, %slow2.outf ]
  %v2.outf4 = phi float [ %quick2.outf4, %quick2.outf ], [ %plain2.outf4.out, %slow2.outf ]
  %v2.outf5 = phi float [ %quick2.outf5, %quick2.outf ], [ %plain2.outf5.out, %slow2.outf ]
  %v2.outf6 = phi float [ %quick2.outf6, %quick2.outf ], [ %plain2.outf6.out, %slow2.outf ]
  %v2.outf7 = phi float [ %quick2.outf7, %quick2.outf ], [ %plain2.outf7.out, %slow2.outf ]
  %inverse4.outf = fdiv float 1.0, %v3
  %size4.outf0.bits = bitcast float %v2.outf0 to i32
  %size4.outf1.bits = bitcast float %v2.outf1 to i32
  %size4.outf2.bits = bitcast float %v2.outf2 to i32
  %size4.outf3.bits = bitcast float %v2.outf3 to i32
  %size4.outf4.bits = bitcast float %v2.outf4 to i32
  %size4.outf5.bits = bitcast float %v2.outf5 to i32
  %size4.outf6.bits = bitcast float %v2.outf6 to i32
  %size4.outf7.bits = bitcast float %v2.outf7 to i32
  %size4.outf0.twice = shl i32 %size4.outf0.bits, 1
  %size4.outf0 = sub i32 %size4.outf0.twice, 452984832
  %far4.outf0 = call i32 @llvm.umax.i32(i32 0, i32 %size4.outf0)
  %size4.outf1.twice = shl i32 %size4.outf1.bits, 1
  %size4.outf1 = sub i32 %size4.outf1.twice, 452984832
  %far4.outf1 = call i32 @llvm.umax.i32(i32 %far4.outf0, i32 %size4.outf1)
  %size4.outf2.twice = shl i32 %size4.outf2.bits, 1
  %size4.outf2 = sub i32 %size4.outf2.twice, 452984832
  %far4.outf2 = call i32 @llvm.umax.i32(i32 %far4.outf1, i32 %size4.outf2)
  %size4.outf3.twice = shl i32 %size4.outf3.bits, 1
  %size4.outf3 = sub i32 %size4.outf3.twice, 452984832
  %far4.outf3 = call i32 @llvm.umax.i32(i32 %far4.outf2, i32 %size4.outf3)
  %size4.outf4.twice = shl i32 %size4.outf4.bits, 1
  %size4.outf4 = sub i32 %size4.outf4.twice, 452984832
  %far4.outf4 = call i32 @llvm.umax.i32(i32 %far4.outf3, i32 %size4.outf4)
  %size4.outf5.twice = shl i32 %size4.outf5.bits, 1
  %size4.outf5 = sub i32 %size4.outf5.twice, 452984832
  %far4.outf5 = call i32 @llvm.umax.i32(i32 %far4.outf4, i32 %size4.outf5)
  %size4.outf6.twice = shl i32 %size4.outf6.bits, 1
  %size4.outf6 = sub i32 %size4.outf6.twice, 452984832
  %far4.outf6 = call i32 @llvm.umax.i32(i32 %far4.outf5, i32 %size4.outf6)
  %size4.outf7.twice = shl i32 %size4.outf7.bits, 1
  %size4.outf7 = sub i32 %size4.outf7.twice, 452984832
  %far4.outf = call i32 @llvm.umax.i32(i32 %far4.outf6, i32 %size4.outf7)
  %fits4.low.outf = fcmp oge float %v3, 0x3C30000000000000
  %fits4.high.outf = fcmp ole float %v3, 0x4180000000000000
  %fits4.outf = and i1 %fits4.low.outf, %fits4.high.outf
  %fits4.near.outf = icmp ule i32 %far4.outf, 2785017856
  %fits4.all.outf = and i1 %fits4.outf, %fits4.near.outf
  br i1 %fits4.all.outf, label %quick4.outf, label %masked4.outf

masked4.outf:
  %in4.outf0.zero = icmp eq i32 %size4.outf0.bits, 0
  %in4.outf0.near = icmp ule i32 %size4.outf0, 2785017856
  %in4.outf0 = or i1 %in4.outf0.zero, %in4.outf0.near
  %all.in4.outf0 = and i1 %fits4.outf, %in4.outf0
  %in4.outf1.zero = icmp eq i32 %size4.outf1.bits, 0
  %in4.outf1.near = icmp ule i32 %size4.outf1, 2785017856
  %in4.outf1 = or i1 %in4.outf1.zero, %in4.outf1.near
  %all.in4.outf1 = and i1 %all.in4.outf0, %in4.outf1
  %in4.outf2.zero = icmp eq i32 %size4.outf2.bits, 0
  %in4.outf2.near = icmp ule i32 %size4.outf2, 2785017856
  %in4.outf2 = or i1 %in4.outf2.zero, %in4.outf2.near
  %all.in4.outf2 = and i1 %all.in4.outf1, %in4.outf2
  %in4.outf3.zero = icmp eq i32 %size4.outf3.bits, 0
  %in4.outf3.near = icmp ule i32 %size4.outf3, 2785017856
  %in4.outf3 = or i1 %in4.outf3.zero, %in4.outf3.near
  %all.in4.outf3 = and i1 %all.in4.outf2, %in4.outf3
  %in4.outf4.zero = icmp eq i32 %size4.outf4.bits, 0
  %in4.outf4.near = icmp ule i32 %size4.outf4, 2785017856
  %in4.outf4 = or i1 %in4.outf4.zero, %in4.outf4.near
  %all.in4.outf4 = and i1 %all.in4.outf3, %in4.outf4
  %in4.outf5.zero = icmp eq i32 %size4.outf5.bits, 0
  %in4.outf5.near = icmp ule i32 %size4.outf5, 2785017856
  %in4.outf5 = or i1 %in4.outf5.zero, %in4.outf5.near
  %all.in4.outf5 = and i1 %all.in4.outf4, %in4.outf5
  %in4.outf6.zero = icmp eq i32 %size4.outf6.bits, 0
  %in4.outf6.near = icmp ule i32 %size4.outf6, 2785017856
  %in4.outf6 = or i1 %in4.outf6.zero, %in4.outf6.near
  %all.in4.outf6 = and i1 %all.in4.outf5, %in4.outf6
  %in4.outf7.zero = icmp eq i32 %size4.outf7.bits, 0
  %in4.outf7.near = icmp ule i32 %size4.outf7, 2785017856
  %in4.outf7 = or i1 %in4.outf7.zero, %in4.outf7.near
  %all.in4.outf = and i1 %all.in4.outf6, %in4.outf7
  br i1 %all.in4.outf, label %quick4.outf, label %slow4.outf

quick4.outf:
  %quick4.outf0 = call float @kiln_quotient_f32(float %v2.outf0, float %v3, float %inverse4.outf)
  %quick4.outf1 = call float @kiln_quotient_f32(float %v2.outf1, float %v3, float %inverse4.outf)
  %quick4.outf2 = call float @kiln_quotient_f32(float %v2.outf2, float %v3, float %inverse4.outf)
  %quick4.outf3 = call float @kiln_quotient_f32(float %v2.outf3, float %v3, float %inverse4.outf)
  %quick4.outf4 = call float @kiln_quotient_f32(float %v2.outf4, float %v3, float %inverse4.outf)
  %quick4.outf5 = call float @kiln_quotient_f32(float %v2.outf5, float %v3, float %inverse4.outf)
  %quick4.outf6 = call float @kiln_quotient_f32(float %v2.outf6, float %v3, float %inverse4.outf)
  %quick4.outf7 = call float @kiln_quotient_f32(float %v2.outf7, float %v3, float %inverse4.outf)
  br label %together4.outf

slow4.outf:
  %any4.outf0 = fdiv float %v2.outf0, %v3
  %plain4.outf0.out.nan = fcmp uno float %any4.outf0, 0.0
  %plain4.outf0.out = select i1 %plain4.outf0.out.nan, float 0x7FF8000000000000, float %any4.outf0
  %any4.outf1 = fdiv float %v2.outf1, %v3
  %plain4.outf1.out.nan = fcmp uno float %any4.outf1, 0.0
  %plain4.outf1.out = select i1 %plain4.outf1.out.nan, float 0x7FF8000000000000, float %any4.outf1
  %any4.outf2 = fdiv float %v2.outf2, %v3
  %plain4.outf2.out.nan = fcmp uno float %any4.outf2, 0.0
  %plain4.outf2.out = select i1 %plain4.outf2.out.nan, float 0x7FF8000000000000, float %any4.outf2
  %any4.outf3 = fdiv float %v2.outf3, %v3
  %plain4.outf3.out.nan = fcmp uno float %any4.outf3, 0.0
  %plain4.outf3.out = select i1 %plain4.outf3.out.nan, float 0x7FF8000000000000, float %any4.outf3
  %any4.outf4 = fdiv float %v2.outf4, %v3
  %plain4.outf4.out.nan = fcmp uno float %any4.outf4, 0.0
  %plain4.outf4.out = select i1 %plain4.outf4.out.nan, float 0x7FF8000000000000, float %any4.outf4
  %any4.outf5 = fdiv float %v2.outf5, %v3
  %plain4.outf5.out.nan = fcmp uno float %any4.outf5, 0.0
  %plain4.outf5.out = select i1 %plain4.outf5.out.nan, float 0x7FF8000000000000, float %any4.outf5
  %any4.outf6 = fdiv float %v2.outf6, %v3
  %plain4.outf6.out.nan = fcmp uno float %any4.outf6, 0.0
  %plain4.outf6.out = select i1 %plain4.outf6.out.nan, float 0x7FF8000000000000, float %any4.outf6
  %any4.outf7 = fdiv float %v2.outf7, %v3
  %plain4.outf7.out.nan = fcmp uno float %any4.outf7, 0.0
  %plain4.outf7.out = select i1 %plain4.outf7.out.nan, float 0x7FF8000000000000, float %any4.outf7
  br label %together4.outf

together4.outf:
  %v4.outf0 = phi float [ %quick4.outf0, %quick4.outf ], [ %plain4.outf0.out, %slow4.outf ]
  %v4.outf1 = phi float [ %quick4.outf1, %quick4.outf ], [ %plain4.outf1.out, %slow4.outf ]
  %v4.outf2 = phi float [ %quick4.outf2, %quick4.outf ], [ %plain4.outf2.out, %slow4.outf ]
  %v4.outf3 = phi float [ %quick4.outf3, %quick4.outf ], [ %plain4.outf3.out, %slow4.outf ]
  %v4.outf4 = phi float [ %quick4.outf4, %quick4.outf ], [ %plain4.outf4.out, %slow4.outf ]
  %v4.outf5 = phi float [ %quick4.outf5, %quick4.outf ], [ %plain4.outf5.out, %slow4.outf ]
  %v4.outf6 = phi float [ %quick4.outf6, %quick4.outf ], [ %plain4.outf6.out, %slow4.outf ]
  %v4.outf7 = phi float [ %quick4.outf7, %quick4.outf ], [ %plain4.outf7.out, %slow4.outf ]
  %o0.at.outf0 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf0
  store float %v4.outf0, ptr %o0.at.outf0, align 4
  %o0.at.outf1 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf1
  store float %v4.outf1, ptr %o0.at.outf1, align 4
  %o0.at.outf2 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf2
  store float %v4.outf2, ptr %o0.at.outf2, align 4
  %o0.at.outf3 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf3
  store float %v4.outf3, ptr %o0.at.outf3, align 4
  %o0.at.outf4 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf4
  store float %v4.outf4, ptr %o0.at.outf4, align 4
  %o0.at.outf5 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf5
  store float %v4.outf5, ptr %o0.at.outf5, align 4
  %o0.at.outf6 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf6
  store float %v4.outf6, ptr %o0.at.outf6, align 4
  %o0.at.outf7 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf7
  store float %v4.outf7, ptr %o0.at.outf7, align 4
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
  %held.v2.outl0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl0
  %held.v2.outl0 = getelementptr inbounds i8, ptr %held.v2.outl0.slot, i64 0
  %v2.outl0 = load float, ptr %held.v2.outl0, align 4
  %i.outl1 = add nuw nsw i64 %i.outl, 16
  %s.outl1 = add nuw nsw i64 %s.outl, 1
  %held.v2.outl1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl1
  %held.v2.outl1 = getelementptr inbounds i8, ptr %held.v2.outl1.slot, i64 0
  %v2.outl1 = load float, ptr %held.v2.outl1, align 4
  %i.outl2 = add nuw nsw i64 %i.outl, 32
  %s.outl2 = add nuw nsw i64 %s.outl, 2
  %held.v2.outl2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl2
  %held.v2.outl2 = getelementptr inbounds i8, ptr %held.v2.outl2.slot, i64 0
  %v2.outl2 = load float, ptr %held.v2.outl2, align 4
  %i.outl3 = add nuw nsw i64 %i.outl, 48
  %s.outl3 = add nuw nsw i64 %s.outl, 3
  %held.v2.outl3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl3
  %held.v2.outl3 = getelementptr inbounds i8, ptr %held.v2.outl3.slot, i64 0
  %v2.outl3 = load float, ptr %held.v2.outl3, align 4
  %i.outl4 = add nuw nsw i64 %i.outl, 64
  %s.outl4 = add nuw nsw i64 %s.outl, 128
  %held.v2.outl4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl4
  %held.v2.outl4 = getelementptr inbounds i8, ptr %held.v2.outl4.slot, i64 0
  %v2.outl4 = load float, ptr %held.v2.outl4, align 4
  %i.outl5 = add nuw nsw i64 %i.outl, 80
  %s.outl5 = add nuw nsw i64 %s.outl, 129
  %held.v2.outl5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl5
  %held.v2.outl5 = getelementptr inbounds i8, ptr %held.v2.outl5.slot, i64 0
  %v2.outl5 = load float, ptr %held.v2.outl5, align 4
  %i.outl6 = add nuw nsw i64 %i.outl, 96
  %s.outl6 = add nuw nsw i64 %s.outl, 130
  %held.v2.outl6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl6
  %held.v2.outl6 = getelementptr inbounds i8, ptr %held.v2.outl6.slot, i64 0
  %v2.outl6 = load float, ptr %held.v2.outl6, align 4
  %i.outl7 = add nuw nsw i64 %i.outl, 112
  %s.outl7 = add nuw nsw i64 %s.outl, 131
  %held.v2.outl7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl7
  %held.v2.outl7 = getelementptr inbounds i8, ptr %held.v2.outl7.slot, i64 0
  %v2.outl7 = load float, ptr %held.v2.outl7, align 4
  %i.outl8 = add nuw nsw i64 %i.outl, 128
  %s.outl8 = add nuw nsw i64 %s.outl, 256
  %held.v2.outl8.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl8
  %held.v2.outl8 = getelementptr inbounds i8, ptr %held.v2.outl8.slot, i64 0
  %v2.outl8 = load float, ptr %held.v2.outl8, align 4
  %i.outl9 = add nuw nsw i64 %i.outl, 144
  %s.outl9 = add nuw nsw i64 %s.outl, 257
  %held.v2.outl9.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl9
  %held.v2.outl9 = getelementptr inbounds i8, ptr %held.v2.outl9.slot, i64 0
  %v2.outl9 = load float, ptr %held.v2.outl9, align 4
  %i.outl10 = add nuw nsw i64 %i.outl, 160
  %s.outl10 = add nuw nsw i64 %s.outl, 258
  %held.v2.outl10.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl10
  %held.v2.outl10 = getelementptr inbounds i8, ptr %held.v2.outl10.slot, i64 0
  %v2.outl10 = load float, ptr %held.v2.outl10, align 4
  %i.outl11 = add nuw nsw i64 %i.outl, 176
  %s.outl11 = add nuw nsw i64 %s.outl, 259
  %held.v2.outl11.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl11
  %held.v2.outl11 = getelementptr inbounds i8, ptr %held.v2.outl11.slot, i64 0
  %v2.outl11 = load float, ptr %held.v2.outl11, align 4
  %i.outl12 = add nuw nsw i64 %i.outl, 192
  %s.outl12 = add nuw nsw i64 %s.outl, 384
  %held.v2.outl12.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl12
  %held.v2.outl12 = getelementptr inbounds i8, ptr %held.v2.outl12.slot, i64 0
  %v2.outl12 = load float, ptr %held.v2.outl12, align 4
  %i.outl13 = add nuw nsw i64 %i.outl, 208
  %s.outl13 = add nuw nsw i64 %s.outl, 385
  %held.v2.outl13.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl13
  %held.v2.outl13 = getelementptr inbounds i8, ptr %held.v2.outl13.slot, i64 0
  %v2.outl13 = load float, ptr %held.v2.outl13, align 4
  %i.outl14 = add nuw nsw i64 %i.outl, 224
  %s.outl14 = add nuw nsw i64 %s.outl, 386
  %held.v2.outl14.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl14
  %held.v2.outl14 = getelementptr inbounds i8, ptr %held.v2.outl14.slot, i64 0
  %v2.outl14 = load float, ptr %held.v2.outl14, align 4
  %i.outl15 = add nuw nsw i64 %i.outl, 240
  %s.outl15 = add nuw nsw i64 %s.outl, 387
  %held.v2.outl15.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl15
  %held.v2.outl15 = getelementptr inbounds i8, ptr %held.v2.outl15.slot, i64 0
  %v2.outl15 = load float, ptr %held.v2.outl15, align 4
  %inverse4.outl = fdiv float 1.0, %v3
  %size4.outl0.bits = bitcast float %v2.outl0 to i32
  %size4.outl1.bits = bitcast float %v2.outl1 to i32
  %size4.outl2.bits = bitcast float %v2.outl2 to i32
  %size4.outl3.bits = bitcast float %v2.outl3 to i32
  %size4.outl4.bits = bitcast float %v2.outl4 to i32
  %size4.outl5.bits = bitcast float %v2.outl5 to i32
  %size4.outl6.bits = bitcast float %v2.outl6 to i32
  %size4.outl7.bits = bitcast float %v2.outl7 to i32
  %size4.outl8.bits = bitcast float %v2.outl8 to i32
  %size4.outl9.bits = bitcast float %v2.outl9 to i32
  %size4.outl10.bits = bitcast float %v2.outl10 to i32
  %size4.outl11.bits = bitcast float %v2.outl11 to i32
  %size4.outl12.bits = bitcast float %v2.outl12 to i32
  %size4.outl13.bits = bitcast float %v2.outl13 to i32
  %size4.outl14.bits = bitcast float %v2.outl14 to i32
  %size4.outl15.bits = bitcast float %v2.outl15 to i32
  %size4.outl0.twice = shl i32 %size4.outl0.bits, 1
  %size4.outl0 = sub i32 %size4.outl0.twice, 452984832
  %far4.outl0 = call i32 @llvm.umax.i32(i32 0, i32 %size4.outl0)
  %size4.outl1.twice = shl i32 %size4.outl1.bits, 1
  %size4.outl1 = sub i32 %size4.outl1.twice, 452984832
  %far4.outl1 = call i32 @llvm.umax.i32(i32 %far4.outl0, i32 %size4.outl1)
  %size4.outl2.twice = shl i32 %size4.outl2.bits, 1
  %size4.outl2 = sub i32 %size4.outl2.twice, 452984832
  %far4.outl2 = call i32 @llvm.umax.i32(i32 %far4.outl1, i32 %size4.outl2)
  %size4.outl3.twice = shl i32 %size4.outl3.bits, 1
  %size4.outl3 = sub i32 %size4.outl3.twice, 452984832
  %far4.outl3 = call i32 @llvm.umax.i32(i32 %far4.outl2, i32 %size4.outl3)
  %size4.outl4.twice = shl i32 %size4.outl4.bits, 1
  %size4.outl4 = sub i32 %size4.outl4.twice, 452984832
  %far4.outl4 = call i32 @llvm.umax.i32(i32 %far4.outl3, i32 %size4.outl4)
  %size4.outl5.twice = shl i32 %size4.outl5.bits, 1
  %size4.outl5 = sub i32 %size4.outl5.twice, 452984832
  %far4.outl5 = call i32 @llvm.umax.i32(i32 %far4.outl4, i32 %size4.outl5)
  %size4.outl6.twice = shl i32 %size4.outl6.bits, 1
  %size4.outl6 = sub i32 %size4.outl6.twice, 452984832
  %far4.outl6 = call i32 @llvm.umax.i32(i32 %far4.outl5, i32 %size4.outl6)
  %size4.outl7.twice = shl i32 %size4.outl7.bits, 1
  %size4.outl7 = sub i32 %size4.outl7.twice, 452984832
  %far4.outl7 = call i32 @llvm.umax.i32(i32 %far4.outl6, i32 %size4.outl7)
  %size4.outl8.twice = shl i32 %size4.outl8.bits, 1
  %size4.outl8 = sub i32 %size4.outl8.twice, 452984832
  %far4.outl8 = call i32 @llvm.umax.i32(i32 %far4.outl7, i32 %size4.outl8)
  %size4.outl9.twice = shl i32 %size4.outl9.bits, 1
  %size4.outl9 = sub i32 %size4.outl9.twice, 452984832
  %far4.outl9 = call i32 @llvm.umax.i32(i32 %far4.outl8, i32 %size4.outl9)
  %size4.outl10.twice = shl i32 %size4.outl10.bits, 1
  %size4.outl10 = sub i32 %size4.outl10.twice, 452984832
  %far4.outl10 = call i32 @llvm.umax.i32(i32 %far4.outl9, i32 %size4.outl10)
  %size4.outl11.twice = shl i32 %size4.outl11.bits, 1
  %size4.outl11 = sub i32 %size4.outl11.twice, 452984832
  %far4.outl11 = call i32 @llvm.umax.i32(i32 %far4.outl10, i32 %size4.outl11)
  %size4.outl12.twice = shl i32 %size4.outl12.bits, 1
  %size4.outl12 = sub i32 %size4.outl12.twice, 452984832
  %far4.outl12 = call i32 @llvm.umax.i32(i32 %far4.outl11, i32 %size4.outl12)
  %size4.outl13.twice = shl i32 %size4.outl13.bits, 1
  %size4.outl13 = sub i32 %size4.outl13.twice, 452984832
  %far4.outl13 = call i32 @llvm.umax.i32(i32 %far4.outl12, i32 %size4.outl13)
  %size4.outl14.twice = shl i32 %size4.outl14.bits, 1
  %size4.outl14 = sub i32 %size4.outl14.twice, 452984832
  %far4.outl14 = call i32 @llvm.umax.i32(i32 %far4.outl13, i32 %size4.outl14)
  %size4.outl15.twice = shl i32 %size4.outl15.bits, 1
  %size4.outl15 = sub i32 %size4.outl15.twice, 452984832
  %far4.outl = call i32 @llvm.umax.i32(i32 %far4.outl14, i32 %size4.outl15)
  %fits4.low.outl = fcmp oge float %v3, 0x3C30000000000000
  %fits4.high.outl = fcmp ole float %v3, 0x4180000000000000
  %fits4.outl = and i1 %fits4.low.outl, %fits4.high.outl
  %fits4.near.outl = icmp ule i32 %far4.outl, 2785017856
  %fits4.all.outl = and i1 %fits4.outl, %fits4.near.outl
  br i1 %fits4.all.outl, label %quick4.outl, label %masked4.outl

masked4.outl:
  %in4.outl0.zero = icmp eq i32 %size4.outl0.bits, 0
  %in4.outl0.near = icmp ule i32 %size4.outl0, 2785017856
  %in4.outl0 = or i1 %in4.outl0.zero, %in4.outl0.near
  %all.in4.outl0 = and i1 %fits4.outl, %in4.outl0
  %in4.outl1.zero = icmp eq i32 %size4.outl1.bits, 0
  %in4.outl1.near = icmp ule i32 %size4.outl1, 2785017856
  %in4.outl1 = or i1 %in4.outl1.zero, %in4.outl1.near
  %all.in4.outl1 = and i1 %all.in4.outl0, %in4.outl1
  %in4.outl2.zero = icmp eq i32 %size4.outl2.bits, 0
  %in4.outl2.near = icmp ule i32 %size4.outl2, 2785017856
  %in4.outl2 = or i1 %in4.outl2.zero, %in4.outl2.near
  %all.in4.outl2 = and i1 %all.in4.outl1, %in4.outl2
  %in4.outl3.zero = icmp eq i32 %size4.outl3.bits, 0
  %in4.outl3.near = icmp ule i32 %size4.outl3, 2785017856
  %in4.outl3 = or i1 %in4.outl3.zero, %in4.outl3.near
  %all.in4.outl3 = and i1 %all.in4.outl2, %in4.outl3
  %in4.outl4.zero = icmp eq i32 %size4.outl4.bits, 0
  %in4.outl4.near = icmp ule i32 %size4.outl4, 2785017856
  %in4.outl4 = or i1 %in4.outl4.zero, %in4.outl4.near
  %all.in4.outl4 = and i1 %all.in4.outl3, %in4.outl4
  %in4.outl5.zero = icmp eq i32 %size4.outl5.bits, 0
  %in4.outl5.near = icmp ule i32 %size4.outl5, 2785017856
  %in4.outl5 = or i1 %in4.outl5.zero, %in4.outl5.near
  %all.in4.outl5 = and i1 %all.in4.outl4, %in4.outl5
  %in4.outl6.zero = icmp eq i32 %size4.outl6.bits, 0
  %in4.outl6.near = icmp ule i32 %size4.outl6, 2785017856
  %in4.outl6 = or i1 %in4.outl6.zero, %in4.outl6.near
  %all.in4.outl6 = and i1 %all.in4.outl5, %in4.outl6
  %in4.outl7.zero = icmp eq i32 %size4.outl7.bits, 0
  %in4.outl7.near = icmp ule i32 %size4.outl7, 2785017856
  %in4.outl7 = or i1 %in4.outl7.zero, %in4.outl7.near
  %all.in4.outl7 = and i1 %all.in4.outl6, %in4.outl7
  %in4.outl8.zero = icmp eq i32 %size4.outl8.bits, 0
  %in4.outl8.near = icmp ule i32 %size4.outl8, 2785017856
  %in4.outl8 = or i1 %in4.outl8.zero, %in4.outl8.near
  %all.in4.outl8 = and i1 %all.in4.outl7, %in4.outl8
  %in4.outl9.zero = icmp eq i32 %size4.outl9.bits, 0
  %in4.outl9.near = icmp ule i32 %size4.outl9, 2785017856
  %in4.outl9 = or i1 %in4.outl9.zero, %in4.outl9.near
  %all.in4.outl9 = and i1 %all.in4.outl8, %in4.outl9
  %in4.outl10.zero = icmp eq i32 %size4.outl10.bits, 0
  %in4.outl10.near = icmp ule i32 %size4.outl10, 2785017856
  %in4.outl10 = or i1 %in4.outl10.zero, %in4.outl10.near
  %all.in4.outl10 = and i1 %all.in4.outl9, %in4.outl10
  %in4.outl11.zero = icmp eq i32 %size4.outl11.bits, 0
  %in4.outl11.near = icmp ule i32 %size4.outl11, 2785017856
  %in4.outl11 = or i1 %in4.outl11.zero, %in4.outl11.near
  %all.in4.outl11 = and i1 %all.in4.outl10, %in4.outl11
  %in4.outl12.zero = icmp eq i32 %size4.outl12.bits, 0
  %in4.outl12.near = icmp ule i32 %size4.outl12, 2785017856
  %in4.outl12 = or i1 %in4.outl12.zero, %in4.outl12.near
  %all.in4.outl12 = and i1 %all.in4.outl11, %in4.outl12
  %in4.outl13.zero = icmp eq i32 %size4.outl13.bits, 0
  %in4.outl13.near = icmp ule i32 %size4.outl13, 2785017856
  %in4.outl13 = or i1 %in4.outl13.zero, %in4.outl13.near
  %all.in4.outl13 = and i1 %all.in4.outl12, %in4.outl13
  %in4.outl14.zero = icmp eq i32 %size4.outl14.bits, 0
  %in4.outl14.near = icmp ule i32 %size4.outl14, 2785017856
  %in4.outl14 = or i1 %in4.outl14.zero, %in4.outl14.near
  %all.in4.outl14 = and i1 %all.in4.outl13, %in4.outl14
  %in4.outl15.zero = icmp eq i32 %size4.outl15.bits, 0
  %in4.outl15.near = icmp ule i32 %size4.outl15, 2785017856
  %in4.outl15 = or i1 %in4.outl15.zero, %in4.outl15.near
  %all.in4.outl = and i1 %all.in4.outl14, %in4.outl15
  br i1 %all.in4.outl, label %quick4.outl, label %slow4.outl

quick4.outl:
  %quick4.outl0 = call float @kiln_quotient_f32(float %v2.outl0, float %v3, float %inverse4.outl)
  %quick4.outl1 = call float @kiln_quotient_f32(float %v2.outl1, float %v3, float %inverse4.outl)
  %quick4.outl2 = call float @kiln_quotient_f32(float %v2.outl2, float %v3, float %inverse4.outl)
  %quick4.outl3 = call float @kiln_quotient_f32(float %v2.outl3, float %v3, float %inverse4.outl)
  %quick4.outl4 = call float @kiln_quotient_f32(float %v2.outl4, float %v3, float %inverse4.outl)
  %quick4.outl5 = call float @kiln_quotient_f32(float %v2.outl5, float %v3, float %inverse4.outl)
  %quick4.outl6 = call float @kiln_quotient_f32(float %v2.outl6, float %v3, float %inverse4.outl)
  %quick4.outl7 = call float @kiln_quotient_f32(float %v2.outl7, float %v3, float %inverse4.outl)
  %quick4.outl8 = call float @kiln_quotient_f32(float %v2.outl8, float %v3, float %inverse4.outl)
  %quick4.outl9 = call float @kiln_quotient_f32(float %v2.outl9, float %v3, float %inverse4.outl)
  %quick4.outl10 = call float @kiln_quotient_f32(float %v2.outl10, float %v3, float %inverse4.outl)
  %quick4.outl11 = call float @kiln_quotient_f32(float %v2.outl11, float %v3, float %inverse4.outl)
  %quick4.outl12 = call float @kiln_quotient_f32(float %v2.outl12, float %v3, float %inverse4.outl)
  %quick4.outl13 = call float @kiln_quotient_f32(float %v2.outl13, float %v3, float %inverse4.outl)
  %quick4.outl14 = call float @kiln_quotient_f32(float %v2.outl14, float %v3, float %inverse4.outl)
  %quick4.outl15 = call float @kiln_quotient_f32(float %v2.outl15, float %v3, float %inverse4.outl)
  br label %together4.outl

slow4.outl:
  %any4.outl0 = fdiv float %v2.outl0, %v3
  %plain4.outl0.out.nan = fcmp uno float %any4.outl0, 0.0
  %plain4.outl0.out = select i1 %plain4.outl0.out.nan, float 0x7FF8000000000000, float %any4.outl0
  %any4.outl1 = fdiv float %v2.outl1, %v3
  %plain4.outl1.out.nan = fcmp uno float %any4.outl1, 0.0
  %plain4.outl1.out = select i1 %plain4.outl1.out.nan, float 0x7FF8000000000000, float %any4.outl1
  %any4.outl2 = fdiv float %v2.outl2, %v3
  %plain4.outl2.out.nan = fcmp uno float %any4.outl2, 0.0
  %plain4.outl2.out = select i1 %plain4.outl2.out.nan, float 0x7FF8000000000000, float %any4.outl2
  %any4.outl3 = fdiv float %v2.outl3, %v3
  %plain4.outl3.out.nan = fcmp uno float %any4.outl3, 0.0
  %plain4.outl3.out = select i1 %plain4.outl3.out.nan, float 0x7FF8000000000000, float %any4.outl3
  %any4.outl4 = fdiv float %v2.outl4, %v3
  %plain4.outl4.out.nan = fcmp uno float %any4.outl4, 0.0
  %plain4.outl4.out = select i1 %plain4.outl4.out.nan, float 0x7FF8000000000000, float %any4.outl4
  %any4.outl5 = fdiv float %v2.outl5, %v3
  %plain4.outl5.out.nan = fcmp uno float %any4.outl5, 0.0
  %plain4.outl5.out = select i1 %plain4.outl5.out.nan, float 0x7FF8000000000000, float %any4.outl5
  %any4.outl6 = fdiv float %v2.outl6, %v3
  %plain4.outl6.out.nan = fcmp uno float %any4.outl6, 0.0
  %plain4.outl6.out = select i1 %plain4.outl6.out.nan, float 0x7FF8000000000000, float %any4.outl6
  %any4.outl7 = fdiv float %v2.outl7, %v3
  %plain4.outl7.out.nan = fcmp uno float %any4.outl7, 0.0
  %plain4.outl7.out = select i1 %plain4.outl7.out.nan, float 0x7FF8000000000000, float %any4.outl7
  %any4.outl8 = fdiv float %v2.outl8, %v3
  %plain4.outl8.out.nan = fcmp uno float %any4.outl8, 0.0
  %plain4.outl8.out = select i1 %plain4.outl8.out.nan, float 0x7FF8000000000000, float %any4.outl8
  %any4.outl9 = fdiv float %v2.outl9, %v3
  %plain4.outl9.out.nan = fcmp uno float %any4.outl9, 0.0
  %plain4.outl9.out = select i1 %plain4.outl9.out.nan, float 0x7FF8000000000000, float %any4.outl9
  %any4.outl10 = fdiv float %v2.outl10, %v3
  %plain4.outl10.out.nan = fcmp uno float %any4.outl10, 0.0
  %plain4.outl10.out = select i1 %plain4.outl10.out.nan, float 0x7FF8000000000000, float %any4.outl10
  %any4.outl11 = fdiv float %v2.outl11, %v3
  %plain4.outl11.out.nan = fcmp uno float %any4.outl11, 0.0
  %plain4.outl11.out = select i1 %plain4.outl11.out.nan, float 0x7FF8000000000000, float %any4.outl11
  %any4.outl12 = fdiv float %v2.outl12, %v3
  %plain4.outl12.out.nan = fcmp uno float %any4.outl12, 0.0
  %plain4.outl12.out = select i1 %plain4.outl12.out.nan, float 0x7FF8000000000000, float %any4.outl12
  %any4.outl13 = fdiv float %v2.outl13, %v3
  %plain4.outl13.out.nan = fcmp uno float %any4.outl13, 0.0
  %plain4.outl13.out = select i1 %plain4.outl13.out.nan, float 0x7FF8000000000000, float %any4.outl13
  %any4.outl14 = fdiv float %v2.outl14, %v3
  %plain4.outl14.out.nan = fcmp uno float %any4.outl14, 0.0
  %plain4.outl14.out = select i1 %plain4.outl14.out.nan, float 0x7FF8000000000000, float %any4.outl14
  %any4.outl15 = fdiv float %v2.outl15, %v3
  %plain4.outl15.out.nan = fcmp uno float %any4.outl15, 0.0
  %plain4.outl15.out = select i1 %plain4.outl15.out.nan, float 0x7FF8000000000000, float %any4.outl15
  br label %together4.outl

together4.outl:
  %v4.outl0 = phi float [ %quick4.outl0, %quick4.outl ], [ %plain4.outl0.out, %slow4.outl ]
  %v4.outl1 = phi float [ %quick4.outl1, %quick4.outl ], [ %plain4.outl1.out, %slow4.outl ]
  %v4.outl2 = phi float [ %quick4.outl2, %quick4.outl ], [ %plain4.outl2.out, %slow4.outl ]
  %v4.outl3 = phi float [ %quick4.outl3, %quick4.outl ], [ %plain4.outl3.out, %slow4.outl ]
  %v4.outl4 = phi float [ %quick4.outl4, %quick4.outl ], [ %plain4.outl4.out, %slow4.outl ]
  %v4.outl5 = phi float [ %quick4.outl5, %quick4.outl ], [ %plain4.outl5.out, %slow4.outl ]
  %v4.outl6 = phi float [ %quick4.outl6, %quick4.outl ], [ %plain4.outl6.out, %slow4.outl ]
  %v4.outl7 = phi float [ %quick4.outl7, %quick4.outl ], [ %plain4.outl7.out, %slow4.outl ]
  %v4.outl8 = phi float [ %quick4.outl8, %quick4.outl ], [ %plain4.outl8.out, %slow4.outl ]
  %v4.outl9 = phi float [ %quick4.outl9, %quick4.outl ], [ %plain4.outl9.out, %slow4.outl ]
  %v4.outl10 = phi float [ %quick4.outl10, %quick4.outl ], [ %plain4.outl10.out, %slow4.outl ]
  %v4.outl11 = phi float [ %quick4.outl11, %quick4.outl ], [ %plain4.outl11.out, %slow4.outl ]
  %v4.outl12 = phi float [ %quick4.outl12, %quick4.outl ], [ %plain4.outl12.out, %slow4.outl ]
  %v4.outl13 = phi float [ %quick4.outl13, %quick4.outl ], [ %plain4.outl13.out, %slow4.outl ]
  %v4.outl14 = phi float [ %quick4.outl14, %quick4.outl ], [ %plain4.outl14.out, %slow4.outl ]
  %v4.outl15 = phi float [ %quick4.outl15, %quick4.outl ], [ %plain4.outl15.out, %slow4.outl ]
  %o0.at.outl0 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl0
  store float %v4.outl0, ptr %o0.at.outl0, align 4
  %o0.at.outl1 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl1
  store float %v4.outl1, ptr %o0.at.outl1, align 4
  %o0.at.outl2 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl2
  store float %v4.outl2, ptr %o0.at.outl2, align 4
  %o0.at.outl3 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl3
  store float %v4.outl3, ptr %o0.at.outl3, align 4
  %o0.at.outl4 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl4
  store float %v4.outl4, ptr %o0.at.outl4, align 4
  %o0.at.outl5 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl5
  store float %v4.outl5, ptr %o0.at.outl5, align 4
  %o0.at.outl6 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl6
  store float %v4.outl6, ptr %o0.at.outl6, align 4
  %o0.at.outl7 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl7
  store float %v4.outl7, ptr %o0.at.outl7, align 4
  %o0.at.outl8 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl8
  store float %v4.outl8, ptr %o0.at.outl8, align 4
  %o0.at.outl9 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl9
  store float %v4.outl9, ptr %o0.at.outl9, align 4
  %o0.at.outl10 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl10
  store float %v4.outl10, ptr %o0.at.outl10, align 4
  %o0.at.outl11 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl11
  store float %v4.outl11, ptr %o0.at.outl11, align 4
  %o0.at.outl12 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl12
  store float %v4.outl12, ptr %o0.at.outl12, align 4
  %o0.at.outl13 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl13
  store float %v4.outl13, ptr %o0.at.outl13, align 4
  %o0.at.outl14 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl14
  store float %v4.outl14, ptr %o0.at.outl14, align 4
  %o0.at.outl15 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl15
  store float %v4.outl15, ptr %o0.at.outl15, align 4
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
  %held.v2.outlx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outlx
  %held.v2.outlx = getelementptr inbounds i8, ptr %held.v2.outlx.slot, i64 0
  %v2.outlx = load float, ptr %held.v2.outlx, align 4
  %v4.outlx = fdiv float %v2.outlx, %v3
  %o0.at.outlx = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outlx
  %o0.at.outlx.out.nan = fcmp uno float %v4.outlx, 0.0
  %o0.at.outlx.out = select i1 %o0.at.outlx.out.nan, float 0x7FF8000000000000, float %v4.outlx
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
declare float @llvm.maximum.f32(float, float)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier0()
declare i32 @llvm.smax.i32(i32, i32)
declare float @kiln_exp_near_f32(float)
declare float @kiln_exp_f32(float)
declare float @kiln_quotient_f32(float, float, float)
@kept = external addrspace(3) global [0 x i8], align 16
@lanes = internal addrspace(3) global [256 x i8] undef, align 16

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_max_sub_exp_sum_div_f32_b7b57ce6, !"maxntidx", i32 256, !"minctasm", i32 4}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
