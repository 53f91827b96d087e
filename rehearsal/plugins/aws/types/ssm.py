"""Parameters. Source: terraform-provider-aws internal/service/ssm/parameter.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls

VALUES = words("value insecureValue")


def _again(obj: Object, change: Change) -> None:
    """A value is put over the old one; tags go by calls of their own, as PutParameter refuses both together."""
    if not change.first and change.touches("value", "insecureValue", "type", "description"):
        described = {"Description": obj.inputs["description"]} if obj.inputs.get("description") else {}
        value = next(obj.inputs[name] for name in VALUES if obj.inputs.get(name) is not None)
        obj.call("put_parameter", Name=obj.id, Type=obj.inputs["type"], Value=value, Overwrite=True, **described)


def _look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    insecure = "value" not in obj.inputs
    return {"value": found["Value"], "insecureValue": found["Value"] if insecure else None, "tier": "Standard"}


ROWS: dict[str, Row] = {
    "aws:ssm/parameter:Parameter": Row(
        create="put_parameter",
        once=True,
        read="get_parameter -> Parameter",
        key={"Name": "{name}"},
        id="{name}",
        arn="arn:{partition}:ssm:{region}:{account}:parameter{name}",
        names={"insecureValue": "Value", "value": "Value"},
        autoname=Autoname(limit=2048),
        prefix="",
        force_new=words("name"),
        computed=words("name tier dataType arn value keyId"),
        later=words("value insecureValue type description"),
        after=_again,
        look=_look,
        tags=calls(
            {"ResourceType": "Parameter", "ResourceId": "{name}"},
            "add_tags_to_resource",
            "remove_tags_from_resource",
            "list_tags_for_resource -> TagList",
        ),
    ),
}
