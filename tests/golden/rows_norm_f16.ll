; kiln row kernel
; operand a0: float16, strided
; operand a1: float16, scalar
; constant c0: float16
; operation v0: float16 square(a0)
; operation v1: float16 sum(v0)
; operation v2: float16 multiply(v1, c0)
; operation v3: float16 add(v2, a1)
; operation v4: float16 rsqrt(v3)
; operation v5: float16 multiply(a0, v4)
; result v5: float16
; result v4: float16

define void @kiln_square_sum_mul_add_rsqrt_mul_f16_befc5376(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
entry:
  %lanes1.0 = alloca [64 x float], align 64
  %tile1.0 = alloca [256 x float], align 64
  %slot1 = alloca [16 x i8], align 16
  %o0.arg = getelementptr inbounds i64, ptr %args, i64 0
  %o0 = load ptr, ptr %o0.arg, align 8
  %o0.rowat = getelementptr inbounds i64, ptr %strides, i64 0
  %o0.row = load i64, ptr %o0.rowat, align 8
  %o1.arg = getelementptr inbounds i64, ptr %args, i64 1
  %o1 = load ptr, ptr %o1.arg, align 8
  %o1.rowat = getelementptr inbounds i64, ptr %strides, i64 2
  %o1.row = load i64, ptr %o1.rowat, align 8
  %p0.arg = getelementptr inbounds i64, ptr %args, i64 2
  %p0 = load ptr, ptr %p0.arg, align 8
  %p0.rowat = getelementptr inbounds i64, ptr %strides, i64 4
  %p0.row = load i64, ptr %p0.rowat, align 8
  %p0.innerat = getelementptr inbounds i64, ptr %strides, i64 5
  %p0.inner = load i64, ptr %p0.innerat, align 8
  %p1.arg = getelementptr inbounds i64, ptr %args, i64 3
  %p1 = load ptr, ptr %p1.arg, align 8
  %p1.rowat = getelementptr inbounds i64, ptr %strides, i64 6
  %p1.row = load i64, ptr %p1.rowat, align 8
  %k0.arg = getelementptr inbounds i64, ptr %args, i64 4
  %k0 = load i64, ptr %k0.arg, align 8
  %c0.bits = trunc i64 %k0 to i16
  %c0 = call float @kiln_widen_f16(i16 zeroext %c0.bits)
  store <64 x float> splat (float 0.0), ptr %lanes1.0, align 64
  %some.rows = icmp sgt i64 %rows, 0
  br i1 %some.rows, label %outer, label %exit

outer:
  %row = phi i64 [ 0, %entry ], [ %row.next, %outer.end ]
  %o0.skip = mul nsw i64 %row, %o0.row
  %o0.base = getelementptr inbounds i8, ptr %o0, i64 %o0.skip
  %o1.skip = mul nsw i64 %row, %o1.row
  %o1.base = getelementptr inbounds i8, ptr %o1, i64 %o1.skip
  %p0.skip = mul nsw i64 %row, %p0.row
  %p0.base = getelementptr inbounds i8, ptr %p0, i64 %p0.skip
  %p1.skip = mul nsw i64 %row, %p1.row
  %p1.base = getelementptr inbounds i8, ptr %p1, i64 %p1.skip
  %a1.bits = load i16, ptr %p1.base, align 2
  %a1 = call float @kiln_widen_f16(i16 zeroext %a1.bits)
  br label %tiles.0

tiles.0:
  %t.0 = phi i64 [ 0, %outer ], [ %t.next.0, %tile.end.0 ]
  %t.more.0 = icmp slt i64 %t.0, %n
  br i1 %t.more.0, label %tile.0, label %done.0

tile.0:
  %t.far.0 = add nsw i64 %t.0, 256
  %t.next.0 = call i64 @llvm.smin.i64(i64 %t.far.0, i64 %n)
  br label %inner.0

inner.0:
  %i.0 = phi i64 [ %t.0, %tile.0 ], [ %i.next.0, %inner.0 ]
  %p0.off.0 = mul nsw i64 %i.0, %p0.inner
  %p0.at.0 = getelementptr inbounds i8, ptr %p0.base, i64 %p0.off.0
  %a0.0.bits = load i16, ptr %p0.at.0, align 2, !llvm.access.group !0
  %a0.0 = call float @kiln_widen_f16(i16 zeroext %a0.0.bits)
  %v0.0.wide = fmul float %a0.0, %a0.0
  %v0.0.bits = call zeroext i16 @kiln_narrow_f16(float %v0.0.wide)
  %v0.0 = call float @kiln_round_f16(float %v0.0.wide)
  %k.0 = sub nsw i64 %i.0, %t.0
  %e1 = bitcast float %v0.0 to float
  %e1.at0 = getelementptr inbounds float, ptr %tile1.0, i64 %k.0
  store float %e1, ptr %e1.at0, align 4, !llvm.access.group !0
  %i.next.0 = add nuw nsw i64 %i.0, 1
  %i.done.0 = icmp eq i64 %i.next.0, %t.next.0
  br i1 %i.done.0, label %reduce.0, label %inner.0, !llvm.loop !10

reduce.0:
  %t.count.0 = sub nsw i64 %t.next.0, %t.0
  call void @accumulate1(ptr %lanes1.0, ptr %tile1.0, i64 %t.count.0)
  %t.part.0 = and i64 %t.next.0, 1023
  %t.whole.0 = icmp eq i64 %t.part.0, 0
  %t.before.0 = icmp slt i64 %t.next.0, %n
  %t.carry.0 = and i1 %t.whole.0, %t.before.0
  br i1 %t.carry.0, label %carry.0, label %tile.end.0

carry.0:
  call void @total1(ptr %lanes1.0, i64 %t.next.0, i64 %n, ptr %slot1)
  br label %tile.end.0

tile.end.0:
  br label %tiles.0

done.0:
  call void @total1(ptr %lanes1.0, i64 %n, i64 %n, ptr %slot1)
  %v1.bits = load i16, ptr %slot1, align 2
  %v1 = call float @kiln_widen_f16(i16 zeroext %v1.bits)
  %v2.wide = fmul float %v1, %c0
  %v2.bits = call zeroext i16 @kiln_narrow_f16(float %v2.wide)
  %v2 = call float @kiln_round_f16(float %v2.wide)
  %v3.wide = fadd float %v2, %a1
  %v3.bits = call zeroext i16 @kiln_narrow_f16(float %v3.wide)
  %v3 = call float @kiln_round_f16(float %v3.wide)
  %v4.wide.a = call float @llvm.sqrt.f32(float %v3)
  %v4.wide = fdiv float 1.0, %v4.wide.a
  %v4.bits = call zeroext i16 @kiln_narrow_f16(float %v4.wide)
  %v4 = call float @kiln_round_f16(float %v4.wide)
  %some.n = icmp sgt i64 %n, 0
  br i1 %some.n, label %inner.out, label %outer.end

inner.out:
  %i.out = phi i64 [ 0, %done.0 ], [ %i.next.out, %inner.out ]
  %p0.off.out = mul nsw i64 %i.out, %p0.inner
  %p0.at.out = getelementptr inbounds i8, ptr %p0.base, i64 %p0.off.out
  %a0.out.bits = load i16, ptr %p0.at.out, align 2, !llvm.access.group !0
  %a0.out = call float @kiln_widen_f16(i16 zeroext %a0.out.bits)
  %v5.out.wide = fmul float %a0.out, %v4
  %v5.out.bits = call zeroext i16 @kiln_narrow_f16(float %v5.out.wide)
  %v5.out = call float @kiln_round_f16(float %v5.out.wide)
  %o0.at = getelementptr inbounds [2 x i8], ptr %o0.base, i64 %i.out
  store i16 %v5.out.bits, ptr %o0.at, align 2, !llvm.access.group !0
  %i.next.out = add nuw nsw i64 %i.out, 1
  %i.done.out = icmp eq i64 %i.next.out, %n
  br i1 %i.done.out, label %outer.end, label %inner.out, !llvm.loop !1

outer.end:
  store i16 %v4.bits, ptr %o1.base, align 2
  %row.next = add nuw nsw i64 %row, 1
  %row.done = icmp eq i64 %row.next, %rows
  br i1 %row.done, label %exit, label %outer

exit:
  ret void
}

define internal void @accumulate1(ptr %lanes1.0, ptr %elements1.0, i64 %count) #0 {
entry.end:
  %entry.j = add i64 0, 0
  %entry.acc = load <16 x float>, ptr %lanes1.0, align 64
  br label %one.test

one.test:
  %one.j = phi i64 [ %entry.j, %entry.end ], [ %one.next, %one ]
  %one.acc = phi <16 x float> [ %entry.acc, %entry.end ], [ %one.new, %one ]
  %one.next = add nuw nsw i64 %one.j, 16
  %one.fits = icmp sle i64 %one.next, %count
  br i1 %one.fits, label %one, label %one.end

one:
  %one.j0 = add nuw nsw i64 %one.j, 0
  %one.at0.0 = getelementptr inbounds float, ptr %elements1.0, i64 %one.j0
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
  %x.at0 = getelementptr inbounds float, ptr %elements1.0, i64 %one.j
  %x = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %x.at0, i32 4, <16 x i1> %mask, <16 x float> zeroinitializer)
  %new.all = fadd <16 x float> %one.acc, %x
  %new = select <16 x i1> %mask, <16 x float> %new.all, <16 x float> %one.acc
  br label %exit

exit:
  %all = phi <16 x float> [ %one.acc, %one.end ], [ %new, %tail ]
  store <16 x float> %all, ptr %lanes1.0, align 64
  ret void
}

define internal void @total1(ptr %lanes1.0, i64 %at, i64 %n, ptr %to) #0 {
entry:
  %is.end = icmp eq i64 %at, %n
  br label %level

level:
  %skip = phi i64 [ 0, %entry ], [ %skip.next, %carry ]
  %bits = phi i64 [ 10, %entry ], [ %bits.next, %carry ]
  %lanes0 = getelementptr inbounds float, ptr %lanes1.0, i64 %skip
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
  %up.at0 = getelementptr inbounds float, ptr %lanes1.0, i64 %to.lane
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
  %result.wide = bitcast float %total to float
  %result.bits = call zeroext i16 @kiln_narrow_f16(float %result.wide)
  %result = call float @kiln_round_f16(float %result.wide)
  store i16 %result.bits, ptr %to, align 2
  br label %exit

exit:
  ret void
}

!10 = distinct !{!10, !2}

declare float @kiln_widen_f16(i16 zeroext)
declare zeroext i16 @kiln_narrow_f16(float)
declare float @kiln_round_f16(float)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
attributes #0 = { "prefer-vector-width"="512" }
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.vectorize.width", i32 1}
