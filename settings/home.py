"""Home directories: one for each namespace, mounted by its claim `home`."""

from typing import Annotated, Literal

from pydantic import Field

from settings.sections import Section


class Home(Section):
    """EFS home directories: code, environments, results. Datasets and checkpoints stay on Lustre.

    Where the section is, the namespace `training` and each team's has a claim `home` on a directory of its own.
    """

    expected_gib: Annotated[
        int, Field(ge=1, le=1_000_000, description="expected size in GiB, for the price; EFS sets no limit")
    ]
    cold_after_days: Annotated[
        Literal[1, 7, 14, 30, 60, 90, 180, 270, 365] | None,
        Field(
            description="days without access after which files move to a cheaper class, until they are read; None"
            " = never"
        ),
    ] = 30
