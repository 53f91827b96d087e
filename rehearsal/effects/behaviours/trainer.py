"""The container `pytorch` of a PyTorchJob: a training process that saves and runs on, or fails as torchrun does.

Source: torchrun's documentation ("rendezvous": the job starts once `--nnodes` nodes have joined) and training-operator
v1's environment (PET_NNODES counts pods).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rehearsal.effects.behaviours import saves
from rehearsal.effects.program import TIME_SCALE, Ends, Exit, Launch, Program

RENDEZVOUS_SECONDS = 900.0


def run(launch: Launch) -> Program:
    """Trains until it is stopped; ends at once without a command; times out where nodes can never meet."""
    if not launch.argv:
        return Ends(launch.now, Exit(0))
    if problem := rendezvous_problem(launch.argv, launch.env):
        launch.log(problem)
        return Ends(launch.now + RENDEZVOUS_SECONDS / TIME_SCALE, Exit(1, problem))
    if problem := saves.begin(launch):
        launch.log(problem)
        return Ends(launch.now, Exit(1, problem))
    launch.log(f"training: {' '.join(launch.argv)}")
    return Program()


def rendezvous_problem(argv: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Why `--nnodes` can never be met: it counts nodes, and the operator says how many there are. Pure."""
    text = " ".join(argv)
    if "torchrun" not in text and "torch.distributed.run" not in text:
        return None
    found = re.search(r"--nnodes[= ](\$\{?(\w+)\}?|[\d:]+)", text)
    there = env.get("PET_NNODES")
    if found is None or there is None:
        return None
    asked = env.get(found[2], "") if found[2] else found[1]
    least = asked.partition(":")[0]
    most_there = there.rpartition(":")[2]
    if not least.isdigit() or not most_there.isdigit() or int(least) <= int(most_there):
        return None
    return (
        f"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError: --nnodes={asked} asks for {least} nodes, "
        f"but the job has {most_there} pods"
    )
