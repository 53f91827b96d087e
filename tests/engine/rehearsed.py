"""A site with one stack of a copied tree: what a person does with it, and what there is to look at afterwards."""

import argparse
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import urllib3
from rich.console import Console

from rehearsal import places, sites
from rehearsal.cluster.layout import PROXY
from rehearsal.cluster.proxy import UNREACHED, admitting
from rehearsal.command.contents import kubeconfigs
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, open_session
from rehearsal.engine import declared
from rehearsal.engine.events import short_type
from rehearsal.engine.home import Home
from rehearsal.engine.run import Engine, Outcome
from rehearsal.engine.stackfile import stack_file
from rehearsal.engine.view import ClusterView, view
from rehearsal.engine.workspace import open_workspace
from rehearsal.images.table import known
from rehearsal.kube.client import Kube
from rehearsal.particulars import region

from .trees import ROOT, Tree

PATIENCE_SECONDS = 180.0
LOOK_SECONDS, LOOK_SHARE = 0.25, 3
"""How long to wait between looks, and that looking takes a third of the time at most: others need the processor."""
COMMAND_SECONDS = 900.0
SAVED_AT_ITS_END = {"PULUMI_EXPERIMENTAL": "true", "PULUMI_SKIP_CHECKPOINTS": "true"}
"""For the CLI: a run writes its state once. Written with each step, it takes two thirds of an engine's time."""

Operation = tuple[str, str, str]
"""(operation, type as people say it, name), such as `("update", "aws:eks:NodeGroup", "pool-training-nodes")`."""

running: list["Rehearsed"] = []
"""The sites of this test run, whose logs a failure is to name."""


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS, left: Sequence[str] = ()) -> Any:
    """The first true value of `condition`; fails the test, saying for what it waited, and what is `left` by then."""
    began = time.monotonic()
    deadline = began + seconds
    while not (value := condition()):
        ended = time.monotonic()
        if ended > deadline:
            pytest.fail("; ".join([f"waited {seconds:.0f} s for {what}", *left]))
        time.sleep(max(LOOK_SECONDS, (LOOK_SHARE - 1) * (ended - began)))
        began = time.monotonic()
    return value


def operations(outcome: Outcome) -> list[Operation]:
    """What a run that succeeded changed, sorted; fails the test with the engine's words if it did not succeed."""
    assert outcome.status == 0, outcome.explain()
    return sorted((op, short_type(token), name) for op, token, name in outcome.record.operations())


def paths(outcome: Outcome, name: str) -> tuple[str, ...]:
    """The properties in which the resource `name` differs, as the engine's diff names them."""
    steps = (step for step in outcome.record.steps if step.urn.name == name and step.paths)
    return next((step.paths for step in steps), ())


def replaced(token: str, name: str) -> list[Operation]:
    """The three operations in which the engine tells the replacement of one resource."""
    return [(op, token, name) for op in ("create-replacement", "delete-replaced", "replace")]


@dataclass
class Rehearsed:
    """A site that runs, and one stack of a tree on it."""

    tree: Tree
    session: Session
    stack: str
    _applied: str = ""
    _kubes: dict[str, Kube] = field(default_factory=dict)

    @property
    def directory(self) -> places.SiteDirectory:
        return self.session.directory

    @property
    def engine(self) -> Engine:
        """The engine for the stack file as it is now."""
        text = stack_file(self.tree.root, self.stack).read_text()
        if text != self._applied:
            engine = self.session.engine
            home = Home(engine.cli, engine.env)
            self.session.engine = open_workspace(self.directory, home, self.tree.root, self.stack).engine
            self.session.seed(text)
            self._applied = text
        return self.session.engine

    def up(self, *flags: str) -> Outcome:
        return self.engine.up(*flags)

    def preview(self, *flags: str) -> Outcome:
        return self.engine.preview(*flags)

    def refresh(self, *flags: str) -> Outcome:
        return self.engine.refresh(*flags)

    def destroy(self, *flags: str) -> Outcome:
        return self.engine.destroy(*flags)

    def assert_quiet(self) -> None:
        """A preview finds nothing to do."""
        outcome = self.preview("--expect-no-changes")
        assert operations(outcome) == []

    def apply(self) -> list[Operation]:
        """Preview and apply; the operations, which must be the same in both."""
        previewed = operations(self.preview())
        done = operations(self.up())
        assert done == previewed, "what was done is not what the preview showed"
        return done

    @property
    def region(self) -> str:
        return region(stack_file(self.tree.root, self.stack).read_text())

    def aws(self, service: str) -> Any:
        """A boto3 client of the site's account, in the stack's region."""
        return self.session.site.account.client(service, self.region)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig of the stack's cluster."""
        known = {label: path for label, path in kubeconfigs(self.directory).items() if label.endswith(f"-{self.stack}")}
        assert len(known) == 1, f"clusters of the site: {list(kubeconfigs(self.directory))}"
        return next(iter(known.values()))

    @property
    def kube(self) -> Kube:
        """The cluster's API, as its administrator; one client for each cluster that there was."""
        path = self.kubeconfig
        text = path.read_text()
        if text not in self._kubes:
            self._kubes[text] = Kube.from_kubeconfig(str(path))
        return self._kubes[text]

    def close(self) -> None:
        """Give back the connections."""
        for each in self._kubes.values():
            each.close()

    def kubectl(self, *words: str) -> str:
        """What kubectl prints, as the cluster's administrator; fails the test with its error."""
        argv = [str(self.session.tools["kubectl"]), *words]
        env = os.environ | {"KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def answered(self, service: str, path: str, **fields: str) -> Any:
        """What a Service of the cluster answers, decoded, by the cluster's own proxy, once somebody is there to answer.

        A pod that load keeps from its probe leaves its Service for a while, as in life.
        """
        proxy = self.kubeconfig.with_name(PROXY).read_text()
        with urllib3.ProxyManager(proxy, proxy_headers=admitting(proxy)) as pool:

            def reached() -> urllib3.BaseHTTPResponse | None:
                answer = pool.request("GET", f"http://{service}/{path}", fields=fields, timeout=60.0)
                return None if UNREACHED in answer.headers else answer

            answer = until(reached, f"{service} to have somebody who answers")
        assert answer.status == 200, answer.data
        return answer.json()

    def asked(self, query: str) -> list[tuple[dict[str, str], float]]:
        """What the cluster's Prometheus answers."""
        found = self.answered("prometheus-operated.monitoring:9090", "api/v1/query", query=query)
        return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]]

    def view(self) -> ClusterView:
        latest = json.loads(self.state_text())["checkpoint"].get("latest") or {}
        objects = declared.declared({"deployment": latest})
        return view(self.stack, self.kube, known(self.session.program.images), objects)

    def settled(self) -> ClusterView:
        """What the cluster runs, once all that the stack declares is there and as asked."""
        left: list[str] = []

        def done() -> bool:
            left[:] = self.view().unready()
            return not left

        until(done, "all that is declared to be there and as asked", left=left)
        return self.view()

    def inventory(self) -> Mapping[str, list[str]]:
        """Ids of what the account holds, by kind."""
        return self.session.inventory()

    def clusters(self) -> list[str]:
        """The control planes that there are, as `<region>/<name>`."""
        return list(kubeconfigs(self.directory))

    def state_text(self) -> str:
        """The state file as it lies in the backend."""
        files = list(self.directory.backend.glob(f".pulumi/stacks/*/{self.stack}.json"))
        assert len(files) == 1, files
        return files[0].read_text()

    def outputs(self) -> dict[str, Any]:
        return self.session.engine.outputs()

    def order(self, command: Callable[[argparse.Namespace], int], **words: Any) -> None:
        """`make load`, `make fail` or `make heal` of this site."""
        asked = {"site": self.directory.path.name, "stack": self.stack, "root": self.tree.root, **words}
        assert command(argparse.Namespace(**asked)) == 0

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """One of the account's own control routes, such as `faults`; the decoded answer."""
        return self.session.control(method, path, body)


@contextmanager
def rehearsed(name: str, tree: Tree, home: Path, stack: str = "dev", *, killed: bool = False) -> Iterator[Rehearsed]:
    """A site of its own below `home`, with the content of its account, nothing applied; gone at the end.

    Whoever kills its engine says so with `killed`: the state is then written with each step, as for a person.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUCLUSTER_HOME", str(home))
        directory = places.site(name, tree.root)
        try:
            console = Console(file=io.StringIO(), width=200)
            session = open_session(name, tree.root, stack, console, Meter())
            text = stack_file(tree.root, stack).read_text()
            session.seed(text)
            if not killed:
                session.engine = replace(session.engine, env={**session.engine.env, **SAVED_AT_ITS_END})
            site = Rehearsed(tree, session, stack, text)
            running.append(site)
            try:
                yield site
            finally:
                site.close()
        finally:
            running[:] = [each for each in running if each.directory != directory]
            sites.stop(directory.path)


def command(home: Path, *words: str, seconds: float = COMMAND_SECONDS) -> subprocess.CompletedProcess[str]:
    """`python -m rehearsal` with these words, as a person types it; its output is one text."""
    return subprocess.run(
        [sys.executable, "-m", "rehearsal", *words],
        cwd=ROOT,
        env=os.environ | {"GPUCLUSTER_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
