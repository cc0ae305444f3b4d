"""peer_torch.py - the functions of peer.py in PyTorch on the CPU, each under torch.compile.

A gradient is what autograd gives: the compiled function runs first, so its value is computed too.
"""
import torch
import torch.nn.functional as F

NAME = "PyTorch"
torch.set_num_threads(2)

FUNCTIONS = {
    "multiply": lambda a, b: a * b,
    "product_and_sum": lambda a, b: (a * b) * (a + b),
    "swiglu": lambda x, y: x * torch.sigmoid(x) * y,
    "gelu": lambda x: F.gelu(x),
    "softmax": lambda x: torch.softmax(x, -1),
    "rms_norm": lambda x: F.rms_norm(x, (x.shape[-1],), eps=1e-5),
    "layer_norm": lambda x, weight, bias: F.layer_norm(x, weight.shape, weight, bias, 1e-5),
    "attention": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.125),
}


def array(values):
    return torch.tensor(values)


def to_numpy(result):
    return result.detach().numpy()


def wait(results):
    pass


def forward(name):
    compiled = torch.compile(FUNCTIONS[name])

    @torch.no_grad()
    def call(*inputs):
        return [compiled(*inputs)]

    return call


def backward(name):
    compiled = torch.compile(FUNCTIONS[name])

    def call(*inputs):
        primals = [x.detach().requires_grad_() for x in inputs[:-1]]
        return torch.autograd.grad(compiled(*primals), primals, inputs[-1])

    return call
