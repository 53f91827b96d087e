"""Rules about secrets: what is secret is marked so, and stands nowhere else."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from policy.graph import Graph
from policy.rule import Finding, rule

SECRET_INPUTS: Mapping[str, tuple[str, ...]] = {
    "pulumi:providers:kubernetes": ("kubeconfig",),
    "kubernetes:core/v1:Secret": ("data", "stringData"),
}


@rule(
    source="Pulumi: Secrets; https://www.pulumi.com/docs/iac/concepts/secrets/",
    remedy="read it with require_secret, or wrap it: pulumi.Output.secret(...)",
)
def secret_inputs_marked(graph: Graph) -> Iterator[Finding]:
    """Kubeconfigs and the contents of Secrets are marked secret in state and previews."""
    for token, keys in SECRET_INPUTS.items():
        for each in graph.of_type(token):
            for key in keys:
                if each.inputs.get(key) and key not in each.secret:
                    yield each.name, f"has its {key} in clear text"


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)


@rule(
    source="Pulumi: Secrets; https://www.pulumi.com/docs/iac/concepts/secrets/",
    remedy="hand it over by a Secret and secretKeyRef, and mark what is made of it",
)
def no_secret_in_clear(graph: Graph) -> Iterator[Finding]:
    """No value of a known secret is in an unmarked input or in an output."""
    for each in graph.resources.values():
        shown = _shown({key: value for key, value in each.inputs.items() if key not in each.secret})
        if any(secret in shown for secret in graph.secrets):
            yield each.name, "holds a secret in clear text"
    if any(secret in _shown(graph.outputs) for secret in graph.secrets):
        yield "outputs", "hold a secret in clear text"
