"""What a check gets: a stack, its plan, the current time, and which resources of the account are the stack's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from planner.pool_types import AwsPoolPlan
from planner.types import AwsPlan
from settings.model import AwsSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One stack of one project. `now` is aware of its zone, `address` is where the caller seems to come from, and
    `registries` says whether image registries may be asked.
    """

    project: str
    stack: str
    settings: AwsSettings
    plan: AwsPlan
    now: datetime
    address: str | None = None
    registries: bool = False

    @property
    def region(self) -> str:
        return self.settings.platform.region

    @property
    def parameters(self) -> list[str]:
        """SSM parameters that name images of pools, without their versions, in order."""
        named = {pool.ami.partition(":")[0] for pool in self.plan.pools.values() if pool.ami and pool.ami[0] == "/"}
        return sorted(named)

    @property
    def tags(self) -> dict[str, str]:
        """The tags that everything of the stack carries."""
        return {"gpucluster:project": self.project, "gpucluster:stack": self.stack}

    @property
    def tag_filters(self) -> list[dict[str, Any]]:
        """The same, as EC2 takes filters."""
        return [{"Name": f"tag:{key}", "Values": [value]} for key, value in self.tags.items()]

    def own(self, tags: Iterable[Mapping[str, str]] | Mapping[str, str] | None) -> bool:
        """Whether these tags, as EC2, FSx (pairs) or EKS (a mapping) show them, are the stack's."""
        if not isinstance(tags, Mapping):
            tags = {tag["Key"]: tag["Value"] for tag in tags or ()}
        return self.tags.items() <= tags.items()

    @property
    def types(self) -> dict[str, AwsPoolPlan]:
        """A pool of each instance type that the stack uses."""
        return {pool.hardware: pool for pool in reversed(list(self.plan.pools.values()))}
