"""Samples of Katib, Argo and Kubeflow Pipelines."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from catalogue.versions import ARGO_IMAGES, KATIB_IMAGES, PIPELINES_IMAGES
from components.kubeflow.argo import Argo, ArgoArgs
from components.kubeflow.experiment import REFERENCE_FORMAT, Experiment, ExperimentArgs, Range
from components.kubeflow.katib import Katib, KatibArgs
from components.kubeflow.katib_config import CollectorRoom
from components.kubeflow.katib_rbac import KatibAccount, cluster_rules, trials_rules
from components.kubeflow.pipeline_run import PipelineRun, PipelineRunArgs
from components.kubeflow.pipeline_upload import PipelineUpload, PipelineUploadArgs
from components.kubeflow.pipelines import Pipelines, PipelinesArgs
from components.kubeflow.pipelines_metadata import Metadata, MetadataArgs
from components.kubeflow.pipelines_rbac import PipelinesAccount, runner_rules
from components.kubeflow.pipelines_server import Server, ServerArgs, Store
from components.kubeflow.trial_database import TrialDatabase, TrialDatabaseArgs
from components.platform.copying import ClientValue, StoreAddress
from components.platform.rights import AccountArgs
from tests.components.samples.common import Make, done, of
from tests.components.samples.training import job_args


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


def _password() -> pulumi.Output[str]:
    secret = k8s.core.v1.Secret("password", metadata=k8s.meta.v1.ObjectMetaArgs(name="mysql-secret"))
    return secret.metadata.name.apply(str)


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
        database_image="postgres:17",
        namespace="kubeflow",
        trials={"trials": "training"},
        password=pulumi.Output.secret("hush"),
        storage_class="block",
        gib=7,
        room=CollectorRoom(millicores=50, memory_mib=100),
        operator=done(),
        certificates=done("certificates"),
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


SAMPLES: Mapping[str, Make] = {
    "katib": of(Katib, katib_args),
    "katib-account": of(
        KatibAccount,
        lambda: AccountArgs(
            account="katib",
            namespace="kubeflow",
            everywhere=cluster_rules(),
            within={"trials": ("training", trials_rules())},
        ),
    ),
    "trial-database": of(
        TrialDatabase,
        lambda: TrialDatabaseArgs(
            namespace="kubeflow",
            password=pulumi.Output.secret("hush"),
            storage_class="block",
            gib=7,
            image="postgres:17",
            manager_image="manager:1",
        ),
    ),
    "argo": of(Argo, argo_args),
    "pipelines": of(Pipelines, pipelines_args),
    "pipelines-server": lambda opts: pipelines_server(opts),
    "pipelines-metadata": lambda opts: pipelines_metadata(opts),
    "pipelines-account": of(
        PipelinesAccount,
        lambda: AccountArgs(account="steps", namespace="pipelines", within={"": ("training", runner_rules(["keys"]))}),
    ),
    "pipeline-run": of(PipelineRun, lambda: PipelineRunArgs(job=job_args(), namespace="pipelines")),
    "pipeline-upload": of(
        PipelineUpload,
        lambda: PipelineUploadArgs(
            pipeline="pretraining",
            version="4f2a91c-1",
            content="pipelineInfo: {name: pretraining}\n",
            namespace="pipelines",
            image="python:3.13",
            address="http://ml-pipeline.pipelines.svc:8888",
            files={"upload.py": "import steps"},
            server=done(),
        ),
    ),
    "experiment": of(Experiment, experiment_args),
}
