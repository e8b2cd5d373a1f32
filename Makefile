# `make` installs the locked dependencies into .venv and builds everything; the other targets are for those who change it.
PYTHON ?= python3
VENV := .venv
BIN := $(abspath $(VENV)/bin)
SHOPPINGBENCH ?= ../shared/data/shoppingbench
PYTEST := $(VENV)/bin/pytest -q
export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1
# pip compiles nothing, so modules are compiled when they are first imported: without that each process would do it again
export PYTHONDONTWRITEBYTECODE :=

.PHONY: all venv lock sync check quick test test-slow real export ledger gpu-smoke clean
.DEFAULT_GOAL := all

all: venv
	tracemill check --quick
	snakemake --cores all
	tracemill builds

venv: $(VENV)/.installed

# The .pth line lets `.venv/bin/dvc` and `.venv/bin/snakemake` find this environment's `python` when it is not activated.
$(VENV)/.installed: requirements.lock pyproject.toml
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$$(grep ^torch== requirements.lock)" # its CUDA libraries
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	echo 'import os, sys; os.environ["PATH"] = os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ.get("PATH", "")])' \
		> "$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tracemill_path.pth"
	touch $@

lock:
	(echo '# Exact versions of everything that `make` installs; written by `make lock` from pyproject.toml.'; \
		$(VENV)/bin/python -m pip freeze --all --exclude-editable | sed '/^pip==/d; /^nvidia-/d; /^cuda-/d; /^triton==/d; s/+cpu$$//') > requirements.lock.new
	mv requirements.lock.new requirements.lock

sync: venv
	tracemill sync

check: venv
	ruff format --check src tests scripts benchmarks
	ruff check src tests scripts benchmarks
	mypy
	snakefmt --check Snakefile rules
	snakemake --lint
	tracemill sync --check
	$(VENV)/bin/python -m pip check

quick: venv
	$(PYTEST) -m "not torch and not slow and not e2e and not gpu"

test: venv # two at a time: most end-to-end rows wait for processes to start
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not gpu"

test-slow: venv
	$(PYTEST) -n 2 --dist loadfile -m "slow and not gpu" --timeout=3600

# The same graph on the 750 real problems and their catalogue, in a copy of the project under build/real.
real: venv
	test -f "$(SHOPPINGBENCH)/problems.jsonl" || { echo "no ShoppingBench files in $(SHOPPINGBENCH): set SHOPPINGBENCH=FOLDER"; exit 1; }
	rm -rf build/real
	tracemill workspace build/real --profile real \
		--set environment.catalog.source="$$(realpath "$(SHOPPINGBENCH)")/catalog.jsonl.gz" \
		--set environment.problems.source="$$(realpath "$(SHOPPINGBENCH)")/problems.jsonl" \
		--set leakage.protected.files="[$$(realpath "$(SHOPPINGBENCH)")/oro_suite_v3.jsonl]"
	cd build/real && snakemake --cores all

export: venv
	tracemill export

ledger: venv
	tracemill ledger

# a Qwen3-shaped model of 0.6B random weights through a few SFT and Dr. GRPO steps on one GPU
gpu-smoke: venv
	python benchmarks/gpu_smoke.py

clean:
	rm -rf build dist export .snakemake .tracemill/work .tracemill/locks
