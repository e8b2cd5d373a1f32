"""Snapshots come whole from real servers on loopback, through interruptions, or not at all."""

import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tracemill.errors import InputError
from tracemill.snapshots import SnapshotParams
from tracemill.traces.sources.fetch import fetch_snapshot
from tracemill.traces.sources.params import FetchParams

CONTENT = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PARAMS = FetchParams(max_gigabytes=0.01, timeout_seconds=5.0, attempts=3)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Cut(int):
    """A response that breaks off after so many bytes."""


class Server(ThreadingHTTPServer):
    """Serves one file; `faults` are taken one a request, and every request is written down."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.etag, self.faults, self.requests = CONTENT, '"v1"', [], []
        self.ranges, self.headers, self.moved = True, {}, None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        server = self.server
        server.requests.append((self.command, self.path, self.headers.get("Range")))
        fault = server.faults.pop(0) if server.faults and body else None
        if fault is not None and not isinstance(fault, Cut):
            self.send_response(fault)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if server.moved and self.path != server.moved:
            self.send_response(302)
            self.send_header("Location", server.moved)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = 0
        wanted = self.headers.get("Range")
        condition = self.headers.get("If-Range")
        if server.ranges and wanted and condition in (None, server.etag):
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
        if start:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(server.content) - start))
        if server.etag:
            self.send_header("ETag", server.etag)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            part = server.content[start:]
            self.wfile.write(part[:fault] if isinstance(fault, Cut) else part)
            if isinstance(fault, Cut):
                self.close_connection = True


@pytest.fixture
def server():
    with Server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def fetch(tmp_path):
    def fetch(source, sha256=None, params=PARAMS):
        target = tmp_path / "target"
        snapshot = SnapshotParams(source=source, sha256=sha256)
        digest = fetch_snapshot(
            snapshot, target, work=tmp_path / "work", pin=tmp_path / "snapshots/x/source.json", params=params
        )
        assert digest == hashlib.sha256(target.read_bytes()).hexdigest()
        return target.read_bytes()

    fetch.folder = tmp_path
    fetch.pin = tmp_path / "snapshots/x/source.json"
    fetch.target = tmp_path / "target"
    return fetch


def ranges(server):
    return [wanted for method, _, wanted in server.requests if method == "GET"]


def test_a_file_comes_whole_and_its_digest_is_pinned(server, fetch):
    assert fetch(f"{server.address}/a.jsonl?token=secret") == CONTENT
    assert json.loads(fetch.pin.read_text()) == {
        "source": f"{server.address}/a.jsonl",
        "sha256": DIGEST,
        "bytes": len(CONTENT),
    }


def test_a_given_digest_needs_no_pin(server, fetch):
    assert fetch(f"{server.address}/a.jsonl", sha256=DIGEST) == CONTENT
    assert not fetch.pin.exists()


def test_interrupted_downloads_go_on_where_they_stopped(server, fetch):
    server.faults = [Cut(1000), Cut(250_000), 503, Cut(0), Cut(100)]
    assert fetch(f"{server.address}/a") == CONTENT
    assert ranges(server) == [None, *(f"bytes={n}-" for n in (1000, 251_000, 251_000, 251_000, 251_100))]


def test_a_killed_run_is_taken_up_by_the_next(server, fetch):
    server.faults = [Cut(5000), 500, 500, 500]
    with pytest.raises(InputError, match="5000 bytes are kept for the next run"):
        fetch(f"{server.address}/a")
    assert not fetch.target.exists()
    assert not fetch.pin.exists()
    assert fetch(f"{server.address}/a") == CONTENT
    assert ranges(server)[-1] == "bytes=5000-"


def test_a_file_that_changed_in_between_starts_anew(server, fetch):
    server.faults = [Cut(5000), 500, 500, 500]
    with pytest.raises(InputError):
        fetch(f"{server.address}/a")
    server.content, server.etag = CONTENT[::-1], '"v2"'
    assert fetch(f"{server.address}/a") == CONTENT[::-1]


def test_bytes_kept_for_one_source_are_not_used_for_another(server, fetch):
    server.faults = [Cut(5000), 500, 500, 500]
    with pytest.raises(InputError):
        fetch(f"{server.address}/a")
    server.content = CONTENT[::-1]
    assert fetch(f"{server.address}/b") == CONTENT[::-1]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_version_or_ranges_all_is_fetched_again(server, fetch, etag):
    server.etag, server.faults = etag, [Cut(5000)]
    assert fetch(f"{server.address}/a") == CONTENT
    assert ranges(server) == [None, None]
    server.etag, server.ranges, server.faults = '"v"', False, [Cut(5000)]
    assert fetch(f"{server.address}/a") == CONTENT


def test_a_server_that_always_breaks_off_is_given_up(server, fetch):
    server.ranges, server.faults = False, [Cut(5000)] * 20
    with pytest.raises(InputError, match="gave up after 3 attempts"):
        fetch(f"{server.address}/a")


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_final(server, fetch, status):
    server.faults = [status] * 9
    with pytest.raises(InputError, match=f"the server answers {status}"):
        fetch(f"{server.address}/a?token=secret")
    assert len(server.requests) == 1


def test_other_bytes_than_those_given_or_pinned_fail_with_the_remedy(server, fetch):
    with pytest.raises(InputError, match=r"correct `sha256` in params\.yaml"):
        fetch(f"{server.address}/a", sha256="0" * 64)
    assert not fetch.target.exists()
    fetch(f"{server.address}/a")
    fetch.target.unlink()
    server.content, server.etag = CONTENT[::-1], '"v2"'
    with pytest.raises(
        InputError, match=r"the bytes have changed; give the new bytes a snapshot name of their own, or delete"
    ):
        fetch(f"{server.address}/a")
    assert not fetch.target.exists()
    fetch.pin.unlink()
    assert fetch(f"{server.address}/a") == CONTENT[::-1]


def test_secrets_of_an_address_are_not_shown(server, fetch, caplog):
    caplog.set_level("INFO")
    server.faults = [404]
    with pytest.raises(InputError) as caught:
        fetch(server.address.replace("//", "//user:pass@") + "/a?token=secret")
    assert not any(word in f"{caught.value} {caplog.text}" for word in ("secret", "user", "pass"))


def test_compressed_files_stay_compressed_and_encodings_on_the_way_are_refused(server, fetch):
    server.content = gzip.compress(CONTENT)
    server.headers = {"Content-Type": "application/gzip"}
    assert fetch(f"{server.address}/a.gz") == server.content
    server.headers = {"Content-Encoding": "gzip"}
    with pytest.raises(InputError, match="encodes it on the way"):
        fetch(f"{server.address}/b.gz")


def test_a_file_over_the_limit_is_refused_before_it_comes(server, fetch):
    address = server.address.replace("//", "//user:pass@") + "/a?token=secret"
    with pytest.raises(InputError, match=r"raise traces\.fetch\.max_gigabytes") as caught:
        fetch(address, params=FetchParams(max_gigabytes=0.001, timeout_seconds=5.0, attempts=3))
    assert not any(word in str(caught.value) for word in ("secret", "user", "pass"))
    assert not fetch.target.exists()


def test_an_address_that_nobody_answers_is_given_up(fetch):
    with pytest.raises(InputError, match="gave up after 3 attempts"):
        fetch("http://127.0.0.1:9/a")


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:port/a",
        "http://[::1/a",
        "http://a..b/c",
        "http://user:s/ecret@h/a",
    ],
)
def test_an_address_that_is_none_is_said_without_what_may_be_secret(fetch, address):
    with pytest.raises(InputError, match=r"http://.*: no address of a file; correct `source`") as caught:
        fetch(address)
    assert "ecret" not in str(caught.value)


def test_a_redirect_is_followed(server, fetch):
    server.moved = "/other"
    assert fetch(f"{server.address}/a") == CONTENT


def test_a_large_file_pointer_is_not_taken_for_the_file(server, fetch):
    server.content = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    with pytest.raises(InputError, match="Git LFS pointer"):
        fetch(f"{server.address}/a")


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_local_files_are_copied_and_compared(fetch, scheme):
    path = fetch.folder / "a.jsonl"
    path.write_bytes(CONTENT)
    assert fetch(f"{scheme}{path}", sha256=DIGEST) == CONTENT
    assert path.exists()
    assert not fetch.pin.exists()
    with pytest.raises(InputError, match="expected 0000"):
        fetch(f"{scheme}{path}", sha256="0" * 64)
    assert path.exists()
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        fetch(f"{scheme}{path}")


@pytest.fixture
def bucket(monkeypatch):
    import boto3
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="traces")
    yield client
    running.stop()


def test_an_object_of_a_bucket_comes_whole(bucket, fetch):
    bucket.put_object(Bucket="traces", Key="day/a.jsonl", Body=CONTENT)
    assert fetch("s3://traces/day/a.jsonl") == CONTENT
    assert json.loads(fetch.pin.read_text())["sha256"] == DIGEST
    bucket.put_object(Bucket="traces", Key="day/a.jsonl", Body=CONTENT[::-1])
    with pytest.raises(InputError, match="the bytes have changed"):
        fetch("s3://traces/day/a.jsonl")
    assert fetch("s3://traces/day/a.jsonl", sha256=hashlib.sha256(CONTENT[::-1]).hexdigest()) == CONTENT[::-1]


def test_an_object_comes_in_parts_that_outlive_a_run(bucket, fetch, monkeypatch):
    from tracemill.traces.sources import bucket as module

    monkeypatch.setattr(module, "_PART", 300_000)
    bucket.put_object(Bucket="traces", Key="a", Body=CONTENT)
    read, calls = module._open, []

    def fragile(params, anon=False):
        system = read(params, anon)
        whole = system.cat_file

        def cat_file(path, start=None, end=None):
            calls.append(start)
            if len(calls) in (3, 4, 5):
                raise ConnectionError("reset")
            return whole(path, start=start, end=end)

        system.cat_file = cat_file
        return system

    monkeypatch.setattr(module, "_open", fragile)
    with pytest.raises(InputError, match="ConnectionError"):
        fetch("s3://traces/a")
    assert fetch("s3://traces/a") == CONTENT
    assert calls == [0, 300_000, 600_000, 600_000, 600_000, 600_000, 900_000]


@pytest.mark.parametrize("source", ["s3://traces/missing", "s3://nowhere/a", "s3://traces"])
def test_what_is_not_in_a_bucket_is_said(bucket, fetch, source):
    with pytest.raises(InputError, match=r"cannot be read|a folder"):
        fetch(source)


@pytest.fixture
def hub(server, monkeypatch):
    server.headers = {"X-Repo-Commit": COMMIT}
    server.etag = f'"{hashlib.sha1(CONTENT).hexdigest()}"'
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return server


@pytest.mark.parametrize("revision", ["main", "refs%2Fpr%2F1", COMMIT])
def test_a_file_of_a_hub_is_fetched_at_its_commit(hub, fetch, revision):
    assert fetch(f"hf://datasets/owner/name@{revision}/data/a.jsonl") == CONTENT
    paths = [path for _, path, _ in hub.requests if path.startswith("/datasets/")]
    assert paths[0].startswith(f"/datasets/owner/name/resolve/{revision}/data/a.jsonl")
    assert paths[-1].startswith(f"/datasets/owner/name/resolve/{COMMIT}/data/a.jsonl")
    assert fetch.pin.exists() == (revision != COMMIT)


def test_what_a_hub_does_not_give_is_said(hub, fetch):
    with pytest.raises(InputError, match="expected hf://datasets/OWNER/NAME@REVISION/FILE"):
        fetch("hf://datasets/owner")
    hub.moved = "/datasets/gone"
    hub.headers, hub.faults = {}, [404] * 9
    with pytest.raises(InputError, match="the hub does not give it"):
        fetch("hf://datasets/owner/name@main/a.jsonl")
