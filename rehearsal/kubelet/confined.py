"""What words of a pod a real program on this machine gets: none that names a file or a server outside the pod.

In life a container has a file system of its own. Here its program runs beside the user's files, with the user's rights,
so a path is either below one of the pod's mounts or not for the pod to say. Sources: kingpin, parser.go (`@file` reads
words from a file); kubernetes/kube-state-metrics, pkg/options (`--config` overrides every flag, `--kubeconfig` too);
kubernetes-sigs/prometheus-adapter, cmd/adapter (`--prometheus-auth-config` is a kubeconfig, which may name a program);
traefik, pkg/cli and pkg/provider/file; cert-manager, internal/apis/config; oauth2-proxy, pkg/apis/options.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from rehearsal.kubelet.program import Launch

_PATH = re.compile(r"(?:^|(?<=[\s,=;:@]))/[^\s,=;:]*")
_JOINED = re.compile(r"-\w*(?P<path>/.*)")
_SCHEME = re.compile(r"(?:^|[\s,=;@])(?P<name>[a-z][a-z0-9+.-]*):$", re.IGNORECASE)
_REMOTE = re.compile(r"https?|tcp|udp|grpc|s3|static|mlflow-artifacts|postgresql(\+\w+)?", re.IGNORECASE)
"""Schemes of addresses that are no files; what stands behind another is looked at as a path (file, unix, sqlite)."""
_SERVED = frozenset(
    ["enabled-admission", "web.route-prefix", "metrics-path", "proxy-prefix", "ping-path", "ready-path", "api-route"]
)
"""Flags whose paths are those of URLs."""
_NEVER = frozenset(
    ["kubeconfig", "master", "apiserver", "plugins-dir", "cache-dump-dir", "log_dir", "log_file", "log-dir", "log-file"]
) | {"prometheus-auth-config"}
"""Flags that name another server, another program, or a file to write, wherever that lies."""
_LEADS_ON = {
    "kube-state-metrics": ("config",),
    "cert-manager": ("config",),
    "oauth2-proxy": ("config", "alpha-config"),
    "traefik": ("configfile", "providers.file", "experimental"),
}
"""By program, flags of files that may name every other file, as long as nobody reads those as these words are read."""


def leading_out(launch: Launch, words: Sequence[str], program: str = "") -> Iterator[str]:
    """The words that name a file outside the pod's mounts, a server, or a file that may name others. Pure."""
    before = ""
    for word in words:
        name = word.lstrip("-").partition("=")[0].lower() if word.startswith("-") else ""
        says = name or before
        leads_on = any(name == each or name.startswith(f"{each}.") for each in _LEADS_ON.get(program, ()))
        never = name in _NEVER or name.endswith("-kubeconfig") or leads_on
        if never or word.startswith("@") or (says not in _SERVED and list(outside(launch, word))):
            yield word
        before = name if "=" not in word else ""


def outside(launch: Launch, text: str) -> Iterator[str]:
    """The paths in a text that lie below no mount of the container, and those that climb. Pure."""
    if ".." in re.split(r"[\s,=;:@/]", text):
        yield text
    if joined := _JOINED.fullmatch(text):
        text = joined["path"]
    for found in _PATH.finditer(text):
        scheme = _SCHEME.search(text[: found.start()])
        if scheme and _REMOTE.fullmatch(scheme["name"]):
            continue
        path = "/" + found.group().lstrip("/")
        if launch.mount_of(posixpath.normpath(path)) is None:
            yield found.group()
