"""`python -m oob --stack metal dgx-01 status`: a machine by its controller.

status and log read. on, off, force-off, cycle and pxe need the machine's serial number, as the stack file has it.
1 if it was not done, 2 on wrong usage.
"""

import argparse
import getpass
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from oob.access import Controller, UnaskedError, opened
from oob.machine import Machine
from oob.power import ACTIONS, RefusedError, act
from oob.reading import entries, read
from oob.site import PASSWORD, controller, password
from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.site import HostPlan, SitePlan
from settings.errors import SettingsError
from settings.load import from_file

READS = ("status", "log")


class UsageError(Exception):
    """What cannot be asked for, and what to type instead."""


def main(words: list[str]) -> int:
    """Read one machine, or switch it."""
    parser = argparse.ArgumentParser(prog="python -m oob", description=__doc__)
    parser.add_argument("--stack", required=True, help="the stack whose Pulumi.<stack>.yaml names the machine")
    parser.add_argument("--serial", default="", help="its serial number, required to switch it")
    parser.add_argument("node", help="a machine of the inventory")
    parser.add_argument("what", choices=(*READS, *ACTIONS))
    options = parser.parse_args(words)
    logging.getLogger("sushy").addHandler(logging.NullHandler())
    try:
        site = _site(Path(f"Pulumi.{options.stack}.yaml"))
        host = _host(site, options.node)
        _typed(host, options.what, options.serial)
        with opened(_controller(site, host), _password()) as root:
            machine = read(root, host.serial)
            if host.serial and options.what in READS and host.serial not in machine.serials:
                print(f"{host.name}: another machine may be answering: the stack file says {host.serial}")
            for line in _lines(root, machine, options.what, options.serial):
                print(f"{host.name}: {line}")
    except UsageError as why:
        print(f"error: {why}", file=sys.stderr)
        return 2
    except UnaskedError as why:
        print(f"{host.name}: its controller at {host.bmc} was not asked: {why}; {why.remedy}", file=sys.stderr)
        return 1
    except RefusedError as why:
        print(f"{host.name}: nothing was done: {why}", file=sys.stderr)
        return 1
    return 0


def _site(file: Path) -> SitePlan:
    try:
        planned = plan(from_file(file))
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; name a stack whose file is in this directory") from None
    except SettingsError as error:
        raise UsageError(str(error)) from None
    if not isinstance(planned, MetalPlan) or planned.site is None:
        raise UsageError(f"{file}: it has no gpucluster:inventory, so there are no machines to switch")
    return planned.site


def _host(site: SitePlan, name: str) -> HostPlan:
    for host in site.hosts:
        if host.name == name:
            return host
    raise UsageError(f"there is no machine {name!r}; there are {', '.join(each.name for each in site.hosts)}")


def _typed(host: HostPlan, what: str, serial: str) -> None:
    """Whoever switches a machine has looked which one it is."""
    if what in READS:
        return
    if host.serial is None:
        raise UsageError(f"the stack file has no serial number for {host.name}; add serials, then type it")
    if serial != host.serial:
        said = f"{serial!r} is not {host.name}'s serial number" if serial else f"{what} needs a serial number"
        raise UsageError(f"{said}; type SERIAL= and what the stack file has for {host.name}")


def _controller(site: SitePlan, host: HostPlan) -> Controller:
    found = controller(site, host)
    if found is None:
        missing = "bmc" if host.bmc is None else "inventory.controllers"
        raise UsageError(f"the stack file has no {missing} for {host.name}, so its controller cannot be queried")
    return found


def _password() -> str:
    found = password()
    if found is None and sys.stdin.isatty():
        found = getpass.getpass("password of the controller: ")
    if not found:
        raise UsageError(f"{PASSWORD} is not set: put the controllers' password into the environment")
    return found


def _lines(root: object, machine: Machine, what: str, serial: str) -> Iterator[str]:
    if what == "log":
        found = entries(root, machine)
        yield from (f"{each.created} {each.severity}: {each.message}" for each in found)
        if not found:
            yield "its controller has no entries"
    elif what == "status":
        yield from _status(machine)
    else:
        yield act(root, machine, what, serial)


def _status(machine: Machine) -> Iterator[str]:
    unknown = "unknown"
    numbers = ", ".join(machine.serials) or unknown
    yield f"{machine.model or unknown}, serial {numbers}"
    yield f"power {machine.power or unknown}, health {machine.health or unknown}"
    order = f", then {', '.join(machine.boot_order)}" if machine.boot_order else ""
    yield f"next start from {machine.next_boot or 'its own boot order'}{order}"
    yield f"BIOS {machine.bios or unknown}, controller {machine.controller or unknown}"
    memory = f"{machine.memory_gib:g} GiB" if machine.memory_gib is not None else unknown
    inlet = f"{machine.inlet_celsius:g} C" if machine.inlet_celsius is not None else unknown
    yield f"memory {memory}, air comes in at {inlet}"
    if not machine.consoles:
        yield "serial console: its controller tells of none"
    for each in machine.consoles:
        port = f", port {each.port}" if each.port else ""
        enter = f", then type {each.enter}" if each.enter else ""
        leave = f"; {each.leave}" if each.leave else ""
        yield f"serial console by {each.way}{port}{enter}{leave}"
    for kind, parts in (("power supply", machine.supplies), ("drive", machine.drives)):
        if parts is None:
            yield f"{kind}: its controller tells of none"
        for part in parts or ():
            yield f"{kind} {part.name}: {part.health or unknown}{' (failed)' if part.failed else ''}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
