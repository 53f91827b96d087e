"""The hub's client in the server's image, as the program's own script calls it (J17)."""

import pytest

from components.serving.hub import DOWNLOAD
from rehearsed import hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def wanted(repository: str = "meta-llama/Meta-Llama-3-8B", revision: str = COMMIT) -> hub.Download:
    found = hub.parse(["sh", "-c", DOWNLOAD, "download", repository, revision, "/shared/llama-1"])
    assert found is not None
    return found


def test_the_script_downloads_one_commit_beside_and_publishes_it_whole() -> None:
    assert hub.downloads(["sh", "-c", DOWNLOAD])
    assert wanted() == hub.Download("meta-llama/Meta-Llama-3-8B", COMMIT, "/shared/llama-1.partial", "/shared/llama-1")


@pytest.mark.parametrize(
    ("download", "token", "words"),
    [
        (wanted(), "", "Error: Access denied. Model 'meta-llama/Meta-Llama-3-8B' requires approval."),
        (wanted(), "hf_x", None),
        (wanted("Qwen/Qwen3-8B"), "", None),
        (wanted("Qwen/Qwen3-8B", "v1"), "", "Error: Revision not found in model 'Qwen/Qwen3-8B'."),
        (wanted("qwen3"), "", "Error: Model 'qwen3' not found."),
    ],
)
def test_what_the_hub_gives_and_to_whom(download: hub.Download, token: str, words: str | None) -> None:
    assert hub.refused(download, token) == words


def test_a_model_has_the_size_of_its_name_and_anything_else_is_an_adapter() -> None:
    assert sum(hub.files("meta-llama/Meta-Llama-3-8B").values()) == pytest.approx(16e9, rel=0.01)
    assert "adapter_config.json" in hub.files("our-team/sql")
