"""Images: what is in them, and their digests. A digest stands here only if a registry gave it (`make pin-images`).

aws-ofi-nccl is what NCCL reaches EFA by. NVIDIA's images choose it in their shells (/etc/shinit_v2), which a container
with a command of its own never starts, so `net_plugin` is what a pod must be told.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from catalogue.image_types import (
    DEEPSPEED,
    MEGATRON_BRIDGE,
    MEGATRON_CORE,
    OFI_PLUGIN,
    ContainerImage,
    repository,
    same,
)
from catalogue.versions import (
    ARGO_IMAGES,
    AWS_CLI_IMAGE,
    CURL_IMAGE,
    GPU_OPERATOR_IMAGE,
    KATIB_IMAGES,
    KUBECTL_IMAGE,
    METADATA_IMAGE,
    MLFLOW_IMAGE,
    MPI_OPERATOR_IMAGE,
    MYSQL_IMAGE,
    NGINX_IMAGE,
    OAUTH2_PROXY_IMAGE,
    PIPELINES_IMAGES,
    POSTGRES_IMAGE,
    PYTHON_IMAGE,
    TRAINING_OPERATOR_IMAGE,
    WAIT_IMAGE,
)

DIGESTS_FILE = Path(__file__).with_name("digests.json")

PLATFORM_IMAGES = (
    TRAINING_OPERATOR_IMAGE,
    KUBECTL_IMAGE,
    AWS_CLI_IMAGE,
    WAIT_IMAGE,
    GPU_OPERATOR_IMAGE,
    CURL_IMAGE,
    NGINX_IMAGE,
    PYTHON_IMAGE,
)
"""Images that the program names itself, whatever the stack file says."""

EXPERIMENT_IMAGES = (POSTGRES_IMAGE, *KATIB_IMAGES.values())
"""Images that the program names itself where there are experiments."""

MPI_IMAGES = (MPI_OPERATOR_IMAGE,)
"""Images that the program names itself where MPI starts runs."""
TRACKING_IMAGES = (MLFLOW_IMAGE, POSTGRES_IMAGE)
"""Images that the program names itself where runs are tracked in the cluster."""
PIPELINE_IMAGES = (MYSQL_IMAGE, METADATA_IMAGE, *PIPELINES_IMAGES.values(), *ARGO_IMAGES.values())
"""Images that the program names itself where there are Kubeflow Pipelines."""
PEOPLE_IMAGES = (OAUTH2_PROXY_IMAGE,)
"""Images that the program names itself where people sign in to pages."""

TRAINER_BASE = "nvcr.io/nvidia/pytorch:26.03-py3"
"""What images/trainer/Dockerfile is built on: the newest row below that has aws-ofi-nccl."""

DIGESTS: dict[str, str] = json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))
"""Image as written -> sha256:..., as resolved on `catalogue/digests.json`'s last change."""

_WORKSPACE = tuple(f"/workspace/{each}" for each in ("README.md", "docker-examples", "examples", "tutorials"))
"""Where NVIDIA's PyTorch images begin: examples, and nobody's training script (NVIDIA PyTorch release notes)."""

_FRAMEWORKS = (DEEPSPEED, MEGATRON_CORE, MEGATRON_BRIDGE)
"""What images of PyTorch alone have not: in NVIDIA's they are installed by pip (Megatron-LM, README, Installation;
huggingface/transformers, docker/transformers-pytorch-deepspeed-latest-gpu), pytorch/pytorch has PyTorch alone."""


def own_images(*, experiments: bool, mpi: bool, mlflow: bool, pipelines: bool, people: bool) -> tuple[str, ...]:
    """Images that the program names itself, for a stack that has these or not; each once."""
    asked = (
        (PLATFORM_IMAGES, True),
        (EXPERIMENT_IMAGES, experiments),
        (MPI_IMAGES, mpi),
        (TRACKING_IMAGES, mlflow),
        (PIPELINE_IMAGES, pipelines),
        (PEOPLE_IMAGES, people),
    )
    return tuple(dict.fromkeys(image for images, wanted in asked if wanted for image in images))


IMAGES = {
    row.name: row
    for row in (
        ContainerImage(
            name="nvcr.io/nvidia/pytorch:26.01..26.05",
            net_plugin="ofi",
            python="3.12",
            holds=_WORKSPACE,
            lacks=_FRAMEWORKS,
            source="NVIDIA/cluster-readiness-engine, TestAWSGB300EFAStripInvariant (26.01 has /opt/amazon/aws-ofi-nccl "
            "and sets NCCL_NET_PLUGIN=ofi); Megatron-Bridge, docker/common/install_aws_ofi_nccl.sh (gone in 26.06)",
        ),
        ContainerImage(
            name="nvcr.io/nvidia/pytorch:26.03..26.03",
            cuda="13.2.0",
            nccl="2.29.7",
            aws_ofi_nccl="1.17.0",
            mpi="HPC-X 2.26",
            net_plugin="ofi",
            python="3.12",
            holds=_WORKSPACE,
            lacks=_FRAMEWORKS,
            source="NVIDIA CUDA DL release notes, 26.03 (what the PyTorch image of that release is built on)",
        ),
        ContainerImage(
            name="nvcr.io/nvidia/pytorch:26.06..",
            lacks=(OFI_PLUGIN, *_FRAMEWORKS),
            env=("NCCL_NET_PLUGIN=spcx",),
            python="3.12",
            holds=_WORKSPACE,
            source="NVIDIA-NeMo/Megatron-Bridge, docker/common/install_aws_ofi_nccl.sh and pull request 5033",
        ),
        ContainerImage(
            name="nvcr.io/nvidia/nemo",
            packages=(MEGATRON_CORE, MEGATRON_BRIDGE),
            source="NVIDIA-NeMo/Megatron-Bridge, README, Installation: the NeMo Framework container has it and its "
            "submodule Megatron-Core",
        ),
        ContainerImage(
            name="public.ecr.aws/deep-learning-containers/pytorch-training:2.11..2.13",
            aws_ofi_nccl="1.20.0",
            net_plugin="ofi",
            source="aws/deep-learning-containers, pull request 6668 (EFA installer 1.49.0)",
        ),
        ContainerImage(
            name="pytorch/pytorch",
            lacks=(OFI_PLUGIN, "libfabric", *_FRAMEWORKS),
            holds=("/workspace/",),
            source="pytorch/pytorch, Dockerfile: Ubuntu, CUDA and wheels; its WORKDIR /workspace is empty",
        ),
    )
}
"""What is known of images, by repository and tags. A later row about the same tags says more."""


REPOSITORIES = tuple(
    dict.fromkeys(
        (
            *(repository(name) for name in IMAGES),
            *(
                repository(image)
                for image in own_images(experiments=True, mpi=True, mlflow=True, pipelines=True, people=True)
            ),
            "vllm/vllm-openai",
            "nvcr.io/nvidia/tritonserver",
        )
    )
)
"""Repositories of images that are known to be published, whatever is known of what is in them."""


def is_published(image: str) -> bool:
    """Whether the image is of a repository that is known to be published, or of a mirror of one."""
    return any(same(known, repository(image)) for known in REPOSITORIES)


def is_pinned(image: str, digests: Mapping[str, str] = DIGESTS) -> bool:
    """Whether the image's content is fixed, by a digest of its own or a resolved one."""
    return "@sha256:" in image or image in digests


def pinned(image: str, digests: Mapping[str, str] = DIGESTS) -> str:
    """The image with its digest where one is known, as it is otherwise."""
    return f"{image}@{digests[image]}" if "@" not in image and image in digests else image
