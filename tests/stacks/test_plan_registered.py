"""Each number of a plan stands in what is registered, or beside the reason why not (issue: the plan is what is built).

A new number of the plan that is in neither table fails, and so does an entry that no plan has.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import date, timedelta
from functools import cache
from typing import Any

import pytest

from catalogue import versions
from catalogue.images import pinned
from planner.faces.document import document
from policy.pods import pods
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, run_program, stack_config, stack_names
from tests.planner.stacks import plan_of
from tests.planner.test_several_blocks import SANDBOX
from tests.stacks.registered import ONLY_PLANNED, REGISTERED, command, gang, run_spec, server, template, told

NAMED = ("datasets", "pools", "runs", "services", "triton", "gates", "measured", "sharing")
"""Parts of a plan that go by the names that the stack file gives."""


def _everything() -> dict[str, Any]:
    """The dev stack with what the committed ones leave out: every number differs from its default."""
    config = deepcopy(stack_config("dev"))
    begins, ends = (date.today() + timedelta(days=days) for days in (30, 37))
    config["gpucluster:pools"][1] |= {"instanceType": "p5.48xlarge", "rootVolumeGib": 300, "exclusiveCpus": True}
    config["gpucluster:pools"][1] |= {
        "capacity": "capacity-block",
        "reservation": {"id": "cr-0123456789abcdef0", "zone": "use2-az1", "start": str(begins), "end": str(ends)},
    }
    config["gpucluster:pools"][2] |= {"instanceType": "p5.4xlarge", "count": 2, "mig": "3g.40gb"}
    config["gpucluster:storage"] = {
        "lustre": {
            "deploymentType": "PERSISTENT_2",
            "capacityGib": 38_400,
            "throughputMbpsPerTib": 250,
            "efa": True,
        },
        "home": {"expectedGib": 654, "coldAfterDays": 180},
        "block": {"classes": [{"name": "fast", "type": "gp3", "iops": 15_500, "throughputMbps": 777}]},
        "objectStore": {
            "checkpointDays": 117,
            "coldAfterDays": 19,
            "coldClass": "GLACIER_IR",
            "buckets": [{"purpose": "records", "expireDays": 118}, {"purpose": "backups", "expireDays": 119}],
        },
        "sources": [{"bucket": "acme-model-weights"}, {"bucket": "acme-datasets"}],
    }
    config["gpucluster:platform"]["network"] = {
        "flowLogs": {"retentionDays": 60},
        "endpoints": ["logs", "sts", "kms"],
        "endpointsPerZone": True,
        "prefixDelegation": True,
    }
    config["gpucluster:scheduling"]["queues"][0] |= {"gpus": 16, "reclaimable": False}
    config["gpucluster:training"]["runs"][0] |= {
        "framework": "fsdp2",
        "sharding": "fsdp",
        "tokensBillion": 2,
        "profile": {"fromStep": 12, "toStep": 15},
        "loaderWorkers": 7,
        "restarts": 5,
        "deadlineHours": 400,
        "metricsPort": 9222,
        "shmGib": 96,
        "checkpoint": {
            "everyMinutes": 10,
            "withinSeconds": 45,
            "keep": 4,
            "local": True,
            "fileSystemMinutes": 25,
            "objectStoreHours": 3,
        },
        "commit": "4f2a91c",
        "followUps": [
            {
                "name": "export",
                "pool": config["gpucluster:pools"][1]["name"],
                "queue": config["gpucluster:scheduling"]["queues"][0]["name"],
                "script": ["/workspace/export.py"],
                "gpus": 3,
                "deadlineHours": 7,
                "keepHours": 77,
            }
        ],
    }
    config["gpucluster:training"]["tracking"] = {"gib": 44, "backupHours": 8}
    config["gpucluster:externalSecrets"] = {"refreshMinutes": 77, "secrets": {"hfToken": {"id": "hub"}}}
    config["gpucluster:training"]["pipelines"] = {"gib": 46, "backupHours": 12, "sandbox": True}
    config["gpucluster:pools"][0]["sandbox"] = SANDBOX
    config["gpucluster:serving"]["services"][0] |= {
        "minReplicas": 2,
        "maxReplicas": 3,
        "maxModelLen": 4096,
        "gpuMemoryUtilization": 0.85,
        "waitingPerReplica": 8,
        "maxNumSeqs": 48,
        "maxNumBatchedTokens": 6144,
        "prefixCaching": False,
        "chunkedPrefill": False,
        "maxLoras": 3,
        "drainSeconds": 95,
        "adapters": [
            {"name": "sql", "base": "llama-3-8b", "weights": f"hf://our-team/sql@{'1' * 40}", "rank": 24},
            {"name": "law", "base": "llama-3-8b", "weights": "s3://acme-model-weights/law", "rank": 12},
        ],
        "kvCachePercent": 71,
        "scaleUpSeconds": 140,
        "scaleDownSeconds": 310,
    }
    config["gpucluster:monitoring"] = {
        "retentionDays": 11,
        "diskGib": 45,
        "scrapeSeconds": 25,
        "logs": {"retentionDays": 14},
    }
    config["gpucluster:serving"]["triton"] = [
        {
            "name": "vision",
            "pool": config["gpucluster:serving"]["services"][0]["pool"],
            "image": "nvcr.io/nvidia/tritonserver:26.06-py3",
            "models": "s3://acme-model-weights/vision",
            "modelsGb": 7,
        }
    ]
    config["gpucluster:budget"] = {
        "maxHourlyUsd": 900,
        "alerts": {"monthlyUsd": 600_000, "percents": [40, 95], "emails": ["ml@example.com"], "anomalyUsd": 222},
    }
    return config


def _gated() -> dict[str, Any]:
    """The dev stack with nodes that are measured first, of eight GPUs, so that something is demanded of them."""
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][1] |= {"instanceType": "p5.48xlarge"}
    config["gpucluster:budget"] = {"maxHourlyUsd": 900}
    config["gpucluster:training"]["gates"] = {
        "minutes": 20,
        "storageMib": 1111,
        "weekly": True,
        "expiryDays": 17,
        "history": True,
        "benchmark": True,
    }
    return config


def _to_zero() -> dict[str, Any]:
    """The dev stack with a public service that has no replica while nobody asks."""
    config = deepcopy(stack_config("dev"))
    serving = config["gpucluster:serving"]
    serving["gateway"] = {"domain": "llm.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}
    serving["services"][0].pop("minReplicas", None)
    more = {"maxReplicas": 2, "waitingPerReplica": 7, "kvCachePercent": 71, "scaleToZero": {"idleMinutes": 33}}
    serving["services"][0] |= {"public": True, **more}
    return config


CHANGED = {"everything": _everything, "gated": _gated, "to-zero": _to_zero}


@cache
def deployed(stack: str) -> tuple[dict[str, Any], Recorded]:
    """The plan as a document, and what was registered of it."""
    config = CHANGED[stack]() if stack in CHANGED else stack_config(stack)
    graph = run_program(config, stack="dev") if stack in CHANGED else graph_of(stack)
    return document(plan_of(config, today=date.today())), graph


def numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every number and yes or no of a document, with its path."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from numbers(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from numbers(below, (*path, str(index)))
    elif isinstance(value, int | float):
        yield path, value


def pattern(path: tuple[str, ...]) -> tuple[str, list[str]]:
    """The path with a star for each name and index, and what the stars stand for."""
    named = {1} if path[0] in NAMED else {2} if path[:2] == ("monitoring", "requests") else set()
    stars = [index for index, step in enumerate(path[:-1]) if index in named or step.isdigit()]
    return ".".join("*" if index in stars else step for index, step in enumerate(path)), [path[each] for each in stars]


def only_planned(path: str) -> list[str]:
    """The entries that say why the number is not registered."""
    return [known for known in ONLY_PLANNED if f"{path}.".startswith(f"{known}.")]


STACKS = [*stack_names(), *CHANGED]


@pytest.mark.parametrize("stack", STACKS)
def test_each_number_of_the_plan_is_registered(stack: str) -> None:
    planned, graph = deployed(stack)
    wrong = []
    for path, number in numbers(planned):
        generic, stars = pattern(path)
        if generic not in REGISTERED:
            if not only_planned(generic):
                wrong.append(f"{'.'.join(path)}: {number} has no place among what is registered, and no reason")
            continue
        found = REGISTERED[generic](graph, *stars)
        places = list(found) if isinstance(found, Iterator) else [found]
        if not places or any(place != number for place in places):
            wrong.append(f"{'.'.join(path)}: planned {number}, registered {places}")
    assert wrong == []


def test_no_entry_is_left_over() -> None:
    """An entry that no plan has would hide the number that takes its name."""
    paths = {pattern(path)[0] for stack in STACKS for path, _ in numbers(deployed(stack)[0])}
    assert sorted(REGISTERED.keys() - paths) == []
    assert sorted(ONLY_PLANNED.keys() - {known for path in paths for known in only_planned(path)}) == []
    assert [path for path in paths if path in REGISTERED and only_planned(path)] == []


def test_words_of_the_plan_are_registered() -> None:
    """What is no number: images, scripts, addresses, capacity, NCCL's environment, who reaches the API."""
    planned, graph = deployed("everything")
    for name, run in planned["runs"].items():
        container = gang(graph, name)["containers"][0]
        words = container["args"]
        assert (container["image"], words[:1] + words[1 - len(run["script"]) :]) == (run["image"], run["script"])
        assert run_spec(graph, name)["runPolicy"]["schedulingPolicy"]["queue"] == run["queue"]
        assert {"FI_PROVIDER": "efa", "NCCL_NET": "AWS Libfabric"}.items() <= told(graph, name).items()
        assert told(graph, name)["NCCL_NET_PLUGIN"] == run["netPlugin"] == "ofi"
        job = graph.one(f"run-{name}-job").inputs["metadata"]["labels"]
        script = graph.one(f"follow-up-{name}-export-script").inputs["data"]["job.json"]
        assert job["gpucluster/commit"] == "4f2a91c"
        assert json.loads(script)["metadata"]["labels"].items() > job.items()
    for name, service in planned["services"].items():
        assert service["image"] == server(graph, name)["containers"][0]["image"]
        fetch = graph.one(f"weights-{name}-copy").inputs["spec"]["template"]["spec"]["containers"][0]
        assert f"aws s3 sync {service['weights']} " in fetch["args"][1]
        offered = [word.partition("=")[0] for word in command(graph, name)]
        assert [each["name"] for each in service["adapters"]] == [each for each in offered if each in ("sql", "law")]
    for name, pool in planned["pools"].items():
        nodes = graph.one(f"pool-{name}-nodes").inputs
        assert nodes["capacityType"] == pool["capacityType"]
        cut = f"all-{pool['mig']['name']}" if pool["mig"] else None
        assert nodes["labels"].get("nvidia.com/mig.config") == cut
        shared = f"time-slices-{pool['timeSlices']}" if pool["timeSlices"] > 1 else None
        assert nodes["labels"].get("nvidia.com/device-plugin.config") == shared
        assert template(graph, name)["instanceType"] == pool["hardware"]
        assert nodes["version"] == planned["kubernetesVersion"]
    access = graph.one("cluster-control-plane").inputs["vpcConfig"]
    assert access["publicAccessCidrs"] == planned["endpoint"]["publicCidrs"]
    assert access["endpointPublicAccess"] is True
    ways = [each.inputs for each in graph_of("prod").of_type("SecurityGroupIngressRule") if "cidrIpv4" in each.inputs]
    found = Counter((each["cidrIpv4"], each["fromPort"], each["toPort"], each["description"]) for each in ways)
    assert found == {("10.8.0.0/16", 443, 443, "Kubernetes API from head-office by transit-gateway"): 1}
    assert graph_of("prod").one("cluster-control-plane").inputs["vpcConfig"]["endpointPublicAccess"] is False


def images_of_the_catalogue() -> set[str]:
    """As the program names them: by digest, where one is recorded."""
    rows = vars(versions).items()
    alone = [row for name, row in rows if name.endswith("_IMAGE")]
    return {
        pinned(each)
        for each in [*alone, *(of for name, row in rows if name.endswith("_IMAGES") for of in row.values())]
    }


@pytest.mark.parametrize("stack", STACKS)
def test_pods_pull_what_the_catalogue_or_the_plan_names(stack: str) -> None:
    planned, graph = deployed(stack)
    pulled = {str(container["image"]) for pod in pods(graph) for container in pod.containers}
    others = pulled - images_of_the_catalogue()
    assert others
    assert {each for each in others if f'"{each}"' not in json.dumps(planned)} == set()


def test_a_run_by_mpi_is_a_job_of_its_operator_which_comes_first() -> None:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:training"]["runs"][0]["launcher"] = "mpi"
    config["gpucluster:training"]["runs"][0].pop("metricsPort", None)
    graph = run_program(config, stack="dev")
    (job,) = graph.of_type("MPIJob")
    assert graph.one("mpi-operator-deployment").urn in job.depends_on
    assert not graph.of_type("PyTorchJob")
    assert not [each for each in graph_of("dev").resources.values() if each.name.startswith("mpi-operator")]
