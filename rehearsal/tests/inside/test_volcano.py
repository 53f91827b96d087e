"""Volcano from its own chart: its roles, the certificate its hook makes, and webhooks that refuse in its words."""

from typing import Any

import pytest
import yaml
from cryptography import x509

from rehearsal.charts import sources
from rehearsal.charts.chart import Order
from rehearsal.images import admission_secret
from rehearsal.kube.client import ApiError
from rehearsal.plugins.kubernetes.helm_store import Store
from rehearsal.tests.inside.conftest import Site
from rehearsal.toolchain import versions

SECRET = ("v1", "Secret", "volcano-admission-secret", "volcano-system")


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": True, **spec},
    }


def job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox:1"}]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "training"},
        "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": template}], **spec},
    }


def group(queue: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "training"},
        "spec": {"minMember": 1, "queue": queue},
    }


@pytest.mark.engine
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (queue("torn", capability={"cpu": "1"}, deserved={"cpu": "2"}), "deserved should less equal than capability"),
        (job(minAvailable=2), "job 'minAvailable' should not be greater than total replicas in tasks"),
        (job(queue="nowhere"), "unable to find job queue"),
        (group("nowhere"), "unable to find queue"),
    ],
    ids=["deserved", "min-available", "job-queue", "group-queue"],
)
def test_what_volcano_refuses_is_refused_in_its_words(training: Site, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError, match=r"admission webhook .*volcano\.sh.* denied the request") as refused:
        training.kube.create(wrong)
    assert said in refused.value.message


@pytest.mark.engine
def test_a_good_queue_is_taken_and_filled_in(training: Site) -> None:
    made = training.kube.create(queue("good"))
    assert made["spec"]["weight"] == 1
    training.kube.delete(made)


@pytest.mark.engine
def test_the_hook_made_the_certificate_and_went_but_is_in_the_record(training: Site) -> None:
    secret = training.kube.get(*SECRET)
    assert secret is not None
    assert "labels" not in secret["metadata"]
    assert training.kube.get("batch/v1", "Job", "volcano-admission-init", "volcano-system") is None
    (record,) = Store(training.kube).history("volcano-system", "volcano")
    assert ("Job", "volcano-admission-init") in [(each["kind"], each["metadata"]["name"]) for each in record.hooks]
    name = "volcano-admission-service-queues-validate"
    found = training.kube.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name)
    assert found is not None
    assert found["webhooks"][0]["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]


@pytest.mark.engine
def test_the_schedulers_rights_are_those_of_the_chart(training: Site) -> None:
    role = training.kube.get("rbac.authorization.k8s.io/v1", "ClusterRole", "volcano-scheduler")
    assert role is not None
    counted = sum(len(rule["apiGroups"]) * len(rule["resources"]) * len(rule["verbs"]) for rule in role["rules"])
    assert counted == 132


@pytest.mark.engine
def test_the_charts_own_configuration_evicts_nobody() -> None:
    """KJ11: neither queues nor priorities do, unless a program says so."""
    order = Order("volcano", "volcano-system", {}, "1.36.3", frozenset())
    made = sources.find("volcano", versions.VOLCANO).render(order)
    (told,) = [each["data"] for each in made if each["metadata"]["name"] == "volcano-scheduler-configmap"]
    loaded = yaml.safe_load(told["volcano-scheduler.conf"])
    assert loaded["actions"] == "enqueue, allocate, backfill"
    assert {"name": "gang", "enablePreemptable": False} in loaded["tiers"][0]["plugins"]


def test_the_certificate_is_for_the_three_names_of_the_service() -> None:
    made = admission_secret.certificates("volcano-admission-service", "volcano-system")
    certificate = x509.load_pem_x509_certificate(made["tls.crt"])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "volcano-admission-service",
        "volcano-admission-service.volcano-system",
        "volcano-admission-service.volcano-system.svc",
    ]
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(made["ca.crt"]))


def test_the_script_takes_its_options_and_asks_for_those_it_needs() -> None:
    words = ["--service", "s", "--namespace", "n", "--secret", "x"]
    assert admission_secret.arguments(words) == {"service": "s", "namespace": "n", "secret": "x"}
    assert admission_secret.arguments(["--service", "s", "--secret", "x"])["namespace"] == "default"
    with pytest.raises(ValueError, match="'--secret' must be specified"):
        admission_secret.arguments(["--service", "s"])
