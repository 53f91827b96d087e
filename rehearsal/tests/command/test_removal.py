"""Which destroy a stack gets: the plain one, or one that first drops what was in a cluster that is gone."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from rehearsal.command import removal
from rehearsal.command.errors import CommandError
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session
from rehearsal.engine.events import Record
from rehearsal.engine.run import Outcome
from rehearsal.places import SiteDirectory

OBJECT = {
    "urn": "urn:pulumi:lab::p::kubernetes:core/v1:Namespace::team",
    "type": "kubernetes:core/v1:Namespace",
    "id": "team",
    "inputs": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
}
BUCKET = {"urn": "urn:pulumi:lab::p::aws:s3/bucket:Bucket::b", "type": "aws:s3/bucket:Bucket", "id": "b"}


@dataclass(frozen=True)
class Engine:
    """The engine of a state, which writes down how it was asked to destroy."""

    document: Mapping[str, Any]
    stack: str = "lab"
    status: int = 0
    env: Mapping[str, str] = field(default_factory=lambda: {"HOME": "/root"})
    asked: list[tuple[tuple[str, ...], str | None]] = field(default_factory=list)

    def export(self) -> Mapping[str, Any]:
        return self.document

    def destroy(self, *flags: str, watch: Any) -> Outcome:
        assert watch is not None
        assert self.env["HOME"] == "/root"
        self.asked.append((flags, self.env.get("PULUMI_K8S_DELETE_UNREACHABLE")))
        return Outcome("destroy", self.status, Record(), 1.0, Path("/nonexistent"))


@dataclass
class Site:
    """As much of a session as a destroy asks for."""

    engine: Engine
    directory: SiteDirectory
    console: Console = field(default_factory=lambda: Console(file=io.StringIO(), width=200))
    meter: Meter = field(default_factory=Meter)

    kept: dict[str, list[str]] = field(default_factory=dict)

    def keep(self, things: Mapping[str, list[str]]) -> None:
        self.kept.update(things)

    def lines(self, *, steps: bool = True) -> object:
        return object() if steps else None

    def locked_by(self) -> None:
        return None


def destroyed(tmp_path: Path, *resources: Mapping[str, Any], cluster: bool, status: int = 0) -> tuple[Site, str]:
    directory = SiteDirectory(tmp_path / "site")
    if cluster:
        there = directory.clusters / "us-east-2" / "gpucluster-lab"
        there.mkdir(parents=True)
        (there / "kubeconfig").write_text("")
    site = Site(Engine({"deployment": {"resources": list(resources)}}, status=status), directory)
    removal.destroy(cast(Session, site))
    said = site.console.file
    assert isinstance(said, io.StringIO)
    return site, said.getvalue()


def test_what_was_in_a_cluster_that_is_gone_is_dropped_by_a_refresh_first(tmp_path: Path) -> None:
    site, said = destroyed(tmp_path, OBJECT, BUCKET, cluster=False)
    assert site.engine.asked == [(("--refresh",), "true")]
    assert "PULUMI_K8S_DELETE_UNREACHABLE=true pulumi destroy --refresh" in said


def test_a_cluster_that_is_there_and_a_state_without_objects_get_the_plain_one(tmp_path: Path) -> None:
    """A refresh that dropped a living cluster's objects would leave what their controllers made."""
    assert destroyed(tmp_path, BUCKET, cluster=False)[0].engine.asked == [((), None)]
    assert destroyed(tmp_path, OBJECT, BUCKET, cluster=True)[0].engine.asked == [((), None)]


def test_what_a_program_retains_is_no_leftover(tmp_path: Path) -> None:
    """The account is to hold it afterwards: gone, it would be missed."""
    logs = {"urn": "urn:pulumi:lab::p::aws:cloudwatch/logGroup:LogGroup::l", "type": "aws:cloudwatch/logGroup:LogGroup"}
    site, said = destroyed(
        tmp_path, {**logs, "id": "/aws/eks/a/cluster", "retainOnDelete": True}, BUCKET, cluster=False
    )
    assert site.kept == {"logs:log-group": ["/aws/eks/a/cluster"]}
    assert "logs:log-group /aws/eks/a/cluster stays, as the stack declares" in said


def test_a_retained_thing_that_the_account_cannot_tell_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the account tells no ids of aws:s3/bucketPolicy:BucketPolicy"):
        destroyed(
            tmp_path, {**BUCKET, "type": "aws:s3/bucketPolicy:BucketPolicy", "retainOnDelete": True}, cluster=False
        )


def test_a_destroy_that_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="pulumi destroy failed"):
        destroyed(tmp_path, OBJECT, cluster=False, status=255)
