"""`make` where the name of the project's folder has a blank in it."""

import os
import shutil
import subprocess
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
