; kiln gpu kernel, packed, 0 axes, wide
; operand a0: bfloat16, packed
; operand a1: bfloat16, packed
; operation v0: bfloat16 sigmoid(a0)
; operation v1: bfloat16 multiply(a0, v0)
; operation v2: bfloat16 multiply(v1, a1)
; result v2: bfloat16

define ptx_kernel void @kiln_sigmoid_mul_mul_bf16_f9e5a161(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, i64 %n.word) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %n = trunc i64 %n.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 2048
  %own = mul nuw i32 %thread, 8
  %first = add nuw i32 %before, %own
  %last = add nuw i32 %first, 7
  %whole = icmp ult i32 %last, %n
  br i1 %whole, label %all, label %rest

all:
  %i.long = zext i32 %first to i64
  %p0.at = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.long
  %p0.whole = load <4 x i32>, ptr %p0.at, align 16
  %p0.parts = bitcast <4 x i32> %p0.whole to <4 x i32>
  %a0.0.pair = extractelement <4 x i32> %p0.parts, i32 0
  %a0.0 = call float @kiln_pair_low_bf16(i32 %a0.0.pair)
  %a0.1 = call float @kiln_pair_high_bf16(i32 %a0.0.pair)
  %a0.2.pair = extractelement <4 x i32> %p0.parts, i32 1
  %a0.2 = call float @kiln_pair_low_bf16(i32 %a0.2.pair)
  %a0.3 = call float @kiln_pair_high_bf16(i32 %a0.2.pair)
  %a0.4.pair = extractelement <4 x i32> %p0.parts, i32 2
  %a0.4 = call float @kiln_pair_low_bf16(i32 %a0.4.pair)
  %a0.5 = call float @kiln_pair_high_bf16(i32 %a0.4.pair)
  %a0.6.pair = extractelement <4 x i32> %p0.parts, i32 3
  %a0.6 = call float @kiln_pair_low_bf16(i32 %a0.6.pair)
  %a0.7 = call float @kiln_pair_high_bf16(i32 %a0.6.pair)
  %p1.at = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.long
  %p1.whole = load <4 x i32>, ptr %p1.at, align 16
  %p1.parts = bitcast <4 x i32> %p1.whole to <4 x i32>
  %a1.0.pair = extractelement <4 x i32> %p1.parts, i32 0
  %a1.0 = call float @kiln_pair_low_bf16(i32 %a1.0.pair)
  %a1.1 = call float @kiln_pair_high_bf16(i32 %a1.0.pair)
  %a1.2.pair = extractelement <4 x i32> %p1.parts, i32 1
  %a1.2 = call float @kiln_pair_low_bf16(i32 %a1.2.pair)
  %a1.3 = call float @kiln_pair_high_bf16(i32 %a1.2.pair)
  %a1.4.pair = extractelement <4 x i32> %p1.parts, i32 2
  %a1.4 = call float @kiln_pair_low_bf16(i32 %a1.4.pair)
  %a1.5 = call float @kiln_pair_high_bf16(i32 %a1.4.pair)
  %a1.6.pair = extractelement <4 x i32> %p1.parts, i32 3
  %a1.6 = call float @kiln_pair_low_bf16(i32 %a1.6.pair)
  %a1.7 = call float @kiln_pair_high_bf16(i32 %a1.6.pair)
  %v0.0.wide = call float @kiln_sigmoid_bf16(float %a0.0)
  %v0.1.wide = call float @kiln_sigmoid_bf16(float %a0.1)
  %v0.0.pair = call i32 @kiln_pair_narrow_bf16(float %v0.0.wide, float %v0.1.wide)
  %v0.0 = call float @kiln_pair_low_bf16(i32 %v0.0.pair)
  %v0.1 = call float @kiln_pair_high_bf16(i32 %v0.0.pair)
  %v1.0.pair = call i32 @kiln_pair_multiply_bf16(i32 %a0.0.pair, i32 %v0.0.pair)
  %v1.0 = call float @kiln_pair_low_bf16(i32 %v1.0.pair)
  %v1.1 = call float @kiln_pair_high_bf16(i32 %v1.0.pair)
  %v2.0.pair = call i32 @kiln_pair_multiply_bf16(i32 %v1.0.pair, i32 %a1.0.pair)
  %v2.0 = call float @kiln_pair_low_bf16(i32 %v2.0.pair)
  %v2.1 = call float @kiln_pair_high_bf16(i32 %v2.0.pair)
  %v2.0.pair.settled = call i32 @kiln_pair_settle_bf16(i32 %v2.0.pair)
  %v2.0.bits = trunc i32 %v2.0.pair.settled to i16
  %v2.0.pair.settled.high = lshr i32 %v2.0.pair.settled, 16
  %v2.1.bits = trunc i32 %v2.0.pair.settled.high to i16
  %v0.2.wide = call float @kiln_sigmoid_bf16(float %a0.2)
  %v0.3.wide = call float @kiln_sigmoid_bf16(float %a0.3)
  %v0.2.pair = call i32 @kiln_pair_narrow_bf16(float %v0.2.wide, float %v0.3.wide)
  %v0.2 = call float @kiln_pair_low_bf16(i32 %v0.2.pair)
  %v0.3 = call float @kiln_pair_high_bf16(i32 %v0.2.pair)
  %v1.2.pair = call i32 @kiln_pair_multiply_bf16(i32 %a0.2.pair, i32 %v0.2.pair)
  %v1.2 = call float @kiln_pair_low_bf16(i32 %v1.2.pair)
  %v1.3 = call float @kiln_pair_high_bf16(i32 %v1.2.pair)
  %v2.2.pair = call i32 @kiln_pair_multiply_bf16(i32 %v1.2.pair, i32 %a1.2.pair)
  %v2.2 = call float @kiln_pair_low_bf16(i32 %v2.2.pair)
  %v2.3 = call float @kiln_pair_high_bf16(i32 %v2.2.pair)
  %v2.2.pair.settled = call i32 @kiln_pair_settle_bf16(i32 %v2.2.pair)
  %v2.2.bits = trunc i32 %v2.2.pair.settled to i16
  %v2.2.pair.settled.high = lshr i32 %v2.2.pair.settled, 16
  %v2.3.bits = trunc i32 %v2.2.pair.settled.high to i16
  %v0.4.wide = call float @kiln_sigmoid_bf16(float %a0.4)
  %v0.5.wide = call float @kiln_sigmoid_bf16(float %a0.5)
  %v0.4.pair = call i32 @kiln_pair_narrow_bf16(float %v0.4.wide, float %v0.5.wide)
  %v0.4 = call float @kiln_pair_low_bf16(i32 %v0.4.pair)
  %v0.5 = call float @kiln_pair_high_bf16(i32 %v0.4.pair)
  %v1.4.pair = call i32 @kiln_pair_multiply_bf16(i32 %a0.4.pair, i32 %v0.4.pair)
  %v1.4 = call float @kiln_pair_low_bf16(i32 %v1.4.pair)
  %v1.5 = call float @kiln_pair_high_bf16(i32 %v1.4.pair)
  %v2.4.pair = call i32 @kiln_pair_multiply_bf16(i32 %v1.4.pair, i32 %a1.4.pair)
  %v2.4 = call float @kiln_pair_low_bf16(i32 %v2.4.pair)
  %v2.5 = call float @kiln_pair_high_bf16(i32 %v2.4.pair)
  %v2.4.pair.settled = call i32 @kiln_pair_settle_bf16(i32 %v2.4.pair)
  %v2.4.bits = trunc i32 %v2.4.pair.settled to i16
  %v2.4.pair.settled.high = lshr i32 %v2.4.pair.settled, 16
  %v2.5.bits = trunc i32 %v2.4.pair.settled.high to i16
  %v0.6.wide = call float @kiln_sigmoid_bf16(float %a0.6)
  %v0.7.wide = call float @kiln_sigmoid_bf16(float %a0.7)
  %v0.6.pair = call i32 @kiln_pair_narrow_bf16(float %v0.6.wide, float %v0.7.wide)
  %v0.6 = call float @kiln_pair_low_bf16(i32 %v0.6.pair)
  %v0.7 = call float @kiln_pair_high_bf16(i32 %v0.6.pair)
  %v1.6.pair = call i32 @kiln_pair_multiply_bf16(i32 %a0.6.pair, i32 %v0.6.pair)
  %v1.6 = call float @kiln_pair_low_bf16(i32 %v1.6.pair)
  %v1.7 = call float @kiln_pair_high_bf16(i32 %v1.6.pair)
  %v2.6.pair = call i32 @kiln_pair_multiply_bf16(i32 %v1.6.pair, i32 %a1.6.pair)
  %v2.6 = call float @kiln_pair_low_bf16(i32 %v2.6.pair)
  %v2.7 = call float @kiln_pair_high_bf16(i32 %v2.6.pair)
  %v2.6.pair.settled = call i32 @kiln_pair_settle_bf16(i32 %v2.6.pair)
  %v2.6.bits = trunc i32 %v2.6.pair.settled to i16
  %v2.6.pair.settled.high = lshr i32 %v2.6.pair.settled, 16
  %v2.7.bits = trunc i32 %v2.6.pair.settled.high to i16
  %o0.at = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.long
  %o0.parts0 = insertelement <8 x i16> poison, i16 %v2.0.bits, i32 0
  %o0.parts1 = insertelement <8 x i16> %o0.parts0, i16 %v2.1.bits, i32 1
  %o0.parts2 = insertelement <8 x i16> %o0.parts1, i16 %v2.2.bits, i32 2
  %o0.parts3 = insertelement <8 x i16> %o0.parts2, i16 %v2.3.bits, i32 3
  %o0.parts4 = insertelement <8 x i16> %o0.parts3, i16 %v2.4.bits, i32 4
  %o0.parts5 = insertelement <8 x i16> %o0.parts4, i16 %v2.5.bits, i32 5
  %o0.parts6 = insertelement <8 x i16> %o0.parts5, i16 %v2.6.bits, i32 6
  %o0.parts7 = insertelement <8 x i16> %o0.parts6, i16 %v2.7.bits, i32 7
  %o0.whole = bitcast <8 x i16> %o0.parts7 to <4 x i32>
  store <4 x i32> %o0.whole, ptr %o0.at, align 16
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
  %p1.at.rest = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.rest.long
  %a1.rest.bits = load i16, ptr %p1.at.rest, align 2
  %a1.rest = call float @kiln_widen_bf16(i16 zeroext %a1.rest.bits)
  %v0.rest.wide = call float @kiln_sigmoid_bf16(float %a0.rest)
  %v0.rest.bits = call zeroext i16 @kiln_narrow_bf16(float %v0.rest.wide)
  %v0.rest = call float @kiln_round_bf16(float %v0.rest.wide)
  %v1.rest.wide = fmul float %a0.rest, %v0.rest
  %v1.rest.bits = call zeroext i16 @kiln_narrow_bf16(float %v1.rest.wide)
  %v1.rest = call float @kiln_round_bf16(float %v1.rest.wide)
  %v2.rest.wide = fmul float %v1.rest, %a1.rest
  %v2.rest.bits = call zeroext i16 @kiln_narrow_bf16(float %v2.rest.wide)
  %v2.rest = call float @kiln_round_bf16(float %v2.rest.wide)
  %o0.at.rest = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.rest.long
  store i16 %v2.rest.bits, ptr %o0.at.rest, align 2
  %i.next = add nuw i32 %i.rest, 1
  br label %rest, !llvm.loop !1

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @kiln_pair_low_bf16(i32)
declare float @kiln_pair_high_bf16(i32)
declare float @kiln_sigmoid_bf16(float)
declare i32 @kiln_pair_narrow_bf16(float, float)
declare i32 @kiln_pair_multiply_bf16(i32, i32)
declare i32 @kiln_pair_settle_bf16(i32)
declare float @kiln_widen_bf16(i16 zeroext)
declare zeroext i16 @kiln_narrow_bf16(float)
declare float @kiln_round_bf16(float)

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_sigmoid_mul_mul_bf16_f9e5a161, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
