"""Each rule finds what it is there for: the recorded prod stack with one thing made wrong."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from policy import RULES
from policy.aws import UNTAGGED_TYPES
from policy.graph import Graph, Invocation, Resource
from policy.rule import violations
from rehearsal.plugins.aws.sdk import schema
from rehearsal.plugins.aws.table import ROWS
from settings.presets import preset_names
from tests.graph.changes import MISSING, changed, graph_with
from tests.graph.stackfiles import graph_of, run_program
from tests.policy import test_front, test_gateways, test_karpenter
from tests.policy.cases import CASES
from tests.policy.programs import PROGRAMS
from tests.presets.stacks import text

RUN = "run-llama-3-70b-pretrain-job"
SERVER = "service-llama-3-70b-deployment"
POD = "spec.template.spec"
MASTER = "spec.pytorchReplicaSpecs.Master.template.spec"
CONTAINER = f"{POD}.containers.0"

# rule, resource, path of the input, wrong value, what the rule says
WRONG_INPUTS: list[tuple[str, str, str, Any, str]] = [
    ("tagged", "aws", "defaultTags.tags.owner", "", "lack owner"),
    ("tagged", "network-vpc", "tags.Name", "vpc", "Name=vpc"),
    ("tagged", "block-storage-gp3", "parameters.tagSpecification_1", "x=y", "makes volumes without"),
    ("tagged", "pool-training-template", "tagSpecifications.0.tags.owner", "", "starts each instance without owner"),
    ("encrypted", "cluster-control-plane", "encryptionConfig", MISSING, "Kubernetes secrets"),
    ("encrypted", "cluster-logs", "kmsKeyId", MISSING, "its log"),
    ("encrypted", "pool-training-template", "blockDeviceMappings.0.ebs.encrypted", "false", "its volumes"),
    ("encrypted", "lustre-file-system", "kmsKeyId", MISSING, "a persistent file system"),
    ("encrypted", "keys-key", "enableKeyRotation", False, "rotates"),
    ("encrypted", "block-storage-gp3", "parameters.encrypted", "false", "its volumes"),
    (
        "encrypted",
        "object-store-encryption",
        "rules.0.applyServerSideEncryptionByDefault.sseAlgorithm",
        "AES256",
        "its objects",
    ),
    ("no_public_ingress", "efa-self-in", "cidrIpv4", "0.0.0.0/0", "is open to the whole Internet"),
    ("no_public_ingress", "efa-self-in", "cidrIpv6", "::/0", "is open to the whole Internet"),
    ("no_public_ingress", "efa-group", "ingress", [{"cidrBlocks": ["0.0.0.0/0"]}], "is open to the whole Internet"),
    ("no_public_ingress", "cluster-control-plane", "vpcConfig.endpointPublicAccess", True, "API server"),
    ("no_public_ingress", "service-llama-3-70b-service", "spec.type", "LoadBalancer", "reachable from outside"),
    ("instances_hardened", "pool-training-template", "metadataOptions.httpPutResponseHopLimit", 2, "hop limit"),
    ("instances_hardened", "pool-training-template", "metadataOptions.httpTokens", "optional", "IMDSv2"),
    ("references_exist", SERVER, f"{POD}.volumes.0.persistentVolumeClaim.claimName", "weights", "weights in"),
    ("references_exist", SERVER, f"{CONTAINER}.env.0.valueFrom.secretKeyRef.name", "hugging", "Secret hugging"),
    ("references_exist", SERVER, f"{CONTAINER}.envFrom", [{"configMapRef": {"name": "tuning"}}], "ConfigMap tuning"),
    ("references_exist", SERVER, f"{POD}.volumes.1.configMap", {"name": "tuning"}, "ConfigMap tuning"),
    ("references_exist", SERVER, f"{POD}.priorityClassName", "urgent", "PriorityClass urgent"),
    ("references_exist", RUN, f"{MASTER}.serviceAccountName", "someone", "ServiceAccount someone in"),
    ("references_exist", RUN, "spec.runPolicy.schedulingPolicy.queue", "nights", "Queue nights"),
    ("references_exist", "claims-training-checkpoints-claim", "spec.storageClassName", "fast", "StorageClass fast"),
    ("namespaces_exist", SERVER, "metadata.namespace", "serving", "namespace serving"),
    ("namespaces_exist", "gpu-operator-release", "namespace", "gpu", "namespace gpu"),
    ("pods_can_be_placed", SERVER, f"{POD}.tolerations", [], "tolerates the taints of none"),
    ("pods_can_be_placed", SERVER, f"{POD}.nodeSelector", {"gpucluster/pool": "spare"}, "which no node has"),
    ("extended_resources_limited", SERVER, f"{CONTAINER}.resources.limits", {}, "nvidia.com/gpu"),
    ("releases_pinned", "volcano-release", "version", "1.x", "no exact version"),
    ("releases_pinned", "volcano-release", "version", MISSING, "no exact version"),
    ("releases_pinned", "volcano-release", "repositoryOpts", {}, "no repository"),
    ("releases_pinned", "volcano-release", "atomic", False, "not rolled back"),
    ("releases_pinned", "volcano-release", "skipAwait", True, "does not wait"),
    ("images_pinned", SERVER, f"{CONTAINER}.image", "vllm/vllm-openai", "whose tag moves"),
    ("images_pinned", SERVER, f"{CONTAINER}.image", "vllm/vllm-openai:latest", "whose tag moves"),
    ("images_pinned", SERVER, f"{CONTAINER}.image", "vllm/vllm-openai:v0.1.0", "without a digest"),
    ("no_secret_in_clear", SERVER, f"{CONTAINER}.env.0.value", "hf-secret-for-tests", "holds a secret in clear text"),
]


def broken(rule: str, graph: Graph) -> list[str]:
    """What `rule` says about a graph."""
    return [str(each) for each in violations(graph, [next(each for each in RULES if each.id == rule)])]


@pytest.mark.parametrize(("rule", "name", "path", "value", "said"), WRONG_INPUTS)
def test_a_wrong_input_breaks_its_rule(rule: str, name: str, path: str, value: Any, said: str) -> None:
    found = broken(rule, graph_with(changed(name, path, value)))
    assert [each for each in found if said in each], found


def test_a_default_provider_is_found() -> None:
    vpc = replace(graph_of("prod").one("network-vpc"), provider="urn:pulumi:prod::x::pulumi:providers:aws::default::1")
    assert "default provider" in broken("explicit_provider", graph_with(vpc))[0]


def test_a_default_provider_is_none_of_the_programs_even_where_it_is_shown() -> None:
    default = replace(
        graph_of("prod").one("aws"), name="default_7_51_1", urn="urn:x::pulumi:providers:aws::default_7_51_1"
    )
    vpc = replace(graph_of("prod").one("network-vpc"), provider=f"{default.urn}::1")
    assert "default provider" in broken("explicit_provider", graph_with(default, vpc))[0]


def test_a_call_through_the_default_provider_is_found() -> None:
    graph = replace(graph_of("prod"), invokes=[Invocation(token="aws:index/getPartition:getPartition", provider="")])
    assert "default provider" in broken("explicit_provider", graph)[0]


def test_an_orphan_and_a_misnamed_child_are_found() -> None:
    vpc = graph_of("prod").one("network-vpc")
    assert "no component as its parent" in broken("parented", graph_with(replace(vpc, parent="")))[0]
    assert "is not named after it" in broken("parented", graph_with(replace(vpc, name="vpc")))[0]


@pytest.mark.parametrize(
    "name", ["network-vpc", "cluster-control-plane", "lustre-file-system", "keys-key", "object-store-bucket"]
)
def test_a_missing_protection_is_found_where_the_stack_asks_for_it_z16(name: str) -> None:
    bare = replace(graph_of("prod").one(name), protect=False)
    assert broken("protected", graph_with(bare)) == [
        f"{name}: is not protected although lifecycle.protect is set [protected]"
    ]
    assert broken("protected", replace(graph_with(bare), protected=False)) == []


def test_dependencies_on_everything_are_found() -> None:
    graph = graph_of("prod")
    job = replace(graph.one(RUN), depends_on=tuple(graph.resources) * 7)
    assert "this one has most of them" in broken("few_edges", graph_with(job))[0]


@pytest.mark.parametrize(("name", "key"), [("keys-llama-3-70b-secret", "stringData"), ("kubernetes", "kubeconfig")])
def test_an_unmarked_secret_is_found(name: str, key: str) -> None:
    shown = replace(graph_of("prod").one(name), secret=frozenset())
    assert f"has its {key} in clear text" in broken("secret_inputs_marked", graph_with(shown))[0]


def test_a_secret_in_the_outputs_is_found() -> None:
    graph = replace(graph_of("prod"), outputs={"workloads": {"key": "api-secret-for-tests"}})
    assert broken("no_secret_in_clear", graph) == ["outputs: hold a secret in clear text [no_secret_in_clear]"]


def test_a_rendered_chart_is_found_kj15() -> None:
    chart = Resource(urn="urn", token="kubernetes:helm.sh/v4:Chart", name="volcano", custom=False)
    assert "leaves the chart's hooks out" in broken("releases_pinned", graph_with(chart))[0]


def test_an_object_that_is_gone_is_missed_g31() -> None:
    graph = graph_with(without=("claims-inference-model-weights-claim",))
    owners = {each.split(":")[0] for each in broken("references_exist", graph)}
    assert owners == {SERVER, "weights-llama-3-70b-copy"}


def test_every_rule_is_broken_by_a_test_here() -> None:
    beside = {"explicit_provider", "parented", "protected", "few_edges", "secret_inputs_marked"}
    elsewhere = (
        {case.rule for case in CASES}
        | {program.rule for program in PROGRAMS}
        | test_front.BROKEN
        | test_gateways.BROKEN
        | test_karpenter.BROKEN
    )
    assert {rule for rule, *_ in WRONG_INPUTS} | beside | elsewhere == {rule.id for rule in RULES}


@pytest.mark.parametrize("token", ROWS)
def test_the_untagged_types_are_those_that_the_sdk_cannot_tag(token: str) -> None:
    """Of all types that a stack can have: an AWS type without a row in the plugin's table is refused."""
    found = schema(token)
    assert found is not None
    assert (token in UNTAGGED_TYPES) == ("tags" not in found.inputs)


@pytest.mark.parametrize("preset", [name for name in preset_names() if name.endswith("cloud")])
def test_tags_reach_everything_of_a_preset_too(preset: str) -> None:
    """What stacks register, the nodes and volumes that are started later included: shipped stacks keep every rule."""
    graph = run_program(yaml.safe_load(text(preset))["config"], stack=preset)
    assert graph.of_type("aws:ec2/launchTemplate:LaunchTemplate")
    assert [str(each) for each in violations(graph, [each for each in RULES if each.id == "tagged"])] == []
