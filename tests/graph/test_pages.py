"""The pages of outputs and of pods' environment say all that the stacks hand out, and nothing else."""

import pytest

from tests.graph import pages


def test_every_output_of_a_stack_has_its_line() -> None:
    assert sorted(pages.OUTPUTS) == sorted(pages.outputs())


def test_every_variable_of_a_pod_has_its_line() -> None:
    assert sorted(pages.ENVIRONMENT) == sorted(pages.environment())


@pytest.mark.parametrize("name", sorted(pages.contents()))
def test_the_committed_page_is_fresh(name: str) -> None:
    """`make reference` writes it."""
    assert (pages.REFERENCE / name).read_text(encoding="utf-8") == pages.contents()[name]
