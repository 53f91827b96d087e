"""What a person sees when a stack is refused: one message, and nothing registered."""

import runpy
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pulumi
import pytest

from tests.graph.harness import RecordingMonitor, config_of, record
from tests.graph.stackfiles import ROOT, run_program, stack_config


def changed(stack: str, **sections: Mapping[str, Any]) -> dict[str, Any]:
    """The stack's configuration with keys of its sections replaced."""
    config = deepcopy(stack_config(stack))
    for section, values in sections.items():
        config[f"gpucluster:{section}"] = {**config[f"gpucluster:{section}"], **values}
    return config


def refused(config: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """The program's message. Fails if anything was registered before it."""
    registered: list[str] = []

    def keep(_: RecordingMonitor, urn: str, *_rest: object) -> None:
        registered.append(urn)

    monkeypatch.setattr(RecordingMonitor, "_keep", keep)
    with pytest.raises(pulumi.RunError) as error:
        run_program(config, stack="dev")
    assert registered == []
    return str(error.value)


def test_a_typo_is_named_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(changed("dev", budget={"maxHourlyUsdd": 3}), monkeypatch)
    assert "gpucluster:budget.maxHourlyUsdd" in message


def test_a_stack_over_its_budget_is_refused_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(changed("dev", budget={"maxHourlyUsd": 1}), monkeypatch)
    assert "the planner refuses this stack: 1 finding; nothing was registered" in message
    assert "budget.maxHourlyUsd" in message


def test_all_findings_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    config = changed("dev", budget={"maxHourlyUsd": 1}, platform={"kubernetesVersion": "1.28"})
    message = refused(config, monkeypatch)
    assert "2 findings" in message
    assert "platform.kubernetesVersion" in message
    assert "budget.maxHourlyUsd" in message


def test_metal_is_planned_and_not_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(stack_config("metal"), monkeypatch)
    assert message == "gpucluster:platform.kind: metal can be planned but not deployed yet; type make plan"


def test_metal_that_cannot_work_is_refused_for_that_first(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(changed("metal", platform={"bmcCidr": "10.20.0.0/24"}), monkeypatch)
    assert "1 finding; nothing was registered" in message
    assert "10.20.0.0/24 overlaps 10.20.0.0/22" in message


def test_a_missing_secret_is_named() -> None:
    def program() -> None:
        runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")

    with pytest.raises(pulumi.ConfigMissingError, match="gpucluster:apiToken"):
        record(program, stack="dev", config=config_of(stack_config("dev")))
