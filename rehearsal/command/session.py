"""One rehearsal as the commands use it: its site, its account, its clusters, its engine."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from rich.console import Console

from rehearsal import keys, particulars, places, sites, toolchain, virtualenv
from rehearsal.command import alarm, answers
from rehearsal.command.contents import absent, kubeconfigs, shown, views, watched
from rehearsal.command.errors import CommandError, StateLostError
from rehearsal.command.meter import Meter
from rehearsal.engine import home, installed, seeds, stackfile, stored
from rehearsal.engine.locks import locks
from rehearsal.engine.progress import Lines
from rehearsal.engine.run import Engine, Watcher
from rehearsal.engine.table import say
from rehearsal.engine.view import ClusterView
from rehearsal.engine.waits import waits
from rehearsal.engine.watching import Watching
from rehearsal.engine.workspace import open_workspace
from rehearsal.processes import StartError
from rehearsal.racks import keeper as racks
from rehearsal.toolchain import screen

STANDS_IN_THE_WAY = (
    toolchain.BuildError,
    StartError,
    stackfile.StackFileError,
    particulars.ParticularsError,
    installed.NotInstalledError,
    places.PlaceError,
)
"""What keeps a site or a stack on it from being opened, with one sentence for the person."""

Inventory = Mapping[str, list[str]]
"""Ids of what an account holds, by kind, such as `{"ec2:vpc": ["vpc-…"]}`."""


@dataclass
class Session:
    """A site that runs and the engine of one stack on it."""

    site: sites.Site
    engine: Engine
    replaced: tuple[str, ...]
    tools: toolchain.Tools
    program: particulars.Particulars
    console: Console
    meter: Meter

    @property
    def directory(self) -> places.SiteDirectory:
        return self.site.directory

    @property
    def baseline(self) -> Path:
        """The inventory from before the first `up`."""
        return self.directory.path / "baseline.json"

    def lines(self, *, steps: bool = True) -> Watcher:
        """Tells what the engine does, and ends it when a part of the site died or the disk is full."""
        return self.guard(Lines(self.console, steps=steps, waits=lambda: waits(self.views())))

    def guard(self, then: Watcher) -> alarm.Watch:
        """A look at the site once a second, which raises EngineError."""
        return alarm.Watch(self.directory.path, then)

    def inventory(self) -> Inventory:
        """What the account holds now."""
        return {kind: sorted(ids) for kind, ids in self.control("GET", "inventory").items() if ids}

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """One control route of the account; raises CommandError with what it answers to an order it cannot take."""
        answer = self.site.account.ask(method, path, body, timeout=30.0)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise CommandError(f"the account refuses {path}: {answer.data.decode(errors='replace')}")
        return json.loads(answer.data)

    def seed(self, text: str, *, hosts: bool = True) -> list[str]:
        """Give the account what the program assumes by its stack file, and remember what it holds before `up`; have the
        racked `hosts` of the file stand there, too.

        Returns what is new there, in words: objects by their prefix, and reservations, which follow the calendar.
        """
        content = self.program.account(text)
        s3 = self.site.account.client("s3", content.region)
        for bucket in content.buckets:
            self.control("PUT", f"buckets/{content.region}/{bucket.name}", bucket.order)
        strangers = {bucket.name: bucket.owner for bucket in content.buckets if bucket.owner}
        made = Counter(
            address.rpartition("/")[0] for address in seeds.sow(s3, content.objects, content.region, strangers)
        )
        for each in content.reservations:
            self.control("PUT", f"reservations/{content.region}/{each.id}", each.order)
        self.control("PUT", "people", {"arns": list(content.people)})
        self.control("PUT", f"secrets/{content.region}", dict(content.secrets))
        if content.zones:
            self.control("PUT", "zones", dict(content.zones))
        if content.certificates:
            named = {arn: list(names) for arn, names in content.certificates.items()}
            self.control("PUT", f"certificates/{content.region}", named)
        self.control("PUT", f"images/{content.region}", dict(content.images))
        if content.parameters:
            self.control("PUT", f"parameters/{content.region}", dict(content.parameters))
        self.control("PUT", f"granted/{content.region}", content.instances)
        self.control("PUT", "caller", {"address": content.caller})
        if hosts:
            self._rack(content)
        if not self.baseline.exists():
            places.write_json(self.baseline, self.inventory())
        if content.parameters:
            self.keep({"ssm:parameter": [each.partition(":")[0] for each in content.parameters]})
        objects = [f"{count} objects in {prefix}" for prefix, count in made.items()]
        return objects + [each.words for each in content.reservations]

    def _rack(self, content: particulars.Content) -> None:
        """Let the hosts of the stack file stand in the site's hall. Raises CommandError with what the machine lacks."""
        if content.machines or racks.ordered(self.directory):
            with self.meter.phase("hosts"):
                try:
                    racks.place(self.directory, content.machines, content.files)
                except StartError as error:
                    raise CommandError(str(error)) from error

    def leftovers(self) -> dict[str, list[str]]:
        """What the account holds now and did not before `up`."""
        return _beyond(self.inventory(), places.read_json(self.baseline) or {})

    def keep(self, things: Mapping[str, Iterable[str]]) -> None:
        """From now on the account is to hold these too, when everything else of the stack has gone: ids by kind."""
        before: Any = places.read_json(self.baseline) or {}
        for kind, ids in things.items():
            before[kind] = sorted({*before.get(kind, ()), *ids})
        places.write_json(self.baseline, before)

    def missing(self) -> dict[str, list[str]]:
        """What the account held before `up` and does not now."""
        return _beyond(places.read_json(self.baseline) or {}, self.inventory())

    def views(self) -> list[ClusterView]:
        """What runs in each cluster, beside what the stacks of the site declare of it."""
        return views(self.directory, self.program)

    def gone(self) -> list[str]:
        """What the stacks of the site declare of the account and the account does not have."""
        return absent(self.site, self.program, self.engine.stack)

    def watched(self) -> list[Watching]:
        """What watches each cluster, and the alerts that fire."""
        return watched(self.directory)

    def shown(self, *, now: bool = False) -> list[particulars.Shown]:
        """What each cluster has to show; with `now` also what would come in hours."""
        with self.meter.phase("what it shows"):
            return shown(self.directory, self.program, self.site.account, now=now)

    def locked_by(self) -> int | None:
        """The pid of an engine that works on the stack now; a lock left by a dead one does not count."""
        held = [lock.pid for lock in locks(self.directory.backend, self.engine.stack) if lock.held()]
        return held[0] if held else None

    def stop(self) -> None:
        """End every process of the site and forget what it held."""
        sites.stop(self.directory.path)
        shutil.rmtree(self.directory.path, ignore_errors=True)


def _beyond(one: Inventory, other: Inventory) -> dict[str, list[str]]:
    """What the one inventory has and the other has not."""
    difference = {kind: sorted(set(ids) - set(other.get(kind, ()))) for kind, ids in one.items()}
    return {kind: ids for kind, ids in difference.items() if ids}


def open_session(
    name: str, root: Path, stack: str, console: Console, meter: Meter, *, tree: Path | None = None
) -> Session:
    """Start the site `name` if it does not run (clean, if it died), and open `stack` of the program at `root` on it.

    `tree` holds another revision of the program, which then is run in its place; the site and what is particular to
    the program stay those of `root`. Raises CommandError with one sentence if a tool, the site, the stack file or the
    package `rehearsed` stands in the way.
    """
    directory = places.site(name, root)
    try:
        program = particulars.load(root)
        environment = virtualenv.directory(root, stackfile.runtime_options(root))
        official = installed.official(os.environ.get(installed.VARIABLE, ""), home.wanted(environment))
        with meter.phase("toolchain"):
            tools = toolchain.ensure(toolchain.BASE, screen.on(console, "  "))
        with meter.phase("site"):
            site = _start(directory, root, console)
            meter.watch(site.supervisor.pid)
    except keys.KeysError as error:
        raise StateLostError(str(error)) from error
    except STANDS_IN_THE_WAY as error:
        raise CommandError(str(error)) from error
    try:
        stored.check(directory.backend, program.typed("recover", stack, "restore"), program.typed("down", stack))
        alarm.keep_reserve(directory.path)
        prepared = home.prepare(
            directory,
            tools["pulumi"],
            site.cloud_url,
            tuple(tools.directories()),
            environment=environment,
            variables=particulars.upstream(root),
            official=official,
        )
        workspace = open_workspace(directory, prepared, tree or root, stack)
    except stored.StateError as error:
        raise StateLostError(str(error)) from error
    except stackfile.StackFileError as error:
        raise CommandError(str(error)) from error
    return Session(site, workspace.engine, workspace.replaced, tools, program, console, meter)


def enter(env: Mapping[str, str]) -> None:
    """Let this process see the world as the engine does: credential commands of kubeconfigs and boto3 inherit it."""
    os.environ.clear()
    os.environ.update(env)


def _start(directory: places.SiteDirectory, root: Path, console: Console) -> sites.Site:
    now = sites.status(directory.path)
    if now.state is sites.State.RUNNING and now.site is not None:
        trouble = answers.trouble(now.site, kubeconfigs(directory))
        if not trouble:
            console.print(f"  {directory.path.name}: {now.reason}", highlight=False)
            return now.site
        if not answers.given_up(console, trouble, directory.path.name):
            raise CommandError(trouble)
        forget(directory, "given up", console)
    elif now.state is sites.State.DEAD:
        forget(directory, now.reason, console)
    elif now.state is sites.State.ABSENT and directory.path.exists():
        shutil.rmtree(directory.path)
    return sites.start(directory.path, root)


def forget(directory: places.SiteDirectory, reason: str, console: Console) -> None:
    """Remove what a site that died left, and say why: its account lived in memory, so its state describes nothing."""
    say(console, f"  {reason}; its contents are lost, starting clean", "yellow")
    sites.stop(directory.path)
    shutil.rmtree(directory.path, ignore_errors=True)
