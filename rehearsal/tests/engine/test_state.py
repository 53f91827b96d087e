"""Edits of a deployment: what was interrupted becomes part of it or leaves it."""

import json
from typing import Any

from rehearsal.engine import state

VPC = "urn:pulumi:dev::p::aws:ec2/vpc:Vpc::main"
SUBNET = "urn:pulumi:dev::p::aws:ec2/subnet:Subnet::a"
PROVIDER = "urn:pulumi:dev::p::pulumi:providers:aws::aws"


def resource(urn: str, **more: Any) -> dict[str, Any]:
    return {"urn": urn, "type": urn.split("::")[2], "custom": True, **more}


def document(*pending: dict[str, Any], resources: list[dict[str, Any]] | None = None) -> state.Document:
    return {"version": 3, "deployment": {"resources": resources or [], "pending_operations": list(pending)}}


def test_found_objects_enter_the_state_and_cleared_ones_leave() -> None:
    old = document(
        {"resource": resource(VPC, inputs={"cidrBlock": "10.0.0.0/16"}), "type": "creating"},
        {"resource": resource(SUBNET), "type": "creating"},
        {"resource": resource(PROVIDER), "type": "updating"},
    )
    new = state.settle(old, {VPC: ("vpc-1", {"kept": "x"})}, {SUBNET})
    (entry,) = new["deployment"]["resources"]
    assert (entry["id"], entry["outputs"]) == ("vpc-1", {"cidrBlock": "10.0.0.0/16", "kept": "x"})
    assert [each["type"] for each in new["deployment"]["pending_operations"]] == ["updating"]
    assert len(old["deployment"]["pending_operations"]) == 3


def test_an_updating_operation_is_never_taken_for_a_create() -> None:
    old = document({"resource": resource(VPC), "type": "updating"})
    assert state.settle(old, {VPC: ("vpc-1", {})}, {VPC}) == old


def test_the_replaced_resource_steps_aside() -> None:
    old = document(
        {"resource": resource(VPC), "type": "creating"},
        resources=[resource(VPC, id="vpc-old"), resource(SUBNET, id="subnet-1")],
    )
    entries = state.settle(old, {VPC: ("vpc-new", {})}, set())["deployment"]["resources"]
    assert [(each["id"], each.get("delete", False)) for each in entries] == [
        ("vpc-old", True),
        ("subnet-1", False),
        ("vpc-new", False),
    ]


def test_a_resource_deleted_before_its_replacement_goes() -> None:
    old = document(
        {"resource": resource(VPC), "type": "creating"}, resources=[resource(VPC, id="old", pendingReplacement=True)]
    )
    entries = state.settle(old, {VPC: ("new", {})}, set())["deployment"]["resources"]
    assert [each["id"] for each in entries] == ["new"]


def test_only_living_resources_are_marked_as_unfinished() -> None:
    old = document(resources=[resource(VPC, id="old", delete=True), resource(VPC, id="new"), resource(SUBNET, id="s")])
    marked = state.mark_interrupted(old, {VPC})["deployment"]["resources"]
    assert ["initErrors" in each for each in marked] == [False, True, False]


def test_secrets_are_unwrapped_and_json_arguments_decoded() -> None:
    secret = {state.SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps("apiVersion: v1")}
    sealed = {state.SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}
    provider = resource(
        PROVIDER, id="1", inputs={"kubeconfig": secret, "other": sealed, "defaultTags": '{"tags":{"a":"b"}}'}
    )
    assert state.provider_inputs(document(resources=[provider]), f"{PROVIDER}::1") == {
        "kubeconfig": "apiVersion: v1",
        "other": None,
        "defaultTags": {"tags": {"a": "b"}},
    }


def test_pending_operations_are_listed_with_plain_inputs() -> None:
    (pending,) = state.pending(
        document({"resource": resource(VPC, inputs={"tags": {"Name": "x"}}), "type": "creating"})
    )
    assert (pending.urn.name, pending.kind, pending.inputs["tags"]) == ("main", "creating", {"Name": "x"})
    assert state.pending({"version": 3, "deployment": {}}) == []
