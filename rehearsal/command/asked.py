"""What kubectl asks of a kubelet: answered from what the simulation knows, or refused in a sentence.

The API server hands these requests to the node's port 10250, where nothing listens: the pods' processes are simulated.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.cluster.layout import CURL
from rehearsal.command.errors import CommandError
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.places import bare

METRICS = ("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io")
ENTERING = {"exec": "enter", "attach": "attach to", "cp": "copy from or to", "debug": "debug"}
_VALUED = frozenset({"-n", "--namespace", "--context", "--user", "--request-timeout", "-v", "--as", "-s", "--server"})
"""kubectl's own flags that take a value and may stand before the verb."""
_OWNERS = {
    **dict.fromkeys(("deploy", "deployment", "deployments"), ("apps/v1", "Deployment")),
    **dict.fromkeys(("sts", "statefulset", "statefulsets"), ("apps/v1", "StatefulSet")),
    **dict.fromkeys(("ds", "daemonset", "daemonsets"), ("apps/v1", "DaemonSet")),
    **dict.fromkeys(("job", "jobs"), ("batch/v1", "Job")),
    **dict.fromkeys(("pytorchjob", "pytorchjobs"), ("kubeflow.org/v1", "PyTorchJob")),
}
_JOB_OF = "training.kubeflow.org/job-name"

Object = Mapping[str, Any]


def answered(words: Sequence[str], kubeconfig: Path) -> bool:
    """Whether what was asked of a kubelet is answered here. Raises CommandError with why it cannot be."""
    if verb(words) not in {"logs", "top", "port-forward", *ENTERING}:
        return False
    proxy = kubeconfig.with_name(CURL)
    with contextlib.closing(Kube.from_kubeconfig(str(kubeconfig))) as kube:
        try:
            if why := refusal(words, kube, proxy if proxy.exists() else None):
                raise CommandError(why)
            if verb(words) != "logs":
                return False
            for own, line in logs(words, kube, kubeconfig.with_name("effects")):
                print(line, file=sys.stdout if own else sys.stderr)
        except (ApiError, Unreachable) as error:
            raise CommandError(f"the API server did not answer: {error}") from error
    return True


def verb(words: Sequence[str]) -> str:
    """What kubectl is asked to do; empty where it is not said, or only its help is wanted."""
    if {"-h", "--help"} & set(words):
        return ""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _VALUED:
            skip = True
        elif not word.startswith("-"):
            return word
    return ""


def refusal(words: Sequence[str], kube: Kube, proxy: Path | None) -> str | None:
    """Why kubectl could not do it here, and what to do in its place; None where it can."""
    asked = verb(words)
    if asked in ENTERING:
        return (
            f"a rehearsed pod has no container to {ENTERING[asked]}: its image is simulated. `logs` shows what it"
            f" would print, `describe pod` what it waits for."
        )
    if asked == "port-forward":
        other = f"`curl -K {proxy} http://SERVICE.NAMESPACE:PORT/`" if proxy else "a cluster with a proxy"
        return f"ports of rehearsed pods cannot be forwarded, as no process listens there: {other} asks its Service."
    if asked == "top" and not _served(kube):
        return (
            "this cluster has no resource metrics: the stack does not install metrics-server, or it is not ready yet."
        )
    return None


def logs(words: Sequence[str], kube: Kube, effects: Path) -> Iterator[tuple[bool, str]]:
    """What the asked pods printed, line by line, or a sentence about why there is nothing. True: it is the pod's own.

    Raises CommandError for a pod that is not there.
    """
    options = _options([word for index, word in enumerate(words) if index != words.index("logs")])
    pods = list(_pods(options, kube))
    if not pods:
        raise CommandError(
            f"no pods of {bare(options.what or options.selector)} in namespace {bare(options.namespace)}."
        )
    if options.follow:
        yield False, "logs are not followed in a rehearsal: this is the output so far"
    for pod in pods:
        yield from _of_pod(pod, options, effects)


def _of_pod(pod: Object, options: argparse.Namespace, effects: Path) -> Iterator[tuple[bool, str]]:
    meta = pod["metadata"]
    every = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    wanted = options.container or options.named
    chosen = [each for each in every if each["name"] == wanted] if wanted else pod["spec"]["containers"]
    if wanted and not chosen:
        known = ", ".join(each["name"] for each in every)
        raise CommandError(f"pod {meta['name']} has no container {bare(wanted)}; it has {known}.")
    for container in chosen if options.all_containers or wanted else chosen[:1]:
        directory = effects / "pods" / f"{meta['namespace']}_{meta['name']}_{meta['uid'][:8]}" / container["name"]
        printed = _printed(directory, previous=options.previous)
        if printed:
            yield from ((True, line) for line in (printed[-options.tail :] if options.tail > 0 else printed))
        else:
            yield False, _silence(pod, container)


def _silence(pod: Object, container: Object) -> str:
    """Why a container printed nothing."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    state = next((each.get("state") or {} for each in statuses if each["name"] == container["name"]), {})
    name = f"container {container['name']} of pod {pod['metadata']['name']}"
    if "waiting" in state:
        return f"{name} is waiting to start: {state['waiting'].get('reason', 'no reason given')}"
    if not statuses:
        return f"{name} is not scheduled yet: `describe pod` says what it waits for"
    return f"{name} has no output: no process runs in it, its image {container['image']} is simulated"


def _printed(directory: Path, *, previous: bool) -> list[str]:
    """The lines of the newest run of a container, or of the one before."""
    runs = sorted((each for each in directory.glob("*/log")), key=lambda path: int(path.parent.name))
    if previous:
        runs = runs[:-1]
    return runs[-1].read_text(errors="replace").splitlines() if runs else []


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kubectl logs", add_help=False)
    parser.add_argument("what", nargs="?", default="")
    parser.add_argument("named", nargs="?", default="")
    parser.add_argument("-n", "--namespace", default="default")
    parser.add_argument("-c", "--container", default="")
    parser.add_argument("-l", "--selector", default="")
    parser.add_argument("-f", "--follow", action="store_true")
    parser.add_argument("-p", "--previous", action="store_true")
    parser.add_argument("--all-containers", action="store_true")
    parser.add_argument("--tail", type=int, default=-1)
    options, rest = parser.parse_known_args(words)
    if rest:
        print(f"ignored in a rehearsal: {bare(' '.join(rest))}", file=sys.stderr)
    return options


def _pods(options: argparse.Namespace, kube: Kube) -> Iterator[Object]:
    kind, slash, name = options.what.rpartition("/")
    if options.selector:
        yield from kube.list("v1", "Pod", options.namespace, options.selector)
    elif not slash or kind in ("po", "pod", "pods"):
        found = kube.get("v1", "Pod", name, options.namespace) if name else None
        if found is None:
            raise CommandError(
                f"there is no pod {bare(name) or '(none named)'} in namespace {bare(options.namespace)}."
            )
        yield found
    elif kind.partition(".")[0] in _OWNERS:
        version, owner = _OWNERS[kind.partition(".")[0]]
        found = kube.get(version, owner, name, options.namespace)
        if found is None:
            raise CommandError(f"there is no {owner} {bare(name)} in namespace {bare(options.namespace)}.")
        labels = (found["spec"].get("selector") or {}).get("matchLabels") or {_JOB_OF: name}
        yield from kube.list("v1", "Pod", options.namespace, ",".join(f"{k}={v}" for k, v in labels.items()))
    else:
        raise CommandError(
            f"logs of {bare(kind)} are not supported here: name a pod, or one of {', '.join(sorted(_OWNERS))}."
        )


def _served(kube: Kube) -> bool:
    """Whether the aggregated API for use of CPU and memory answers."""
    found = kube.get(*METRICS)
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)
