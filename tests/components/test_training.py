"""Training jobs (N02-N05, M02, M03, J10, AA06; KJ01-KJ10, NC01-NC10, NW02, NW03, NW07)."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.platform.pods import PodNetwork, PodShape
from components.training import copier, run_monitor
from components.training.job import RunData, SecretValue, TrainingJob
from components.training.pod import affinity, environment, recorder
from components.training.staging import SCRIPTS, staging_files
from planner.reliability.checkpoints import Saving
from tests.components.samples import built
from tests.components.samples.training import job_args

SAVING = Saving(every_s=900, within_s=60, keep=3, local=False, file_system_s=900)
WHOLE = PodShape(gpus=8, cpu_millicores=24_000, memory_mib=9000, shm_mib=9)


def job(**changes: Any) -> dict[str, Any]:
    graph = built(lambda opts: TrainingJob("sample", job_args(**changes), opts))
    return dict(graph.one("sample-job").inputs["spec"])


def pod(**changes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = job(**changes)["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    return spec


def env(**changes: Any) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod(**changes)["containers"][0]["env"]}


def test_one_master_and_the_rest_workers_without_elasticity_kj02_n02() -> None:
    """KJ08: an elastic range would restart every worker from the last checkpoint; a run keeps its size."""
    spec = job(nodes=8)
    assert {name: each["replicas"] for name, each in spec["pytorchReplicaSpecs"].items()} == {"Master": 1, "Worker": 7}
    assert "elasticPolicy" not in spec


@pytest.mark.parametrize(("nodes", "restarts", "limit"), [(1, 3, 4), (8, 3, 25), (128, 6, 769), (8, 0, 1)])
def test_a_failure_costs_one_restart_of_the_gang_kj08(nodes: int, restarts: int, limit: int) -> None:
    """The operator fails a job whose pods have restarted so often together: three times eight are not yet too much."""
    assert job(nodes=nodes, restarts=restarts)["runPolicy"]["backoffLimit"] == limit


def test_a_run_on_one_node_has_no_workers() -> None:
    """DC13: nor does it need others to start with."""
    assert set(job(nodes=1)["pytorchReplicaSpecs"]) == {"Master"}


def test_the_container_has_the_name_the_webhook_wants_kj01() -> None:
    """NW07: and it is alone; a side-car would keep the job from ending."""
    assert [each["name"] for each in pod()["containers"]] == ["pytorch"]


def test_torchrun_takes_its_counts_from_the_operator_kj03_n03() -> None:
    container = pod()["containers"][0]
    assert (container["command"], container["args"]) == (["torchrun"], ["/train.py", "--config", "/c.yaml"])
    assert job()["nprocPerNode"] == "1"


def test_rendezvous_is_left_to_the_operator_kj04() -> None:
    """Host and port are the operator's (NAME-master-0, 23456); torchrun's own default 29500 is nobody's here."""
    written = json.dumps(job(nodes=8))
    assert not [word for word in ("23456", "29500", "MASTER_", "rdzv", "RDZV") if word in written]


@pytest.mark.parametrize("name", ["WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT", "PET_NNODES"])
def test_the_operators_own_variables_are_refused_kj06_kj07(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is set by the training operator; remove it from env"):
        job(env={name: "1"})


@pytest.mark.parametrize("nodes", [1, 2, 8])
def test_the_gang_is_all_or_nothing_m02_kj10(nodes: int) -> None:
    """KJ09: the PodGroup waits for as many pods as the run has. SL14: Slurm's gangs take turns, these do not."""
    policy = job(nodes=nodes)["runPolicy"]["schedulingPolicy"]
    assert policy == {"minAvailable": nodes, "queue": "research", "priorityClass": "training"}


def test_volcano_schedules_the_pods_m03() -> None:
    assert pod()["schedulerName"] == "volcano"


def test_pods_ask_for_the_nodes_gpus_and_efa_and_get_no_more_n04_l07_kj23() -> None:
    resources = pod()["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["nvidia.com/gpu"] == "1"
    assert resources["limits"]["vpc.amazonaws.com/efa"] == "1"


def test_pods_without_efa_ask_for_none_and_name_no_provider_nc01() -> None:
    plain = PodShape(gpus=1, cpu_millicores=1000, memory_mib=2048, shm_mib=1024)
    container = pod(shape=plain)["containers"][0]
    assert set(container["resources"]["limits"]) == {"cpu", "memory", "nvidia.com/gpu"}
    assert "add" not in container["securityContext"]["capabilities"]
    assert set(env(shape=plain, data=None, nodes=1)) == {"NCCL_DEBUG"}


def test_a_pod_gets_what_its_fabric_needs_and_no_more() -> None:
    """Whatever the fabric is: resource, attachment, NCCL's words and capabilities are the platform's."""
    rails = PodNetwork(
        resources={"example.com/rdma": 4},
        annotations={"k8s.v1.cni.cncf.io/networks": "rails"},
        env={"NCCL_IB_HCA": "card_"},
        capabilities=("IPC_LOCK", "SYS_RESOURCE"),
    )
    shape = PodShape(gpus=1, cpu_millicores=1000, memory_mib=2048, shm_mib=1024, network=rails)
    template = job(shape=shape)["pytorchReplicaSpecs"]["Master"]["template"]
    assert template["metadata"]["annotations"] == rails.annotations
    (container,) = template["spec"]["containers"]
    assert container["resources"]["limits"]["example.com/rdma"] == "4"
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK", "SYS_RESOURCE"]
    assert env(shape=shape, data=None, nodes=1) == {"NCCL_DEBUG": "WARN", "NCCL_IB_HCA": "card_"}


def test_the_script_is_told_when_and_where_to_save_t01() -> None:
    told = env(saving=SAVING)
    assert {name: value for name, value in told.items() if name.startswith("CHECKPOINT_")} == {
        "CHECKPOINT_DIR": "/checkpoints",
        "CHECKPOINT_EVERY_SECONDS": "900",
        "CHECKPOINT_KEEP": "3",
        "CHECKPOINT_WITHIN_SECONDS": "60",
    }
    assert not any(name.startswith("CHECKPOINT_") for name in env())


def test_a_run_that_is_stopped_has_the_time_of_a_save_j15() -> None:
    assert pod(saving=replace(SAVING, within_s=300.5))["terminationGracePeriodSeconds"] == 301 + 30
    local = replace(SAVING, within_s=300.5, local=True, copy_s=95.9)
    assert pod(saving=local, local={"emptyDir": {}})["terminationGracePeriodSeconds"] == 397 + 30
    assert "terminationGracePeriodSeconds" not in pod()


def test_local_saves_go_to_the_nodes_own_disks_and_on_to_the_file_system_t01() -> None:
    """15 min to the NVMe and 30 to the file system, as the row has it."""
    saving, disks = replace(SAVING, local=True, file_system_s=1800), {"hostPath": {"path": "/mnt/scratch"}}
    told, spec = env(saving=saving, local=disks), pod(saving=saving, local=disks)
    assert (told["CHECKPOINT_LOCAL_DIR"], told["CHECKPOINT_FILE_SYSTEM_SECONDS"]) == ("/local-checkpoints", "1800")
    assert {"name": "local", **disks} in spec["volumes"]
    assert {"name": "local", "mountPath": "/local-checkpoints"} in spec["containers"][0]["volumeMounts"]
    with pytest.raises(ValueError, match="sft: checkpoints go to the nodes' local disks first; pass local"):
        job(saving=saving)
    assert [each for each in pod(saving=SAVING, local=disks)["volumes"] if each["name"] == "local"] == []


def test_a_container_beside_the_ranks_seals_and_copies_saves_of_any_framework_s05() -> None:
    """A native side-car, after what stages data; the pod is as large as without it."""
    files = {copier.FILES: {"copying.py": ""}}
    saving, disks = (
        replace(SAVING, sidecar="local", local=True, file_system_s=1800),
        {"hostPath": {"path": "/mnt/scratch"}},
    )
    for role, first in (("Master", "0"), ("Worker", "1")):
        replicas = job(saving=saving, local=disks, files=files, nodes=4, shape=WHOLE)["pytorchReplicaSpecs"]
        said = replicas[role]["template"]["spec"]
        (beside,) = said["initContainers"]
        assert (beside["name"], beside["restartPolicy"]) == ("saves", "Always")
        assert beside["args"] == [
            "--shared=/checkpoints",
            "--local=/local-checkpoints",
            "--every-seconds=1800",
            "--quiet-seconds=60",
            "--keep=3",
            "--parts=4",
            "--part=$(REPLICA_INDEX)",
            f"--first={first}",
        ]
        assert [each["mountPath"] for each in beside["volumeMounts"]] == [
            "/checkpoints",
            "/local-checkpoints",
            copier.FILES,
        ]
        (ranks,) = said["containers"]
        assert copier.FILES not in [each["mountPath"] for each in ranks["volumeMounts"]]
        assert [each["resources"]["requests"]["cpu"] for each in (beside, ranks)] == ["3", "21000m"]
        assert [each["resources"]["limits"]["memory"] for each in (beside, ranks)] == ["2048Mi", "6952Mi"]


def test_where_saves_are_shared_the_first_pod_alone_seals_them_s05() -> None:
    files, saving = {copier.FILES: {"copying.py": ""}}, replace(SAVING, sidecar="shared")
    replicas = job(saving=saving, files=files, nodes=4, shape=WHOLE)["pytorchReplicaSpecs"]
    (beside,) = replicas["Master"]["template"]["spec"]["initContainers"]
    assert "--parts=1" in beside["args"]
    assert not [each for each in beside["args"] if each.startswith("--local")]
    assert "initContainers" not in replicas["Worker"]["template"]["spec"]


def test_nccl_keeps_its_defaults_nc01_nc02_nc03_nc04_nc05_nc06_nc07_nc08_nc09_nc10() -> None:
    """NC17, PF08: nothing is tuned, and debugging output is that of production."""
    assert env(nodes=1, data=None) == {"NCCL_DEBUG": "WARN", "FI_PROVIDER": "efa"}


@pytest.mark.parametrize(("nodes", "gpus", "records"), [(1, 1, False), (1, 8, True), (2, 1, True)])
def test_ranks_that_wait_for_others_remember_what_for(nodes: int, gpus: int, records: bool) -> None:
    """NCCL's flight recorder, written where saves are when PyTorch's watchdog gives up: it outlives the pod."""
    shape = PodShape(gpus=gpus, cpu_millicores=1000, memory_mib=2048, shm_mib=1024)
    found = {key: value for key, value in env(nodes=nodes, shape=shape).items() if key.startswith("TORCH_NCCL_")}
    assert bool(found) == records
    assert found == recorder(nodes * gpus)
    if records:
        assert found["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "1"
        assert found["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"].startswith("/checkpoints/")
        over = {"TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}
        assert env(nodes=nodes, shape=shape, env=over)["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "0"


def test_a_gang_on_efa_ends_where_it_would_take_sockets_and_names_its_provider_lf04() -> None:
    """What NCCL must be told so that a missing plugin is no silent fall to TCP; nothing of it is tuning."""
    between = {"NCCL_NET": "AWS Libfabric", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET", **recorder(2)}
    assert env(nodes=2, data=None) == {"FI_PROVIDER": "efa", **between}
    assert env(nodes=2, data=None, env={"NCCL_NET_PLUGIN": "ofi"}) == {
        "FI_PROVIDER": "efa",
        **between,
        "NCCL_NET_PLUGIN": "ofi",
    }


def test_memory_for_efa_can_be_locked_nw03() -> None:
    assert pod()["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}


def test_shared_memory_is_memory_below_the_pods_limit_aa06_n05() -> None:
    (shm,) = [each for each in pod()["volumes"] if each["name"] == "shm"]
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "65536Mi"}
    with pytest.raises(ValueError, match="counts against the pod's memory limit of 1024 MiB; make it smaller"):
        PodShape(gpus=1, cpu_millicores=1000, memory_mib=1024, shm_mib=1024)


def test_a_run_sees_its_own_data_and_checkpoints_and_nothing_else_n05_g31_lf14() -> None:
    mounts = {each["mountPath"]: each for each in pod()["containers"][0]["volumeMounts"]}
    assert (mounts["/data"]["readOnly"], mounts["/data"]["subPath"]) == (True, "datasets/chats-1234")
    shared = {each["name"] for each in pod()["volumes"] if "persistentVolumeClaim" in each}
    assert all(each.get("subPath") for each in mounts.values() if each["name"] in shared)
    assert mounts["/checkpoints"]["subPath"] == "checkpoints/sft"
    claims = {
        each["name"]: each["persistentVolumeClaim"] for each in pod()["volumes"] if "persistentVolumeClaim" in each
    }
    assert claims["data"] == {"claimName": "training-data", "readOnly": True}
    assert claims["checkpoints"]["claimName"] == "checkpoints"


def test_pods_go_to_their_pool_and_to_the_gpu_they_were_planned_for_j10_kj21() -> None:
    assert pod()["nodeSelector"] == {
        "gpucluster/pool": "training",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    }


def test_pods_tolerate_their_pools_taints_j09() -> None:
    assert pod()["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    ]


def test_a_run_without_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="sft: a run needs at least one node"):
        job(nodes=0)


def test_an_elastic_run_has_workers_alone_and_starts_at_its_fewest_kj02_kj05_kj09_n09() -> None:
    spec = job(nodes=32, elastic=30, restarts=3)
    assert {name: each["replicas"] for name, each in spec["pytorchReplicaSpecs"].items()} == {"Worker": 32}
    assert spec["elasticPolicy"] == {
        "rdzvBackend": "c10d",
        "minReplicas": 30,
        "maxReplicas": 32,
        "maxRestarts": 3,
        "rdzvConf": [{"key": "join_timeout", "value": "900"}],
    }
    assert spec["runPolicy"]["schedulingPolicy"]["minAvailable"] == 30


@pytest.mark.parametrize("least", [0, 3])
def test_an_elastic_run_stays_between_one_node_and_all(least: int) -> None:
    with pytest.raises(ValueError, match=f"sft: elastic is {least}; it must be between 1 and 2 nodes"):
        job(elastic=least)
    assert job(elastic=2)["elasticPolicy"]["minReplicas"] == 2


def test_torchrun_lets_the_ranks_save_as_long_as_the_pod_lives_j15() -> None:
    """torchrun kills ranks 30 s after SIGTERM, whatever grace the pod has, unless it is told."""
    assert env(saving=replace(SAVING, within_s=300.5))["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "301"
    saving = replace(SAVING, within_s=300.5, local=True, copy_s=95.9)
    told = env(saving=saving, local={"emptyDir": {}})
    assert told["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "397", "the trainer's copier ends before its rank"
    assert told["CHECKPOINT_WITHIN_SECONDS"] == "301"
    assert "TORCH_ELASTIC_SHUTDOWN_TIMEOUT" not in env()


def test_files_of_a_run_are_there_before_it_and_begin_it_anew_when_they_change() -> None:
    files = {"/etc/gpucluster/launch": {"plan.json": "{}"}, "/opt/gpucluster/trainer": {"train.py": "pass"}}
    graph = built(lambda opts: TrainingJob("sample", job_args(files=files), opts))
    maps = {each.inputs["metadata"]["name"]: each for each in graph.of_type("ConfigMap")}
    assert {name: each.inputs["data"] for name, each in maps.items()} == {
        "sft-launch": {"plan.json": "{}"},
        "sft-trainer": {"train.py": "pass"},
    }
    registered = graph.one("sample-job")
    assert {each.urn for each in maps.values()} <= set(registered.depends_on)
    for role in registered.inputs["spec"]["pytorchReplicaSpecs"].values():
        spec = role["template"]["spec"]
        mounts = {each["name"]: each for each in spec["containers"][0]["volumeMounts"]}
        assert mounts["sft-launch"] == {"name": "sft-launch", "mountPath": "/etc/gpucluster/launch", "readOnly": True}
        assert {"name": "sft-trainer", "configMap": {"name": "sft-trainer"}} in spec["volumes"]
    assert _digest(files) != _digest({**files, "/opt/gpucluster/trainer": {"train.py": "raise"}})
    assert _digest(files) == _digest(dict(reversed(files.items()))), "in whatever order they are named"
    assert "gpucluster/files" not in job()["pytorchReplicaSpecs"]["Master"]["template"]["metadata"].get(
        "annotations", {}
    )


def _digest(files: dict[str, dict[str, str]]) -> str:
    template = job(files=files)["pytorchReplicaSpecs"]["Master"]["template"]
    return str(template["metadata"]["annotations"]["gpucluster/files"])


def _scraped(**changes: Any) -> list[str]:
    """Kinds of replica whose pods the monitor of runs finds: by its selector, and by the port that it asks for."""
    wanted = run_monitor.spec()
    (endpoint,) = wanted["podMetricsEndpoints"]

    def found(template: dict[str, Any]) -> bool:
        labels = template["metadata"]["labels"]
        ports = [each["name"] for each in template["spec"]["containers"][0].get("ports", [])]
        rules = wanted["selector"]["matchExpressions"]
        return all(rule["key"] in labels for rule in rules) and endpoint["port"] in ports

    assert set(wanted["selector"]) == {"matchExpressions"}
    return [kind for kind, each in job(**changes)["pytorchReplicaSpecs"].items() if found(each["template"])]


def test_rank_0_is_scraped_wherever_it_may_be_and_no_pod_that_never_has_it() -> None:
    """An elastic run has no Master (KJ02): torchrun gives rank 0 to any of its workers."""
    assert _scraped(nodes=8, metrics_port=9464) == ["Master"]
    assert _scraped(nodes=8, metrics_port=9464, elastic=6) == ["Worker"]
    assert _scraped(nodes=8, elastic=6) == []


def test_a_shard_comes_to_the_nodes_own_disks_before_the_ranks_start() -> None:
    """Each pod of the gang takes another one: the Master the first, workers those after it."""
    local: dict[str, Any] = {"emptyDir": {}}
    data = RunData(claim="data", path="datasets/chats-1234")
    found = job(nodes=4, data=data, local=local, staging="shard", files={SCRIPTS: {"stage.py": "# brings"}})
    for role, first in (("Master", 0), ("Worker", 1)):
        spec = found["pytorchReplicaSpecs"][role]["template"]["spec"]
        (stage,), (container,) = spec["initContainers"], spec["containers"]
        assert stage["args"][-3:] == ["--parts=4", "--part=$(REPLICA_INDEX)", f"--first={first}"]
        assert "nvidia.com/gpu" not in stage["resources"]["limits"]
        mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
        assert mounts["/data"] == {
            "name": "local",
            "mountPath": "/data",
            "subPath": "data/chats-1234",
            "readOnly": True,
        }
        there = {each["mountPath"]: each for each in stage["volumeMounts"]}
        assert there["/staged"] == {"name": "local", "mountPath": "/staged", "subPath": "data"}
        assert there["/shared-data"]["subPath"] == "datasets/chats-1234"
        assert {"name": "local", **local} in spec["volumes"]
    whole = job(nodes=4, data=data, local=local, staging="full", files={SCRIPTS: {"stage.py": "# brings"}})
    (stage,) = whole["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["initContainers"]
    assert not [each for each in stage["args"] if each.startswith("--part")]


def test_what_brings_the_data_has_all_its_modules_where_a_pod_finds_it(tmp_path: Path) -> None:
    """The kubelet writes a ConfigMap's files to a directory of its own and links each by its name."""
    kept = tmp_path / "..data"
    kept.mkdir()
    for name, text in staging_files().items():
        (kept / name).write_text(text, encoding="utf-8")
        (tmp_path / name).symlink_to(Path("..data") / name)
    words = ["--source=/nowhere", f"--root={tmp_path / 'disks'}", "--name=data", "--pod=one"]
    done = subprocess.run(
        [sys.executable, "-E", tmp_path / "stage.py", *words], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("data could not be copied to this node: no files in /nowhere")


def test_staging_needs_disks_and_a_shard_a_fixed_number_of_nodes() -> None:
    with pytest.raises(ValueError, match="sft: staging copies data to the nodes' local disks; pass data and local"):
        job(staging="full")
    with pytest.raises(
        ValueError, match="sft: staging: shard needs a fixed number of nodes, which an elastic run does not have"
    ):
        job(staging="shard", local={"emptyDir": {}}, nodes=4, elastic=2)


def test_a_run_ends_at_its_deadline_and_keeps_what_it_is_made_of() -> None:
    assert "activeDeadlineSeconds" not in job()["runPolicy"]
    assert job(deadline_seconds=7200)["runPolicy"]["activeDeadlineSeconds"] == 7200
    assert "ttlSecondsAfterFinished" not in job(deadline_seconds=7200)["runPolicy"], "up would train again"
    made = built(lambda opts: TrainingJob("sample", job_args(lineage={"owner": "ml"}), opts)).one("sample-job")
    assert made.inputs["metadata"]["annotations"]["gpucluster/owner"] == "ml"


def test_pods_of_several_nodes_prefer_those_near_the_others() -> None:
    near = "network.topology.nvidia.com/leaf"
    found = affinity("pretrain", measured=True, near=near)
    (term,) = found["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term == {
        "weight": 100,
        "podAffinityTerm": {"topologyKey": near, "labelSelector": {"matchLabels": {"gpucluster/run": "pretrain"}}},
    }
    assert "nodeAffinity" in found
    assert affinity("pretrain", measured=False, near=None) == {}
    shape = PodShape(gpus=8, cpu_millicores=1, memory_mib=2, shm_mib=1, network=PodNetwork(near=near))
    for nodes, there in ((1, False), (2, True)):
        text = str(job(nodes=nodes, shape=shape))
        assert ("podAffinity" in text) is there


@pytest.mark.parametrize(("cpus", "threads", "taken"), [(186, 2, 4), (30, 1, 3), (30, 2, 2), (6, 1, 1), (6, 2, 2)])
def test_a_copier_leaves_ranks_whole_cores_where_pods_have_them_to_themselves(
    cpus: int, threads: int, taken: int
) -> None:
    """Its share and theirs are multiples of a core's threads: a kubelet refuses the pod otherwise (AA03)."""
    whole = PodShape(gpus=8, cpu_millicores=cpus * 1000, memory_mib=65536, shm_mib=1024, threads=threads)
    left, asked = copier.shared(whole)
    assert (asked["cpu"], left.cpu_millicores) == (str(taken), (cpus - taken) * 1000)


def test_a_secret_of_a_run_is_read_where_it_lies() -> None:
    """The value stands in no pod: whoever may look at pods does not see it."""
    secrets = {"WANDB_API_KEY": SecretValue(name="tracker", key="token"), "A": SecretValue(name="other", key="b")}
    found = environment(PodShape(gpus=1, cpu_millicores=1, memory_mib=2, shm_mib=1), 1, {"B": "1"}, secrets)
    assert [each for each in found if "valueFrom" in each or "value" not in each] == [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "b"}}},
        {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "tracker", "key": "token"}}},
    ]
