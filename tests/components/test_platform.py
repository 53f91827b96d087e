"""Namespaces, priorities, charts, Volcano, the training operator (J06, K01-K03, L07, M01, N01, A08)."""

import hashlib
import os
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pulumi
import pytest
import yaml

from components.aws.devices import GPU_OPERATOR_VALUES, efa_plugin_values
from components.platform.crds import Crds, CrdsArgs
from components.platform.gpu_checks import GpuChecks, GpuChecksArgs
from components.platform.gpu_operator import gpu_operator_values
from components.platform.gpu_readiness import GpuReadiness, GpuReadinessArgs
from components.platform.priorities import PRIORITIES
from components.platform.taints import tolerations_of_all_pools
from components.platform.training_operator import FLAGS, WEBHOOK, crd_url
from components.platform.volcano import scheduler_config, volcano_values
from tests.components.samples import SAMPLES, built, done
from tests.components.samples.platform import FILE


def test_a_namespace_has_its_pod_security_quota_and_limits_j06_kj20() -> None:
    graph = built(SAMPLES["namespaces"])
    labels = graph.one("sample-training").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    assert graph.one("sample-training-inference-quota").inputs["spec"]["hard"] == {"requests.nvidia.com/gpu": "2"}
    assert graph.one("sample-training-limits").inputs["spec"]["limits"][0]["type"] == "Container"


def test_inference_comes_before_training_and_training_before_experiments_a08() -> None:
    values = {name: value for name, (value, _) in PRIORITIES.items()}
    assert values["inference"] > values["training"] > values["experiments"] > 0
    assert all(not each.inputs["globalDefault"] for each in built(SAMPLES["priorities"]).of_type("PriorityClass"))


operator_values = partial(gpu_operator_values, counters="counted", scrape_s=30)


def test_the_gpu_operator_leaves_driver_and_toolkit_to_the_image_k01_kj33() -> None:
    values = operator_values(tolerations_of_all_pools(), GPU_OPERATOR_VALUES)
    assert not values["driver"]["enabled"]
    assert not values["toolkit"]["enabled"]
    assert values["devicePlugin"]["enabled"]
    assert not values["migManager"]["enabled"]
    assert not values["gds"]["enabled"]
    owned = operator_values([], {"driver": {"enabled": True}, "toolkit": {"enabled": True}})
    assert owned["driver"]["enabled"]
    assert owned["toolkit"]["enabled"]


def test_operands_and_feature_discovery_reach_every_gpu_node_k02_k03() -> None:
    """KJ27, DC04: GPU Feature Discovery is one of the operands, and so is DCGM's exporter."""
    values = operator_values(tolerations_of_all_pools(), GPU_OPERATOR_VALUES)
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
    pods = [each.inputs["spec"]["template"]["spec"] for each in (graph.one("sample-wait-first"), job)]
    calls = [[*each["command"], *each["args"]] for pod in pods for each in pod["containers"]]
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


@pytest.mark.parametrize(
    ("sample", "telling"),
    [
        ("gpu-readiness", 3),
        ("gang-admission", 2),
        ("crds", 2),
        ("weights", 2),
        ("gpu-operator-crds", 1),
        ("gpu-checks", 3),
    ],
)
def test_what_a_job_has_to_tell_is_said_by_main_containers_lf19(sample: str, telling: int) -> None:
    """Pulumi's Kubernetes provider never reads what an init container said; docs/operations.md says where it is."""
    pods = [job.inputs["spec"]["template"]["spec"] for job in built(SAMPLES[sample]).of_type("Job")]
    untold = [each["name"] for pod in pods for each in pod.get("initContainers", [])]
    assert untold == (["fetch"] if sample == "crds" else [])
    said = [each["terminationMessagePolicy"] for pod in pods for each in pod["containers"]]
    assert said == ["FallbackToLogsOnError"] * telling


@pytest.mark.parametrize(
    ("sample", "seconds"), [("gpu-readiness", 50 * 60), ("crds", 600), ("weights", 3600), ("gpu-operator-crds", 600)]
)
def test_a_job_has_a_deadline_of_its_own_lf23(sample: str, seconds: int) -> None:
    """Pulumi's Kubernetes provider renews its own with every event."""
    jobs = built(SAMPLES[sample]).of_type("Job")
    assert {job.inputs["spec"]["activeDeadlineSeconds"] for job in jobs} == {seconds}


@pytest.mark.parametrize(
    ("name", "product", "job"),
    [
        ("slices", "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb", "slices-nvidia-h100-80gb-hbm3-mig-3g-40gb"),
        ("a-pool-of-many-words" * 2, "NVIDIA-H200", "a-pool-of-many-wordsa-pool-of-many-words-nvidia-h200"),
        ("a-pool-of-many-words" * 3, "NVIDIA-H200", "a-pool-of-many-wordsa-pool-of-many-wordsa-pool-of-many-860565bb"),
    ],
)
def test_a_pools_trial_has_a_name_that_pods_can_carry(name: str, product: str, job: str) -> None:
    """Kubernetes writes a Job's name into a label of its pods: 63 characters, and no point is safe in a host's name."""

    def make(opts: pulumi.ResourceOptions) -> GpuChecks:
        args = GpuChecksArgs(
            namespace="g",
            pool="p",
            gpu_product=product,
            taints=[],
            offered={},
            image="kubectl:1",
            smoke_image="operator:1",
            revision="1",
            after=[done()],
        )
        return GpuChecks(name, args, opts)

    made = built(make).one(f"{name}-smoke").inputs["metadata"]["name"]
    assert len(made) <= 63
    assert made == job


def test_where_no_gpu_node_is_asked_for_the_state_alone_decides_k02() -> None:
    """A capacity block that has not begun: there is nothing to find, and the stack comes up without nodes."""

    def make(opts: pulumi.ResourceOptions) -> GpuReadiness:
        args = GpuReadinessArgs(namespace="g", image="kubectl:1", gpu_nodes=False, revision="1", operator=done())
        return GpuReadiness("sample", args, opts)

    job = built(make).one("sample-wait")
    (container,) = job.inputs["spec"]["template"]["spec"]["containers"]
    assert container["args"][:2] == ["wait", "--for=jsonpath={.status.state}=ready"]


def test_another_revision_of_the_operator_is_waited_for_anew_k02() -> None:
    def job_name(revision: str, *, gpu_nodes: bool = True) -> str:
        def make(opts: pulumi.ResourceOptions) -> GpuReadiness:
            args = GpuReadinessArgs(
                namespace="gpu-operator", image="kubectl:1", gpu_nodes=gpu_nodes, revision=revision, operator=done()
            )
            return GpuReadiness("sample", args, opts)

        return str(built(make).one("sample-wait").inputs["metadata"]["name"])

    names = {job_name("v1.2.3"), job_name("v1.2.4"), job_name("v1.2.3", gpu_nodes=False)}
    assert len(names) == 3
    assert job_name("v1.2.3") in names


def test_the_efa_plugin_keeps_its_own_toleration_l07() -> None:
    assert efa_plugin_values([])["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def test_metrics_are_scraped_and_node_readiness_is_shown_k02() -> None:
    """DC10, PF07: by the exporter that the operator brings, and no second one."""
    values = operator_values([], {})
    monitor = values["dcgmExporter"]["serviceMonitor"]
    assert (monitor["enabled"], monitor["interval"]) == (True, "30s")
    assert monitor["relabelings"] == [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}]
    assert values["dcgmExporter"]["config"] == {"name": "counted"}
    assert values["nodeStatusExporter"]["enabled"] is True


def test_the_scheduler_takes_back_what_is_reclaimable_m01_kj11() -> None:
    """With `enqueue` a gang without room would stay Pending, and preempt nobody (M04)."""
    config = yaml.safe_load(scheduler_config())
    assert config["actions"].split(", ") == ["allocate", "backfill", "reclaim", "preempt"]
    plugins = {plugin["name"]: plugin for tier in config["tiers"] for plugin in tier["plugins"]}
    assert {"gang", "priority", "conformance", "drf", "predicates", "proportion", "nodeorder", "binpack"} == set(
        plugins
    )
    assert plugins["binpack"]["arguments"]["binpack.resources.nvidia.com/gpu"] == 10
    assert plugins["gang"]["enablePreemptable"] is False


def test_volcanos_config_is_a_text_and_its_images_are_of_the_chart_m01_kj14() -> None:
    values = volcano_values("1.2.3")
    assert isinstance(values["custom"]["scheduler_config_override"], str)
    assert values["basic"]["image_tag_version"] == "v1.2.3"


def test_the_operator_makes_gangs_and_runs_pytorch_jobs_alone_n01_kj10() -> None:
    container = built(SAMPLES["operator"]).one("sample-deployment").inputs["spec"]["template"]["spec"]["containers"][0]
    assert FLAGS == ("--gang-scheduler-name=volcano", "--enable-scheme=pytorchjob")
    assert tuple(container["args"]) == (*FLAGS, "--namespace=training", "--pytorch-init-container-image=wait:1")


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


def test_the_operator_has_pods_in_its_jobs_namespace_and_one_webhook_of_the_cluster_s09() -> None:
    """Who makes pods where privileged ones are is root on every node."""
    graph = built(SAMPLES["operator"])
    (everywhere,) = [each for each in graph.of_type("ClusterRole") if "crds" not in each.name]
    looks, writes = everywhere.inputs["rules"]
    assert looks["resources"] == writes["resources"] == ["validatingwebhookconfigurations"]
    assert (looks["verbs"], "resourceNames" in looks) == (["get", "list", "watch"], False)
    assert (writes["verbs"], writes["resourceNames"]) == (["update"], [WEBHOOK])
    rights = {
        (role.inputs["metadata"]["namespace"], resource)
        for role in graph.of_type("Role")
        for rule in role.inputs["rules"]
        for resource in rule["resources"]
    }
    assert {namespace for namespace, resource in rights if resource.startswith("pods")} == {"training"}
    assert {namespace for namespace, resource in rights if resource == "secrets"} == {"kubeflow"}


def test_rights_name_no_wildcard() -> None:
    rules = [
        rule
        for sample in ("operator-account", "crds", "gpu-readiness", "gpu-operator-crds", "gpu-checks")
        for role in built(SAMPLES[sample]).of_type("ClusterRole", "Role")
        for rule in role.inputs["rules"]
    ]
    assert len(rules) >= 14
    assert all("*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"]) for rule in rules)


def test_crds_are_pinned_and_applied_on_the_server_kj12() -> None:
    assert "/training-operator/v1.2.3/" in crd_url("v1.2.3")
    jobs = [built(SAMPLES["crds"]).one(name) for name in ("sample-apply-first", "sample-apply")]
    first, then = (job.inputs["spec"]["template"]["spec"]["containers"][0]["args"] for job in jobs)
    assert first == ["apply", "--server-side", "-f", "/fetched/file"]
    assert then[:2] == ["wait", "--for=condition=Established"]


def test_crds_are_fetched_by_hash_and_by_nobody_who_has_rights_lf15() -> None:
    graph = built(SAMPLES["crds"])
    pod = graph.one("sample-apply-first").inputs["spec"]["template"]["spec"]
    (fetch,), (apply,) = pod["initContainers"], pod["containers"]
    assert fetch["args"] == ["fetch", "https://crds/a.yaml", "/fetched/file", "cd" * 32]
    assert "sha256sum -c" in fetch["command"][-1]
    assert pod["automountServiceAccountToken"] is False
    assert [each["name"] for each in fetch["volumeMounts"]] == ["fetched"]
    mounts = {mount["name"]: mount for mount in apply["volumeMounts"]}
    assert mounts["identity"]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert mounts["fetched"]["readOnly"] is True
    assert not any("://" in word for word in apply["args"])
    (rule,) = graph.one("sample-rights").inputs["rules"]
    assert (rule["resources"], rule["resourceNames"]) == (["customresourcedefinitions"], ["a.b"])


def test_what_fetches_does_what_it_says_lf15(tmp_path: Path) -> None:
    """The script itself, with this machine's shell: a file of another hash is not accepted."""
    pod = built(SAMPLES["crds"]).one("sample-apply-first").inputs["spec"]["template"]["spec"]
    command = pod["initContainers"][0]["command"]
    (tmp_path / "wget").write_text('#!/bin/sh\nwhile [ "$1" != -O ]; do shift; done\nprintf crd > "$2"\n')
    (tmp_path / "wget").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def status(digest: str) -> int:
        words = [*command, "fetch", "https://crds/a.yaml", str(tmp_path / "file"), digest]
        return subprocess.run(words, env=env, capture_output=True).returncode

    assert status(hashlib.sha256(b"crd").hexdigest()) == 0
    assert status(hashlib.sha256(b"another").hexdigest()) != 0


def test_another_file_is_another_job() -> None:
    """A Job's template cannot be changed, so an update in place would be refused."""

    def job_name(**changes: str) -> str:
        args = CrdsArgs(files=[replace(FILE, **changes)], crds=["a.b"], namespace="kubeflow", image="kubectl:1")
        job = built(lambda opts: Crds("sample", args, opts)).one("sample-apply")
        return str(job.inputs["metadata"]["name"])

    assert len({job_name(), job_name(url="https://crds/v2.yaml"), job_name(sha256="ef"), job_name(image="box:2")}) == 4


def test_all_values_of_the_operator_that_cuts_and_shares_gpus_k04_k05_k09() -> None:
    shared = "version: v1\nsharing:\n  timeSlicing:\n    failRequestsGreaterThanOne: true\n    resources:\n"
    tolerated = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    values = operator_values(tolerated, {"driver": {"enabled": True}}, slices=True, turns={"time-slices-4": 4})
    assert values == {
        "driver": {"enabled": True},
        "devicePlugin": {
            "enabled": True,
            "config": {
                "create": True,
                "name": "device-plugin",
                "default": "whole",
                "data": {
                    "whole": "version: v1\n",
                    "time-slices-4": f"{shared}    - name: nvidia.com/gpu\n      replicas: 4\n",
                },
            },
        },
        "gfd": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgmExporter": {
            "enabled": True,
            "serviceMonitor": {
                "enabled": True,
                "interval": "30s",
                "relabelings": [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}],
            },
            "config": {"name": "counted"},
        },
        "nodeStatusExporter": {"enabled": True},
        "migManager": {"enabled": True},
        "mig": {"strategy": "single"},
        "cdi": {"enabled": True},
        "operator": {"runtimeClass": "nvidia", "upgradeCRD": False},
        "daemonsets": {"tolerations": tolerated},
        "node-feature-discovery": {"worker": {"tolerations": tolerated}},
    }


def test_an_operator_that_neither_cuts_nor_shares_is_told_of_neither() -> None:
    values = operator_values([], {})
    assert (values["migManager"], values["devicePlugin"]) == ({"enabled": False}, {"enabled": True})
    assert "mig" not in values
