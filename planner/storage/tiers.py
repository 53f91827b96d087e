"""Where a run's checkpoints can be written: the nodes' own disks, the shared file system, the object store (T01)."""

from collections.abc import Iterator

from planner.reliability.checkpoints import Tier, stood_part
from planner.storage.local import write_gb_per_s
from planner.storage.need import local_write_seconds
from planner.storage.types import RunStorage

LOCAL, SHARED, OBJECTS = "local disks", "file system", "object store"


def checkpoint_tiers(run: RunStorage, shared_gb_per_s: float) -> Iterator[Tier]:
    """The nodes' own disks, the file system at what it takes from all clients or at what the run's nodes send, and the
    object store where the newest checkpoint is copied there.

    Training waits for the first place that the run uses. What goes on from there is copied beside the training.
    """
    io, saving = run.io, run.io.saving
    if not io.checkpoint_gb or saving is None:
        return
    disks, reached = write_gb_per_s(run.nvme), min(shared_gb_per_s, run.nodes_gb_per_s)
    local_s = local_write_seconds(io, disks) if disks else 0.0
    shared_s = io.checkpoint_gb / reached if reached else 0.0
    stood = stood_part(local_s if saving.local else shared_s, saving.every_s)
    if local_s:
        yield Tier(name=LOCAL, pause_s=local_s, every_s=saving.every_s)
    if shared_s and saving.local:
        yield Tier(name=SHARED, pause_s=shared_s, every_s=saving.file_system_s, waits=False, stood_part=stood)
    elif shared_s:
        yield Tier(name=SHARED, pause_s=shared_s, every_s=saving.every_s)
    if saving.object_store_s and run.object_copy_s:
        taken, every = run.object_copy_s, saving.object_store_s
        yield Tier(name=OBJECTS, pause_s=taken, every_s=every, waits=False, direct=False, stood_part=stood)
