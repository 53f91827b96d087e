"""What measures nodes before runs come to them."""

from typing import Annotated

from pydantic import Field

from settings.sections import Section


class Gates(Section):
    """What measures the nodes of training pools with a fabric before runs come to them."""

    minutes: Annotated[
        int, Field(ge=5, le=120, description="longest that a measurement may take, its wait for nodes included")
    ] = 30
    storage_mib: Annotated[
        int, Field(ge=64, le=1_048_576, description="what each node writes to the shared file system, and reads again")
    ] = 4096
    weekly: Annotated[
        bool, Field(description="measure again on Sundays at 03:00 UTC what is free then; needs no one to give way")
    ] = True
