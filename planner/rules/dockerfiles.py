"""Dockerfiles that the site's rows of images name: what the fabric of the runs needs is in what they make."""

from collections.abc import Iterable
from pathlib import Path

from catalogue.image_types import ContainerImage, find
from catalogue.images import TRAINER_BASE
from planner.dockerfiles import DockerfileError, Need, fabric_refusals, last_stage, need_on
from planner.draft import Draft, MetalDraft, rule
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import placed_runs

ARGUMENTS = {"BASE": TRAINER_BASE}
"""What `make image` builds with."""


def needs(draft: Draft, image: ContainerImage | None = None) -> list[Need]:
    """The fabrics between nodes of the runs of a stack, or of those whose image a row is about, each once."""
    found: dict[str, Need] = {}
    for path, run, pool in placed_runs(draft):
        fabric: str | None = draft.fabric.kind if isinstance(draft, MetalDraft) and draft.fabric else None
        if isinstance(pool, AwsPoolPlan) and pool.efa:
            fabric = "efa"
        need = need_on(fabric, path) if run.nodes > 1 else None
        if need and (image is None or find(draft.catalogue.images, run.image) is image):
            found.setdefault(need.fabric, need)
    return list(found.values())


@rule(
    "LF04",
    by_name=True,
    formula="the last stage of catalogue.images[].dockerfile installs what the fabric of the row's runs needs, or is "
    "built on an image that has it, or ends in the check fabric.sh",
    source="AWS, EFA user guide: Get started with EFA and NCCL; Docker: Dockerfile reference",
)
def dockerfile_without_fabric(draft: Draft) -> Iterable[Observation]:
    """The Dockerfile of an image that runs of several nodes use brings what NCCL needs on their fabric."""
    for index, written in enumerate(draft.settings.catalogue.images):
        row = draft.catalogue.images.get(written.name)
        if row is None or row.dockerfile is None:
            continue
        path = f"catalogue.images[{index}].dockerfile"
        try:
            stage = last_stage(Path(row.dockerfile).read_text(encoding="utf-8"), ARGUMENTS)
        except DockerfileError as error:
            yield _wrong(path, row, f"{row.dockerfile}:{error}", "correct the file")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            told = f"{row.dockerfile} cannot be read ({why})"
            yield _wrong(path, row, told, "name a Dockerfile by its path beside the stack file, or remove the key")
        else:
            for said in fabric_refusals(stage, needs(draft, row), draft.catalogue.images):
                sentence, _, remedy = said.partition("; ")
                yield _wrong(path, row, f"{row.dockerfile}:{sentence}", remedy)


def _wrong(path: str, row: ContainerImage, sentence: str, remedy: str) -> Observation:
    return Observation(path=path, sentence=sentence, remedy=remedy, subject=row.name)
