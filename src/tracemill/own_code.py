"""A copy of the project, or a queued experiment, runs the code that stands in it, not that of the installation."""

import os
import sys
from pathlib import Path

import tracemill

SOURCE = Path("src/tracemill")


def python_path() -> str:
    """PYTHONPATH under which child processes import the project's own code first."""
    own = [str(SOURCE.parent.resolve())] if SOURCE.is_dir() else []
    return os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])


def prefer_own_code(module: str) -> None:
    """Start this process again as `python -m module` when it runs other code than that of the project it stands in."""
    if SOURCE.is_dir() and Path(tracemill.__file__).resolve().parent != SOURCE.resolve():
        os.environ["PYTHONPATH"] = python_path()
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])
