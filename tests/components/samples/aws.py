"""Samples of what AWS gives beside nodes: network, files, buckets, registries, keys and spending."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.aws.block import BlockStorage, BlockStorageArgs
from components.aws.bucket import Bucket, BucketArgs
from components.aws.endpoints import Endpoints, EndpointsArgs
from components.aws.file_system_rates import FileSystemRates, FileSystemRatesArgs
from components.aws.flow_logs import FlowLogs, FlowLogsArgs
from components.aws.front import FrontCertificate, FrontCertificateArgs
from components.aws.home import HomeArgs, HomeFiles
from components.aws.image_cache import CacheRuleSpec, ImageCache, ImageCacheArgs
from components.aws.keeper import Keeper, KeeperArgs
from components.aws.keys import Keys, KeysArgs
from components.aws.lustre import Lustre, LustreArgs
from components.aws.network import Network, NetworkArgs, SubnetSpec
from components.aws.pod_groups import PodGroups, PodGroupsArgs, PodGroupsSpec
from components.aws.pod_logs import PodLogs, PodLogsArgs
from components.aws.registry import Registry, RegistryArgs, RepositorySpec
from components.aws.secret_rotation import SecretRotation, SecretRotationArgs
from components.aws.security_groups import LustreGroup, LustreGroupArgs, NfsGroup, NfsGroupArgs
from components.aws.spending import Spending, SpendingArgs
from tests.components.samples.common import Make, done, of

KEY_ARN = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


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


def rates_args(**changes: Any) -> FileSystemRatesArgs:
    """Arguments of what reads a file system's rates."""
    known: dict[str, Any] = {
        "namespace": "monitoring",
        "image": "python:3.13",
        "files": {"rates.py": "import signing"},
        "cluster_name": "lab",
        "partition": "aws",
        "region": "us-east-2",
        "file_system_id": pulumi.Output.from_input("fs-1"),
        "capacity_bytes": 1200 * 2**30,
        "bytes_per_second": 240_000_000,
        "after": [done("cluster")],
    }
    return FileSystemRatesArgs(**{**known, **changes})


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


def keeper_args(**changes: Any) -> KeeperArgs:
    known: dict[str, Any] = {
        "code": {"handler.py": "def handle(event, context): ..."},
        "region": "us-east-2",
        "partition": "aws",
        "account_id": "123456789012",
        "cluster_name": "gpucluster-lab",
        "key_arn": "arn:aws:kms:us-east-2:123456789012:key/one",
        "log_group": "/aws/eks/gpucluster-lab/keeper",
        "tags": {"gpucluster:project": "gpucluster", "gpucluster:stack": "lab"},
        "tag_key": "gpucluster:stack",
        "ends": "2026-11-23T18:00:00Z",
        "warn_hours": 2,
        "hourly_usd": 4.5,
        "max_usd": 36,
        "counts_from": "2026-11-23_10:00",
        "emails": ("ml@example.com",),
        "gpu_pools": {"training": 2},
        "off_hours": {"time_zone": "UTC", "days": ["mon"], "start": "08:00", "end": "20:00"},
    }
    return KeeperArgs(**{**known, **changes})


def registry_args(**changes: Any) -> RegistryArgs:
    repositories = [RepositorySpec(name="ml/llama-trainer", keep_images=40, untagged_days=9)]
    return RegistryArgs(**{"repositories": repositories, "key_arn": KEY_ARN, "disposable": True, **changes})


SAMPLES: Mapping[str, Make] = {
    "endpoints": of(Endpoints, endpoints_args),
    "flow-logs": of(FlowLogs, flow_logs_args),
    "front": of(
        FrontCertificate,
        lambda: FrontCertificateArgs(zone="Z0123456789ABCDEFGHIJ", hostnames={"chat": "chat.llm.example.com"}),
    ),
    "network": of(Network, network_args),
    "lustre-group": of(LustreGroup, lambda: LustreGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1")),
    "spending": of(
        Spending,
        lambda: SpendingArgs(
            account_id="123456789012",
            tag_key="stack",
            tag_value="lab",
            monthly_usd=1200,
            percents=(50, 90),
            emails=("ml@example.com", "ops@example.com"),
            anomaly_usd=75,
        ),
    ),
    "keeper": of(Keeper, keeper_args),
    "keys": of(
        Keys,
        lambda: KeysArgs(
            partition="aws", account_id="123456789012", region="us-east-2", log_group_prefix="/aws/eks/lab"
        ),
    ),
    "pod-groups": of(
        PodGroups,
        lambda: PodGroupsArgs(
            policies=[
                PodGroupsSpec(
                    name="chat",
                    namespace="inference",
                    labels={"app.kubernetes.io/instance": "chat"},
                    groups=["sg-1", "sg-2"],
                ),
                PodGroupsSpec(name="vision", namespace="team-vision", labels={}, groups=["sg-1"]),
            ]
        ),
    ),
    "secret-rotation": of(
        SecretRotation,
        lambda: SecretRotationArgs(
            secret_arn="arn:aws:secretsmanager:us-east-2:123456789012:secret:models/callers-AbCdEf",
            function_arn="arn:aws:lambda:us-east-2:123456789012:function:rotate-keys",
            days=30,
        ),
    ),
    "rates": of(FileSystemRates, rates_args),
    "lustre": of(Lustre, lustre_args),
    "nfs-group": of(NfsGroup, lambda: NfsGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1")),
    "home": of(HomeFiles, home_args),
    "bucket": of(Bucket, lambda: BucketArgs(account_id="123456789012", key_arn=KEY_ARN, checkpoint_days=30)),
    "block": of(BlockStorage, lambda: BlockStorageArgs(driver=done("driver"), tags={"stack": "lab", "owner": "ml"})),
    "image-cache": of(
        ImageCache,
        lambda: ImageCacheArgs(
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
    ),
    "registry": of(Registry, registry_args),
    "pod-logs": of(
        PodLogs,
        lambda: PodLogsArgs(
            cluster="lab",
            cluster_name="lab-there",
            region="eu-north-1",
            namespace="monitoring",
            account="collector",
            days=14,
            key_arn=KEY_ARN,
        ),
    ),
}
