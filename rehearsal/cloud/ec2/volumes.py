"""EBS volumes with a customer's KMS key.

Source: EC2 API reference, "Error codes": InvalidKmsKey.InvalidState (the key is not in a state to be used: disabled,
pending deletion); EBS user guide, "Amazon EBS encryption". That AWS looks at the key a little later, and the volume
then goes away by itself, is not played: the call is refused at once.
"""

from typing import Any

from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.kms import key_fault

AMENDMENTS = Amendments()


def require_key(region: str, key: str | None) -> None:
    """Refuse a volume whose key cannot encrypt it. One without a key of its own takes the account's, which can."""
    fault = key_fault(region, key) if key else ""
    if fault:
        message = f"The KMS key provided is in an incorrect state: {key} cannot encrypt a volume, as {fault}"
        raise refusal("InvalidKmsKey.InvalidState", message)


@AMENDMENTS.around(ElasticBlockStore, "create_volume")
def create_volume(original: Any, self: Any) -> Any:
    """CreateVolume with KmsKeyId."""
    require_key(self.region, self._get_param("KmsKeyId"))
    return original(self)
