"""Records of hosted zones. Source: terraform-provider-aws internal/service/route53/record.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Change, Row, words


def _bare(name: Any) -> str:
    """A name as the provider keeps it: in small letters, without the dot at its end."""
    return str(name).lower().rstrip(".")


def _batch(inputs: Mapping[str, Any], action: str) -> dict[str, Any]:
    values = [{"Value": value} for value in inputs.get("records") or ()]
    record = {"Name": inputs["name"], "Type": inputs["type"], "TTL": int(inputs["ttl"]), "ResourceRecords": values}
    return {"Changes": [{"Action": action, "ResourceRecordSet": record}]}


def _prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    if not {"name", "type", "ttl"} <= inputs.keys():
        return {"hostedZoneId": inputs.get("zoneId")}
    action = "UPSERT" if inputs.get("allowOverwrite") else "CREATE"
    change = {"action": action, "resourceRecordSet": _batch(inputs, action)["Changes"][0]["ResourceRecordSet"]}
    return {"hostedZoneId": inputs.get("zoneId"), "changeBatch": {"changes": [change]}}


def _id(obj: Object) -> str:
    return f"{obj.inputs['zoneId']}_{_bare(obj.inputs['name'])}_{obj.inputs['type']}"


def _found(obj: Object) -> Any:
    zone, _, rest = (obj.id or _id(obj)).partition("_")
    name, _, kind = rest.rpartition("_")
    try:
        page = obj.call(
            "list_resource_record_sets", HostedZoneId=zone, StartRecordName=name, StartRecordType=kind, MaxItems="1"
        )
    except CallError as error:
        if error.not_found:
            return None
        raise
    held = [each for each in page["ResourceRecordSets"] if (_bare(each["Name"]), each["Type"]) == (name, kind)]
    return {**held[0], "zone": zone} if held else None


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    name = _bare(found["Name"])
    records = [each["Value"] for each in found.get("ResourceRecords") or ()]
    return {
        "zoneId": found["zone"],
        "name": name,
        "fqdn": name,
        "type": found["Type"],
        "ttl": found["TTL"],
        "records": records,
    }


def _delete(obj: Object) -> None:
    found = _found(obj)
    if found is not None:
        zone = found.pop("zone")
        changes = [{"Action": "DELETE", "ResourceRecordSet": found}]
        obj.call("change_resource_record_sets", HostedZoneId=zone, ChangeBatch={"Changes": changes})


def _after(obj: Object, change: Change) -> None:
    if not change.first and change.touches("ttl", "records"):
        batch = _batch(obj.inputs, "UPSERT")
        obj.call("change_resource_record_sets", HostedZoneId=obj.inputs["zoneId"], ChangeBatch=batch)


ROWS: dict[str, Row] = {
    "aws:route53/record:Record": Row(
        create="change_resource_record_sets",
        read=_found,
        delete=_delete,
        id=_id,
        key={"HostedZoneId": "{zoneId}", "StartRecordName": "{name}", "StartRecordType": "{type}"},
        prepare=_prepare,
        local=("allowOverwrite",),
        later=words("ttl records"),
        force_new=words("zoneId name type setIdentifier"),
        sets=("records",),
        after=_after,
        look=_look,
        timeouts=(30 * MINUTE, 30 * MINUTE, 30 * MINUTE),
    ),
}
