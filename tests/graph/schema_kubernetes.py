"""Kubernetes objects against their schemas: Kubernetes' own for built-in kinds, the vendors' CRDs for the others."""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import kubernetes_validate
import yaml

from policy.graph import Resource
from rehearsal.plugins.kubernetes.objects import dashed
from tests.graph.stackfiles import ROOT

VALIDATED_VERSION = "1.36"
# It reads all of Kubernetes' definitions again for every object.
kubernetes_validate.utils.schema_contents = cache(kubernetes_validate.utils.schema_contents)
CUSTOM = {
    "Queue": "scheduling.volcano.sh_queues.yaml",
    "PyTorchJob": "kubeflow.org_pytorchjobs.yaml",
    "PrometheusRule": "monitoring.coreos.com_prometheusrules.yaml",
    "PodMonitor": "monitoring.coreos.com_podmonitors.yaml",
    "ServiceMonitor": "monitoring.coreos.com_servicemonitors.yaml",
    "NicClusterPolicy": "mellanox.com_nicclusterpolicies.yaml",
    "CiliumNetworkPolicy": "cilium.io_ciliumnetworkpolicies.yaml",
    "CiliumClusterwideNetworkPolicy": "cilium.io_ciliumclusterwidenetworkpolicies.yaml",
    "Gateway": "gateway.networking.k8s.io_gateways.yaml",
    "HTTPRoute": "gateway.networking.k8s.io_httproutes.yaml",
    "Middleware": "traefik.io_middlewares.yaml",
    "Certificate": "cert-manager.io_certificates.yaml",
    "Issuer": "cert-manager.io_issuers.yaml",
    "Experiment": "kubeflow.org_experiments.yaml",
}
ELSEWHERE = {
    "ReferenceGrant": "gateway.networking.k8s.io_referencegrants.yaml",
    "HyperNode": "topology.volcano.sh_hypernodes.yaml",
    "MPIJob": "kubeflow.org_mpijobs.mpi-operator-v2beta1.yaml",
    "ExternalSecret": "external-secrets.io_externalsecrets.yaml",
    "ScaledObject": "keda.sh_scaledobjects.yaml",
    "SecretStore": "external-secrets.io_secretstores.yaml",
    "EC2NodeClass": "karpenter.k8s.aws_ec2nodeclasses.yaml",
    "SecurityGroupPolicy": "vpcresources.k8s.aws_securitygrouppolicies.yaml",
    "ENIConfig": "crd.k8s.amazonaws.com_eniconfigs.yaml",
    "NodePool": "karpenter.sh_nodepools.yaml",
    "ImageValidatingPolicy": "policies.kyverno.io_imagevalidatingpolicies.yaml",
    "TrainJob": "trainer.kubeflow.org_trainjobs.yaml",
    "TrainingRuntime": "trainer.kubeflow.org_trainingruntimes.yaml",
    "HostDeviceNetwork": "mellanox.com_hostdevicenetworks.yaml",
    "IPPool": "nv-ipam.nvidia.com_ippools.yaml",
    "SriovIBNetwork": "sriovnetwork.openshift.io_sriovibnetworks.yaml",
    "SriovNetwork": "sriovnetwork.openshift.io_sriovnetworks.yaml",
    "SriovNetworkNodePolicy": "sriovnetwork.openshift.io_sriovnetworknodepolicies.yaml",
    "CephCluster": "ceph.rook.io_cephclusters.yaml",
    "CephBlockPool": "ceph.rook.io_cephblockpools.yaml",
    "CephFilesystem": "ceph.rook.io_cephfilesystems.yaml",
    "CephFilesystemSubVolumeGroup": "ceph.rook.io_cephfilesystemsubvolumegroups.yaml",
    "CephObjectStore": "ceph.rook.io_cephobjectstores.yaml",
    "CephObjectStoreUser": "ceph.rook.io_cephobjectstoreusers.yaml",
    "ObjectBucketClaim": "objectbucket.io_objectbucketclaims.yaml",
    "VolumeSnapshot": "snapshot.storage.k8s.io_volumesnapshots.yaml",
    "VolumeSnapshotClass": "snapshot.storage.k8s.io_volumesnapshotclasses.yaml",
}
"""Kinds of which no committed stack has any; components' own tests have."""

KINDS = {**CUSTOM, **ELSEWHERE}


def upstream() -> Path | None:
    """The vendors' CRDs and chart values: GPUCLUSTER_UPSTREAM, or ../shared/upstream, if it exists."""
    place = Path(os.environ.get("GPUCLUSTER_UPSTREAM", ROOT.parent / "shared" / "upstream"))
    return place if place.is_dir() else None


def generated_crds() -> list[Path]:
    """Directories of CRDs that rehearsal generated from the vendors' Go packages."""
    cache_home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return sorted((cache_home / "gpucluster" / "crds").glob("*"))


@cache
def crd_file(kind: str) -> Path | None:
    """The CRD of a custom kind: generated, the vendor's, or what we know of it; None if none is at hand."""
    vendor, name = upstream(), KINDS[kind]
    places = [*generated_crds(), *([vendor / "crds"] if vendor else []), Path(__file__).with_name("crds")]
    return next((place / name for place in places if (place / name).is_file()), None)


@cache
def _crd_schema(file: Path) -> Mapping[str, Any]:
    # The C loader is ten times faster on files of this size and as safe.
    crd = yaml.load(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    schema: Mapping[str, Any] = closed(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    return schema


def closed(schema: Any) -> Any:
    """The schema with unknown fields refused, as the API server does under strict validation."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping) and not open_ended:
        found["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        found = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return found


def manifest(resource: Resource) -> dict[str, Any]:
    """The object as the API server would get it."""
    group, kind = resource.token.removeprefix("kubernetes:").rsplit(":", 1)
    content = {key: value for key, value in resource.inputs.items() if value is not None}
    return {**dashed(content), "apiVersion": group.removeprefix("core/"), "kind": kind}


def problems(resource: Resource) -> list[str]:
    """Everything in a Kubernetes object that its schema does not allow. Raises LookupError if the CRD is missing."""
    if not resource.token.startswith("kubernetes:") or resource.kind == "Release":
        return []
    text = json.dumps(manifest(resource), sort_keys=True)
    found = _custom(resource.kind, text) if resource.kind in KINDS else _built_in(text)
    return [f"{resource.name}: {problem}" for problem in found]


@cache
def _built_in(text: str) -> tuple[str, ...]:
    """Cached by content: stacks differ in a few of their objects only."""
    try:
        kubernetes_validate.validate(json.loads(text), VALIDATED_VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return (f"{'.'.join(str(step) for step in error.path)}: {error.message}",)
    return ()


@cache
def _crd_validator(file: Path) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**_crd_schema(file), "additionalProperties": True})


@cache
def _custom(kind: str, text: str) -> tuple[str, ...]:
    file = crd_file(kind)
    if file is None:
        raise LookupError(kind)
    errors = _crd_validator(file).iter_errors(json.loads(text))
    return tuple(f"{'.'.join(map(str, error.instance_path))}: {error.message}" for error in errors)
