"""Katib's objects against the inventory of its vendor's set of that version (manifests/v1beta1, katib-cert-manager)."""

import base64
import json
import re
from functools import cache
from typing import Any

import pytest
import yaml

from catalogue import versions
from components.kubeflow.katib_config import SUGGESTIONS, CollectorRoom, katib_config
from rehearsal.toolchain.manifests import manifest
from tests.components.samples import SAMPLES, built
from tests.graph.harness import Recorded

from .vendors import Objects, inventory, registered, rights

POSTGRESQL = "PostgreSQL, which the vendor's other set has (installs/katib-standalone-postgres)"
LEFT_OUT = {
    ("Namespace", "kubeflow"): "the stack's own",
    ("Issuer", "katib-selfsigned-issuer"): "an authority that outlives the certificate",
    ("ServiceAccount", "katib-ui"): "the UI",
    ("ClusterRole", "katib-ui"): "the UI",
    ("ClusterRoleBinding", "katib-ui"): "the UI",
    ("Service", "katib-ui"): "the UI",
    ("Deployment", "katib-ui"): "the UI",
    ("ConfigMap", "trial-templates"): "the UI's examples",
    ("Secret", "katib-mysql-secrets"): POSTGRESQL,
    ("PersistentVolumeClaim", "katib-mysql"): POSTGRESQL,
    ("Deployment", "katib-mysql"): POSTGRESQL,
    ("Service", "katib-mysql"): POSTGRESQL,
}
"""Objects of the vendor's set that are not registered under their name, and why."""

NOT_NEEDED = {
    ("", "secrets"): "certificates of its own",
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): "certificates of its own",
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): "certificates of its own",
    ("", "persistentvolumes"): "resumePolicy FromVolume",
    ("", "persistentvolumeclaims"): "resumePolicy FromVolume, which makes one",
    ("", "pods"): "jobs of other kinds",
    ("", "pods/status"): "jobs of other kinds",
    ("batch", "jobs"): "trials of another kind",
    ("batch", "cronjobs"): "trials of another kind",
    ("jobset.x-k8s.io", "jobsets"): "trials of another kind",
    ("trainer.kubeflow.org", "trainjobs"): "trials of another kind",
    ("kubeflow.org", "tfjobs"): "trials of another kind",
    ("kubeflow.org", "mpijobs"): "trials of another kind",
    ("kubeflow.org", "xgboostjobs"): "trials of another kind",
}
"""Rights of the vendor's role that are not asked for, and what they are for."""


@pytest.fixture
def theirs() -> Objects:
    """The vendor's objects."""
    return inventory(f"katib-{versions.KATIB.removeprefix('v')}-cert-manager")


@cache
def ours() -> Recorded:
    return built(SAMPLES["katib"])


def mine() -> Objects:
    return registered(ours())


def test_every_object_of_the_vendors_set_is_there_or_said_to_be_left_out(theirs: Objects) -> None:
    assert set(theirs) - set(mine()) == set(LEFT_OUT)


def test_no_right_is_ours_alone_and_what_is_left_out_is_said(theirs: Objects) -> None:
    wanted = rights(theirs["ClusterRole", "katib-controller"]["rules"])
    everywhere = rights(mine()["ClusterRole", "katib-controller"]["rules"])
    asked = everywhere | {right for each in ours().of_type("Role") for right in rights(each.inputs["rules"])}
    assert {right for right in asked if right not in wanted and (*right[:2], "*") not in wanted} == set()
    missing = {(group, resource) for group, resource, _ in wanted - asked}
    assert missing == set(NOT_NEEDED)
    assert {verb for _, _, verb in everywhere} == {"get", "list", "watch"}


def test_the_webhooks_certificate_is_the_vendors_but_that_it_is_no_authority(theirs: Objects) -> None:
    was = theirs["Certificate", "katib-webhook-cert"]["spec"]
    here = mine()["Certificate", "katib-webhook-cert"]["spec"]
    assert all(here[key] == was[key] for key in ("dnsNames", "secretName"))
    assert was["isCA"]
    assert "isCA" not in here


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_webhooks_are_the_vendors(theirs: Objects, kind: str) -> None:
    was, here = (each[kind, "katib.kubeflow.org"]["webhooks"] for each in (theirs, mine()))
    for one, other in zip(was, here, strict=True):
        for key in ("name", "rules", "sideEffects", "admissionReviewVersions"):
            assert one[key] == other[key], key
        assert {**one["clientConfig"]["service"], "port": 443} == other["clientConfig"]["service"]


@pytest.mark.parametrize("name", ["katib-controller", "katib-db-manager"])
def test_deployments_are_the_vendors_but_for_what_is_said(theirs: Objects, name: str) -> None:
    was, here = theirs["Deployment", name], mine()["Deployment", name]["spec"]
    assert here["selector"] == was["selector"]
    (one,), (other,) = was["pod"]["containers"], here["template"]["spec"]["containers"]
    assert one["name"] == other["name"]
    assert one["command"] == other["command"]
    assert one.get("args") == other.get("args")
    assert {each["containerPort"] for each in one["ports"]} == {each["containerPort"] for each in other["ports"]}
    assert set(one["env"]) == {each["name"] for each in other["env"]}
    assert set(one["mounts"].values()) == {each["mountPath"] for each in other.get("volumeMounts", ())}
    assert one["securityContext"].items() <= other["securityContext"].items()


@pytest.mark.parametrize("name", ["katib-controller", "katib-db-manager"])
def test_services_are_the_vendors(theirs: Objects, name: str) -> None:
    was, here = theirs["Service", name], mine()["Service", name]["spec"]
    assert here["selector"] == was["serviceSelector"]
    assert {each["port"]: each["name"] for each in here["ports"]} == {
        each["port"]: each["name"] for each in was["ports"]
    }


def test_definitions_are_the_vendors(theirs: Objects) -> None:
    for (kind, name), was in theirs.items():
        if kind == "CustomResourceDefinition":
            here = mine()[kind, name]["spec"]
            assert [each["name"] for each in here["versions"]] == was["versions"]
            assert (here["group"], here["scope"]) == (was["group"], was["scope"])


@pytest.mark.engine
def test_the_database_is_that_of_the_vendors_set_with_postgresql() -> None:
    """No inventory has that set: its files are those of the vendor's Go module."""

    def read(name: str) -> Any:
        return yaml.safe_load(manifest("katib", f"manifests/v1beta1/components/postgres/{name}.yaml").read_text())

    service, here = read("service"), mine()["Service", "katib-postgres"]
    assert service["spec"]["selector"] == here["spec"]["selector"]
    (was,), (port,) = service["spec"]["ports"], here["spec"]["ports"]
    assert (was["name"], was["port"]) == (port["name"], port["port"])
    (container,) = read("postgres")["spec"]["template"]["spec"]["containers"]
    (ours_,) = mine()["StatefulSet", "katib-postgres"]["spec"]["template"]["spec"]["containers"]
    assert [each["mountPath"] for each in container["volumeMounts"]] == [
        each["mountPath"] for each in ours_["volumeMounts"]
    ]
    told = {each["name"]: each.get("value") for each in ours_["env"]}
    assert {each["name"]: each["value"] for each in container["env"]}.items() <= told.items()
    assert {name: base64.b64decode(value).decode() for name, value in read("secret")["data"].items()} == {
        **{name: told[name] for name in ("POSTGRES_USER", "POSTGRES_DB")},
        "POSTGRES_PASSWORD": "katib",
    }


def test_images_are_of_the_version() -> None:
    assert all(
        re.fullmatch(rf"ghcr\.io/kubeflow/katib/{name}:{versions.KATIB}", image)
        for name, image in versions.KATIB_IMAGES.items()
    )


def test_the_configuration_names_the_trials_kind_and_each_algorithm_with_its_image() -> None:
    images = {name: f"{name}:1" for name in versions.KATIB_IMAGES}
    config = json.loads(katib_config(images, CollectorRoom(millicores=50, memory_mib=100)))
    assert config["init"]["controller"]["trialResources"] == ["PyTorchJob.v1.kubeflow.org"]
    told = {each["algorithmName"]: each["image"] for each in config["runtime"]["suggestions"]}
    assert told == {name: f"{image}:1" for name, image in SUGGESTIONS.items()}
    (collector,) = config["runtime"]["metricsCollectors"]
    assert collector["resources"]["limits"] == {"cpu": "50m", "memory": "100Mi"}
