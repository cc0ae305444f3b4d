"""What a wheel has inside (tools/wheel.sh): it runs without a compiler, without LLVM, and without the tree it was built from."""

import os
import subprocess
import sys

import pytest

import kiln
import kiln.__main__

pytestmark = pytest.mark.skipif(not os.environ.get("KILN_PYTHON_WHEEL"), reason="not installed from a wheel")
NATIVE = os.path.join(os.path.dirname(kiln.__file__), "_native")


def test_llvm_is_inside(run_program):
    lines = run_program("""
        import kiln, numpy as np
        @kiln.jit(compiler=kiln.llvm)
        def store(x):
            return "define void @kernel(ptr %x) {\\n store double 7.0, ptr %x\\n ret void\\n}"
        x = np.zeros(1)
        store(x)
        print(x[0], store.cache_info().compiles)
        with open("/proc/self/maps") as maps:
            print(*sorted({line.split()[-1] for line in maps if "kiln" in line.split()[-1] or "LLVM" in line.split()[-1]}), sep="\\n")
    """)
    assert lines[0] == "7.0 1"
    assert os.path.join(NATIVE, "lib", "libkiln-llvm.so") in lines
    assert all(os.path.dirname(kiln.__file__) in line for line in lines[1:] if ".so" in line), lines


def test_nothing_names_the_machine_that_built_it():
    for folder, _, names in os.walk(NATIVE):
        for name in names:
            if not name.endswith(".kilnpack"):
                with open(os.path.join(folder, name), "rb") as file:
                    assert os.environ["KILN_PYTHON_WHEEL"].encode() not in file.read(), name


def test_the_command_and_the_base_pack():
    told = subprocess.run([sys.executable, "-m", "kiln", "doctor"], capture_output=True, text=True)
    line, = [line for line in told.stdout.split("\n") if "base pack" in line]
    assert line.startswith("ok ") and "none at" not in line and "_native" in line, told.stdout
