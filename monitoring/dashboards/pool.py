"""The GPUs of a pool: how warm, how busy, how sick (X03, B19, U07, X14)."""

from monitoring.dashboards.alerts import bounds
from monitoring.dashboards.model import Dashboard, Panel, Query, Section, Unit, Variable
from monitoring.dashboards.queries import line, planned
from monitoring.dashboards.references import References

BUSY_SM, BUSY_MEMORY, BUSY_POWER, BUSY_C = 0.79, 0.92, 0.97, 48.0
"""What `nvidia-smi dmon` shows of GPUs of 700 W in a healthy run: SM, memory, 680 W of 700, degrees (U07)."""


def pool(plan: References) -> Dashboard:
    """All pools with GPUs, one of them, or one node."""
    return Dashboard(
        uid="gpucluster-pool",
        title="GPU pool",
        description="Temperature, power, work and errors of the GPUs, by pool and node.",
        variables=(
            Variable(name="pool", label="pool", metric="gpucluster:node:pool"),
            Variable(name="node", label="node", metric='gpucluster:node:pool{pool=~"$pool"}'),
        ),
        sections=(
            Section(title="Heat and power", panels=_heat(plan)),
            Section(title="Work", panels=_work()),
            Section(title="Errors", panels=_errors()),
            Section(title="NVLink and PCIe", panels=_links()),
        ),
    )


def _gpu(name: str, more: str = "") -> str:
    return f'gpucluster:gpu:{name}{{pool=~"$pool", node=~"$node"{more}}}'


def _heat(plan: References) -> tuple[Panel, ...]:
    watts = {name: each.watts_per_gpu for name, each in plan.pools.items()}
    return (
        Panel(
            title="GPU temperature",
            description="Above 85 C a GPU soon lowers its clock, and the slowest GPU sets the pace of the whole run.",
            unit=Unit.CELSIUS,
            queries=[
                Query(f"max by (pool) ({_gpu('temperature_celsius')})", "{{pool}} hottest"),
                Query(f"avg by (pool) ({_gpu('temperature_celsius')})", "{{pool}} mean"),
                line("healthy under load", BUSY_C),
            ],
            bounds=bounds("gpu-hot", "celsius"),
            most=100,
        ),
        Panel(
            title="Least margin to the slowdown",
            description="At zero the GPU slows down, whatever the degrees on the left say.",
            unit=Unit.CELSIUS,
            queries=[Query(f"min by (pool) ({_gpu('temperature_margin_celsius')})", "{{pool}} least margin")],
            bounds=bounds("gpu-hot", "margin", below=True),
        ),
        Panel(
            title="Hottest GPUs",
            description="One alone is a loose cooler or a dead fan; a whole node is air or coolant.",
            unit=Unit.CELSIUS,
            kind="bargauge",
            queries=[Query(f"topk(8, {_gpu('temperature_celsius')})", "{{node}} GPU {{gpu}}")],
            bounds=bounds("gpu-hot", "celsius"),
            most=100,
        ),
        Panel(
            title="Memory temperature",
            description="Much above the GPU itself: cooling does not reach the memory, and its clock goes down.",
            unit=Unit.CELSIUS,
            queries=[Query(f"max by (pool) ({_gpu('memory_temperature_celsius')})", "{{pool}} hottest")],
            most=110,
            width=6,
        ),
        Panel(
            title="Power of a GPU",
            description="Far below the limit under full load: a cap, a brake of the power supply, or a stalled run.",
            unit=Unit.WATT,
            queries=[
                Query(f"max by (pool) ({_gpu('power_watts')})", "{{pool}} most"),
                Query(f"avg by (pool) ({_gpu('power_watts')})", "{{pool}} mean"),
                *planned("pool", watts, f"max by (pool) ({_gpu('power_watts')})", "limit of the board"),
                *planned(
                    "pool",
                    {name: BUSY_POWER * each for name, each in watts.items()},
                    f"max by (pool) ({_gpu('power_watts')})",
                    "healthy under load",
                ),
            ],
            width=12,
        ),
        Panel(
            title="Clocks held down, samples in 5 min",
            description="Thermal and brake events slow a whole run down; a power cap is ordinary under full load.",
            unit=Unit.COUNT,
            queries=[Query(f"sum by (clock_event) ({_gpu('clock_event_samples')}) > 0", "{{clock_event}}")],
            nothing="none",
            width=6,
        ),
    )


def _work() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Time in which a kernel ran",
            description="All GPUs of a run at 100 % and no progress is a hang in a collective.",
            unit=Unit.PART,
            queries=[
                Query(f"avg by (pool) ({_gpu('utilisation_ratio')})", "{{pool}} mean"),
                Query(f"min by (pool) ({_gpu('utilisation_ratio')})", "{{pool}} least"),
            ],
            most=1,
        ),
        Panel(
            title="Streaming multiprocessors at work",
            description="Much below the dashed line while a kernel runs: small kernels, or waiting for the fabric.",
            unit=Unit.PART,
            queries=[
                Query(f"avg by (pool) ({_gpu('sm_active_ratio')})", "{{pool}} SM"),
                Query(f"avg by (pool) ({_gpu('tensor_active_ratio')})", "{{pool}} tensor cores"),
                line("SM, healthy under load", BUSY_SM),
            ],
            most=1,
        ),
        Panel(
            title="GPU memory in use",
            description="At 100 % the next larger batch ends in CUDA out of memory.",
            unit=Unit.PART,
            queries=[
                Query(
                    f"max by (pool) ({_gpu('memory_used_bytes')} / {_gpu('memory_total_bytes')})", "{{pool}} fullest"
                ),
                line("healthy under load", BUSY_MEMORY),
            ],
            most=1,
        ),
        Panel(
            title="SM clock",
            description="A GPU below its peers is the straggler that all ranks wait for.",
            unit=Unit.HERTZ,
            queries=[
                Query(f"max by (pool) ({_gpu('sm_clock_megahertz')}) * 1e6", "{{pool}} highest"),
                Query(f"min by (pool) ({_gpu('sm_clock_megahertz')}) * 1e6", "{{pool}} lowest"),
            ],
            width=12,
        ),
        Panel(
            title="Least busy GPUs",
            description="One idle GPU of a busy node: its rank died, or nobody holds it.",
            unit=Unit.PART,
            kind="bargauge",
            queries=[Query(f"bottomk(8, {_gpu('utilisation_ratio')})", "{{node}} GPU {{gpu}}")],
            most=1,
            width=12,
        ),
    )


def _errors() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Xid errors of the last 5 min",
            description="The number is NVIDIA's; 48, 63, 74, 79, 94, 95 and 119 take the GPU out of service.",
            unit=Unit.COUNT,
            queries=[Query(f"sum by (node, gpu, xid) ({_gpu('xid_errors')}) > 0", "{{node}} {{gpu}}: Xid {{xid}}")],
            nothing="none",
        ),
        Panel(
            title="Memory errors that could not be corrected, in a day",
            description="One ends the process on that GPU; a second one of the same GPU is a reason to replace it.",
            unit=Unit.COUNT,
            queries=[
                Query(
                    f"sum by (node, gpu) (increase({_gpu('ecc_uncorrectable_errors')}[1d])) > 0", "{{node}} GPU {{gpu}}"
                )
            ],
            decimals=0,
            nothing="none",
        ),
        Panel(
            title="Corrected memory errors, in an hour",
            description="A trend upwards comes before errors that cannot be corrected (X13).",
            unit=Unit.COUNT,
            queries=[Query(f"sum by (pool) (increase({_gpu('ecc_corrected_errors')}[1h]))", "{{pool}}")],
            decimals=0,
        ),
        Panel(
            title="Rows remapped",
            description="Pending: drain the node and reset the GPU; failed: no spare rows are left, replace it.",
            unit=Unit.COUNT,
            queries=[
                Query(f"sum by (pool) ({_gpu('row_remap_pending')})", "{{pool}} waits for a reset"),
                Query(f"sum by (pool) ({_gpu('row_remap_failure')})", "{{pool}} failed"),
            ],
            decimals=0,
            width=12,
        ),
        Panel(
            title="Remapped rows so far",
            description="A GPU with many more than its neighbours is on its way out.",
            unit=Unit.COUNT,
            kind="bargauge",
            queries=[Query(f"topk(8, sum by (node, gpu) ({_gpu('remapped_rows')}))", "{{node}} GPU {{gpu}}")],
            width=12,
        ),
    )


def _links() -> tuple[Panel, ...]:
    return (
        Panel(
            title="NVLink traffic of a GPU",
            description="Nothing while a run with tensor parallelism trains: NCCL fell back to PCIe.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[Query(f"avg by (pool, direction) ({_gpu('nvlink_bytes_per_second')})", "{{pool}} {{direction}}")],
        ),
        Panel(
            title="NVLink errors, in 5 min",
            description="Replays cost time, recoveries end in Xid 74; cabling inside the node, so the vendor's work.",
            unit=Unit.COUNT,
            queries=[Query(f"sum by (node, kind) (increase({_gpu('nvlink_errors')}[5m])) > 0", "{{node}} {{kind}}")],
            nothing="none",
        ),
        Panel(
            title="PCIe replays a minute",
            description="Packets sent again: a bad riser or slot; below full width the GPU also loads slowly.",
            unit=Unit.COUNT,
            queries=[
                Query(f"sum by (node, gpu) (increase({_gpu('pcie_replays')}[5m])) / 5 > 0", "{{node}} GPU {{gpu}}")
            ],
            bounds=bounds("gpu-pcie", "replays"),
            nothing="none",
        ),
    )
