"""One small instance of every component, and a way to look at what it registers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from catalogue.types import Interface, InterfaceType
from components import layers
from components.aws.addons import NODE_ADDONS, Addons, AddonsArgs
from components.aws.cluster import Cluster, ClusterArgs
from components.aws.keys import Keys, KeysArgs
from components.aws.network import Network, NetworkArgs, SubnetSpec
from components.aws.nodes import NodePool, NodePoolArgs, NodeRole, NodeRoleArgs
from components.aws.pod_identity import PodIdentity, PodIdentityArgs
from components.aws.security_groups import EfaGroup, EfaGroupArgs, LustreGroup, LustreGroupArgs
from components.platform.charts import Chart, ChartArgs, ChartSource
from components.platform.crds import Crds, CrdsArgs
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.pods import PodShape
from components.platform.priorities import Priorities
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.taints import GPU_TAINT
from components.platform.training_operator import TrainingOperator, TrainingOperatorArgs
from components.platform.training_operator_rbac import OperatorAccount
from components.serving.inference import InferenceService, InferenceServiceArgs
from components.serving.tokens import SecretKey, Tokens, TokensArgs
from components.serving.weights import Weights, WeightsArgs
from components.storage.block import BlockStorage
from components.storage.bucket import Bucket, BucketArgs
from components.storage.lustre import Lustre, LustreArgs
from components.storage.lustre_claims import ClaimSpec, LustreClaims, LustreClaimsArgs
from components.training.backup import Backup, BackupArgs
from components.training.job import TrainingJob, TrainingJobArgs
from tests.graph.harness import Recorded, record

Options = pulumi.ResourceOptions
Make = Callable[[Options], pulumi.ComponentResource]

ENA = Interface(0, 0, InterfaceType.ENA)
ONE_EFA = (ENA, Interface(0, 1, InterfaceType.EFA_ONLY))
KEY_ARN = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
DEPLOYER = "arn:aws:iam::123456789012:role/deployer"
SHAPE = PodShape(gpus=1, efa=1, cpu_millicores=14000, memory_mib=200_000, shm_mib=65_536)


def done() -> pulumi.Resource:
    """Something to come after."""
    return k8s.core.v1.Namespace("before", k8s.core.v1.NamespaceInitArgs(), Options(provider=_current["kubernetes"]))


def network_args(**changes: Any) -> NetworkArgs:
    subnets = [
        SubnetSpec(name="public-a", role="public", zone_id="use2-az1", cidr="10.64.0.0/24"),
        SubnetSpec(name="public-b", role="public", zone_id="use2-az2", cidr="10.64.1.0/24"),
        SubnetSpec(name="control-a", role="control-plane", zone_id="use2-az1", cidr="10.64.2.0/24"),
        SubnetSpec(name="gpu", role="gpu", zone_id="use2-az1", cidr="10.64.128.0/17"),
    ]
    known = {"region": "us-east-2", "cidr": "10.64.0.0/16", "subnets": subnets, "nat_zone_id": "use2-az1"}
    return NetworkArgs(**{**known, **changes})


def cluster_args(**changes: Any) -> ClusterArgs:
    known: dict[str, Any] = {
        "name": "lab",
        "region": "us-east-2",
        "partition": "aws",
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
        "max_pods": 110,
        "local_nvme": True,
        "root_volume_gib": 200,
        "labels": {"gpucluster/pool": "training"},
        "taints": [GPU_TAINT],
        "tags": {"owner": "ml"},
    }
    return NodePoolArgs(**{**known, **changes})


def lustre_args(**changes: Any) -> LustreArgs:
    known: dict[str, Any] = {
        "deployment_type": "SCRATCH_2",
        "capacity_gib": 1200,
        "subnet_id": "subnet-1",
        "security_group_ids": ["sg-lustre"],
        "key_arn": KEY_ARN,
    }
    return LustreArgs(**{**known, **changes})


def job_args(**changes: Any) -> TrainingJobArgs:
    known: dict[str, Any] = {
        "run": "sft",
        "namespace": "training",
        "nodes": 2,
        "restarts": 3,
        "image": "trainer:1",
        "script": ["/train.py", "--config", "/c.yaml"],
        "shape": SHAPE,
        "pool": "training",
        "gpu_product": "NVIDIA-H100-80GB-HBM3",
        "taints": [GPU_TAINT],
        "queue": "research",
        "priority": "training",
        "granted": "sft",
        "data_claim": "training-data",
        "checkpoint_claim": "checkpoints",
        "operator": done(),
    }
    known.setdefault("nodes_ready", [known["operator"]])
    return TrainingJobArgs(**{**known, **changes})


def backup_args(hours: int = 2) -> BackupArgs:
    return BackupArgs(
        run="sft",
        namespace="training",
        image="aws-cli:2",
        account="sft",
        checkpoint_claim="checkpoints",
        uri="s3://artefacts/checkpoints/sft",
        hours=hours,
    )


def weights_args(source: str = "s3://models/llama") -> WeightsArgs:
    return WeightsArgs(
        service="llama",
        source=source,
        image="aws-cli:2",
        namespace="inference",
        service_account="weights-llama",
        granted="weights-llama",
        claim="model-weights",
        ready=done(),
        timeout_seconds=3600,
    )


def service_args(**changes: Any) -> InferenceServiceArgs:
    before = done()
    known: dict[str, Any] = {
        "service": "llama",
        "namespace": "inference",
        "image": "vllm:1",
        "shape": PodShape(gpus=2, efa=0, cpu_millicores=8000, memory_mib=60_000, shm_mib=4096),
        "pool": "inference",
        "gpu_product": "NVIDIA-L40S",
        "taints": [GPU_TAINT],
        "priority": "inference",
        "claim": "model-weights",
        "weights": before,
        "nodes_ready": [before],
        "model_path": "/models/llama-1234",
        "tensor_parallel": 2,
        "max_model_len": 8192,
        "gpu_memory_utilization": 0.9,
        "min_replicas": 1,
        "max_replicas": 3,
        "waiting_per_replica": 5,
        "startup_seconds": 615,
        "spare_replica": False,
        "api_key": SecretKey(name="api-token", key="token"),
        "hub_token": SecretKey(name="hf-token", key="token"),
        "monitors": before,
    }
    return InferenceServiceArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "network": lambda opts: Network("sample", network_args(), opts),
    "efa": lambda opts: EfaGroup("sample", EfaGroupArgs(vpc_id="vpc-1"), opts),
    "lustre-group": lambda opts: LustreGroup("sample", LustreGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1"), opts),
    "keys": lambda opts: Keys(
        "sample",
        KeysArgs(partition="aws", account_id="123456789012", region="us-east-2", log_group_prefix="/aws/eks/lab"),
        opts,
    ),
    "cluster": lambda opts: Cluster("sample", cluster_args(), opts),
    "addons": lambda opts: Addons(
        "sample", AddonsArgs(cluster_name="lab", partition="aws", addons=NODE_ADDONS, versions={}), opts
    ),
    "node-role": lambda opts: NodeRole("sample", NodeRoleArgs(partition="aws"), opts),
    "pool": lambda opts: NodePool("sample", pool_args(), opts),
    "identity": lambda opts: PodIdentity(
        "sample", PodIdentityArgs(cluster_name="lab", namespace="training", service_account="sft"), opts
    ),
    "lustre": lambda opts: Lustre("sample", lustre_args(), opts),
    "claims": lambda opts: LustreClaims(
        "sample",
        LustreClaimsArgs(
            file_system_id="fs-1",
            dns_name="fs-1.fsx",
            mount_name="abcdefgh",
            capacity_gib=1200,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training", access_mode="ReadOnlyMany")],
            driver=done(),
        ),
        opts,
    ),
    "bucket": lambda opts: Bucket(
        "sample", BucketArgs(account_id="123456789012", key_arn=KEY_ARN, checkpoint_days=30), opts
    ),
    "block": lambda opts: BlockStorage("sample", opts),
    "namespaces": lambda opts: Namespaces(
        "sample",
        NamespacesArgs(namespaces=[NamespaceSpec(name="training", pod_security="privileged", gpus=2, limits=True)]),
        opts,
    ),
    "priorities": lambda opts: Priorities("sample", opts),
    "chart": lambda opts: Chart(
        "sample",
        ChartArgs(
            source=ChartSource(name="volcano", version="1.14.1", repository="https://charts"), namespace="volcano"
        ),
        opts,
    ),
    "queues": lambda opts: Queues(
        "sample",
        QueuesArgs(queues=[QueueSpec(name="research", weight=4, gpus=8, reclaimable=False)], scheduler=done()),
        opts,
    ),
    "crds": lambda opts: Crds(
        "sample", CrdsArgs(url="https://crds/a.yaml", crds=["a.b"], namespace="kubeflow", image="kubectl:1"), opts
    ),
    "gpu-readiness": lambda opts: GpuReadiness(
        "sample",
        GpuReadinessArgs(
            namespace="gpu-operator", image="kubectl:1", gpu_nodes=True, revision="v26.3.3", operator=done()
        ),
        opts,
    ),
    "operator": lambda opts: TrainingOperator(
        "sample",
        TrainingOperatorArgs(
            version="v1.9.3",
            image="operator:1",
            kubectl_image="kubectl:1",
            wait_image="wait:1",
            namespace="kubeflow",
            scheduler=done(),
        ),
        opts,
    ),
    "operator-account": lambda opts: OperatorAccount("sample", "operator", "kubeflow", "certificate", opts),
    "job": lambda opts: TrainingJob("sample", job_args(), opts),
    "service": lambda opts: InferenceService("sample", service_args(), opts),
    "tokens": lambda opts: Tokens(
        "sample", TokensArgs(namespace="inference", values={"hf": pulumi.Output.secret("hush")}), opts
    ),
    "backup": lambda opts: Backup("sample", backup_args(), opts),
    "weights": lambda opts: Weights("sample", weights_args(), opts),
    **{
        layer.__name__: partial(layer, "sample")
        for layer in (
            layers.Fabric,
            layers.KubePlatform,
            layers.HardwarePool,
            layers.Storage,
            layers.Scheduling,
            layers.Workloads,
        )
    },
}

_current: dict[str, pulumi.ProviderResource] = {}


def built(make: Make, *, preview: bool = False, **options: Any) -> Recorded:
    """What the component registers, with providers of both platforms and the caller's `options`."""
    return _built(make, preview, options) if options else _built_plainly(make, preview)


@cache
def _built_plainly(make: Make, preview: bool) -> Recorded:
    """Without further options a sample is always the same, and tests only look at it."""
    return _built(make, preview, {})


def _built(make: Make, preview: bool, options: Mapping[str, Any]) -> Recorded:
    def program() -> None:
        _current["aws"] = aws.Provider("aws", region="us-east-2")
        _current["kubernetes"] = k8s.Provider("kubernetes", kubeconfig="{}")
        make(Options(providers=list(_current.values()), **options))

    return record(program, stack="lab", preview=preview)
