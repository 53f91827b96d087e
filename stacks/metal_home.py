"""People's own files on a machine of the site: what its bundle is told, and the claims on its directories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.storage.claims import ClaimSpec
from components.storage.nfs_claims import NfsClaims, NfsClaimsArgs
from planner.site import HostPlan, SitePlan
from planner.storage.lustre_targets import mirrors

CONCERNS = ("nfs-server",)
PACKAGES = ("zfsutils-linux=", "nfs-kernel-server=")
"""Of the server. ZFS itself is in Ubuntu's kernel (packages.ubuntu.com, file list of linux-modules)."""

ROOT = "/srv/home"
"""Where the server has the directories (node/host/nfs-server.sh)."""


def variables(site: SitePlan, host: HostPlan) -> dict[str, str]:
    """What its bundle reads beside what every machine's does."""
    return {
        "HOME_VDEVS": " ".join(mirrors(host.disks)),
        "HOME_DIRECTORIES": " ".join(site.homes),
        "HOME_CLIENTS": site.management_cidr,
        "ALLOW_FORMAT": host.serial if host.serial and host.may_format else "",
    }


@dataclass(frozen=True, kw_only=True)
class NfsHomes:
    """Claims on directories that the server at `address` exports, once it does (`served`)."""

    address: str
    served: pulumi.Resource
    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        args = NfsClaimsArgs(server=self.address, root=ROOT, claims=claims, after=[self.served])
        return NfsClaims(name, args, self.opts).names
