"""cert-manager: it gets certificates, keeps them in Secrets, and renews them in time.

Values of its chart 1.21. The definitions are part of the release, so that they move with the version; they stay when
it goes (crds.keep), as what they define would go with them.
"""

from typing import Any

CPU_MILLICORES, MEMORY_MIB = 10, 64
ACCOUNT = "cert-manager"
"""The service account of its controller, which is named like the release."""


def cert_manager_values(namespace: str, *, gateway: bool = True, records: bool = False) -> dict[str, Any]:
    """Values of the `cert-manager` chart in `namespace`, where it elects its leader, too: kube-system is not ours.

    With `gateway` answers to an authority's questions are routes, whose kinds it must find when it starts.

    With `records` it writes records of names with the rights of its account, and looks for them by the cluster's name
    service: no pod reaches a zone's own servers.
    """
    own_rights = ["--issuer-ambient-credentials", "--dns01-recursive-nameservers-only"]
    amounts = {"requests": {"cpu": f"{CPU_MILLICORES}m", "memory": f"{MEMORY_MIB}Mi"}}
    return {
        "crds": {"enabled": True, "keep": True},
        "global": {"leaderElection": {"namespace": namespace}},
        "extraArgs": [*(["--enable-gateway-api"] if gateway else []), *(own_rights if records else [])],
        # A certificate's Secret goes with it.
        "enableCertificateOwnerRef": True,
        "prometheus": {"servicemonitor": {"enabled": True}},
        "resources": amounts,
        "webhook": {"resources": amounts},
        "cainjector": {"resources": amounts},
        "startupapicheck": {"resources": amounts},
    }
