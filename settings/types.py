"""Constrained scalars that several sections of the settings share."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from catalogue.echo import echo


@dataclass(frozen=True, slots=True)
class Matching:
    """Metadata for text that matches `pattern` as a whole; `what` completes the sentence "'x' is not ..."."""

    pattern: str
    what: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        compiled = re.compile(self.pattern)

        def check(value: str) -> str:
            if not compiled.fullmatch(value):
                raise ValueError(f"{echo(value)} is not {self.what}")
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$"}


BackupHours = Annotated[
    Literal[1, 2, 3, 4, 6, 8, 12, 24] | None,
    Field(description="hours between two backups of the database to the object store; None = no backups"),
]


def _versioned(value: str) -> str:
    if value.endswith(":latest"):
        raise ValueError(f"{echo(value)} is a tag that moves; name a version")
    return value


def _network(value: str) -> str:
    try:
        network = IPv4Network(value, strict=False)
    except ValueError:
        raise ValueError(f"{echo(value)} is not an IPv4 network such as 203.0.113.0/24") from None
    if value != str(network):
        raise ValueError(f"{echo(value)} is not the network's own address; write {network}")
    return value


def _vpc_network(value: str) -> str:
    network = IPv4Network(_network(value))
    if not 16 <= network.prefixlen <= 20:
        raise ValueError(f"{value} does not divide into the subnets; take a /16 to a /20, such as 10.64.0.0/16")
    if not _is_private(network):
        raise ValueError(f"{value} is not a private range; take one of 10.0.0.0/8, such as 10.64.0.0/16")
    if network.overlaps(IPv4Network(SERVICE_CIDR)):
        raise ValueError(f"{value} overlaps the cluster's Service addresses {SERVICE_CIDR}; take 10.64.0.0/16")
    return value


def reserved(*words: str, owner: str, what: str) -> AfterValidator:
    """Metadata for names that somebody else makes objects by; `owner` does, and calls so `what`."""

    def check(value: str) -> str:
        if value in words:
            raise ValueError(f"{echo(value)} is {what}, which {owner} creates itself; choose another name")
        return value

    return AfterValidator(check)


def _not_of_kubernetes(value: str) -> str:
    if value.startswith("kube-"):
        raise ValueError(f"{echo(value)} starts with kube-, which is reserved for Kubernetes; choose another name")
    return value


def _day(value: Any) -> date:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"{echo(value)} is not a date ({error})") from None
    raise ValueError('is not a date; write it in quotes, as "2027-12-31"')


def _moment(value: Any) -> datetime:
    """YAML reads a moment without quotes by itself; both loaders give text for one in quotes."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(\.0+)?Z", value):
        try:
            return datetime.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"{value!r} is not a time ({error})") from None
    raise ValueError('is not a time in UTC; write it in quotes, as "2027-12-31T18:00Z"')


def _private_network(value: str) -> str:
    network = IPv4Network(_network(value))
    if not _is_private(network):
        raise ValueError(f"{value} is not a private range; take one of 10.0.0.0/8, such as 10.20.0.0/22")
    return value


def _public_network(value: str) -> str:
    if _is_private(IPv4Network(_network(value))):
        raise ValueError(
            f"{value} is a private range, which the public endpoint never sees and EKS refuses; "
            "name public addresses here, and networks connected to the VPC under access"
        )
    return value


def _is_private(network: IPv4Network) -> bool:
    """Whether the range is one that nobody else on the Internet has (RFC 1918, RFC 6598)."""
    ranges = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
    return any(network.subnet_of(IPv4Network(each)) for each in ranges)


SERVICE_CIDR = "172.20.0.0/16"
"""Addresses of Kubernetes Services; the VPC must not overlap them."""

Cidr = Annotated[str, AfterValidator(_network)]
PublicCidr = Annotated[str, AfterValidator(_public_network)]
PrivateCidr = Annotated[str, AfterValidator(_private_network)]
VpcCidr = Annotated[str, AfterValidator(_vpc_network)]
Day = Annotated[
    date, BeforeValidator(_day, json_schema_input_type=Annotated[str, Field(json_schema_extra={"format": "date"})])
]
Moment = Annotated[
    datetime,
    BeforeValidator(_moment, json_schema_input_type=Annotated[str, Field(json_schema_extra={"format": "date-time"})]),
]
NAME = r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"
Name = Annotated[
    str,
    Matching(
        NAME,
        "a name: lower-case letters, digits and '-', a letter first, no '-' last, at most 40",
    ),
    AfterValidator(_not_of_kubernetes),
]
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
Hostname = Annotated[
    str,
    Matching(rf"({_LABEL}\.)+{_LABEL}", "a host's full name in small letters, such as llm.example.com"),
    Field(max_length=253),
]
HostPattern = Annotated[
    str,
    Matching(rf"(\*\.)?({_LABEL}\.)+{_LABEL}", "a host's full name such as pypi.org, or *.pypi.org for those below it"),
    Field(max_length=253),
]
MigProfile = Annotated[str, Matching(r"\d+g\.\d+gb(\+me(\.all)?)?", "a MIG profile such as 1g.10gb")]
Stripes = Annotated[str, Matching(r"[1-9]\d?\+[1-9]", "data and parity pieces such as 8+2")]
KubernetesMinor = Annotated[str, Matching(r"1\.\d\d", "a Kubernetes minor such as 1.36")]
_HOST, _PART = r"[A-Za-z0-9][A-Za-z0-9.-]*(:\d+)?", r"[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*"
"""A registry, and a part of a repository's path (distribution/reference, reference.go)."""
Image = Annotated[
    str,
    Matching(
        rf"({_HOST}/)?{_PART}(/{_PART})*(:\w[\w.\-]*(@sha256:[0-9a-f]{{64}})?|@sha256:[0-9a-f]{{64}})",
        "an image in lower case with a tag or a digest, such as vllm/vllm-openai:v0.29.0",
    ),
    AfterValidator(_versioned),
]
Email = Annotated[str, Matching(r"[^@\s]+@[^@\s]+\.[^@\s.]+", "an e-mail address such as team@example.com")]
Word = Annotated[str, Field(min_length=1, max_length=500)]
RuleId = Annotated[str, Matching(r"[a-z]+(-[a-z0-9]+)+", "a rule id such as image-not-pinned")]
Sha256 = Annotated[
    str,
    Matching(r"[0-9a-f]{64}", "a SHA-256: 64 of 0-9 and a-f, such as sha256sum SHA256SUMS prints"),
]
LineageWord = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?",
        "letters, digits, '-', '_' and '.', at most 63, as the value of a label",
    ),
]
"""Kubernetes documentation, Labels and Selectors: syntax of values."""
