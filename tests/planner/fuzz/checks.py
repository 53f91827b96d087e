"""What holds of every answer to a stack file, whatever stands in it."""

import re
from collections.abc import Iterator, Mapping
from math import isclose, isfinite
from typing import Any

from planner.bom import Basis
from planner.faces.document import document, text
from planner.faces.lists import cables
from planner.faces.page.whole import page
from planner.facility.power import Kind
from planner.metal_types import MetalPlan
from planner.plan import AwsPlan, plan
from planner.pool_types import PoolPlan
from planner.workload_types import RunPlan
from settings.errors import SettingsError
from settings.load import from_sections, on_its_preset
from tests.planner.fuzz.documents import Schema, options, whole
from tests.planner.stacks import TODAY

_LONGEST = 1500
"""Characters of a sentence that lists every row of a table; text from the file is cut long before."""

_CUT = 80
"""Characters of a word that is echoed."""

_CENT = 0.006
"""Half a cent, by which a rounded sum differs from its parts."""

_LISTED = 1500
"""Cables up to which the list is written and the drawing made, for the time that they take."""

_MAY_BE_NEGATIVE = ("free", "margin")


def answer(data: Mapping[str, Any]) -> str:
    """What became of a stack file: refused, errors or planned. Fails where the answer is none for a person."""
    try:
        found = plan(from_sections(data), today=TODAY)
    except SettingsError as error:
        for problem in error.problems:
            readable(problem, data)
        return "refused"
    told = document(found)
    text(told)
    for finding in found.findings:
        readable(str(finding), data)
        assert finding.remedy, finding.rule
        assert all(len(word) <= _CUT for word in finding.sentence.split()), finding.sentence
    if found.errors:
        return "errors"
    consistent(found, told)
    return "planned"


def readable(said: str, data: Mapping[str, Any]) -> None:
    """One sentence of printable text, that begins with a place of the file."""
    path, colon, sentence = said.partition(": ")
    assert colon, said
    assert sentence, said
    assert said.isprintable(), said
    assert len(said) < _LONGEST, said
    assert path.startswith("gpucluster:"), said
    there(path.removeprefix("gpucluster:"), data)


def there(path: str, data: Mapping[str, Any]) -> None:
    """Fails unless every entry of a list that the path names is in the file, and every key is one that can be."""
    try:
        here: Any = on_its_preset(data)
    except SettingsError:
        here = data
    schemas: list[Schema] = [whole(here)]
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(here, list | tuple):
            assert step.isdigit(), path
            assert int(step) < len(here), path
            here, schemas = here[int(step)], [each["items"] for each in schemas if "items" in each]
        else:
            known = [each["properties"][step] for each in schemas if step in each.get("properties", {})]
            written = isinstance(here, Mapping) and any(str(key) == step for key in here)
            assert known or written or not schemas, path
            here, schemas = here.get(step) if isinstance(here, Mapping) else None, known
        schemas = [option for each in schemas for option in options(each)]


def numbers(told: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a document with their paths."""
    if isinstance(told, int | float) and not isinstance(told, bool):
        yield path, told
    for key, below in told.items() if isinstance(told, Mapping) else enumerate(told if isinstance(told, list) else ()):
        yield from numbers(below, f"{path}.{key}")


def consistent(found: AwsPlan | MetalPlan, told: Mapping[str, Any]) -> None:
    """Totals add up, no number is negative or none at all, nothing exceeds what its row can do."""
    for path, number in numbers(told):
        assert isfinite(number), path
        assert number >= 0 or any(word in path.lower() for word in _MAY_BE_NEGATIVE), (path, number)
    assert found.totals.nodes == sum(pool.count for pool in found.pools.values())
    assert found.totals.gpus == sum(pool.gpus for pool in found.pools.values())
    for pool in found.pools.values():
        assert pool.gpus == pool.count * pool.gpus_per_node
    for run in found.runs.values():
        _run(run, found.pools[run.pool])
    for service in found.services.values():
        gpu = found.pools[service.pool].gpu
        assert gpu is not None
        assert service.weights_gb + service.kv_cache_gb <= gpu.driver_gb * max(1, service.gpus), service.name
    _money(found)
    if isinstance(found, MetalPlan):
        _room(found)


def _run(run: RunPlan, pool: PoolPlan) -> None:
    assert run.gpus <= pool.gpus
    assert run.pods <= pool.count
    if run.forecast and run.forecast.step and pool.gpu and run.training:
        peak = max(filter(None, (pool.gpu.bf16_tflops, pool.gpu.fp16_tflops, pool.gpu.fp8_tflops)))
        assert run.forecast.step.mfu <= 1, run.name
        assert run.forecast.effective_part is None or 0 <= run.forecast.effective_part <= 1
        assert peak > 0


def _money(found: AwsPlan | MetalPlan) -> None:
    for basis in Basis:
        whole_ = found.bom.cost(basis)
        parts = found.bom.by_part(basis).values()
        assert isclose(whole_.usd, sum(each.usd for each in parts), rel_tol=1e-9, abs_tol=1e-6)
        assert whole_.low <= whole_.usd * (1 + 1e-9)
        assert whole_.usd <= whole_.high * (1 + 1e-9)
    if isinstance(found, AwsPlan):
        assert isclose(found.prices.hourly, sum(found.prices.by_purpose.values()), abs_tol=_CENT)
        assert isclose(found.prices.hourly, sum(found.prices.by_layer.values()), abs_tol=_CENT)


def _room(found: MetalPlan) -> None:
    room = found.facility
    if not room.misfits:
        assert isclose(sum(rack.kw for rack in room.racks), room.power.it_kw, rel_tol=1e-9)
    assert room.facility_kw >= room.power.it_kw * (1 - 1e-9)
    for rack in room.racks:
        assert rack.units <= rack.height
        assert sum(map(len, rack.on_circuits)) <= max(1, rack.circuits) * len(rack.machines)
    built = [each.design for each in found.networks] + ([found.fabric.growth.day_one] if found.fabric else [])
    switches = sum(each.count for each in room.machines if each.kind is Kind.SWITCH)
    assert switches == sum(each.switches for each in built)
    uplinks = sum(each.cables - each.design.cables for each in found.networks)
    _views(found, switches, sum(each.cables for each in built) + uplinks)
    for network in found.networks:
        assert network.design.node_cables == sum(each.count * each.ports for each in network.joined)
    if found.fabric:
        assert found.fabric.bisection_gbit_per_s <= found.fabric.injection_gbit_per_s * (1 + 1e-9)


def _views(found: MetalPlan, switches: int, laid: int) -> None:
    """Bill, racks, cable list and drawing show the switches and cables that the designs have."""
    on_bill = sum(line.count for line in found.bom.lines if line.item in switch_lines(found))
    assert on_bill == switches
    assert sum(line.count for line in found.bom.lines if "cable" in line.item) == laid
    strips = sum(line.count for line in found.bom.lines if line.item == "rack PDU")
    plugged = [each for network in found.networks for each in network.joined if each.name == "power-strip"]
    assert sum(each.count for each in plugged) in (strips, 0)
    if not found.facility.misfits:
        racked = [name for rack in found.facility.racks for name in rack.machines]
        assert sum(name.rpartition("-")[0].endswith("switch") for name in racked) == switches
    if laid < _LISTED:
        listed = (cables(found) or "\n").count("\n") - 1
        assert listed == laid
        drawn = sum(map(int, re.findall(r'data-cables="(\d+)"', page("site", found))))
        assert drawn * (found.fabric.growth.day_one.planes if found.fabric else 1) == listed


def switch_lines(plan_: MetalPlan) -> set[str]:
    """The items of a bill that are switches."""
    known = {f"{each.switch.name} of the storage network" for each in plan_.networks if each.kind == "storage"}
    return known | {"management switch"} | ({plan_.fabric.switch.name} if plan_.fabric else set())
