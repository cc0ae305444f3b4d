; kiln element-wise kernel
; operand a0: int32, strided
; operand a1: uint8, scalar
; operand a2: bool, packed
; operation v0: int32 astype(a1)
; operation v1: int32 maximum(a0, v0)
; operation v2: float32 astype(v1)
; operation v3: bool logical_not(a2)
; result v2: float32
; result v3: bool

define void @kiln_astype_maximum_astype_logical_not_f32_9404af15(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
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
  %p0.innerat = getelementptr inbounds i64, ptr %strides, i64 5
  %p0.inner = load i64, ptr %p0.innerat, align 8
  %p1.arg = getelementptr inbounds i64, ptr %args, i64 3
  %p1 = load ptr, ptr %p1.arg, align 8
  %p1.rowat = getelementptr inbounds i64, ptr %strides, i64 6
  %p1.row = load i64, ptr %p1.rowat, align 8
  %p2.arg = getelementptr inbounds i64, ptr %args, i64 4
  %p2 = load ptr, ptr %p2.arg, align 8
  %p2.rowat = getelementptr inbounds i64, ptr %strides, i64 8
  %p2.row = load i64, ptr %p2.rowat, align 8
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
  %p2.skip = mul nsw i64 %row, %p2.row
  %p2.base = getelementptr inbounds i8, ptr %p2, i64 %p2.skip
  %a1 = load i8, ptr %p1.base, align 1
  %v0 = zext i8 %a1 to i32
  br label %inner

inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %p0.off = mul nsw i64 %i, %p0.inner
  %p0.at = getelementptr inbounds i8, ptr %p0.base, i64 %p0.off
  %a0 = load i32, ptr %p0.at, align 4, !llvm.access.group !0
  %p2.at = getelementptr inbounds [1 x i8], ptr %p2.base, i64 %i
  %a2.bits = load i8, ptr %p2.at, align 1, !llvm.access.group !0
  %a2 = icmp ne i8 %a2.bits, 0
  %v1 = call i32 @llvm.smax.i32(i32 %a0, i32 %v0)
  %v2 = sitofp i32 %v1 to float
  %v3 = xor i1 %a2, true
  %o0.at = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i
  %o0.at.out.nan = fcmp uno float %v2, 0.0
  %o0.at.out = select i1 %o0.at.out.nan, float 0x7FF8000000000000, float %v2
  store float %o0.at.out, ptr %o0.at, align 4, !llvm.access.group !0
  %o1.at = getelementptr inbounds [1 x i8], ptr %o1.base, i64 %i
  %o1.at.bits = zext i1 %v3 to i8
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

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
attributes #0 = { "prefer-vector-width"="512" }
