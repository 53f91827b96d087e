"""What stands still: paused, of no pods, at no time, in a closed queue; servers and autoscalers that answer nobody."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, gpus, job, release, template, thing
from tests.policy.programs.serving import probe

ON, TIME, OPEN = "work_is_switched_on", "schedules_are_times", "queues_are_open"
READY, RAISE = "servers_say_when_they_are_ready", "autoscalers_may_raise"


def cron(schedule: str = "0 3 * * *", container: dict[str, Any] | None = None, **spec: Any) -> Resource:
    """A CronJob of a container."""
    inner = {"template": template(container or {}, restartPolicy="Never")}
    return thing("batch/v1", "CronJob", spec={"schedule": schedule, "jobTemplate": {"spec": inner}, **spec})


def paused(**spec: Any) -> Resource:
    """A Deployment with more in its spec."""
    return thing("apps/v1", "Deployment", spec={"selector": {}, "template": template(), **spec})


def queue(**spec: Any) -> Resource:
    return thing("scheduling.volcano.sh/v1beta1", "Queue", "queue", namespace="", spec=spec)


def served(**more: Any) -> Resource:
    """A server of vLLM on a GPU."""
    return deployment({"image": "vllm/vllm-openai:v1", "ports": [{"containerPort": 8000}], **gpus(1), **more})


def scaler(target: dict[str, Any], **spec: Any) -> Resource:
    """An autoscaler that looks at a metric of its pods."""
    metrics = [{"type": "Pods", "pods": {"metric": {"name": "waiting"}, "target": target}}]
    return thing("autoscaling/v2", "HorizontalPodAutoscaler", "scaler", spec={"metrics": metrics, **spec})


ELSEWHERE = {**probe(3), "httpGet": {"path": "/ready", "port": 8000}}
KEDA = thing("keda.sh/v1alpha1", "ScaledObject", "keda", spec={"scaleTargetRef": {"name": "one"}})
FIVE = {"type": "AverageValue", "averageValue": "5"}
PROGRAMS = [
    Program(ON, (paused(paused=True),), "is a Deployment that is paused"),
    Program(ON, (deployment(replicas=0),), "of 0 replicas"),
    Program(ON, (job(completions=0),), "completions 0"),
    Program(ON, (job(parallelism=0),), "parallelism 0"),
    Program(ON, (cron(suspend=True),), "is a CronJob that is suspended"),
    Program(ON, (release("volcano", custom={"scheduler_replicas": 0}),), "is volcano with custom.scheduler_replicas 0"),
    Program(ON, (release("volcano", custom={"controller_enable": False}),), "custom.controller_enable False"),
    Program(ON, (release("volcano", custom={"scheduler_replicas": 2}), release("loki", replicas=0))),
    Program(ON, (deployment(replicas=0), KEDA)),
    Program(ON, (deployment(), paused(paused=False), job(completions=1), cron())),
    Program(TIME, (cron("0 25 * * *"),), "25 is no hour"),
    Program(TIME, (cron("0 3 * *"),), "4 fields"),
    Program(TIME, (cron("0 3 * * 7"),), "7 is no day of the week"),
    Program(TIME, (cron("*/0 * * * *"),), "*/0 is no minute"),
    Program(TIME, (cron("0 3 31 2 *"),), "which never comes: month 2 has no day 31"),
    Program(TIME, (cron("0 3 29 2 *"), cron("0 3 31 2 mon"))),
    Program(TIME, (cron("5- * * * *"),), "5- is no minute"),
    Program(TIME, (cron(timeZone="Mars/Base"),), "has the timeZone 'Mars/Base'"),
    Program(TIME, (cron(container=gpus(8)),), "takes 8 GPUs and starts again"),
    Program(TIME, (cron(container=gpus(8), concurrencyPolicy="Forbid"),)),
    Program(TIME, (cron("*/15 0-6,12 1 jan-mar mon"), cron("@daily", timeZone="Etc/UTC"))),
    Program(OPEN, (queue(state="Closed"),), "is in state Closed"),
    Program(OPEN, (queue(weight=0),), "has the weight 0"),
    Program(OPEN, (queue(), queue(weight=1, state="Open"))),
    Program(READY, (served(),), "has no readinessProbe in main"),
    Program(READY, (served(readinessProbe=ELSEWHERE),), "asks for /ready in its readinessProbe"),
    Program(READY, (served(readinessProbe=probe(3), startupProbe=ELSEWHERE),), "in its startupProbe"),
    Program(READY, (served(readinessProbe=probe(3)), deployment(gpus(1)))),
    Program(RAISE, (scaler(FIVE, behavior={"scaleUp": {"selectPolicy": "Disabled"}}),), "may not raise"),
    Program(RAISE, (scaler({"type": "Utilization", "averageUtilization": 50}),), "a target of type Utilization"),
    Program(RAISE, (scaler({"type": "AverageValue", "averageValue": "0"}),), "with the target 0"),
    Program(RAISE, (scaler(FIVE), scaler({"type": "AverageValue", "averageValue": "500m"}))),
]
