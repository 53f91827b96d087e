"""Names outside of Pulumi fill the limit of their service and no more, however long stack, pool and service are."""

from dataclasses import replace

import pulumi
import pytest

from components.aws.nodes import NodePool
from components.kubeflow.pipeline_upload import PipelineUpload, PipelineUploadArgs
from components.platform.crds import Crds, CrdsArgs
from components.serving.arguments import compiled_path
from components.serving.hub import HubCopy
from components.serving.inference import InferenceService
from components.serving.keys import ServiceKeys, ServiceKeysArgs
from components.serving.smoke import SmokeRequest
from components.storage.staged import Staged
from components.training.gates import Gate
from tests.components.samples import Make, aws, aws_nodes, built, done
from tests.components.samples.aws_nodes import pool_args
from tests.components.samples.platform import FILE
from tests.components.samples.serving import hub_args, service_args, smoke_args
from tests.components.samples.storage import weights_args
from tests.components.samples.training import gate_args
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config

LONG = "long" * 60

# at most those of AWS' API references, less what AWS or the program adds to a name
LIMITS = {
    "aws:budgets/budget:Budget": 100,
    "aws:cloudwatch/eventRule:EventRule": 64,
    "aws:costexplorer/anomalyMonitor:AnomalyMonitor": 256,
    "aws:ec2/launchTemplate:LaunchTemplate": 128,
    "aws:ec2/placementGroup:PlacementGroup": 255,
    "aws:ec2/securityGroup:SecurityGroup": 255,
    "aws:ecr/repository:Repository": 256,
    "aws:eks/cluster:Cluster": 100,
    "aws:iam/instanceProfile:InstanceProfile": 128,
    "aws:iam/role:Role": 64,
    "aws:kms/alias:Alias": 256,
    "aws:lambda/function:Function": 64,
    "aws:s3/bucket:Bucket": 63,
    "aws:scheduler/schedule:Schedule": 64,
    "aws:sns/topic:Topic": 256,
    "aws:sqs/queue:Queue": 80,
}


def test_names_of_a_stack_with_a_long_name_fill_their_limits() -> None:
    samples = [*aws.SAMPLES.values(), *aws_nodes.SAMPLES.values()]
    graphs = [run_program(stack_config("dev"), stack=LONG), *(built(make, stack=LONG) for make in samples)]
    for token, limit in LIMITS.items():
        names = [
            [each.inputs.get("bucket") or each.inputs["name"] for each in graph.of_type(token)] for graph in graphs
        ]
        found = [name for of_graph in names for name in of_graph if "long" in name]
        assert {len(name) for name in found} == {limit}, token
        assert all(len(of_graph) == len(set(of_graph)) for of_graph in names)


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


def upload_args() -> PipelineUploadArgs:
    return PipelineUploadArgs(
        pipeline=LONG,
        version="1",
        content="",
        namespace="pipelines",
        image="python:3",
        address="http://there",
        files={},
        server=done(),
    )


def keys_args() -> ServiceKeysArgs:
    keys = [pulumi.Output.secret("old-key"), pulumi.Output.secret("new-key")]
    return ServiceKeysArgs(service=LONG, namespace="inference", keys=keys)


NAMED: dict[str, tuple[Make, int]] = {
    "sample-door-rules": (lambda opts: InferenceService("sample", service_args(name=LONG), opts), 63),
    "sample-copy": (lambda opts: HubCopy("sample", hub_args(name=LONG), opts), 63),
    "sample-files": (lambda opts: PipelineUpload("sample", upload_args(), opts), 63),
    "sample-job": (lambda opts: Gate("sample", gate_args(gpu_product=LONG), opts), 52),
    "sample-request": (lambda opts: SmokeRequest("sample", smoke_args(service=LONG), opts), 63),
    "sample-secret": (lambda opts: ServiceKeys("sample", keys_args(), opts), 63),
}


@pytest.mark.parametrize("resource", NAMED)
def test_names_of_what_is_made_anew_fill_their_limit(resource: str) -> None:
    """Of a Job that its pods have as a label, of a gate's with room for what a schedule adds, of what a pod mounts."""
    make, limit = NAMED[resource]
    assert len(job_name(built(make), resource)) == limit


def test_a_model_of_a_long_name_has_a_directory_of_its_own() -> None:
    assert len(compiled_path("vllm:1", LONG, "NVIDIA-L40S", 2)) == len("compiled/") + 60 + len("-12345678")
