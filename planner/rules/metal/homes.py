"""NFS: the server of home directories, and data that does not belong on NFS."""

from collections.abc import Iterable

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.rules.metal.machines import ranges
from settings.inventory import Hosts


@metal_rule(
    "G12",
    each=ranges,
    formula="disks of the server of homes: even, at least 2, at most its bays",
    source='zpoolconcepts(7), "Virtual Devices": a mirror of two survives one',
)
def home_drives(draft: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """The machine of homes names its drives, which are mirrored by twos: these and no others are formatted."""
    home = draft.settings.storage.home
    row = draft.catalogue.storage_servers.get(home.server) if home else None
    there = len(hosts.disks)
    if hosts.storage != "nfs" or row is None or (there and there % 2 == 0 and there <= row.drives):
        return
    yield Observation(
        path="disks",
        sentence=f"{there} disks are named for {hosts.name}, which mirrors those of a {row.name} by twos",
        remedy="name an even number of them by /dev/disk/by-path, or correct storage.home.server",
        inputs={"disks": str(there), "drives": str(row.drives)},
    )


@metal_warning(
    "G12",
    formula="sharedFiles.kind: nfs with no dataset, and no checkpoint of more than one node",
    source="nfs(5): every byte of a mount goes through the server that it names",
)
def nfs_training_data(draft: MetalDraft) -> Iterable[Observation]:
    """Datasets and checkpoints of several nodes are not on NFS, whose one server gives 1 to 10 GB/s to all of them."""
    inventory, training = draft.settings.inventory, draft.settings.training
    if inventory is None or inventory.shared_files is None or inventory.shared_files.kind != "nfs":
        return
    waiting = [run.name for run in training.runs if run.dataset or (run.checkpoint and run.nodes > 1)]
    if waiting:
        yield Observation(
            path="inventory.sharedFiles.kind",
            sentence=f"{', '.join(waiting)} would read datasets or save checkpoints through the one server of NFS",
            remedy="take Lustre or Ceph for the shared file system, and NFS for homes (storage.home)",
            inputs={"runs": str(len(waiting))},
        )
