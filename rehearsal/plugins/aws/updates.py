"""Waiting for what EKS does after it has accepted an update."""

from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.servicer import PluginError

HEALTH = "health.issues[].join('', [code, ': ', message, ' (', join(', ', resourceIds || `[]`), ')'])"
"""The reasons in the description of a cluster, node group or add-on."""


def run(obj: Object, operation: str, **parameters: Any) -> None:
    """Asks for an update and waits for its end; raises PluginError with EKS's reasons if it fails."""
    accepted = obj.search(f"{operation} -> update", **parameters)
    if not accepted:
        return
    names = {"name": parameters.get("name") or parameters["clusterName"], "updateId": accepted["id"]}
    names |= {member: parameters[member] for member in ("nodegroupName", "addonName") if member in parameters}
    while True:
        update = obj.search("describe_update -> update", **names)
        if update["status"] == "Successful":
            return
        if update["status"] in ("Failed", "Cancelled"):
            errors = "".join(f"; {each['errorCode']}: {each['errorMessage']}" for each in update.get("errors") or ())
            raise PluginError(f"update {update['type']} of {obj.id} is {update['status']}{errors}")
        if not obj.deadline.pause():
            raise PluginError(f"update {update['type']} of {obj.id} is still {update['status']} after {obj.deadline}")
