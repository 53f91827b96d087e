"""The controller of the EBS CSI driver: makes a volume for a claim whose pod has a node, and deletes it afterwards.

Source: aws-ebs-csi-driver, pkg/driver/controller.go and cloud.go (CreateVolume, DeleteVolume, tags, the zone as the
volume's topology), pkg/metrics/metrics.go. What its role may do with EC2 is not looked at here, only that it has one;
nor are volumes attached to machines.
"""

import math
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.cluster.pages import texts
from rehearsal.images import identity
from rehearsal.images.node_exporter import flags_of
from rehearsal.kube.quantities import parse
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.exposition import Family, Histogram, family, text
from rehearsal.kubelet.program import Launch
from rehearsal.kubelet.provisioning import Provisioning, UnmadeError, volume_of

DRIVER = "ebs.csi.aws.com"
ZONE = "topology.kubernetes.io/zone"
_NODE = "volume.kubernetes.io/selected-node"
_GIB = 1 << 30
CALLS = (
    *("CreateVolume", "DeleteVolume", "AttachVolume", "DetachVolume", "ModifyVolume", "DescribeVolumes"),
    *("DescribeVolumesModifications", "CreateSnapshot", "DeleteSnapshot", "DescribeSnapshots", "DescribeInstances"),
    *("DescribeAvailabilityZones", "DescribeTags", "CreateTags", "DeleteTags", "EnableFastSnapshotRestores"),
)
"""Requests whose times are there from the start."""
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TIMES, _ERRORS = "aws_ebs_csi_api_request_duration_seconds", "aws_ebs_csi_api_request_errors_total"


class Controller(Provisioning):
    """Looks after claims and released volumes as long as its pod runs, and tells of its calls where it is told to."""

    def __init__(self, launch: Launch) -> None:
        self._times = {call: Histogram(_BOUNDS) for call in CALLS}
        self._errors: Counter[tuple[str, str]] = Counter()
        endpoint = flags_of(launch.argv).get("--http-endpoint", "")
        ports = {int(endpoint.rpartition(":")[2]): texts({"/metrics": self._page})} if endpoint else {}
        self._answers = Answering(launch, ports)
        super().__init__(launch, DRIVER)

    def stop(self) -> None:
        super().stop()
        self._answers.stop()

    def _page(self) -> str:
        times = [each.family(_TIMES, "", {"request": call}).samples for call, each in self._times.items()]
        errors = [({"request": call, "error": code}, float(n)) for (call, code), n in self._errors.items()]
        told = Family(
            _TIMES, "histogram", "Duration by request type in seconds", [one for each in times for one in each]
        )
        help = "Total number of errors by error code and request type"
        return text([told, family(_ERRORS, "counter", help, *errors)])

    def _asks(self, call: str, **given: Any) -> Mapping[str, Any]:
        """What EC2 answers. Raises what boto3 does."""
        begin, ec2 = time.monotonic(), self._launch.world.aws.ec2
        try:
            answer: Mapping[str, Any] = {"CreateVolume": ec2.create_volume, "DeleteVolume": ec2.delete_volume}[call](
                **given
            )
        except ClientError as error:
            self._errors[call, error.response["Error"]["Code"]] += 1
            raise
        self._times[call].observe(time.monotonic() - begin)
        return answer

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
        numbers = {name: int(parameters[name.lower()]) for name in ("Iops", "Throughput") if name.lower() in parameters}
        tags = {
            "ebs.csi.aws.com/cluster": "true",
            "CSIVolumeName": f"pvc-{meta['uid']}",
            "kubernetes.io/created-for/pvc/name": meta["name"],
            "kubernetes.io/created-for/pvc/namespace": meta["namespace"],
            f"kubernetes.io/cluster/{world.cluster}": "owned",
            **asked_tags(parameters),
        }
        return self._asks(
            "CreateVolume",
            AvailabilityZone=zone,
            Size=gib(claim),
            VolumeType=parameters.get("type") or "gp3",
            Encrypted=encrypted,
            TagSpecifications=[
                {"ResourceType": "volume", "Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}
            ],
            **key,
            **numbers,
        )

    def _unmake(self, volume: Mapping[str, Any]) -> None:
        try:
            identity.of(self._launch)
            self._asks("DeleteVolume", VolumeId=volume["spec"]["csi"]["volumeHandle"])
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
