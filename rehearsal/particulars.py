"""What is particular to one program, and how a rehearsal learns it.

A program that needs more than the stock has a package `rehearsed` beside its Pulumi.yaml whose `PROGRAM` is a
`Particulars`. The package may import `rehearsal`; neither the program nor the rehearsal imports it: `load` is the one
place that does. A program without the package is rehearsed with stock behaviour.
"""

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.keys import Account
from rehearsal.kube.client import Kube
from rehearsal.kubelet.images import Absent, Row
from rehearsal.metal.machine import Machine

PACKAGE = "rehearsed"
UPSTREAM = "GPUCLUSTER_UPSTREAM"
_REGION = re.compile(r"\bregion:\s*[\"']?([a-z]{2}(?:-[a-z]+)+-\d)\b")


class ParticularsError(Exception):
    """The program's package `rehearsed` cannot be used; the text says where and what to do."""


@dataclass(frozen=True)
class Stored:
    """One S3 object. `size` is what it has in life, in bytes, where the body only stands for it."""

    bucket: str
    key: str
    body: bytes
    size: int | None = None


@dataclass(frozen=True)
class Held:
    """One bucket, of this account unless `owner` says whose. `key_arn` is its key, if SSE-KMS encrypts it.

    A stranger's bucket answers 403, unless it is `shared` with this account.
    """

    name: str
    owner: str | None = None
    key_arn: str | None = None
    shared: bool = False

    @property
    def order(self) -> dict[str, Any]:
        """What the account's route `buckets` takes."""
        return {"owner": self.owner, "keyArn": self.key_arn, "shared": self.shared}


@dataclass(frozen=True)
class Reserved:
    """One capacity reservation or block. `order` is what the account's route `reservations` takes; `words` name it."""

    id: str
    order: Mapping[str, Any]
    words: str


@dataclass(frozen=True)
class Content:
    """What an account holds before the stack, all in one region, and the address from where the stack is deployed.

    Without `caller` that is a network on the Internet which a cluster's public endpoint answers.
    """

    region: str
    objects: Sequence[Stored] = ()
    reservations: Sequence[Reserved] = ()
    instances: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Instances by market (`on-demand`, `spot`) and type whose vCPU quota the account has, twice over."""
    caller: str | None = None
    buckets: Sequence[Held] = ()
    """Those whose owner or key is not the usual one; a bucket of `objects` that is not among them is made, too."""
    machines: Sequence[Machine] = ()
    """Racked hosts, as they stand there before the stack."""
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What lies on the file systems that hosts mount: sizes by name, by the path of the mount. In a store of the site's
    own, by `s3:ENDPOINT/BUCKET`."""
    login: str = ""
    """The full key of the secret by whose value, a private key, one logs in to the hosts."""
    store_key: Sequence[str] = ()
    """The full keys of the two secrets by which that store lets one in: the id and the secret of its key."""
    people: Sequence[str] = ()
    """ARNs of roles and users whom the stack lets into its cluster and does not make."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Values that Secrets Manager has, by the secret's name or ARN."""
    zones: Mapping[str, str] = field(default_factory=dict)
    """Public hosted zones: their domains by id."""
    certificates: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Issued certificates of ACM: the names that they are for, by ARN."""
    images: Mapping[str, str] = field(default_factory=dict)
    """AMIs of the account's own: names by id, such as EKS gives those that they were built from."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Versions of parameters of Systems Manager (NAME:VERSION) that somebody made before the stack: their values."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs, as its administrator; `files` is the record of what lies on its volumes (`Contents`)."""

    kube: Kube
    files: Path
    account: Account
    region: str


@dataclass(frozen=True)
class Shown:
    """What a cluster has to show, in a sentence. `wrong` is what a stack that was just applied has no reason for."""

    sentence: str
    wrong: bool = False


def region(text: str) -> str:
    """The first region a stack file names, else us-east-1."""
    found = _REGION.search(text)
    return found[1] if found else "us-east-1"


def nothing(text: str) -> Content:
    """An account that is empty, in the stack file's region."""
    return Content(region(text))


def nothing_more(*_: Any, **__: Any) -> tuple[()]:
    """The default of a program that has no secrets, commands, failures, outputs or end of its own."""
    return ()


def rehearse(command: str, stack: str, flag: str = "") -> str:
    """A command of the rehearsal, as a person types it."""
    return f"rehearse {command} --stack {stack}{flag and f' --{flag}'}"


def no_losses(job: Mapping[str, Any]) -> str | None:  # noqa: ARG001 - a job of which the stock knows nothing
    """The default: what a job keeps is not known."""
    return None


@dataclass(frozen=True)
class Particulars:
    """What is particular to a program."""

    images: Sequence[Row] = ()
    """Behaviour of the program's own images; these rows come before the stock ones."""
    absent: Absent | None = None
    """Whether no registry has an image, by the pod that names it; None: every image is there."""
    account: Callable[[str], Content] = nothing
    """From the text of a stack file to what the account holds before the stack."""
    secrets: Callable[[str], Sequence[str]] = nothing_more
    """From the text of a stack file to the full keys (`project:key`) of secrets that it needs beside those."""
    typed: Callable[..., str] = rehearse
    """`typed(command, stack, flag="")`: what messages tell a person to type, where a program has its own way."""
    looks: Callable[[str, str, str], Sequence[str]] = nothing_more
    """From a stack, its Prometheus' address and the proxy (in words of a shell) by which that answers to commands that
    show more of it."""
    loses: Callable[[Mapping[str, Any]], str | None] = no_losses
    """From a job's object to a sentence about what is lost, and what kept, when it is deleted."""
    failed: Callable[[Kube], Sequence[str]] = nothing_more
    """From a cluster to sentences about what failed in it lately, as the program's own parts have written it down."""
    shows: Callable[..., Iterable[Shown]] = nothing_more
    """`shows(cluster, now=...)`: what a cluster has to show beside what runs in it. With `now` what a schedule would
    bring in hours is brought first."""
    outlive: Callable[[str, Account, Callable[[str], None]], Sequence[str]] = nothing_more
    """From the text of a stack file, the account and where to say what is done: let the account's clock pass
    the stack's own end, if it has one; what is not as it should be then, in sentences."""
    upstream: Path | None = None
    """Where vendors' charts and CRDs lie if GPUCLUSTER_UPSTREAM names no directory; relative to the program's root."""


@functools.cache
def load(root: Path) -> Particulars:
    """The particulars of the program at `root`. Raises ParticularsError."""
    file = root / PACKAGE / "__init__.py"
    if not file.is_file():
        return Particulars()
    try:
        found = getattr(_imported(file), "PROGRAM", None)
    except Exception as error:
        raise ParticularsError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(found, Particulars):
        raise ParticularsError(f"{file} has no `PROGRAM = Particulars(...)`: rehearsal.particulars says how.")
    return found


def _imported(file: Path) -> Any:
    """The package in `file`, under its name: one of another program that bears the name too makes way."""
    there = sys.modules.get(PACKAGE)
    if there is not None and Path(there.__file__ or "").resolve() == file.resolve():
        return there
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location(PACKAGE, file, submodule_search_locations=[str(file.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[PACKAGE]
        raise
    return module


def upstream(root: Path) -> dict[str, str]:
    """The variable that leads to vendors' charts and CRDs, as an environment; empty if there are none."""
    named = os.environ.get(UPSTREAM)
    default = load(root).upstream
    found = Path(named) if named else root / default if default else None
    return {UPSTREAM: str(found)} if found is not None and found.is_dir() else {}
