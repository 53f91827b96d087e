"""What each kind of machine is told and which of its concerns run: as bash reads the variables, and kubeadm its files.

Of stacks on metal whose settings differ; the functions are asked, without a run of the program.
"""

import asyncio
import base64
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from components.metal import secrets
from planner.metal_types import MetalPlan
from stacks.metal_joining import Known
from stacks.metal_variables import concerns, variables
from tests.graph.stackfiles import stack_config
from tests.planner.stacks import metal_plan_of
from tests.stacks.ceph_stack import with_ceph
from tests.stacks.lustre_stack import paired, with_lustre
from tests.stacks.test_metal_home import with_home

WRITTEN: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("machines-told.yaml").read_text(encoding="utf-8")
)
KEY, PASSWORD, CONFIG_MAP = "cluster-key-for-tests-that-is-long-enough", "password-for-tests", "kind: Config\n"


def _pools(config: Mapping[str, Any], **changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, **changes.get(each["name"], {})} for each in config["gpucluster:pools"]]


def _everything() -> dict[str, Any]:
    """Lustre of its own, homes, a mirror with a password, drivers of the host's, clocks, and a machine that leaves."""
    config = with_home(with_lustre())
    training = {"gpuClockMhz": 1755, "gpuPowerW": 650}
    return {
        **config,
        "gpucluster:pools": _pools(config, training=training),
        "gpucluster:inventory": {**config["gpucluster:inventory"], "driver": "host", "allowReset": ["1661923000402"]},
        "gpucluster:supply": {"registry": "mirror.example/hub", "registryLogin": {"user": "robot$nodes"}},
    }


def _ports() -> dict[str, Any]:
    """Three functions of each port for pods, NFS of the site's, and system nodes beside the control plane's one."""
    config = stack_config("metal")
    shared = {"kind": "nfs", "source": "nas.example:/shared"}
    return {
        **config,
        "gpucluster:platform": {**config["gpucluster:platform"], "controlPlaneNodes": 1},
        "gpucluster:fabric": {**config["gpucluster:fabric"], "podDevices": "sriov", "vfsPerPort": 3},
        "gpucluster:inventory": {**config["gpucluster:inventory"], "sharedFiles": shared},
    }


STACKS = {"everything": _everything, "ports": _ports, "ceph": with_ceph, "enclosure": paired}


@cache
def planned(stack: str) -> MetalPlan:
    return metal_plan_of(STACKS[stack]())


async def _known(told: Mapping[str, pulumi.Input[str]]) -> dict[str, str]:
    return {name: str(await pulumi.Output.from_input(each).future()) for name, each in told.items()}


def read(stack: str, machine: str) -> dict[str, Any]:
    """Concerns and variables of a machine; what is secret by its name, files by their paths."""
    plan_ = planned(stack)
    site = plan_.site
    assert site
    (host,) = (each for each in site.hosts if each.name == machine)
    output = pulumi.Output.from_input

    async def told() -> dict[str, str]:
        known = Known(key=output(KEY), discovery=output(CONFIG_MAP), registry_password=output(PASSWORD))
        return await _known(variables(plan_, site, host, "acme-metal", known))

    found: dict[str, Any] = asyncio.run(told())
    for mode, path, text in (line.split() for line in found.pop("CONTROL_PLANE_FILES", "").splitlines()):
        found[f"{mode} {path}"] = _shown(base64.b64decode(text).decode())
    if "KUBEADM" in found:
        node, cluster, _ = yaml.safe_load_all(found["KUBEADM"])
        found["KUBEADM"] = {"node": node, "cluster": _without_constants(cluster)}
    if "JOIN" in found:
        found["JOIN"] = yaml.safe_load(found["JOIN"])
    marks = {secrets.join_token(KEY, each.name, each.serial): f"<token of {each.name}>" for each in site.hosts}
    marks |= {secrets.certificate_key(KEY): "<key of certificates>", secrets.encryption_key(KEY): "<key of secrets>"}
    return {"concerns": " ".join(concerns(plan_, site, host)), **_marked(found, marks)}


def _without_constants(cluster: dict[str, Any]) -> dict[str, Any]:
    """Of a cluster as kubeadm makes it, what is not of every cluster; the rest is what test_metal.py looks at."""
    names = ("clusterName", "kubernetesVersion", "controlPlaneEndpoint", "imageRepository", "networking")
    return {each: cluster.get(each) for each in names} | {"certSANs": cluster["apiServer"]["certSANs"]}


def _shown(text: str) -> Any:
    """A file; of kube-vip's pod what is not of every one."""
    if "name: kube-vip" not in text:
        return text
    spec = yaml.safe_load(text)["spec"]
    (container,), (volume,) = spec["containers"], spec["volumes"]
    env = {each["name"]: each.get("value") for each in container["env"]}
    credentials = volume["hostPath"]["path"]
    return {
        "image": container["image"],
        "address": env["address"],
        "interface": env["vip_interface"],
        "as": credentials,
    }


def _marked(value: Any, marks: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _marked(each, marks) for key, each in value.items()}
    if isinstance(value, list):
        return [_marked(each, marks) for each in value]
    if not isinstance(value, str):
        return value
    for secret, mark in marks.items():
        value = value.replace(secret, mark)
    return value


def whole(written: dict[str, Any]) -> dict[str, Any]:
    """With what the machine that it is like is told."""
    return {**(whole(WRITTEN[written["like"]]) if "like" in written else {}), **written}


@pytest.mark.parametrize(("stack", "machine"), [tuple(each.split("/")) for each in WRITTEN])
def test_a_machine_is_told(stack: str, machine: str) -> None:
    expected = whole(WRITTEN[f"{stack}/{machine}"])
    assert read(stack, machine) == {
        name: each for name, each in expected.items() if each is not None and name != "like"
    }
