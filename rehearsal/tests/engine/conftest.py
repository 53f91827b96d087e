"""A site without cloud or cluster: the real engine, our language host, and the provider of `drawer.py`."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rehearsal import places, toolchain
from rehearsal.engine import home
from rehearsal.engine.run import Engine
from rehearsal.engine.workspace import Workspace, open_workspace

PROJECT = """\
name: trial
runtime: python
config:
  token:
    secret: true
"""
PROGRAM = """\
import pulumi


class Item(pulumi.CustomResource):
    def __init__(self, name, wait=False, opts=None):
        super().__init__("drawer:index:Item", name, {"text": name, "wait": wait}, opts)


first = Item("first")
second = Item("second", wait=True, opts=pulumi.ResourceOptions(depends_on=[first]))
third = Item("third", opts=pulumi.ResourceOptions(depends_on=[second]))
pulumi.export("token", pulumi.Config().require_secret("token"))
"""


@dataclass(frozen=True)
class Trial:
    """One program of three items, the second of which is only done when `go()` was called."""

    root: Path
    site: places.SiteDirectory
    drawer: Path
    workspace: Workspace

    @property
    def engine(self) -> Engine:
        return self.workspace.engine

    def go(self) -> None:
        (self.drawer / "second.go").touch()

    def items(self) -> list[str]:
        """What lies in the drawer."""
        return sorted(path.name for path in self.drawer.iterdir() if path.suffix != ".go")


@pytest.fixture(scope="session")
def cli() -> Path:
    return toolchain.ensure(["pulumi"])["pulumi"]


@pytest.fixture
def trial(tmp_path: Path, cli: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    root, drawer = tmp_path / "program", tmp_path / "drawer"
    root.mkdir()
    drawer.mkdir()
    (root / "Pulumi.yaml").write_text(PROJECT)
    (root / "Pulumi.dev.yaml").write_text("config:\n  trial:expiry: 2026-12-31\n")
    (root / "__main__.py").write_text(PROGRAM)
    site = places.SiteDirectory(tmp_path / "site")
    monkeypatch.setenv("DRAWER", str(drawer))
    made = home.prepare(site, cli, "http://127.0.0.1:1")
    plugin = site.pulumi / "plugins/resource-drawer-v1.0.0/pulumi-resource-drawer"
    words = shlex.join(["exec", sys.executable, "-P", "-m", "rehearsal.tests.engine.drawer"])
    places.write(plugin, f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(places.CODE))} {words} "$@"\n', mode=0o700)
    return Trial(root, site, drawer, open_workspace(site, made, root, "dev"))
