"""Before a destroy: what controllers made in a cluster goes, in which order, and what is left to the destroy."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sweep.kubectl import Kubectl, VacateError
from sweep.steps import Step, dynamic, planned, steps, vacate
from sweep.vacate import main
from tests.sweep.inventory import Inventory

KUBECTL = '''#!{python}
"""kubectl over a file of objects: what get, delete and config view do for the words that are used here."""
import json, pathlib, sys
file = pathlib.Path({file!r})
held = json.loads(file.read_text())
if held["context"]:
    assert [sys.argv.pop(1), sys.argv.pop(1)] == ["--context", held["context"]]
words = [each for each in sys.argv[1:] if not each.startswith("--")]
if words[0] == "config":
    assert sys.argv[2:] == ["view", "--minify", "--output", "jsonpath={{.contexts[0].context.cluster}}"]
    print(held["cluster"], end="")
elif words[0] == "get":
    kinds = {{"persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume",
             "namespaces": "Namespace", "services": "Service", "ingresses": "Ingress",
             "deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet",
             "replicasets": "ReplicaSet", "jobs": "Job", "cronjobs": "CronJob", "pods": "Pod",
             "pytorchjobs.kubeflow.org": "PyTorchJob", "mpijobs.kubeflow.org": "MPIJob",
             "trainjobs.trainer.kubeflow.org": "TrainJob", "experiments.kubeflow.org": "Experiment",
             "customresourcedefinitions": "CustomResourceDefinition", "nodepools.karpenter.sh": "NodePool"}}
    wanted = [kinds[each] for each in words[1].split(",")]
    for each in held["objects"]:
        if each.get("status", {{}}).get("phase") == "Released":
            each["looks"] = each.get("looks", 0) + 1
    held["objects"] = [each for each in held["objects"] if each.get("looks", 0) < 3]
    file.write_text(json.dumps(held))
    print(json.dumps({{"items": [each for each in held["objects"] if each["kind"] in wanted]}}))
elif held.get("refuses") in words:
    sys.exit("error: timed out waiting for the condition")
else:
    assert sys.argv[-3:-1] == ["--ignore-not-found", "--wait"]
    assert sys.argv[-1] == "--timeout=600s"
    held["deleted"].append(sys.argv[2:-3])
    for each in held["objects"]:
        if each["kind"] == "PersistentVolume" and words[1] in ("namespace", "persistentvolumeclaims"):
            each["status"] = {{"phase": "Released"}}
    file.write_text(json.dumps(held))
'''


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Inventory:
    """The account in which the cluster stands, and of which nothing is to be removed."""
    made = Inventory()
    made.things["eks list_clusters"] = [{"name": "gpucluster-lab", "status": "ACTIVE"}]
    monkeypatch.setattr("sweep.vacate.AwsAccount", lambda *where: {("us-east-2", None): made}[where])
    return made


def thing(kind: str, name: str, namespace: str = "", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def ours(name: str) -> dict[str, Any]:
    """A namespace as Pulumi applies it."""
    made = thing("Namespace", name)
    made["metadata"]["managedFields"] = [{"manager": "pulumi-kubernetes-1a2b3c4d", "operation": "Apply"}]
    return made


def volume(name: str, policy: str = "Delete", *, made: bool = True) -> dict[str, Any]:
    found = thing("PersistentVolume", name, persistentVolumeReclaimPolicy=policy)
    found["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"} if made else {}
    return found


def claim(namespace: str, volume: str) -> dict[str, Any]:
    return thing("PersistentVolumeClaim", f"of-{volume}", namespace, volumeName=volume)


BALANCED = thing("Service", "front", "inference", type="LoadBalancer")
INSIDE = thing("Service", "kubernetes", "default", type="ClusterIP")
INGRESS = thing("Ingress", "pages", "team")
SPACES = [ours("inference"), ours("monitoring"), thing("Namespace", "team"), thing("Namespace", "default")]
FRONT = Step(("service", "front", "--namespace", "inference"), "its load balancer")
PAGES = Step(("ingress", "pages", "--namespace", "team"), "its load balancer")


def test_load_balancers_go_first_wherever_they_are_asked_for() -> None:
    assert steps(SPACES, [INSIDE, BALANCED, INGRESS], []) == [FRONT, PAGES]


def test_a_namespace_with_volumes_goes_whole_unless_pulumi_made_it() -> None:
    claims = [claim("team", "a"), claim("team", "b"), claim("monitoring", "c"), claim("kube-system", "d")]
    assert steps(SPACES, [], claims) == [Step(("namespace", "team"), "2 volumes")]


def test_the_default_namespace_cannot_go_its_workloads_and_claims_do() -> None:
    users, claims = steps(SPACES, [], [claim("default", "a")])
    assert users.words[0].startswith("deployments,statefulsets,")
    assert users.words[1:] == claims.words[1:] == ("--all", "--namespace", "default")
    assert claims.words[0] == "persistentvolumeclaims"


def test_only_volumes_that_a_driver_made_and_removes_count() -> None:
    """A file system's static volume, and one whose policy keeps it, are meant to stay."""
    volumes = [volume("a"), volume("kept", "Retain"), volume("static", made=False)]
    claims = [claim("team", each["metadata"]["name"]) for each in volumes] + [claim("team", "")]
    assert [each["metadata"]["name"] for each in dynamic(claims, volumes)] == ["of-a"]


class Cluster:
    """A cluster that `kubectl` at `binary` talks to."""

    def __init__(self, directory: Path, objects: Sequence[Any], cluster: str, refuses: str, context: str) -> None:
        self.file, self.binary = directory / "objects.json", directory / "kubectl"
        held = {"cluster": cluster, "objects": objects, "deleted": [], "refuses": refuses, "context": context}
        self.file.write_text(json.dumps(held))
        self.binary.write_text(KUBECTL.format(python=sys.executable, file=str(self.file)))
        self.binary.chmod(0o700)

    def deleted(self) -> list[list[str]]:
        found: list[list[str]] = json.loads(self.file.read_text())["deleted"]
        return found


@pytest.fixture
def made(tmp_path: Path) -> Any:
    def make(
        objects: Sequence[Any],
        cluster: str = "arn:aws:eks:us-east-2:123456789012:cluster/gpucluster-lab",
        refuses: str = "",
        context: str = "",
    ) -> Any:
        return Cluster(tmp_path, objects, cluster, refuses, context)

    return make


WHOLE = [*SPACES, INSIDE, BALANCED, volume("a"), claim("team", "a")]


def test_the_command_shows_asks_removes_and_waits_for_the_volumes(
    made: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sweep.steps.LOOK_SECONDS", 0.0)
    there: Cluster = made(WHOLE, context="mine")
    words = ["--stack", "lab", "--context", "mine", "--kubectl", str(there.binary)]
    assert main(words, ask=lambda _: "lba") == 1
    assert there.deleted() == []
    assert main(words, ask=lambda _: "lab") == 0
    assert there.deleted() == [["service", "front", "--namespace", "inference"], ["namespace", "team"]]
    said = capsys.readouterr().out
    assert "delete namespace team, and with it 1 volume\n" in said
    assert "done; next: make undeploy STACK=lab" in said


def test_nothing_to_do_is_said(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    there: Cluster = made([*SPACES, INSIDE])
    assert main(["--stack", "lab", "--kubectl", str(there.binary)]) == 0
    assert capsys.readouterr().out == "nothing to remove; next: make undeploy STACK=lab\n"


@pytest.mark.parametrize("cluster", ["", "arn:aws:eks:us-east-2:1:cluster/gpucluster-prod", "kind-lab"])
def test_another_cluster_is_left_alone(made: Any, cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    there: Cluster = made(WHOLE, cluster)
    assert main(["--stack", "lab", "--confirm", "lab", "--kubectl", str(there.binary)]) == 2
    assert "aws eks update-kubeconfig --name gpucluster-lab" in capsys.readouterr().err
    assert there.deleted() == []


def test_what_kubectl_refuses_is_told_and_nothing_after_it_is_done(
    made: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    there: Cluster = made(WHOLE, refuses="front")
    assert main(["--stack", "lab", "--confirm", "lab", "--kubectl", str(there.binary)]) == 1
    assert "timed out waiting for the condition; run the same command again" in capsys.readouterr().err
    assert there.deleted() == []


def test_a_machine_without_kubectl_and_volumes_that_stay_are_told(
    made: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--stack", "lab", "--kubectl", "/nonexistent/kubectl"]) == 1
    assert "kubectl is not on PATH" in capsys.readouterr().err
    there: Cluster = made(WHOLE)
    monkeypatch.setattr("sweep.steps.WAIT_SECONDS", -1)
    kubectl = Kubectl(str(there.binary))
    with pytest.raises(VacateError, match="still there after -1 s: a"):
        vacate(kubectl, planned(kubectl), lambda _: None)


def test_pools_of_karpenter_go_unless_pulumi_made_them() -> None:
    """Their nodes are in no state, and hold subnets and security groups; the stack's own go with the stack."""
    mine = ours("inference") | {"kind": "NodePool"}
    found = steps(SPACES, [BALANCED], [], [mine, thing("NodePool", "somebodys")])
    assert found == [FRONT, Step(("nodepools.karpenter.sh", "somebodys"), "its nodes")]


def test_what_somebody_sent_into_the_stacks_namespaces_goes_since_its_pods_hold_claims(made: Any) -> None:
    """A claim stays while a pod uses it (Kubernetes, "Storage Object in Use Protection"): a destroy waits and fails."""
    stack, chart, hook, owned = (thing("PyTorchJob", each, "inference") for each in ("a", "b", "c", "d"))
    stack["metadata"]["managedFields"] = ours("")["metadata"]["managedFields"]
    chart["metadata"]["annotations"] = {"meta.helm.sh/release-name": "x"}
    hook["metadata"]["annotations"] = {"helm.sh/hook": "pre-install"}
    owned["metadata"]["ownerReferences"] = [{"kind": "Trial", "name": "t"}]
    elsewhere = thing("Pod", "e", "kube-system")
    sent = [thing(kind, "try", "inference") for kind in ("PyTorchJob", "MPIJob", "TrainJob", "Experiment")]
    defined = [
        thing("CustomResourceDefinition", f"{each}.kubeflow.org")
        for each in ("pytorchjobs", "mpijobs", "trainjobs.trainer", "experiments")
    ]
    there: Cluster = made([*SPACES, stack, chart, hook, owned, elsewhere, *sent, *defined])
    assert main(["--stack", "lab", "--confirm", "lab", "--kubectl", str(there.binary)]) == 0
    assert there.deleted() == [[each["kind"].lower(), "try", "--namespace", "inference"] for each in sent]


def test_pools_are_asked_for_where_karpenter_has_defined_them(made: Any) -> None:
    """And runs where an operator did: kubectl fails at a kind that nobody has defined."""
    pool = thing("NodePool", "somebodys")
    assert planned(Kubectl(str(made([*SPACES, pool]).binary))) == []
    defined = thing("CustomResourceDefinition", "nodepools.karpenter.sh")
    found = planned(Kubectl(str(made([*SPACES, pool, defined]).binary)))
    assert found == [Step(("nodepools.karpenter.sh", "somebodys"), "its nodes")]
