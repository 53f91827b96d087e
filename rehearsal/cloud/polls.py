"""Long polls of SQS: a caller waits up to 20 seconds for a message, and nobody else does with it.

Source: SQS developer guide, "Amazon SQS short and long polling". Moto waits inside of the call, which here holds the
lock that all requests of the account need; so it never waits, and the server asks it again.
"""

import json
from collections.abc import Iterable
from typing import Any

from moto.sqs.models import SQSBackend

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.operations import Operation

AMENDMENTS = Amendments()
LOOK_SECONDS = 0.5
_LONGEST = 20.0


@AMENDMENTS.around(SQSBackend, "receive_message")
def receive_message(
    original: Any, self: Any, queue_name: str, count: int, _wait: int, visibility: int, names: Any = None
) -> Any:
    """What is there now."""
    return original(self, queue_name, count, 0, visibility, names)


def patience(operation: Operation, body: bytes) -> float:
    """For how many seconds a caller wants to wait for an answer that says something; 0 for all but long polls."""
    if operation.label != "sqs.ReceiveMessage" or operation.protocol != "json":
        return 0.0
    try:
        asked = json.loads(body).get("WaitTimeSeconds") or 0
    except ValueError:
        return 0.0
    return min(float(asked), _LONGEST)


def empty(answer: Iterable[bytes]) -> bool:
    """Whether a queue had nothing. Pure."""
    return b'"Messages"' not in b"".join(answer)
