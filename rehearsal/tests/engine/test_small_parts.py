"""Seeds, locks and PULUMI_HOME."""

import importlib.metadata
import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from rehearsal import places, virtualenv
from rehearsal.engine import home, seeds
from rehearsal.engine.locks import locks
from rehearsal.particulars import Stored


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield boto3.client("s3", region_name="eu-west-1")


def test_content_is_sown_once(s3: Any) -> None:
    wanted = [Stored("models", "llama/config.json", b"{}"), Stored("data", "tokens.bin", b"0")]
    assert seeds.sow(s3, wanted, "eu-west-1") == ["s3://models/llama/config.json", "s3://data/tokens.bin"]
    assert s3.get_bucket_location(Bucket="models")["LocationConstraint"] == "eu-west-1"
    assert seeds.sow(s3, wanted, "eu-west-1") == []


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
    # An SDK that only programs for racked servers have.
    if (command := virtualenv.version("pulumi-command", None)) is not None:
        versions["command"] = command
    assert set(plugins) == {f"resource-{name}-v{version}" for name, version in versions.items()}
    assert all(os.access(path, os.X_OK) for path in plugins.values())
    assert (made.pulumi.parent / "pulumi-language-python").exists()
    secret = Path(made.env["PULUMI_CONFIG_PASSPHRASE_FILE"])
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    before = secret.read_text()
    assert home.passphrase(site).read_text() == before
    assert before not in " ".join(made.env.values())
