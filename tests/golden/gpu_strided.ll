; kiln gpu kernel, strided, 3 axes
; operand a0: uint8, strided
; operand a1: uint8, scalar
; operation v0: uint8 add(a0, a1)
; result v0: uint8

define ptx_kernel void @kiln_add_u8_1e62d0e9(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, i64 %total.word, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0, i64 %p1.axis0, i64 %axis1.size.word, i64 %o0.axis1, i64 %p0.axis1, i64 %p1.axis1, i64 %axis2.size.word, i64 %o0.axis2, i64 %p0.axis2, i64 %p1.axis2) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %total = trunc i64 %total.word to i32
  %axis0.size = trunc i64 %axis0.size.word to i32
  %axis1.size = trunc i64 %axis1.size.word to i32
  %axis2.size = trunc i64 %axis2.size.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 256
  %own = mul nuw i32 %thread, 1
  %first = add nuw i32 %before, %own
  %exists = icmp ult i32 %first, %total
  br i1 %exists, label %element, label %exit

element:
  %axis2.left = udiv i32 %first, %axis2.size
  %axis2.whole = mul nuw i32 %axis2.left, %axis2.size
  %axis2.at = sub nuw i32 %first, %axis2.whole
  %axis1.left = udiv i32 %axis2.left, %axis1.size
  %axis1.whole = mul nuw i32 %axis1.left, %axis1.size
  %axis1.at = sub nuw i32 %axis2.left, %axis1.whole
  %axis0.at = add i32 %axis1.left, 0
  %axis0.long = zext i32 %axis0.at to i64
  %axis1.long = zext i32 %axis1.at to i64
  %axis2.long = zext i32 %axis2.at to i64
  %o0.skip0 = mul nsw i64 %axis0.long, %o0.axis0
  %o0.to0 = getelementptr inbounds i8, ptr %o0, i64 %o0.skip0
  %o0.skip1 = mul nsw i64 %axis1.long, %o0.axis1
  %o0.to1 = getelementptr inbounds i8, ptr %o0.to0, i64 %o0.skip1
  %o0.skip2 = mul nsw i64 %axis2.long, %o0.axis2
  %o0.to2 = getelementptr inbounds i8, ptr %o0.to1, i64 %o0.skip2
  %o0.base = getelementptr inbounds i8, ptr %o0.to2, i64 0
  %p0.skip0 = mul nsw i64 %axis0.long, %p0.axis0
  %p0.to0 = getelementptr inbounds i8, ptr %p0, i64 %p0.skip0
  %p0.skip1 = mul nsw i64 %axis1.long, %p0.axis1
  %p0.to1 = getelementptr inbounds i8, ptr %p0.to0, i64 %p0.skip1
  %p0.skip2 = mul nsw i64 %axis2.long, %p0.axis2
  %p0.to2 = getelementptr inbounds i8, ptr %p0.to1, i64 %p0.skip2
  %p0.base = getelementptr inbounds i8, ptr %p0.to2, i64 0
  %p1.skip0 = mul nsw i64 %axis0.long, %p1.axis0
  %p1.to0 = getelementptr inbounds i8, ptr %p1, i64 %p1.skip0
  %p1.skip1 = mul nsw i64 %axis1.long, %p1.axis1
  %p1.to1 = getelementptr inbounds i8, ptr %p1.to0, i64 %p1.skip1
  %p1.skip2 = mul nsw i64 %axis2.long, %p1.axis2
  %p1.to2 = getelementptr inbounds i8, ptr %p1.to1, i64 %p1.skip2
  %p1.base = getelementptr inbounds i8, ptr %p1.to2, i64 0
  %a0 = load i8, ptr %p0.base, align 1
  %a1 = load i8, ptr %p1.base, align 1
  %v0 = add i8 %a0, %a1
  store i8 %v0, ptr %o0.base, align 1
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_add_u8_1e62d0e9, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
