"""What a pod may ask of a real program on this machine: nothing of a file, a server or another program outside the pod.

In life a container has a file system and a network of its own. Here the program runs beside the user's files, with the
user's rights, so words that lead out of the pod end the container as a word does that leads to nothing in its image.
Sources: kubernetes/kubectl, pkg/cmd (flags that name files) and k8s.io/cli-runtime, pkg/genericclioptions,
config_flags.go (flags that name servers and people); volcano-sh/volcano, cmd/*/app/options; controller-runtime,
pkg/client/config.
"""

import posixpath
from collections.abc import Callable, Sequence

from rehearsal.kubelet.confined import leading_out
from rehearsal.kubelet.program import Launch, Program, failed

VERBS = frozenset(
    [
        "annotate",
        "api-resources",
        "api-versions",
        "apply",
        "auth",
        "autoscale",
        "cordon",
        "create",
        "delete",
        "describe",
        "drain",
        "explain",
        "expose",
        "get",
        "label",
        "logs",
        "patch",
        "replace",
        "rollout",
        "scale",
        "set",
        "taint",
        "top",
        "uncordon",
        "version",
        "wait",
    ]
)
"""What kubectl may be asked: nothing that starts another program (edit, diff, plugins), listens or enters pods."""

_WHERE_AND_WHO = frozenset(
    [
        "kubeconfig",
        "server",
        "token",
        "as",
        "as-group",
        "as-uid",
        "as-user-extra",
        "certificate-authority",
        "client-certificate",
        "client-key",
        "tls-server-name",
        "insecure-skip-tls-verify",
        "username",
        "password",
        "user",
        "cluster",
        "context",
        "cache-dir",
        "kuberc",
        "profile-output",
        "editor",
    ]
)
_FILES = frozenset(["filename", "from-file", "from-env-file", "patch-file", "kustomize", "cert", "key", "template"])
_SHORT = {"s": "server", "f": "filename", "k": "kustomize", "o": "output"}
_SHORT_VALUES = frozenset("ncplvL")
_OUTPUT_FILES = ("jsonpath-file=", "go-template-file=", "custom-columns-file=", "templatefile=")
_VALUED = frozenset(("-n", "--namespace", "-v", "--v", "--request-timeout"))
"""Flags that stand before the verb with their value as the next word."""


class OutsideError(Exception):
    """A word that leads out of the pod; the text is what the program says in life, or that it is not rehearsed."""


def kubectl(launch: Launch, argv: Sequence[str]) -> list[str]:
    """kubectl's words, with clean paths. Raises OutsideError."""
    given: list[str] = []
    words = iter(argv)
    verb = False
    for word in words:
        if word == "--":
            raise OutsideError("error: `--` and words behind it are not rehearsed")
        name, joined, value = _flag(word)
        if name is None:
            if not verb and not (given and given[-1] in _VALUED):
                if word not in VERBS:
                    raise OutsideError(f'error: unknown command "{word}" for "kubectl"')
                verb = True
            given.append(word)
            continue
        if name in _WHERE_AND_WHO:
            raise OutsideError(f"error: --{name} is not rehearsed: a pod asks its own cluster, as itself")
        if name not in _FILES and name != "output":
            given.append(word)
            continue
        if value is None:
            given.append(word)
            value = next(words, "")
            given.append(_checked(launch, name, value))
        else:
            given.append(joined + _checked(launch, name, value))
    return given


def _flag(word: str) -> tuple[str | None, str, str | None]:
    """The long name of a flag, what stands before its value, and the value; no name for words that are no flag."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return name, f"--{name}=", value if equals else None
    if not word.startswith("-") or word == "-":
        return None, "", None
    for at, letter in enumerate(word[1:], 1):
        if letter in _SHORT:
            rest = word[at + 1 :].removeprefix("=")
            return _SHORT[letter], word[: at + 1], rest or None
        if letter in _SHORT_VALUES:
            break
    return "", word, None


def _checked(launch: Launch, name: str, value: str) -> str:
    """A flag's value that names no file but one of the pod's. Raises OutsideError."""
    if name == "output":
        if value.startswith(_OUTPUT_FILES):
            raise OutsideError(f"error: -o {value.partition('=')[0]} is not rehearsed")
        return value
    if name == "template" or value == "-":
        return value
    key, equals, path = value.rpartition("=") if name == "from-file" else ("", "", value)
    return key + equals + ",".join(_file(launch, each) for each in path.split(","))


def _file(launch: Launch, path: str) -> str:
    if path.startswith(("https://", "http://")):
        return path
    clean = posixpath.normpath(path)
    if not path.startswith("/") or launch.mount_of(clean) is None:
        raise OutsideError(f'error: the path "{path}" does not exist')
    return clean


def operator(run: Callable[[Launch], Program]) -> Callable[[Launch], Program]:
    """An operator whose words lead nowhere out of its pod; one that has others ends at once and says which."""

    def confined(launch: Launch) -> Program:
        argv = launch.argv
        given = argv[1:] if argv and argv[0].startswith("/") else argv
        if word := next(leading_out(launch, given), None):
            return failed(launch, f"{word}: no such file, or not for a pod to say where this is rehearsed")
        return run(launch)

    return confined
