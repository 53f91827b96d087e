"""What can be said of the stack file without asking the account: placeholders, who calls, images."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from catalogue.pins import Reference, RegistryError, digest
from doctor.case import Case
from doctor.results import Result, Status, judged
from planner.rules.supply import placeholders

_LOOK_UP = "curl https://checkip.amazonaws.com shows it"


def values(case: Case) -> Iterable[Result]:
    """No value is one of documentation, whether the stack is marked an example or not."""
    told = case.settings.model_dump(mode="json", by_alias=True)
    for path, value, what, remedy in placeholders(told):
        yield Result(
            check="placeholder",
            status=Status.FAIL,
            subject=value,
            sentence=f"gpucluster:{path} is {what}",
            remedy=remedy,
        )
    if case.settings.example:
        remedy = "replace its placeholders, and remove the key"
        sentence = "the stack file is marked as an example"
        yield Result(
            check="placeholder", status=Status.FAIL, subject="gpucluster:example", sentence=sentence, remedy=remedy
        )


def caller(case: Case) -> Iterable[Result]:
    """The caller's address is admitted to the Kubernetes API: else an apply stops when AWS' parts are paid for."""
    cidrs = case.plan.endpoint.public_cidrs
    if not cidrs:
        return
    if case.address is None:
        sentence = "without your public address it is unknown whether you are admitted to the Kubernetes API"
        remedy = f"add --address (make doctor ADDRESS=…); {_LOOK_UP}"
        yield Result(check="caller", status=Status.UNKNOWN, subject=", ".join(cidrs), sentence=sentence, remedy=remedy)
        return
    inside = [cidr for cidr in cidrs if IPv4Address(case.address) in IPv4Network(cidr)]
    sentence = f"the Kubernetes API admits {', '.join(cidrs)} only, so nothing can be deployed from here"
    remedy = f"add {case.address}/32 to gpucluster:platform.publicAccessCidrs, or deploy from one of those"
    wrong = [] if inside else [(Status.FAIL, sentence, remedy)]
    yield judged("caller", case.address, f"{', '.join(inside)} is admitted to the Kubernetes API", wrong)


def images(case: Case) -> Iterable[Result]:
    """Registries have the images of runs and services. What is in an image nobody looks at from here."""
    scripts = {run.image: run.script[0] for run in case.plan.runs.values()}
    named = dict.fromkeys([*scripts, *(service.image for service in case.plan.services.values())])
    if not case.registries:
        sentence = f"off: registries were not queried for {len(named)} images, nor images checked for their scripts"
        remedy = "add --registries (make doctor REGISTRIES=1) where they can be reached"
        yield Result(check="registry", status=Status.UNKNOWN, subject="images", sentence=sentence, remedy=remedy)
        return
    for image in named:
        yield _asked(image, scripts.get(image))


def _asked(image: str, script: str | None) -> Result:
    inside = f"; whether {script} is in it is for docker run --rm {image} ls {script} to say" if script else ""
    host = Reference.parse(image.partition("@")[0]).host
    try:
        found = digest(image.partition("@")[0])
    except RegistryError as error:
        gone = "answers 404" in str(error)
        remedy = (
            "correct the image"
            if gone
            else ("run it where the registry is reachable, with credentials if it needs them")
        )
        return Result(
            check="registry",
            status=Status.FAIL if gone else Status.UNKNOWN,
            subject=image,
            sentence=f"{host} {error}",
            remedy=remedy,
        )
    return Result(check="registry", status=Status.OK, subject=image, sentence=f"{host} has it as {found}{inside}")
