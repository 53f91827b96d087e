"""nginx as a proxy: it reads its configuration from the pod's volumes and does what stands there, or says why not."""

import re

import urllib3

from rehearsal.cluster.pages import Answer, Request
from rehearsal.images.nginx_rules import Rules, answered, read
from rehearsal.images.nginx_syntax import ConfigError
from rehearsal.kubelet import volumes
from rehearsal.kubelet.answering import Answering, on_loopback
from rehearsal.kubelet.images import unknown
from rehearsal.kubelet.program import TIME_SCALE, Launch, Program, failed

SYNC_SECONDS = 60.0
_FOLLOWS = re.compile(r'^"\$@" &$.*^\s*kill -HUP ', re.DOTALL | re.MULTILINE)
ASK_SECONDS = 10.0


def run(launch: Launch) -> Program:
    """Serves what its configuration says; without `-c`, or as another program, it is an image that nobody knows.

    A shell before it is played where its script runs the words after a file's name, and sends SIGHUP when that changes.
    """
    words = launch.argv
    if "-c" not in words:
        return unknown(launch)
    followed = None
    if words[0] == "sh":
        script = files(launch).get(words[1])
        if script is None or not _FOLLOWS.search(script):
            return failed(launch, f"sh: 0: cannot open {words[1]}, or it is a script that is not played", 2)
        followed = words[2]
    path = words[words.index("-c") + 1]
    try:
        return _Serving(launch, path, read(files(launch), path), followed)
    except ConfigError as problem:
        return failed(launch, f"nginx: [emerg] {problem}")


class _Serving(Answering):
    """nginx with the rules of its last good configuration. Where a file is followed, the rules follow it, when the
    kubelet has brought what changed: files that cannot be read leave the rules as they were.

    Sources: nginx.org, "Controlling nginx", changing configuration; Kubernetes documentation, Secrets, "Mounted Secrets
    are updated automatically" (the kubelet's sync period, a minute).
    """

    def __init__(self, launch: Launch, path: str, rules: Rules, followed: str | None) -> None:
        self._path, self._rules, self._followed = path, rules, followed
        self._text = files(launch).get(followed) if followed else None
        super().__init__(launch, dict.fromkeys(rules.ports, self._answer))
        self._task = f"nginx {launch.pod_name} {launch.now}"
        if followed:
            launch.world.tasks.run(self._task, self._look)

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)
        super().stop()

    def _answer(self, request: Request) -> Answer:
        return answered(self._rules, request, lambda port, onward: _forwarded(self._launch, port, onward), self._judge)

    def _judge(self, url: str, authorization: str) -> int:
        """What a Service of the cluster says of a token; 502 where it says nothing."""
        try:
            with urllib3.ProxyManager(self._launch.world.proxy.url, retries=False, timeout=ASK_SECONDS) as pool:
                return pool.request("GET", url, headers={"Authorization": authorization}, redirect=False).status
        except urllib3.exceptions.HTTPError:
            return 502

    def _look(self) -> float:
        found = files(self._launch)
        text = found.get(self._followed or "")
        if text != self._text:
            self._text = text
            try:
                self._rules = read(found, self._path)
            except ConfigError as problem:
                self._launch.log(f"nginx: [emerg] {problem}")
        return SYNC_SECONDS / TIME_SCALE


def files(launch: Launch) -> dict[str, str]:
    """The files of ConfigMaps and Secrets that the container sees, by their paths."""
    by_name = {volume["name"]: volume for volume in launch.pod["spec"].get("volumes") or []}
    found: dict[str, str] = {}
    for mount in launch.mounts:
        content = volumes.files(by_name.get(mount.name) or {}, launch.namespace, launch.world.find) or {}
        for name, held in content.items():
            if mount.sub_path in ("", name):
                found[mount.path if mount.sub_path else f"{mount.path.rstrip('/')}/{name}"] = held.decode()
    return found


def _forwarded(launch: Launch, port: int, request: Request) -> Answer | None:
    handler = launch.world.backends.handler(launch.namespace, on_loopback(launch.pod_name), port)
    return handler(request) if handler else None
