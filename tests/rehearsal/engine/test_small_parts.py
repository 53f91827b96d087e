"""Seeds, locks and PULUMI_HOME."""

import importlib.metadata
import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from rehearsal import places
from rehearsal.engine import home, seeds
from rehearsal.engine.locks import locks
from rehearsal.engine.stackfile import Place


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield boto3.client("s3", region_name="eu-west-1")


def test_seeds_look_like_a_model_directory_and_are_sown_once(s3: Any) -> None:
    wanted = [Place("models", "llama-3.1/8b"), Place("data", "corpus/tokens.bin")]
    made = seeds.sow(s3, wanted, "eu-west-1")
    assert "s3://models/llama-3.1/8b/model-00001-of-00002.safetensors" in made
    assert "s3://models/llama-3.1/8b/config.json" in made
    assert [each for each in made if "data" in each] == ["s3://data/corpus/tokens.bin"]
    assert s3.get_bucket_location(Bucket="models")["LocationConstraint"] == "eu-west-1"
    assert seeds.sow(s3, wanted, "eu-west-1") == []


@pytest.mark.parametrize(
    ("text", "region"),
    [("platform:\n  region: us-west-2\n", "us-west-2"), ("region: 'ap-south-1'", "ap-south-1"), ("x: 1", "us-east-1")],
)
def test_the_region_of_the_stack_file(text: str, region: str) -> None:
    assert seeds.region(text) == region


BOOKED = """
config:
  gpucluster:pools:
    - {name: system, role: system, instanceType: m7i.xlarge, count: 2}
    - {name: a, instanceType: p5.48xlarge, count: 3, reservation: &block
        {id: cr-0123456789abcdef0, zone: use2-az1, start: "2026-11-20", end: "2026-11-27"}}
    - {name: b, instanceType: p5.48xlarge, count: 1, reservation: *block}
    - {name: c, instanceType: p5.48xlarge, count: 1, reservation: {id: cr-1, zone: use2-az1, start: soon}}
"""


def test_the_blocks_that_the_pools_are_in_are_in_the_account() -> None:
    """PF10: two pools may share one; a block without an end is the program's to refuse."""
    (block,) = seeds.blocks(BOOKED)
    assert (block.id, block.count) == ("cr-0123456789abcdef0", 4)
    order = block.order(datetime(2026, 11, 20, 9, tzinfo=UTC))
    assert (order["state"], order["end"]) == ("active", "2026-11-27T11:30:00+00:00")
    assert block.order(datetime(2026, 11, 19, 23, tzinfo=UTC))["state"] == "scheduled"


@pytest.mark.parametrize("text", ["", "config:\n", "config: {a: [1, 2], b: text}\n", "[]"])
def test_a_file_without_pools_names_no_block(text: str) -> None:
    assert seeds.blocks(text) == []


def lock(backend: Path, **content: Any) -> None:
    path = backend / ".pulumi/locks/organization/gpucluster/dev/1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))


def test_a_lock_of_a_dead_engine_is_not_held(tmp_path: Path) -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    lock(tmp_path, pid=done.pid, hostname=socket.gethostname())
    assert [each.held() for each in locks(tmp_path, "dev")] == [False]
    assert locks(tmp_path, "prod") == []


def test_a_pid_that_belongs_to_something_else_now_does_not_hold_a_lock(tmp_path: Path) -> None:
    lock(tmp_path, pid=os.getpid(), hostname=socket.gethostname())
    assert [each.held() for each in locks(tmp_path, "dev")] == [False]


def test_a_lock_of_another_machine_counts_as_held(tmp_path: Path) -> None:
    lock(tmp_path, pid=1, hostname="elsewhere")
    assert [each.held() for each in locks(tmp_path, "dev")] == [True]


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[places.SiteDirectory, home.Home]:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    monkeypatch.setenv("KUBECONFIG", "/mine")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://mine")
    cli = tmp_path / "cli" / "pulumi"
    cli.parent.mkdir()
    cli.write_text("#!/bin/sh\n")
    cli.chmod(0o755)
    site = places.SiteDirectory(tmp_path / "site")
    return site, home.prepare(site, cli, "http://127.0.0.1:5")


def test_nothing_of_the_users_own_setup_reaches_the_engine(prepared: tuple[places.SiteDirectory, home.Home]) -> None:
    site, made = prepared
    assert made.env["PULUMI_BACKEND_URL"] == f"file://{site.backend}?metadata=skip"
    assert made.env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5"
    assert not {"AWS_PROFILE", "KUBECONFIG", "AWS_REGION"} & made.env.keys()


def test_plugins_lie_where_the_engine_looks_and_the_passphrase_is_private(
    prepared: tuple[places.SiteDirectory, home.Home],
) -> None:
    site, made = prepared
    plugins = {path.parent.name: path for path in site.pulumi.glob("plugins/*/pulumi-resource-*")}
    versions = {name: importlib.metadata.version(f"pulumi-{name}") for name in ("aws", "kubernetes")}
    assert set(plugins) == {f"resource-{name}-v{version}" for name, version in versions.items()}
    assert all(os.access(path, os.X_OK) for path in plugins.values())
    assert (made.pulumi.parent / "pulumi-language-python").exists()
    secret = Path(made.env["PULUMI_CONFIG_PASSPHRASE_FILE"])
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    before = secret.read_text()
    assert home.passphrase(site).read_text() == before
    assert before not in " ".join(made.env.values())
