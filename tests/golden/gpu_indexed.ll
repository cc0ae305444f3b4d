; kiln gpu kernel, indexed, 3 axes
; operand a0: uint32, strided
; operand a1: int32, indices
; operand a2: uint8, indices
; result a0: uint32

define ptx_kernel void @kiln_gather_u32_a14ec43e(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, ptr addrspace(1) %p2.global, i64 %total.word, i64 %p1.size, i64 %p1.step, i64 %p1.count, i64 %p1.report, i64 %p2.size, i64 %p2.step, i64 %p2.count, i64 %p2.report, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0, i64 %p1.axis0, i64 %p2.axis0, i64 %axis1.size.word, i64 %o0.axis1, i64 %p0.axis1, i64 %p1.axis1, i64 %p2.axis1, i64 %axis2.size.word, i64 %o0.axis2, i64 %p0.axis2, i64 %p1.axis2, i64 %p2.axis2) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %p2 = addrspacecast ptr addrspace(1) %p2.global to ptr
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
  %p2.skip0 = mul nsw i64 %axis0.long, %p2.axis0
  %p2.to0 = getelementptr inbounds i8, ptr %p2, i64 %p2.skip0
  %p2.skip1 = mul nsw i64 %axis1.long, %p2.axis1
  %p2.to1 = getelementptr inbounds i8, ptr %p2.to0, i64 %p2.skip1
  %p2.skip2 = mul nsw i64 %axis2.long, %p2.axis2
  %p2.to2 = getelementptr inbounds i8, ptr %p2.to1, i64 %p2.skip2
  %p2.base = getelementptr inbounds i8, ptr %p2.to2, i64 0
  %p1.value = load i32, ptr %p1.base, align 4
  %p1.long = sext i32 %p1.value to i64
  %p1.counted = add i64 %p1.long, %p1.size
  %p1.negative = icmp slt i64 %p1.long, 0
  %p1.index = select i1 %p1.negative, i64 %p1.counted, i64 %p1.long
  %p1.inside = icmp ult i64 %p1.index, %p1.count
  br i1 %p1.inside, label %inside1, label %outside1

outside1:
  %p1.record = inttoptr i64 %p1.report to ptr addrspace(1)
  %p1.place = getelementptr inbounds i8, ptr addrspace(1) %p1.record, i64 8
  store i64 %p1.long, ptr addrspace(1) %p1.place, align 8
  store i64 1, ptr addrspace(1) %p1.record, align 8
  br label %outside

inside1:
  %p1.moved = mul nsw i64 %p1.index, %p1.step
  %p0.at1 = getelementptr inbounds i8, ptr %p0.base, i64 %p1.moved
  %p2.value = load i8, ptr %p2.base, align 1
  %p2.long = zext i8 %p2.value to i64
  %p2.inside = icmp ult i64 %p2.long, %p2.count
  br i1 %p2.inside, label %inside2, label %outside2

outside2:
  %p2.record = inttoptr i64 %p2.report to ptr addrspace(1)
  %p2.place = getelementptr inbounds i8, ptr addrspace(1) %p2.record, i64 8
  store i64 %p2.long, ptr addrspace(1) %p2.place, align 8
  store i64 1, ptr addrspace(1) %p2.record, align 8
  br label %outside

inside2:
  %p2.moved = mul nsw i64 %p2.long, %p2.step
  %p0.at2 = getelementptr inbounds i8, ptr %p0.at1, i64 %p2.moved
  %a0 = load i32, ptr %p0.at2, align 4
  store i32 %a0, ptr %o0.base, align 4
  br label %exit

outside:
  store i32 zeroinitializer, ptr %o0.base, align 4
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_gather_u32_a14ec43e, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
