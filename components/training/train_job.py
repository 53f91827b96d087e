"""A run as Kubeflow Trainer v2 takes it: a TrainingRuntime that says what a node's pod is, and a TrainJob that uses it.

The same pod as a PyTorchJob's, told apart as that API wants it: the trainer's container is called `node`, its
environment, image and amounts are the TrainJob's, all else the runtime's. Volcano's plugin makes the group of pods and
names no scheduler, so the pod does; the queue is an annotation of the runtime's template.
Source: kubeflow/trainer v2.3, pkg/runtime/framework/plugins (torch, volcano, jobset), pkg/constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from components.training.pod import pod_template

if TYPE_CHECKING:
    from components.training.job import TrainingJobArgs

GROUP = "trainer.kubeflow.org"
API = f"{GROUP}/v1alpha1"
STEP = {f"{GROUP}/trainjob-ancestor-step": "trainer"}
QUEUE_KEY = "scheduling.volcano.sh/queue-name"
_OF_THE_JOB = ("image", "command", "args", "env", "resources")


def training_runtime(
    args: TrainingJobArgs, account: pulumi.Input[str], config_maps: Mapping[str, str]
) -> dict[str, Any]:
    """Spec of the runtime. A pod that fails ends its Job, and the set of Jobs begins anew, up to `restarts` times."""
    template = pod_template(args, account, config_maps, first=True)
    (container,) = template["spec"]["containers"]
    node = {key: value for key, value in container.items() if key not in _OF_THE_JOB}
    topology = {"mode": "hard", "highestTierAllowed": args.tier} if args.tier is not None else None
    template["spec"] |= {"containers": [{**node, "name": "node"}], "restartPolicy": "Never"}
    return {
        "mlPolicy": {"numNodes": args.nodes, "torch": {}},
        "podGroupPolicy": {"volcano": {"networkTopology": topology} if topology else {}},
        "template": {
            "metadata": {"annotations": {QUEUE_KEY: args.queue}},
            "spec": {
                "failurePolicy": {"maxRestarts": args.restarts},
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": STEP},
                            "spec": {"backoffLimit": 0, "template": template},
                        },
                    }
                ],
            },
        },
    }


def train_job(args: TrainingJobArgs, account: pulumi.Input[str], runtime: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the TrainJob on the runtime of that name."""
    (container,) = pod_template(args, account, first=True)["spec"]["containers"]
    return {
        "runtimeRef": {"apiGroup": GROUP, "kind": "TrainingRuntime", "name": runtime},
        "trainer": {
            "image": container["image"],
            "command": container["command"],
            "args": container["args"],
            "env": container["env"],
            "numNodes": args.nodes,
            "numProcPerNode": args.shape.gpus,
            "resourcesPerNode": container["resources"],
        },
        **({"activeDeadlineSeconds": args.deadline_seconds} if args.deadline_seconds else {}),
    }
