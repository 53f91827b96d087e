"""Training jobs: operators, names, roles and gangs."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, gpus, release, resource, template, thing, training

GANG, KINDS, NAMES = "operators_form_gangs", "jobs_have_their_operator", "trainers_named"
ROLES, ELASTIC, WHOLE = "roles_known", "elastic_has_no_master", "gangs_start_whole"
PROCESSES = "process_per_gpu"
QUEUED = {"runPolicy": {"schedulingPolicy": {"queue": "training"}}}


def operator(*args: str, image: str = "ghcr.io/kubeflow/training-v1/training-operator:v1") -> Resource:
    """The training operator, started with these words."""
    return deployment({"image": image, "command": ["/manager"], "args": list(args)}, name="operator")


def elastic(least: int, workers: int, most: int, master: bool = False, **more: Any) -> Resource:
    """An elastic job, with more in its policy."""
    policy = {"minReplicas": least, "maxReplicas": most, **more}
    return training(workers=workers, master=master, spec={"elasticPolicy": policy})


def volcano(least: int, *tasks: dict[str, Any], **spec: Any) -> Resource:
    """A Volcano Job."""
    inner = [{"template": template(), **task} for task in tasks]
    return thing("batch.volcano.sh/v1alpha1", "Job", spec={"minAvailable": least, "tasks": inner, **spec})


def torchrun(*words: str, **more: Any) -> Resource:
    """A static job of two pods whose torchrun is given these words."""
    return training(container={"args": [*words, "/train.py"]}, **more)


FLAG = "--gang-scheduler-name=volcano"
OPERATORS = [
    Program(GANG, (operator(), training(spec=QUEUED)), "runs without --gang-scheduler-name"),
    Program(GANG, (operator(), training(schedulerName="volcano")), "runs without --gang-scheduler-name"),
    Program(GANG, (operator("--gang-scheduler-name="), training(spec=QUEUED)), "runs without"),
    Program(GANG, (operator("--enable-gang-scheduling=true", FLAG), training(spec=QUEUED)), "no longer knows"),
    Program(GANG, (operator(FLAG), training(schedulerName="kueue", spec=QUEUED)), "for the scheduler kueue"),
    Program(
        GANG,
        (
            operator(image="mpioperator/mpi-operator:0.8.0"),
            thing(
                "kubeflow.org/v2beta1",
                "MPIJob",
                spec={"mpiReplicaSpecs": {"Worker": {"template": template(schedulerName="volcano")}}},
            ),
        ),
        "runs without --gang-scheduling",
    ),
    Program(GANG, (operator(FLAG), training(schedulerName="volcano", spec=QUEUED))),
    Program(GANG, (operator("--gang-scheduler-name", "volcano"), training(schedulerName="volcano", spec=QUEUED))),
    Program(GANG, (operator(), training())),
    Program(GANG, (training(spec=QUEUED),)),
    Program(KINDS, (operator("--enable-scheme=mpijob"), training()), "does not run: it runs mpijob"),
    Program(KINDS, (operator("--namespace=there"), training()), "watches only --namespace=there"),
    Program(KINDS, (operator("--enable-scheme=mpijob", "--enable-scheme=pytorchjob"), training())),
    Program(KINDS, (operator(), training())),
]
NAMED = [
    Program(NAMES, (training(container={"name": "trainer"}),), "looks for pytorch"),
    Program(
        NAMES,
        (thing("kubeflow.org/v1", "TFJob", spec={"tfReplicaSpecs": {"Worker": {"template": template()}}}),),
        "looks for tensorflow",
    ),
    Program(
        NAMES,
        (
            thing(
                "trainer.kubeflow.org/v1alpha1",
                "ClusterTrainingRuntime",
                spec={
                    "template": {
                        "spec": {
                            "replicatedJobs": [
                                {
                                    "name": "node",
                                    "template": {
                                        "metadata": {
                                            "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
                                        },
                                        "spec": {"template": template({"name": "trainer"})},
                                    },
                                }
                            ]
                        }
                    }
                },
            ),
        ),
        "looks for node",
    ),
    Program(NAMES, (training(),)),
    Program(NAMES, (training(initContainers=[{"name": "first", "image": "copy:1"}]),)),
    Program(
        NAMES,
        (thing("kubeflow.org/v2beta1", "MPIJob", spec={"mpiReplicaSpecs": {"Worker": {"template": template()}}}),),
    ),
    Program(
        ROLES,
        (thing("kubeflow.org/v1", "PyTorchJob", spec={"pytorchReplicaSpecs": {"Launcher": {"replicas": 1}}}),),
        "knows Master, Worker",
    ),
    Program(
        ROLES,
        (thing("kubeflow.org/v1", "PyTorchJob", spec={"pytorchReplicaSpecs": {"Master": {"replicas": 2}}}),),
        "has 2 replicas of Master",
    ),
    Program(ROLES, (training(workers=0),), "has 0 replicas of Worker"),
    Program(ROLES, (training(workers=7),)),
]
SIZED = [
    Program(ELASTIC, (elastic(2, 4, 4, master=True),), "elastic and has a Master"),
    Program(ELASTIC, (elastic(5, 4, 4),), "not between minReplicas 5"),
    Program(ELASTIC, (elastic(2, 8, 4),), "not between minReplicas 2 and maxReplicas 4"),
    Program(ELASTIC, (elastic(2, 4, 4, rdzvConfigs=[{"key": "timeout", "value": "900"}]),), "has rdzvConfigs"),
    Program(ELASTIC, (elastic(2, 4, 4, rdzvBackend="zookeeper"),), "backend zookeeper"),
    Program(ELASTIC, (elastic(2, 4, 4, rdzvBackend="c10d", rdzvConf=[{"key": "timeout", "value": "900"}]),)),
    Program(
        WHOLE, (training(workers=7, spec={"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}}),), "with 1 of its"
    ),
    Program(
        WHOLE, (training(workers=7, spec={"runPolicy": {"schedulingPolicy": {"minAvailable": 9}}}),), "with 9 of its"
    ),
    Program(
        WHOLE,
        (
            training(
                priorityClassName="low",
                spec={"runPolicy": {"schedulingPolicy": {"queue": "q", "priorityClass": "high"}}},
            ),
        ),
        "gives its gang the class high and its pods low",
    ),
    Program(WHOLE, (volcano(3, {"name": "a", "replicas": 2}),), "starts with 3 pods and has 2"),
    Program(
        WHOLE,
        (volcano(1, {"name": "master", "replicas": 1}, {"name": "worker", "replicas": 3}, plugins={"pytorch": []}),),
        "with 1 of its 4 pods",
    ),
    Program(WHOLE, (volcano(2, {"name": "worker", "replicas": 2}, plugins={"pytorch": []}),), "has no task master"),
    Program(WHOLE, (volcano(1, {"name": "a"}, schedulerName="default-scheduler"),), "write schedulerName: volcano"),
    Program(WHOLE, (volcano(1, {"name": "a", "replicas": 4}),)),
    Program(WHOLE, (training(workers=7, spec=QUEUED),)),
    Program(
        WHOLE,
        (
            training(
                workers=4,
                master=False,
                spec={
                    "elasticPolicy": {"minReplicas": 2, "maxReplicas": 4},
                    "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
                },
            ),
        ),
    ),
    Program(PROCESSES, (training(spec={"nprocPerNode": "4"}),), "starts 4 processes in a pod of 8 GPUs"),
    Program(PROCESSES, (torchrun("--nproc_per_node=2"),), "starts 2 processes"),
    Program(PROCESSES, (deployment({"args": ["torchrun --nproc-per-node 2 x.py"], **gpus(4)}),), "starts 2 processes"),
    Program(PROCESSES, (training(spec={"nprocPerNode": "8"}),)),
    Program(PROCESSES, (torchrun("--nproc-per-node=auto", spec={"nprocPerNode": "gpu"}),)),
]
OTHER_JOB = thing("batch/v1", "Job", spec={"template": template(restartPolicy="Never")})
MPI = thing("kubeflow.org/v2beta1", "MPIJob", spec={"mpiReplicaSpecs": {"Worker": {"template": template()}}})
LABELLED = {
    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset"}},
    "spec": template()["spec"],
}
CLUSTER = resource("aws:eks/cluster:Cluster", "cluster")
INDEXED = {"completionMode": "Indexed", "parallelism": 4}
ALONE = thing("batch/v1", "Job", spec={**INDEXED, "template": template(schedulerName="volcano")})
GROUP = {"annotations": {"scheduling.volcano.sh/group-min-member": "4"}}
GROUPED = {**INDEXED, "template": {"metadata": GROUP, "spec": template(schedulerName="volcano")["spec"]}}
BESIDE = [
    Program(GANG, (operator(FLAG), training(schedulerName="default-scheduler", spec=QUEUED)), "leaves pods to default"),
    Program("schedulers_are_there", (CLUSTER, training(schedulerName="volcano")), "which nothing installs"),
    Program("schedulers_are_there", (CLUSTER, training(schedulerName="volcano"), release("volcano"))),
    Program("schedulers_are_there", (CLUSTER, training(), training(schedulerName="default-scheduler"))),
    Program("schedulers_are_there", (training(schedulerName="volcano"),)),
    Program(WHOLE, (ALONE,), "4 pods that Volcano starts one by one"),
    Program(WHOLE, (thing("batch/v1", "Job", spec=GROUPED),)),
    Program(WHOLE, (thing("batch/v1", "Job", spec={**INDEXED, "template": template()}),)),
    Program(GANG, (operator(FLAG), training(), MPI)),
    Program(GANG, (operator(), MPI, thing("kubeflow.org/v1", "Notebook", spec={"template": template()}))),
    Program(KINDS, (operator("--enable-scheme=pytorchjob", "--namespace=there"), MPI, OTHER_JOB)),
    Program(KINDS, (operator("--namespace=here"), training())),
    Program(NAMES, (thing("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", spec={"template": LABELLED}),)),
    Program(NAMES, (OTHER_JOB,)),
    Program(ROLES, (thing("kubeflow.org/v1", "OtherJob", spec={"otherReplicaSpecs": {"Helper": {"replicas": 2}}}),)),
    Program(ELASTIC, (training(spec={"nprocPerNode": "8"}),)),
    Program(
        ELASTIC,
        (training(master=False, spec={"nprocPerNode": "8", "elasticPolicy": {"nProcPerNode": 8}}),),
        "gives processes twice",
    ),
    Program(ELASTIC, (training(master=False, spec={"elasticPolicy": {"nProcPerNode": 8}}),)),
    Program(ELASTIC, (elastic(4, 4, 4),)),
    Program(ELASTIC, (elastic(0, 4, 4),), "not between minReplicas 0"),
    Program(WHOLE, (elastic(2, 4, 4),)),
    Program(WHOLE, (training(priorityClassName="low", spec=QUEUED),)),
    Program(
        WHOLE,
        (elastic(2, 4, 4, master=False), training(master=False, workers=2, spec=QUEUED)),
    ),
    Program(
        WHOLE,
        (training(workers=4, master=False, spec={"elasticPolicy": {"minReplicas": 2, "maxReplicas": 4}, **QUEUED}),),
        "starts with 4 of its pods, and 2 must be there together",
    ),
    Program(WHOLE, (volcano(2, {"name": "master"}, {"name": "worker"}, plugins={"pytorch": []}),)),
    Program(WHOLE, (volcano(1, {"name": "first"}, plugins={"pytorch": ["--master=first"]}),)),
    Program(WHOLE, (thing("batch.volcano.sh/v1alpha1", "CronJob", spec={"minAvailable": 3, "tasks": []}), OTHER_JOB)),
    Program(PROCESSES, (deployment({"args": ["torchrun --nproc-per-node 2 x.py"]}),)),
]
PROGRAMS = [*OPERATORS, *NAMED, *SIZED, *BESIDE]
