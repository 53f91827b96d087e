"""One rehearsal as the commands use it: its site, its account, its clusters, its engine."""

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import boto3
import urllib3
from rich.console import Console

from rehearsal import places, supervisor, toolchain
from rehearsal.command.errors import CommandError
from rehearsal.command.meter import Meter
from rehearsal.engine import home, seeds, stackfile
from rehearsal.engine.locks import locks
from rehearsal.engine.progress import Lines
from rehearsal.engine.run import Engine
from rehearsal.engine.view import ClusterView, view
from rehearsal.engine.workspace import open_workspace
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.processes import StartError

Inventory = Mapping[str, list[str]]
"""Ids of what an account holds, by kind, such as `{"ec2:vpc": ["vpc-…"]}`."""


@dataclass
class Session:
    """A site that runs and the engine of one stack on it."""

    site: supervisor.Site
    engine: Engine
    replaced: tuple[str, ...]
    tools: toolchain.Tools
    console: Console
    meter: Meter

    @property
    def directory(self) -> places.SiteDirectory:
        return self.site.directory

    @property
    def baseline(self) -> Path:
        """The inventory from before the first `up`."""
        return self.directory.path / "baseline.json"

    def lines(self, *, steps: bool = True) -> Lines:
        return Lines(self.console, steps=steps)

    def inventory(self) -> Inventory:
        """What the account holds now."""
        return {kind: sorted(ids) for kind, ids in self.control("GET", "inventory").items() if ids}

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """One control route of the account; raises CommandError with what it answers to an order it cannot take."""
        url, data = f"{self.site.cloud_url}/rehearsal/{path}", None if body is None else json.dumps(body)
        answer = urllib3.request(method, url, body=data, timeout=30.0, retries=False)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise CommandError(f"the account refuses {path}: {answer.data.decode(errors='replace')}")
        return json.loads(answer.data)

    def seed(self, text: str) -> list[str]:
        """Give the account what the stack file says it has, and remember what it holds before `up`.

        Returns what is new there, in words: objects by their prefix, and capacity blocks, which follow the calendar.
        """
        region = seeds.region(text)
        env = self.engine.env
        s3 = boto3.client(
            "s3",
            region_name=region,
            endpoint_url=self.site.cloud_url,
            aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        )
        made = Counter(
            address.rpartition("/")[0] for address in seeds.sow(s3, stackfile.external_objects(text), region)
        )
        blocks = seeds.blocks(text)
        for block in blocks:
            self.control("PUT", f"reservations/{region}/{block.id}", block.order(datetime.now(UTC)))
        if not self.baseline.exists():
            places.write_json(self.baseline, self.inventory())
        objects = [f"{count} objects in {prefix}" for prefix, count in made.items()]
        return objects + [f"capacity block {each.id} of {each.count} {each.instance_type}" for each in blocks]

    def leftovers(self) -> dict[str, list[str]]:
        """What the account holds now and did not before `up`."""
        before: Any = places.read_json(self.baseline) or {}
        difference = {kind: sorted(set(ids) - set(before.get(kind, ()))) for kind, ids in self.inventory().items()}
        return {kind: ids for kind, ids in difference.items() if ids}

    def missing(self) -> dict[str, list[str]]:
        """What the account held before `up` and does not now."""
        now, before = self.inventory(), places.read_json(self.baseline) or {}
        difference = {kind: sorted(set(ids) - set(now.get(kind, ()))) for kind, ids in before.items()}
        return {kind: ids for kind, ids in difference.items() if ids}

    def views(self) -> list[ClusterView]:
        """What runs in each cluster whose API server answers."""
        return list(_views(self.directory))

    def locked_by(self) -> int | None:
        """The pid of an engine that works on the stack now; a lock left by a dead one does not count."""
        held = [lock.pid for lock in locks(self.directory.backend, self.engine.stack) if lock.held()]
        return held[0] if held else None

    def stop(self) -> None:
        """End every process of the site and forget what it held."""
        supervisor.stop(self.directory.path)
        shutil.rmtree(self.directory.path, ignore_errors=True)


def kubeconfigs(directory: places.SiteDirectory) -> dict[str, Path]:
    """The administrator's kubeconfig of each cluster of a site, by `<region>/<name>`."""
    found = sorted(directory.clusters.glob("*/*/kubeconfig"))
    return {f"{path.parent.parent.name}/{path.parent.name}": path for path in found}


def _views(directory: places.SiteDirectory) -> Iterator[ClusterView]:
    for name, path in kubeconfigs(directory).items():
        with contextlib.suppress(Unreachable, ApiError), contextlib.closing(Kube.from_kubeconfig(str(path))) as kube:
            yield view(name.partition("/")[2], kube)


def open_session(name: str, root: Path, stack: str, console: Console, meter: Meter) -> Session:
    """Start the site `name` if it does not run (clean, if it died), and open `stack` of the program at `root` on it.

    Raises CommandError with one sentence if a tool, the site or the stack file stands in the way.
    """
    directory = places.site(name)
    try:
        with meter.phase("toolchain"):
            tools = toolchain.ensure(report=lambda line: console.print(f"  {line}", highlight=False))
        with meter.phase("site"):
            site = _start(directory, console)
            meter.watch(site.supervisor.pid)
    except (toolchain.BuildError, StartError) as error:
        raise CommandError(str(error)) from error
    prepared = home.prepare(directory, tools["pulumi"], site.cloud_url, tuple(tools.directories()))
    try:
        workspace = open_workspace(directory, prepared, root, stack)
    except stackfile.StackFileError as error:
        raise CommandError(str(error)) from error
    return Session(site, workspace.engine, workspace.replaced, tools, console, meter)


def enter(env: Mapping[str, str]) -> None:
    """Let this process see the world as the engine does: credential commands of kubeconfigs and boto3 inherit it."""
    os.environ.clear()
    os.environ.update(env)


def _start(directory: places.SiteDirectory, console: Console) -> supervisor.Site:
    now = supervisor.status(directory.path)
    if now.state is supervisor.State.RUNNING and now.site is not None:
        if _answers(now.site):
            console.print(f"  {directory.path.name}: {now.reason}", highlight=False)
            return now.site
        forget(directory, "its AWS account does not answer", console)
    elif now.state is supervisor.State.DEAD:
        forget(directory, now.reason, console)
    elif now.state is supervisor.State.ABSENT and directory.path.exists():
        shutil.rmtree(directory.path)
    return supervisor.start(directory.path)


def forget(directory: places.SiteDirectory, reason: str, console: Console) -> None:
    """Remove what a site that died left, and say why: its account lived in memory, so its state describes nothing."""
    console.print(
        f"  {reason}; what it held is gone with it, starting clean", style="yellow", highlight=False, soft_wrap=True
    )
    supervisor.stop(directory.path)
    shutil.rmtree(directory.path, ignore_errors=True)


def _answers(site: supervisor.Site) -> bool:
    try:
        answer = urllib3.request("GET", f"{site.cloud_url}/rehearsal/health", timeout=10.0, retries=False)
    except urllib3.exceptions.HTTPError:
        return False
    if answer.status != 200:
        return False
    return all(_cluster_answers(path) for path in kubeconfigs(site.directory).values())


def _cluster_answers(kubeconfig: Path) -> bool:
    """Whether an API server answers at all; what it answers is not of interest here."""
    try:
        with contextlib.closing(Kube.from_kubeconfig(str(kubeconfig))) as kube:
            kube.call("GET", "/readyz", timeout=10.0)
    except Unreachable:
        return False
    except (ApiError, ValueError):
        return True
    return True
