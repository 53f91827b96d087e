"""Field managers: what the kubernetes plugin takes over, and what it leaves to others (LF24)."""

from typing import Any

import pytest

from rehearsal.plugins.kubernetes.managers import handed_over, preview_forces, without_ignored

MINE = "pulumi-kubernetes-0123abcd"


def entry(manager: str, operation: str = "Update", **fields: Any) -> dict[str, Any]:
    """The fields of `a={"b": {}}` are `f:a` and `f:b`."""
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": named(fields)}


def named(fields: dict[str, Any]) -> dict[str, Any]:
    return {f"f:{name}": named(below) for name, below in fields.items()}


def test_the_first_update_makes_an_applying_manager_of_the_creator_lf24() -> None:
    created = entry("pulumi-kubernetes", data={"a": {}})
    assert handed_over([created], MINE) == [{**created, "manager": MINE, "operation": "Apply"}]


@pytest.mark.parametrize("manager", ["kubectl-set", "kubectl-patch", "kubectl-edit", "before-first-apply"])
def test_what_a_person_did_with_kubectl_is_taken_without_a_word_lf24(manager: str) -> None:
    ours = entry(MINE, "Apply", data={"a": {}})
    theirs = entry(manager, data={"b": {}})
    assert handed_over([ours, theirs], MINE) == [entry(MINE, "Apply", data={"a": {}, "b": {}})]


@pytest.mark.parametrize(
    "other", [entry("kube-controller-manager"), entry("helm"), {**entry("kubectl-scale"), "subresource": "scale"}]
)
def test_other_managers_keep_what_is_theirs_lf24(other: dict[str, Any]) -> None:
    assert handed_over([entry(MINE, "Apply"), other], MINE) is None


def test_only_a_preview_overrides_conflicts_and_only_beside_the_creator_lf24() -> None:
    """After the first update a preview fails on what `up` then takes over."""
    assert preview_forces([entry("pulumi-kubernetes"), entry("kubectl-set")])
    assert not preview_forces([entry(MINE, "Apply"), entry("kubectl-set")])


def test_ignored_fields_stay_with_whoever_has_them_lf24() -> None:
    live = {"spec": {"replicas": 5, "paused": True}, "metadata": {"managedFields": [
        entry("hpa", spec={"replicas": {}}),
        entry(MINE, "Apply", spec={"paused": {}}),
    ]}}  # fmt: skip
    inputs = {"spec": {"replicas": 1, "paused": False, "other": 1}}
    wanted = without_ignored(inputs, ["spec.replicas", "spec.paused"], live, MINE)
    assert wanted == {"spec": {"paused": True, "other": 1}}
    assert inputs["spec"]["replicas"] == 1
