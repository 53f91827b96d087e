"""Samples of EKS and of the nodes it starts."""

from collections.abc import Mapping
from typing import Any

import pulumi

from catalogue.types import Interface, InterfaceType
from components.aws.addons import Addons, AddonsArgs, node_addons
from components.aws.block_pool import BlockPool, BlockPoolArgs
from components.aws.capacity import CapacityBlock
from components.aws.cluster import Cluster, ClusterArgs
from components.aws.karpenter import KarpenterAccount, KarpenterAccountArgs
from components.aws.karpenter_pool import KarpenterPool, KarpenterPoolArgs
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.nodes import NodePool, NodePoolArgs
from components.aws.people import People, PeopleArgs
from components.aws.pod_identity import PodIdentity, PodIdentityArgs
from components.aws.pod_range import PodRange, PodRangeArgs, PodSubnet
from components.aws.security_groups import EfaGroup, EfaGroupArgs
from components.aws.spot_pool import SpotPool, SpotPoolArgs
from components.platform.taints import GPU_TAINT
from tests.components.samples.aws import KEY_ARN
from tests.components.samples.common import Make, done, of

ENA = Interface(0, 0, InterfaceType.ENA)
ONE_EFA = (ENA, Interface(0, 1, InterfaceType.EFA_ONLY))
DEPLOYER = "arn:aws:iam::123456789012:role/deployer"


def cluster_args(**changes: Any) -> ClusterArgs:
    known: dict[str, Any] = {
        "name": "lab",
        "region": "us-east-2",
        "partition": "aws",
        "account_id": "123456789012",
        "version": "1.36",
        "subnet_ids": ["subnet-1", "subnet-2"],
        "key_arn": KEY_ARN,
        "deployer_arn": DEPLOYER,
    }
    return ClusterArgs(**{**known, **changes})


def pool_args(**changes: Any) -> NodePoolArgs:
    known: dict[str, Any] = {
        "pool": "training",
        "cluster_name": "lab",
        "kubernetes_version": "1.36",
        "ami_type": "AL2023_x86_64_NVIDIA",
        "ami_release": "1.36.2-20260728",
        "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
        "subnet_ids": ["subnet-1"],
        "security_group_ids": ["sg-cluster"],
        "efa_group_id": "sg-efa",
        "instance_type": "p5.4xlarge",
        "count": 2,
        "capacity_type": "ON_DEMAND",
        "interfaces": ONE_EFA,
        "placement_group": True,
        "local_nvme": True,
        "root_volume_gib": 200,
        "labels": {"gpucluster/pool": "training"},
        "taints": [GPU_TAINT],
        "tags": {"owner": "ml"},
        "update_strategy": "MINIMAL",
        "max_unavailable": 1,
        "repair": None,
    }
    return NodePoolArgs(**{**known, **changes})


def karpenter_account_args(opts: pulumi.ResourceOptions) -> KarpenterAccountArgs:
    role = NodeRole("nodes", NodeRoleArgs(partition="aws", session_manager=False, purpose="scaled-nodes"), opts)
    return KarpenterAccountArgs(
        cluster_name="lab", region="us-east-2", partition="aws", account_id="123456789012", node_role=role
    )


def karpenter_pool_args(**changes: Any) -> KarpenterPoolArgs:
    known: dict[str, Any] = {
        "pool": "serving",
        "release": "v20260728",
        "instance_profile": "lab-scaled",
        "subnet_ids": ["subnet-1", "subnet-2"],
        "security_group_ids": ["sg-1"],
        "instance_types": ["g6.2xlarge", "g6.4xlarge"],
        "capacity_types": ["spot", "on-demand"],
        "architecture": "amd64",
        "gpus": 7,
        "local_nvme": True,
        "root_volume_gib": 123,
        "labels": {"gpucluster/pool": "serving"},
        "taints": [GPU_TAINT],
        "tags": {"owner": "ml"},
        "empty_seconds": 345,
        "max_days": 9,
    }
    known.setdefault("after", [done("controller")])
    return KarpenterPoolArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "pod-range": of(
        PodRange,
        lambda: PodRangeArgs(
            subnets={"use2-az1": PodSubnet("subnet-1", "us-east-2a"), "use2-az2": PodSubnet("subnet-2", "us-east-2b")},
            security_group_ids=["sg-1"],
            plugin=done(),
        ),
    ),
    "efa": of(EfaGroup, lambda: EfaGroupArgs(vpc_id="vpc-1")),
    "cluster": of(Cluster, cluster_args),
    "addons": of(Addons, lambda: AddonsArgs(cluster_name="lab", partition="aws", addons=node_addons(), versions={})),
    "node-role": of(NodeRole, lambda: NodeRoleArgs(partition="aws", session_manager=False)),
    "karpenter-account": lambda opts: KarpenterAccount("sample", karpenter_account_args(opts), opts),
    "karpenter-pool": of(KarpenterPool, karpenter_pool_args),
    "pool": of(NodePool, pool_args),
    "spot-pool": of(
        SpotPool, lambda: SpotPoolArgs(spot=pool_args(capacity_type="SPOT"), on_demand="training-on-demand")
    ),
    "block-pool": of(
        BlockPool,
        lambda: BlockPoolArgs(
            groups=[
                pool_args(
                    pool=f"training-{number}",
                    count=count,
                    capacity_type="CAPACITY_BLOCK",
                    placement_group=False,
                    block=CapacityBlock(reservation_id=f"cr-{number}", nodes=count),
                )
                for number, count in ((1, 64), (2, 8))
            ]
        ),
    ),
    "identity": of(
        PodIdentity, lambda: PodIdentityArgs(cluster_name="lab", namespace="training", service_account="sft")
    ),
    "people": of(
        People, lambda: PeopleArgs(cluster_name="lab", principals={"arn:aws:iam::123456789012:role/ml/ana": ["b", "a"]})
    ),
}
