"""Which operation of which service a request is: for counters, for faults, and to word errors in its protocol."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from moto.core.request import Request
from moto.core.routing import NotFound, get_service_router

MODELLED_REST = {"eks": "eks", "elasticfilesystem": "efs", "route53": "route53", "s3": "s3"}
"""Services whose model tells the operation of a path: as signatures name them, and as botocore does."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: ``service`` as in the request's signature, ``name`` as in the API reference, and the protocol."""

    service: str
    name: str
    protocol: str

    @property
    def label(self) -> str:
        """``ec2.CreateSubnet``: how counters name it."""
        return f"{self.service}.{self.name}"


def signed_service(environ: dict[str, Any]) -> str:
    """The service a request was signed for; S3 for unsigned ones, as moto has it."""
    credential = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition(",")[0]
    scope = credential.split("/")
    return scope[-2] if len(scope) >= 5 else "s3"


def identify(environ: dict[str, Any], body: bytes) -> Operation:
    """Name the operation of a WSGI request whose body has been read.

    A REST path that no model knows is named by method and path, so that counters and messages still show it.
    """
    service = signed_service(environ)
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return Operation(service, target.rpartition(".")[2], "json")
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        action = parse_qs(body.decode("utf-8", "replace")).get("Action", [""])[0]
        if action:
            return Operation(service, action, "ec2" if service == "ec2" else "query")
    elif service != "s3" and (asked := parse_qs(environ.get("QUERY_STRING", "")).get("Action")):
        return Operation(service, asked[0], "ec2" if service == "ec2" else "query")
    protocol = "rest-xml" if service in ("route53", "s3") else "rest-json"
    if service in MODELLED_REST:
        try:
            operation, _ = get_service_router(MODELLED_REST[service]).match(Request(dict(environ)))
            return Operation(service, str(operation.name), protocol)
        except NotFound:
            pass
    return Operation(service, f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}", protocol)
