"""The mistakes that the wrong programs are made of fit the program as it stands: asked here, where it is cheap."""

import pytest

from . import wrong
from .trees import Tree
from .wrong import Mistake

MISTAKES = {name: each for name, each in vars(wrong).items() if isinstance(each, Mistake)}


def test_there_are_mistakes() -> None:
    assert len(MISTAKES) >= 10


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree.copy(tmp_path_factory.mktemp("wrong") / "tree")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_can_be_made(name: str, tree: Tree) -> None:
    """Each place that a mistake changes stands once in the tree."""
    with tree.changed():
        MISTAKES[name](tree)
