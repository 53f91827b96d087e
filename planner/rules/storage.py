"""The shared file system."""

from collections.abc import Iterable

from planner.draft import Draft, registry
from planner.findings import Observation, Severity

_SMALLEST_GIB = 1200
_STEP_GIB = 2400
_EFA_STEP_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}


@registry.rule("fsx-size", "G05", "ST18")
def fsx_size(draft: Draft) -> Iterable[Observation]:
    """FSx sells 1200 GiB and multiples of 2400; with EFA the tier decides the step, which is the minimum too.

    Source: FSx for Lustre user guide, "File system storage capacity" and "EFA-enabled file systems".
    """
    lustre = draft.settings.storage.lustre
    efa_step = _EFA_STEP_GIB.get(lustre.throughput_mbps_per_tib or 0) if lustre.efa else None
    step = efa_step or _STEP_GIB
    if lustre.capacity_gib % step == 0 or (efa_step is None and lustre.capacity_gib == _SMALLEST_GIB):
        return
    below = lustre.capacity_gib // step * step or (step if efa_step else _SMALLEST_GIB)
    above = (lustre.capacity_gib // step + 1) * step
    kind = f"an EFA file system of {lustre.throughput_mbps_per_tib} MB/s per TiB" if efa_step else "FSx for Lustre"
    sizes = f"multiples of {step} GiB" if efa_step else f"{_SMALLEST_GIB} GiB and multiples of {step} GiB"
    yield Observation(
        path="storage.lustre.capacityGib",
        sentence=f"{lustre.capacity_gib} GiB is not a size of {kind}, which come in {sizes}",
        remedy=f"take {above}" if below == above else f"take {below} or {above}",
    )


@registry.rule("fsx-efa-clients", "G05")
def fsx_efa_clients(draft: Draft) -> Iterable[Observation]:
    """An EFA file system has clients with EFA; others reach it over TCP at a part of its speed."""
    planned = [pool for pool in draft.pools.values() if pool.role == "training"]
    if draft.settings.storage.lustre.efa and not any(pool.efa for pool in planned):
        types = ", ".join(sorted({pool.instance.type for pool in planned})) or "none"
        yield Observation(
            path="storage.lustre.efa",
            sentence=f"no training pool has EFA (types: {types}), so nobody could use the file system's",
            remedy="remove the key, or take a training type with EFA",
        )


@registry.rule("fsx-efa-client-setup", "G05", severity=Severity.WARNING)
def fsx_efa_client_setup(draft: Draft) -> Iterable[Observation]:
    """Lustre speaks EFA only on nodes that AWS' client setup has prepared; others mount over TCP and say nothing.

    Source: FSx for Lustre user guide, "Configuring EFA clients". The EKS AMI does not carry the setup.
    """
    if draft.settings.storage.lustre.efa:
        yield Observation(
            path="storage.lustre.efa",
            sentence="the nodes' AMI lacks the EFA client of Lustre, so mounts fall back to TCP without a word",
            remedy="bake AWS' client setup into the nodes' image, or remove the key",
        )
