"""The provider's own arguments: what they may say, and when a change of them means another cluster."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rehearsal.kube.client import Kube
from rehearsal.kube.kubeconfig import active_cluster
from rehearsal.plugins.wire import UNKNOWN

FLAGS = {
    "deleteUnreachable",
    "enableConfigMapMutable",
    "enablePatchForce",
    "enableSecretMutable",
    "enableServerSideApply",
    "skipUpdateUnreachable",
    "suppressDeprecationWarnings",
    "suppressHelmHookWarnings",
    "upsertExistingObjects",
}
TEXTS = {"kubeconfig", "context", "namespace", "clusterIdentifier"}
IGNORED = {"version", "pluginDownloadURL", "kubeClientSettings", "helmReleaseSettings"}
REHEARSED = FLAGS | TEXTS | IGNORED
OFF_BY_DESIGN = {"enableServerSideApply": False, "upsertExistingObjects": True}
"""Values of flags that change how every object is handled, in ways this plugin does not play."""


@dataclass(frozen=True)
class ProviderSettings:
    """The provider arguments, decoded. `kubeconfig` is None while it is unknown or was not given."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    config_map_mutable: bool = False
    secret_mutable: bool = False
    patch_force: bool = False
    delete_unreachable: bool = False
    skip_update_unreachable: bool = False

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> ProviderSettings:
        """From the arguments as the engine sends them: anything but text arrives as JSON text."""
        known = {key: _plain(value) for key, value in arguments.items() if value != UNKNOWN}
        return cls(
            kubeconfig=known.get("kubeconfig") or None,
            context=known.get("context") or None,
            namespace=known.get("namespace") or None,
            config_map_mutable=bool(known.get("enableConfigMapMutable")),
            secret_mutable=bool(known.get("enableSecretMutable")),
            patch_force=bool(known.get("enablePatchForce")),
            delete_unreachable=_flag(known, "deleteUnreachable", "PULUMI_K8S_DELETE_UNREACHABLE"),
            skip_update_unreachable=_flag(known, "skipUpdateUnreachable", "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE"),
        )

    def connect(self) -> Kube | None:
        """A client of the cluster, None while the kubeconfig is unknown.

        Raises ValueError for an unusable kubeconfig, and for a server that is not on loopback: a rehearsal must never
        write into a cluster that somebody uses.
        """
        if self.kubeconfig is None:
            return None
        kube = Kube.from_kubeconfig(self.kubeconfig, self.context)
        host = urlsplit(kube.server).hostname or ""
        if host != "localhost" and not _loopback(host):
            raise ValueError(
                f"the kubeconfig points to {kube.server}, which is not on this machine's loopback: "
                "a rehearsal does not touch it; run the real provider for a real cluster"
            )
        return kube


def check(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(argument, what is wrong) for arguments whose effect is not rehearsed."""
    failures = []
    for key, value in arguments.items():
        if key not in REHEARSED:
            failures.append((key, f"provider argument {key!r} is not rehearsed: leave it out"))
        elif key in OFF_BY_DESIGN and _plain(value) is OFF_BY_DESIGN[key]:
            failures.append((key, f"{key} = {json.dumps(_plain(value))} is not rehearsed: leave it out"))
    return failures


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(arguments that differ, those of them that mean another cluster and so replace the provider).

    As DiffConfig in pulumi-kubernetes' provider/pkg/provider/provider.go: a changed `clusterIdentifier` replaces, also
    one that is still unknown; so does a kubeconfig or context that is still unknown, and one whose active cluster
    entry is another (getActiveClusterFromConfig in util.go). Only an identifier that is known and the same spares the
    provider. A provider that is replaced replaces every object of its cluster.

    Raises ValueError for a kubeconfig that is not one.
    """
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    if not differing:
        return [], []
    before, after = old.get("clusterIdentifier"), new.get("clusterIdentifier")
    replaces = ["clusterIdentifier"] if before and after and before != after else []
    unknown = [key for key in ("kubeconfig", "context") if new.get(key) == UNKNOWN]
    if unknown:
        differing, replaces = unknown[:1], replaces + unknown[:1]
    else:
        was, is_now = _active_cluster(old), _active_cluster(new)
        if was and is_now and was != is_now:
            replaces += [key for key in differing if key in ("kubeconfig", "context")]
    same = after and after == before and after != UNKNOWN
    return differing, [] if same else replaces


def _active_cluster(arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The cluster entry, with server and authority, that the arguments lead to; None if they lead to none."""
    text = arguments.get("kubeconfig")
    if not text or text == UNKNOWN:
        return None
    return active_cluster(str(text), arguments.get("context") or None)


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    return value


def _flag(known: Mapping[str, Any], argument: str, variable: str) -> bool:
    """An argument, or where it is not given a variable of the environment (provider.go, Configure)."""
    return bool(known[argument]) if argument in known else os.environ.get(variable) == "true"


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
