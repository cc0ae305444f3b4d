"""triton_kernels.py - (a*b)*(a+b) and softmax as one writes them in Triton; imported where Triton is."""

import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def diamond(a_start, b_start, out_start, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_inside = at < count
    a = tl.load(a_start + at, mask=is_inside)
    b = tl.load(b_start + at, mask=is_inside)
    tl.store(out_start + at, (a * b) * (a + b), mask=is_inside)


@triton.jit
def softmax(in_start, out_start, COLUMNS: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.load(in_start + at)
    row = tl.exp(row - tl.max(row, axis=0))
    tl.store(out_start + at, row / tl.sum(row, axis=0))


def launch_diamond(a, b, out, warps):
    count = out.numel()
    diamond[(triton.cdiv(count, BLOCK),)](a, b, out, count, BLOCK=BLOCK, num_warps=warps)


def launch_softmax(x, out, warps):
    softmax[(x.shape[0],)](x, out, COLUMNS=x.shape[1], num_warps=warps)
