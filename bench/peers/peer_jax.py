"""peer_jax.py - the functions of peer.py in JAX, each under jit."""
import jax
import jax.numpy as jnp
import numpy as np

NAME = "JAX"


def rms_norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def layer_norm(x, weight, bias):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5) * weight + bias


def attention(q, k, v):
    return jax.nn.softmax(q @ jnp.swapaxes(k, 2, 3) * 0.125, -1) @ v


FUNCTIONS = {
    "multiply": lambda a, b: a * b,
    "product_and_sum": lambda a, b: (a * b) * (a + b),
    "swiglu": lambda x, y: x * jax.nn.sigmoid(x) * y,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "softmax": lambda x: jax.nn.softmax(x, -1),
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "attention": attention,
}


def array(values):
    return jax.device_put(values)


def to_numpy(result):
    return np.asarray(result)


def wait(results):
    jax.block_until_ready(results)


def forward(name):
    function = FUNCTIONS[name]
    return jax.jit(lambda *inputs: [function(*inputs)])


def backward(name):
    return jax.jit(lambda *inputs: jax.vjp(FUNCTIONS[name], *inputs[:-1])[1](inputs[-1]))
