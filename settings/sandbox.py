"""Pools of CPU nodes on which pods of untrusted code may run in a sandbox."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from settings.sections import Path, Section
from settings.types import Matching

Sha256 = Annotated[str, Matching(r"[0-9a-f]{64}", "a SHA-256 in 64 digits 0-9 and a-f, as sha256sum prints it")]
Folder = Annotated[
    str,
    Matching(
        r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_.-]+)+",
        "a folder of a bucket without a last slash, such as s3://acme-tools/gvisor/20261116",
    ),
]


class Sandbox(Section):
    """gVisor's binaries in your bucket: nodes fetch both at first boot, and install them only if the hashes match."""

    source: Annotated[Folder, Field(description="folder of your bucket with runsc and containerd-shim-runsc-v1")]
    runsc_sha256: Annotated[Sha256, Field(description="of the file runsc, for the pool's architecture")]
    shim_sha256: Annotated[Sha256, Field(description="of the file containerd-shim-runsc-v1")]


def wrong_place(role: str) -> Iterator[tuple[Path, str]]:
    """What is wrong with a sandbox in a pool of this role."""
    if role != "system":
        sentence = (
            "gVisor passes through neither MIG nor RDMA and supports few of NVIDIA's drivers, so GPU nodes"
            " cannot have it"
        )
        yield ("sandbox",), f"{sentence}; move it to a pool of role system"
