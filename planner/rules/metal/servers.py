"""On-premises servers: power supplies, processors, memory, cooling."""

from collections.abc import Iterable, Iterator

from catalogue.metal_types import Cooling, Server
from catalogue.processors import CORES
from catalogue.units import gb
from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.facility.power import supplied_w, survives_a_feed
from planner.findings import Observation
from planner.pool_types import MetalPoolPlan
from planner.rules.known import known_pools
from settings.metal import MetalPool

_CONSTANT_LOAD = "NVIDIA DGX user guides, redundancy of the power supplies"
_COOLED = "Data sheets of the catalogue's servers"


def _servers(draft: MetalDraft) -> Iterator[tuple[str, MetalPool, Server]]:
    """Server of every planned pool, each with its settings path."""
    return ((f"{path}.server", pool, plan.server) for path, pool, plan in known_pools(draft))


@metal_rule(
    "B16 H07 HW02",
    each=_servers,
    formula="(supplies - redundant) x watts >= maximum of the server",
    source=_CONSTANT_LOAD,
)
def psu_power(_: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """A server runs at full load on the supplies that are left when the redundant ones are gone."""
    units, left = server.power_supplies, supplied_w(server.power_supplies)
    if left < server.max_w:
        yield Observation(
            sentence=f"{units.count} supplies of {units.watts} W, {units.redundant} of them redundant, bring "
            f"{left} W to {server.name}, which draws up to {server.max_w}",
            remedy=f"take a server with supplies for {server.max_w} W, or correct its row",
            inputs={
                "supplies": str(units.count),
                "redundant": str(units.redundant),
                "watts": f"{units.watts} W",
                "maximum": f"{server.max_w} W",
            },
        )


@metal_warning("H07 T13", each=_servers, formula="redundant >= 1", source=_CONSTANT_LOAD)
def psu_spare(_: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """A server keeps running when one of its power supplies fails."""
    units = server.power_supplies
    if units.redundant < 1:
        which = f"one of its {units.count} power supplies" if units.count > 1 else "its only power supply"
        yield Observation(
            sentence=f"a {server.name} stops when {which} fails",
            remedy="take a server with N+1 supplies, or accept the loss of a node",
            inputs={"supplies": str(units.count), "redundant": str(units.redundant)},
        )


@metal_warning(
    "H05 H17",
    each=_servers,
    formula="supplies on one of two feeds x watts >= maximum of the server",
    source=_CONSTANT_LOAD,
)
def feed_loss(draft: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """A server that loses one of two feeds keeps its speed on the supplies of the other."""
    if draft.settings.facility.feeds != 2:
        return
    units = server.power_supplies
    if units.count > 1 and not survives_a_feed(units, server.max_w):
        left = supplied_w(units, units.count - units.count // 2)
        yield Observation(
            sentence=f"without one feed each {server.name} has {units.count // 2} supplies with {left} W for up to "
            f"{server.max_w}, and slows down or stops",
            remedy="take servers whose supplies carry them on one feed, or accept it",
            inputs={"supplies": str(units.count), "watts": f"{units.watts} W", "maximum": f"{server.max_w} W"},
        )


@metal_rule(
    "B07 HW08 HW09",
    each=_servers,
    formula="cores of the row = cores of the processor",
    source="Product pages of AMD and Intel",
)
def server_processor(_: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """The number of cores is the one that the processor is sold with."""
    cpu = server.cpu
    if CORES.get(cpu.model, cpu.cores) != cpu.cores:
        yield Observation(
            sentence=f"an {cpu.model} has {CORES[cpu.model]} cores, and the row of {server.name} says {cpu.cores}",
            remedy=f"set the row's cores to {CORES[cpu.model]}, or name another processor",
            inputs={"cores": str(cpu.cores), "sold with": str(CORES[cpu.model])},
        )


@metal_warning(
    "A13 B08 HW11",
    each=_servers,
    formula="memory >= GPUs x memory of a GPU",
    source="Definition of the planner: a node saves its GPUs' memory through its own",
)
def memory_below_gpus(_: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """Host memory takes what the GPUs hold when it is saved, offloaded or loaded."""
    of_gpus = server.gpu.memory_gb * server.gpu_count if server.gpu else 0
    if gb(server.memory_gib) < of_gpus:
        yield Observation(
            sentence=f"{server.memory_gib} GiB of memory are less than the {of_gpus} GB of a {server.name}'s GPUs, "
            "so checkpoints and weights pass through it in parts",
            remedy="take twice the GPUs' memory",
            inputs={"memory": f"{server.memory_gib} GiB", "GPU memory": f"{of_gpus} GB"},
        )


@metal_rule(
    "B18 H12 HW14", each=_servers, formula="cooling of the server = air, or = facility.cooling.kind", source=_COOLED
)
def server_cooling(draft: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """Servers that are cooled by liquid stand in a room that has it."""
    kind = Cooling(draft.settings.facility.cooling.kind)
    if server.cooling is not Cooling.AIR and server.cooling is not kind:
        yield Observation(
            sentence=f"a {server.name} is cooled by {server.cooling}, and the room by {kind}",
            remedy=f"set facility.cooling.kind to {server.cooling}, or take an air-cooled server",
        )


@metal_warning("B18 HW14", each=_servers, formula="cooling of a GPU server = facility.cooling.kind", source=_COOLED)
def server_retrofit(draft: MetalDraft, _pool: MetalPool, server: Server) -> Iterable[Observation]:
    """GPU servers are sold air-cooled unless their row says otherwise: liquid is another model, or a retrofit."""
    kind = Cooling(draft.settings.facility.cooling.kind)
    if server.gpu_count and server.cooling is Cooling.AIR and kind is not Cooling.AIR:
        yield Observation(
            sentence=f"a {server.name} is air-cooled, and the room is planned for {kind}",
            remedy="take a model with liquid cooling, or set the row's cooling after its retrofit",
        )


@metal_rule(
    "AA01 AA02 HW16",
    each=known_pools,
    formula="gpuClockMhz <= largest clock of the GPU; gpuPowerW <= its power; inventory.driver = host",
    source="nvidia-smi(1), --lock-gpu-clocks and --power-limit; data sheets of the catalogue's GPUs",
)
def gpu_limits(draft: MetalDraft, _pool: MetalPool, plan: MetalPoolPlan) -> Iterable[Observation]:
    """GPUs are held at a clock and a power that they have, by machines that own their driver."""
    site = draft.settings.inventory
    gpu = plan.gpu
    limits = (
        ("gpuClockMhz", plan.gpu_clock_mhz, gpu.max_sm_clock_mhz if gpu else None, "MHz"),
        ("gpuPowerW", plan.gpu_power_w, gpu.tdp_w if gpu else None, "W"),
    )
    for key, value, most, unit in limits:
        if value is None:
            continue
        inputs = {key: f"{value} {unit}", "most": f"{most} {unit}", "GPU": gpu.name if gpu else "0"}
        if gpu is None:
            sentence, remedy = f"a {plan.server.name} has no GPU to be limited", "remove the key"
        elif most is not None and value > most:
            sentence = f"GPUs {gpu.name} have {most} {unit} at most, not {value}"
            remedy = f"set it to {most} or less, or remove the key"
        elif site is not None and site.driver != "host":
            sentence = "machines set limits where they own the driver, and here the operator's containers do"
            remedy = "set inventory.driver to host, or remove the key"
        else:
            continue
        yield Observation(path=key, sentence=sentence, remedy=remedy, inputs=inputs)
