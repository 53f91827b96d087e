"""Signed images in a cluster with a real API server: pods and gangs admitted, refused, and what happens in an outage.

The chart is the real one with the program's values and policy, and so is its controller, which asks a registry on this
machine for signatures (Y09).
"""

import os
import threading
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
from rehearsal.images.kyverno.clearing import MANAGED, REGISTRATION
from rehearsal.images.kyverno.controller import API, EXCEPTION, KIND
from rehearsal.images.table import known
from rehearsal.kube.client import ApiError
from rehearsal.plugins.kubernetes.helm import Helm
from rehearsal.testing.registry import Registry
from rehearsal.testing.registry import Signer as Pair
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.toolchain.families import BASE
from rehearsed import PROGRAM
from stacks.namespaces import SIGNATURES
from tests.graph import schema_kubernetes

pytestmark = pytest.mark.engine

CONTROLLER = "kyverno-admission-controller"
UNSIGNED = f"Policy {POLICY} failed: containers: an image lacks the signature"
DIGEST = f"sha256:{'a' * 64}"


@dataclass(frozen=True)
class Checked:
    """A cluster whose namespace `training` takes signed images alone, with a signed image and one that is not."""

    site: Site
    registry: Registry
    pair: Pair
    signed: str
    unsigned: str

    def pod(self, name: str, image: str, namespace: str = "training") -> None:
        """Raises ApiError where admission refuses it."""
        meta = {"name": name, "namespace": namespace}
        self.site.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec(image)})

    def controllers(self, image: str) -> None:
        """A Deployment and a CronJob, which are not kept. Raises ApiError."""
        meta = {"name": "made", "namespace": "training"}
        pods = {"metadata": {"labels": {"app": "made"}}, "spec": spec(image)}
        work = {"template": {**pods, "spec": {**pods["spec"], "restartPolicy": "Never"}}}
        for api, kind, what in (
            ("apps/v1", "Deployment", {"selector": {"matchLabels": {"app": "made"}}, "template": pods}),
            ("batch/v1", "CronJob", {"schedule": "@yearly", "jobTemplate": {"spec": work}}),
        ):
            self.site.kube.create({"apiVersion": api, "kind": kind, "metadata": meta, "spec": what}, dry_run=True)

    def gang(self, name: str, worker: str, master: str | None = None) -> None:
        """A PyTorchJob whose master has the signed image unless another is given. Raises ApiError."""
        roles = {
            role: {"replicas": 1, "template": {"spec": spec(image, "pytorch")}}
            for role, image in (("Master", master or self.signed), ("Worker", worker))
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
    made = Site(tmp_path_factory.mktemp("signed"), "signed", known(PROGRAM.images), (*BASE, "helm", "crds", "kyverno"))
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
        until(lambda: made.available(SIGNATURES, CONTROLLER), 300, "the controller runs")
        args = ImageSignaturesArgs(
            namespaces=["training"],
            signer=Signer(key=pair.public),
            timeout_seconds=TIMEOUT_SECONDS,
            providers=[],
            after=None,  # type: ignore[arg-type]
        )
        until(lambda: served(made), 60, "the API server has Kyverno's kinds")
        until(lambda: excepted(made) == [POLICY], 60, "the exception is there before the policy")
        made.apply({"apiVersion": API, "kind": KIND, "metadata": {"name": POLICY}, "spec": policy(args)})
        until(lambda: ready(made), 180, "the policy is enforced")
        yield Checked(made, registry, pair, signed, unsigned)
    finally:
        made.stop()
        registry.stop()


def served(site: Site) -> bool:
    try:
        site.kube.list(API, KIND)
    except ApiError:
        return False
    return True


def excepted(site: Site) -> list[str]:
    """The policies of which there is an exception for registries out of reach."""
    found = site.kube.get(API, "PolicyException", EXCEPTION, SIGNATURES) or {"spec": {"policyRefs": []}}
    return [each["name"] for each in found["spec"]["policyRefs"]]


def ready(site: Site) -> bool:
    """What `up` waits for."""
    status = (site.kube.get(API, KIND, POLICY) or {}).get("status") or {}
    return bool((status.get("conditionStatus") or {}).get("ready"))


def test_a_signed_image_runs(checked: Checked) -> None:
    checked.pod("signed", checked.signed)
    assert "signed" in checked.names("Pod")
    checked.controllers(checked.signed)


def test_an_unsigned_image_is_refused_by_the_policys_name(checked: Checked) -> None:
    with pytest.raises(ApiError, match=UNSIGNED):
        checked.pod("stranger", checked.unsigned)
    assert "stranger" not in checked.names("Pod")
    with pytest.raises(ApiError, match=UNSIGNED):
        checked.controllers(checked.unsigned)


def test_a_signature_of_another_image_is_none(checked: Checked) -> None:
    """Whoever can push could put the one beside the other."""
    image = checked.registry.image("ml/lent")
    checked.registry.sign(image, checked.pair, of=checked.signed)
    with pytest.raises(ApiError, match=UNSIGNED):
        checked.pod("lent", image)


def test_what_was_signed_cannot_be_changed_behind_the_signature(checked: Checked) -> None:
    image = checked.registry.image("ml/changed")
    checked.registry.sign(image, checked.pair)
    checked.registry.replace("ml/changed/blobs/", b"{}")
    with pytest.raises(ApiError, match=f"Policy {POLICY} "):
        checked.pod("changed", image)


def test_an_image_by_tag_is_refused(checked: Checked) -> None:
    with pytest.raises(ApiError, match="does not have a digest"):
        checked.pod("tagged", f"{checked.registry.host}/ml/trainer:1")


def test_other_namespaces_take_any_image(checked: Checked) -> None:
    checked.pod("stranger", checked.unsigned, "elsewhere")


def test_images_out_of_reach_are_let_through_by_their_digests(checked: Checked) -> None:
    """Not beside others, and not without a digest."""
    image = "registry.example/ml/trainer"
    checked.pod("far", f"{image}@{DIGEST}")
    checked.controllers(f"{image}@{DIGEST}")
    with pytest.raises(ApiError, match="does not have a digest"):
        checked.pod("far-tagged", f"{image}:1")
    with pytest.raises(ApiError, match=UNSIGNED):
        checked.gang("near", checked.unsigned, f"{image}@{DIGEST}")


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
    """Its machine takes no pods, and the one that was there has gone."""
    site = checked.site
    (node,) = site.nodes("system")
    (pod,) = site.pods(SIGNATURES, CONTROLLER)
    cordoned = {"spec": {"unschedulable": True}}
    site.kube.patch("v1", "Node", node["metadata"]["name"], None, cordoned)
    site.kube.delete({"apiVersion": "v1", "kind": "Pod", **pod})
    until(lambda: pod["metadata"]["name"] not in names(site), 120, "its pod is gone")
    with pytest.raises(ApiError, match="failed calling webhook"):
        checked.pod("unchecked", checked.signed)
    with pytest.raises(ApiError, match="failed calling webhook"):
        site.kube.patch("v1", "Pod", "signed", "training", {"metadata": {"labels": {"seen": "yes"}}})
    checked.pod("unchecked", checked.unsigned, "elsewhere")
    site.kube.patch("v1", "Node", node["metadata"]["name"], None, {"spec": {"unschedulable": None}})
    until(lambda: site.available(SIGNATURES, CONTROLLER), 180, "it is back in its own namespace")
    until(lambda: admitted(checked), 120, "pods start again")


def names(site: Site) -> list[str]:
    return [each["metadata"]["name"] for each in site.pods(SIGNATURES)]


def admitted(checked: Checked) -> bool:
    try:
        checked.pod("again", checked.signed)
    except ApiError:
        return False
    return True


def test_without_replicas_nobody_is_asked(checked: Checked) -> None:
    """Who scales it to none opens the namespaces: ending, it takes its webhooks with it (pkg/webhooks/server.go)."""
    scaled(checked.site, 0)
    until(lambda: not asked(checked.site), 120, "the API server asks no more")
    checked.pod("free", checked.unsigned)
    scaled(checked.site, 1)
    until(lambda: POLICY in asked(checked.site), 180, "the API server asks again")
    until(lambda: refuses(checked), 60, "the namespace is closed again")


def scaled(site: Site, replicas: int) -> None:
    site.kube.patch("apps/v1", "Deployment", CONTROLLER, SIGNATURES, {"spec": {"replicas": replicas}})


def refuses(checked: Checked) -> bool:
    try:
        checked.pod("tried", checked.unsigned)
    except ApiError as error:
        return UNSIGNED in error.message
    meta = {"name": "tried", "namespace": "training"}
    checked.site.kube.delete({"apiVersion": "v1", "kind": "Pod", "metadata": meta})
    return False


def asked(site: Site) -> str:
    """The names of its webhooks that look at pods and what makes them."""
    labels = ",".join(f"{key}={value}" for key, value in MANAGED.items())
    found = site.kube.list(REGISTRATION, "ValidatingWebhookConfiguration", label_selector=labels)
    return " ".join(hook["name"] for each in found for hook in each.get("webhooks") or [] if "ivpol" in hook["name"])


def test_without_the_policy_nobody_is_asked(checked: Checked) -> None:
    site = checked.site
    site.kube.delete({"apiVersion": API, "kind": KIND, "metadata": {"name": POLICY}})
    until(lambda: not asked(site), 120, "the API server asks no more")
    checked.pod("open", checked.unsigned)


def test_a_release_that_goes_leaves_no_webhook(checked: Checked) -> None:
    Helm(checked.site.kube, threading.Event()).uninstall(SIGNATURES, "kyverno", 300, wait=True)
    until(lambda: not left(checked.site), 120, "nothing asks what is no more")


def left(site: Site) -> list[str]:
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    found = (each["metadata"]["name"] for kind in kinds for each in site.kube.list(REGISTRATION, kind))
    return [name for name in found if name.startswith("kyverno")]
