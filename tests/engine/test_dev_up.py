"""The dev stack once applied, without hardware and without an account (Z19): it runs, and nothing is left to do."""

import pytest

from .rehearsed import Rehearsed

pytestmark = pytest.mark.engine


def test_a_second_preview_finds_nothing_to_do(dev: Rehearsed) -> None:
    dev.assert_quiet()
