"""A run of the plan as a batch script: the words of its launcher, the variables and the files that its pods have."""

import math
import shlex
from collections.abc import Mapping, Sequence

from components.training.pod import recorder, telling
from components.training.saving import CHECKPOINTS, DATA, LOCAL, told
from planner.metal_types import MetalPlan
from planner.slurm_types import NodesPlan, SlurmPlan
from planner.workload_types import RunPlan
from slurm.containers import file_name
from stacks.recipes import Started, started

_PORTS = 29_000
"""The first of a thousand ports for torchrun's rendezvous, one by the job's number: two jobs may share a machine."""


def batch(plan: MetalPlan, slurm: SlurmPlan, nodes: NodesPlan, run: RunPlan) -> str:
    """The script of a run on a pool's machines."""
    begun = started(run)
    image = f"{slurm.shared_path}/images/{file_name(plan.supply.image(run.image))}.sif"
    tasks = nodes.gpus if run.launcher == "mpi" else 1
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH --{key}={value}" for key, value in _asked(slurm, nodes, run, tasks).items()),
        "#SBATCH --requeue",
        f"# Run {run.name}. Its files lie beside this script; {image}",
        f"# is built of {file_name(plan.supply.image(run.image))}.def.",
        "set -euo pipefail",
        "",
        *exports(environment(slurm, nodes, run, begun)),
        "",
        *_directories(slurm, run),
        *(_words("container=", ["apptainer", "exec", "--nv", *_binds(slurm, run, begun), image])),
        *(_by_mpi(run, begun) if run.launcher == "mpi" else _by_torchrun(run, begun, nodes)),
        "",
    ]
    return "\n".join(lines)


def environment(slurm: SlurmPlan, nodes: NodesPlan, run: RunPlan, begun: Started) -> dict[str, str]:
    """What the ranks find in their environment, as in a pod: the fabric's between nodes, saves, and the run's own."""
    found: dict[str, object] = {
        "NCCL_DEBUG": "WARN",
        **(between(slurm) if run.pods > 1 else {}),
        **recorder(run.pods * nodes.gpus),
        **(told(run.saving) if run.saving else {}),
        **telling(run.metrics_port),
        **({"DATASET_DIR": DATA} if run.dataset else {}),
        **begun.environment,
    }
    return {name: str(value) for name, value in found.items()}


def exports(values: Mapping[str, str]) -> list[str]:
    """Lines of bash that set variables; every value is quoted, as NCCL's begin with `=`."""
    return ["export {}='{}'".format(name, value.replace("'", r"'\''")) for name, value in sorted(values.items())]


def between(slurm: SlurmPlan) -> dict[str, str]:
    """The fabric's variables, over the host's own interface: NCCL_SOCKET_IFNAME with `=` is a whole name."""
    return {**slurm.nccl, **({"NCCL_SOCKET_IFNAME": f"={slurm.interface}"} if slurm.interface else {})}


def _asked(slurm: SlurmPlan, nodes: NodesPlan, run: RunPlan, tasks: int) -> Mapping[str, object]:
    """All of each machine, as its pods have it on Kubernetes: an elastic run starts with as many as are free."""
    least = run.launch.least_pods
    limits = [each for each in (slurm.max_minutes, _minutes(run.deadline_s)) if each is not None]
    return {
        "job-name": run.name,
        "partition": run.pool,
        "account": run.queue,
        "qos": run.priority,
        "nodes": run.pods if least == run.pods else f"{least}-{run.pods}",
        "ntasks-per-node": tasks,
        "gpus-per-node": f"{nodes.gpu_type}:{nodes.gpus}",
        "cpus-per-task": nodes.job_cpus // tasks,
        "mem": f"{nodes.job_memory_mib}M",
        **({"time": min(limits)} if limits else {}),
        "open-mode": "append",
        "output": "%x-%j.out",
    }


def _minutes(seconds: int | None) -> int | None:
    return None if seconds is None else math.ceil(seconds / 60)


def _directories(slurm: SlurmPlan, run: RunPlan) -> list[str]:
    """What has to be there before a container can see it."""
    own = [f"{slurm.shared_path}/{CHECKPOINTS.strip('/')}/{run.name}"]
    lines = [f"mkdir -p {own[0]}"]
    if run.saving and run.saving.local:
        lines.append(f'srun --ntasks-per-node=1 --cpus-per-task=1 mkdir -p "{_local(slurm)}"')
    return lines


def _local(slurm: SlurmPlan) -> str:
    """A directory on a machine's own disks for one job."""
    return f"{slurm.scratch_path}/$SLURM_JOB_ID"


def _binds(slurm: SlurmPlan, run: RunPlan, begun: Started) -> list[str]:
    """A run sees its own saves, its data and its files, and no other's."""
    shared = slurm.shared_path
    pairs = [f"{shared}/checkpoints/{run.name}:{CHECKPOINTS}"]
    if run.dataset:
        pairs.append(f"{shared}/datasets/{run.dataset}:{DATA}:ro")
    if run.saving and run.saving.local:
        pairs.append(f"{_local(slurm)}:{LOCAL}")
    pairs += [f"{directory_of(slurm, run, each)}:{each}:ro" for each in begun.files]
    return [word for pair in pairs for word in ("--bind", pair)]


def directory_of(slurm: SlurmPlan, run: RunPlan, directory: str) -> str:
    """Where the files lie that a run finds in a directory."""
    return f"{slurm.shared_path}/slurm/{place(run, directory)}"


def place(run: RunPlan, directory: str) -> str:
    """The same, beside the batch scripts."""
    return f"jobs/{run.name}/{directory.rpartition('/')[2]}"


def _words(before: str, words: Sequence[str]) -> list[str]:
    """A bash array, a word to a line; the job's number stays a variable."""
    return [f"{before}(", *(f"    {_quoted(word)}" for word in words), ")"]


def _quoted(word: str) -> str:
    return f'"{word}"' if "$SLURM_JOB_ID" in word else shlex.quote(word)


_SRUN = 'srun --kill-on-bad-exit=1 --cpus-per-task="$SLURM_CPUS_PER_TASK"'
"""srun takes the processors of a task from its own words alone since Slurm 22.05 (release notes)."""


def _by_torchrun(run: RunPlan, begun: Started, nodes: NodesPlan) -> list[str]:
    """torchrun on each machine; they meet at the first one."""
    return [
        *_words("program=", begun.launch.words),
        'read -r first < <(scontrol show hostnames "$SLURM_JOB_NODELIST")',
        "meeting=(",
        '    --nnodes="$SLURM_JOB_NUM_NODES"',
        f"    --nproc-per-node={nodes.gpus}",
        "    --rdzv-backend=c10d",
        '    --rdzv-id="$SLURM_JOB_ID"',
        f'    --rdzv-endpoint="$first:$(({_PORTS} + SLURM_JOB_ID % 1000))"',
        ")",
        f'if {_SRUN} "${{container[@]}}" torchrun "${{meeting[@]}}" "${{program[@]}}"; then',
        *_ended(run),
    ]


def _by_mpi(run: RunPlan, begun: Started) -> list[str]:
    """A rank for each GPU; Slurm starts them, and tells MPI of each other by PMIx."""
    return [
        *_words("program=", begun.launch.words),
        f'if {_SRUN} --mpi=pmix "${{container[@]}}" "${{program[@]}}"; then',
        *_ended(run),
    ]


def _ended(run: RunPlan) -> list[str]:
    """All of it begins again, a few times."""
    return [
        "    exit 0",
        "fi",
        f'if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {run.restarts} ]; then',
        '    scontrol requeue "$SLURM_JOB_ID" || true',
        "fi",
        "exit 1",
    ]
