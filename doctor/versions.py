"""Kubernetes' minor, and the node images of the recorded release."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from catalogue.prices import SERVICES
from catalogue.types import Architecture
from catalogue.versions import KUBERNETES, STANDARD_SUPPORT_ENDS
from doctor.account import Account, UnansweredError
from doctor.case import Case
from doctor.results import Result, Status, judged
from planner.pool_types import AwsPoolPlan
from settings.aws_names import AMI_ID

_SOON = timedelta(days=60)
OWN = "own-image"
ROOT_DEVICE = "/dev/xvda"
"""As the program's launch templates name it (components/aws/nodes.py)."""

Kind = tuple[str, str, str]


def kubernetes(case: Case, account: Account) -> Iterable[Result]:
    """EKS offers the cluster's minor, in standard support, until the day that the catalogue has."""
    minor = case.settings.platform.kubernetes_version
    rows = account.every("eks", "DescribeClusterVersions", "clusterVersions", clusterVersions=[minor])
    told = next((row for row in rows if row["clusterVersion"] == minor), None)
    status = told.get("versionStatus", "UNSUPPORTED") if told else "UNSUPPORTED"
    move = "move gpucluster:platform.kubernetesVersion to a later minor"
    if told is None or status == "UNSUPPORTED":
        sentence = f"EKS offers no {minor} in {case.region}"
        yield Result(check="kubernetes", status=Status.FAIL, subject=minor, sentence=sentence, remedy=move)
        return
    ends = told["endOfStandardSupportDate"].date()
    wrong = []
    if status == "EXTENDED_SUPPORT":
        dear, usual = SERVICES["eks-extended"].usd_per_hour, SERVICES["eks"].usd_per_hour
        sentence = f"its standard support ended on {ends}: {dear:g} USD an hour instead of {usual:g}"
        wrong.append((Status.WARN, sentence, move))
    elif ends - case.now.date() < _SOON:
        wrong.append((Status.WARN, f"its standard support ends on {ends}", move))
    recorded = STANDARD_SUPPORT_ENDS.get(minor)
    if recorded != ends:
        has = f"{recorded}" if recorded else "no day"
        sentence = f"EKS ends standard support on {ends}, and the catalogue has {has}"
        wrong.append((Status.WARN, sentence, "correct STANDARD_SUPPORT_ENDS in catalogue/versions.py"))
    yield judged("kubernetes", minor, f"in standard support until {ends}", wrong)


def images(case: Case, account: Account) -> Iterable[Result]:
    """The recorded release has an image of each kind that the pools take."""
    minor = case.settings.platform.kubernetes_version
    if minor not in KUBERNETES:
        sentence, remedy = f"no AMI release is recorded for {minor}", f"take one of {', '.join(KUBERNETES)}"
        yield Result(check="image", status=Status.FAIL, subject=minor, sentence=sentence, remedy=remedy)
        return
    kinds = list(dict.fromkeys(_kind(pool) for pool in case.plan.pools.values() if pool.ami is None))
    if not kinds:
        return
    names = [name for kind in kinds for name in (_image(minor, kind), _newest(minor, kind))]
    told = account.get("ssm", "GetParameters", Names=names)
    values = {row["Name"]: row["Value"] for row in told["Parameters"]}
    for kind in kinds:
        yield _judged(minor, kind, values)


def own_images(case: Case, account: Account) -> Iterable[Result]:
    """The images of the user's own are there, for their pools' processor, and their volume fits."""
    for pool in case.plan.pools.values():
        if pool.ami is None:
            continue
        held = _held(account, pool.name, pool.ami) if pool.ami.startswith("/") else pool.ami
        if isinstance(held, Result):
            yield held
            continue
        found = account.every("ec2", "DescribeImages", "Images", Filters=[{"Name": "image-id", "Values": [held]}])
        if not found:
            sentence = f"{case.region} shows this account no image {held}"
            remedy = "copy it to the region, or let the account that owns it share it (aws ec2 copy-image)"
            yield Result(check=OWN, status=Status.FAIL, subject=pool.name, sentence=sentence, remedy=remedy)
            continue
        from_it = f", from {pool.ami}" if held != pool.ami else ""
        named = replace(pool, ami=held)
        yield judged(OWN, pool.name, f"{held} is {found[0].get('Name')}{from_it}", list(_unfit(named, found[0])))


def _held(account: Account, pool: str, parameter: str) -> str | Result:
    """The id that this version of a parameter holds, or what is wrong with it."""
    try:
        told = account.get("ssm", "GetParameters", Names=[parameter])["Parameters"]
    except UnansweredError as error:
        remedy = f"grant ssm:GetParameters on arn:aws:ssm:*:*:parameter{parameter.partition(':')[0]}, or ask again"
        return Result(check=OWN, status=Status.UNKNOWN, subject=pool, sentence=error.sentence, remedy=remedy)
    value = str(told[0]["Value"]) if told else ""
    if re.fullmatch(AMI_ID, value):
        return value
    sentence = f"{parameter} holds no id of an AMI" if told else f"there is no {parameter} in the region"
    remedy = f"name a version that aws ssm get-parameter-history --name {parameter.partition(':')[0]} lists"
    return Result(check=OWN, status=Status.FAIL, subject=pool, sentence=sentence, remedy=remedy)


def _unfit(pool: AwsPoolPlan, image: Mapping[str, Any]) -> Iterable[tuple[Status, str, str]]:
    wanted = _kind(pool)[1]
    if image["State"] != "available":
        yield Status.FAIL, f"{pool.ami} is {image['State']}", "wait until it is available, or name another one"
    if image["Architecture"] != wanted:
        sentence = f"{pool.ami} is for {image['Architecture']}, and a {pool.instance.type} is {wanted}"
        yield Status.FAIL, sentence, f"name an image for {wanted}"
    if (device := image.get("RootDeviceName")) != ROOT_DEVICE:
        sentence = f"the root volume of {pool.ami} is {device}, and nodes get {ROOT_DEVICE} beside it"
        yield Status.FAIL, sentence, "build it from EKS' image, whose root volume has that name"
    sizes = [(each.get("Ebs") or {}).get("VolumeSize", 0) for each in image.get("BlockDeviceMappings") or ()]
    if max(sizes, default=0) > pool.root_volume_gib:
        sentence = f"{pool.ami} holds {max(sizes)} GiB and its nodes get {pool.root_volume_gib}"
        yield Status.FAIL, sentence, f"set rootVolumeGib of {pool.name} to {max(sizes)} or more"
    if ends := image.get("DeprecationTime"):
        sentence = f"{pool.ami} is marked as deprecated from {str(ends)[:10]} on"
        yield Status.WARN, sentence, "build the next one"


def _judged(minor: str, kind: Kind, values: Mapping[str, str]) -> Result:
    image, newest, release = values.get(_image(minor, kind)), values.get(_newest(minor, kind)), _release(minor, kind)
    recommended = f"{newest} is the recommended one" if newest else "EKS recommends none"
    sentence = f"there is no image of release {release}; {recommended}"
    remedy = f"record {newest} as the release of {minor} in catalogue/versions.py" if newest else "take another minor"
    wrong = [] if image else [(Status.FAIL, sentence, remedy)]
    later = f"; {recommended}" if newest and newest != release else ", the recommended one"
    return judged("image", " ".join(kind), f"release {release} is {image}{later}", wrong)


def _kind(pool: AwsPoolPlan) -> Kind:
    """System, architecture and variant of EKS' image for a pool."""
    architecture = "arm64" if pool.instance.architecture is Architecture.ARM64 else "x86_64"
    family = "Bottlerocket" if pool.bottlerocket else "AL2023"
    return family, architecture, "nvidia" if pool.gpus_per_node else "standard"


def _release(minor: str, kind: Kind) -> str:
    recorded = KUBERNETES[minor]
    return recorded.bottlerocket_release if kind[0] == "Bottlerocket" else recorded.ami_release


def _image(minor: str, kind: Kind) -> str:
    first, _, last = _release(minor, kind).rpartition("-")
    if kind[0] == "Bottlerocket":
        return f"{_folder(minor, kind)}/{first}/image_id"
    return f"{_folder(minor, kind)}/amazon-eks-node-al2023-{'-'.join(kind[1:])}-{minor}-v{last}/image_id"


def _newest(minor: str, kind: Kind) -> str:
    below = "latest/image_version" if kind[0] == "Bottlerocket" else "recommended/release_version"
    return f"{_folder(minor, kind)}/{below}"


def _folder(minor: str, kind: Kind) -> str:
    """EKS user guide, "Retrieve recommended Amazon Linux AMI IDs" and "Retrieve recommended Bottlerocket AMI IDs"."""
    family, architecture, variant = kind
    if family == "Bottlerocket":
        return f"/aws/service/bottlerocket/aws-k8s-{minor}{'-nvidia' * (variant == 'nvidia')}/{architecture}"
    return f"/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/{architecture}/{variant}"
