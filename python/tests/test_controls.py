"""Tests of stale code can fail: each scenario does in a build that leaves its segment of the key out (src/leave_out.h)."""

import os
import subprocess
import sys

import pytest
import scenarios

CONTROLS = os.environ.get("KILN_PYTHON_CONTROLS")  # a folder with such a build


@pytest.mark.parametrize("segment", scenarios.ALL)
def test_fresh(segment):
    done = subprocess.run([sys.executable, scenarios.__file__, segment], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not CONTROLS, reason="KILN_PYTHON_CONTROLS is not set: make test-python builds and sets it")
@pytest.mark.parametrize("segment", scenarios.ALL)
def test_stale_without_the_segment(segment):
    environment = {**os.environ, "PYTHONPATH": CONTROLS, "KILN_LEAVE_OUT": segment}
    done = subprocess.run([sys.executable, scenarios.__file__, segment], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "AssertionError" in done.stderr, "stale code was not noticed: the scenario shows nothing\n" + done.stderr
    other = "device" if segment != "device" else "options"
    control = subprocess.run([sys.executable, scenarios.__file__, other], env=environment, capture_output=True, text=True)
    assert control.returncode == 0, control.stderr
