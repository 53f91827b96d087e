"""EKS add-ons. Made twice: the daemons a node needs before it can be Ready, and the services that need nodes.

The daemons of these add-ons tolerate every taint, so they reach GPU nodes: as EKS ships them, or as they are told here.
What is a Deployment tolerates none of ours and stays on the system pool.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.pod_identity import PodIdentity, PodIdentityArgs
from components.aws.pod_range import CUSTOM_NETWORKING


@dataclass(frozen=True, kw_only=True)
class AddonSpec:
    """An add-on. `version` None takes EKS's default for the cluster's version.

    `service_account` and `policy` (a managed policy's name with its path) give its controller rights in AWS.
    """

    name: str
    version: str | None = None
    configuration: Mapping[str, Any] | None = None
    service_account: str | None = None
    policy: str | None = None


PREFIXES = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
"""Variables of the plugin: an interface's places hold a /28 each, of which one more than needed is kept.

Source: EKS user guide, "Assign more IP addresses to Amazon EKS nodes with prefixes"."""


POD_GROUPS = {"ENABLE_POD_ENI": "true", "POD_SECURITY_GROUP_ENFORCING_MODE": "standard"}
"""Variables of the plugin: nodes get a trunk, whose branches carry pods with security groups of their own. In the mode
`standard` such a pod is probed by its kubelet, and kept to NetworkPolicies, as any other (EKS user guide, "Assign
security groups to individual Pods", considerations)."""


def node_addons(*, apart: bool = False, prefixes: bool = False, grouped: bool = False) -> tuple[AddonSpec, ...]:
    """Daemons without which no node becomes Ready and no pod gets its role. `apart`: pods have subnets of their own;
    `prefixes`: their addresses come in blocks of 16; `grouped`: some have security groups of their own.
    """
    # The agent that enforces NetworkPolicies is off unless it is asked for (EKS user guide, Limit Pod traffic with
    # Kubernetes network policies).
    plugin: dict[str, Any] = {"enableNetworkPolicy": "true"}
    if env := (CUSTOM_NETWORKING if apart else {}) | (PREFIXES if prefixes else {}) | (POD_GROUPS if grouped else {}):
        plugin["env"] = env
    return (
        # Rights on interfaces are the plugin's alone: a pod on the host's network has the role of its node.
        AddonSpec(name="vpc-cni", service_account="aws-node", policy="AmazonEKS_CNI_Policy", configuration=plugin),
        AddonSpec(name="kube-proxy"),
        AddonSpec(name="eks-pod-identity-agent"),
    )


SERVICE_ADDONS = (
    AddonSpec(name="coredns"),
    AddonSpec(
        name="aws-ebs-csi-driver",
        service_account="ebs-csi-controller-sa",
        policy="service-role/AmazonEBSCSIDriverPolicy",
        configuration={"controller": {"enableMetrics": True}, "node": {"tolerateAllTaints": True}},
    ),
    AddonSpec(name="aws-fsx-csi-driver"),
    AddonSpec(name="eks-node-monitoring-agent", configuration={"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}),
)
"""Name service, volume drivers and what finds sick nodes: they come after the system nodes, as some are ACTIVE only
when their pods run.

EBS' controller tells Prometheus of its calls to EC2 at port 3301: EKS takes controller.enableMetrics, but for the build
v1.48.0-eksbuild.1, which fails with it (aws-ebs-csi-driver, docs/metrics.md, issues 2426 and 2647).

The monitoring agent asks its own DaemonSet dcgm-server for the health of GPUs, which tolerates nothing as EKS ships it.
Where it does not answer for a minute the agent calls the GPUs sick (DCGMError), upon which Karpenter replaces the node;
the repair of node groups leaves it (eks-node-monitoring-agent, charts/eks-node-monitoring-agent/values.yaml,
dcgmAgent.tolerations; aws/containers-roadmap issues 2567 and 2763; EKS user guide, "Detect node health issues with the
EKS node monitoring agent").

FSx' driver has no rights: its controller asks AWS when a volume is to be made, resized or deleted, which never happens
to the static volumes here, and its daemon mounts by DNS name (aws-fsx-csi-driver, pkg/driver/controller.go, node.go).
"""

HOME_ADDONS = (AddonSpec(name="aws-efs-csi-driver"),)
"""The driver of people's own files; it has no rights either, as none of its volumes is made or deleted by it."""

SNAPSHOT_ADDONS = (AddonSpec(name="snapshot-controller"),)
"""Snapshots of volumes: their kinds and their controller, which calls nothing in AWS (EKS user guide, "CSI snapshot
controller"). What asks EBS for them is a container of the EBS driver's add-on."""


@dataclass(frozen=True, kw_only=True)
class AddonsArgs:
    """`versions` pins add-ons by name. `after` is the one resource that must exist first: the system nodes, say."""

    cluster_name: pulumi.Input[str]
    partition: pulumi.Input[str]
    addons: Sequence[AddonSpec]
    versions: Mapping[str, str | None]
    after: pulumi.Resource | None = None


class Addons(Component):
    """Add-ons of the cluster, by name."""

    installed: dict[str, aws.eks.Addon]

    def __init__(self, name: str, args: AddonsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.installed = {spec.name: self._install(spec, args) for spec in args.addons}
        self.register_outputs({"addons": sorted(self.installed)})

    def _install(self, spec: AddonSpec, args: AddonsArgs) -> aws.eks.Addon:
        cluster = pulumi.Output.from_input(args.cluster_name)
        if spec.service_account and spec.policy:
            # Pods made before the association is effective never get the role.
            account = self._grant(spec.name, spec.service_account, spec.policy, args)
            cluster = pulumi.Output.all(cluster, account).apply(lambda known: str(known[0]))
        return aws.eks.Addon(
            self.named(spec.name),
            cluster_name=cluster,
            addon_name=spec.name,
            addon_version=args.versions.get(spec.name),
            configuration_values=(
                json.dumps(spec.configuration, sort_keys=True) if spec.configuration is not None else None
            ),
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=self.tags(spec.name),
            opts=self.child(
                depends_on=[args.after] if args.after else None,
                custom_timeouts=pulumi.CustomTimeouts(create="20m", update="20m"),
            ),
        )

    def _grant(self, name: str, service_account: str, policy: str, args: AddonsArgs) -> pulumi.Output[str]:
        return PodIdentity(
            self.named(f"{name}-identity"),
            PodIdentityArgs(
                cluster_name=args.cluster_name,
                namespace="kube-system",
                service_account=service_account,
                policy_arns={"driver": pulumi.Output.format("arn:{0}:iam::aws:policy/{1}", args.partition, policy)},
            ),
            self.child(),
        ).service_account
