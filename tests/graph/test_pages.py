"""The pages of outputs and of pods' environment say all that the stacks hand out, and nothing else."""

from tests.graph import pages


def test_every_output_of_a_stack_has_its_line() -> None:
    assert sorted(pages.OUTPUTS) == sorted(pages.outputs())


def test_every_variable_of_a_pod_has_its_line() -> None:
    assert sorted(pages.ENVIRONMENT) == sorted(pages.environment())


def test_the_committed_pages_are_fresh() -> None:
    """`make reference` writes them."""
    made = pages.contents()
    assert {name: (pages.REFERENCE / name).read_text(encoding="utf-8") for name in made} == made
