"""Secrets of Secrets Manager, by the controller's own binary: brought, rotated, refused, and taken away (Y07).

The objects, the chart's values and the rights are those that the program registers for the dev stack.
"""

import base64
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.images.identity import SETTLING
from rehearsal.images.table import known
from rehearsal.plugins.kubernetes.awaiting import until_ready
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import REGION, until
from rehearsal.tests.inside.conftest import Site
from rehearsal.toolchain.families import BASE
from tests.graph import schema_kubernetes
from tests.planner.test_external_secrets import ARN
from tests.stacks.test_outside import dev

pytestmark = pytest.mark.engine

API = "external-secrets.io/v1"
CALLERS = {"current": "new+key", "previous": "old.key"}
HERE = ARN.replace("us-east-2", REGION)


def registered(name: str) -> dict[str, Any]:
    """An object as the program registers it, in this account's region."""
    found: dict[str, Any] = json.loads(json.dumps(dict(dev().one(name).inputs)).replace("us-east-2", REGION))
    return found


def held(site: Site, name: str, namespace: str = "inference") -> dict[str, str]:
    data = (site.kube.get("v1", "Secret", name, namespace) or {}).get("data") or {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def word(site: Site, name: str) -> tuple[str, str]:
    """Reason and message of what the controller says of a secret."""
    status = (site.kube.get(API, "ExternalSecret", name, "inference") or {}).get("status") or {}
    found: dict[str, Any] = next(iter(status.get("conditions") or []), {})
    return str(found.get("reason")), str(found.get("message"))


def refreshed(site: Site, name: str) -> str:
    """When the controller last looked a secret up."""
    found = site.kube.get(API, "ExternalSecret", name, "inference") or {}
    return str((found.get("status") or {}).get("refreshTime"))


def again(site: Site, name: str) -> None:
    """Have a secret looked up now (external-secrets, docs/introduction/faq.md: any annotation that changes)."""
    patch = {"metadata": {"annotations": {"force-sync": str(time.monotonic())}}}
    site.kube.patch(API, "ExternalSecret", name, "inference", patch)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster with one node, the controller with the program's rights, and stores and secrets of `inference`."""
    if (vendors := schema_kubernetes.upstream()) is not None:
        os.environ["GPUCLUSTER_UPSTREAM"] = str(vendors)
    made = Site(tmp_path_factory.mktemp("outside"), "outside", known(()), (*BASE, "external-secrets"))
    try:
        account = made.account
        for addon in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent"):
            account.addon(addon)
        account.nodegroup("system", 1, account.template("system", "m7i.2xlarge"), "AL2023_x86_64_STANDARD")
        account.control("PUT", f"secrets/{REGION}", {HERE: "hub-token", "models/callers": json.dumps(CALLERS)})
        role = account.role("reader", "pods.eks.amazonaws.com", (), ("sts:AssumeRole", "sts:TagSession"))
        policy = registered("secrets-identity-policy")["policy"]
        account.iam.put_role_policy(RoleName="reader", PolicyName="read", PolicyDocument=policy)
        association = {key: registered("secrets-identity-association")[key] for key in ("namespace", "serviceAccount")}
        account.eks.create_pod_identity_association(clusterName="outside", roleArn=role, **association)
        effective = time.monotonic() + SETTLING.total_seconds() + 1
        until(lambda: time.monotonic() > effective, 10, "the association is effective")
        made.install("external-secrets", "external-secrets", registered("external-secrets-release")["values"])
        until(lambda: made.available("external-secrets", "external-secrets"), 120, "the controller runs")
        made.apply(workloads.namespace("inference"))
        made.apply(registered("secrets-inference-store"))
        made.apply(registered("token-hf-token-external-secret"), registered("keys-llama-3-8b-external-secret"))
        yield made
    finally:
        made.stop()


def test_secrets_are_there_as_pods_read_them(site: Site) -> None:
    until(lambda: word(site, "hf-token")[0] == "SecretSynced", 180, "the token is synced")
    assert held(site, "hf-token") == {"token": "hub-token"}
    until(lambda: word(site, "llama-3-8b-keys")[0] == "SecretSynced", 90, "the keys are synced")
    keys = held(site, "llama-3-8b-keys")
    assert set(keys) == {"keys.conf", "token", "scraper"}
    assert keys["token"] == CALLERS["current"]
    assert '"~^(?i:bearer) +new[+]key\\z" yes;' in keys["keys.conf"]
    assert '"~^(?i:bearer) +old[.]key\\z" yes;' in keys["keys.conf"]
    assert f'"~^(?i:bearer) +{keys["scraper"]}\\z" yes;' in keys["keys.conf"]
    store = site.kube.get(API, "SecretStore", "outside", "inference") or {}
    assert store["status"]["conditions"][0]["reason"] == "Valid"


def test_what_is_rotated_follows_and_a_key_that_is_none_changes_nothing(site: Site) -> None:
    """Nobody asks for it: it follows by its interval, which is shortened to seconds."""
    before, spec = refreshed(site, "llama-3-8b-keys"), {"spec": {"refreshInterval": "3s"}}
    site.kube.patch(API, "ExternalSecret", "llama-3-8b-keys", "inference", spec)
    until(lambda: refreshed(site, "llama-3-8b-keys") != before, 60, "the interval is known")
    manager = site.account.own.client("secretsmanager", REGION)
    rotated = {"current": "newest-key", "previous": CALLERS["current"]}
    manager.put_secret_value(SecretId="models/callers", SecretString=json.dumps(rotated))
    until(lambda: held(site, "llama-3-8b-keys").get("token") == "newest-key", 60, "the new key is there")
    kept = held(site, "llama-3-8b-keys")
    assert "new[+]key" in kept["keys.conf"]
    assert "old[.]key" not in kept["keys.conf"]
    manager.put_secret_value(SecretId="models/callers", SecretString=json.dumps({**rotated, "current": "two words"}))
    until(lambda: word(site, "llama-3-8b-keys")[0] == "SecretSyncedError", 60, "the controller says what is wrong")
    assert word(site, "llama-3-8b-keys")[1] == "could not update secret"
    said = " ".join(message for _, message in site.events("inference", "llama-3-8b-keys"))
    assert "value0 is no bearer token" in said
    assert held(site, "llama-3-8b-keys") == kept


def test_without_the_right_the_last_value_stays_and_up_says_why(site: Site) -> None:
    policy = registered("secrets-identity-policy")["policy"].replace("models/hub", "models/bus")
    site.account.iam.put_role_policy(RoleName="reader", PolicyName="read", PolicyDocument=policy)
    again(site, "hf-token")
    until(lambda: word(site, "hf-token")[0] == "SecretSyncedError", 60, "the controller says what is wrong")
    live, heard = site.kube.get(API, "ExternalSecret", "hf-token", "inference") or {}, threading.Event()

    def say(_severity: str, text: str) -> None:
        if "not authorized to perform: secretsmanager:GetSecretValue on resource: " + HERE in text:
            heard.set()

    until_ready(live, live, None, site.kube, 120.0, heard, say)
    assert heard.is_set(), site.events("inference", "hf-token")
    assert held(site, "hf-token") == {"token": "hub-token"}


def test_a_secret_goes_with_its_object(site: Site) -> None:
    meta = {"name": "hf-token", "namespace": "inference"}
    site.kube.delete({"apiVersion": API, "kind": "ExternalSecret", "metadata": meta})
    until(lambda: site.kube.get(API, "ExternalSecret", "hf-token", "inference") is None, 60, "it is gone")
    until(lambda: not held(site, "hf-token"), 90, "the Secret is collected")
