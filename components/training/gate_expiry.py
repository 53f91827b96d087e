"""Withdraws verdicts that are too old or about another driver: the node is tested again before new runs."""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import NOBODY, confined
from components.platform.jobs import repeated_job
from components.platform.scripted import IDENTITY
from components.training.gate_pods import NEWCOMERS_KEY, SCRIPTS, GateArgs
from components.training.gate_rights import allow

HOURLY = "30 * * * *"
_SECONDS = 600


def expires(owner: Component, own: str, args: GateArgs, after: pulumi.Resource) -> None:
    """Register it as a child of the gate `own`; nothing where verdicts hold without end."""
    if args.expiry_days is None:
        return
    core, name = k8s.core.v1, f"{own}-expiry"
    account = allow(owner, name, args.pool, args.namespace, role="expiry-", own_node=False)
    amounts = {"cpu": "100m", "memory": "128Mi"}
    container = core.ContainerArgs(
        name="expire",
        image=args.asker,
        command=["python3", f"{SCRIPTS}/expire.py"],
        args=[f"--identity={IDENTITY}", f"--pool={args.pool}", f"--days={args.expiry_days}"],
        env=[core.EnvVarArgs(name="PYTHONDONTWRITEBYTECODE", value="1")],
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(limits=amounts, requests=amounts),
        security_context=confined(user=NOBODY, writes=False),
        volume_mounts=[core.VolumeMountArgs(name="scripts", mount_path=SCRIPTS, read_only=True)],
    )
    pod = core.PodSpecArgs(
        service_account_name=account,
        restart_policy="Never",
        containers=[container],
        volumes=[core.VolumeArgs(name="scripts", config_map=core.ConfigMapVolumeSourceArgs(name=f"{own}-scripts"))],
    )
    # By this label network rules let it speak with the API server; no DaemonSet has this value.
    labels = {NEWCOMERS_KEY: name}
    k8s.batch.v1.CronJob(
        owner.named("expiry"),
        repeated_job(
            name=name,
            namespace=args.namespace,
            schedule=HOURLY,
            pod=core.PodTemplateSpecArgs(metadata=k8s.meta.v1.ObjectMetaArgs(labels=labels), spec=pod),
            backoff_limit=1,
            seconds=_SECONDS,
            failures_kept=1,
        ),
        owner.child(depends_on=[after]),
    )
