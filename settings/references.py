"""What sections say about each other: names that must be unique, or must name something that exists.

Works on the data as written, before it is validated: what has the wrong shape is skipped here and explained there.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from catalogue.echo import bare, echo
from settings.sections import Path
from settings.service_references import published, shared_keys
from settings.slurm_references import given_to_slurm, of_slurm
from settings.teams import about_teams
from settings.types import NAME

Problem = tuple[Path, str]


def across_sections(data: Any) -> list[Problem]:
    """Everything wrong between sections: (path, sentence) pairs, in the order of the file."""
    if not isinstance(data, Mapping):
        return []
    pools, queues = _entries(data, "pools"), _entries(data, "scheduling", "queues")
    runs, services = _entries(data, "training", "runs"), _entries(data, "serving", "services")
    teams = _entries(data, "teams")
    datasets, servers = _entries(data, "training", "datasets"), _entries(data, "serving", "triton")
    experiments = _entries(data, "training", "experiments")
    slurms = given_to_slurm(data)
    answering = {("services", index): each for index, each in services.items()} | {
        ("triton", index): each for index, each in servers.items()
    }
    return [
        *_repeated(("pools",), pools),
        *_missing_role(pools),
        *_blocks_elsewhere(data.get("platform"), pools),
        *_repeated(("scheduling", "queues"), queues),
        *_repeated(("teams",), teams),
        *_repeated(("registry", "repositories"), _entries(data, "registry", "repositories")),
        *about_teams(data, teams),
        *(
            problem
            for index, team in teams.items()
            for problem in _queue(queues, ("teams", index, "queue"), team.get("queue"))
        ),
        *_repeated(("training", "datasets"), datasets),
        *_sourceless(data, datasets),
        *_repeated(("storage", "sources"), _entries(data, "storage", "sources"), "bucket"),
        *_repeated(("training", "runs"), runs),
        *_repeated(("training", "experiments"), experiments),
        *_object_store(
            data,
            ("training", "gates", "history"),
            _below(_below(data, "training"), "gates").get("history"),
        ),
        *_named_like_runs(runs, experiments),
        *_repeated(("serving", "services"), services),
        *_repeated(("monitoring", "receivers"), _entries(data, "monitoring", "receivers")),
        *_repeated(("serving", "triton"), servers),
        *_shared_names(services, servers),
        *shared_keys(answering),
        *(
            problem
            for index, name in enumerate(slurms)
            for problem in _pool(pools, ("slurm", "pools", index), name, "training")
        ),
        *of_slurm(slurms, runs, experiments, _below(data, "training").get("pipelines")),
        *_pipelines_of_teams(data, teams),
        *published(data.get("serving"), answering),
        *(
            problem
            for index, run in runs.items()
            for problem in (
                *_pool(pools, ("training", "runs", index, "pool"), run.get("pool"), "training"),
                *_queue(queues, ("training", "runs", index, "queue"), run.get("queue")),
                *_dataset(datasets, ("training", "runs", index, "dataset", "name"), run.get("dataset")),
                *_object_store(
                    data,
                    ("training", "runs", index, "checkpoint", "objectStoreHours"),
                    _below(run, "checkpoint").get("objectStoreHours"),
                ),
            )
        ),
        *(
            problem
            for index, run in runs.items()
            for place, each in _entries(run, "followUps").items()
            for problem in (
                *_pool(pools, ("training", "runs", index, "followUps", place, "pool"), each.get("pool"), "training"),
                *_queue(queues, ("training", "runs", index, "followUps", place, "queue"), each.get("queue")),
            )
        ),
        *(
            problem
            for index, experiment in experiments.items()
            for problem in (
                *_named(runs, ("training", "experiments", index, "run"), experiment.get("run"), "run"),
                *_named(teams, ("training", "experiments", index, "team"), experiment.get("team"), "team"),
                *_trials_queue(queues, teams, index, experiment),
            )
        ),
        *(
            problem
            for index, service in services.items()
            for problem in _pool(pools, ("serving", "services", index, "pool"), service.get("pool"), "inference")
        ),
        *(
            problem
            for index, server in servers.items()
            for problem in _pool(pools, ("serving", "triton", index, "pool"), server.get("pool"), "inference")
        ),
    ]


def _entries(data: Mapping[str, Any], *path: str) -> dict[int, Mapping[str, Any]]:
    """The mappings in the list at `path`, by their index; text without the blanks around it, as it is read later."""
    here: Any = data
    for step in path:
        here = here.get(step) if isinstance(here, Mapping) else None
    entries = here if isinstance(here, list | tuple) else ()
    return {index: _cleaned(entry) for index, entry in enumerate(entries) if isinstance(entry, Mapping)}


def _cleaned(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _cleaned(below) for key, below in value.items()}
    return value.strip() if isinstance(value, str) else value


def _names(entries: Mapping[int, Mapping[str, Any]], role: str | None = None) -> list[str]:
    return [
        entry["name"]
        for entry in entries.values()
        if isinstance(name := entry.get("name"), str)
        and name.isprintable()
        and (role is None or entry.get("role") == role)
    ]


def _blocks_elsewhere(platform: Any, pools: Mapping[int, Mapping[str, Any]]) -> Iterable[Problem]:
    """Capacity blocks that AWS keeps in another zone than the one where the pool's subnet is."""
    zone = platform.get("gpuZone") if isinstance(platform, Mapping) else None
    for index, pool in pools.items():
        shares = pool.get("reservations")
        blocks: dict[Path, Any] = {("reservation",): pool.get("reservation")}
        blocks |= {
            ("reservations", place): each
            for place, each in enumerate(shares if isinstance(shares, list | tuple) else ())
        }
        for where, block in blocks.items():
            there = block.get("zone") if isinstance(block, Mapping) else None
            if isinstance(zone, str) and isinstance(there, str) and there != zone:
                sentence = (
                    f"the block is in {bare(there)} and platform.gpuZone is {bare(zone)}; name the same zone in both"
                )
                yield ("pools", index, *where, "zone"), sentence


def _repeated(path: Path, entries: Mapping[int, Mapping[str, Any]], key: str = "name") -> Iterable[Problem]:
    seen: dict[str, int] = {}
    for index, entry in entries.items():
        name = entry.get(key)
        if isinstance(name, str) and seen.setdefault(name, index) != index:
            yield (*path, index, key), f"{echo(name)} is already the {key} of {path[-1]}[{seen[name]}]; choose another"


def _shared_names(
    services: Mapping[int, Mapping[str, Any]], servers: Mapping[int, Mapping[str, Any]]
) -> Iterable[Problem]:
    """Triton servers called like a service: both are Deployments and Services of one namespace."""
    taken = set(_names(services))
    for index, server in servers.items():
        if isinstance(server.get("name"), str) and server["name"] in taken:
            yield (
                ("serving", "triton", index, "name"),
                f"{echo(server['name'])} is a service's name already; choose another",
            )


def _sourceless(data: Mapping[str, Any], datasets: Mapping[int, Mapping[str, Any]]) -> Iterable[Problem]:
    """Datasets that nothing brings to a file system which the stack itself makes, empty but for what is linked."""
    platform = data.get("platform")
    if not isinstance(platform, Mapping) or platform.get("kind") != "aws":
        return
    linked = [f"{each.get('path')}/" for each in _entries(data, "storage", "lustre", "associations").values()]
    for index, dataset in datasets.items():
        own = f"datasets/{dataset.get('name')}"
        place = f"/{dataset.get('path') or own}/"
        if dataset.get("source") is None and not place.startswith(tuple(linked)):
            sentence = (
                "is missing, and the stack's new file system is empty; type s3://BUCKET/PREFIX of the data, or link "
                f"{bare(place.rstrip('/'))} with it in storage.lustre.associations"
            )
            yield ("training", "datasets", index, "source"), sentence


def _dataset(datasets: Mapping[int, Mapping[str, Any]], path: Path, wanted: Any) -> Iterable[Problem]:
    name = wanted.get("name") if isinstance(wanted, Mapping) else None
    for where, sentence in _named(datasets, path, name, "dataset"):
        yield where, f"{sentence}; training.datasets lists the datasets"


def _missing_role(pools: Mapping[int, Mapping[str, Any]]) -> Iterable[Problem]:
    if pools and all(pool.get("role") in ("training", "inference") for pool in pools.values()):
        yield (
            ("pools",),
            ("no pool has role system, so the operators have nowhere to run; add one with at least 2 nodes"),
        )
    system = {index: pool.get("count") for index, pool in pools.items() if pool.get("role") == "system"}
    if system and all(count == 0 and isinstance(count, int) for count in system.values()):
        yield ("pools", min(system), "count"), "is 0, so the operators have nowhere to run; type 2 or more"


def _pool(pools: Mapping[int, Mapping[str, Any]], path: Path, name: Any, role: str) -> Iterable[Problem]:
    if not isinstance(name, str) or not pools:
        return
    found = next((pool.get("role") for pool in pools.values() if pool.get("name") == name), None)
    if name not in _names(pools):
        yield from _unknown(path, name, "pool", _names(pools, role))
    elif found in ("system", "training", "inference") and found != role:
        yield path, f"pool {echo(name)} has role {found}, not {role}; name a pool of role {role}"


def _queue(queues: Mapping[int, Mapping[str, Any]], path: Path, name: Any) -> Iterable[Problem]:
    return _named(queues, path, name, "queue") if queues else ()


def _pipelines_of_teams(data: Mapping[str, Any], teams: Mapping[int, Mapping[str, Any]]) -> Iterable[Problem]:
    """Teams that get pipelines of their own, and pages that show those of a team."""
    pipelines = _below(_below(data, "training"), "pipelines")
    said = pipelines.get("teams")
    listed = said if isinstance(said, list | tuple) else ()
    for index, name in enumerate(listed):
        yield from _named(teams, ("training", "pipelines", "teams", index), name, "team")
    pages = _entries(data, "serving", "gateway", "people", "pages")
    for index, page in pages.items():
        team, path = page.get("team"), ("serving", "gateway", "people", "pages", index, "team")
        if isinstance(team, str) and page.get("page") == "pipelines" and team not in listed:
            yield path, f"team {echo(team)} has no pipelines of its own; add it to training.pipelines.teams"


def _trials_queue(
    queues: Mapping[int, Mapping[str, Any]],
    teams: Mapping[int, Mapping[str, Any]],
    index: int,
    experiment: Mapping[str, Any],
) -> Iterable[Problem]:
    """Trials of a team go into its own queue: admission lets nothing of it into another one."""
    path, said, team = ("training", "experiments", index, "queue"), experiment.get("queue"), experiment.get("team")
    if team is None:
        yield from _queue(queues, path, said or "experiments")
    elif said is not None and said not in [each.get("queue") for each in teams.values() if each.get("name") == team]:
        yield path, f"trials of team {echo(str(team))} go into its own queue; remove it"


def _named(entries: Mapping[int, Mapping[str, Any]], path: Path, name: Any, kind: str) -> Iterable[Problem]:
    if isinstance(name, str) and name not in _names(entries):
        yield from _unknown(path, name, kind, _names(entries))


def _named_like_runs(
    runs: Mapping[int, Mapping[str, Any]], experiments: Mapping[int, Mapping[str, Any]]
) -> Iterable[Problem]:
    """Accounts and directories of checkpoints are named like the run, or the experiment."""
    for index, experiment in experiments.items():
        if experiment.get("name") in _names(runs):
            sentence = f"{echo(str(experiment['name']))} is the name of a run; choose another"
            yield ("training", "experiments", index, "name"), sentence


def _object_store(data: Mapping[str, Any], path: Path, wanted: Any) -> Iterable[Problem]:
    """What goes to an object store that nobody has: on AWS each stack has a bucket."""
    platform, storage = data.get("platform"), data.get("storage")
    metal = isinstance(platform, Mapping) and platform.get("kind") == "metal"
    has_none = isinstance(storage, Mapping) and storage.get("objectStoreGbPerS") is None
    if metal and has_none and wanted:
        yield path, "there is no object store; add storage.objectStoreGbPerS, or remove the key"


def _below(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}


def _unknown(path: Path, name: str, kind: str, known: Sequence[str]) -> Iterable[Problem]:
    """What to type for a name that nothing has; nothing if it means an entry whose own name has to change first."""
    near = get_close_matches(name, known, n=1)
    if near and not re.fullmatch(NAME, near[0]):
        return
    names = [each for each in known if re.fullmatch(NAME, each)]
    choice = f"did you mean {echo(near[0])}?" if near else f"known: {', '.join(names) or 'none'}"
    yield path, f"there is no {kind} {echo(name)}; {choice}"
