"""``python -m rehearsal.plugins.aws ENGINE_ADDRESS``: the aws provider, started by the engine."""

from ..servicer import serve
from .plugin import AwsPlugin

serve(AwsPlugin())
