"""Builds the extension, and puts libkiln.so with its plug-ins and the command into the package.

KILN_BUILD: the folder of a CMake build, or of what it has installed, to take these from, with the base pack where there is one; ../build by itself, where they are built when they are missing. Its
libraries are opened by their place in the package, so nothing has to be installed beside it.
KILN_PYTHON_CFLAGS: more options for the compiler: a sanitizer, or -DKILN_LEAVE_OUT for tests (src/leave_out.h).
"""

import os
import re
import shlex
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)
native = os.path.abspath(os.environ.get("KILN_BUILD", os.path.join(root, "build")))
libraries = ["libkiln.so.0", "libmlxc.so", "libkiln-llvm.so", "libkiln-trust.so", "libkiln-remote.so"]


def version():
    with open(os.path.join(root, "include", "kiln.h"), encoding="utf-8") as header:
        return re.search(r'#define KILN_VERSION "(.*)"', header.read()).group(1)


def built(name):
    """Where a library or the base pack is: a build has plug-ins beside libkiln.so, an installed tree in the folder of this version."""
    for folder in ("", os.path.join("kiln", version()), "kiln"):
        path = os.path.join(native, "lib", folder, name)
        if os.path.exists(path):
            return path
    return None


def build_native():
    if all(map(built, libraries)) and os.path.exists(os.path.join(native, "bin", "kiln")):
        return
    if not os.path.exists(os.path.join(native, "build.ninja")):
        subprocess.check_call(["cmake", "-Wno-dev", "-G", "Ninja", "-S", root, "-B", native, "--log-level=NOTICE"])
    subprocess.check_call(["cmake", "--build", native, "--target", "kiln", "mlxc", "kiln-llvm", "kiln-trust", "kiln-remote", "kiln_command"])


def copy_native(package):
    wanted = [("lib", built(name)) for name in libraries] + [("bin", os.path.join(native, "bin", "kiln"))]
    if built("base.kilnpack"):
        wanted.append((os.path.join("lib", "kiln"), built("base.kilnpack")))
    for folder, path in wanted:
        target = os.path.join(package, "_native", folder)
        os.makedirs(target, exist_ok=True)
        shutil.copy2(path, target)


class BuildExtension(build_ext):
    def run(self):
        build_native()
        super().run()


class BuildPackage(build_py):
    def run(self):
        super().run()
        build_native()
        copy_native(os.path.join(self.build_lib, "kiln"))


sources = sorted(os.path.join("src", name) for name in os.listdir(os.path.join(here, "src")) if name.endswith(".c"))
extension = Extension(
    "kiln._core",
    sources=sources,
    include_dirs=["src", os.path.join("..", "include")],
    extra_objects=[os.path.join(native, "lib", "libkiln.so")],
    runtime_library_dirs=["$ORIGIN/_native/lib"],
    extra_compile_args=["-std=gnu11", "-O2", "-g", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wshadow", "-Wmissing-prototypes", "-Wstrict-prototypes",
                        "-Wno-missing-field-initializers", "-Wno-cast-function-type", *shlex.split(os.environ.get("KILN_PYTHON_CFLAGS", ""))],
    extra_link_args=shlex.split(os.environ.get("KILN_PYTHON_LDFLAGS", "")),
    depends=[os.path.join("src", name) for name in os.listdir(os.path.join(here, "src")) if name.endswith(".h")],
)
setup(version=version(), ext_modules=[extension], cmdclass={"build_ext": BuildExtension, "build_py": BuildPackage})
