"""Runs and services as they are planned, on every platform (A08, J09, J10, L07, N04, Q05, R07, T01)."""

import re
from copy import deepcopy
from typing import Any

from components.storage.staged import look_script
from components.storage.sums import DATA, WEIGHTS, checked
from components.training.backup import script
from components.training.job import FILES_KEY
from policy.pods import pods
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.stacks.platforms import Deployed, deployed, every_platform


def env(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


def saving_runs(found: Deployed) -> list[str]:
    return [name for name, run in found.plan.runs.items() if run.saving]


@every_platform
def test_a_run_takes_whole_nodes_with_all_of_their_fabric_l07_n04(stack: str) -> None:
    found = deployed(stack)
    assert found.plan.runs
    for name, run in found.plan.runs.items():
        network, template = found.network(run.pool), found.gang(name)
        (container,) = template["spec"]["containers"]
        limits = container["resources"]["limits"]
        assert limits["nvidia.com/gpu"] == str(found.plan.pools[run.pool].devices_per_node)
        fabric = {key: int(value) for key, value in limits.items() if "/" in key and key != "nvidia.com/gpu"}
        assert fabric == network.resources
        annotations = template["metadata"].get("annotations", {})
        assert {key: value for key, value in annotations.items() if key != FILES_KEY} == network.annotations
        capabilities = container.get("securityContext", {}).get("capabilities", {}).get("add", [])
        assert capabilities == list(network.capabilities)
        assert {key: value for key, value in env(container).items() if key in network.env} == network.env
        between = network.between if run.pods > 1 else {}
        assert {key: value for key, value in env(container).items() if key in between} == between
        named = {"NCCL_NET_PLUGIN"} if run.net_plugin else set()
        ours = ("CHECKPOINT_", "DATASET_", "METRICS_", "TORCH_ELASTIC_", "TORCH_NCCL_", "RUN_PLAN")
        told = {key for key in env(container) if not key.startswith(ours)}
        assert told == {"NCCL_DEBUG", *network.env, *between, *named}


@every_platform
def test_runs_that_tell_of_themselves_are_scraped_and_others_are_not(stack: str) -> None:
    found = deployed(stack)
    telling = {name: run.metrics_port for name, run in found.plan.runs.items() if run.metrics_port}
    for name in found.plan.runs:
        (container,) = found.gang(name)["spec"]["containers"]
        port = telling.get(name)
        assert container.get("ports", []) == ([{"name": "metrics", "containerPort": port}] if port else [])
        assert env(container).get("METRICS_PORT") == (str(port) if port else None)
    assert len(found.graph.of_type("PodMonitor")) == bool(telling)


@every_platform
def test_pods_go_to_their_pool_and_the_gpu_they_were_planned_for_j09_j10_kj21(stack: str) -> None:
    found = deployed(stack)
    placed = [(run.pool, found.gang(name)["spec"]) for name, run in found.plan.runs.items()]
    for name, service in found.plan.services.items():
        placed.append((service.pool, found.spec(f"service-{name}-deployment")["template"]["spec"]))
    for pool, pod in placed:
        product = found.plan.pools[pool].gpu_product
        assert pod["nodeSelector"] == {"gpucluster/pool": pool, "nvidia.com/gpu.product": product}
        assert pod["tolerations"] == [taint.toleration for taint in found.taints(pool)]


@every_platform
def test_workloads_come_after_their_nodes_and_after_gpus_work_k02(stack: str) -> None:
    found = deployed(stack)
    gate = found.graph.one("gpu-readiness-wait").urn
    kept = [(run.pool, f"run-{name}-job") for name, run in found.plan.runs.items()]
    kept += [(service.pool, f"service-{name}-deployment") for name, service in found.plan.services.items()]
    for pool, name in kept:
        tried = found.graph.one(f"gpu-checks-{pool}-smoke").urn
        assert {gate, tried, found.graph.one(found.nodes(pool)).urn} <= set(found.graph.one(name).depends_on)


@every_platform
def test_nodes_offer_what_the_plan_counts_and_a_pod_of_each_pool_gets_a_gpu_j07_j08(stack: str) -> None:
    found = deployed(stack)
    for name, pool in found.plan.pools.items():
        if pool.gpu_product is None:
            continue
        counted, smoke = (found.graph.one(f"gpu-checks-{name}-{each}") for each in ("count", "smoke"))
        asked = {each["args"][1]: each["args"][-1] for each in counted.inputs["spec"]["template"]["spec"]["containers"]}
        network = found.network(name)
        offered = {"nvidia.com/gpu": pool.devices_per_node, **network.resources}
        paths = {resource.replace(".", "\\."): count for resource, count in offered.items()}
        assert asked == {
            f"--for=jsonpath={{.status.allocatable.{path}}}={count}": f"-l=gpucluster/pool={name}"
            for path, count in paths.items()
        }
        pod = smoke.inputs["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"gpucluster/pool": name, "nvidia.com/gpu.product": pool.gpu_product}
        assert pod["tolerations"] == [taint.toleration for taint in found.taints(name)]
        for job in (counted, smoke):
            gates = {found.graph.one("gpu-readiness-wait").urn, found.graph.one(found.nodes(name)).urn}
            assert gates <= set(job.depends_on)


@every_platform
def test_a_run_saves_as_planned_and_where_the_platform_has_room_t01(stack: str) -> None:
    found = deployed(stack)
    for name in saving_runs(found):
        saving, spec = found.plan.runs[name].saving, found.gang(name)["spec"]
        assert saving is not None
        told = env(spec["containers"][0])
        assert told["CHECKPOINT_EVERY_SECONDS"] == str(saving.every_s)
        assert told["CHECKPOINT_KEEP"] == str(saving.keep)
        assert told["CHECKPOINT_URI"].startswith(f"{found.scheme}://")
        assert told["CHECKPOINT_URI"].endswith(f"/checkpoints/{name}")
        local = [each for each in spec["volumes"] if each["name"] == "local"]
        assert local == ([{"name": "local", **found.local}] if saving.local else [])
        assert told.get("CHECKPOINT_FILE_SYSTEM_SECONDS") == (str(saving.file_system_s) if saving.local else None)


@every_platform
def test_saves_go_on_by_the_platforms_copier_t01_r07(stack: str) -> None:
    found = deployed(stack)
    for name in saving_runs(found):
        saving = found.plan.runs[name].saving
        assert saving is not None
        backups = [each for each in found.graph.of_type("CronJob") if each.name == f"backup-{name}-schedule"]
        assert len(backups) == (1 if saving.object_store_s else 0)
        for backup in backups:
            job = backup.inputs["spec"]["jobTemplate"]["spec"]
            (copier,) = job["template"]["spec"]["containers"]
            assert copier["command"] == ["sh", "-c", script(found.copier)]
            assert found.copier.env.items() <= env(copier).items()
            assert job["template"]["spec"]["serviceAccountName"] == name
            assert job["activeDeadlineSeconds"] == saving.object_store_s


def test_one_platform_has_each_kind_of_saving() -> None:
    """Or the tests above would look at nothing."""
    runs = deployed("fake").plan.runs.values()
    assert [run.saving.local for run in runs if run.saving] == [True, False]
    assert [run.saving.object_store_s for run in runs if run.saving] == [None, 28_800]


@every_platform
def test_weights_come_by_the_platforms_copier_q05(stack: str) -> None:
    found = deployed(stack)
    for name, service in found.plan.services.items():
        assert service.weights.startswith(f"{found.scheme}://")
        copy = found.graph.one(f"weights-{name}-copy")
        pod = copy.inputs["spec"]["template"]["spec"]
        fetch, look = sorted(pod["containers"], key=lambda each: str(each["name"]))
        assert look["command"] == ["sh", "-c", look_script(found.copier, service.weights)]
        shell, (dash, script) = fetch["command"], fetch["args"]
        (path,) = set(re.findall(r"/models/[\w.-]+-[0-9a-f]{8}", script))
        script_of = checked(
            found.copier.fetch(service.weights, path), path, source=service.weights, sha256=None, kind=WEIGHTS
        )
        assert (shell, dash, script) == (["sh"], "-c", script_of)
        assert found.copier.env.items() <= env({"env": fetch.get("env", [])}).items()
        assert copy.timeouts["create"] == f"{service.copy_seconds}s"
        assert found.graph.one(found.ready).urn in copy.depends_on


@every_platform
def test_datasets_come_by_the_platforms_copier_before_the_runs_that_read_them_lf14(stack: str) -> None:
    found = deployed(stack)
    for name, run in found.plan.runs.items():
        (container,) = found.gang(name)["spec"]["containers"]
        mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
        if run.dataset is None:
            assert "/data" not in mounts
            continue
        dataset = found.plan.datasets[run.dataset]
        shared = mounts["/data"]
        if run.staging != "none":
            (stage,) = found.gang(name)["spec"]["initContainers"]
            assert (mounts["/data"]["name"], mounts["/data"]["readOnly"]) == ("local", True)
            (shared,) = [each for each in stage["volumeMounts"] if each["mountPath"] == "/shared-data"]
            staged = mounts["/data"]["subPath"].removeprefix("data/")
            assert f"--name={staged}" in stage["args"]
            assert (f"--parts={run.pods}" in stage["args"]) == (run.staging == "shard")
            assert shared["subPath"] == f"datasets/{staged}"
            assert shared["readOnly"]
        assert shared["subPath"].startswith(f"datasets/{dataset.name}")
        if dataset.source is None:
            continue
        copy = found.graph.one(f"dataset-{dataset.name}-copy")
        fetch, _ = sorted(copy.inputs["spec"]["template"]["spec"]["containers"], key=lambda each: str(each["name"]))
        path = f"/{shared['subPath']}"
        assert [*fetch["command"], *fetch["args"]] == found.copier.fetch(dataset.source, path)
        assert copy.timeouts["create"] == f"{dataset.copy_seconds}s"
        assert copy.urn in found.graph.one(f"run-{name}-job").depends_on


def test_one_platform_has_each_kind_of_dataset_lf14() -> None:
    """Or the test above would look at nothing."""
    assert {each.source is None for each in deployed("fake").plan.datasets.values()} == {True, False}


@every_platform
def test_no_pod_sees_the_root_of_a_shared_claim_lf14(stack: str) -> None:
    """The file system is one for all claims: without a directory of its own a mount shows what others have there."""
    seen = 0
    for pod in pods(deployed(stack).graph):
        shared = {each["name"] for each in pod.spec.get("volumes", []) if each.get("persistentVolumeClaim")}
        mounts = [each for one in pod.containers for each in one.get("volumeMounts", []) if each["name"] in shared]
        assert all(each.get("subPath") for each in mounts), pod.owner
        seen += len(mounts)
    assert seen


@every_platform
def test_a_server_itself_is_reached_inside_the_cluster_alone_y11(stack: str) -> None:
    found = deployed(stack)
    for name in found.plan.services:
        assert found.spec(f"service-{name}-service")["type"] == "ClusterIP"


@every_platform
def test_training_and_inference_are_kept_apart_a08(stack: str) -> None:
    found = deployed(stack)
    for name, run in found.plan.runs.items():
        assert found.graph.one(f"run-{name}-job").inputs["metadata"]["namespace"] == "training"
        assert found.gang(name)["spec"]["priorityClassName"] == run.priority
        assert found.plan.pools[run.pool].role == "training"
    for name, service in found.plan.services.items():
        server = found.graph.one(f"service-{name}-deployment").inputs
        assert server["metadata"]["namespace"] == "inference"
        assert server["spec"]["template"]["spec"]["priorityClassName"] == "inference"
        assert found.plan.pools[service.pool].role == "inference"


@every_platform
def test_slices_are_asked_for_like_gpus_k09_kj25(stack: str) -> None:
    found = deployed(stack)
    sliced = any(pool.mig for pool in found.plan.pools.values())
    values = found.graph.one("gpu-operator-release").inputs["values"]
    assert (values["migManager"]["enabled"], "mig" in values) == (sliced, sliced)
    for name, service in found.plan.services.items():
        container = found.spec(f"service-{name}-deployment")["template"]["spec"]["containers"][0]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == str(service.pod.gpus)
        assert f"--tensor-parallel-size={service.pod.gpus}" in container["command"]


@every_platform
def test_a_runs_job_has_labels_that_say_what_it_is_made_of(stack: str) -> None:
    found = deployed(stack)
    for name, run in found.plan.runs.items():
        labels = found.graph.one(f"run-{name}-job").inputs["metadata"]["labels"]
        assert labels["gpucluster/owner"] == found.plan.ownership.owner
        assert labels.get("gpucluster/dataset") == run.dataset
        assert "gpucluster/commit" not in labels, "nobody said which"


def test_a_digest_of_the_image_is_among_them_r10() -> None:
    """Half of it, as a label holds 63 characters; the whole one is in the annotation."""
    config = deepcopy(stack_config("dev"))
    run = config["gpucluster:training"]["runs"][0]
    digest = "0123456789abcdef" * 4
    run |= {"image": f"registry.example.com/ml/trainer@sha256:{digest}"}
    made = run_program(config, stack="dev").one(f"run-{run['name']}-job").inputs["metadata"]
    assert made["labels"]["gpucluster/image-digest"] == digest[:32]
    assert made["annotations"]["gpucluster/image"].endswith(f"@sha256:{digest}")


def test_a_dataset_with_a_digest_is_compared_before_its_runs_which_have_it_as_a_label_i03_r10() -> None:
    """The Job that copies fails where the data is not what its SHA256SUMS says; without a digest it only copies."""
    config, digest = deepcopy(stack_config("dev")), "fedcba9876543210" * 4
    training = config["gpucluster:training"]
    name, dataset = training["runs"][0]["name"], training["datasets"][0]

    def made(graph: Recorded) -> tuple[list[str], str, dict[str, Any]]:
        pod = graph.one(f"dataset-{dataset['name']}-copy").inputs["spec"]["template"]["spec"]
        (copy,) = (each for each in pod["containers"] if each["name"] == "copy")
        job = graph.one(f"run-{name}-job").inputs
        pods = next(iter(job["spec"]["pytorchReplicaSpecs"].values()))["template"]["spec"]
        (read,) = (each["subPath"] for each in pods["containers"][0]["volumeMounts"] if each["mountPath"] == "/data")
        return [*copy["command"], *copy["args"]], read, job["metadata"]

    plain, before, _ = made(graph_of("dev"))
    dataset["sha256"] = digest
    compared, after, told = made(run_program(config, stack="dev"))
    fetch = [each.replace(before, after) for each in plain]
    assert compared == ["sh", "-c", checked(fetch, f"/{after}", source=dataset["source"], sha256=digest, kind=DATA)]
    assert before != after, "what another digest let in stays where it was"
    assert told["labels"]["gpucluster/dataset-sha256"] == digest[:32]
    assert told["annotations"]["gpucluster/dataset-sha256"] == digest


def test_a_run_is_given_the_topology_that_somebody_wrote_down() -> None:
    """P12: each pod has the file, and NCCL its name; without one it looks for itself."""
    text = '<system version="1"><cpu numaid="0"/></system>'
    config = deepcopy(stack_config("metal"))
    name = config["gpucluster:training"]["runs"][0]["name"]
    config["gpucluster:training"]["runs"][0]["topology"] = text
    graph = run_program(config, stack="metal")
    spec = graph.one(f"run-{name}-job").inputs["spec"]
    pods = [
        each["template"]["spec"] for each in next(spec[key] for key in spec if key.endswith("ReplicaSpecs")).values()
    ]
    for pod in pods:
        (container,) = (each for each in pod["containers"] if each["name"] in ("pytorch", "node"))
        env = {each["name"]: each.get("value") for each in container["env"]}
        assert env["NCCL_TOPO_FILE"] == "/opt/gpucluster/topology/node.xml"
        (mount,) = (each for each in container["volumeMounts"] if each["mountPath"] == "/opt/gpucluster/topology")
        (volume,) = (each for each in pod["volumes"] if each["name"] == mount["name"])
    held = [each.inputs["data"] for each in graph.of_type("ConfigMap") if "node.xml" in (each.inputs.get("data") or {})]
    assert held == [{"node.xml": text}]
    assert volume["configMap"]["name"]


def test_two_to_six_replicas_come_and_go_by_the_corrected_windows_q08() -> None:
    """One more each two minutes, one less each five, unless a file says otherwise; test_scale_live takes a tenth."""
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][2]["count"] = 7
    config["gpucluster:budget"] = {"maxHourlyUsd": 40}
    config["gpucluster:serving"]["services"][0] |= {"minReplicas": 2, "maxReplicas": 6}
    spec = run_program(config, stack="dev").one("service-llama-3-8b-autoscaler").inputs["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 6)
    windows = {"scaleUp": 120, "scaleDown": 300}
    assert spec["behavior"] == {
        way: {
            "stabilizationWindowSeconds": seconds,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": seconds}],
        }
        for way, seconds in windows.items()
    }
