"""Controllers of a plan's machines."""

import os

from oob.access import Controller
from planner.site import HostPlan, SitePlan

PASSWORD = "BMC_PASSWORD"  # noqa: S105
"""Variable of the environment: words of a command are shown to every user of a machine."""


def controller(site: SitePlan, host: HostPlan) -> Controller | None:
    """How the machine's controller is asked; None where the stack file does not say."""
    if site.controllers is None or host.bmc is None:
        return None
    return Controller(
        address=host.bmc,
        user=site.controllers.user,
        port=site.controllers.port,
        fingerprint=host.bmc_fingerprint,
        authority=site.controllers.authority,
    )


def password() -> str | None:
    """The password of the controllers' user, or None."""
    return os.environ.get(PASSWORD) or None
