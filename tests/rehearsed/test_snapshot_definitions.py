"""The kinds of snapshots that a cluster is given are those of the module that rehearsal has them from (LF15)."""

import hashlib

import pytest

from catalogue.metal_versions import SNAPSHOT_CRDS, SNAPSHOTTER
from components.platform.snapshot_controller import crd_url
from rehearsal.images.published import NotFoundError, behind
from rehearsal.toolchain import versions as built
from rehearsal.toolchain.go import BuildError


@pytest.mark.parametrize("plural", sorted(SNAPSHOT_CRDS))
def test_a_definition_has_the_hash_that_is_checked_before_it_is_applied(plural: str) -> None:
    assert f"v{built.SNAPSHOTTER}" == SNAPSHOTTER
    try:
        file = behind(crd_url(SNAPSHOTTER, plural))
    except BuildError as error:
        pytest.skip(str(error))
    assert hashlib.sha256(file.read_bytes()).hexdigest() == SNAPSHOT_CRDS[plural]


def test_another_version_is_not_there() -> None:
    with pytest.raises(NotFoundError, match=f"rehearsal has the files of v{built.SNAPSHOTTER}"):
        behind(crd_url("v0.1.0", "volumesnapshots"))
