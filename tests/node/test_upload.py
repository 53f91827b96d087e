"""What uploads a compiled pipeline, before a server that speaks the API v2beta1 as it is documented."""

from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import upload
from steps import StepError

from rehearsal.testing.answering import Asked, Said, answering


class Flows:
    """Pipelines by name with their versions, three to a page (backend/api/v2beta1/pipeline.proto)."""

    def __init__(self) -> None:
        self.address = ""
        self.pipelines: dict[str, list[tuple[str, bytes]]] = {}
        self.away = 0
        self.refuses = ""

    def answer(self, asked: Asked) -> Said:
        return self._found(asked) if asked.method == "GET" else self._taken(asked)

    def _found(self, asked: Asked) -> Said:
        if self.away:
            self.away -= 1
            return Said({"error": "the database is not there"}, 503)
        url = urlsplit(asked.path)
        parts = url.path.split("/")
        if "names" in parts:
            known = parts[-1] in self.pipelines
            return Said({"pipeline_id": f"id-{parts[-1]}"}) if known else Said({"error": "not found"}, 404)
        versions = self.pipelines[parts[-2].removeprefix("id-")]
        at = int(parse_qs(url.query).get("page_token", ["0"])[0])
        page = [{"pipeline_version_id": f"v-{name}", "name": name} for name, _ in versions[at : at + 3]]
        more = {"next_page_token": str(at + 3)} if at + 3 < len(versions) else {}
        return Said({"pipeline_versions": page, **more})

    def _taken(self, asked: Asked) -> Said:
        if self.refuses:
            return Said({"error_message": self.refuses}, 400)
        head = f"Content-Type: {asked.headers['Content-Type']}\r\n\r\n".encode()
        (part,) = [each for each in BytesParser().parsebytes(head + asked.body).walk() if not each.is_multipart()]
        assert part.get_param("name", header="content-disposition") == "uploadfile"
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        url = urlsplit(asked.path)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        if url.path.endswith("/upload"):
            self.pipelines[query["name"]] = [(query["name"], content)]
            return Said({"pipeline_id": f"id-{query['name']}"})
        assert url.path.endswith("/upload_version")
        self.pipelines[query["pipelineid"].removeprefix("id-")].append((query["name"], content))
        return Said({"pipeline_version_id": f"v-{query['name']}"})


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> Iterator[Flows]:
    monkeypatch.setattr(upload, "_PAUSE_S", 0.01)
    made = Flows()
    with answering(made.answer) as where:
        made.address = f"http://{where}"
        yield made


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
