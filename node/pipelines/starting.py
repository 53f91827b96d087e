"""What a pipeline's training step starts in a cluster: makes the job of a run of the stack, and waits until it is over.

Its job is a text that the stack made, as `up` would make the run; the shards that it reads and the directory of its
saves are put in here. Begun again, it finds the job that it made, and a failed one it makes again, which goes on at
its saves.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from publish import Api, ConflictError
from steps import StepError, ended, hash_of

SHARED = Path("/checkpoints")
"""Where steps have the shared file system; a run's pods have directories of it."""
RUN, IDENTITY = Path("/opt/gpucluster/run/job.json"), Path("/opt/gpucluster/starter")
_JOBS = "/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs"
_OVER = ("Succeeded", "Failed")
_PAUSE_S, _SILENT_S = 10.0, 600.0


def main(words: Sequence[str]) -> str:
    """The job's name, when it succeeded. Raises StepError with the operator's sentence where it did not."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("data", "saves"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--job", type=Path, default=RUN, help="the run's job, as the stack made it")
    parser.add_argument(
        "--identity", type=Path, default=IDENTITY, help="directory of the service account's token and CA"
    )
    asked = parser.parse_args(words)
    try:
        api, text = Api.inside(asked.identity), asked.job.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StepError(f"{error.filename} does not exist; compile the pipeline with --starts=RUN") from None
    job = filled(text, asked.data, asked.saves, asked.shared)
    name = job["metadata"]["name"]
    print(f"starting: job {name} in namespace {job['metadata']['namespace']}", flush=True)
    _made(api, job)
    state, why = _waited(api, job)
    if state == "Failed":
        raise StepError(f"job {name} failed: {why}; see its pods' logs; running again resumes from its checkpoints")
    print(f"starting: job {name} is done", flush=True)
    return str(name)


def filled(text: str, data: Path, saves: Path, shared: Path) -> dict[str, Any]:
    """The job for this run of the pipeline: its name follows from where its saves go. Raises StepError."""
    if not (data / "SHA256SUMS").is_file():
        raise StepError(f"{data} has no SHA256SUMS, so no shards; run shard again")
    try:
        places = {"data": str(data.relative_to(shared)), "saves": str(saves.relative_to(shared))}
    except ValueError:
        raise StepError(f"{data} and {saves} must be below {shared}, which the run's pods mount too") from None
    job: dict[str, Any] = json.loads(text)
    suffix = hashlib.sha256(places["saves"].encode()).hexdigest()[:8]
    run = next(iter(job["spec"]["pytorchReplicaSpecs"].values()))["template"]["spec"]["serviceAccountName"]
    # The operator names pods after it and a rank, and a Service's name has 63 characters.
    places["job"] = f"{run[:40].rstrip('-')}-{suffix}"
    job = json.loads(_put_in(text, places))
    job["metadata"]["labels"]["gpucluster/data-sha256"] = hash_of(data / "SHA256SUMS")[:32]
    job["metadata"]["annotations"]["gpucluster/data"] = places["data"]
    return job


def _put_in(text: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(f"${{{name}}}", json.dumps(value)[1:-1])
    return text


def _made(api: Api, job: dict[str, Any]) -> None:
    """Makes the job, unless it is there and did not fail."""
    path = _JOBS.format(**job["metadata"])
    one = f"{path}/{job['metadata']['name']}"
    state, _ = _state(_found(api, one))
    if state == "Failed":
        print("starting: the job existed and had failed; creating it again", flush=True)
        api.ask("DELETE", one)
        until = time.monotonic() + _SILENT_S
        while _found(api, one) is not None:
            if time.monotonic() > until:
                raise StepError(f"the failed job {job['metadata']['name']} is still there after {_SILENT_S:.0f} s")
            time.sleep(_PAUSE_S)
    if state is None or state == "Failed":
        try:
            api.ask("POST", path, job)
        except ConflictError:
            pass  # another attempt of this step made it just now
        except OSError as error:
            raise StepError(f"the job was refused: {error}") from None


def _waited(api: Api, job: dict[str, Any]) -> tuple[str, str]:
    """How it ended, and the operator's sentence. An API server that is away for less than _SILENT_S is waited for."""
    one, heard = f"{_JOBS.format(**job['metadata'])}/{job['metadata']['name']}", time.monotonic()
    while True:
        try:
            found = _found(api, one)
        except OSError as error:
            if time.monotonic() - heard > _SILENT_S:
                raise StepError(f"the API server does not answer: {error}") from None
        else:
            heard = time.monotonic()
            if found is None:
                raise StepError(f"job {job['metadata']['name']} was deleted meanwhile; run again to create it")
            state, why = _state(found)
            if state in _OVER:
                return state, why
        time.sleep(_PAUSE_S)


def _found(api: Api, path: str) -> dict[str, Any] | None:
    try:
        return api.ask("GET", path)
    except FileNotFoundError:
        return None


def _state(job: dict[str, Any] | None) -> tuple[str | None, str]:
    """None for no job, "" for one that is under way, else how it ended."""
    if job is None:
        return None, ""
    for each in job.get("status", {}).get("conditions", ()):
        if each["type"] in _OVER and each["status"] == "True":
            return each["type"], each.get("message", "")
    return "", ""


if __name__ == "__main__":
    sys.exit(ended(main, sys.argv[1:]))
