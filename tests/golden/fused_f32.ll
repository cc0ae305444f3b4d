; kiln element-wise kernel
; operand a0: float32, packed
; operand a1: float32, packed
; operation v0: float32 multiply(a0, a1)
; operation v1: float32 add(a0, a1)
; operation v2: float32 multiply(v0, v1)
; result v2: float32

define void @kiln_mul_add_mul_f32_b211a837(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
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
  %p0.at = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i
  %a0 = load float, ptr %p0.at, align 4, !llvm.access.group !0
  %p1.at = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i
  %a1 = load float, ptr %p1.at, align 4, !llvm.access.group !0
  %v0 = fmul float %a0, %a1
  %v1 = fadd float %a0, %a1
  %v2 = fmul float %v0, %v1
  %o0.at = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i
  %o0.at.out.nan = fcmp uno float %v2, 0.0
  %o0.at.out = select i1 %o0.at.out.nan, float 0x7FF8000000000000, float %v2
  store float %o0.at.out, ptr %o0.at, align 4, !llvm.access.group !0
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

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
attributes #0 = { "prefer-vector-width"="512" }
