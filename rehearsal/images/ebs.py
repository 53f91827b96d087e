"""The controller of the EBS CSI driver: makes a volume for a claim whose pod has a node, and deletes it afterwards.

Source: aws-ebs-csi-driver, pkg/driver/controller.go and cloud.go (CreateVolume, DeleteVolume, tags, the zone as the
volume's topology). What its role may do with EC2 is not looked at here, only that it has one; nor are volumes attached
to machines.
"""

import math
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.images import identity
from rehearsal.kube.quantities import parse
from rehearsal.kubelet.program import Launch
from rehearsal.kubelet.provisioning import Provisioning, UnmadeError, volume_of

DRIVER = "ebs.csi.aws.com"
ZONE = "topology.kubernetes.io/zone"
_NODE = "volume.kubernetes.io/selected-node"
_GIB = 1 << 30


class Controller(Provisioning):
    """Looks after claims and released volumes as long as its pod runs."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch, DRIVER)

    def _made(self, name: str, claim: Mapping[str, Any], kind: Mapping[str, Any]) -> dict[str, Any] | None:
        """In the zone of the node that was chosen for the claim's pod."""
        chosen = claim["metadata"]["annotations"].get(_NODE)
        node = self._launch.world.find("nodes", chosen) if chosen else None
        if node is None:
            return None
        try:
            identity.of(self._launch)
            made = self._create(claim, kind, node["metadata"]["labels"][ZONE])
        except (identity.CredentialsError, BotoCoreError, ClientError) as error:
            raise UnmadeError(f"rpc error: {error}") from error
        return persistent_volume(name, claim, kind, made)

    def _create(self, claim: Mapping[str, Any], kind: Mapping[str, Any], zone: str) -> Mapping[str, Any]:
        world, meta, parameters = self._launch.world, claim["metadata"], kind.get("parameters") or {}
        encrypted = parameters.get("encrypted") == "true"
        key = {"KmsKeyId": parameters["kmsKeyId"]} if encrypted and parameters.get("kmsKeyId") else {}
        tags = {
            "ebs.csi.aws.com/cluster": "true",
            "CSIVolumeName": f"pvc-{meta['uid']}",
            "kubernetes.io/created-for/pvc/name": meta["name"],
            "kubernetes.io/created-for/pvc/namespace": meta["namespace"],
            f"kubernetes.io/cluster/{world.cluster}": "owned",
            **asked_tags(parameters),
        }
        found: Mapping[str, Any] = world.aws.ec2.create_volume(
            AvailabilityZone=zone,
            Size=gib(claim),
            VolumeType=parameters.get("type") or "gp3",
            Encrypted=encrypted,
            TagSpecifications=[
                {"ResourceType": "volume", "Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}
            ],
            **key,
        )
        return found

    def _unmake(self, volume: Mapping[str, Any]) -> None:
        try:
            identity.of(self._launch)
            self._launch.world.aws.ec2.delete_volume(VolumeId=volume["spec"]["csi"]["volumeHandle"])
        except (identity.CredentialsError, BotoCoreError, ClientError) as error:
            if not isinstance(error, ClientError) or error.response["Error"]["Code"] != "InvalidVolume.NotFound":
                raise UnmadeError(str(error)) from error


def asked_tags(parameters: Mapping[str, str]) -> dict[str, str]:
    """The tags that a storage class asks for: tagSpecification_1: key=value (the driver's docs/tagging.md). Pure."""
    asked = (value for name, value in sorted(parameters.items()) if name.startswith("tagSpecification_"))
    return {key: value for key, _, value in (each.partition("=") for each in asked)}


def gib(claim: Mapping[str, Any]) -> int:
    """The claim's size in GiB, rounded up as the driver does. Pure."""
    return math.ceil(parse(claim["spec"]["resources"]["requests"]["storage"]) / _GIB)


def persistent_volume(
    name: str, claim: Mapping[str, Any], kind: Mapping[str, Any], made: Mapping[str, Any]
) -> dict[str, Any]:
    """The object for an EBS volume, which nodes of its zone alone can mount. Pure."""
    here = {"key": ZONE, "operator": "In", "values": [made["AvailabilityZone"]]}
    csi = {
        "driver": DRIVER,
        "fsType": (kind.get("parameters") or {}).get("csi.storage.k8s.io/fstype") or "ext4",
        "volumeHandle": made["VolumeId"],
    }
    zone = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    return volume_of(name, claim, kind, csi, f"{made['Size']}Gi", nodeAffinity=zone)
