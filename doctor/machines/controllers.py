"""What a machine's management controller says of it, beside inventory and plan. It is read over Redfish only."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from catalogue.metal_types import Server
from doctor.machines.comparing import AT_ONCE, SEEN_MEMORY
from doctor.machines.gathering import Wrong, gathered, named, usual
from doctor.results import Result, Status
from oob.access import UnaskedError, opened
from oob.machine import Machine
from oob.reading import read
from oob.site import PASSWORD, controller
from planner.metal_types import MetalPlan
from planner.site import HostPlan, SitePlan

Ask = Callable[[HostPlan], Machine]
"""What the controller of a machine says. Raises UnaskedError."""

CHECKS = (
    "bmc",
    "bmc-serial",
    "bmc-model",
    "bmc-power",
    "bmc-health",
    "bmc-memory",
    "bmc-supplies",
    "bmc-drives",
    "bmc-firmware",
)


def examine(plan: MetalPlan, site: SitePlan, password: str | None) -> tuple[Result, ...]:
    """Every check of every controller; one result where none can be asked for want of words or of a password."""
    hosts = [host for host in site.hosts if host.bmc is not None]
    if not hosts:
        return ()
    if site.controllers is None:
        return (_unasked(hosts, "the stack file does not say how to query controllers", "add inventory.controllers"),)
    if password is None:
        return (_unasked(hosts, "controllers were not queried: there is no password", f"set {PASSWORD} and run again"),)

    def ask(host: HostPlan) -> Machine:
        known = controller(site, host)
        if known is None:
            raise UnaskedError("the stack file does not say how to query it", "add inventory.controllers")
        with opened(known, password) as root:
            return read(root, host.serial)

    return compared(plan, hosts, ask)


def compared(plan: MetalPlan, hosts: list[HostPlan], ask: Ask) -> tuple[Result, ...]:
    """What is not as inventory and plan have it. A controller that cannot be asked is a failure: whoever needs it
    later needs it to bring its machine back."""
    with ThreadPoolExecutor(AT_ONCE) as several:
        answers = dict(zip(hosts, several.map(lambda host: _asked(ask, host), hosts), strict=True))
    seen = {host: each for host, each in answers.items() if isinstance(each, Machine)}
    firmware = {
        "BIOS": usual({host: each.bios for host, each in seen.items() if each.bios}),
        "its controller's firmware": usual({host: each.controller for host, each in seen.items() if each.controller}),
    }
    found = {
        host.name: [Wrong("bmc", Status.FAIL, f"its controller cannot be queried: {answer}", answer.remedy)]
        if isinstance(answer, UnaskedError)
        else list(_wrong(plan, host, answer, firmware))
        for host, answer in answers.items()
    }
    return gathered(found, CHECKS, "bmc")


def _unasked(hosts: list[HostPlan], sentence: str, remedy: str) -> Result:
    names = named([host.name for host in hosts])
    return Result(check="bmc", status=Status.UNKNOWN, subject=names, sentence=sentence, remedy=remedy)


def _asked(ask: Ask, host: HostPlan) -> Machine | UnaskedError:
    try:
        return ask(host)
    except UnaskedError as why:
        return why


def _wrong(
    plan: MetalPlan, host: HostPlan, seen: Machine, firmware: Mapping[str, Mapping[str | None, str]]
) -> Iterator[Wrong]:
    fail, warn, unknown = Status.FAIL, Status.WARN, Status.UNKNOWN
    look = "use the machine's console, or update the controller's firmware"
    if not seen.serials:
        yield Wrong("bmc-serial", unknown, "its controller reports no serial number", look)
    elif host.serial is not None and host.serial not in seen.serials:
        sentence = f"the controller belongs to another machine: {', '.join(seen.serials)}, not {host.serial}"
        yield Wrong("bmc-serial", fail, sentence, "correct bmc, cable or serials before anything is switched")
    if seen.power != "On":
        status = fail if seen.power else unknown
        sentence = f"its power is {seen.power or 'unknown'}"
        yield Wrong("bmc-power", status, sentence, "make power NODE=... WHAT=on SERIAL=... switches it on")
    if seen.health in ("Warning", "Critical"):
        sentence = f"its controller reports health {seen.health}"
        yield Wrong("bmc-health", fail, sentence, "make power NODE=... WHAT=log says why")
    failed = [each.name for each in seen.drives or () if each.failed]
    if failed:
        yield Wrong("bmc-drives", fail, f"drives have failed or are about to: {named(failed)}", "replace them")
    for what, value in (("BIOS", seen.bios), ("its controller's firmware", seen.controller)):
        most = firmware[what].get(host.pool)
        if value is not None and value != most:
            sentence = f"{what} is {value}, and most of its pool has {most}"
            yield Wrong("bmc-firmware", warn, sentence, "update all machines of the pool to one version")
    if host.pool is not None:
        yield from _of_server(plan.pools[host.pool].server, seen)


def _of_server(server: Server, seen: Machine) -> Iterator[Wrong]:
    fail, warn, unknown = Status.FAIL, Status.WARN, Status.UNKNOWN
    if seen.model is not None and not _same(seen.model, server.name):
        sentence = f"it is a {seen.model}, and the plan has a {server.name}"
        yield Wrong("bmc-model", warn, sentence, "correct the pool's server, or find out whose controller this is")
    if seen.memory_gib is None:
        yield Wrong("bmc-memory", unknown, "its controller does not report its memory", "ask the machine")
    elif seen.memory_gib < server.memory_gib * SEEN_MEMORY:
        sentence = f"its firmware sees {seen.memory_gib:g} GiB of memory, and a {server.name} has {server.memory_gib}"
        yield Wrong("bmc-memory", fail, sentence, "look for a failed memory module: WHAT=log, or the machine's console")
    yield from _supplies(server, seen)


def _supplies(server: Server, seen: Machine) -> Iterator[Wrong]:
    """Against the count that the plan's power is made of, and those of them that may fail."""
    fail, wanted = Status.FAIL, server.power_supplies
    if seen.supplies is None:
        sentence = "its controller reports no power supplies"
        yield Wrong("bmc-supplies", Status.UNKNOWN, sentence, "update its firmware, or check their LEDs")
        return
    failed = [each.name for each in seen.supplies if each.failed]
    if len(seen.supplies) < wanted.count:
        sentence = f"it has {len(seen.supplies)} power supplies, and a {server.name} {wanted.count}"
        yield Wrong("bmc-supplies", fail, sentence, "plug in those that are missing")
    if failed:
        left = wanted.redundant - len(failed) - max(0, wanted.count - len(seen.supplies))
        more = f"{left} more may fail" if left > 0 else "no other may fail"
        sentence = f"power supplies without power: {named(failed)}; {more}"
        yield Wrong(
            "bmc-supplies", fail, sentence, "check their cables and feeds (make plan names the circuits), then replace"
        )
    elif seen.redundancy in ("Warning", "Critical"):
        yield Wrong("bmc-supplies", fail, "its power supplies are not redundant", "check whether both feeds have power")


def _same(model: str, name: str) -> bool:
    """Makers leave their name out, or write `DGXH100`; the catalogue adds GPUs to some."""
    shown, planned = (re.sub(r"[^a-z0-9]", "", each.lower()) for each in (model, name))
    return shown in planned or planned in shown
