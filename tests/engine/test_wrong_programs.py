"""Wrong programs end as in life: with pods that wait, and with the reason that Kubernetes or AWS gives.

One site is led through five wrong programs, each nearer to a right one, so that every mistake is alone with its effect.
What a person reads is asserted: the engine's errors, and the sentences with which `make up` closes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from rehearsal.command import apply
from rehearsal.engine.run import Outcome
from rehearsal.plugins.kubernetes.reasons import explain

from . import wrong
from .rehearsed import LOOK_SECONDS, Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = pytest.mark.engine

Object = Mapping[str, Any]

GOES_ON = "--continue-on-error"
"""The engine does what does not depend on a failure, so that one run shows several mistakes."""

CHECKS = "checks_that_nobody_waits_for"
NODES = (CHECKS, "nothing_desired", "efa_interfaces_left_out", "product_that_no_gpu_has")
DAEMONS = ("no_gpu_operator", "efa_plugin_tolerates_nothing", "driver_of_another_file_system")
WORKLOADS = ("tolerates_nothing", "claim_of_an_unknown_class", "one_try_for_weights")
LEFT = (
    CHECKS,
    "nothing_desired",
    "efa_interfaces_left_out",
    "image_without_driver",
    "operator_without_gangs",
    "taint_that_nobody_tolerates",
)
SERVICES = (
    "secret_that_nobody_makes",
    "more_gpus_than_the_pod_has",
    "port_where_nobody_listens",
    "weights_that_are_not_there",
)

NO_GPUS = r"gang training/plain has 0 of 1 pods running .*1 nvidia\.com/gpu asked for, nodes have 0"
NO_EFA = r"gang training/plain has 0 of 1 pods running .*1 vpc\.amazonaws\.com/efa asked for, nodes have 0"
NO_EFA_ON_THE_NODE = r"pod training/fabricless-master-0: .*\d+ Insufficient vpc\.amazonaws\.com/efa"
COUNTED = r"job gpu-operator/gpu-checks-fabricless-.*timed out waiting for the condition on nodes/ip-"
NO_TOLERATION = r"gang training/untolerating .*untolerated taint \{nvidia\.com/gpu: present\}"
RESERVED = r"pod training/reserved-master-0: .*untolerated taint \{example\.com/reserved: true\}"
NO_NODE = r"gang training/empty .*node\(s\) didn't match Pod's node affinity/selector"
NO_SUCH_PRODUCT = r"gang training/mislabelled .*node\(s\) didn't match Pod's node affinity/selector"
NO_VOLUME = r"gang training/unclaimed .*pod has unbound immediate PersistentVolumeClaims"
NO_CLASS = (
    r"claim training/unclaimed-master-0-checkpoints: .*ProvisioningFailed: "
    r'storageclass\.storage\.k8s\.io "lustre" not found'
)
NO_DRIVER = (
    r"job inference/weights-deaf-.*driver name fsx\.csi\.aws\.com not found in the list of registered CSI drivers"
)
NO_WEIGHTS = r"job inference/weights-weightless-.*no object lies below s3://acme-model-weights/llama-3-8b/lost/"
NO_SECRET = r'deployment inference/tokenless .*CreateContainerConfigError: secret "forgotten" not found'
TOO_FEW_GPUS = r"deployment inference/wide .*World size \(2\) is larger than the number of available GPUs \(1\)"
NOBODY_LISTENS = r"Service inference/deaf port http leads to deaf-\S+:8080, where no container listens"

EVERY_SYMPTOM = (
    NO_GPUS,
    NO_EFA,
    NO_EFA_ON_THE_NODE,
    COUNTED,
    NO_TOLERATION,
    NO_NODE,
    NO_SUCH_PRODUCT,
    RESERVED,
    NO_VOLUME,
    NO_CLASS,
    NO_DRIVER,
    NO_WEIGHTS,
    NO_SECRET,
    TOO_FEW_GPUS,
    NOBODY_LISTENS,
)


@dataclass(frozen=True)
class Step:
    """What a person saw of one wrong program: how the engine ended, what the cluster said, what nodes had, and which
    phases the pods of each run were in.
    """

    outcome: Outcome
    complaints: str
    nodes: Mapping[str, Sequence[Object]]
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def error(self, name: str) -> str:
        """The engine's error about the resource `name`; fails the test if there is none."""
        found = [each for each in self.outcome.record.errors() if each.urn is not None and each.urn.name == name]
        assert found, self.outcome.explain()
        return found[0].message


def complaints(site: Rehearsed) -> str:
    """A line for everything that does not run as asked: what `make up` says, and why Jobs and claims wait."""
    kube = site.kube
    jobs = [each for each in kube.list("batch/v1", "Job") if not each.get("status", {}).get("succeeded")]
    claims = [each for each in kube.list("v1", "PersistentVolumeClaim") if each["status"]["phase"] != "Bound"]
    lines = [sentence for view in site.session.views() for sentence in view.unready()]
    for kind, version, found in (("job", "batch/v1", jobs), ("claim", "v1", claims)):
        for each in found:
            typed = {"apiVersion": version, "kind": {"job": "Job", "claim": "PersistentVolumeClaim"}[kind], **each}
            where = f"{kind} {each['metadata']['namespace']}/{each['metadata']['name']}"
            lines.append(f"{where}: {'; '.join(explain(typed, kube))}")
    return "\n".join(lines)


def nodes_by_pool(site: Rehearsed) -> dict[str, list[Object]]:
    pools: dict[str, list[Object]] = {}
    for node in site.kube.list("v1", "Node"):
        pools.setdefault(node["metadata"]["labels"]["gpucluster/pool"], []).append(node)
    return pools


def seen(site: Rehearsed, outcome: Outcome, *symptoms: str) -> Step:
    """The step after its symptoms have shown, or have had the time to: the tests say which one did not."""

    def shown() -> str:
        text = complaints(site)
        return text if all(re.search(symptom, text) for symptom in symptoms) else ""

    try:
        text = until(shown, "the symptoms of a wrong program", 60.0)
    except pytest.fail.Exception:
        text = complaints(site)
    phases: dict[str, list[str]] = {}
    for pod in site.kube.list("v1", "Pod", "training", label_selector="gpucluster/run"):
        phases.setdefault(pod["metadata"]["labels"]["gpucluster/run"], []).append(pod["status"]["phase"])
    return Step(outcome, text, nodes_by_pool(site), {run: sorted(found) for run, found in phases.items()})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """A site of its own: what is wrong here is nobody else's business."""
    directory = tmp_path_factory.mktemp("wrong")
    with rehearsed("wrong", Tree.copy(directory / "tree"), directory / "state") as opened:
        yield opened


@pytest.fixture(scope="module")
def locked_out(site: Rehearsed) -> Step:
    """The first `up`: nobody may enter the cluster, and the nodes of one pool are cut off from it."""
    wrong.many_small_pools(site.tree, "outside")
    wrong.make(site.tree, "entry_of_another_role", "cluster_group_left_out", *NODES, *DAEMONS)
    outcome = site.up(GOES_ON)
    return Step(outcome, "", nodes_by_pool(site))


@pytest.fixture(scope="module")
def without_rights(site: Rehearsed, locked_out: Step) -> Step:
    """The deployer may enter, and do nothing."""
    site.tree.restore()
    wrong.many_small_pools(site.tree)
    wrong.make(site.tree, "entry_that_may_only_look", *NODES, *DAEMONS)
    return Step(site.up(GOES_ON), "", {})


@pytest.fixture(scope="module")
def bare(site: Rehearsed, locked_out: Step) -> Step:
    """Everything is there but what makes GPUs, EFA and the file system usable."""
    site.tree.restore()
    wrong.many_small_pools(site.tree)
    wrong.make(site.tree, "short_wait_for_weights", *NODES, *DAEMONS, *WORKLOADS)
    return seen(site, site.up(GOES_ON), NO_GPUS, NO_DRIVER, NO_CLASS)


@pytest.fixture(scope="module")
def misfits(site: Rehearsed, bare: Step) -> Step:
    """GPUs and file system are there, EFA is not yet, and runs and services are wrong, each in its own way."""
    site.tree.restore()
    wrong.many_small_pools(site.tree)
    wrong.make(site.tree, "efa_plugin_tolerates_nothing", *NODES, *WORKLOADS, *SERVICES)
    symptoms = (NO_EFA, NO_TOLERATION, NO_NODE, NO_SUCH_PRODUCT, NO_VOLUME, NO_CLASS)
    served = (NO_WEIGHTS, NO_SECRET, TOO_FEW_GPUS, NOBODY_LISTENS)
    return seen(site, site.up(GOES_ON), *symptoms, *served)


@pytest.fixture(scope="module")
def almost_right(site: Rehearsed, misfits: Step) -> Step:
    """EFA is there, but not on the nodes whose template leaves it out."""
    site.tree.restore()
    wrong.few_runs(site.tree)
    wrong.make(site.tree, *LEFT)
    outcome = site.up()
    return seen(site, outcome, NO_EFA_ON_THE_NODE, COUNTED, RESERVED)


@pytest.fixture(scope="module")
def driverless(site: Rehearsed, almost_right: Step) -> Step:
    """The GPU Operator is asked again, now that one pool's image has no driver."""
    wrong.make(site.tree, *LEFT, "short_wait_for_gpus")
    return seen(site, site.up(GOES_ON))


def allocatable(nodes: Mapping[str, Sequence[Object]], pool: str, resource: str) -> list[int]:
    """How much of the resource each node of a pool offers."""
    return [int(node["status"]["allocatable"].get(resource, 0)) for node in nodes.get(pool, ())]


# -- access


def test_without_an_access_entry_nothing_of_kubernetes_is_tried_lf05(locked_out: Step) -> None:
    said = "has not admitted the deployer after 60 s (401 Unauthorized): the deployer has no access entry"
    assert said in locked_out.outcome.explain()


@pytest.mark.scale
def test_an_access_entry_without_a_policy_allows_nothing_lf05(without_rights: Step) -> None:
    said = "(authenticated, but without permissions): the access entry lacks the administrator policy"
    assert said in without_rights.outcome.explain()


# -- nodes


def test_nodes_without_the_cluster_security_group_do_not_join(locked_out: Step) -> None:
    text = locked_out.error("pool-outside-nodes")
    assert "gpucluster-dev:outside is CREATE_FAILED" in text
    assert "NodeCreationFailure: Instances failed to join the kubernetes cluster (i-" in text
    assert "outside" not in locked_out.nodes


def test_a_pool_that_wants_no_nodes_has_none_and_its_gang_waits(misfits: Step) -> None:
    assert "empty" not in misfits.nodes
    assert re.search(NO_NODE, misfits.complaints), misfits.complaints


def test_a_product_that_no_gpu_has_selects_no_node(misfits: Step) -> None:
    (node,) = misfits.nodes["mislabelled"]
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-A10G"
    assert re.search(NO_SUCH_PRODUCT, misfits.complaints), misfits.complaints


def test_a_template_without_efa_interfaces_gives_nodes_without_efa(almost_right: Step) -> None:
    assert almost_right.outcome.status == 0, almost_right.outcome.explain()
    resource = "vpc.amazonaws.com/efa"
    assert allocatable(almost_right.nodes, "training", resource) == [1, 1]
    assert allocatable(almost_right.nodes, "fabricless", resource) == [0]
    assert re.search(NO_EFA_ON_THE_NODE, almost_right.complaints), almost_right.complaints


# -- what runs on the nodes


def test_without_the_gpu_operator_there_are_no_gpus(bare: Step) -> None:
    assert allocatable(bare.nodes, "training", "nvidia.com/gpu") == [0, 0]
    assert re.search(NO_GPUS, bare.complaints), bare.complaints


@pytest.mark.scale
def test_an_image_without_the_driver_is_told_by_the_gate_behind_the_gpu_operator_k02(driverless: Step) -> None:
    """Whoever waits for GPUs is not asked: the operator's validator says on how many nodes it could not pass."""
    assert allocatable(driverless.nodes, "graphics", "nvidia.com/gpu") == [0]
    text = driverless.error("gpu-readiness-wait")
    assert "[Pod gpu-operator/gpu-readiness-" in text
    assert re.search(r'daemon set "nvidia-operator-validator" rollout to finish: \d+ of \d+ updated pods', text), text
    assert "timed out waiting for the condition" in text


def test_an_efa_plugin_that_tolerates_nothing_shows_no_efa(misfits: Step) -> None:
    assert allocatable(misfits.nodes, "training", "nvidia.com/gpu") == [1, 1]
    assert allocatable(misfits.nodes, "training", "vpc.amazonaws.com/efa") == [0, 0]
    assert re.search(NO_EFA, misfits.complaints), misfits.complaints


def test_the_gang_runs_when_the_plugin_tolerates_the_taint(almost_right: Step) -> None:
    assert "training/plain" not in almost_right.complaints


def test_without_the_csi_driver_no_pod_mounts_the_file_system(bare: Step) -> None:
    text = bare.error("weights-deaf-copy")
    assert "[DeadlineExceeded] Job was active longer than specified deadline" in text
    assert re.search(NO_DRIVER, bare.complaints), bare.complaints


# -- workloads


def test_an_operator_without_its_gang_flag_starts_half_a_gang_kj10(almost_right: Step) -> None:
    """The half holds a node, and waits for one that another run has."""
    assert almost_right.phases["single"] == ["Running"]
    assert almost_right.phases["halved"] == ["Pending", "Running"]


def test_a_node_that_offers_too_few_cards_is_named_by_the_check_of_its_pool_j07(almost_right: Step) -> None:
    assert re.search(COUNTED, almost_right.complaints), almost_right.complaints


def test_a_taint_that_nobody_tolerates_keeps_a_pool_empty(almost_right: Step) -> None:
    assert re.search(RESERVED, almost_right.complaints), almost_right.complaints


def test_a_gang_without_toleration_meets_the_taint(misfits: Step) -> None:
    assert re.search(NO_TOLERATION, misfits.complaints), misfits.complaints


def test_a_claim_of_an_unknown_class_stays_pending_and_so_do_its_pods(bare: Step, misfits: Step) -> None:
    assert re.search(NO_CLASS, bare.complaints), bare.complaints
    assert re.search(NO_VOLUME, misfits.complaints), misfits.complaints


def test_a_missing_secret_keeps_the_server_from_starting(misfits: Step) -> None:
    text = misfits.error("service-tokenless-deployment")
    assert "'tokenless' timed out waiting to be Ready" in text
    assert '[CreateContainerConfigError] secret "forgotten" not found' in text
    assert re.search(NO_SECRET, misfits.complaints), misfits.complaints


def test_more_parallelism_than_gpus_crashes_the_server(misfits: Step) -> None:
    text = misfits.error("service-wide-deployment")
    assert 'container "vllm" terminated at ' in text
    assert "World size (2) is larger than the number of available GPUs (1)" in text
    assert re.search(TOO_FEW_GPUS, misfits.complaints), misfits.complaints


def test_weights_that_are_not_there_fail_their_job(misfits: Step) -> None:
    text = misfits.error("weights-weightless-copy")
    assert "[Pod inference/weights-weightless-" in text
    assert "BackoffLimitExceeded" in text
    assert "no object lies below s3://acme-model-weights/llama-3-8b/lost/" in text


def test_a_service_that_leads_to_a_closed_port_is_named_at_the_end_of_up(misfits: Step) -> None:
    """To the engine the Service is fine: it has ready endpoints. Nobody answers there all the same."""
    names = [each.urn.name for each in misfits.outcome.record.errors() if each.urn is not None]
    assert "service-deaf-deployment" not in names
    assert "service-deaf-service" not in names
    assert re.search(NOBODY_LISTENS, misfits.complaints), misfits.complaints


# -- the opposite


@pytest.fixture(scope="module")
def said_of_dev(dev: Rehearsed) -> str:
    return complaints(dev)


@pytest.mark.parametrize("symptom", EVERY_SYMPTOM)
def test_a_right_program_shows_none_of_it(said_of_dev: str, symptom: str) -> None:
    assert not re.search(re.sub(r"training/[\w-]+|inference/[\w-]+-?", r"\\S+", symptom), said_of_dev)


def test_a_right_program_ends_without_complaint(dev: Rehearsed, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make up` exits with 1 if anything is missing."""
    monkeypatch.setattr(apply, "WAIT_SECONDS", LOOK_SECONDS)
    assert apply.wait_until_running(dev.session)[1] == []
    assert complaints(dev) == ""
    nodes = nodes_by_pool(dev)
    assert allocatable(nodes, "training", "nvidia.com/gpu") == [1, 1]
    assert allocatable(nodes, "training", "vpc.amazonaws.com/efa") == [1, 1]
