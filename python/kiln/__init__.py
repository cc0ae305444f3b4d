"""Kiln for Python: a compile cache whose keys are complete by themselves.

    import kiln

    @kiln.jit(compiler=kiln.llvm)
    def add_one(x):
        return "define void @kernel(ptr %x) { ... }"

The function prints the text of a kernel. It runs once for each key; what comes back is compiled, kept in a folder, linked, and called with
the same arguments. In the key is all that the function can read: its arguments, globals, closures, defaults, attributes of modules and
classes, the environment, the device, the compiler.
"""

import os as _os

from . import _core
from ._core import (Cache, CompileError, DriftError, Error, Function, LinkError, LowerError, NoCompilerError, Request, Ticket, UnsignedError,
                    WouldCompileError, env)
from ._jit import audit, device, jit, llvm, options, why
from ._parameters import Dynamic, Stream, Tensor
from . import _describe, _log

__version__ = _core.version()
__all__ = ["Cache", "CompileError", "DriftError", "Dynamic", "Error", "Function", "LinkError", "LowerError", "NoCompilerError", "Request", "Stream",
           "Tensor", "Ticket", "UnsignedError", "WouldCompileError", "audit", "device", "env", "jit", "llvm", "options", "why"]

_core.set_helpers()
_log.set_up()
_core.take_log()
_os.register_at_fork(before=_core.before_fork, after_in_parent=_core.after_fork_in_parent, after_in_child=_core.after_fork_in_child)
