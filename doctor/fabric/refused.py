"""A fabric report that is unusable."""


class RefusedError(Exception):
    """Why a tool's report is not read."""
