"""Signs requests to AWS as a pod's own role (Signature Version 4), with nothing beside Python's library.

Sources: IAM user guide, "Create a signed AWS API request"; AWS SDKs and tools reference guide, "Container credential
provider" (the address and the token's file, which EKS Pod Identity writes into a pod).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

SECONDS, EARLY = 10, timedelta(minutes=5)
"""For one answer; credentials are renewed so long before they end."""


@dataclass(frozen=True)
class Credentials:
    """A key, and the session's token if it is one of a role. They end at `ends`; None if they do not."""

    key: str
    secret: str
    token: str | None = None
    ends: datetime | None = None

    def last(self, now: datetime) -> bool:
        """Whether they still hold for a while."""
        return self.ends is None or now < self.ends - EARLY


def credentials() -> Credentials:
    """Those of the environment, else those that the pod's agent gives. Raises OSError, ValueError or KeyError."""
    given = os.environ
    if "AWS_ACCESS_KEY_ID" in given:
        return Credentials(given["AWS_ACCESS_KEY_ID"], given["AWS_SECRET_ACCESS_KEY"], given.get("AWS_SESSION_TOKEN"))
    if "AWS_CONTAINER_CREDENTIALS_FULL_URI" not in given:
        raise ValueError("the pod has no role: its pod identity association came later than it, or is gone")
    token = Path(given["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]).read_text(encoding="utf-8").strip()
    address = given["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
    asked = urllib.request.Request(address, headers={"Authorization": token})  # noqa: S310 - the agent's, by EKS
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:  # noqa: S310
        told = json.load(answer)
    ends = datetime.fromisoformat(told["Expiration"].replace("Z", "+00:00"))
    return Credentials(told["AccessKeyId"], told["SecretAccessKey"], told["Token"], ends)


def signed(
    address: str, body: bytes, region: str, service: str, who: Credentials, now: datetime
) -> urllib.request.Request:
    """A POST of a form to the root of `address`."""
    stamp, day = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"), now.astimezone(UTC).strftime("%Y%m%d")
    headers = {
        "content-type": "application/x-www-form-urlencoded; charset=utf-8",
        "host": urlsplit(address).netloc,
        "x-amz-date": stamp,
        **({"x-amz-security-token": who.token} if who.token else {}),
    }
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        ("POST", "/", "", *(f"{name}:{headers[name]}" for name in sorted(headers)), "", names, _sha256(body))
    )
    scope = f"{day}/{region}/{service}/aws4_request"
    told = "\n".join(("AWS4-HMAC-SHA256", stamp, scope, _sha256(canonical.encode())))
    key = f"AWS4{who.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, told.encode(), "sha256").hex()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={who.key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return urllib.request.Request(f"{address}/", body, headers, method="POST")  # noqa: S310 - as it was configured


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
