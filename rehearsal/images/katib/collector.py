"""The collector beside a trial's first rank: reads its log, ends it early, and reports what it came to.

Source: cmd/metricscollector/v1beta1/file-metricscollector/main.go, pkg/metricscollector/v1beta1/common/pns.go. It sees
the other container's processes, as they share a namespace, and knows by the file PID.pid how the main one ended.
"""

import posixpath
from collections.abc import Sequence

from rehearsal.images.katib.asking import RefusedError, report, set_stopped
from rehearsal.images.katib.observed import StopRule, Value, reported, stops, values
from rehearsal.kubelet.program import Deaf, Exit, Launch, Local

LOOK_SECONDS = 0.25
COMPLETED, STOPPED, FAILED = "completed", "early-stopped", "failed"
"""How a main process ended; the last one has no file in life, which is how it is known there."""
MARK = "main.pid"
"""Where the shell of the main container says so; its number is not known here."""


class Collector(Deaf, Local):
    """Looks at the log time and again until the main process has ended, and then works a moment."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        options = parse(launch.argv)
        self._trial, self._database = options["-t"][-1], options["-s-db"][-1]
        self._metrics, self._path = options["-m"][-1].split(";"), options["-path"][-1]
        self._formats = options["-f"][-1].split(";") if "-f" in options else []
        self._rules = [StopRule.parse(each) for each in options.get("-stop-rule", ())]
        self._lowest = options["-o-type"][-1] == "minimize"
        self._stopping = options.get("-s-earlystop", [""])[-1]
        self._result: Exit | None = None
        self._task = f"collector {launch.namespace}/{launch.pod_name} {launch.now}"
        launch.world.tasks.run(self._task, self._look)

    def _look(self) -> float | None:
        log, mark = self._read(self._path), self._read(posixpath.join(posixpath.dirname(self._path), MARK))
        found = values((log or "").splitlines(), self._metrics, self._formats)
        if not mark and self._rules and all(stops(rule, found, self._lowest) for rule in self._rules):
            self._launch.log("Training container is early stopped")
            self._write_mark(STOPPED)
            return LOOK_SECONDS
        if not mark:
            return LOOK_SECONDS
        if mark == FAILED:
            self._end(Exit(255, "Failed to wait for worker container: unable to find marker"))
        else:
            self._report(found, mark)
        return None

    def _report(self, found: Sequence[Value], mark: str) -> None:
        proxy, log = self._launch.world.proxy.url, reported(found, self._metrics[0])
        try:
            report(proxy, self._database, self._trial, log)
            if mark == STOPPED:
                set_stopped(proxy, self._stopping, self._trial)
        except RefusedError as error:
            self._end(Exit(255, f"Failed to Report logs: {error}"))
            return
        self._launch.log(f"Metrics reported: {log}")
        self._end(Exit(0))

    def _end(self, result: Exit) -> None:
        if result.message:
            self._launch.log(result.message)
        self._result = result
        self._launch.wake()

    def _read(self, path: str) -> str | None:
        mount = self._launch.mount_of(path)
        file = self._launch.world.contents.real(mount.volume, mount.inside(path) or "") if mount else None
        return file.read_text().strip() if file is not None and file.exists() else None

    def _write_mark(self, word: str) -> None:
        """Ends the main process, which finds the word when it looks."""
        path = posixpath.join(posixpath.dirname(self._path), MARK)
        mount = self._launch.mount_of(path)
        file = self._launch.world.contents.real(mount.volume, mount.inside(path) or "") if mount else None
        if file is not None:
            file.write_text(word)

    def exited(self, now: float) -> Exit | None:  # noqa: ARG002 - the interface
        return self._result

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)


def parse(argv: Sequence[str]) -> dict[str, list[str]]:
    """Options of a command line of Go's flag package: `-name value`, some several times. Pure."""
    found: dict[str, list[str]] = {}
    for name, value in zip(argv[::2], argv[1::2], strict=False):
        found.setdefault(name, []).append(value)
    return found
