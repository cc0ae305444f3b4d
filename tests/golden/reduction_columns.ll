; kiln reduction: float32 sum(float32, rows), 16 lanes of float32

define void @kiln_sum_f32_c46ac505(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) {
entry:
  %lanes0 = alloca [32768 x float], align 64
  %o = load ptr, ptr %args, align 8
  %p.arg = getelementptr inbounds i64, ptr %args, i64 1
  %p = load ptr, ptr %p.arg, align 8
  %innerat = getelementptr inbounds i64, ptr %strides, i64 3
  %inner = load i64, ptr %innerat, align 8
  %used1 = add i64 0, 1
  %over1 = icmp sgt i64 %n, 1
  %used2 = select i1 %over1, i64 2, i64 %used1
  %over2 = icmp sgt i64 %n, 2
  %used4 = select i1 %over2, i64 4, i64 %used2
  %over4 = icmp sgt i64 %n, 4
  %used8 = select i1 %over4, i64 8, i64 %used4
  %over8 = icmp sgt i64 %n, 8
  %used = select i1 %over8, i64 16, i64 %used8
  %some = icmp sgt i64 %rows, 0
  br i1 %some, label %stripe, label %exit

stripe:
  %col = phi i64 [ 0, %entry ], [ %col.next, %z.end ]
  %left.over = sub nsw i64 %rows, %col
  %narrow = icmp slt i64 %left.over, 2048
  %width = select i1 %narrow, i64 %left.over, i64 2048
  %base = getelementptr inbounds [4 x i8], ptr %p, i64 %col
  %out = getelementptr inbounds [4 x i8], ptr %o, i64 %col
  br label %s.before

s.before:
  br label %s.body

s.body:
  %s = phi i64 [ 0, %s.before ], [ %s.next, %s.latch ]
  br label %t.before

t.before:
  br label %t.body

t.body:
  %t = phi i64 [ 0, %t.before ], [ %t.next, %t.latch ]
  %first.row = mul nuw nsw i64 %s, 2048
  %first.idx = add nuw nsw i64 %first.row, %t
  %first.at = getelementptr inbounds float, ptr %lanes0, i64 %first.idx
  store float 0.0, ptr %first.at, align 4, !llvm.access.group !0
  br label %t.latch

t.latch:
  %t.next = add nuw nsw i64 %t, 1
  %t.done = icmp eq i64 %t.next, %width
  br i1 %t.done, label %t.end, label %t.body, !llvm.loop !1

t.end:
  br label %s.latch

s.latch:
  %s.next = add nuw nsw i64 %s, 1
  %s.done = icmp eq i64 %s.next, %used
  br i1 %s.done, label %s.end, label %s.body

s.end:
  %lap = mul nsw i64 %inner, 16
  %blocks = lshr i64 %n, 6
  %done = shl i64 %blocks, 6
  %some.blocks = icmp sgt i64 %blocks, 0
  br i1 %some.blocks, label %block, label %rest.test

block:
  br label %b.before

b.before:
  br label %b.body

b.body:
  %b = phi i64 [ 0, %b.before ], [ %b.next, %b.latch ]
  br label %q.before

q.before:
  br label %q.body

q.body:
  %q = phi i64 [ 0, %q.before ], [ %q.next, %q.latch ]
  %b.first = shl i64 %b, 6
  %b.row = add nuw nsw i64 %b.first, %q
  %f.skip = mul nsw i64 %b.row, %inner
  %f.row0 = getelementptr inbounds i8, ptr %base, i64 %f.skip
  %f.lane = and i64 %b.row, 15
  %f.row1 = getelementptr inbounds i8, ptr %f.row0, i64 %lap
  %f.row2 = getelementptr inbounds i8, ptr %f.row1, i64 %lap
  %f.row3 = getelementptr inbounds i8, ptr %f.row2, i64 %lap
  br label %c.before

c.before:
  br label %c.body

c.body:
  %c = phi i64 [ 0, %c.before ], [ %c.next, %c.latch ]
  %f.old.row = mul nuw nsw i64 %f.lane, 2048
  %f.old.idx = add nuw nsw i64 %f.old.row, %c
  %f.old.at = getelementptr inbounds float, ptr %lanes0, i64 %f.old.idx
  %f.old = load float, ptr %f.old.at, align 4, !llvm.access.group !0
  %f.from0 = getelementptr inbounds [4 x i8], ptr %f.row0, i64 %c
  %f.x0 = load float, ptr %f.from0, align 4, !llvm.access.group !0
  %f.y0 = bitcast float %f.x0 to float
  %f.sum0 = fadd float %f.old, %f.y0
  %f.from1 = getelementptr inbounds [4 x i8], ptr %f.row1, i64 %c
  %f.x1 = load float, ptr %f.from1, align 4, !llvm.access.group !0
  %f.y1 = bitcast float %f.x1 to float
  %f.sum1 = fadd float %f.sum0, %f.y1
  %f.from2 = getelementptr inbounds [4 x i8], ptr %f.row2, i64 %c
  %f.x2 = load float, ptr %f.from2, align 4, !llvm.access.group !0
  %f.y2 = bitcast float %f.x2 to float
  %f.sum2 = fadd float %f.sum1, %f.y2
  %f.from3 = getelementptr inbounds [4 x i8], ptr %f.row3, i64 %c
  %f.x3 = load float, ptr %f.from3, align 4, !llvm.access.group !0
  %f.y3 = bitcast float %f.x3 to float
  %f.sum3 = fadd float %f.sum2, %f.y3
  store float %f.sum3, ptr %f.old.at, align 4, !llvm.access.group !0
  br label %c.latch

c.latch:
  %c.next = add nuw nsw i64 %c, 1
  %c.done = icmp eq i64 %c.next, %width
  br i1 %c.done, label %c.end, label %c.body, !llvm.loop !1

c.end:
  br label %q.latch

q.latch:
  %q.next = add nuw nsw i64 %q, 1
  %q.done = icmp eq i64 %q.next, 16
  br i1 %q.done, label %q.end, label %q.body

q.end:
  br label %b.latch

b.latch:
  %b.next = add nuw nsw i64 %b, 1
  %b.done = icmp eq i64 %b.next, %blocks
  br i1 %b.done, label %b.end, label %b.body

b.end:
  br label %rest.test

rest.test:
  %rest = sub nsw i64 %n, %done
  %some.rest = icmp sgt i64 %rest, 0
  br i1 %some.rest, label %rest.from, label %half.from

rest.from:
  br label %j.before

j.before:
  br label %j.body

j.body:
  %j = phi i64 [ 0, %j.before ], [ %j.next, %j.latch ]
  %j.row = add nuw nsw i64 %done, %j
  %g.skip = mul nsw i64 %j.row, %inner
  %g.row0 = getelementptr inbounds i8, ptr %base, i64 %g.skip
  %g.lane = and i64 %j.row, 15
  br label %d.before

d.before:
  br label %d.body

d.body:
  %d = phi i64 [ 0, %d.before ], [ %d.next, %d.latch ]
  %g.old.row = mul nuw nsw i64 %g.lane, 2048
  %g.old.idx = add nuw nsw i64 %g.old.row, %d
  %g.old.at = getelementptr inbounds float, ptr %lanes0, i64 %g.old.idx
  %g.old = load float, ptr %g.old.at, align 4, !llvm.access.group !0
  %g.from0 = getelementptr inbounds [4 x i8], ptr %g.row0, i64 %d
  %g.x0 = load float, ptr %g.from0, align 4, !llvm.access.group !0
  %g.y0 = bitcast float %g.x0 to float
  %g.sum0 = fadd float %g.old, %g.y0
  store float %g.sum0, ptr %g.old.at, align 4, !llvm.access.group !0
  br label %d.latch

d.latch:
  %d.next = add nuw nsw i64 %d, 1
  %d.done = icmp eq i64 %d.next, %width
  br i1 %d.done, label %d.end, label %d.body, !llvm.loop !1

d.end:
  br label %j.latch

j.latch:
  %j.next = add nuw nsw i64 %j, 1
  %j.done = icmp eq i64 %j.next, %rest
  br i1 %j.done, label %j.end, label %j.body

j.end:
  br label %half.from

half.from:
  br label %half.test

half.test:
  %whole = phi i64 [ %used, %half.from ], [ %half, %k.end ]
  %half = lshr i64 %whole, 1
  %half.more = icmp ne i64 %half, 0
  br i1 %half.more, label %half.body, label %finish

half.body:
  br label %k.before

k.before:
  br label %k.body

k.body:
  %k = phi i64 [ 0, %k.before ], [ %k.next, %k.latch ]
  %other = add nuw nsw i64 %k, %half
  br label %m.before

m.before:
  br label %m.body

m.body:
  %m = phi i64 [ 0, %m.before ], [ %m.next, %m.latch ]
  %left.row = mul nuw nsw i64 %k, 2048
  %left.idx = add nuw nsw i64 %left.row, %m
  %left.at = getelementptr inbounds float, ptr %lanes0, i64 %left.idx
  %left = load float, ptr %left.at, align 4, !llvm.access.group !0
  %right.row = mul nuw nsw i64 %other, 2048
  %right.idx = add nuw nsw i64 %right.row, %m
  %right.at = getelementptr inbounds float, ptr %lanes0, i64 %right.idx
  %right = load float, ptr %right.at, align 4, !llvm.access.group !0
  %both = fadd float %left, %right
  store float %both, ptr %left.at, align 4, !llvm.access.group !0
  br label %m.latch

m.latch:
  %m.next = add nuw nsw i64 %m, 1
  %m.done = icmp eq i64 %m.next, %width
  br i1 %m.done, label %m.end, label %m.body, !llvm.loop !1

m.end:
  br label %k.latch

k.latch:
  %k.next = add nuw nsw i64 %k, 1
  %k.done = icmp eq i64 %k.next, %half
  br i1 %k.done, label %k.end, label %k.body

k.end:
  br label %half.test

finish:
  br label %z.before

z.before:
  br label %z.body

z.body:
  %z = phi i64 [ 0, %z.before ], [ %z.next, %z.latch ]
  %total.row = mul nuw nsw i64 0, 2048
  %total.idx = add nuw nsw i64 %total.row, %z
  %total.at = getelementptr inbounds float, ptr %lanes0, i64 %total.idx
  %total = load float, ptr %total.at, align 4, !llvm.access.group !0
  %z.to = getelementptr inbounds [4 x i8], ptr %out, i64 %z
  %result = bitcast float %total to float
  %z.to.out.nan = fcmp uno float %result, 0.0
  %z.to.out = select i1 %z.to.out.nan, float 0x7FF8000000000000, float %result
  store float %z.to.out, ptr %z.to, align 4, !llvm.access.group !0
  br label %z.latch

z.latch:
  %z.next = add nuw nsw i64 %z, 1
  %z.done = icmp eq i64 %z.next, %width
  br i1 %z.done, label %z.end, label %z.body, !llvm.loop !1

z.end:
  %col.next = add nsw i64 %col, %width
  %col.done = icmp eq i64 %col.next, %rows
  br i1 %col.done, label %exit, label %stripe

exit:
  ret void
}

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
