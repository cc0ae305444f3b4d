; kiln gpu kernel, random, 0 axes
; operand a0: uint32, strided
; operation v0: uint32 random_bits(a0)
; result v0: uint32

define ptx_kernel void @kiln_random_bits_u32_44a56374(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, i64 %pairs.word, i64 %half.word, i64 %p0.inner) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %pairs = trunc i64 %pairs.word to i32
  %half = trunc i64 %half.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul nuw i32 %block, 256
  %own = mul nuw i32 %thread, 1
  %first = add nuw i32 %before, %own
  %exists = icmp ult i32 %first, %pairs
  br i1 %exists, label %hash, label %exit

hash:
  %p0.at = getelementptr inbounds i8, ptr %p0, i64 %p0.inner
  %key0 = load i32, ptr %p0, align 4
  %key1 = load i32, ptr %p0.at, align 4
  %key.low = zext i32 %key0 to i64
  %key.above = zext i32 %key1 to i64
  %key.high = shl nuw i64 %key.above, 32
  %key = or i64 %key.low, %key.high
  %second = add nuw i32 %pairs, %first
  %position0 = zext i32 %first to i64
  %position1 = zext i32 %second to i64
  %both = icmp ult i32 %first, %half
  %counted = select i1 %both, i64 %position1, i64 0
  %count0 = trunc i64 %position0 to i32
  %count1 = trunc i64 %counted to i32
  %counter.low = zext i32 %count0 to i64
  %counter.above = zext i32 %count1 to i64
  %counter.high = shl nuw i64 %counter.above, 32
  %counter = or i64 %counter.low, %counter.high
  %words = call i64 @kiln_threefry(i64 %key, i64 %counter)
  %word0 = trunc i64 %words to i32
  %words.above = lshr i64 %words, 32
  %word1 = trunc i64 %words.above to i32
  %o0.at0 = getelementptr inbounds i32, ptr %o0, i64 %position0
  store i32 %word0, ptr %o0.at0, align 4
  br i1 %both, label %more, label %exit

more:
  %o0.at1 = getelementptr inbounds i32, ptr %o0, i64 %position1
  store i32 %word1, ptr %o0.at1, align 4
  br label %exit

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i64 @kiln_threefry(i64, i64)

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_random_bits_u32_44a56374, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
