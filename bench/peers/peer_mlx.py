"""peer_mlx.py - the functions of peer.py in MLX on the CPU, each compiled."""
import math

import mlx.core as mx
import numpy as np

NAME = "MLX"
mx.set_default_device(mx.cpu)

FUNCTIONS = {
    "multiply": lambda a, b: a * b,
    "product_and_sum": lambda a, b: (a * b) * (a + b),
    "swiglu": lambda x, y: x * mx.sigmoid(x) * y,
    "gelu": lambda x: x * (1 + mx.erf(x * math.sqrt(0.5))) * 0.5,
    "softmax": lambda x: mx.softmax(x, -1),
    "rms_norm": lambda x: mx.fast.rms_norm(x, None, 1e-5),
    "layer_norm": lambda x, weight, bias: mx.fast.layer_norm(x, weight, bias, 1e-5),
    "attention": lambda q, k, v: mx.fast.scaled_dot_product_attention(q, k, v, scale=0.125),
}


def array(values):
    result = mx.array(values)
    mx.eval(result)
    return result


def to_numpy(result):
    return np.array(result)


def wait(results):
    mx.eval(results)


def forward(name):
    function = FUNCTIONS[name]
    return mx.compile(lambda *inputs: [function(*inputs)])


def backward(name):
    return mx.compile(lambda *inputs: mx.vjp(FUNCTIONS[name], list(inputs[:-1]), [inputs[-1]])[1])
