"""Constrained scalars that several sections of the settings share."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """A frozen part of the settings: camelCase in the stack file, unknown keys refused, input never echoed."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        hide_input_in_errors=True,
        str_strip_whitespace=True,
    )


def _network(value: str) -> str:
    try:
        IPv4Network(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not an IPv4 network ({error}); write it as 10.64.0.0/16") from None
    return value


def _s3_uri(value: str) -> str:
    bucket, slash, prefix = value.removeprefix("s3://").partition("/")
    if not value.startswith("s3://") or not bucket or not slash or not prefix.strip("/"):
        raise ValueError(f"{value!r} is not s3://BUCKET/PREFIX")
    return value.rstrip("/")


Cidr = Annotated[str, AfterValidator(_network)]
S3Uri = Annotated[str, AfterValidator(_s3_uri)]
Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$", description="lower case, digits and '-', at most 40")]
Arn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+$")]
ZoneId = Annotated[str, Field(pattern=r"^[a-z]{2,4}\d-az\d{1,2}$", description="zone id such as use2-az1, the same in every account")]
Image = Annotated[str, Field(pattern=r"^[^\s:@]+(:\d+)?(/[^\s:@]+)*(:[\w.\-]+)?(@sha256:[0-9a-f]{64})?$")]
