"""The dev stack once applied: it runs as its file says, and nothing is left to do."""

import pytest

from .rehearsed import Rehearsed

pytestmark = pytest.mark.engine


def test_a_second_preview_finds_nothing_to_do(dev: Rehearsed) -> None:
    dev.assert_quiet()
