"""Triton's launch path without a GPU: a driver whose kernels are loaded nowhere, and whose launcher does nothing."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


class _Utils:
    def load_binary(self, name, kernel, shared, device):
        return 1, 1, 0, 0, 1024

    def get_device_properties(self, device):
        return {"max_shared_mem": 1 << 20, "multiprocessor_count": 100, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1, "warpSize": 32, "max_num_regs": 65536}

    def unload_module(self, module):
        pass


class _Launcher:
    def __init__(self, source, metadata):
        pass

    def __call__(self, *args):
        pass


class Driver:
    utils = _Utils()
    launcher_cls = _Launcher

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 80, 32)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")


@triton.jit
def _empty(x, y, z):
    tl.store(x, tl.load(y))


def empty_kernel():
    triton.runtime.driver.set_active(Driver())
    grid = _empty[(1,)]
    return lambda x, y, z: grid(x, y, z)
