"""ECR: keys that exist, tags that do not move.

Sources: ECR API reference, CreateRepository (KmsException), PutImage (ImageTagAlreadyExistsException),
EncryptionConfiguration.
"""

from typing import Any

from moto.core.exceptions import ServiceException
from moto.ecr.exceptions import ImageAlreadyExistsException
from moto.ecr.models import ECRBackend

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.kms import find_key, key_fault

AMENDMENTS = Amendments()


class KmsException(ServiceException):  # type: ignore[misc]
    """The key of a repository cannot be used."""

    code = "KmsException"


@AMENDMENTS.around(ECRBackend, "create_repository")
def create_repository(original: Any, self: Any, **kwargs: Any) -> Any:
    """A KMS key must be there and enabled; whichever way it is named, the repository tells its ARN."""
    encryption = kwargs.get("encryption_config") or {}
    if name := encryption.get("kmsKey"):
        key = find_key(self.region_name, name)
        if key is None or key.key_state != "Enabled":
            raise KmsException(f"The KMS key {name} cannot be used: {key_fault(self.region_name, name)}")
        kwargs["encryption_config"] = {**encryption, "kmsKey": key.arn}
    return original(self, **kwargs)


class ImageTagAlreadyExistsException(ServiceException):  # type: ignore[misc]
    """A tag that must not move is pushed again."""

    code = "ImageTagAlreadyExistsException"


@AMENDMENTS.around(ECRBackend, "put_image")
def put_image(original: Any, self: Any, repository_name: str, image_manifest: str, image_tag: str, *args: Any) -> Any:
    """Another image under a tag that is immutable: moto says that the image exists, ECR that the tag does."""
    try:
        return original(self, repository_name, image_manifest, image_tag, *args)
    except ImageAlreadyExistsException:
        images = self.repositories[repository_name].images
        if image_manifest in [each.image_manifest for each in images if image_tag in each.image_tags]:
            raise
        message = (
            f"The image tag '{image_tag}' already exists in the '{repository_name}' repository and cannot be "
            "overwritten because the tag is immutable."
        )
        raise ImageTagAlreadyExistsException(message) from None
