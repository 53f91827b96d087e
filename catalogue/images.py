"""Images and their digests. A digest stands here only if a registry gave it (`make pin-images`)."""

import json
from collections.abc import Mapping
from pathlib import Path

from catalogue.versions import AWS_CLI_IMAGE, KUBECTL_IMAGE, TRAINING_OPERATOR_IMAGE, WAIT_IMAGE

DIGESTS_FILE = Path(__file__).with_name("digests.json")

PLATFORM_IMAGES = (TRAINING_OPERATOR_IMAGE, KUBECTL_IMAGE, AWS_CLI_IMAGE, WAIT_IMAGE)
"""Images that the program names itself, whatever the stack file says."""

DIGESTS: dict[str, str] = json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))
"""Image as written -> sha256:..., as resolved on `catalogue/digests.json`'s last change."""


def is_pinned(image: str, digests: Mapping[str, str] = DIGESTS) -> bool:
    """Whether the image's content is fixed, by a digest of its own or a resolved one."""
    return "@sha256:" in image or image in digests


def pinned(image: str, digests: Mapping[str, str] = DIGESTS) -> str:
    """The image with its digest where one is known, as it is otherwise."""
    return f"{image}@{digests[image]}" if "@" not in image and image in digests else image
