"""Secrets that AWS Secrets Manager keeps, in place of values in the stack file."""

from typing import Annotated

from pydantic import Field

from settings.aws_names import FunctionArn, KeyArn
from settings.secrets import SecretKey
from settings.sections import Section
from settings.types import Matching

_NAME = r"[A-Za-z0-9/_+=.@-]{1,512}"

SecretId = Annotated[
    str,
    Matching(
        rf"{_NAME}|arn:aws(-[a-z]+)*:secretsmanager:[a-z0-9-]+:\d{{12}}:secret:{_NAME}-[A-Za-z0-9]{{6}}",
        "a secret of Secrets Manager: its name, such as models/callers, or its whole ARN with the six characters at "
        "its end",
    ),
]
"""Sources: Secrets Manager API reference, CreateSecret (Name) and GetSecretValue (SecretId: no partial ARN)."""

Property = Annotated[
    str,
    Matching(r"[A-Za-z0-9_-]{1,100}", "a key of the secret's JSON object, such as token: letters, digits, '_' and '-'"),
]


class Rotation(Section):
    """When Secrets Manager calls the function that makes the secret's next value."""

    function: Annotated[
        FunctionArn,
        Field(description="your Lambda function, whose policy lets secretsmanager.amazonaws.com call it"),
    ]
    days: Annotated[int, Field(ge=1, le=1000, description="days between two rotations")]


class ExternalSecret(Section):
    """A secret of Secrets Manager, or one value of a JSON object that it holds."""

    id: Annotated[SecretId, Field(description="name or whole ARN of the secret in Secrets Manager")]
    property: Annotated[
        Property | None,
        Field(description="key of the JSON object that the secret holds; None = the whole value"),
    ] = None
    key_arn: Annotated[
        KeyArn | None,
        Field(description="your KMS key that encrypts it; None = the account's aws/secretsmanager key"),
    ] = None
    rotation: Annotated[
        Rotation | None,
        Field(description="its schedule, which the stack sets and ends; None = whatever the secret has"),
    ] = None


class ExternalSecrets(Section):
    refresh_minutes: Annotated[
        int,
        Field(ge=1, le=1440, description="minutes between two synchronisations"),
    ] = 60
    secrets: Annotated[
        dict[SecretKey, ExternalSecret],
        Field(min_length=1, description="the location of each secret, by its key in this file, such as hfToken"),
    ]
