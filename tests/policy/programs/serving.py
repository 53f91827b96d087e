"""Servers: the time to load, processes for GPUs, autoscalers and their metrics, shared memory."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, gpus, release, resource, template, thing, training

LOAD, SIZES = "servers_may_load", "parallel_sizes_fit"
ONE, SERVED = "one_autoscaler_per_target", "metrics_are_served"
FITS, SHARED = "shared_memory_fits", "processes_share_memory"
SEVENTY = {"command": ["vllm", "serve", "/models/llama-3-70b"], **gpus(8)}
ADAPTER = release("prometheus-adapter")
METRICS = release("metrics-server")


def probe(periods: int, seconds: int = 10, delay: int = 0) -> dict[str, Any]:
    """A probe that gives up after so many periods."""
    ask = {"httpGet": {"path": "/health", "port": 8000}}
    return {**ask, "periodSeconds": seconds, "failureThreshold": periods, "initialDelaySeconds": delay}


def server(**more: Any) -> Resource:
    """A server of a model of 70 billion parameters."""
    return deployment({**SEVENTY, **more})


def scaler(
    *metrics: Any,
    name: str = "scaler",
    least: int = 1,
    most: int = 4,
    target: str = "one",
    kind: str = "Deployment",
) -> Resource:
    """An autoscaler of a Deployment, unless of another kind."""
    spec = {"scaleTargetRef": {"kind": kind, "name": target}, "minReplicas": least, "maxReplicas": most}
    return thing("autoscaling/v2", "HorizontalPodAutoscaler", name, spec={**spec, "metrics": list(metrics)})


def measured(kind: str, name: str) -> dict[str, Any]:
    """What an autoscaler looks at."""
    source = {"name": name} if kind == "Resource" else {"metric": {"name": name}}
    return {"type": kind, kind.lower(): source}


def shm(size: str | None, limit: str = "64Gi", mounted: str = "/dev/shm") -> Resource:
    """A server whose shared memory has this size, in a container of this limit."""
    volume = {"name": "shm", "emptyDir": {"medium": "Memory", **({"sizeLimit": size} if size else {})}}
    container = {**gpus(8, memory=limit), "volumeMounts": [{"name": "shm", "mountPath": mounted}]}
    return deployment(container, volumes=[volume])


CPU = {"resources": {"requests": {"cpu": "1"}}}
WAITING = measured("Pods", "requests_waiting")
PROBED = [
    Program(LOAD, (server(livenessProbe=probe(3)),), "killed by the livenessProbe 30 s"),
    Program(LOAD, (server(livenessProbe=probe(3, delay=60)),), "killed by the livenessProbe 90 s"),
    Program(LOAD, (server(startupProbe=probe(3), livenessProbe=probe(3)),), "killed by the startupProbe 30 s"),
    Program(LOAD, (server(startupProbe=probe(18)),), "needs 200 s to load"),
    Program(LOAD, (deployment({**gpus(1), "livenessProbe": probe(3)}),), "needs 60 s to load"),
    Program(
        LOAD,
        (
            thing(
                "apps/v1",
                "Deployment",
                spec={"progressDeadlineSeconds": 100, "template": template(SEVENTY), "selector": {}},
            ),
        ),
        "given up after 100 s",
    ),
    Program(LOAD, (server(startupProbe=probe(60), livenessProbe=probe(3)),)),
    Program(LOAD, (server(livenessProbe=probe(3, delay=600)),)),
    Program(LOAD, (server(readinessProbe=probe(3)),)),
    Program(LOAD, (deployment({"livenessProbe": probe(3)}),)),
    Program(LOAD, (server(args=["--quantization=awq"], startupProbe=probe(12)),)),
    Program(SIZES, (server(args=["--tensor-parallel-size=4"]),), "starts 4 parallel processes"),
    Program(SIZES, (deployment({"args": ["--tensor-parallel-size", "4"]}),), "asks for 0 GPUs"),
    Program(SIZES, (server(args=["-tp", "4", "-pp", "4"]),), "starts 16 parallel"),
    Program(SIZES, (server(args=["--tensor-parallel-size=4", "--data-parallel-size=2"]),)),
    Program(SIZES, (server(),)),
]
SCALED = [
    Program(ONE, (scaler(), scaler(name="again"), deployment()), "which scaler scales already"),
    Program(
        ONE,
        (scaler(), thing("keda.sh/v1alpha1", "ScaledObject", "keda", spec={"scaleTargetRef": {"name": "one"}})),
        "which scaler scales already",
    ),
    Program(ONE, (scaler(target="other"), deployment()), "scales Deployment other in here, which nothing creates"),
    Program(ONE, (scaler(least=5, most=2), deployment()), "at least 5 and at most 2"),
    Program(ONE, (scaler(), deployment(), scaler(name="two", target="two"), deployment(name="two"))),
    Program(ONE, (scaler(kind="StatefulSet"), deployment()), "scales StatefulSet one in here, which nothing creates"),
    Program(ONE, (scaler(kind="StatefulSet"), scaler(name="two"), deployment(), release("any", namespace="here"))),
    Program(ONE, (scaler(target="of-a-chart"),)),
    Program(SERVED, (scaler(WAITING), deployment(), METRICS), "uses requests_waiting (Pods)"),
    Program(SERVED, (scaler(measured("External", "queue")), METRICS), "uses queue (External)"),
    Program(SERVED, (scaler(measured("Resource", "cpu")), deployment(CPU), ADAPTER), "there is no metrics-server"),
    Program(SERVED, (scaler(), deployment(CPU), ADAPTER), "there is no metrics-server"),
    Program(
        SERVED, (scaler(measured("Resource", "cpu")), deployment(CPU, {"name": "side"}), METRICS), "side requests none"
    ),
    Program(SERVED, (scaler(WAITING), deployment(), ADAPTER)),
    Program(SERVED, (scaler(WAITING, least=2, most=2), deployment(), METRICS)),
    Program(SERVED, (scaler(measured("Resource", "cpu")), deployment(CPU), METRICS)),
    Program(
        SERVED,
        (
            scaler(measured("Resource", "cpu")),
            deployment(CPU),
            ADAPTER,
            resource("aws:eks/addon:Addon", "metrics", addonName="metrics-server"),
        ),
    ),
    Program(SERVED, (scaler(WAITING), deployment())),
]
REMEMBERED = [
    Program(FITS, (shm("64Gi"),), "limited to 64Gi"),
    Program(FITS, (shm("70000Mi", limit="64G"),), "of 70000Mi in"),
    Program(FITS, (shm(None),), "without a sizeLimit"),
    Program(FITS, (shm("16Gi"),)),
    Program(FITS, (shm("16Gi", limit="17G"),), "limited to 17G"),
    Program(FITS, (shm("16Gi", limit="18G"),)),
    Program(SHARED, (deployment(gpus(8)),), "64 MiB of shared memory"),
    Program(SHARED, (training(),), "64 MiB of shared memory"),
    Program(SHARED, (shm("16Gi", mounted="/shm"),), "64 MiB of shared memory"),
    Program(SHARED, (shm("64Mi"),), "has 8 GPUs in main and 64Mi of shared memory"),
    Program(SHARED, (shm("1Gi"),)),
    Program(SHARED, (deployment(gpus(1)),)),
    Program(SHARED, (deployment(gpus(8), hostIPC=True),)),
]
MIG = {"resources": {"limits": {"nvidia.com/mig-1g.10gb": "1"}}, "args": ["--tensor-parallel-size=1"]}
GROUP = thing("apiregistration.k8s.io/v1", "APIService", namespace="", spec={"group": "custom.metrics.k8s.io"})
USAGE = thing("apiregistration.k8s.io/v1", "APIService", namespace="", spec={"group": "metrics.k8s.io"})
KEDA = {"scaleTargetRef": {"name": "one"}, "minReplicaCount": 1, "triggers": [{"type": "prometheus"}]}
STATEFUL = thing("apps/v1", "StatefulSet", spec={"progressDeadlineSeconds": 1, "template": template(SEVENTY)})
SMALL = {"medium": "Memory", "sizeLimit": "1Gi"}
LIMITS = thing("core/v1", "LimitRange", spec={"limits": []})
PATIENT = {"progressDeadlineSeconds": 700, "template": template({**SEVENTY, "startupProbe": probe(80)})}
BESIDE = [
    Program(
        LOAD, (thing("apps/v1", "Deployment", spec=PATIENT),), "after 700 s (progressDeadlineSeconds) and its startup"
    ),
    Program(LOAD, (server(startupProbe=probe(80)),)),
    Program(LOAD, (training(container={"livenessProbe": probe(3)}),)),
    Program(LOAD, (server(startupProbe=probe(20)),)),
    Program(LOAD, (STATEFUL,)),
    Program(SIZES, (deployment(MIG),)),
    Program(SIZES, (server(args=["--tensor-parallel-size=$TP"]),)),
    Program(SIZES, (training(container={"args": ["--tensor-parallel-size=2"]}),)),
    Program(ONE, (thing("keda.sh/v1alpha1", "ScaledObject", spec={**KEDA, "minReplicas": 0}), deployment())),
    Program(ONE, (scaler(least=3, most=3), deployment())),
    Program(SERVED, (scaler(WAITING), deployment(), METRICS, GROUP)),
    Program(SERVED, (scaler(measured("Resource", "cpu")), deployment(CPU), ADAPTER, USAGE)),
    Program(SERVED, (scaler(measured("Resource", "cpu")), deployment(), METRICS, LIMITS)),
    Program(SERVED, (scaler(measured("Resource", "cpu"), target="of-a-chart"), METRICS)),
    Program(SERVED, (scaler(measured("Resource", "cpu")), deployment(CPU))),
    Program(SERVED, (thing("keda.sh/v1alpha1", "ScaledObject", spec=KEDA), deployment(), METRICS)),
    Program(FITS, (deployment(gpus(8), volumes=[{"name": "disk", "emptyDir": {}}]),)),
    Program(FITS, (deployment(volumes=[{"name": "shm", "emptyDir": {"medium": "Memory"}}]),)),
    Program(FITS, (deployment(gpus(8), volumes=[{"name": "shm", "emptyDir": SMALL}]),)),
    Program(SHARED, (deployment({"resources": {"limits": {"nvidia.com/gpu": "${GPUS}"}}}),)),
]
CLAIMED = "one_owner_per_metrics_api"
ALONE = release("prometheus-adapter", rules={"default": False, "custom": [{"seriesQuery": "up"}]})
OUTSIDE = release("prometheus-adapter", rules={"default": False, "external": [{"seriesQuery": "up"}]})
SCALER = release("keda")
OWNED = [
    Program(SERVED, (scaler(measured("External", "queue")), METRICS, ALONE), "uses queue (External)"),
    Program(SERVED, (scaler(WAITING), deployment(), METRICS, OUTSIDE), "uses requests_waiting (Pods)"),
    Program(SERVED, (scaler(WAITING), deployment(), METRICS, SCALER), "uses requests_waiting (Pods)"),
    Program(SERVED, (scaler(measured("External", "queue")), METRICS, OUTSIDE)),
    Program(CLAIMED, (SCALER, OUTSIDE), "serves external.metrics.k8s.io, which keda serves already"),
    Program(CLAIMED, (ADAPTER, GROUP), "serves custom.metrics.k8s.io, which prometheus-adapter serves already"),
    Program(CLAIMED, (ALONE, release("kube-metrics-adapter")), "serves custom.metrics.k8s.io"),
    Program(CLAIMED, (METRICS, USAGE), "serves metrics.k8s.io, which metrics-server serves already"),
    Program(
        CLAIMED, (METRICS, release("prometheus-adapter", rules={"resource": {"cpu": {}}})), "serves metrics.k8s.io"
    ),
    Program(CLAIMED, (SCALER, release("datadog", clusterAgent={"metricsProvider": {"enabled": True}})), "serves ext"),
    Program(CLAIMED, (SCALER, release("k8s-cloudwatch-adapter")), "serves external.metrics.k8s.io"),
    Program(CLAIMED, (SCALER, ALONE, METRICS)),
    Program(CLAIMED, (SCALER, release("datadog"), ADAPTER)),
    Program(CLAIMED, (release("keda", metricsServer={"enabled": False}), OUTSIDE)),
    Program(CLAIMED, (release("metrics-server", apiService={"create": False}), USAGE)),
    Program(
        CLAIMED, (thing("apiregistration.k8s.io/v1", "APIService", namespace="", spec={"group": "other.io"}), GROUP)
    ),
]
WAKES = "services_at_zero_can_wake"
INSIDE = release("keda", watchNamespace="here")
CRON = {"type": "cron", "metadata": {"start": "0 8 * * *"}}


def asleep(
    *triggers: Any, place: str = "here", least: int = 0, idle: int | None = None, **annotations: str
) -> Resource:
    """A ScaledObject of a server, with annotations of KEDA's."""
    spec = {"scaleTargetRef": {"name": "one"}, "minReplicaCount": least, "triggers": list(triggers)}
    spec |= {} if idle is None else {"idleReplicaCount": idle}
    named = {f"autoscaling.keda.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": "one", "namespace": place, "annotations": named}
    return resource("kubernetes:keda.sh/v1alpha1:ScaledObject", "one", metadata=metadata, spec=spec)


def asking(query: str) -> dict[str, Any]:
    """A trigger by a query."""
    return {"type": "prometheus", "metadata": {"query": query, "threshold": "1"}}


def pods_with(selector: str) -> dict[str, Any]:
    """A trigger by pods that there are."""
    return {"type": "kubernetes-workload", "metadata": {"podSelector": selector, "value": "1"}}


OWN = 'sum(vllm:num_requests_waiting{service="one"}) by (service)'
SLEEPING = [
    Program(
        WAKES, (asleep({"type": "cpu"}, {"type": "memory"}), SCALER), "cpu is measured in pods; memory is measured"
    ),
    Program(WAKES, (asleep(), SCALER), "it has no trigger"),
    Program(WAKES, (asleep(asking(OWN)), SCALER), "vllm:num_requests_waiting is exported by the pods themselves"),
    Program(WAKES, (asleep(asking("avg(tgi_queue_size) > 3"), {"type": "cpu"}), SCALER), "tgi_queue_size is exported"),
    Program(WAKES, (asleep(pods_with("app=one")), deployment(), SCALER), "app=one means its own pods"),
    Program(WAKES, (asleep(CRON), METRICS), "nothing here installs KEDA"),
    Program(WAKES, (asleep(CRON, place="there"), INSIDE), "lies in there, and KEDA looks at here alone"),
    Program(WAKES, (asleep(CRON, paused="true"), SCALER), "is paused"),
    Program(WAKES, (asleep(CRON, paused_replicas="0"), SCALER), "is paused"),
    Program(WAKES, (asleep({"type": "cpu"}, least=2, idle=0), SCALER), "cpu is measured in pods"),
    Program(WAKES, (asleep({"type": "cpu"}, least=2, idle=1), SCALER)),
    Program(WAKES, (asleep(CRON), INSIDE)),
    Program(WAKES, (asleep(CRON), release("keda", watchNamespace="there,here"))),
    Program(WAKES, (asleep(CRON, paused_replicas="2", paused="false"), SCALER)),
    Program(WAKES, (asleep({"type": "cpu"}, CRON), SCALER)),
    Program(WAKES, (asleep({"type": "cpu"}, least=1), METRICS)),
    Program(WAKES, (asleep(asking(f"{OWN} + sum(increase(traefik_router_requests_total[1m]))")), SCALER)),
    Program(WAKES, (asleep(asking(f"{OWN} or vector(1)")), SCALER)),
    Program(WAKES, (asleep(asking("probe_success == 0")), SCALER)),
    Program(WAKES, (asleep(asking(OWN.replace("one", "another"))), SCALER)),
    Program(WAKES, (asleep(pods_with("app=one")), deployment(), deployment(name="two"), SCALER)),
    Program(WAKES, (asleep(pods_with("app=other")), deployment(), SCALER)),
    Program(WAKES, (asleep(pods_with("app=one")), deployment(), release("any", namespace="here"), SCALER)),
]
PROGRAMS = [*PROBED, *SCALED, *REMEMBERED, *BESIDE, *OWNED, *SLEEPING]
