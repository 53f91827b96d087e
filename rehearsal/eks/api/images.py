"""The public SSM parameters of EKS' Amazon Linux 2023 images.

Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs"; the names with a release in them as
https://github.com/aws/karpenter-provider-aws resolves `al2023@v20260728`. Releases: awslabs/amazon-eks-ami, a few of
2026. What EKS really has of older minors is not played.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from moto.ssm.models import Parameter, ParameterDict

from rehearsal.cloud.account import now
from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()

PREFIX = "/aws/service/eks/optimized-ami/"
RELEASES = {
    "1.35": ("1.35.6-20260818",),
    "1.36": ("1.36.2-20260625", "1.36.2-20260709", "1.36.2-20260714", "1.36.2-20260728", "1.36.2-20260818"),
}
"""Oldest first; the last one is the recommended one."""
VARIANTS = {"x86_64": ("standard", "nvidia", "neuron"), "arm64": ("standard", "nvidia")}


def parameters() -> Iterator[tuple[str, str]]:
    """Names and values."""
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


@AMENDMENTS.around(ParameterDict, "_check_loading_status")
def _check_loading_status(original: Any, self: Any, key: str) -> None:
    """Load these, as moto loads those of other services, when one is first asked for."""
    original(self, key)
    if str(key or "").startswith(PREFIX) and not self.__dict__.get("eks_images_loaded"):
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
