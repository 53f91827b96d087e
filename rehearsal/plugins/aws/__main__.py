"""``python -m rehearsal.plugins.aws ENGINE_ADDRESS``: the aws provider, started by the engine."""

from rehearsal.plugins.aws.plugin import AwsPlugin
from rehearsal.plugins.servicer import serve

serve(AwsPlugin())
