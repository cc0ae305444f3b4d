# The front door. CMake and Ninja do the work underneath; each target first makes sure their packages are there.
#
#   make            build everything into build/         make asan    tests under address and undefined sanitizers
#   make demo       base-pack, then show the main job    make tsan    tests under the thread sanitizer
#   make test       build with gcc and clang, run tests  make fuzz    every fuzz target for FUZZ_SECONDS
#   make bench      measure, with floors of this run     make format  clang-format on our sources
#   make base-pack  kernels that programs need first, beside the library: docs/base-pack.md
#   make install    base-pack too; PREFIX, DESTDIR; make uninstall   make layers  includes that point upwards; part of make test
#   make deb        Debian packages into build/deb; make dist: a source archive
#   make clean      remove build/                        make soak    tests that take minutes
#   make check      what a release runs: test, asan, tsan, fuzz, torture, tidy, abi, docs and fleet
#   make fleet-demo one cache for a fleet: CI signs, hosts compile nothing; on nginx, Redis and S3 of this machine
#   make fleet      remotes on nginx, redis-server and versitygw, on loopback, with every attack; nothing is installed
#   make tidy       clang-tidy's bugprone checks         make abi     the interfaces against those of earlier versions
#   make torture    random attacks for TORTURE_SECONDS (600), each failure with its seed; TORTURE_BUILD=asan or tsan
#   make bench-gpu  the same on an NVIDIA GPU (KILN_LIB: folder of the libraries; needs nvcc, no other set-up)
#   make test-python  the Python package on this machine's python3 (part of make test); make check has 3.10, 3.13, Triton and JAX
#   make wheel      build/wheels: Kiln for Python with LLVM and the base pack inside, for each Python that pyenv has; tested on each
#   make bench-python  warm calls from Python beside an empty C extension, Numba and Triton
#   make bench-fleet  entries per second over nginx, Redis and S3 on loopback, beside libcurl and hiredis alone
#   make peers      JAX, MLX, PyTorch and llama.cpp beside ours; put below build/peers first, once. PIECES="kernels ..." of bench/peers/run.py
#   make figures    docs/figures from bench/results, which make peers writes
#   make test-gpu   tests on an NVIDIA GPU, if there is one
#   make docs       the documentation as a site, build/docs/index.html; warnings are errors
#   make gpu-bundle build/gpu-bundle.tar.xz: tests, bench and kernels compiled ahead, for a bare machine with a GPU

CC_GCC ?= gcc
CC_CLANG ?= clang-19
WERROR ?= ON
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
TORTURE_BUILD ?=
TEST_ARGS ?=
BENCH_ARGS ?=
DEMO_ARGS ?=
CONFIGURE = cmake -Wno-dev -G Ninja -S . -DKILN_WERROR=$(WERROR) --log-level=NOTICE
# intercept_tls_get_addr=0: the leak checker of gcc 12 misreads where libLLVM's thread-local data is, and dies of it.
SUPPRESS_LEAKS = LSAN_OPTIONS=suppressions=$(CURDIR)/tools/lsan.supp:print_suppressions=0 ASAN_OPTIONS=intercept_tls_get_addr=0
CTEST = ctest --output-on-failure -j 2 $(TEST_ARGS)

.PHONY: all setup build installed test-python check-python bench-python wheel base-pack demo check tidy abi test test-gpu gpu-bundle test-clang soak fleet fleet-demo torture bench bench-gpu bench-fleet peers figures asan tsan fuzz format layers install uninstall dist deb docs check-deb check-browser check-tools clean

all: build

setup:
	@tools/setup.sh

build: setup
	@$(CONFIGURE) -B build -DCMAKE_C_COMPILER=$(CC_GCC)
	@cmake --build build

# What is installed, without tests.
installed: setup
	@$(CONFIGURE) -B build -DCMAKE_C_COMPILER=$(CC_GCC)
	@cmake --build build --target installed

base-pack: installed
	@cmake --build build --target base-pack

demo: base-pack
	@build/bin/kiln demo $(DEMO_ARGS)

test: build test-clang
	@tools/setup_fleet.sh
	@$(CTEST) -LE 'soak|fleet' --test-dir build
	@tools/python.sh test

# python/README.md
test-python: build
	@tools/python.sh test

check-python: build
	@tools/python.sh check

wheel: setup
	@$(CONFIGURE) -B build/static -DCMAKE_C_COMPILER=$(CC_GCC) -DKILN_STATIC_LLVM=ON
	@cmake --build build/static --target installed base-pack
	@tools/wheel.sh build/static build/wheels

bench-python: build
	@tools/python.sh bench $(BENCH_ARGS)

# An hour or two on 2 cores.
check: test abi tidy docs check-tools check-python check-deb check-browser asan tsan
	@$(CTEST) -L base-pack --test-dir build
	@$(MAKE) fuzz FUZZ_SECONDS=60
	@$(MAKE) torture
	@$(MAKE) fleet

abi: build
	@KILN_PACKAGES="abigail-tools" tools/setup.sh
	@tools/abi.sh build

tidy: build
	@KILN_PACKAGES="clang-tidy-19 clang-tools-19" tools/setup.sh
	@tools/tidy.sh build

test-gpu: build
	@cmake --build build --target gpu_tests
	@tools/test_gpu.sh build/tests/gpu

gpu-bundle: setup
	@$(CONFIGURE) -B build/static -DCMAKE_C_COMPILER=$(CC_GCC) -DKILN_STATIC_LLVM=ON
	@cmake --build build/static --target kiln mlxc kiln-llvm kiln-trust gpu_tests base-pack
	@tools/gpu_bundle.sh build/static build/gpu-bundle.tar.xz

# Remotes on servers of this machine, all attacks (make test runs a short form).
fleet: build
	@tools/setup_fleet.sh s3
	@$(CTEST) -L fleet --test-dir build

# examples/fleet/README.md
fleet-demo: build
	@tools/setup_fleet.sh s3
	@examples/fleet/run.sh build

soak: build
	@$(CTEST) -L soak --test-dir build

# TORTURE_BUILD: empty, or a sanitized build that `make asan` or `make tsan` has made.
torture: build
	@$(SUPPRESS_LEAKS) TSAN_OPTIONS=suppressions=$(CURDIR)/tools/tsan.supp setarch -R tools/torture.sh build/$(TORTURE_BUILD)

test-clang: setup
	@$(CONFIGURE) -B build/clang -DCMAKE_C_COMPILER=$(CC_CLANG)
	@cmake --build build/clang

bench: build
	@build/bin/kiln-bench $(BENCH_ARGS)

bench-gpu:
	@bench/gpu/run.sh $(BENCH_ARGS)

# BENCH_ARGS: processes, keys of each, runs; 8 2000 5 by itself.
bench-fleet: build
	@tools/setup_fleet.sh s3
	@bench/fleet/run.sh build $(BENCH_ARGS)

# KILN_LLAMA_BENCH: a llama-bench that is there already. Nothing of it is part of make test.
PIECES ?= first warm kernels gradients model train llama
peers: build base-pack
	@python3 bench/peers/run.py build $(BENCH_ARGS) $(PIECES)

figures:
	@python3 bench/peers/table.py bench/results bench/results/table.md
	@python3 bench/peers/figures.py bench/results docs/figures/peers.svg

asan: setup
	@$(CONFIGURE) -B build/asan -DCMAKE_C_COMPILER=$(CC_GCC) -DKILN_SANITIZE=address,undefined -DKILN_DEBUG=ON
	@cmake --build build/asan
	@$(SUPPRESS_LEAKS) $(CTEST) -LE 'soak|fleet' --test-dir build/asan

# setarch -R: the thread sanitizer of gcc 12 can't place its shadow under some kernels' address randomisation.
tsan: setup
	@$(CONFIGURE) -B build/tsan -DCMAKE_C_COMPILER=$(CC_GCC) -DKILN_SANITIZE=thread -DKILN_DEBUG=ON
	@cmake --build build/tsan
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tools/tsan.supp setarch -R $(CTEST) -LE 'soak|fleet' --test-dir build/tsan

fuzz: setup
	@$(CONFIGURE) -B build/fuzz -DCMAKE_C_COMPILER=$(CC_CLANG) -DKILN_FUZZ=ON
	@cmake --build build/fuzz --target fuzzers
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz.sh build/fuzz

format: setup
	@tools/format.sh

layers:
	@tools/layers.sh

install: base-pack
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)
	@cp build/install_manifest.txt build/installed_files.txt

dist:
	@tools/dist.sh build/dist

# Sphinx and MyST come from PyPI into build/docs-venv; tests/process/docs.sh looks at links and runs the pages' programs without them.
docs:
	@tools/docs.sh build/docs

deb:
	@KILN_PACKAGES="debhelper lintian dpkg-dev" tools/setup.sh
	@tools/setup.sh
	@tools/deb.sh build/deb

# kiln report in headless Chromium; SCREENSHOTS: a folder for pictures.
check-browser: build
	@KILN_PACKAGES="chromium chromium-driver python3-selenium" tools/setup.sh
	@/usr/bin/python3 tests/browser/report.py build . $(SCREENSHOTS)

# gdb, perf and numpy, which make test leaves out where they are not there.
check-tools: build
	@KILN_PACKAGES="gdb linux-perf python3-numpy" tools/setup.sh
	@KILN_PYTHON=/usr/bin/python3 $(CTEST) -R '^process_(profilers|numpy)$$' --test-dir build

# In a clean Debian root.
check-deb: deb
	@KILN_PACKAGES="mmdebstrap" tools/setup.sh
	@tools/deb_check.sh build/deb

# What the last `make install` of this build folder wrote.
uninstall:
	@tools/uninstall.sh build/installed_files.txt "$(DESTDIR)"

clean:
	rm -rf build
