"""Pages of the catalogue's names: instance types with what a node of them is, models with what they take."""

from collections.abc import Iterable, Iterator, Sequence

from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from catalogue.offerings import OFFERINGS_AS_OF, offered
from catalogue.types import Instance
from planner.faces.layout import quantity
from planner.wording import usd

_INSTANCES = f"""# Instance types

Written by `make reference` from `catalogue/instances`. What a pool's `instanceType` can name; a type that is missing is
added in a stack file below `gpucluster:catalogue.instances`, `like` a row of this table. Prices are US East list prices
on demand; where EC2 offers a type is as of {OFFERINGS_AS_OF}. System pools take types without GPUs.

"""
_MODELS = """# Models

Written by `make reference` from `catalogue/models.py`. What `model` of a run or a service can name; one that is
missing is added in a stack file below `gpucluster:catalogue.models`, `like` a row of this table. Weights are as
published.

"""


def instances() -> str:
    """Every instance type: GPUs, memory, fabric, price, how it is sold, and where."""
    head = ("type", "GPUs", "GPU memory GB", "vCPU", "memory GiB", "EFA", "NVMe", "USD/h", "sold as", "regions")
    return _INSTANCES + _table(head, (_instance(row) for row in INSTANCES.values()))


def _instance(row: Instance) -> Sequence[str]:
    regions = offered(row.type)
    return (
        f"`{row.type}`",
        f"{row.gpu_count} x {row.gpu.name}" if row.gpu and row.gpu_count else "",
        quantity(row.gpu.memory_gb * row.gpu_count) if row.gpu and row.gpu_count else "",
        str(row.vcpu),
        quantity(row.memory_gib),
        str(row.efa_max or ""),
        f"{row.nvme.count} x {quantity(row.nvme.size_gb)} GB" if row.nvme else "",
        usd(row.on_demand.usd_per_hour) if row.on_demand else "",
        ", ".join(sorted(row.usage_classes)),
        str(len(regions)) if regions is not None else "not recorded",
    )


def models() -> str:
    """Every model: parameters, layers, context, weights."""
    head = ("model", "parameters, 10^9", "layers", "context, tokens", "weights GB")
    rows = (
        (
            f"`{row.name}`",
            quantity(row.parameters / 10**9),
            str(row.layers),
            f"{row.context:,}",
            quantity(round(row.parameters * row.bytes_per_parameter / 10**9, 1)),
        )
        for row in MODELS.values()
    )
    return _MODELS + _table(head, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(_lines(head, rows)) + "\n"


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
