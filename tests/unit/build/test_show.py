from pathlib import Path

import pytest

from tracemill.build.show import describe
from tracemill.errors import InputError

LOCK = """\
schema: '2.0'
stages:
  clean:
    cmd: python clean
    deps:
    - path: raw.txt
      md5: aaaaaaaaaaaaaaaa
      size: 3
    outs:
    - path: clean.csv
      md5: bbbbbbbbbbbbbbbb
      size: 8
  train:
    cmd: python train
    deps:
    - path: clean.csv
      md5: bbbbbbbbbbbbbbbb
      size: 8
    - path: src/tracemill/x.py
      md5: cccc
      size: 1
    params:
      params.yaml:
        training: {rate: 0.5}
    outs:
    - path: model
      md5: dddddddddddddddd.dir
      size: 20
      nfiles: 2
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("dvc.lock").write_text(LOCK)
    Path("dvc.yaml").write_text("stages:\n  clean:\n    cmd: python clean\n  train:\n    cmd: python train\n")


def test_an_artifact_is_shown_with_its_lineage():
    assert list(describe("model")) == [
        "artifact   model",
        "digest     md5 dddddddddddddddd.dir",
        "size       20 bytes in 2 files",
        "made by    train (dvc.lock)",
        "command    python train",
        "parameter  training = {'rate': 0.5} (params.yaml)",
        "commit     not committed yet",
        "lineage",
        "  clean.csv bbbbbbbbbbbb from clean",
        "    raw.txt aaaaaaaaaaaa",
    ]


def test_rows_of_a_table_are_counted():
    Path("clean.csv").write_text("a,b\n1,2\n3,4\n")
    assert "rows       2" in list(describe("clean.csv"))


def test_an_unknown_artifact_is_named_with_near_ones():
    with pytest.raises(InputError, match=r"sub/clean\.csv: no lock file records it; recorded are clean\.csv"):
        list(describe("sub/clean.csv"))


@pytest.mark.parametrize("path", ["./model", "model/weights.bin", str(Path("model"))])
def test_an_artifact_has_many_names(path):
    assert list(describe(path)) == list(describe("model"))
    assert list(describe(str(Path.cwd() / path))) == list(describe("model"))


def test_a_stage_that_is_gone_made_nothing_that_is_here():
    old = LOCK.replace("  train:", "  copy:").partition("stages:\n")[2].partition("  copy:")
    Path("dvc.lock").write_text(LOCK + "".join(old[1:]).replace("dddd", "eeee"))
    assert "made by    train (dvc.lock)" in list(describe("model"))
