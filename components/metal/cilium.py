"""The network of pods: Cilium, which also balances Services and enforces NetworkPolicies."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.metal.kubeadm import PORT
from components.platform.network_rules import DNS_LABELS, DNS_NAMESPACE

CONTROLLERS = "gpucluster-controllers"
"""The policy that keeps pods from management controllers."""


def cilium_values(
    *,
    endpoint: str,
    pod_cidr: str,
    interface: str | None,
    operators: int = 2,
    alone: bool = True,
    names: bool = False,
) -> dict[str, Any]:
    """Values of the `cilium` chart. Agents ask the API at its own address: they make the Service's one work.

    An `ipBlock` of a NetworkPolicy means nodes and API server too, as in the Kubernetes documentation; by itself Cilium
    leaves out what is part of the cluster (Cilium documentation, "CIDR-based policies", policyCIDRMatchMode). Pods of
    different nodes speak through VXLAN, so that the switches need know no pod; MTU follows from the nodes' interface.
    Unless it is `alone`, another program may write to the nodes' CNI configuration (Multus does, and Cilium would put
    its file aside: Cilium documentation, "CNI Chaining", `cni.exclusive`). Policies with `names` need the proxy of
    agents, which overhears the name service. Its `operators` take ports of their nodes, so that a second one needs a
    second node without taints of GPUs.
    """
    return {
        "kubeProxyReplacement": "true",
        "k8sServiceHost": endpoint,
        "k8sServicePort": PORT,
        "routingMode": "tunnel",
        "tunnelProtocol": "vxlan",
        "ipam": {"mode": "cluster-pool", "operator": {"clusterPoolIPv4PodCIDRList": [pod_cidr]}},
        "policyCIDRMatchMode": ["nodes"],
        "operator": {"replicas": operators},
        # Rails and storage cards carry no pods: without this every card with an address would.
        **({"devices": interface} if interface else {}),
        "hubble": {"enabled": False},
        "envoy": {"enabled": False},
        "l7Proxy": names,
        **({} if alone else {"cni": {"exclusive": False}}),
    }


def controllers_denied(
    name: str, cidr: str, *, after: pulumi.Resource, opts: pulumi.ResourceOptions
) -> k8s.apiextensions.CustomResource:
    """No pod of any namespace speaks with `cidr`, whatever other policies let it: denials come first. It denies nothing
    else. Pods in their machine's network are no endpoints of Cilium's, and are kept by the machine's routing.

    Cilium's operator makes the definition, and agents wait for it before their node is ready: `after` are such nodes.
    Source: Cilium documentation, "Deny Policies"; cilium v1.20, pkg/policy/api/rule.go (enableDefaultDeny),
    pkg/k8s/synced/crd.go.
    """
    return k8s.apiextensions.CustomResource(
        name,
        api_version="cilium.io/v2",
        kind="CiliumClusterwideNetworkPolicy",
        metadata=k8s.meta.v1.ObjectMetaArgs(name=CONTROLLERS),
        spec={
            "endpointSelector": {},
            "egressDeny": [{"toCIDR": [cidr]}],
            "enableDefaultDeny": {"egress": False, "ingress": False},
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[after])),
    )


def hosts_reached(
    name: str,
    namespace: pulumi.Input[str],
    hosts: Sequence[str],
    *,
    after: pulumi.Resource,
    opts: pulumi.ResourceOptions,
) -> k8s.apiextensions.CustomResource:
    """Pods of a namespace ask the cluster's name service, whose answers agents overhear, and speak with `hosts` at 443.

    A pattern such as *.pypi.org means names one label longer. Source: Cilium documentation, "DNS based" policies;
    cilium v1.20, pkg/policy/api/fqdn.go. `after` is as in `controllers_denied`.
    """
    server = {"k8s:io.kubernetes.pod.namespace": DNS_NAMESPACE, **{f"k8s:{key}": it for key, it in DNS_LABELS.items()}}
    asks = {
        "toEndpoints": [{"matchLabels": server}],
        "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}], "rules": {"dns": [{"matchPattern": "*"}]}}],
    }
    speaks = {
        "toFQDNs": [{"matchPattern" if each.startswith("*") else "matchName": each} for each in hosts],
        "toPorts": [{"ports": [{"port": "443", "protocol": "TCP"}]}],
    }
    return k8s.apiextensions.CustomResource(
        name,
        api_version="cilium.io/v2",
        kind="CiliumNetworkPolicy",
        metadata=k8s.meta.v1.ObjectMetaArgs(name="hosts", namespace=namespace),
        spec={"endpointSelector": {}, "egress": [asks, *([speaks] if hosts else [])]},
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[after])),
    )
