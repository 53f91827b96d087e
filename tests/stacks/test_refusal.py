"""What a person sees when a stack is refused: one message, and nothing registered."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pulumi
import pytest

from planner.plan import plan
from settings.load import from_sections
from tests.graph import stackfiles
from tests.graph.stackfiles import refusal, stack_config


def changed(stack: str, **sections: Mapping[str, Any]) -> dict[str, Any]:
    """The stack's configuration with keys of its sections replaced."""
    config = deepcopy(stack_config(stack))
    for section, values in sections.items():
        config[f"gpucluster:{section}"] = {**config[f"gpucluster:{section}"], **values}
    return config


def test_a_typo_is_named_with_its_path() -> None:
    message = refusal(changed("dev", budget={"maxHourlyUsdd": 3}), stack="dev")
    assert "gpucluster:budget.maxHourlyUsdd" in message


def test_a_stack_over_its_budget_is_refused_with_the_numbers() -> None:
    message = refusal(changed("dev", budget={"maxHourlyUsd": 1}), stack="dev")
    assert "the planner refuses this stack: 1 finding; nothing was registered" in message
    assert "budget.maxHourlyUsd" in message


def test_all_findings_come_at_once() -> None:
    config = changed("dev", budget={"maxHourlyUsd": 1}, platform={"kubernetesVersion": "1.28"})
    message = refusal(config, stack="dev")
    assert "2 findings" in message
    assert "platform.kubernetesVersion" in message
    assert "budget.maxHourlyUsd" in message


def without(section: str, **sections: Any) -> dict[str, Any]:
    """The stack on metal without a section, or with parts of others left out."""
    config = {key: value for key, value in deepcopy(stack_config("metal")).items() if key != f"gpucluster:{section}"}
    return {**config, **{f"gpucluster:{key}": value for key, value in sections.items()}}


def test_metal_without_machines_is_planned_and_not_deployed() -> None:
    assert refusal(without("inventory"), stack="dev") == (
        "gpucluster:inventory: is missing, so the stack can only be planned (make plan); add it to deploy"
    )


def test_what_an_inventory_leaves_open_is_said_at_once() -> None:
    """Without a store weights have no source; logs that are collected go somewhere."""
    monitored = {"retentionDays": 9, "diskGib": 77, "scrapeSeconds": 20, "logs": {"retentionDays": 5}}
    said = refusal(without("", inventory=_inventory_but("objectStore"), monitoring=monitored), stack="dev").splitlines()
    assert [each.partition(": ")[0] for each in said] == [
        "gpucluster:inventory.objectStore",
        "gpucluster:inventory.logs",
    ]


def test_without_files_of_somebody_else_the_machines_are_to_serve_them() -> None:
    """G01: then their drives and their addresses on the storage network must be named."""
    said = refusal(without("", inventory=_inventory_but("sharedFiles")), stack="dev")
    assert "5 findings; nothing was registered" in said
    assert "lustre-drives" in said
    assert "lustre-lnet" in said
    assert "or under inventory.sharedFiles what somebody else serves" in " ".join(said.split())


def _inventory_but(left_out: str) -> dict[str, Any]:
    return {key: value for key, value in stack_config("metal")["gpucluster:inventory"].items() if key != left_out}


@pytest.mark.parametrize("key", ["sshKey", "clusterKey", "objectStoreKeyId", "objectStoreKey"])
def test_a_secret_that_machines_need_is_named(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = stackfiles.secrets_of
    monkeypatch.setattr(
        stackfiles, "secrets_of", lambda config: {k: v for k, v in told(config).items() if k != f"gpucluster:{key}"}
    )
    assert f"type pulumi config set --secret gpucluster:{key} VALUE" in refusal(stack_config("metal"), stack="dev")


def test_a_mirror_that_asks_who_pulls_is_told() -> None:
    """J16: machines would stand half prepared otherwise."""
    supply = {"registry": "hub.site.example:5000/mirror", "registryLogin": {"user": "robot", "secret": "hubPassword"}}
    config = {**stack_config("metal"), "gpucluster:supply": supply}
    told = {key: value for key, value in stackfiles.secrets_of(config).items() if key != "gpucluster:hubPassword"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stackfiles, "secrets_of", lambda _: told)
        said = " ".join(refusal(config, stack="dev").split())
    assert "hub.site.example:5000 asks who pulls: gpucluster:hubPassword is not set" in said


def test_the_reason_stands_before_any_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """C13: nobody reads warnings about a stack that is not deployed at all."""
    warned: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    config = without("inventory")
    assert plan(
        from_sections({key.removeprefix("gpucluster:"): config[key] for key in config if "gpuc" in key})
    ).warnings
    refusal(config, stack="dev")
    assert warned == []


def clashing() -> dict[str, Any]:
    """The platform with its management controllers' addresses among those of the hosts."""
    return {"gpucluster:platform": stack_config("metal")["gpucluster:platform"] | {"bmcCidr": "10.20.0.0/24"}}


def test_metal_that_cannot_work_is_refused_for_that_first() -> None:
    message = refusal({**without("inventory"), **clashing()}, stack="dev")
    assert "1 finding; nothing was registered" in message
    assert "10.20.0.0/24 overlaps 10.20.0.0/22" in message


def test_missing_secrets_are_named_before_anything_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stackfiles, "SECRETS", {})
    typed = "type pulumi config set --secret gpucluster"
    closed = (
        "gpucluster:serving.services[0].keys[0]: llama-3-8b has no API key: gpucluster:apiToken is not set; "
        f"{typed}:apiToken VALUE"
    )
    assert refusal(stack_config("dev"), stack="dev").splitlines() == [closed]
    of_the_hub = deepcopy(stack_config("dev"))
    of_the_hub["gpucluster:serving"]["services"][0]["weights"] = f"hf://our-team/llama-3-8b@{'1' * 40}"
    needed = f"gpucluster:hfToken: models of the hub need this secret, and it is not set; {typed}:hfToken VALUE"
    assert refusal(of_the_hub, stack="dev").splitlines() == [needed, closed]


def test_a_stack_without_services_needs_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stackfiles, "SECRETS", {})
    config = {**stack_config("dev"), "gpucluster:serving": {"services": []}}
    assert stackfiles.run_program(config, stack="dev").resources
