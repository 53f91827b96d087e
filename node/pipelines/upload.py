"""Uploads a compiled pipeline to Kubeflow Pipelines as a version of the pipeline NAME, which it makes if there is none.

A version that is there already is left as it is: its name says its content. Asked are the paths of the API v2beta1
(backend/api/v2beta1/pipeline.proto, backend/src/apiserver/server/pipeline_upload_server.go of Kubeflow Pipelines).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steps import StepError, ended

PIPELINES = "/apis/v2beta1/pipelines"
_BOUNDARY = "gpucluster-pipeline-upload"
_SECONDS, _TRIES, _PAUSE_S = 30, 30, 5


class MissingError(Exception):
    """The server knows no such thing."""


def main(words: Sequence[str]) -> str:
    """The version's id. Raises StepError with the server's sentence."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("server", "name", "version"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--file", type=Path, required=True)
    asked = parser.parse_args(words)
    content = asked.file.read_bytes()
    pipeline = _pipeline(asked.server, asked.name)
    if pipeline is None:
        query = {"name": asked.name, "display_name": asked.name}
        pipeline = _said(asked.server, f"{PIPELINES}/upload", query, content)["pipeline_id"]
        # The first upload makes a version of the pipeline's own name; the one below says what it is.
    for version in _versions(asked.server, pipeline):
        if version.get("name", version.get("display_name")) == asked.version:
            print(f"upload: {asked.name} already has version {asked.version}", flush=True)
            return str(version["pipeline_version_id"])
    query = {"name": asked.version, "pipelineid": pipeline}
    made = _said(asked.server, f"{PIPELINES}/upload_version", query, content)
    print(f"upload: {asked.name} has the new version {asked.version}", flush=True)
    return str(made["pipeline_version_id"])


def _pipeline(server: str, name: str) -> str | None:
    try:
        return str(_said(server, f"{PIPELINES}/names/{urllib.parse.quote(name, safe='')}", {})["pipeline_id"])
    except MissingError:
        return None


def _versions(server: str, pipeline: str) -> list[dict[str, Any]]:
    """All of them: the server tells some at once, and how to ask for more."""
    found: list[dict[str, Any]] = []
    page = ""
    while True:
        said = _said(server, f"{PIPELINES}/{pipeline}/versions", {"page_size": "100", "page_token": page})
        found += said.get("pipeline_versions", [])
        page = said.get("next_page_token", "")
        if not page:
            return found


def _said(server: str, path: str, query: dict[str, str], content: bytes | None = None) -> dict[str, Any]:
    """The server's answer, asked again while nobody answers. Raises MissingError, or StepError with what it said."""
    address = f"{server}{path}?{urllib.parse.urlencode({key: value for key, value in query.items() if value})}"
    request = urllib.request.Request(address)  # noqa: S310 - an address of the cluster's own
    if content is not None:
        request.data = _form(content)
        request.add_header("Content-Type", f"multipart/form-data; boundary={_BOUNDARY}")
    why: object = None
    for _ in range(_TRIES):
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")
            if error.code == 404:
                raise MissingError(path) from None
            if error.code < 500 or content is not None:
                raise StepError(f"{path} was refused with {error.code}: {said[:500]}") from None
            why = f"{error.code}: {said[:200]}"
        except OSError as error:
            why = error
        time.sleep(_PAUSE_S)
    raise StepError(f"{server} does not answer ({why}); check its pods: kubectl -n pipelines get pods") from None


def _form(content: bytes) -> bytes:
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="uploadfile"; filename="pipeline.yaml"\r\n'
    return f"{head}Content-Type: application/yaml\r\n\r\n".encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
