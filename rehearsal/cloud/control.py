"""The rehearsal's own routes: ``/rehearsal/...``, JSON in and out. What each takes is told at its handler."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from ipaddress import IPv4Address
from typing import Any
from urllib.parse import unquote

from rehearsal.cloud.acm import set_certificates
from rehearsal.cloud.buckets import owner_of, set_bucket
from rehearsal.cloud.ec2 import notices
from rehearsal.cloud.ec2.capacity import grant, set_capacity
from rehearsal.cloud.ec2.offerings import set_offering
from rehearsal.cloud.ec2.reservations import set_reservation
from rehearsal.cloud.faults import Fault
from rehearsal.cloud.functions import function_told
from rehearsal.cloud.iam import set_people
from rehearsal.cloud.inventory import inventory
from rehearsal.cloud.kms import key_told
from rehearsal.cloud.parameters import set_parameters
from rehearsal.cloud.quotas import set_quota
from rehearsal.cloud.route53 import set_zones
from rehearsal.cloud.secrets import set_secrets
from rehearsal.cloud.service import Refusal
from rehearsal.eks.api import lifecycle
from rehearsal.eks.api.calendar import advance
from rehearsal.eks.api.published import set_images
from rehearsal.eks.api.store import all_clusters

Reply = tuple[int, Any]
Handler = Callable[[list[str], dict[str, Any]], Any]


class Control:
    """Routes by method and first path segment after ``/rehearsal/``; the server holds its lock around them."""

    def __init__(self, faults: list[Fault], requests: Counter[str], alone: bool) -> None:
        self._faults = faults
        self._requests = requests
        self._caller: str | None = None
        lifecycle.LIFECYCLE.alone = alone
        self._routes: dict[tuple[str, str], tuple[int, Handler]] = {
            ("GET", "health"): (0, lambda _path, _order: {}),
            ("GET", "clusters"): (0, self._list_clusters),
            ("PUT", "clusters"): (2, lambda path, order: lifecycle.set_cluster(path[0], path[1], order)),
            ("DELETE", "deletion-protection"): (0, self._unprotect_clusters),
            ("GET", "nodegroups"): (0, self._list_nodegroups),
            ("PUT", "nodegroups"): (3, lambda path, order: lifecycle.set_nodegroup(path[0], path[1], path[2], order)),
            ("GET", "instances"): (1, lambda path, _order: notices.seen(path[0])),
            ("PUT", "spot-notices"): (2, lambda path, order: notices.give_notice(path[0], path[1], order)),
            ("GET", "addons"): (0, self._list_addons),
            ("PUT", "addons"): (3, lambda path, order: lifecycle.set_addon(path[0], path[1], path[2], order)),
            ("GET", "caller"): (0, lambda _path, _order: {"address": self._caller}),
            ("PUT", "caller"): (0, self._set_caller),
            ("PUT", "late-logs"): (0, self._set_late_logs),
            ("PUT", "quotas"): (3, lambda path, order: set_quota(path[0], path[1], path[2], order)),
            ("PUT", "capacity"): (2, lambda path, order: set_capacity(path[0], path[1], order)),
            ("PUT", "granted"): (1, lambda path, order: grant(path[0], order)),
            ("PUT", "reservations"): (2, lambda path, order: set_reservation(path[0], path[1], order)),
            ("PUT", "offerings"): (2, lambda path, order: set_offering(path[0], path[1], order)),
            ("PUT", "calendar"): (1, lambda path, order: advance(path[0], datetime.fromisoformat(order["now"]))),
            ("PUT", "secrets"): (1, lambda path, order: set_secrets(path[0], order)),
            ("PUT", "zones"): (0, lambda _path, order: set_zones(order)),
            ("PUT", "certificates"): (1, lambda path, order: set_certificates(path[0], order)),
            ("PUT", "images"): (1, lambda path, order: set_images(path[0], order)),
            ("PUT", "parameters"): (1, lambda path, order: set_parameters(path[0], order)),
            ("PUT", "people"): (0, lambda _path, order: set_people([str(each) for each in order["arns"]])),
            ("PUT", "buckets"): (2, lambda path, order: set_bucket(path[0], path[1], order)),
            ("GET", "keys"): (3, lambda path, _order: key_told(path[0], path[1], path[2])),
            ("GET", "bucket-owners"): (1, lambda path, _order: {"owner": owner_of(path[0])}),
            ("GET", "functions"): (2, lambda path, _order: function_told(path[0], path[1])),
            ("GET", "faults"): (0, self._list_faults),
            ("POST", "faults"): (0, self._add_fault),
            ("DELETE", "faults"): (0, self._clear_faults),
            ("GET", "inventory"): (0, lambda _path, _order: inventory()),
            ("GET", "requests"): (0, lambda _path, _order: dict(sorted(self._requests.items()))),
            ("DELETE", "requests"): (0, self._clear_requests),
        }

    def handle(self, method: str, path: str, body: bytes) -> Reply:
        """Answer one control request: status and JSON value."""
        noun, *rest = [unquote(part) for part in path.removeprefix("/rehearsal/").split("/")]
        arity, handler = self._routes.get((method, noun), (0, None))
        if handler is None or len(rest) != arity:
            return HTTPStatus.NOT_FOUND, {"error": f"no route {method} {path}; see rehearsal/cloud/control.py"}
        try:
            order = json.loads(body) if body else {}
            if not isinstance(order, dict):
                raise TypeError("the body is not a JSON object")
            return HTTPStatus.OK, handler(rest, order)
        except Refusal as refusal:
            return HTTPStatus.NOT_FOUND, {"error": refusal.message}
        except (ValueError, TypeError) as error:
            return HTTPStatus.BAD_REQUEST, {"error": f"{method} {path}: {error}"}

    def _list_clusters(self, _path: list[str], _order: dict[str, Any]) -> list[dict[str, Any]]:
        """What a supervisor needs to start and stop control planes."""
        return [
            {
                "region": region,
                "name": cluster.name,
                "arn": cluster.body["arn"],
                "version": cluster.body["version"],
                "status": cluster.body["status"],
                "roleArn": cluster.body["roleArn"],
                "vpcId": cluster.body["resourcesVpcConfig"]["vpcId"],
                "subnetIds": cluster.body["resourcesVpcConfig"]["subnetIds"],
                "clusterSecurityGroupId": cluster.body["resourcesVpcConfig"]["clusterSecurityGroupId"],
                "serviceIpv4Cidr": cluster.body["kubernetesNetworkConfig"]["serviceIpv4Cidr"],
                "selfManagedAddons": cluster.self_managed_addons,
                "creator": cluster.hidden_creator,
            }
            for region, cluster in all_clusters()
        ]

    def _unprotect_clusters(self, _path: list[str], _order: dict[str, Any]) -> list[str]:
        """Takes EKS' deletion protection off every cluster, as its owner would by UpdateClusterConfig; their names."""
        guarded = [cluster for _, cluster in all_clusters() if cluster.body["deletionProtection"]]
        for cluster in guarded:
            cluster.body["deletionProtection"] = False
        return [cluster.name for cluster in guarded]

    def _list_nodegroups(self, _path: list[str], _order: dict[str, Any]) -> list[dict[str, Any]]:
        """Describe bodies with region and cluster, and the cluster's security group."""
        return [
            {
                "region": region,
                "cluster": cluster.name,
                "clusterSecurityGroupId": cluster.body["resourcesVpcConfig"]["clusterSecurityGroupId"],
                **body,
            }
            for region, cluster in all_clusters()
            for body in cluster.nodegroups.values()
        ]

    def _list_addons(self, _path: list[str], _order: dict[str, Any]) -> list[dict[str, Any]]:
        """Describe bodies with region and cluster."""
        return [
            {"region": region, "cluster": cluster.name, **body}
            for region, cluster in all_clusters()
            for body in cluster.addons.values()
        ]

    def _set_caller(self, _path: list[str], order: dict[str, Any]) -> dict[str, Any]:
        """``{"address": IPv4 address or null}``: from where people and engines ask the clusters' endpoints."""
        self._caller = order["address"] and str(IPv4Address(order["address"]))
        return {}

    def _set_late_logs(self, _path: list[str], order: dict[str, Any]) -> dict[str, Any]:
        """``{"seconds": 2 or null}``: how long after its end EKS delivers a cluster's last events, if it does."""
        seconds = order["seconds"]
        lifecycle.LIFECYCLE.late_logs_seconds = None if seconds is None else float(seconds)
        return {}

    def _list_faults(self, _path: list[str], _order: dict[str, Any]) -> list[dict[str, Any]]:
        """Faults that can still strike."""
        rows = [fault for fault in self._faults if not fault.spent]
        return [
            {key: getattr(row, key) for key in ("code", "status", "times", "every", "matched")}
            | {"action": row.action.pattern}
            for row in rows
        ]

    def _add_fault(self, _path: list[str], order: dict[str, Any]) -> dict[str, Any]:
        """``{"action": regex on operation names, "code", "status", "message", "times", "seconds", "every"}``."""
        self._faults.append(Fault.parse(order))
        return {}

    def _clear_requests(self, _path: list[str], _order: dict[str, Any]) -> dict[str, Any]:
        self._requests.clear()
        return {}

    def _clear_faults(self, _path: list[str], _order: dict[str, Any]) -> dict[str, Any]:
        self._faults.clear()
        return {}
