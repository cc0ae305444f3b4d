"""train_torch.py STEPS [eager] - the decoder of examples/train in PyTorch on the CPU, compiled or not.

Prints a line: seconds to the end of the first step, median milliseconds of the others, the last loss.
"""
import sys
import time

import torch
import torch.nn.functional as F
from train_model import BETA_1, BETA_2, EPSILON, HEAD, HEADS, LAYERS, NORM_EPSILON, adam_rate, first_parameters, tokens

torch.set_num_threads(2)


def norm(x, weight):
    return x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + NORM_EPSILON) * weight


def rotate(x):
    length, half = x.shape[2], HEAD // 2
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * torch.cos(angle) - b * torch.sin(angle), a * torch.sin(angle) + b * torch.cos(angle)], -1)


def loss_of(parameters, read, following):
    x = parameters[0][read]
    batch, length, width = x.shape
    for i in range(LAYERS):
        p = parameters[3 + 9 * i : 12 + 9 * i]
        normal = norm(x, p[0])
        q, k, v = ((normal @ w).reshape(batch, length, HEADS, HEAD).transpose(1, 2) for w in p[1:4])
        seen = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        x = x + seen.transpose(1, 2).reshape(batch, length, width) @ p[4]
        normal = norm(x, p[5])
        x = x + (F.silu(normal @ p[6]) * (normal @ p[7])) @ p[8]
    scores = norm(x, parameters[1]) @ parameters[2]
    return F.cross_entropy(scores.flatten(0, 1), following.flatten())


def main():
    loss_function = loss_of if sys.argv[2:] == ["eager"] else torch.compile(loss_of)
    parameters = [torch.tensor(p, requires_grad=True) for p in first_parameters()]
    m, v = [torch.zeros_like(p) for p in parameters], [torch.zeros_like(p) for p in parameters]
    times = []
    for number in range(1, int(sys.argv[1]) + 1):
        read, following = (torch.from_numpy(a).long() for a in tokens(number))
        start = time.perf_counter()
        loss = loss_function(parameters, read, following)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_lerp_(m, gradients, 1 - BETA_1)
            torch._foreach_mul_(v, BETA_2)
            torch._foreach_addcmul_(v, gradients, gradients, 1 - BETA_2)
            below = torch._foreach_sqrt(v)
            torch._foreach_add_(below, EPSILON)
            torch._foreach_addcdiv_(parameters, m, below, -adam_rate(number))
        times.append(time.perf_counter() - start)
    print(times[0], sorted(times[1:])[len(times[1:]) // 2] * 1e3, float(loss))


main()
