"""Images that EKS publishes: public SSM parameters, and what DescribeImages says of those that they name.

Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs" and "Retrieve recommended Bottlerocket AMI IDs"; the
names with a release in them as https://github.com/aws/karpenter-provider-aws resolves `al2023@v20260728`. EC2 API
reference, DescribeImages and Image; awslabs/amazon-eks-ami, a few releases of 2026 (names, owner amazon). What EKS has
of older minors is not played.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import Ami, AmiBackend
from moto.ssm.models import Parameter, ParameterDict

from rehearsal.cloud.account import ACCOUNT, now
from rehearsal.cloud.amend import Amendments
from rehearsal.eks.api.versions import BOTTLEROCKET_RELEASES

AMENDMENTS = Amendments()
OWNER = "602401143452"
PREFIX = "/aws/service/eks/optimized-ami/"
RELEASES = {
    "1.35": ("1.35.6-20260818",),
    "1.36": ("1.36.2-20260625", "1.36.2-20260709", "1.36.2-20260714", "1.36.2-20260728", "1.36.2-20260818"),
}
"""Oldest first; the last one is the recommended one."""
BOTTLEROCKET = "/aws/service/bottlerocket/"
VARIANTS = {"x86_64": ("standard", "nvidia", "neuron"), "arm64": ("standard", "nvidia")}


def parameters() -> Iterator[tuple[str, str]]:
    """The parameters' names and values."""
    kinds = [(architecture, variant) for architecture, variants in VARIANTS.items() for variant in variants]
    for minor, releases in RELEASES.items():
        for architecture, variant in kinds:
            folder = f"{PREFIX}{minor}/amazon-linux-2023/{architecture}/{variant}"
            for release in releases:
                name = f"amazon-eks-node-al2023-{architecture}-{variant}-{minor}-v{release.rpartition('-')[2]}"
                image = "ami-" + sha256(name.encode()).hexdigest()[:17]
                for below in (name, *(["recommended"] if release == releases[-1] else [])):
                    yield f"{folder}/{below}/image_id", image
                    yield f"{folder}/{below}/image_name", name
                    yield f"{folder}/{below}/release_version", release
    for variant in ("aws-k8s-1.36", "aws-k8s-1.36-nvidia"):
        for release in BOTTLEROCKET_RELEASES:
            image = "ami-" + sha256(f"{variant} {release}".encode()).hexdigest()[:17]
            for below in (release.partition("-")[0], *(["latest"] if release == BOTTLEROCKET_RELEASES[-1] else [])):
                yield f"{BOTTLEROCKET}{variant}/x86_64/{below}/image_id", image
                yield f"{BOTTLEROCKET}{variant}/x86_64/{below}/image_version", release


@AMENDMENTS.around(ParameterDict, "_check_loading_status")
def _check_loading_status(original: Any, self: Any, key: str) -> None:
    """Load these, as moto loads those of other services, when one is first asked for."""
    original(self, key)
    if str(key or "").startswith((PREFIX, BOTTLEROCKET)) and not self.__dict__.get("eks_images_loaded"):
        self.eks_images_loaded = True
        for name, value in parameters():
            self[name].append(
                Parameter(
                    account_id=self.account_id,
                    name=name,
                    value=value,
                    parameter_type="String",
                    description=None,
                    allowed_pattern=None,
                    keyid=None,
                    last_modified_date=now(),
                    version=1,
                    data_type="text",
                )
            )


@AMENDMENTS.around(AmiBackend, "describe_images")
def describe_images(original: Any, self: Any, ami_ids: Any = None, filters: Any = None, *args: Any, **kw: Any) -> Any:
    """Answers DescribeImages; EKS' own images are loaded when somebody first asks for one of them."""
    asked = {*(ami_ids or ()), *((filters or {}).get("image-id") or ())}
    for each in asked & published().keys() - self.amis.keys():
        self.amis[each] = _image(self, each, published()[each])
    return original(self, ami_ids, filters, *args, **kw)


def published() -> dict[str, str]:
    """Names of EKS' images by their ids."""
    known: dict[str, dict[str, str]] = {}
    for name, value in parameters():
        folder, _, kind = name.rpartition("/")
        known.setdefault(folder, {})[kind] = value
    return {each["image_id"]: each["image_name"] for each in known.values() if "image_name" in each}


def set_images(region: str, names: Mapping[str, str]) -> list[str]:
    """Add the account's own images by their ids, named as EKS images that they were built from; returns all ids."""
    backend = ec2_backends[ACCOUNT][region]
    for identity, name in names.items():
        backend.amis[identity] = _image(backend, identity, name, owner=ACCOUNT)
    return sorted(names)


def _image(backend: Any, identity: str, name: str, owner: str = OWNER) -> Ami:
    architecture = "arm64" if "-arm64-" in name else "x86_64"
    day = datetime.strptime(name.rpartition("-v")[2], "%Y%m%d").replace(tzinfo=UTC)
    return Ami(
        backend,
        identity,
        name=name,
        description="EKS Kubernetes Worker AMI with AmazonLinux2023 image",
        owner_id=owner,
        owner_alias="amazon" if owner == OWNER else None,
        public=owner == OWNER,
        virtualization_type="hvm",
        architecture=architecture,
        creation_date=day,
        root_device_type="ebs",
        root_device_name="/dev/xvda",
        hypervisor="xen",
        image_location=f"{owner}/{name}" if owner != OWNER else f"amazon/{name}",
        region_name=f"{backend.region_name}a",
    )
