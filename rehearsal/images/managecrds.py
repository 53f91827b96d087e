"""gpu-operator's `manage-crds`, which its chart runs before an upgrade: helm leaves what is in crds/ alone.

Source: NVIDIA/gpu-operator v26.3.3, cmd/manage-crds (`apply` creates or updates every definition of the files it is
given, and of those below the directories it is given, and ends when the API server serves each: k8s-operator-libs,
pkg/crdutil, waitForCRDs) and
deployments/gpu-operator/templates/upgrade_crd.yaml. The files lie in the image's /opt/gpu-operator under the names of
the chart's crds/, those of node feature discovery in one file (docker/Dockerfile).
"""

import time
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from rehearsal.charts import played
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

CHART = "gpu-operator"
DIRECTORY = PurePosixPath("/opt/gpu-operator")
SECONDS = 3.0
SERVED_SECONDS, LOOK_SECONDS = 10.0, 0.1
"""How long, and how often, it looks for a kind among those served (crdutil.go, pollTimeout and pollInterval)."""
_OF_DISCOVERY = ("nfd-api-crds.yaml", "nfd.k8s-sigs.io")


def run(launch: Launch) -> Program:
    """Creates or replaces the chart's definitions with the rights of the pod's service account."""
    chart = played.find(CHART, str(launch.spec["image"]).rpartition(":")[2])
    kube = None
    try:
        found = chosen(launch.argv, chart.crds() if chart else [])
        kube = client(launch)
        for each in found:
            launch.log(_kept(kube, each))
        for each in found:
            launch.log(_served(kube, each))
        result = Exit(0)
    except (FileNotFoundError, TimeoutError, ApiError, Unreachable) as error:
        said = f"failed to apply CRDs: {error}"
        launch.log(said)
        result = Exit(1, said)
    finally:
        if kube is not None:
            kube.close()
    return Ends(launch.now + SECONDS / TIME_SCALE, result)


def _kept(kube: Kube, definition: dict[str, Any]) -> str:
    """crdutil.go, applyCRDs: asks for it, creates what is not there, replaces what is."""
    name = definition["metadata"]["name"]
    there = kube.get(definition["apiVersion"], definition["kind"], name)
    if there is None:
        kube.create(definition)
        return f"Creating CRD: {name}"
    metadata = {**definition["metadata"], "resourceVersion": there["metadata"]["resourceVersion"]}
    path = kube.path(definition["apiVersion"], definition["kind"], name=name)
    kube.call("PUT", path, {**definition, "metadata": metadata})
    return f"Updating CRD: {name}"


def _served(kube: Kube, definition: dict[str, Any]) -> str:
    """Waits until a version of the kind is served. Raises TimeoutError."""
    spec, name = definition["spec"], definition["metadata"]["name"]
    versions = [f"{spec['group']}/{each['name']}" for each in spec["versions"] if each["served"]]
    deadline = time.monotonic() + SERVED_SECONDS
    while not any(_known(kube, version, spec["names"]["kind"]) for version in versions):
        if time.monotonic() > deadline:
            raise TimeoutError(f"CRD {name} failed to become ready: context deadline exceeded")
        time.sleep(LOOK_SECONDS)
    return f"Waiting for CRD to be ready: {name}"


def _known(kube: Kube, version: str, kind: str) -> bool:
    try:
        kube.namespaced(version, kind)
    except ApiError as error:
        if error.reason == "NoMatch":
            return False
        raise
    return True


def chosen(argv: Sequence[str], definitions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The definitions at the paths that a command line names. Raises FileNotFoundError for a path nobody has. Pure."""
    files: dict[PurePosixPath, list[dict[str, Any]]] = {}
    for each in definitions:
        group, plural = each["spec"]["group"], each["spec"]["names"]["plural"]
        name = _OF_DISCOVERY[0] if group == _OF_DISCOVERY[1] else f"{group}_{plural}.yaml"
        files.setdefault(DIRECTORY / name, []).append(each)
    found: list[dict[str, Any]] = []
    for wanted in (PurePosixPath(word.partition("=")[2]) for word in argv if word.startswith("--filepath=")):
        below = [file for file in files if file == wanted or wanted in file.parents]
        if not below:
            raise FileNotFoundError(f"failed to walk path {wanted}: lstat {wanted}: no such file or directory")
        found += [each for file in below for each in files[file]]
    return found
