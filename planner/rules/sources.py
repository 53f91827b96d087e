"""Where weights and datasets come from, and when they are there."""

from collections.abc import Iterable, Iterator

from catalogue.units import SECONDS_PER_HOUR
from planner.draft import AwsDraft, Draft, aws_rule, rule, warning
from planner.findings import Observation
from planner.rules.known import services
from planner.serving.startup import ObjectSource, source_of
from settings.model import MetalSettings

_LONG_COPY_S = SECONDS_PER_HOUR
_NAMES = "S3 user guide, General purpose buckets naming rules: a bucket's name is the whole partition's"


def _pinned_by(draft: Draft) -> Iterator[tuple[str, str, str, str | None]]:
    """Settings path of the digest, name, address and digest of everything that is served."""
    for path, service in services(draft):
        yield f"{path}.weightsSha256", service.name, service.weights, service.weights_sha256
        for index, each in enumerate(service.adapters):
            yield f"{path}.adapters[{index}].weightsSha256", each.name, each.weights, each.weights_sha256
    for index, server in enumerate(draft.settings.serving.triton):
        yield f"serving.triton[{index}].weightsSha256", server.name, server.models, server.weights_sha256


@aws_rule("LF03", formula="every bucket of weights and datasets is one of sources", source=_NAMES)
def source_undeclared(draft: AwsDraft) -> Iterable[Observation]:
    """Each source bucket has its owner's account declared, so that a bucket that a stranger took is not read."""
    declared = {each.bucket for each in draft.settings.storage.sources}
    linked = enumerate(draft.settings.storage.lustre.associations)
    told = ((f"storage.lustre.associations[{index}].source", each.source) for index, each in linked)
    for path, source in (*_sources(draft), *told):
        bucket = source.removeprefix("s3://").partition("/")[0]
        if bucket not in declared:
            yield Observation(
                path=path,
                sentence=f"nothing says who owns the bucket {bucket}, and whoever does decides what {source} is",
                remedy=f"add {{bucket: {bucket}}} to storage.sources if it is the account's that is deployed to, with "
                "owner: and 12 digits if it is another's, with keyArn: if a KMS key encrypts it",
                subject=bucket,
            )


@warning(
    "LF14",
    formula="size / rate of one copier <= 1 h",
    source="EC2 user guide, Amazon EC2 instance network bandwidth; definition of the planner",
)
def dataset_copy(draft: Draft) -> Iterable[Observation]:
    """A dataset is copied soon after the nodes start, because they wait for it and cost money."""
    for index, each in enumerate(draft.settings.training.datasets):
        planned = draft.datasets.get(each.name)
        if planned and planned.copy_s > _LONG_COPY_S:
            hours = planned.copy_s / SECONDS_PER_HOUR
            yield Observation(
                path=f"training.datasets[{index}].gb",
                sentence=f"{each.gb:g} GB take one copier {hours:.1f} h, in which the nodes of its runs wait",
                remedy="leave the runs and their pools out of the first up, which copies without them, then add them",
                subject=each.name,
                inputs={"size": f"{each.gb:g} GB", "copy": f"{hours:.1f} h"},
            )


@rule(
    "G10 S08",
    formula="datasets[].snapshot with storage.ceph only",
    source="aws-fsx-csi-driver, pkg/driver/controller.go (ControllerGetCapabilities: no CREATE_DELETE_SNAPSHOT); "
    "ceph-csi, docs/cephfs-snapshot-backed-volumes.md",
)
def dataset_snapshot(draft: Draft) -> Iterable[Observation]:
    """A snapshot of a dataset is asked for where the shared file system makes one."""
    settings = draft.settings
    if isinstance(settings, MetalSettings) and settings.storage.ceph is not None:
        return
    kind = "FSx for Lustre" if isinstance(draft, AwsDraft) else "this shared file system"
    for index, each in enumerate(settings.training.datasets):
        if each.snapshot is not None:
            yield Observation(
                path=f"training.datasets[{index}].snapshot",
                sentence=f"{kind} makes no snapshots for Kubernetes, so runs would read {each.name} as it is",
                remedy="remove it, and give every version a prefix of its own as source, which is a directory of its "
                "own that no other copy writes to; or take storage.ceph on machines of your own",
                subject=each.name,
            )


@rule(
    "I03 R10",
    formula="datasets[].sha256 with a source only",
    source="definition of the program: what is not copied is not compared before a run reads it",
)
def dataset_sums_unused(draft: Draft) -> Iterable[Observation]:
    """A digest of a dataset is set only where a copy is compared with it."""
    for index, each in enumerate(draft.settings.training.datasets):
        if each.sha256 is not None and each.source is None:
            yield Observation(
                path=f"training.datasets[{index}].sha256",
                sentence=f"{each.name} has no source, so nothing is copied and nothing compared with a SHA256SUMS",
                remedy="remove it, or add source, the prefix of a bucket that is copied and compared",
                subject=each.name,
            )


@rule(
    "I03",
    by_name=True,
    each=_pinned_by,
    formula="weights of a bucket have weightsSha256, if lifecycle.protect",
    source="safety of what is served: whoever can write to the bucket decides what the model says",
)
def weights_not_pinned(draft: Draft, name: str, address: str, sha256: str | None) -> Iterable[Observation]:
    """In production weights are what somebody has looked at: a hub's commit, or files whose digests are on record."""
    if draft.settings.lifecycle.protect and sha256 is None and isinstance(source_of(address), ObjectSource):
        yield Observation(
            sentence=f"the stack is protected and nothing says what {address} holds: with other files there, "
            f"{name} serves another model",
            remedy="put a SHA256SUMS of all files beside them and its own SHA-256 here, or waive "
            f"weights-not-pinned with {name} as subject",
            subject=name,
        )


@rule(
    "Q05",
    each=_pinned_by,
    formula="weightsSha256 is said of weights in a bucket only",
    source="definition of the program: a hub's commit has its own hashes, and a claim is not copied",
)
def weights_sums_unused(_: Draft, _name: str, address: str, sha256: str | None) -> Iterable[Observation]:
    """A digest of weights is set only where there are files to compare it with."""
    if sha256 is not None and not isinstance(source_of(address), ObjectSource):
        yield Observation(
            sentence=f"{address} is not copied from a bucket, so nothing is compared with a SHA256SUMS",
            remedy="remove weightsSha256: a hub's commit is compared with the hub's hashes, a claim with nothing",
        )


def _sources(draft: AwsDraft) -> Iterator[tuple[str, str]]:
    """The address and settings path of everything that is copied from S3."""
    for index, each in enumerate(draft.settings.training.datasets):
        if each.source:
            yield f"training.datasets[{index}].source", each.source
    for path, address in _models(draft):
        if isinstance(source_of(address), ObjectSource):
            yield path, address


def _models(draft: AwsDraft) -> Iterator[tuple[str, str]]:
    """The address and settings path of everything that is served."""
    for path, service in services(draft):
        yield f"{path}.weights", service.weights
        for index, adapter in enumerate(service.adapters):
            yield f"{path}.adapters[{index}].weights", adapter.weights
    for index, server in enumerate(draft.settings.serving.triton):
        yield f"serving.triton[{index}].models", server.models
