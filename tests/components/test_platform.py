"""Namespaces, priorities, charts, Volcano, the training operator (J06, K01-K03, L07, M01, N01, A08)."""

import pulumi
import pytest
import yaml

from components.platform.crds import Crds, CrdsArgs
from components.platform.efa_plugin import efa_plugin_values
from components.platform.gpu_operator import gpu_operator_values
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs, steps
from components.platform.priorities import PRIORITIES
from components.platform.taints import tolerations_of_all_pools
from components.platform.training_operator import FLAGS, crd_url
from components.platform.volcano import scheduler_config, volcano_values
from tests.components.samples import SAMPLES, built, done


def test_a_namespace_has_its_pod_security_quota_and_limits_j06_kj20() -> None:
    graph = built(SAMPLES["namespaces"])
    labels = graph.one("sample-training").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    assert graph.one("sample-training-quota").inputs["spec"]["hard"] == {"requests.nvidia.com/gpu": "2"}
    assert graph.one("sample-training-limits").inputs["spec"]["limits"][0]["type"] == "Container"


def test_inference_comes_before_training_and_training_before_experiments_a08() -> None:
    values = {name: value for name, (value, _) in PRIORITIES.items()}
    assert values["inference"] > values["training"] > values["experiments"] > 0
    assert all(not each.inputs["globalDefault"] for each in built(SAMPLES["priorities"]).of_type("PriorityClass"))


def test_the_gpu_operator_leaves_driver_and_toolkit_to_the_image_k01_kj33() -> None:
    values = gpu_operator_values(tolerations_of_all_pools())
    assert not values["driver"]["enabled"]
    assert not values["toolkit"]["enabled"]
    assert values["devicePlugin"]["enabled"]
    assert not values["migManager"]["enabled"]
    assert not values["gds"]["enabled"]


def test_operands_and_feature_discovery_reach_every_gpu_node_k02_k03() -> None:
    """KJ27: GPU Feature Discovery is one of the operands."""
    values = gpu_operator_values(tolerations_of_all_pools())
    for tolerations in (
        values["daemonsets"]["tolerations"],
        values["node-feature-discovery"]["worker"]["tolerations"],
        efa_plugin_values(tolerations_of_all_pools())["tolerations"],
    ):
        assert {"nvidia.com/gpu", "gpucluster/pool"} <= {each["key"] for each in tolerations}


def test_workloads_wait_for_the_validator_on_every_node_and_for_the_clusterpolicys_state_k02() -> None:
    """The state is `ready` too while no GPU node has been found, and for a moment before the operands have pods."""
    graph = built(SAMPLES["gpu-readiness"])
    job = graph.one("sample-wait")
    pod = job.inputs["spec"]["template"]["spec"]
    calls = [[*each["command"], *each["args"]] for each in (*pod["initContainers"], *pod["containers"])]
    validator = ["--timeout=300s", "daemonset/nvidia-operator-validator"]
    assert calls == [
        ["kubectl", "wait", "--for=create", *validator],
        ["kubectl", "rollout", "status", *validator],
        [
            "kubectl",
            "wait",
            "--for=jsonpath={.status.state}=ready",
            "--timeout=300s",
            "clusterpolicies.nvidia.com/cluster-policy",
        ],
    ]
    assert graph.one("before").urn in job.depends_on
    assert job.timeouts["create"] == "50m"
    rules = graph.one("sample-rights").inputs["rules"]
    assert [rule["resourceNames"] for rule in rules] == [["cluster-policy"], ["nvidia-operator-validator"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}


@pytest.mark.parametrize("sample", ["gpu-readiness", "crds", "weights"])
def test_a_job_that_gave_up_is_made_anew_and_its_pods_stay_until_then(sample: str) -> None:
    (job,) = built(SAMPLES[sample]).of_type("Job")
    assert job.inputs["metadata"]["annotations"] == {"pulumi.com/replaceUnready": "true"}
    assert job.inputs["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_where_no_gpu_node_is_asked_for_the_state_alone_decides_k02() -> None:
    """A capacity block that has not begun: there is nothing to find, and the stack comes up without nodes."""
    (call,) = steps(gpu_nodes=False).values()
    assert call[:2] == ["wait", "--for=jsonpath={.status.state}=ready"]


def test_another_revision_of_the_operator_is_waited_for_anew_k02() -> None:
    def job_name(revision: str, *, gpu_nodes: bool = True) -> str:
        def make(opts: pulumi.ResourceOptions) -> GpuReadiness:
            args = GpuReadinessArgs(
                namespace="gpu-operator", image="kubectl:1", gpu_nodes=gpu_nodes, revision=revision, operator=done()
            )
            return GpuReadiness("sample", args, opts)

        return str(built(make).one("sample-wait").inputs["metadata"]["name"])

    names = {job_name("v26.3.3"), job_name("v26.3.4"), job_name("v26.3.3", gpu_nodes=False)}
    assert len(names) == 3
    assert job_name("v26.3.3") in names


def test_the_efa_plugin_keeps_its_own_toleration_l07() -> None:
    assert efa_plugin_values([])["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def test_metrics_are_scraped_and_node_readiness_is_shown_k02() -> None:
    """DC10, PF07: by the exporter that the operator brings, and no second one."""
    values = gpu_operator_values([])
    assert values["dcgmExporter"]["serviceMonitor"]["enabled"] is True
    assert values["nodeStatusExporter"]["enabled"] is True


def test_the_scheduler_takes_back_what_is_reclaimable_m01_kj11() -> None:
    config = yaml.safe_load(scheduler_config())
    assert config["actions"].split(", ") == ["enqueue", "allocate", "backfill", "reclaim", "preempt"]
    plugins = {plugin["name"]: plugin for tier in config["tiers"] for plugin in tier["plugins"]}
    assert {"gang", "priority", "conformance", "drf", "predicates", "proportion", "nodeorder", "binpack"} == set(
        plugins
    )
    assert plugins["binpack"]["arguments"]["binpack.resources.nvidia.com/gpu"] == 10
    assert plugins["gang"]["enablePreemptable"] is False


def test_volcanos_config_is_a_text_and_its_images_are_of_the_chart_m01_kj14() -> None:
    values = volcano_values("1.14.1")
    assert isinstance(values["custom"]["scheduler_config_override"], str)
    assert values["basic"]["image_tag_version"] == "v1.14.1"


def test_a_release_waits_rolls_back_and_is_outwaited_by_the_engine() -> None:
    release = built(SAMPLES["chart"]).one("sample-release")
    assert release.inputs["timeout"] == 600
    assert release.timeouts["create"] == "720s"
    assert release.inputs["createNamespace"] is False


def test_a_queue_has_weight_cap_and_reclaimability() -> None:
    spec = built(SAMPLES["queues"]).one("sample-research").inputs["spec"]
    assert spec == {"weight": 4, "capability": {"nvidia.com/gpu": "8"}, "reclaimable": False}


def test_a_queue_comes_after_the_scheduler_that_admits_it() -> None:
    graph = built(SAMPLES["queues"])
    assert graph.one("before").urn in graph.one("sample-research").depends_on


def test_the_operator_makes_gangs_and_runs_pytorch_jobs_alone_n01_kj10() -> None:
    container = built(SAMPLES["operator"]).one("sample-deployment").inputs["spec"]["template"]["spec"]["containers"][0]
    assert FLAGS == ("--gang-scheduler-name=volcano", "--enable-scheme=pytorchjob")
    assert tuple(container["args"]) == (*FLAGS, "--pytorch-init-container-image=wait:1")


def test_the_webhook_is_that_of_the_service_and_its_ca_is_the_operators_n01() -> None:
    graph = built(SAMPLES["operator"])
    webhook = graph.one("sample-webhook")
    service = webhook.inputs["webhooks"][0]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == ("training-operator", "kubeflow")
    assert webhook.ignore_changes == ("webhooks[0].clientConfig.caBundle",)
    ports = {each["name"]: each for each in graph.one("sample-service").inputs["spec"]["ports"]}
    named = {
        each["name"]: each["containerPort"]
        for each in graph.one("sample-deployment").inputs["spec"]["template"]["spec"]["containers"][0]["ports"]
    }
    assert (ports["webhook"]["port"], ports["webhook"]["targetPort"]) == (service["port"], named["webhook"])


def test_the_certificates_secret_is_there_empty_and_stays_the_operators() -> None:
    secret = built(SAMPLES["operator"]).one("sample-certificate")
    assert "data" not in secret.inputs
    assert secret.ignore_changes == ("data",)


def test_the_operator_comes_after_its_crds_and_before_its_service() -> None:
    graph = built(SAMPLES["operator"])
    deployment = graph.one("sample-deployment")
    assert graph.one("sample-crds-apply").urn in deployment.depends_on
    assert deployment.urn in graph.one("sample-service").depends_on


def test_the_operator_sees_no_secret_of_another_namespace() -> None:
    graph = built(SAMPLES["operator-account"])
    assert all("secrets" not in rule["resources"] for rule in graph.one("sample-rights").inputs["rules"])
    local = [rule for rule in graph.one("sample-local-rights").inputs["rules"] if rule["resources"] == ["secrets"]]
    assert [rule["resourceNames"] for rule in local if "update" in rule["verbs"]] == [["certificate"]]


def test_rights_name_no_wildcard() -> None:
    rules = [
        rule
        for sample in ("operator-account", "crds", "gpu-readiness")
        for role in built(SAMPLES[sample]).of_type("ClusterRole", "Role")
        for rule in role.inputs["rules"]
    ]
    assert len(rules) >= 14
    assert all("*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"]) for rule in rules)


def test_crds_are_pinned_and_applied_on_the_server_kj12() -> None:
    assert "/training-operator/v1.9.3/" in crd_url("v1.9.3")
    pod = built(SAMPLES["crds"]).one("sample-apply").inputs["spec"]["template"]["spec"]
    assert pod["initContainers"][0]["args"] == ["apply", "--server-side", "-f", "https://crds/a.yaml"]
    assert pod["containers"][0]["args"][:2] == ["wait", "--for=condition=Established"]


def test_another_file_is_another_job() -> None:
    """A Job's template cannot be changed, so an update in place would be refused."""

    def job_name(url: str) -> str:
        args = CrdsArgs(url=url, crds=["a.b"], namespace="kubeflow", image="kubectl:1")
        job = built(lambda opts: Crds("sample", args, opts)).one("sample-apply")
        return str(job.inputs["metadata"]["name"])

    assert job_name("https://crds/v1.yaml") != job_name("https://crds/v2.yaml")
