"""What watches the cluster, on every platform (X01-X06, X09, U02)."""

import json
import re
from copy import deepcopy
from typing import Any

import pytest

from components.aws.efa_counters import SCRIPT
from components.aws.node_scripts import LNET_FILES, LUSTRE_EFA
from monitoring.dashboards.address import address
from stacks.dashboards import FIRST
from tests.graph.stackfiles import refusal, run_program, stack_config
from tests.stacks import fake_platform as fake
from tests.stacks.platforms import Deployed, deployed

WATCHED = pytest.mark.parametrize("stack", ["fake", "dev", "prod"])


def values(found: Deployed, release: str = "monitoring-stack-chart-release") -> dict[str, Any]:
    given: dict[str, Any] = found.graph.one(release).inputs["values"]
    return given


def config(found: Deployed) -> dict[str, Any]:
    secret = found.graph.one("monitoring-stack-alertmanager-config")
    told: dict[str, Any] = json.loads(secret.inputs["stringData"]["alertmanager.yaml"])
    return told


def test_without_the_section_nothing_watches() -> None:
    graph = deployed("lab").graph
    assert not [each for each in graph.resources.values() if "monitoring-stack" in each.name or "log" in each.name[:4]]
    assert "monitoring" not in graph.outputs


@WATCHED
def test_prometheus_takes_every_monitor_and_rule_of_the_cluster_x01(stack: str) -> None:
    spec = values(deployed(stack))["prometheus"]["prometheusSpec"]
    kinds = ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig")
    assert [spec[f"{kind}SelectorNilUsesHelmValues"] for kind in kinds] == [False] * 5
    assert spec["externalLabels"] == {"cluster": "example" if stack == "fake" else f"gpucluster-{stack}"}


@WATCHED
def test_what_is_kept_lies_on_volumes_of_the_platform_x01(stack: str) -> None:
    given = values(deployed(stack))
    claims = given["prometheus"]["prometheusSpec"]["storageSpec"], given["alertmanager"]["alertmanagerSpec"]["storage"]
    names = {each["volumeClaimTemplate"]["spec"]["storageClassName"] for each in claims}
    assert names == {fake.BLOCK_CLASS if stack == "fake" else "gp3"}


@WATCHED
def test_disks_go_when_their_owner_does(stack: str) -> None:
    """A StatefulSet leaves its claims behind, and AWS its volumes with them, if nobody says otherwise."""
    given = values(deployed(stack))
    for spec in (given["prometheus"]["prometheusSpec"], given["alertmanager"]["alertmanagerSpec"]):
        assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Delete"}


def test_the_driver_of_volumes_outlives_whoever_claims_one() -> None:
    graph = deployed("prod").graph
    assert graph.one("service-addons-aws-ebs-csi-driver").urn in graph.one("block-storage-gp3").depends_on
    assert graph.one("block-storage-gp3").urn in graph.one("monitoring-stack-chart-release").depends_on


@WATCHED
def test_exporter_and_collector_of_a_node_reach_every_node_x06_x09(stack: str) -> None:
    """Taints of any effect: NoExecute would end what tolerates NoSchedule only, which is the chart's default."""
    found = deployed(stack)
    for each in (values(found)["prometheus-node-exporter"], values(found, "log-collector-release")):
        assert each["tolerations"] == [{"operator": "Exists"}]
        assert each["priorityClassName"] == "system-node-critical"
    labels = found.graph.one("namespaces-monitoring").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"


@WATCHED
def test_the_definitions_have_one_owner(stack: str) -> None:
    found = deployed(stack)
    assert values(found)["crds"] == {"enabled": False}
    definitions = found.graph.one("prometheus-operator-crds-release").urn
    for each in found.graph.of_type("ServiceMonitor"):
        assert definitions in each.depends_on
    assert definitions in found.graph.one("monitoring-stack-chart-release").depends_on


@WATCHED
def test_of_the_control_plane_is_scraped_what_the_platform_shows(stack: str) -> None:
    """Rules about a part that nothing scrapes would fire without end."""
    given = values(deployed(stack))
    parts = {"kubeEtcd", "kubeControllerManager", "kubeScheduler", "kubeProxy"}
    off = {part for part in parts if given.get(part) == {"enabled": False}}
    assert off == ({"kubeControllerManager", "kubeProxy"} if stack == "fake" else parts)
    silent = {group for group, on in given["defaultRules"]["rules"].items() if not on}
    scheduler = {"kubeSchedulerAlerting", "kubeSchedulerRecording"}
    assert silent == {"windows", "kubeControllerManager", "kubeProxy"} | (
        set() if stack == "fake" else {"etcd", *scheduler}
    )


@WATCHED
def test_one_exporter_counts_the_list_of_ours_u02_dc10(stack: str) -> None:
    graph = deployed(stack).graph
    exporter = graph.one("gpu-operator-release").inputs["values"]["dcgmExporter"]
    listed = graph.one("gpu-counters-list")
    assert exporter["config"]["name"] == listed.inputs["metadata"]["name"]
    assert listed.inputs["metadata"]["namespace"] == graph.one("gpu-operator-release").inputs["namespace"]
    assert listed.urn in graph.one("gpu-operator-release").depends_on
    fields = [line.split(", ")[0] for line in listed.inputs["data"]["dcgm-metrics.csv"].splitlines()]
    assert {"DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_GPU_TEMP_LIMIT"} <= set(fields)
    assert "dcgm-exporter" not in {each.inputs["chart"] for each in graph.of_type("Release")}


@WATCHED
def test_the_scheduler_and_the_operator_of_training_are_scraped(stack: str) -> None:
    specs = {
        each.inputs["metadata"]["name"]: each.inputs["spec"]
        for each in deployed(stack).graph.of_type("ServiceMonitor")
        if each.name.startswith("monitors-")
    }
    of_platform = set() if stack == "fake" else {"aws-ebs-csi-driver"}
    assert set(specs) == {"volcano-scheduler", "volcano-controllers", "training-operator"} | of_platform
    service = deployed(stack).graph.one("training-operator-service").inputs
    wanted = specs["training-operator"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    assert "metrics" in {port["name"] for port in service["spec"]["ports"]}


def test_receivers_are_told_what_they_want_to_know_x02() -> None:
    routes = {each["receiver"]: each for each in config(deployed("prod"))["route"]["routes"]}
    assert {name: each["matchers"] for name, each in routes.items()} == {
        "on-call": ['severity=~"critical"'],
        "team": ['severity=~"critical|warning"'],
    }
    assert all(each["continue"] for each in routes.values())
    (desk,) = config(deployed("fake"))["receivers"][1:]
    assert desk["email_configs"][0]["smarthost"] == "mail.example.com:587"


@WATCHED
def test_secrets_of_receivers_stand_in_a_secret_and_nowhere_else(stack: str) -> None:
    found = deployed(stack)
    receivers = found.plan.monitoring.receivers if found.plan.monitoring else ()
    told = config(found)
    assert [each["name"] for each in told["receivers"]] == ["nobody", *(each.name for each in receivers)]
    assert "secret-for-tests" not in json.dumps(told)
    if receivers:
        secret = found.graph.one("monitoring-stack-alertmanager-receivers")
        assert set(secret.inputs["stringData"]) == {each.name for each in receivers}
        assert "stringData" in secret.secret
        mounted = values(found)["alertmanager"]["alertmanagerSpec"]["secrets"]
        assert mounted == [secret.inputs["metadata"]["name"]]
        for each in receivers:
            assert f"/etc/alertmanager/secrets/{mounted[0]}/{each.name}" in json.dumps(told)


def test_a_receiver_without_its_secret_is_refused_at_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.graph.stackfiles.stack_secrets", lambda _: ("slackUrl",))
    assert refusal(stack_config("prod"), stack="prod") == (
        "gpucluster:monitoring.receivers[0].secret: on-call cannot receive alerts: gpucluster:pagerdutyKey is not "
        "set; type pulumi config set --secret gpucluster:pagerdutyKey VALUE"
    )


def test_logs_go_where_the_platform_keeps_them_x09() -> None:
    aws, other = (values(deployed(stack), "log-collector-release") for stack in ("prod", "fake"))
    assert "log_group_name /aws/eks/gpucluster-prod/pods" in aws["config"]["outputs"]
    assert other["config"]["outputs"] == fake.LOG_OUTPUTS
    assert aws["serviceAccount"] == other["serviceAccount"] == {"name": "fluent-bit"}
    group = deployed("prod").graph.one("pod-logs-group").inputs
    assert (group["name"], group["retentionInDays"]) == ("/aws/eks/gpucluster-prod/pods", 90)
    assert deployed("fake").graph.one("pod-logs").inputs["data"] == {"keep": "5d"}
    assert deployed("fake").graph.outputs["monitoring"]["logs"] == "example logs"


def test_collectors_come_when_they_may_write_x09() -> None:
    graph = deployed("prod").graph
    release = graph.one("log-collector-release")
    assert graph.one("pod-logs-identity-association").urn in release.depends_on
    assert graph.one("pod-logs-group").urn in graph.one("pod-logs-identity-policy").depends_on


def test_what_the_node_exporter_does_not_read_is_read_beside_it_x04() -> None:
    aws, other = (values(deployed(stack))["prometheus-node-exporter"] for stack in ("prod", "fake"))
    assert SCRIPT in aws["sidecars"][0]["command"][2]
    assert other["sidecars"][0]["image"] == fake.COUNTERS.image
    assert "--collector.textfile.directory=/run/prometheus" in aws["extraArgs"]
    assert aws["sidecarVolumeMount"][0]["mountPath"] == "/run/prometheus"


def test_a_node_whose_lustre_stayed_on_tcp_is_told_of() -> None:
    """Its unit has failed; nothing else of the node has."""
    (shown,) = (
        each for each in values(deployed("prod"))["prometheus-node-exporter"]["extraArgs"] if "unit-inc" in each
    )
    assert re.fullmatch(shown.partition("=")[2], f"{LUSTRE_EFA}.service")


def test_what_lnet_carries_is_read_where_the_file_system_speaks_efa_g05() -> None:
    told = deepcopy(stack_config("prod"))
    told["gpucluster:storage"]["lustre"] = {
        "deploymentType": "PERSISTENT_2",
        "capacityGib": 19200,
        "throughputMbpsPerTib": 500,
        "efa": True,
    }
    release = run_program(told, stack="prod").one("monitoring-stack-chart-release")
    (mount,) = release.inputs["values"]["prometheus-node-exporter"]["sidecarHostVolumeMounts"]
    assert mount["hostPath"] == LNET_FILES
    assert "sidecarHostVolumeMounts" not in values(deployed("prod"))["prometheus-node-exporter"]


def test_without_efa_no_node_counts_it() -> None:
    told = deepcopy(stack_config("dev"))
    told["gpucluster:pools"][1]["instanceType"] = "g6e.xlarge"
    graph = run_program({**told, "gpucluster:training": {}}, stack="dev")
    given = graph.one("monitoring-stack-chart-release").inputs["values"]["prometheus-node-exporter"]
    assert "sidecars" not in given


@WATCHED
def test_a_person_is_told_where_to_look(stack: str) -> None:
    told, plan = deployed(stack).graph.outputs["monitoring"], deployed(stack).plan.monitoring
    assert plan
    assert (told["series"], told["diskGib"]) == (plan.series, plan.disk_gib)
    forward = "kubectl port-forward --namespace monitoring service/kube-prometheus-stack"
    assert told["prometheus"] == f"{forward}-prometheus 9090"
    assert told["grafana"] == f"{forward}-grafana 3000:80"
    assert told["alertmanager"] == f"{forward}-alertmanager 9093"
    assert told["dashboards"] == address(FIRST)
    secret = "kubectl get secret --namespace monitoring kube-prometheus-stack-grafana"
    assert told["grafanaPassword"] == f"{secret} --output jsonpath='{{.data.admin-password}}' | base64 --decode"
