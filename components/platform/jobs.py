"""Jobs that `up` waits for and that run once."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from catalogue.units import HOURS_PER_DAY, SECONDS_PER_HOUR

REPLACED_UNLESS_DONE = {"pulumi.com/replaceUnready": "true"}
DISPLACED = k8s.batch.v1.PodFailurePolicyRuleArgs(
    action="Ignore",
    on_pod_conditions=[k8s.batch.v1.PodFailurePolicyOnPodConditionsPatternArgs(type="DisruptionTarget", status="True")],
)
"""A pod that had to make room for another, or whose node went, has failed at nothing: it is no try."""


def one_off_job(
    *,
    name: pulumi.Input[str],
    namespace: pulumi.Input[str],
    account: pulumi.Input[str] | None,
    steps: Sequence[k8s.core.v1.ContainerArgs],
    before: Sequence[k8s.core.v1.ContainerArgs] = (),
    volumes: Sequence[k8s.core.v1.VolumeArgs] = (),
    automount: bool = True,
    labels: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[k8s.core.v1.TolerationArgs] = (),
    backoff_limit: int,
    seconds: int,
) -> k8s.batch.v1.JobInitArgs:
    """A Job of one pod, tried again `backoff_limit` times and given up after so many seconds, all tries together. Its
    containers have the account's token by `automount`, or by volumes of their own; without an account: the namespace's.

    All `steps` run at once, after those of `before`. Pulumi's Kubernetes provider reads main containers only and does
    not tell why one of `before` failed (LF19), so whatever may have something to say is a step. Nor does its own
    timeout end: each event of a Job in the namespace, one a minute at least, begins it anew. The Job's own deadline
    does.
    """
    pod = k8s.core.v1.PodSpecArgs(
        service_account_name=account,
        automount_service_account_token=None if automount else False,
        restart_policy="Never",
        node_selector=dict(node_selector) if node_selector else None,
        tolerations=list(tolerations) or None,
        init_containers=list(before) or None,
        containers=list(steps),
        volumes=list(volumes) or None,
    )
    return k8s.batch.v1.JobInitArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace, annotations=REPLACED_UNLESS_DONE),
        spec=k8s.batch.v1.JobSpecArgs(
            backoff_limit=backoff_limit,
            pod_failure_policy=k8s.batch.v1.PodFailurePolicyArgs(rules=[DISPLACED]),
            active_deadline_seconds=seconds,
            template=k8s.core.v1.PodTemplateSpecArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(labels=dict(labels)) if labels else None, spec=pod
            ),
        ),
    )


def repeated_job(
    *,
    name: pulumi.Input[str],
    namespace: pulumi.Input[str],
    schedule: str,
    pod: k8s.core.v1.PodTemplateSpecArgs,
    backoff_limit: int,
    seconds: int,
    failures_kept: int = 3,
) -> k8s.batch.v1.CronJobInitArgs:
    """A CronJob of such pods, each tried again `backoff_limit` times and given up after so many seconds, all tries
    together. One that is not done when the next is due is not doubled; the last that succeeded is kept, and
    `failures_kept` that failed.
    """
    return k8s.batch.v1.CronJobInitArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace),
        spec=k8s.batch.v1.CronJobSpecArgs(
            schedule=schedule,
            concurrency_policy="Forbid",
            successful_jobs_history_limit=1,
            failed_jobs_history_limit=failures_kept,
            job_template=k8s.batch.v1.JobTemplateSpecArgs(
                spec=k8s.batch.v1.JobSpecArgs(
                    backoff_limit=backoff_limit, active_deadline_seconds=seconds, template=pod
                )
            ),
        ),
    )


def schedule(every_seconds: int) -> str:
    """Cron's words for whole hours, counted from midnight. Raises ValueError if a day has no such parts."""
    hours, rest = divmod(every_seconds, SECONDS_PER_HOUR)
    if hours < 1 or rest or HOURS_PER_DAY % hours:
        raise ValueError(f"a day is not a multiple of {every_seconds / SECONDS_PER_HOUR:g} h")
    return "0 0 * * *" if hours == HOURS_PER_DAY else f"0 */{hours} * * *"
