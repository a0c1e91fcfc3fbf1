# make demo     train GPT-2 on cresset beside eager CPU (SMALL=1: two layers)
# make test     all tests
# make test-emulated     AVX-512 and AMX code, in Bochs if it is there (tests/emulated/run.sh)
# make bench    cresset and its peers into docs/performance.md (half an hour; OPTIONS="--rows bert --rounds 3" as bench/run.py --help)
# make bench-kernels     micro-benchmarks (FILTER=regular expression)
#
# Each installs and builds what it needs; VENV=DIR puts the environment elsewhere. By clang, which takes half of gcc's time.

VENV ?= .venv
JOBS ?= 2
PYTHON := $(VENV)/bin/python
PACKAGES := clang-22 libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools zlib1g-dev libzstd-dev ninja-build ccache mold libgtest-dev libbenchmark-dev python3-dev
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
SHELL := /bin/bash
STAMPS := build/.stamps
export CCACHE_DIR ?= $(CURDIR)/build/.ccache

# run NAME, COMMAND: shows what takes how long; the log only if it fails
define run
	@mkdir -p build; printf '%-44s' "$(1)"; start=$$SECONDS; \
	if ( $(2) ) > build/$(3).log 2>&1; then echo "$$((SECONDS - start)) s"; \
	else echo failed; tail -40 build/$(3).log; echo "(all of it: build/$(3).log)"; exit 1; fi
endef

.PHONY: all system build install demo test test-emulated bench bench-kernels clean
all: install

$(STAMPS)/system:
	@mkdir -p $(STAMPS)
	@if dpkg -s $(PACKAGES) > /dev/null 2>&1; then true; \
	elif [ "$$(id -u)" != 0 ] && ! command -v sudo > /dev/null; then \
	  echo "These Debian packages are missing and need root: apt-get install $(PACKAGES)"; exit 1; fi
	$(call run,Debian packages,dpkg -s $(PACKAGES) || ( $(SUDO) apt-get update && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y --no-install-recommends $(PACKAGES) ),apt)
	@touch $@

# torch comes first and pinned: a range would bring another build with gigabytes of CUDA.
$(STAMPS)/venv: pyproject.toml requirements.txt
	@mkdir -p $(STAMPS)
	$(call run,Python environment ($(VENV)),( test -x $(PYTHON) || python3 -m venv $(VENV) ) && $(PYTHON) -m pip install -q torch==2.13.0 && $(PYTHON) -m pip install -q -r requirements.txt,pip)
	@touch $@

build: $(STAMPS)/system $(STAMPS)/venv
	$(call run,Build (C++; minutes the first time),( test -f build/build.ninja || cmake -G Ninja -S . -B build -DCMAKE_CXX_COMPILER=clang++-22 -DPython3_EXECUTABLE=$(abspath $(PYTHON)) ) && ninja -C build -j $(JOBS),build)

install: build
	$(call run,Install into $(VENV),cmake --install build --prefix $(CURDIR)/python/torch_cresset && $(PYTHON) -m pip install -q --no-build-isolation --no-deps --force-reinstall . && ( cp -f build/bin/* $(VENV)/bin/ || true ),install)

demo: install
	@$(PYTHON) -m torch_cresset.demo $(if $(SMALL),--small)

test: install
	$(call run,C++ tests,ctest --test-dir build --output-on-failure -j1,ctest)
	@tail -4 build/ctest.log | head -2
	@$(PYTHON) -m pytest -q tests/python

test-emulated: build
	@tests/emulated/run.sh build/bin/cresset-run build/emulated

# With OPTIONS the tables are only printed: those of docs/performance.md come from one whole run.
bench: install
	$(call run,Build the measure of the machine,ninja -C build bench_limits,bench_limits)
	@$(PYTHON) bench/run.py $(or $(OPTIONS),--docs docs/performance.md)

bench-kernels: build
	$(call run,Build the micro-benchmarks,ninja -C build -j $(JOBS) bench_kernels,bench_kernels)
	@build/bench/bench_kernels --benchmark_counters_tabular=true $(if $(FILTER),--benchmark_filter='$(FILTER)')

clean:
	rm -rf build
