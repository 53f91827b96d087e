"""Tags by ARN, as TagResource, UntagResource and ListTagsForResource of most services have them.

How a service calls the ARN and the tags, and whether these are a map or a list of pairs, its model says (botocore).
"""

from abc import abstractmethod
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import get_service_model

from rehearsal.cloud.service import Service


class Tagging(Service):
    """The three operations. Subclasses say where the tags of an ARN are."""

    @abstractmethod
    def _tags_of(self, arn: str) -> dict[str, str]:
        """The tags as they are kept. Raises Refusal where there is nothing of this ARN."""

    def tag_resource(self) -> EmptyResult:
        """Adds and replaces."""
        kept, tags = self._asked()
        kept.update(tags if isinstance(tags, dict) else pairs(tags))
        return EmptyResult()

    def untag_resource(self) -> EmptyResult:
        """Keys that are not there are no error."""
        kept, keys = self._asked()
        for key in keys:
            kept.pop(key, None)
        return EmptyResult()

    def list_tags_for_resource(self) -> ActionResult:
        """All of them at once."""
        (kept,) = self._asked()
        shapes = get_service_model(self.NAME).operation_model(self._get_action()).output_shape.members
        name, shape = next((name, each) for name, each in shapes.items() if each.type_name in ("list", "map"))
        listed = [{"Key": key, "Value": value} for key, value in kept.items()]
        return ActionResult({name: listed if shape.type_name == "list" else kept})

    def _asked(self) -> list[Any]:
        """The tags of the ARN, and what is given beside it."""
        given = self.input
        model = get_service_model(self.NAME).operation_model(self._get_action())
        arn, *rest = (given[name] for name in model.input_shape.required_members)
        return [self._tags_of(arn), *rest]


def pairs(tags: list[dict[str, str]]) -> dict[str, str]:
    """Tags that are listed, as a map."""
    return {tag["Key"]: tag["Value"] for tag in tags}
