"""Route 53: ids of zones begin with Z, and a record that is there is not created again.

Sources: Route 53 API reference, CreateHostedZone (its examples of ids), ChangeResourceRecordSets (CREATE;
InvalidChangeBatch). moto compares the change with
earlier ones, and a name that ends in a dot never with the one that it keeps.
"""

from collections.abc import Mapping
from typing import Any

from moto.route53.exceptions import ResourceRecordAlreadyExists
from moto.route53.models import Route53Backend, route53_backends

from rehearsal.cloud.account import ACCOUNT
from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()


def set_zones(domains: Mapping[str, str]) -> list[str]:
    """Make public zones that are not there yet: domains by the zones' ids. Returns all ids."""
    backend = route53_backends[ACCOUNT]["aws"]
    for identity, domain in domains.items():
        if identity not in backend.zones:
            zone = backend.create_hosted_zone(f"{domain.rstrip('.')}.", private_zone=False)
            backend.zones[identity] = backend.zones.pop(zone.resource_id)
            zone.resource_id = identity
    return sorted(backend.zones)


@AMENDMENTS.around(Route53Backend, "create_hosted_zone")
def create_hosted_zone(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """moto's ids begin with whatever is drawn."""
    zone = original(self, *args, **kwargs)
    self.zones[f"Z{zone.resource_id[1:]}"] = self.zones.pop(zone.resource_id)
    zone.resource_id = f"Z{zone.resource_id[1:]}"
    return zone


@AMENDMENTS.around(Route53Backend, "change_resource_record_sets")
def change_resource_record_sets(original: Any, self: Any, zoneid: str, change_list: list[dict[str, Any]]) -> None:
    """By name and type, whatever dot ends the name."""
    there = {(each.name.rstrip(".").lower(), each.type) for each in self.get_hosted_zone(zoneid).rrsets}
    for each in change_list:
        record = each["ResourceRecordSet"]
        if each["Action"] == "CREATE" and (record["Name"].rstrip(".").lower(), record["Type"]) in there:
            raise ResourceRecordAlreadyExists(name=record["Name"], _type=record["Type"])
    original(self, zoneid, change_list)
