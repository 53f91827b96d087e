"""The kinds of the Gateway API, of its standard channel: neither Traefik's chart nor Kubernetes brings them."""

from collections.abc import Mapping

from components.platform.kubectl import Fetched

GROUP = "gateway.networking.k8s.io"


def definitions(version: str, sha256: Mapping[str, str], image: str) -> list[Fetched]:
    """The files by the plural names of their kinds, with their hashes. `image` fetches them."""
    where = f"https://raw.githubusercontent.com/kubernetes-sigs/gateway-api/{version}/config/crd/standard"
    return [
        Fetched(name=plural, url=f"{where}/{GROUP}_{plural}.yaml", sha256=digest, image=image)
        for plural, digest in sha256.items()
    ]
