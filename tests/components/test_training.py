"""Training jobs (N02-N05, M02, M03, J10, AA06; KJ01-KJ10, NC01-NC10, NW02, NW03, NW07)."""

import json
from typing import Any

import pytest

from components.platform.pods import PodShape
from components.training.job import Saving, TrainingJob
from tests.components.samples import built, job_args


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
    plain = PodShape(gpus=1, efa=0, cpu_millicores=1000, memory_mib=2048, shm_mib=1024)
    assert "vpc.amazonaws.com/efa" not in pod(shape=plain)["containers"][0]["resources"]["limits"]
    assert set(env(shape=plain)) == {"NCCL_DEBUG"}


def test_the_script_is_told_when_and_where_to_save_t01() -> None:
    told = env(saving=Saving(every_seconds=900, keep=3))
    assert {name: value for name, value in told.items() if name.startswith("CHECKPOINT_")} == {
        "CHECKPOINT_DIR": "/checkpoints",
        "CHECKPOINT_EVERY_SECONDS": "900",
        "CHECKPOINT_KEEP": "3",
    }
    assert not any(name.startswith("CHECKPOINT_") for name in env())


def test_local_saves_go_to_the_nodes_own_disks_and_on_to_the_file_system_t01() -> None:
    """15 min to the NVMe and 30 to the file system, as the row has it."""
    saving = Saving(every_seconds=900, keep=3, file_system_seconds=1800)
    told, spec = env(saving=saving), pod(saving=saving)
    assert (told["CHECKPOINT_LOCAL_DIR"], told["CHECKPOINT_FILE_SYSTEM_SECONDS"]) == ("/local-checkpoints", "1800")
    assert {"name": "local", "emptyDir": {}} in spec["volumes"]
    assert {"name": "local", "mountPath": "/local-checkpoints"} in spec["containers"][0]["volumeMounts"]


def test_nccl_keeps_its_defaults_nc01_nc02_nc03_nc04_nc05_nc06_nc07_nc08_nc09_nc10() -> None:
    """NC17, PF08: nothing is tuned, and debugging output is that of production."""
    assert env() == {"NCCL_DEBUG": "WARN", "FI_PROVIDER": "efa"}


def test_memory_for_efa_can_be_locked_nw03() -> None:
    assert pod()["containers"][0]["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


def test_shared_memory_is_memory_below_the_pods_limit_aa06_n05() -> None:
    (shm,) = [each for each in pod()["volumes"] if each["name"] == "shm"]
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "65536Mi"}
    with pytest.raises(ValueError, match="counts against the pod's memory limit of 1024 MiB; make it smaller"):
        PodShape(gpus=1, efa=0, cpu_millicores=1000, memory_mib=1024, shm_mib=1024)


def test_data_is_read_only_and_each_run_has_its_checkpoints_n05_g31() -> None:
    mounts = {each["mountPath"]: each for each in pod()["containers"][0]["volumeMounts"]}
    assert mounts["/data"]["readOnly"] is True
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


def test_a_job_is_deleted_after_its_pods() -> None:
    """A queue with pods in it is refused to be deleted."""
    graph = built(lambda opts: TrainingJob("sample", job_args(), opts))
    annotations = graph.one("sample-job").inputs["metadata"]["annotations"]
    assert annotations == {"pulumi.com/deletionPropagationPolicy": "foreground"}


def test_a_changed_run_is_started_anew() -> None:
    """The operator leaves running pods as they are, whatever becomes of the job's spec."""
    graph = built(lambda opts: TrainingJob("sample", job_args(), opts))
    assert graph.one("sample-job").replace_on_changes == ("spec",)


def test_a_run_without_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="sft: a run needs one node at least"):
        job(nodes=0)
