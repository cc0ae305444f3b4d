; kiln element-wise kernel
; operand a0: float16, packed
; constant c0: float16
; operation v0: bool less(a0, c0)
; operation v1: float16 where(v0, c0, a0)
; result v1: float16

define void @kiln_less_where_f16_1f1cae1f(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
entry:
  %o0.arg = getelementptr inbounds i64, ptr %args, i64 0
  %o0 = load ptr, ptr %o0.arg, align 8
  %o0.rowat = getelementptr inbounds i64, ptr %strides, i64 0
  %o0.row = load i64, ptr %o0.rowat, align 8
  %p0.arg = getelementptr inbounds i64, ptr %args, i64 1
  %p0 = load ptr, ptr %p0.arg, align 8
  %p0.rowat = getelementptr inbounds i64, ptr %strides, i64 2
  %p0.row = load i64, ptr %p0.rowat, align 8
  %k0.arg = getelementptr inbounds i64, ptr %args, i64 2
  %k0 = load i64, ptr %k0.arg, align 8
  %c0.bits = trunc i64 %k0 to i16
  %c0 = call float @kiln_widen_f16(i16 zeroext %c0.bits)
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
  br label %inner

inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %p0.at = getelementptr inbounds [2 x i8], ptr %p0.base, i64 %i
  %a0.bits = load i16, ptr %p0.at, align 2, !llvm.access.group !0
  %a0 = call float @kiln_widen_f16(i16 zeroext %a0.bits)
  %v0 = fcmp olt float %a0, %c0
  %v1 = select i1 %v0, float %c0, float %a0
  %v1.bits = call zeroext i16 @kiln_narrow_f16(float %v1)
  %o0.at = getelementptr inbounds [2 x i8], ptr %o0.base, i64 %i
  store i16 %v1.bits, ptr %o0.at, align 2, !llvm.access.group !0
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

declare float @kiln_widen_f16(i16 zeroext)
declare zeroext i16 @kiln_narrow_f16(float)

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
attributes #0 = { "prefer-vector-width"="512" }
