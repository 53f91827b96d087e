"""Samples of what every cluster runs."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.platform.charts import Chart, ChartArgs, ChartSource
from components.platform.crds import Crds, CrdsArgs
from components.platform.database_backup import DatabaseBackup, DatabaseBackupArgs
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
from components.platform.mpi_operator import MpiOperator
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.network_rules import DENY, NAMES, Flow, NetworkRules, NetworkRulesArgs, Pods, Reach, Rule, gang
from components.platform.operators import OperatorArgs
from components.platform.pinned_memory import PinnedMemory
from components.platform.postgresql import dump
from components.platform.priorities import Priorities
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.rights import AccountArgs
from components.platform.sandbox import Sandbox
from components.platform.servers import Database
from components.platform.snapshot_controller import SnapshotController, SnapshotControllerArgs
from components.platform.taints import GPU_TAINT
from components.platform.team_rights import TeamRights
from components.platform.teams import Teams, TeamsArgs, TeamSpec
from components.platform.training_operator import TrainingOperator, TrainingOperatorArgs
from components.platform.training_operator_rbac import OperatorAccount, cluster_rules, jobs_rules, namespace_rules
from components.platform.volumes_end import VolumesEnd, VolumesEndArgs
from tests.components.samples.common import CLI, Make, done, of

FILE = Fetched(url="https://crds/a.yaml", sha256="cd" * 32, image="alpine:1")


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


def backup_args() -> DatabaseBackupArgs:
    return DatabaseBackupArgs(
        account="mlflow-backup",
        namespace="tracking",
        database=Database(
            image="postgres:17",
            secret=pulumi.Output.from_input("mlflow-database"),
            service=done(),
            dump=dump("mlflow-database", "mlflow"),
        ),
        copier=CLI,
        granted="mlflow-backup",
        uri="s3://artefacts/backups",
        every_hours=6,
    )


SAMPLES: Mapping[str, Make] = {
    "database-backup": of(DatabaseBackup, backup_args),
    "namespaces": of(
        Namespaces,
        lambda: NamespacesArgs(
            namespaces=[NamespaceSpec(name="training", pod_security="privileged", gpus={"inference": 2}, limits=True)]
        ),
    ),
    "sandbox": lambda opts: Sandbox("sample", opts),
    "pinned-memory": lambda opts: PinnedMemory("sample", opts),
    "priorities": lambda opts: Priorities("sample", opts),
    "team-rights": lambda opts: TeamRights("sample", opts),
    "teams": of(
        Teams,
        lambda: TeamsArgs(
            teams=[
                TeamSpec(
                    name="vision",
                    namespace="team-vision",
                    queue="vision",
                    gpus=3,
                    storage_gib=70,
                    groups={"viewer": ["research", "gpucluster:vision:viewer"], "operator": ["leads"]},
                    withheld=["inference"],
                    read={"pipelines": "pipelines-vision"},
                )
            ],
            roles={"viewer": "look", "operator": "operate"},
        ),
    ),
    "chart": of(
        Chart,
        lambda: ChartArgs(
            source=ChartSource(name="volcano", version="1.2.3", repository="https://charts"), namespace="volcano"
        ),
    ),
    "queues": of(
        Queues,
        lambda: QueuesArgs(queues=[QueueSpec(name="research", weight=4, gpus=8, reclaimable=False)], scheduler=done()),
    ),
    "hyper-nodes": of(
        HyperNodes,
        lambda: HyperNodesArgs(
            nodes=[
                HyperNodeSpec(name="leaf-r0-01", tier=1, members=["dgx-01", "dgx-02"]),
                HyperNodeSpec(name="spine-01", tier=2, members=["leaf-r0-01"]),
            ],
            scheduler=done(),
        ),
    ),
    "crds": of(Crds, lambda: CrdsArgs(files=[FILE], crds=["a.b"], namespace="kubeflow", image="kubectl:1")),
    "gang-admission": of(
        GangAdmission,
        lambda: GangAdmissionArgs(namespace="volcano-system", image="kubectl:1", revision="1", scheduler=done()),
    ),
    "gpu-checks": of(
        GpuChecks,
        lambda: GpuChecksArgs(
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
    ),
    "gpu-operator-crds": of(
        GpuOperatorCrds, lambda: GpuOperatorCrdsArgs(namespace="gpu-operator", image="operator:1", after=done())
    ),
    "gpu-counters": of(
        GpuCounters,
        lambda: GpuCountersArgs(namespace="gpu-operator", csv="DCGM_FI_DEV_GPU_TEMP, gauge, Temperature.\n"),
    ),
    "gpu-readiness": of(
        GpuReadiness,
        lambda: GpuReadinessArgs(
            namespace="gpu-operator", image="kubectl:1", gpu_nodes=True, revision="v1.2.3", operator=done()
        ),
    ),
    "operator": of(
        TrainingOperator,
        lambda: TrainingOperatorArgs(
            version="v1.2.3",
            crd_sha256="ab" * 32,
            image="operator:1",
            kubectl_image="kubectl:1",
            fetch_image="wait:1",
            namespace="kubeflow",
            jobs="training",
            scheduler=done(),
        ),
    ),
    "network-rules": of(
        NetworkRules,
        lambda: NetworkRulesArgs(
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
    ),
    "operator-account": of(
        OperatorAccount,
        lambda: AccountArgs(
            account="operator",
            namespace="kubeflow",
            everywhere=cluster_rules("validator"),
            within={
                "local": ("kubeflow", namespace_rules("certificate")),
                "jobs": ("training", jobs_rules()),
            },
        ),
    ),
    "secret-store": of(
        SecretStore,
        lambda: SecretStoreArgs(
            namespace="inference", provider={"aws": {"region": "us-east-2"}}, after=done("controller")
        ),
    ),
    "image-signatures": of(
        ImageSignatures,
        lambda: ImageSignaturesArgs(
            namespaces=["inference", "training"],
            signer=Signer(issuer="https://token.actions.githubusercontent.com", identity="me@example.com"),
            timeout_seconds=20,
            providers=["amazon"],
            after=done("controller"),
        ),
    ),
    "external-secret": of(ExternalSecret, external_secret_args),
    "volumes-end": of(
        VolumesEnd,
        lambda: VolumesEndArgs(
            image="python:3.13", files={"volumes_end.py": "import publish"}, after=[done("driver"), done("cluster")]
        ),
    ),
    "mpi-operator": of(
        MpiOperator,
        lambda: OperatorArgs(
            version="v0.8.0",
            crd_sha256="ab" * 32,
            image="mpi-operator:0.8",
            kubectl_image="kubectl:1",
            fetch_image="alpine:1",
            namespace="kubeflow",
            jobs="training",
            scheduler=done(),
        ),
    ),
    "snapshot-controller": of(
        SnapshotController,
        lambda: SnapshotControllerArgs(
            version="v8.6.0",
            crds={"volumesnapshots": "ab" * 32, "volumesnapshotclasses": "cd" * 32},
            image="snapshot-controller:8",
            kubectl_image="kubectl:1",
            fetch_image="alpine:1",
            namespace="kube-system",
            after=done(),
        ),
    ),
}
