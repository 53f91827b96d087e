"""Names of other things: those that the program makes, and those that others make."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, release, resource, thing
from tests.policy.programs.serving import KEDA, scaler
from tests.policy.programs.volumes import volume

NAMED, PLACE, PUT, FIGHT = "references_exist", "namespaces_exist", "pods_can_be_placed", "one_owner_of_replicas"
HERE = thing("core/v1", "Namespace", "here", namespace="")
CLUSTER = resource("aws:eks/cluster:Cluster", "cluster")
NODES = resource("aws:eks/nodeGroup:NodeGroup", "nodes", labels={"pool": "a"})


def secret(name: str, **more: Any) -> Resource:
    """A Deployment that takes a variable from a Secret."""
    source = {"secretKeyRef": {"name": name, "key": "x"}}
    return deployment({"env": [{"name": "X", "valueFrom": source}]}, **more)


def queued(queue: str) -> Resource:
    return thing("batch.volcano.sh/v1alpha1", "Job", spec={"queue": queue, "tasks": []})


def claimed(kind: str) -> Resource:
    return thing("core/v1", "PersistentVolumeClaim", spec={"storageClassName": kind})


FIXED, FREE = deployment(replicas=2), deployment()
LEFT = Resource(
    urn="urn:left",
    token=FIXED.token,
    name="one",
    custom=True,
    inputs=FIXED.inputs,
    ignore_changes=("spec.replicas",),
)
SELECTED = deployment(nodeSelector={"pool": "b"})
KARPENTER = thing("karpenter.sh/v1", "NodePool", "gpus", namespace="")
ARM = deployment(nodeSelector={"pool": "a", "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "a"})
PROGRAMS = [
    Program(NAMED, (secret("lost"), HERE), "names the Secret lost in namespace here"),
    Program(NAMED, (secret("lost"), CLUSTER), "names the Secret lost"),
    Program(NAMED, (secret("lost"), thing("core/v1", "Secret", "other")), "names the Secret lost"),
    Program(NAMED, (queued("lost"), CLUSTER), "names the Queue lost"),
    Program(NAMED, (secret("of-another-stack"),)),
    Program(NAMED, (queued("default"), CLUSTER)),
    Program(NAMED, (deployment(volumes=[{"name": "ca", "configMap": {"name": "kube-root-ca.crt"}}]), HERE)),
    Program(NAMED, (queued("of-another-stack"),)),
    Program(NAMED, (claimed("fast"), CLUSTER), "names the StorageClass fast"),
    Program(NAMED, (claimed("gp2"), CLUSTER)),
    Program(NAMED, (claimed("fast"), volume(storageClassName="fast"), CLUSTER)),
    Program(NAMED, (secret("token"), HERE, thing("external-secrets.io/v1", "ExternalSecret", "token", spec={}))),
    Program(
        NAMED,
        (
            secret("made"),
            HERE,
            thing("external-secrets.io/v1", "ExternalSecret", "token", spec={"target": {"name": "made"}}),
        ),
    ),
    Program(NAMED, (secret("tls"), HERE, thing("cert-manager.io/v1", "Certificate", spec={"secretName": "tls"}))),
    Program(PLACE, (deployment(), CLUSTER), "in the namespace here"),
    Program(PLACE, (deployment(), thing("core/v1", "Namespace", "there", namespace="")), "in the namespace here"),
    Program(PLACE, (deployment(),)),
    Program(
        PLACE,
        (
            CLUSTER,
            resource("kubernetes:helm.sh/v3:Release", "x", namespace="here", createNamespace=True, chart="x"),
            deployment(),
        ),
    ),
    Program(PLACE, (CLUSTER, release("x", namespace="kube-system"))),
    Program(PUT, (SELECTED, NODES), "which no node has"),
    Program(PUT, (SELECTED,)),
    Program(PUT, (SELECTED, NODES, KARPENTER), "which no node has"),
    Program(PUT, (ARM, NODES)),
    Program(FIGHT, (FIXED, scaler()), "sets replicas although an autoscaler"),
    Program(FIGHT, (FIXED, thing("keda.sh/v1alpha1", "ScaledObject", "keda", spec=KEDA)), "sets replicas"),
    Program(FIGHT, (FREE, scaler())),
    Program(FIGHT, (LEFT, scaler())),
    Program(FIGHT, (FIXED, scaler(target="two"))),
]
