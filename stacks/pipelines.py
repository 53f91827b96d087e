"""The plan's Kubeflow Pipelines, and those of teams: programs, runs that steps may start, and what is uploaded."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
from planner.said import Pipelines as Wanted
from planner.said import Upload
from planner.teams import RUNS
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.backups import back_up
from stacks.namespaces import pipelines_of_teams
from stacks.pipeline_files import compiled
from stacks.platform import Platform
from stacks.purposes import purpose_of
from stacks.services import Services

PREFIX, BACKUPS = "pipelines", "backups/pipelines"
TEAMS_PREFIX, TEAMS_BACKUPS = "team-pipelines", "backups/team-pipelines"
"""Places in the stack's own bucket: what steps may write in is none for copies of the database, or another team's."""

_WRITERS = (SERVER, RUNNER, UI)


@dataclass(frozen=True, kw_only=True)
class _Set:
    """Kubeflow Pipelines of one namespace, the stack's own or those of a `team`."""

    namespace: str
    team: str | None = None

    @property
    def name(self) -> str:
        """What its resources' names begin with."""
        return "pipelines" if self.team is None else f"team-pipelines-{self.team}"

    @property
    def prefix(self) -> str:
        return PREFIX if self.team is None else f"{TEAMS_PREFIX}/{self.team}"

    @property
    def backups(self) -> str:
        return BACKUPS if self.team is None else f"{TEAMS_BACKUPS}/{self.team}"

    def identity(self, account: str) -> str:
        return f"{account}-identity" if self.team is None else f"{self.name}-{account}-identity"

    def password(self, said: pulumi.Output[str]) -> pulumi.Output[str]:
        """That of its database: who learns a team's has none of another one's."""
        team = self.team
        if team is None:
            return said
        return said.apply(lambda known: hashlib.sha256(f"pipelines of {team}: {known}".encode()).hexdigest())


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
    password = config.require_secret(wanted.secret)
    own = _Set(namespace=NAMESPACE)
    programs = _programs(own, wanted, plan, platform, services, password, inside)
    servers: dict[str | None, tuple[_Set, Pipelines]] = {None: (own, programs)}
    for namespace, team in pipelines_of_teams(plan).items():
        theirs = _Set(namespace=namespace, team=team.name)
        made = _programs(theirs, wanted, plan, platform, services, password, inside, kinds=programs.kinds)
        servers[team.name] = theirs, made
    runs = [
        PipelineRun(
            f"pipeline-run-{name}",
            PipelineRunArgs(job=asked(plan.runs[name]), namespace=services.namespaces[NAMESPACE]),
            inside,
        )
        for name in wanted.runs
        if name in plan.runs
    ]
    for upload in wanted.uploads:
        if upload.team in servers:
            _upload(upload, *servers[upload.team], plan, services, inside)
    return {
        **{
            "open" if each.team is None else f"open-{each.team}": f"kubectl -n {each.namespace} port-forward "
            f"service/{UI_LABELS['app']} 8080:80"
            for each, _ in servers.values()
        },
        **{each.pulumi_resource_name.removeprefix("pipeline-"): each.run for each in runs},
    }


def _programs(
    of: _Set,
    wanted: Wanted,
    plan: Plan,
    platform: Platform,
    services: Services,
    password: pulumi.Output[str],
    inside: pulumi.ResourceOptions,
    kinds: Sequence[pulumi.Resource] | None = None,
) -> Pipelines:
    """The programs and the copies of their database. Steps of a team's make no jobs of runs, which are nobody's."""
    objects, namespace = platform.objects, services.namespaces[of.namespace]

    def writer(account: str) -> pulumi.Output[str]:
        return objects.writer(of.identity(account), prefix=of.prefix, namespace=namespace, account=account, opts=inside)

    granted = {account: writer(account) for account in _WRITERS}
    kfp, argo = versions.PIPELINES_IMAGES, versions.ARGO_IMAGES
    programs = Pipelines(
        of.name,
        PipelinesArgs(
            images={name: plan.supply.image(image) for name, image in {**kfp, **argo}.items()},
            metadata_image=plan.supply.image(versions.METADATA_IMAGE),
            database_image=plan.supply.image(versions.MYSQL_IMAGE),
            namespace=namespace,
            jobs=services.namespaces[RUNS] if of.team is None else None,
            password=of.password(password),
            storage_class=platform.block,
            gib=wanted.gib,
            store=Store(
                address=objects.address,
                bucket=objects.bucket_of(purpose_of(of.prefix)),
                prefix=of.prefix,
                client=dict(objects.copier.env),
            ),
            granted=granted,
            scripts=node_files("pipelines/*.py", "gates/publish.py"),
            sandbox=CLASS if wanted.sandbox else None,
            kinds=kinds,
        ),
        inside,
    )
    account = f"{of.name}-backup"
    back_up(account, account, namespace, programs.database, of.backups, wanted.backup_hours, platform, inside)
    return programs


def _upload(
    upload: Upload, of: _Set, programs: Pipelines, plan: Plan, services: Services, inside: pulumi.ResourceOptions
) -> None:
    found = compiled(upload)
    args = PipelineUploadArgs(
        pipeline=upload.name,
        version=found.version,
        content=found.content,
        namespace=services.namespaces[of.namespace],
        image=plan.supply.image(versions.PYTHON_IMAGE),
        address=f"http://{SERVER}.{of.namespace}.svc:{HTTP_PORT}",
        files=upload_files(),
        server=programs.ready,
    )
    PipelineUpload(f"pipeline-{upload.name}", args, inside)
