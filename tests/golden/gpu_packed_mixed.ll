; kiln gpu kernel, packed, 0 axes, wide
; operand a0: bfloat16, packed
; operand a1: float32, scalar
; operand a2: complex64, packed
; constant c0: bool
; operation v0: bfloat16 abs(a0)
; operation v1: float32 astype(v0)
; operation v2: float32 multiply(v1, a1)
; operation v3: complex64 astype(v2)
; operation v4: complex64 where(c0, a2, v3)
; operation v5: bool greater(v2, a1)
; result v4: complex64
; result v5: bool

define ptx_kernel void @kiln_abs_astype_mul_astype_where_greater_c64_1f1ebd6b(ptr addrspace(1) %o0.global, ptr addrspace(1) %o1.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, ptr addrspace(1) %p2.global, i64 %k0, i64 %n.word) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %o1 = addrspacecast ptr addrspace(1) %o1.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %p2 = addrspacecast ptr addrspace(1) %p2.global to ptr
  %c0 = icmp ne i64 %k0, 0
  %n = trunc i64 %n.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 512
  %own = mul nuw i32 %thread, 2
  %first = add nuw i32 %before, %own
  %last = add nuw i32 %first, 1
  %whole = icmp ult i32 %last, %n
  %a1 = load float, ptr %p1, align 4
  br i1 %whole, label %all, label %rest

all:
  %i.long = zext i32 %first to i64
  %p0.at = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.long
  %p0.whole = load i32, ptr %p0.at, align 4
  %p0.parts = bitcast i32 %p0.whole to <1 x i32>
  %a0.0.pair = extractelement <1 x i32> %p0.parts, i32 0
  %a0.0 = call float @kiln_pair_low_bf16(i32 %a0.0.pair)
  %a0.1 = call float @kiln_pair_high_bf16(i32 %a0.0.pair)
  %p2.at = getelementptr inbounds [8 x i8], ptr %p2, i64 %i.long
  %p2.whole = load <4 x i32>, ptr %p2.at, align 16
  %p2.parts = bitcast <4 x i32> %p2.whole to <4 x float>
  %a2.0r = extractelement <4 x float> %p2.parts, i32 0
  %a2.0i = extractelement <4 x float> %p2.parts, i32 1
  %a2.1r = extractelement <4 x float> %p2.parts, i32 2
  %a2.1i = extractelement <4 x float> %p2.parts, i32 3
  %v0.0 = call float @llvm.fabs.f32(float %a0.0)
  %v0.1 = call float @llvm.fabs.f32(float %a0.1)
  %v0.0.pair = call i32 @kiln_pair_narrow_bf16(float %v0.0, float %v0.1)
  %v1.0 = bitcast float %v0.0 to float
  %v1.1 = bitcast float %v0.1 to float
  %v2.0 = fmul float %v1.0, %a1
  %v2.1 = fmul float %v1.1, %a1
  %v3.0r = bitcast float %v2.0 to float
  %v3.0i = bitcast float zeroinitializer to float
  %v3.1r = bitcast float %v2.1 to float
  %v3.1i = bitcast float zeroinitializer to float
  %v4.0r = select i1 %c0, float %a2.0r, float %v3.0r
  %v4.0i = select i1 %c0, float %a2.0i, float %v3.0i
  %v4.1r = select i1 %c0, float %a2.1r, float %v3.1r
  %v4.1i = select i1 %c0, float %a2.1i, float %v3.1i
  %v5.0 = fcmp ogt float %v2.0, %a1
  %v5.1 = fcmp ogt float %v2.1, %a1
  %o0.at = getelementptr inbounds [8 x i8], ptr %o0, i64 %i.long
  %o0.0.out0.nan = fcmp uno float %v4.0r, 0.0
  %o0.0.out0 = select i1 %o0.0.out0.nan, float 0x7FF8000000000000, float %v4.0r
  %o0.parts0 = insertelement <4 x float> poison, float %o0.0.out0, i32 0
  %o0.0.out1.nan = fcmp uno float %v4.0i, 0.0
  %o0.0.out1 = select i1 %o0.0.out1.nan, float 0x7FF8000000000000, float %v4.0i
  %o0.parts1 = insertelement <4 x float> %o0.parts0, float %o0.0.out1, i32 1
  %o0.1.out0.nan = fcmp uno float %v4.1r, 0.0
  %o0.1.out0 = select i1 %o0.1.out0.nan, float 0x7FF8000000000000, float %v4.1r
  %o0.parts2 = insertelement <4 x float> %o0.parts1, float %o0.1.out0, i32 2
  %o0.1.out1.nan = fcmp uno float %v4.1i, 0.0
  %o0.1.out1 = select i1 %o0.1.out1.nan, float 0x7FF8000000000000, float %v4.1i
  %o0.parts3 = insertelement <4 x float> %o0.parts2, float %o0.1.out1, i32 3
  %o0.whole = bitcast <4 x float> %o0.parts3 to <4 x i32>
  store <4 x i32> %o0.whole, ptr %o0.at, align 16
  %o1.at = getelementptr inbounds [1 x i8], ptr %o1, i64 %i.long
  %o1.0.bits = zext i1 %v5.0 to i8
  %o1.parts0 = insertelement <2 x i8> poison, i8 %o1.0.bits, i32 0
  %o1.1.bits = zext i1 %v5.1 to i8
  %o1.parts1 = insertelement <2 x i8> %o1.parts0, i8 %o1.1.bits, i32 1
  %o1.whole = bitcast <2 x i8> %o1.parts1 to i16
  store i16 %o1.whole, ptr %o1.at, align 2
  br label %exit

rest:
  %i.rest = phi i32 [ %first, %entry ], [ %i.next, %element ]
  %exists = icmp ult i32 %i.rest, %n
  br i1 %exists, label %element, label %exit

element:
  %i.rest.long = zext i32 %i.rest to i64
  %p0.at.rest = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.rest.long
  %a0.rest.bits = load i16, ptr %p0.at.rest, align 2
  %a0.rest = call float @kiln_widen_bf16(i16 zeroext %a0.rest.bits)
  %p2.at.rest = getelementptr inbounds [8 x i8], ptr %p2, i64 %i.rest.long
  %a2.restr = load float, ptr %p2.at.rest, align 4
  %a2.rest.at = getelementptr inbounds i8, ptr %p2.at.rest, i64 4
  %a2.resti = load float, ptr %a2.rest.at, align 4
  %v0.rest = call float @llvm.fabs.f32(float %a0.rest)
  %v0.rest.bits = call zeroext i16 @kiln_narrow_bf16(float %v0.rest)
  %v1.rest = bitcast float %v0.rest to float
  %v2.rest = fmul float %v1.rest, %a1
  %v3.restr = bitcast float %v2.rest to float
  %v3.resti = bitcast float zeroinitializer to float
  %v4.restr = select i1 %c0, float %a2.restr, float %v3.restr
  %v4.resti = select i1 %c0, float %a2.resti, float %v3.resti
  %v5.rest = fcmp ogt float %v2.rest, %a1
  %o0.at.rest = getelementptr inbounds [8 x i8], ptr %o0, i64 %i.rest.long
  %o0.at.rest.out0.nan = fcmp uno float %v4.restr, 0.0
  %o0.at.rest.out0 = select i1 %o0.at.rest.out0.nan, float 0x7FF8000000000000, float %v4.restr
  %o0.at.rest.out1.nan = fcmp uno float %v4.resti, 0.0
  %o0.at.rest.out1 = select i1 %o0.at.rest.out1.nan, float 0x7FF8000000000000, float %v4.resti
  store float %o0.at.rest.out0, ptr %o0.at.rest, align 4
  %o0.at.rest.i = getelementptr inbounds i8, ptr %o0.at.rest, i64 4
  store float %o0.at.rest.out1, ptr %o0.at.rest.i, align 4
  %o1.at.rest = getelementptr inbounds [1 x i8], ptr %o1, i64 %i.rest.long
  %o1.at.rest.bits = zext i1 %v5.rest to i8
  store i8 %o1.at.rest.bits, ptr %o1.at.rest, align 1
  %i.next = add nuw i32 %i.rest, 1
  br label %rest, !llvm.loop !1

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @kiln_pair_low_bf16(i32)
declare float @kiln_pair_high_bf16(i32)
declare i32 @kiln_pair_narrow_bf16(float, float)
declare float @kiln_widen_bf16(i16 zeroext)
declare zeroext i16 @kiln_narrow_bf16(float)

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_abs_astype_mul_astype_where_greater_c64_1f1ebd6b, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
