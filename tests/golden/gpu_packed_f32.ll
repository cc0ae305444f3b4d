; kiln gpu kernel, packed, 0 axes, wide
; operand a0: float32, packed
; operand a1: float32, packed
; operation v0: float32 multiply(a0, a1)
; operation v1: float32 add(a0, a1)
; operation v2: float32 multiply(v0, v1)
; result v2: float32

define ptx_kernel void @kiln_mul_add_mul_f32_9bfa7d7d(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, i64 %n.word) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %n = trunc i64 %n.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 1024
  %own = mul nuw i32 %thread, 4
  %first = add nuw i32 %before, %own
  %last = add nuw i32 %first, 3
  %whole = icmp ult i32 %last, %n
  br i1 %whole, label %all, label %rest

all:
  %i.long = zext i32 %first to i64
  %p0.at = getelementptr inbounds [4 x i8], ptr %p0, i64 %i.long
  %p0.whole = load <4 x i32>, ptr %p0.at, align 16
  %p0.parts = bitcast <4 x i32> %p0.whole to <4 x float>
  %a0.0 = extractelement <4 x float> %p0.parts, i32 0
  %a0.1 = extractelement <4 x float> %p0.parts, i32 1
  %a0.2 = extractelement <4 x float> %p0.parts, i32 2
  %a0.3 = extractelement <4 x float> %p0.parts, i32 3
  %p1.at = getelementptr inbounds [4 x i8], ptr %p1, i64 %i.long
  %p1.whole = load <4 x i32>, ptr %p1.at, align 16
  %p1.parts = bitcast <4 x i32> %p1.whole to <4 x float>
  %a1.0 = extractelement <4 x float> %p1.parts, i32 0
  %a1.1 = extractelement <4 x float> %p1.parts, i32 1
  %a1.2 = extractelement <4 x float> %p1.parts, i32 2
  %a1.3 = extractelement <4 x float> %p1.parts, i32 3
  %v0.0 = fmul float %a0.0, %a1.0
  %v1.0 = fadd float %a0.0, %a1.0
  %v2.0 = fmul float %v0.0, %v1.0
  %v0.1 = fmul float %a0.1, %a1.1
  %v1.1 = fadd float %a0.1, %a1.1
  %v2.1 = fmul float %v0.1, %v1.1
  %v0.2 = fmul float %a0.2, %a1.2
  %v1.2 = fadd float %a0.2, %a1.2
  %v2.2 = fmul float %v0.2, %v1.2
  %v0.3 = fmul float %a0.3, %a1.3
  %v1.3 = fadd float %a0.3, %a1.3
  %v2.3 = fmul float %v0.3, %v1.3
  %o0.at = getelementptr inbounds [4 x i8], ptr %o0, i64 %i.long
  %o0.0.out.nan = fcmp uno float %v2.0, 0.0
  %o0.0.out = select i1 %o0.0.out.nan, float 0x7FF8000000000000, float %v2.0
  %o0.parts0 = insertelement <4 x float> poison, float %o0.0.out, i32 0
  %o0.1.out.nan = fcmp uno float %v2.1, 0.0
  %o0.1.out = select i1 %o0.1.out.nan, float 0x7FF8000000000000, float %v2.1
  %o0.parts1 = insertelement <4 x float> %o0.parts0, float %o0.1.out, i32 1
  %o0.2.out.nan = fcmp uno float %v2.2, 0.0
  %o0.2.out = select i1 %o0.2.out.nan, float 0x7FF8000000000000, float %v2.2
  %o0.parts2 = insertelement <4 x float> %o0.parts1, float %o0.2.out, i32 2
  %o0.3.out.nan = fcmp uno float %v2.3, 0.0
  %o0.3.out = select i1 %o0.3.out.nan, float 0x7FF8000000000000, float %v2.3
  %o0.parts3 = insertelement <4 x float> %o0.parts2, float %o0.3.out, i32 3
  %o0.whole = bitcast <4 x float> %o0.parts3 to <4 x i32>
  store <4 x i32> %o0.whole, ptr %o0.at, align 16
  br label %exit

rest:
  %i.rest = phi i32 [ %first, %entry ], [ %i.next, %element ]
  %exists = icmp ult i32 %i.rest, %n
  br i1 %exists, label %element, label %exit

element:
  %i.rest.long = zext i32 %i.rest to i64
  %p0.at.rest = getelementptr inbounds [4 x i8], ptr %p0, i64 %i.rest.long
  %a0.rest = load float, ptr %p0.at.rest, align 4
  %p1.at.rest = getelementptr inbounds [4 x i8], ptr %p1, i64 %i.rest.long
  %a1.rest = load float, ptr %p1.at.rest, align 4
  %v0.rest = fmul float %a0.rest, %a1.rest
  %v1.rest = fadd float %a0.rest, %a1.rest
  %v2.rest = fmul float %v0.rest, %v1.rest
  %o0.at.rest = getelementptr inbounds [4 x i8], ptr %o0, i64 %i.rest.long
  %o0.at.rest.out.nan = fcmp uno float %v2.rest, 0.0
  %o0.at.rest.out = select i1 %o0.at.rest.out.nan, float 0x7FF8000000000000, float %v2.rest
  store float %o0.at.rest.out, ptr %o0.at.rest, align 4
  %i.next = add nuw i32 %i.rest, 1
  br label %rest, !llvm.loop !1

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_mul_add_mul_f32_9bfa7d7d, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
