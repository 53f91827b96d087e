"""What is wrong with an object by the schema that an API server publishes."""

from typing import Any

import pytest

from rehearsal.plugins.kubernetes.helm_schema import Schemas

THING = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer"},
                "share": {"x-kubernetes-int-or-string": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"on": {"type": "boolean"}}}},
            },
        }
    },
}
POD = {"type": "object", "properties": {"limits": {"additionalProperties": {"$ref": "#/components/schemas/Quantity"}}}}


class Server:
    """An API server with one custom kind and one of its own."""

    def list(self, *_: str) -> list[dict[str, Any]]:
        version = {"name": "v1", "schema": {"openAPIV3Schema": THING}}
        return [{"spec": {"group": "a.example", "names": {"kind": "Thing"}, "versions": [version]}}]

    def call(self, _: str, path: str) -> dict[str, Any]:
        assert path == "/openapi/v3/api/v1"
        identity = [{"group": "", "kind": "Box", "version": "v1"}]
        box = {"properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Pod"}], "default": {}}}}
        quantity = {"oneOf": [{"type": "string"}, {"type": "number"}]}
        return {
            "components": {
                "schemas": {
                    "Box": {**box, "x-kubernetes-group-version-kind": identity},
                    "Pod": POD,
                    "Quantity": quantity,
                }
            }
        }


def problems(api_version: str, kind: str, **content: Any) -> list[str]:
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "n"}, **content}
    return Schemas(Server()).problems([obj])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"size": 1, "share": "25%", "labels": {"x": "y"}, "any": {"z": [1]}, "parts": [{"on": True}]}, []),
        ({"size": 1, "share": None}, []),
        ({"size": 2.0}, []),
        ({"size": True}, ["Thing.spec.size must be of type integer, not True"]),
        ({}, ["Thing.spec.size is missing"]),
        ({"size": 1, "colour": "red"}, ["unknown field Thing.spec.colour"]),
        ({"size": 1, "labels": {"x": 1}}, ["Thing.spec.labels.x must be of type string, not 1"]),
        ({"size": 1, "parts": [{}, {"off": True}]}, ["unknown field Thing.spec.parts[1].off"]),
    ],
)
def test_a_custom_resource_is_held_to_its_installed_definition(spec: dict[str, Any], said: list[str]) -> None:
    assert problems("a.example/v1", "Thing", spec=spec) == [f"Thing n: {each}" for each in said]


def test_what_is_required_at_the_top_is_required() -> None:
    assert problems("a.example/v1", "Thing") == ["Thing n: Thing.spec is missing"]


def test_references_are_followed_and_quantities_left_to_the_server() -> None:
    assert problems("v1", "Box", spec={"limits": {"cpu": 1, "memory": "1Gi"}}) == []
    assert problems("v1", "Box", spec={"limit": {}}) == ["Box n: unknown field Box.spec.limit"]
    assert problems("v1", "Other", spec={"limit": {}}) == []
