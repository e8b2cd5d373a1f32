"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the real ShoppingBench inputs and the case files; tests that need it are skipped where it is
    absent."""
    folder = Path(os.environ.get("TRACEMILL_SHARED", ROOT.parent / "shared"))
    if not (folder / "data" / "shoppingbench").is_dir():
        pytest.skip(
            f"real inputs are not at {folder}; set TRACEMILL_SHARED to the folder that holds data/shoppingbench"
        )
    return folder
