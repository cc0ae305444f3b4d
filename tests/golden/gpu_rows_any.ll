; kiln gpu kernel, rows, 1 axes
; operand a0: bool, packed
; operation v0: bool any(a0)
; result v0: bool

define ptx_kernel void @kiln_any_b1_c658ff26(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, i64 %rows.word, i64 %n.word, i64 %warps.word, i64 %apart.word, i64 %p0.inner, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0) {
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
  %spread.half = mul nuw nsw i32 %half, 16
  %spread = add nuw nsw i32 %spread.half, %lane.low
  %slots.warp = mul nuw nsw i32 %warp, 1024
  %slots.lane = mul nuw nsw i32 %lane, 1
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
  %c.0 = phi i32 [ %member, %entry ], [ %c.next.0, %carry.0 ]
  %up0.0 = phi i8 [ 0, %entry ], [ %up.next0.0, %carry.0 ]
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
  %lane0.0w = phi i8 [ 0, %chunk.0 ], [ %lane.next0.0w, %block.end.0w ]
  %b.next.0w = add nuw nsw i32 %b.0w, 512
  %b.more.0w = icmp ule i32 %b.next.0w, %spans.0
  br i1 %b.more.0w, label %block.0w, label %rests.0w

block.0w:
  %i.part.0w = and i32 %b.0w, 0
  %i.half.0w = lshr i32 %i.part.0w, 1
  %i.at.0w = sub nuw nsw i32 %b.0w, %i.half.0w
  %i.short.0w = add nuw nsw i32 %first.0, %i.at.0w
  %i.0w = zext i32 %i.short.0w to i64
  %s.group.0w = and i32 %b.0w, -32
  %s.first.0w = add nuw nsw i32 %s.group.0w, %slots
  %s.number.0w = udiv i32 %b.0w, 32
  %s.member.0w = urem i32 %s.number.0w, 1
  %s.short.0w = add nuw nsw i32 %s.first.0w, %s.member.0w
  %s.0w = zext i32 %s.short.0w to i64
  %i.0w0 = add nuw nsw i64 %i.0w, 0
  %s.0w0 = add nuw nsw i64 %s.0w, 0
  %p0.at.0w0 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w0
  %a0.0w0.bits = load i8, ptr %p0.at.0w0, align 1
  %a0.0w0 = icmp ne i8 %a0.0w0.bits, 0
  %i.0w1 = add nuw nsw i64 %i.0w, 32
  %s.0w1 = add nuw nsw i64 %s.0w, 32
  %p0.at.0w1 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w1
  %a0.0w1.bits = load i8, ptr %p0.at.0w1, align 1
  %a0.0w1 = icmp ne i8 %a0.0w1.bits, 0
  %i.0w2 = add nuw nsw i64 %i.0w, 64
  %s.0w2 = add nuw nsw i64 %s.0w, 64
  %p0.at.0w2 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w2
  %a0.0w2.bits = load i8, ptr %p0.at.0w2, align 1
  %a0.0w2 = icmp ne i8 %a0.0w2.bits, 0
  %i.0w3 = add nuw nsw i64 %i.0w, 96
  %s.0w3 = add nuw nsw i64 %s.0w, 96
  %p0.at.0w3 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w3
  %a0.0w3.bits = load i8, ptr %p0.at.0w3, align 1
  %a0.0w3 = icmp ne i8 %a0.0w3.bits, 0
  %i.0w4 = add nuw nsw i64 %i.0w, 128
  %s.0w4 = add nuw nsw i64 %s.0w, 128
  %p0.at.0w4 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w4
  %a0.0w4.bits = load i8, ptr %p0.at.0w4, align 1
  %a0.0w4 = icmp ne i8 %a0.0w4.bits, 0
  %i.0w5 = add nuw nsw i64 %i.0w, 160
  %s.0w5 = add nuw nsw i64 %s.0w, 160
  %p0.at.0w5 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w5
  %a0.0w5.bits = load i8, ptr %p0.at.0w5, align 1
  %a0.0w5 = icmp ne i8 %a0.0w5.bits, 0
  %i.0w6 = add nuw nsw i64 %i.0w, 192
  %s.0w6 = add nuw nsw i64 %s.0w, 192
  %p0.at.0w6 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w6
  %a0.0w6.bits = load i8, ptr %p0.at.0w6, align 1
  %a0.0w6 = icmp ne i8 %a0.0w6.bits, 0
  %i.0w7 = add nuw nsw i64 %i.0w, 224
  %s.0w7 = add nuw nsw i64 %s.0w, 224
  %p0.at.0w7 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w7
  %a0.0w7.bits = load i8, ptr %p0.at.0w7, align 1
  %a0.0w7 = icmp ne i8 %a0.0w7.bits, 0
  %i.0w8 = add nuw nsw i64 %i.0w, 256
  %s.0w8 = add nuw nsw i64 %s.0w, 256
  %p0.at.0w8 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w8
  %a0.0w8.bits = load i8, ptr %p0.at.0w8, align 1
  %a0.0w8 = icmp ne i8 %a0.0w8.bits, 0
  %i.0w9 = add nuw nsw i64 %i.0w, 288
  %s.0w9 = add nuw nsw i64 %s.0w, 288
  %p0.at.0w9 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w9
  %a0.0w9.bits = load i8, ptr %p0.at.0w9, align 1
  %a0.0w9 = icmp ne i8 %a0.0w9.bits, 0
  %i.0w10 = add nuw nsw i64 %i.0w, 320
  %s.0w10 = add nuw nsw i64 %s.0w, 320
  %p0.at.0w10 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w10
  %a0.0w10.bits = load i8, ptr %p0.at.0w10, align 1
  %a0.0w10 = icmp ne i8 %a0.0w10.bits, 0
  %i.0w11 = add nuw nsw i64 %i.0w, 352
  %s.0w11 = add nuw nsw i64 %s.0w, 352
  %p0.at.0w11 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w11
  %a0.0w11.bits = load i8, ptr %p0.at.0w11, align 1
  %a0.0w11 = icmp ne i8 %a0.0w11.bits, 0
  %i.0w12 = add nuw nsw i64 %i.0w, 384
  %s.0w12 = add nuw nsw i64 %s.0w, 384
  %p0.at.0w12 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w12
  %a0.0w12.bits = load i8, ptr %p0.at.0w12, align 1
  %a0.0w12 = icmp ne i8 %a0.0w12.bits, 0
  %i.0w13 = add nuw nsw i64 %i.0w, 416
  %s.0w13 = add nuw nsw i64 %s.0w, 416
  %p0.at.0w13 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w13
  %a0.0w13.bits = load i8, ptr %p0.at.0w13, align 1
  %a0.0w13 = icmp ne i8 %a0.0w13.bits, 0
  %i.0w14 = add nuw nsw i64 %i.0w, 448
  %s.0w14 = add nuw nsw i64 %s.0w, 448
  %p0.at.0w14 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w14
  %a0.0w14.bits = load i8, ptr %p0.at.0w14, align 1
  %a0.0w14 = icmp ne i8 %a0.0w14.bits, 0
  %i.0w15 = add nuw nsw i64 %i.0w, 480
  %s.0w15 = add nuw nsw i64 %s.0w, 480
  %p0.at.0w15 = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0w15
  %a0.0w15.bits = load i8, ptr %p0.at.0w15, align 1
  %a0.0w15 = icmp ne i8 %a0.0w15.bits, 0
  %e0.0w0 = zext i1 %a0.0w0 to i8
  %e0.0w1 = zext i1 %a0.0w1 to i8
  %e0.0w2 = zext i1 %a0.0w2 to i8
  %e0.0w3 = zext i1 %a0.0w3 to i8
  %e0.0w4 = zext i1 %a0.0w4 to i8
  %e0.0w5 = zext i1 %a0.0w5 to i8
  %e0.0w6 = zext i1 %a0.0w6 to i8
  %e0.0w7 = zext i1 %a0.0w7 to i8
  %e0.0w8 = zext i1 %a0.0w8 to i8
  %e0.0w9 = zext i1 %a0.0w9 to i8
  %e0.0w10 = zext i1 %a0.0w10 to i8
  %e0.0w11 = zext i1 %a0.0w11 to i8
  %e0.0w12 = zext i1 %a0.0w12 to i8
  %e0.0w13 = zext i1 %a0.0w13 to i8
  %e0.0w14 = zext i1 %a0.0w14 to i8
  %e0.0w15 = zext i1 %a0.0w15 to i8
  %low0.0w0 = or i8 %lane0.0w, %e0.0w0
  %low0.0w1 = or i8 %low0.0w0, %e0.0w1
  %low0.0w2 = or i8 %low0.0w1, %e0.0w2
  %low0.0w3 = or i8 %low0.0w2, %e0.0w3
  %low0.0w4 = or i8 %low0.0w3, %e0.0w4
  %low0.0w5 = or i8 %low0.0w4, %e0.0w5
  %low0.0w6 = or i8 %low0.0w5, %e0.0w6
  %low0.0w7 = or i8 %low0.0w6, %e0.0w7
  %low0.0w8 = or i8 %low0.0w7, %e0.0w8
  %low0.0w9 = or i8 %low0.0w8, %e0.0w9
  %low0.0w10 = or i8 %low0.0w9, %e0.0w10
  %low0.0w11 = or i8 %low0.0w10, %e0.0w11
  %low0.0w12 = or i8 %low0.0w11, %e0.0w12
  %low0.0w13 = or i8 %low0.0w12, %e0.0w13
  %low0.0w14 = or i8 %low0.0w13, %e0.0w14
  %lane.next0.0w = or i8 %low0.0w14, %e0.0w15
  br label %block.end.0w

block.end.0w:
  br label %blocks.0w

rests.0w:
  %r.0w = phi i32 [ %b.0w, %blocks.0w ], [ %r.next.0w, %join.0w ]
  %rest0.0w = phi i8 [ %lane0.0w, %blocks.0w ], [ %rest.next0.0w, %join.0w ]
  %r.more.0w = icmp ult i32 %r.0w, %count.0
  br i1 %r.more.0w, label %rest.0w, label %chunk.end.0

rest.0w:
  %r.at.0w = add nuw nsw i32 %r.0w, %lane
  %r.is.0w = icmp ult i32 %r.at.0w, %count.0
  br i1 %r.is.0w, label %value.0w, label %join.0w

value.0w:
  %i.short.0wx = add nuw nsw i32 %from.0, %r.at.0w
  %i.0wx = zext i32 %i.short.0wx to i64
  %s.group.0wx = and i32 %r.0w, -32
  %s.first.0wx = add nuw nsw i32 %s.group.0wx, %slots
  %s.number.0wx = udiv i32 %r.0w, 32
  %s.member.0wx = urem i32 %s.number.0wx, 1
  %s.short.0wx = add nuw nsw i32 %s.first.0wx, %s.member.0wx
  %s.0wx = zext i32 %s.short.0wx to i64
  %p0.at.0wx = getelementptr inbounds [1 x i8], ptr %p0.base, i64 %i.0wx
  %a0.0wx.bits = load i8, ptr %p0.at.0wx, align 1
  %a0.0wx = icmp ne i8 %a0.0wx.bits, 0
  %e0.0wx = zext i1 %a0.0wx to i8
  br label %join.0w

join.0w:
  %entry0.0w = phi i8 [ %e0.0wx, %value.0w ], [ 0, %rest.0w ]
  %r.far.0w = add nuw nsw i32 %r.at.0w, 16
  %r.other.0w = icmp ult i32 %r.far.0w, %count.0
  %rest.next0.0w = or i8 %rest0.0w, %entry0.0w
  %r.next.0w = add nuw nsw i32 %r.0w, 32
  br label %rests.0w

chunk.end.0:
  %all0.0 = phi i8 [ %rest0.0w, %rests.0w ]
  %far0.0.from = zext i8 %all0.0 to i32
  %far0.0.to = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %far0.0.from, i32 16, i32 31)
  %far0.0 = trunc i32 %far0.0.to to i8
  %met.all0.0 = or i8 %all0.0, %far0.0
  %chunk0.0.h8.from = zext i8 %met.all0.0 to i32
  %chunk0.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h8.from, i32 8, i32 31)
  %chunk0.0.h8 = trunc i32 %chunk0.0.h8.to to i8
  %chunk0.0.l8 = or i8 %met.all0.0, %chunk0.0.h8
  %chunk0.0.h4.from = zext i8 %chunk0.0.l8 to i32
  %chunk0.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h4.from, i32 4, i32 31)
  %chunk0.0.h4 = trunc i32 %chunk0.0.h4.to to i8
  %chunk0.0.l4 = or i8 %chunk0.0.l8, %chunk0.0.h4
  %chunk0.0.h2.from = zext i8 %chunk0.0.l4 to i32
  %chunk0.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h2.from, i32 2, i32 31)
  %chunk0.0.h2 = trunc i32 %chunk0.0.h2.to to i8
  %chunk0.0.l2 = or i8 %chunk0.0.l4, %chunk0.0.h2
  %chunk0.0.h1.from = zext i8 %chunk0.0.l2 to i32
  %chunk0.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h1.from, i32 1, i32 31)
  %chunk0.0.h1 = trunc i32 %chunk0.0.h1.to to i8
  %chunk0.0 = or i8 %chunk0.0.l2, %chunk0.0.h1
  %whole0.0.from = zext i8 %chunk0.0 to i32
  %whole0.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %whole0.0.from, i32 0, i32 31)
  %whole0.0 = trunc i32 %whole0.0.to to i8
  br label %carry.0

carry.0:
  %sum0.0 = phi i8 [ %whole0.0, %chunk.end.0 ]
  %c.lane.0 = and i32 %c.0, 15
  %is.mine.0 = icmp eq i32 %c.lane.0, %lane
  %up.more0.0 = or i8 %up0.0, %sum0.0
  %up.sum0.0 = select i1 %is.single, i8 %sum0.0, i8 %up.more0.0
  %up.next0.0 = select i1 %is.mine.0, i8 %up.sum0.0, i8 %up0.0
  br label %chunks.0

chunks.end.0:
  br i1 %is.alone, label %known.0, label %publish.0

publish.0:
  br i1 %is.owner, label %give.0, label %meet.0

give.0:
  %up0.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %up0.0.at = getelementptr inbounds i8, ptr addrspace(3) %up0.0.to, i64 %position
  store i8 %up0.0, ptr addrspace(3) %up0.0.at, align 1
  br label %meet.0

meet.0:
  call void @llvm.nvvm.barrier0()
  %met0.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %met0.0.at = getelementptr inbounds i8, ptr addrspace(3) %met0.0.to, i64 %position
  %met0.0 = load i8, ptr addrspace(3) %met0.0.at, align 1
  br label %known.0

known.0:
  %known0.0 = phi i8 [ %up0.0, %chunks.end.0 ], [ %met0.0, %meet.0 ]
  br i1 %is.single, label %done.0, label %tree.0

tree.0:
  %tree0.0.h8.from = zext i8 %known0.0 to i32
  %tree0.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h8.from, i32 8, i32 31)
  %tree0.0.h8 = trunc i32 %tree0.0.h8.to to i8
  %tree0.0.l8 = or i8 %known0.0, %tree0.0.h8
  %tree0.0.h4.from = zext i8 %tree0.0.l8 to i32
  %tree0.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h4.from, i32 4, i32 31)
  %tree0.0.h4 = trunc i32 %tree0.0.h4.to to i8
  %tree0.0.l4 = or i8 %tree0.0.l8, %tree0.0.h4
  %tree0.0.h2.from = zext i8 %tree0.0.l4 to i32
  %tree0.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h2.from, i32 2, i32 31)
  %tree0.0.h2 = trunc i32 %tree0.0.h2.to to i8
  %tree0.0.l2 = or i8 %tree0.0.l4, %tree0.0.h2
  %tree0.0.h1.from = zext i8 %tree0.0.l2 to i32
  %tree0.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tree0.0.h1.from, i32 1, i32 31)
  %tree0.0.h1 = trunc i32 %tree0.0.h1.to to i8
  %tree0.0 = or i8 %tree0.0.l2, %tree0.0.h1
  br label %done.0

done.0:
  %top0.0 = phi i8 [ %known0.0, %known.0 ], [ %tree0.0, %tree.0 ]
  %total0.0.from = zext i8 %top0.0 to i32
  %total0.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %total0.0.from, i32 0, i32 31)
  %total0.0 = trunc i32 %total0.0.to to i8
  %v0 = icmp ne i8 %total0.0, zeroinitializer
  br i1 %is.first, label %row.outputs, label %exit

row.outputs:
  %o0.base.bits = zext i1 %v0 to i8
  store i8 %o0.base.bits, ptr %o0.base, align 1
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.cttz.i32(i32, i1 immarg)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier0()
@lanes = internal addrspace(3) global [32 x i8] undef, align 16

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_any_b1_c658ff26, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
