"""Network policies: deny by default, then what is allowed (NW08).

A policy's peer is pods by their labels and their namespace's, or addresses; what neither `ingress` nor `egress` lets in
or out is refused for the pods that a policy selects. Pods on the host's network are not selected by any, and cards of a
fabric do not ask: EFA and InfiniBand pass the kernel by. Namespaces are named by the label that Kubernetes itself
gives them (kubernetes.io/metadata.name). Source: Kubernetes documentation, Network Policies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

NAMESPACE_KEY = "kubernetes.io/metadata.name"
JOB_KEY = "batch.kubernetes.io/job-name"
"""The label by which pods of Jobs are known, those of CronJobs too (Kubernetes 1.27 and later)."""
DNS_NAMESPACE, DNS_LABELS = "kube-system", {"k8s-app": "kube-dns"}
NOT_THE_INTERNET = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "224.0.0.0/3",
)
"""Addresses of a site, a link or a machine, and of groups (RFC 6890): instances' metadata is among them."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Addresses and TCP ports there; no ports means all."""

    cidrs: Sequence[str]
    ports: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class Pods:
    """Pods with `labels`, and with a label `having`, of a namespace: None is every namespace, "" the policy's own."""

    namespace: str | None = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    having: str | None = None
    namespace_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Traffic with `peers`, at the ports (TCP, and UDP where `udp`) of whoever is asked; no ports means all."""

    peers: Sequence[Pods | Reach]
    ports: Sequence[int] = ()
    udp: bool = False


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One policy: what comes in to `pods` and goes out of them. None leaves a direction to other policies."""

    name: str
    pods: Pods = field(default_factory=Pods)
    ingress: Sequence[Flow] | None = None
    egress: Sequence[Flow] | None = None


DENY = Rule(name="deny-by-default", ingress=(), egress=())
NAMES = Rule(
    name="name-service", egress=[Flow(peers=[Pods(namespace=DNS_NAMESPACE, labels=DNS_LABELS)], ports=[53], udp=True)]
)
"""Without it nothing resolves."""


def internet(ports: Sequence[int] = (443,)) -> Reach:
    """Public addresses, written out: some agents do not heed `except` (amazon-network-policy-controller-k8s, #41).

    A NetworkPolicy knows no names, so object stores and hubs outside the network are all of it.
    """
    left = [IPv4Network("0.0.0.0/0")]
    for taken in (IPv4Network(each) for each in NOT_THE_INTERNET):
        left = [
            part
            for each in left
            for part in (each.address_exclude(taken) if taken.subnet_of(each) else [each])
            if not part.subnet_of(taken)
        ]
    return Reach(cidrs=[str(each) for each in sorted(left)], ports=ports)


def at(reach: Reach) -> Flow:
    """Traffic with addresses at their own ports."""
    return Flow(peers=[reach], ports=reach.ports)


def gang(labels: Mapping[str, str], name: str) -> Rule:
    """The pods of a gang among themselves: rendezvous and NCCL's sockets take any port."""
    own = [Flow(peers=[Pods(labels=labels)])]
    return Rule(name=name, pods=Pods(labels=labels), ingress=own, egress=own)


@dataclass(frozen=True, kw_only=True)
class NetworkRulesArgs:
    """Rules by the namespace whose pods they are about; `names` resolve when the namespaces exist."""

    rules: Mapping[str, Sequence[Rule]]
    names: Mapping[str, pulumi.Input[str]]


class NetworkRules(Component):
    """A NetworkPolicy per rule."""

    def __init__(self, name: str, args: NetworkRulesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        for namespace, rules in args.rules.items():
            for rule in rules:
                k8s.networking.v1.NetworkPolicy(
                    self.named(f"{namespace}-{rule.name}"),
                    metadata=k8s.meta.v1.ObjectMetaArgs(name=rule.name, namespace=args.names[namespace]),
                    spec=_spec(rule),
                    opts=self.child(),
                )
        self.register_outputs({"namespaces": sorted(args.rules)})


def _spec(rule: Rule) -> k8s.networking.v1.NetworkPolicySpecArgs:
    net = k8s.networking.v1
    directions = {"Ingress": rule.ingress, "Egress": rule.egress}
    return net.NetworkPolicySpecArgs(
        pod_selector=_selector(rule.pods),
        policy_types=[name for name, flows in directions.items() if flows is not None],
        ingress=[
            net.NetworkPolicyIngressRuleArgs(
                from_=[one for each in flow.peers for one in _peers(each)], ports=_ports(flow)
            )
            for flow in rule.ingress or ()
        ]
        or None,
        egress=[
            net.NetworkPolicyEgressRuleArgs(to=[one for each in flow.peers for one in _peers(each)], ports=_ports(flow))
            for flow in rule.egress or ()
        ]
        or None,
    )


def _peers(peer: Pods | Reach) -> list[k8s.networking.v1.NetworkPolicyPeerArgs]:
    net = k8s.networking.v1
    if isinstance(peer, Reach):
        return [net.NetworkPolicyPeerArgs(ip_block=net.IPBlockArgs(cidr=each)) for each in peer.cidrs]
    of: dict[str, str] = dict(peer.namespace_labels)
    of |= {NAMESPACE_KEY: peer.namespace} if peer.namespace else {}
    everywhere = None if peer.namespace == "" and not of else k8s.meta.v1.LabelSelectorArgs(match_labels=of or None)
    return [net.NetworkPolicyPeerArgs(pod_selector=_selector(peer), namespace_selector=everywhere)]


def _selector(pods: Pods) -> k8s.meta.v1.LabelSelectorArgs:
    known = k8s.meta.v1.LabelSelectorRequirementArgs
    return k8s.meta.v1.LabelSelectorArgs(
        match_labels=dict(pods.labels) or None,
        match_expressions=[known(key=pods.having, operator="Exists")] if pods.having else None,
    )


def _ports(flow: Flow) -> list[k8s.networking.v1.NetworkPolicyPortArgs] | None:
    protocols = ("TCP", "UDP") if flow.udp else ("TCP",)
    port = k8s.networking.v1.NetworkPolicyPortArgs
    return [port(port=number, protocol=each) for number in flow.ports for each in protocols] or None
