"""Lock files written entry by entry are those that DVC writes itself."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracemill.build.dvc_files import HEAD, lock_entries_replaced, merge_entries, params_read_once

LONG = "a value that is long enough to be folded by the writer, since it goes on and on: behind column eighty"
PIPELINE = """
stages:
  first:
    cmd: cp params.yaml first.txt
    params: [first]
    outs: [first.txt]
  second-x:
    cmd: cp first.txt second.txt
    deps: [first.txt]
    params: [second]
    outs: [second.txt]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["dvc", "init", "--no-scm", "-q"], check=True)
    Path("dvc.yaml").write_text(PIPELINE)
    _params(1e-5)
    return tmp_path


def _params(value: float) -> None:
    Path("params.yaml").write_text(
        f"first: {{rate: {value}, text: '{LONG}', none: null, yes: 'yes'}}\nsecond: [1, é]\n"
    )


def _repro(*targets: str) -> None:
    from dvc.cli import main

    assert main(["repro", "-q", *targets]) == 0


def test_same_bytes_as_dvc_for_new_and_changed_entries(project: Path) -> None:
    texts = []
    for replaced in (False, True):
        Path("dvc.lock").unlink(missing_ok=True)
        states = []
        for value in (1e-5, 2.5e-4):
            _params(value)
            if replaced:
                with params_read_once(), lock_entries_replaced():
                    _repro()
            else:
                _repro()
            states.append(Path("dvc.lock").read_text(encoding="utf-8"))
        texts.append(states)
    assert texts[0] == texts[1]
    assert texts[0][0] != texts[0][1]
    assert not list(project.glob(".dvc.lock*"))


def test_an_entry_takes_the_place_of_its_old_one() -> None:
    text = HEAD + "  a:\n    cmd: x\n  b-1:\n    cmd: y\n"
    assert merge_entries(text, {"a": "  a:\n    cmd: z\n"}) == HEAD + "  a:\n    cmd: z\n  b-1:\n    cmd: y\n"
    assert merge_entries(text, {"c": "  c:\n    cmd: z\n"}) == text + "  c:\n    cmd: z\n"


def test_the_first_entry_makes_the_file() -> None:
    assert merge_entries("", {"a": "  a:\n    cmd: z\n"}) == HEAD + "  a:\n    cmd: z\n"


@pytest.mark.parametrize(
    "text",
    [
        "schema: '2.0'\n",
        HEAD + "  a:\n    cmd: x\ndatasets: []\n",
        HEAD + "<<<<<<< ours\n  a:\n    cmd: x\n",
        HEAD + "  a:\n    cmd: x\n  a:\n    cmd: y\n",
        HEAD + "  a:\n    cmd: x",
    ],
)
def test_a_file_of_another_form_is_left_to_dvc(text: str) -> None:
    assert merge_entries(text, {"a": "  a:\n    cmd: z\n"}) is None


def test_a_whole_build_rereads_params_of_the_next_run(project: Path) -> None:
    for value in (1e-5, 1e-4):
        _params(value)
        with params_read_once():
            _repro("first")
        assert f"rate: {value}" in Path("dvc.lock").read_text(encoding="utf-8")


def test_params_that_change_meanwhile_are_read_again(project: Path) -> None:
    with params_read_once():
        for value in (1e-5, 1e-4):
            _params(value)
            _repro("first")
            assert f"rate: {value}" in Path("dvc.lock").read_text(encoding="utf-8")
