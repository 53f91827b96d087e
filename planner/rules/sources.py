"""Where weights and datasets come from, and when they are there."""

from collections.abc import Iterable, Iterator

from catalogue.units import SECONDS_PER_HOUR
from planner.draft import AwsDraft, Draft, aws_rule, rule
from planner.findings import Observation, Severity
from planner.rules.known import services
from planner.serving.sources import ObjectSource, source_of

_LONG_COPY_S = SECONDS_PER_HOUR
_NAMES = "S3 user guide, General purpose buckets naming rules: a bucket's name is the whole partition's"


@aws_rule("source-undeclared", "LF03", formula="every bucket of weights and datasets is one of sources", source=_NAMES)
def source_undeclared(draft: AwsDraft) -> Iterable[Observation]:
    """Somebody has said whose each source bucket is: whoever took the name first decides what is trained and served."""
    declared = {each.bucket for each in draft.settings.storage.sources}
    linked = enumerate(draft.settings.storage.lustre.associations)
    told = ((f"storage.lustre.associations[{index}].source", each.source) for index, each in linked)
    for path, source in (*_sources(draft), *told):
        bucket = bucket_of(source)
        if bucket not in declared:
            yield Observation(
                path=path,
                sentence=f"nothing says who owns the bucket {bucket}, and whoever does decides what {source} is",
                remedy=f"add {{bucket: {bucket}}} to storage.sources if it is the account's that is deployed to, with "
                "owner: and 12 digits if it is another's, with keyArn: if a KMS key encrypts it",
                subject=bucket,
            )


@rule(
    "dataset-copy",
    "LF14",
    severity=Severity.WARNING,
    formula="size / rate of one copier <= 1 h",
    source="EC2 user guide, Amazon EC2 instance network bandwidth; definition of the planner",
)
def dataset_copy(draft: Draft) -> Iterable[Observation]:
    """A dataset is there soon after the nodes are: until then they wait for it, and are paid for."""
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


def bucket_of(source: str) -> str:
    """The bucket of an address s3://BUCKET/PREFIX."""
    return source.removeprefix("s3://").partition("/")[0]


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
