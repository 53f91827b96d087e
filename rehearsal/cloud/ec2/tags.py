"""Tags: on placement groups and capacity reservations too, and never with the prefix that is AWS' own.

Source: EC2 user guide, "Tag your Amazon EC2 resources"; EC2 API reference, CreateTags.
"""

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.responses import EC2Response
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.placement import placement_groups
from rehearsal.cloud.ec2.reservations import require_reservation
from rehearsal.cloud.ec2.use import forget_tags

AMENDMENTS = Amendments()


MORE_KINDS = {"placement-group": "pg", "capacity-reservation": "cr"}


def know_more_kinds() -> None:
    """Let moto take the ids of what it lacks for ids of resources."""
    EC2_RESOURCE_TO_PREFIX.update(MORE_KINDS)
    EC2_PREFIX_TO_RESOURCE.update({prefix: kind for kind, prefix in MORE_KINDS.items()})


@AMENDMENTS.around(EC2Response, "create_tags")
def create_tags(original: Any, self: Any) -> Any:
    """InvalidParameterValue for keys that begin with ``aws:``."""
    for tag in self._get_param("Tags", []):
        if tag["Key"].lower().startswith("aws:"):
            raise refusal("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
    return original(self)


@AMENDMENTS.around(TaggedEC2Resource, "get_tags")
def get_tags(_original: Any, self: Any) -> list[dict[str, str]]:
    """Looked up by id; moto matches every tag of the region against a pattern, for every resource it describes."""
    kind = EC2_PREFIX_TO_RESOURCE.get(str(self.id).rpartition("-")[0], "")
    tags = self.ec2_backend.tags.get(self.id, {}) if self.id else {}
    return [{"resource_id": self.id, "key": key, "value": tags[key], "resource_type": kind} for key in tags]


@AMENDMENTS.around(EC2Backend, "delete_volume")
def delete_volume(original: Any, self: Any, volume_id: str) -> Any:
    """A volume's tags go with it."""
    volume = original(self, volume_id)
    forget_tags(self, volume_id)
    return volume


@AMENDMENTS.around(EC2Backend, "do_resources_exist")
def do_resources_exist(original: Any, self: Any, resource_ids: list[str]) -> bool:
    """What moto lacks is looked up by id; CreateTags names it so."""
    known = {group["GroupId"] for group in placement_groups(self).values()}
    for resource_id in resource_ids:
        if resource_id.startswith("pg-") and resource_id not in known:
            raise refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{resource_id}' is unknown.")
        if resource_id.startswith("cr-"):
            require_reservation(self, resource_id)
    prefixes = tuple(f"{prefix}-" for prefix in MORE_KINDS.values())
    return bool(original(self, [each for each in resource_ids if not each.startswith(prefixes)]))
