"""Route 53: a record that is there is not created again.

Source: Route 53 API reference, ChangeResourceRecordSets (CREATE; InvalidChangeBatch). moto compares the change with
earlier ones, and a name that ends in a dot never with the one that it keeps.
"""

from typing import Any

from moto.route53.exceptions import ResourceRecordAlreadyExists
from moto.route53.models import Route53Backend

from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()


@AMENDMENTS.around(Route53Backend, "change_resource_record_sets")
def change_resource_record_sets(original: Any, self: Any, zoneid: str, change_list: list[dict[str, Any]]) -> None:
    """By name and type, whatever dot ends the name."""
    there = {(each.name.rstrip(".").lower(), each.type) for each in self.get_hosted_zone(zoneid).rrsets}
    for each in change_list:
        record = each["ResourceRecordSet"]
        if each["Action"] == "CREATE" and (record["Name"].rstrip(".").lower(), record["Type"]) in there:
            raise ResourceRecordAlreadyExists(name=record["Name"], _type=record["Type"])
    original(self, zoneid, change_list)
