"""The controller of External Secrets: what is due, what Secrets Manager gives whom, and what templates make of it."""

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from rehearsal import toolchain
from rehearsal.images import identity
from rehearsal.images.external_secrets import controller, keeper
from rehearsal.images.external_secrets.templates import TemplateError, filled
from rehearsal.images.table import known
from rehearsal.kubelet.program import TIME_SCALE, Program
from rehearsal.tests.inside.simulated import Node
from rehearsal.toolchain.build import missing

ROLE = "arn:aws:iam::123456789012:role/reader"
META: dict[str, Any] = {"name": "keys", "namespace": "inference", "uid": "u", "generation": 1}
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def secret(refreshed: datetime | None, **spec: Any) -> dict[str, Any]:
    """An ExternalSecret that was synced as it is."""
    status = {"syncedResourceVersion": controller.version(META)}
    status |= {"refreshTime": refreshed.isoformat()} if refreshed else {}
    return {"metadata": META, "spec": {"refreshInterval": "1h0m0s", **spec}, "status": status}


def test_a_secret_is_due_when_it_changed_or_its_interval_is_over() -> None:
    hour = timedelta(seconds=3600 / TIME_SCALE)
    assert controller.is_due(secret(None), NOW)
    assert not controller.is_due(secret(NOW - 0.9 * hour), NOW)
    assert controller.is_due(secret(NOW - 1.1 * hour), NOW)
    assert not controller.is_due(secret(NOW - 9 * hour, refreshInterval="0s"), NOW)
    assert not controller.is_due(secret(NOW - 9 * hour, refreshPolicy="OnChange"), NOW)
    changed = secret(NOW) | {"metadata": {**META, "annotations": {"force-sync": "1"}}}
    assert controller.is_due(changed, NOW)
    assert controller.seconds("1h30m5s") == 5405


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The controller's pod with a role whose rights are `allowed`, and one secret there."""
    monkeypatch.setattr(identity, "of", lambda _: identity.Identity(ROLE))
    node = Node(tmp_path)
    with mock_aws():
        client = boto3.client("secretsmanager", "us-east-2", aws_access_key_id="k", aws_secret_access_key="s")
        arn = client.create_secret(Name="callers", SecretString='{"current": "new", "turns": 3}')["ARN"]
        statement: dict[str, Any] = {"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": arn}
        policies = [{"Statement": [statement]}]
        node.world.aws = SimpleNamespace(secretsmanager=client, role_policies=lambda _: policies)
        yield SimpleNamespace(launch=node.launch(), statement=statement, client=client, arn=arn)


def test_a_value_is_all_of_a_secret_or_a_property_of_it(launch: Any) -> None:
    for key in ("callers", launch.arn):
        assert keeper.value(launch.launch, {"key": key, "property": "current"}) == "new"
    assert keeper.value(launch.launch, {"key": "callers", "property": "turns"}) == "3"
    assert keeper.value(launch.launch, {"key": "callers"}) == '{"current": "new", "turns": 3}'
    launch.client.put_secret_value(SecretId="callers", SecretString='{"current": "newer"}')
    assert keeper.value(launch.launch, {"key": "callers", "property": "current"}) == "newer"


def test_what_is_not_there_or_not_allowed_is_said_in_the_makers_words(launch: Any) -> None:
    with pytest.raises(keeper.KeeperError, match=r"^Secret does not exist$"):
        keeper.value(launch.launch, {"key": "nobody"})
    with pytest.raises(keeper.KeeperError, match=r"^key old does not exist in secret callers$"):
        keeper.value(launch.launch, {"key": "callers", "property": "old"})
    launch.statement["Resource"] = launch.arn.replace("callers", "others")
    with pytest.raises(keeper.KeeperError, match="not authorized to perform: secretsmanager:GetSecretValue"):
        keeper.value(launch.launch, {"key": "callers"})


@pytest.fixture(scope="module")
def helm() -> Path:
    if missing(["helm"]):
        pytest.skip("helm is not built yet: make toolchain")
    return toolchain.ensure(["helm"])["helm"]


def test_templates_are_filled_by_the_library_that_the_controller_has(helm: Path) -> None:
    templates = {
        "a.conf": '  key "{{ regexReplaceAll "[^a-z]" .one "[${0}]" }}\\z";\n',
        "b": '{{ printf "words %s" .one | sha256sum }}',
    }
    found = filled(helm, templates, {"one": "a.b"})
    assert found["a.conf"] == '  key "a[.]b\\z";\n'
    assert found["b"] == hashlib.sha256(b"words a.b").hexdigest()


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ('{{ if eq .one "x" }}{{ fail "one is no key" }}{{ end }}', "one is no key"),
        ("{{ .Values.one }}", "not defined"),
        ("{{ nothing .one }}", 'function "nothing" not defined'),
    ],
)
def test_a_template_that_fails_says_why(helm: Path, template: str, says: str) -> None:
    with pytest.raises(TemplateError, match=says):
        filled(helm, {"a": template}, {"one": "x"})


def test_the_webhook_is_not_the_controller(tmp_path: Path) -> None:
    node = Node(tmp_path)
    spec = {"name": "webhook", "image": "ghcr.io/external-secrets/external-secrets:v2.9.0"}
    assert type(known().start(node.launch(spec=spec, args=["webhook", "--port=10250"]))) is Program
