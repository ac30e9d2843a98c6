"""What --download fetches, from a small server on this machine that speaks the hub's protocol."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from attn_cli.checkpoint._sources import find
from attn_cli.errors import CheckpointError
from tests.helpers import GOLDEN
from tests.helpers import attn_cli as run

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Repositories of files; `asked` holds every path that was requested, `broken` those answered with an error."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.repos: dict[str, dict[str, bytes]] = {}
        self.asked: list[str] = []
        self.broken: dict[str, tuple[int, str]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    """GET /api/models/NAME[/revision/REV] and HEAD or GET /NAME/resolve/REV/FILE."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def do_HEAD(self) -> None:
        self.reply(body=False)

    def do_GET(self) -> None:
        self.reply(body=True)

    def reply(self, *, body: bool) -> None:
        path = self.path.split("?")[0]
        self.server.asked.append(path)
        name, rest = self.parts(path)
        status, code = self.server.broken.get(name, (200, ""))
        files = self.server.repos.get(name)
        if status == 200 and files is None:
            status, code = 404, "RepoNotFound"
        if status != 200:
            return self.send(b"{}", body=body, status=status, headers={"X-Error-Code": code})
        if path.startswith("/api/"):
            siblings = [{"rfilename": file} for file in files or {}]
            about = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
            return self.send(json.dumps(about).encode(), body=body, headers={"Content-Type": "application/json"})
        file = rest.partition("/")[2]
        data = (files or {}).get(file)
        if data is None:
            return self.send(
                b"", body=body, status=404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
            )
        etag = f'"{hashlib.sha256(data).hexdigest()}"'
        return self.send(data, body=body, headers={"ETag": etag, "X-Repo-Commit": COMMIT})

    def parts(self, path: str) -> tuple[str, str]:
        """The repository and what comes after resolve/."""
        if path.startswith("/api/models/"):
            return path.removeprefix("/api/models/").partition("/revision/")[0], ""
        name, _, rest = path[1:].partition("/resolve/")
        return name, rest

    def send(self, data: bytes, *, body: bool, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.chdir(tmp_path)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def golden(name: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (GOLDEN / name).iterdir() if not p.name.startswith("reference")}


def fetched(server: Hub) -> set[str]:
    return {path.rpartition("/")[2] for path in server.asked if "/resolve/" in path}


def test_only_config_tokenizer_and_weights_are_fetched(hub: Hub) -> None:
    extra = {name: b"x" * 100 for name in ("README.md", "pytorch_model.bin", "tf_model.h5", "onnx/model.onnx")}
    hub.repos["org/mini"] = golden("bert") | extra
    first = run("show", "-m", "org/mini", "--download", "The dog slept", "--json")
    assert first.returncode == 0, first.stderr.decode()
    assert first.stderr == b""
    assert fetched(hub) == set(golden("bert"))
    want = json.loads(run("show", "-m", str(GOLDEN / "bert"), "The dog slept", "--json").stdout)
    assert json.loads(first.stdout)["heads"] == want["heads"]
    assert json.loads(first.stdout)["model"]["source"] == "org/mini"

    hub.asked.clear()
    for options in ((), ("--download",)):  # what is complete needs no network
        assert run("show", "-m", "org/mini", *options, "The dog slept", "--json").stdout == first.stdout
    assert hub.asked == []


def test_a_revision_is_fetched_and_found_again(hub: Hub, tmp_path: Path) -> None:
    hub.repos["org/mini"] = golden("gpt2")
    path = find("org/mini@refs/pr/1", download=True)
    assert path.name == COMMIT
    assert find("org/mini@refs/pr/1") == find(f"org/mini@{COMMIT[:9]}") == path
    with pytest.raises(CheckpointError, match="was not found"):
        find("org/mini")


def test_shards_are_fetched_by_their_index(hub: Hub, tmp_path: Path) -> None:
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = {"weight_map": {"a": shards[0], "b": shards[1], "c": "../../escape.safetensors"}}
    files = {shard: b"x" for shard in (*shards, "other.safetensors", "../../escape.safetensors")}
    hub.repos["org/big"] = files | {"config.json": b"{}", "model.safetensors.index.json": json.dumps(index).encode()}
    find("org/big", download=True)
    assert fetched(hub) == {*shards, "config.json", "model.safetensors.index.json"}


def test_an_interrupted_download_is_completed(hub: Hub) -> None:
    files = golden("bert")
    hub.repos["org/mini"] = files
    path = find("org/mini", download=True)
    (path / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="without all of its files") as caught:
        find("org/mini")
    assert "--download" in caught.value.hint
    assert (find("org/mini", download=True) / "model.safetensors").read_bytes() == files["model.safetensors"]


def test_of_several_gguf_files_one_is_named(hub: Hub) -> None:
    hub.repos["org/quant"] = {"a.Q4_0.gguf": b"GGUF", "a.Q8_0.gguf": b"GGUF", "big-00001-of-00002.gguf": b"GGUF"}
    hub.repos["org/quant"]["big-00002-of-00002.gguf"] = b"GGUF"
    with pytest.raises(CheckpointError, match="several weight files"):
        find("org/quant", download=True)
    assert find("org/quant/a.Q8_0.gguf", download=True).name == "a.Q8_0.gguf"
    assert fetched(hub) == {"a.Q8_0.gguf"}
    assert find("org/quant/big-00001-of-00002.gguf", download=True).with_name("big-00002-of-00002.gguf").is_file()
    with pytest.raises(CheckpointError, match="has no file") as caught:
        find("org/quant/a.Q8_1.gguf", download=True)
    assert "'a.Q8_0.gguf'" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "code", "message", "hint"),
    [
        (404, "RepoNotFound", "no such model", "HF_TOKEN"),
        (403, "GatedRepo", "asked first", "HF_TOKEN"),
        (404, "RevisionNotFound", "no such branch", "page"),
        (418, "", "418", "network"),
    ],
)
def test_what_the_hub_refuses_is_said(hub: Hub, status: int, code: str, message: str, hint: str) -> None:
    hub.broken["org/mini"] = (status, code)
    done = run("show", "-m", "org/mini", "--download", "hello")
    assert done.returncode == 3
    error, advice = done.stderr.decode().splitlines()
    assert message in error
    assert "'org/mini'" in error
    assert hint in advice


def test_no_network_is_said(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CheckpointError, match="cannot be fetched") as caught:
        find("org/mini", download=True)
    assert "HF_ENDPOINT" in caught.value.hint


def test_download_without_a_model_is_a_usage_error() -> None:
    assert run("show", "--download", "hello").returncode == 2
