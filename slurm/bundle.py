"""All files of a stack's Slurm by the paths below one directory, and what of the stack they do not express."""

from collections.abc import Iterator, Mapping

from planner.metal_types import MetalPlan
from planner.slurm_types import SlurmPlan
from slurm.accounts import accounts_sh, slurmdbd_conf
from slurm.checks import job_submit_lua, machine_conf, scripts
from slurm.containers import definitions
from slurm.controller import slurm_conf
from slurm.jobs import batch, place
from slurm.machines import CGROUP, gres_conf, topology_conf
from slurm.measures import batch as measuring_batch
from stacks.recipes import started

_SECRET = ("slurmdbd.conf",)
"""Files that get a password: nobody but their owner reads them."""


def mode(path: str) -> int:
    """Of a file of the bundle, by its path there."""
    return 0o600 if path in _SECRET else 0o755 if path.endswith((".sh", ".sbatch")) else 0o644


def files(cluster: str, plan: MetalPlan, slurm: SlurmPlan) -> dict[str, str]:
    """Texts by path."""
    found: dict[str, str | None] = {
        "slurm.conf": slurm_conf(cluster, slurm),
        "gres.conf": gres_conf(slurm),
        "cgroup.conf": CGROUP,
        "topology.conf": topology_conf(slurm),
        "slurmdbd.conf": slurmdbd_conf(slurm),
        "job_submit.lua": job_submit_lua(slurm),
        "accounts.sh": accounts_sh(cluster, slurm),
    }
    found |= {f"gpucluster/{name}": text for name, text in scripts().items()}
    found |= {f"gpucluster/{each.pool}/machine.conf": machine_conf(slurm, each) for each in slurm.nodes}
    found |= {f"jobs/nccl-{each.pool}.sbatch": measuring_batch(plan, slurm, each) for each in slurm.nodes}
    found |= _runs(plan, slurm)
    found |= {f"images/{name}.def": text for name, text in definitions(plan).items()}
    return {path: text for path, text in found.items() if text is not None}


def _runs(plan: MetalPlan, slurm: SlurmPlan) -> Mapping[str, str]:
    found = {}
    for run in plan.runs.values():
        nodes = slurm.of_pool(run.pool)
        if nodes is None:
            continue
        found[f"jobs/{run.name}.sbatch"] = batch(plan, slurm, nodes, run)
        for directory, texts in started(run).files.items():
            found |= {f"{place(run, directory)}/{name}": text for name, text in texts.items()}
    return found


def left_out(plan: MetalPlan, slurm: SlurmPlan) -> Iterator[str]:
    """What of the stack stays with Kubernetes, or is nobody's here: a sentence each."""
    for name, pool in plan.pools.items():
        if pool.role == "inference":
            yield f"pool {name} serves models, and stays with Kubernetes"
    for run in plan.runs.values():
        if slurm.of_pool(run.pool) is None:
            yield f"run {run.name} is on pool {run.pool}, which Slurm does not have"
        if run.staging != "none":
            yield f"run {run.name} reads its dataset from the shared files: nothing stages it to the machines' disks"
        if run.saving and run.saving.object_store_s:
            yield f"saves of run {run.name} stay on the shared files: nothing copies them to the object store"
        for follow_up in run.follow_ups:
            yield f"follow-up {follow_up.name} of run {run.name} is not started"
    for name in plan.experiments:
        yield f"experiment {name} needs Katib, and so Kubernetes"
    for team in plan.teams:
        yield f"team {team.name}: add its people to account {team.queue} (sacctmgr add user)"
