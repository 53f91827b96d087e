"""Where each number of a plan stands in what is registered on AWS, or why it does not."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import not_
from typing import Any

from tests.graph.harness import Recorded

STARTUP_PERIOD_S = 10


def _scaling(graph: Recorded, pool: str) -> dict[str, int]:
    scaling: dict[str, int] = graph.one(f"pool-{pool}-nodes").inputs["scalingConfig"]
    return scaling


def template(graph: Recorded, pool: str) -> Mapping[str, Any]:
    return graph.one(f"pool-{pool}-template").inputs


def _efa(graph: Recorded, pool: str) -> int:
    interfaces = template(graph, pool)["networkInterfaces"]
    return sum(each["interfaceType"] != "interface" for each in interfaces)


def at(name: str, path: str, read: Callable[[Any], Any] = lambda value: value) -> Callable[..., Any]:
    """Reads what stands at a path of a resource's inputs; {0} and {1} are what the stars of its number stand for."""

    def found(graph: Recorded, *stars: str) -> Any:
        here: Any = graph.one(name.format(*stars)).inputs
        for step in path.format(*stars).split("."):
            here = here[int(step)] if isinstance(here, list) else here[step]
        return read(here)

    return found


def units(unit: str) -> Callable[[str], int]:
    """Reads the number of a quantity in this unit."""
    return lambda quantity: int(quantity.removesuffix(unit))


def amounts(where: str, pod: Callable[..., dict[str, Any]], *but: str) -> dict[str, Callable[..., Any]]:
    """What a pod gets, by the paths of its numbers; all `but` those that are read in further places."""
    read = {
        "cpuMillicores": lambda graph, *stars: _limit(pod(graph, *stars), "cpu", "m"),
        "efa": lambda graph, *stars: _limit(pod(graph, *stars), "vpc.amazonaws.com/efa"),
        "gpus": lambda graph, *stars: _limit(pod(graph, *stars), "nvidia.com/gpu"),
        "memoryMib": lambda graph, *stars: _limit(pod(graph, *stars), "memory", "Mi"),
        "shmMib": lambda graph, *stars: _shm(pod(graph, *stars)),
    }
    return {f"{where}.pod.{key}": each for key, each in read.items() if key not in but}


def _pools(graph: Recorded) -> list[str]:
    return [each.name.removeprefix("pool-").removesuffix("-nodes") for each in graph.of_type("NodeGroup")]


def run_spec(graph: Recorded, run: str) -> dict[str, Any]:
    spec: dict[str, Any] = graph.one(f"run-{run}-job").inputs["spec"]
    return spec


def _replicas(graph: Recorded, run: str) -> int:
    return sum(each["replicas"] for each in run_spec(graph, run)["pytorchReplicaSpecs"].values())


def gang(graph: Recorded, run: str) -> dict[str, Any]:
    pod: dict[str, Any] = run_spec(graph, run)["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    return pod


def server(graph: Recorded, service: str) -> dict[str, Any]:
    pod: dict[str, Any] = graph.one(f"service-{service}-deployment").inputs["spec"]["template"]["spec"]
    return pod


def _limit(pod: dict[str, Any], resource: str, unit: str = "") -> int:
    """What all containers of a pod ask for and may use."""
    every = [each["resources"] for each in pod["containers"]]
    for amounts in every:
        assert amounts["limits"].get(resource) == amounts["requests"].get(resource)
    return sum(int(amounts["limits"].get(resource, "0").removesuffix(unit)) for amounts in every)


def _shm(pod: dict[str, Any]) -> int:
    (volume,) = [each for each in pod["volumes"] if each["name"] == "shm"]
    return int(volume["emptyDir"]["sizeLimit"].removesuffix("Mi"))


def told(graph: Recorded, run: str) -> dict[str, str]:
    return {each["name"]: each["value"] for each in gang(graph, run)["containers"][0]["env"]}


def flag(graph: Recorded, run: str, name: str) -> str:
    """What a run's program is told by --name=value."""
    words = [word.partition("=") for word in gang(graph, run)["containers"][0]["args"]]
    values: list[str] = [value for option, _, value in words if option == f"--{name}"]
    (value,) = values
    return value


def _backup(graph: Recorded, run: str) -> Iterator[int]:
    return _copied(graph, f"backup-{run}-schedule")


def _copied(graph: Recorded, schedule: str) -> Iterator[int]:
    spec = graph.one(schedule).inputs["spec"]
    yield spec["jobTemplate"]["spec"]["activeDeadlineSeconds"]
    hours = spec["schedule"].split()[1]
    yield 3600 * (24 if hours == "0" else int(hours.removeprefix("*/")))


def _hours(graph: Recorded, schedule: str) -> Iterator[float]:
    return (seconds / 3600 for seconds in _copied(graph, schedule))


def command(graph: Recorded, service: str) -> list[str]:
    words: list[str] = server(graph, service)["containers"][0]["command"]
    return words


def _word(graph: Recorded, service: str, name: str) -> float:
    words = [word.partition("=") for word in command(graph, service)]
    (value,) = [value for option, _, value in words if option == f"--{name}"]
    return float(value)


def _of_class(graph: Recorded, index: str, parameter: str) -> int:
    """Of a class of volumes beside the default one."""
    further = [each for each in graph.of_type("StorageClass") if each.name != "block-storage-gp3"]
    return int(further[int(index)].inputs["parameters"][parameter])


def _follow_up(graph: Recorded, run: str, index: str) -> dict[str, Any]:
    """The manifest that is made a job for each checkpoint."""
    scripts = [each for each in graph.of_type("ConfigMap") if each.name.startswith(f"follow-up-{run}-")]
    texts = [each.inputs["data"]["job.json"] for each in scripts if each.name.endswith("-script")]
    found: dict[str, Any] = json.loads(texts[int(index)])
    return found


def _follow_up_pod(graph: Recorded, run: str, index: str) -> dict[str, Any]:
    replicas = _follow_up(graph, run, index)["spec"]["pytorchReplicaSpecs"]
    pod: dict[str, Any] = replicas["Master"]["template"]["spec"]
    return pod


def _follow_up_asks(graph: Recorded, run: str, index: str) -> dict[str, Any]:
    """The schedule of what asks."""
    there = [each for each in graph.of_type("CronJob") if each.name.startswith(f"follow-up-{run}-")]
    spec: dict[str, Any] = there[int(index)].inputs["spec"]
    return spec


def _asks_after(graph: Recorded, run: str, index: str) -> bool:
    (asker,) = _follow_up_asks(graph, run, index)["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return f"--after={run}" in asker["args"]


def _demanded(graph: Recorded, pool: str) -> dict[str, Any]:
    """What the script of a pool's gate is told."""
    found: dict[str, Any] = json.loads(graph.one(f"gate-{pool}-plan").inputs["data"]["plan.json"])
    return found


def _gate_test(key: str, parts: float = 1) -> Callable[[Recorded, str, str], float]:
    return lambda graph, pool, index: float(_demanded(graph, pool)["tests"][int(index)][key] / parts)


def _demand(*path: str) -> Callable[[Recorded, str], Any]:
    """Reads what a pool's gate demands."""
    return lambda graph, pool: reduce(lambda here, step: here[step], path, _demanded(graph, pool))


def triton_pod(graph: Recorded, name: str) -> dict[str, Any]:
    pod: dict[str, Any] = graph.one(f"triton-{name}-deployment").inputs["spec"]["template"]["spec"]
    return pod


def _triton_startup(graph: Recorded, name: str) -> int:
    probe = triton_pod(graph, name)["containers"][0]["startupProbe"]
    seconds: int = probe["periodSeconds"] * probe["failureThreshold"]
    return seconds


def _room(graph: Recorded, service: str, name: str) -> float:
    """A number about adapters, which a server without them is not told."""
    return _word(graph, service, name) if "--enable-lora" in command(graph, service) else 0


def _on(graph: Recorded, service: str, name: str) -> bool:
    """What vLLM does by itself, unless it is told not to."""
    return f"--no-enable-{name}" not in command(graph, service)


def _adapter_copy(graph: Recorded, service: str, index: str) -> int:
    """The budget of the Job that brings an adapter, by its place among the modules."""
    words = command(graph, service)
    name, _, _ = words[words.index("--lora-modules") + 1 + int(index)].partition("=")
    seconds: int = graph.one(f"adapter-{service}-{name}-copy").inputs["spec"]["activeDeadlineSeconds"]
    return seconds


def _scaler(graph: Recorded, service: str) -> dict[str, Any]:
    """The autoscaler, or KEDA's object written as one; without either the Deployment's own number is least and most."""
    if f"service-{service}-scaled-object" in {each.name for each in graph.of_type("ScaledObject")}:
        return _as_autoscaler(graph.one(f"service-{service}-scaled-object").inputs["spec"])
    if f"service-{service}-autoscaler" not in {each.name for each in graph.of_type("HorizontalPodAutoscaler")}:
        replicas = graph.one(f"service-{service}-deployment").inputs["spec"]["replicas"]
        return {"minReplicas": replicas, "maxReplicas": replicas}
    spec: dict[str, Any] = graph.one(f"service-{service}-autoscaler").inputs["spec"]
    return spec


def _as_autoscaler(spec: dict[str, Any]) -> dict[str, Any]:
    by_name = {each["name"]: each["metadata"] for each in spec["triggers"]}
    asked = {"vllm_num_requests_waiting": "waiting", "vllm_kv_cache_usage_perc": "cache"}
    quantities = {metric: float(by_name[name]["threshold"]) for metric, name in asked.items()}
    written = {metric: f"{each:g}" if each >= 1 else f"{1000 * each:g}m" for metric, each in quantities.items()}
    return {
        "minReplicas": spec["minReplicaCount"],
        "maxReplicas": spec["maxReplicaCount"],
        "behavior": spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"],
        "metrics": [
            {"pods": {"metric": {"name": metric}, "target": {"averageValue": each}}} for metric, each in written.items()
        ],
    }


_ENTRY = "values.ports.websecure.transport.lifeCycle"


def _whole_seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def _target(graph: Recorded, service: str, metric: str) -> str:
    found = {each["pods"]["metric"]["name"]: each["pods"]["target"] for each in _scaler(graph, service)["metrics"]}
    quantity: str = found[metric]["averageValue"]
    return quantity


def _pace(graph: Recorded, service: str, way: str) -> Iterator[int]:
    rules = _scaler(graph, service)["behavior"][way]
    yield rules["stabilizationWindowSeconds"]
    yield from (each["periodSeconds"] for each in rules["policies"])


def _startup(graph: Recorded, service: str) -> Iterator[float]:
    deployment = graph.one(f"service-{service}-deployment")
    beside = 600 + server(graph, service)["terminationGracePeriodSeconds"]
    yield deployment.inputs["spec"]["progressDeadlineSeconds"] - beside
    yield int(deployment.timeouts["create"].removesuffix("s")) - beside
    probe = server(graph, service)["containers"][0]["startupProbe"]
    assert probe["periodSeconds"] == STARTUP_PERIOD_S
    # Whole periods: the last may end after the budget does.
    seconds = probe["periodSeconds"] * probe["failureThreshold"]
    budget = deployment.inputs["spec"]["progressDeadlineSeconds"] - beside
    yield budget if 0 <= seconds - budget < STARTUP_PERIOD_S else seconds


def _lustre_efa(graph: Recorded, pool: str) -> int:
    text = base64.b64decode(graph.one(f"pool-{pool}-template").inputs.get("userData", "")).decode()
    found = re.search(r"ExecStart=/usr/local/sbin/gpucluster-lustre-efa (\d+)", text)
    return int(found[1]) if found else 0


def _volumes(graph: Recorded) -> Iterator[int]:
    yield graph.one("lustre-file-system").inputs["storageCapacity"]
    for volume in graph.of_type("PersistentVolume"):
        if volume.inputs["spec"]["csi"]["driver"] == "efs.csi.aws.com":
            continue
        yield int(volume.inputs["spec"]["capacity"]["storage"].removesuffix("Gi"))


def _expiry(rules: list[dict[str, Any]]) -> Iterator[int]:
    return (rule["expiration"]["days"] for rule in rules if rule["id"] == "checkpoints")


def _cold(rules: list[dict[str, Any]]) -> Iterator[int]:
    return (each["days"] for rule in rules for each in rule.get("transitions", ()))


def _purpose_days(graph: Recorded, index: str) -> int:
    made = [each for each in graph.resources.values() if re.fullmatch("object-store-.*-lifecycle", each.name)]
    return int(made[int(index)].inputs["rules"][0]["expiration"]["days"])


def _protected(graph: Recorded) -> Iterator[bool]:
    yield graph.one("cluster-control-plane").protect
    yield graph.one("lustre-file-system").protect
    yield graph.one("object-store-bucket").protect
    yield not graph.one("object-store-bucket").inputs["forceDestroy"]


def _fsx(key: str, without: Any = None) -> Callable[[Recorded], Any]:
    return lambda graph: graph.one("lustre-file-system").inputs.get(key, without)


def keeper_task(graph: Recorded) -> dict[str, Any]:
    """What the function that ends the stack is told."""
    task: dict[str, Any] = json.loads(graph.one("keeper-function").inputs["environment"]["variables"]["KEEPER"])
    return task


def _interface(key: str) -> Callable[[Recorded, str, str], Any]:
    return lambda graph, pool, index: template(graph, pool)["networkInterfaces"][int(index)].get(key, 0)


def _queue(key: str) -> Callable[[Recorded, str], Any]:
    return lambda graph, index: graph.of_type("Queue")[int(index)].inputs["spec"][key]


def _stack(graph: Recorded, *path: str | int) -> Any:
    """A value of kube-prometheus-stack by its path."""
    found: Any = graph.one("monitoring-stack-chart-release").inputs["values"]
    for step in path:
        found = found[step]
    return found


def _prometheus(graph: Recorded, *path: str) -> Any:
    return _stack(graph, "prometheus", "prometheusSpec", *path)


def _requested(graph: Recorded, container: str) -> dict[str, Any]:
    if container == "logCollector":
        found: dict[str, Any] = graph.one("log-collector-release").inputs["values"]["resources"]
        return found
    return dict(_stack(graph, *_CONTAINERS[container]))


_CONTAINERS: Mapping[str, tuple[str | int, ...]] = {
    "prometheus": ("prometheus", "prometheusSpec", "resources"),
    "alertmanager": ("alertmanager", "alertmanagerSpec", "resources"),
    "grafana": ("grafana", "resources"),
    "dashboardLoader": ("grafana", "sidecar", "resources"),
    "stateMetrics": ("kube-state-metrics", "resources"),
    "operator": ("prometheusOperator", "resources"),
    "reloader": ("prometheusOperator", "prometheusConfigReloader", "resources"),
    "nodeExporter": ("prometheus-node-exporter", "resources"),
    "fabricCounters": ("prometheus-node-exporter", "sidecars", 0, "resources"),
}


def _memory(graph: Recorded, container: str) -> Iterator[int]:
    resources = _requested(graph, container)
    yield from (int(resources[kind]["memory"].removesuffix("Mi")) for kind in ("requests", "limits"))


def _claimed(storage: Mapping[str, Any]) -> int:
    size: str = storage["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"]
    return int(size.removesuffix("Gi"))


def _isolated(graph: Recorded) -> int:
    (container,) = graph.one("isolation-deployment").inputs["spec"]["template"]["spec"]["containers"]
    (most,) = [word.removeprefix("--most=") for word in container["command"] if word.startswith("--most=")]
    return int(most)


def _scraped(graph: Recorded) -> Iterator[int]:
    intervals = [
        _prometheus(graph, "scrapeInterval"),
        _stack(graph, "kubelet", "serviceMonitor", "interval"),
        graph.one("gpu-operator-release").inputs["values"]["dcgmExporter"]["serviceMonitor"]["interval"],
        graph.one("log-collector-release").inputs["values"]["serviceMonitor"]["interval"],
        *(each.inputs["spec"]["endpoints"][0]["interval"] for each in _own_monitors(graph)),
    ]
    yield from (int(each.removesuffix("s")) for each in intervals)


def _own_monitors(graph: Recorded) -> list[Any]:
    return [each for each in graph.of_type("ServiceMonitor") if each.name.startswith("monitors-")]


REGISTERED: Mapping[str, Callable[..., Any]] = {
    "checkpointDays": at("object-store-lifecycle", "rules", _expiry),
    "coldCheckpoints.days": at("object-store-lifecycle", "rules", _cold),
    "purposeBuckets.*.expireDays": _purpose_days,
    "block.classes.*.iops": lambda graph, index: _of_class(graph, index, "iops"),
    "block.classes.*.throughputMbps": lambda graph, index: _of_class(graph, index, "throughput"),
    "home.backedUp": lambda graph: bool(graph.of_type("BackupPolicy")),
    "home.coldDays": at("home-file-system", "lifecyclePolicies.0.transitionToIa", lambda text: int(text.split("_")[1])),
    "datasets.*.copySeconds": lambda graph, name: iter(
        (
            int(graph.one(f"dataset-{name}-copy").timeouts["create"].removesuffix("s")),
            graph.one(f"dataset-{name}-copy").inputs["spec"]["activeDeadlineSeconds"],
        )
    ),
    "deployment.sessionManager": lambda graph: any(
        each.name == "node-role-policy-session" for each in graph.of_type("RolePolicyAttachment")
    ),
    "endpoint.private": at("cluster-control-plane", "vpcConfig.endpointPublicAccess", not_),
    "spending.anomalyUsd": at("spending-anomalies", "thresholdExpression.dimension.values.0", float),
    "spending.monthlyUsd": at("spending-budget", "limitAmount", float),
    "vpc.endpointInterfaces": lambda graph: sum(
        len(each.inputs["subnetIds"])
        for each in graph.of_type("VpcEndpoint")
        if each.inputs["vpcEndpointType"] == "Interface"
    ),
    "adapted": lambda graph: any(each.name == "metrics-adapter-release" for each in graph.of_type("Release")),
    "toZero": lambda graph: any(each.name == "keda-release" for each in graph.of_type("Release")),
    "certificates": lambda graph: any(each.name == "cert-manager-release" for each in graph.of_type("Release")),
    "vpc.leadsOut": lambda graph: bool(graph.of_type("NatGateway")),
    "vpc.flowLogs.days": at("flow-logs-group", "retentionInDays"),
    "keeper.hourlyUsd": lambda graph: round(keeper_task(graph)["hourly_usd"], 2),
    "keeper.maxUsd": lambda graph: keeper_task(graph)["max_usd"],
    "keeper.warnHours": lambda graph: keeper_task(graph)["warn_hours"],
    "keeper.gpuPools.training": lambda graph: keeper_task(graph)["gpu_pools"]["training"],
    **{f"spending.percents.{index}": at("spending-budget", f"notifications.{index}.threshold") for index in range(3)},
    "fileSystem.backupDays": _fsx("automaticBackupRetentionDays", 0),
    "fileSystem.capacityGib": _volumes,
    "pools.*.lustreEfa": lambda graph, pool: _lustre_efa(graph, pool),
    "fileSystem.efa": _fsx("efaEnabled", without=False),
    "fileSystem.throughputMbpsPerTib": _fsx("perUnitStorageThroughput"),
    "monitoring.alertsDiskGib": lambda graph: _claimed(_stack(graph, "alertmanager", "alertmanagerSpec", "storage")),
    "monitoring.diskGib": lambda graph: _claimed(_prometheus(graph, "storageSpec")),
    "monitoring.fileSystem": lambda graph: any(
        each.name == "monitors-file-system" for each in graph.resources.values()
    ),
    "monitoring.isolation.most": _isolated,
    "monitoring.logDays": at("pod-logs-group", "retentionInDays"),
    "monitoring.requests.*.cpuMillicores": lambda graph, container: int(
        _requested(graph, container)["requests"]["cpu"].removesuffix("m")
    ),
    "monitoring.requests.*.memoryMib": _memory,
    "monitoring.retentionDays": lambda graph: int(_prometheus(graph, "retention").removesuffix("d")),
    "monitoring.retentionSizeGib": lambda graph: int(_prometheus(graph, "retentionSize").removesuffix("GB")),
    "monitoring.scrapeS": _scraped,
    "ownership.protect": _protected,
    "pools.*.block.nodes": at("pool-{0}-nodes", "scalingConfig.desiredSize"),
    "pools.*.block.shares.*.count": at("pool-{0}-nodes", "scalingConfig.maxSize"),
    "pools.*.block.shares.*.maxUnhealthy": at("pool-{0}-nodes", "nodeRepairConfig.maxUnhealthyNodeThresholdCount"),
    "pools.*.block.shares.*.nodes": at("pool-{0}-nodes", "scalingConfig.desiredSize"),
    "pools.*.count": at("pool-{0}-nodes", "scalingConfig.maxSize"),
    "pools.*.efa": _efa,
    "pools.*.gpus": lambda graph, pool: graph.outputs["hardware"]["pools"][pool]["gpus"],
    "pools.*.interfaces.*.0": _interface("networkCardIndex"),
    "pools.*.interfaces.*.1": _interface("deviceIndex"),
    "pools.*.nodesNow": at("pool-{0}-nodes", "scalingConfig.desiredSize"),
    "pools.*.placementGroup": lambda graph, pool: "placement" in template(graph, pool),
    "pools.*.repair.maxUnhealthy": at("pool-{0}-nodes", "nodeRepairConfig.maxUnhealthyNodeThresholdCount"),
    "pools.*.repair.overrides.*.waitMinutes": at(
        "pool-{0}-nodes", "nodeRepairConfig.nodeRepairConfigOverrides.{1}.minRepairWaitTimeMins"
    ),
    "pools.*.repair.parallel": at("pool-{0}-nodes", "nodeRepairConfig.maxParallelNodesRepairedCount"),
    "pools.*.rootVolumeGib": at("pool-{0}-template", "blockDeviceMappings.0.ebs.volumeSize"),
    "queues.*.gpus": lambda graph, index: int(_queue("capability")(graph, index)["nvidia.com/gpu"]),
    "queues.*.reclaimable": _queue("reclaimable"),
    "queues.*.weight": _queue("weight"),
    "runs.*.efa": lambda graph, run: _limit(gang(graph, run), "vpc.amazonaws.com/efa") * _replicas(graph, run),
    "runs.*.gpus": lambda graph, run: int(run_spec(graph, run)["nprocPerNode"]) * _replicas(graph, run),
    **amounts("runs.*", gang),
    "runs.*.metricsPort": lambda graph, run: iter(
        (int(told(graph, run)["METRICS_PORT"]), gang(graph, run)["containers"][0]["ports"][0]["containerPort"])
    ),
    "runs.*.followUps.*.afterEnd": _asks_after,
    "runs.*.followUps.*.deadlineS": lambda graph, run, index: _follow_up(graph, run, index)["spec"]["runPolicy"][
        "activeDeadlineSeconds"
    ],
    "runs.*.followUps.*.everyS": lambda graph, run, index: (
        60 * int(_follow_up_asks(graph, run, index)["schedule"].split()[0].removeprefix("*/"))
    ),
    "runs.*.followUps.*.keepS": lambda graph, run, index: _follow_up(graph, run, index)["spec"]["runPolicy"][
        "ttlSecondsAfterFinished"
    ],
    **amounts("runs.*.followUps.*", _follow_up_pod, "gpus"),
    "runs.*.followUps.*.pod.gpus": lambda graph, run, index: iter(
        (
            _limit(_follow_up_pod(graph, run, index), "nvidia.com/gpu"),
            int(_follow_up(graph, run, index)["spec"]["nprocPerNode"]),
        )
    ),
    "runs.*.launch.elastic": lambda graph, run: "elasticPolicy" in run_spec(graph, run),
    "runs.*.launch.leastPods": at("run-{0}-job", "spec.runPolicy.schedulingPolicy.minAvailable"),
    "runs.*.launch.loaderWorkers": lambda graph, run: int(flag(graph, run, "loader-workers")),
    "runs.*.launch.profileFrom": lambda graph, run: int(flag(graph, run, "profile-from")),
    "runs.*.launch.profileTo": lambda graph, run: int(flag(graph, run, "profile-to")),
    "runs.*.launch.steps": lambda graph, run: int(flag(graph, run, "steps")),
    "runs.*.pods": _replicas,
    "runs.*.restarts": lambda graph, run: (
        (run_spec(graph, run)["runPolicy"]["backoffLimit"] - 1) / _replicas(graph, run)
    ),
    "runs.*.deadlineS": at("run-{0}-job", "spec.runPolicy.activeDeadlineSeconds"),
    "runs.*.saving.everyS": lambda graph, run: int(told(graph, run)["CHECKPOINT_EVERY_SECONDS"]),
    "runs.*.saving.fileSystemS": lambda graph, run: int(
        told(graph, run).get("CHECKPOINT_FILE_SYSTEM_SECONDS") or told(graph, run)["CHECKPOINT_EVERY_SECONDS"]
    ),
    "runs.*.saving.keep": lambda graph, run: int(told(graph, run)["CHECKPOINT_KEEP"]),
    "runs.*.saving.local": lambda graph, run: "CHECKPOINT_LOCAL_DIR" in told(graph, run),
    "runs.*.saving.objectStoreS": _backup,
    "runs.*.saving.copyS": lambda graph, run: (
        gang(graph, run)["terminationGracePeriodSeconds"] - 30 - int(told(graph, run)["CHECKPOINT_WITHIN_SECONDS"])
    ),
    "runs.*.saving.lastS": lambda graph, run: gang(graph, run)["terminationGracePeriodSeconds"] - 30,
    "runs.*.saving.withinS": lambda graph, run: int(told(graph, run)["CHECKPOINT_WITHIN_SECONDS"]),
    "gateway.drainSeconds": at("traefik-release", f"{_ENTRY}.graceTimeOut", _whole_seconds),
    "gateway.leaveSeconds": at("traefik-release", f"{_ENTRY}.requestAcceptGraceTimeout", _whole_seconds),
    "gateway.replicas": at("traefik-release", "values.deployment.replicas"),
    "gateway.routes.*.podBurst": lambda graph, index: graph.of_type("Middleware")[int(index)].inputs["spec"][
        "rateLimit"
    ]["burst"],
    "gateway.routes.*.podRequestsPerMinute": lambda graph, index: graph.of_type("Middleware")[int(index)].inputs[
        "spec"
    ]["rateLimit"]["average"],
    "gateway.signedAtOnce": lambda graph: iter(
        bool(each.inputs["metadata"].get("annotations")) for each in graph.of_type("HTTPRoute")
    ),
    "services.*.adapters.*.copySeconds": _adapter_copy,
    "services.*.chunkedPrefill": lambda graph, service: _on(graph, service, "chunked-prefill"),
    "services.*.copySeconds": lambda graph, service: int(
        graph.one(f"weights-{service}-copy").timeouts["create"].removesuffix("s")
    ),
    "services.*.drainSeconds": lambda graph, service: _word(graph, service, "shutdown-timeout"),
    "services.*.gpuMemoryUtilization": lambda graph, service: _word(graph, service, "gpu-memory-utilization"),
    "services.*.gpus": lambda graph, service: (
        _scaler(graph, service)["minReplicas"] * _limit(server(graph, service), "nvidia.com/gpu")
    ),
    "services.*.graceSeconds": at("service-{0}-deployment", "spec.template.spec.terminationGracePeriodSeconds"),
    "services.*.maxLoraRank": lambda graph, service: _room(graph, service, "max-lora-rank"),
    "services.*.maxLoras": lambda graph, service: _room(graph, service, "max-loras"),
    "services.*.maxModelLen": lambda graph, service: _word(graph, service, "max-model-len"),
    "services.*.maxNumBatchedTokens": lambda graph, service: _word(graph, service, "max-num-batched-tokens"),
    "services.*.maxNumSeqs": lambda graph, service: _word(graph, service, "max-num-seqs"),
    "services.*.maxReplicas": lambda graph, service: _scaler(graph, service)["maxReplicas"],
    "services.*.minReplicas": lambda graph, service: _scaler(graph, service)["minReplicas"],
    **amounts("services.*", server, "gpus"),
    "services.*.pod.gpus": lambda graph, service: iter(
        (_limit(server(graph, service), "nvidia.com/gpu"), _word(graph, service, "tensor-parallel-size"))
    ),
    "services.*.prefixCaching": lambda graph, service: _on(graph, service, "prefix-caching"),
    "services.*.scaling.downSeconds": lambda graph, service: _pace(graph, service, "scaleDown"),
    "services.*.scaling.idleSeconds": at("service-{0}-scaled-object", "spec.cooldownPeriod"),
    "services.*.scaling.kvCachePercent": lambda graph, service: (
        int(_target(graph, service, "vllm_kv_cache_usage_perc").removesuffix("m")) / 10
    ),
    "services.*.scaling.upSeconds": lambda graph, service: _pace(graph, service, "scaleUp"),
    "measured.*.copies.host": _demand("copies", "host"),
    "measured.*.copies.peer": _demand("copies", "peer"),
    "measured.*.devices": _demand("devices"),
    "measured.*.links": _demand("links"),
    "measured.*.nodes": at("gate-{0}-job", "spec", lambda spec: iter((spec["completions"], spec["parallelism"]))),
    **amounts("measured.*", lambda graph, pool: graph.one(f"gate-{pool}-job").inputs["spec"]["template"]["spec"]),
    "measured.*.pairs.rounds": _demand("pairs", "rounds"),
    "measured.*.pairs.seconds": _demand("pairs", "seconds"),
    "measured.*.readGbPerS": _demand("storage", "read_gb_per_s"),
    "measured.*.seconds": at("gate-{0}-job", "spec.activeDeadlineSeconds"),
    "measured.*.storageMib": _demand("storage", "mib"),
    "measured.*.tests.*.nodes": _gate_test("nodes"),
    "measured.*.tests.*.sizeGib": _gate_test("bytes", 2**30),
    "measured.*.tests.*.threshold.fail": _gate_test("fail"),
    "measured.*.tests.*.threshold.warn": _gate_test("warn"),
    "measured.*.expiryDays": at(
        "gate-{0}-expiry",
        "spec.jobTemplate.spec.template.spec.containers.0.args",
        lambda args: int(args[-1].removeprefix("--days=")),
    ),
    "measured.*.history": lambda graph, pool: (
        f"gate-{pool}-history-schedule" in {each.name for each in graph.of_type("CronJob")}
    ),
    "measured.*.weekly": lambda graph, pool: f"gate-{pool}-weekly" in {each.name for each in graph.of_type("CronJob")},
    "measured.*.writeGbPerS": _demand("storage", "write_gb_per_s"),
    "pipelines.sandbox": at(
        "pipelines-argo-config", "data.workflowDefaults", lambda text: "podSpecPatch" in json.loads(text)["spec"]
    ),
    "pools.*.bottlerocket": at("pool-{0}-nodes", "amiType", lambda ami: ami.startswith("BOTTLEROCKET_")),
    "pools.*.fallsBack": lambda graph, pool: f"{pool}-on-demand" in _pools(graph),
    "pools.*.exclusiveCpus": lambda graph, pool: (
        b"cpuManagerPolicy" in base64.b64decode(template(graph, pool).get("userData") or "")
    ),
    "pools.*.parallelPulls": lambda graph, pool: (
        b"FastImagePull" in base64.b64decode(template(graph, pool).get("userData") or "")
    ),
    "pools.*.sandboxed": lambda graph, pool: b"runsc" in base64.b64decode(template(graph, pool).get("userData") or ""),
    "vpc.prefixes": at("node-addons-vpc-cni", "configurationValues", lambda text: "ENABLE_PREFIX_DELEGATION" in text),
    "pipelines.gib": at("pipelines-mysql", "spec.volumeClaimTemplates.0.spec.resources.requests.storage", units("Gi")),
    "services.*.scaling.waitingPerReplica": lambda graph, service: int(
        _target(graph, service, "vllm_num_requests_waiting")
    ),
    "services.*.spread": lambda graph, service: (
        {each["whenUnsatisfiable"] for each in server(graph, service)["topologySpreadConstraints"]} == {"DoNotSchedule"}
    ),
    "services.*.spareReplica": at("service-{0}-deployment", "spec.strategy.rollingUpdate.maxSurge", bool),
    "services.*.startupSeconds": _startup,
    "services.*.toZero": lambda graph, service: any(
        each.name == f"service-{service}-scaled-object" for each in graph.of_type("ScaledObject")
    ),
    "totals.efaInterfaces": lambda graph: sum(
        _efa(graph, pool) * _scaling(graph, pool)["maxSize"] for pool in _pools(graph)
    ),
    "totals.gpus": lambda graph: graph.outputs["hardware"]["gpus"],
    "totals.nodes": lambda graph: sum(_scaling(graph, pool)["maxSize"] for pool in _pools(graph)),
    "externalSecrets.refreshSeconds": lambda graph: sum(
        int(count) * {"h": 3600, "m": 60, "s": 1}[unit]
        for count, unit in re.findall(
            r"(\d+)([hms])", graph.one("token-hf-token-external-secret").inputs["spec"]["refreshInterval"]
        )
    ),
    "pipelines.backupHours": lambda graph: _hours(graph, "pipelines-backup-schedule"),
    "tracking.mlflow.backupHours": lambda graph: _hours(graph, "tracking-backup-schedule"),
    "tracking.mlflow.gib": at(
        "tracking-database-server", "spec.volumeClaimTemplates.0.spec.resources.requests.storage", units("Gi")
    ),
    "triton.*.copySeconds": at("models-{0}-copy", "spec.activeDeadlineSeconds"),
    "triton.*.gpus": lambda graph, name: (
        graph.one(f"triton-{name}-deployment").inputs["spec"]["replicas"]
        * _limit(triton_pod(graph, name), "nvidia.com/gpu")
    ),
    **amounts("triton.*", triton_pod),
    "triton.*.replicas": at("triton-{0}-deployment", "spec.replicas"),
    "triton.*.spareReplica": at("triton-{0}-deployment", "spec.strategy.rollingUpdate.maxSurge", bool),
    "triton.*.startupSeconds": _triton_startup,
}
"""What of the graph is a number of the plan: one value, or an iterator of all the places where it stands."""

ONLY_PLANNED: Mapping[str, str] = {
    "bom": "what to buy, for people",
    "datasets.*.copyS": "what to expect of a copy; its budget follows from it",
    "datasets.*.gb": "the file system's capacity is checked with it",
    "home.expectedGib": "what it costs: EFS takes as much as people write",
    "gates": "what nodes must reach; measured.*.tests are those that are measured in the cluster",
    "measured.*.benchmark": "the words of its trainer, and the rate to expect (test_gate_pairs)",
    "measured.*.pairs.allRounds": "how many rounds would bring all nodes together",
    "measured.*.plannedS": "what to expect of the gate's duration",
    "measured.*.tests.*.gpus": "the nodes' GPUs, all of which take part",
    "measured.*.tests.*.threshold.expected": "what to expect of a healthy node",
    "monitoring.exporters": "what to expect of what is scraped",
    "monitoring.neededGib": "the disk and its part for samples follow from it",
    "monitoring.room": "what the system pools hold, for people",
    "monitoring.samplesPerS": "what to expect of all exporters together, in the stack's outputs",
    "monitoring.series": "what to expect of all exporters together, in the stack's outputs",
    "ownership.maxHourlyUsd": "the planner refuses what costs more; where dashboards are, a line in them",
    "pools.*.branchInterfaces": "what EKS' controller can give pods with groups of their own",
    "pools.*.addressedPods": "what the VPC CNI can give addresses to",
    "pools.*.addressesPerNode": "the subnets are sized by it; they are registered by their ranges",
    "pools.*.prefixes": "vpc.prefixes: the VPC CNI is told it once for all nodes",
    "pools.*.podAddressesPerNode": "the subnets of pods are sized by it; they are registered by their ranges",
    "pools.*.allocatableCpuMillicores": "what the kubelet leaves; pods get their parts of it",
    "pools.*.allocatableMemoryMib": "what the kubelet leaves; pods get their parts of it",
    "pools.*.devicesPerNode": "summed up in queues, and in the quota of inference (test_services)",
    "pools.*.idle": "what a reservation holds and nobody runs, in the price",
    "pools.*.gpu": "a row of the catalogue",
    "pools.*.gpusPerNode": "the instance type brings them",
    "pools.*.instance": "a row of the catalogue",
    "pools.*.interfacesPerNode": "a quota counts them",
    "pools.*.maxPods": "EKS sets it, whatever the user data say",
    "pools.*.mig": "a row of the catalogue; the node's label names it",
    "pools.*.timeSlices": "the node's label names the device plugin's configuration (test_aws)",
    "pools.*.nvme": "the instance type brings them",
    "pools.*.surge": "what EKS runs in an update; quotas and subnets count it",
    "prices": "what it costs, in the stack's outputs",
    "quotas": "what the account must allow, in the stack's outputs",
    "runs.*.forecast": "what to expect of a run",
    "runs.*.tiers": "what to expect of the places for checkpoints",
    "runs.*.launch.architecture": "a row of the catalogue, in the words of frameworks that build models (test_launch)",
    "runs.*.launch.fileSystemSteps": "for frameworks that count steps (test_launch)",
    "runs.*.launch.saveSteps": "for frameworks that count steps (test_launch)",
    "runs.*.training": "degrees and batch are in the words of each framework (test_launch); a script has its own",
    "gateway.internet": "the platform's annotations say so (tests/stacks/test_gateway.py)",
    "gateway.mostReplicas": "an autoscaler's, where there is one (tests/stacks/test_gateway.py)",
    "gateway.routes.*.requestsPerMinute": "each pod of the gateway has its part",
    "services.*.adapters.*.rank": "the room for adapters follows from it",
    "services.*.fullSequences": "what to expect of the cache that vLLM makes of the memory it is given",
    "services.*.kvBytesPerToken": "what to expect of the cache that vLLM makes of the memory it is given",
    "services.*.kvCacheGb": "what to expect of the cache that vLLM makes of the memory it is given",
    "services.*.kvCacheTokens": "what to expect of the cache that vLLM makes of the memory it is given",
    "services.*.loadSeconds": "the budgets of start and copy follow from it",
    "services.*.longestStreamSeconds": "a rule holds what a replica gets to stop against it",
    "services.*.loraGb": "what to expect of vLLM's memory",
    "services.*.overheadGb": "what to expect of vLLM's memory",
    "services.*.requestTokensPerS": "what to expect of a request",
    "services.*.scaleUpSeconds": "what to expect of a further replica",
    "services.*.wakeSeconds": "what to expect of a service that has no replica",
    "services.*.weightsGb": "what to expect of vLLM's memory",
    "sharing": "what is left of pools, for people",
    "storage": "what to expect of the file system that is ordered",
    "triton.*.modelsGb": "the budgets of start and copy follow from it",
    "subnets": "the subnets are registered by their ranges",
}
"""Beginnings of paths that nothing is registered of, and why."""
