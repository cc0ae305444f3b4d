; kiln element-wise kernel
; operand a0: complex64, packed
; operand a1: complex64, scalar
; operation v0: complex64 divide(a0, a1)
; operation v1: bool less(v0, a1)
; result v0: complex64
; result v1: bool

define void @kiln_div_less_c64_e4c4750b(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
entry:
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
  %p1.arg = getelementptr inbounds i64, ptr %args, i64 3
  %p1 = load ptr, ptr %p1.arg, align 8
  %p1.rowat = getelementptr inbounds i64, ptr %strides, i64 6
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
  %o1.skip = mul nsw i64 %row, %o1.row
  %o1.base = getelementptr inbounds i8, ptr %o1, i64 %o1.skip
  %p0.skip = mul nsw i64 %row, %p0.row
  %p0.base = getelementptr inbounds i8, ptr %p0, i64 %p0.skip
  %p1.skip = mul nsw i64 %row, %p1.row
  %p1.base = getelementptr inbounds i8, ptr %p1, i64 %p1.skip
  %a1r = load float, ptr %p1.base, align 4
  %a1.at = getelementptr inbounds i8, ptr %p1.base, i64 4
  %a1i = load float, ptr %a1.at, align 4
  br label %inner

inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %p0.at = getelementptr inbounds [8 x i8], ptr %p0.base, i64 %i
  %a0r = load float, ptr %p0.at, align 4, !llvm.access.group !0
  %a0.at = getelementptr inbounds i8, ptr %p0.at, i64 4
  %a0i = load float, ptr %a0.at, align 4, !llvm.access.group !0
  %v0.bits = call i64 @kiln_divide_c64(float %a0r, float %a0i, float %a1r, float %a1i)
  %v0.a = trunc i64 %v0.bits to i32
  %v0r = bitcast i32 %v0.a to float
  %v0.b = lshr i64 %v0.bits, 32
  %v0.c = trunc i64 %v0.b to i32
  %v0i = bitcast i32 %v0.c to float
  %v1.a = fcmp olt float %v0r, %a1r
  %v1.b = fcmp oeq float %v0r, %a1r
  %v1.c = fcmp olt float %v0i, %a1i
  %v1.d = and i1 %v1.b, %v1.c
  %v1 = or i1 %v1.a, %v1.d
  %o0.at = getelementptr inbounds [8 x i8], ptr %o0.base, i64 %i
  %o0.at.out0.nan = fcmp uno float %v0r, 0.0
  %o0.at.out0 = select i1 %o0.at.out0.nan, float 0x7FF8000000000000, float %v0r
  %o0.at.out1.nan = fcmp uno float %v0i, 0.0
  %o0.at.out1 = select i1 %o0.at.out1.nan, float 0x7FF8000000000000, float %v0i
  store float %o0.at.out0, ptr %o0.at, align 4, !llvm.access.group !0
  %o0.at.i = getelementptr inbounds i8, ptr %o0.at, i64 4
  store float %o0.at.out1, ptr %o0.at.i, align 4, !llvm.access.group !0
  %o1.at = getelementptr inbounds [1 x i8], ptr %o1.base, i64 %i
  %o1.at.bits = zext i1 %v1 to i8
  store i8 %o1.at.bits, ptr %o1.at, align 1, !llvm.access.group !0
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

declare i64 @kiln_divide_c64(float, float, float, float)

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
attributes #0 = { "prefer-vector-width"="512" }
