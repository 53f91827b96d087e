"""Loads on the Services of a rehearsal that runs, and failures of its nodes: `load`, `fail`, `heal`."""

import argparse
import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rehearsal import particulars, places, sites
from rehearsal.command.contents import kubeconfigs
from rehearsal.command.errors import CommandError
from rehearsal.devices.boards import BOARDS
from rehearsal.devices.daemons import EFA
from rehearsal.devices.gpus import GPU
from rehearsal.engine.table import console, say
from rehearsal.images.node_exporter import SECONDARY, efa_name
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kubelet import faults, orders
from rehearsal.kubelet.orders import Fault, Load

SYSTEM = "kube-system"
Object = Mapping[str, Any]


@dataclass(frozen=True)
class Cluster:
    """One cluster of the site: its API, and the file that holds what is ordered there."""

    name: str
    kube: Kube
    orders: Path


def load(options: argparse.Namespace) -> int:
    """Offer a load to a Service for some seconds; 0 requests a second end it."""
    now = time.time()
    with _clusters(options) as clusters:
        cluster, service = chosen(clusters, options.service)
        meta = service["metadata"]
        offered = Load(
            namespace=meta["namespace"],
            service=meta["name"],
            selector=service["spec"]["selector"],
            rps=options.rps,
            since=now,
            until=now + options.seconds,
        )
        orders.change(cluster.orders, lambda before: orders.loaded(before, offered))
    text = said(offered) if options.rps else f"no load on {offered.namespace}/{offered.service} any more"
    console().print(text, highlight=False)
    return 0


def fail(options: argparse.Namespace) -> int:
    """Break something on a node."""
    with _clusters(options) as clusters:
        cluster, node = _node(clusters, options.node)
        fault = broken(node, options.kind, options.gpu, options.target or "", time.time())
        orders.change(cluster.orders, lambda before: orders.broken(before, fault))
    say(console(), f"{options.node}: {faults.KINDS[options.kind].text}")
    return 0


def heal(options: argparse.Namespace) -> int:
    """Mend what was broken on a node, all of it or one kind."""
    with _clusters(options) as clusters:
        cluster, node = _node(clusters, options.node)
        name, kinds = node["metadata"]["name"], [options.kind] if options.kind else None
        before = [each for each in orders.read(cluster.orders).of(name) if each.lasts]
        after = orders.change(cluster.orders, lambda old: orders.healed(old, name, kinds, time.time()))
    mended = [each.kind for each in before if each not in after.faults]
    console().print(f"{name}: {', '.join(mended) or 'nothing to mend'}", highlight=False)
    return 0


def present(directory: places.SiteDirectory) -> list[str]:
    """What is ordered on a site now, in sentences."""
    now, found = time.time(), []
    for path in kubeconfigs(directory).values():
        ordered = orders.read(path.with_name(orders.FILE))
        found += [said(each) for each in ordered.loads if each.on(now)]
        found += [f"{each.node}: {faults.KINDS[each.kind].text}" for each in ordered.faults if each.lasts]
    return found


def said(load: Load) -> str:
    """A load in a sentence."""
    end = datetime.fromtimestamp(load.until).astimezone()
    return f"{load.rps:g} requests a second on Service {load.namespace}/{load.service} until {end:%H:%M:%S}"


def chosen(clusters: list[Cluster], name: str) -> tuple[Cluster, Object]:
    """The Service of a name, or of `namespace/name`. Raises CommandError with the names that there are."""
    every = [
        (cluster, each)
        for cluster in clusters
        for each in cluster.kube.list("v1", "Service")
        if each["spec"].get("selector") and each["metadata"]["namespace"] != SYSTEM
    ]
    found = [(cluster, each) for cluster, each in every if name in (each["metadata"]["name"], _full(each))]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"{name} matches several Services: {', '.join(_full(each) for _, each in found)}.")
    names = ", ".join(sorted(_full(each) for _, each in every)) or "none"
    raise CommandError(f"there is no Service {name}; those that select pods are {names}.")


def broken(node: Object, kind: str, gpu: int, target: str, now: float) -> Fault:
    """The failure of a node that a person asks for. Raises CommandError where the node has no such thing. Pure."""
    name, known = node["metadata"]["name"], faults.KINDS[kind]
    labels, capacity = node["metadata"].get("labels") or {}, node["status"].get("capacity") or {}
    if known.gpu:
        count = int(labels.get("nvidia.com/gpu.count") or capacity.get(GPU) or 0)
        if not 0 <= gpu < count:
            raise CommandError(f"{name} has {count or 'no'} GPUs, so there is no GPU {gpu} to break.")
    board = BOARDS.get(labels.get("nvidia.com/gpu.product", "").partition("-MIG-")[0])
    if kind == "nvlink" and (board is None or not board.links):
        raise CommandError(f"{name} has no NVLink: choose a node with GPUs that have it, such as a p5.48xlarge.")
    if kind == "ib-link":
        devices = [efa_name(int(capacity.get(EFA) or 0), index) for index in range(int(capacity.get(EFA) or 0))]
        if not devices or (target and target not in devices):
            raise CommandError(
                f"{name} has no fabric device {target or 'at all'}; it has {', '.join(devices) or 'none'}."
            )
        target = target or devices[0]
    if kind == "ethernet-link":
        target = target or SECONDARY
    return Fault(name, kind, now, gpu if known.gpu else 0, target, now if known.once else None)


def _full(service: Object) -> str:
    return f"{service['metadata']['namespace']}/{service['metadata']['name']}"


def _node(clusters: list[Cluster], name: str) -> tuple[Cluster, Object]:
    for cluster in clusters:
        found = cluster.kube.get("v1", "Node", name)
        if found is not None:
            return cluster, found
    names = [each["metadata"]["name"] for cluster in clusters for each in cluster.kube.list("v1", "Node")]
    raise CommandError(f"there is no node {name}; the nodes are {', '.join(names) or 'none'}.")


@contextlib.contextmanager
def _clusters(options: argparse.Namespace) -> Iterator[list[Cluster]]:
    """The clusters of the site that runs. Raises CommandError if none does, or one does not answer."""
    name = options.site or options.stack
    directory = places.site(name, options.root)
    now = sites.status(directory.path)
    if now.state is not sites.State.RUNNING:
        up = particulars.load(options.root).typed("up", options.stack)
        raise CommandError(f"no rehearsal {name} runs ({now.reason}): `{up}` starts one.")
    with contextlib.ExitStack() as closing:
        found = []
        for label, path in kubeconfigs(directory).items():
            kube = closing.enter_context(contextlib.closing(Kube.from_kubeconfig(str(path))))
            found.append(Cluster(label, kube, path.with_name(orders.FILE)))
        try:
            yield found
        except (ApiError, Unreachable) as error:
            raise CommandError(f"a cluster of rehearsal {name} does not answer: {error}") from error
