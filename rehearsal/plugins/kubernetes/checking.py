"""Check: names and namespaces for objects that were given none, and refusals that need no cluster."""

import base64
import hashlib
import secrets as random
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.kubernetes import waitfor
from rehearsal.plugins.kubernetes.objects import (
    AUTONAMED,
    SERVER_FIELDS,
    WAIT_FOR,
    annotation,
    dashed,
    dig,
    flagged,
    is_secret,
    without_nulls,
)
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.wire import UNKNOWN, decode, encode, has_unknown

Options = provider_pb2.CheckRequest.AutonamingOptions
Failure = tuple[str, str]
READ_ONLY = (*SERVER_FIELDS, "deletionGracePeriodSeconds", "deletionTimestamp", "managedFields")


def check(request: Any, session: Session | None) -> Any:
    """The inputs as they will be applied, with names and namespaces filled in, or what is wrong with them."""
    new, secrets = decode(request.news)
    old, _ = decode(request.olds)
    new = normalized(dashed(without_nulls(new)))
    if is_secret(new):
        secrets = secrets | {("data",), ("stringData",)}
    failures = _refusals(request.type, new)
    if not failures:
        failures = _name(request, new, old)
    if not failures and session:
        _namespace(new, session)
        session.announce(new)
    return provider_pb2.CheckResponse(
        inputs=encode(new, secrets),
        failures=[provider_pb2.CheckFailure(property=path, reason=reason) for path, reason in failures],
    )


def _refusals(token: str, inputs: Mapping[str, Any]) -> list[Failure]:
    kind = token.rpartition(":")[2]
    if kind.endswith("Patch") and kind == f"{inputs.get('kind')}Patch":
        return [("", f"{token} is not rehearsed: a patch of another owner's object; declare the object itself")]
    if isinstance(inputs.get("kind"), str) and inputs["kind"].endswith("List") and "items" in inputs:
        return [("", f"{token} cannot be created: declare its items as resources of their own")]
    for key in ("apiVersion", "kind"):
        if not isinstance(inputs.get(key), str):
            return [(key, f"{key} is missing: every Kubernetes object needs it")]
    if dig(inputs, "metadata", "generateName"):
        return [("metadata.generateName", "generateName is not rehearsed: leave the name out and Pulumi makes one")]
    custom = annotation(inputs, WAIT_FOR)
    if custom is not None and not has_unknown(custom):
        try:
            waitfor.parse(custom)
        except ValueError as error:
            return [(f'metadata.annotations["{WAIT_FOR}"]', str(error))]
    return []


def _name(request: Any, new: dict[str, Any], old: Mapping[str, Any]) -> list[Failure]:
    """Fills in `metadata.name`: the automatic name it had before, else what the engine proposes, else a new one."""
    metadata = new.setdefault("metadata", {})
    if metadata == UNKNOWN or not isinstance(metadata, dict) or metadata.get("name"):
        return []
    if flagged(old, AUTONAMED) and dig(old, "metadata", "name"):
        name = old["metadata"]["name"]
    else:
        mode = request.autonaming.mode if request.HasField("autonaming") else None
        if mode == Options.DISABLE:
            return [("metadata.name", "automatic names are disabled: give metadata.name")]
        name = request.autonaming.proposed_name if mode is not None else automatic_name(request)
    metadata["name"] = name
    if isinstance(metadata.setdefault("annotations", {}), dict):
        metadata["annotations"][AUTONAMED] = "true"
    return []


def automatic_name(request: Any) -> str:
    """`<logical name>-<8 hex digits>`, the digits from the seed the engine gives for this resource."""
    return f"{request.name}-{hashlib.sha256(request.randomSeed or random.token_bytes(16)).hexdigest()[:8]}"


def _namespace(new: dict[str, Any], session: Session) -> None:
    """Fills in the default namespace; a kind that is not served yet counts as namespaced."""
    metadata = new["metadata"]
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return
    if session.namespaced(new["apiVersion"], new["kind"]):
        metadata["namespace"] = session.namespace


def normalized(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs in the API server's own notation where that is known without asking (provider.go, normalizeInputs).

    `stringData` of a Secret becomes `data` (clients/unstructured.go, normalizeSecretStringData), and what only the
    server writes is dropped. While a value is unknown everything stays as it is.
    """
    if has_unknown(inputs) or not isinstance(inputs.get("metadata"), dict):
        return inputs
    metadata = {key: value for key, value in inputs["metadata"].items() if key not in READ_ONLY}
    result = {**inputs, "metadata": metadata}
    plain = result.get("stringData")
    if is_secret(result) and isinstance(plain, dict) and plain:
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
        result["data"] = {**(result.get("data") or {}), **encoded}
        del result["stringData"]
    return result
