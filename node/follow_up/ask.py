"""Makes the job that evaluates or exports the newest whole checkpoint of a run, unless that was done.

It is asked every so often, and does one thing at most: what has ended is written down, what goes on is left alone, and
a checkpoint that was not looked at gets its job. The job's name follows from the checkpoint's, so that two who ask at
once make one job. A file in the checkpoint keeps it from being pruned until its job has ended.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import saves
from publish import Api, ConflictError

LABEL, STEP = "gpucluster/follow-up", "gpucluster/checkpoint"
PATH = "CHECKPOINT_PATH"
DONE, FAILED = "Succeeded", "Failed"


@dataclass
class Asker:
    """One follow-up, `name`, of a run: its checkpoints lie in `root`, and `manifest` is its job without the checkpoint.

    With `after` it waits for the end of that run.
    """

    api: Api
    name: str
    root: Path
    manifest: Mapping[str, Any]
    after: str | None = None

    @property
    def jobs(self) -> str:
        return f"/apis/kubeflow.org/v1/namespaces/{self.api.namespace}/pytorchjobs"

    @property
    def kept(self) -> str:
        return f"/api/v1/namespaces/{self.api.namespace}/configmaps/{self.name}"

    def look(self) -> list[str]:
        """Does what is due; what was done, in sentences. Raises OSError where the API server refuses."""
        kept = self.api.ask("GET", self.kept)
        known: dict[str, str] = dict(kept.get("data") or {})
        going, said = self._ended(known)
        if going:
            return [*said, f"{going} goes on"]
        if self.after is not None and not self._has_ended(self.after):
            return [*said, f"run {self.after} has not ended"]
        newest, skipped = saves.newest(self.root)
        said += skipped
        if newest is None:
            return [*said, f"no whole checkpoint is in {self.root}"]
        if newest.name in known:
            return [*said, f"{newest.name} was looked at: {known[newest.name]}"]
        return [*said, self._make(newest, kept["metadata"])]

    def _ended(self, known: dict[str, str]) -> tuple[str | None, list[str]]:
        """The job that goes on, and what is said of those that ended since the last look, which is written down."""
        going, said, news = None, [], {}
        answer = self.api.ask("GET", f"{self.jobs}?labelSelector={LABEL.replace('/', '%2F')}%3D{self.name}")
        for job in answer["items"]:
            step, ended = job["metadata"]["labels"][STEP], _end(job)
            if ended is None:
                going = job["metadata"]["name"]
                continue
            self._mark(step).unlink(missing_ok=True)
            if step not in known:
                news[step] = f"{ended[0]} at {ended[1]}"
                said.append(f"{job['metadata']['name']}: {news[step]}")
        if news:
            self.api.patch(self.kept, {"data": news})
            known.update(news)
        return going, said

    def _has_ended(self, run: str) -> bool:
        try:
            return _end(self.api.ask("GET", f"{self.jobs}/{run}")) is not None
        except FileNotFoundError:
            return False

    def _mark(self, step: str) -> Path:
        return self.root / step / f"{saves.KEEP}-{self.name}"

    def _make(self, save: Path, owner: Mapping[str, Any]) -> str:
        mark = self._mark(save.name)
        mark.touch()
        if not (save / saves.SUMS).exists():
            mark.unlink(missing_ok=True)
            return f"{save.name} was pruned meanwhile; the next look takes the one after it"
        job = made(self.manifest, self.name, save.name, owner)
        try:
            self.api.ask("POST", self.jobs, job)
        except ConflictError:
            return f"{job['metadata']['name']} is there already"
        except OSError:
            mark.unlink(missing_ok=True)
            raise
        return f"made {job['metadata']['name']} for {save.name}"


def made(manifest: Mapping[str, Any], name: str, save: str, owner: Mapping[str, Any]) -> dict[str, Any]:
    """The job of a checkpoint. It goes with its owner, the ConfigMap. Pure."""
    job = copy.deepcopy(dict(manifest))
    meta = job["metadata"]
    meta["name"] = f"{name}-{saves.step_of(Path(save))}"
    meta["labels"] = {**meta.get("labels", {}), LABEL: name, STEP: save}
    meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}]
    (container,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    for each in container["env"]:
        if each["name"] == PATH:
            each["value"] = f"{each['value']}/{save}"
    return job


def _end(job: Mapping[str, Any]) -> tuple[str, str] | None:
    """How and when a job ended; None where it goes on."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in (DONE, FAILED) and each["status"] == "True":
            return each["type"], each.get("lastTransitionTime", "an unknown time")
    return None


def main(words: Sequence[str]) -> int:
    """Looks once and says what was done; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--identity", type=Path, required=True, help="directory of the service account's token and CA")
    parser.add_argument("--name", required=True, help="name of the follow-up, and of the ConfigMap with its record")
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--job", type=Path, required=True, help="the job without a checkpoint, as JSON")
    parser.add_argument("--after", help="run that must have ended first")
    asked = parser.parse_args(list(words))
    manifest = json.loads(asked.job.read_text(encoding="utf-8"))
    try:
        api = Api.inside(asked.identity)
        for line in Asker(api, asked.name, asked.checkpoints, manifest, asked.after).look():
            print(line, flush=True)
    except OSError as error:
        print(f"follow-up {asked.name} failed: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
