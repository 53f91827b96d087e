"""What is done to a machine by its controller, each with the machine's serial number typed by a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from sushy import BootSource, BootSourceOverrideEnabled, ResetType, exceptions

from oob.machine import Machine

RESETS: Mapping[str, Sequence[ResetType]] = {
    "on": (ResetType.ON, ResetType.FORCE_ON),
    "off": (ResetType.GRACEFUL_SHUTDOWN,),
    "force-off": (ResetType.FORCE_OFF,),
    "cycle": (ResetType.POWER_CYCLE, ResetType.FORCE_RESTART),
}
"""Ways to do each, best first: not every controller knows PowerCycle. Nothing gentle becomes something forced."""

BOOT = "pxe"
ACTIONS = (*RESETS, BOOT)


class RefusedError(Exception):
    """What was not done, and why."""


def proven(machine: Machine, serial: str) -> None:
    """Raises RefusedError unless the controller says that its machine is the one of this serial number."""
    if not machine.serials:
        raise RefusedError("its controller reports no serial number, so it cannot be identified: use its console")
    if serial not in machine.serials:
        raise RefusedError(
            f"another machine answers: {', '.join(machine.serials)}, not {serial}; correct bmc or serials"
        )


def act(root: Any, machine: Machine, what: str, serial: str) -> str:
    """Do one of ACTIONS and say what was done. A machine that is on already, or off, is left alone.

    Raises RefusedError, and what sushy raises.
    """
    proven(machine, serial)
    system = root.get_system(machine.path)
    try:
        if what == BOOT:
            system.set_system_boot_options(target=BootSource.PXE, enabled=BootSourceOverrideEnabled.ONCE)
            return "boots from the network once, at its next start"
        there = {"on": "On", "off": "Off", "force-off": "Off"}.get(what)
        if there is not None and machine.power == there:
            return f"is {there} already"
        reset = _reset(system, what)
        system.reset_system(reset)
    except (exceptions.InvalidParameterValueError, exceptions.MissingActionError):
        raise RefusedError(f"its controller does not offer {what}") from None
    return f"was told {reset.value}"


def _reset(system: Any, what: str) -> ResetType:
    """The best of the ways that the controller offers."""
    allowed = system.get_allowed_reset_system_values()
    for way in RESETS[what]:
        if way in allowed:
            return way
    offered = ", ".join(sorted(each.value for each in allowed))
    wanted = " or ".join(each.value for each in RESETS[what])
    raise RefusedError(f"its controller does not offer {wanted}; it offers {offered}")
