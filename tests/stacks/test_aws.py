"""How settings, plan and catalogue reach the components (A08, F02, F05, J10, L07, R07, Z16)."""

import base64
from copy import deepcopy
from typing import Any

import pulumi
import pytest
import yaml

from catalogue import versions
from catalogue.tables import SHIPPED
from planner.interfaces import addressed_pods, layout
from planner.nodes import hugepages_mib
from policy import RULES
from policy.rule import violations
from stacks.aws_own_image import image_in
from stacks.aws_pools import ami_type
from tests.graph.harness import Recorded
from tests.graph.outputs import ACCOUNT, INVOKES
from tests.graph.stackfiles import graph_of, registered, run_program, stack_config, stack_names


def dev(**sections: Any) -> Recorded:
    """The dev stack with sections replaced (lists) or merged (mappings)."""
    config = deepcopy(stack_config("dev"))
    for section, values in sections.items():
        key = f"gpucluster:{section}"
        config[key] = {**config.get(key, {}), **values} if isinstance(values, dict) else values
    return registered(config, stack="dev")


def pools(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "system", "role": "system", "instanceType": "m7i.xlarge", "count": 2}, *more]


def test_a_permissions_boundary_reaches_every_role_and_nothing_without_one() -> None:
    """Accounts that demand one refuse each CreateRole without it: a role that it does not reach stops the stack."""
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    roles = dev(security={"permissionsBoundary": boundary}).of_type("aws:iam/role:Role")
    assert len(roles) > 5
    assert {each.inputs.get("permissionsBoundary") for each in roles} == {boundary}
    assert not any("permissionsBoundary" in each.inputs for each in dev().of_type("aws:iam/role:Role"))


def test_mandatory_tags_reach_everything_through_the_provider() -> None:
    tags = dev(lifecycle={"expiry": "2027-03-31"}).one("aws").inputs["defaultTags"]["tags"]
    assert tags == {
        "gpucluster:project": "gpucluster",
        "gpucluster:stack": "dev",
        "owner": "ml-platform",
        "cost-centre": "research",
        "expiry": "2027-03-31",
    }


def test_a_deployment_role_is_taken_by_provider_and_kubeconfig() -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/deploy"
    graph = dev(platform={"roleArn": role})
    assert graph.one("aws").inputs["assumeRoles"] == [{"roleArn": role}]
    assert role in str(graph.one("kubernetes").inputs["kubeconfig"])
    assert graph.outputs["kubePlatform"]["kubeconfigCommand"].endswith(f"--role-arn {role}")


def test_the_deployer_is_the_role_behind_the_callers_session() -> None:
    assert graph_of("dev").one("cluster-deployer").inputs["principalArn"] == f"arn:aws:iam::{ACCOUNT}:role/deployer"


def test_the_api_is_reached_only_when_its_caller_is_admitted() -> None:
    graph = graph_of("dev")
    assert graph.one("cluster-deployer-policy").urn in graph.one("kubernetes").depends_on
    assert graph.one("kubernetes").inputs["clusterIdentifier"].endswith("cluster/gpucluster-dev")


def test_gpu_nodes_file_system_and_nat_share_the_gpu_zone_f02_f05() -> None:
    graph = graph_of("dev")
    zone = {each.id: each.inputs["availabilityZoneId"] for each in graph.of_type("Subnet")}
    for name in ("pool-training-nodes", "pool-inference-nodes"):
        assert {zone[each] for each in graph.one(name).inputs["subnetIds"]} == {"use2-az1"}
    assert zone[graph.one("lustre-file-system").inputs["subnetIds"]] == "use2-az1"
    assert zone[graph.one("network-nat").inputs["subnetId"]] == "use2-az1"


def test_the_control_plane_stands_in_every_zone() -> None:
    graph = graph_of("prod")
    zone = {each.id: each.inputs["availabilityZoneId"] for each in graph.of_type("Subnet")}
    subnets = graph.one("cluster-control-plane").inputs["vpcConfig"]["subnetIds"]
    assert [zone[each] for each in subnets] == ["use2-az1", "use2-az2", "use2-az3"]


def test_nodes_come_after_their_network_plugin_and_their_way_out() -> None:
    """KJ28: without a network plugin no node gets ready."""
    graph = graph_of("dev")
    for pool in ("system", "training", "inference"):
        after = graph.one(f"pool-{pool}-nodes").depends_on
        assert graph.one("node-addons-vpc-cni").urn in after
        assert graph.one("network-private-default-route").urn in after


def test_the_name_service_comes_after_the_system_nodes() -> None:
    graph = graph_of("dev")
    assert graph.one("pool-system-nodes").urn in graph.one("service-addons-coredns").depends_on


def test_a_gpu_node_must_be_found_only_where_one_is_asked_for_k02() -> None:
    def calls(of: str, **training: Any) -> int:
        gpu = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2, **training}
        graph = dev(pools=pools(gpu), training={"runs": []}, serving={"services": []})
        jobs = [each for each in graph.of_type("Job") if each.name.startswith(of)]
        return sum(len(each.inputs["spec"]["template"]["spec"]["containers"]) for each in jobs)

    assert (calls("gpu-readiness-"), calls("gpu-checks-")) == (3, 3)
    assert (calls("gpu-readiness-", count=0), calls("gpu-checks-", count=0)) == (1, 0)


def test_the_volume_driver_outlives_the_claims() -> None:
    graph = graph_of("dev")
    driver = graph.one("service-addons-aws-fsx-csi-driver").urn
    assert all(driver in each.depends_on for each in graph.of_type("PersistentVolume"))


def test_the_gpu_label_is_the_one_that_feature_discovery_sets_j10_kj21() -> None:
    graph = graph_of("prod")
    run = graph.one("run-llama-3-70b-pretrain-job").inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod = graph.one("service-llama-3-70b-deployment").inputs["spec"]["template"]["spec"]
    assert run["nodeSelector"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert pod["nodeSelector"]["nvidia.com/gpu.product"] == "NVIDIA-L40S"


def test_each_account_reads_or_writes_only_its_own_prefix_r07() -> None:
    graph = graph_of("dev")
    reader = graph.one("weights-llama-3-8b-identity-policy").inputs["policy"]
    assert "arn:aws:s3:::acme-model-weights/llama-3-8b/*" in reader
    assert "Put" not in reader
    writer = graph.one("run-llama-3-8b-sft-identity-policy").inputs["policy"]
    assert "gpucluster-dev-artefacts-123456789012/checkpoints/llama-3-8b-sft/*" in writer


def test_scratch_is_for_dev_and_persistence_for_prod_g26() -> None:
    types = {name: graph_of(name).one("lustre-file-system").inputs["deploymentType"] for name in ("dev", "prod")}
    assert types == {"dev": "SCRATCH_2", "prod": "PERSISTENT_2"}


def test_a_stack_without_efa_has_neither_group_nor_plugin() -> None:
    graph = dev(
        pools=pools({"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 1}),
        training={"runs": []},
    )
    assert graph.of_type("EfaGroup") == []
    charts = {each.inputs["chart"] for each in graph.of_type("Release")}
    assert "gpu-operator" in charts
    assert versions.EFA_DEVICE_PLUGIN.name not in charts
    assert graph.outputs["fabric"]["kind"] == "ethernet"
    assert graph.outputs["workloads"]["gangs"] == {}


def test_a_stack_without_services_needs_no_tokens() -> None:
    graph = dev(serving={"services": []})
    assert graph.of_type("Tokens", "InferenceService") == []


@pytest.mark.parametrize(("small", "surge"), [(1, 1), (3, 0), (6, 0)])
def test_an_update_surges_only_where_one_more_replica_finds_a_node(small: int, surge: int) -> None:
    """Q05: three replicas of two GPUs and one of four leave six of sixteen: three on each node, if it comes to that."""
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][2] |= {"instanceType": "g6e.48xlarge", "count": 2}
    (service,) = config["gpucluster:serving"]["services"]
    config["gpucluster:serving"]["services"] = [
        {**service, "name": "small", "tensorParallel": 2, "minReplicas": small, "maxReplicas": small},
        {**service, "name": "large", "tensorParallel": 4, "maxReplicas": 1},
    ]
    config["gpucluster:budget"] = {"maxHourlyUsd": 150}
    graph = registered(config, stack="dev")
    strategy = graph.one("service-large-deployment").inputs["spec"]["strategy"]["rollingUpdate"]
    assert strategy["maxSurge"] == surge


def test_spot_pools_are_bought_as_spot() -> None:
    training = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2, "capacity": "spot"}
    inference = {"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 1}
    quoted = {"rule": "price-unknown", "subject": "training", "reason": "quoted by our reseller", "until": "2099-12-31"}
    unsaved = {**quoted, "rule": "spot-without-checkpoint", "subject": "llama-3-8b-sft", "reason": "it saves by itself"}
    graph = dev(pools=pools(training, inference), waivers=[quoted, unsaved])
    assert graph.one("pool-training-nodes").inputs["capacityType"] == "SPOT"


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_images_carry_driver_and_toolkit_where_there_are_gpus(stack: str) -> None:
    """PW17: of Amazon Linux 2023."""
    types = {each.name: each.inputs["amiType"] for each in graph_of(stack).of_type("NodeGroup")}
    assert types == {
        "pool-system-nodes": "AL2023_x86_64_STANDARD",
        "pool-training-nodes": "AL2023_x86_64_NVIDIA",
        "pool-inference-nodes": "AL2023_x86_64_NVIDIA",
    }


def test_arm_nodes_get_an_arm_image() -> None:
    from dataclasses import replace

    from catalogue.types import Architecture
    from planner.plan import plan
    from settings.load import from_file
    from settings.model import AwsSettings
    from tests.graph.stackfiles import ROOT

    settings = from_file(ROOT / "Pulumi.dev.yaml")
    assert isinstance(settings, AwsSettings)
    pool = plan(settings).pools["training"]
    arm = replace(pool, instance=replace(SHIPPED.instances["p5.4xlarge"], architecture=Architecture.ARM64))
    assert ami_type(arm) == "AL2023_ARM_64_NVIDIA"


def test_pools_of_bottlerocket_have_the_device_plugin_of_their_image() -> None:
    """The operator's is off, and the release is Bottlerocket's own; huge pages are as many as the planner counts."""
    training = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2}
    inference = {"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 1}
    graph = dev(pools=[{**each, "amiFamily": "bottlerocket"} for each in pools(training, inference)])
    groups = {each.name: each.inputs for each in graph.of_type("NodeGroup")}
    assert {name: each["amiType"] for name, each in groups.items()} == {
        "pool-system-nodes": "BOTTLEROCKET_x86_64",
        "pool-training-nodes": "BOTTLEROCKET_x86_64_NVIDIA",
        "pool-inference-nodes": "BOTTLEROCKET_x86_64_NVIDIA",
    }
    assert {each["releaseVersion"] for each in groups.values()} == {versions.KUBERNETES["1.36"].bottlerocket_release}
    values = graph.one("gpu-operator-release").inputs["values"]
    assert [values[part]["enabled"] for part in ("driver", "toolkit", "devicePlugin")] == [False, False, False]
    text = base64.b64decode(graph.one("pool-training-template").inputs["userData"]).decode()
    assert f'"vm.nr_hugepages" = "{hugepages_mib(1) // 2}"' in text
    assert [str(each) for each in violations(graph, RULES)] == []


def test_a_pool_with_an_image_of_its_own_joins_by_the_clusters_coordinates() -> None:
    """Of the training pool alone; its kubelet lets in as many pods as have addresses (LF10)."""
    training = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2}
    inference = {"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 1}
    graph = dev(pools=pools({**training, "ami": "ami-0123456789abcdef0"}, inference))
    groups = {each.name: each.inputs.get("amiType") for each in graph.of_type("NodeGroup")}
    assert groups["pool-training-nodes"] is None
    assert groups["pool-inference-nodes"] == "AL2023_x86_64_NVIDIA"
    template = graph.one("pool-training-template").inputs
    assert template["imageId"] == "ami-0123456789abcdef0"
    text = base64.b64decode(template["userData"]).decode()
    cluster = graph.one("cluster-control-plane")
    assert f'"name": "{cluster.inputs["name"]}"' in text
    instance = SHIPPED.instances["p5.4xlarge"]
    fits = addressed_pods(instance, layout(instance, True), apart=False, prefixes=False)
    assert f'"maxPods": {fits}' in text


GET_PARAMETER = "aws:ssm/getParameter:getParameter"


def of_image(ami: str) -> Recorded:
    """Run anew each time: what the parameter holds is not in the stack file."""
    training = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2, "ami": ami}
    inference = {"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 1}
    config = {**stack_config("dev"), "gpucluster:pools": pools(training, inference)}
    return run_program(config, stack="dev")


def test_the_image_of_a_pool_is_what_a_version_of_a_parameter_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """In template and label, and asked for without decryption, by the stack's own provider; an id asks nobody."""
    held = {"insecureValue": "ami-0fedcba9876543210"}
    monkeypatch.setitem(INVOKES, GET_PARAMETER, held)
    graph = of_image("/images/gpu-node:3")
    (asked,) = [each for each in graph.invokes if each.token == GET_PARAMETER]
    assert asked.args == {"name": "/images/gpu-node:3", "withDecryption": False}
    assert asked.provider
    template = graph.one("pool-training-template").inputs
    assert template["imageId"] == "ami-0fedcba9876543210"
    text = base64.b64decode(template["userData"]).decode()
    assert "eks.amazonaws.com/nodegroup-image=ami-0fedcba9876543210" in text
    assert "/images/gpu-node" not in text
    named = of_image("ami-0fedcba9876543210")
    assert GET_PARAMETER not in {each.token for each in named.invokes}
    made = [{urn: each.inputs for urn, each in one.resources.items()} for one in (graph, named)]
    assert made[0] == made[1]


@pytest.mark.parametrize("held", [None, "", "ami-1", "ami-0123456789abcdef0,ami-0fedcba9876543210", "latest"])
def test_a_parameter_that_holds_no_image_is_refused_by_its_name(held: str | None) -> None:
    """Such as a SecureString, whose value is not told, or a StringList."""
    with pytest.raises(
        pulumi.RunError, match=r"pools, training: ami: /images/gpu-node:3 holds no id of an AMI; name a"
    ):
        image_in(held, "training", "/images/gpu-node:3")
    assert image_in("ami-0123456789abcdef0", "training", "/images/gpu-node:3") == "ami-0123456789abcdef0"


def test_what_a_person_wants_is_in_the_outputs() -> None:
    outputs = graph_of("prod").outputs
    assert outputs["fabric"]["efaInterfaces"] == 256
    assert outputs["hardware"]["gpus"] == 72
    assert outputs["hardware"]["priceUsd"]["hourly"] > 400
    assert outputs["hardware"]["quotas"]["Running On-Demand P instances"] == 8 * 192
    assert outputs["storage"]["readGbPerS"] == 18.75
    gang = outputs["workloads"]["gangs"]["llama-3-70b-pretrain"]
    assert {"job": "llama-3-70b-pretrain", "pods": 8, "gpus": 64, "efa": 256}.items() <= gang.items()
    assert gang["memoryGbPerGpu"] < gang["gpuGb"] == 85.5
    service = outputs["workloads"]["services"]["llama-3-70b"]
    assert service["url"] == "http://llama-3-70b.inference.svc:8000/v1"
    assert service["kvCacheTokens"] > 8192
    assert "inference/model-weights" in outputs["storage"]["claims"]


def test_slices_are_cut_labelled_and_asked_for_k09_kj25() -> None:
    """The MIG manager cuts what the label says, feature discovery names it, and a replica asks for one slice."""
    cut = {"name": "inference", "role": "inference", "instanceType": "p5.4xlarge", "count": 1, "mig": "3g.40gb"}
    training = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2}
    graph = dev(pools=pools(training, cut), budget={"maxHourlyUsd": 30})
    assert graph.one("pool-inference-nodes").inputs["labels"]["nvidia.com/mig.config"] == "all-3g.40gb"
    assert "nvidia.com/mig.config" not in graph.one("pool-training-nodes").inputs["labels"]
    values = graph.one("gpu-operator-release").inputs["values"]
    assert (values["migManager"], values["mig"]) == ({"enabled": True}, {"strategy": "single"})
    pod = graph.one("service-llama-3-8b-deployment").inputs["spec"]["template"]["spec"]
    assert pod["nodeSelector"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    quota = graph.one("namespaces-inference-inference-quota").inputs["spec"]
    assert quota["hard"] == {"requests.nvidia.com/gpu": "2"}
    run = graph.one("run-llama-3-8b-sft-job").inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    assert run["nodeSelector"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"


def test_turns_on_a_gpu_are_configured_labelled_and_asked_for_k04_kj26() -> None:
    """The plugin offers a GPU once for each turn, feature discovery calls it shared, and a replica asks for one."""
    shared = {"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 1, "timeSlices": 2}
    training = {"name": "training", "role": "training", "instanceType": "p5.4xlarge", "count": 2}
    service = {
        **stack_config("dev")["gpucluster:serving"]["services"][0],
        "gpuMemoryUtilization": 0.45,
        "quantization": "fp8",
        "kvCacheDtype": "fp8",
    }
    graph = dev(pools=pools(training, shared), serving={"services": [service]})
    labels = [graph.one(f"pool-{name}-nodes").inputs["labels"] for name in ("inference", "training")]
    assert [each.get("nvidia.com/device-plugin.config") for each in labels] == ["time-slices-2", None]
    config = graph.one("gpu-operator-release").inputs["values"]["devicePlugin"]["config"]
    assert (config["create"], config["default"]) == (True, "whole")
    assert yaml.safe_load(config["data"]["whole"]) == {"version": "v1"}
    assert yaml.safe_load(config["data"]["time-slices-2"])["sharing"] == {
        "timeSlicing": {
            "failRequestsGreaterThanOne": True,
            "resources": [{"name": "nvidia.com/gpu", "replicas": 2}],
        }
    }
    pod = graph.one("service-llama-3-8b-deployment").inputs["spec"]["template"]["spec"]
    assert pod["nodeSelector"]["nvidia.com/gpu.product"] == "NVIDIA-L40S-SHARED"
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    quota = graph.one("namespaces-inference-inference-quota").inputs["spec"]
    assert quota["hard"] == {"requests.nvidia.com/gpu": "2"}
    counted = graph.one("gpu-checks-inference-count").inputs["spec"]["template"]["spec"]["containers"][0]
    assert counted["args"][1].endswith("nvidia\\.com/gpu}=2")


@pytest.mark.parametrize("stack", stack_names())
def test_a_job_under_an_association_is_tried_again_by_a_new_pod_lf17(stack: str) -> None:
    """A pod that came before its association was effective never gets credentials, however often it restarts."""
    graph = graph_of(stack)
    found = graph.of_type("PodIdentityAssociation")
    accounts = {(each.inputs["namespace"], each.inputs["serviceAccount"]) for each in found}
    jobs = [each.inputs for each in graph.of_type("Job")]
    jobs += [each.inputs | each.inputs["spec"]["jobTemplate"] for each in graph.of_type("CronJob")]
    under = [
        each["spec"]
        for each in jobs
        if (each["metadata"]["namespace"], each["spec"]["template"]["spec"].get("serviceAccountName")) in accounts
    ]
    assert under or stack == "lab"
    for spec in under:
        assert spec["template"]["spec"]["restartPolicy"] == "Never"
        assert spec["backoffLimit"] >= 1
