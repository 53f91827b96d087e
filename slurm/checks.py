"""Health checks, prolog and epilog of machines: common scripts, and the expected values of each machine."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from monitoring.failures import xids
from planner.slurm_types import NodesPlan, SlurmPlan

_SOURCE = Path(__file__).parents[1] / "node" / "slurm"
FATAL = (*xids.LOST.values, *xids.MEMORY.values, *xids.DRIVER.values, *xids.NVLINK.values)
"""XIDs after which a node gets no further job; a contained error ends the application alone."""


@cache
def scripts() -> Mapping[str, str]:
    """The scripts by name."""
    return {each.name: each.read_text(encoding="utf-8") for each in sorted(_SOURCE.glob("*.sh"))}


def machine_conf(slurm: SlurmPlan, nodes: NodesPlan) -> str:
    """A pool's machines as they have to be; `machine.conf` beside the scripts on each of them."""
    return f"""\
# Machines of {nodes.pool}, as {nodes.pool}'s own machine.conf.
GPUS={nodes.gpus}
LINKS={nodes.links}
SHARED={slurm.shared_path}
SCRATCH={slurm.scratch_path}
XIDS="{" ".join(FATAL)}"
"""


def job_submit_lua(slurm: SlurmPlan) -> str | None:
    """job_submit.lua for the heads; None without GPUs."""
    pools = [each.pool for each in slurm.nodes if each.gpus]
    table = ", ".join(f'["{pool}"] = true' for pool in pools)
    return f"GPU_PARTITIONS = {{ {table} }}\n\n{(_SOURCE / 'job_submit.lua').read_text(encoding='utf-8')}"
