; kiln reduction: float32 sum(bfloat16, packed), 16 lanes of float32

define void @kiln_sum_f32_b418ea03(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) {
entry:
  %lanes0 = alloca [16 x float], align 64
  %o = load ptr, ptr %args, align 8
  %p.arg = getelementptr inbounds i64, ptr %args, i64 1
  %p = load ptr, ptr %p.arg, align 8
  %o.row = load i64, ptr %strides, align 8
  %p.rowat = getelementptr inbounds i64, ptr %strides, i64 2
  %p.row = load i64, ptr %p.rowat, align 8
  %inner = add i64 0, 2
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
  %sum = phi <16 x float> [ splat (float 0.0), %outer ], [ %sum.next, %block ]
  %more = icmp slt i64 %j, %blocks
  br i1 %more, label %block, label %end

block:
  %from = getelementptr inbounds [2 x i8], ptr %base, i64 %j
  %raw = load <16 x i16>, ptr %from, align 2
  %w.b = zext <16 x i16> %raw to <16 x i32>
  %w.s = shl <16 x i32> %w.b, splat (i32 16)
  %x = bitcast <16 x i32> %w.s to <16 x float>
  %y = bitcast <16 x float> %x to <16 x float>
  %sum.next = fadd <16 x float> %sum, %y
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
  %t.x.bits = load i16, ptr %t.at, align 2
  %t.x = call float @kiln_widen_bf16(i16 zeroext %t.x.bits)
  %t.y = bitcast float %t.x to float
  %lane0 = getelementptr inbounds float, ptr %lanes0, i64 %lane
  %old = load float, ptr %lane0, align 4
  %new = fadd float %old, %t.y
  store float %new, ptr %lane0, align 4
  %t.next = add nuw nsw i64 %t, 1
  br label %tail.test, !llvm.loop !0

finish:
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

declare float @kiln_widen_bf16(i16 zeroext)

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.width", i32 1}
