"""Fixtures of the leak guard's tests."""

import pytest

from leak_graph import Build


@pytest.fixture
def build(tmp_path):
    """Where one test's stages read and write."""
    return Build(tmp_path)
