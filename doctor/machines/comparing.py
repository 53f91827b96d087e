"""What a machine says of itself beside the plan. What is wrong of several for one reason is one result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from catalogue.network_types import Link, NicRole, of_role
from doctor.machines.gathering import Wrong, gathered, usual
from doctor.machines.reading import Seen, UnreadError
from doctor.results import Result, Status
from planner.fabric.nccl import ROCE_DSCP, ROCE_PRIORITY
from planner.metal_types import MetalPlan
from planner.pool_types import MetalPoolPlan
from planner.site import HostPlan, SitePlan

Ask = Callable[[SitePlan, HostPlan, Sequence[str]], Seen]
"""What a machine says of itself and of some units of systemd. Raises UnreadError."""

AT_ONCE = 16
SEEN_MEMORY = 0.95
"""Firmware and kernel keep up to some per cent of a machine's memory; a module less is more than that."""
CLOCK_SECONDS = 5.0
"""More than what a connection takes; time servers keep machines within milliseconds."""

CHECKS = ("machine", "serial", "clock", "kernel", "memory", "gpus", "disks", "rails", "nic", "daemons")


def examine(plan: MetalPlan, site: SitePlan, ask: Ask) -> tuple[Result, ...]:
    """Every check of every machine, those of one kind together."""
    with ThreadPoolExecutor(AT_ONCE) as several:
        asked = several.map(lambda host: _asked(ask, site, host, _daemons(plan, host)), site.hosts)
        answers = dict(zip(site.hosts, asked, strict=True))
    seen = {host: answer for host, answer in answers.items() if isinstance(answer, Seen)}
    kernels = usual({host: each.kernel or "" for host, each in seen.items()})
    remedy = "check that it is on and its address correct, and give its SSH key (KEY=FILE)"
    found = {
        host.name: [Wrong("machine", Status.UNKNOWN, str(answer), remedy)]
        if isinstance(answer, UnreadError)
        else list(_wrong(plan, host, answer, kernels))
        for host, answer in answers.items()
    }
    return gathered(found, CHECKS, "machine")


def nothing_answered(results: Sequence[Result]) -> bool:
    """Whether no machine could be asked."""
    return all(each.status is Status.UNKNOWN for each in results)


def _daemons(plan: MetalPlan, host: HostPlan) -> tuple[str, ...]:
    return plan.slurm.daemons(host.name, host.pool) if plan.slurm else ()


def _asked(ask: Ask, site: SitePlan, host: HostPlan, units: Sequence[str]) -> Seen | UnreadError:
    try:
        return ask(site, host, units)
    except UnreadError as why:
        return why


def _wrong(plan: MetalPlan, host: HostPlan, seen: Seen, kernels: Mapping[str | None, str]) -> Iterator[Wrong]:
    fail, warn = Status.FAIL, Status.WARN
    if seen.serial is None:
        yield Wrong(
            "serial", Status.UNKNOWN, "its firmware reports no serial number", "dmidecode -s system-serial-number"
        )
    elif host.serial is None:
        yield Wrong("serial", warn, "the stack file has no serial number for it", f"add serials: [{seen.serial}, ...]")
    elif seen.serial != host.serial:
        sentence = f"another machine answers: {seen.serial}, and the stack file says {host.serial}"
        yield Wrong("serial", fail, sentence, "correct address, cable or serials before anything is prepared")
    if abs(seen.seconds_off) > CLOCK_SECONDS:
        side = "ahead" if seen.seconds_off > 0 else "behind"
        sentence = f"its clock is more than {CLOCK_SECONDS:.0f} s {side} of this machine's"
        yield Wrong("clock", fail, sentence, "synchronise it: tokens and certificates are valid only if clocks agree")
    if seen.kernel != kernels[host.pool]:
        sentence = f"it runs {seen.kernel}, and most of its pool {kernels[host.pool]}"
        yield Wrong("kernel", warn, sentence, "install the same on all: a gang is as fast as its slowest node")
    if host.pool is not None:
        yield from _of_pool(plan.pools[host.pool], seen)
    for path in (each for each in host.disks if each not in seen.disks):
        yield Wrong(
            "disks", fail, f"there is no disk {path}", "lsblk -o NAME,SERIAL and ls -l /dev/disk/by-path show what is"
        )
    yield from _rails(plan, host, seen)
    if host.management_nic and host.management_nic not in seen.nics:
        sentence = f"it has no interface {host.management_nic}"
        yield Wrong("nic", fail, sentence, "correct managementNic: ip -br link lists the interfaces")
    for unit, state in seen.units.items():
        if state != "active":
            remedy = f"journalctl -u {unit} has the reason; then systemctl start {unit}: pulumi up, which changes "
            yield Wrong("daemons", fail, f"{unit} is {state}", f"{remedy}nothing there, does not start it")


def _of_pool(pool: MetalPoolPlan, seen: Seen) -> Iterator[Wrong]:
    server = pool.server
    if seen.memory_gib is None or seen.memory_gib < server.memory_gib * SEEN_MEMORY:
        sentence = f"it has {seen.memory_gib} GiB of memory, and a {server.name} {server.memory_gib}"
        yield Wrong("memory", Status.FAIL, sentence, "look for a failed memory module, or correct the pool's server")
    if server.gpu is None:
        return
    products = {name.replace(" ", "-") for name, _ in seen.gpus}
    if len(seen.gpus) != server.gpu_count:
        sentence = f"nvidia-smi shows {len(seen.gpus)} GPUs, and a {server.name} has {server.gpu_count}"
        remedy = "lspci -d 10de: shows those on the bus; install the driver if it is missing, or use driver: container"
        yield Wrong("gpus", Status.FAIL, sentence, remedy)
    elif products != {server.gpu.product}:
        sentence = f"its GPUs are {', '.join(sorted(products))}, and a {server.name} has {server.gpu.product}"
        yield Wrong("gpus", Status.FAIL, sentence, "correct the pool's server")
    elif len(drivers := {driver for _, driver in seen.gpus}) > 1:
        yield Wrong("gpus", Status.WARN, f"its GPUs have drivers {', '.join(sorted(drivers))}", "reboot the machine")


def _lossless(rail: str, classes: frozenset[str]) -> Iterator[Wrong]:
    wanted, paused = f"{ROCE_DSCP}:{ROCE_PRIORITY}", f"{ROCE_PRIORITY}:on"
    on = sorted(word for word in classes if word.endswith(":on"))
    if wanted not in classes:
        sentence = f"the card of {rail} does not give DSCP {ROCE_DSCP} priority {ROCE_PRIORITY}"
    elif on != [paused]:
        sentence = f"the card of {rail} pauses {' '.join(on).replace(':on', '') or 'no priority'}, not {ROCE_PRIORITY}"
    else:
        return
    yield Wrong(
        "rails", Status.FAIL, sentence, "run pulumi up, which sets it; make plan TABLE=switches has the switch's"
    )


def _rails(plan: MetalPlan, host: HostPlan, seen: Seen) -> Iterator[Wrong]:
    for rail in (each for each in host.rails if each not in seen.cards):
        remedy = "check whether the card is seated (lspci -D), or correct rails"
        yield Wrong("rails", Status.FAIL, f"there is no card at {rail}", remedy)
    wide = plan.fabric.mtu if plan.fabric else None
    for number, rail in enumerate(host.rails):
        if wide is not None and (mtu := seen.mtus.get(rail, wide)) < wide:
            sentence = f"the interface of rail {number} ({rail}) has an MTU of {mtu} bytes, not {wide}"
            yield Wrong("rails", Status.FAIL, sentence, "run pulumi up, which sets it, and look at the switch's own")
        if plan.fabric and plan.fabric.kind == "roce" and rail in seen.cards:
            yield from _lossless(f"rail {number} ({rail})", seen.classes.get(rail, frozenset()))
    groups = of_role(plan.pools[host.pool].server.nics, NicRole.COMPUTE) if host.pool else ()
    roce = plan.fabric is not None and plan.fabric.kind == "roce"
    rates = {group.nic.gbit_per_s for group in groups if group.nic.link is Link.INFINIBAND or (roce and group.nic.rdma)}
    for number, rail in enumerate(host.rails):
        if not rates or rail not in seen.cards:
            continue
        state, rate = seen.ports.get(rail, ("absent", 0))
        if state != "ACTIVE":
            sentence = f"the link of rail {number} ({rail}) is {state}, not ACTIVE"
            yield Wrong(
                "rails",
                Status.FAIL,
                sentence,
                "check cable and switch port (make plan lists both ends), and the subnet manager",
            )
        elif rate not in rates:
            wanted = " or ".join(f"{each}" for each in sorted(rates))
            sentence = f"the link of rail {number} ({rail}) runs at {rate} Gb/s, not {wanted}"
            yield Wrong(
                "rails",
                Status.FAIL,
                sentence,
                "clean or replace the cable: a link that lost lanes slows the whole gang",
            )
