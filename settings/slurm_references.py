"""What pools of Slurm are asked for by other sections, and only Kubernetes does."""

from collections.abc import Iterable, Mapping
from typing import Any

from catalogue.echo import echo
from settings.sections import Path

Entries = Mapping[int, Mapping[str, Any]]


def given_to_slurm(data: Mapping[str, Any]) -> list[str]:
    """The pools that Slurm is to have, as far as they are names."""
    section = data.get("slurm")
    named = section.get("pools") if isinstance(section, Mapping) else None
    return [each.strip() for each in named if isinstance(each, str)] if isinstance(named, list | tuple) else []


def of_slurm(pools: list[str], runs: Entries, experiments: Entries, pipelines: Any) -> Iterable[tuple[Path, str]]:
    """Runs on `pools`, which become batch scripts, with what a batch script has not."""
    there = {str(run.get("name")) for run in runs.values() if run.get("pool") in pools}
    for index, run in runs.items():
        here: Path = ("training", "runs", index)
        if run.get("pool") in pools:
            for path, what in _only_of_kubernetes(run):
                yield (*here, *path), f"{what}, and pool {echo(run['pool'])} is Slurm's; remove it, or slurm.pools"
        followers = run.get("followUps")
        for place, each in enumerate(followers if isinstance(followers, list | tuple) else ()):
            if isinstance(each, Mapping) and each.get("pool") in pools and run.get("pool") not in pools:
                said = f"pool {echo(each['pool'])} is Slurm's, which starts no follow-up; name a pool of Kubernetes"
                yield (*here, "followUps", place, "pool"), said
    for index, experiment in experiments.items():
        if experiment.get("run") in there:
            said = (
                f"run {echo(experiment['run'])} is on a pool of Slurm's, and trials need Kubernetes; name another run"
            )
            yield ("training", "experiments", index, "run"), said
    started = pipelines.get("runs") if isinstance(pipelines, Mapping) else None
    for index, name in enumerate(started if isinstance(started, list | tuple) else ()):
        if name in there:
            said = f"run {echo(name)} is on a pool of Slurm's, which no step can start; remove it"
            yield ("training", "pipelines", "runs", index), said


def _only_of_kubernetes(run: Mapping[str, Any]) -> Iterable[tuple[Path, str]]:
    dataset, saved = run.get("dataset"), run.get("checkpoint")
    if isinstance(dataset, Mapping) and dataset.get("staging", "none") != "none":
        yield ("dataset", "staging"), "pods of Kubernetes stage datasets to machines' disks"
    if isinstance(saved, Mapping) and saved.get("objectStoreHours"):
        yield ("checkpoint", "objectStoreHours"), "a job of Kubernetes copies saves to the object store"
    if run.get("followUps"):
        yield ("followUps",), "follow-ups are jobs of Kubernetes"
