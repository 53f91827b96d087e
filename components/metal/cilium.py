"""The network of pods: Cilium, which also balances Services and enforces NetworkPolicies."""

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.metal.kubeadm import PORT

CONTROLLERS = "gpucluster-controllers"
"""The policy that keeps pods from management controllers."""


def cilium_values(*, endpoint: str, pod_cidr: str, interface: str | None, alone: bool = True) -> dict[str, Any]:
    """Values of the `cilium` chart. Agents ask the API at its own address: they make the Service's one work.

    An `ipBlock` of a NetworkPolicy means nodes and API server too, as in the Kubernetes documentation; by itself Cilium
    leaves out what is part of the cluster (Cilium documentation, "CIDR-based policies", policyCIDRMatchMode). Pods of
    different nodes speak through VXLAN, so that the switches need know no pod; MTU follows from the nodes' interface.
    Unless it is `alone`, another program may write to the nodes' CNI configuration (Multus does, and Cilium would put
    its file aside: Cilium documentation, "CNI Chaining", `cni.exclusive`).
    """
    return {
        "kubeProxyReplacement": "true",
        "k8sServiceHost": endpoint,
        "k8sServicePort": PORT,
        "routingMode": "tunnel",
        "tunnelProtocol": "vxlan",
        "ipam": {"mode": "cluster-pool", "operator": {"clusterPoolIPv4PodCIDRList": [pod_cidr]}},
        "policyCIDRMatchMode": ["nodes"],
        "operator": {"replicas": 2},
        # Rails and storage cards carry no pods: without this every card with an address would.
        **({"devices": interface} if interface else {}),
        "hubble": {"enabled": False},
        "envoy": {"enabled": False},
        "l7Proxy": False,
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
