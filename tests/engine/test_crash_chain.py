"""The engine is killed again and again while it applies the dev stack; in the end the stack is there exactly once.

Each test goes on where the one before was killed, so that the whole chain costs little more than one `up`.
"""

import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rehearsal.engine import state
from tests.graph.stackfiles import graph_of

from .crashes import Killer, assert_exact, killed_up
from .survivor import Survivor
from .trees import Tree

pytest_plugins = ["tests.engine.survivor_fixture"]
pytestmark = [pytest.mark.engine, pytest.mark.scale]

SEED = int(os.environ.get("CRASH_SEED", "20260303"))
"""Decides at which create of a phase the engine dies; another one is tried with CRASH_SEED=<number>."""
CLUSTER = "aws:eks/cluster:Cluster"


@dataclass(frozen=True)
class Phase:
    """A part of `up`: the types, or beginnings of types, whose creates make it up."""

    name: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


NETWORK = Phase("network", ("aws:ec2/vpc:", "aws:ec2/subnet:", "aws:kms/", "aws:cloudwatch/"))
CONTROL_PLANE = Phase("control plane", (CLUSTER,))
CLOUD = Phase("nodes, storage and the rest of AWS", ("aws:",))
WORKLOADS = Phase("workloads", ("kubernetes:",))


def turn(survivor: Survivor, phase: Phase) -> int:
    """Which of the creates of this phase that are still to come is the last one."""
    there = {each["urn"] for each in state.resources(survivor.site.session.engine.export())}
    names = {urn.rpartition("::")[2] for urn in there}
    program = graph_of("dev").resources.values()
    to_come = sum(each.token.startswith(phase.types) and each.name not in names for each in program)
    assert to_come, f"all of the {phase} is there already"
    return random.Random(f"{SEED} {phase}").randint(1, to_come)  # noqa: S311 - no secret


def kill(survivor: Survivor, phase: Phase) -> None:
    """Kill an `up` in this phase; what it left is there to see, and where it was killed is printed on failure."""
    killer = Killer(survivor.site, phase.types, turn(survivor, phase))
    if phase is CONTROL_PLANE:
        killer.ready = lambda: bool(survivor.site.aws("eks").list_clusters()["clusters"])
    step = killed_up(killer)
    print(f"seed {SEED}, phase {phase}: killed at the create of {step.urn.label}")
    assert survivor.locked()
    assert survivor.site.session.locked_by() is None, "the lock of a dead engine counts as held"


def assert_settled(survivor: Survivor) -> None:
    assert not survivor.locked()
    assert survivor.interrupted() == []


def test_recover_settles_what_was_begun_in_the_network(survivor: Survivor) -> None:
    kill(survivor, NETWORK)
    done = survivor.command("recover")
    assert done.returncode == 0, done.stdout
    assert_settled(survivor)


def test_recover_of_the_stack_of_ones_own_account(survivor: Survivor, tmp_path: Path) -> None:
    """As on a real deployment: one's own CLI, backend, credentials and stack file; the account is the stand-in.

    The engine dies while EKS makes the cluster, which EKS goes on with: the recovery waits for it.
    """
    kill(survivor, CONTROL_PLANE)
    checkout = Tree.copy(tmp_path / "checkout")
    sealed = survivor.site.directory.stacks / "Pulumi.dev.yaml"
    checkout.write("Pulumi.dev.yaml", sealed.read_text())

    def recover(answer: str) -> subprocess.CompletedProcess[str]:
        env = survivor.site.session.engine.env
        own = dict(env) | {"PATH": os.pathsep.join([str(survivor.site.directory.pulumi / "bin"), env["PATH"]])}
        words = ["-m", "rehearsal", "recover", "--real", "--stack", "dev", "--root", str(checkout.root)]
        return subprocess.run(
            [sys.executable, *words], env=own, cwd=checkout.root, input=answer, capture_output=True, text=True
        )

    refused = recover("prod\n")
    assert (refused.returncode, refused.stderr) == (1, "error: nothing was done.\n"), refused.stdout
    assert survivor.locked()
    done = recover("dev\n")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"aws:eks:Cluster \S+ +│ creating │ taken into the state │ found, ACTIVE: gpucluster-dev ", done.stdout
    )
    assert_settled(survivor)


def test_recover_settles_what_was_begun_around_the_cluster(survivor: Survivor) -> None:
    kill(survivor, CLOUD)
    done = survivor.command("recover")
    assert done.returncode == 0, done.stdout
    assert_settled(survivor)


def test_the_next_up_recovers_by_itself_and_converges(survivor: Survivor) -> None:
    kill(survivor, WORKLOADS)
    done = survivor.command("up")
    assert done.returncode == 0, done.stdout
    assert "recover: the engine was killed while working on this stack" in done.stdout
    assert_settled(survivor)
    survivor.applied()
    assert_exact(survivor.site)
