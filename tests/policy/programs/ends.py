"""Pods that a namespace refuses, that never end, or that are ended too early; quotas that end preemption."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, job, release, template, thing, training, variables

ADMIT, RESTART, WAIT, STOP = "namespaces_admit_their_pods", "restarts_agree", "waits_end", "pods_may_stop"
SHARE = "quotas_leave_preemption"


def namespace(level: str | None) -> Resource:
    """The namespace `here`, at a level of pod security."""
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    return thing("core/v1", "Namespace", "here", namespace="", labels=labels)


def secured(**context: Any) -> dict[str, Any]:
    """A container of this security context."""
    return {"securityContext": context}


GOOD = secured(
    allowPrivilegeEscalation=False,
    runAsNonRoot=True,
    capabilities={"drop": ["ALL"]},
    seccompProfile={"type": "RuntimeDefault"},
)
STRICT = GOOD["securityContext"]
GOOD_AS_ROOT = secured(**{**GOOD["securityContext"], "runAsNonRoot": False})
HOST: dict[str, Any] = {"volumes": [{"name": "host", "hostPath": {"path": "/var/log"}}]}
BASELINE, RESTRICTED = namespace("baseline"), namespace("restricted")
ADMITTED = [
    Program(ADMIT, (BASELINE, deployment(secured(privileged=True))), "privileged in main"),
    Program(ADMIT, (BASELINE, deployment(**HOST)), "the hostPath /var/log"),
    Program(ADMIT, (BASELINE, deployment(hostNetwork=True)), "has hostNetwork"),
    Program(ADMIT, (BASELINE, deployment(hostPID=True)), "has hostPID"),
    Program(ADMIT, (BASELINE, deployment({"ports": [{"containerPort": 80, "hostPort": 80}]})), "a hostPort in main"),
    Program(ADMIT, (BASELINE, training(container=secured(capabilities={"add": ["IPC_LOCK"]}))), "IPC_LOCK in pytorch"),
    Program(ADMIT, (BASELINE, deployment(secured(seccompProfile={"type": "Unconfined"}))), "Unconfined in main"),
    Program(ADMIT, (BASELINE, deployment(secured(procMount="Unmasked"))), "procMount Unmasked"),
    Program(ADMIT, (RESTRICTED, deployment()), "no allowPrivilegeEscalation: false in main"),
    Program(ADMIT, (RESTRICTED, deployment(GOOD_AS_ROOT)), "runAsNonRoot"),
    Program(ADMIT, (RESTRICTED, deployment(GOOD, securityContext={"runAsUser": 0})), "runAsUser 0"),
    Program(ADMIT, (RESTRICTED, deployment(GOOD, volumes=[{"name": "n", "nfs": {"path": "/"}}])), "of the kind nfs"),
    Program(ADMIT, (BASELINE, release("gpu-operator", namespace="here")), "needs the host of its nodes"),
    Program(ADMIT, (namespace("privileged"), release("gpu-operator", namespace="here"))),
    Program(ADMIT, (RESTRICTED, deployment(secured(**{**STRICT, "capabilities": {}}))), "that are not dropped in main"),
    Program(
        ADMIT,
        (RESTRICTED, deployment(secured(**{**STRICT, "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}))),
        "that are not dropped in main",
    ),
    Program(
        ADMIT, (RESTRICTED, deployment(secured(**{**STRICT, "seccompProfile": None}))), "no seccompProfile in main"
    ),
    Program(
        ADMIT,
        (
            RESTRICTED,
            deployment(
                secured(**{**STRICT, "seccompProfile": None}),
                securityContext={"seccompProfile": {"type": "RuntimeDefault"}},
            ),
        ),
    ),
    Program(ADMIT, (BASELINE, deployment(secured(capabilities={"add": ["NET_BIND_SERVICE"]})))),
    Program(ADMIT, (namespace("privileged"), deployment(secured(privileged=True)))),
    Program(ADMIT, (namespace(None), deployment(secured(privileged=True)))),
    Program(ADMIT, (RESTRICTED, deployment(GOOD))),
    Program(ADMIT, (BASELINE, release("metrics-server", namespace="here"))),
]


def cron(restart: str = "Never", command: str = "true", **spec: Any) -> Resource:
    """A CronJob that forbids a second run."""
    inner = {"template": template({"command": ["sh", "-c", command]}, restartPolicy=restart), **spec}
    return thing("batch/v1", "CronJob", spec={"concurrencyPolicy": "Forbid", "jobTemplate": {"spec": inner}})


def volcano(restart: str | None, event: str = "PodFailed") -> Resource:
    """A Volcano Job that acts on an event."""
    spec: dict[str, Any] = {"restartPolicy": restart} if restart else {}
    task = {"name": "a", "template": template(**spec)}
    policies = [{"event": event, "action": "RestartJob"}]
    return thing("batch.volcano.sh/v1alpha1", "Job", spec={"tasks": [task], "policies": policies})


def replica(said: str | None, inner: str | None = None, limit: int | None = None) -> Resource:
    """A PyTorchJob whose restarts are said so."""
    spec: dict[str, Any] = {"restartPolicy": inner} if inner else {}
    made: dict[str, Any] = {"template": template({"name": "pytorch"}, **spec)}
    made |= {"restartPolicy": said} if said else {}
    policy = {} if limit is None else {"runPolicy": {"backoffLimit": limit}}
    return thing("kubeflow.org/v1", "PyTorchJob", spec={"pytorchReplicaSpecs": {"Worker": made}, **policy})


def said(*given: str) -> dict[str, Any]:
    """A container of this command."""
    return {"command": list(given)}


def first(*given: str) -> dict[str, Any]:
    """An init container of this command."""
    return {"name": "i", "image": "k:1", **said(*given)}


RESTARTED = [
    Program(RESTART, (thing("batch/v1", "Job", spec={"template": template()}),), "with restartPolicy None"),
    Program(RESTART, (cron("Always"),), "is a CronJob with restartPolicy Always"),
    Program(RESTART, (deployment(restartPolicy="Never"),), "is a Deployment with restartPolicy Never"),
    Program(
        RESTART,
        (
            thing(
                "batch/v1",
                "Job",
                spec={"podFailurePolicy": {"rules": []}, "template": template(restartPolicy="OnFailure")},
            ),
        ),
        "it needs Never",
    ),
    Program(RESTART, (volcano("OnFailure"),), "its pods restart in place (restartPolicy OnFailure)"),
    Program(RESTART, (volcano(None),), "(restartPolicy Always)"),
    Program(RESTART, (replica("OnFailure", "Never"),), "OnFailure by the replica spec and Never by the template"),
    Program(RESTART, (replica("Always"),), "it never ends"),
    Program(RESTART, (replica(None, "Always"),), "it never ends"),
    Program(RESTART, (replica("OnFailure", limit=3), replica("Never", limit=0), replica("Never", "Never"))),
    Program(RESTART, (job(podFailurePolicy={"rules": []}),)),
    Program(RESTART, (replica("OnFailure", limit=0),), "ends at the first failure"),
    Program(RESTART, (cron(),)),
    Program(RESTART, (deployment(), volcano("Never"), replica("OnFailure", "OnFailure", limit=3))),
    Program(RESTART, (volcano("OnFailure", event="PodEvicted"),)),
]
WAITED = [
    Program(WAIT, (job(said("kubectl", "wait", "--for=condition=Ready", "x")),), "without activeDeadlineSeconds"),
    Program(WAIT, (job(said("sh", "-c", "until curl x; do sleep 5; done")),), "without activeDeadlineSeconds"),
    Program(WAIT, (job(first=[first("kubectl", "rollout", "status", "x")]),), "waits in i"),
    Program(WAIT, (job(said("sleep", "infinity")),), "without activeDeadlineSeconds"),
    Program(
        WAIT,
        (
            job(
                said("kubectl", "wait", "--timeout=5m"),
                first=[first("kubectl", "wait", "--timeout=300s")],
                activeDeadlineSeconds=500,
            ),
        ),
        "terminated after 500 s but waits up to 600 s",
    ),
    Program(WAIT, (job(said("kubectl", "wait", "--timeout=300s"), activeDeadlineSeconds=400),)),
    Program(WAIT, (job(said("kubectl", "wait", "--timeout=1h1m"), activeDeadlineSeconds=3600),), "waits up to 3660 s"),
    Program(WAIT, (job(said("kubectl", "wait", "--timeout=300s"), activeDeadlineSeconds=300),)),
    Program(WAIT, (job(said("kubectl", "wait", "--timeout=never"), activeDeadlineSeconds=300),)),
    Program(WAIT, (cron(),)),
    Program(WAIT, (cron(command="until curl x; do sleep 5; done", activeDeadlineSeconds=600),)),
    Program(WAIT, (cron(command="until curl x; do sleep 5; done"),), "without activeDeadlineSeconds"),
    Program(WAIT, (job(said("python", "train.py")), deployment(said("sleep", "infinity")))),
]
WRITES: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
READ = {"volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}]}
READS: dict[str, Any] = {
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}]
}
MOUNT = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}


def stopping(grace: int | None, **stop: Any) -> Resource:
    """A server with a preStop and this long to stop."""
    spec: dict[str, Any] = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    return deployment({"lifecycle": {"preStop": stop}}, **spec)


SAVES = variables(CHECKPOINT_WITHIN_SECONDS="120")


def draining(grace: int | None) -> Resource:
    """A vLLM server that leaves in 15 s and ends its streams in 60."""
    spec: dict[str, Any] = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    command = ["vllm", "serve", "/m", "--shutdown-timeout=60"]
    return deployment({"command": command, "lifecycle": {"preStop": {"sleep": {"seconds": 15}}}}, **spec)


STOPPED = [
    Program(STOP, (stopping(None, exec={"command": ["sh", "-c", "sleep 60"]}),), "sleeps 60 s before it stops"),
    Program(STOP, (stopping(10, sleep={"seconds": 15}),), "killed after 10 s"),
    Program(STOP, (stopping(10, sleep={"seconds": 10}),), "killed after 10 s"),
    Program(STOP, (deployment(MOUNT, **WRITES),)),
    Program(STOP, (deployment(MOUNT, terminationGracePeriodSeconds=0, volumes=[{"name": "data", "emptyDir": {}}]),)),
    Program(STOP, (deployment(MOUNT, terminationGracePeriodSeconds=1, **WRITES),), "is killed 1 s after"),
    Program(STOP, (deployment(MOUNT, terminationGracePeriodSeconds=0, **READS),)),
    Program(STOP, (deployment(MOUNT, terminationGracePeriodSeconds=0, **WRITES),), "is killed 0 s after"),
    Program(STOP, (stopping(90, exec={"command": ["sleep", "60"]}),)),
    Program(STOP, (deployment(terminationGracePeriodSeconds=0),)),
    Program(STOP, (draining(75),), "goes on with its requests for 60 s, 15 s after it is told to stop"),
    Program(STOP, (draining(76),)),
    Program(STOP, (draining(None),), "killed after 30 s"),
    Program(STOP, (deployment({"command": ["tritonserver", "--model-repository=/m"]}),), "its requests for 30 s, 0 s"),
    Program(STOP, (deployment({"command": ["tritonserver", "--exit-timeout-secs=20"]}),)),
    Program(STOP, (training(container=SAVES),), "may stand 120 s for a save and is killed 30 s after"),
    Program(STOP, (training(container=SAVES, terminationGracePeriodSeconds=119),), "is killed 119 s after"),
    Program(STOP, (training(container=SAVES, terminationGracePeriodSeconds=120),)),
    Program(
        STOP,
        (deployment(READ, terminationGracePeriodSeconds=0, **WRITES),),
    ),
]


def quota(namespace: str = "here", **spec: Any) -> Resource:
    return thing(
        "core/v1", "ResourceQuota", namespace=namespace, spec={"hard": {"requests.nvidia.com/gpu": "64"}, **spec}
    )


def priority(value: int, **more: Any) -> Resource:
    return thing("scheduling.k8s.io/v1", "PriorityClass", f"class-{value}", namespace="", value=value, **more)


SCOPE = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["low"]}]}
SHARED = [
    Program(SHARE, (quota(), priority(1), priority(2), training()), "to 64 GPUs, whatever their class"),
    Program(SHARE, (quota(), priority(1), priority(2), volcano("Never")), "to 64 GPUs"),
    Program(SHARE, (quota(scopeSelector=SCOPE), priority(1), priority(2), training())),
    Program(SHARE, (quota(), priority(1), training())),
    Program(SHARE, (quota(), priority(1), priority(2, preemptionPolicy="Never"), training())),
    Program(SHARE, (quota("there"), priority(1), priority(2), training())),
    Program(SHARE, (quota(), priority(1), priority(2), deployment())),
]
PROGRAMS = [*ADMITTED, *RESTARTED, *WAITED, *STOPPED, *SHARED]
