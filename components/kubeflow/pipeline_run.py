"""A run that pipelines start: its PyTorchJob as `up` would make it, as a text that a step fills in and makes.

A step puts in where the shards of this run of the pipeline lie and where its saves go; nothing else is another.
"""

from dataclasses import dataclass, replace
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.training.job import TrainingJobArgs, config_maps, pytorch_job
from components.training.pod import noted
from components.training.saving import CHECKPOINTS, DATA

JOB, DATA_PLACE, SAVES_PLACE = "${job}", "${data}", "${saves}"
"""What the step puts in (node/pipelines/starting.py): the job's name, and two directories of the shared file system."""

FILE = "job.json"


def config_map(run: str) -> str:
    """The ConfigMap with the run's job, where pipelines are."""
    return f"run-{run}"


@dataclass(frozen=True, kw_only=True)
class PipelineRunArgs:
    """The run's `job`, for pipelines whose steps are in `namespace`."""

    job: TrainingJobArgs
    namespace: pulumi.Input[str]

    def __post_init__(self) -> None:
        if self.job.data is None or self.job.staging != "none":
            raise ValueError(
                f"{self.job.run}: a pipeline writes its data to where the run reads it: pass data, without staging"
            )


def template(args: TrainingJobArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """The PyTorchJob with places to be filled in."""
    kept = args.env.get("CHECKPOINT_URI")
    own = {} if kept is None else {"CHECKPOINT_URI": pulumi.Output.concat(kept, "/", JOB)}
    spec = pytorch_job(replace(args, env={**args.env, **own}), account)
    places = {CHECKPOINTS: SAVES_PLACE, DATA: DATA_PLACE}
    for replica in spec["pytorchReplicaSpecs"].values():
        (container,) = replica["template"]["spec"]["containers"]
        for mount in container["volumeMounts"]:
            if mount["mountPath"] in places:
                mount["subPath"] = places[mount["mountPath"]]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": JOB,
            "namespace": args.namespace,
            "labels": dict(args.labels),
            "annotations": noted(args.lineage),
        },
        "spec": spec,
    }


class PipelineRun(Component):
    """The run's account and files, and its job as a text. `run` resolves when a step can start it."""

    run: pulumi.Output[str]

    def __init__(self, name: str, args: PipelineRunArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        job, core, meta = args.job, k8s.core.v1, k8s.meta.v1.ObjectMetaArgs
        account = service_account(self, job.run, job.namespace, job.granted)
        files = [
            core.ConfigMap(
                self.named(each.rpartition("/")[2]),
                core.ConfigMapInitArgs(metadata=meta(name=made, namespace=job.namespace), data=job.files[each]),
                self.child(),
            )
            for each, made in config_maps(job).items()
        ]
        told = core.ConfigMap(
            self.named("job"),
            core.ConfigMapInitArgs(
                metadata=meta(name=config_map(job.run), namespace=args.namespace),
                data={FILE: pulumi.Output.json_dumps(template(job, account), sort_keys=True)},
            ),
            self.child(depends_on=[job.operator, *job.nodes_ready, *files, *(job.data.ready if job.data else ())]),
        )
        self.run = told.id.apply(lambda _: job.run)
        self.register_outputs({"run": self.run})
