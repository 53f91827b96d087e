"""Taints as EKS writes them, and as pods answer them (J09, KJ22)."""

from typing import Literal

import pytest

from components.aws.nodes import EFFECTS
from components.platform.taints import Taint


@pytest.mark.parametrize(
    ("effect", "eks"),
    [("NoSchedule", "NO_SCHEDULE"), ("PreferNoSchedule", "PREFER_NO_SCHEDULE"), ("NoExecute", "NO_EXECUTE")],
)
def test_an_effect_is_spelled_as_each_api_wants_it(
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"], eks: str
) -> None:
    taint = Taint(key="a", value="b", effect=effect)
    assert EFFECTS[effect] == eks
    assert taint.toleration == {"key": "a", "operator": "Equal", "value": "b", "effect": effect}
