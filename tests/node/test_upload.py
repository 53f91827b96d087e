"""What uploads a compiled pipeline, before a server that speaks the API v2beta1 as it is documented."""

import json
import threading
from collections.abc import Iterator
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import upload
from steps import StepError


class Flows(ThreadingHTTPServer):
    """Pipelines by name with their versions, three to a page (backend/api/v2beta1/pipeline.proto)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pipelines: dict[str, list[tuple[str, bytes]]] = {}
        self.away = 0
        self.refuses = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Flows

    def _tell(self, code: int, said: dict[str, Any]) -> None:
        body = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.server.away:
            self.server.away -= 1
            self._tell(503, {"error": "the database is not there"})
            return
        url = urlsplit(self.path)
        parts = url.path.split("/")
        if "names" in parts:
            known = parts[-1] in self.server.pipelines
            self._tell(200 if known else 404, {"pipeline_id": f"id-{parts[-1]}"} if known else {"error": "not found"})
            return
        versions = self.server.pipelines[parts[-2].removeprefix("id-")]
        at = int(parse_qs(url.query).get("page_token", ["0"])[0])
        page = [{"pipeline_version_id": f"v-{name}", "name": name} for name, _ in versions[at : at + 3]]
        more = {"next_page_token": str(at + 3)} if at + 3 < len(versions) else {}
        self._tell(200, {"pipeline_versions": page, **more})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.refuses:
            self._tell(400, {"error_message": self.server.refuses})
            return
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        (part,) = [each for each in BytesParser().parsebytes(head + body).walk() if not each.is_multipart()]
        assert part.get_param("name", header="content-disposition") == "uploadfile"
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        url = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        if url.path.endswith("/upload"):
            self.server.pipelines[query["name"]] = [(query["name"], content)]
            self._tell(200, {"pipeline_id": f"id-{query['name']}"})
        else:
            assert url.path.endswith("/upload_version")
            self.server.pipelines[query["pipelineid"].removeprefix("id-")].append((query["name"], content))
            self._tell(200, {"pipeline_version_id": f"v-{query['name']}"})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> Iterator[Flows]:
    monkeypatch.setattr(upload, "_PAUSE_S", 0.01)
    server = Flows()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def uploaded(flows: Flows, file: Path, version: str) -> str:
    return upload.main([f"--server={flows.address}", "--name=pretraining", f"--version={version}", f"--file={file}"])


def test_a_pipeline_is_made_and_a_change_is_a_further_version(flows: Flows, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(b"first: 1\r\n--x\n")
    assert uploaded(flows, file, "a-1") == "v-a-1"
    file.write_bytes(b"second: 2\n")
    assert uploaded(flows, file, "b-2") == "v-b-2"
    assert flows.pipelines["pretraining"][1:] == [("a-1", b"first: 1\r\n--x\n"), ("b-2", b"second: 2\n")]


def test_a_version_that_is_there_is_left_as_it_is_on_whichever_page(flows: Flows, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"x: 1\n")
    flows.pipelines["pretraining"] = [(f"v{number}", b"") for number in range(8)]
    assert uploaded(flows, tmp_path / "p.yaml", "v7") == "v-v7"
    assert len(flows.pipelines["pretraining"]) == 8


def test_a_server_that_is_not_there_yet_is_asked_again(flows: Flows, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"x: 1\n")
    flows.away = 3
    assert uploaded(flows, tmp_path / "p.yaml", "v1") == "v-v1"


def test_a_refusal_is_told_in_the_servers_words_and_one_that_never_answers_by_its_address(
    flows: Flows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.yaml").write_bytes(b"x: 1\n")
    flows.refuses = "v1 pipelines are blocked"
    with pytest.raises(StepError, match="v1 pipelines are blocked"):
        uploaded(flows, tmp_path / "p.yaml", "v1")
    monkeypatch.setattr(upload, "_TRIES", 2)
    flows.away = 5
    with pytest.raises(StepError, match=r"does not answer .*the database is not there"):
        uploaded(flows, tmp_path / "p.yaml", "v1")
