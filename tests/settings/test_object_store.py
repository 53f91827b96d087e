"""What goes to an object store that a site does not have."""

from typing import Any

import pytest

from settings.references import across_sections

GATES = ("training", "gates", "history")


@pytest.mark.parametrize(
    ("kind", "storage", "history", "refused"),
    [
        ("metal", {"rawTb": 1}, True, True),
        ("metal", {"rawTb": 1, "objectStoreGbPerS": 2}, True, False),
        ("metal", {"rawTb": 1}, False, False),
        ("aws", {}, True, False),
    ],
)
def test_verdicts_are_kept_where_there_is_an_object_store(
    kind: str, storage: dict[str, Any], history: bool, refused: bool
) -> None:
    data = {"platform": {"kind": kind}, "storage": storage, "training": {"gates": {"history": history}}}
    found = [sentence for path, sentence in across_sections(data) if path == GATES]
    said = "there is no object store; add storage.objectStoreGbPerS, or remove the key"
    assert found == ([said] if refused else [])
