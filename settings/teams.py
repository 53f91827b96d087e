"""Teams of a cluster: members, permissions, and share of the GPUs."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from settings.aws_names import Arn
from settings.sections import Path, Section, SectionError, repeated
from settings.types import HostPattern, Matching, Name

GroupName = Annotated[
    str,
    Matching(
        r"(?!(system|eks|aws|amazon|iam|gpucluster):)[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}",
        "the name of a group as the identity provider tells it, such as research; none of Kubernetes' or AWS' own",
    ),
]


class Member(Section):
    """Members of a team, by a group of the identity provider, or on AWS by role or user. A viewer reads; a trainer
    also creates, deletes and execs into jobs; an operator also manages services, service accounts and autoscaling.
    """

    role: Literal["viewer", "trainer", "operator"]
    arn: Annotated[Arn | None, Field(description="on AWS: the role or user; None = identified by group")] = None
    group: Annotated[GroupName | None, Field(description="the group; None = identified by arn")] = None

    @model_validator(mode="after")
    def _one_way_to_be_known(self) -> Self:
        if (self.arn is None) is (self.group is None):
            raise SectionError([((), "needs either arn or group, not both; set one of them")])
        return self


class Team(Section):
    """A team with its own namespace (team-NAME), queue and quota."""

    name: Name
    queue: Annotated[Name, Field(description="one of scheduling.queues, not shared with another team")]
    gpus: Annotated[int, Field(ge=0, le=1_000_000, description="GPU quota")]
    storage_gib: Annotated[int, Field(ge=0, le=10_000_000, description="storage quota in GiB")] = 500
    monthly_usd: Annotated[
        float | None,
        Field(
            gt=0, le=100_000_000, description="budget of its GPUs per month in USD; None = no limit beyond the quota"
        ),
    ] = None
    reaches: Annotated[
        tuple[HostPattern, ...] | None,
        Field(
            max_length=100,
            description="hosts outside that its pods may ask at port 443, on-premises; None = every public one",
        ),
    ] = None
    members: Annotated[tuple[Member, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _each_member_once(self) -> Self:
        known = [(each.arn, each.group) for each in self.members]
        if twice := list(repeated(known, "is listed above already; give each member one role in a team", "members")):
            raise SectionError(twice)
        return self


def about_teams(data: Mapping[str, Any], teams: Mapping[int, Mapping[str, Any]]) -> Iterable[tuple[Path, str]]:
    """What teams say that their neighbours contradict: queues of others, people of AWS elsewhere, administrators."""
    platform, security = _mapping(data, "platform"), _mapping(data, "security")
    above = {str(security.get("deployerArn")), *map(str, _list(security, "adminArns"))} - {"None"}
    owners: dict[str, str] = {}
    for index, team in teams.items():
        queue, name = team.get("queue"), str(team.get("name"))
        if isinstance(queue, str) and owners.setdefault(queue, name) != name:
            yield ("teams", index, "queue"), f"{queue} is team {owners[queue]}'s; give each team its own queue"
        if team.get("reaches") is not None and platform.get("kind") != "metal":
            sentence = "the VPC CNI's policies know no names (EKS has those in Auto Mode alone); remove it"
            yield ("teams", index, "reaches"), sentence
        for place, member in enumerate(_list(team, "members")):
            arn = member.get("arn") if isinstance(member, Mapping) else None
            if arn is not None and platform.get("kind") == "metal":
                yield ("teams", index, "members", place, "arn"), "ARNs exist on AWS only; use group"
            elif arn is not None and str(arn) in above:
                sentence = (
                    "is an administrator of the cluster already (security), and EKS accepts each principal"
                    " once; remove one"
                )
                yield ("teams", index, "members", place, "arn"), sentence


def _mapping(above: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = above.get(key)
    return found if isinstance(found, Mapping) else {}


def _list(above: Mapping[str, Any], key: str) -> list[Any]:
    found = above.get(key)
    return list(found) if isinstance(found, list | tuple) else []
