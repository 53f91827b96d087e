"""Names in the settings that must be unique, or must name something that exists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from settings.types import Path

if TYPE_CHECKING:
    from settings.model import Settings


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def broken_references(settings: Settings) -> list[tuple[Path, str]]:
    """Everything wrong with names: (path, sentence) pairs, in the order of the file."""
    runs, services = settings.training.runs, settings.serving.services
    return [
        *_repeated(("pools",), settings.pools),
        *_missing_role(settings),
        *_repeated(("scheduling", "queues"), settings.scheduling.queues),
        *_repeated(("training", "runs"), runs),
        *_repeated(("serving", "services"), services),
        *(
            problem
            for index, run in enumerate(runs)
            for problem in (
                *_pool(settings, ("training", "runs", index, "pool"), run.pool, "training"),
                *_queue(settings, ("training", "runs", index, "queue"), run.queue),
            )
        ),
        *(
            problem
            for index, service in enumerate(services)
            for problem in _pool(settings, ("serving", "services", index, "pool"), service.pool, "inference")
        ),
    ]


def _repeated(path: Path, items: Sequence[_Named]) -> Iterable[tuple[Path, str]]:
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        first = seen.setdefault(item.name, index)
        if first != index:
            yield (*path, index, "name"), f"{item.name!r} is already the name of {path[-1]}[{first}]; choose another"


def _missing_role(settings: Settings) -> Iterable[tuple[Path, str]]:
    if all(pool.role != "system" for pool in settings.pools):
        yield ("pools",), "no pool has role system, so the operators have nowhere to run; add one of at least 2 nodes"


def _pool(settings: Settings, path: Path, name: str, role: str) -> Iterable[tuple[Path, str]]:
    pools = {pool.name: pool for pool in settings.pools}
    if name not in pools:
        yield path, _unknown(name, "pool", [pool.name for pool in settings.pools if pool.role == role])
    elif pools[name].role != role:
        yield path, f"pool {name!r} has role {pools[name].role}, not {role}; name a pool of role {role}"


def _queue(settings: Settings, path: Path, name: str) -> Iterable[tuple[Path, str]]:
    queues = [queue.name for queue in settings.scheduling.queues]
    if name not in queues:
        yield path, _unknown(name, "queue", queues)


def _unknown(name: str, kind: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    choice = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known) or 'none'}"
    return f"there is no {kind} {name!r}; {choice}"
