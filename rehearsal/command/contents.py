"""What a site has, beside what its stacks declare: what runs in its clusters, and what its account lacks."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import urllib3

from rehearsal import keys, particulars, places, sites
from rehearsal.cluster.layout import PROXY
from rehearsal.engine import declared, gone, stored
from rehearsal.engine.look import Look
from rehearsal.engine.view import ClusterView, view
from rehearsal.engine.watching import Watching, watching
from rehearsal.images.table import known
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kubelet.images import Images

T = TypeVar("T")


def kubeconfigs(directory: places.SiteDirectory) -> dict[str, Path]:
    """The administrator's kubeconfig of each cluster of a site, by `<region>/<name>`."""
    found = sorted(directory.clusters.glob("*/*/kubeconfig"))
    return {f"{path.parent.parent.name}/{path.parent.name}": path for path in found}


def views(directory: places.SiteDirectory, program: particulars.Particulars) -> list[ClusterView]:
    """What runs in each cluster of a site, beside what its stacks declare; one that does not answer says so."""
    try:
        images, objects = known(program.images), declared.stored(directory.backend)
    except stored.StateError as error:
        return [ClusterView(directory.path.name, missed=[str(error)])]
    with contextlib.ExitStack() as closing:
        kubes: dict[str, Kube] = {}
        for label, path in kubeconfigs(directory).items():
            with contextlib.suppress(ValueError):  # it is being written
                kubes[label] = closing.enter_context(contextlib.closing(Kube.from_kubeconfig(str(path))))
        if objects and not kubes:
            lost = f"the state holds {len(objects)} Kubernetes objects, and no cluster runs here"
            return [ClusterView(directory.path.name, missed=[lost])]
        shares = declared.by_cluster(objects, kubes)
        return [_view(label, kube, images, shares[label]) for label, kube in kubes.items()]


def absent(site: sites.Site, program: particulars.Particulars, stack: str) -> list[str]:
    """One sentence for each thing of the account that was deleted behind a stack's back."""
    try:
        kept = list(gone.entries(site.directory.backend))
        inventory = site.account.ask("GET", "inventory", timeout=30.0).json()
    except (stored.StateError, keys.KeysError, urllib3.exceptions.HTTPError, ValueError) as error:
        return [f"the account cannot be compared with the state: {error}"]
    return list(gone.gone(kept, inventory, program.typed("refresh", stack)))


def watched(directory: places.SiteDirectory) -> list[Watching]:
    """What watches each cluster of a site; nothing of one that does not answer."""
    return _of_each(
        directory, lambda label, path, kube: watching(label.partition("/")[2], Look(kube), path.with_name(PROXY))
    )


def failed(directory: places.SiteDirectory, program: particulars.Particulars) -> list[str]:
    """What failed lately in the clusters of a site, in the program's own words; nothing of one that does not answer."""
    return _of_each(directory, lambda _label, _path, kube: program.failed(kube))


def shown(
    directory: places.SiteDirectory, program: particulars.Particulars, account: keys.Account, *, now: bool = False
) -> list[particulars.Shown]:
    """What the clusters of a site have to show, in the program's own words; nothing of one that does not answer."""

    def shows(label: str, path: Path, kube: Kube) -> Iterable[particulars.Shown]:
        files = path.with_name("effects") / "volumes.json"
        return program.shows(particulars.Cluster(kube, files, account, label.partition("/")[0]), now=now)

    return _of_each(directory, shows)


def _of_each(directory: places.SiteDirectory, look: Callable[[str, Path, Kube], Iterable[T]]) -> list[T]:
    """What is found at each cluster of a site, by its label and the path of its kubeconfig."""
    found: list[T] = []
    for label, path in kubeconfigs(directory).items():
        with (
            contextlib.suppress(Unreachable, ApiError, ValueError, FileNotFoundError),
            contextlib.closing(Kube.from_kubeconfig(str(path))) as kube,
        ):
            found += look(label, path, kube)
    return found


def _view(label: str, kube: Kube, images: Images, objects: Sequence[declared.Declared]) -> ClusterView:
    name = label.partition("/")[2]
    try:
        return view(name, kube, images, objects)
    except (Unreachable, ApiError) as error:
        return ClusterView(name, missed=[f"cluster {label} does not answer: {error}"])
