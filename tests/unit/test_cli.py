"""The command line as a whole."""

import tomllib
from pathlib import Path

from typer.testing import CliRunner

from tracemill.cli import app

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_the_package_s():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"tracemill {project['version']}\n")
