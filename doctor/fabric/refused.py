"""A report that cannot be taken for what it should be."""


class RefusedError(Exception):
    """Why a tool's report is not read."""
