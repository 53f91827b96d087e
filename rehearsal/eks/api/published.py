"""The account's answers about images that EKS publishes: the public parameters, and DescribeImages.

Source: EC2 API reference, DescribeImages and Image; awslabs/amazon-eks-ami, a few releases of 2026 (names, owner
amazon).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import Ami, AmiBackend
from moto.ssm.models import ParameterDict

from rehearsal.cloud.account import ACCOUNT
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.parameters import text
from rehearsal.eks.api.releases import BOTTLEROCKET, PREFIX, parameters, published

AMENDMENTS = Amendments()
OWNER = "602401143452"


@AMENDMENTS.around(ParameterDict, "_check_loading_status")
def _check_loading_status(original: Any, self: Any, key: str) -> None:
    """Load these, as moto loads those of other services, when one is first asked for."""
    original(self, key)
    if str(key or "").startswith((PREFIX, BOTTLEROCKET)) and not self.__dict__.get("eks_images_loaded"):
        self.eks_images_loaded = True
        for name, value in parameters():
            self[name].append(text(name, value, account=self.account_id))


@AMENDMENTS.around(AmiBackend, "describe_images")
def describe_images(original: Any, self: Any, ami_ids: Any = None, filters: Any = None, *args: Any, **kw: Any) -> Any:
    """Answers DescribeImages; EKS' own images are loaded when somebody first asks for one of them."""
    asked = {*(ami_ids or ()), *((filters or {}).get("image-id") or ())}
    for each in asked & published().keys() - self.amis.keys():
        self.amis[each] = _image(self, each, published()[each])
    return original(self, ami_ids, filters, *args, **kw)


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
