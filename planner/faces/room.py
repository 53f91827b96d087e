"""Fabric, its tests, storage, power, racks and monitoring as text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from catalogue.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from planner.fabric.design import FabricDesign
from planner.fabric.plan import FabricPlan, PodPorts
from planner.faces.layout import facts, quantity, section, table
from planner.facility.plan import FacilityPlan, RackLine
from planner.interconnect import Gate
from planner.monitoring.types import MonitoringPlan
from planner.networks import NetworkPlan
from planner.storage.limits import Limits
from planner.storage.types import FILE_SYSTEMS, RunStorage, StoragePlan
from planner.types import Plan
from planner.wording import counted, usd

HEADINGS = ("test", "GPUs", "message", "pass from", "fail below", "expected", "unit", "from")


def gates(plan: Plan) -> Iterator[RenderableType]:
    """Of each pool the tests that something is demanded of, each at its largest message and most nodes."""
    for pool in dict.fromkeys((*plan.gates, *plan.measured)):
        tests = plan.gates.get(pool, ())
        judged = {(gate.test, gate.reach): gate for gate in tests if gate.threshold.fail is not None}
        others = len(tests) - len(judged)
        rest = f"{others} further tests, of other messages and fewer nodes: FORMAT=json"
        rest = rest if judged else f"{others} tests, whose results are recorded only: FORMAT=json"
        rows = ((f"{gate.test}, {counted(gate.gpus, 'GPU')}", _demanded(gate)) for gate in judged.values())
        told = [Text(rest, "dim")] if tests else []
        yield section(f"validation of pool {pool}", facts((*rows, *_gate(plan, pool))), *told)


def _gate(plan: Plan, pool: str) -> Iterator[tuple[str, str]]:
    """How long the gate takes, and the schedule of what measures the nodes' cards two by two."""
    if (measured := plan.measured.get(pool)) is not None:
        pairs, planned = measured.pairs, quantity(round(measured.planned_s / SECONDS_PER_MINUTE, 1))
        yield "gate", f"{planned} minutes on {counted(measured.nodes, 'node')}, of {measured.seconds // 60} at most"
        if pairs is None:
            yield "between nodes", "nothing: " + ("the pool has one" if measured.nodes == 1 else "there is no fabric")
            return
        whom = "each with every other" if pairs.rounds == pairs.all_rounds else f"of {pairs.all_rounds}"
        minutes = quantity(round(pairs.seconds / SECONDS_PER_MINUTE, 1))
        yield f"{pairs.program}, pairs of nodes", f"{counted(pairs.rounds, 'round')}, {whom}, {minutes} minutes"


def _demanded(gate: Gate) -> str:
    _, _, _, passes, fails, _, unit, _ = gate_row(gate)
    least = f"at least {passes} {unit}" if passes == fails else f"pass from {passes} {unit}, fail below {fails}"
    return f"{least}, {gate.reach}"


def gate_row(gate: Gate) -> Sequence[str]:
    """A test in words; lines that nobody drew are empty."""
    threshold = gate.threshold
    return (
        f"{gate.test} {gate.reach}",
        f"{gate.gpus:,}",
        f"{gate.size_gib:g} GiB" if gate.size_gib is not None else "",
        _reached(threshold.warn),
        _reached(threshold.fail),
        _reached(threshold.expected),
        gate.unit,
        str(threshold.origin),
    )


def _reached(rate: float | None) -> str:
    return quantity(round(rate, 1)) if rate is not None else ""


_LARGEST_EXPORTERS = 4


def fabric_facts(plan: FabricPlan) -> Iterator[tuple[str, str | None]]:
    now, later = plan.growth.day_one, plan.growth.at_maximum
    yield "switches", f"{plan.switch.name}, {plan.radix.ports} ports of {plan.radix.gbit_per_s} Gb/s, {plan.kind}"
    yield "topology", _switches(now)
    cables = {
        "to nodes": now.node_cables,
        "leaf to spine": now.leaf_spine_cables,
        "spine to core": now.spine_core_cables,
    }
    yield "cables", ", ".join(f"{count:,} {span}" for span, count in cables.items() if count)
    modules = plan.optics
    ends = f"{modules.switch_transceivers:,} in switches, {modules.node_transceivers:,} in nodes"
    yield "if all fibre", f"{modules.fibres:,} fibres; transceivers: {ends}, {modules.other_transceivers:,} elsewhere"
    injected, bisection = plan.injection_gbit_per_s / 1000, plan.bisection_gbit_per_s / 1000
    ports = now.demand.rails * now.planes
    yield "nodes send", f"{quantity(injected)} Tb/s together, {ports} {'port' if ports == 1 else 'ports'} of a node"
    yield "bisection", f"{quantity(bisection)} Tb/s, oversubscription {quantity(plan.oversubscription)}"
    if later.demand.nodes > now.demand.nodes:
        yield f"at {later.demand.nodes} nodes", f"{_switches(later)}, {later.cables:,} cables"
    own = plan.pod_ports
    ranges = own.networks if own else plan.rail_networks
    yield "addresses", " to ".join(dict.fromkeys(ranges[:1] + ranges[-1:])) or None
    yield "pods get", _pods_get(own) if plan.kind != "ethernet" else None
    yield "NCCL", ", ".join(f"{name}={value}" for name, value in plan.nccl.items()) or None


def _pods_get(own: PodPorts | None) -> str:
    """What of a node's ports a pod has that takes the whole node."""
    if own is None:
        return "all compute ports of their node, shared with its other pods (sharedDevice)"
    what = "each compute port of their node" if own.mode == "hostDevice" else "a virtual function of each port"
    return f"{what}, with an address of the port's range ({own.mode}, {counted(own.per_port, 'pod')} of a node at once)"


def network_facts(plans: Iterable[NetworkPlan]) -> Iterator[tuple[str, str | None]]:
    for each in plans:
        ports = f"{each.design.node_cables:,} ports of what is on them"
        yield each.kind, f"{each.design.switches:,} x {each.switch.name}, {ports}, {each.cables:,} cables"


def _switches(design: FabricDesign) -> str:
    tiers = {("leaf", "leaves"): design.leaves, ("spine", "spines"): design.spines, ("core", "cores"): design.cores}
    counts = ", ".join(f"{count:,} {one if count == 1 else many}" for (one, many), count in tiers.items() if count)
    planes = f", in {design.planes} planes" if design.planes > 1 else ""
    return f"{design.topology}, {counts}{planes}"


def storage_facts(plan: StoragePlan) -> Iterator[tuple[str, str | None]]:
    yield (
        "file system",
        f"{FILE_SYSTEMS[plan.kind]}{f' over {plan.lnet}' if plan.lnet else ''}, {counted(plan.clients, 'client')}",
    )
    yield "capacity", f"{_tb(plan.usable_tb)} usable of {_tb(plan.raw_tb)}, {_tb(plan.needed_tb)} needed"
    yield "reads", _rate(plan.read_gb_per_s, plan.target_read_gb_per_s, plan.read)
    yield "writes", _rate(plan.write_gb_per_s, plan.target_write_gb_per_s, plan.write)
    for name, run in plan.runs.items():
        if saving := run.io.saving:
            where = "local disks first" if saving.local else "straight to the file system"
            size, every, within = run.io.checkpoint_gb, saving.every_s / 60, saving.within_s
            yield f"run {name}", f"{size:,.0f} GB every {every:g} min within {within:g} s, {where}{_copied(run)}"


def _copied(run: RunStorage) -> str:
    """Where the newest checkpoint goes on to from the file system, and how long that takes."""
    if run.io.saving is None or run.io.saving.object_store_s is None or run.object_copy_s is None:
        return ""
    hours = run.io.saving.object_store_s / SECONDS_PER_HOUR
    return f", every {counted(int(hours), 'hour')} in {run.object_copy_s / 60:.0f} min to the object store"


def _rate(rate: float, target: float | None, limits: Limits | None) -> str:
    asked = f", {quantity(target)} requested" if target else ""
    bound = f", bound by {limits.bound_by}" if limits else ""
    return f"{quantity(rate)} GB/s{asked}{bound}"


def _tb(value: float) -> str:
    return f"{quantity(round(value, 1))} TB" if value >= 1 else f"{value * 1000:,.0f} GB"


def facility(plan: FacilityPlan) -> RenderableType:
    """Power, cooling and racks at full load."""
    headings = ("racks", "nodes", "machines", "units", "kW", "circuits a feed")
    return section("power and racks", facts(power_facts(plan)), table(headings, _racks(plan.racks)))


def power_facts(plan: FacilityPlan) -> Iterator[tuple[str, str | None]]:
    power, heat = plan.power, plan.heat
    parts = {"nodes": power.nodes_kw, "switches": power.switches_kw, "storage": power.storage_kw}
    parts |= {"control": power.control_kw, "pumps": power.pumps_kw}
    shares = ", ".join(f"{name} {quantity(round(kw, 1))}" for name, kw in parts.items() if kw)
    gpus = f"; their GPUs alone {power.gpus_kw:,.1f}" if power.gpus_kw else ""
    yield "machines", f"{power.draw_kw:,.1f} kW ({shares}){gpus}"
    yield "to order", f"{power.planned_kw:,.1f} kW with a margin of {power.margin:.0%}"
    yield "whole room", f"{plan.facility_kw:,.1f} kW, {plan.yearly_mwh:,.0f} MWh a year"
    yield "circuit", f"{plan.circuit_kw:,.1f} kW each, continuously"
    flow = f", {plan.litres_per_minute:.0f} l/min" if plan.litres_per_minute is not None else ""
    cooled = f"{plan.cooling_tons:,.1f} tons of cooling"
    yield "heat", f"{heat.air_kw:,.1f} kW to air, {heat.liquid_kw:,.1f} kW to liquid{flow}; {cooled}"
    if plan.ups_kwh is not None and plan.ups_load_kw is not None:
        yield "batteries", f"{plan.ups_kwh:,.1f} kWh for {plan.ups_load_kw:,.1f} kW"
    yield "energy", f"{usd(plan.usd_per_hour)} USD an hour, {usd(plan.yearly_usd)} a year"
    yield "in no rack", ", ".join(plan.misfits) or None


def _racks(racks: Iterable[RackLine]) -> Iterator[tuple[object, ...]]:
    """Equal racks in a row are one line."""

    def like(numbered: tuple[int, RackLine]) -> tuple[object, ...]:
        rack = numbered[1]
        return rack.nodes, len(rack.machines), rack.units, round(rack.kw, 1), rack.circuits

    for same, members in groupby(enumerate(racks, 1), like):
        numbers = [number for number, _ in members]
        yield (f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"), *same


def monitoring_facts(plan: MonitoringPlan) -> Iterator[tuple[str, str | None]]:
    largest = sorted(plan.exporters, key=lambda each: each.samples_per_s, reverse=True)[:_LARGEST_EXPORTERS]
    asked, room = plan.requests.prometheus, plan.room
    yield "scraped", f"{plan.series:,} series every {plan.scrape_s} s, {plan.samples_per_s:,} samples/s"
    yield "largest", ", ".join(f"{each.name} {each.series:,}" for each in largest)
    yield (
        "retention",
        f"{counted(plan.retention_days, 'day')} take {plan.needed_gib:,} of {plan.disk_gib:,} GiB, "
        f"{plan.retention_size_gib:,} at most",
    )
    cores = asked.cpu_millicores / 1000
    yield "Prometheus", f"{cores:g} core{'' if cores == 1 else 's'}, {asked.memory_mib:,} MiB"
    yield (
        "system pools",
        f"{room.asked_cpu_millicores / 1000:g} of {room.offered_cpu_millicores / 1000:g} cores and "
        f"{room.asked_memory_mib:,} of {room.offered_memory_mib:,} MiB requested",
    )
    told = [f"{each.name} ({each.kind}, {each.at_least} and above)" for each in plan.receivers]
    yield "alerts to", ", ".join(told) or "nobody"
    yield "logs", f"kept {counted(plan.log_days, 'day')}"
