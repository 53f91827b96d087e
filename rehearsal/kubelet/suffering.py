"""How the pods of a node feel what befalls it: each failure reaches them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rehearsal.kube.quantities import amounts
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.faults import KINDS
from rehearsal.kubelet.lifecycle import Container
from rehearsal.kubelet.orders import Fault, Orders
from rehearsal.kubelet.program import Exit, Program

if TYPE_CHECKING:
    from rehearsal.kubelet.podrun import PodRun

LOOK_SECONDS = 0.5
SYSTEM = "kube-system"


class Suffering:
    """Compares what is ordered with what the pods have felt already."""

    def __init__(self, orders: Orders, runs: Callable[[], Iterable[PodRun]]) -> None:
        self._orders, self._runs = orders, runs
        self._felt: set[tuple[str, str, float, int]] = set()

    def look(self) -> float:
        """Hands new failures on; seconds until the next look."""
        for fault in self._orders.now().faults:
            key = (fault.node, fault.kind, fault.since, fault.gpu)
            if key not in self._felt:
                self._felt.add(key)
                self._strike(fault)
        return LOOK_SECONDS

    def _strike(self, fault: Fault) -> None:
        there = [run for run in self._runs() if run.host.node == fault.node]
        if fault.kind == "oom" and not fault.target:
            fault = replace(fault, target=largest(each for run in there for each in run.running()))
        for run in there:
            run.strike(fault)


def suffer(container: Container, holder: Holder, fault: Fault, gpus: Iterable[int], now: float) -> None:
    """A container that runs feels a failure, and ends if that ends it."""
    program = container.program
    if container.phase == "running" and program is not None and (end := ended(fault, program, holder, gpus)):
        program.stop()
        container.end(end, now)


def ended(fault: Fault, program: Program, holder: Holder, gpus: Iterable[int]) -> Exit | None:
    """How a failure ends a container: killed for memory by name, else as its program says; None if it runs on."""
    if fault.kind == "oom":
        return Exit(137, reason="OOMKilled") if fault.target == address(holder) else None
    if KINDS[fault.kind].gpu and fault.gpu not in gpus:
        return None
    return program.struck(fault.kind)


def largest(running: Iterable[tuple[Holder, Mapping[str, Any]]]) -> str:
    """The container that the kernel kills: the one that may use most memory, none of the cluster's own."""
    found = [(memory(spec), address(each)) for each, spec in running if each.namespace != SYSTEM]
    return max(found, default=(Fraction(0), ""))[1]


def memory(spec: Mapping[str, Any]) -> Fraction:
    """What a container may use, in bytes; what it asks for where there is no limit."""
    resources = spec.get("resources") or {}
    limits, requests = amounts(resources.get("limits")), amounts(resources.get("requests"))
    return limits.get("memory", requests.get("memory", Fraction(0)))


def address(holder: Holder) -> str:
    """How a failure names a container."""
    return f"{holder.namespace}/{holder.pod}/{holder.container}"
