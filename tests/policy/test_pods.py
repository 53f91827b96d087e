"""Every rule about pods holds for every kind that makes pods, typed or a custom resource."""

from collections.abc import Mapping
from typing import Any

import pytest

from policy import image_fields, kubernetes, places
from policy.graph import Resource
from policy.pods import pods
from policy.rule import Rule, rules_of, violations
from tests.graph.changes import graph_with
from tests.graph.stackfiles import graph_of, stack_names

DIGEST = f"@sha256:{'5eed' * 16}"
GOOD: dict[str, Any] = {
    "serviceAccountName": "llama-3-70b-pretrain",
    "priorityClassName": "training",
    "nodeSelector": {"gpucluster/pool": "training", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    "volumes": [
        {"name": "saves", "persistentVolumeClaim": {"claimName": "checkpoints"}},
        {"name": "notes", "configMap": {"name": "nowhere", "optional": True}},
        {"name": "scratch", "emptyDir": {}},
    ],
    "containers": [
        {
            "name": "work",
            "image": f"registry.example/work:v1{DIGEST}",
            "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
        }
    ],
}
"""A pod that the prod stack could run: it breaks no rule."""

# kind by name: (type's token, the mapping around the pod's spec as a path of keys and indices)
KINDS: Mapping[str, tuple[str, tuple[str | int, ...]]] = {
    "Pod": ("core/v1:Pod", ("spec",)),
    "PodTemplate": ("core/v1:PodTemplate", ("template", "spec")),
    "ReplicationController": ("core/v1:ReplicationController", ("spec", "template", "spec")),
    "Deployment": ("apps/v1:Deployment", ("spec", "template", "spec")),
    "StatefulSet": ("apps/v1:StatefulSet", ("spec", "template", "spec")),
    "DaemonSet": ("apps/v1:DaemonSet", ("spec", "template", "spec")),
    "ReplicaSet": ("apps/v1:ReplicaSet", ("spec", "template", "spec")),
    "DeploymentPatch": ("apps/v1:DeploymentPatch", ("spec", "template", "spec")),
    "Job": ("batch/v1:Job", ("spec", "template", "spec")),
    "CronJob": ("batch/v1:CronJob", ("spec", "jobTemplate", "spec", "template", "spec")),
    "PyTorchJob": ("kubeflow.org/v1:PyTorchJob", ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec")),
    "TFJob": ("kubeflow.org/v1:TFJob", ("spec", "tfReplicaSpecs", "PS", "template", "spec")),
    "MPIJob": ("kubeflow.org/v2beta1:MPIJob", ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec")),
    "VolcanoJob": ("batch.volcano.sh/v1alpha1:Job", ("spec", "tasks", 0, "template", "spec")),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2:JobSet",
        ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec"),
    ),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
        ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
    ),
    "RayCluster": ("ray.io/v1:RayCluster", ("spec", "workerGroupSpecs", 0, "template", "spec")),
    "ClusterTrainingRuntime": (
        "trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime",
        ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template", "spec"),
    ),
    "InferenceService": ("serving.kserve.io/v1beta1:InferenceService", ("spec", "predictor")),
}

every_kind = pytest.mark.parametrize("kind", KINDS)


def container(**more: Any) -> dict[str, Any]:
    """The good pod with something else about its container."""
    return {"containers": [{**GOOD["containers"][0], **more}]}


def volume(**source: Any) -> dict[str, Any]:
    """The good pod with one more volume."""
    return {"volumes": [*GOOD["volumes"], {"name": "more", **source}]}


def variable(source: str) -> dict[str, Any]:
    """The good pod with a variable from somewhere."""
    return container(env=[{"name": "X", "valueFrom": {source: {"name": "lost", "key": "x"}}}])


# what is wrong: (rule, what is different in the pod, what the rule says)
WRONG: Mapping[str, tuple[Rule, dict[str, Any], str]] = {
    "tag latest": (image_fields.images_pinned, container(image="busybox:latest"), "runs busybox:latest, whose tag"),
    "no tag": (image_fields.images_pinned, container(image="registry:5000/busybox"), "whose tag moves"),
    "no image": (image_fields.images_pinned, {"containers": [{"name": "work"}]}, "whose tag moves"),
    "no digest": (image_fields.images_pinned, container(image="busybox:1.37"), "without a digest in a protected"),
    "first image": (
        image_fields.images_pinned,
        {"initContainers": [{"name": "first", "image": "busybox:latest"}]},
        "whose tag moves",
    ),
    "image as volume": (
        image_fields.images_pinned,
        volume(image={"reference": "weights:latest"}),
        "runs weights:latest",
    ),
    "claim": (
        kubernetes.references_exist,
        volume(persistentVolumeClaim={"claimName": "lost"}),
        "PersistentVolumeClaim lost in",
    ),
    "claim elsewhere": (
        kubernetes.references_exist,
        volume(persistentVolumeClaim={"claimName": "model-weights"}),
        "model-weights in namespace training",
    ),
    "secret volume": (kubernetes.references_exist, volume(secret={"secretName": "lost"}), "Secret lost in"),
    "config volume": (kubernetes.references_exist, volume(configMap={"name": "lost"}), "ConfigMap lost in"),
    "projected secret": (
        kubernetes.references_exist,
        volume(projected={"sources": [{"secret": {"name": "lost"}}]}),
        "Secret lost in",
    ),
    "projected config": (
        kubernetes.references_exist,
        volume(projected={"sources": [{"configMap": {"name": "lost"}}]}),
        "ConfigMap lost in",
    ),
    "secret variable": (kubernetes.references_exist, variable("secretKeyRef"), "Secret lost in"),
    "config variable": (kubernetes.references_exist, variable("configMapKeyRef"), "ConfigMap lost in"),
    "secret environment": (
        kubernetes.references_exist,
        container(envFrom=[{"secretRef": {"name": "lost"}}]),
        "Secret lost in",
    ),
    "config environment": (
        kubernetes.references_exist,
        container(envFrom=[{"configMapRef": {"name": "lost"}}]),
        "ConfigMap lost in",
    ),
    "pull secret": (kubernetes.references_exist, {"imagePullSecrets": [{"name": "lost"}]}, "Secret lost in"),
    "account": (kubernetes.references_exist, {"serviceAccountName": "lost"}, "ServiceAccount lost in"),
    "class": (kubernetes.references_exist, {"priorityClassName": "lost"}, "PriorityClass lost, which"),
    "storage class": (
        kubernetes.references_exist,
        volume(ephemeral={"volumeClaimTemplate": {"spec": {"storageClassName": "lost"}}}),
        "StorageClass lost, which",
    ),
    "taint": (places.pods_can_be_placed, {"tolerations": []}, "tolerates the taints of none"),
    "selector": (places.pods_can_be_placed, {"nodeSelector": {"gpucluster/pool": "lost"}}, "no node has"),
    "requests": (
        kubernetes.extended_resources_limited,
        container(resources={"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "2"}}),
        "requests 2 nvidia.com/gpu and limits it to 1",
    ),
}


def made(kind: str, namespace: str = "training", **changes: Any) -> Resource:
    """A resource of the kind in the prod stack, whose pod is the good one with `changes`."""
    token, path = KINDS[kind]
    value: Any = {**GOOD, **changes}
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    if token.startswith("core/v1:PodTemplate"):
        value = {"template": value["template"]}
    metadata = {"name": "one", "namespace": namespace}
    return Resource(
        urn="urn:one", token=f"kubernetes:{token}", name="one", custom=True, inputs={**value, "metadata": metadata}
    )


def said(resource: Resource, rule: Rule) -> list[str]:
    """What a rule says of the resource, in the prod stack."""
    return [each.sentence for each in violations(graph_with(resource), [rule]) if each.resource == "one"]


@every_kind
def test_its_pod_is_found_once_and_where_it_is(kind: str) -> None:
    (pod,) = [each for each in pods(graph_with(made(kind))) if each.owner == "one"]
    assert pod.path == ".".join(str(step) for step in KINDS[kind][1])
    assert (pod.namespace, pod.spec) == ("training", GOOD)
    assert pod.kind == KINDS[kind][0].rpartition(":")[2]


@every_kind
def test_a_good_pod_breaks_no_rule(kind: str) -> None:
    assert [sentence for rule in rules_of(kubernetes) for sentence in said(made(kind), rule)] == []


@every_kind
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_pod_breaks_its_rule(kind: str, wrong: str) -> None:
    rule, changes, words = WRONG[wrong]
    sentences = said(made(kind, **changes), rule)
    assert any(words in each for each in sentences)


@every_kind
def test_it_is_put_where_there_is_a_namespace(kind: str) -> None:
    sentences = said(made(kind, namespace="lost"), kubernetes.namespaces_exist)
    assert sentences == ["is in the namespace lost, which nothing creates"]


def test_both_replicas_of_a_gang_are_looked_at() -> None:
    (pod,) = [{each.path for each in pods(graph_of("prod")) if each.kind == "PyTorchJob"}]
    assert pod == {f"spec.pytorchReplicaSpecs.{role}.template.spec" for role in ("Master", "Worker")}


@pytest.mark.parametrize(
    ("token", "spec", "words"),
    [
        ("kubeflow.org/v2beta1:MPIJob", {"runPolicy": {"schedulingPolicy": {"queue": "lost"}}}, "Queue lost"),
        ("kubeflow.org/v1:TFJob", {"runPolicy": {"schedulingPolicy": {"priorityClass": "lost"}}}, "PriorityClass lost"),
        ("batch.volcano.sh/v1alpha1:Job", {"queue": "lost"}, "Queue lost"),
        ("batch.volcano.sh/v1alpha1:Job", {"priorityClassName": "lost"}, "PriorityClass lost"),
        (
            "apps/v1:StatefulSet",
            {"volumeClaimTemplates": [{"spec": {"storageClassName": "lost"}}]},
            "StorageClass lost",
        ),
    ],
)
def test_what_a_gang_or_a_set_names_is_there(token: str, spec: dict[str, Any], words: str) -> None:
    inputs = {"metadata": {"name": "one", "namespace": "training"}, "spec": spec}
    one = Resource(urn="urn:one", token=f"kubernetes:{token}", name="one", custom=True, inputs=inputs)
    assert said(one, kubernetes.references_exist) == [f"names the {words}, which nothing creates"]


def test_a_set_under_an_autoscaler_states_no_replicas() -> None:
    metadata = {"name": "one", "namespace": "training"}
    scaler = Resource(
        urn="urn:scaler",
        token="kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
        name="scaler",
        custom=True,
        inputs={"metadata": metadata, "spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "one"}}},
    )
    for kind, wrong in (("StatefulSet", True), ("Deployment", False)):
        one = made(kind)
        inputs = {**one.inputs, "spec": {**one.inputs["spec"], "replicas": 2}}
        graph = graph_with(Resource(urn="urn:one", token=one.token, name="one", custom=True, inputs=inputs), scaler)
        found = [each.resource for each in violations(graph, [kubernetes.one_owner_of_replicas])]
        assert found == ["one"] * wrong


@pytest.mark.parametrize("stack", stack_names())
def test_no_pod_of_the_shipped_stacks_escapes(stack: str) -> None:
    """Whatever has an image among its inputs, outside of a chart's values, is a pod."""
    found = {each.owner for each in pods(graph_of(stack))}
    with_image = {
        each.name
        for each in graph_of(stack).resources.values()
        if each.token.startswith("kubernetes:") and each.kind != "Release" and "'image':" in str(each.inputs)
    }
    assert found == with_image
