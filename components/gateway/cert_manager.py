"""cert-manager: it gets certificates, keeps them in Secrets, and renews them in time.

Values of its chart 1.21. The definitions are part of the release, so that they move with the version; they stay when
it goes (crds.keep), as what they define would go with them.
"""

from typing import Any

CPU_MILLICORES, MEMORY_MIB = 10, 64


def cert_manager_values(namespace: str) -> dict[str, Any]:
    """Values of the `cert-manager` chart in `namespace`, where it elects its leader, too: kube-system is not ours."""
    amounts = {"requests": {"cpu": f"{CPU_MILLICORES}m", "memory": f"{MEMORY_MIB}Mi"}}
    return {
        "crds": {"enabled": True, "keep": True},
        "global": {"leaderElection": {"namespace": namespace}},
        # Answers to an authority's questions are routes of the gateway.
        "extraArgs": ["--enable-gateway-api"],
        # A certificate's Secret goes with it.
        "enableCertificateOwnerRef": True,
        "prometheus": {"servicemonitor": {"enabled": True}},
        "resources": amounts,
        "webhook": {"resources": amounts},
        "cainjector": {"resources": amounts},
        "startupapicheck": {"resources": amounts},
    }
