"""What an account holds for the hostnames of a stack's gateway: the zone or the certificate that its issuer names."""

from collections.abc import Mapping
from typing import Any

from rehearsed.machines import mappings
from rehearsed.preset import parsed


def zones(text: str) -> dict[str, str]:
    """The public zone that callers' certificates are validated in, of the gateway's domain, by its id."""
    gateway = _part(_serving(text), "gateway")
    zone = _part(gateway, "issuer").get("zone")
    return {str(zone): str(gateway.get("domain"))} if zone else {}


def certificates(text: str) -> dict[str, list[str]]:
    """The issued certificate that the gateway's issuer names, by its ARN, for whatever is found there."""
    serving = _serving(text)
    gateway = _part(serving, "gateway")
    arn = _part(gateway, "issuer").get("certificate")
    servers = [*mappings(serving.get("services")), *mappings(serving.get("triton"))]
    named = [str(each["hostname"]) for each in servers if each.get("hostname")]
    return {str(arn): [f"*.{gateway.get('domain')}", *named]} if arn else {}


def _serving(text: str) -> Mapping[str, Any]:
    return _part(_part(parsed(text), "config"), "gpucluster:serving")


def _part(above: Any, key: str) -> Mapping[str, Any]:
    """A section that is there and is one, else nothing: a rehearsal is no place to refuse a stack file."""
    found = above.get(key) if isinstance(above, Mapping) else None
    return found if isinstance(found, Mapping) else {}
