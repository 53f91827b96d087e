"""One small instance of every component, and a way to look at what it registers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_command as command
import pulumi_kubernetes as k8s

from catalogue.types import Interface, InterfaceType
from catalogue.versions import ARGO_IMAGES, KATIB_IMAGES, PIPELINES_IMAGES
from components import layers
from components.aws.addons import Addons, AddonsArgs, node_addons
from components.aws.block import BlockStorage, BlockStorageArgs
from components.aws.block_pool import BlockPool, BlockPoolArgs
from components.aws.bucket import Bucket, BucketArgs
from components.aws.cluster import Cluster, ClusterArgs
from components.aws.devices import efa_network
from components.aws.endpoints import Endpoints, EndpointsArgs
from components.aws.flow_logs import FlowLogs, FlowLogsArgs
from components.aws.home import HomeArgs, HomeFiles
from components.aws.image_cache import CacheRuleSpec, ImageCache, ImageCacheArgs
from components.aws.karpenter import KarpenterAccount, KarpenterAccountArgs
from components.aws.karpenter_pool import KarpenterPool, KarpenterPoolArgs
from components.aws.keeper import Keeper, KeeperArgs
from components.aws.keys import Keys, KeysArgs
from components.aws.lustre import Lustre, LustreArgs
from components.aws.network import Network, NetworkArgs, SubnetSpec
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.nodes import CapacityBlock, NodePool, NodePoolArgs
from components.aws.people import People, PeopleArgs
from components.aws.pod_identity import PodIdentity, PodIdentityArgs
from components.aws.pod_logs import PodLogs, PodLogsArgs
from components.aws.pod_range import PodRange, PodRangeArgs, PodSubnet
from components.aws.registry import Registry, RegistryArgs, RepositorySpec
from components.aws.security_groups import EfaGroup, EfaGroupArgs, LustreGroup, LustreGroupArgs, NfsGroup, NfsGroupArgs
from components.aws.spending import Spending, SpendingArgs
from components.aws.spot_pool import SpotPool, SpotPoolArgs
from components.gateway.gateway import Gateway, GatewayArgs
from components.gateway.issuer import Issuer, IssuerArgs
from components.gateway.page import Page, PageArgs
from components.gateway.route import PublicRoute, PublicRouteArgs
from components.gateway.sign_in import SignIn, SignInArgs
from components.kubeflow.argo import Argo, ArgoArgs
from components.kubeflow.experiment import REFERENCE_FORMAT, Experiment, ExperimentArgs, Range
from components.kubeflow.katib import Katib, KatibArgs
from components.kubeflow.katib_config import CollectorRoom
from components.kubeflow.katib_rbac import KatibAccount, KatibAccountArgs
from components.kubeflow.pipeline_run import PipelineRun, PipelineRunArgs
from components.kubeflow.pipeline_upload import PipelineUpload, PipelineUploadArgs
from components.kubeflow.pipelines import Pipelines, PipelinesArgs
from components.kubeflow.pipelines_metadata import Metadata, MetadataArgs
from components.kubeflow.pipelines_rbac import PipelinesAccount, PipelinesAccountArgs, runner_rules
from components.kubeflow.pipelines_server import Server, ServerArgs, Store
from components.kubeflow.trial_database import TrialDatabase, TrialDatabaseArgs
from components.metal.ceph import Ceph, CephArgs, ObjectsSpec
from components.metal.ceph_specs import CephSpec
from components.metal.credentials import Credentials, CredentialsArgs
from components.metal.etcd_snapshots import EtcdSnapshots, EtcdSnapshotsArgs
from components.metal.host import Host, HostArgs, Login
from components.metal.local_volumes import LocalVolumes, LocalVolumesArgs
from components.metal.object_store import StoreKey, StoreKeyArgs
from components.metal.pool import Overseer, Pool, PoolArgs
from components.metal.sensors import Controller, Sensors, SensorsArgs
from components.monitoring.dashboards import Dashboards, DashboardsArgs
from components.monitoring.isolation import Isolation, IsolationArgs
from components.monitoring.monitors import Monitors, MonitorsArgs, Target
from components.monitoring.rules import Rules, RulesArgs
from components.monitoring.stack import MonitoringStack, MonitoringStackArgs
from components.monitoring.stack_values import Prometheus, Request, Requests
from components.platform.charts import Chart, ChartArgs, ChartSource
from components.platform.copying import ClientValue, StoreAddress
from components.platform.crds import Crds, CrdsArgs
from components.platform.external_secrets import (
    ExternalSecret,
    ExternalSecretArgs,
    OutsideValue,
    SecretStore,
    SecretStoreArgs,
)
from components.platform.gang_admission import GangAdmission, GangAdmissionArgs
from components.platform.gpu_checks import GpuChecks, GpuChecksArgs
from components.platform.gpu_operator import GpuCounters, GpuCountersArgs
from components.platform.gpu_operator_crds import GpuOperatorCrds, GpuOperatorCrdsArgs
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs
from components.platform.hyper_nodes import HyperNodes, HyperNodesArgs, HyperNodeSpec
from components.platform.image_signatures import ImageSignatures, ImageSignaturesArgs, Signer
from components.platform.kubectl import Fetched
from components.platform.mpi_operator import MpiOperator, MpiOperatorArgs
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.network_rules import (
    DENY,
    NAMES,
    Flow,
    NetworkRules,
    NetworkRulesArgs,
    Pods,
    Reach,
    Rule,
    gang,
)
from components.platform.pods import PodNetwork, PodShape
from components.platform.priorities import Priorities
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.sandbox import Sandbox
from components.platform.taints import GPU_TAINT, Taint
from components.platform.team_rights import TeamRights
from components.platform.teams import Teams, TeamsArgs, TeamSpec
from components.platform.training_operator import TrainingOperator, TrainingOperatorArgs
from components.platform.training_operator_rbac import OperatorAccount, OperatorAccountArgs
from components.platform.volumes_end import VolumesEnd, VolumesEndArgs
from components.serving import door
from components.serving.arguments import Directory, Engine
from components.serving.autoscaler import Scaling
from components.serving.door import Door
from components.serving.hub import HubCopy, HubCopyArgs
from components.serving.inference import InferenceService, InferenceServiceArgs
from components.serving.keys import CallerKeys, ServiceKeys, ServiceKeysArgs
from components.serving.placement import Placement
from components.serving.smoke import SmokeRequest, SmokeRequestArgs, questions
from components.serving.tokens import SecretKey, Tokens, TokensArgs
from components.serving.triton import TritonServer, TritonServerArgs
from components.storage.aws_cli import AwsCli
from components.storage.ceph_claims import CephClaims, CephClaimsArgs
from components.storage.claims import ClaimSpec
from components.storage.home_claims import HomeClaims, HomeClaimsArgs
from components.storage.lustre_claims import LustreClaims, LustreClaimsArgs
from components.storage.mounted_claims import MountedClaims, MountedClaimsArgs
from components.storage.nfs_claims import NfsClaims, NfsClaimsArgs
from components.storage.staged import Staged, StagedArgs
from components.tracking.backup import TrackingBackup, TrackingBackupArgs
from components.tracking.database import TrackingDatabase, TrackingDatabaseArgs
from components.tracking.key import TrackingKey, TrackingKeyArgs
from components.tracking.mlflow import Mlflow, MlflowArgs
from components.training.backup import Backup, BackupArgs
from components.training.follow_up import FollowUp, FollowUpArgs
from components.training.gate_history import GateHistory, GateHistoryArgs
from components.training.gate_pods import GateArgs, GatePairs, GateTest
from components.training.gates import Gate
from components.training.job import RunData, TrainingJob, TrainingJobArgs
from components.training.run_monitor import RunMonitor, RunMonitorArgs
from components.training.run_watch import RunWatch, RunWatchArgs
from monitoring.dashboards.model import Dashboard
from tests.graph.harness import Recorded, record

Options = pulumi.ResourceOptions
Make = Callable[[Options], pulumi.ComponentResource]

ENA = Interface(0, 0, InterfaceType.ENA)
ONE_EFA = (ENA, Interface(0, 1, InterfaceType.EFA_ONLY))
KEY_ARN = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
DEPLOYER = "arn:aws:iam::123456789012:role/deployer"
FILE = Fetched(url="https://crds/a.yaml", sha256="cd" * 32, image="alpine:1")
SHAPE = PodShape(gpus=1, cpu_millicores=14000, memory_mib=200_000, shm_mib=65_536, network=efa_network(1))
CLI = AwsCli(image="aws-cli:2")
LOGIN = Login(user="ops", port=2222, private_key="-----BEGIN OPENSSH PRIVATE KEY-----")
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
BOARD = Dashboard(uid="gpucluster-heat", title="Heat", description="How warm.", sections=())


def done(name: str = "before") -> pulumi.Resource:
    """Something to come after."""
    return k8s.core.v1.Namespace(name, k8s.core.v1.NamespaceInitArgs(), Options(provider=_current["kubernetes"]))


def isolation_args(**changes: Any) -> IsolationArgs:
    """Arguments of what isolates nodes of two pools."""
    known: dict[str, Any] = {
        "namespace": "monitoring",
        "image": "python:3.13",
        "files": {"isolate.py": "import publish"},
        "prometheus": "http://prometheus.monitoring.svc:9090",
        "pools": ["training", "inference"],
        "most": 2,
        "after": [done("cluster")],
    }
    return IsolationArgs(**{**known, **changes})


def sensors_args(**changes: Any) -> SensorsArgs:
    """Arguments of what reads the sensors of two controllers, one of them by its fingerprint."""
    known: dict[str, Any] = {
        "namespace": "monitoring",
        "image": "python:3.13",
        "files": {"sensors.py": "import ssl"},
        "controllers": [
            Controller(node="dgx-01", address="10.20.4.21", port=443, fingerprint="0A:1B"),
            Controller(node="dgx-02", address="10.20.4.22", port=8443, fingerprint=None),
        ],
        "authority": "-----BEGIN CERTIFICATE-----",
        "user": "sensors",
        "password": "secret-of-sensors",
        "after": [done("cluster")],
    }
    return SensorsArgs(**{**known, **changes})


def external_secret_args(**changes: Any) -> ExternalSecretArgs:
    """Arguments of a Secret that follows what is kept outside."""
    known: dict[str, Any] = {
        "namespace": "inference",
        "store": "outside",
        "secret": "hf-token",
        "refresh_seconds": 3600,
        "values": {"token": OutsideValue(id="models/hub", property="token")},
    }
    return ExternalSecretArgs(**{**known, **changes})


def host_args(**changes: Any) -> HostArgs:
    """Arguments of a machine."""
    known: dict[str, Any] = {
        "login": LOGIN,
        "address": "10.20.0.21",
        "host_key": HOST_KEY,
        "text": "run_concerns checks\n",
        "after": [done()],
    }
    return HostArgs(**{**known, **changes})


def machines_args(**changes: Any) -> PoolArgs:
    """Arguments of a pool with one machine of its own and one of the control plane's."""
    known: dict[str, Any] = {
        "hosts": {"dgx-01": host_args()},
        "overseer": Overseer(login=LOGIN, address="10.20.0.11", host_key=HOST_KEY),
        "network": done("network"),
        "standing": {"cp-1": done("cp-1")},
    }
    return PoolArgs(**{**known, **changes})


def network_args(**changes: Any) -> NetworkArgs:
    subnets = [
        SubnetSpec(name="public-a", role="public", zone_id="use2-az1", cidr="10.64.0.0/24"),
        SubnetSpec(name="public-b", role="public", zone_id="use2-az2", cidr="10.64.1.0/24"),
        SubnetSpec(name="control-a", role="control-plane", zone_id="use2-az1", cidr="10.64.2.0/24"),
        SubnetSpec(name="gpu", role="gpu", zone_id="use2-az1", cidr="10.64.128.0/17"),
    ]
    known: dict[str, Any] = {"region": "us-east-2", "cidr": "10.64.0.0/16", "subnets": subnets}
    known |= {"nat_zone_ids": ["use2-az1"], "internet": False}
    return NetworkArgs(**{**known, **changes})


def endpoints_args(**changes: Any) -> EndpointsArgs:
    known: dict[str, Any] = {
        "vpc_id": "vpc-1",
        "region": "us-east-2",
        "services": ["ec2", "ecr.api"],
        "subnet_ids": ["subnet-1"],
        "cidrs": ["10.64.0.0/16"],
    }
    return EndpointsArgs(**{**known, **changes})


def flow_logs_args(**changes: Any) -> FlowLogsArgs:
    known: dict[str, Any] = {
        "vpc_id": "vpc-1",
        "cluster": "lab",
        "region": "us-east-2",
        "partition": "aws",
        "account_id": "123456789012",
        "key_arn": KEY_ARN,
        "days": 30,
        "traffic": "ALL",
    }
    return FlowLogsArgs(**{**known, **changes})


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


def lustre_args(**changes: Any) -> LustreArgs:
    known: dict[str, Any] = {
        "deployment_type": "SCRATCH_2",
        "capacity_gib": 1200,
        "subnet_id": "subnet-1",
        "security_group_ids": ["sg-lustre"],
        "key_arn": KEY_ARN,
    }
    return LustreArgs(**{**known, **changes})


def home_args(**changes: Any) -> HomeArgs:
    known: dict[str, Any] = {
        "region": "us-east-2",
        "partition": "aws",
        "account_id": "123456789012",
        "subnet_ids": {"use2-az1": "subnet-1", "use2-az2": "subnet-2"},
        "group_id": "sg-home",
        "key_arn": KEY_ARN,
        "namespaces": ["training", "team-a"],
        "cold_days": 30,
        "backed_up": False,
        "protect": False,
    }
    return HomeArgs(**{**known, **changes})


def claims_args(claims: Sequence[ClaimSpec]) -> LustreClaimsArgs:
    return LustreClaimsArgs(
        csi_driver="fsx.csi.aws.com",
        handle="fs-1",
        attributes={"dnsname": "d", "mountname": "m"},
        capacity_gib=102_400,
        request_gib=1200,
        claims=claims,
        driver=done(),
    )


def monitoring_args(**changes: Any) -> MonitoringStackArgs:
    """Every container asks for amounts of its own."""
    names = [each.name for each in fields(Requests)]
    amounts = {name: Request(cpu_millicores=10 + index, memory_mib=100 + index) for index, name in enumerate(names)}
    known: dict[str, Any] = {
        "source": ChartSource(name="kube-prometheus-stack", version="1.2.3", repository="https://charts"),
        "namespace": "monitoring",
        "cluster": "lab",
        "storage_class": "volumes",
        "prometheus": Prometheus(retention_days=9, disk_gib=50, retention_size_gib=40, alerts_disk_gib=2, scrape_s=20),
        "requests": Requests(**amounts),
        "receivers": [],
        "secrets": {},
        "default_rules": {"disabled": {"TargetDown": True}},
        "control_plane": (),
        "counters": None,
        "after": done(),
    }
    return MonitoringStackArgs(**{**known, **changes})


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
        "data": RunData(claim="training-data", path="datasets/chats-1234"),
        "checkpoint_claim": "checkpoints",
        "operator": done(),
    }
    known.setdefault("nodes_ready", [known["operator"]])
    return TrainingJobArgs(**{**known, **changes})


def follow_up_args(**changes: Any) -> FollowUpArgs:
    known: dict[str, Any] = {
        "run": "sft",
        "name": "evaluate",
        "namespace": "training",
        "image": "trainer:1",
        "asker": "python:3.13",
        "script": ["/evaluate.py"],
        "shape": PodShape(gpus=1, cpu_millicores=3000, memory_mib=20_000, shm_mib=10_000),
        "pool": "small",
        "gpu_product": "NVIDIA-L4",
        "taints": [GPU_TAINT],
        "queue": "research",
        "priority": "experiments",
        "granted": "sft-evaluate",
        "checkpoint_claim": "checkpoints",
        "results_uri": "s3://bucket/results/sft/evaluate",
        "after_end": False,
        "every_seconds": 21_600,
        "deadline_seconds": 7200,
        "keep_seconds": 86_400,
        "files": {"ask.py": "import saves"},
        "labels": {"gpucluster/owner": "ml"},
        "lineage": {"model": "llama-3-8b"},
    }
    known.setdefault("after", [done()])
    return FollowUpArgs(**{**known, **changes})


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


def argo_args() -> ArgoArgs:
    return ArgoArgs(
        namespace="pipelines",
        images={"workflow-controller": "controller:1", "argoexec": "executor:1"},
        millicores=80,
        memory_mib=300,
    )


def pipelines_store(client: Mapping[str, ClientValue] | None = None) -> Store:
    return Store(
        address=StoreAddress(endpoint="https://s3.us-east-2.amazonaws.com", region="us-east-2"),
        bucket="artefacts",
        prefix="pipelines",
        client=client or {},
    )


def pipelines_args(store: Store | None = None) -> PipelinesArgs:
    return PipelinesArgs(
        images={name: f"{name}:1" for name in (*PIPELINES_IMAGES, *ARGO_IMAGES)},
        metadata_image="metadata:1",
        database_image="mysql:8",
        namespace="pipelines",
        jobs="training",
        password=pulumi.Output.secret("hush"),
        storage_class="block",
        gib=7,
        store=store or pipelines_store(),
        granted={name: name for name in ("ml-pipeline", "ml-pipeline-ui", "pipeline-runner")},
        scripts={"training.py": "import steps"},
    )


def _password() -> k8s.core.v1.Secret:
    return k8s.core.v1.Secret("password", metadata=k8s.meta.v1.ObjectMetaArgs(name="mysql-secret"))


def pipelines_server(opts: pulumi.ResourceOptions | None) -> Server:
    args = ServerArgs(
        namespace="pipelines",
        images={name: f"{name}:1" for name in ("api-server", "driver", "launcher")},
        host="mysql",
        port=3306,
        password=_password(),
        store=pipelines_store(),
        granted="ml-pipeline",
        after=[done()],
        millicores=200,
        memory_mib=400,
    )
    return Server("sample", args, opts)


def pipelines_metadata(opts: pulumi.ResourceOptions | None) -> Metadata:
    args = MetadataArgs(
        namespace="pipelines",
        image="metadata:1",
        envoy_image="envoy:1",
        host="mysql",
        port=3306,
        password=_password(),
        database=done(),
        millicores=40,
        memory_mib=100,
    )
    return Metadata("sample", args, opts)


def katib_args() -> KatibArgs:
    return KatibArgs(
        images={name: f"{name}:1" for name in KATIB_IMAGES},
        database_image="mysql:8",
        namespace="kubeflow",
        trials="training",
        password=pulumi.Output.secret("hush"),
        storage_class="block",
        gib=7,
        room=CollectorRoom(millicores=50, memory_mib=100),
        operator=done(),
    )


def experiment_args(**changes: Any) -> ExperimentArgs:
    trial = changes.pop("trial", {})
    known: dict[str, Any] = {
        "trial": job_args(
            run="rates",
            priority="experiments",
            granted="rates",
            script=["/train.py", "--note", "two words"],
            env={"CHECKPOINT_URI": "s3://artefacts/checkpoints/rates"},
            files={"/etc/plan": {"plan.json": "{}"}},
            **trial,
        ),
        "parallel": 2,
        "most": 6,
        "failed": 3,
        "metric": "loss",
        "lowest": True,
        "parameters": [
            Range(name="learning-rate", kind="double", low="1e-05", high="0.001", log=True),
            Range(name="warmup-steps", kind="int", low="10", high="100", step="10"),
            Range(name="schedule", kind="categorical", listed=("cosine", "linear")),
        ],
        "algorithm": "tpe",
        "settings": (),
        "printed": REFERENCE_FORMAT,
    }
    known["controller"] = done("controller")
    return ExperimentArgs(**{**known, **changes})


def backup_args(every_seconds: int = 7200) -> BackupArgs:
    return BackupArgs(
        run="sft",
        namespace="training",
        copier=CLI,
        account="sft",
        checkpoint_claim="checkpoints",
        uri="s3://artefacts/checkpoints/sft",
        every_seconds=every_seconds,
    )


def weights_args(source: str = "s3://models/llama") -> StagedArgs:
    return StagedArgs(
        what="weights",
        name="llama",
        directory="models",
        source=source,
        copier=CLI,
        namespace="inference",
        service_account="weights-llama",
        granted="weights-llama",
        claim="model-weights",
        ready=done(),
        timeout_seconds=3600,
    )


def engine(**changes: Any) -> Engine:
    known: dict[str, Any] = {
        "name": "llama",
        "model": Directory(volume="models", path="models/llama-1234"),
        "tensor_parallel": 2,
        "max_model_len": 8192,
        "gpu_memory_utilization": 0.9,
        "drain_seconds": 90,
    }
    return Engine(**{**known, **changes})


def hub_args(**changes: Any) -> HubCopyArgs:
    known: dict[str, Any] = {
        "what": "weights",
        "name": "llama",
        "directory": "models",
        "repository": "meta-llama/Meta-Llama-3-8B",
        "revision": "8cde5ca8380496c9a6cc7ef3a8b46a0372a1d920",
        "image": "vllm:1",
        "token": SecretKey(name="hf-token", key="token"),
        "namespace": "inference",
        "claim": "model-weights",
        "ready": done(),
        "timeout_seconds": 3600,
    }
    return HubCopyArgs(**{**known, **changes})


def smoke_args(**changes: Any) -> SmokeRequestArgs:
    known: dict[str, Any] = {
        "service": "llama",
        "namespace": "inference",
        "image": "curl:1",
        "address": "http://llama.inference.svc:8000/v1",
        "models": ["llama"],
        "key": SecretKey(name="api-token", key="token"),
        "revision": "1",
        "after": [done()],
    }
    known |= changes
    return SmokeRequestArgs(**{"asked": questions(known["models"]), **known})


def gate_args(**changes: Any) -> GateArgs:
    known: dict[str, Any] = {
        "pool": "training",
        "gpu_product": "NVIDIA-H100-80GB-HBM3",
        "taints": [GPU_TAINT],
        "namespace": "training",
        "nodes": 2,
        "image": "pytorch:1",
        "shape": PodShape(
            gpus=8,
            cpu_millicores=4000,
            memory_mib=30_000,
            shm_mib=2048,
            network=PodNetwork(resources={"example.com/rdma": 8}, env={"A": "1"}, capabilities=("IPC_LOCK",)),
        ),
        "env": {"NCCL_NET_PLUGIN": "ofi"},
        "files": {"gate.py": "import verdicts", "verdicts.py": "# judges"},
        "provider": "efa",
        "devices": 32,
        "tests": [
            GateTest(test="all-reduce", operation="all_reduce", nodes=2, size=1 << 30, warn=None, fail=None),
        ],
        "pairs": GatePairs(program="fi_pingpong", warn=None, fail=None, latency_us=None, rounds=1, seconds=8),
        "storage_mib": 1024,
        "write_gb_per_s": 0.5,
        "read_gb_per_s": None,
        "claim": "checkpoints",
        "priority": "experiments",
        "seconds": 1800,
        "asker": "python:3",
        "weekly": True,
        "after": [],
    }
    return GateArgs(**{**known, **changes})


def triton_args(**changes: Any) -> TritonServerArgs:
    before = done()
    known: dict[str, Any] = {
        "name": "vision",
        "namespace": "inference",
        "image": "triton:1",
        "shape": PodShape(gpus=1, cpu_millicores=4000, memory_mib=30_000, shm_mib=2048),
        "pool": "inference",
        "gpu_product": "NVIDIA-L40S",
        "taints": [GPU_TAINT],
        "priority": "inference",
        "models": Directory(volume="models", path="triton/vision-1234"),
        "claim": "model-weights",
        "ready": [before],
        "nodes_ready": [before],
        "replicas": 2,
        "spare_replica": False,
        "startup_seconds": 600,
        "leave_seconds": 15,
        "drain_seconds": 60,
        "door": Door(
            image="nginx:1", keys=CallerKeys(name=pulumi.Output.from_input("vision-keys-1")), behind=door.TRITON
        ),
        "monitors": before,
    }
    return TritonServerArgs(**{**known, **changes})


SCALING = Scaling(least=1, most=3, targets={"waiting": "5"}, up_seconds=120, down_seconds=300)


def service_args(**changes: Any) -> InferenceServiceArgs:
    before = done()
    known: dict[str, Any] = {
        "name": "llama",
        "namespace": "inference",
        "image": "vllm:1",
        "shape": PodShape(gpus=2, cpu_millicores=8000, memory_mib=60_000, shm_mib=4096),
        "pool": "inference",
        "gpu_product": "NVIDIA-L40S",
        "taints": [GPU_TAINT],
        "priority": "inference",
        "engine": engine(),
        "compiled": Directory(volume="models", path="compiled/llama-3-8b-5678"),
        "claims": {"models": "model-weights"},
        "ready": [before],
        "nodes_ready": [before],
        "replicas": SCALING,
        "placement": Placement(pool="inference", gpus=2, node_gpus=4, spread=False),
        "startup_seconds": 615,
        "leave_seconds": 15,
        "grace_seconds": 120,
        "spare_replica": False,
        "door": Door(image="nginx:1", keys=CallerKeys(name=pulumi.Output.from_input("llama-keys-1")), behind=door.VLLM),
        "hub_token": SecretKey(name="hf-token", key="token"),
        "monitors": before,
    }
    return InferenceServiceArgs(**{**known, **changes})


def ceph_args(**changes: Any) -> CephArgs:
    known: dict[str, Any] = {
        "namespace": "rook-ceph",
        "spec": CephSpec(
            image="quay.io/ceph/ceph:v20.2.4",
            disks={"osd-1": ["/dev/disk/by-path/a"], "osd-2": ["/dev/disk/by-path/a", "/dev/disk/by-path/b"]},
            copies=3,
            erasure=(4, 2),
            failure_domain="rack",
            monitors=5,
            osd_memory_gib=12,
            public_cidr="10.22.0.0/24",
            cluster_cidr="10.23.0.0/24",
            labels={"gpucluster/role": "storage"},
            tolerations=[Taint(key="gpucluster/role", value="storage").toleration],
        ),
        "image": "registry.k8s.io/kubectl:v1.36.3",
        "objects": ObjectsSpec(name="objects", port=7480, bucket="bucket-1", key_id="AKIAEXAMPLE", key="not-a-secret"),
        "operators": [done()],
        "nodes": done("nodes"),
    }
    return CephArgs(**{**known, **changes})


def mlflow_args(pages: Sequence[str] = (), client: Mapping[str, ClientValue] | None = None) -> MlflowArgs:
    return MlflowArgs(
        namespace="tracking",
        image="mlflow:3",
        artifacts="s3://artefacts/tracking",
        client=client or {"AWS_REGION": "us-east-2"},
        granted="mlflow",
        password="mlflow-database",
        database=done(),
        millicores=300,
        memory_mib=600,
        pages=pages,
    )


def sign_in_args(**changes: Any) -> SignInArgs:
    known: dict[str, Any] = {
        "namespace": "people",
        "image": "oauth2-proxy:v7",
        "issuer": "https://login.example.com/realms/ml",
        "client_id": "gpucluster",
        "groups_claim": "groups",
        "scopes": ["openid", "email", "profile"],
        "groups": ["ml", "ml-admins"],
        "session_seconds": 28_800,
        "secret": pulumi.Output.secret("what the issuer knows"),
        "session_secret": pulumi.Output.secret("what seals"),
        "tokens": False,
        "replicas": 2,
        "millicores": 50,
        "memory_mib": 64,
        "after": [done("cluster")],
    }
    return SignInArgs(**{**known, **changes})


def page_args(**changes: Any) -> PageArgs:
    known: dict[str, Any] = {
        "page": "grafana",
        "namespace": "people",
        "service": "stack-grafana",
        "port": 80,
        "at": "monitoring",
        "hostname": "grafana.example.com",
        "groups": ["ml", "ml-admins"],
        "role": "viewer",
        "gateways": "gateway",
        "after": [done("gateway"), done("people")],
        "signed_at_once": True,
    }
    return PageArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "endpoints": lambda opts: Endpoints("sample", endpoints_args(), opts),
    "flow-logs": lambda opts: FlowLogs("sample", flow_logs_args(), opts),
    "network": lambda opts: Network("sample", network_args(), opts),
    "pod-range": lambda opts: PodRange(
        "sample",
        PodRangeArgs(
            subnets={"use2-az1": PodSubnet("subnet-1", "us-east-2a"), "use2-az2": PodSubnet("subnet-2", "us-east-2b")},
            security_group_ids=["sg-1"],
            plugin=done(),
        ),
        opts,
    ),
    "efa": lambda opts: EfaGroup("sample", EfaGroupArgs(vpc_id="vpc-1"), opts),
    "lustre-group": lambda opts: LustreGroup("sample", LustreGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1"), opts),
    "spending": lambda opts: Spending(
        "sample",
        SpendingArgs(
            account_id="123456789012",
            tag_key="stack",
            tag_value="lab",
            monthly_usd=1200,
            percents=(50, 90),
            emails=("ml@example.com", "ops@example.com"),
            anomaly_usd=75,
        ),
        opts,
    ),
    "keeper": lambda opts: Keeper(
        "sample",
        KeeperArgs(
            code={"handler.py": "def handle(event, context): ..."},
            region="us-east-2",
            partition="aws",
            account_id="123456789012",
            cluster_name="gpucluster-lab",
            key_arn="arn:aws:kms:us-east-2:123456789012:key/one",
            log_group="/aws/eks/gpucluster-lab/keeper",
            tags={"gpucluster:project": "gpucluster", "gpucluster:stack": "lab"},
            tag_key="gpucluster:stack",
            ends="2026-11-23T18:00:00Z",
            warn_hours=2,
            hourly_usd=4.5,
            max_usd=36,
            emails=("ml@example.com",),
            gpu_pools={"training": 2},
            off_hours={"time_zone": "UTC", "days": ["mon"], "start": "08:00", "end": "20:00"},
        ),
        opts,
    ),
    "keys": lambda opts: Keys(
        "sample",
        KeysArgs(partition="aws", account_id="123456789012", region="us-east-2", log_group_prefix="/aws/eks/lab"),
        opts,
    ),
    "cluster": lambda opts: Cluster("sample", cluster_args(), opts),
    "addons": lambda opts: Addons(
        "sample", AddonsArgs(cluster_name="lab", partition="aws", addons=node_addons(), versions={}), opts
    ),
    "node-role": lambda opts: NodeRole("sample", NodeRoleArgs(partition="aws", session_manager=False), opts),
    "karpenter-account": lambda opts: KarpenterAccount("sample", karpenter_account_args(opts), opts),
    "karpenter-pool": lambda opts: KarpenterPool("sample", karpenter_pool_args(), opts),
    "pool": lambda opts: NodePool("sample", pool_args(), opts),
    "spot-pool": lambda opts: SpotPool(
        "sample", SpotPoolArgs(spot=pool_args(capacity_type="SPOT"), on_demand="training-on-demand"), opts
    ),
    "block-pool": lambda opts: BlockPool(
        "sample",
        BlockPoolArgs(
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
        opts,
    ),
    "identity": lambda opts: PodIdentity(
        "sample", PodIdentityArgs(cluster_name="lab", namespace="training", service_account="sft"), opts
    ),
    "lustre": lambda opts: Lustre("sample", lustre_args(), opts),
    "nfs-group": lambda opts: NfsGroup("sample", NfsGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1"), opts),
    "home": lambda opts: HomeFiles("sample", home_args(), opts),
    "home-claims": lambda opts: HomeClaims(
        "sample",
        HomeClaimsArgs(
            csi_driver="efs.csi.aws.com",
            handles={"training": "fs-1::fsap-1", "team-a": "fs-1::fsap-2"},
            claims=[ClaimSpec(name="home", namespace="team-a", namespace_ref="team-a-there")],
            driver=done(),
        ),
        opts,
    ),
    "claims": lambda opts: LustreClaims(
        "sample",
        claims_args([ClaimSpec(name="data", namespace="training", namespace_ref="training")]),
        opts,
    ),
    "bucket": lambda opts: Bucket(
        "sample", BucketArgs(account_id="123456789012", key_arn=KEY_ARN, checkpoint_days=30), opts
    ),
    "block": lambda opts: BlockStorage(
        "sample", BlockStorageArgs(driver=done("driver"), tags={"stack": "lab", "owner": "ml"}), opts
    ),
    "namespaces": lambda opts: Namespaces(
        "sample",
        NamespacesArgs(
            namespaces=[NamespaceSpec(name="training", pod_security="privileged", gpus={"inference": 2}, limits=True)]
        ),
        opts,
    ),
    "sandbox": lambda opts: Sandbox("sample", opts),
    "priorities": lambda opts: Priorities("sample", opts),
    "team-rights": lambda opts: TeamRights("sample", opts),
    "teams": lambda opts: Teams(
        "sample",
        TeamsArgs(
            teams=[
                TeamSpec(
                    name="vision",
                    namespace="team-vision",
                    queue="vision",
                    gpus=3,
                    storage_gib=70,
                    groups={"viewer": ["research", "gpucluster:vision:viewer"], "operator": ["leads"]},
                    withheld=["inference"],
                )
            ],
            roles={"viewer": "look", "operator": "operate"},
        ),
        opts,
    ),
    "image-cache": lambda opts: ImageCache(
        "sample",
        ImageCacheArgs(
            partition="aws",
            region="us-east-2",
            account_id="123456789012",
            registry_account="123456789012",
            rules=[
                CacheRuleSpec(host="quay.io", url="quay.io", prefix="lab/quay.io"),
                CacheRuleSpec(
                    host="docker.io",
                    url="registry-1.docker.io",
                    prefix="lab/docker.io",
                    credential_arn="arn:aws:secretsmanager:us-east-2:123456789012:secret:ecr-pullthroughcache/hub-AbCdEf",
                ),
            ],
        ),
        opts,
    ),
    "registry": lambda opts: Registry(
        "sample",
        RegistryArgs(
            repositories=[RepositorySpec(name="ml/llama-trainer", keep_images=40, untagged_days=9)],
            key_arn=KEY_ARN,
            disposable=True,
        ),
        opts,
    ),
    "people": lambda opts: People(
        "sample",
        PeopleArgs(cluster_name="lab", principals={"arn:aws:iam::123456789012:role/ml/ana": ["b", "a"]}),
        opts,
    ),
    "chart": lambda opts: Chart(
        "sample",
        ChartArgs(
            source=ChartSource(name="volcano", version="1.2.3", repository="https://charts"), namespace="volcano"
        ),
        opts,
    ),
    "queues": lambda opts: Queues(
        "sample",
        QueuesArgs(queues=[QueueSpec(name="research", weight=4, gpus=8, reclaimable=False)], scheduler=done()),
        opts,
    ),
    "hyper-nodes": lambda opts: HyperNodes(
        "sample",
        HyperNodesArgs(
            nodes=[
                HyperNodeSpec(name="leaf-r0-01", tier=1, members=["dgx-01", "dgx-02"]),
                HyperNodeSpec(name="spine-01", tier=2, members=["leaf-r0-01"]),
            ],
            scheduler=done(),
        ),
        opts,
    ),
    "crds": lambda opts: Crds(
        "sample", CrdsArgs(files=[FILE], crds=["a.b"], namespace="kubeflow", image="kubectl:1"), opts
    ),
    "gang-admission": lambda opts: GangAdmission(
        "sample",
        GangAdmissionArgs(namespace="volcano-system", image="kubectl:1", revision="1", scheduler=done()),
        opts,
    ),
    "gpu-checks": lambda opts: GpuChecks(
        "sample",
        GpuChecksArgs(
            namespace="gpu-operator",
            pool="training",
            gpu_product="NVIDIA-H100-80GB-HBM3",
            taints=[GPU_TAINT],
            offered={"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32},
            image="kubectl:1",
            smoke_image="operator:1",
            revision="v1.2.3",
            after=[done()],
        ),
        opts,
    ),
    "gpu-operator-crds": lambda opts: GpuOperatorCrds(
        "sample", GpuOperatorCrdsArgs(namespace="gpu-operator", image="operator:1", after=done()), opts
    ),
    "gpu-counters": lambda opts: GpuCounters(
        "sample", GpuCountersArgs(namespace="gpu-operator", csv="DCGM_FI_DEV_GPU_TEMP, gauge, Temperature.\n"), opts
    ),
    "monitors": lambda opts: Monitors(
        "sample",
        MonitorsArgs(
            targets=[Target(name="scheduler", namespace="gangs", labels={"app": "scheduler"})], every_s=45, after=done()
        ),
        opts,
    ),
    "rules": lambda opts: Rules(
        "sample",
        RulesArgs(
            namespace="monitoring",
            recording=[{"name": "seen", "rules": [{"record": "gpucluster:node:seen", "expr": "up"}]}],
            alerts=[{"name": "told", "interval": "30s", "rules": [{"alert": "Gone", "expr": "up == 0"}]}],
            after=done(),
        ),
        opts,
    ),
    "monitoring-stack": lambda opts: MonitoringStack("sample", monitoring_args(), opts),
    "pod-logs": lambda opts: PodLogs(
        "sample",
        PodLogsArgs(
            cluster="lab",
            cluster_name="lab-there",
            region="eu-north-1",
            namespace="monitoring",
            account="collector",
            days=14,
            key_arn=KEY_ARN,
        ),
        opts,
    ),
    "gpu-readiness": lambda opts: GpuReadiness(
        "sample",
        GpuReadinessArgs(
            namespace="gpu-operator", image="kubectl:1", gpu_nodes=True, revision="v1.2.3", operator=done()
        ),
        opts,
    ),
    "operator": lambda opts: TrainingOperator(
        "sample",
        TrainingOperatorArgs(
            version="v1.2.3",
            crd_sha256="ab" * 32,
            image="operator:1",
            kubectl_image="kubectl:1",
            wait_image="wait:1",
            namespace="kubeflow",
            jobs="training",
            scheduler=done(),
        ),
        opts,
    ),
    "katib": lambda opts: Katib("sample", katib_args(), opts),
    "katib-account": lambda opts: KatibAccount(
        "sample",
        KatibAccountArgs(
            account="katib", namespace="kubeflow", trials="training", certificate="certificate", webhook="hook"
        ),
        opts,
    ),
    "trial-database": lambda opts: TrialDatabase(
        "sample",
        TrialDatabaseArgs(
            namespace="kubeflow",
            password=pulumi.Output.secret("hush"),
            storage_class="block",
            gib=7,
            image="mysql:8",
            manager_image="manager:1",
        ),
        opts,
    ),
    "argo": lambda opts: Argo("sample", argo_args(), opts),
    "pipelines": lambda opts: Pipelines("sample", pipelines_args(), opts),
    "pipelines-server": lambda opts: pipelines_server(opts),
    "pipelines-metadata": lambda opts: pipelines_metadata(opts),
    "pipelines-account": lambda opts: PipelinesAccount(
        "sample",
        PipelinesAccountArgs(account="steps", namespace="pipelines", at="training", rules=runner_rules(["keys"])),
        opts,
    ),
    "pipeline-run": lambda opts: PipelineRun(
        "sample",
        PipelineRunArgs(job=job_args(), namespace="pipelines"),
        opts,
    ),
    "pipeline-upload": lambda opts: PipelineUpload(
        "sample",
        PipelineUploadArgs(
            pipeline="pretraining",
            version="4f2a91c-1",
            content="pipelineInfo: {name: pretraining}\n",
            namespace="pipelines",
            image="python:3.13",
            address="http://ml-pipeline.pipelines.svc:8888",
            files={"upload.py": "import steps"},
            server=done(),
        ),
        opts,
    ),
    "experiment": lambda opts: Experiment("sample", experiment_args(), opts),
    "tracking-database": lambda opts: TrackingDatabase(
        "sample",
        TrackingDatabaseArgs(
            namespace="tracking",
            password=pulumi.Output.secret("hush"),
            storage_class="block",
            gib=7,
            image="postgres:17",
            millicores=250,
            memory_mib=512,
        ),
        opts,
    ),
    "mlflow": lambda opts: Mlflow("sample", mlflow_args(), opts),
    "tracking-key": lambda opts: TrackingKey("sample", TrackingKeyArgs(namespace="training", key="hush"), opts),
    "tracking-backup": lambda opts: TrackingBackup(
        "sample",
        TrackingBackupArgs(
            namespace="tracking",
            image="postgres:17",
            copier=AwsCli(image="aws:2"),
            granted="mlflow-backup",
            password="mlflow-database",
            uri="s3://artefacts/backups",
            every_seconds=6 * 3600,
            database=done(),
        ),
        opts,
    ),
    "network-rules": lambda opts: NetworkRules(
        "sample",
        NetworkRulesArgs(
            rules={
                "training": [
                    DENY,
                    NAMES,
                    gang({"run": "sft"}, "sft"),
                    Rule(
                        name="mixed",
                        pods=Pods(having="job"),
                        ingress=[Flow(peers=[Pods(namespace="monitoring", labels={"app": "prometheus"})])],
                        egress=[
                            Flow(peers=[Pods(namespace=None, namespace_labels={"calls": "true"})], ports=[8000]),
                            Flow(peers=[Reach(cidrs=["192.0.2.0/24", "198.51.100.7/32"])], ports=[80, 443]),
                        ],
                    ),
                ]
            },
            names={"training": "training-there"},
        ),
        opts,
    ),
    "operator-account": lambda opts: OperatorAccount(
        "sample",
        OperatorAccountArgs(
            account="operator", namespace="kubeflow", jobs="training", certificate="certificate", webhook="validator"
        ),
        opts,
    ),
    "job": lambda opts: TrainingJob("sample", job_args(), opts),
    "hub": lambda opts: HubCopy("sample", hub_args(), opts),
    "smoke": lambda opts: SmokeRequest("sample", smoke_args(), opts),
    "triton": lambda opts: TritonServer("sample", triton_args(), opts),
    "service": lambda opts: InferenceService("sample", service_args(), opts),
    "tokens": lambda opts: Tokens(
        "sample", TokensArgs(namespace="inference", values={"hf": pulumi.Output.secret("hush")}), opts
    ),
    "secret-store": lambda opts: SecretStore(
        "sample",
        SecretStoreArgs(namespace="inference", provider={"aws": {"region": "us-east-2"}}, after=done("controller")),
        opts,
    ),
    "image-signatures": lambda opts: ImageSignatures(
        "sample",
        ImageSignaturesArgs(
            namespaces=["inference", "training"],
            signer=Signer(issuer="https://token.actions.githubusercontent.com", identity="me@example.com"),
            timeout_seconds=20,
            providers=["amazon"],
            after=done("controller"),
        ),
        opts,
    ),
    "external-secret": lambda opts: ExternalSecret("sample", external_secret_args(), opts),
    "service-keys": lambda opts: ServiceKeys(
        "sample",
        ServiceKeysArgs(
            service="llama",
            namespace="inference",
            keys=[pulumi.Output.secret("old-key"), pulumi.Output.secret("new-key")],
        ),
        opts,
    ),
    "backup": lambda opts: Backup("sample", backup_args(), opts),
    "weights": lambda opts: Staged("sample", weights_args(), opts),
    "host": lambda opts: Host("sample", host_args(), opts),
    "machines": lambda opts: Pool("sample", machines_args(), opts),
    "credentials": lambda opts: Credentials(
        "sample",
        CredentialsArgs(login=LOGIN, address="10.20.0.11", host_key=HOST_KEY, after=[done()]),
        opts,
    ),
    "local-volumes": lambda opts: LocalVolumes("sample", LocalVolumesArgs(provisioner=done()), opts),
    "etcd-snapshots": lambda opts: EtcdSnapshots(
        "sample",
        EtcdSnapshotsArgs(
            image="registry.k8s.io/etcd:3.6.8-0",
            copier=AwsCli(image="aws:2", env={"AWS_ENDPOINT_URL": "https://s3.example.com"}),
            granted="object-store",
            uri="s3://bucket/etcd",
            every_seconds=6 * 3600,
        ),
        opts,
    ),
    "ceph": lambda opts: Ceph("sample", ceph_args(), opts),
    "ceph-claims": lambda opts: CephClaims(
        "sample",
        CephClaimsArgs(
            driver="rook-ceph.cephfs.csi.ceph.com",
            namespace="rook-ceph",
            filesystem="files",
            path="/volumes/shared",
            capacity_gib=5000,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training")],
            after=[done()],
        ),
        opts,
    ),
    "store-key": lambda opts: StoreKey(
        "sample", StoreKeyArgs(namespace="training", key_id="AKIAEXAMPLE", key="not-a-secret"), opts
    ),
    "nfs-claims": lambda opts: NfsClaims(
        "sample",
        NfsClaimsArgs(
            server="10.20.0.41",
            root="/srv/home",
            claims=[ClaimSpec(name="home", namespace="team-a", namespace_ref="team-a-there")],
            after=[done()],
        ),
        opts,
    ),
    "mounted-claims": lambda opts: MountedClaims(
        "sample",
        MountedClaimsArgs(
            path="/mnt/shared",
            capacity_gib=5000,
            claims=[ClaimSpec(name="data", namespace="training", namespace_ref="training")],
        ),
        opts,
    ),
    "gate": lambda opts: Gate("sample", gate_args(after=[done()]), opts),
    "history-of-gate": lambda opts: GateHistory(
        "sample",
        GateHistoryArgs(
            pool="training",
            namespace="training",
            config_map="gate-training-verdicts",
            account="gate-training-history",
            granted="gate-training-history",
            copier=CLI,
            uri="s3://bucket/gates/training",
            after=done(),
        ),
        opts,
    ),
    "isolation": lambda opts: Isolation("sample", isolation_args(), opts),
    "volumes-end": lambda opts: VolumesEnd(
        "sample",
        VolumesEndArgs(
            image="python:3.13", files={"volumes_end.py": "import publish"}, after=[done("driver"), done("cluster")]
        ),
        opts,
    ),
    "sensors": lambda opts: Sensors("sample", sensors_args(), opts),
    "run-watch": lambda opts: RunWatch(
        "sample",
        RunWatchArgs(namespace="training", image="python:3.13", files={"watch.py": "import ends"}, table="{}"),
        opts,
    ),
    "follow-up": lambda opts: FollowUp("sample", follow_up_args(), opts),
    "mpi-operator": lambda opts: MpiOperator(
        "sample",
        MpiOperatorArgs(
            version="v0.8.0",
            crd_sha256="ab" * 32,
            image="mpi-operator:0.8",
            kubectl_image="kubectl:1",
            fetch_image="alpine:1",
            namespace="kubeflow",
            jobs="training",
            scheduler=done(),
        ),
        opts,
    ),
    "train-job": lambda opts: TrainingJob("sample", job_args(api="v2"), opts),
    "mpi-job": lambda opts: TrainingJob("sample", job_args(launcher="mpi", data=None), opts),
    "run-monitor": lambda opts: RunMonitor("sample", RunMonitorArgs(namespace="training", monitors=done()), opts),
    "dashboards": lambda opts: Dashboards("sample", DashboardsArgs(namespace="monitoring", boards=[BOARD]), opts),
    "issuer": lambda opts: Issuer(
        "sample",
        IssuerArgs(namespace="gateway", acme=None, common_name="lab CA", after=[done("webhook")]),
        opts,
    ),
    "gateway": lambda opts: Gateway(
        "sample",
        GatewayArgs(
            namespace="gateway",
            routes=["inference"],
            hostnames={"chat": "chat.example.com"},
            controller=done("traefik"),
            issuer=done("issuer"),
            signed_at_once=True,
        ),
        opts,
    ),
    "sign-in": lambda opts: SignIn("sample", sign_in_args(), opts),
    "page": lambda opts: Page("sample", page_args(), opts),
    "route": lambda opts: PublicRoute(
        "sample",
        PublicRouteArgs(
            service="chat",
            namespace="inference",
            port=8000,
            hostname="chat.example.com",
            requests_per_minute=300,
            burst=50,
            gateways="gateway",
            after=[done("gateway"), done("service")],
            signed_at_once=True,
        ),
        opts,
    ),
    **{
        layer.__name__: partial(layer, "sample")
        for layer in (
            layers.Fabric,
            layers.KubePlatform,
            layers.HardwarePool,
            layers.Storage,
            layers.Scheduling,
            layers.Monitoring,
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
        _current["command"] = command.Provider("command")
        _current["kubernetes"] = k8s.Provider("kubernetes", kubeconfig="{}")
        make(Options(providers=list(_current.values()), **options))

    return record(program, stack="lab", preview=preview)
