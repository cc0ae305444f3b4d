; kiln gpu kernel, packed, 0 axes, wide
; v0: operand bfloat16 c
; v1: operand float32 s
; v2: operand complex64 c
; v3: constant bool
; v4: bfloat16 = abs(v0)
; v5: float32 = astype(v4)
; v6: float32 = multiply(v5, v1)
; v7: complex64 = astype(v6)
; v8: complex64 = where(v3, v2, v7)
; v9: bool = greater(v6, v1)
; outputs: v8 v9

define ptx_kernel void @kernel(ptr addrspace(1) %o0.global, ptr addrspace(1) %o1.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, ptr addrspace(1) %p2.global, i64 %k0, i64 %n.word) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %o1 = addrspacecast ptr addrspace(1) %o1.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %p2 = addrspacecast ptr addrspace(1) %p2.global to ptr
  %v3 = icmp ne i64 %k0, 0
  %n = trunc i64 %n.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 2048
  %own = mul nuw i32 %thread, 8
  %first = add nuw i32 %before, %own
  %last = add nuw i32 %first, 7
  %whole = icmp ult i32 %last, %n
  %v1 = load float, ptr %p1, align 4
  br i1 %whole, label %all, label %rest

all:
  %i.long = zext i32 %first to i64
  %p0.at = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.long
  %p0.at0 = getelementptr inbounds i8, ptr %p0.at, i64 0
  %p0.chunk0 = load <4 x i32>, ptr %p0.at0, align 16
  %p0.parts0 = bitcast <4 x i32> %p0.chunk0 to <8 x i16>
  %v0.0.bits = extractelement <8 x i16> %p0.parts0, i32 0
  %v0.0 = call float @kiln_widen_bf16(i16 zeroext %v0.0.bits)
  %v0.1.bits = extractelement <8 x i16> %p0.parts0, i32 1
  %v0.1 = call float @kiln_widen_bf16(i16 zeroext %v0.1.bits)
  %v0.2.bits = extractelement <8 x i16> %p0.parts0, i32 2
  %v0.2 = call float @kiln_widen_bf16(i16 zeroext %v0.2.bits)
  %v0.3.bits = extractelement <8 x i16> %p0.parts0, i32 3
  %v0.3 = call float @kiln_widen_bf16(i16 zeroext %v0.3.bits)
  %v0.4.bits = extractelement <8 x i16> %p0.parts0, i32 4
  %v0.4 = call float @kiln_widen_bf16(i16 zeroext %v0.4.bits)
  %v0.5.bits = extractelement <8 x i16> %p0.parts0, i32 5
  %v0.5 = call float @kiln_widen_bf16(i16 zeroext %v0.5.bits)
  %v0.6.bits = extractelement <8 x i16> %p0.parts0, i32 6
  %v0.6 = call float @kiln_widen_bf16(i16 zeroext %v0.6.bits)
  %v0.7.bits = extractelement <8 x i16> %p0.parts0, i32 7
  %v0.7 = call float @kiln_widen_bf16(i16 zeroext %v0.7.bits)
  %p2.at = getelementptr inbounds [8 x i8], ptr %p2, i64 %i.long
  %p2.at0 = getelementptr inbounds i8, ptr %p2.at, i64 0
  %p2.chunk0 = load <4 x i32>, ptr %p2.at0, align 16
  %p2.parts0 = bitcast <4 x i32> %p2.chunk0 to <4 x float>
  %p2.at1 = getelementptr inbounds i8, ptr %p2.at, i64 16
  %p2.chunk1 = load <4 x i32>, ptr %p2.at1, align 16
  %p2.parts1 = bitcast <4 x i32> %p2.chunk1 to <4 x float>
  %p2.at2 = getelementptr inbounds i8, ptr %p2.at, i64 32
  %p2.chunk2 = load <4 x i32>, ptr %p2.at2, align 16
  %p2.parts2 = bitcast <4 x i32> %p2.chunk2 to <4 x float>
  %p2.at3 = getelementptr inbounds i8, ptr %p2.at, i64 48
  %p2.chunk3 = load <4 x i32>, ptr %p2.at3, align 16
  %p2.parts3 = bitcast <4 x i32> %p2.chunk3 to <4 x float>
  %v2.0r = extractelement <4 x float> %p2.parts0, i32 0
  %v2.0i = extractelement <4 x float> %p2.parts0, i32 1
  %v2.1r = extractelement <4 x float> %p2.parts0, i32 2
  %v2.1i = extractelement <4 x float> %p2.parts0, i32 3
  %v2.2r = extractelement <4 x float> %p2.parts1, i32 0
  %v2.2i = extractelement <4 x float> %p2.parts1, i32 1
  %v2.3r = extractelement <4 x float> %p2.parts1, i32 2
  %v2.3i = extractelement <4 x float> %p2.parts1, i32 3
  %v2.4r = extractelement <4 x float> %p2.parts2, i32 0
  %v2.4i = extractelement <4 x float> %p2.parts2, i32 1
  %v2.5r = extractelement <4 x float> %p2.parts2, i32 2
  %v2.5i = extractelement <4 x float> %p2.parts2, i32 3
  %v2.6r = extractelement <4 x float> %p2.parts3, i32 0
  %v2.6i = extractelement <4 x float> %p2.parts3, i32 1
  %v2.7r = extractelement <4 x float> %p2.parts3, i32 2
  %v2.7i = extractelement <4 x float> %p2.parts3, i32 3
  %v4.0 = call float @llvm.fabs.f32(float %v0.0)
  %v4.0.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.0)
  %v5.0 = bitcast float %v4.0 to float
  %v6.0 = fmul float %v5.0, %v1
  %v7.0r = bitcast float %v6.0 to float
  %v7.0i = bitcast float zeroinitializer to float
  %v8.0r = select i1 %v3, float %v2.0r, float %v7.0r
  %v8.0i = select i1 %v3, float %v2.0i, float %v7.0i
  %v9.0 = fcmp ogt float %v6.0, %v1
  %v4.1 = call float @llvm.fabs.f32(float %v0.1)
  %v4.1.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.1)
  %v5.1 = bitcast float %v4.1 to float
  %v6.1 = fmul float %v5.1, %v1
  %v7.1r = bitcast float %v6.1 to float
  %v7.1i = bitcast float zeroinitializer to float
  %v8.1r = select i1 %v3, float %v2.1r, float %v7.1r
  %v8.1i = select i1 %v3, float %v2.1i, float %v7.1i
  %v9.1 = fcmp ogt float %v6.1, %v1
  %v4.2 = call float @llvm.fabs.f32(float %v0.2)
  %v4.2.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.2)
  %v5.2 = bitcast float %v4.2 to float
  %v6.2 = fmul float %v5.2, %v1
  %v7.2r = bitcast float %v6.2 to float
  %v7.2i = bitcast float zeroinitializer to float
  %v8.2r = select i1 %v3, float %v2.2r, float %v7.2r
  %v8.2i = select i1 %v3, float %v2.2i, float %v7.2i
  %v9.2 = fcmp ogt float %v6.2, %v1
  %v4.3 = call float @llvm.fabs.f32(float %v0.3)
  %v4.3.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.3)
  %v5.3 = bitcast float %v4.3 to float
  %v6.3 = fmul float %v5.3, %v1
  %v7.3r = bitcast float %v6.3 to float
  %v7.3i = bitcast float zeroinitializer to float
  %v8.3r = select i1 %v3, float %v2.3r, float %v7.3r
  %v8.3i = select i1 %v3, float %v2.3i, float %v7.3i
  %v9.3 = fcmp ogt float %v6.3, %v1
  %v4.4 = call float @llvm.fabs.f32(float %v0.4)
  %v4.4.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.4)
  %v5.4 = bitcast float %v4.4 to float
  %v6.4 = fmul float %v5.4, %v1
  %v7.4r = bitcast float %v6.4 to float
  %v7.4i = bitcast float zeroinitializer to float
  %v8.4r = select i1 %v3, float %v2.4r, float %v7.4r
  %v8.4i = select i1 %v3, float %v2.4i, float %v7.4i
  %v9.4 = fcmp ogt float %v6.4, %v1
  %v4.5 = call float @llvm.fabs.f32(float %v0.5)
  %v4.5.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.5)
  %v5.5 = bitcast float %v4.5 to float
  %v6.5 = fmul float %v5.5, %v1
  %v7.5r = bitcast float %v6.5 to float
  %v7.5i = bitcast float zeroinitializer to float
  %v8.5r = select i1 %v3, float %v2.5r, float %v7.5r
  %v8.5i = select i1 %v3, float %v2.5i, float %v7.5i
  %v9.5 = fcmp ogt float %v6.5, %v1
  %v4.6 = call float @llvm.fabs.f32(float %v0.6)
  %v4.6.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.6)
  %v5.6 = bitcast float %v4.6 to float
  %v6.6 = fmul float %v5.6, %v1
  %v7.6r = bitcast float %v6.6 to float
  %v7.6i = bitcast float zeroinitializer to float
  %v8.6r = select i1 %v3, float %v2.6r, float %v7.6r
  %v8.6i = select i1 %v3, float %v2.6i, float %v7.6i
  %v9.6 = fcmp ogt float %v6.6, %v1
  %v4.7 = call float @llvm.fabs.f32(float %v0.7)
  %v4.7.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.7)
  %v5.7 = bitcast float %v4.7 to float
  %v6.7 = fmul float %v5.7, %v1
  %v7.7r = bitcast float %v6.7 to float
  %v7.7i = bitcast float zeroinitializer to float
  %v8.7r = select i1 %v3, float %v2.7r, float %v7.7r
  %v8.7i = select i1 %v3, float %v2.7i, float %v7.7i
  %v9.7 = fcmp ogt float %v6.7, %v1
  %o0.at = getelementptr inbounds [8 x i8], ptr %o0, i64 %i.long
  %o0.0.out0.nan = fcmp uno float %v8.0r, 0.0
  %o0.0.out0 = select i1 %o0.0.out0.nan, float 0x7FF8000000000000, float %v8.0r
  %o0.set0 = insertelement <4 x float> poison, float %o0.0.out0, i32 0
  %o0.0.out1.nan = fcmp uno float %v8.0i, 0.0
  %o0.0.out1 = select i1 %o0.0.out1.nan, float 0x7FF8000000000000, float %v8.0i
  %o0.set1 = insertelement <4 x float> %o0.set0, float %o0.0.out1, i32 1
  %o0.1.out0.nan = fcmp uno float %v8.1r, 0.0
  %o0.1.out0 = select i1 %o0.1.out0.nan, float 0x7FF8000000000000, float %v8.1r
  %o0.set2 = insertelement <4 x float> %o0.set1, float %o0.1.out0, i32 2
  %o0.1.out1.nan = fcmp uno float %v8.1i, 0.0
  %o0.1.out1 = select i1 %o0.1.out1.nan, float 0x7FF8000000000000, float %v8.1i
  %o0.set3 = insertelement <4 x float> %o0.set2, float %o0.1.out1, i32 3
  %o0.2.out0.nan = fcmp uno float %v8.2r, 0.0
  %o0.2.out0 = select i1 %o0.2.out0.nan, float 0x7FF8000000000000, float %v8.2r
  %o0.set4 = insertelement <4 x float> poison, float %o0.2.out0, i32 0
  %o0.2.out1.nan = fcmp uno float %v8.2i, 0.0
  %o0.2.out1 = select i1 %o0.2.out1.nan, float 0x7FF8000000000000, float %v8.2i
  %o0.set5 = insertelement <4 x float> %o0.set4, float %o0.2.out1, i32 1
  %o0.3.out0.nan = fcmp uno float %v8.3r, 0.0
  %o0.3.out0 = select i1 %o0.3.out0.nan, float 0x7FF8000000000000, float %v8.3r
  %o0.set6 = insertelement <4 x float> %o0.set5, float %o0.3.out0, i32 2
  %o0.3.out1.nan = fcmp uno float %v8.3i, 0.0
  %o0.3.out1 = select i1 %o0.3.out1.nan, float 0x7FF8000000000000, float %v8.3i
  %o0.set7 = insertelement <4 x float> %o0.set6, float %o0.3.out1, i32 3
  %o0.4.out0.nan = fcmp uno float %v8.4r, 0.0
  %o0.4.out0 = select i1 %o0.4.out0.nan, float 0x7FF8000000000000, float %v8.4r
  %o0.set8 = insertelement <4 x float> poison, float %o0.4.out0, i32 0
  %o0.4.out1.nan = fcmp uno float %v8.4i, 0.0
  %o0.4.out1 = select i1 %o0.4.out1.nan, float 0x7FF8000000000000, float %v8.4i
  %o0.set9 = insertelement <4 x float> %o0.set8, float %o0.4.out1, i32 1
  %o0.5.out0.nan = fcmp uno float %v8.5r, 0.0
  %o0.5.out0 = select i1 %o0.5.out0.nan, float 0x7FF8000000000000, float %v8.5r
  %o0.set10 = insertelement <4 x float> %o0.set9, float %o0.5.out0, i32 2
  %o0.5.out1.nan = fcmp uno float %v8.5i, 0.0
  %o0.5.out1 = select i1 %o0.5.out1.nan, float 0x7FF8000000000000, float %v8.5i
  %o0.set11 = insertelement <4 x float> %o0.set10, float %o0.5.out1, i32 3
  %o0.6.out0.nan = fcmp uno float %v8.6r, 0.0
  %o0.6.out0 = select i1 %o0.6.out0.nan, float 0x7FF8000000000000, float %v8.6r
  %o0.set12 = insertelement <4 x float> poison, float %o0.6.out0, i32 0
  %o0.6.out1.nan = fcmp uno float %v8.6i, 0.0
  %o0.6.out1 = select i1 %o0.6.out1.nan, float 0x7FF8000000000000, float %v8.6i
  %o0.set13 = insertelement <4 x float> %o0.set12, float %o0.6.out1, i32 1
  %o0.7.out0.nan = fcmp uno float %v8.7r, 0.0
  %o0.7.out0 = select i1 %o0.7.out0.nan, float 0x7FF8000000000000, float %v8.7r
  %o0.set14 = insertelement <4 x float> %o0.set13, float %o0.7.out0, i32 2
  %o0.7.out1.nan = fcmp uno float %v8.7i, 0.0
  %o0.7.out1 = select i1 %o0.7.out1.nan, float 0x7FF8000000000000, float %v8.7i
  %o0.set15 = insertelement <4 x float> %o0.set14, float %o0.7.out1, i32 3
  %o0.at0 = getelementptr inbounds i8, ptr %o0.at, i64 0
  %o0.chunk0 = bitcast <4 x float> %o0.set3 to <4 x i32>
  store <4 x i32> %o0.chunk0, ptr %o0.at0, align 16
  %o0.at1 = getelementptr inbounds i8, ptr %o0.at, i64 16
  %o0.chunk1 = bitcast <4 x float> %o0.set7 to <4 x i32>
  store <4 x i32> %o0.chunk1, ptr %o0.at1, align 16
  %o0.at2 = getelementptr inbounds i8, ptr %o0.at, i64 32
  %o0.chunk2 = bitcast <4 x float> %o0.set11 to <4 x i32>
  store <4 x i32> %o0.chunk2, ptr %o0.at2, align 16
  %o0.at3 = getelementptr inbounds i8, ptr %o0.at, i64 48
  %o0.chunk3 = bitcast <4 x float> %o0.set15 to <4 x i32>
  store <4 x i32> %o0.chunk3, ptr %o0.at3, align 16
  %o1.at = getelementptr inbounds [1 x i8], ptr %o1, i64 %i.long
  %o1.0.bits = zext i1 %v9.0 to i8
  %o1.set0 = insertelement <8 x i8> poison, i8 %o1.0.bits, i32 0
  %o1.1.bits = zext i1 %v9.1 to i8
  %o1.set1 = insertelement <8 x i8> %o1.set0, i8 %o1.1.bits, i32 1
  %o1.2.bits = zext i1 %v9.2 to i8
  %o1.set2 = insertelement <8 x i8> %o1.set1, i8 %o1.2.bits, i32 2
  %o1.3.bits = zext i1 %v9.3 to i8
  %o1.set3 = insertelement <8 x i8> %o1.set2, i8 %o1.3.bits, i32 3
  %o1.4.bits = zext i1 %v9.4 to i8
  %o1.set4 = insertelement <8 x i8> %o1.set3, i8 %o1.4.bits, i32 4
  %o1.5.bits = zext i1 %v9.5 to i8
  %o1.set5 = insertelement <8 x i8> %o1.set4, i8 %o1.5.bits, i32 5
  %o1.6.bits = zext i1 %v9.6 to i8
  %o1.set6 = insertelement <8 x i8> %o1.set5, i8 %o1.6.bits, i32 6
  %o1.7.bits = zext i1 %v9.7 to i8
  %o1.set7 = insertelement <8 x i8> %o1.set6, i8 %o1.7.bits, i32 7
  %o1.at0 = getelementptr inbounds i8, ptr %o1.at, i64 0
  %o1.chunk0 = bitcast <8 x i8> %o1.set7 to <2 x i32>
  store <2 x i32> %o1.chunk0, ptr %o1.at0, align 8
  br label %exit

rest:
  %i.rest = phi i32 [ %first, %entry ], [ %i.next, %element ]
  %exists = icmp ult i32 %i.rest, %n
  br i1 %exists, label %element, label %exit

element:
  %i.rest.long = zext i32 %i.rest to i64
  %p0.at.rest = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.rest.long
  %v0.rest.bits = load i16, ptr %p0.at.rest, align 2
  %v0.rest = call float @kiln_widen_bf16(i16 zeroext %v0.rest.bits)
  %p2.at.rest = getelementptr inbounds [8 x i8], ptr %p2, i64 %i.rest.long
  %v2.restr = load float, ptr %p2.at.rest, align 4
  %v2.rest.at = getelementptr inbounds i8, ptr %p2.at.rest, i64 4
  %v2.resti = load float, ptr %v2.rest.at, align 4
  %v4.rest = call float @llvm.fabs.f32(float %v0.rest)
  %v4.rest.bits = call zeroext i16 @kiln_narrow_bf16(float %v4.rest)
  %v5.rest = bitcast float %v4.rest to float
  %v6.rest = fmul float %v5.rest, %v1
  %v7.restr = bitcast float %v6.rest to float
  %v7.resti = bitcast float zeroinitializer to float
  %v8.restr = select i1 %v3, float %v2.restr, float %v7.restr
  %v8.resti = select i1 %v3, float %v2.resti, float %v7.resti
  %v9.rest = fcmp ogt float %v6.rest, %v1
  %o0.at.rest = getelementptr inbounds [8 x i8], ptr %o0, i64 %i.rest.long
  %o0.at.rest.out0.nan = fcmp uno float %v8.restr, 0.0
  %o0.at.rest.out0 = select i1 %o0.at.rest.out0.nan, float 0x7FF8000000000000, float %v8.restr
  %o0.at.rest.out1.nan = fcmp uno float %v8.resti, 0.0
  %o0.at.rest.out1 = select i1 %o0.at.rest.out1.nan, float 0x7FF8000000000000, float %v8.resti
  store float %o0.at.rest.out0, ptr %o0.at.rest, align 4
  %o0.at.rest.i = getelementptr inbounds i8, ptr %o0.at.rest, i64 4
  store float %o0.at.rest.out1, ptr %o0.at.rest.i, align 4
  %o1.at.rest = getelementptr inbounds [1 x i8], ptr %o1, i64 %i.rest.long
  %o1.at.rest.bits = zext i1 %v9.rest to i8
  store i8 %o1.at.rest.bits, ptr %o1.at.rest, align 1
  %i.next = add nuw i32 %i.rest, 1
  br label %rest, !llvm.loop !1

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @kiln_widen_bf16(i16 zeroext)
declare zeroext i16 @kiln_narrow_bf16(float)

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
