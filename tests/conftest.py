"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

SYSTEM = ("Chromium", "Slurm", "sshd")
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


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Where TRACEMILL_REQUIRE_SYSTEM is set, a test that skips for want of a system package fails."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("TRACEMILL_REQUIRE_SYSTEM") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if any(name.lower() in reason.lower() for name in SYSTEM):
            report.outcome = "failed"
            report.longrepr = f"skipped where it must run: {reason}"
