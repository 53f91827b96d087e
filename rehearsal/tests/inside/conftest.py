"""One account with one real control plane and its effects, shared by the engine tests of this package."""

import base64
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rehearsal import toolchain
from rehearsal.charts import sources
from rehearsal.charts.played import files
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.eks.inside import Inside
from rehearsal.images.table import known
from rehearsal.kube.client import ApiError, Kube
from rehearsal.kubelet.images import Images
from rehearsal.plugins.kubernetes.helm import Helm
from rehearsal.plugins.kubernetes.helm_order import Order
from rehearsal.tests.inside import observed, workloads
from rehearsal.tests.inside.account import REGION, Account, until
from rehearsal.toolchain.families import FAMILIES

GPU_TAINT = (("nvidia.com/gpu", "present"),)
ADDONS = (
    "vpc-cni",
    "kube-proxy",
    "eks-pod-identity-agent",
    "coredns",
    "aws-fsx-csi-driver",
    "eks-node-monitoring-agent",
)
CONFIGURED = {
    "eks-node-monitoring-agent": {"configurationValues": '{"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}'}
}
GPU_OPERATOR = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}


class Site:
    """A cluster that runs: the account, the control plane, the effects, and an administrator's client."""

    def __init__(self, directory: Path, name: str, images: Images, families: Iterable[str] = tuple(FAMILIES)) -> None:
        """`families` are the tools that its pods and charts need; all of them unless a test says less."""
        self.account = Account(directory)
        self.account.network()
        self.account.cluster(name)
        tools = toolchain.ensure(families)
        self.plane = ControlPlane(directory / "cp", name, REGION, self.account.own, tools)
        self.plane.start()
        self.effects = Inside(self.plane, self.account.own, REGION, name, tools, images)
        self.effects.start()
        authority = base64.b64encode(self.plane.ca).decode()
        active = {"status": "ACTIVE", "endpoint": self.plane.endpoint, "certificateAuthority": authority}
        self.account.control("PUT", f"clusters/{REGION}/{name}", active)
        self.kube: Kube = self.plane.kube()

    def stop(self) -> None:
        self.effects.stop()
        self.plane.stop()
        self.account.stop()

    def apply(self, *objects: dict[str, Any]) -> None:
        """An API server serves a kind a moment after its definition is there."""
        for each in objects:
            until(partial(self._serves, each["apiVersion"], each["kind"]), 60, f"{each['kind']} is served")
            self.kube.apply(each, "tests", force=True)

    def _serves(self, api_version: str, kind: str) -> bool:
        try:
            self.kube.namespaced(api_version, kind)
        except ApiError as error:
            if error.reason != "NoMatch":
                raise
            return False
        return True

    def install(self, chart: str, where: str, values: dict[str, Any]) -> None:
        """A release of a chart at the version that is built or played, as Helm would install it."""
        row = sources.IN_MODULES.get(chart)
        version = row.own or row.version if row else files.load(chart)["version"]
        self.apply(workloads.namespace(where))
        order = Order(chart, where, sources.find(chart, version), values, wait=False)
        Helm(self.kube, threading.Event()).install(order)

    def nodes(self, group: str) -> list[dict[str, Any]]:
        return self.kube.list("v1", "Node", label_selector=f"eks.amazonaws.com/nodegroup={group}")

    def pods(self, where: str, prefix: str = "") -> list[dict[str, Any]]:
        return [pod for pod in self.kube.list("v1", "Pod", where) if pod["metadata"]["name"].startswith(prefix)]

    def events(self, where: str, name: str) -> list[tuple[str, str]]:
        """(reason, message) of the events of an object."""
        selector = f"involvedObject.name={name}"
        found = self.kube.list("v1", "Event", where, field_selector=selector)
        return [(each["reason"], each["message"]) for each in found]

    def succeeded(self, where: str, job: str) -> bool:
        status = (self.kube.get("batch/v1", "Job", job, where) or {}).get("status") or {}
        assert not status.get("failed"), [p["status"] for p in self.pods(where, job)]
        return bool(status.get("succeeded"))

    def available(self, where: str, deployment: str) -> bool:
        status = (self.kube.get("apps/v1", "Deployment", deployment, where) or {}).get("status") or {}
        return bool(status.get("availableReplicas"))


@pytest.fixture(scope="session")
def images() -> Images:
    """The images that the kubelets know."""
    return known(observed.ROWS)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, images: Images) -> Iterator[Site]:
    """A cluster with add-ons, a system node and two GPU nodes with one GPU and one EFA interface each."""
    made = Site(tmp_path_factory.mktemp("site"), "shared", images)
    try:
        account = made.account
        for addon in ADDONS:
            account.addon(addon, **CONFIGURED.get(addon, {}))
        account.nodegroup("system", 1, account.template("system", "m7i.2xlarge"), "AL2023_x86_64_STANDARD")
        template = account.template("train", "p5.4xlarge", efa=1)
        account.nodegroup("train", 2, template, "AL2023_x86_64_NVIDIA", GPU_TAINT)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def gpus(site: Site) -> Site:
    """The same with the GPU operator and the EFA plugin installed and their devices advertised."""
    site.install("gpu-operator", "gpu-operator", GPU_OPERATOR)
    values = {"tolerations": workloads.TOLERATES_GPU}
    site.install("aws-efa-k8s-device-plugin", "kube-system", values)
    until(lambda: len(advertised(site)) == 2, 60, "both GPU nodes show a GPU and an EFA device")
    return site


@pytest.fixture(scope="session")
def training(gpus: Site) -> Site:
    """The same with Volcano and the training operator ready."""
    gpus.install("volcano", "volcano-system", {})
    gpus.apply(*map(workloads.namespace, ("kubeflow", "training")))
    gpus.apply(workloads.account("installer", "kubeflow"), workloads.admin("installer", "kubeflow"))
    gpus.apply(workloads.crd_job())
    until(lambda: gpus.succeeded("kubeflow", "crds"), 30, "the CRD job ends well")
    gpus.apply(*workloads.training_operator())
    until(lambda: gpus.available("kubeflow", "training-operator"), 60, "the training operator is available")
    queue = ("scheduling.volcano.sh/v1beta1", "Queue", "default")
    until(lambda: gpus.kube.get(*queue), 30, "Volcano's controllers made the default queue")
    return gpus


def advertised(site: Site) -> list[str]:
    """The GPU nodes on which one GPU and one EFA device can be had."""
    wanted = {"nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "1"}
    return [
        node["metadata"]["name"]
        for node in site.nodes("train")
        if wanted.items() <= (node.get("status", {}).get("allocatable") or {}).items()
    ]
