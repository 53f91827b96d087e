"""The fastest layout is the fastest of all: the search leaves out nothing that could win."""

import pytest

from catalogue.model_types import Model
from catalogue.models import MODELS
from planner.communication.group import Cluster
from planner.interconnect import cluster_of
from planner.proposing.layouts import Space, shapes, timed
from tests.planner.stacks import planned


def cluster(instance: str) -> Cluster:
    """Nodes of an instance type as a training pool has them."""
    found = cluster_of(planned("prod", {"pools.1.instanceType": instance}).pools["training"])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "instance"),
    [("llama-3-8b", "p5.48xlarge"), ("llama-3-70b", "p4d.24xlarge"), ("gpt-oss-20b", "p5.48xlarge")],
)
def test_no_layout_is_faster_than_the_one_that_is_found(model: str, instance: str) -> None:
    """C04 to C08: every layout of the space timed on 1, 3 and 8 nodes; the bounds of few nodes hold for more."""
    row: Model = MODELS[model]
    nodes = cluster(instance)
    every = shapes(row, nodes.gpu, 8, 4096)
    space = Space(every, row, nodes)
    for count in (1, 3, 8):
        found = space.fastest(8 * count)
        rates = [one.step.tokens_per_s for shape in every if (one := timed(shape, row, nodes, 8 * count))]
        assert (found is None) is (not rates), count
        if found:
            assert found.step.tokens_per_s == pytest.approx(max(rates), rel=1e-9), count


def test_layouts_that_are_told_can_be_typed() -> None:
    """C05: the degrees multiply up to the GPUs, for every size that is tried."""
    row, nodes = MODELS["llama-3-8b"], cluster("p5.48xlarge")
    space = Space(shapes(row, nodes.gpu, 8, 8192), row, nodes)
    for count in (1, 2, 6):
        found = space.fastest(8 * count)
        assert found is not None
        assert found.layout.world == 8 * count
        assert found.step.tokens == found.job.micro_batch * found.job.accumulation * found.layout.data * 8192
