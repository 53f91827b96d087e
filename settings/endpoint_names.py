"""The names of interface endpoints, as stack files write them."""

from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator

from catalogue.echo import echo
from catalogue.endpoints import ENDPOINTS


def _endpoint(value: str) -> str:
    if value in ENDPOINTS:
        return value
    near = get_close_matches(value, ENDPOINTS, n=1)
    meant = f"did you mean {near[0]}" if near else f"take some of {', '.join(ENDPOINTS)}"
    raise ValueError(f"{echo(value)} is not a service with a known interface endpoint; {meant}")


EndpointName = Annotated[str, AfterValidator(_endpoint)]
TWICE = "{} is named twice; name each service once"
