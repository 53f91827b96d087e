"""The plan's Kubeflow Pipelines: the programs, the runs that steps may start, and what is uploaded."""

from collections.abc import Callable, Mapping

import pulumi

from catalogue import versions
from components.kubeflow.pipeline_run import PipelineRun, PipelineRunArgs
from components.kubeflow.pipeline_upload import PipelineUpload, PipelineUploadArgs, upload_files
from components.kubeflow.pipelines import NAMESPACE, UI_LABELS, Pipelines, PipelinesArgs
from components.kubeflow.pipelines_rbac import RUNNER, SERVER, UI
from components.kubeflow.pipelines_server import HTTP_PORT, Store
from components.platform.node_files import node_files
from components.platform.sandbox import CLASS
from components.training.job import TrainingJobArgs
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.backups import back_up
from stacks.pipeline_files import compiled
from stacks.platform import Platform
from stacks.purposes import purpose_of
from stacks.services import Services

ACCOUNT = "pipelines-backup"
PREFIX, BACKUPS = "pipelines", "backups/pipelines"
"""Places in the stack's own bucket: what steps may write in is none for copies of the database."""

_WRITERS = (SERVER, RUNNER, UI)


def deploy_pipelines(
    plan: Plan,
    platform: Platform,
    services: Services,
    config: pulumi.Config,
    asked: Callable[[RunPlan], TrainingJobArgs],
    inside: pulumi.ResourceOptions,
) -> Mapping[str, pulumi.Input[str]]:
    """Lines about them; `asked` is what a run asks for, as a job takes it."""
    wanted = plan.pipelines
    if wanted is None:
        return {}
    namespace, objects = services.namespaces[NAMESPACE], platform.objects

    def writer(account: str) -> pulumi.Output[str]:
        return objects.writer(f"{account}-identity", prefix=PREFIX, namespace=namespace, account=account, opts=inside)

    granted = {account: writer(account) for account in _WRITERS}
    kfp, argo = versions.PIPELINES_IMAGES, versions.ARGO_IMAGES
    programs = Pipelines(
        "pipelines",
        PipelinesArgs(
            images={name: plan.supply.image(image) for name, image in {**kfp, **argo}.items()},
            metadata_image=plan.supply.image(versions.METADATA_IMAGE),
            database_image=plan.supply.image(versions.MYSQL_IMAGE),
            namespace=namespace,
            jobs=services.namespaces["training"],
            password=config.require_secret(wanted.secret),
            storage_class=platform.block,
            gib=wanted.gib,
            store=Store(
                address=objects.address,
                bucket=objects.bucket_of(purpose_of(PREFIX)),
                prefix=PREFIX,
                client=dict(objects.copier.env),
            ),
            granted=granted,
            scripts=node_files("pipelines/*.py", "gates/publish.py"),
            sandbox=CLASS if wanted.sandbox else None,
        ),
        inside,
    )
    back_up("pipelines-backup", ACCOUNT, namespace, programs.database, BACKUPS, wanted.backup_hours, platform, inside)
    runs = [
        PipelineRun(f"pipeline-run-{name}", PipelineRunArgs(job=asked(plan.runs[name]), namespace=namespace), inside)
        for name in wanted.runs
        if name in plan.runs
    ]
    for upload in wanted.uploads:
        found = compiled(upload)
        args = PipelineUploadArgs(
            pipeline=upload.name,
            version=found.version,
            content=found.content,
            namespace=namespace,
            image=plan.supply.image(versions.PYTHON_IMAGE),
            address=f"http://{SERVER}.{NAMESPACE}.svc:{HTTP_PORT}",
            files=upload_files(),
            server=programs.ready,
        )
        PipelineUpload(f"pipeline-{upload.name}", args, inside)
    port = 8080
    return {
        "open": f"kubectl -n {NAMESPACE} port-forward service/{UI_LABELS['app']} {port}:80",
        **{each.pulumi_resource_name.removeprefix("pipeline-"): each.run for each in runs},
    }
