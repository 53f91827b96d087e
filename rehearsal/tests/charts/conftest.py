"""What all tests of charts have."""

import pytest

from rehearsal import toolchain


@pytest.fixture(autouse=True)
def nothing_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions come without Go."""
    monkeypatch.setattr(toolchain, "crds", lambda *_, **__: [])
