"""`python -m rehearsal.plugins.command ENGINE_ADDRESS`: the command provider, started by the engine."""

from rehearsal.plugins.command.plugin import CommandPlugin
from rehearsal.plugins.servicer import serve

serve(CommandPlugin())
