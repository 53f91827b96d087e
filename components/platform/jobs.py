"""Jobs that `up` waits for and that run once."""

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

REPLACED_UNLESS_DONE = {"pulumi.com/replaceUnready": "true"}


def one_off_job(
    *,
    name: str,
    namespace: pulumi.Input[str],
    account: pulumi.Input[str],
    steps: Sequence[k8s.core.v1.ContainerArgs],
    volumes: Sequence[k8s.core.v1.VolumeArgs] = (),
    backoff_limit: int,
) -> k8s.batch.v1.JobInitArgs:
    """A Job of one pod whose containers run one after the other, tried again `backoff_limit` times.

    A Job that gave up stays so, and a later `up` would only read that again: it makes the Job anew instead. Failed pods
    stay with the Job, since with restarts in place a Job that gives up deletes its pod, and what the pod said with it.
    """
    pod = k8s.core.v1.PodSpecArgs(
        service_account_name=account,
        restart_policy="Never",
        init_containers=list(steps[:-1]) or None,
        containers=[steps[-1]],
        volumes=list(volumes) or None,
    )
    return k8s.batch.v1.JobInitArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace, annotations=REPLACED_UNLESS_DONE),
        spec=k8s.batch.v1.JobSpecArgs(backoff_limit=backoff_limit, template=k8s.core.v1.PodTemplateSpecArgs(spec=pod)),
    )
