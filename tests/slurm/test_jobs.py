"""Batch scripts of runs, run by bash with programs that tell how they were started; and how nccl-tests is judged."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from settings.presets import preset
from slurm.bundle import files
from slurm.containers import definitions, file_name
from slurm.jobs import environment
from stacks.recipes import started
from tests.slurm.stacks import as_shipped, planned

TOLD = """\
#!/bin/bash
printf '%s\\n' "$@" >"$TOLD/srun.words"
env >"$TOLD/srun.env"
"""
SCONTROL = """\
#!/bin/bash
echo "$*" >>"$TOLD/scontrol.words"
case "$1" in show) for n in 0 1 2 3; do echo "training-$n"; done ;; esac
"""


def run_script(text: str, root: Path, srun: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A batch script as slurmd starts it, on four machines of which there are none."""
    for name, program in {"srun": srun, "scontrol": SCONTROL}.items():
        file = root / name
        file.write_text(program, encoding="utf-8")
        file.chmod(0o755)
    own = {
        "PATH": f"{root}:{os.environ['PATH']}",
        "TOLD": str(root),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": "training-[0-3]",
        "SLURM_JOB_NUM_NODES": "4",
        "SLURM_CPUS_PER_TASK": "31",
        **variables,
    }
    return subprocess.run(
        ["bash", "-c", text], env=own, cwd=root, capture_output=True, text=True, timeout=60, check=False
    )


def asked(text: str) -> dict[str, str]:
    """What a script asks of Slurm."""
    lines = [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH")]
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def of(run: dict[str, Any], root: Path, **sections: Any) -> str:
    """The script of a run of slurm-8n with other keys, whose shared files are below a directory."""
    (shipped,) = preset("slurm-8n")["training"]["runs"]
    section = {"pools": [], "sharedPath": str(root / "shared"), "scratchPath": str(root / "scratch")}
    whole, slurm = planned("slurm-8n", training={"runs": [{**shipped, **run}], **sections}, slurm=section)
    return files("hall", whole, slurm)[f"jobs/{shipped['name']}.sbatch"]


def test_a_run_asks_for_what_its_pods_have() -> None:
    """W05, SL13: one task for each machine, all that it has, in the queue's account and by its priority."""
    found = asked(files("slurm-8n", *as_shipped("slurm-8n"))["jobs/llama-2-7b.sbatch"])
    (nodes,) = as_shipped("slurm-8n")[1].nodes
    assert (found["nodes"], found["ntasks-per-node"], found["gpus-per-node"]) == ("8", "1", "h100:8")
    assert (found["cpus-per-task"], found["mem"]) == (str(nodes.job_cpus), f"{nodes.job_memory_mib}M")
    assert (found["account"], found["qos"], found["partition"]) == ("gpu-training", "training", "training")
    assert "time" not in found


def test_its_environment_is_that_of_its_pods() -> None:
    whole, slurm = as_shipped("slurm-8n")
    run = whole.runs["llama-2-7b"]
    (nodes,) = slurm.nodes
    found = environment(slurm, nodes, run, started(run))
    assert found["NCCL_IB_HCA"] == "=mlx5_0"
    assert found["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "30"
    assert found["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "1"
    assert "NCCL_SOCKET_IFNAME" not in found


def test_torchrun_is_started_with_the_words_of_the_framework(tmp_path: Path) -> None:
    """N18: the launch of the one builder, behind the meeting point and torchrun's own options."""
    text = of(
        {"framework": "megatron", "numaBinding": "node", "nccl": [{"name": "NCCL_DEBUG", "value": "it's"}]}, tmp_path
    )
    done = run_script(text, tmp_path, TOLD)
    assert done.returncode == 0, done.stderr
    words = (tmp_path / "srun.words").read_text(encoding="utf-8").splitlines()
    assert words[:2] == ["--kill-on-bad-exit=1", "--cpus-per-task=31"]
    at = words.index("torchrun")
    assert words[at + 1 : at + 8] == [
        "--nnodes=4",
        "--nproc-per-node=8",
        "--rdzv-backend=c10d",
        "--rdzv-id=4711",
        "--rdzv-endpoint=training-0:29711",
        "--numa-binding=node",
        "/workspace/train.py",
    ]
    assert any(word.startswith("--tensor-model-parallel-size") for word in words[at:])
    shared = tmp_path / "shared"
    assert f"{shared}/slurm/jobs/llama-2-7b/launch:/etc/gpucluster/launch:ro" in words
    assert f"{shared}/checkpoints/llama-2-7b:/checkpoints" in words
    assert (shared / "checkpoints" / "llama-2-7b").is_dir()
    lines = (tmp_path / "srun.env").read_text(encoding="utf-8").splitlines()
    assert "NCCL_DEBUG=it's" in lines
    assert "RUN_PLAN=/etc/gpucluster/launch/plan.json" in lines


def test_files_of_the_launch_lie_where_they_are_bound(tmp_path: Path) -> None:
    (shipped,) = preset("slurm-8n")["training"]["runs"]
    whole, slurm = planned("slurm-8n", training={"runs": [{**shipped, "framework": "reference", "script": []}]})
    found = files("hall", whole, slurm)
    assert json.loads(found["jobs/llama-2-7b/launch/plan.json"])["model"] == "llama-2-7b"
    assert "jobs/llama-2-7b/trainer/train.py" in found
    assert "/mnt/shared/slurm/jobs/llama-2-7b/trainer:/opt/gpucluster/trainer:ro" in found["jobs/llama-2-7b.sbatch"]


def test_mpi_has_a_task_for_each_gpu(tmp_path: Path) -> None:
    text = of({"launcher": "mpi"}, tmp_path)
    assert (asked(text)["ntasks-per-node"], asked(text)["cpus-per-task"]) == ("8", "31")
    assert run_script(text, tmp_path, TOLD).returncode == 0
    words = (tmp_path / "srun.words").read_text(encoding="utf-8").splitlines()
    assert "--mpi=pmix" in words
    assert "torchrun" not in words
    assert words[-1] == "/workspace/train.py"


def test_an_elastic_run_starts_with_as_many_machines_as_there_are(tmp_path: Path) -> None:
    assert asked(of({"elastic": {"minNodes": 4}}, tmp_path))["nodes"] == "4-8"


def test_a_deadline_is_a_limit(tmp_path: Path) -> None:
    assert asked(of({"deadlineHours": 1.5}, tmp_path))["time"] == "90"


def test_a_failure_is_queued_again_until_it_has_been_so_often(tmp_path: Path) -> None:
    text, failing, said = of({"restarts": 2}, tmp_path), "#!/bin/bash\nexit 1\n", tmp_path / "scontrol.words"
    assert run_script(text, tmp_path, failing, SLURM_RESTART_COUNT="1").returncode == 1
    assert "requeue 4711" in said.read_text(encoding="utf-8")
    said.unlink()
    assert run_script(text, tmp_path, failing, SLURM_RESTART_COUNT="2").returncode == 1
    assert "requeue" not in said.read_text(encoding="utf-8")


NCCL = """\
#!/bin/bash
echo "$*" >>"$TOLD/srun.words"
for word in "$@"; do case "$word" in --nodelist=*) names=${{word#*=}} ;; *_perf) program=$word ;; esac; done
echo "# Out of bounds values : {wrong} OK"
case "$names" in
  training-2) echo "# Avg bus bandwidth    : {slow} " ;;
  *) echo "# Avg bus bandwidth    : 450.5 " ;;
esac
"""


@pytest.mark.parametrize(
    ("slow", "wrong", "verdict", "status"),
    [("450", 0, "pass", 0), ("430", 0, "warn", 0), ("419.9", 0, "fail", 1), ("", 0, "fail", 1), ("450", 3, "fail", 1)],
)
def test_a_slow_machine_is_named_and_fails_the_script(
    tmp_path: Path, slow: str, wrong: int, verdict: str, status: int
) -> None:
    """P18: by the plan's lines, 440 and 420 GB/s inside a machine."""
    text = files("slurm-8n", *as_shipped("slurm-8n"))["jobs/nccl-training.sbatch"]
    done = run_script(text, tmp_path, NCCL.format(slow=slow, wrong=wrong))
    assert done.returncode == status, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "all_reduce_perf 8 GiB training-2:" in line]
    assert [line.split()[0] for line in lines] == [verdict]
    drains = [line for line in done.stdout.splitlines() if "scontrol update nodename=training-2 state=drain" in line]
    assert bool(drains) is (status == 1)


def test_every_machine_and_every_pair_is_measured_once(tmp_path: Path) -> None:
    """NC16."""
    text = files("slurm-8n", *as_shipped("slurm-8n"))["jobs/nccl-training.sbatch"]
    done = run_script(text, tmp_path, NCCL.format(slow="450", wrong=0))
    alone = [line for line in done.stdout.splitlines() if " all_reduce_perf 16 GiB " in line]
    assert sorted(line.split()[4].rstrip(":") for line in alone) == [
        "training-0",
        "training-0,training-1",
        "training-1",
        "training-2",
        "training-2,training-3",
        "training-3",
    ]
    for line in (tmp_path / "srun.words").read_text(encoding="utf-8").splitlines():
        words = dict(word.partition("=")[::2] for word in line.split())
        assert (words["--ntasks-per-node"], words["--mpi"]) == ("8", "pmix"), "NC16: a rank for each GPU"
        assert int(words["--ntasks"]) == 8 * int(words["--nodes"])
        assert " -g 1 " in line
    assert "recorded all_reduce_perf 1 GiB training-0: 450.5 GB/s (warn below -, fail below -)" in done.stdout


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("registry.example.com/ml/trainer:1.0", "ml-trainer-1.0"),
        ("nvcr.io/nvidia/pytorch:26.06-py3", "nvidia-pytorch-26.06-py3"),
        ("localhost:5000/trainer:2", "trainer-2"),
        ("ml/trainer:1.0", "ml-trainer-1.0"),
    ],
)
def test_an_image_has_a_file_of_its_name(image: str, name: str) -> None:
    assert file_name(image) == name


def test_definitions_come_from_where_the_stack_takes_its_images() -> None:
    """N15, N20."""
    found = definitions(as_shipped("slurm-8n")[0])
    assert set(found) == {"ml-trainer-1.0", "ml-trainer-1.0-nccl-tests"}
    assert "Bootstrap: docker\nFrom: registry.example.com/ml/trainer:1.0\n" in found["ml-trainer-1.0"]
    mirrored = definitions(planned("slurm-8n", supply={"registry": "mirror.hall.net/gpu"})[0])
    assert all("From: mirror.hall.net/gpu/" in text for text in mirrored.values())
