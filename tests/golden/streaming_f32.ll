; kiln element-wise kernel, streaming
; operand a0: float32, packed
; operand a1: float32, packed
; operation v0: float32 multiply(a0, a1)
; operation v1: float32 add(a0, a1)
; operation v2: float32 multiply(v0, v1)
; result v2: float32
; result v1: float32

define void @kiln_mul_add_mul_f32_2972935e(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {
entry:
  %o0.base = alloca [512 x i8], align 64
  %o1.base = alloca [512 x i8], align 64
  %o0.arg = getelementptr inbounds i64, ptr %args, i64 0
  %o0 = load ptr, ptr %o0.arg, align 8
  %o1.arg = getelementptr inbounds i64, ptr %args, i64 1
  %o1 = load ptr, ptr %o1.arg, align 8
  %p0.arg = getelementptr inbounds i64, ptr %args, i64 2
  %p0 = load ptr, ptr %p0.arg, align 8
  %p1.arg = getelementptr inbounds i64, ptr %args, i64 3
  %p1 = load ptr, ptr %p1.arg, align 8
  %some.rows = icmp sgt i64 %rows, 0
  %some.n = icmp sgt i64 %n, 0
  %some = and i1 %some.rows, %some.n
  br i1 %some, label %start, label %exit

start:
  br label %tile

tile:
  %done = phi i64 [ 0, %start ], [ %done.next, %tile.end ]
  %left = sub nsw i64 %n, %done
  %at = getelementptr inbounds [4 x i8], ptr %o0, i64 %done
  %at.bits = ptrtoint ptr %at to i64
  %over.bytes = and i64 %at.bits, 63
  %over = udiv i64 %over.bytes, 4
  %whole = sub nsw i64 128, %over
  %count = call i64 @llvm.smin.i64(i64 %left, i64 %whole)
  %p0.base = getelementptr inbounds [4 x i8], ptr %p0, i64 %done
  %p1.base = getelementptr inbounds [4 x i8], ptr %p1, i64 %done
  br label %inner

inner:
  %i = phi i64 [ 0, %tile ], [ %i.next, %inner ]
  %p0.at = getelementptr inbounds [4 x i8], ptr %p0.base, i64 %i
  %a0 = load float, ptr %p0.at, align 4, !llvm.access.group !0
  %p1.at = getelementptr inbounds [4 x i8], ptr %p1.base, i64 %i
  %a1 = load float, ptr %p1.at, align 4, !llvm.access.group !0
  %v0 = fmul float %a0, %a1
  %v1 = fadd float %a0, %a1
  %v2 = fmul float %v0, %v1
  %o0.at = getelementptr inbounds [4 x i8], ptr %o0.base, i64 %i
  %o0.at.out.nan = fcmp uno float %v2, 0.0
  %o0.at.out = select i1 %o0.at.out.nan, float 0x7FF8000000000000, float %v2
  store float %o0.at.out, ptr %o0.at, align 4, !llvm.access.group !0
  %o1.at = getelementptr inbounds [4 x i8], ptr %o1.base, i64 %i
  %o1.at.out.nan = fcmp uno float %v1, 0.0
  %o1.at.out = select i1 %o1.at.out.nan, float 0x7FF8000000000000, float %v1
  store float %o1.at.out, ptr %o1.at, align 4, !llvm.access.group !0
  %i.next = add nuw nsw i64 %i, 1
  %i.done = icmp eq i64 %i.next, %count
  br i1 %i.done, label %tile.end, label %inner, !llvm.loop !1

tile.end:
  %bytes = mul nuw nsw i64 %count, 4
  %o0.to = getelementptr inbounds [4 x i8], ptr %o0, i64 %done
  call void @stream(ptr %o0.to, ptr %o0.base, i64 %bytes)
  %o1.to = getelementptr inbounds [4 x i8], ptr %o1, i64 %done
  call void @stream(ptr %o1.to, ptr %o1.base, i64 %bytes)
  %done.next = add nuw nsw i64 %done, %count
  %all = icmp sge i64 %done.next, %n
  br i1 %all, label %finish, label %tile

finish:
  call void @llvm.x86.sse.sfence()
  br label %exit

exit:
  ret void
}

define internal void @stream(ptr %to, ptr %from, i64 %bytes) {
entry:
  %to.bits = ptrtoint ptr %to to i64
  %back = sub i64 0, %to.bits
  %gap = and i64 %back, 63
  %head = call i64 @llvm.smin.i64(i64 %gap, i64 %bytes)
  %rest = sub i64 %bytes, %head
  %lines = and i64 %rest, -64
  %lines.end = add i64 %head, %lines
  br label %head.test

head.test:
  %head.at = phi i64 [ 0, %entry ], [ %head.next, %head.body ]
  %head.more = icmp ult i64 %head.at, %head
  br i1 %head.more, label %head.body, label %line.test

head.body:
  %head.src = getelementptr inbounds i8, ptr %from, i64 %head.at
  %head.dst = getelementptr inbounds i8, ptr %to, i64 %head.at
  %head.x = load i32, ptr %head.src, align 4
  store i32 %head.x, ptr %head.dst, align 4
  %head.next = add nuw nsw i64 %head.at, 4
  br label %head.test, !llvm.loop !4

line.test:
  %line.at = phi i64 [ %head, %head.test ], [ %line.next, %line.body ]
  %line.more = icmp ult i64 %line.at, %lines.end
  br i1 %line.more, label %line.body, label %tail.test

line.body:
  %line.src = getelementptr inbounds i8, ptr %from, i64 %line.at
  %line.dst = getelementptr inbounds i8, ptr %to, i64 %line.at
  %line.x = load <16 x i32>, ptr %line.src, align 4
  store <16 x i32> %line.x, ptr %line.dst, align 64, !nontemporal !3
  %line.next = add nuw nsw i64 %line.at, 64
  br label %line.test

tail.test:
  %tail.at = phi i64 [ %line.at, %line.test ], [ %tail.next, %tail.body ]
  %tail.more = icmp ult i64 %tail.at, %bytes
  br i1 %tail.more, label %tail.body, label %end

tail.body:
  %tail.src = getelementptr inbounds i8, ptr %from, i64 %tail.at
  %tail.dst = getelementptr inbounds i8, ptr %to, i64 %tail.at
  %tail.x = load i32, ptr %tail.src, align 4
  store i32 %tail.x, ptr %tail.dst, align 4
  %tail.next = add nuw nsw i64 %tail.at, 4
  br label %tail.test, !llvm.loop !4

end:
  ret void
}

!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
attributes #0 = { "prefer-vector-width"="512" }
!3 = !{i32 1}
!4 = distinct !{!4, !5}
!5 = !{!"llvm.loop.vectorize.width", i32 1}
