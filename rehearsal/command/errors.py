"""The error that ends a command."""


class CommandError(Exception):
    """Something a person has to know: what is wrong, where, and what to do next, in one sentence."""


class StateLostError(CommandError):
    """State or keys of a site cannot be used, so no command but `down` and `recover` has anything to work on."""
