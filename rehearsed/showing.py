"""What a cluster has to show of its training: nodes that passed their gates, and where the newest saves lie."""

import posixpath
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.kube.client import ApiError, Kube
from rehearsal.kubelet.contents import BUCKETS, Contents
from rehearsal.particulars import Cluster, Shown
from rehearsed.run_watch import NAMESPACE
from rehearsed.saves import DIRECTORY, MANIFEST

Object = Mapping[str, Any]

GATE, POOL = "gpucluster/gate", "gpucluster/pool"
VERDICTS = re.compile(r"gate-(.+)-verdicts")
JOB, SCHEDULE = ("kubeflow.org/v1", "PyTorchJob"), ("batch/v1", "CronJob")
COPY_SECONDS = 300.0
"""A busy machine takes its time; the copy itself is names and sizes."""


def shows(cluster: Cluster, *, now: bool) -> Iterator[Shown]:
    """A sentence for each gate and each run that saves. With `now` saves are copied to the object store at once, which
    would come in hours, and what is missing then is wrong.
    """
    yield from _gates(cluster.kube)
    for job in cluster.kube.list(*JOB, NAMESPACE):
        directory = _directory(job)
        if directory is not None and _runs(job):
            yield _saved(cluster, job["metadata"]["name"], directory, now=now)


def _gates(kube: Kube) -> Iterator[Shown]:
    for each in kube.list("v1", "ConfigMap", NAMESPACE):
        if found := VERDICTS.fullmatch(each["metadata"]["name"]):
            nodes = kube.list("v1", "Node", label_selector=f"{POOL}={found[1]}")
            states = Counter(node["metadata"]["labels"].get(GATE, "not measured") for node in nodes)
            others = "".join(f", {count} {state}" for state, count in sorted(states.items()) if state != "pass")
            said = f"gate of pool {found[1]}: {states['pass']} of {len(nodes)} nodes pass{others}"
            yield Shown(said, wrong=states["fail"] > 0)


def _saved(cluster: Cluster, run: str, directory: str, *, now: bool) -> Shown:
    """Where a run's newest whole save is, of the places that it is to get to."""
    schedule = cluster.kube.get(*SCHEDULE, f"backup-{run}", NAMESPACE)
    problem = _copy(cluster.kube, schedule) if now and schedule else ""
    files = Contents(cluster.files)
    places = {"on the file system": _newest(_on_volumes(files, directory))}
    if schedule:
        (container,) = schedule["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        uri = next(each["value"] for each in container["env"] if each["name"] == "CHECKPOINT_URI")
        places[f"at {uri}"] = _newest(_in_store(cluster, files, uri))
    said = ", ".join(f"{step or 'none yet'} {place}" for place, step in places.items())
    return Shown(f"newest checkpoint of run {run}: {said}{problem}", wrong=now and not all(places.values()))


def _directory(job: Object) -> str | None:
    """Where on its volume a run saves; None for one that does not."""
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        container = role["template"]["spec"]["containers"][0]
        told = next((each.get("value") for each in container.get("env") or () if each["name"] == DIRECTORY), None)
        for mount in container.get("volumeMounts") or ():
            if told is not None and mount["mountPath"] == told:
                place: str | None = mount.get("subPath")
                return place
    return None


def _runs(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Running", "True") for each in conditions)


def _on_volumes(files: Contents, directory: str) -> Iterator[str]:
    for volume in files.volumes(""):
        if not volume.startswith(BUCKETS):
            yield from (posixpath.relpath(name, directory) for name in files.under(volume, directory))


def _in_store(cluster: Cluster, files: Contents, uri: str) -> Iterator[str]:
    """Names below an address in the account, or in the site's own store."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    stores = [each for each in files.volumes(BUCKETS) if each.endswith(f"/{bucket}")]
    keys = [name for store in stores for name in files.under(store, prefix)]
    if not stores:
        try:
            s3 = cluster.account.client("s3", cluster.region)
            keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())]
        except ClientError:  # it has gone
            return
    yield from (posixpath.relpath(key, prefix) for key in keys)


def _newest(names: Iterable[str]) -> str | None:
    """The whole save of the highest step."""
    whole = {int(found[1]) for name in names if (found := re.fullmatch(rf"step-(\d+)/{MANIFEST}", name))}
    return f"step-{max(whole)}" if whole else None


def _copy(kube: Kube, schedule: Object) -> str:
    """Does what a schedule is for, as `kubectl create job --from` does; what went wrong."""
    meta = schedule["metadata"]
    owner = {"apiVersion": SCHEDULE[0], "kind": SCHEDULE[1], "name": meta["name"], "uid": meta["uid"]}
    name = f"{meta['name']}-first"
    own = {
        "name": name,
        "namespace": NAMESPACE,
        "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
        "ownerReferences": [owner],
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": schedule["spec"]["jobTemplate"]["spec"]}
    try:
        kube.create(job)
        deadline = time.monotonic() + COPY_SECONDS
        while time.monotonic() < deadline:
            found = kube.get("batch/v1", "Job", name, NAMESPACE) or {}
            ended = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or ()}
            if "Complete" in ended:
                return ""
            if "Failed" in ended:
                return f" (its copy failed: {ended['Failed'].get('message')})"
            time.sleep(1)
    except ApiError as error:
        return f" (its copy cannot be made: {error})"
    return f" (its copy has not ended after {COPY_SECONDS:.0f} s)"
