; kiln gpu kernel, packed, 0 axes, long
; operand a0: float16, packed
; operand a1: float16, packed
; operation v0: float16 divide(a0, a1)
; result v0: float16

define ptx_kernel void @kiln_div_f16_e4496bcd(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, i64 %n.word) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %n = add i64 %n.word, 0
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %block.long = zext i32 %block to i64
  %thread.long = zext i32 %thread to i64
  %before = mul nuw i64 %block.long, 2048
  %own = mul nuw i64 %thread.long, 1
  %first = add nuw i64 %before, %own
  %last = add nuw i64 %first, 1792
  %whole = icmp ult i64 %last, %n
  br i1 %whole, label %all, label %rest

all:
  %i.0 = add nuw i64 %first, 0
  %i.0.long = add i64 %i.0, 0
  %p0.at.0 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.0.long
  %a0.0.bits = load i16, ptr %p0.at.0, align 2
  %a0.0 = call float @kiln_widen_f16(i16 zeroext %a0.0.bits)
  %p1.at.0 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.0.long
  %a1.0.bits = load i16, ptr %p1.at.0, align 2
  %a1.0 = call float @kiln_widen_f16(i16 zeroext %a1.0.bits)
  %i.1 = add nuw i64 %first, 256
  %i.1.long = add i64 %i.1, 0
  %p0.at.1 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.1.long
  %a0.1.bits = load i16, ptr %p0.at.1, align 2
  %a0.1 = call float @kiln_widen_f16(i16 zeroext %a0.1.bits)
  %p1.at.1 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.1.long
  %a1.1.bits = load i16, ptr %p1.at.1, align 2
  %a1.1 = call float @kiln_widen_f16(i16 zeroext %a1.1.bits)
  %i.2 = add nuw i64 %first, 512
  %i.2.long = add i64 %i.2, 0
  %p0.at.2 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.2.long
  %a0.2.bits = load i16, ptr %p0.at.2, align 2
  %a0.2 = call float @kiln_widen_f16(i16 zeroext %a0.2.bits)
  %p1.at.2 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.2.long
  %a1.2.bits = load i16, ptr %p1.at.2, align 2
  %a1.2 = call float @kiln_widen_f16(i16 zeroext %a1.2.bits)
  %i.3 = add nuw i64 %first, 768
  %i.3.long = add i64 %i.3, 0
  %p0.at.3 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.3.long
  %a0.3.bits = load i16, ptr %p0.at.3, align 2
  %a0.3 = call float @kiln_widen_f16(i16 zeroext %a0.3.bits)
  %p1.at.3 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.3.long
  %a1.3.bits = load i16, ptr %p1.at.3, align 2
  %a1.3 = call float @kiln_widen_f16(i16 zeroext %a1.3.bits)
  %i.4 = add nuw i64 %first, 1024
  %i.4.long = add i64 %i.4, 0
  %p0.at.4 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.4.long
  %a0.4.bits = load i16, ptr %p0.at.4, align 2
  %a0.4 = call float @kiln_widen_f16(i16 zeroext %a0.4.bits)
  %p1.at.4 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.4.long
  %a1.4.bits = load i16, ptr %p1.at.4, align 2
  %a1.4 = call float @kiln_widen_f16(i16 zeroext %a1.4.bits)
  %i.5 = add nuw i64 %first, 1280
  %i.5.long = add i64 %i.5, 0
  %p0.at.5 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.5.long
  %a0.5.bits = load i16, ptr %p0.at.5, align 2
  %a0.5 = call float @kiln_widen_f16(i16 zeroext %a0.5.bits)
  %p1.at.5 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.5.long
  %a1.5.bits = load i16, ptr %p1.at.5, align 2
  %a1.5 = call float @kiln_widen_f16(i16 zeroext %a1.5.bits)
  %i.6 = add nuw i64 %first, 1536
  %i.6.long = add i64 %i.6, 0
  %p0.at.6 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.6.long
  %a0.6.bits = load i16, ptr %p0.at.6, align 2
  %a0.6 = call float @kiln_widen_f16(i16 zeroext %a0.6.bits)
  %p1.at.6 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.6.long
  %a1.6.bits = load i16, ptr %p1.at.6, align 2
  %a1.6 = call float @kiln_widen_f16(i16 zeroext %a1.6.bits)
  %i.7 = add nuw i64 %first, 1792
  %i.7.long = add i64 %i.7, 0
  %p0.at.7 = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.7.long
  %a0.7.bits = load i16, ptr %p0.at.7, align 2
  %a0.7 = call float @kiln_widen_f16(i16 zeroext %a0.7.bits)
  %p1.at.7 = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.7.long
  %a1.7.bits = load i16, ptr %p1.at.7, align 2
  %a1.7 = call float @kiln_widen_f16(i16 zeroext %a1.7.bits)
  %v0.0.wide = fdiv float %a0.0, %a1.0
  %v0.1.wide = fdiv float %a0.1, %a1.1
  %v0.0.pair = call i32 @kiln_pair_narrow_f16(float %v0.0.wide, float %v0.1.wide)
  %v0.0 = call float @kiln_pair_low_f16(i32 %v0.0.pair)
  %v0.1 = call float @kiln_pair_high_f16(i32 %v0.0.pair)
  %v0.0.pair.settled = call i32 @kiln_pair_settle_f16(i32 %v0.0.pair)
  %v0.0.bits = trunc i32 %v0.0.pair.settled to i16
  %v0.0.pair.settled.high = lshr i32 %v0.0.pair.settled, 16
  %v0.1.bits = trunc i32 %v0.0.pair.settled.high to i16
  %v0.2.wide = fdiv float %a0.2, %a1.2
  %v0.3.wide = fdiv float %a0.3, %a1.3
  %v0.2.pair = call i32 @kiln_pair_narrow_f16(float %v0.2.wide, float %v0.3.wide)
  %v0.2 = call float @kiln_pair_low_f16(i32 %v0.2.pair)
  %v0.3 = call float @kiln_pair_high_f16(i32 %v0.2.pair)
  %v0.2.pair.settled = call i32 @kiln_pair_settle_f16(i32 %v0.2.pair)
  %v0.2.bits = trunc i32 %v0.2.pair.settled to i16
  %v0.2.pair.settled.high = lshr i32 %v0.2.pair.settled, 16
  %v0.3.bits = trunc i32 %v0.2.pair.settled.high to i16
  %v0.4.wide = fdiv float %a0.4, %a1.4
  %v0.5.wide = fdiv float %a0.5, %a1.5
  %v0.4.pair = call i32 @kiln_pair_narrow_f16(float %v0.4.wide, float %v0.5.wide)
  %v0.4 = call float @kiln_pair_low_f16(i32 %v0.4.pair)
  %v0.5 = call float @kiln_pair_high_f16(i32 %v0.4.pair)
  %v0.4.pair.settled = call i32 @kiln_pair_settle_f16(i32 %v0.4.pair)
  %v0.4.bits = trunc i32 %v0.4.pair.settled to i16
  %v0.4.pair.settled.high = lshr i32 %v0.4.pair.settled, 16
  %v0.5.bits = trunc i32 %v0.4.pair.settled.high to i16
  %v0.6.wide = fdiv float %a0.6, %a1.6
  %v0.7.wide = fdiv float %a0.7, %a1.7
  %v0.6.pair = call i32 @kiln_pair_narrow_f16(float %v0.6.wide, float %v0.7.wide)
  %v0.6 = call float @kiln_pair_low_f16(i32 %v0.6.pair)
  %v0.7 = call float @kiln_pair_high_f16(i32 %v0.6.pair)
  %v0.6.pair.settled = call i32 @kiln_pair_settle_f16(i32 %v0.6.pair)
  %v0.6.bits = trunc i32 %v0.6.pair.settled to i16
  %v0.6.pair.settled.high = lshr i32 %v0.6.pair.settled, 16
  %v0.7.bits = trunc i32 %v0.6.pair.settled.high to i16
  %o0.at.0 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.0.long
  store i16 %v0.0.bits, ptr %o0.at.0, align 2
  %o0.at.1 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.1.long
  store i16 %v0.1.bits, ptr %o0.at.1, align 2
  %o0.at.2 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.2.long
  store i16 %v0.2.bits, ptr %o0.at.2, align 2
  %o0.at.3 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.3.long
  store i16 %v0.3.bits, ptr %o0.at.3, align 2
  %o0.at.4 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.4.long
  store i16 %v0.4.bits, ptr %o0.at.4, align 2
  %o0.at.5 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.5.long
  store i16 %v0.5.bits, ptr %o0.at.5, align 2
  %o0.at.6 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.6.long
  store i16 %v0.6.bits, ptr %o0.at.6, align 2
  %o0.at.7 = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.7.long
  store i16 %v0.7.bits, ptr %o0.at.7, align 2
  br label %exit

rest:
  %i.rest = phi i64 [ %first, %entry ], [ %i.next, %element ]
  %exists = icmp ult i64 %i.rest, %n
  br i1 %exists, label %element, label %exit

element:
  %i.rest.long = add i64 %i.rest, 0
  %p0.at.rest = getelementptr inbounds [2 x i8], ptr %p0, i64 %i.rest.long
  %a0.rest.bits = load i16, ptr %p0.at.rest, align 2
  %a0.rest = call float @kiln_widen_f16(i16 zeroext %a0.rest.bits)
  %p1.at.rest = getelementptr inbounds [2 x i8], ptr %p1, i64 %i.rest.long
  %a1.rest.bits = load i16, ptr %p1.at.rest, align 2
  %a1.rest = call float @kiln_widen_f16(i16 zeroext %a1.rest.bits)
  %v0.rest.wide = fdiv float %a0.rest, %a1.rest
  %v0.rest.bits = call zeroext i16 @kiln_narrow_f16(float %v0.rest.wide)
  %v0.rest = call float @kiln_round_f16(float %v0.rest.wide)
  %o0.at.rest = getelementptr inbounds [2 x i8], ptr %o0, i64 %i.rest.long
  store i16 %v0.rest.bits, ptr %o0.at.rest, align 2
  %i.next = add nuw i64 %i.rest, 256
  br label %rest, !llvm.loop !1

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @kiln_widen_f16(i16 zeroext)
declare i32 @kiln_pair_narrow_f16(float, float)
declare float @kiln_pair_low_f16(i32)
declare float @kiln_pair_high_f16(i32)
declare i32 @kiln_pair_settle_f16(i32)
declare zeroext i16 @kiln_narrow_f16(float)
declare float @kiln_round_f16(float)

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_div_f16_e4496bcd, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
