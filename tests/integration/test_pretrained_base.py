"""A base from a hub at its pinned revision, through the stage's own script: weights and tokenizer, no code."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tiny_model import save_checkpoint  # noqa: E402
from tracemill.build.workspace import make_workspace  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """The part of a hub's protocol that a download of one model at one commit needs."""

    protocol_version = "HTTP/1.1"
    folder: Path
    asked: list[str]

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        if path == f"/api/models/owner/tiny/tree/{COMMIT}":
            return self.answer(json.dumps([entry(p) for p in sorted(self.folder.iterdir())]).encode(), body)
        file = self.folder / path.removeprefix(f"/owner/tiny/resolve/{COMMIT}/")
        if file.parent != self.folder or not file.is_file():
            return self.answer(b"", body, 404)
        return self.answer(file.read_bytes(), body)

    def answer(self, data, body, status=200):
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.send_header("etag", f'"{digest(data)}"')
        self.send_header("x-repo-commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(data)


def entry(path):
    return {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": digest(path.read_bytes())}


def digest(data):
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


@pytest.fixture
def hub(tmp_path):
    folder = save_checkpoint(tmp_path / "remote")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "modeling_tiny.py").write_text("raise SystemExit('code of a stranger ran')", encoding="utf-8")
    handler = type("OneHub", (Hub,), {"folder": folder, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}", handler.asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def build(tmp_path, hub, monkeypatch):
    monkeypatch.chdir(ROOT)
    project = tmp_path / "project"
    settings = {"kind": "pretrained", "model": "owner/tiny", "revision": f"'{COMMIT}'"}
    make_workspace(project, [], [f"training.base.{key}={value}" for key, value in settings.items()])
    (project / "data/environment").mkdir(parents=True, exist_ok=True)
    (project / "data/environment/catalog.jsonl.zst").write_bytes(b"not read")
    variables = {"PYTHONPATH": str(project / "src"), "HF_ENDPOINT": hub[1], "HF_HOME": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, "scripts/build_base.py"]
        done = subprocess.run(command, cwd=project, env={**os.environ, **variables}, capture_output=True, text=True)
        return done, project / "data/models/base"

    return run


def test_a_pinned_model_becomes_the_base_with_its_lineage_and_without_its_code(hub, build):
    remote, _, asked = hub
    done, base = build()
    assert done.returncode == 0, done.stderr[-2000:]
    assert (base / "model.safetensors").read_bytes() == (remote / "model.safetensors").read_bytes()
    names = {path.name for path in base.rglob("*")}
    assert {"config.json", "tokenizer.json", "chat_template.jinja"} <= names
    assert not names & {"pytorch_model.bin", "modeling_tiny.py", ".cache"}
    assert not [path for path in asked if "modeling_tiny" in path or "pytorch_model" in path]
    assert COMMIT in "".join(p.read_text(encoding="utf-8") for p in base.glob("*lineage*"))


@pytest.mark.slow
def test_a_model_without_safetensors_is_no_base(hub, build):
    (hub[0] / "model.safetensors").unlink()
    done, base = build()
    assert done.returncode == 3
    assert "owner/tiny at 0123456789abcdef0123456789abcdef01234567 has no *.safetensors" in done.stderr
    assert not base.exists()
