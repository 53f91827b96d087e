"""Chart prometheus-operator-crds: nothing but CRDs."""

from __future__ import annotations

from rehearsal.effects.charts.manifests import Object, Release

TOOLCHAIN_CRDS = "prometheus-operator"


def objects(release: Release) -> list[Object]:  # noqa: ARG001 - the interface
    """No objects besides the CRDs."""
    return []
