"""kube-webhook-certgen: the certificate it makes, what it tells the API server, what it refuses."""

import base64
from typing import Any

import pytest
from cryptography import x509

from rehearsal.images import certgen

SECRET = ["--namespace=n", "--secret-name=admission"]
HOSTS = "operator,operator.n.svc"


class Cluster:
    """An API server with Secrets and webhook configurations; what was applied is kept."""

    def __init__(self, **webhooks: list[dict[str, Any]]) -> None:
        self.secrets: dict[str, dict[str, Any]] = {}
        self.webhooks = {f"{kind}WebhookConfiguration": each for kind, each in webhooks.items()}
        self.applied: list[tuple[dict[str, Any], str, bool]] = []

    def get(self, _: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:  # noqa: ARG002
        if kind == "Secret":
            return self.secrets.get(name)
        return {"webhooks": self.webhooks[kind]} if kind in self.webhooks and name == "hooks" else None

    def create(self, obj: dict[str, Any]) -> None:
        self.secrets[obj["metadata"]["name"]] = obj

    def apply(self, obj: dict[str, Any], manager: str, *, force: bool) -> None:
        self.applied.append((obj, manager, force))


def work(cluster: Any, command: str, *argv: str) -> str:
    return certgen.work(cluster, command, [*SECRET, *argv])


def test_the_certificate_is_made_once_for_every_host() -> None:
    cluster = Cluster()
    assert work(cluster, "create", f"--host={HOSTS}") == "created secret n/admission"
    data = {name: base64.b64decode(each) for name, each in cluster.secrets["admission"]["data"].items()}
    certificate = x509.load_pem_x509_certificate(data["cert"])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == HOSTS.split(",")
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(data["ca.crt"]))
    assert data["key"].startswith(b"-----BEGIN")
    before = dict(cluster.secrets)
    assert work(cluster, "create", f"--host={HOSTS}") == "secret already exists"
    assert cluster.secrets == before


@pytest.mark.parametrize(("policy", "told"), [("", None), ("Ignore", None), ("Fail", "Fail")])
def test_every_webhook_of_that_name_gets_the_authority(policy: str, told: str | None) -> None:
    cluster = Cluster(Validating=[{"name": "a"}, {"name": "b"}], Mutating=[{"name": "c"}])
    work(cluster, "create", f"--host={HOSTS}")
    work(cluster, "patch", "--webhook-name=hooks", f"--patch-failure-policy={policy}")
    assert [each[1:] for each in cluster.applied] == [("kube-webhook-certgen", True)] * 2
    webhooks = [hook for body, *_ in cluster.applied for hook in body["webhooks"]]
    authority = cluster.secrets["admission"]["data"]["ca.crt"]
    assert [(each["name"], each["clientConfig"]["caBundle"]) for each in webhooks] == [(n, authority) for n in "abc"]
    assert {each.get("failurePolicy") for each in webhooks} == {told}


def test_one_kind_can_be_left_out() -> None:
    cluster = Cluster(Validating=[{"name": "a"}])
    work(cluster, "create", f"--host={HOSTS}")
    work(cluster, "patch", "--webhook-name=hooks", "--patch-mutating=false")
    assert len(cluster.applied) == 1


@pytest.mark.parametrize(
    ("command", "argv", "said"),
    [
        ("patch", ["--webhook-name=hooks"], "no secret with 'admission' in 'n'"),
        ("make", [], 'unknown command "make"'),
    ],
)
def test_what_it_cannot_do_it_says(command: str, argv: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        work(Cluster(), command, *argv)


def test_configurations_that_are_not_there_are_an_error() -> None:
    cluster = Cluster(Mutating=[])
    work(cluster, "create", f"--host={HOSTS}")
    with pytest.raises(ValueError, match='ValidatingWebhookConfiguration "hooks" not found'):
        work(cluster, "patch", "--webhook-name=hooks")
