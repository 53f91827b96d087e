"""What a machine's slurmd reads beside slurm.conf: its GPUs, its control groups, and where it stands in the fabric."""

from planner.slurm_types import SlurmPlan
from slurm.hostlist import hostlist

GRES = """\
# The driver tells slurmd of its GPUs, their types, links and processors; slurmd has to be built with NVML.
AutoDetect=nvml
"""

CGROUP = """\
# A job sees the processors, the memory and the GPUs that it was given, and no others.
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
ConstrainDevices=yes
"""


def gres_conf(plan: SlurmPlan) -> str | None:
    """gres.conf; None without GPUs."""
    return GRES if any(each.gpus for each in plan.nodes) else None


def topology_conf(plan: SlurmPlan) -> str | None:
    """topology.conf for topology/tree; None without a fabric."""
    if not plan.switches:
        return None
    lines = ["# The planned fabric. Jobs get machines below as few switches as there are free."]
    for switch in plan.switches:
        below = f"Nodes={hostlist(switch.nodes)}" if switch.nodes else f"Switches={','.join(switch.switches)}"
        lines.append(f"SwitchName={switch.name} {below}")
    return "\n".join(lines) + "\n"
