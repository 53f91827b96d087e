"""Where a run's checkpoints can be written while it waits for them."""

from collections.abc import Iterator

from planner.reliability.checkpoints import Tier
from planner.storage.local import write_gb_per_s
from planner.storage.need import local_write_seconds
from planner.storage.types import RunStorage

LOCAL, SHARED = "local disks", "file system"


def checkpoint_tiers(run: RunStorage, shared_gb_per_s: float) -> Iterator[Tier]:
    """The nodes' own disks, and the file system at what it takes from all clients or at what the run's nodes send.

    What is copied on from there, to an object store for one, goes on beside the training and pauses nobody.
    """
    if not run.io.checkpoint_gb:
        return
    if disks := write_gb_per_s(run.nvme):
        yield Tier(name=LOCAL, pause_s=local_write_seconds(run.io, disks))
    if reached := min(shared_gb_per_s, run.nodes_gb_per_s):
        yield Tier(name=SHARED, pause_s=run.io.checkpoint_gb / reached)
