"""The account that the program's scripts meet, and a cluster whose kubelets know the program's images."""

import pytest

from rehearsal.images.table import known
from rehearsal.kubelet.images import Images
from rehearsal.tests.cloud.conftest import cloud
from rehearsal.tests.inside.conftest import gpus, site
from rehearsed import PROGRAM

__all__ = ["cloud", "gpus", "site"]


@pytest.fixture(scope="session")
def images() -> Images:
    return known(PROGRAM.images)
