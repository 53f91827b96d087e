"""The gates behind Volcano and the GPU Operator ask anew when the release is another: by a Job of another name."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from catalogue import versions
from stacks import devices, services
from tests.graph.harness import Recorded
from tests.stacks.fake_platform import fake_graph

GATES = {
    ("gang-admission-wait",): ("VOLCANO", services, "volcano_values"),
    ("gpu-readiness-wait", "gpu-checks-training-count"): ("GPU_OPERATOR", devices, "gpu_operator_values"),
}
every_release = pytest.mark.parametrize("gates", GATES, ids=lambda gates: " and ".join(gates))


def names(gates: tuple[str, ...], graph: Recorded) -> list[str]:
    """The Jobs' names in the cluster."""
    return [graph.one(gate).inputs["metadata"]["name"] for gate in gates]


def anew() -> Recorded:
    """What is registered now, in a run of its own."""
    graph: Recorded = fake_graph.__wrapped__()
    return graph


@every_release
def test_another_version_or_other_values_are_another_job(
    gates: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    version, where, values = GATES[gates]
    before, made = names(gates, fake_graph()), getattr(where, values)
    with monkeypatch.context() as patch:
        row = getattr(versions, version)
        patch.setattr(versions, version, dataclasses.replace(row, version=f"{row.version}0"))
        bumped = names(gates, anew())
    changed: Callable[..., Any] = lambda *args, **kwargs: {**made(*args, **kwargs), "another": "value"}  # noqa: E731
    monkeypatch.setattr(where, values, changed)
    for each in zip(before, bumped, names(gates, anew()), strict=True):
        assert len(set(each)) == 3, each


@every_release
def test_values_in_another_order_are_the_same_job(gates: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    _, where, values = GATES[gates]
    before, made = names(gates, fake_graph()), getattr(where, values)
    turned: Callable[..., Any] = lambda *args, **kwargs: dict(reversed(made(*args, **kwargs).items()))  # noqa: E731
    monkeypatch.setattr(where, values, turned)
    assert names(gates, anew()) == before
