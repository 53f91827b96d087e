"""Asynchronous updates and tags. Source: EKS API reference, DescribeUpdate, TagResource."""

from typing import Any

from moto.core.responses import ActionResult

from rehearsal.cloud.service import Refusal
from rehearsal.cloud.tagging import Tagging
from rehearsal.eks.api.base import EksOperations
from rehearsal.eks.api.checks import invalid
from rehearsal.eks.api.store import Body, Update

MAX_TAINTS = 50


class UpdateOperations(EksOperations, Tagging):
    """What became of a change, and the tags of everything with an ARN."""

    def describe_update(self) -> ActionResult:
        """InProgress until the life cycle ends it."""
        given = self.input
        for update in self._updates(given):
            if update.body["id"] == given["updateId"]:
                return ActionResult({"update": update.body})
        raise Refusal("ResourceNotFoundException", f"No update found for id: {given['updateId']}")

    def _updates(self, given: dict[str, Any]) -> list[Update]:
        subject = ("cluster", "")
        if given.get("nodegroupName"):
            subject = ("nodegroup", given["nodegroupName"])
        elif given.get("addonName"):
            subject = ("addon", given["addonName"])
        return [update for update in self.cluster_of(given).updates.values() if update.subject == subject]

    def _tags_of(self, arn: str) -> dict[str, str]:
        names = ("arn", "nodegroupArn", "addonArn", "accessEntryArn", "associationArn")
        for cluster in self.state.clusters.values():
            bodies = [cluster.body, *cluster.nodegroups.values(), *cluster.addons.values()]
            bodies += [entry.body for entry in cluster.entries.values()]
            for body in (*bodies, *cluster.associations.values()):
                if arn in (body.get(name) for name in names):
                    body["tags"] = tags = {**(body["tags"] or {})}
                    return tags
        raise Refusal("NotFoundException", f"The resource {arn} was not found")


def apply_labels(body: Body, change: dict[str, Any]) -> dict[str, Any]:
    """Change a node group's labels; the update's parameters that tell of it."""
    params: dict[str, Any] = {}
    if change.get("addOrUpdateLabels"):
        body["labels"] = {**body["labels"], **change["addOrUpdateLabels"]}
        params["LabelsToAdd"] = change["addOrUpdateLabels"]
    if change.get("removeLabels"):
        body["labels"] = {key: value for key, value in body["labels"].items() if key not in change["removeLabels"]}
        params["LabelsToRemove"] = change["removeLabels"]
    return params


def apply_taints(body: Body, change: dict[str, Any]) -> dict[str, Any]:
    """Change a node group's taints, which are told apart by key and effect."""
    params: dict[str, Any] = {}
    taints = {(taint["key"], taint["effect"]): taint for taint in body["taints"]}
    for taint in change.get("removeTaints", []):
        if taints.pop((taint["key"], taint["effect"]), None) is None:
            raise invalid(f"The taint {taint} is not on the node group")
        params["TaintsToRemove"] = change["removeTaints"]
    for taint in change.get("addOrUpdateTaints", []):
        taints[(taint["key"], taint["effect"])] = taint
        params["TaintsToAdd"] = change["addOrUpdateTaints"]
    if len(taints) > MAX_TAINTS:
        raise invalid(f"At most {MAX_TAINTS} taints can be on a node group, not {len(taints)}")
    body["taints"] = list(taints.values())
    return params
