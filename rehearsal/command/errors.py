"""The error that ends a command."""


class CommandError(Exception):
    """Something a person has to know: what is wrong, where, and what to do next, in one sentence."""
