import os
from pathlib import Path

import pytest

from tracemill.build.basis import Basis
from tracemill.errors import StageError


@pytest.fixture
def basis(tmp_path, monkeypatch) -> Basis:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("training: {rate: 1e-5}\nother: {x: 1}\n")
    Path("script.py").write_text("pass\n")
    Path("model").mkdir()
    Path("model/weights").write_text("weights")
    return begun()


def begun() -> Basis:
    return Basis("train", {"training": {"rate": 1e-5}}, ["model", "script.py"])


def test_the_identity_is_one_of_contents_not_of_times(basis):
    os.utime("script.py", (1, 1))
    assert begun().identity("x") == basis.identity("x")
    Path("script.py").write_text("print()\n")
    assert begun().identity("x") != basis.identity("x")


def test_the_file_that_carries_snakemakes_times_is_no_content(basis):
    Path("model/.snakemake_timestamp").touch()
    basis.require_unchanged()
    assert begun().identity("x") == basis.identity("x")


def test_new_times_and_other_sections_are_no_change(basis):
    Path("script.py").unlink()
    Path("script.py").write_text("pass\n")
    Path("params.yaml").write_text("other: {x: 2}\ntraining: {rate: 0.00001}\n")
    basis.require_unchanged()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: Path("script.py").write_text("exit()\n"), "script.py changed"),
        (lambda: Path("script.py").unlink(), "script.py changed"),
        (lambda: Path("model/extra").touch(), "model/extra changed"),
        (lambda: Path("model/weights").unlink(), "model/weights changed"),
        (lambda: Path("params.yaml").write_text("training: {rate: 1}\n"), "params.yaml: training changed"),
        (lambda: Path("params.yaml").write_text("training: {rate"), "params.yaml changed"),
    ],
    ids=["edited", "gone", "more in a folder", "less in a folder", "parameter", "parameters half written"],
)
def test_what_changed_since_the_beginning_is_named(basis, change, named):
    change()
    with pytest.raises(StageError, match=named):
        basis.require_unchanged()


def test_an_input_that_is_not_there_is_named(basis):
    with pytest.raises(StageError, match="input corpus is missing"):
        Basis("train", {}, ["corpus"])
