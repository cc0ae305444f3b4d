"""train_jax.py STEPS - the decoder of examples/train in JAX on the CPU, with the same first values, batches and Adam.

Prints a line: seconds to the end of the first step, median milliseconds of the others, the last loss.
"""
import sys
import time

import jax
import jax.numpy as jnp
from train_model import BETA_1, BETA_2, EPSILON, HEAD, HEADS, LAYERS, NORM_EPSILON, adam_rate, first_parameters, tokens


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + NORM_EPSILON) * weight


def rotate(x):
    length, half = x.shape[2], HEAD // 2
    angle = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)


def attend(x, p):
    batch, length, width = x.shape
    normal = norm(x, p[0])
    q, k, v = (jnp.swapaxes((normal @ w).reshape(batch, length, HEADS, HEAD), 1, 2) for w in p[1:4])
    scores = rotate(q) @ jnp.swapaxes(rotate(k), 2, 3) / HEAD**0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    seen = jax.nn.softmax(scores, -1) @ v
    return x + jnp.swapaxes(seen, 1, 2).reshape(batch, length, width) @ p[4]


def feed_forward(x, p):
    normal = norm(x, p[5])
    return x + (jax.nn.silu(normal @ p[6]) * (normal @ p[7])) @ p[8]


def loss_of(parameters, read, following):
    x = parameters[0][read]
    for i in range(LAYERS):
        layer = parameters[3 + 9 * i : 12 + 9 * i]
        x = feed_forward(attend(x, layer), layer)
    scores = norm(x, parameters[1]) @ parameters[2]
    chosen = jnp.take_along_axis(scores, following[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(scores, -1) - chosen)


@jax.jit
def step(parameters, m, v, rate, read, following):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, read, following)
    m = [BETA_1 * a + (1 - BETA_1) * g for a, g in zip(m, gradients)]
    v = [BETA_2 * a + (1 - BETA_2) * g * g for a, g in zip(v, gradients)]
    return loss, [p - rate * a / (jnp.sqrt(b) + EPSILON) for p, a, b in zip(parameters, m, v)], m, v


def main():
    parameters = [jnp.asarray(p) for p in first_parameters()]
    m, v = [jnp.zeros_like(p) for p in parameters], [jnp.zeros_like(p) for p in parameters]
    times = []
    for number in range(1, int(sys.argv[1]) + 1):
        read, following = tokens(number)
        start = time.perf_counter()
        loss, parameters, m, v = step(parameters, m, v, adam_rate(number), read, following)
        jax.block_until_ready((loss, parameters))
        times.append(time.perf_counter() - start)
    print(times[0], sorted(times[1:])[len(times[1:]) // 2] * 1e3, float(loss))


main()
