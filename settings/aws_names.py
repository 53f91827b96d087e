"""Names that AWS gives, or takes: regions and zones, accounts, ARNs, ids, and values of tags."""

import re
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator, Field

from catalogue.echo import bare, echo
from catalogue.regions import REGIONS
from settings.types import Matching
from settings.zones import zone_prefix


def _region(value: str) -> str:
    if value not in REGIONS:
        near = get_close_matches(value, REGIONS, n=1)
        guess = f"did you mean {near[0]}?" if near else f"known: {', '.join(REGIONS)}"
        raise ValueError(f"{echo(value)} is not a region of AWS; {guess}")
    return value


def _zone_name(value: str) -> str:
    """Accounts have names for zones (eu-north-1a) and ids (eun1-az1): only ids mean the same place to everybody."""
    if value[:-1] in REGIONS and value[-1:].isalpha():
        begin = zone_prefix(value[:-1])
        raise ValueError(
            f"{echo(value)} is a zone name, which differs between accounts; write the zone id, which starts with"
            f" {begin}-az (aws ec2 describe-availability-zones --region {value[:-1]} lists both)"
        )
    return value


def _tag_value(value: str) -> str:
    refused = re.findall(r"[^\w .:/=+@-]", value)
    if refused:
        raise ValueError(f"has the character {echo(refused[0])}; write letters, digits, blanks and . _ - : / = + @")
    return value


TagValue = Annotated[str, AfterValidator(_tag_value)]
"""What a tag of AWS may say (IAM API reference, Tag)."""
Arn = Annotated[
    str,
    Matching(
        r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[A-Za-z0-9_+=,.@/-]+",
        "the IAM ARN of one role or user such as arn:aws:iam::123456789012:role/deployer",
    ),
]
PolicyArn = Annotated[
    str,
    Matching(
        r"arn:aws[a-z-]*:iam::(\d{12}|aws):policy/[A-Za-z0-9_+=,.@/-]+",
        "the ARN of one IAM policy such as arn:aws:iam::123456789012:policy/boundary",
    ),
]
AwsProfile = Annotated[
    str,
    Matching(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}", "a profile of the AWS configuration, such as deployer"),
]
"""It stands in commands that people copy to a shell."""
KeyArn = Annotated[
    str,
    Matching(
        r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/(mrk-)?[0-9a-f-]+",
        "the ARN of a KMS key such as arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    ),
]
FunctionArn = Annotated[
    str,
    Matching(
        r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9_$-]{1,128})?",
        "the ARN of a Lambda function such as arn:aws:lambda:us-east-2:123456789012:function:rotate-keys",
    ),
]
AccountId = Annotated[str, Matching(r"\d{12}", "a 12-digit account id")]
Region = Annotated[str, AfterValidator(_region), Field(json_schema_extra={"enum": list(REGIONS)})]
ZoneId = Annotated[
    str,
    AfterValidator(_zone_name),
    Matching(r"[a-z]{2,4}\d-az\d{1,2}", "a zone id such as use2-az1 (ids are the same in every account)"),
]
ReservationId = Annotated[
    str, Matching(r"cr-[0-9a-f]{8,17}", "the id of a capacity reservation such as cr-0123456789abcdef0")
]
SecurityGroupId = Annotated[
    str, Matching(r"sg-[0-9a-f]{8,17}", "the id of a security group such as sg-0123456789abcdef0")
]
AMI_ID = r"ami-[0-9a-f]{8,17}"
_PARAMETER = r"(/[A-Za-z0-9_.-]+)+"
"""Source: Systems Manager API reference, PutParameter (Name)."""


def _fixed(value: str) -> str:
    """What a parameter names changes, and where a label stands too; what one of its versions names does not."""
    name = value.partition(":")[0]
    if name.startswith("/") and not re.fullmatch(r"[^:]+:[1-9]\d*", value):
        raise ValueError(
            f"{echo(value)} has no version, so it can name another image at the next run; write {bare(name)}:VERSION"
            f" (aws ssm get-parameter --name {bare(name)} --query Parameter.Version prints the newest)"
        )
    return value


Ami = Annotated[
    str,
    AfterValidator(_fixed),
    Matching(
        rf"{AMI_ID}|{_PARAMETER}:[1-9]\d{{0,9}}",
        "the id of an AMI such as ami-0123456789abcdef0, or a version of an SSM parameter such as /images/gpu-node:3",
    ),
]
"""An image of the user's own, or the version of an SSM parameter that holds its id."""
