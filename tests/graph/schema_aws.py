"""AWS inputs against the service's own model: enums, ranges, patterns and members of the request that creates.

A provider sends what it is given; a wrong enum is found by AWS half an hour into an `up`. Which request carries an
input, and under which name, is in the type's row of the rehearsal's plugin. An input that fits nowhere is a problem.
"""

from policy.graph import Resource
from rehearsal.awsmodels import faults, input_shape, made_up
from rehearsal.plugins.aws import sdk
from rehearsal.plugins.aws.checking import Naming, completed, failures
from rehearsal.plugins.aws.life import create_parameters
from rehearsal.plugins.aws.settings import Settings
from rehearsal.plugins.aws.table import row
from rehearsal.plugins.servicer import PluginError
from rehearsal.plugins.wire import without_unknowns

SETTINGS = Settings("us-east-2")


def problems(resource: Resource) -> list[str]:
    """Everything in the resource's inputs that the service would refuse, or that its request has no member for."""
    if not resource.token.startswith("aws:"):
        return []
    try:
        known, schema = row(resource.token), sdk.schema(resource.token)
    except PluginError as error:
        return [f"{resource.name}: {resource.token}: {error}"]
    if schema is None:
        return [f"{resource.name}: pulumi-aws {sdk.VERSION} has no {resource.token}"]
    given = without_unknowns(resource.inputs)
    inputs = completed(known, schema, SETTINGS, given, {}, Naming(resource.name))
    if wrong := failures(known, schema, inputs, resource.name):
        return list(wrong.values())
    body = create_parameters(known, {name: value for name, value in inputs.items() if name != "__defaults"})
    shape = input_shape(known.service, known.creates)
    return [f"{resource.name}: {fault}" for fault in faults(shape, {**made_up(shape), **body})]
