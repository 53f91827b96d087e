"""Step 6: the model becomes a version in MLflow's registry, and the champion if it is better than the one there is.

A worse one is kept as a version with its metric, so that it is known; the alias stays where it is. Registered again it
is found by its checkpoint's hash. Source: MLflow documentation, REST API (registered-models, model-versions, alias).
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import lineage
from steps import Made, Record, StepError, before, do, ended, kept

CHECKPOINT, METRIC = "gpucluster.checkpoint_sha256", "gpucluster.metric."
FILE = "version.json"
_SECONDS = 30


class UnknownError(Exception):
    """The registry has no such thing."""


class Registry:
    """MLflow's registry at an address."""

    def __init__(self, address: str) -> None:
        if not address.startswith(("http://", "https://")):
            raise StepError(f"--tracker {address!r} is not an address; type http://HOST:PORT of MLflow")
        self._address = address.rstrip("/")

    def ask(self, path: str, body: Mapping[str, Any] | None = None, **query: str) -> dict[str, Any]:
        """The answer. Raises UnknownError for what is not there, StepError for all else that is wrong."""
        told = f"{self._address}/api/2.0/mlflow/{path}{'?' + urlencode(query) if query else ''}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(told, data, {"Content-Type": "application/json"})  # noqa: S310 - see __init__
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
                found: dict[str, Any] = json.loads(response.read() or b"{}")
                return found
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(2000).decode(errors="replace")
            if "RESOURCE_DOES_NOT_EXIST" in said or "not found" in said:
                raise UnknownError(said) from None
            raise StepError(f"the registry at {self._address} refused {path}: {error.code} {said}") from None
        except (OSError, ValueError) as error:
            raise StepError(
                f"the registry at {self._address} does not answer ({error}); run again when it does"
            ) from None

    def champion(self, model: str, alias: str) -> dict[str, Any] | None:
        """The version with the alias."""
        try:
            found: dict[str, Any] = self.ask("registered-models/alias", name=model, alias=alias)["model_version"]
        except UnknownError:
            return None
        return found

    def version(self, model: str, source: str, tags: Mapping[str, str]) -> str:
        """The version with that checkpoint, made if need be."""
        known = self.ask("model-versions/search", filter=f"name='{model}'").get("model_versions", [])
        for each in known:
            if tags_of(each).get(CHECKPOINT) == tags[CHECKPOINT]:
                return str(each["version"])
        listed = [{"key": key, "value": value} for key, value in sorted(tags.items())]
        wanted = {"name": model, "source": source, "tags": listed}
        try:
            made = self.ask("model-versions/create", wanted)
        except UnknownError:
            self.ask("registered-models/create", {"name": model})
            made = self.ask("model-versions/create", wanted)
        return str(made["model_version"]["version"])


def tags_of(version: Mapping[str, Any]) -> dict[str, str]:
    """A version's tags."""
    return {each["key"]: each["value"] for each in version.get("tags", [])}


def main(words: Sequence[str]) -> Record:
    """Raises StepError where the registry does not answer, or its champion has no such metric."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("trained", "evaluated", "into"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--tracker", required=True, help="MLFLOW_TRACKING_URI")
    parser.add_argument("--model", required=True, help="the model's name in the registry")
    parser.add_argument(
        "--source", required=True, help="address of the checkpoint, such as s3://BUCKET/checkpoints/RUN"
    )
    parser.add_argument("--alias", default="champion")
    parser.add_argument("--best", choices=["lowest", "highest"], default="lowest")
    asked = parser.parse_args(words)
    trained, evaluated = before(asked.trained, "train"), before(asked.evaluated, "evaluate")
    if evaluated.facts["checkpoint_sha256"] != trained.facts["checkpoint_sha256"]:
        raise StepError(
            f"{asked.evaluated} evaluated another checkpoint than that of {asked.trained}; run evaluation again"
        )
    metric, value = str(evaluated.facts["metric"]), float(evaluated.facts["value"])
    tags = {
        **lineage.read(asked.trained / "lineage.json").tags(),
        CHECKPOINT: str(trained.facts["checkpoint_sha256"]),
        METRIC + metric: repr(value),
    }
    told = {"evaluated": evaluated.digest, "model": asked.model, "alias": asked.alias, "source": asked.source}

    def make(place: Path) -> Made:
        registry = Registry(asked.tracker)
        version = registry.version(asked.model, asked.source, tags)
        champion = registry.champion(asked.model, asked.alias)
        promoted = better(champion, metric, value, lowest=asked.best == "lowest")
        own = champion is not None and str(champion["version"]) == version
        if promoted and not own:
            registry.ask("registered-models/alias", {"name": asked.model, "alias": asked.alias, "version": version})
        if not promoted and not own and champion is not None:
            theirs = tags_of(champion)[METRIC + metric]
            print(
                f"register: {asked.model} {version} has {metric} {value:g}, and {asked.alias} "
                f"{champion['version']} has {float(theirs):g}: it is not promoted",
                flush=True,
            )
        facts = {"version": version, "promoted": promoted or own}
        kept(place / FILE, json.dumps({"model": asked.model, **facts, "tags": tags}, indent=1, sort_keys=True) + "\n")
        return Made([FILE], facts)

    return do("register", asked.into, told, make)


def better(champion: Mapping[str, Any] | None, metric: str, value: float, *, lowest: bool) -> bool:
    """Whether the value is better than the champion's; where there is none, it is. Raises StepError for one without."""
    if champion is None:
        return True
    told = tags_of(champion).get(METRIC + metric)
    if told is None:
        raise StepError(
            f"version {champion['version']}, which is promoted now, has no tag {METRIC}{metric}, so nobody knows "
            "which is better; set it, or take the alias away"
        )
    return value < float(told) if lowest else value > float(told)


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
