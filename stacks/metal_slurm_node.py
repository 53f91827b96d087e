"""What a machine of Slurm's is told, out of the plan: its files, as `make slurm` writes them, and its secrets."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass

import pulumi

from components.metal import secrets
from planner.metal_types import MetalPlan
from planner.site import HostPlan
from planner.slurm_types import NodesPlan, SlurmPlan
from slurm.accounts import PASSWORD
from slurm.bundle import files, mode
from slurm.controller import ETC, SCRIPTS, state

OS = "ubuntu-24.04"
"""Its Slurm is 23.11. That of 22.04 is 21.08, which knows no cgroup v2 (Slurm release notes, 22.05)."""

_SCRIPTS, _SHARED = "gpucluster", ("jobs/", "images/")
"""Below the directory that `make slurm` writes: what lies on machines with GPUs, and what on the shared files."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What a machine is to Slurm. `nodes` is there where it runs jobs; `first` is the controller in charge."""

    controller: bool = False
    first: bool = False
    database: bool = False
    nodes: NodesPlan | None = None

    @property
    def concerns(self) -> tuple[str, ...]:
        """What of Slurm's is done on the machine."""
        return (
            *(("apptainer",) if self.nodes else ()),
            "slurm",
            *(("slurm-database",) if self.database else ()),
            *(("slurm-controller",) if self.controller else ()),
            *(("slurm-node",) if self.nodes else ()),
        )

    @property
    def packages(self) -> tuple[str, ...]:
        """NAME=VERSION of them, as the repositories have it. Ubuntu's slurmd has no NVML in it: its plugin is a package
        of multiverse (packages.ubuntu.com).
        """
        return (
            "munge=",
            "slurm-client=",
            *(("slurmdbd=", "mariadb-server=") if self.database else ()),
            *(("slurmctld=",) if self.controller else ()),
            *(("slurmd=",) if self.nodes else ()),
            *(("slurm-wlm-nvml-plugin=",) if self.nodes and self.nodes.gpus else ()),
        )


NOTHING = Roles()
"""Of a machine that Slurm has not."""


def roles(slurm: SlurmPlan, host: HostPlan) -> Roles:
    """What the machine is; nothing of it for any other."""
    heads = [head.name for head in slurm.heads]
    return Roles(
        controller=host.name in heads,
        first=host.name == heads[0],
        database=host.name == slurm.database.name,
        nodes=slurm.of_pool(host.pool) if host.pool else None,
    )


def variables(
    plan: MetalPlan, slurm: SlurmPlan, host: HostPlan, key: pulumi.Output[str]
) -> dict[str, pulumi.Input[str]]:
    """What the machine's concerns of Slurm read. `key` is the cluster's, of which the secrets are made."""
    its, cluster = roles(slurm, host), pulumi.get_stack()
    told: dict[str, pulumi.Input[str]] = {
        "SLURM_NAME": host.name,
        "SLURM_FILES": key.apply(lambda known: lines(placed(cluster, plan, slurm, its, known))),
    }
    if its.nodes:
        told["SLURM_SCRATCH"] = slurm.scratch_path
    if its.controller:
        told["SLURM_STATE"] = state(slurm)
        told["SLURM_OPEN"] = f"{slurm.shared_path}/checkpoints" if its.first else ""
    if its.database:
        told["SLURM_CLUSTER"] = cluster
        told["SLURM_PASSWORD"] = key.apply(secrets.accounting_password)
    return told


Placed = tuple[int, str, str, str, bytes]
"""Mode, owner, units that a change restarts (joined by commas, or `-`), path, content."""


def placed(cluster: str, plan: MetalPlan, slurm: SlurmPlan, its: Roles, key: str) -> Iterator[Placed]:
    """The files of a machine, of those that `make slurm` writes, and munge's key. `key` is the cluster's."""
    texts = files(cluster, plan, slurm)
    daemons = {"slurmctld.service": its.controller, "slurmd.service": its.nodes}
    readers = ",".join(unit for unit, there in daemons.items() if there) or "-"

    def put(path: str, target: str = "", units: str = "-", owner: str = "root") -> Iterator[Placed]:
        if path in texts:
            yield mode(path), owner, units, target or f"{ETC}/{path}", texts[path].encode()

    yield 0o400, "munge", "munge.service", "/etc/munge/munge.key", secrets.munge_key(key)
    for path in ("slurm.conf", "cgroup.conf", "topology.conf"):
        yield from put(path, units=readers)
    if its.nodes:
        yield from put("gres.conf", units=readers)
        yield from put(f"{_SCRIPTS}/{its.nodes.pool}/machine.conf", f"{SCRIPTS}/machine.conf")
        for path in texts:
            if path.startswith(f"{_SCRIPTS}/") and path.endswith(".sh"):
                yield from put(path)
    if its.database:
        password = secrets.accounting_password(key)
        texts["slurmdbd.conf"] = texts["slurmdbd.conf"].replace(PASSWORD, password)
        yield from put("slurmdbd.conf", units="slurmdbd.service", owner="slurm")
    if its.controller:
        yield from put("job_submit.lua")
    if its.first:
        yield from put("accounts.sh", units="accounts")
        for path in texts:
            if path.startswith(_SHARED):
                yield from put(path, f"{slurm.shared_path}/slurm/{path}")


def lines(given: Iterator[Placed]) -> str:
    """The files as the scripts read them, each on a line."""
    return "".join(
        f"{number:o} {owner} {units} {path} {base64.b64encode(content).decode()}\n"
        for number, owner, units, path, content in given
    )
