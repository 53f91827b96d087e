"""Hours of a cluster in a real Prometheus: what exporters said, and what the recording rules made of it."""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.monitoring.exporters import Exporters

EVERY_S = 60
_OWN_NAME = re.compile(r"gpucluster:[a-z0-9_]+:[a-z0-9_]+")
_PATIENCE_S = 30


@contextmanager
def prometheus(
    tools: Mapping[str, Path],
    folder: Path,
    port: int,
    said: Exporters,
    rules: Sequence[Mapping[str, Any]],
    hours: float,
) -> Iterator[tuple[str, float]]:
    """Its address, and the Unix time at which the hours end. `rules` are recording rules as a PrometheusRule has them.

    promtool writes blocks of rules from what a server already knows, so that rules on recorded names come in later
    rounds than those that record them.
    """
    end = time.time() // EVERY_S * EVERY_S
    start = end - hours * 3600
    (folder / "said.om").write_text("".join(said.text(start, end, EVERY_S)), encoding="utf-8")
    data = folder / "data"
    _run(tools["promtool"], "tsdb", "create-blocks-from", "openmetrics", folder / "said.om", data)
    for index, level in enumerate(_levels(rules)):
        file = folder / f"rules-{index}.json"
        file.write_text(json.dumps({"groups": [{"name": f"level-{index}", "rules": level}]}), encoding="utf-8")
        with _served(tools["prometheus"], data, port) as url:
            # promtool evaluates each group at its own second of the interval: a level begins when the one below has.
            begun = start + index * EVERY_S
            stretch = (f"--start={begun:.0f}", f"--end={end:.0f}", f"--eval-interval={EVERY_S}s")
            _run(
                tools["promtool"],
                *("tsdb", "create-blocks-from", "rules", *stretch, f"--url={url}", f"--output-dir={data}", file),
            )
    with _served(tools["prometheus"], data, port) as url:
        yield url, end


def _levels(rules: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The rules in rounds: each reads only what exporters say and what earlier rounds record."""
    left, known, rounds = list(rules), set[str](), []
    names = {str(rule["record"]) for rule in rules}
    while left:
        ready = [rule for rule in left if not (set(_OWN_NAME.findall(rule["expr"])) & names) - known - {rule["record"]}]
        assert ready, f"rules that wait for each other: {left}"
        rounds.append(ready)
        left = [rule for rule in left if rule not in ready]
        known = names - {str(rule["record"]) for rule in left}
    return rounds


def _run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@contextmanager
def _served(program: Path, data: Path, port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    options = (f"--storage.tsdb.path={data}", f"--web.listen-address=127.0.0.1:{port}", "--log.level=error")
    kept = ("--config.file=/dev/null", "--storage.tsdb.retention.time=30d")
    process = subprocess.Popen([str(program), *kept, *options], stderr=subprocess.DEVNULL)
    try:
        _until_ready(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE_S)


def _until_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with urlopen(f"{url}/-/ready", timeout=5):  # noqa: S310 - our own server
                return
        except (URLError, ConnectionError):
            assert process.poll() is None, "Prometheus ended before it was ready"
            assert time.monotonic() < deadline, "Prometheus was not ready in time"
            time.sleep(0.05)
