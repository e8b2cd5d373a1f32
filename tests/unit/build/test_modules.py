from pathlib import Path

import pytest

from tracemill.build.modules import ImportGraph

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def graph(monkeypatch) -> ImportGraph:
    monkeypatch.chdir(ROOT)
    return ImportGraph()


def test_a_script_stands_on_what_it_imports_and_no_docstring_package(graph):
    code = graph.code_of(Path("scripts/filter_traces.py"))
    assert "src/tracemill/corpus/gates.py" in code.files
    assert "src/tracemill/stage.py" in code.files
    assert "src/tracemill/corpus/__init__.py" not in code.files
    assert "src/tracemill/__init__.py" not in code.files
    assert "src/tracemill/params.py" not in code.files
    assert not code.learns


def test_imports_inside_functions_count(graph, tmp_path):
    script = tmp_path / "late.py"
    script.write_text("def main():\n    from tracemill.corpus.ranking import assign_roles\n    return assign_roles\n")
    assert "src/tracemill/corpus/ranking.py" in graph.code_of(script).files


def test_a_script_that_reaches_a_learning_library_depends_on_its_version(graph, tmp_path):
    script = tmp_path / "learn.py"
    script.write_text("def main():\n    import torch\n    return torch\n")
    assert graph.code_of(script).learns


def test_data_files_of_modules_that_read_them_are_dependencies(graph):
    files = graph.code_of(Path("scripts/index_catalog.py")).files
    assert "src/tracemill/environment/word_break.json" in files
