"""Rules about how a container's command comes to run: variables that the kubelet fills in, scripts that may be run."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.environment import is_of, owned
from policy.graph import Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.words import tokens, words

_FILLED = re.compile(r"(?<!\$)\$\(([A-Z][A-Z0-9_]*)\)")
_OF_SERVICES = re.compile(r"_SERVICE_(HOST|PORT)")
_BARE = re.compile(r"(?:--?[a-z][\w.-]*=)?\$\{?[A-Z][A-Z0-9_]*\}?(?:/\S*)?")
SHELLS = re.compile(r"(?:^|/)(?:ba|da|z|a|k)?sh$|(?:^|/)(?:python3?|perl|tini|dumb-init|env|envsubst)$")
RUN_BITS = 0o111
WRITERS = ("torchrun", "vllm")
"""Programs that make temporary files before anything else."""


def _unfilled(pod: Pod, container: Mapping[str, Any]) -> Iterator[str]:
    """Names that are written as $(NAME) where the kubelet does not know them."""
    known: list[str] = []
    for each in container.get("env") or []:
        yield from (name for name in _FILLED.findall(str(each.get("value") or "")) if name not in known)
        known.append(str(each.get("name")))
    for word in words(container):
        yield from (name for name in _FILLED.findall(word) if name not in known and not is_of(name, owned(pod)))


@rule(
    source="Kubernetes: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-"
    "variables/ (what is not defined before stays as it is written); define-command-argument-container/ beside it: "
    "without a shell $NAME is not expanded",
    remedy="define the variable, before those that use it; in a command without a shell write $(NAME)",
)
def variables_are_filled_in(graph: Graph) -> Iterator[Finding]:
    """A variable that a command or another variable uses is defined by then, and written as the kubelet reads it."""
    for pod in pods(graph):
        for container in pod.containers:
            if not container.get("envFrom"):
                names = sorted({one for one in _unfilled(pod, container) if not _OF_SERVICES.search(one)})
                for name in names:
                    yield pod.owner, f"writes $({name}) where {name} is not defined ({container.get('name')})"
            command = [str(each) for each in container.get("command") or []]
            if command and not SHELLS.search(command[0]):
                for word in words(container):
                    if _BARE.fullmatch(word):
                        yield pod.owner, f"passes {word} as it is written: {command[0]} is no shell"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/volume/ "
    "(defaultMode is 0644): permission denied, and the container never starts",
    remedy="defaultMode: 0755 (493) of the volume, or start it by its shell: command: [sh, /path/script.sh]",
)
def scripts_may_be_run(graph: Graph) -> Iterator[Finding]:
    """A file of a ConfigMap that a container starts may be run."""
    for pod in pods(graph):
        volumes = {each.get("name"): each.get("configMap") for each in pod.spec.get("volumes") or []}
        for container in pod.containers:
            first = str((container.get("command") or [""])[0])
            for mount in container.get("volumeMounts") or []:
                source, place = volumes.get(mount.get("name")), str(mount.get("mountPath")).rstrip("/")
                if source is None or not (first == place or first.startswith(f"{place}/")):
                    continue
                modes = [one.get("mode") for one in source.get("items") or [] if first.endswith(f"/{one.get('path')}")]
                mode = next((one for one in modes if one is not None), source.get("defaultMode", 0o644))
                if isinstance(mode, int) and not mode & RUN_BITS:
                    yield pod.owner, f"starts {first} of the ConfigMap {source.get('name')}, which nobody may run"


@rule(
    source="Python: tempfile.gettempdir (TMPDIR, /tmp, /var/tmp, /usr/tmp, then the working directory); torchrun's "
    "logs and vLLM's sockets (VLLM_RPC_BASE_PATH) are made there; Kubernetes: readOnlyRootFilesystem",
    remedy="mount an emptyDir at /tmp, or let TMPDIR name a volume that the container may write to",
)
def read_only_roots_have_a_tmp(graph: Graph) -> Iterator[Finding]:
    """A launcher whose root is read-only has a place for its temporary files."""
    for pod in pods(graph):
        for each in pod.containers:
            told = {one.get("name"): one.get("value") for one in each.get("env") or []}
            places = (told.get("TMPDIR") or "/tmp", "/var/tmp", "/usr/tmp", each.get("workingDir") or "/")  # noqa: S108
            mounts = [str(one.get("mountPath")) for one in each.get("volumeMounts") or [] if not one.get("readOnly")]
            writable = any(f"{place}/".startswith(f"{mount.rstrip('/')}/") for place in places for mount in mounts)
            launcher = next((word for word in tokens(each) if word.rpartition("/")[2] in WRITERS), None)
            if (each.get("securityContext") or {}).get("readOnlyRootFilesystem") and launcher and not writable:
                yield pod.owner, f"starts {launcher} in {each.get('name')}, which may write nowhere, not to /tmp either"
