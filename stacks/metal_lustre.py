"""Variables of a Lustre server's bundle: its targets, those of its partner, and its networks."""

from collections.abc import Sequence

from planner.site import HostPlan, SitePlan
from planner.storage.lustre_targets import LustrePlan, Target, networks

CONCERNS = ("lnet", "lustre-server")
"""Of a server. Nodes have the first of them too."""

MODULES = "lustre-server-modules-dkms"
UTILITIES = "lustre-server-utils"
ZFS = ("zfs-dkms", "zfsutils-linux")
"""Packages of a server: dkms builds the modules for the kernel that runs (lustre-release, debian/control.main)."""

KEPT = "lustre- zfs zfsutils- linux-generic linux-image- linux-headers-"
"""What no update by night may change: modules are built for one kernel."""


def packages(lustre: LustrePlan) -> list[str]:
    """NAME=VERSION of a server's packages. ZFS comes first: Lustre's modules are built against it."""
    return [*(f"{name}=" for name in ZFS), *(f"{name}={lustre.release}" for name in (MODULES, UTILITIES))]


def lnet(lustre: LustrePlan, host: HostPlan) -> str:
    """The machine's networks of LNet, each with an address."""
    return " ".join(f"{network}={address}" for network, address in networks(host, lustre.network))


def variables(lustre: LustrePlan, host: HostPlan) -> dict[str, str]:
    """What a server's bundle reads beside what every machine's does."""
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
    }


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
