"""The API server of Kubeflow Pipelines: pipelines are uploaded, found by their name, and listed with their versions.

It starts no runs: nobody plays Argo's controller. What it knows stays as long as the cluster, as its database does.
Source: Kubeflow Pipelines 2.17.0, backend/src/apiserver: server/pipeline_upload_server.go and server/pipeline_server.go
(paths, queries, answers and their status), storage/pipeline_store.go (names are there once), template/v2_template.go
(what is a pipeline), main.go (health); backend/api/v2beta1/pipeline.proto (fields, pages). Fields that nobody asks for
are left out.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import yaml

from rehearsal.cluster.pages import Answer, Request
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.program import TIME_SCALE, Launch, Program

PORT = 8888
START_SECONDS = 20.0
_PIPELINES = "/apis/v2beta1/pipelines"
_SCHEMA, _LONGEST = "2.1.0", 127
PAGE, MOST_OF_A_PAGE = 20, 200
"""Entries of a page where nobody says how many, and at most (server/list_request_util.go)."""
_LOCK = threading.Lock()


class RefusedError(Exception):
    """A status and the server's words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def run(launch: Launch) -> Program:
    """The server of the pod's namespace."""
    file = launch.world.directory / "pipelines" / f"{launch.namespace}.json"
    return Answering(launch, {PORT: Pipelines(file).answer}, launch.now + START_SECONDS / TIME_SCALE)


class Pipelines:
    """Pipelines by name, each with its versions, in a `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def answer(self, request: Request) -> Answer:
        """Answers one request."""
        query = {key: value[0] for key, value in parse_qs(request.query).items()}
        try:
            with _LOCK:
                return _json(self._answered(request, query))
        except RefusedError as error:
            return _json({"error_message": str(error), "error_details": str(error)}, error.status)

    def _answered(self, request: Request, query: dict[str, str]) -> dict[str, Any]:
        path = request.path
        if path in ("/apis/v1beta1/healthz", "/apis/v2beta1/healthz"):
            return {"commit_sha": "unknown", "tag_name": "unknown", "multi_user": False}
        known = self._read()
        if (request.method, path) == ("POST", f"{_PIPELINES}/upload"):
            return self._made(known, query, request)
        if (request.method, path) == ("POST", f"{_PIPELINES}/upload_version"):
            return self._grown(known, query, request)
        rest = path.removeprefix(f"{_PIPELINES}/").split("/")
        if request.method == "GET" and path.startswith(f"{_PIPELINES}/names/"):
            return _pipeline(_found(known, unquote(rest[1])))
        if request.method == "GET" and path == _PIPELINES:
            return {"pipelines": [_pipeline(each) for each in known.values()], "total_size": len(known)}
        if request.method == "GET" and path.startswith(_PIPELINES) and rest[1:] == ["versions"]:
            return _listed(_by_id(known, rest[0]), query)
        raise RefusedError(404, "Not Found")

    def _made(self, known: dict[str, Any], query: dict[str, str], request: Request) -> dict[str, Any]:
        content = _uploaded(request)
        name = query.get("name") or query.get("display_name") or "pipeline.yaml"
        if len(name) > _LONGEST:
            raise RefusedError(400, f"Pipeline.Name length cannot exceed {_LONGEST}")
        if name in known:
            raise RefusedError(409, "Failed to create a pipeline and a pipeline version")
        _look_at(content)
        known[name] = {"name": name, "id": _id("pipeline", name), "versions": [name]}
        self._write(known)
        return _pipeline(known[name])

    def _grown(self, known: dict[str, Any], query: dict[str, str], request: Request) -> dict[str, Any]:
        content = _uploaded(request)
        if not query.get("pipelineid"):
            raise RefusedError(400, "Failed to create a pipeline version")
        pipeline = next((each for each in known.values() if each["id"] == query["pipelineid"]), None)
        name = query.get("name") or "pipeline.yaml"
        if pipeline is None or len(name) > _LONGEST:
            raise RefusedError(400, "Failed to create a pipeline version")
        if name in pipeline["versions"]:
            raise RefusedError(409, "Failed to create a pipeline version")
        _look_at(content)
        pipeline["versions"].append(name)
        self._write(known)
        return _version(pipeline, name)

    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return found

    def _write(self, known: dict[str, Any]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(known))


def _uploaded(request: Request) -> bytes:
    """The file of a form, in its field `uploadfile`."""
    head = f"Content-Type: {request.headers.get('content-type', '')}\r\n\r\n".encode()
    for part in BytesParser().parsebytes(head + request.body).walk():
        if part.get_param("name", header="content-disposition") == "uploadfile":
            content = part.get_payload(decode=True)
            if isinstance(content, bytes):
                return content
    raise RefusedError(400, "Failed to read pipeline from file")


def _look_at(content: bytes) -> None:
    """One of its documents is a pipeline of version 2; those of version 1 are blocked (BLOCK_V1_PIPELINES)."""
    specs = [each for each in _documents(content) if _is_pipeline(each)]
    if len(specs) != 1:
        raise RefusedError(400, "unknown template format" if not specs else "multiple pipeline specs provided")
    if specs[0].get("schemaVersion") != _SCHEMA:
        version = specs[0].get("schemaVersion", "")
        raise RefusedError(
            400, f"KFP only supports schema version {_SCHEMA}, but the pipeline spec has version {version}"
        )


def _is_pipeline(spec: Any) -> bool:
    return isinstance(spec, dict) and bool((spec.get("pipelineInfo") or {}).get("name")) and "root" in spec


def _documents(content: bytes) -> Iterator[Any]:
    try:
        yield from yaml.safe_load_all(content)
    except yaml.YAMLError as error:
        raise RefusedError(400, f"unable to decode yaml document: {error}") from None


def _found(known: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in known:
        raise RefusedError(404, f"Failed to get pipeline by name {name}")
    found: dict[str, Any] = known[name]
    return found


def _by_id(known: dict[str, Any], wanted: str) -> dict[str, Any]:
    found: dict[str, Any] | None = next((each for each in known.values() if each["id"] == wanted), None)
    if found is None:
        raise RefusedError(404, f"Failed to list pipeline versions of {wanted}")
    return found


def _listed(pipeline: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """A page of versions, and where the next one begins."""
    names, size = pipeline["versions"], min(int(query.get("page_size") or PAGE), MOST_OF_A_PAGE)
    begin = int(query.get("page_token") or 0)
    more = {"next_page_token": str(begin + size)} if begin + size < len(names) else {}
    page = [_version(pipeline, each) for each in names[begin : begin + size]]
    return {"pipeline_versions": page, "total_size": len(names), **more}


def _pipeline(pipeline: dict[str, Any]) -> dict[str, Any]:
    return {"pipeline_id": pipeline["id"], "name": pipeline["name"], "display_name": pipeline["name"]}


def _version(pipeline: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        "pipeline_id": pipeline["id"],
        "pipeline_version_id": _id("version", pipeline["name"], name),
        "name": name,
        "display_name": name,
    }


def _id(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]


def _json(content: dict[str, Any], status: int = 200) -> Answer:
    return Answer(json.dumps(content), status, "application/json")
