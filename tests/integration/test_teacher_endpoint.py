"""The stage `play_teacher` with a teacher behind a real server, killed half way: what was paid for is never asked
again.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

from tiny_model import save_checkpoint  # noqa: E402
from tracemill.build.workspace import make_workspace  # noqa: E402
from tracemill.evaluation.records import read_records  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = 24
TEACHER = "training.stages.teacher_sft.teacher"


class Server:
    """`tracemill serve-model` in a process of its own; its log says how often it was asked."""

    def __init__(self, checkpoint: Path, log: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.log, self.url = log, f"http://127.0.0.1:{port}/v1"
        serve = [sys.executable, "-m", "tracemill.cli", "serve-model", str(checkpoint), "--port", str(port)]
        self.process = subprocess.Popen(serve, env=environment(ROOT), stdout=log.open("wb"), stderr=subprocess.STDOUT)
        wait_for(lambda: b"Uvicorn running" in log.read_bytes())

    def asked(self) -> int:
        return self.log.read_bytes().count(b"POST /v1/chat/completions")


def environment(folder):
    return {**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def wait_for(condition, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def server(tmp_path):
    made = Server(save_checkpoint(tmp_path / "teacher"), tmp_path / "server.log")
    yield made
    made.process.kill()
    made.process.wait()


@pytest.fixture
def project(tmp_path, server, monkeypatch):
    """A project whose inputs of the stage are there, without the build that makes them."""
    monkeypatch.chdir(ROOT)
    folder = tmp_path / "project"
    endpoint = {"url": server.url, "model": "teacher", "concurrency": 2, "requests_per_minute": 240}
    settings = [f"{TEACHER}.endpoint.{key}={value}" for key, value in endpoint.items()]
    settings += [f"{TEACHER}.backend=endpoint", f"{TEACHER}.max_new_tokens=8", f"{TEACHER}.most_problems=0"]
    make_workspace(folder, [], settings)
    write_inputs(folder / "data")
    return folder


def write_inputs(data):
    import polars as pl

    from tracemill.arena.catalog import generate_catalog
    from tracemill.arena.params import CatalogParams, ProblemParams
    from tracemill.arena.problems import generate_problems
    from tracemill.environment.index import build_index
    from tracemill.environment.problem import write_problems
    from tracemill.leakage.nodes import problem_key
    from tracemill.leakage.pools import TRAIN

    products = generate_catalog(CatalogParams(products=300, shops=30))
    problems = generate_problems(products, ProblemParams(problems=PROBLEMS))
    for name in ("environment", "leakage"):
        (data / name).mkdir(parents=True, exist_ok=True)
    write_problems(problems, data / "environment/problems.jsonl")
    build_index(products, data / "environment/index")
    keys = sorted({problem_key(p.query, p.gold_ids) for p in problems})
    columns = {"problem_key": keys, "pool": [TRAIN] * len(keys), "gold_ids": [[""]] * len(keys)}
    pl.DataFrame(columns).write_parquet(data / "leakage/pools.parquet")
    (data / "leakage/passed").write_text("passed\n", encoding="ascii")


def start(project):
    command = [sys.executable, "scripts/play_teacher.py", "--stage", "teacher_sft"]
    return subprocess.Popen(command, cwd=project, env=environment(project), stderr=subprocess.PIPE, text=True)


def journalled(project):
    """The keys of the episodes that are written down."""
    files = list((project / ".tracemill/work").glob("*/answers/teacher.jsonl"))
    lines = files[0].read_bytes().splitlines(keepends=True) if files else []
    return [json.loads(line)["key"] for line in lines if line.endswith(b"\n")]


def test_a_teacher_is_never_asked_again_for_what_it_has_answered(project, server):
    out = project / "data/training/teacher_sft/teacher.jsonl.zst"
    killed = start(project)
    wait_for(lambda: len(journalled(project)) >= PROBLEMS // 3)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    wait_for(lambda: quiet(server))
    kept, before = journalled(project), server.asked()
    assert PROBLEMS // 3 <= len(kept) < PROBLEMS
    assert not out.exists()

    resumed = start(project)
    said = resumed.communicate()[1]
    assert resumed.returncode == 0, said
    assert server.asked() - before == PROBLEMS - len(kept)
    records = read_records(out)
    assert len({record.key for record in records}) == PROBLEMS
    assert {record.policy for record in records} == {"endpoint:teacher"}

    shutil.rmtree(out.parent)
    again = start(project)
    said = again.communicate()[1]
    assert again.returncode == 0, said
    assert server.asked() - before == PROBLEMS - len(kept)
    assert read_records(out) == records


def quiet(server):
    before = server.asked()
    time.sleep(1.0)
    return server.asked() == before
