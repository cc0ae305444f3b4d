; kiln gpu kernel, rows, 1 axes
; v0: operand float32 c
; v1: float32 = max(v0)
; v2: float32 = subtract(v0, v1)
; v3: float32 = exp(v2)
; v4: float32 = sum(v3)
; v5: float32 = divide(v3, v4)
; outputs: v5

define ptx_kernel void @kernel(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, i64 %rows.word, i64 %n.word, i64 %warps.word, i64 %p0.inner, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %rows = trunc i64 %rows.word to i32
  %n = trunc i64 %n.word to i32
  %warps = trunc i64 %warps.word to i32
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
  %row.count = lshr i32 8, %team.bits
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
  %place.row = mul nuw nsw i32 %row.here, 16
  %place.short = add nuw nsw i32 %place.row, %lane.low
  %place = zext i32 %place.short to i64
  %lane.any = or i32 %lane, %member
  %is.leader = icmp eq i32 %lane.any, 0
  %is.first = and i1 %is.leader, %is.row
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
  %c.0 = phi i32 [ %member, %entry ], [ %c.next.0, %chunk.end.0 ]
  %up0.0 = phi float [ 0xFFF0000000000000, %entry ], [ %up.next0.0, %chunk.end.0 ]
  %from.0 = mul nuw nsw i32 %c.0, 1024
  %c.some.0 = icmp ult i32 %from.0, %length
  br i1 %c.some.0, label %chunk.0, label %chunks.end.0

chunk.0:
  %left.0 = sub nuw nsw i32 %length, %from.0
  %count.0 = call i32 @llvm.umin.i32(i32 %left.0, i32 1024)
  %first.0 = add nuw nsw i32 %from.0, %lane
  %c.next.0 = add nuw nsw i32 %c.0, %team
  br label %blocks.0w

blocks.0w:
  %b.0w = phi i32 [ 0, %chunk.0 ], [ %b.next.0w, %block.0w ]
  %lane0.0w = phi float [ 0xFFF0000000000000, %chunk.0 ], [ %both0.0w15, %block.0w ]
  %b.next.0w = add nuw nsw i32 %b.0w, 512
  %b.more.0w = icmp ule i32 %b.next.0w, %count.0
  br i1 %b.more.0w, label %block.0w, label %rests.0w

block.0w:
  %i.short.0w = add nuw nsw i32 %first.0, %b.0w
  %i.0w = zext i32 %i.short.0w to i64
  %s.row.0w = mul nuw nsw i32 %b.0w, 8
  %s.short.0w = add nuw nsw i32 %s.row.0w, %thread
  %s.0w = zext i32 %s.short.0w to i64
  %i.0w0 = add nuw nsw i64 %i.0w, 0
  %s.0w0 = add nuw nsw i64 %s.0w, 0
  %p0.at.0w0 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w0
  %v0.0w0 = load float, ptr %p0.at.0w0, align 4
  %i.0w1 = add nuw nsw i64 %i.0w, 32
  %s.0w1 = add nuw nsw i64 %s.0w, 256
  %p0.at.0w1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w1
  %v0.0w1 = load float, ptr %p0.at.0w1, align 4
  %i.0w2 = add nuw nsw i64 %i.0w, 64
  %s.0w2 = add nuw nsw i64 %s.0w, 512
  %p0.at.0w2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w2
  %v0.0w2 = load float, ptr %p0.at.0w2, align 4
  %i.0w3 = add nuw nsw i64 %i.0w, 96
  %s.0w3 = add nuw nsw i64 %s.0w, 768
  %p0.at.0w3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w3
  %v0.0w3 = load float, ptr %p0.at.0w3, align 4
  %i.0w4 = add nuw nsw i64 %i.0w, 128
  %s.0w4 = add nuw nsw i64 %s.0w, 1024
  %p0.at.0w4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w4
  %v0.0w4 = load float, ptr %p0.at.0w4, align 4
  %i.0w5 = add nuw nsw i64 %i.0w, 160
  %s.0w5 = add nuw nsw i64 %s.0w, 1280
  %p0.at.0w5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w5
  %v0.0w5 = load float, ptr %p0.at.0w5, align 4
  %i.0w6 = add nuw nsw i64 %i.0w, 192
  %s.0w6 = add nuw nsw i64 %s.0w, 1536
  %p0.at.0w6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w6
  %v0.0w6 = load float, ptr %p0.at.0w6, align 4
  %i.0w7 = add nuw nsw i64 %i.0w, 224
  %s.0w7 = add nuw nsw i64 %s.0w, 1792
  %p0.at.0w7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w7
  %v0.0w7 = load float, ptr %p0.at.0w7, align 4
  %i.0w8 = add nuw nsw i64 %i.0w, 256
  %s.0w8 = add nuw nsw i64 %s.0w, 2048
  %p0.at.0w8 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w8
  %v0.0w8 = load float, ptr %p0.at.0w8, align 4
  %i.0w9 = add nuw nsw i64 %i.0w, 288
  %s.0w9 = add nuw nsw i64 %s.0w, 2304
  %p0.at.0w9 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w9
  %v0.0w9 = load float, ptr %p0.at.0w9, align 4
  %i.0w10 = add nuw nsw i64 %i.0w, 320
  %s.0w10 = add nuw nsw i64 %s.0w, 2560
  %p0.at.0w10 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w10
  %v0.0w10 = load float, ptr %p0.at.0w10, align 4
  %i.0w11 = add nuw nsw i64 %i.0w, 352
  %s.0w11 = add nuw nsw i64 %s.0w, 2816
  %p0.at.0w11 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w11
  %v0.0w11 = load float, ptr %p0.at.0w11, align 4
  %i.0w12 = add nuw nsw i64 %i.0w, 384
  %s.0w12 = add nuw nsw i64 %s.0w, 3072
  %p0.at.0w12 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w12
  %v0.0w12 = load float, ptr %p0.at.0w12, align 4
  %i.0w13 = add nuw nsw i64 %i.0w, 416
  %s.0w13 = add nuw nsw i64 %s.0w, 3328
  %p0.at.0w13 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w13
  %v0.0w13 = load float, ptr %p0.at.0w13, align 4
  %i.0w14 = add nuw nsw i64 %i.0w, 448
  %s.0w14 = add nuw nsw i64 %s.0w, 3584
  %p0.at.0w14 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w14
  %v0.0w14 = load float, ptr %p0.at.0w14, align 4
  %i.0w15 = add nuw nsw i64 %i.0w, 480
  %s.0w15 = add nuw nsw i64 %s.0w, 3840
  %p0.at.0w15 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0w15
  %v0.0w15 = load float, ptr %p0.at.0w15, align 4
  %keep0.0w0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w0
  %keep0.0w0 = getelementptr inbounds i8, ptr %keep0.0w0.slot, i64 0
  store float %v0.0w0, ptr %keep0.0w0, align 4
  %e0.0w0 = bitcast float %v0.0w0 to float
  %other0.0w0.from = bitcast float %e0.0w0 to i32
  %other0.0w0.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w0.from, i32 16, i32 31)
  %other0.0w0 = bitcast i32 %other0.0w0.to to float
  %own0.0w0.a = fcmp ogt float %lane0.0w, %e0.0w0
  %own0.0w0.b = fcmp uno float %lane0.0w, %lane0.0w
  %own0.0w0.c = or i1 %own0.0w0.a, %own0.0w0.b
  %own0.0w0 = select i1 %own0.0w0.c, float %lane0.0w, float %e0.0w0
  %both0.0w0.a = fcmp ogt float %own0.0w0, %other0.0w0
  %both0.0w0.b = fcmp uno float %own0.0w0, %own0.0w0
  %both0.0w0.c = or i1 %both0.0w0.a, %both0.0w0.b
  %both0.0w0 = select i1 %both0.0w0.c, float %own0.0w0, float %other0.0w0
  %keep0.0w1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w1
  %keep0.0w1 = getelementptr inbounds i8, ptr %keep0.0w1.slot, i64 0
  store float %v0.0w1, ptr %keep0.0w1, align 4
  %e0.0w1 = bitcast float %v0.0w1 to float
  %other0.0w1.from = bitcast float %e0.0w1 to i32
  %other0.0w1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w1.from, i32 16, i32 31)
  %other0.0w1 = bitcast i32 %other0.0w1.to to float
  %own0.0w1.a = fcmp ogt float %both0.0w0, %e0.0w1
  %own0.0w1.b = fcmp uno float %both0.0w0, %both0.0w0
  %own0.0w1.c = or i1 %own0.0w1.a, %own0.0w1.b
  %own0.0w1 = select i1 %own0.0w1.c, float %both0.0w0, float %e0.0w1
  %both0.0w1.a = fcmp ogt float %own0.0w1, %other0.0w1
  %both0.0w1.b = fcmp uno float %own0.0w1, %own0.0w1
  %both0.0w1.c = or i1 %both0.0w1.a, %both0.0w1.b
  %both0.0w1 = select i1 %both0.0w1.c, float %own0.0w1, float %other0.0w1
  %keep0.0w2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w2
  %keep0.0w2 = getelementptr inbounds i8, ptr %keep0.0w2.slot, i64 0
  store float %v0.0w2, ptr %keep0.0w2, align 4
  %e0.0w2 = bitcast float %v0.0w2 to float
  %other0.0w2.from = bitcast float %e0.0w2 to i32
  %other0.0w2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w2.from, i32 16, i32 31)
  %other0.0w2 = bitcast i32 %other0.0w2.to to float
  %own0.0w2.a = fcmp ogt float %both0.0w1, %e0.0w2
  %own0.0w2.b = fcmp uno float %both0.0w1, %both0.0w1
  %own0.0w2.c = or i1 %own0.0w2.a, %own0.0w2.b
  %own0.0w2 = select i1 %own0.0w2.c, float %both0.0w1, float %e0.0w2
  %both0.0w2.a = fcmp ogt float %own0.0w2, %other0.0w2
  %both0.0w2.b = fcmp uno float %own0.0w2, %own0.0w2
  %both0.0w2.c = or i1 %both0.0w2.a, %both0.0w2.b
  %both0.0w2 = select i1 %both0.0w2.c, float %own0.0w2, float %other0.0w2
  %keep0.0w3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w3
  %keep0.0w3 = getelementptr inbounds i8, ptr %keep0.0w3.slot, i64 0
  store float %v0.0w3, ptr %keep0.0w3, align 4
  %e0.0w3 = bitcast float %v0.0w3 to float
  %other0.0w3.from = bitcast float %e0.0w3 to i32
  %other0.0w3.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w3.from, i32 16, i32 31)
  %other0.0w3 = bitcast i32 %other0.0w3.to to float
  %own0.0w3.a = fcmp ogt float %both0.0w2, %e0.0w3
  %own0.0w3.b = fcmp uno float %both0.0w2, %both0.0w2
  %own0.0w3.c = or i1 %own0.0w3.a, %own0.0w3.b
  %own0.0w3 = select i1 %own0.0w3.c, float %both0.0w2, float %e0.0w3
  %both0.0w3.a = fcmp ogt float %own0.0w3, %other0.0w3
  %both0.0w3.b = fcmp uno float %own0.0w3, %own0.0w3
  %both0.0w3.c = or i1 %both0.0w3.a, %both0.0w3.b
  %both0.0w3 = select i1 %both0.0w3.c, float %own0.0w3, float %other0.0w3
  %keep0.0w4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w4
  %keep0.0w4 = getelementptr inbounds i8, ptr %keep0.0w4.slot, i64 0
  store float %v0.0w4, ptr %keep0.0w4, align 4
  %e0.0w4 = bitcast float %v0.0w4 to float
  %other0.0w4.from = bitcast float %e0.0w4 to i32
  %other0.0w4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w4.from, i32 16, i32 31)
  %other0.0w4 = bitcast i32 %other0.0w4.to to float
  %own0.0w4.a = fcmp ogt float %both0.0w3, %e0.0w4
  %own0.0w4.b = fcmp uno float %both0.0w3, %both0.0w3
  %own0.0w4.c = or i1 %own0.0w4.a, %own0.0w4.b
  %own0.0w4 = select i1 %own0.0w4.c, float %both0.0w3, float %e0.0w4
  %both0.0w4.a = fcmp ogt float %own0.0w4, %other0.0w4
  %both0.0w4.b = fcmp uno float %own0.0w4, %own0.0w4
  %both0.0w4.c = or i1 %both0.0w4.a, %both0.0w4.b
  %both0.0w4 = select i1 %both0.0w4.c, float %own0.0w4, float %other0.0w4
  %keep0.0w5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w5
  %keep0.0w5 = getelementptr inbounds i8, ptr %keep0.0w5.slot, i64 0
  store float %v0.0w5, ptr %keep0.0w5, align 4
  %e0.0w5 = bitcast float %v0.0w5 to float
  %other0.0w5.from = bitcast float %e0.0w5 to i32
  %other0.0w5.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w5.from, i32 16, i32 31)
  %other0.0w5 = bitcast i32 %other0.0w5.to to float
  %own0.0w5.a = fcmp ogt float %both0.0w4, %e0.0w5
  %own0.0w5.b = fcmp uno float %both0.0w4, %both0.0w4
  %own0.0w5.c = or i1 %own0.0w5.a, %own0.0w5.b
  %own0.0w5 = select i1 %own0.0w5.c, float %both0.0w4, float %e0.0w5
  %both0.0w5.a = fcmp ogt float %own0.0w5, %other0.0w5
  %both0.0w5.b = fcmp uno float %own0.0w5, %own0.0w5
  %both0.0w5.c = or i1 %both0.0w5.a, %both0.0w5.b
  %both0.0w5 = select i1 %both0.0w5.c, float %own0.0w5, float %other0.0w5
  %keep0.0w6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w6
  %keep0.0w6 = getelementptr inbounds i8, ptr %keep0.0w6.slot, i64 0
  store float %v0.0w6, ptr %keep0.0w6, align 4
  %e0.0w6 = bitcast float %v0.0w6 to float
  %other0.0w6.from = bitcast float %e0.0w6 to i32
  %other0.0w6.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w6.from, i32 16, i32 31)
  %other0.0w6 = bitcast i32 %other0.0w6.to to float
  %own0.0w6.a = fcmp ogt float %both0.0w5, %e0.0w6
  %own0.0w6.b = fcmp uno float %both0.0w5, %both0.0w5
  %own0.0w6.c = or i1 %own0.0w6.a, %own0.0w6.b
  %own0.0w6 = select i1 %own0.0w6.c, float %both0.0w5, float %e0.0w6
  %both0.0w6.a = fcmp ogt float %own0.0w6, %other0.0w6
  %both0.0w6.b = fcmp uno float %own0.0w6, %own0.0w6
  %both0.0w6.c = or i1 %both0.0w6.a, %both0.0w6.b
  %both0.0w6 = select i1 %both0.0w6.c, float %own0.0w6, float %other0.0w6
  %keep0.0w7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w7
  %keep0.0w7 = getelementptr inbounds i8, ptr %keep0.0w7.slot, i64 0
  store float %v0.0w7, ptr %keep0.0w7, align 4
  %e0.0w7 = bitcast float %v0.0w7 to float
  %other0.0w7.from = bitcast float %e0.0w7 to i32
  %other0.0w7.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w7.from, i32 16, i32 31)
  %other0.0w7 = bitcast i32 %other0.0w7.to to float
  %own0.0w7.a = fcmp ogt float %both0.0w6, %e0.0w7
  %own0.0w7.b = fcmp uno float %both0.0w6, %both0.0w6
  %own0.0w7.c = or i1 %own0.0w7.a, %own0.0w7.b
  %own0.0w7 = select i1 %own0.0w7.c, float %both0.0w6, float %e0.0w7
  %both0.0w7.a = fcmp ogt float %own0.0w7, %other0.0w7
  %both0.0w7.b = fcmp uno float %own0.0w7, %own0.0w7
  %both0.0w7.c = or i1 %both0.0w7.a, %both0.0w7.b
  %both0.0w7 = select i1 %both0.0w7.c, float %own0.0w7, float %other0.0w7
  %keep0.0w8.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w8
  %keep0.0w8 = getelementptr inbounds i8, ptr %keep0.0w8.slot, i64 0
  store float %v0.0w8, ptr %keep0.0w8, align 4
  %e0.0w8 = bitcast float %v0.0w8 to float
  %other0.0w8.from = bitcast float %e0.0w8 to i32
  %other0.0w8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w8.from, i32 16, i32 31)
  %other0.0w8 = bitcast i32 %other0.0w8.to to float
  %own0.0w8.a = fcmp ogt float %both0.0w7, %e0.0w8
  %own0.0w8.b = fcmp uno float %both0.0w7, %both0.0w7
  %own0.0w8.c = or i1 %own0.0w8.a, %own0.0w8.b
  %own0.0w8 = select i1 %own0.0w8.c, float %both0.0w7, float %e0.0w8
  %both0.0w8.a = fcmp ogt float %own0.0w8, %other0.0w8
  %both0.0w8.b = fcmp uno float %own0.0w8, %own0.0w8
  %both0.0w8.c = or i1 %both0.0w8.a, %both0.0w8.b
  %both0.0w8 = select i1 %both0.0w8.c, float %own0.0w8, float %other0.0w8
  %keep0.0w9.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w9
  %keep0.0w9 = getelementptr inbounds i8, ptr %keep0.0w9.slot, i64 0
  store float %v0.0w9, ptr %keep0.0w9, align 4
  %e0.0w9 = bitcast float %v0.0w9 to float
  %other0.0w9.from = bitcast float %e0.0w9 to i32
  %other0.0w9.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w9.from, i32 16, i32 31)
  %other0.0w9 = bitcast i32 %other0.0w9.to to float
  %own0.0w9.a = fcmp ogt float %both0.0w8, %e0.0w9
  %own0.0w9.b = fcmp uno float %both0.0w8, %both0.0w8
  %own0.0w9.c = or i1 %own0.0w9.a, %own0.0w9.b
  %own0.0w9 = select i1 %own0.0w9.c, float %both0.0w8, float %e0.0w9
  %both0.0w9.a = fcmp ogt float %own0.0w9, %other0.0w9
  %both0.0w9.b = fcmp uno float %own0.0w9, %own0.0w9
  %both0.0w9.c = or i1 %both0.0w9.a, %both0.0w9.b
  %both0.0w9 = select i1 %both0.0w9.c, float %own0.0w9, float %other0.0w9
  %keep0.0w10.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w10
  %keep0.0w10 = getelementptr inbounds i8, ptr %keep0.0w10.slot, i64 0
  store float %v0.0w10, ptr %keep0.0w10, align 4
  %e0.0w10 = bitcast float %v0.0w10 to float
  %other0.0w10.from = bitcast float %e0.0w10 to i32
  %other0.0w10.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w10.from, i32 16, i32 31)
  %other0.0w10 = bitcast i32 %other0.0w10.to to float
  %own0.0w10.a = fcmp ogt float %both0.0w9, %e0.0w10
  %own0.0w10.b = fcmp uno float %both0.0w9, %both0.0w9
  %own0.0w10.c = or i1 %own0.0w10.a, %own0.0w10.b
  %own0.0w10 = select i1 %own0.0w10.c, float %both0.0w9, float %e0.0w10
  %both0.0w10.a = fcmp ogt float %own0.0w10, %other0.0w10
  %both0.0w10.b = fcmp uno float %own0.0w10, %own0.0w10
  %both0.0w10.c = or i1 %both0.0w10.a, %both0.0w10.b
  %both0.0w10 = select i1 %both0.0w10.c, float %own0.0w10, float %other0.0w10
  %keep0.0w11.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w11
  %keep0.0w11 = getelementptr inbounds i8, ptr %keep0.0w11.slot, i64 0
  store float %v0.0w11, ptr %keep0.0w11, align 4
  %e0.0w11 = bitcast float %v0.0w11 to float
  %other0.0w11.from = bitcast float %e0.0w11 to i32
  %other0.0w11.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w11.from, i32 16, i32 31)
  %other0.0w11 = bitcast i32 %other0.0w11.to to float
  %own0.0w11.a = fcmp ogt float %both0.0w10, %e0.0w11
  %own0.0w11.b = fcmp uno float %both0.0w10, %both0.0w10
  %own0.0w11.c = or i1 %own0.0w11.a, %own0.0w11.b
  %own0.0w11 = select i1 %own0.0w11.c, float %both0.0w10, float %e0.0w11
  %both0.0w11.a = fcmp ogt float %own0.0w11, %other0.0w11
  %both0.0w11.b = fcmp uno float %own0.0w11, %own0.0w11
  %both0.0w11.c = or i1 %both0.0w11.a, %both0.0w11.b
  %both0.0w11 = select i1 %both0.0w11.c, float %own0.0w11, float %other0.0w11
  %keep0.0w12.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w12
  %keep0.0w12 = getelementptr inbounds i8, ptr %keep0.0w12.slot, i64 0
  store float %v0.0w12, ptr %keep0.0w12, align 4
  %e0.0w12 = bitcast float %v0.0w12 to float
  %other0.0w12.from = bitcast float %e0.0w12 to i32
  %other0.0w12.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w12.from, i32 16, i32 31)
  %other0.0w12 = bitcast i32 %other0.0w12.to to float
  %own0.0w12.a = fcmp ogt float %both0.0w11, %e0.0w12
  %own0.0w12.b = fcmp uno float %both0.0w11, %both0.0w11
  %own0.0w12.c = or i1 %own0.0w12.a, %own0.0w12.b
  %own0.0w12 = select i1 %own0.0w12.c, float %both0.0w11, float %e0.0w12
  %both0.0w12.a = fcmp ogt float %own0.0w12, %other0.0w12
  %both0.0w12.b = fcmp uno float %own0.0w12, %own0.0w12
  %both0.0w12.c = or i1 %both0.0w12.a, %both0.0w12.b
  %both0.0w12 = select i1 %both0.0w12.c, float %own0.0w12, float %other0.0w12
  %keep0.0w13.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w13
  %keep0.0w13 = getelementptr inbounds i8, ptr %keep0.0w13.slot, i64 0
  store float %v0.0w13, ptr %keep0.0w13, align 4
  %e0.0w13 = bitcast float %v0.0w13 to float
  %other0.0w13.from = bitcast float %e0.0w13 to i32
  %other0.0w13.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w13.from, i32 16, i32 31)
  %other0.0w13 = bitcast i32 %other0.0w13.to to float
  %own0.0w13.a = fcmp ogt float %both0.0w12, %e0.0w13
  %own0.0w13.b = fcmp uno float %both0.0w12, %both0.0w12
  %own0.0w13.c = or i1 %own0.0w13.a, %own0.0w13.b
  %own0.0w13 = select i1 %own0.0w13.c, float %both0.0w12, float %e0.0w13
  %both0.0w13.a = fcmp ogt float %own0.0w13, %other0.0w13
  %both0.0w13.b = fcmp uno float %own0.0w13, %own0.0w13
  %both0.0w13.c = or i1 %both0.0w13.a, %both0.0w13.b
  %both0.0w13 = select i1 %both0.0w13.c, float %own0.0w13, float %other0.0w13
  %keep0.0w14.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w14
  %keep0.0w14 = getelementptr inbounds i8, ptr %keep0.0w14.slot, i64 0
  store float %v0.0w14, ptr %keep0.0w14, align 4
  %e0.0w14 = bitcast float %v0.0w14 to float
  %other0.0w14.from = bitcast float %e0.0w14 to i32
  %other0.0w14.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w14.from, i32 16, i32 31)
  %other0.0w14 = bitcast i32 %other0.0w14.to to float
  %own0.0w14.a = fcmp ogt float %both0.0w13, %e0.0w14
  %own0.0w14.b = fcmp uno float %both0.0w13, %both0.0w13
  %own0.0w14.c = or i1 %own0.0w14.a, %own0.0w14.b
  %own0.0w14 = select i1 %own0.0w14.c, float %both0.0w13, float %e0.0w14
  %both0.0w14.a = fcmp ogt float %own0.0w14, %other0.0w14
  %both0.0w14.b = fcmp uno float %own0.0w14, %own0.0w14
  %both0.0w14.c = or i1 %both0.0w14.a, %both0.0w14.b
  %both0.0w14 = select i1 %both0.0w14.c, float %own0.0w14, float %other0.0w14
  %keep0.0w15.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0w15
  %keep0.0w15 = getelementptr inbounds i8, ptr %keep0.0w15.slot, i64 0
  store float %v0.0w15, ptr %keep0.0w15, align 4
  %e0.0w15 = bitcast float %v0.0w15 to float
  %other0.0w15.from = bitcast float %e0.0w15 to i32
  %other0.0w15.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w15.from, i32 16, i32 31)
  %other0.0w15 = bitcast i32 %other0.0w15.to to float
  %own0.0w15.a = fcmp ogt float %both0.0w14, %e0.0w15
  %own0.0w15.b = fcmp uno float %both0.0w14, %both0.0w14
  %own0.0w15.c = or i1 %own0.0w15.a, %own0.0w15.b
  %own0.0w15 = select i1 %own0.0w15.c, float %both0.0w14, float %e0.0w15
  %both0.0w15.a = fcmp ogt float %own0.0w15, %other0.0w15
  %both0.0w15.b = fcmp uno float %own0.0w15, %own0.0w15
  %both0.0w15.c = or i1 %both0.0w15.a, %both0.0w15.b
  %both0.0w15 = select i1 %both0.0w15.c, float %own0.0w15, float %other0.0w15
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
  %i.short.0wx = add nuw nsw i32 %first.0, %r.0w
  %i.0wx = zext i32 %i.short.0wx to i64
  %s.row.0wx = mul nuw nsw i32 %r.0w, 8
  %s.short.0wx = add nuw nsw i32 %s.row.0wx, %thread
  %s.0wx = zext i32 %s.short.0wx to i64
  %p0.at.0wx = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.0wx
  %v0.0wx = load float, ptr %p0.at.0wx, align 4
  %keep0.0wx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.0wx
  %keep0.0wx = getelementptr inbounds i8, ptr %keep0.0wx.slot, i64 0
  store float %v0.0wx, ptr %keep0.0wx, align 4
  %e0.0wx = bitcast float %v0.0wx to float
  br label %join.0w

join.0w:
  %entry0.0w = phi float [ %e0.0wx, %value.0w ], [ 0xFFF0000000000000, %rest.0w ]
  %r.far.0w = add nuw nsw i32 %r.at.0w, 16
  %r.other.0w = icmp ult i32 %r.far.0w, %count.0
  %other0.0w.from = bitcast float %entry0.0w to i32
  %other0.0w.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other0.0w.from, i32 16, i32 31)
  %other0.0w = bitcast i32 %other0.0w.to to float
  %own0.0w.a = fcmp ogt float %rest0.0w, %entry0.0w
  %own0.0w.b = fcmp uno float %rest0.0w, %rest0.0w
  %own0.0w.c = or i1 %own0.0w.a, %own0.0w.b
  %own0.0w = select i1 %own0.0w.c, float %rest0.0w, float %entry0.0w
  %one0.0w = select i1 %r.is.0w, float %own0.0w, float %rest0.0w
  %both0.0w.a = fcmp ogt float %one0.0w, %other0.0w
  %both0.0w.b = fcmp uno float %one0.0w, %one0.0w
  %both0.0w.c = or i1 %both0.0w.a, %both0.0w.b
  %both0.0w = select i1 %both0.0w.c, float %one0.0w, float %other0.0w
  %rest.next0.0w = select i1 %r.other.0w, float %both0.0w, float %one0.0w
  %r.next.0w = add nuw nsw i32 %r.0w, 32
  br label %rests.0w

chunk.end.0:
  %all0.0 = phi float [ %rest0.0w, %rests.0w ]
  %c.lane.0 = and i32 %c.0, 15
  %is.mine.0 = icmp eq i32 %c.lane.0, %lane
  %chunk0.0.h8.from = bitcast float %all0.0 to i32
  %chunk0.0.h8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h8.from, i32 8, i32 31)
  %chunk0.0.h8 = bitcast i32 %chunk0.0.h8.to to float
  %chunk0.0.l8.a = fcmp ogt float %all0.0, %chunk0.0.h8
  %chunk0.0.l8.b = fcmp uno float %all0.0, %all0.0
  %chunk0.0.l8.c = or i1 %chunk0.0.l8.a, %chunk0.0.l8.b
  %chunk0.0.l8 = select i1 %chunk0.0.l8.c, float %all0.0, float %chunk0.0.h8
  %chunk0.0.h4.from = bitcast float %chunk0.0.l8 to i32
  %chunk0.0.h4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h4.from, i32 4, i32 31)
  %chunk0.0.h4 = bitcast i32 %chunk0.0.h4.to to float
  %chunk0.0.l4.a = fcmp ogt float %chunk0.0.l8, %chunk0.0.h4
  %chunk0.0.l4.b = fcmp uno float %chunk0.0.l8, %chunk0.0.l8
  %chunk0.0.l4.c = or i1 %chunk0.0.l4.a, %chunk0.0.l4.b
  %chunk0.0.l4 = select i1 %chunk0.0.l4.c, float %chunk0.0.l8, float %chunk0.0.h4
  %chunk0.0.h2.from = bitcast float %chunk0.0.l4 to i32
  %chunk0.0.h2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h2.from, i32 2, i32 31)
  %chunk0.0.h2 = bitcast i32 %chunk0.0.h2.to to float
  %chunk0.0.l2.a = fcmp ogt float %chunk0.0.l4, %chunk0.0.h2
  %chunk0.0.l2.b = fcmp uno float %chunk0.0.l4, %chunk0.0.l4
  %chunk0.0.l2.c = or i1 %chunk0.0.l2.a, %chunk0.0.l2.b
  %chunk0.0.l2 = select i1 %chunk0.0.l2.c, float %chunk0.0.l4, float %chunk0.0.h2
  %chunk0.0.h1.from = bitcast float %chunk0.0.l2 to i32
  %chunk0.0.h1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %chunk0.0.h1.from, i32 1, i32 31)
  %chunk0.0.h1 = bitcast i32 %chunk0.0.h1.to to float
  %chunk0.0.a = fcmp ogt float %chunk0.0.l2, %chunk0.0.h1
  %chunk0.0.b = fcmp uno float %chunk0.0.l2, %chunk0.0.l2
  %chunk0.0.c = or i1 %chunk0.0.a, %chunk0.0.b
  %chunk0.0 = select i1 %chunk0.0.c, float %chunk0.0.l2, float %chunk0.0.h1
  %whole0.0.from = bitcast float %chunk0.0 to i32
  %whole0.0.to = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %whole0.0.from, i32 0, i32 31)
  %whole0.0 = bitcast i32 %whole0.0.to to float
  %up.more0.0.a = fcmp ogt float %up0.0, %whole0.0
  %up.more0.0.b = fcmp uno float %up0.0, %up0.0
  %up.more0.0.c = or i1 %up.more0.0.a, %up.more0.0.b
  %up.more0.0 = select i1 %up.more0.0.c, float %up0.0, float %whole0.0
  %up.sum0.0 = select i1 %is.single, float %whole0.0, float %up.more0.0
  %up.next0.0 = select i1 %is.mine.0, float %up.sum0.0, float %up0.0
  br label %chunks.0

chunks.end.0:
  br i1 %is.alone, label %known.0, label %publish.0

publish.0:
  br i1 %is.owner, label %give.0, label %meet.0

give.0:
  %up0.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %up0.0.at = getelementptr inbounds float, ptr addrspace(3) %up0.0.to, i64 %place
  store float %up0.0, ptr addrspace(3) %up0.0.at, align 4
  br label %meet.0

meet.0:
  call void @llvm.nvvm.barrier0()
  %met0.0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 0
  %met0.0.at = getelementptr inbounds float, ptr addrspace(3) %met0.0.to, i64 %place
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
  %v1 = bitcast float %total0.0 to float
  br label %chunks.1

chunks.1:
  %c.1 = phi i32 [ %member, %done.0 ], [ %c.next.1, %chunk.end.1 ]
  %up3.1 = phi float [ 0.0, %done.0 ], [ %up.next3.1, %chunk.end.1 ]
  %from.1 = mul nuw nsw i32 %c.1, 1024
  %c.some.1 = icmp ult i32 %from.1, %length
  br i1 %c.some.1, label %chunk.1, label %chunks.end.1

chunk.1:
  %left.1 = sub nuw nsw i32 %length, %from.1
  %count.1 = call i32 @llvm.umin.i32(i32 %left.1, i32 1024)
  %first.1 = add nuw nsw i32 %from.1, %lane
  %c.next.1 = add nuw nsw i32 %c.1, %team
  %c.far.1 = mul nuw nsw i32 %c.next.1, 1024
  %is.far.1 = icmp ult i32 %c.far.1, %length
  br i1 %is.far.1, label %blocks.1f, label %blocks.1l

blocks.1f:
  %b.1f = phi i32 [ 0, %chunk.1 ], [ %b.next.1f, %block.1f ]
  %lane3.1f = phi float [ 0.0, %chunk.1 ], [ %both3.1f15, %block.1f ]
  %b.next.1f = add nuw nsw i32 %b.1f, 512
  %b.more.1f = icmp ule i32 %b.next.1f, %count.1
  br i1 %b.more.1f, label %block.1f, label %chunk.end.1

block.1f:
  %i.short.1f = add nuw nsw i32 %first.1, %b.1f
  %i.1f = zext i32 %i.short.1f to i64
  %s.row.1f = mul nuw nsw i32 %b.1f, 8
  %s.short.1f = add nuw nsw i32 %s.row.1f, %thread
  %s.1f = zext i32 %s.short.1f to i64
  %i.1f0 = add nuw nsw i64 %i.1f, 0
  %s.1f0 = add nuw nsw i64 %s.1f, 0
  %p0.at.1f0 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f0
  %v0.1f0 = load float, ptr %p0.at.1f0, align 4
  %i.1f1 = add nuw nsw i64 %i.1f, 32
  %s.1f1 = add nuw nsw i64 %s.1f, 256
  %p0.at.1f1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f1
  %v0.1f1 = load float, ptr %p0.at.1f1, align 4
  %i.1f2 = add nuw nsw i64 %i.1f, 64
  %s.1f2 = add nuw nsw i64 %s.1f, 512
  %p0.at.1f2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f2
  %v0.1f2 = load float, ptr %p0.at.1f2, align 4
  %i.1f3 = add nuw nsw i64 %i.1f, 96
  %s.1f3 = add nuw nsw i64 %s.1f, 768
  %p0.at.1f3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f3
  %v0.1f3 = load float, ptr %p0.at.1f3, align 4
  %i.1f4 = add nuw nsw i64 %i.1f, 128
  %s.1f4 = add nuw nsw i64 %s.1f, 1024
  %p0.at.1f4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f4
  %v0.1f4 = load float, ptr %p0.at.1f4, align 4
  %i.1f5 = add nuw nsw i64 %i.1f, 160
  %s.1f5 = add nuw nsw i64 %s.1f, 1280
  %p0.at.1f5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f5
  %v0.1f5 = load float, ptr %p0.at.1f5, align 4
  %i.1f6 = add nuw nsw i64 %i.1f, 192
  %s.1f6 = add nuw nsw i64 %s.1f, 1536
  %p0.at.1f6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f6
  %v0.1f6 = load float, ptr %p0.at.1f6, align 4
  %i.1f7 = add nuw nsw i64 %i.1f, 224
  %s.1f7 = add nuw nsw i64 %s.1f, 1792
  %p0.at.1f7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f7
  %v0.1f7 = load float, ptr %p0.at.1f7, align 4
  %i.1f8 = add nuw nsw i64 %i.1f, 256
  %s.1f8 = add nuw nsw i64 %s.1f, 2048
  %p0.at.1f8 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f8
  %v0.1f8 = load float, ptr %p0.at.1f8, align 4
  %i.1f9 = add nuw nsw i64 %i.1f, 288
  %s.1f9 = add nuw nsw i64 %s.1f, 2304
  %p0.at.1f9 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f9
  %v0.1f9 = load float, ptr %p0.at.1f9, align 4
  %i.1f10 = add nuw nsw i64 %i.1f, 320
  %s.1f10 = add nuw nsw i64 %s.1f, 2560
  %p0.at.1f10 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f10
  %v0.1f10 = load float, ptr %p0.at.1f10, align 4
  %i.1f11 = add nuw nsw i64 %i.1f, 352
  %s.1f11 = add nuw nsw i64 %s.1f, 2816
  %p0.at.1f11 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f11
  %v0.1f11 = load float, ptr %p0.at.1f11, align 4
  %i.1f12 = add nuw nsw i64 %i.1f, 384
  %s.1f12 = add nuw nsw i64 %s.1f, 3072
  %p0.at.1f12 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f12
  %v0.1f12 = load float, ptr %p0.at.1f12, align 4
  %i.1f13 = add nuw nsw i64 %i.1f, 416
  %s.1f13 = add nuw nsw i64 %s.1f, 3328
  %p0.at.1f13 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f13
  %v0.1f13 = load float, ptr %p0.at.1f13, align 4
  %i.1f14 = add nuw nsw i64 %i.1f, 448
  %s.1f14 = add nuw nsw i64 %s.1f, 3584
  %p0.at.1f14 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f14
  %v0.1f14 = load float, ptr %p0.at.1f14, align 4
  %i.1f15 = add nuw nsw i64 %i.1f, 480
  %s.1f15 = add nuw nsw i64 %s.1f, 3840
  %p0.at.1f15 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1f15
  %v0.1f15 = load float, ptr %p0.at.1f15, align 4
  %v2.1f0 = fsub float %v0.1f0, %v1
  %v3.1f0 = call float @kiln_exp_f32(float %v2.1f0)
  %e3.1f0 = bitcast float %v3.1f0 to float
  %other3.1f0.from = bitcast float %e3.1f0 to i32
  %other3.1f0.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f0.from, i32 16, i32 31)
  %other3.1f0 = bitcast i32 %other3.1f0.to to float
  %own3.1f0 = fadd float %lane3.1f, %e3.1f0
  %both3.1f0 = fadd float %own3.1f0, %other3.1f0
  %v2.1f1 = fsub float %v0.1f1, %v1
  %v3.1f1 = call float @kiln_exp_f32(float %v2.1f1)
  %e3.1f1 = bitcast float %v3.1f1 to float
  %other3.1f1.from = bitcast float %e3.1f1 to i32
  %other3.1f1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f1.from, i32 16, i32 31)
  %other3.1f1 = bitcast i32 %other3.1f1.to to float
  %own3.1f1 = fadd float %both3.1f0, %e3.1f1
  %both3.1f1 = fadd float %own3.1f1, %other3.1f1
  %v2.1f2 = fsub float %v0.1f2, %v1
  %v3.1f2 = call float @kiln_exp_f32(float %v2.1f2)
  %e3.1f2 = bitcast float %v3.1f2 to float
  %other3.1f2.from = bitcast float %e3.1f2 to i32
  %other3.1f2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f2.from, i32 16, i32 31)
  %other3.1f2 = bitcast i32 %other3.1f2.to to float
  %own3.1f2 = fadd float %both3.1f1, %e3.1f2
  %both3.1f2 = fadd float %own3.1f2, %other3.1f2
  %v2.1f3 = fsub float %v0.1f3, %v1
  %v3.1f3 = call float @kiln_exp_f32(float %v2.1f3)
  %e3.1f3 = bitcast float %v3.1f3 to float
  %other3.1f3.from = bitcast float %e3.1f3 to i32
  %other3.1f3.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f3.from, i32 16, i32 31)
  %other3.1f3 = bitcast i32 %other3.1f3.to to float
  %own3.1f3 = fadd float %both3.1f2, %e3.1f3
  %both3.1f3 = fadd float %own3.1f3, %other3.1f3
  %v2.1f4 = fsub float %v0.1f4, %v1
  %v3.1f4 = call float @kiln_exp_f32(float %v2.1f4)
  %e3.1f4 = bitcast float %v3.1f4 to float
  %other3.1f4.from = bitcast float %e3.1f4 to i32
  %other3.1f4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f4.from, i32 16, i32 31)
  %other3.1f4 = bitcast i32 %other3.1f4.to to float
  %own3.1f4 = fadd float %both3.1f3, %e3.1f4
  %both3.1f4 = fadd float %own3.1f4, %other3.1f4
  %v2.1f5 = fsub float %v0.1f5, %v1
  %v3.1f5 = call float @kiln_exp_f32(float %v2.1f5)
  %e3.1f5 = bitcast float %v3.1f5 to float
  %other3.1f5.from = bitcast float %e3.1f5 to i32
  %other3.1f5.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f5.from, i32 16, i32 31)
  %other3.1f5 = bitcast i32 %other3.1f5.to to float
  %own3.1f5 = fadd float %both3.1f4, %e3.1f5
  %both3.1f5 = fadd float %own3.1f5, %other3.1f5
  %v2.1f6 = fsub float %v0.1f6, %v1
  %v3.1f6 = call float @kiln_exp_f32(float %v2.1f6)
  %e3.1f6 = bitcast float %v3.1f6 to float
  %other3.1f6.from = bitcast float %e3.1f6 to i32
  %other3.1f6.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f6.from, i32 16, i32 31)
  %other3.1f6 = bitcast i32 %other3.1f6.to to float
  %own3.1f6 = fadd float %both3.1f5, %e3.1f6
  %both3.1f6 = fadd float %own3.1f6, %other3.1f6
  %v2.1f7 = fsub float %v0.1f7, %v1
  %v3.1f7 = call float @kiln_exp_f32(float %v2.1f7)
  %e3.1f7 = bitcast float %v3.1f7 to float
  %other3.1f7.from = bitcast float %e3.1f7 to i32
  %other3.1f7.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f7.from, i32 16, i32 31)
  %other3.1f7 = bitcast i32 %other3.1f7.to to float
  %own3.1f7 = fadd float %both3.1f6, %e3.1f7
  %both3.1f7 = fadd float %own3.1f7, %other3.1f7
  %v2.1f8 = fsub float %v0.1f8, %v1
  %v3.1f8 = call float @kiln_exp_f32(float %v2.1f8)
  %e3.1f8 = bitcast float %v3.1f8 to float
  %other3.1f8.from = bitcast float %e3.1f8 to i32
  %other3.1f8.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f8.from, i32 16, i32 31)
  %other3.1f8 = bitcast i32 %other3.1f8.to to float
  %own3.1f8 = fadd float %both3.1f7, %e3.1f8
  %both3.1f8 = fadd float %own3.1f8, %other3.1f8
  %v2.1f9 = fsub float %v0.1f9, %v1
  %v3.1f9 = call float @kiln_exp_f32(float %v2.1f9)
  %e3.1f9 = bitcast float %v3.1f9 to float
  %other3.1f9.from = bitcast float %e3.1f9 to i32
  %other3.1f9.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f9.from, i32 16, i32 31)
  %other3.1f9 = bitcast i32 %other3.1f9.to to float
  %own3.1f9 = fadd float %both3.1f8, %e3.1f9
  %both3.1f9 = fadd float %own3.1f9, %other3.1f9
  %v2.1f10 = fsub float %v0.1f10, %v1
  %v3.1f10 = call float @kiln_exp_f32(float %v2.1f10)
  %e3.1f10 = bitcast float %v3.1f10 to float
  %other3.1f10.from = bitcast float %e3.1f10 to i32
  %other3.1f10.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f10.from, i32 16, i32 31)
  %other3.1f10 = bitcast i32 %other3.1f10.to to float
  %own3.1f10 = fadd float %both3.1f9, %e3.1f10
  %both3.1f10 = fadd float %own3.1f10, %other3.1f10
  %v2.1f11 = fsub float %v0.1f11, %v1
  %v3.1f11 = call float @kiln_exp_f32(float %v2.1f11)
  %e3.1f11 = bitcast float %v3.1f11 to float
  %other3.1f11.from = bitcast float %e3.1f11 to i32
  %other3.1f11.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f11.from, i32 16, i32 31)
  %other3.1f11 = bitcast i32 %other3.1f11.to to float
  %own3.1f11 = fadd float %both3.1f10, %e3.1f11
  %both3.1f11 = fadd float %own3.1f11, %other3.1f11
  %v2.1f12 = fsub float %v0.1f12, %v1
  %v3.1f12 = call float @kiln_exp_f32(float %v2.1f12)
  %e3.1f12 = bitcast float %v3.1f12 to float
  %other3.1f12.from = bitcast float %e3.1f12 to i32
  %other3.1f12.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f12.from, i32 16, i32 31)
  %other3.1f12 = bitcast i32 %other3.1f12.to to float
  %own3.1f12 = fadd float %both3.1f11, %e3.1f12
  %both3.1f12 = fadd float %own3.1f12, %other3.1f12
  %v2.1f13 = fsub float %v0.1f13, %v1
  %v3.1f13 = call float @kiln_exp_f32(float %v2.1f13)
  %e3.1f13 = bitcast float %v3.1f13 to float
  %other3.1f13.from = bitcast float %e3.1f13 to i32
  %other3.1f13.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f13.from, i32 16, i32 31)
  %other3.1f13 = bitcast i32 %other3.1f13.to to float
  %own3.1f13 = fadd float %both3.1f12, %e3.1f13
  %both3.1f13 = fadd float %own3.1f13, %other3.1f13
  %v2.1f14 = fsub float %v0.1f14, %v1
  %v3.1f14 = call float @kiln_exp_f32(float %v2.1f14)
  %e3.1f14 = bitcast float %v3.1f14 to float
  %other3.1f14.from = bitcast float %e3.1f14 to i32
  %other3.1f14.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f14.from, i32 16, i32 31)
  %other3.1f14 = bitcast i32 %other3.1f14.to to float
  %own3.1f14 = fadd float %both3.1f13, %e3.1f14
  %both3.1f14 = fadd float %own3.1f14, %other3.1f14
  %v2.1f15 = fsub float %v0.1f15, %v1
  %v3.1f15 = call float @kiln_exp_f32(float %v2.1f15)
  %e3.1f15 = bitcast float %v3.1f15 to float
  %other3.1f15.from = bitcast float %e3.1f15 to i32
  %other3.1f15.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1f15.from, i32 16, i32 31)
  %other3.1f15 = bitcast i32 %other3.1f15.to to float
  %own3.1f15 = fadd float %both3.1f14, %e3.1f15
  %both3.1f15 = fadd float %own3.1f15, %other3.1f15
  br label %blocks.1f

blocks.1l:
  %b.1l = phi i32 [ 0, %chunk.1 ], [ %b.next.1l, %block.1l ]
  %lane3.1l = phi float [ 0.0, %chunk.1 ], [ %both3.1l7, %block.1l ]
  %b.next.1l = add nuw nsw i32 %b.1l, 256
  %b.more.1l = icmp ule i32 %b.next.1l, %count.1
  br i1 %b.more.1l, label %block.1l, label %rests.1l

block.1l:
  %i.short.1l = add nuw nsw i32 %first.1, %b.1l
  %i.1l = zext i32 %i.short.1l to i64
  %s.row.1l = mul nuw nsw i32 %b.1l, 8
  %s.short.1l = add nuw nsw i32 %s.row.1l, %thread
  %s.1l = zext i32 %s.short.1l to i64
  %i.1l0 = add nuw nsw i64 %i.1l, 0
  %s.1l0 = add nuw nsw i64 %s.1l, 0
  %held0.1l0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l0
  %held0.1l0 = getelementptr inbounds i8, ptr %held0.1l0.slot, i64 0
  %v0.1l0 = load float, ptr %held0.1l0, align 4
  %i.1l1 = add nuw nsw i64 %i.1l, 32
  %s.1l1 = add nuw nsw i64 %s.1l, 256
  %held0.1l1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l1
  %held0.1l1 = getelementptr inbounds i8, ptr %held0.1l1.slot, i64 0
  %v0.1l1 = load float, ptr %held0.1l1, align 4
  %i.1l2 = add nuw nsw i64 %i.1l, 64
  %s.1l2 = add nuw nsw i64 %s.1l, 512
  %held0.1l2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l2
  %held0.1l2 = getelementptr inbounds i8, ptr %held0.1l2.slot, i64 0
  %v0.1l2 = load float, ptr %held0.1l2, align 4
  %i.1l3 = add nuw nsw i64 %i.1l, 96
  %s.1l3 = add nuw nsw i64 %s.1l, 768
  %held0.1l3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l3
  %held0.1l3 = getelementptr inbounds i8, ptr %held0.1l3.slot, i64 0
  %v0.1l3 = load float, ptr %held0.1l3, align 4
  %i.1l4 = add nuw nsw i64 %i.1l, 128
  %s.1l4 = add nuw nsw i64 %s.1l, 1024
  %held0.1l4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l4
  %held0.1l4 = getelementptr inbounds i8, ptr %held0.1l4.slot, i64 0
  %v0.1l4 = load float, ptr %held0.1l4, align 4
  %i.1l5 = add nuw nsw i64 %i.1l, 160
  %s.1l5 = add nuw nsw i64 %s.1l, 1280
  %held0.1l5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l5
  %held0.1l5 = getelementptr inbounds i8, ptr %held0.1l5.slot, i64 0
  %v0.1l5 = load float, ptr %held0.1l5, align 4
  %i.1l6 = add nuw nsw i64 %i.1l, 192
  %s.1l6 = add nuw nsw i64 %s.1l, 1536
  %held0.1l6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l6
  %held0.1l6 = getelementptr inbounds i8, ptr %held0.1l6.slot, i64 0
  %v0.1l6 = load float, ptr %held0.1l6, align 4
  %i.1l7 = add nuw nsw i64 %i.1l, 224
  %s.1l7 = add nuw nsw i64 %s.1l, 1792
  %held0.1l7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l7
  %held0.1l7 = getelementptr inbounds i8, ptr %held0.1l7.slot, i64 0
  %v0.1l7 = load float, ptr %held0.1l7, align 4
  %v2.1l0 = fsub float %v0.1l0, %v1
  %v3.1l0 = call float @kiln_exp_f32(float %v2.1l0)
  %keep3.1l0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l0
  %keep3.1l0 = getelementptr inbounds i8, ptr %keep3.1l0.slot, i64 0
  store float %v3.1l0, ptr %keep3.1l0, align 4
  %e3.1l0 = bitcast float %v3.1l0 to float
  %other3.1l0.from = bitcast float %e3.1l0 to i32
  %other3.1l0.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l0.from, i32 16, i32 31)
  %other3.1l0 = bitcast i32 %other3.1l0.to to float
  %own3.1l0 = fadd float %lane3.1l, %e3.1l0
  %both3.1l0 = fadd float %own3.1l0, %other3.1l0
  %v2.1l1 = fsub float %v0.1l1, %v1
  %v3.1l1 = call float @kiln_exp_f32(float %v2.1l1)
  %keep3.1l1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l1
  %keep3.1l1 = getelementptr inbounds i8, ptr %keep3.1l1.slot, i64 0
  store float %v3.1l1, ptr %keep3.1l1, align 4
  %e3.1l1 = bitcast float %v3.1l1 to float
  %other3.1l1.from = bitcast float %e3.1l1 to i32
  %other3.1l1.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l1.from, i32 16, i32 31)
  %other3.1l1 = bitcast i32 %other3.1l1.to to float
  %own3.1l1 = fadd float %both3.1l0, %e3.1l1
  %both3.1l1 = fadd float %own3.1l1, %other3.1l1
  %v2.1l2 = fsub float %v0.1l2, %v1
  %v3.1l2 = call float @kiln_exp_f32(float %v2.1l2)
  %keep3.1l2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l2
  %keep3.1l2 = getelementptr inbounds i8, ptr %keep3.1l2.slot, i64 0
  store float %v3.1l2, ptr %keep3.1l2, align 4
  %e3.1l2 = bitcast float %v3.1l2 to float
  %other3.1l2.from = bitcast float %e3.1l2 to i32
  %other3.1l2.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l2.from, i32 16, i32 31)
  %other3.1l2 = bitcast i32 %other3.1l2.to to float
  %own3.1l2 = fadd float %both3.1l1, %e3.1l2
  %both3.1l2 = fadd float %own3.1l2, %other3.1l2
  %v2.1l3 = fsub float %v0.1l3, %v1
  %v3.1l3 = call float @kiln_exp_f32(float %v2.1l3)
  %keep3.1l3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l3
  %keep3.1l3 = getelementptr inbounds i8, ptr %keep3.1l3.slot, i64 0
  store float %v3.1l3, ptr %keep3.1l3, align 4
  %e3.1l3 = bitcast float %v3.1l3 to float
  %other3.1l3.from = bitcast float %e3.1l3 to i32
  %other3.1l3.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l3.from, i32 16, i32 31)
  %other3.1l3 = bitcast i32 %other3.1l3.to to float
  %own3.1l3 = fadd float %both3.1l2, %e3.1l3
  %both3.1l3 = fadd float %own3.1l3, %other3.1l3
  %v2.1l4 = fsub float %v0.1l4, %v1
  %v3.1l4 = call float @kiln_exp_f32(float %v2.1l4)
  %keep3.1l4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l4
  %keep3.1l4 = getelementptr inbounds i8, ptr %keep3.1l4.slot, i64 0
  store float %v3.1l4, ptr %keep3.1l4, align 4
  %e3.1l4 = bitcast float %v3.1l4 to float
  %other3.1l4.from = bitcast float %e3.1l4 to i32
  %other3.1l4.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l4.from, i32 16, i32 31)
  %other3.1l4 = bitcast i32 %other3.1l4.to to float
  %own3.1l4 = fadd float %both3.1l3, %e3.1l4
  %both3.1l4 = fadd float %own3.1l4, %other3.1l4
  %v2.1l5 = fsub float %v0.1l5, %v1
  %v3.1l5 = call float @kiln_exp_f32(float %v2.1l5)
  %keep3.1l5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l5
  %keep3.1l5 = getelementptr inbounds i8, ptr %keep3.1l5.slot, i64 0
  store float %v3.1l5, ptr %keep3.1l5, align 4
  %e3.1l5 = bitcast float %v3.1l5 to float
  %other3.1l5.from = bitcast float %e3.1l5 to i32
  %other3.1l5.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l5.from, i32 16, i32 31)
  %other3.1l5 = bitcast i32 %other3.1l5.to to float
  %own3.1l5 = fadd float %both3.1l4, %e3.1l5
  %both3.1l5 = fadd float %own3.1l5, %other3.1l5
  %v2.1l6 = fsub float %v0.1l6, %v1
  %v3.1l6 = call float @kiln_exp_f32(float %v2.1l6)
  %keep3.1l6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l6
  %keep3.1l6 = getelementptr inbounds i8, ptr %keep3.1l6.slot, i64 0
  store float %v3.1l6, ptr %keep3.1l6, align 4
  %e3.1l6 = bitcast float %v3.1l6 to float
  %other3.1l6.from = bitcast float %e3.1l6 to i32
  %other3.1l6.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l6.from, i32 16, i32 31)
  %other3.1l6 = bitcast i32 %other3.1l6.to to float
  %own3.1l6 = fadd float %both3.1l5, %e3.1l6
  %both3.1l6 = fadd float %own3.1l6, %other3.1l6
  %v2.1l7 = fsub float %v0.1l7, %v1
  %v3.1l7 = call float @kiln_exp_f32(float %v2.1l7)
  %keep3.1l7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1l7
  %keep3.1l7 = getelementptr inbounds i8, ptr %keep3.1l7.slot, i64 0
  store float %v3.1l7, ptr %keep3.1l7, align 4
  %e3.1l7 = bitcast float %v3.1l7 to float
  %other3.1l7.from = bitcast float %e3.1l7 to i32
  %other3.1l7.to = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %other3.1l7.from, i32 16, i32 31)
  %other3.1l7 = bitcast i32 %other3.1l7.to to float
  %own3.1l7 = fadd float %both3.1l6, %e3.1l7
  %both3.1l7 = fadd float %own3.1l7, %other3.1l7
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
  %i.short.1lx = add nuw nsw i32 %first.1, %r.1l
  %i.1lx = zext i32 %i.short.1lx to i64
  %s.row.1lx = mul nuw nsw i32 %r.1l, 8
  %s.short.1lx = add nuw nsw i32 %s.row.1lx, %thread
  %s.1lx = zext i32 %s.short.1lx to i64
  %held0.1lx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1lx
  %held0.1lx = getelementptr inbounds i8, ptr %held0.1lx.slot, i64 0
  %v0.1lx = load float, ptr %held0.1lx, align 4
  %v2.1lx = fsub float %v0.1lx, %v1
  %v3.1lx = call float @kiln_exp_f32(float %v2.1lx)
  %keep3.1lx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.1lx
  %keep3.1lx = getelementptr inbounds i8, ptr %keep3.1lx.slot, i64 0
  store float %v3.1lx, ptr %keep3.1lx, align 4
  %e3.1lx = bitcast float %v3.1lx to float
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
  %c.lane.1 = and i32 %c.1, 15
  %is.mine.1 = icmp eq i32 %c.lane.1, %lane
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
  %up.more3.1 = fadd float %up3.1, %whole3.1
  %up.sum3.1 = select i1 %is.single, float %whole3.1, float %up.more3.1
  %up.next3.1 = select i1 %is.mine.1, float %up.sum3.1, float %up3.1
  br label %chunks.1

chunks.end.1:
  br i1 %is.alone, label %known.1, label %publish.1

publish.1:
  br i1 %is.owner, label %give.1, label %meet.1

give.1:
  %up3.1.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 256
  %up3.1.at = getelementptr inbounds float, ptr addrspace(3) %up3.1.to, i64 %place
  store float %up3.1, ptr addrspace(3) %up3.1.at, align 4
  br label %meet.1

meet.1:
  call void @llvm.nvvm.barrier0()
  %met3.1.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 256
  %met3.1.at = getelementptr inbounds float, ptr addrspace(3) %met3.1.to, i64 %place
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
  %v4 = bitcast float %total3.1 to float
  br label %chunks.out

chunks.out:
  %c.out = phi i32 [ %member, %done.1 ], [ %c.next.out, %chunk.end.out ]
  %from.out = mul nuw nsw i32 %c.out, 1024
  %c.some.out = icmp ult i32 %from.out, %length
  br i1 %c.some.out, label %chunk.out, label %chunks.end.out

chunk.out:
  %left.out = sub nuw nsw i32 %length, %from.out
  %count.out = call i32 @llvm.umin.i32(i32 %left.out, i32 1024)
  %first.out = add nuw nsw i32 %from.out, %lane
  %c.next.out = add nuw nsw i32 %c.out, %team
  %c.far.out = mul nuw nsw i32 %c.next.out, 1024
  %is.far.out = icmp ult i32 %c.far.out, %length
  br i1 %is.far.out, label %blocks.outf, label %blocks.outl

blocks.outf:
  %b.outf = phi i32 [ 0, %chunk.out ], [ %b.next.outf, %block.outf ]
  %b.next.outf = add nuw nsw i32 %b.outf, 256
  %b.more.outf = icmp ule i32 %b.next.outf, %count.out
  br i1 %b.more.outf, label %block.outf, label %chunk.end.out

block.outf:
  %i.short.outf = add nuw nsw i32 %first.out, %b.outf
  %i.outf = zext i32 %i.short.outf to i64
  %s.row.outf = mul nuw nsw i32 %b.outf, 8
  %s.short.outf = add nuw nsw i32 %s.row.outf, %thread
  %s.outf = zext i32 %s.short.outf to i64
  %i.outf0 = add nuw nsw i64 %i.outf, 0
  %s.outf0 = add nuw nsw i64 %s.outf, 0
  %p0.at.outf0 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf0
  %v0.outf0 = load float, ptr %p0.at.outf0, align 4
  %i.outf1 = add nuw nsw i64 %i.outf, 32
  %s.outf1 = add nuw nsw i64 %s.outf, 256
  %p0.at.outf1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf1
  %v0.outf1 = load float, ptr %p0.at.outf1, align 4
  %i.outf2 = add nuw nsw i64 %i.outf, 64
  %s.outf2 = add nuw nsw i64 %s.outf, 512
  %p0.at.outf2 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf2
  %v0.outf2 = load float, ptr %p0.at.outf2, align 4
  %i.outf3 = add nuw nsw i64 %i.outf, 96
  %s.outf3 = add nuw nsw i64 %s.outf, 768
  %p0.at.outf3 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf3
  %v0.outf3 = load float, ptr %p0.at.outf3, align 4
  %i.outf4 = add nuw nsw i64 %i.outf, 128
  %s.outf4 = add nuw nsw i64 %s.outf, 1024
  %p0.at.outf4 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf4
  %v0.outf4 = load float, ptr %p0.at.outf4, align 4
  %i.outf5 = add nuw nsw i64 %i.outf, 160
  %s.outf5 = add nuw nsw i64 %s.outf, 1280
  %p0.at.outf5 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf5
  %v0.outf5 = load float, ptr %p0.at.outf5, align 4
  %i.outf6 = add nuw nsw i64 %i.outf, 192
  %s.outf6 = add nuw nsw i64 %s.outf, 1536
  %p0.at.outf6 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf6
  %v0.outf6 = load float, ptr %p0.at.outf6, align 4
  %i.outf7 = add nuw nsw i64 %i.outf, 224
  %s.outf7 = add nuw nsw i64 %s.outf, 1792
  %p0.at.outf7 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.outf7
  %v0.outf7 = load float, ptr %p0.at.outf7, align 4
  %v2.outf0 = fsub float %v0.outf0, %v1
  %v3.outf0 = call float @kiln_exp_f32(float %v2.outf0)
  %v5.outf0 = fdiv float %v3.outf0, %v4
  %v2.outf1 = fsub float %v0.outf1, %v1
  %v3.outf1 = call float @kiln_exp_f32(float %v2.outf1)
  %v5.outf1 = fdiv float %v3.outf1, %v4
  %v2.outf2 = fsub float %v0.outf2, %v1
  %v3.outf2 = call float @kiln_exp_f32(float %v2.outf2)
  %v5.outf2 = fdiv float %v3.outf2, %v4
  %v2.outf3 = fsub float %v0.outf3, %v1
  %v3.outf3 = call float @kiln_exp_f32(float %v2.outf3)
  %v5.outf3 = fdiv float %v3.outf3, %v4
  %v2.outf4 = fsub float %v0.outf4, %v1
  %v3.outf4 = call float @kiln_exp_f32(float %v2.outf4)
  %v5.outf4 = fdiv float %v3.outf4, %v4
  %v2.outf5 = fsub float %v0.outf5, %v1
  %v3.outf5 = call float @kiln_exp_f32(float %v2.outf5)
  %v5.outf5 = fdiv float %v3.outf5, %v4
  %v2.outf6 = fsub float %v0.outf6, %v1
  %v3.outf6 = call float @kiln_exp_f32(float %v2.outf6)
  %v5.outf6 = fdiv float %v3.outf6, %v4
  %v2.outf7 = fsub float %v0.outf7, %v1
  %v3.outf7 = call float @kiln_exp_f32(float %v2.outf7)
  %v5.outf7 = fdiv float %v3.outf7, %v4
  %o0.at.outf0 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf0
  %o0.at.outf0.out.nan = fcmp uno float %v5.outf0, 0.0
  %o0.at.outf0.out = select i1 %o0.at.outf0.out.nan, float 0x7FF8000000000000, float %v5.outf0
  store float %o0.at.outf0.out, ptr %o0.at.outf0, align 4
  %o0.at.outf1 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf1
  %o0.at.outf1.out.nan = fcmp uno float %v5.outf1, 0.0
  %o0.at.outf1.out = select i1 %o0.at.outf1.out.nan, float 0x7FF8000000000000, float %v5.outf1
  store float %o0.at.outf1.out, ptr %o0.at.outf1, align 4
  %o0.at.outf2 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf2
  %o0.at.outf2.out.nan = fcmp uno float %v5.outf2, 0.0
  %o0.at.outf2.out = select i1 %o0.at.outf2.out.nan, float 0x7FF8000000000000, float %v5.outf2
  store float %o0.at.outf2.out, ptr %o0.at.outf2, align 4
  %o0.at.outf3 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf3
  %o0.at.outf3.out.nan = fcmp uno float %v5.outf3, 0.0
  %o0.at.outf3.out = select i1 %o0.at.outf3.out.nan, float 0x7FF8000000000000, float %v5.outf3
  store float %o0.at.outf3.out, ptr %o0.at.outf3, align 4
  %o0.at.outf4 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf4
  %o0.at.outf4.out.nan = fcmp uno float %v5.outf4, 0.0
  %o0.at.outf4.out = select i1 %o0.at.outf4.out.nan, float 0x7FF8000000000000, float %v5.outf4
  store float %o0.at.outf4.out, ptr %o0.at.outf4, align 4
  %o0.at.outf5 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf5
  %o0.at.outf5.out.nan = fcmp uno float %v5.outf5, 0.0
  %o0.at.outf5.out = select i1 %o0.at.outf5.out.nan, float 0x7FF8000000000000, float %v5.outf5
  store float %o0.at.outf5.out, ptr %o0.at.outf5, align 4
  %o0.at.outf6 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf6
  %o0.at.outf6.out.nan = fcmp uno float %v5.outf6, 0.0
  %o0.at.outf6.out = select i1 %o0.at.outf6.out.nan, float 0x7FF8000000000000, float %v5.outf6
  store float %o0.at.outf6.out, ptr %o0.at.outf6, align 4
  %o0.at.outf7 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outf7
  %o0.at.outf7.out.nan = fcmp uno float %v5.outf7, 0.0
  %o0.at.outf7.out = select i1 %o0.at.outf7.out.nan, float 0x7FF8000000000000, float %v5.outf7
  store float %o0.at.outf7.out, ptr %o0.at.outf7, align 4
  br label %blocks.outf

blocks.outl:
  %b.outl = phi i32 [ 0, %chunk.out ], [ %b.next.outl, %block.outl ]
  %b.next.outl = add nuw nsw i32 %b.outl, 256
  %b.more.outl = icmp ule i32 %b.next.outl, %count.out
  br i1 %b.more.outl, label %block.outl, label %rests.outl

block.outl:
  %i.short.outl = add nuw nsw i32 %first.out, %b.outl
  %i.outl = zext i32 %i.short.outl to i64
  %s.row.outl = mul nuw nsw i32 %b.outl, 8
  %s.short.outl = add nuw nsw i32 %s.row.outl, %thread
  %s.outl = zext i32 %s.short.outl to i64
  %i.outl0 = add nuw nsw i64 %i.outl, 0
  %s.outl0 = add nuw nsw i64 %s.outl, 0
  %held3.outl0.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl0
  %held3.outl0 = getelementptr inbounds i8, ptr %held3.outl0.slot, i64 0
  %v3.outl0 = load float, ptr %held3.outl0, align 4
  %i.outl1 = add nuw nsw i64 %i.outl, 32
  %s.outl1 = add nuw nsw i64 %s.outl, 256
  %held3.outl1.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl1
  %held3.outl1 = getelementptr inbounds i8, ptr %held3.outl1.slot, i64 0
  %v3.outl1 = load float, ptr %held3.outl1, align 4
  %i.outl2 = add nuw nsw i64 %i.outl, 64
  %s.outl2 = add nuw nsw i64 %s.outl, 512
  %held3.outl2.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl2
  %held3.outl2 = getelementptr inbounds i8, ptr %held3.outl2.slot, i64 0
  %v3.outl2 = load float, ptr %held3.outl2, align 4
  %i.outl3 = add nuw nsw i64 %i.outl, 96
  %s.outl3 = add nuw nsw i64 %s.outl, 768
  %held3.outl3.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl3
  %held3.outl3 = getelementptr inbounds i8, ptr %held3.outl3.slot, i64 0
  %v3.outl3 = load float, ptr %held3.outl3, align 4
  %i.outl4 = add nuw nsw i64 %i.outl, 128
  %s.outl4 = add nuw nsw i64 %s.outl, 1024
  %held3.outl4.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl4
  %held3.outl4 = getelementptr inbounds i8, ptr %held3.outl4.slot, i64 0
  %v3.outl4 = load float, ptr %held3.outl4, align 4
  %i.outl5 = add nuw nsw i64 %i.outl, 160
  %s.outl5 = add nuw nsw i64 %s.outl, 1280
  %held3.outl5.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl5
  %held3.outl5 = getelementptr inbounds i8, ptr %held3.outl5.slot, i64 0
  %v3.outl5 = load float, ptr %held3.outl5, align 4
  %i.outl6 = add nuw nsw i64 %i.outl, 192
  %s.outl6 = add nuw nsw i64 %s.outl, 1536
  %held3.outl6.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl6
  %held3.outl6 = getelementptr inbounds i8, ptr %held3.outl6.slot, i64 0
  %v3.outl6 = load float, ptr %held3.outl6, align 4
  %i.outl7 = add nuw nsw i64 %i.outl, 224
  %s.outl7 = add nuw nsw i64 %s.outl, 1792
  %held3.outl7.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outl7
  %held3.outl7 = getelementptr inbounds i8, ptr %held3.outl7.slot, i64 0
  %v3.outl7 = load float, ptr %held3.outl7, align 4
  %v5.outl0 = fdiv float %v3.outl0, %v4
  %v5.outl1 = fdiv float %v3.outl1, %v4
  %v5.outl2 = fdiv float %v3.outl2, %v4
  %v5.outl3 = fdiv float %v3.outl3, %v4
  %v5.outl4 = fdiv float %v3.outl4, %v4
  %v5.outl5 = fdiv float %v3.outl5, %v4
  %v5.outl6 = fdiv float %v3.outl6, %v4
  %v5.outl7 = fdiv float %v3.outl7, %v4
  %o0.at.outl0 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl0
  %o0.at.outl0.out.nan = fcmp uno float %v5.outl0, 0.0
  %o0.at.outl0.out = select i1 %o0.at.outl0.out.nan, float 0x7FF8000000000000, float %v5.outl0
  store float %o0.at.outl0.out, ptr %o0.at.outl0, align 4
  %o0.at.outl1 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl1
  %o0.at.outl1.out.nan = fcmp uno float %v5.outl1, 0.0
  %o0.at.outl1.out = select i1 %o0.at.outl1.out.nan, float 0x7FF8000000000000, float %v5.outl1
  store float %o0.at.outl1.out, ptr %o0.at.outl1, align 4
  %o0.at.outl2 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl2
  %o0.at.outl2.out.nan = fcmp uno float %v5.outl2, 0.0
  %o0.at.outl2.out = select i1 %o0.at.outl2.out.nan, float 0x7FF8000000000000, float %v5.outl2
  store float %o0.at.outl2.out, ptr %o0.at.outl2, align 4
  %o0.at.outl3 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl3
  %o0.at.outl3.out.nan = fcmp uno float %v5.outl3, 0.0
  %o0.at.outl3.out = select i1 %o0.at.outl3.out.nan, float 0x7FF8000000000000, float %v5.outl3
  store float %o0.at.outl3.out, ptr %o0.at.outl3, align 4
  %o0.at.outl4 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl4
  %o0.at.outl4.out.nan = fcmp uno float %v5.outl4, 0.0
  %o0.at.outl4.out = select i1 %o0.at.outl4.out.nan, float 0x7FF8000000000000, float %v5.outl4
  store float %o0.at.outl4.out, ptr %o0.at.outl4, align 4
  %o0.at.outl5 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl5
  %o0.at.outl5.out.nan = fcmp uno float %v5.outl5, 0.0
  %o0.at.outl5.out = select i1 %o0.at.outl5.out.nan, float 0x7FF8000000000000, float %v5.outl5
  store float %o0.at.outl5.out, ptr %o0.at.outl5, align 4
  %o0.at.outl6 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl6
  %o0.at.outl6.out.nan = fcmp uno float %v5.outl6, 0.0
  %o0.at.outl6.out = select i1 %o0.at.outl6.out.nan, float 0x7FF8000000000000, float %v5.outl6
  store float %o0.at.outl6.out, ptr %o0.at.outl6, align 4
  %o0.at.outl7 = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outl7
  %o0.at.outl7.out.nan = fcmp uno float %v5.outl7, 0.0
  %o0.at.outl7.out = select i1 %o0.at.outl7.out.nan, float 0x7FF8000000000000, float %v5.outl7
  store float %o0.at.outl7.out, ptr %o0.at.outl7, align 4
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
  %i.short.outlx = add nuw nsw i32 %first.out, %r.outl
  %i.outlx = zext i32 %i.short.outlx to i64
  %s.row.outlx = mul nuw nsw i32 %r.outl, 8
  %s.short.outlx = add nuw nsw i32 %s.row.outlx, %thread
  %s.outlx = zext i32 %s.short.outlx to i64
  %held3.outlx.slot = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s.outlx
  %held3.outlx = getelementptr inbounds i8, ptr %held3.outlx.slot, i64 0
  %v3.outlx = load float, ptr %held3.outlx, align 4
  %v5.outlx = fdiv float %v3.outlx, %v4
  %o0.at.outlx = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.outlx
  %o0.at.outlx.out.nan = fcmp uno float %v5.outlx, 0.0
  %o0.at.outlx.out = select i1 %o0.at.outlx.out.nan, float 0x7FF8000000000000, float %v5.outlx
  store float %o0.at.outlx.out, ptr %o0.at.outlx, align 4
  br label %join.outl

join.outl:
  %r.next.outl = add nuw nsw i32 %r.outl, 32
  br label %rests.outl

chunk.end.out:
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
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier0()
declare float @kiln_exp_f32(float)
@kept = internal addrspace(3) global [32768 x i8] undef, align 16
@lanes = internal addrspace(3) global [512 x i8] undef, align 16

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
