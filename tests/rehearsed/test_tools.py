"""What the shipped stacks need of the rehearsal's toolchain, and what a program in other words would."""

import pulumi_kubernetes as k8s
import pytest

from rehearsal.toolchain import needs
from tests.graph.harness import record
from tests.graph.stackfiles import graph_of, stack_names


@pytest.mark.parametrize("stack", stack_names())
def test_a_first_preview_shows_that_a_stack_has_gangs(stack: str) -> None:
    registered = graph_of(stack, preview=True).resources.values()
    found = needs.of((each.token, each.inputs) for each in registered)
    watching = {"prometheus", "alertmanager", "prometheus-operator", "kube-state-metrics"}
    scaling = {"prometheus-adapter"} if stack == "dev" else set()
    beside = set() if stack == "lab" else watching | scaling
    assert set(found.families) == {"crds", "helm", "training", "volcano"} | beside
    assert set(found.sets) == {"training-operator", "volcano", "prometheus-operator"}


def test_a_program_without_gangs_needs_nothing_but_the_control_plane() -> None:
    def program() -> None:
        k8s.apps.v1.Deployment(
            "web",
            spec=k8s.apps.v1.DeploymentSpecArgs(
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels={"app": "web"}),
                template=k8s.core.v1.PodTemplateSpecArgs(
                    metadata=k8s.meta.v1.ObjectMetaArgs(labels={"app": "web"}),
                    spec=k8s.core.v1.PodSpecArgs(
                        containers=[k8s.core.v1.ContainerArgs(name="web", image="nginx:1.29")]
                    ),
                ),
            ),
        )

    registered = record(program, preview=True).resources.values()
    assert registered
    assert needs.of((each.token, each.inputs) for each in registered) == needs.Needs((), ())
