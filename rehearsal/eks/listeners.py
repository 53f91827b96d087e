"""What EKS' controller keeps on a network load balancer: a listener and a group of targets for each port of a Service.

Source: kubernetes/cloud-provider-aws, pkg/providers/v1/aws.go, EnsureLoadBalancer (TLS where the annotation
aws-load-balancer-ssl-cert is given and aws-load-balancer-ssl-ports names the port or is left out; on to the targets by
TLS where aws-load-balancer-backend-protocol is ssl), and aws_loadbalancer.go, ensureLoadBalancerv2: what has the port
and the protocol is modified, what is new is made before what is no longer wanted is deleted. A port whose protocol
changes is therefore refused by ELB, which has one listener at a port. Left out: the instances in the groups, since what
a rehearsed cluster serves is reached through its proxy, and attributes of groups.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

BEGIN = "service.beta.kubernetes.io/aws-load-balancer-"
HEALTH_SECONDS = 30

Object = dict[str, Any]


class Mapped(NamedTuple):
    """A port of a Service: what callers speak at it, and how it goes on to the nodes."""

    port: int
    protocol: str
    node_port: int
    target_protocol: str
    certificate: str
    policy: str

    @property
    def shown(self) -> dict[str, Any]:
        """The parts of a request that only TLS has."""
        if self.protocol != "TLS":
            return {}
        policy = {"SslPolicy": self.policy} if self.policy else {}
        return {**policy, "Certificates": [{"CertificateArn": self.certificate}]}


def mapped(service: Mapping[str, Any]) -> list[Mapped]:
    """The ports of a Service, as its annotations say. One without a node's port is left out."""
    told = annotations(service)
    certificate = told.get("ssl-cert", "")
    only = set(told["ssl-ports"].split(",")) if told.get("ssl-ports", "*") != "*" else None
    found = []
    for each in service["spec"].get("ports") or ():
        protocol = target = str(each.get("protocol", "TCP"))
        named = only is None or not only.isdisjoint({str(each["port"]), str(each.get("name", ""))})
        if certificate and protocol != "UDP" and named:
            protocol, target = "TLS", "TLS" if told.get("backend-protocol") == "ssl" else target
        if each.get("nodePort"):
            policy = told.get("ssl-negotiation-policy", "")
            found.append(Mapped(each["port"], protocol, each["nodePort"], target, certificate, policy))
    return found


def annotations(service: Mapping[str, Any]) -> dict[str, str]:
    """What a Service says of its load balancer, without the beginning of the words."""
    given = service["metadata"].get("annotations") or {}
    return {key.removeprefix(BEGIN): value for key, value in given.items() if key.startswith(BEGIN)}


def ensure(elbv2: Any, balancer: Object, service: Mapping[str, Any], tags: list[dict[str, str]]) -> None:
    """Bring a load balancer's listeners to what the Service wants. Raises ClientError for what ELB refuses."""
    arn, wanted = balancer["LoadBalancerArn"], mapped(service)
    there = {(each["Port"], each["Protocol"]): each for each in _listeners(elbv2, arn)}
    groups = {
        (each["Port"], each["Protocol"]): each["TargetGroupArn"]
        for each in elbv2.describe_target_groups(LoadBalancerArn=arn)["TargetGroups"]
    }
    for each in wanted:
        old, group = there.get((each.port, each.protocol)), groups.get((each.node_port, each.target_protocol))
        target = group if old and group else _group(elbv2, balancer, service, each, tags)
        forward = {"Type": "forward", "TargetGroupArn": target}
        said = {"Port": each.port, "Protocol": each.protocol, **each.shown, "DefaultActions": [forward]}
        if old is None:
            elbv2.create_listener(LoadBalancerArn=arn, **said, Tags=tags)
        elif target != group or _differs(old, each):
            elbv2.modify_listener(ListenerArn=old["ListenerArn"], **said)
        if old and target != group:
            elbv2.delete_target_group(TargetGroupArn=_of(old))
    for key in there.keys() - {(each.port, each.protocol) for each in wanted}:
        elbv2.delete_listener(ListenerArn=there[key]["ListenerArn"])
        elbv2.delete_target_group(TargetGroupArn=_of(there[key]))


def groups_of(elbv2: Any, balancer: Object) -> list[str]:
    """ARNs of the groups of targets that go after the load balancer."""
    found = elbv2.describe_target_groups(LoadBalancerArn=balancer["LoadBalancerArn"])["TargetGroups"]
    return [each["TargetGroupArn"] for each in found]


def _listeners(elbv2: Any, arn: str) -> list[Object]:
    found: list[Object] = elbv2.describe_listeners(LoadBalancerArn=arn)["Listeners"]
    return found


def _differs(listener: Object, wanted: Mapped) -> bool:
    if wanted.protocol != "TLS":
        return False
    shown = [each["CertificateArn"] for each in listener.get("Certificates") or ()]
    return (listener.get("SslPolicy", ""), shown[:1]) != (wanted.policy, [wanted.certificate])


def _group(elbv2: Any, balancer: Object, service: Mapping[str, Any], port: Mapped, tags: list[dict[str, str]]) -> str:
    meta = service["metadata"]
    digest = hashlib.sha256(f"{meta['uid']} {port.port} {port.node_port} {port.target_protocol}".encode()).hexdigest()
    asked = {
        "Name": f"k8s-{meta['namespace'][:8]}-{meta['name'][:8]}-{digest[:10]}",
        "Protocol": port.target_protocol,
        "Port": port.node_port,
        "VpcId": balancer["VpcId"],
        "TargetType": "instance",
        "HealthCheckProtocol": "TCP",
        "HealthCheckPort": "traffic-port",
        "HealthCheckIntervalSeconds": HEALTH_SECONDS,
        "Tags": tags,
    }
    return str(elbv2.create_target_group(**asked)["TargetGroups"][0]["TargetGroupArn"])


def _of(listener: Object) -> str:
    return str(listener["DefaultActions"][0]["TargetGroupArn"])
