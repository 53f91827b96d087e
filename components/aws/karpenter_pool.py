"""A pool whose nodes Karpenter makes: what a node is (EC2NodeClass), and which and how many there may be (NodePool).

Source: karpenter-provider-aws v1.14.1, pkg/apis/crds. Destroying waits: Karpenter lets an EC2NodeClass go when the
last of its nodes has gone (finalizer karpenter.k8s.aws/termination).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.aws.node_scripts import MirrorLogin
from components.aws.nodes import ROOT_DEVICE
from components.aws.user_data import message
from components.platform.awaited import awaited
from components.platform.taints import GPU_RESOURCE, Taint

EMPTY_BUDGET = "100%"
"""Nodes without pods may all go at once."""
DRAIN_HOURS = 2
"""How long pods of a node that is to go may take to end; then it goes."""


@dataclass(frozen=True, kw_only=True)
class KarpenterPoolArgs:
    """Nodes of `instance_types`, bought as `capacity_types` say, with up to `gpus` GPUs together. `release` is that of
    EKS' AMI for AL2023, such as v20260728. `login` is where nodes read who they are at the mirror. `after` is what
    makes sense of the objects: the controller, with its kinds.
    """

    pool: str
    release: str
    instance_profile: pulumi.Input[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    security_group_ids: Sequence[pulumi.Input[str]]
    instance_types: Sequence[str]
    capacity_types: Sequence[str]
    architecture: str
    gpus: int
    local_nvme: bool
    root_volume_gib: int
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    tags: Mapping[str, str]
    empty_seconds: int
    max_days: int
    after: Sequence[pulumi.Resource]
    login: MirrorLogin | None = None
    parallel_pulls: bool = False


class KarpenterPool(Component):
    """`nodes` is there when Karpenter takes pods for the pool; no node is, before a pod asks for one."""

    nodes: k8s.apiextensions.CustomResource

    def __init__(self, name: str, args: KarpenterPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        node_class = k8s.apiextensions.CustomResource(
            self.named("class"),
            api_version="karpenter.k8s.aws/v1",
            kind="EC2NodeClass",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=args.pool, annotations=awaited("EC2NodeClass")),
            spec=self._class(args),
            opts=self.child(
                depends_on=list(args.after),
                # Its deletion takes as long as the last node's pods take to end.
                custom_timeouts=pulumi.CustomTimeouts(create="5m", update="5m", delete=f"{DRAIN_HOURS * 60 + 20}m"),
            ),
        )
        self.nodes = k8s.apiextensions.CustomResource(
            self.named("nodes"),
            api_version="karpenter.sh/v1",
            kind="NodePool",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=args.pool, annotations=awaited("NodePool")),
            spec=_pool(args),
            opts=self.child(
                depends_on=[node_class],
                custom_timeouts=pulumi.CustomTimeouts(create="5m", update="5m", delete=f"{DRAIN_HOURS * 60 + 20}m"),
            ),
        )
        self.register_outputs({"nodePool": args.pool})

    def _class(self, args: KarpenterPoolArgs) -> dict[str, Any]:
        told = message(raid=False, login=args.login, parallel_pulls=args.parallel_pulls)
        return {
            "amiSelectorTerms": [{"alias": f"al2023@{args.release}"}],
            "instanceProfile": args.instance_profile,
            "subnetSelectorTerms": [{"id": each} for each in args.subnet_ids],
            "securityGroupSelectorTerms": [{"id": each} for each in args.security_group_ids],
            "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1},
            "blockDeviceMappings": [
                {
                    "deviceName": ROOT_DEVICE,
                    "ebs": {
                        "volumeSize": f"{args.root_volume_gib}Gi",
                        "volumeType": "gp3",
                        "encrypted": True,
                        "deleteOnTermination": True,
                    },
                }
            ],
            **({"instanceStorePolicy": "RAID0"} if args.local_nvme else {}),
            # Karpenter adds its own NodeConfig to a MIME message (pkg/providers/amifamily/bootstrap/nodeadm.go).
            **({"userData": told} if told else {}),
            # Of these Karpenter makes those of its instances, volumes and interfaces: by them a sweep finds them.
            "tags": {**args.tags, **self.tags("node")},
        }


def _pool(args: KarpenterPoolArgs) -> dict[str, Any]:
    taints = [asdict(each) for each in args.taints]
    return {
        "template": {
            "metadata": {"labels": dict(sorted(args.labels.items()))},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": args.pool},
                "requirements": [
                    _one_of("node.kubernetes.io/instance-type", args.instance_types),
                    _one_of("karpenter.sh/capacity-type", args.capacity_types),
                    _one_of("kubernetes.io/arch", [args.architecture]),
                    _one_of("kubernetes.io/os", ["linux"]),
                ],
                "taints": taints,
                "expireAfter": f"{args.max_days * 24}h",
                "terminationGracePeriod": f"{DRAIN_HOURS}h",
            },
        },
        "limits": {GPU_RESOURCE: str(args.gpus)},
        "disruption": {
            # A replica that is moved to a fuller node loads its weights anew: only what is empty goes.
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": f"{args.empty_seconds}s",
            "budgets": [{"nodes": EMPTY_BUDGET, "reasons": ["Empty"]}, {"nodes": "1", "reasons": ["Drifted"]}],
        },
    }


def _one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}
