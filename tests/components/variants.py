"""Components with other arguments than those of the samples: what is off there is on here, each value one of a kind."""

from collections.abc import Mapping
from dataclasses import replace

import pulumi

from components.aws.addons import SERVICE_ADDONS, Addons, AddonsArgs, AddonSpec, node_addons
from components.aws.block import BlockStorage, BlockStorageArgs, SnapshotsSpec, VolumeClassSpec
from components.aws.bucket import Bucket, BucketArgs
from components.aws.capacity import CapacityBlock, HeldCapacity
from components.aws.cluster import Cluster
from components.aws.devices import efa_network
from components.aws.file_system_rates import FileSystemRates
from components.aws.flow_logs import FlowLogs
from components.aws.front import FrontCertificate, FrontCertificateArgs
from components.aws.home import HomeFiles
from components.aws.keeper import Keeper
from components.aws.keys import Keys, KeysArgs
from components.aws.lustre import AssociationSpec, Lustre
from components.aws.network import Network, SubnetSpec
from components.aws.node_repair import Repair, RepairOverride
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.nodes import NodePool
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, read_prefix, statement_document, write_prefix
from components.aws.registry import Registry
from components.aws.security_groups import LustreGroup, LustreGroupArgs
from components.gateway.gateway import Gateway, GatewayArgs
from components.gateway.issuer import Acme, Issuer, IssuerArgs
from components.gateway.page import Page
from components.gateway.route import PublicRoute, PublicRouteArgs
from components.gateway.sign_in import SignIn
from components.kubeflow.argo import Argo
from components.kubeflow.experiment import Experiment, Stopping
from components.kubeflow.pipeline_run import PipelineRun, PipelineRunArgs
from components.kubeflow.pipelines import Pipelines
from components.metal import object_store
from components.metal.ceph import Ceph
from components.metal.ceph_specs import CephSpec
from components.metal.credentials import Credentials, CredentialsArgs
from components.metal.etcd_snapshots import EtcdSnapshots
from components.metal.host import Host
from components.metal.pool import Pool
from components.monitoring.alerting import Mail, Receiver
from components.monitoring.counters import NodeCounters
from components.monitoring.stack import MonitoringStack
from components.platform.charts import Chart, ChartArgs, ChartSource
from components.platform.crds import Crds, CrdsArgs
from components.platform.external_secrets import ExternalSecret, OutsideValue, SecretStore, SecretStoreArgs
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs
from components.platform.image_signatures import ImageSignatures, ImageSignaturesArgs, Signer
from components.platform.kubectl import Fetched
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.pods import PodNetwork, PodShape
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.taints import GPU_TAINT, Taint
from components.serving.arguments import Directory, LoraModule
from components.serving.autoscaler import Scaling, supporting
from components.serving.door import Door
from components.serving.door_rules import TRITON, VLLM
from components.serving.hub import HubCopy
from components.serving.inference import InferenceService
from components.serving.keys import CallerKeys
from components.serving.placement import Placement
from components.serving.smoke import SmokeRequest
from components.serving.tokens import SecretKey
from components.serving.triton import TritonServer
from components.serving.zero import Zero
from components.storage.aws_cli import AwsCli
from components.storage.claims import ClaimSpec
from components.storage.lustre_claims import LustreClaims, LustreClaimsArgs
from components.storage.staged import Staged
from components.tracking.mlflow import Mlflow
from components.training import staging
from components.training.backup import Backup
from components.training.follow_up import FollowUp
from components.training.gates import Gate
from components.training.job import RunData, TrainingJob
from planner.reliability.checkpoints import Saving
from tests.components.samples import Make, done
from tests.components.samples.aws import (
    KEY_ARN,
    flow_logs_args,
    home_args,
    keeper_args,
    lustre_args,
    network_args,
    rates_args,
    registry_args,
)
from tests.components.samples.aws_nodes import DEPLOYER, ENA, cluster_args, pool_args
from tests.components.samples.common import of
from tests.components.samples.gateway import page_args, sign_in_args
from tests.components.samples.kubeflow import argo_args, experiment_args, pipelines_args
from tests.components.samples.metal import HOST_KEY, LOGIN, ceph_args, etcd_snapshots_args, host_args, machines_args
from tests.components.samples.monitoring import monitoring_args
from tests.components.samples.platform import external_secret_args
from tests.components.samples.serving import engine, hub_args, service_args, smoke_args, triton_args
from tests.components.samples.storage import weights_args
from tests.components.samples.tracking import mlflow_args
from tests.components.samples.training import backup_args, follow_up_args, gate_args, job_args

ADMIN = "arn:aws-us-gov:iam::123456789012:role/ops/On-Call"
OWN_TAINT = Taint(key="gpucluster/pool", value="serving", effect="NoExecute")

OTHER_FABRIC = PodNetwork(
    resources={"example.com/rdma": 8},
    annotations={"k8s.v1.cni.cncf.io/networks": "rails"},
    env={"NCCL_IB_HCA": "=card_0"},
    capabilities=("IPC_LOCK", "SYS_RESOURCE"),
)
CACHE = "arn:aws:ecr:us-east-2:123456789012:repository"
MIRROR = "arn:aws:secretsmanager:us-east-2:123456789012:secret:mirror-AbCdEf"
OTHER_COPIER = AwsCli(image="aws-cli:3", env={"AWS_Z": "last", "AWS_A": "first"})


RECEIVERS = [
    Receiver(name="on-call", kind="pagerduty", at_least="critical"),
    Receiver(name="team", kind="slack", at_least="warning", channel="#gpus"),
    Receiver(name="bridge", kind="webhook", at_least="info"),
    Receiver(
        name="desk",
        kind="email",
        at_least="warning",
        mail=Mail(to="desk@example.com", sender="gpus@example.com", server="mail.example.com:587", username="gpus"),
    ),
]
CEPH_IN_COPIES = CephSpec(
    image="quay.io/ceph/ceph:v20.2.5",
    disks={"osd-1": ["/dev/disk/by-path/c"]},
    copies=1,
    erasure=None,
    failure_domain="host",
    monitors=1,
    osd_memory_gib=4,
    public_cidr=None,
    cluster_cidr=None,
    labels={},
    tolerations=[],
)


def granted() -> pulumi.Output[str]:
    """Rights that are there when something else is."""
    return done("granted").urn.apply(lambda _: "rights")


def tracked(opts: pulumi.ResourceOptions) -> Experiment:
    """Trials that tell two trackers."""
    args = experiment_args()
    env = {"MLFLOW_TRACKING_URI": "http://mlflow", "WANDB_BASE_URL": "https://wandb"}
    return Experiment("sample", replace(args, trial=replace(args.trial, env=env)), opts)


VARIANTS: Mapping[str, Make] = {
    "network-protected": of(Network, lambda: network_args(protect=True, region="eu-north-1", after=done())),
    "flow-logs-rejected": of(
        FlowLogs, lambda: flow_logs_args(days=90, traffic="REJECT", partition="aws-cn", region="cn-north-1")
    ),
    "lustre-group-efa": of(
        LustreGroup, lambda: LustreGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1", efa_group_id="sg-2")
    ),
    "keys-protected": of(
        Keys,
        lambda: KeysArgs(
            partition="aws-cn",
            account_id="210987654321",
            region="cn-north-1",
            log_group_prefix="/logs/",
            deletion_days=29,
            protect=True,
        ),
    ),
    "cluster-open": of(
        Cluster,
        lambda: cluster_args(
            partition="aws-us-gov",
            admin_arns=[ADMIN, DEPLOYER],
            public_access_cidrs=["203.0.113.0/24", "198.51.100.0/24"],
            private_access_cidrs=["10.8.0.0/16"],
            private_access_from="head-office by vpn",
            profile="ml",
            role_arn="arn:aws:iam::123456789012:role/deploy",
            log_retention_days=91,
            protect=True,
        ),
    ),
    "addons-services": of(
        Addons,
        lambda: AddonsArgs(
            cluster_name="lab",
            partition="aws-cn",
            addons=[*SERVICE_ADDONS, AddonSpec(name="plain", service_account="alone", configuration={"z": 1, "a": 2})],
            versions={"coredns": "v1.12.3-eksbuild.1"},
            after=done(),
        ),
    ),
    "node-role-open-to-sessions": of(NodeRole, lambda: NodeRoleArgs(partition="aws-cn", session_manager=True)),
    "pool-in-block": of(
        NodePool,
        lambda: pool_args(
            interfaces=[ENA],
            efa_group_id=None,
            placement_group=False,
            local_nvme=False,
            count=5,
            root_volume_gib=321,
            capacity_type="CAPACITY_BLOCK",
            taints=[GPU_TAINT, OWN_TAINT],
            labels={"z": "last", "a": "first"},
            block=CapacityBlock(reservation_id="cr-1", nodes=3),
            after=[done()],
            update_strategy="DEFAULT",
            max_unavailable=3,
            repair=Repair(
                parallel=2,
                max_unhealthy=7,
                overrides=[
                    RepairOverride(
                        condition="AcceleratedHardwareReady",
                        reason="NvidiaXID64Error",
                        wait_minutes=11,
                        action="Replace",
                    )
                ],
            ),
        ),
    ),
    "identity-with-rights": of(
        PodIdentity,
        lambda: PodIdentityArgs(
            cluster_name="lab",
            namespace="inference",
            service_account="reader",
            policy_arns={"driver": "arn:aws:iam::aws:policy/Driver", "audit": "arn:aws:iam::aws:policy/Audit"},
            document=statement_document(
                [
                    *read_prefix(partition="aws-cn", bucket="models", prefix="llama", owner="1", key_arn=KEY_ARN),
                    *write_prefix(
                        partition="aws", bucket="artefacts", prefix="checkpoints/sft", owner="2", key_arn=KEY_ARN
                    ),
                ]
            ),
        ),
    ),
    "rates-china": of(FileSystemRates, lambda: rates_args(region="cn-north-1", partition="aws-cn")),
    "lustre-persistent": of(
        Lustre,
        lambda: lustre_args(
            deployment_type="PERSISTENT_2",
            capacity_gib=9600,
            throughput_mbps_per_tib=250,
            efa=True,
            backup_days=5,
            protect=True,
        ),
    ),
    "claims-of-two": of(
        LustreClaims,
        lambda: LustreClaimsArgs(
            csi_driver="csi.example.com",
            handle="fs-1",
            attributes={"server": "10.0.0.9", "share": "/all"},
            capacity_gib=9600,
            request_gib=1201,
            claims=[
                ClaimSpec(name="data", namespace="blue", namespace_ref="blue-there"),
                ClaimSpec(name="saves", namespace="green", namespace_ref="green-there"),
            ],
            driver=done(),
        ),
    ),
    "pool-reserved": of(
        NodePool,
        lambda: pool_args(placement_group=False, reservation_id="cr-0fedcba9876543210", further_types=["p5e.48xlarge"]),
    ),
    "network-with-pods": of(
        Network,
        lambda: network_args(
            pod_cidr="100.64.0.0/16",
            subnets=[
                *network_args().subnets,
                SubnetSpec(name="pods", role="pods", zone_id="use2-az1", cidr="100.64.128.0/17"),
            ],
        ),
    ),
    "block-of-classes": of(
        BlockStorage,
        lambda: BlockStorageArgs(
            driver=done("driver"),
            tags={"stack": "lab", "owner": "ml"},
            classes=[
                VolumeClassSpec(name="fast", type="gp3", iops=16_000, throughput_mib=1_000),
                VolumeClassSpec(name="databases", type="io2", iops=64_000, retained=True),
                VolumeClassSpec(name="logs", type="st1"),
            ],
            snapshots=SnapshotsSpec(controller=done("controller"), retained=True),
        ),
    ),
    "addons-apart": of(
        Addons, lambda: AddonsArgs(cluster_name="lab", partition="aws", addons=node_addons(apart=True), versions={})
    ),
    "addons-of-prefixes": of(
        Addons, lambda: AddonsArgs(cluster_name="lab", partition="aws", addons=node_addons(prefixes=True), versions={})
    ),
    "pool-holding": of(
        NodePool, lambda: pool_args(held=HeldCapacity(count=4, zone="us-east-2a", ends="2026-12-25T00:00:00Z"))
    ),
    "home-protected": of(
        HomeFiles, lambda: home_args(cold_days=None, backed_up=True, protect=True, namespaces=["training"])
    ),
    "cluster-standing": of(Cluster, lambda: cluster_args(standing=True)),
    "keeper-of-blocks": of(
        Keeper,
        lambda: keeper_args(
            blocks=[{"reservation": "cr-1", "group": "training", "nodes": 2}],
            spots=[{"spot": "chats", "on_demand": "chats-paid", "nodes": 3}],
            max_usd=None,
            emails=(),
        ),
    ),
    "registry-protected": of(Registry, lambda: registry_args(disposable=False, protect=True)),
    "lustre-linked": of(
        Lustre,
        lambda: lustre_args(
            associations=[
                AssociationSpec(path="/datasets/web", source="s3://texts/web", imports=["NEW"], exports=[]),
                AssociationSpec(path="/results", source="s3://texts/results", imports=[], exports=["NEW", "DELETED"]),
            ]
        ),
    ),
    "bucket-cold": of(
        Bucket,
        lambda: BucketArgs(account_id="123456789012", key_arn=KEY_ARN, checkpoint_days=30, cold=(30, "STANDARD_IA")),
    ),
    "bucket-of-a-purpose": of(
        Bucket,
        lambda: BucketArgs(account_id="123456789012", key_arn=KEY_ARN, purpose="backups", expire_days=90),
    ),
    "bucket-disposable": of(
        Bucket,
        lambda: BucketArgs(
            account_id="210987654321", key_arn=KEY_ARN, checkpoint_days=77, disposable=True, protect=True
        ),
    ),
    "namespaces-of-each-kind": of(
        Namespaces,
        lambda: NamespacesArgs(
            namespaces=[
                NamespaceSpec(name="plain", pod_security="restricted"),
                NamespaceSpec(
                    name="full", pod_security="baseline", gpus={"training": 0}, most={"pods": "9"}, limits=True
                ),
            ]
        ),
    ),
    "chart-with-values": of(
        Chart,
        lambda: ChartArgs(
            source=ChartSource(name="operator", version="v26.3.3", repository="https://charts"),
            namespace="operators",
            values={"driver": {"enabled": False}},
            timeout_seconds=901,
            after=done(),
        ),
    ),
    "monitoring-stack-that-tells": of(
        MonitoringStack,
        lambda: monitoring_args(
            receivers=RECEIVERS,
            secrets={each.name: pulumi.Output.secret(f"secret of {each.name}") for each in RECEIVERS[:-1]},
            outside=pulumi.Output.from_input("kept-outside"),
            control_plane=("etcd", "proxy"),
            counters=NodeCounters(name="rails", image="rails:2", script="rails --print", host_files="/run/rails"),
        ),
    ),
    "queues-without-cap": of(Queues, lambda: QueuesArgs(queues=[QueueSpec(name="nights", weight=9)], scheduler=done())),
    "machines-labelled": of(
        Pool, lambda: machines_args(labels={"dgx-01": {"example.com/leaf": "a", "b": "c"}, "cp-1": {}})
    ),
    "crds-after": of(
        Crds,
        lambda: CrdsArgs(
            files=[Fetched(url="https://crds/b.yaml", sha256="ef" * 32, image="box:2")],
            crds=["a.b", "c.d"],
            namespace="operators",
            image="kubectl:2",
            after=done(),
        ),
    ),
    "crds-of-two-files": of(
        Crds,
        lambda: CrdsArgs(
            files=[
                Fetched(name="b", url="https://crds/b.yaml", sha256="ef" * 32, image="box:2"),
                Fetched(name="d", url="https://crds/d.yaml", sha256="ab" * 32, image="box:2"),
            ],
            crds=["a.b", "c.d"],
            namespace="operators",
            image="kubectl:2",
        ),
    ),
    "issuer-acme": of(
        Issuer,
        lambda: IssuerArgs(
            namespace="entry",
            acme=Acme(server="https://ca.example.com/acme", email="ops@example.com", gateway="gate"),
            common_name="unused",
            after=[done("webhook"), done("more")],
        ),
    ),
    "issuer-acme-by-records": of(
        Issuer,
        lambda: IssuerArgs(
            namespace="gateway",
            acme=Acme(
                server="https://ca.example.com/acme",
                email="ops@example.com",
                gateway="gate",
                records={"route53": {"hostedZoneID": "Z1"}},
            ),
            common_name="unused",
            after=[done("webhook")],
        ),
    ),
    "front-of-two-names": of(
        FrontCertificate,
        lambda: FrontCertificateArgs(
            zone="Z1", hostnames={"chat": "a-longer-name.example.org", "code": "code.example.org"}
        ),
    ),
    "gateway-of-two-names": of(
        Gateway,
        lambda: GatewayArgs(
            namespace="entry",
            routes=["models", "people"],
            hostnames={"chat": "chat.example.org", "code": "code.example.org"},
            controller=done("controller"),
            issuer=done("other-issuer"),
            signed_at_once=False,
        ),
    ),
    "sign-in-under-load": of(SignIn, lambda: sign_in_args(scaling=supporting(2, 6))),
    "sign-in-at-another-issuer": of(
        SignIn,
        lambda: sign_in_args(
            namespace="persons",
            image="oauth2-proxy:v8",
            issuer="https://id.example.org",
            client_id="other",
            groups_claim="roles",
            scopes=["openid", "groups"],
            groups=["research"],
            session_seconds=3600,
            secret=pulumi.Output.secret("another"),
            session_secret=pulumi.Output.secret("yet another"),
            tokens=True,
            replicas=3,
            millicores=70,
            memory_mib=96,
            after=[done("other-cluster")],
        ),
    ),
    "page-without-roles": of(
        Page,
        lambda: page_args(
            page="mlflow",
            namespace="persons",
            service="tracker",
            port=5000,
            at="tracking",
            hostname="runs.example.org",
            groups=["research"],
            role=None,
            gateways="entry",
            after=[done("gate")],
            signed_at_once=False,
        ),
    ),
    "mlflow-with-pages": of(Mlflow, lambda: mlflow_args(pages=["runs.example.org", "r.example.org"])),
    "monitoring-stack-with-pages": of(
        MonitoringStack, lambda: monitoring_args(pages=["grafana.example.org", "admin.example.org"])
    ),
    "route-of-another": of(
        PublicRoute,
        lambda: PublicRouteArgs(
            service="code",
            namespace="models",
            port=9000,
            hostname="code.example.org",
            requests_per_minute=4,
            burst=1,
            gateways="entry",
            after=[done("gate")],
            signed_at_once=False,
        ),
    ),
    "gpu-readiness-without-nodes": of(
        GpuReadiness,
        lambda: GpuReadinessArgs(
            namespace="gpu-operator", image="kubectl:1", gpu_nodes=False, revision="v26.3.3", operator=done()
        ),
    ),
    "job-saving-locally": of(
        TrainingJob,
        lambda: job_args(
            nodes=3,
            restarts=4,
            shape=PodShape(
                gpus=8, cpu_millicores=180_500, memory_mib=1_900_000, shm_mib=524_288, network=efa_network(32)
            ),
            pool="big",
            taints=[GPU_TAINT, OWN_TAINT],
            queue="nights",
            priority="urgent",
            env={"CHECKPOINT_URI": "s3://artefacts/sft"},
            saving=Saving(every_s=1234, within_s=9, keep=5, local=True, file_system_s=2468),
            data=RunData(claim="more-data", path="datasets/chats-5678", ready=[done("copied")]),
            local={"emptyDir": {"sizeLimit": "7G"}},
            granted=granted(),
            operator=done("operator"),
            nodes_ready=[done("nodes"), done("gpus")],
        ),
    ),
    "job-of-one-saving": of(
        TrainingJob,
        lambda: job_args(
            nodes=1,
            shape=PodShape(gpus=1, cpu_millicores=1000, memory_mib=2048, shm_mib=1024, network=OTHER_FABRIC),
            data=None,
            saving=Saving(every_s=901, within_s=9, keep=2, local=False, file_system_s=901),
        ),
    ),
    "job-elastic-with-files": of(
        TrainingJob, lambda: job_args(nodes=4, elastic=3, restarts=7, files={"/etc/run/launch": {"plan.json": "[1]\n"}})
    ),
    "job-that-tells": of(TrainingJob, lambda: job_args(metrics_port=9464)),
    "weights-dataset": of(
        Staged,
        lambda: replace(
            weights_args("s3://models/b"),
            what="dataset",
            name="chats",
            directory="datasets",
            copier=OTHER_COPIER,
            namespace="training",
            service_account="dataset-chats",
            claim="training-data",
            timeout_seconds=4800,
            granted=granted(),
        ),
    ),
    "backup-elsewhere": of(Backup, lambda: replace(backup_args(86_400), copier=OTHER_COPIER)),
    "hub-adapter": of(
        HubCopy,
        lambda: hub_args(
            what="adapter",
            name="llama-sql",
            directory="adapters",
            repository="acme/sql",
            revision="1" * 40,
            image="vllm:2",
            token=SecretKey(name="hub", key="b"),
            namespace="models",
            claim="weights",
            ready=done("nodes"),
            timeout_seconds=2400,
        ),
    ),
    "external-secret-of-templates": of(
        ExternalSecret,
        lambda: external_secret_args(
            namespace="models",
            store="elsewhere",
            secret="chat-keys",
            refresh_seconds=5430,
            values={"value1": OutsideValue(id="callers", property="previous"), "value0": OutsideValue(id="callers")},
            templates={"token": "{{ .value0 }}"},
        ),
    ),
    "secret-store-elsewhere": of(
        SecretStore,
        lambda: SecretStoreArgs(namespace="models", provider={"vault": {"path": "kv"}}, after=done("other")),
    ),
    "service-whose-keys-follow": of(
        InferenceService,
        lambda: service_args(
            door=Door(
                image="nginx:1",
                keys=CallerKeys(name=pulumi.Output.from_input("llama-keys-1"), follows=True),
                behind=VLLM,
            )
        ),
    ),
    "service-that-goes-to-zero": of(
        InferenceService,
        lambda: service_args(
            replicas=Zero(
                most=3,
                waiting=7,
                cache_percent=75,
                up_seconds=110,
                down_seconds=310,
                idle_seconds=1500,
                ask_seconds=20,
                prometheus="http://there:9091",
                router="llama-0-[0-9a-f]+",
                scrape_seconds=45,
                ready=done("looks-after"),
            )
        ),
    ),
    "smoke-that-wakes": of(SmokeRequest, lambda: smoke_args(wakes_seconds=700)),
    "smoke-with-adapters": of(
        SmokeRequest,
        lambda: smoke_args(
            service="chat",
            namespace="models",
            image="curl:2",
            address="http://chat:8000/v1",
            models=["chat", "sql"],
            key=SecretKey(name="door", key="a"),
            after=[done("service")],
        ),
    ),
    "service-with-room": of(
        InferenceService,
        lambda: service_args(
            spare_replica=True,
            engine=engine(
                quantization="fp8",
                kv_cache_dtype="fp8_e5m2",
                tensor_parallel=1,
                max_model_len=4096,
                gpu_memory_utilization=0.87,
                drain_seconds=300,
                max_num_seqs=96,
                max_num_batched_tokens=12_288,
                prefix_caching=False,
                chunked_prefill=False,
                adapters=[
                    LoraModule(name="sql", directory=Directory(volume="models", path="adapters/llama-sql-12")),
                    LoraModule(name="law", directory=Directory(volume="claim-law", path="v2", below="/claim-law")),
                ],
                max_loras=2,
                max_lora_rank=64,
            ),
            compiled=Directory(volume="models", path="compiled/other-9"),
            claims={"models": "weights", "claim-law": "law"},
            leave_seconds=20,
            grace_seconds=345,
            replicas=Scaling(
                least=2, most=7, targets={"waiting": "11", "cache": "700m"}, up_seconds=90, down_seconds=600
            ),
            placement=Placement(pool="chats", gpus=1, node_gpus=3, spread=True),
            startup_seconds=1230,
            taints=[GPU_TAINT, OWN_TAINT],
            door=Door(image="nginx:2", keys=CallerKeys(name=pulumi.Output.from_input("other-keys-2")), behind=VLLM),
            ready=[done("weights"), done("adapters")],
            nodes_ready=[done("nodes"), done("gpus")],
            monitors=done("monitors"),
        ),
    ),
    "triton-with-room": of(
        TritonServer,
        lambda: triton_args(
            name="speech",
            namespace="models",
            image="triton:2",
            shape=PodShape(gpus=2, cpu_millicores=5000, memory_mib=40_000, shm_mib=1024),
            pool="chats",
            gpu_product="NVIDIA-H100",
            taints=[GPU_TAINT, OWN_TAINT],
            priority="other",
            models=Directory(volume="claim-x", path="y", below="/claim-x"),
            claim="x",
            ready=[done("models")],
            nodes_ready=[done("nodes"), done("gpus")],
            replicas=3,
            spare_replica=True,
            startup_seconds=905,
            leave_seconds=20,
            drain_seconds=75,
            door=Door(image="nginx:2", keys=CallerKeys(name=pulumi.Output.from_input("speech-keys-2")), behind=TRITON),
            monitors=done("monitors"),
        ),
    ),
    "gate-whose-verdicts-end": of(Gate, lambda: gate_args(after=[done()], expiry_days=29)),
    "gate-that-copies": of(Gate, lambda: gate_args(after=[done()], copies={"host": 48.5, "peer": 335.5})),
    "node-role-that-caches": of(
        NodeRole,
        lambda: NodeRoleArgs(partition="aws", session_manager=False, cached=[f"{CACHE}/nvcr/*", f"{CACHE}/ghcr/*"]),
    ),
    "node-role-that-signs-in": of(
        NodeRole, lambda: NodeRoleArgs(partition="aws", session_manager=False, login=MIRROR, fetched=["b/y", "b/x"])
    ),
    "image-signatures-by-key": of(
        ImageSignatures,
        lambda: ImageSignaturesArgs(
            namespaces=["tracking"],
            signer=Signer(key="-----BEGIN PUBLIC KEY-----"),
            timeout_seconds=25,
            providers=[],
            after=done(),
        ),
    ),
    "experiment-that-stops": of(
        Experiment, lambda: experiment_args(stopping=Stopping(after_trials=4, after_reports=7))
    ),
    "job-of-staged-shards": of(
        TrainingJob,
        lambda: job_args(
            staging="shard", local={"emptyDir": {}}, files={staging.SCRIPTS: {"stage.py": "import shards"}}
        ),
    ),
    "mlflow-with-a-key": of(
        Mlflow, lambda: mlflow_args(client=object_store.client("unused", "https://s3.example.com").env)
    ),
    "network-closed": of(Network, lambda: network_args(nat_zone_ids=[])),
    "network-for-callers": of(Network, lambda: network_args(nat_zone_ids=[], internet=True)),
    "pipelines-of-a-team": of(Pipelines, lambda: replace(pipelines_args(), jobs=None, kinds=[done("kinds")])),
    "argo-beside-another": of(Argo, lambda: replace(argo_args(), kinds=[done("kinds")])),
    "pipeline-run-with-files": of(
        PipelineRun,
        lambda: PipelineRunArgs(job=job_args(nodes=1, files={"/etc/plan": {"plan.json": "{}"}}), namespace="pipelines"),
    ),
    "host-as-root": of(Host, lambda: host_args(login=replace(LOGIN, user="root"))),
    "credentials-as-root": of(
        Credentials,
        lambda: CredentialsArgs(
            login=replace(LOGIN, user="root"), address="10.20.0.11", host_key=HOST_KEY, after=[done()]
        ),
    ),
    "chart-from-a-registry": of(
        Chart,
        lambda: ChartArgs(
            source=ChartSource(name="kueue", version="0.14.0", repository="oci://registry.k8s.io/kueue/charts"),
            namespace="queues",
        ),
    ),
    "chart-of-a-package": of(
        Chart,
        lambda: ChartArgs(
            source=ChartSource(
                name="volcano",
                version="1.2.3",
                repository="https://charts",
                images={"image": {"registry": "mirror.example.com"}},
                package="/charts/volcano-1.2.3.tgz",
            ),
            namespace="volcano",
            values={"image": {"registry": "docker.io", "tag": "v1"}},
        ),
    ),
    "ceph-in-copies": of(Ceph, lambda: ceph_args(spec=CEPH_IN_COPIES, objects=None)),
    "etcd-snapshots-of-a-store": of(
        EtcdSnapshots,
        lambda: etcd_snapshots_args(copier=object_store.client("aws:3", "https://s3.example.com"), granted=granted()),
    ),
    "experiment-that-is-tracked": tracked,
    "pipeline-run-of-a-copy": of(
        PipelineRun,
        lambda: PipelineRunArgs(
            job=job_args(data=RunData(claim="data", path="datasets/chats", ready=[done("copied")])),
            namespace="pipelines",
        ),
    ),
    "follow-up-often": of(FollowUp, lambda: follow_up_args(every_seconds=2 * 3600)),
}
