"""An image that no registry has: what a pod shows while it is pulled in vain, and that it starts once it is there."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.images.table import known
from rehearsal.kubelet import pulling
from rehearsal.kubelet.program import Program
from rehearsal.tests.inside.simulated import Node
from rehearsal.tests.inside.test_faults import Cluster


class Registry:
    """Has the image from some time on."""

    def __init__(self) -> None:
        self.has = False

    def start(self, _: Any) -> Program:
        if not self.has:
            raise pulling.PullError("team/typo:1")
        return Program()


class Pulling(Cluster):
    """A node whose kubelet is asked at times of the test's."""

    def at(self, now: float) -> tuple[dict[str, Any], float | None]:
        wake = self.run.advance(self.made, self.node, now)
        (found,) = self.run.status(self.made)["containerStatuses"]
        return dict(found), wake


def test_a_pull_in_vain_is_shown_as_kubectl_shows_it(tmp_path: Path) -> None:
    registry = Registry()
    there = Pulling(tmp_path, registry.start)
    first, soon = there.at(1000.0)
    assert first["state"]["waiting"]["reason"] == "ErrImagePull"
    assert soon is not None
    second, later = there.at(soon)
    waiting = second["state"]["waiting"]
    assert waiting["reason"] == "ImagePullBackOff"
    assert waiting["message"].startswith('Back-off pulling image "i:1": ErrImagePull: failed to pull and unpack image ')
    assert later is not None
    assert there.events == ["Pulling", "Failed", "Failed", "BackOff", "Failed"]
    _, latest = there.at(later)
    assert latest is not None
    assert latest - later > later - soon
    registry.has = True
    assert "running" in there.at(latest)[0]["state"]


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("vllm/vllm-opnai:v1", '"docker.io/vllm/vllm-opnai:v1": pull access denied, repository does not exist or may'),
        ("typo", '"docker.io/library/typo:latest": pull access denied'),
        ("nvcr.io/nvida/pytorch:26.03-py3", "nvcr.io/nvida/pytorch:26.03-py3: not found"),
        ("localhost:5000/a", "localhost:5000/a:latest: not found"),
    ],
)
def test_containerd_says_why(reference: str, words: str) -> None:
    """Docker Hub hides what is private behind the same words as what is not there."""
    assert words in pulling.refusal(reference)


def test_only_what_the_program_says_is_absent(tmp_path: Path) -> None:
    """Without a word of the program every image is there."""
    node = Node(tmp_path)
    launch = node.launch()
    assert known().start(launch)
    with pytest.raises(pulling.PullError):
        known((), lambda pod, image: (pod["metadata"]["name"], image) == ("exporter", "i:1")).start(launch)
