"""What a Dockerfile makes, and whether the runs of a stack can use that. Source: Docker's Dockerfile reference."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from catalogue.image_types import OFI_PLUGIN, ContainerImage, find
from catalogue.images import TRAINER_BASE, is_pinned

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
_ROOT = re.compile(r"(root|0)(:.*)?")
_CHECK = "fabric.sh"
"""What ends a build whose image cannot reach the fabric (images/trainer/fabric.sh)."""
_BRINGS: Mapping[str, tuple[str, ...]] = {
    "efa": ("efa_installer.sh", OFI_PLUGIN),
    "infiniband": ("rdma-core", "libibverbs", "MLNX_OFED", "doca-ofed"),
    "roce": ("rdma-core", "libibverbs", "MLNX_OFED", "doca-ofed"),
}
"""Words of a RUN that installs what NCCL needs on a fabric."""
_HOW = {
    "efa": "RUN ./efa_installer.sh -y -g --skip-kmod (AWS, EFA user guide), or build on {base}",
    "infiniband": "RUN apt-get install rdma-core, or build on {base}",
    "roce": "RUN apt-get install rdma-core, or build on {base}",
}


class DockerfileError(Exception):
    """A file that is no Dockerfile; the text says where and why."""


@dataclass(frozen=True)
class Instruction:
    """`FROM`, `RUN` and the like in capitals, and the words behind it, with the line that it begins on."""

    line: int
    name: str
    words: str


@dataclass(frozen=True)
class Stage:
    """The image that a Dockerfile ends with: all instructions it is made by, those of the stages below it first."""

    base: str
    line: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, kw_only=True)
class Need:
    """A fabric that runs of several nodes use, and the path of the first run that does."""

    fabric: str
    path: str


def need_on(fabric: str | None, path: str) -> Need | None:
    """What a run at this path needs of its image on a fabric; None where any image will do."""
    return Need(fabric=fabric, path=path) if fabric and fabric in _BRINGS else None


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile; a heredoc's lines are words of its instruction."""
    lines = list(enumerate(text.splitlines(), start=1))
    while lines:
        line, words = lines.pop(0)
        if not words.strip() or words.lstrip().startswith("#"):
            continue
        while words.rstrip().endswith("\\") and lines:
            following = lines.pop(0)[1]
            if not following.lstrip().startswith("#"):
                words = f"{words.rstrip()[:-1]} {following.strip()}"
            else:
                words = f"{words.rstrip()[:-1]} \\"
        name, _, rest = words.strip().partition(" ")
        for end in _HEREDOC.findall(rest) if name.upper() in ("RUN", "COPY", "ADD") else ():
            while lines and lines[0][1].strip() != end:
                rest += f"\n{lines.pop(0)[1]}"
            lines = lines[1:]
        yield Instruction(line, name.upper(), rest.strip())


def last_stage(text: str, arguments: Mapping[str, str]) -> Stage:
    """What a Dockerfile ends with, built with `arguments`. Raises DockerfileError."""
    known: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for each in instructions(text):
        if each.name == "ARG" and stage is None:
            name, _, default = each.words.partition("=")
            known[name] = arguments.get(name, default.strip("\"'"))
        elif each.name == "FROM":
            image, name = _from(each, known)
            below = stages.get(image)
            stage = Stage(below.base if below else image, each.line, below.instructions if below else ())
            stages[name or f"#{len(stages)}"] = stage
        elif stage is None:
            raise DockerfileError(f"{each.line}: {each.name} stands before FROM")
        else:
            stage = Stage(stage.base, stage.line, (*stage.instructions, each))
            stages[list(stages)[-1]] = stage
    if stage is None:
        raise DockerfileError("1: there is no FROM")
    return stage


def _from(each: Instruction, known: Mapping[str, str]) -> tuple[str, str]:
    """The image, and the stage's name or ""."""
    words = [word for word in each.words.split() if not word.startswith("--")]
    if len(words) not in (1, 3):
        raise DockerfileError(f"{each.line}: FROM names no image")
    image = _VARIABLE.sub(lambda found: known.get(found[1] or found[3]) or found[2] or "", words[0])
    if not image:
        raise DockerfileError(f"{each.line}: {words[0]} has no value; give its ARG one")
    return image, words[2] if len(words) == 3 else ""


def refusals(
    text: str, wanted: Sequence[Need], images: Mapping[str, ContainerImage], arguments: Mapping[str, str]
) -> list[str]:
    """`LINE: what is wrong; what to do`, for each thing that is; none of a good Dockerfile. Raises DockerfileError."""
    stage = last_stage(text, arguments)
    return [
        *_of_base(stage, arguments),
        *fabric_refusals(stage, wanted, images),
        *_of_user(stage),
        *_of_packages(stage),
    ]


def fabric_refusals(stage: Stage, wanted: Sequence[Need], images: Mapping[str, ContainerImage]) -> list[str]:
    """`LINE: what is missing; what to do`, for each fabric that a run could not use."""
    return [said for need in wanted if (said := _of_fabric(stage, need, images))]


def _of_base(stage: Stage, arguments: Mapping[str, str]) -> Iterator[str]:
    """Our own base gets its digest from the catalogue when it is built on."""
    if not is_pinned(stage.base, {}) and stage.base not in arguments.values():
        yield (
            f"{stage.line}: {stage.base} has no digest, so its content may change; write {stage.base}@sha256:..., as "
            "make pin-images tells it"
        )


def _of_fabric(stage: Stage, need: Need, images: Mapping[str, ContainerImage]) -> str | None:
    runs = " ".join(each.words for each in stage.instructions if each.name == "RUN")
    if any(word in runs for word in _BRINGS[need.fabric]):
        return None
    row = find(images, stage.base)
    if need.fabric == "efa":
        has = row.drives_efa if row else None
        what = OFI_PLUGIN
    else:
        has = False if row and {"libibverbs", "rdma-core"} & set(row.lacks) else None
        what = "libibverbs"
    if has or (has is None and _CHECK in runs):
        return None
    lacks = "lacks" if has is False else "is not known to have"
    how = _HOW[need.fabric].format(base=TRAINER_BASE)
    return f"{stage.line}: {stage.base} {lacks} {what}, which {need.path} needs on {need.fabric}; {how}"


def _of_user(stage: Stage) -> Iterator[str]:
    users = [each for each in stage.instructions if each.name == "USER"]
    if not users or _ROOT.fullmatch(users[-1].words):
        line = users[-1].line if users else stage.line
        yield f"{line}: the image runs as root; end it with USER 1000:1000"


def _of_packages(stage: Stage) -> Iterator[str]:
    for each in stage.instructions:
        if each.name == "RUN" and re.search(r"\bpip3? install\b", each.words) and "--require-hashes" not in each.words:
            yield (
                f"{each.line}: pip installs what the index has that day; install a file of hashes (--require-hashes "
                "-r), as uv pip compile --generate-hashes writes it"
            )
