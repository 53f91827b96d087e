"""A wait says for what (B7): "0 of 2 pods, no node has room", and not a name and seconds only."""

import io
import json
import time

import pytest
from rich.console import Console

from rehearsal.engine import progress
from rehearsal.engine.events import Record
from rehearsal.engine.view import ClusterView, Gang, Service
from rehearsal.engine.waits import waits

FULL = "[Pod shop/web-1]: Unschedulable: 0/6 nodes are available: 6 Insufficient nvidia.com/gpu."
TAINTED = "[Pod shop/web-1]: Unschedulable: 0/6 nodes are available: 6 node(s) had untolerated taint."


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ((FULL,), "0 of 2 pods, no node has room"),
        ((TAINTED,), "0 of 2 pods, no node takes them"),
        (('[Pod shop/web-1]: Back-off pulling image "x" [ImagePullBackOff]',), "0 of 2 pods, ImagePullBackOff"),
        ((), "0 of 2 pods"),
    ],
)
def test_a_deployment_that_is_not_ready_lacks_something(why: tuple[str, ...], said: str) -> None:
    cluster = ClusterView("c", services=[Service("shop", "web", 0, 2, 0, why), Service("shop", "done", 1, 1, 1)])
    assert waits([cluster]) == {("shop", "web"): said}


def test_a_gang_that_is_short_does_too() -> None:
    gangs = [Gang("training", "sft", 4, 1, "Inqueue", (FULL,)), Gang("training", "ran", 4, 0, "Completed")]
    assert waits([ClusterView("c", gangs=gangs)]) == {("training", "sft"): "1 of 4 pods, no node has room"}


def begun(kind: str, inputs: dict[str, object]) -> str:
    metadata = {"op": "create", "urn": f"urn:pulumi:dev::p::{kind}::x", "new": {"custom": True, "inputs": inputs}}
    return json.dumps({"resourcePreEvent": {"metadata": metadata}})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (begun("kubernetes:apps/v1:Deployment", {"metadata": {"namespace": "shop", "name": "web"}}), ": 0 of 2 pods"),
        (begun("kubernetes:helm.sh/v3:Release", {"namespace": "shop", "name": "chart"}), ": web 0 of 2 pods"),
        (begun("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}), " ("),
    ],
)
def test_the_line_of_a_wait_says_what_lacks(line: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE_SECONDS", -1.0)
    written, record = io.StringIO(), Record()
    record.feed(line, time.monotonic())
    watcher = progress.Lines(Console(file=written, width=200), waits=lambda: {("shop", "web"): "0 of 2 pods"})
    watcher(None, record)
    assert f" x{said}" in written.getvalue()
