"""`make` where the folder's name has a blank in it; `make help` and `make clean`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
case "$*" in *purelib*) dirname "$0" ;; esac
"""


def test_an_environment_is_made_in_a_folder_with_a_blank(tmp_path):
    folder = tmp_path / "my project"
    (folder / ".venv/bin").mkdir(parents=True)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    python = folder / ".venv/bin/python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "venv"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--editable ." in (folder / ".venv/bin/calls").read_text()
    assert "os.environ" in (folder / ".venv/bin/tracemill_path.pth").read_text()


def test_another_python_is_refused_before_anything_is_installed(tmp_path):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    newer = tmp_path / "python3.99"
    newer.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = (3, 99, 0)\n$2"\n')
    newer.chmod(0o755)
    command = ["make", "venv", f"PYTHON={newer}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"Python 3.11 or 3.12 is needed, {newer} is 3.99: make PYTHON=python3.12" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_help_lists_every_target():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "help"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == sorted(targets)


def test_clean_leaves_workspaces_artifacts_and_locks(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept = ["build/paper/data/models/sft/a", "data/models/sft/a", ".tracemill/locks/build", ".dvc/cache/a"]
    gone = ["build/real/a", "build/lib/a", "dist/a", "export/dataset/a", ".snakemake/log/a", ".tracemill/work/a"]
    for name in (*kept, *gone):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True)
    assert [name for name in (*kept, *gone) if (tmp_path / name).exists()] == kept
