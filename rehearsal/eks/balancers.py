"""The controller of EKS that gives Services of type LoadBalancer a load balancer of the account.

Source: kubernetes/cloud-provider-aws. Its name is `a` and the Service's uid without dashes (k8s.io/cloud-provider,
DefaultLoadBalancerName). pkg/providers/v1/aws.go, EnsureLoadBalancer: a network load balancer where the annotation
aws-load-balancer-type says nlb, in the subnets that aws-load-balancer-subnets names, inside where
aws-load-balancer-internal is true, tagged with the cluster, the Service and, when it is made, what the annotation
aws-load-balancer-additional-resource-tags says (aws_loadbalancer.go, getKeyValuePropertiesFromAnnotation); a finalizer,
service.kubernetes.io/load-balancer-cleanup, keeps the Service until it is gone. Its listeners are those of
rehearsal/eks/listeners.py, looked at again when the Service's annotations or ports change. Left out: what callers would
get through it, since a rehearsed cluster is reached through its proxy; a Service with a class of another controller.
"""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.eks import listeners
from rehearsal.eks.controller import Controller
from rehearsal.kubelet.world import World

INTERVAL = 1.0
FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
LONGEST_NAME = 32

Object = dict[str, Any]


class Balancers(Controller):
    """Makes load balancers of Services, and takes them away with these."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "load balancers", INTERVAL)
        self._done: dict[str, Any] = {}
        """What each Service wanted when its load balancer was last brought to it, by its uid."""

    def reconcile(self) -> None:
        for service in self._world.stores["services"].all():
            if service["spec"].get("type") != "LoadBalancer" or service["spec"].get("loadBalancerClass"):
                continue
            uid, wanted = service["metadata"]["uid"], (listeners.annotations(service), listeners.mapped(service))
            if service["metadata"].get("deletionTimestamp"):
                self._remove(service)
                self._done.pop(uid, None)
            elif self._done.get(uid) != wanted and self._ensured(service):
                self._done[uid] = wanted

    def _ensured(self, service: Object) -> bool:
        """Make the load balancer, or bring it to what its Service wants; whether that went well."""
        meta, elbv2 = service["metadata"], self._world.aws.elbv2
        if FINALIZER not in (meta.get("finalizers") or ()):
            self._finalizers(service, [*(meta.get("finalizers") or []), FINALIZER])
        try:
            asked = self._request(service)
            there = self._found(service)
            balancer = there[0] if there else elbv2.create_load_balancer(**asked)["LoadBalancers"][0]
            if asked["Type"] == "network":
                listeners.ensure(elbv2, balancer, service, asked["Tags"])
        except ClientError as error:
            said = f"Error syncing load balancer: failed to ensure load balancer: {error}"
            self._world.events.emit(service, "Warning", "SyncLoadBalancerFailed", said, "service-controller")
            return False
        found = {"loadBalancer": {"ingress": [{"hostname": balancer["DNSName"]}]}}
        self._world.kube.patch("v1", "Service", meta["name"], meta["namespace"], {"status": found}, "status")
        return True

    def _found(self, service: Object) -> list[Object]:
        every = self._world.aws.elbv2.describe_load_balancers()["LoadBalancers"]
        return [each for each in every if each["LoadBalancerName"] == name_of(service)]

    def _request(self, service: Object) -> Mapping[str, Any]:
        meta = service["metadata"]
        told = listeners.annotations(service)
        asked = filter(None, told.get("additional-resource-tags", "").split(","))
        tags = dict(each.split("=")[:2] for each in asked) | {
            f"kubernetes.io/cluster/{self._world.cluster}": "owned",
            "kubernetes.io/service-name": f"{meta['namespace']}/{meta['name']}",
        }
        return {
            "Name": name_of(service),
            "Type": "network" if told.get("type") == "nlb" else "application",
            "Scheme": "internal" if told.get("internal") == "true" else "internet-facing",
            "Subnets": [each.strip() for each in told.get("subnets", "").split(",") if each.strip()],
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        }

    def _remove(self, service: Object) -> None:
        held = service["metadata"].get("finalizers") or []
        if FINALIZER not in held:
            return
        elbv2 = self._world.aws.elbv2
        for each in self._found(service):
            groups = listeners.groups_of(elbv2, each)
            elbv2.delete_load_balancer(LoadBalancerArn=each["LoadBalancerArn"])
            for group in groups:
                elbv2.delete_target_group(TargetGroupArn=group)
        self._finalizers(service, [each for each in held if each != FINALIZER])

    def _finalizers(self, service: Object, wanted: list[str]) -> None:
        meta = service["metadata"]
        change = {"metadata": {"finalizers": list(dict.fromkeys(wanted)), "resourceVersion": meta["resourceVersion"]}}
        self._world.kube.patch("v1", "Service", meta["name"], meta["namespace"], change)


def name_of(service: Mapping[str, Any]) -> str:
    """What a Service's load balancer is called."""
    return f"a{service['metadata']['uid'].replace('-', '')}"[:LONGEST_NAME]
