"""The provider's arguments, checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.plugins.servicer import PluginError
from rehearsal.plugins.wire import UNKNOWN

CREDENTIALS = ("accessKey", "secretKey", "token")
HARMLESS = ("skipCredentialsValidation", "skipMetadataApiCheck", "skipRegionValidation", "s3UsePathStyle", "version")
HONOURED = (
    "region",
    "profile",
    "assumeRoles",
    "defaultTags",
    "ignoreTags",
    "allowedAccountIds",
    "forbiddenAccountIds",
    "endpoints",
)


@dataclass(frozen=True)
class Role:
    """One role of ``assumeRoles``, assumed with the credentials of the one before it."""

    arn: str
    session_name: str = "pulumi"
    external_id: str = ""

    def parameters(self) -> dict[str, str]:
        """For sts:AssumeRole."""
        external = {"ExternalId": self.external_id} if self.external_id else {}
        return {"RoleArn": self.arn, "RoleSessionName": self.session_name, **external}


@dataclass(frozen=True)
class Settings:
    """A provider's arguments as far as this plugin honours them."""

    region: str
    profile: str | None = None
    assume_roles: tuple[Role, ...] = ()
    default_tags: Mapping[str, str] = field(default_factory=dict)
    ignored_tags: frozenset[str] = frozenset()
    ignored_prefixes: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    endpoints: Mapping[str, str] = field(default_factory=dict)

    def admit(self, account: str) -> None:
        """Raises PluginError if the credentials belong to an account the program does not want."""
        if self.allowed and account not in self.allowed:
            allowed = ", ".join(sorted(self.allowed))
            raise PluginError(f"AWS account {account} is not in allowedAccountIds ({allowed}); check the credentials")
        if account in self.forbidden:
            raise PluginError(f"AWS account {account} is in forbiddenAccountIds; check the credentials")

    def tags(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """A resource's tags with the default ones, less the ignored."""
        merged = {**self.default_tags, **own}
        return {key: value for key, value in merged.items() if not self.ignores(key)}

    def ignores(self, key: str) -> bool:
        """Whether a tag is none of the program's: named by ignoreTags, or set by AWS itself."""
        return key in self.ignored_tags or key.startswith((*self.ignored_prefixes, "aws:"))


def problems(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Argument -> what is wrong with it; unknown values pass."""
    found = {}
    for name in arguments:
        if name in CREDENTIALS:
            found[name] = "credentials come from the environment or the AWS configuration, never from the program"
        elif name not in HONOURED + HARMLESS:
            found[name] = "the rehearsal's aws plugin does not know this provider argument"
    if not arguments.get("region"):
        found["region"] = "no region: set the provider's region, the stack's aws:region or AWS_REGION"
    return found


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Provider arguments with the values that the SDK sends as JSON text decoded (objects, lists, booleans)."""
    return {name: _decoded(value) for name, value in arguments.items()}


def settings(arguments: Mapping[str, Any]) -> Settings:
    """Settings from decoded arguments."""
    roles = [_role(role) for role in _list(arguments.get("assumeRoles"))]
    ignored = _one(arguments.get("ignoreTags"))
    endpoints = {name: url for entry in _list(arguments.get("endpoints")) for name, url in entry.items()}
    return Settings(
        region=arguments["region"],
        profile=arguments.get("profile"),
        assume_roles=tuple(roles),
        default_tags=_one(arguments.get("defaultTags")).get("tags") or {},
        ignored_tags=frozenset(ignored.get("keys") or ()),
        ignored_prefixes=tuple(ignored.get("keyPrefixes") or ()),
        allowed=frozenset(_list(arguments.get("allowedAccountIds"))),
        forbidden=frozenset(_list(arguments.get("forbiddenAccountIds"))),
        endpoints={name.lower(): url for name, url in endpoints.items()},
    )


def _role(role: Mapping[str, Any]) -> Role:
    unknown = sorted(role.keys() - {"roleArn", "sessionName", "externalId", "duration"})
    if unknown:
        raise PluginError(f"assumeRoles: the rehearsal's aws plugin does not know {', '.join(unknown)}")
    return Role(role["roleArn"], role.get("sessionName") or "pulumi", role.get("externalId") or "")


def _decoded(value: Any) -> Any:
    if not isinstance(value, str) or value == UNKNOWN or value[:1] not in ("{", "[", '"', "t", "f"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _one(value: Any) -> dict[str, Any]:
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}
