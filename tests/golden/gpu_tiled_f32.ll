; kiln gpu kernel, tiled, 3 axes
; operand a0: float32, transposed
; operand a1: float32, packed
; operation v0: float32 add(a0, a1)
; result v0: float32

define ptx_kernel void @kiln_add_f32_8295429b(ptr addrspace(1) %o0.global, ptr addrspace(1) %p0.global, ptr addrspace(1) %p1.global, i64 %down.word, i64 %across.word, i64 %axis0.size.word, i64 %o0.axis0, i64 %p0.axis0, i64 %p1.axis0, i64 %axis1.size.word, i64 %o0.axis1, i64 %p0.axis1, i64 %p1.axis1, i64 %axis2.size.word, i64 %o0.axis2, i64 %p0.axis2, i64 %p1.axis2) {
entry:
  %o0 = addrspacecast ptr addrspace(1) %o0.global to ptr
  %p0 = addrspacecast ptr addrspace(1) %p0.global to ptr
  %p1 = addrspacecast ptr addrspace(1) %p1.global to ptr
  %down = trunc i64 %down.word to i32
  %across = trunc i64 %across.word to i32
  %axis0.size = trunc i64 %axis0.size.word to i32
  %axis1.size = trunc i64 %axis1.size.word to i32
  %axis2.size = trunc i64 %axis2.size.word to i32
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %x.lane = and i32 %thread, 31
  %y.warp = lshr i32 %thread, 5
  %x = add i32 %x.lane, 0
  %y = add i32 %y.warp, 0
  %tile = add i32 %block, 0
  %above = udiv i32 %tile, %across
  %above.tiles = mul nuw i32 %above, %across
  %tile.x = sub nuw i32 %tile, %above.tiles
  %outer = udiv i32 %above, %down
  %outer.tiles = mul nuw i32 %outer, %down
  %tile.y = sub nuw i32 %above, %outer.tiles
  %tile.row = shl nuw i32 %tile.y, 5
  %tile.column = shl nuw i32 %tile.x, 5
  %row.end = sub nuw i32 %axis1.size, 1
  %column.end = sub nuw i32 %axis2.size, 1
  %axis0.at = add i32 %outer, 0
  %axis0.long = zext i32 %axis0.at to i64
  %o0.skip0 = mul nsw i64 %axis0.long, %o0.axis0
  %o0.to0 = getelementptr inbounds i8, ptr %o0, i64 %o0.skip0
  %o0.base = getelementptr inbounds i8, ptr %o0.to0, i64 0
  %p0.skip0 = mul nsw i64 %axis0.long, %p0.axis0
  %p0.to0 = getelementptr inbounds i8, ptr %p0, i64 %p0.skip0
  %p0.base = getelementptr inbounds i8, ptr %p0.to0, i64 0
  %p1.skip0 = mul nsw i64 %axis0.long, %p1.axis0
  %p1.to0 = getelementptr inbounds i8, ptr %p1, i64 %p1.skip0
  %p1.base = getelementptr inbounds i8, ptr %p1.to0, i64 0
  %column.near = add nuw i32 %tile.column, %x
  %column = add nuw i32 %column.near, 0
  %column.inside = call i32 @llvm.umin.i32(i32 %column, i32 %column.end)
  %column.long = zext i32 %column.inside to i64
  %row.across.near = add nuw i32 %tile.row, %x
  %row.across = add nuw i32 %row.across.near, 0
  %row.across.inside = call i32 @llvm.umin.i32(i32 %row.across, i32 %row.end)
  %row.across.long = zext i32 %row.across.inside to i64
  %row.0.near = add nuw i32 %tile.row, %y
  %row.0 = add nuw i32 %row.0.near, 0
  %row.0.inside = call i32 @llvm.umin.i32(i32 %row.0, i32 %row.end)
  %row.0.long = zext i32 %row.0.inside to i64
  %column.across.0.near = add nuw i32 %tile.column, %y
  %column.across.0 = add nuw i32 %column.across.0.near, 0
  %column.across.0.inside = call i32 @llvm.umin.i32(i32 %column.across.0, i32 %column.end)
  %column.across.0.long = zext i32 %column.across.0.inside to i64
  %row.1.near = add nuw i32 %tile.row, %y
  %row.1 = add nuw i32 %row.1.near, 8
  %row.1.inside = call i32 @llvm.umin.i32(i32 %row.1, i32 %row.end)
  %row.1.long = zext i32 %row.1.inside to i64
  %column.across.1.near = add nuw i32 %tile.column, %y
  %column.across.1 = add nuw i32 %column.across.1.near, 8
  %column.across.1.inside = call i32 @llvm.umin.i32(i32 %column.across.1, i32 %column.end)
  %column.across.1.long = zext i32 %column.across.1.inside to i64
  %row.2.near = add nuw i32 %tile.row, %y
  %row.2 = add nuw i32 %row.2.near, 16
  %row.2.inside = call i32 @llvm.umin.i32(i32 %row.2, i32 %row.end)
  %row.2.long = zext i32 %row.2.inside to i64
  %column.across.2.near = add nuw i32 %tile.column, %y
  %column.across.2 = add nuw i32 %column.across.2.near, 16
  %column.across.2.inside = call i32 @llvm.umin.i32(i32 %column.across.2, i32 %column.end)
  %column.across.2.long = zext i32 %column.across.2.inside to i64
  %row.3.near = add nuw i32 %tile.row, %y
  %row.3 = add nuw i32 %row.3.near, 24
  %row.3.inside = call i32 @llvm.umin.i32(i32 %row.3, i32 %row.end)
  %row.3.long = zext i32 %row.3.inside to i64
  %column.across.3.near = add nuw i32 %tile.column, %y
  %column.across.3 = add nuw i32 %column.across.3.near, 24
  %column.across.3.inside = call i32 @llvm.umin.i32(i32 %column.across.3, i32 %column.end)
  %column.across.3.long = zext i32 %column.across.3.inside to i64
  %p0.across.off = mul nsw i64 %row.across.long, %p0.axis1
  %p0.across = getelementptr inbounds i8, ptr %p0.base, i64 %p0.across.off
  %p0.there.0.off = mul nsw i64 %column.across.0.long, %p0.axis2
  %p0.there.0 = getelementptr inbounds i8, ptr %p0.across, i64 %p0.there.0.off
  %p0.bits.0 = load i32, ptr %p0.there.0, align 4
  %p0.there.1.off = mul nsw i64 %column.across.1.long, %p0.axis2
  %p0.there.1 = getelementptr inbounds i8, ptr %p0.across, i64 %p0.there.1.off
  %p0.bits.1 = load i32, ptr %p0.there.1, align 4
  %p0.there.2.off = mul nsw i64 %column.across.2.long, %p0.axis2
  %p0.there.2 = getelementptr inbounds i8, ptr %p0.across, i64 %p0.there.2.off
  %p0.bits.2 = load i32, ptr %p0.there.2, align 4
  %p0.there.3.off = mul nsw i64 %column.across.3.long, %p0.axis2
  %p0.there.3 = getelementptr inbounds i8, ptr %p0.across, i64 %p0.there.3.off
  %p0.bits.3 = load i32, ptr %p0.there.3, align 4
  %p1.column.off = mul nsw i64 %column.long, %p1.axis2
  %p1.column = getelementptr inbounds i8, ptr %p1.base, i64 %p1.column.off
  %p1.at.0.off = mul nsw i64 %row.0.long, %p1.axis1
  %p1.at.0 = getelementptr inbounds i8, ptr %p1.column, i64 %p1.at.0.off
  %a1.0 = load float, ptr %p1.at.0, align 4
  %p1.at.1.off = mul nsw i64 %row.1.long, %p1.axis1
  %p1.at.1 = getelementptr inbounds i8, ptr %p1.column, i64 %p1.at.1.off
  %a1.1 = load float, ptr %p1.at.1, align 4
  %p1.at.2.off = mul nsw i64 %row.2.long, %p1.axis1
  %p1.at.2 = getelementptr inbounds i8, ptr %p1.column, i64 %p1.at.2.off
  %a1.2 = load float, ptr %p1.at.2, align 4
  %p1.at.3.off = mul nsw i64 %row.3.long, %p1.axis1
  %p1.at.3 = getelementptr inbounds i8, ptr %p1.column, i64 %p1.at.3.off
  %a1.3 = load float, ptr %p1.at.3, align 4
  %p0.put.0.column = mul nuw i32 %y.warp, 33
  %p0.put.0.row = add nuw i32 %p0.put.0.column, %x.lane
  %p0.put.0.position = add nuw i32 %p0.put.0.row, 0
  %p0.put.0 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.put.0.position
  store i32 %p0.bits.0, ptr %p0.put.0, align 4
  %p0.put.1.column = mul nuw i32 %y.warp, 33
  %p0.put.1.row = add nuw i32 %p0.put.1.column, %x.lane
  %p0.put.1.position = add nuw i32 %p0.put.1.row, 264
  %p0.put.1 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.put.1.position
  store i32 %p0.bits.1, ptr %p0.put.1, align 4
  %p0.put.2.column = mul nuw i32 %y.warp, 33
  %p0.put.2.row = add nuw i32 %p0.put.2.column, %x.lane
  %p0.put.2.position = add nuw i32 %p0.put.2.row, 528
  %p0.put.2 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.put.2.position
  store i32 %p0.bits.2, ptr %p0.put.2, align 4
  %p0.put.3.column = mul nuw i32 %y.warp, 33
  %p0.put.3.row = add nuw i32 %p0.put.3.column, %x.lane
  %p0.put.3.position = add nuw i32 %p0.put.3.row, 792
  %p0.put.3 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.put.3.position
  store i32 %p0.bits.3, ptr %p0.put.3, align 4
  call void @llvm.nvvm.barrier0()
  %p0.get.0.column = mul nuw i32 %x.lane, 33
  %p0.get.0.row = add nuw i32 %p0.get.0.column, %y.warp
  %p0.get.0.position = add nuw i32 %p0.get.0.row, 0
  %p0.get.0 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.get.0.position
  %a0.0 = load float, ptr %p0.get.0, align 4
  %p0.get.1.column = mul nuw i32 %x.lane, 33
  %p0.get.1.row = add nuw i32 %p0.get.1.column, %y.warp
  %p0.get.1.position = add nuw i32 %p0.get.1.row, 8
  %p0.get.1 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.get.1.position
  %a0.1 = load float, ptr %p0.get.1, align 4
  %p0.get.2.column = mul nuw i32 %x.lane, 33
  %p0.get.2.row = add nuw i32 %p0.get.2.column, %y.warp
  %p0.get.2.position = add nuw i32 %p0.get.2.row, 16
  %p0.get.2 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.get.2.position
  %a0.2 = load float, ptr %p0.get.2, align 4
  %p0.get.3.column = mul nuw i32 %x.lane, 33
  %p0.get.3.row = add nuw i32 %p0.get.3.column, %y.warp
  %p0.get.3.position = add nuw i32 %p0.get.3.row, 24
  %p0.get.3 = getelementptr inbounds [4 x i8], ptr addrspacecast (ptr addrspace(3) @tile0 to ptr), i32 %p0.get.3.position
  %a0.3 = load float, ptr %p0.get.3, align 4
  %v0.0 = fadd float %a0.0, %a1.0
  %v0.1 = fadd float %a0.1, %a1.1
  %v0.2 = fadd float %a0.2, %a1.2
  %v0.3 = fadd float %a0.3, %a1.3
  %o0.column.off = mul nsw i64 %column.long, %o0.axis2
  %o0.column = getelementptr inbounds i8, ptr %o0.base, i64 %o0.column.off
  %column.exists = icmp ule i32 %column, %column.end
  %row.0.exists = icmp ule i32 %row.0, %row.end
  %exists.0 = and i1 %row.0.exists, %column.exists
  br i1 %exists.0, label %store.0, label %after.0

store.0:
  %o0.at.0.off = mul nsw i64 %row.0.long, %o0.axis1
  %o0.at.0 = getelementptr inbounds i8, ptr %o0.column, i64 %o0.at.0.off
  %o0.at.0.out.nan = fcmp uno float %v0.0, 0.0
  %o0.at.0.out = select i1 %o0.at.0.out.nan, float 0x7FF8000000000000, float %v0.0
  store float %o0.at.0.out, ptr %o0.at.0, align 4
  br label %after.0

after.0:
  %row.1.exists = icmp ule i32 %row.1, %row.end
  %exists.1 = and i1 %row.1.exists, %column.exists
  br i1 %exists.1, label %store.1, label %after.1

store.1:
  %o0.at.1.off = mul nsw i64 %row.1.long, %o0.axis1
  %o0.at.1 = getelementptr inbounds i8, ptr %o0.column, i64 %o0.at.1.off
  %o0.at.1.out.nan = fcmp uno float %v0.1, 0.0
  %o0.at.1.out = select i1 %o0.at.1.out.nan, float 0x7FF8000000000000, float %v0.1
  store float %o0.at.1.out, ptr %o0.at.1, align 4
  br label %after.1

after.1:
  %row.2.exists = icmp ule i32 %row.2, %row.end
  %exists.2 = and i1 %row.2.exists, %column.exists
  br i1 %exists.2, label %store.2, label %after.2

store.2:
  %o0.at.2.off = mul nsw i64 %row.2.long, %o0.axis1
  %o0.at.2 = getelementptr inbounds i8, ptr %o0.column, i64 %o0.at.2.off
  %o0.at.2.out.nan = fcmp uno float %v0.2, 0.0
  %o0.at.2.out = select i1 %o0.at.2.out.nan, float 0x7FF8000000000000, float %v0.2
  store float %o0.at.2.out, ptr %o0.at.2, align 4
  br label %after.2

after.2:
  %row.3.exists = icmp ule i32 %row.3, %row.end
  %exists.3 = and i1 %row.3.exists, %column.exists
  br i1 %exists.3, label %store.3, label %after.3

store.3:
  %o0.at.3.off = mul nsw i64 %row.3.long, %o0.axis1
  %o0.at.3 = getelementptr inbounds i8, ptr %o0.column, i64 %o0.at.3.off
  %o0.at.3.out.nan = fcmp uno float %v0.3, 0.0
  %o0.at.3.out = select i1 %o0.at.3.out.nan, float 0x7FF8000000000000, float %v0.3
  store float %o0.at.3.out, ptr %o0.at.3, align 4
  br label %after.3

after.3:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
@tile0 = internal addrspace(3) global [1056 x i32] undef, align 16
declare void @llvm.nvvm.barrier0()

!nvvm.annotations = !{!0}
!0 = !{ptr @kiln_add_f32_8295429b, !"maxntidx", i32 256}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
