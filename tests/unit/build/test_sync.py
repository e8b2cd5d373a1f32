import dataclasses
from pathlib import Path

import pytest

from tracemill.build.declare import Declaration
from tracemill.build.sync import DvcFiles, dvc_files
from tracemill.document import read_yaml
from tracemill.errors import SyncError

SCRIPT = "from tracemill.stage import run\n"


def stage(rule: str, wildcards: dict, inputs: list[str], outputs: dict, sections=()) -> Declaration:
    return Declaration(rule, wildcards, {"files": inputs}, outputs, [], list(sections), "")


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for rule in ("clean", "merge"):
        Path("scripts").mkdir(exist_ok=True)
        Path(f"scripts/{rule}.py").write_text(SCRIPT)
    package = Path("src/tracemill")
    package.mkdir(parents=True)
    (package / "stage.py").write_text('"""Stage."""\n')
    (package / "errors.py").write_text('"""Errors."""\n')
    (package / "__init__.py").write_text('"""Package."""\n')
    return tmp_path


def stages(*snapshots: str) -> list[Declaration]:
    cleaned = [stage("clean", {"snapshot": one}, [f"raw/{one}"], {"kept": f"clean/{one}"}) for one in snapshots]
    merged = [f"clean/{one}" for one in snapshots]
    outputs = {"corpus": "corpus", "metrics": "m.json", "plot_curve": "c.csv"}
    return [*cleaned, stage("merge", {}, merged, outputs, ["corpus"])]


def document(*snapshots: str) -> dict:
    return {"snapshots": {name: {"source": "sim:"} for name in snapshots}, "corpus": {"x": 1}}


def test_snapshots_have_small_files_of_their_own_and_gatherers_depend_on_the_list(project):
    files = dvc_files(stages("a", "b"), document("a", "b"))
    assert sorted(files.texts) == ["dvc.yaml", "snapshots/a/dvc.yaml", "snapshots/b/dvc.yaml", "versions.txt"]
    files.write()
    assert read_yaml(Path("snapshots/a/dvc.yaml"))["stages"]["clean"] == {
        "cmd": "python -m tracemill.build.run scripts/clean.py --snapshot a",
        "wdir": "../..",
        "deps": ["raw/a", "scripts/clean.py", "src/tracemill/errors.py", "src/tracemill/stage.py"],
        "outs": ["clean/a"],
    }
    merge = read_yaml(Path("dvc.yaml"))["stages"]["merge"]
    assert merge["params"] == ["corpus", "snapshots"]
    assert merge["outs"] == ["corpus"]
    assert merge["metrics"] == ["m.json"]
    assert merge["plots"] == ["c.csv"]


def test_a_plot_is_drawn_along_the_axes_that_its_rule_names(project):
    drawn = dataclasses.replace(stage("merge", {}, [], {"plot": "c.csv"}), axes=["step", "loss"])
    files = dvc_files([drawn], document())
    files.write()
    assert read_yaml(Path("dvc.yaml"))["stages"]["merge"]["plots"] == [{"c.csv": {"x": "step", "y": "loss"}}]


def test_writing_twice_changes_nothing_and_a_gone_snapshot_loses_its_files(project):
    assert len(dvc_files(stages("a", "b"), document("a", "b")).write()) == 4
    assert dvc_files(stages("a", "b"), document("a", "b")).write() == []
    Path("snapshots/b/dvc.lock").write_text("schema: '2.0'\n")
    assert dvc_files(stages("a"), document("a")).write() == ["dvc.yaml", "snapshots/b/dvc.yaml"]
    assert not Path("snapshots/b").exists()


def test_drift_is_refused_with_the_difference_and_the_remedy(project):
    dvc_files(stages("a"), document("a")).write()
    with pytest.raises(SyncError, match="run `make sync`") as caught:
        dvc_files(stages("a", "b"), document("a", "b")).check()
    assert "+      - clean/b" in str(caught.value)
    dvc_files(stages("a"), document("a")).check()


def test_a_section_that_params_lack_is_named(project):
    with pytest.raises(SyncError, match=r"rule merge: params\.yaml has no section 'corpus'"):
        dvc_files(stages("a"), {"snapshots": {"a": {"source": "sim:"}}})


def test_only_the_asked_files_are_compared(project):
    Path("dvc.yaml").write_text("stages: {}\n")
    files = DvcFiles({"dvc.yaml": "other", "snapshots/a/dvc.yaml": ""}, {})
    assert files.drift(["snapshots/a/dvc.yaml"]) == ""
    assert "+other" in files.drift(["dvc.yaml"])
