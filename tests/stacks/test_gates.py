"""The gates behind Volcano and the GPU Operator ask anew when the release is another: by a Job of another name."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from catalogue import versions
from stacks import devices, services
from tests.stacks.fake_platform import fake_graph

GATES = {
    "gang-admission-wait": ("VOLCANO", services, "volcano_values"),
    "gpu-readiness-wait": ("GPU_OPERATOR", devices, "gpu_operator_values"),
    "gpu-checks-training-count": ("GPU_OPERATOR", devices, "gpu_operator_values"),
}


def name_of(gate: str) -> str:
    """The Job's name in the cluster, in a run of its own."""
    name: str = fake_graph.__wrapped__().one(gate).inputs["metadata"]["name"]
    return name


@pytest.mark.parametrize("gate", GATES)
def test_another_version_or_other_values_are_another_job(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    version, where, values = GATES[gate]
    before, made = name_of(gate), getattr(where, values)
    with monkeypatch.context() as patch:
        row = getattr(versions, version)
        patch.setattr(versions, version, dataclasses.replace(row, version=f"{row.version}0"))
        bumped = name_of(gate)
    changed: Callable[..., Any] = lambda *args, **kwargs: {**made(*args, **kwargs), "another": "value"}  # noqa: E731
    monkeypatch.setattr(where, values, changed)
    assert len({before, bumped, name_of(gate)}) == 3


@pytest.mark.parametrize("gate", GATES)
def test_values_in_another_order_are_the_same_job(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, where, values = GATES[gate]
    before, made = name_of(gate), getattr(where, values)
    turned: Callable[..., Any] = lambda *args, **kwargs: dict(reversed(made(*args, **kwargs).items()))  # noqa: E731
    monkeypatch.setattr(where, values, turned)
    assert name_of(gate) == before
