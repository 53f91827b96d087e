"""Queues that runs wait in."""

from typing import Annotated

from pydantic import Field

from settings.sections import Section
from settings.types import Name, reserved

QueueName = Annotated[Name, reserved("default", "root", owner="Volcano", what="the name of a queue")]
"""Volcano's scheduler makes both when it starts: pkg/scheduler/cache/cache.go, newDefaultAndRootQueue."""


class Queue(Section):
    """A Volcano queue. `gpus` caps it; None leaves it the GPUs of all training pools."""

    name: QueueName
    weight: Annotated[int, Field(ge=1, le=65535)] = 1
    gpus: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    reclaimable: bool = True


class Scheduling(Section):
    queues: Annotated[tuple[Queue, ...], Field(min_length=1)]
