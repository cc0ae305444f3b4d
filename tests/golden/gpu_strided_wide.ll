; kiln gpu kernel, strided, 2 axes, wide
; operand a0: float32, packed
; operand a1: float32, packed
; operand a2: float32, scalar
; operation v0: float32 add(a0, a1)
; operation v1: float32 multiply(v0, a2)
; result v1: float32

define ptx_kernel void @kiln_add_mul_f32_1c13b196(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, ptr addrspace(1) %p2.global, i64 %total.word, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0, i64 %p1.axis0, i64 %p2.axis0, i64 %axis1.size.word, i64 %o0.axis1, i64 %p0.axis1, i64 %p1.axis1, i64 %p2.axis1) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %p2 = addrspacecast ptr addrspace(1) %p2.global to ptr
  %total = trunc i64 %total.word to i32
  %axis0.size = trunc i64 %axis0.size.word to i32
  %axis1.size = trunc i64 %axis1.size.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 1024
  %own = mul nuw i32 %thread, 4
  %first = add nuw i32 %before, %own
  %exists = icmp ult i32 %first, %total
  br i1 %exists, label %element, label %exit

element:
  %axis1.left = udiv i32 %first, %axis1.size
  %axis1.whole = mul nuw i32 %axis1.left, %axis1.size
  %axis1.at = sub nuw i32 %first, %axis1.whole
  %axis0.at = add i32 %axis1.left, 0
  %axis0.long = zext i32 %axis0.at to i64
  %axis1.long = zext i32 %axis1.at to i64
  %o0.skip0 = mul nsw i64 %axis0.long, %o0.axis0
  %o0.to0 = getelementptr inbounds i8, ptr %o0, i64 %o0.skip0
  %o0.skip1 = mul nsw i64 %axis1.long, %o0.axis1
  %o0.to1 = getelementptr inbounds i8, ptr %o0.to0, i64 %o0.skip1
  %o0.base = getelementptr inbounds i8, ptr %o0.to1, i64 0
  %p0.skip0 = mul nsw i64 %axis0.long, %p0.axis0
  %p0.to0 = getelementptr inbounds i8, ptr %p0, i64 %p0.skip0
  %p0.skip1 = mul nsw i64 %axis1.long, %p0.axis1
  %p0.to1 = getelementptr inbounds i8, ptr %p0.to0, i64 %p0.skip1
  %p0.base = getelementptr inbounds i8, ptr %p0.to1, i64 0
  %p1.skip0 = mul nsw i64 %axis0.long, %p1.axis0
  %p1.to0 = getelementptr inbounds i8, ptr %p1, i64 %p1.skip0
  %p1.skip1 = mul nsw i64 %axis1.long, %p1.axis1
  %p1.to1 = getelementptr inbounds i8, ptr %p1.to0, i64 %p1.skip1
  %p1.base = getelementptr inbounds i8, ptr %p1.to1, i64 0
  %p2.skip0 = mul nsw i64 %axis0.long, %p2.axis0
  %p2.to0 = getelementptr inbounds i8, ptr %p2, i64 %p2.skip0
  %p2.skip1 = mul nsw i64 %axis1.long, %p2.axis1
  %p2.to1 = getelementptr inbounds i8, ptr %p2.to0, i64 %p2.skip1
  %p2.base = getelementptr inbounds i8, ptr %p2.to1, i64 0
  %p0.whole = load <4 x i32>, ptr %p0.base, align 16
  %p0.parts = bitcast <4 x i32> %p0.whole to <4 x float>
  %a0.0 = extractelement <4 x float> %p0.parts, i32 0
  %a0.1 = extractelement <4 x float> %p0.parts, i32 1
  %a0.2 = extractelement <4 x float> %p0.parts, i32 2
  %a0.3 = extractelement <4 x float> %p0.parts, i32 3
  %p1.whole = load <4 x i32>, ptr %p1.base, align 16
  %p1.parts = bitcast <4 x i32> %p1.whole to <4 x float>
  %a1.0 = extractelement <4 x float> %p1.parts, i32 0
  %a1.1 = extractelement <4 x float> %p1.parts, i32 1
  %a1.2 = extractelement <4 x float> %p1.parts, i32 2
  %a1.3 = extractelement <4 x float> %p1.parts, i32 3
  %a2 = load float, ptr %p2.base, align 4
  %v0.0 = fadd float %a0.0, %a1.0
  %v1.0 = fmul float %v0.0, %a2
  %v0.1 = fadd float %a0.1, %a1.1
  %v1.1 = fmul float %v0.1, %a2
  %v0.2 = fadd float %a0.2, %a1.2
  %v1.2 = fmul float %v0.2, %a2
  %v0.3 = fadd float %a0.3, %a1.3
  %v1.3 = fmul float %v0.3, %a2
  %o0.0.out.nan = fcmp uno float %v1.0, 0.0
  %o0.0.out = select i1 %o0.0.out.nan, float 0x7FF8000000000000, float %v1.0
  %o0.parts0 = insertelement <4 x float> poison, float %o0.0.out, i32 0
  %o0.1.out.nan = fcmp uno float %v1.1, 0.0
  %o0.1.out = select i1 %o0.1.out.nan, float 0x7FF8000000000000, float %v1.1
  %o0.parts1 = insertelement <4 x float> %o0.parts0, float %o0.1.out, i32 1
  %o0.2.out.nan = fcmp uno float %v1.2, 0.0
  %o0.2.out = select i1 %o0.2.out.nan, float 0x7FF8000000000000, float %v1.2
  %o0.parts2 = insertelement <4 x float> %o0.parts1, float %o0.2.out, i32 2
  %o0.3.out.nan = fcmp uno float %v1.3, 0.0
  %o0.3.out = select i1 %o0.3.out.nan, float 0x7FF8000000000000, float %v1.3
  %o0.parts3 = insertelement <4 x float> %o0.parts2, float %o0.3.out, i32 3
  %o0.whole = bitcast <4 x float> %o0.parts3 to <4 x i32>
  store <4 x i32> %o0.whole, ptr %o0.base, align 16
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_add_mul_f32_1c13b196, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
