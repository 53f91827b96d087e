"""Images and Kubernetes versions: the plugin that NCCL needs on EFA, the script that is started, what is pinned."""

import posixpath
from collections.abc import Iterable
from difflib import get_close_matches

from catalogue.image_types import NUMBER, OFI_PLUGIN, find, repository
from catalogue.images import REPOSITORIES, is_pinned, is_published
from catalogue.versions import KUBERNETES, STANDARD_SUPPORT_ENDS
from catalogue.whole import Catalogue
from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule, warning
from planner.findings import Observation
from planner.rules.known import followed, placed_runs, runs, workloads
from planner.rules.supply import of_documentation
from planner.supply import images_of
from planner.wording import one_of
from settings.workloads import TrainingRun

_DATA = "/data/"
"""Where a run finds its dataset."""


def _on_efa(draft: AwsDraft) -> Iterable[tuple[str, TrainingRun]]:
    return ((path, run) for path, run, pool in placed_runs(draft) if pool.efa and run.nodes > 1)


@aws_rule(
    "LF04",
    by_name=True,
    each=_on_efa,
    formula="aws-ofi-nccl is in the image if a run of several nodes has EFA",
    source="NVIDIA-NeMo/Megatron-Bridge, pull request 5033; NCCL 2.30.7, src/plugin/net.cc: without a plugin, sockets",
)
def image_without_efa(draft: AwsDraft, run: TrainingRun) -> Iterable[Observation]:
    """A gang on EFA has an image that NCCL can reach EFA from: without the plugin it talks TCP over one interface."""
    row = find(draft.catalogue.images, run.image)
    if row is not None and row.drives_efa is False:
        sets = f" and sets {', '.join(row.env)}" if row.env else ""
        other = _with_plugin(draft.catalogue, run.image)
        yield Observation(
            path="image",
            sentence=f"{run.image} lacks {OFI_PLUGIN}{sets}, so {run.nodes} nodes with EFA could not use it and "
            "would talk TCP over one interface",
            remedy=(f"take {other}, or " if other else "")
            + "build on it with the EFA installer (./efa_installer.sh -y -g --skip-kmod) and say so in "
            f"catalogue.images: {{name: YOUR-IMAGE, like: '{row.name}', lacks: [], netPlugin: ofi}}",
            subject=run.image,
            inputs={"gang": f"{run.nodes} nodes"},
        )


@aws_warning(
    "LF04",
    by_name=True,
    each=_on_efa,
    formula="the image of a run of several nodes with EFA is a row of the catalogue, or made by a Dockerfile that a "
    "row names",
    source="aws-ofi-nccl, src/Makefile.am: libnccl-net-ofi.so is always installed, libnccl-net.so is not",
)
def image_unproven_on_efa(draft: AwsDraft, run: TrainingRun) -> Iterable[Observation]:
    """Nobody says whether a gang's image has what NCCL needs on EFA: the run ends at its start where it has not."""
    row = find(draft.catalogue.images, run.image)
    if row is None or (row.drives_efa is None and row.dockerfile is None):
        yield Observation(
            path="image",
            sentence=f"whether {run.image} has {OFI_PLUGIN}, which {run.nodes} nodes with EFA need, is not known",
            remedy=f"{_nearest(run.image)}look (docker run --rm --entrypoint ldconfig {run.image} "
            f"-p | grep libnccl-net), and say what is there in catalogue.images: {{name: {repository(run.image)}, "
            "netPlugin: ofi, source: WHO-SAYS-SO}",
            subject=run.image,
            inputs={"gang": f"{run.nodes} nodes"},
        )


@warning(
    "LF04",
    by_name=True,
    formula="the image's repository is known to be published, or a row of catalogue.images is about it",
    source="CRI: ErrImagePull; catalogue/images.py",
)
def image_unknown(draft: Draft) -> Iterable[Observation]:
    """An image that no table lists is misspelt or private: its pods wait until a registry has it."""
    settings, seen = draft.settings, set[str]()
    on_efa = {run.image for _, run in _on_efa(draft)} if isinstance(draft, AwsDraft) else set()
    for path, image in (
        *((path, each.image) for path, each in workloads(draft)),
        *((f"serving.triton[{index}]", each.image) for index, each in enumerate(settings.serving.triton)),
    ):
        told = image in seen or image in on_efa or image in draft.catalogue.digests
        if told or is_published(image) or find(draft.catalogue.images, image) or of_documentation(image):
            continue
        seen.add(image)
        yield Observation(
            path=f"{path}.image",
            sentence=f"nothing is known of {image}: if no registry has it, its pods wait in ErrImagePull without end",
            remedy=f"{_nearest(image)}if it is your own, say so in catalogue.images: "
            f"{{name: {repository(image)}, source: WHO-BUILDS-IT}}",
            subject=image,
        )


def _nearest(image: str) -> str:
    """What was probably meant, as the beginning of a remedy; nothing where no published image is like it."""
    name = repository(image)
    meant = next(iter(get_close_matches(name, REPOSITORIES, n=1, cutoff=0.8)), name)
    return f"did you mean {meant}{image.partition('@')[0].removeprefix(name)}? Otherwise, " if meant != name else ""


@rule(
    "LF03",
    by_name=True,
    each=runs,
    formula="the script lies in a directory of which the image's row does not tell the contents, or is among them",
    source="CPython: can't open file: [Errno 2] No such file or directory",
)
def script_not_in_image(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """The script that torchrun starts exists in the image; otherwise every pod ends at once."""
    row, script = find(draft.catalogue.images, run.image), script_of(run.script)
    if row is not None and script is not None and row.lacks_file(script):
        directory, file = row.listed(script) or "", posixpath.basename(script)
        held = ", ".join(posixpath.basename(each) for each in row.within(directory)) or "nothing"
        yield Observation(
            path="script",
            sentence=f"{script} is not in {run.image}: {directory} holds {held} there",
            remedy=f"build an image on it that has the script (COPY {file} {directory}/) and say so in "
            f"catalogue.images: {{name: YOUR-IMAGE, like: '{row.name}', holds: [{directory}/{file}]}}; or "
            f"name a dataset that holds one, and start {_DATA}{file}",
            inputs={"script": script},
        )


@warning(
    "LF03",
    by_name=True,
    each=runs,
    formula="a script below /data is in the run's dataset, or in an image that the catalogue does not describe",
    source="CPython: can't open file: [Errno 2] No such file or directory",
)
def script_without_dataset(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """Of the shared file system a run sees its dataset, at /data; without one nothing is there."""
    row, script = find(draft.catalogue.images, run.image), script_of(run.script) or ""
    if run.dataset is None and script.startswith(_DATA) and row is not None and script not in row.holds:
        yield Observation(
            path="script",
            sentence=f"{script} does not exist: the run names no dataset, so nothing is mounted at /data",
            remedy=f"name the dataset that holds {posixpath.basename(script)}, start a script of the image, or take "
            "the bundled trainer: framework: reference, with a model and without script",
            inputs={"script": script},
        )


def script_of(words: Iterable[str]) -> str | None:
    """The file that torchrun starts, as an absolute path; None for a module, or a path from where the image begins."""
    for word in words:
        if word in ("-m", "--module"):
            return None
        if not word.startswith("-"):
            return posixpath.normpath(word) if word.startswith("/") else None
    return None


def _with_plugin(catalogue: Catalogue, image: str) -> str | None:
    """The image with the newest tag of its repository that is known to have the plugin."""
    written = image.partition("@")[0]
    for row in reversed(list(catalogue.images.values())):
        _, _, last = row.name.rpartition("..")
        other = NUMBER.sub(last, written.removeprefix(repository(image)), count=1)
        if row.aws_ofi_nccl and other and row.covers(f"{repository(image)}{other}"):
            return f"{repository(image)}{other}"
    return None


@aws_rule(
    "KJ30 I03",
    formula="kubernetesVersion in the versions with a recorded AMI release",
    source="Releases of awslabs/amazon-eks-ami; EKS user guide, Kubernetes version lifecycle",
)
def kubernetes_unsupported(draft: AwsDraft) -> Iterable[Observation]:
    """The cluster's minor has a recorded AMI release, so that its nodes are reproducible."""
    minor = draft.settings.platform.kubernetes_version
    if minor not in KUBERNETES:
        ended = STANDARD_SUPPORT_ENDS.get(minor)
        past = f", and EKS ended its standard support on {ended}" if ended and ended < draft.today else ""
        yield Observation(
            path="platform.kubernetesVersion",
            sentence=f"no AMI release is recorded for {minor}{past}",
            remedy=f"take {one_of(KUBERNETES)}",
            inputs={"version": minor, "recorded": ", ".join(KUBERNETES)},
        )


@aws_warning(
    "KJ30",
    formula="today <= end of standard support",
    source="EKS user guide, Kubernetes version lifecycle; EKS price page",
)
def kubernetes_extended_support(draft: AwsDraft) -> Iterable[Observation]:
    """A minor beyond standard support costs six times as much and is upgraded by force in the end."""
    minor = draft.settings.platform.kubernetes_version
    ended = STANDARD_SUPPORT_ENDS.get(minor)
    if minor in KUBERNETES and ended and ended < draft.today:
        yield Observation(
            path="platform.kubernetesVersion",
            sentence=f"EKS ended standard support of {minor} on {ended}",
            remedy=f"move to {max(KUBERNETES)}",
            inputs={"standard support ends": ended.isoformat(), "today": draft.today.isoformat()},
        )


@rule(
    "I03 IN01",
    by_name=True,
    formula="every image has a digest, if lifecycle.protect",
    source="Kubernetes documentation, images: a digest always names the same content",
)
def image_not_pinned(draft: Draft) -> Iterable[Observation]:
    """In production (lifecycle.protect) every image has a digest, or somebody has said why not."""
    if not draft.settings.lifecycle.protect:
        return
    users = ((f"{path}.image", user.image) for path, user in workloads(draft))
    servers = (
        (f"serving.triton[{index}].image", each.image) for index, each in enumerate(draft.settings.serving.triton)
    )
    own = images_of(draft.settings.training, draft.settings.serving)
    platform = (("lifecycle.protect", image) for image in own)
    for path, image in (*users, *followed(draft), *servers, *platform):
        if not is_pinned(image, draft.catalogue.digests):
            yield Observation(
                path=path,
                sentence=f"the stack is protected and {image} has no digest, so its content may change",
                remedy="run make pin-images, or waive image-not-pinned with the image as subject",
                subject=image,
            )
