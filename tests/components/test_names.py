"""Names outside of Pulumi fill the limit of their service and no more, however long stack, pool and service are."""

from dataclasses import replace

from components.aws.nodes import NodePool
from components.platform.crds import Crds, CrdsArgs
from components.storage.staged import Staged
from tests.components.samples import FILE, built, pool_args, weights_args
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config

LONG = "long" * 60

# the limits are those of AWS' API references, less what AWS or the program adds to a name
LIMITS = {
    "aws:eks/cluster:Cluster": 100,
    "aws:iam/role:Role": 64,
    "aws:kms/alias:Alias": 256,
    "aws:ec2/securityGroup:SecurityGroup": 255,
    "aws:ec2/placementGroup:PlacementGroup": 255,
    "aws:ec2/launchTemplate:LaunchTemplate": 128,
    "aws:s3/bucket:Bucket": 63,
}


def test_names_of_a_stack_with_a_long_name_fill_their_limits() -> None:
    graph = run_program(stack_config("dev"), stack=LONG)
    for token, limit in LIMITS.items():
        found = {each.name: each.inputs.get("bucket") or each.inputs["name"] for each in graph.of_type(token)}
        assert found, token
        assert {name: len(text) for name, text in found.items()} == dict.fromkeys(found, limit), token
        assert len(set(found.values())) == len(found)


def test_a_pools_node_group_has_63_characters() -> None:
    graph = built(lambda opts: NodePool("sample", pool_args(pool=LONG), opts))
    assert len(graph.one("sample-nodes").inputs["nodeGroupName"]) == 63


def job_name(graph: Recorded, name: str) -> str:
    return str(graph.one(name).inputs["metadata"]["name"])


def test_names_of_jobs_are_names_of_pods_too() -> None:
    """A Job's name becomes a label of its pods, of 63 characters at most."""
    graph = built(lambda opts: Staged("sample", replace(weights_args(), name=LONG), opts))
    assert len(job_name(graph, "sample-copy")) == 63
    crds = CrdsArgs(files=[FILE], crds=["a.b"], namespace="kubeflow", image="kubectl:1")
    graph = built(lambda opts: Crds(LONG, crds, opts))
    assert len(job_name(graph, f"{LONG}-apply")) == 63
