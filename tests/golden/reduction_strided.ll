; kiln reduction: float32 max(float32, strided), 16 lanes of float32

define void @kiln_max_f32_1bd917a0(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) {
entry:
  %lanes0 = alloca [16 x float], align 64
  %o = load ptr, ptr %args, align 8
  %p.arg = getelementptr inbounds i64, ptr %args, i64 1
  %p = load ptr, ptr %p.arg, align 8
  %o.row = load i64, ptr %strides, align 8
  %p.rowat = getelementptr inbounds i64, ptr %strides, i64 2
  %p.row = load i64, ptr %p.rowat, align 8
  %p.innerat = getelementptr inbounds i64, ptr %strides, i64 3
  %inner = load i64, ptr %p.innerat, align 8
  %blocks = and i64 %n, -16
  %some = icmp sgt i64 %rows, 0
  br i1 %some, label %outer, label %exit

outer:
  %row = phi i64 [ 0, %entry ], [ %row.next, %finish ]
  %o.skip = mul nsw i64 %row, %o.row
  %o.at = getelementptr inbounds i8, ptr %o, i64 %o.skip
  %p.skip = mul nsw i64 %row, %p.row
  %base = getelementptr inbounds i8, ptr %p, i64 %p.skip
  br label %block.test

block.test:
  %j = phi i64 [ 0, %outer ], [ %j.next, %block ]
  %sum = phi <16 x float> [ splat (float 0xFFF0000000000000), %outer ], [ %sum.next, %block ]
  %more = icmp slt i64 %j, %blocks
  br i1 %more, label %block, label %end

block:
  %j0 = add nuw nsw i64 %j, 0
  %j0.skip = mul nsw i64 %j0, %inner
  %at0 = getelementptr inbounds i8, ptr %base, i64 %j0.skip
  %at0_0 = getelementptr inbounds i8, ptr %at0, i64 0
  %e0_0 = load float, ptr %at0_0, align 4
  %g0_0 = insertelement <16 x float> poison, float %e0_0, i64 0
  %j1 = add nuw nsw i64 %j, 1
  %j1.skip = mul nsw i64 %j1, %inner
  %at1 = getelementptr inbounds i8, ptr %base, i64 %j1.skip
  %at0_1 = getelementptr inbounds i8, ptr %at1, i64 0
  %e0_1 = load float, ptr %at0_1, align 4
  %g0_1 = insertelement <16 x float> %g0_0, float %e0_1, i64 1
  %j2 = add nuw nsw i64 %j, 2
  %j2.skip = mul nsw i64 %j2, %inner
  %at2 = getelementptr inbounds i8, ptr %base, i64 %j2.skip
  %at0_2 = getelementptr inbounds i8, ptr %at2, i64 0
  %e0_2 = load float, ptr %at0_2, align 4
  %g0_2 = insertelement <16 x float> %g0_1, float %e0_2, i64 2
  %j3 = add nuw nsw i64 %j, 3
  %j3.skip = mul nsw i64 %j3, %inner
  %at3 = getelementptr inbounds i8, ptr %base, i64 %j3.skip
  %at0_3 = getelementptr inbounds i8, ptr %at3, i64 0
  %e0_3 = load float, ptr %at0_3, align 4
  %g0_3 = insertelement <16 x float> %g0_2, float %e0_3, i64 3
  %j4 = add nuw nsw i64 %j, 4
  %j4.skip = mul nsw i64 %j4, %inner
  %at4 = getelementptr inbounds i8, ptr %base, i64 %j4.skip
  %at0_4 = getelementptr inbounds i8, ptr %at4, i64 0
  %e0_4 = load float, ptr %at0_4, align 4
  %g0_4 = insertelement <16 x float> %g0_3, float %e0_4, i64 4
  %j5 = add nuw nsw i64 %j, 5
  %j5.skip = mul nsw i64 %j5, %inner
  %at5 = getelementptr inbounds i8, ptr %base, i64 %j5.skip
  %at0_5 = getelementptr inbounds i8, ptr %at5, i64 0
  %e0_5 = load float, ptr %at0_5, align 4
  %g0_5 = insertelement <16 x float> %g0_4, float %e0_5, i64 5
  %j6 = add nuw nsw i64 %j, 6
  %j6.skip = mul nsw i64 %j6, %inner
  %at6 = getelementptr inbounds i8, ptr %base, i64 %j6.skip
  %at0_6 = getelementptr inbounds i8, ptr %at6, i64 0
  %e0_6 = load float, ptr %at0_6, align 4
  %g0_6 = insertelement <16 x float> %g0_5, float %e0_6, i64 6
  %j7 = add nuw nsw i64 %j, 7
  %j7.skip = mul nsw i64 %j7, %inner
  %at7 = getelementptr inbounds i8, ptr %base, i64 %j7.skip
  %at0_7 = getelementptr inbounds i8, ptr %at7, i64 0
  %e0_7 = load float, ptr %at0_7, align 4
  %g0_7 = insertelement <16 x float> %g0_6, float %e0_7, i64 7
  %j8 = add nuw nsw i64 %j, 8
  %j8.skip = mul nsw i64 %j8, %inner
  %at8 = getelementptr inbounds i8, ptr %base, i64 %j8.skip
  %at0_8 = getelementptr inbounds i8, ptr %at8, i64 0
  %e0_8 = load float, ptr %at0_8, align 4
  %g0_8 = insertelement <16 x float> %g0_7, float %e0_8, i64 8
  %j9 = add nuw nsw i64 %j, 9
  %j9.skip = mul nsw i64 %j9, %inner
  %at9 = getelementptr inbounds i8, ptr %base, i64 %j9.skip
  %at0_9 = getelementptr inbounds i8, ptr %at9, i64 0
  %e0_9 = load float, ptr %at0_9, align 4
  %g0_9 = insertelement <16 x float> %g0_8, float %e0_9, i64 9
  %j10 = add nuw nsw i64 %j, 10
  %j10.skip = mul nsw i64 %j10, %inner
  %at10 = getelementptr inbounds i8, ptr %base, i64 %j10.skip
  %at0_10 = getelementptr inbounds i8, ptr %at10, i64 0
  %e0_10 = load float, ptr %at0_10, align 4
  %g0_10 = insertelement <16 x float> %g0_9, float %e0_10, i64 10
  %j11 = add nuw nsw i64 %j, 11
  %j11.skip = mul nsw i64 %j11, %inner
  %at11 = getelementptr inbounds i8, ptr %base, i64 %j11.skip
  %at0_11 = getelementptr inbounds i8, ptr %at11, i64 0
  %e0_11 = load float, ptr %at0_11, align 4
  %g0_11 = insertelement <16 x float> %g0_10, float %e0_11, i64 11
  %j12 = add nuw nsw i64 %j, 12
  %j12.skip = mul nsw i64 %j12, %inner
  %at12 = getelementptr inbounds i8, ptr %base, i64 %j12.skip
  %at0_12 = getelementptr inbounds i8, ptr %at12, i64 0
  %e0_12 = load float, ptr %at0_12, align 4
  %g0_12 = insertelement <16 x float> %g0_11, float %e0_12, i64 12
  %j13 = add nuw nsw i64 %j, 13
  %j13.skip = mul nsw i64 %j13, %inner
  %at13 = getelementptr inbounds i8, ptr %base, i64 %j13.skip
  %at0_13 = getelementptr inbounds i8, ptr %at13, i64 0
  %e0_13 = load float, ptr %at0_13, align 4
  %g0_13 = insertelement <16 x float> %g0_12, float %e0_13, i64 13
  %j14 = add nuw nsw i64 %j, 14
  %j14.skip = mul nsw i64 %j14, %inner
  %at14 = getelementptr inbounds i8, ptr %base, i64 %j14.skip
  %at0_14 = getelementptr inbounds i8, ptr %at14, i64 0
  %e0_14 = load float, ptr %at0_14, align 4
  %g0_14 = insertelement <16 x float> %g0_13, float %e0_14, i64 14
  %j15 = add nuw nsw i64 %j, 15
  %j15.skip = mul nsw i64 %j15, %inner
  %at15 = getelementptr inbounds i8, ptr %base, i64 %j15.skip
  %at0_15 = getelementptr inbounds i8, ptr %at15, i64 0
  %e0_15 = load float, ptr %at0_15, align 4
  %x = insertelement <16 x float> %g0_14, float %e0_15, i64 15
  %y = bitcast <16 x float> %x to <16 x float>
  %sum.next.a = fcmp ogt <16 x float> %sum, %y
  %sum.next.b = fcmp uno <16 x float> %sum, %sum
  %sum.next.c = or <16 x i1> %sum.next.a, %sum.next.b
  %sum.next = select <16 x i1> %sum.next.c, <16 x float> %sum, <16 x float> %y
  %j.next = add nuw nsw i64 %j, 16
  br label %block.test

end:
  store <16 x float> %sum, ptr %lanes0, align 64
  br label %tail.test

tail.test:
  %t = phi i64 [ %blocks, %end ], [ %t.next, %tail ]
  %t.more = icmp slt i64 %t, %n
  br i1 %t.more, label %tail, label %finish

tail:
  %t.skip = mul nsw i64 %t, %inner
  %t.at = getelementptr inbounds i8, ptr %base, i64 %t.skip
  %lane = sub nsw i64 %t, %blocks
  %t.x = load float, ptr %t.at, align 4
  %t.y = bitcast float %t.x to float
  %lane0 = getelementptr inbounds float, ptr %lanes0, i64 %lane
  %old = load float, ptr %lane0, align 4
  %new.a = fcmp ogt float %old, %t.y
  %new.b = fcmp uno float %old, %old
  %new.c = or i1 %new.a, %new.b
  %new = select i1 %new.c, float %old, float %t.y
  store float %new, ptr %lane0, align 4
  %t.next = add nuw nsw i64 %t, 1
  br label %tail.test, !llvm.loop !0

finish:
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
  %result = bitcast float %total to float
  %o.at.out.nan = fcmp uno float %result, 0.0
  %o.at.out = select i1 %o.at.out.nan, float 0x7FF8000000000000, float %result
  store float %o.at.out, ptr %o.at, align 4
  %row.next = add nuw nsw i64 %row, 1
  %row.done = icmp eq i64 %row.next, %rows
  br i1 %row.done, label %exit, label %outer

exit:
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.width", i32 1}
