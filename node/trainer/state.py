"""Weights and optimizer states as files of a save, and back; sharded or on every rank, at any number of ranks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import saves
import torch
import torch.distributed as dist
from copying import COMMON
from torch import nn

META = "meta.json"


@dataclass(frozen=True)
class Ranks:
    """Who this process is, among all and among those of its node."""

    rank: int
    world: int
    local_rank: int
    local_world: int

    @property
    def leads_node(self) -> bool:
        return self.local_rank == 0


def save(
    root: Path, step: int, ranks: Ranks, model: nn.Module, optimizer: Any, meta: dict[str, Any], *, own_disk: bool
) -> Path | None:
    """Saves a step, all ranks together; the save, or None on a rank that does not finish it.

    On a node's `own_disk` its first rank begins and finishes the save, elsewhere rank 0 does.
    """
    leads = ranks.leads_node if own_disk else ranks.rank == 0
    place = saves.begin(root, step) if leads else saves.aside(root, step)
    dist.barrier()
    sharded = _is_sharded(model)
    if sharded:
        _save_shards(place, model, optimizer, leads=leads)
    elif leads:
        whole = {"model": _bare(model).state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(whole, place / "state.pt")
    if leads:
        (place / META).write_text(json.dumps({**meta, "saved": time.time()}), encoding="utf-8")
    part = ranks.local_rank if own_disk else ranks.rank
    saves.wrote(place, part, _written(place, ranks.rank, sharded=sharded, leads=leads))
    dist.barrier()
    done = saves.finish(root, step, ranks.local_world if own_disk else ranks.world) if leads else None
    dist.barrier()
    return done


def load(path: Path, model: nn.Module, optimizer: Any) -> dict[str, Any]:
    """Reads a save into the model and the optimizer; its meta data."""
    if _is_sharded(model):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

        weights, states = get_state_dict(model, optimizer)
        dcp.load({"model": weights, "optimizer": states}, checkpoint_id=str(path))
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=states)
    else:
        whole = torch.load(path / "state.pt", map_location="cpu")
        _bare(model).load_state_dict(whole["model"])
        optimizer.load_state_dict(whole["optimizer"])
    found: dict[str, Any] = json.loads((path / META).read_text(encoding="utf-8"))
    return found


def resumable(local: Path | None, shared: Path | None, say: Callable[[str], None]) -> Path | None:
    """The save to go on from, the same one on all ranks: of the nodes' own disks where all have it, or the shared."""
    if local is not None:
        mine = _newest(local, say)
        steps = _gathered(mine)
        there = _from_first(lambda: _step(saves.newest(shared, hashes=False)[0]) if shared else None)
        if mine is not None and set(steps) == {mine} and (there is None or mine >= there):
            return local / saves.name_of(mine)
        held = ", ".join(sorted({str(each) for each in steps}))
        say(f"the nodes' local disks do not all have the same newest step: {held}")
    step = _from_first(lambda: _newest(shared, say)) if shared else None
    return shared / saves.name_of(step) if shared and step is not None else None


def _newest(root: Path, say: Callable[[str], None]) -> int | None:
    """The step of its newest whole save; what is skipped is said."""
    found, skipped = saves.newest(root)
    for each in skipped:
        say(each)
    return _step(found)


def _step(found: Path | None) -> int | None:
    return saves.step_of(found) if found else None


def _save_shards(place: Path, model: nn.Module, optimizer: Any, *, leads: bool) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict

    weights, states = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": states}, checkpoint_id=str(place))
    index = place / ".metadata"
    # Only rank 0 writes the index, and on disks of their own the other nodes could not read a shard without it.
    told = [index.read_bytes() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(told, src=0)
    if leads and not index.exists() and told[0] is not None:
        index.write_bytes(told[0])


def _written(place: Path, rank: int, *, sharded: bool, leads: bool) -> list[str]:
    """The files that this rank answers for."""
    own = [each.name for each in place.glob(f"__{rank}_*.distcp")] if sharded else []
    if leads:
        own += [name for name in ("state.pt", *COMMON) if (place / name).exists()]
    return own


def _is_sharded(model: nn.Module) -> bool:
    return any(type(each).__name__ == "DTensor" for each in model.parameters())


def _bare(model: nn.Module) -> nn.Module:
    inner = getattr(model, "module", model)
    assert isinstance(inner, nn.Module)  # noqa: S101 - DistributedDataParallel has the model there
    return inner


def _gathered(value: int | None) -> list[int | None]:
    found: list[int | None] = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def _from_first(ask: Callable[[], int | None]) -> int | None:
    """What rank 0 finds, on all ranks: each would hash the same files."""
    told = [ask() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(told, src=0)
    return told[0]
