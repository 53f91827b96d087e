"""Samples of runs, gates and what follows runs."""

from collections.abc import Mapping
from typing import Any

from components.aws.devices import efa_network
from components.platform.pods import PodNetwork, PodShape
from components.platform.taints import GPU_TAINT
from components.training.backup import Backup, BackupArgs
from components.training.follow_up import FollowUp, FollowUpArgs
from components.training.gate_history import GateHistory, GateHistoryArgs
from components.training.gate_pods import GateArgs, GatePairs, GateTest
from components.training.gates import Gate
from components.training.job import RunData, TrainingJob, TrainingJobArgs
from components.training.run_monitor import RunMonitor, RunMonitorArgs
from components.training.run_watch import RunWatch, RunWatchArgs
from tests.components.samples.common import CLI, Make, done, of

SHAPE = PodShape(gpus=1, cpu_millicores=14000, memory_mib=200_000, shm_mib=65_536, network=efa_network(1))


def job_args(**changes: Any) -> TrainingJobArgs:
    known: dict[str, Any] = {
        "run": "sft",
        "namespace": "training",
        "nodes": 2,
        "restarts": 3,
        "image": "trainer:1",
        "script": ["/train.py", "--config", "/c.yaml"],
        "shape": SHAPE,
        "pool": "training",
        "gpu_product": "NVIDIA-H100-80GB-HBM3",
        "taints": [GPU_TAINT],
        "queue": "research",
        "priority": "training",
        "granted": "sft",
        "data": RunData(claim="training-data", path="datasets/chats-1234"),
        "checkpoint_claim": "checkpoints",
        "operator": done(),
    }
    known.setdefault("nodes_ready", [known["operator"]])
    return TrainingJobArgs(**{**known, **changes})


def follow_up_args(**changes: Any) -> FollowUpArgs:
    known: dict[str, Any] = {
        "run": "sft",
        "name": "evaluate",
        "namespace": "training",
        "image": "trainer:1",
        "asker": "python:3.13",
        "script": ["/evaluate.py"],
        "shape": PodShape(gpus=1, cpu_millicores=3000, memory_mib=20_000, shm_mib=10_000),
        "pool": "small",
        "gpu_product": "NVIDIA-L4",
        "taints": [GPU_TAINT],
        "queue": "research",
        "priority": "experiments",
        "granted": "sft-evaluate",
        "checkpoint_claim": "checkpoints",
        "results_uri": "s3://bucket/results/sft/evaluate",
        "after_end": False,
        "every_seconds": 21_600,
        "deadline_seconds": 7200,
        "keep_seconds": 86_400,
        "files": {"ask.py": "import saves"},
        "labels": {"gpucluster/owner": "ml"},
        "lineage": {"model": "llama-3-8b"},
    }
    known.setdefault("after", [done()])
    return FollowUpArgs(**{**known, **changes})


def backup_args(every_seconds: int = 7200) -> BackupArgs:
    return BackupArgs(
        run="sft",
        namespace="training",
        copier=CLI,
        account="sft",
        checkpoint_claim="checkpoints",
        uri="s3://artefacts/checkpoints/sft",
        every_seconds=every_seconds,
    )


def gate_args(**changes: Any) -> GateArgs:
    known: dict[str, Any] = {
        "pool": "training",
        "gpu_product": "NVIDIA-H100-80GB-HBM3",
        "taints": [GPU_TAINT],
        "namespace": "training",
        "nodes": 2,
        "image": "pytorch:1",
        "shape": PodShape(
            gpus=8,
            cpu_millicores=4000,
            memory_mib=30_000,
            shm_mib=2048,
            network=PodNetwork(resources={"example.com/rdma": 8}, env={"A": "1"}, capabilities=("IPC_LOCK",)),
        ),
        "env": {"NCCL_NET_PLUGIN": "ofi"},
        "files": {"gate.py": "import verdicts", "verdicts.py": "# judges"},
        "provider": "efa",
        "devices": 32,
        "tests": [
            GateTest(test="all-reduce", operation="all_reduce", nodes=2, bytes=1 << 30, warn=None, fail=None),
        ],
        "pairs": GatePairs(program="fi_pingpong", warn=None, fail=None, latency_us=None, rounds=1, seconds=8),
        "storage_mib": 1024,
        "write_gb_per_s": 0.5,
        "read_gb_per_s": None,
        "claim": "checkpoints",
        "priority": "experiments",
        "seconds": 1800,
        "asker": "python:3",
        "weekly": True,
        "after": [],
    }
    return GateArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "job": of(TrainingJob, job_args),
    "backup": of(Backup, backup_args),
    "gate": of(Gate, lambda: gate_args(after=[done()])),
    "history-of-gate": of(
        GateHistory,
        lambda: GateHistoryArgs(
            pool="training",
            namespace="training",
            config_map="gate-training-verdicts",
            account="gate-training-history",
            granted="gate-training-history",
            copier=CLI,
            uri="s3://bucket/gates/training",
            after=done(),
        ),
    ),
    "run-watch": of(
        RunWatch,
        lambda: RunWatchArgs(
            namespace="training",
            image="python:3.13",
            files={"watch.py": "import ends"},
            table="{}",
            after=[done()],
        ),
    ),
    "follow-up": of(FollowUp, follow_up_args),
    "train-job": of(TrainingJob, lambda: job_args(api="v2")),
    "mpi-job": of(TrainingJob, lambda: job_args(launcher="mpi", data=None)),
    "run-monitor": of(RunMonitor, lambda: RunMonitorArgs(namespace="training", monitors=done())),
}
