"""A run that is started by MPI: mpi-operator's MPIJob, a launcher and a worker on each node, all of them or none.

The operator makes an SSH key for each job; workers run sshd, and the launcher starts the ranks there with the slots
that a worker has. What sshd starts does not see the container's environment, so mpirun hands it on by name.
Source: kubeflow/mpi-operator v0.8.0, pkg/controller (mpi_job_controller.go, podgroup.go), build/base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from components.platform.confinement import confined_values
from components.training.pod import RUN_KEY, pod_template

if TYPE_CHECKING:
    from components.training.job import TrainingJobArgs

SSHD = ("CHOWN", "DAC_OVERRIDE", "SETGID", "SETUID", "SYS_CHROOT")
"""What sshd does as root before it serves somebody: it locks itself in, and becomes another user (sshd(8))."""

LAUNCHER_ROOM = {"cpu": "1", "memory": "2Gi"}


def mpi_job(args: TrainingJobArgs, account: pulumi.Input[str], config_maps: Mapping[str, str]) -> dict[str, Any]:
    """Spec of the MPIJob. Its gang counts the launcher, which must be there from the start for that.

    The launcher is tried again `restarts` times, each time with new ranks on the same workers.
    """
    worker = pod_template(args, account, config_maps, first=False)
    (container,) = worker["spec"]["containers"]
    environment = container["env"]
    confined = confined_values(capabilities=sorted({*args.shape.network.capabilities, *SSHD}))
    container.update(name="worker", command=["/usr/sbin/sshd", "-De"], securityContext=confined)
    del container["args"]
    return {
        "slotsPerWorker": args.shape.gpus,
        "mpiImplementation": "OpenMPI",
        "launcherCreationPolicy": "AtStartup",
        "mpiReplicaSpecs": {
            "Launcher": {
                "replicas": 1,
                "restartPolicy": "OnFailure",
                "template": _launcher(args, account, environment),
            },
            "Worker": {"replicas": args.nodes, "restartPolicy": "OnFailure", "template": worker},
        },
        "runPolicy": {
            "backoffLimit": args.restarts,
            "cleanPodPolicy": "Running",
            **({"activeDeadlineSeconds": args.deadline_seconds} if args.deadline_seconds else {}),
            "schedulingPolicy": {
                "minAvailable": args.nodes + 1,
                "queue": args.queue,
                "priorityClass": args.priority,
            },
        },
    }


def _launcher(args: TrainingJobArgs, account: pulumi.Input[str], environment: list[dict[str, Any]]) -> dict[str, Any]:
    """It computes nothing, and runs where ordinary pods do: GPU nodes have no processor to spare."""
    handed = [word for each in environment for word in ("-x", each["name"])]
    return {
        "metadata": {"labels": {RUN_KEY: args.run}},
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": args.priority,
            "serviceAccountName": account,
            "containers": [
                {
                    "name": "launcher",
                    "image": args.image,
                    "command": ["mpirun"],
                    "args": [
                        "--allow-run-as-root",
                        "-np",
                        str(args.nodes * args.shape.gpus),
                        "--bind-to",
                        "none",
                        *handed,
                        *args.script,
                    ],
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "env": environment,
                    "resources": {"limits": dict(LAUNCHER_ROOM), "requests": dict(LAUNCHER_ROOM)},
                    "securityContext": confined_values(),
                }
            ],
        },
    }
