"""A machine as its controller describes it. What a controller leaves out, or says as null, is None or missing here."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Supply:
    """A power supply that is plugged in. `health` is OK, Warning, Critical or unknown (None)."""

    name: str
    health: str | None
    state: str | None
    watts: float | None = None

    @property
    def failed(self) -> bool:
        """Whether its controller says that it does not feed the machine."""
        return self.health in ("Warning", "Critical") or self.state in ("UnavailableOffline", "Disabled", "Starting")


@dataclass(frozen=True, kw_only=True)
class Drive:
    """A drive that is plugged in."""

    name: str
    serial: str | None
    health: str | None
    gb: float | None = None

    @property
    def failed(self) -> bool:
        return self.health in ("Warning", "Critical")


@dataclass(frozen=True, kw_only=True)
class Console:
    """A way to the machine's serial console: `way` is SSH, IPMI or another word of the controller's. `enter` is what is
    typed there to get to it, `leave` the keys that end it; None where the controller does not say."""

    way: str
    port: int | None = None
    enter: str | None = None
    leave: str | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """`serials` are the numbers by which firmware may know it: a Dell says its service tag as SKU. `supplies` and
    `drives` are None where the controller tells of none. `path` is the resource that is switched.
    """

    path: str
    serials: tuple[str, ...]
    maker: str | None
    model: str | None
    power: str | None
    health: str | None
    memory_gib: float | None
    bios: str | None
    controller: str | None
    next_boot: str | None
    boot_order: tuple[str, ...]
    supplies: tuple[Supply, ...] | None
    redundancy: str | None
    drives: tuple[Drive, ...] | None
    inlet_celsius: float | None
    consoles: tuple[Console, ...]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of the event log."""

    created: str
    severity: str
    message: str
