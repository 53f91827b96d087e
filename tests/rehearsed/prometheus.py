"""A real Prometheus, and questions to it."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import urllib3
import yaml

from rehearsal import places, toolchain
from rehearsal.processes import Process

Samples = list[tuple[dict[str, str], float]]
Asked = Callable[[str], Samples]


def answer(address: str, query: str) -> Samples:
    """What the Prometheus at `address` (host:port) answers; nothing while it does not."""
    url = f"http://{address}/api/v1/query"
    try:
        said = urllib3.request("GET", url, fields={"query": query}, timeout=5.0, retries=False)
    except urllib3.exceptions.HTTPError:
        return []
    found = said.json()["data"]["result"] if said.status == 200 else []
    return [(each["metric"], float(each["value"][1])) for each in found]


@contextlib.contextmanager
def prometheus(directory: Path, config: Mapping[str, Any]) -> Iterator[tuple[Asked, Process]]:
    """Asks a Prometheus with this configuration."""
    binary = toolchain.ensure(["prometheus"])["prometheus"]
    file = directory / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    address = f"{places.LOOPBACK}:{places.free_port()}"
    flags = [f"--config.file={file}", f"--storage.tsdb.path={directory / 'data'}", f"--web.listen-address={address}"]
    process = Process("prometheus", [binary, *flags], {}, log=directory / "log", cwd=directory)
    process.start()
    try:
        yield lambda query: answer(address, query), process
    finally:
        process.stop()
