"""The descriptions of AWS's services that botocore brings: megabytes of JSON, of which EC2's are the most."""

import functools

import botocore.session


def read_once() -> None:
    """All botocore sessions that this process makes from now on share what one of them has read."""
    create = botocore.session.create_loader
    if not hasattr(create, "cache_info"):
        botocore.session.create_loader = functools.cache(create)
