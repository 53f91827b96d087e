"""`make bench`: the project's speed and size against its own budgets, in one run; rewrites docs/benchmarks.md.

Figures are compared as ratios of one run or against generous absolute budgets, because machines are noisy: the floor
and the program alternate, and the smallest of several runs counts. Exit status 1 if a budget is exceeded.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from rehearsal import places, sites
from rehearsal.command import apply
from rehearsal.command.difference import throw_away
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, open_session
from rehearsal.engine import stored
from rehearsal.metal import lacking
from tests.bench import copies, flat, gang, hosts, missed, passing, racks
from tests.bench.yardstick import USUAL, counting_seconds
from tests.engine.trees import Tree
from tests.graph.stackfiles import graph_of
from tests.planner.stacks import planned
from tests.presets.stacks import LARGE

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "docs" / "benchmarks.md"
ROUNDS = 5
SITE = "bench"


@dataclass(frozen=True)
class Figure:
    """One measured value and the most it may be; `how` tells what was measured."""

    name: str
    value: float
    budget: float
    unit: str
    how: str

    @property
    def kept(self) -> bool:
        return self.value <= self.budget

    def cells(self) -> tuple[str, ...]:
        return self.name, f"{self.value:.2f} {self.unit}".strip(), f"{self.budget:g} {self.unit}".strip(), self.how


def program_share(stack: str = "prod") -> Figure:
    """CPU of the program alone over that of the flat program with the same resources."""
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-") as scratch:
        floor = flat.write(graph_of(stack, True), Path(scratch))
        file = str(ROOT / f"Pulumi.{stack}.yaml")
        runs = [(_alone(file), _alone(file, str(floor))) for _ in range(ROUNDS)]
    ours, least = min(run[0] for run in runs), min(run[1] for run in runs)
    how = f"{ours:.2f} s of CPU against {least:.2f} s for the flat program, smallest of {ROUNDS} alternating runs"
    return Figure(f"program share of a preview, {stack}", ours / least, 1.2, "", how)


def growth() -> Figure:
    """CPU of the program for 256 nodes over that for eight of the same stack file."""
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-") as scratch:
        eight = Path(scratch) / "eight.yaml"
        eight.write_text(re.sub(r"\b256\b", "8", LARGE.read_text()))
        runs = [(_alone(str(LARGE)), _alone(str(eight))) for _ in range(ROUNDS)]
    large, small = (min(each) for each in zip(*runs, strict=True))
    how = f"{large:.2f} s of CPU against {small:.2f} s, smallest of {ROUNDS} alternating runs; same resources"
    return Figure("preview of 256 nodes over that of 8", large / small, 1.05, "", how)


def thousands() -> list[Figure]:
    """Wall time of `up` with its gang and of `down` on 256 nodes with eight GPUs each; its gang beside kubectl."""
    came, took = gang.thousands()
    assert came.preview is not None
    assert came.down is not None
    phases = f"up {came.up:.0f} s, preview without changes {came.preview:.0f} s, down {came.down:.0f} s"
    how = f"{came.nodes} nodes with {came.gpus:,} GPUs, {came.ran}; {phases}; the gang by itself {took.up:.0f} s; "
    how += "without monitoring, gates and checkpoints"
    beside = (
        f"{took.up:.0f} s without the preview, which takes {took.preview:.0f} s more, against {took.kubectl:.0f} s for "
        "the same PyTorchJob by kubectl, until every pod runs"
    )
    return [
        Figure("up, gang and destroy of 2,048 GPUs", came.up + came.down, 600, "s", how),
        Figure("up of a gang of 256 over kubectl", took.up / took.kubectl, 1.2, "", beside),
    ]


def gated() -> Figure:
    """The gate of eight nodes, as `make plan` prints it."""
    (gate,) = planned("prod", {"training.gates": {"minutes": 30, "benchmark": True}}).measured.values()
    how = f"by the plan's model, at the least rates that pass; {gate.nodes} nodes of prod, training included"
    return Figure("gate of 8 nodes", gate.planned_s / 60, 15, "min", how)


def _alone(*arguments: str) -> float:
    return _measured("alone", *arguments)["cpu_seconds"]


def _measured(module: str, *arguments: str) -> dict[str, float]:
    """What a module of this package prints in a process of its own."""
    argv = [sys.executable, "-m", f"tests.bench.{module}", *arguments]
    # As a person has it: what was imported once is not compiled again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=600)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def planning() -> list[Figure]:
    """Importing the planner, planning prod, and planning 4,096 nodes with a list of all cables."""
    rounds = [
        {what: _measured("planning", what) for what in ("import", "prod", "large", "page")} for _ in range(ROUNDS)
    ]
    best = {(what, key): min(each[what][key] for each in rounds) for what in rounds[0] for key in rounds[0][what]}
    cpu = f"CPU in a process of its own, smallest of {ROUNDS}"
    besides = f"{cpu}; the settings and pydantic are imported before, in {best['import', 'settings'] * 1000:.0f} ms"
    cables = f"{cpu}, with a list of {best['large', 'cables']:,.0f} cables"
    return [
        Figure("import of the planner", best["import", "seconds"] * 1000, 150, "ms", besides),
        Figure("plan of prod", best["prod", "seconds"] * 1000, 50, "ms", f"{cpu}, after import"),
        Figure("plan of 4,096 nodes", best["large", "seconds"], 1, "s", cables),
        Figure("page of 4,096 nodes", best["page", "seconds"], 3, "s", f"{cpu}, with the planning"),
        Figure("memory of that plan", best["large", "mib"], 300, "MiB", "peak resident set of the process"),
    ]


def rehearsal(stack: str = "dev") -> list[Figure]:
    """`up` on a new site, a preview without changes, and the peak memory of everything that ran."""
    screen, meter = Console(quiet=True), Meter()
    directory = places.site(SITE, ROOT)
    sites.stop(directory.path)
    try:
        began = time.monotonic()
        session = open_session(SITE, ROOT, stack, screen, meter)
        apply.up(session, (ROOT / f"Pulumi.{stack}.yaml").read_text())
        _, missing = apply.wait_until_running(session)
        applied = time.monotonic() - began
        if missing:
            raise SystemExit(f"{stack} does not run: {'; '.join(missing)}")
        with meter.phase("preview without changes"):
            quiet = session.engine.preview("--expect-no-changes").require()
        asked = checks(session, stack)
        session.engine.destroy().require()
    finally:
        sites.stop(directory.path)
    peak = max(phase.peak for phase in meter.phases) / 2**30
    phases = ", ".join(f"{phase.name} {phase.seconds:.0f} s" for phase in meter.phases if phase.seconds >= 1)
    whole = applied + asked["the policies"]
    how = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in asked.items())
    return [
        Figure(f"make up, {stack}", whole, 120, "s", f"toolchain present; policies, {phases}"),
        Figure(f"checks in make up, {stack}", sum(asked.values()) / whole, 0.1, "", f"{how}, of {whole:.0f} s"),
        Figure(f"preview without changes, {stack}", quiet.seconds, 10, "s", "wall time of the engine's command"),
        Figure("peak memory", peak, 4, "GiB", "proportional set size of every process of the rehearsal, every 5 s"),
    ]


def checks(session: Session, stack: str) -> dict[str, float]:
    """Wall time of what `make up` asks beside applying: the policies first, the state, the account at the end."""

    def policies() -> None:
        subprocess.run([sys.executable, "-m", "tests.graph", stack], cwd=ROOT, check=True, capture_output=True)

    asked: dict[str, Callable[[], object]] = {
        "the policies": policies,
        "state files": lambda: stored.check(session.directory.backend, "", ""),
        "declared against there": session.gone,
    }
    took = {}
    for what, ask in asked.items():
        began = time.monotonic()
        ask()
        took[what] = time.monotonic() - began
    return took


def review_share(stack: str = "dev") -> Figure:
    """Wall time of `make review` of a stack, policies included, over that of a plain preview against the same base.

    Each runs twice on a home of its own, the second time in the other order, as the first finds cold caches. The
    policies' environment is made before; the preview alone has none.
    """
    subprocess.run(["make", "pack"], cwd=ROOT, check=True, capture_output=True, timeout=1200)
    took = {"rehearsal preview": 0.0, "review": 0.0}
    for command in (*took, *reversed(took)):
        with tempfile.TemporaryDirectory(prefix="gpucluster-bench-") as scratch:
            argv = [sys.executable, "-m", *command.split(), "--stack", stack, "--base", "HEAD"]
            environment = os.environ | {"GPUCLUSTER_HOME": scratch}
            began = time.monotonic()
            subprocess.run(argv, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=1200)
            took[command] += (time.monotonic() - began) / 2
    plain, comment = took.values()
    how = f"{comment:.0f} s with policies against {plain:.0f} s for the preview alone, twice each; toolchain present"
    return Figure(f"comment on a pull request, {stack}", comment / plain, 1.3, "", how)


def keeper() -> list[Figure]:
    """The keeper's package, and one look over an account of 2,048 GPUs at AWS' rates."""
    from rehearsal.plugins.aws.types.lambda_ import archive
    from stacks.aws_keeper import code

    packed = archive({"assets": {name: {"text": text} for name, text in code().items()}})
    seen, found = passing.passed(passing.Size())
    simulated = f"simulated: {sum(seen.requests.values())} requests for {found:,} things, each {passing.LATENCY} s"
    return [
        Figure("the keeper's package", len(packed) / 1e6, 1, "MB", "the function's archive as it is uploaded"),
        Figure("one look over 2,048 GPUs", seen.seconds, 30, "s", simulated),
    ]


def racked() -> list[Figure]:
    """The program for 256 GPU machines, beside 64, what the state keeps of one, and who is sent other texts again."""
    few, many, again = (_measured("racks", count) for count in ("64", "256", "256"))
    sent = [name for name in many if name.endswith(racks.SENT)]
    others = sum(many[name] != again[name] for name in sent)
    each = (many["cpu_seconds"] - few["cpu_seconds"]) / 192 * 1000
    how = f"CPU in a process of its own, {many['resources']:.0f} resources; {each:.1f} ms for each machine above 64"
    return [
        Figure("program for 256 machines", many["cpu_seconds"], 60, "s", how),
        Figure("256 machines over 64", many["cpu_seconds"] / few["cpu_seconds"], 4, "", "linear is 4 at most"),
        Figure("state of a machine", many["kib"], 100, "KiB", "inputs of its resources, as JSON; its bundle is most"),
        Figure(
            "machines of 256 that a second up connects to",
            others if len(sent) == 256 else float("inf"),
            0,
            "",
            "checksums of what each is sent, of two processes with other seeds",
        ),
    ]


@contextmanager
def _racked_session(count: int) -> Iterator[Session]:
    """A session whose stack file has so many GPU machines: the engine reads that of the tree, not what is seeded."""
    text = yaml.safe_dump({"config": racks.config(count)})
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-") as scratch:
        tree = Tree.copy(Path(scratch) / "tree")
        tree.write("Pulumi.metal.yaml", text)
        with throw_away(f"bench-{count}", ROOT, "metal", Console(quiet=True), Meter(), tree=tree.root) as session:
            session.seed(text, hosts=False)
            yield session


def previewed() -> list[Figure]:
    """The engine's first preview of 256 GPU machines, beside 64: a site of its own, where no machine is racked."""
    seconds = {}
    for count in (64, 256):
        with _racked_session(count) as session:
            outcome = session.engine.preview().require()
        if (steps := sum(outcome.record.changes.values())) < count:
            raise SystemExit(f"a preview of {count} machines had {steps} steps: it is of another stack")
        seconds[count] = outcome.seconds
    how = f"wall time of the engine's command, everything new; {seconds[64]:.0f} s for 64"
    return [
        Figure("preview of 256 machines", seconds[256], 60, "s", how),
        Figure("preview of 256 machines over 64", seconds[256] / seconds[64], 4, "", "linear is 4 at most"),
    ]


def prepared() -> list[Figure]:
    """Wall time of preparing 32 rehearsed machines over that of one; nothing where this machine can rehearse none."""
    if why := lacking.missing():
        Console(stderr=True).print(f"not measured, preparing machines: {why}")
        return []
    took = _measured("hosts")
    how = (
        f"{took['many']:.0f} s against {took['one']:.1f} s, {hosts.AT_ONCE} at once, as the engine does; tools take "
        f"the time of their documentation, and all share {os.cpu_count()} cores; a second time, when nothing changes, "
        f"{took['again']:.0f} s"
    )
    return [Figure(f"{hosts.MANY} machines prepared over one", took["many"] / took["one"], 4, "", how)]


def copied() -> list[Figure]:
    """Wall time of staging a dataset and of copying a save over that of `cp` and a check of what it wrote."""
    took = copies.best(ROUNDS)
    beside = (
        f" against {took['checked'].wall:.2f} s for cp, sync and hashes of what the disk has on all cores "
        f"({took['cp'].wall:.2f} s without; hashes alone {took['hashed'].wall:.2f} s), {copies.FILES} files of "
        f"{copies.MIB} MiB on one disk, smallest of {ROUNDS}; {copies.processor(took)}"
    )
    return [
        Figure(
            f"{what} over cp and its check",
            took[way].wall / took["checked"].wall,
            copies.BUDGET,
            "",
            f"{took[way].wall:.2f} s, {took[way].wall / took['cp'].wall:.1f} x cp alone,{beside}",
        )
        for way, what in (("staged", "staging"), ("saved", "copy of a save"))
    ]


def quick_tier() -> Figure:
    """Wall time of `make quick`; endless if a test fails, so that what was measured before is still written."""
    began = time.monotonic()
    done = subprocess.run(["make", "quick"], cwd=ROOT, check=False, capture_output=True, timeout=600)
    took = time.monotonic() - began if done.returncode == 0 else float("inf")
    how = f"the whole quick tier; the budget is for a reference loop of {USUAL} s"
    return Figure("make quick", took, 90, "s", how)


def machine() -> str:
    """The machine in words: processor, cores, memory, kernel, Python."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def report(figures: list[Figure], counting: tuple[float, float]) -> str:
    """The page docs/benchmarks.md; `counting` is the machine's yardstick before and after."""
    rows = "\n".join(f"| {' | '.join(figure.cells())} |" for figure in figures)
    return (
        "# Benchmarks\n\nWritten by `make bench`, which fails if a budget is exceeded.\n\n"
        f"Machine: {machine()}.\nReference loop (20 million additions): {counting[0]:.1f} s before this run and "
        f"{counting[1]:.1f} s after it. Scale the seconds of another run by it; "
        "`make quick` and `make engine` print theirs.\n\n"
        f"| what | measured | budget | how |\n|---|---|---|---|\n{rows}\n\n"
        "The floor is a flat program generated from what the program registers: the same SDK classes, literal inputs, "
        "no components.\nBoth run without an engine against a monitor that answers at once.\n"
        + missed.paragraphs([figure.name for figure in figures if not figure.kept])
    )


def main() -> int:
    """Measure, print, write the report."""
    before = counting_seconds()
    apart = [
        *planning(),
        gated(),
        program_share(),
        growth(),
        *keeper(),
        *racked(),
        *previewed(),
        *prepared(),
        *copied(),
    ]
    figures = [*apart, *rehearsal(), *thousands(), review_share(), quick_tier()]
    counting = before, counting_seconds()
    table = Table("what", "measured", "budget", "how", title="benchmarks")
    for figure in figures:
        table.add_row(*figure.cells(), style=None if figure.kept else "red")
    Console().print(table)
    REPORT.write_text(report(figures, counting))
    return 0 if all(figure.kept for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
