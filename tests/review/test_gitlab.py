"""What the how-to pages say to put into .gitlab-ci.yml does what the workflows do on GitHub."""

import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from tests.review.test_workflows import ROOT, VALUES, called, ran, unprepared


def sample(page: str) -> dict[str, Any]:
    """The page's sample of .gitlab-ci.yml."""
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text()
    (found,) = re.findall(r"```yaml\n(# \.gitlab-ci\.yml\n.*?)```", text, re.DOTALL)
    return dict(yaml.safe_load(found))


def test_the_pages_sample_is_yaml_with_the_same_command() -> None:
    """What docs/how-to/pull-requests.md says to put into .gitlab-ci.yml."""
    content = sample("pull-requests")
    assert any(line.startswith("make review BASE=") for line in content["review"]["script"])
    assert not unprepared(content["review"]["script"])
    assert content["comment"]["needs"] == ["review"]
    assert content["review"]["artifacts"]["paths"] == ["build/review"]


class GitLab(BaseHTTPRequestHandler):
    """Notes of a merge request, a page of `per_page` at a time, oldest first only where that is asked for.

    The number of the next page is a header, empty on the last (docs.gitlab.com, REST API, Pagination); the order is
    the newest first (Notes API, `sort`).
    """

    notes: ClassVar[list[dict[str, Any]]] = []
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        page, size = int(query.get("page", 1)), int(query.get("per_page", 20))
        notes = self.notes if query.get("sort") == "asc" else self.notes[::-1]
        more = str(page + 1) if page * size < len(notes) else ""
        self._answer("GET", json.dumps(notes[(page - 1) * size : page * size]), {"X-Next-Page": more})

    def do_POST(self) -> None:
        self._answer("POST", "{}", {})

    def do_PUT(self) -> None:
        self._answer("PUT", "{}", {})

    def _answer(self, method: str, text: str, headers: dict[str, str]) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append(f"{method} {urlsplit(self.path).path}")
        self.send_response(200)
        for key, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("own", "calls"), [(None, ["GET", "GET", "GET", "POST"]), (0, ["GET", "PUT"]), (149, ["GET", "GET", "PUT"])]
)
def test_the_pages_sample_for_gitlab_edits_its_own_note_on_any_page(
    own: int | None, calls: list[str], tmp_path: Path
) -> None:
    (line,) = sample("pull-requests")["comment"]["script"]
    GitLab.asked.clear()
    GitLab.notes[:] = [{"id": 1000 + each, "body": "added 1 commit"} for each in range(230)]
    if own is not None:
        GitLab.notes[own]["body"] = "<!-- gpucluster-review -->\nold"
    (tmp_path / "build" / "review").mkdir(parents=True)
    (tmp_path / "build" / "review" / "comment.md").write_text("<!-- gpucluster-review -->\nnew")
    with ThreadingHTTPServer(("127.0.0.1", 0), GitLab) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        known = {"CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}", "CI_PROJECT_ID": "7"}
        more = {"CI_MERGE_REQUEST_IID": "3", "REVIEW_TOKEN": "t", "PATH": os.environ["PATH"]}
        words = ["bash", "-e", "-c", line]
        done = subprocess.run(words, cwd=tmp_path, env={**known, **more}, capture_output=True, text=True, check=False)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert [each.split()[0] for each in GitLab.asked] == calls
    to = "/projects/7/merge_requests/3/notes" + ("" if own is None else f"/{1000 + own}")
    assert GitLab.asked[-1].split()[1] == to


def test_the_pages_sample_of_labs_for_gitlab_does_as_the_workflow_does(tmp_path: Path) -> None:
    """What docs/how-to/labs.md says to put into .gitlab-ci.yml: the same commands, and none where it is not over."""
    (job,) = sample("labs").values()
    done = ran("\n".join(job["script"]), tmp_path, LAB="lab")
    assert done.returncode == 0, done.stderr
    vacate = ["make", "vacate", "STACK=lab", "REGION=us-east-2", "CONFIRM=lab"]
    assert called(tmp_path)[2:] == [
        ["aws", "eks", "update-kubeconfig", "--name", "gpucluster-lab"],
        vacate,
        ["make", "undeploy", "STACK=lab", "ARGS=--refresh --yes", "unreachable true"],
        vacate,
    ]
    (tmp_path / "calls.state").unlink()
    left = ran("\n".join(job["script"]), tmp_path, LAB="lab", AFTERWARDS=VALUES["EXPORTED"])
    assert left.returncode == 1
    for name in ("calls", "calls.state"):
        (tmp_path / name).unlink()
    assert ran("\n".join(job["script"]), tmp_path, LAB="lab", EXPORTED="{}").returncode == 0
    assert "undeploy" not in (tmp_path / "calls").read_text()
    (tmp_path / "calls").unlink()
    not_yet = job["script"][1].replace("$(make over", "$(echo false; true")
    assert ran("\n".join([not_yet, *job["script"][2:]]), tmp_path, LAB="lab").returncode == 0
    assert not (tmp_path / "calls").exists()
