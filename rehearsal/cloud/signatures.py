"""Whether a request is signed by a key of the account, as AWS asks before it does anything (Signature Version 4).

The signature is made anew from what arrived, by botocore's own signer, and compared. Sources: IAM user guide, "Create a
signed AWS API request" and "Troubleshoot Signature Version 4" (five minutes); S3 API reference, "Error responses"
(RequestTimeTooSkewed: fifteen); kubernetes-sigs/aws-iam-authenticator, pkg/token (a presigned GetCallerIdentity holds
for fifteen minutes). The chunks of a body that is signed in chunks are not checked, its first signature is.
"""

import enum
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.compat import HTTPHeaders
from botocore.credentials import Credentials

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW, S3_SKEW, PRESIGNED = timedelta(minutes=5), timedelta(minutes=15), timedelta(minutes=15)
DATE = "%Y%m%dT%H%M%SZ"

Secret = Callable[[str, str | None], str | None]
"""From an access key and the session's token to the key's secret; None if the account has no such key."""


class Flaw(enum.Enum):
    """What is wrong with a request's signature; values are the sentence AWS sends."""

    MISSING = "Request is missing Authentication Token"
    UNKNOWN = "The security token included in the request is invalid."
    WRONG = "The request signature we calculated does not match the signature you provided."
    EXPIRED = "Signature expired, or not yet current: the request's time is too far from the server's."


# EC2 API reference, "Error codes for the Amazon EC2 API"; IAM API reference, "Common error types"; S3's as above.
_CODES: Mapping[str, Mapping[Flaw, tuple[str, int]]] = {
    "ec2": {
        **dict.fromkeys((Flaw.MISSING, Flaw.UNKNOWN, Flaw.WRONG), ("AuthFailure", 401)),
        Flaw.EXPIRED: ("RequestExpired", 400),
    },
    "query": {
        Flaw.MISSING: ("MissingAuthenticationToken", 403),
        Flaw.UNKNOWN: ("InvalidClientTokenId", 403),
        Flaw.WRONG: ("SignatureDoesNotMatch", 403),
        Flaw.EXPIRED: ("SignatureDoesNotMatch", 403),
    },
    "rest-xml": {
        Flaw.MISSING: ("AccessDenied", 403),
        Flaw.UNKNOWN: ("InvalidAccessKeyId", 403),
        Flaw.WRONG: ("SignatureDoesNotMatch", 403),
        Flaw.EXPIRED: ("RequestTimeTooSkewed", 403),
    },
    "json": {
        Flaw.MISSING: ("MissingAuthenticationTokenException", 403),
        Flaw.UNKNOWN: ("UnrecognizedClientException", 403),
        Flaw.WRONG: ("InvalidSignatureException", 403),
        Flaw.EXPIRED: ("InvalidSignatureException", 403),
    },
}


def told(flaw: Flaw, protocol: str) -> tuple[str, int]:
    """AWS' error code and status for a flaw, in the protocol of the operation."""
    return _CODES.get(protocol, _CODES["json"])[flaw]


@dataclass(frozen=True)
class Signed:
    """What a request says of its signature."""

    key: str
    scope: tuple[str, str, str]
    """Day, region and service."""
    headers: tuple[str, ...]
    signature: str
    stamp: str
    token: str | None
    presigned: bool
    age: timedelta | None = None
    """How long a presigned request lasts, as its query says."""

    @property
    def service(self) -> str:
        return self.scope[2]

    @property
    def header(self) -> str:
        """The same as a header."""
        scope = "/".join((self.key, *self.scope, "aws4_request"))
        return f"{ALGORITHM} Credential={scope}, SignedHeaders={';'.join(self.headers)}, Signature={self.signature}"


def flaw(signed: Signed | None, environ: Mapping[str, Any], body: bytes, secret: Secret, now: datetime) -> Flaw | None:
    """What is wrong with the signature of a WSGI request whose body has been read; None if it is right."""
    if signed is None:
        return Flaw.MISSING
    known = secret(signed.key, signed.token)
    if known is None:
        return Flaw.UNKNOWN
    if not _fresh(signed, now):
        return Flaw.EXPIRED
    sent = _payload(signed, environ, body)
    if sent is None or "host" not in signed.headers:
        return Flaw.WRONG
    wanted = _signature(signed, environ, sent, known).encode()
    return None if hmac.compare_digest(wanted, signed.signature.encode(errors="replace")) else Flaw.WRONG


def parse(environ: Mapping[str, Any]) -> Signed | None:
    """The signature in the header Authorization, or in the query of a presigned request; None if there is none."""
    header = str(environ.get("HTTP_AUTHORIZATION", ""))
    try:
        if header.startswith(f"{ALGORITHM} "):
            fields = dict(part.strip().split("=", 1) for part in header.removeprefix(f"{ALGORITHM} ").split(","))
            stamp, token = environ.get("HTTP_X_AMZ_DATE", ""), environ.get("HTTP_X_AMZ_SECURITY_TOKEN")
            return _signed(fields["Credential"], fields["SignedHeaders"], fields["Signature"], stamp, token)
        query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
        if header or query.get("X-Amz-Algorithm") != ALGORITHM:
            return None
        age = timedelta(seconds=int(query["X-Amz-Expires"]))
        stamp, token = query["X-Amz-Date"], query.get("X-Amz-Security-Token")
        credential, headers = query["X-Amz-Credential"], query["X-Amz-SignedHeaders"]
        return _signed(credential, headers, query["X-Amz-Signature"], stamp, token, presigned=True, age=age)
    except (KeyError, ValueError, OverflowError):
        return None


def _signed(
    credential: str,
    headers: str,
    signature: str,
    stamp: str,
    token: str | None,
    *,
    presigned: bool = False,
    age: timedelta | None = None,
) -> Signed:
    key, day, region, service, end = credential.split("/")
    if end != "aws4_request":
        raise ValueError(credential)
    names = tuple(headers.lower().split(";"))
    return Signed(key, (day, region, service), names, signature, stamp, token, presigned, age)


def _fresh(signed: Signed, now: datetime) -> bool:
    try:
        made = datetime.strptime(signed.stamp, DATE).replace(tzinfo=UTC)
    except ValueError:
        return False
    if not signed.stamp.startswith(signed.scope[0]):
        return False
    skew = S3_SKEW if signed.service == "s3" else SKEW
    lasts = skew if signed.age is None else signed.age if signed.service == "s3" else PRESIGNED
    return made - skew <= now <= made + lasts


def _payload(signed: Signed, environ: Mapping[str, Any], body: bytes) -> str | None:
    """What stands for the body in what is signed; None if the request names another body's hash."""
    own = hashlib.sha256(body).hexdigest()
    if signed.service != "s3":
        return own
    if signed.presigned:
        return "UNSIGNED-PAYLOAD"
    named = environ.get("HTTP_X_AMZ_CONTENT_SHA256")
    if named is None or named == own:
        return own
    return str(named) if named == "UNSIGNED-PAYLOAD" or named.startswith("STREAMING-") else None


def _signature(signed: Signed, environ: Mapping[str, Any], payload: str, secret: str) -> str:
    """The signature that the request must have if its key has this secret."""
    _, region, service = signed.scope
    signer = (_S3 if service == "s3" else _Signer)(Credentials(signed.key, secret), service, region)
    signer.chosen = [(name, _header(environ, name)) for name in signed.headers]
    target = urlsplit(environ["REQUEST_URI"])
    query = "&".join(part for part in target.query.split("&") if not part.startswith("X-Amz-Signature="))
    request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{target.path}?{query}")
    request.headers["X-Amz-Content-SHA256"] = payload
    request.context["timestamp"] = signed.stamp
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return str(signer.signature(text, request))


def _header(environ: Mapping[str, Any], name: str) -> str:
    key = name.upper().replace("-", "_")
    return str(environ.get(key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}", ""))


class _Signer(SigV4Auth):  # type: ignore[misc]
    """Signs the headers that the request names, which the client chose."""

    chosen: list[tuple[str, str]]

    def headers_to_sign(self, request: AWSRequest) -> HTTPHeaders:  # noqa: ARG002 - named by the base class
        headers = HTTPHeaders()
        for name, value in self.chosen:
            headers[name] = value
        return headers


class _S3(_Signer, S3SigV4Auth):  # type: ignore[misc]
    """The same with S3's paths, which are taken as they are."""
