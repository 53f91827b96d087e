"""Signed images in a cluster with a real API server: pods and gangs admitted, refused, and what happens in an outage.

The chart is the real one with the program's values and policy; its controller is played, and asks a registry on this
machine for signatures that are really checked (Y09).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from components.platform.image_signatures import (
    ACCOUNT,
    POLICY,
    ImageSignaturesArgs,
    Signer,
    kyverno_values,
    policy,
)
from planner.supply import TIMEOUT_SECONDS
from rehearsal import toolchain
from rehearsal.images.kyverno.controller import API, CONFIGURATION, KIND, REGISTRATION
from rehearsal.images.table import known
from rehearsal.kube.client import ApiError
from rehearsal.testing.registry import Registry
from rehearsal.testing.registry import Signer as Pair
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.toolchain.families import BASE
from stacks.network import SIGNATURES
from tests.graph import schema_kubernetes

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Checked:
    """A cluster whose namespace `training` takes signed images alone, with a signed image and one that is not."""

    site: Site
    registry: Registry
    signed: str
    unsigned: str

    def pod(self, name: str, image: str, namespace: str = "training") -> None:
        """Raises ApiError where admission refuses it."""
        meta = {"name": name, "namespace": namespace}
        self.site.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec(image)})

    def gang(self, name: str, worker: str) -> None:
        """A PyTorchJob whose master has the signed image. Raises ApiError."""
        roles = {
            role: {"replicas": 1, "template": {"spec": spec(image, "pytorch")}}
            for role, image in (("Master", self.signed), ("Worker", worker))
        }
        meta = {"name": name, "namespace": "training"}
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta}
        self.site.kube.create({**job, "spec": {"pytorchReplicaSpecs": roles}})

    def names(self, kind: str, api: str = "v1") -> set[str]:
        return {each["metadata"]["name"] for each in self.site.kube.list(api, kind, "training")}


def spec(image: str, name: str = "main") -> dict[str, Any]:
    return {"containers": [{"name": name, "image": image}]}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checked]:
    if (vendors := schema_kubernetes.upstream()) is not None:
        os.environ["GPUCLUSTER_UPSTREAM"] = str(vendors)
    registry, pair = Registry(), Pair()
    signed, unsigned = registry.image("ml/trainer"), registry.image("ml/stranger")
    registry.sign(signed, pair)
    registry.sign(unsigned, Pair())
    made = Site(tmp_path_factory.mktemp("signed"), "signed", known(()), (*BASE, "helm", "crds"))
    try:
        for addon in ("vpc-cni", "kube-proxy"):
            made.account.addon(addon)
        made.account.nodegroup("system", 1, made.account.template("system", "m7i.2xlarge"), "AL2023_x86_64_STANDARD")
        for namespace in ("training", "elsewhere"):
            made.apply(workloads.namespace(namespace))
        (definition,) = (path for path in toolchain.crds("training-operator") if "pytorchjobs" in path.name)
        made.apply(yaml.safe_load(definition.read_text()))
        values = kyverno_values(ACCOUNT, ["training"], replicas=1, cpu_millicores=100, memory_mib=384)
        values["admissionController"].pop("serviceMonitor")
        made.install("kyverno", SIGNATURES, values)
        until(lambda: made.available(SIGNATURES, "kyverno-admission-controller"), 180, "the controller runs")
        args = ImageSignaturesArgs(
            namespaces=["training"],
            signer=Signer(key=pair.public),
            timeout_seconds=TIMEOUT_SECONDS,
            providers=[],
            after=None,  # type: ignore[arg-type]
        )
        until(lambda: served(made), 60, "the API server has Kyverno's kinds")
        made.apply({"apiVersion": API, "kind": KIND, "metadata": {"name": POLICY}, "spec": policy(args)})
        until(lambda: ready(made), 60, "the policy is enforced")
        yield Checked(made, registry, signed, unsigned)
    finally:
        made.stop()
        registry.stop()


def served(site: Site) -> bool:
    try:
        site.kube.list(API, KIND)
    except ApiError:
        return False
    return True


def ready(site: Site) -> bool:
    """What `up` waits for."""
    status = (site.kube.get(API, KIND, POLICY) or {}).get("status") or {}
    return bool((status.get("conditionStatus") or {}).get("ready"))


def test_a_signed_image_runs(checked: Checked) -> None:
    checked.pod("signed", checked.signed)
    assert "signed" in checked.names("Pod")


def test_an_unsigned_image_is_refused_by_the_policys_name(checked: Checked) -> None:
    with pytest.raises(ApiError, match=f"Policy {POLICY} failed: containers: an image lacks the signature"):
        checked.pod("stranger", checked.unsigned)
    assert "stranger" not in checked.names("Pod")


def test_an_image_by_tag_is_refused(checked: Checked) -> None:
    with pytest.raises(ApiError, match="does not have a digest"):
        checked.pod("tagged", f"{checked.registry.host}/ml/trainer:1")


def test_other_namespaces_take_any_image(checked: Checked) -> None:
    checked.pod("stranger", checked.unsigned, "elsewhere")


def test_a_gang_with_one_unsigned_worker_is_refused_as_a_whole(checked: Checked) -> None:
    with pytest.raises(ApiError, match=r"pod template at spec\.pytorchReplicaSpecs\.Worker\.template"):
        checked.gang("half", checked.unsigned)
    assert checked.names("PyTorchJob", "kubeflow.org/v1") == set()
    checked.gang("whole", checked.signed)
    assert checked.names("PyTorchJob", "kubeflow.org/v1") == {"whole"}


def test_a_registry_that_fails_admits_nothing(checked: Checked) -> None:
    checked.registry.status = 503
    try:
        with pytest.raises(ApiError, match="unexpected status code 503"):
            checked.pod("later", checked.signed)
    finally:
        checked.registry.status = 200
    checked.pod("later", checked.signed)


def test_while_nothing_checks_the_namespace_takes_no_pod_and_the_rest_goes_on(checked: Checked) -> None:
    site = checked.site
    scale = {"spec": {"replicas": 0}}
    site.kube.patch("apps/v1", "Deployment", "kyverno-admission-controller", SIGNATURES, scale)
    until(lambda: not site.kube.list("v1", "Pod", SIGNATURES), 60, "its pods are gone")
    with pytest.raises(ApiError, match="failed calling webhook"):
        checked.pod("unchecked", checked.signed)
    checked.pod("unchecked", checked.unsigned, "elsewhere")
    site.kube.patch("apps/v1", "Deployment", "kyverno-admission-controller", SIGNATURES, {"spec": {"replicas": 1}})
    until(lambda: site.available(SIGNATURES, "kyverno-admission-controller"), 90, "it is back in its own namespace")
    until(lambda: admitted(checked), 60, "pods start again")


def admitted(checked: Checked) -> bool:
    try:
        checked.pod("again", checked.signed)
    except ApiError:
        return False
    return True


def test_without_the_policy_nobody_is_asked(checked: Checked) -> None:
    site = checked.site
    site.kube.delete({"apiVersion": API, "kind": KIND, "metadata": {"name": POLICY}})
    until(lambda: not _webhooks(site), 60, "the API server asks no more")
    checked.pod("free", checked.unsigned)


def _webhooks(site: Site) -> list[Any]:
    found = site.kube.get(REGISTRATION, "ValidatingWebhookConfiguration", CONFIGURATION) or {}
    return list(found.get("webhooks") or [])
