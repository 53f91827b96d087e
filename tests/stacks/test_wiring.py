"""Every setting arrives where its user would look for it: a stack of distinctive values, and what it registers.

What the planner computes is compared with the plan, and versions with the catalogue, so neither is said here again.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogue import versions
from catalogue.images import pinned
from components.storage.sums import WEIGHTS, checked
from monitoring.dashboards.address import address
from planner.faces.outputs import aws_numbers
from planner.plan import plan
from planner.types import AwsPlan
from settings.load import from_file
from settings.model import AwsSettings
from tests.components.test_registered import shown
from tests.graph.harness import Recorded
from tests.graph.outputs import CALLER
from tests.graph.stackfiles import graph_of, run_program
from tests.stacks.arns import strangers

HERE = Path(__file__).with_name("wired")
WRITTEN: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "registered.yaml").read_text(encoding="utf-8"))


SHARED = ("checkpoints", "training-data")


@cache
def wired() -> Recorded:
    """What the stack registers."""
    return run_program(yaml.safe_load((HERE / "stack.yaml").read_text(encoding="utf-8"))["config"], stack="wired")


@cache
def planned() -> AwsPlan:
    """The stack's plan, made of its file."""
    settings = from_file(HERE / "stack.yaml")
    assert isinstance(settings, AwsSettings)
    return plan(settings)


def part(expected: Any, actual: Any) -> Any:
    """What of `actual` stands where `expected` says something; equal to it if all is as expected."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {key: part(each, actual.get(key)) for key, each in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [part(one, other) for one, other in zip(expected, actual, strict=True)]
    return actual


def filled(value: Any) -> Any:
    """An expectation with the ids that $name stands for."""
    if isinstance(value, dict):
        return {key: filled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each) for each in value]
    return re.sub(r"\$([a-z0-9-]+)", lambda found: _id(found[1]), value) if isinstance(value, str) else value


def _id(name: str) -> str:
    """The id of the resource that the beginning of `name` names, and the rest of it."""
    known = [each for each in wired().resources.values() if name == each.name or name.startswith(f"{each.name}-")]
    found = max((each for each in known if each.custom), key=lambda each: len(each.name))
    return found.id + name.removeprefix(found.name)


@pytest.mark.parametrize("name", WRITTEN)
def test_settings_arrive(name: str) -> None:
    resource, graph = wired().one(name), wired()
    expected = filled(WRITTEN[name])
    after = set(expected.pop("after", ()))
    inside = expected.pop("inside", None)
    assert after <= {graph.resources[urn].name for urn in resource.depends_on}
    assert inside is None or graph.resources[resource.parent].name == inside
    assert part(expected, shown(resource, graph)) == expected


STRANGERS = """
    s3:::acme-weights s3:::acme-weights/chat/v2/* s3:::acme-weights/vision/*
    s3:::acme-text s3:::acme-text/* s3:::acme-text/corpus/v3/*
    kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab
    iam::123456789012:root iam::123456789012:role/deploy iam::123456789012:role/pipeline iam::123456789012:role/on-call
    iam::123456789012:policy/boundary elasticfilesystem:us-east-2:123456789012:access-point/*
"""


def test_what_no_arn_of_the_stack_names_is_what_its_file_does() -> None:
    """All else that is written into policies and requests leads to something that the stack makes."""
    assert strangers(wired()) == {f"arn:aws:{each}" for each in STRANGERS.split()}


def container(name: str) -> dict[str, Any]:
    """The first container of the pods of a resource."""
    spec = wired().one(name).inputs["spec"]
    template = spec["pytorchReplicaSpecs"]["Worker"]["template"] if "pytorchReplicaSpecs" in spec else spec["template"]
    found: dict[str, Any] = template["spec"]["containers"][0]
    return found


def test_pods_ask_for_what_is_planned() -> None:
    run, service = planned().runs["pretrain"], planned().services["chat"]
    for name, pod in (("run-pretrain-job", run.pod), ("service-chat-deployment", service.pod)):
        limits = {
            "cpu": f"{pod.cpu_millicores}m",
            "memory": f"{pod.memory_mib}Mi",
            "nvidia.com/gpu": str(pod.gpus),
            **({"vpc.amazonaws.com/efa": str(pod.efa)} if pod.efa else {}),
        }
        if name.startswith("service"):
            limits |= {"cpu": f"{pod.cpu_millicores - 100}m", "memory": f"{pod.memory_mib - 128}Mi"}
        assert container(name)["resources"] == {"limits": limits, "requests": limits}


def test_rates_are_asked_for_of_the_stacks_file_system_x05() -> None:
    """In its region, against the capacity and the rate of the plan."""
    words = dict(word.split("=", 1) for word in container("file-system-rates-deployment")["command"][2:])
    assert words["--file-system"] == wired().one("lustre-file-system").id
    assert words["--address"] == f"https://monitoring.{planned().deployment.region}.amazonaws.com"
    assert int(words["--capacity"]) == planned().file_system.capacity_gib * 2**30
    assert int(words["--rate"]) == round(planned().storage.read_gb_per_s * 1e9)


def test_weights_have_the_planned_time_to_be_read_and_half_an_hour_more_to_be_copied() -> None:
    """And what it takes to compare them twice over: 16.06 GB at 0.3 GB/s."""
    service = planned().services["chat"]
    seconds, compared = service.startup_seconds, service.copy_seconds - service.startup_seconds - 1800
    assert compared == int(2 * 16.06 / 0.3)
    probe = container("service-chat-deployment")["startupProbe"]
    assert 0 <= probe["failureThreshold"] * probe["periodSeconds"] - seconds < probe["periodSeconds"]
    copy = wired().one("weights-chat-copy")
    assert copy.timeouts["create"] == f"{service.copy_seconds}s"
    assert copy.inputs["spec"]["activeDeadlineSeconds"] == service.copy_seconds


@pytest.mark.parametrize(
    ("copy", "source", "directory", "sha256"),
    [
        (
            "weights-chat-copy",
            "s3://acme-weights/chat/v2",
            r"/models/chat-[0-9a-f]{8}",
            "1b2c3d4e5f60718293a4b5c6d7e8f9010b2c3d4e5f60718293a4b5c6d7e8f901",
        ),
        ("models-vision-copy", "s3://acme-weights/vision", r"/triton/vision-[0-9a-f]{8}", None),
    ],
)
def test_weights_are_compared_with_the_digest_of_the_stack_file(
    copy: str, source: str, directory: str, sha256: str | None
) -> None:
    dash, script = container(copy)["args"]
    (place,) = set(re.findall(directory, script))
    words = ["aws", "s3", "sync", source, place, "--no-progress"]
    assert (dash, script) == ("-c", checked(words, place, source=source, sha256=sha256, kind=WEIGHTS))


@pytest.mark.parametrize("pool", ["base", "big", "spare", "chats"])
def test_nodes_are_as_planned(pool: str) -> None:
    template = wired().one(f"pool-{pool}-template")
    row = planned().pools[pool]
    made = [
        (each["networkCardIndex"], each["deviceIndex"], each["interfaceType"])
        for each in template.inputs["networkInterfaces"]
    ]
    assert made == [(each.network_card_index, each.device_index, each.interface_type.value) for each in row.interfaces]
    config = "\n".join(shown(template, wired())["inputs"].get("userData", ()))
    assert "maxPods" not in config
    assert ("RAID0" in config) == (row.instance.nvme is not None)
    assert ("placement" in template.inputs) == row.placement_group


CHARTS = {
    "volcano": versions.VOLCANO,
    "metrics-server": versions.METRICS_SERVER,
    "prometheus-operator-crds": versions.PROMETHEUS_OPERATOR_CRDS,
    "efa-plugin": versions.EFA_DEVICE_PLUGIN,
    "gpu-operator": versions.GPU_OPERATOR,
    "monitoring-stack-chart": versions.KUBE_PROMETHEUS_STACK,
    "log-collector": versions.FLUENT_BIT,
    "metrics-adapter": versions.PROMETHEUS_ADAPTER,
}


@pytest.mark.parametrize("release", CHARTS)
def test_charts_are_those_of_the_catalogue(release: str) -> None:
    made, chart = wired().one(f"{release}-release").inputs, CHARTS[release]
    assert (made["name"], made["chart"], made["version"]) == (chart.name, chart.name, chart.version)
    assert made["repositoryOpts"] == {"repo": chart.repository}


IMAGES = {
    "training-operator-deployment": versions.TRAINING_OPERATOR_IMAGE,
    "training-operator-crds-apply-first": versions.KUBECTL_IMAGE,
    "training-operator-crds-apply": versions.KUBECTL_IMAGE,
    "gang-admission-wait": versions.KUBECTL_IMAGE,
    "gpu-checks-big-count": versions.KUBECTL_IMAGE,
    "gpu-checks-big-smoke": versions.GPU_OPERATOR_IMAGE,
    "gpu-operator-crds-apply": versions.GPU_OPERATOR_IMAGE,
    "gpu-readiness-wait": versions.KUBECTL_IMAGE,
    "dataset-corpus-copy": versions.AWS_CLI_IMAGE,
    "weights-chat-copy": versions.AWS_CLI_IMAGE,
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_those_of_the_catalogue(name: str) -> None:
    assert container(name)["image"] == pinned(IMAGES[name])


def test_the_shell_beside_the_node_exporter_is_that_of_the_catalogue() -> None:
    values = wired().one("monitoring-stack-chart-release").inputs["values"]["prometheus-node-exporter"]
    assert [each["image"] for each in values["sidecars"]] == [pinned(versions.WAIT_IMAGE)]


def test_logs_are_sent_to_the_stacks_own_region_and_group() -> None:
    outputs = wired().one("log-collector-release").inputs["values"]["config"]["outputs"]
    assert outputs.count("region us-east-2\n") == 2
    assert outputs.count("log_group_name /aws/eks/gpucluster-wired/pods\n") == 2


def test_other_versions_are_those_of_the_catalogue() -> None:
    schedule = wired().one("backup-pretrain-schedule").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert schedule["containers"][0]["image"] == pinned(versions.AWS_CLI_IMAGE)
    waiting = f"--pytorch-init-container-image={pinned(versions.WAIT_IMAGE)}"
    assert waiting in container("training-operator-deployment")["args"]
    crds = wired().one("training-operator-crds-apply-first").inputs["spec"]["template"]["spec"]["initContainers"][0]
    assert f"/{versions.TRAINING_OPERATOR}/manifests/" in crds["args"][1]
    assert (crds["args"][3], crds["image"]) == (versions.TRAINING_OPERATOR_CRD_SHA256, pinned(versions.WAIT_IMAGE))
    release = versions.KUBERNETES["1.36"].ami_release
    assert {each.inputs["releaseVersion"] for each in wired().of_type("NodeGroup")} == {release}
    pins = {
        each.inputs["addonName"]: each.inputs.get("addonVersion") for each in wired().of_type("aws:eks/addon:Addon")
    }
    assert pins == {name: versions.ADDONS.get(name) for name in pins}
    volcano = wired().one("volcano-release").inputs["values"]
    assert volcano["basic"] == {
        "image_tag_version": f"v{versions.VOLCANO.version}",
        "image_pull_policy": "IfNotPresent",
    }


def test_whoever_deploys_is_asked_for_by_the_session_they_have() -> None:
    asked = [each.args for each in graph_of("dev").invokes if each.token.endswith(":getSessionContext")]
    assert asked == [{"arn": CALLER}]


def test_a_protected_stack_keeps_its_data_longer() -> None:
    graph = graph_of("prod")
    assert graph.one("keys-key").inputs["deletionWindowInDays"] == 30
    lustre = graph.one("lustre-file-system").inputs
    assert (lustre["automaticBackupRetentionDays"], lustre["skipFinalBackup"]) == (7, False)
    assert graph.one("object-store-bucket").inputs["forceDestroy"] is False


def test_a_person_is_told_what_the_stack_is() -> None:
    outputs, plan_, shown_ = wired().outputs, planned(), aws_numbers(planned())
    assert outputs["kubePlatform"] == {
        "cluster": "gpucluster-wired",
        "endpoint": "https://0123456789ABCDEF.gr7.us-east-2.eks.amazonaws.com",
        "openTo": ["198.51.100.0/24", "10.9.0.0/16", "10.10.0.0/20"],
        "kubernetesVersion": "1.36",
        "kubeconfigCommand": "aws eks update-kubeconfig --region us-east-2 --name gpucluster-wired --profile ml"
        " --role-arn arn:aws:iam::123456789012:role/deploy",
    }
    assert outputs["fabric"]["vpc"] == wired().one("network-vpc").id
    assert (outputs["fabric"]["kind"], outputs["fabric"]["gpuZone"]) == ("efa", "use2-az2")
    assert outputs["fabric"]["efaInterfaces"] == plan_.totals.efa_interfaces
    assert outputs["fabric"]["subnets"] == shown_["subnets"]
    hardware = outputs["hardware"]
    assert (hardware["nodes"], hardware["gpus"]) == (plan_.totals.nodes, plan_.totals.gpus)
    assert set(hardware["pools"]) == {"base", "big", "spare", "chats"}
    assert (hardware["priceUsd"], hardware["quotas"]) == (shown_["priceUsd"], shown_["quotas"])
    assert hardware["spendingTopic"] == wired().one("spending-topic").outputs["arn"]
    storage = outputs["storage"]
    assert storage["fileSystem"] == wired().one("lustre-file-system").id
    assert storage["bucket"] == "gpucluster-wired-artefacts-123456789012"
    names = ("inference/model-weights", *(f"{each}/{name}" for each in ("pipelines", "training") for name in SHARED))
    assert storage["claims"] == list(names)
    assert storage.items() >= shown_["storage"].items()
    monitoring, told = plan_.monitoring, outputs["monitoring"]
    assert monitoring
    assert (told["series"], told["samplesPerS"]) == (monitoring.series, monitoring.samples_per_s)
    assert (told["retentionDays"], told["diskGib"]) == (21, 123)
    assert told["logs"] == "aws logs tail /aws/eks/gpucluster-wired/pods --follow --region us-east-2"
    assert told["alertmanager"].endswith("service/kube-prometheus-stack-alertmanager 9093")
    assert told["dashboards"] == address("gpucluster-cluster")
    assert outputs["scheduling"] == {
        "queues": ["days", "nights"],
        "priorities": ["experiments", "inference", "training"],
    }
    assert outputs["workloads"]["gangs"]["pretrain"].items() >= {"job": "pretrain", "pods": 3, "gpus": 24}.items()
    opened = "kubectl -n pipelines port-forward service/ml-pipeline-ui 8080:80"
    assert outputs["workloads"]["pipelines"] == {"open": opened}
    service = outputs["workloads"]["services"]["chat"]
    assert service.items() >= {"url": "http://chat.inference.svc:8000/v1", "replicas": [2, 4]}.items()
