"""Images that EKS publishes, by the names of their public SSM parameters.

Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs" and "Retrieve recommended Bottlerocket AMI IDs"; the
names with a release in them as https://github.com/aws/karpenter-provider-aws resolves `al2023@v20260728`. What EKS has
of older minors is not played.
"""

from collections.abc import Iterator
from hashlib import sha256

from rehearsal.eks.api.versions import BOTTLEROCKET_RELEASES

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


def published() -> dict[str, str]:
    """Names of EKS' images by their ids."""
    known: dict[str, dict[str, str]] = {}
    for name, value in parameters():
        folder, _, kind = name.rpartition("/")
        known.setdefault(folder, {})[kind] = value
    return {each["image_id"]: each["image_name"] for each in known.values() if "image_name" in each}
