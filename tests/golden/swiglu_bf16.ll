; kiln element-wise kernel
; operand a0: bfloat16, packed
; operand a1: bfloat16, packed
; operation v0: bfloat16 sigmoid(a0)
; operation v1: bfloat16 multiply(a0, v0)
; operation v2: bfloat16 multiply(v1, a1)
; result v2: bfloat16

define void @kiln_sigmoid_mul_mul_bf16_05dcae08(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
entry:
  %o0.arg = getelementptr inbounds i64, ptr %args, i64 0
  %o0 = load ptr, ptr %o0.arg, align 8
  %o0.rowat = getelementptr inbounds i64, ptr %strides, i64 0
  %o0.row = load i64, ptr %o0.rowat, align 8
  %p0.arg = getelementptr inbounds i64, ptr %args, i64 1
  %p0 = load ptr, ptr %p0.arg, align 8
  %p0.rowat = getelementptr inbounds i64, ptr %strides, i64 2
  %p0.row = load i64, ptr %p0.rowat, align 8
  %p1.arg = getelementptr inbounds i64, ptr %args, i64 2
  %p1 = load ptr, ptr %p1.arg, align 8
  %p1.rowat = getelementptr inbounds i64, ptr %strides, i64 4
  %p1.row = load i64, ptr %p1.rowat, align 8
  %count = add i64 %n, 0
  %some.rows = icmp sgt i64 %rows, 0
  %some.n = icmp sgt i64 %n, 0
  %some = and i1 %some.rows, %some.n
  br i1 %some, label %outer, label %exit

outer:
  %row = phi i64 [ 0, %entry ], [ %row.next, %outer.end ]
  %o0.skip = mul nsw i64 %row, %o0.row
  %o0.base = getelementptr inbounds i8, ptr %o0, i64 %o0.skip
  %p0.skip = mul nsw i64 %row, %p0.row
  %p0.base = getelementptr inbounds i8, ptr %p0, i64 %p0.skip
  %p1.skip = mul nsw i64 %row, %p1.row
  %p1.base = getelementptr inbounds i8, ptr %p1, i64 %p1.skip
  br label %inner

inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %p0.at = getelementptr inbounds [2 x i8], ptr %p0.base, i64 %i
  %a0.bits = load i16, ptr %p0.at, align 2, !llvm.access.group !0
  %a0 = call float @kiln_widen_bf16(i16 zeroext %a0.bits)
  %p1.at = getelementptr inbounds [2 x i8], ptr %p1.base, i64 %i
  %a1.bits = load i16, ptr %p1.at, align 2, !llvm.access.group !0
  %a1 = call float @kiln_widen_bf16(i16 zeroext %a1.bits)
  %v0.wide = call float @kiln_sigmoid_bf16(float %a0)
  %v0.bits = call zeroext i16 @kiln_narrow_bf16(float %v0.wide)
  %v0 = call float @kiln_round_bf16(float %v0.wide)
  %v1.wide = fmul float %a0, %v0
  %v1.bits = call zeroext i16 @kiln_narrow_bf16(float %v1.wide)
  %v1 = call float @kiln_round_bf16(float %v1.wide)
  %v2.wide = fmul float %v1, %a1
  %v2.bits = call zeroext i16 @kiln_narrow_bf16(float %v2.wide)
  %v2 = call float @kiln_round_bf16(float %v2.wide)
  %o0.at = getelementptr inbounds [2 x i8], ptr %o0.base, i64 %i
  store i16 %v2.bits, ptr %o0.at, align 2, !llvm.access.group !0
  %i.next = add nuw nsw i64 %i, 1
  %i.done = icmp eq i64 %i.next, %count
  br i1 %i.done, label %outer.end, label %inner, !llvm.loop !1

outer.end:
  %row.next = add nuw nsw i64 %row, 1
  %row.done = icmp eq i64 %row.next, %rows
  br i1 %row.done, label %exit, label %outer

exit:
  ret void
}

declare float @kiln_widen_bf16(i16 zeroext)
declare float @kiln_sigmoid_bf16(float)
declare zeroext i16 @kiln_narrow_bf16(float)
declare float @kiln_round_bf16(float)

!0 = distinct !{}
!1 = distinct !{!1, !2, !7}
!2 = !{!"llvm.loop.parallel_accesses", !0}
!7 = !{!"llvm.loop.interleave.count", i32 4}
attributes #0 = { "prefer-vector-width"="512" }
