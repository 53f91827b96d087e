"""What is in the images that programs train with: network plugins of NCCL, environment, files.

Each row has its source. An image that no row is about may hold anything.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.kubelet.images import repository

_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Inside:
    """`plugins` are the NAMEs of libnccl-net-NAME.so that NCCL can load ("": libnccl-net.so), `env` what a process
    finds set without a shell, `files` paths: nothing else lies in the directories that they are in.
    """

    plugins: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    def lacks(self, path: str) -> bool:
        """Whether a file is not there, as far as is known."""
        clean = posixpath.normpath(path)
        around = [each for each in {posixpath.dirname(file) for file in self.files} if clean.startswith(f"{each}/")]
        if not around:
            return False
        directory = max(around, key=len)
        there = [file for file in self.files if posixpath.dirname(file) == directory and posixpath.basename(file)]
        return not any(clean == file or clean.startswith(f"{file}/") for file in there)


@dataclass(frozen=True)
class Known:
    """Images with this end of their repository's path and a version from `first` up to before `before`."""

    path: str
    inside: Inside
    first: tuple[int, ...] = ()
    before: tuple[int, ...] = (10**6,)

    def covers(self, reference: str) -> bool:
        if not f"/{repository(reference)}".endswith(f"/{self.path}"):
            return False
        found = _VERSION.search(reference.partition("@")[0].removeprefix(repository(reference)))
        version = tuple(int(part) for part in found[0].split(".")) if found else ()
        return not self.first or self.first <= version < self.before


_NGC_FILES = tuple(f"/workspace/{name}" for name in ("README.md", "docker-examples", "examples", "tutorials"))

TABLE: tuple[Known, ...] = (
    # aws-ofi-nccl, commit ee7c5a43: old NGC containers name the plugin aws-ofi, newer ones ofi, both without a
    # libnccl-net.so; NVIDIA/dgxc-benchmarking, alternative_recipes/aws, finds the old name in 25.11, and
    # NVIDIA/cluster-readiness-engine (TestAWSGB300EFAStripInvariant) the new one in 26.01. The images choose it in
    # /etc/shinit_v2, which shells read; a container whose command is the program itself is told nothing.
    Known("nvidia/pytorch", Inside(frozenset({"aws-ofi"}), files=_NGC_FILES), (25, 1), (26, 1)),
    Known("nvidia/pytorch", Inside(frozenset({"ofi"}), files=_NGC_FILES), (26, 1), (26, 6)),
    # NVIDIA-NeMo/Megatron-Bridge, docker/common/install_aws_ofi_nccl.sh and pull request 5033.
    Known("nvidia/pytorch", Inside(frozenset({"spcx"}), {"NCCL_NET_PLUGIN": "spcx"}, _NGC_FILES), (26, 6)),
    # aws/deep-learning-containers, pull request 6668: the EFA installer, which brings both names.
    Known("deep-learning-containers/pytorch-training", Inside(frozenset({"ofi", ""})), (2, 11)),
    # pytorch/pytorch, Dockerfile: wheels on CUDA, no libfabric; WORKDIR /workspace.
    Known("pytorch/pytorch", Inside(files=("/workspace/",))),
)


def stock(reference: str) -> Inside | None:
    """What is in an image of a vendor; None where nothing is known of it."""
    return next((each.inside for each in TABLE if each.covers(reference)), None)
