"""Variables of a Lustre server's bundle: its targets, those of its partner, and its networks."""

from collections.abc import Iterator, Sequence

from components.platform.node_files import node_files
from planner.site import HostPlan, SitePlan
from planner.storage.lustre_targets import LustrePlan, Target, networks
from stacks.metal_joining import given_lines

CONCERNS = ("lnet", "lustre-server", "lustre-rates")
"""Of a server. Nodes have the first of them too."""

MODULES = "lustre-server-modules-dkms"
UTILITIES = "lustre-server-utils"
ZFS = ("zfs-dkms", "zfsutils-linux")
"""Packages of a server: dkms builds the modules for the kernel that runs (lustre-release, debian/control.main)."""

KEPT = "lustre- zfs zfsutils- linux-generic linux-image- linux-headers-"
"""What no update by night may change: modules are built for one kernel."""


RATES_PORT = 9292
"""Free among ports that exporters are given (Prometheus wiki, Default port allocations)."""

_LOOK_SECONDS = 30
"""A burst that is shorter is no limit of the file system. Assumed."""

_SCRIPTS, _UNIT = "/usr/local/lib/gpucluster", "/etc/systemd/system/gpucluster-lustre-rates.service"
_SERVICE = """[Unit]
Description=What targets of Lustre do, for Prometheus (gpucluster)
After=network-online.target

[Service]
ExecStart=/usr/bin/python3 {script} {told}
Restart=always
RestartSec=10
ProtectSystem=strict
ProtectHome=yes
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
"""
"""As root: what Lustre counts lies in the kernel's debugfs."""


def packages(lustre: LustrePlan) -> list[str]:
    """NAME=VERSION of a server's packages. ZFS comes first: Lustre's modules are built against it."""
    return [*(f"{name}=" for name in ZFS), *(f"{name}={lustre.release}" for name in (MODULES, UTILITIES))]


def lnet(lustre: LustrePlan, host: HostPlan) -> str:
    """The machine's networks of LNet, each with an address."""
    return " ".join(f"{network}={address}" for network, address in networks(host, lustre.network))


def variables(lustre: LustrePlan, host: HostPlan, rate: float | None) -> dict[str, str]:
    """What a server's bundle reads beside what every machine's does. Its targets are watched where the file system's
    `rate`, bytes a second, is told.
    """
    server = lustre.of(host.name)
    if server is None:
        return {}
    partner = lustre.of(server.partner) if server.partner else None
    return {
        "LNET": lnet(lustre, host),
        "LUSTRE_RELEASE": lustre.release.partition("-")[0],
        "LUSTRE_FSNAME": lustre.fsname,
        "LUSTRE_MGS": " ".join(lustre.mgs),
        "LUSTRE_SERVICE": " ".join(lustre.service(server)),
        "LUSTRE_TARGETS": _lines(server.targets),
        "LUSTRE_STANDBY": _lines(partner.targets if partner else ()),
        "ALLOW_FORMAT": host.serial if host.serial and host.may_format else "",
        "LUSTRE_RATES": given_lines(_rates(lustre, host, rate)) if rate else "",
    }


def _rates(lustre: LustrePlan, host: HostPlan, rate: float) -> Iterator[tuple[str, str, str]]:
    for name, text in node_files("file_system/targets.py", "exposed/*.py").items():
        yield "644", f"{_SCRIPTS}/{name}", text
    told = f"--file-system={lustre.fsname} --rate={rate:.0f} --address={host.address} --listen={RATES_PORT}"
    yield "644", _UNIT, _SERVICE.format(script=f"{_SCRIPTS}/targets.py", told=f"{told} --look-seconds={_LOOK_SECONDS}")


def _lines(targets: Sequence[Target]) -> str:
    return "".join(f"{each.kind} {each.index} {' '.join(each.vdevs)}\n" for each in targets)


def in_order(site: SitePlan) -> list[list[HostPlan]]:
    """The servers as they are made: the one with the MGS, other metadata servers, object servers (Lustre operations
    manual, "Starting Lustre"). Each waits for the ones before it.
    """
    lustre = site.lustre
    if lustre is None:
        return []
    first = [each.name for each in lustre.servers if any((t.kind, t.index) == ("mdt", 0) for t in each.targets)]
    servers = [host for host in site.hosts if host.storage in ("mds", "oss")]
    steps = (
        [host for host in servers if host.name in first],
        [host for host in servers if host.storage == "mds" and host.name not in first],
        [host for host in servers if host.storage == "oss"],
    )
    return [step for step in steps if step]
