"""Measures the node that it runs on, alone and with the others of its pool, and says whether runs may come here.

What is demanded stands in a file (`--plan`), which the planner's numbers are made into. Tools measure, `results.py`
reads what they print, `verdicts.py` judges it; the verdict goes to the node's labels, to a taint where the node failed,
and to the pool's ConfigMap. It ends well wherever a verdict was told: a node that failed is kept from runs, not tried
again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cards
import copies
import publish
import railed
import rails
import results
import slots
import verdicts
from verdicts import Verdict

SMI_COLUMNS = "index,clocks.sm,clocks.max.sm,power.draw,power.limit"
LINK_STATES = ("nvidia-smi", "nvlink", "--status")
TOPOLOGY = ("nvidia-smi", "topo", "-m")
MEASURE = Path(__file__).with_name("measure.py")
CLOCKS, LOG, INSIDE = "clocks.csv", "nccl.log", "inside.txt"
"""Files that measure.py leaves of a node alone; of several nodes `between-COUNT-TEST.txt`."""

Run = Callable[..., str]
_TOOL_SECONDS = 600
STAGGER_S = 0.2
"""Seconds between verdicts of two nodes that end together: all change the same object, half a megabyte for 256."""


def tool(*words: str, seconds: float = _TOOL_SECONDS) -> str:
    """What a tool printed, on both of its outputs. A tool that is missing, fails or hangs says so itself."""
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False, text=True
        )
    except FileNotFoundError:
        return f"{words[0]} is not in the image"
    except subprocess.TimeoutExpired:
        return f"{words[0]} did not end within {seconds:g} s"
    return done.stdout


SYSTEM = Path("/sys/class/infiniband")


def alone(plan: Mapping[str, Any], out: Path, run: Run = tool, system: Path = SYSTEM) -> list[Verdict]:
    """What the node shows by itself: NVLink's manager and links, disks that all share, GPUs at work, the ports of an
    InfiniBand fabric, the network that NCCL takes, copies of each GPU. Where a port is missing NCCL's number of devices
    is not blamed too.

    GPUs whose manager does not run cannot be started: then nothing of theirs is measured, and one line says why.
    A GPU that a line names is named with its slot.
    """
    places = slots.of_smi(run(*slots.QUERY))
    found = [slots.named(fabric_manager(run), places), storage(plan, run)]
    if any(each.state == "fail" and each.test == verdicts.MANAGER for each in found):
        return found
    if plan["links"]:
        joined = read(verdicts.LINKS, lambda: verdicts.links(results.nvlinks(run(*LINK_STATES)), plan["links"]))
        found.append(slots.named(joined, places))
    said = run("python3", str(MEASURE), "alone", "--out", str(out), *_sizes(plan))
    lost = slots.silent(places)
    clocks = read("clocks", lambda: verdicts.clock(results.clocks(_text(out / CLOCKS, said)), plan["gpus"], lost))
    found.append(slots.named(clocks, places))
    if plan["provider"]:
        wanted, devices = plan["provider"], plan["devices"]
        if wanted == "IB":
            named = rails.named()
            found.append(read(verdicts.PORTS, lambda: verdicts.ports(results.ports(system, named), plan["devices"])))
            devices = None if found[-1].state == "fail" else devices

        if wanted == "efa" and devices and (proof := cards.libfabric(devices, run)):
            found.append(proof)

        def networks() -> Verdict:
            return verdicts.provider(results.networks(_text(out / LOG, said)), plan["gpus"], wanted, devices)

        found.append(read(verdicts.PROVIDER, networks))
    if plan.get("copies"):
        found += copies.of_node(plan["copies"], run)
    inside = [each for each in plan["tests"] if each["nodes"] == 1]
    found += judged(inside, lambda _: _text(out / INSIDE, said))
    return found + training(plan, run)


def between(
    plan: Mapping[str, Any], out: Path, words: Sequence[str], run: Run = tool, system: Path = SYSTEM
) -> list[Verdict]:
    """What it shows with the others that are well; nothing where there are too few of them. Faults of its cards that
    came meanwhile are a line of their own.
    """
    asked = [each for each in plan["tests"] if each["nodes"] > 1]
    if not asked:
        return []
    before, pairs = _counts(system), plan.get("pairs")
    if pairs:
        (out / rails.ASKED).write_text(json.dumps(pairs), encoding="utf-8")
    said = run(
        "python3",
        str(MEASURE),
        "between",
        "--out",
        str(out),
        f"--system={system}",
        *_sizes(plan),
        *words,
        seconds=plan["seconds"],
    )
    lines = [found] if pairs and (found := railed.of_node(out, pairs, system)) else []
    there = [each for each in asked if (out / file_of(each)).exists()]
    missing = {each["nodes"] for each in asked} - {each["nodes"] for each in there}
    if not there:
        last = (said.strip().splitlines() or ["nobody came"])[-1]
        return [*lines, Verdict("between nodes", "warn", f"not measured: {last}")]
    lines += judged(there, lambda each: _text(out / file_of(each), said))
    faults = cards.grown(before, _counts(system)) if plan["provider"] == "IB" else None
    lines += [faults] if faults else []
    return lines + [
        Verdict(f"between {count} nodes", "warn", "not measured: fewer nodes arrived") for count in sorted(missing)
    ]


def _counts(system: Path) -> dict[tuple[str, str], int]:
    """Faults as the kernel counts them; none where they cannot be read, which is no fault of a link."""
    try:
        return cards.counts(system)
    except results.UnreadableError:
        return {}


def training(plan: Mapping[str, Any], run: Run = tool) -> list[Verdict]:
    """How fast the node trains, where the plan asks. A trainer that cannot be read warns: images need not suit it."""
    asked = plan.get("benchmark")
    if not asked:
        return []
    said = run(*asked["words"], seconds=asked["seconds"])
    try:
        return [verdicts.trained(results.steps(said), asked["model"], asked["tokens_per_s"])]
    except results.UnreadableError as error:
        return [Verdict(verdicts.BENCHMARK, "warn", f"not measured: {error}")]


def judged(tests: Sequence[Mapping[str, Any]], text: Callable[[Mapping[str, Any]], str]) -> list[Verdict]:
    """A line for each test; one that the plan has no threshold for is recorded."""

    def one(each: Mapping[str, Any]) -> Verdict:
        rows = results.nccl_rows(text(each))
        return verdicts.bandwidth(each["test"], rows, each["bytes"], each["warn"], each["fail"])

    return [read(each["test"], lambda each=each: one(each)) for each in tests]  # type: ignore[misc]


def file_of(test: Mapping[str, Any]) -> str:
    """Where measure.py leaves a test between nodes."""
    return f"between-{test['nodes']}-{test['operation']}.txt"


def fabric_manager(run: Run = tool) -> Verdict:
    """Of nvidia-smi's full report the section Fabric, which GPUs behind NVSwitches have."""
    return read(verdicts.MANAGER, lambda: verdicts.manager(results.fabric_states(run("nvidia-smi", "-q"))))


def storage(plan: Mapping[str, Any], run: Run = tool) -> Verdict:
    """Writes a file of the planned size to the shared file system and reads it again, past the node's cache."""
    directory, mib = plan["storage"]["directory"], plan["storage"]["mib"]
    name = f"{directory}/{os.environ.get('NODE_NAME', 'node')}"
    size = ("bs=1M", f"count={mib}")
    wrote = run("dd", "if=/dev/zero", f"of={name}", *size, "conv=fsync", "oflag=direct")
    got = run("dd", f"if={name}", "of=/dev/null", *size, "iflag=direct")
    Path(name).unlink(missing_ok=True)

    def judge() -> Verdict:
        return verdicts.storage(results.copied(wrote), results.copied(got), mib << 20, plan["storage"])

    return read("storage", judge)


def read(test: str, judge: Callable[[], Verdict]) -> Verdict:
    """The verdict; output that cannot be read is a failure of that test, with what was there instead."""
    try:
        return judge()
    except results.UnreadableError as error:
        return Verdict(test, "fail", str(error))


def record(plan: Mapping[str, Any], found: Sequence[Verdict], driver: str, now: datetime) -> dict[str, Any]:
    """What is kept of the measurement."""
    return {
        "state": verdicts.worst(found),
        "tests": plan["digest"],
        "driver": driver,
        "at": now.strftime("%Y-%m-%dT%H.%MZ"),
        "lines": [{"test": each.test, "state": each.state, "why": each.why} for each in found],
    }


def brief(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The same without the lines that passed, which the pod's log has."""
    return {**kept, "lines": [each for each in kept["lines"] if each["state"] != "pass"]}


def log(node: str, kept: Mapping[str, Any], run: Run = tool) -> str:
    """What the pod says: how the node's GPUs, cards and processors are joined, and what was found."""
    lines = [f"{each['state']}: {each['test']}: {each['why']}" for each in kept["lines"]]
    where = f" ({kept['place']})" if kept.get("place") else ""
    return "\n".join((run(*TOPOLOGY).rstrip(), *lines, f"node {node}{where}: {kept['state']}"))


def main(words: Sequence[str]) -> int:
    """Measures, tells and says it; the exit status. Without a verdict that was told it is 1."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--identity", type=Path, required=True, help="directory of the service account's token and CA")
    parser.add_argument("--config-map", required=True)
    parser.add_argument("--brief", action="store_true", help="keep of the lines only those that did not pass")
    parser.add_argument("--peer", help="HOST:PORT of the first node; default: measure this node alone")
    parser.add_argument("--system", type=Path, default=SYSTEM, help="directory in which the kernel lists fabric cards")
    asked = parser.parse_args(list(words))
    plan = json.loads(asked.plan.read_text(encoding="utf-8"))
    node, index = os.environ["NODE_NAME"], os.environ.get("JOB_COMPLETION_INDEX", "0")
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        found = alone(plan, out, system=asked.system)
        healthy = verdicts.worst(found) != "fail"
        if asked.peer:
            who = ("--peer", asked.peer, "--index", index, "--healthy" if healthy else "--ill")
            others = between(plan, out, who, system=asked.system)
            found += others if healthy else []
    driver = tool("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").strip().splitlines()
    kept = record(plan, found, driver[0].strip() if driver else "unknown", datetime.now(UTC))
    if place := publish.place_of(asked.identity, node):
        kept["place"] = place
    print(log(node, kept), flush=True)
    time.sleep(int(index) * STAGGER_S)
    try:
        publish.tell(publish.Api.inside(asked.identity), node, asked.config_map, brief(kept) if asked.brief else kept)
    except (OSError, ValueError) as error:
        print(f"the result could not be published: {error}", flush=True)
        return 1
    if not asked.peer:
        signal.pause()  # the label takes the pod away, and one that ended would be started again
    return 0


def _sizes(plan: Mapping[str, Any]) -> list[str]:
    """The tests as measure.py takes them: operation, nodes, bytes."""
    return [f"{each['operation']}:{each['nodes']}:{each['bytes']}" for each in plan["tests"]]


def _text(path: Path, said: str) -> str:
    """A file that a tool left; what it said where there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
