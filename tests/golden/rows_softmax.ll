; kiln row kernel
; operand a0: float32, packed
; operation v0: float32 max(a0)
; operation v1: float32 subtract(a0, v0)
; operation v2: float32 exp(v1)
; operation v3: float32 sum(v2)
; operation v4: float32 divide(v2, v3)
; result v4: float32

define void @kiln_max_sub_exp_sum_div_f32_2b8682af(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
entry:
  %lanes0.0 = alloca [64 x float], align 64
  %tile0.0 = alloca [256 x float], align 64
  %slot0 = alloca [16 x i8], align 16
  %lanes3.0 = alloca [64 x float], align 64
  %tile3.0 = alloca [256 x float], align 64
  %slot3 = alloca [16 x i8], align 16
  %o0.arg = getelementptr inbounds i64, ptr %args, i64 0
  %o0 = load ptr, ptr %o0.arg, align 8
  %o0.rowat = getelementptr inbounds i64, ptr %strides, i64 0
  %o0.row = load i64, ptr %o0.rowat, align 8
  %p0.arg = getelementptr inbounds i64, ptr %args, i64 1
  %p0 = load ptr, ptr %p0.arg, align 8
  %p0.rowat = getelementptr inbounds i64, ptr %strides, i64 2
  %p0.row = load i64, ptr %p0.rowat, align 8
  store <64 x float> splat (float 0xFFF0000000000000), ptr %lanes0.0, align 64
  store <64 x float> splat (float 0.0), ptr %lanes3.0, align 64
  %some.rows = icmp sgt i64 %rows, 0
  br i1 %some.rows, label %outer, label %exit

outer:
  %row = phi i64 [ 0, %entry ], [ %row.next, %outer.end ]
  %o0.skip = mul nsw i64 %row, %o0.row
  %o0.base = getelementptr inbounds i8, ptr %o0, i64 %o0.skip
  %p0.skip = mul nsw i64 %row, %p0.row
  %p0.base = getelementptr inbounds i8, ptr %p0, i64 %p0.skip
  br label %tiles.0

tiles.0:
  %t.0 = phi i64 [ 0, %outer ], [ %t.next.0, %tile.end.0 ]
  %t.more.0 = icmp slt i64 %t.0, %n
  br i1 %t.more.0, label %tile.0, label %done.0

tile.0:
  %t.far.0 = add nsw i64 %t.0, 256
  %t.next.0 = call i64 @llvm.smin.i64(i64 %t.far.0, i64 %n)
  %t.count.0 = sub nsw i64 %t.next.0, %t.0
  %from0.0 = getelementptr inbounds float, ptr %p0.base, i64 %t.0
  call void @accumulate0(ptr %lanes0.0, ptr %from0.0, i64 %t.count.0)
  %t.part.0 = and i64 %t.next.0, 1023
  %t.whole.0 = icmp eq i64 %t.part.0, 0
  %t.before.0 = icmp slt i64 %t.next.0, %n
  %t.carry.0 = and i1 %t.whole.0, %t.before.0
  br i1 %t.carry.0, label %carry.0, label %tile.end.0

carry.0:
  call void @total0(ptr %lanes0.0, i64 %t.next.0, i64 %n, ptr %slot0)
  br label %tile.end.0

tile.end.0:
  br label %tiles.0

done.0:
  call void @total0(ptr %lanes0.0, i64 %n, i64 %n, ptr %slot0)
  %v0 = load float, ptr %slot0, align 4
  br label %tiles.1

tiles.1:
  %t.1 = phi i64 [ 0, %done.0 ], [ %t.next.1, %tile.end.1 ]
  %t.more.1 = icmp slt i64 %t.1, %n
  br i1 %t.more.1, label %tile.1, label %done.1

tile.1:
  %t.far.1 = add nsw i64 %t.1, 256
  %t.next.1 = call i64 @llvm.smin.i64(i64 %t.far.1, i64 %n)
  br label %inner.1

inner.1:
  %i.1 = phi i64 [ %t.1, %tile.1 ], [ %i.next.1, %inner.1 ]
  %p0.at.1 = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.1
  %a0.1 = load float, ptr %p0.at.1, align 4, !llvm.access.group !0
  %v1.1 = fsub float %a0.1, %v0
  %v2.1 = call float @kiln_exp_f32(float %v1.1)
  %k.1 = sub nsw i64 %i.1, %t.1
  %e3 = bitcast float %v2.1 to float
  %e3.at0 = getelementptr inbounds float, ptr %tile3.0, i64 %k.1
  store float %e3, ptr %e3.at0, align 4, !llvm.access.group !0
  %i.next.1 = add nuw nsw i64 %i.1, 1
  %i.done.1 = icmp eq i64 %i.next.1, %t.next.1
  br i1 %i.done.1, label %reduce.1, label %inner.1, !llvm.loop !11

reduce.1:
  %t.count.1 = sub nsw i64 %t.next.1, %t.1
  call void @accumulate3(ptr %lanes3.0, ptr %tile3.0, i64 %t.count.1)
  %t.part.1 = and i64 %t.next.1, 1023
  %t.whole.1 = icmp eq i64 %t.part.1, 0
  %t.before.1 = icmp slt i64 %t.next.1, %n
  %t.carry.1 = and i1 %t.whole.1, %t.before.1
  br i1 %t.carry.1, label %carry.1, label %tile.end.1

carry.1:
  call void @total3(ptr %lanes3.0, i64 %t.next.1, i64 %n, ptr %slot3)
  br label %tile.end.1

tile.end.1:
  br label %tiles.1

done.1:
  call void @total3(ptr %lanes3.0, i64 %n, i64 %n, ptr %slot3)
  %v3 = load float, ptr %slot3, align 4
  %some.n = icmp sgt i64 %n, 0
  br i1 %some.n, label %inner.out, label %outer.end

inner.out:
  %i.out = phi i64 [ 0, %done.1 ], [ %i.next.out, %inner.out ]
  %p0.at.out = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i.out
  %a0.out = load float, ptr %p0.at.out, align 4, !llvm.access.group !0
  %v1.out = fsub float %a0.out, %v0
  %v2.out = call float @kiln_exp_f32(float %v1.out)
  %v4.out = fdiv float %v2.out, %v3
  %o0.at = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i.out
  %o0.at.out.nan = fcmp uno float %v4.out, 0.0
  %o0.at.out = select i1 %o0.at.out.nan, float 0x7FF8000000000000, float %v4.out
  store float %o0.at.out, ptr %o0.at, align 4, !llvm.access.group !0
  %i.next.out = add nuw nsw i64 %i.out, 1
  %i.done.out = icmp eq i64 %i.next.out, %n
  br i1 %i.done.out, label %outer.end, label %inner.out, !llvm.loop !1

outer.end:
  %row.next = add nuw nsw i64 %row, 1
  %row.done = icmp eq i64 %row.next, %rows
  br i1 %row.done, label %exit, label %outer

exit:
  ret void
}

define internal void @accumulate0(ptr %lanes0.0, ptr %elements0.0, i64 %count) #0 {
entry.end:
  %entry.j = add i64 0, 0
  %entry.acc = load <16 x float>, ptr %lanes0.0, align 64
  br label %four.test

four.test:
  %four.j = phi i64 [ %entry.j, %entry.end ], [ %four.next, %four ]
  %four.acc = phi <16 x float> [ %entry.acc, %entry.end ], [ %four.new, %four ]
  %four.next = add nuw nsw i64 %four.j, 64
  %four.fits = icmp sle i64 %four.next, %count
  br i1 %four.fits, label %four, label %four.end

four:
  %four.j0 = add nuw nsw i64 %four.j, 0
  %four.at0.0 = getelementptr inbounds float, ptr %elements0.0, i64 %four.j0
  %four.x0 = load <16 x float>, ptr %four.at0.0, align 4
  %four.j1 = add nuw nsw i64 %four.j, 16
  %four.at1.0 = getelementptr inbounds float, ptr %elements0.0, i64 %four.j1
  %four.x1 = load <16 x float>, ptr %four.at1.0, align 4
  %four.j2 = add nuw nsw i64 %four.j, 32
  %four.at2.0 = getelementptr inbounds float, ptr %elements0.0, i64 %four.j2
  %four.x2 = load <16 x float>, ptr %four.at2.0, align 4
  %four.j3 = add nuw nsw i64 %four.j, 48
  %four.at3.0 = getelementptr inbounds float, ptr %elements0.0, i64 %four.j3
  %four.x3 = load <16 x float>, ptr %four.at3.0, align 4
  %four.y0.a = fcmp ogt <16 x float> %four.x0, %four.x1
  %four.y0.b = fcmp uno <16 x float> %four.x0, %four.x0
  %four.y0.c = or <16 x i1> %four.y0.a, %four.y0.b
  %four.y0 = select <16 x i1> %four.y0.c, <16 x float> %four.x0, <16 x float> %four.x1
  %four.y1.a = fcmp ogt <16 x float> %four.x2, %four.x3
  %four.y1.b = fcmp uno <16 x float> %four.x2, %four.x2
  %four.y1.c = or <16 x i1> %four.y1.a, %four.y1.b
  %four.y1 = select <16 x i1> %four.y1.c, <16 x float> %four.x2, <16 x float> %four.x3
  %four.z0.a = fcmp ogt <16 x float> %four.y0, %four.y1
  %four.z0.b = fcmp uno <16 x float> %four.y0, %four.y0
  %four.z0.c = or <16 x i1> %four.z0.a, %four.z0.b
  %four.z0 = select <16 x i1> %four.z0.c, <16 x float> %four.y0, <16 x float> %four.y1
  %four.new.a = fcmp ogt <16 x float> %four.acc, %four.z0
  %four.new.b = fcmp uno <16 x float> %four.acc, %four.acc
  %four.new.c = or <16 x i1> %four.new.a, %four.new.b
  %four.new = select <16 x i1> %four.new.c, <16 x float> %four.acc, <16 x float> %four.z0
  br label %four.test

four.end:
  br label %one.test

one.test:
  %one.j = phi i64 [ %four.j, %four.end ], [ %one.next, %one ]
  %one.acc = phi <16 x float> [ %four.acc, %four.end ], [ %one.new, %one ]
  %one.next = add nuw nsw i64 %one.j, 16
  %one.fits = icmp sle i64 %one.next, %count
  br i1 %one.fits, label %one, label %one.end

one:
  %one.j0 = add nuw nsw i64 %one.j, 0
  %one.at0.0 = getelementptr inbounds float, ptr %elements0.0, i64 %one.j0
  %one.x0 = load <16 x float>, ptr %one.at0.0, align 4
  %one.new.a = fcmp ogt <16 x float> %one.acc, %one.x0
  %one.new.b = fcmp uno <16 x float> %one.acc, %one.acc
  %one.new.c = or <16 x i1> %one.new.a, %one.new.b
  %one.new = select <16 x i1> %one.new.c, <16 x float> %one.acc, <16 x float> %one.x0
  br label %one.test

one.end:
  %left = sub nsw i64 %count, %one.j
  %is.left = icmp ne i64 %left, 0
  br i1 %is.left, label %tail, label %exit

tail:
  %mask.n = trunc i64 %left to i32
  %mask.one = insertelement <16 x i32> poison, i32 %mask.n, i64 0
  %mask.all = shufflevector <16 x i32> %mask.one, <16 x i32> poison, <16 x i32> zeroinitializer
  %mask = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %mask.all
  %x.at0 = getelementptr inbounds float, ptr %elements0.0, i64 %one.j
  %x = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %x.at0, i32 4, <16 x i1> %mask, <16 x float> zeroinitializer)
  %new.all.a = fcmp ogt <16 x float> %one.acc, %x
  %new.all.b = fcmp uno <16 x float> %one.acc, %one.acc
  %new.all.c = or <16 x i1> %new.all.a, %new.all.b
  %new.all = select <16 x i1> %new.all.c, <16 x float> %one.acc, <16 x float> %x
  %new = select <16 x i1> %mask, <16 x float> %new.all, <16 x float> %one.acc
  br label %exit

exit:
  %all = phi <16 x float> [ %one.acc, %one.end ], [ %new, %tail ]
  store <16 x float> %all, ptr %lanes0.0, align 64
  ret void
}

define internal void @total0(ptr %lanes0.0, i64 %at, i64 %n, ptr %to) #0 {
entry:
  %is.end = icmp eq i64 %at, %n
  br label %level

level:
  %skip = phi i64 [ 0, %entry ], [ %skip.next, %carry ]
  %bits = phi i64 [ 10, %entry ], [ %bits.next, %carry ]
  %lanes0 = getelementptr inbounds float, ptr %lanes0.0, i64 %skip
  %c16 = load <16 x float>, ptr %lanes0, align 64
  %l8 = shufflevector <16 x float> %c16, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %h8 = shufflevector <16 x float> %c16, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %c8.a = fcmp ogt <8 x float> %l8, %h8
  %c8.b = fcmp uno <8 x float> %l8, %l8
  %c8.c = or <8 x i1> %c8.a, %c8.b
  %c8 = select <8 x i1> %c8.c, <8 x float> %l8, <8 x float> %h8
  %l4 = shufflevector <8 x float> %c8, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %h4 = shufflevector <8 x float> %c8, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %c4.a = fcmp ogt <4 x float> %l4, %h4
  %c4.b = fcmp uno <4 x float> %l4, %l4
  %c4.c = or <4 x i1> %c4.a, %c4.b
  %c4 = select <4 x i1> %c4.c, <4 x float> %l4, <4 x float> %h4
  %l2 = shufflevector <4 x float> %c4, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %h2 = shufflevector <4 x float> %c4, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %c2.a = fcmp ogt <2 x float> %l2, %h2
  %c2.b = fcmp uno <2 x float> %l2, %l2
  %c2.c = or <2 x i1> %c2.a, %c2.b
  %c2 = select <2 x i1> %c2.c, <2 x float> %l2, <2 x float> %h2
  %l1 = shufflevector <2 x float> %c2, <2 x float> poison, <1 x i32> <i32 0>
  %h1 = shufflevector <2 x float> %c2, <2 x float> poison, <1 x i32> <i32 1>
  %c1.a = fcmp ogt <1 x float> %l1, %h1
  %c1.b = fcmp uno <1 x float> %l1, %l1
  %c1.c = or <1 x i1> %c1.a, %c1.b
  %c1 = select <1 x i1> %c1.c, <1 x float> %l1, <1 x float> %h1
  %total = extractelement <1 x float> %c1, i64 0
  store <16 x float> splat (float 0xFFF0000000000000), ptr %lanes0, align 64
  %span = shl i64 1, %bits
  %is.top = icmp sge i64 %span, %n
  %is.all = and i1 %is.end, %is.top
  br i1 %is.all, label %leave, label %carry

carry:
  %last = sub nsw i64 %at, 1
  %number = lshr i64 %last, %bits
  %lane = and i64 %number, 15
  %skip.next = add nuw nsw i64 %skip, 16
  %to.lane = add nuw nsw i64 %skip.next, %lane
  %up.at0 = getelementptr inbounds float, ptr %lanes0.0, i64 %to.lane
  %old = load float, ptr %up.at0, align 4
  %new.a = fcmp ogt float %old, %total
  %new.b = fcmp uno float %old, %old
  %new.c = or i1 %new.a, %new.b
  %new = select i1 %new.c, float %old, float %total
  store float %new, ptr %up.at0, align 4
  %bits.next = add nuw nsw i64 %bits, 10
  %mask = shl i64 -1, %bits.next
  %floor = and i64 %at, %mask
  %is.whole = icmp eq i64 %floor, %at
  %goes.on = or i1 %is.end, %is.whole
  br i1 %goes.on, label %level, label %exit

leave:
  %result = bitcast float %total to float
  %to.out.nan = fcmp uno float %result, 0.0
  %to.out = select i1 %to.out.nan, float 0x7FF8000000000000, float %result
  store float %to.out, ptr %to, align 4
  br label %exit

exit:
  ret void
}

define internal void @accumulate3(ptr %lanes3.0, ptr %elements3.0, i64 %count) #0 {
entry.end:
  %entry.j = add i64 0, 0
  %entry.acc = load <16 x float>, ptr %lanes3.0, align 64
  br label %one.test

one.test:
  %one.j = phi i64 [ %entry.j, %entry.end ], [ %one.next, %one ]
  %one.acc = phi <16 x float> [ %entry.acc, %entry.end ], [ %one.new, %one ]
  %one.next = add nuw nsw i64 %one.j, 16
  %one.fits = icmp sle i64 %one.next, %count
  br i1 %one.fits, label %one, label %one.end

one:
  %one.j0 = add nuw nsw i64 %one.j, 0
  %one.at0.0 = getelementptr inbounds float, ptr %elements3.0, i64 %one.j0
  %one.x0 = load <16 x float>, ptr %one.at0.0, align 4
  %one.new = fadd <16 x float> %one.acc, %one.x0
  br label %one.test

one.end:
  %left = sub nsw i64 %count, %one.j
  %is.left = icmp ne i64 %left, 0
  br i1 %is.left, label %tail, label %exit

tail:
  %mask.n = trunc i64 %left to i32
  %mask.one = insertelement <16 x i32> poison, i32 %mask.n, i64 0
  %mask.all = shufflevector <16 x i32> %mask.one, <16 x i32> poison, <16 x i32> zeroinitializer
  %mask = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %mask.all
  %x.at0 = getelementptr inbounds float, ptr %elements3.0, i64 %one.j
  %x = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %x.at0, i32 4, <16 x i1> %mask, <16 x float> zeroinitializer)
  %new.all = fadd <16 x float> %one.acc, %x
  %new = select <16 x i1> %mask, <16 x float> %new.all, <16 x float> %one.acc
  br label %exit

exit:
  %all = phi <16 x float> [ %one.acc, %one.end ], [ %new, %tail ]
  store <16 x float> %all, ptr %lanes3.0, align 64
  ret void
}

define internal void @total3(ptr %lanes3.0, i64 %at, i64 %n, ptr %to) #0 {
entry:
  %is.end = icmp eq i64 %at, %n
  br label %level

level:
  %skip = phi i64 [ 0, %entry ], [ %skip.next, %carry ]
  %bits = phi i64 [ 10, %entry ], [ %bits.next, %carry ]
  %lanes0 = getelementptr inbounds float, ptr %lanes3.0, i64 %skip
  %c16 = load <16 x float>, ptr %lanes0, align 64
  %l8 = shufflevector <16 x float> %c16, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %h8 = shufflevector <16 x float> %c16, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %c8 = fadd <8 x float> %l8, %h8
  %l4 = shufflevector <8 x float> %c8, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %h4 = shufflevector <8 x float> %c8, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %c4 = fadd <4 x float> %l4, %h4
  %l2 = shufflevector <4 x float> %c4, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %h2 = shufflevector <4 x float> %c4, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %c2 = fadd <2 x float> %l2, %h2
  %l1 = shufflevector <2 x float> %c2, <2 x float> poison, <1 x i32> <i32 0>
  %h1 = shufflevector <2 x float> %c2, <2 x float> poison, <1 x i32> <i32 1>
  %c1 = fadd <1 x float> %l1, %h1
  %total = extractelement <1 x float> %c1, i64 0
  store <16 x float> splat (float 0.0), ptr %lanes0, align 64
  %span = shl i64 1, %bits
  %is.top = icmp sge i64 %span, %n
  %is.all = and i1 %is.end, %is.top
  br i1 %is.all, label %leave, label %carry

carry:
  %last = sub nsw i64 %at, 1
  %number = lshr i64 %last, %bits
  %lane = and i64 %number, 15
  %skip.next = add nuw nsw i64 %skip, 16
  %to.lane = add nuw nsw i64 %skip.next, %lane
  %up.at0 = getelementptr inbounds float, ptr %lanes3.0, i64 %to.lane
  %old = load float, ptr %up.at0, align 4
  %new = fadd float %old, %total
  store float %new, ptr %up.at0, align 4
  %bits.next = add nuw nsw i64 %bits, 10
  %mask = shl i64 -1, %bits.next
  %floor = and i64 %at, %mask
  %is.whole = icmp eq i64 %floor, %at
  %goes.on = or i1 %is.end, %is.whole
  br i1 %goes.on, label %level, label %exit

leave:
  %result = bitcast float %total to float
  %to.out.nan = fcmp uno float %result, 0.0
  %to.out = select i1 %to.out.nan, float 0x7FF8000000000000, float %result
  store float %to.out, ptr %to, align 4
  br label %exit

exit:
  ret void
}

!10 = distinct !{!10, !2, !7}
!11 = distinct !{!11, !2, !7}

declare float @kiln_exp_f32(float)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)

!0 = distinct !{}
!1 = distinct !{!1, !2, !7}
!2 = !{!"llvm.loop.parallel_accesses", !0}
!7 = !{!"llvm.loop.interleave.count", i32 2}
attributes #0 = { "prefer-vector-width"="512" }
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.vectorize.width", i32 1}
