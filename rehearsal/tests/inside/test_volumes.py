"""What volumes wait for, and what keeps Lustre from being mounted."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.seen import lustre
from rehearsal.cloud.seen.network import End
from rehearsal.kubelet import mounting, volumes
from rehearsal.kubelet.orders import FILE, Fault, Orders, broken, change
from rehearsal.kubelet.program import Mount
from rehearsal.tests.inside import facts
from rehearsal.tests.inside.objects import Store, pod


def on_claim(name: str) -> dict[str, Any]:
    return pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


LUSTRE: dict[str, Any] = {
    "metadata": {"name": "pv"},
    "spec": {"csi": {"driver": "fsx.csi.aws.com", "volumeHandle": "fs-1"}},
}
BOUND = {"status": {"phase": "Bound"}, "spec": {"volumeName": "pv"}}
REGISTERED = {"node": {"spec": {"drivers": [{"name": "fsx.csi.aws.com"}]}}}


def said(pod: dict[str, Any], find: Store, mountable: str | None = None) -> list[str]:
    return [each.message for each in volumes.problems(pod, "node", find, lambda _: mountable)]


def test_everything_there_is_no_problem() -> None:
    find = Store(claims={"c": BOUND}, volumes={"pv": LUSTRE}, csinodes=REGISTERED)
    assert said(on_claim("c"), find) == []


def test_missing_secret_and_configmap_are_named() -> None:
    both = pod(volumes=[{"name": "s", "secret": {"secretName": "x"}}, {"name": "c", "configMap": {"name": "y"}}])
    first, second = said(both, Store())
    assert 'secret "x" not found' in first
    assert 'configmap "y" not found' in second


def test_optional_sources_may_be_missing_but_keys_may_not() -> None:
    optional = pod(volumes=[{"name": "s", "secret": {"secretName": "x", "optional": True}}])
    assert said(optional, Store()) == []
    keyed = pod(volumes=[{"name": "c", "configMap": {"name": "y", "items": [{"key": "k", "path": "k"}]}}])
    assert "non-existent configmap key: k" in said(keyed, Store(configmaps={"y": {"data": {}}}))[0]


def test_unbound_and_absent_claims() -> None:
    assert "not found" in said(on_claim("c"), Store())[0]
    assert "not bound" in said(on_claim("c"), Store(claims={"c": {"status": {"phase": "Pending"}}}))[0]


def test_a_driver_that_is_not_registered_on_the_node() -> None:
    find = Store(claims={"c": BOUND}, volumes={"pv": LUSTRE}, csinodes={"node": {"spec": {"drivers": []}}})
    assert "driver name fsx.csi.aws.com not found in the list of registered CSI drivers" in said(on_claim("c"), find)[0]


def test_what_the_file_system_says_is_passed_on() -> None:
    find = Store(claims={"c": BOUND}, volumes={"pv": LUSTRE}, csinodes=REGISTERED)
    assert said(on_claim("c"), find, "connection timed out") == [
        'MountVolume.SetUp failed for volume "pv" : connection timed out'
    ]


def test_two_volumes_of_one_file_system_have_the_same_contents() -> None:
    """FSx' driver takes the handle for a name: two volumes in one cluster have two of them."""

    def volume(handle: str, dns: str) -> dict[str, Any]:
        csi = {**LUSTRE["spec"]["csi"], "volumeHandle": handle, "volumeAttributes": {"dnsname": dns, "mountname": "m"}}
        return {"metadata": {"name": handle}, "spec": {"csi": csi}}

    assert volumes.volume_key(volume("fs-1-a", "one")) == volumes.volume_key(volume("fs-1-b", "one"))
    assert volumes.volume_key(volume("fs-1-a", "one")) != volumes.volume_key(volume("fs-1-a", "other"))


def test_mounts_know_what_lies_inside_them() -> None:
    mount = Mount("/models", "v", sub_path="weights")
    assert mount.inside("/models/llama") == "weights/llama"
    assert mount.inside("/modelsx") is None


# -- Lustre

SYSTEM = {
    "FileSystemId": "fs-1",
    "Lifecycle": "AVAILABLE",
    "VpcId": "vpc-1",
    "DNSName": "fs-1.fsx",
    "LustreConfiguration": {"MountName": "abcd"},
}
CSI = {"volumeHandle": "fs-1", "volumeAttributes": {"dnsname": "fs-1.fsx", "mountname": "abcd"}}
NODE_END = End((facts.CLUSTER_GROUP,), ("10.0.0.5",))
SERVERS = End((facts.CLUSTER_GROUP,), ("10.0.0.9",))


def mount(csi: Mapping[str, Any] = CSI, servers: End = SERVERS, vpc: str = "vpc-1", **change: Any) -> str | None:
    return lustre.mount_problem(csi, [{**SYSTEM, **change}], NODE_END, vpc, servers, facts.GROUPS)


def test_a_file_system_in_reach_is_mounted() -> None:
    assert mount() is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"csi": {**CSI, "volumeAttributes": {"dnsname": "fs-2.fsx", "mountname": "abcd"}}}, "NID"),
        ({"csi": {**CSI, "volumeAttributes": {"dnsname": "fs-1.fsx", "mountname": "fsx"}}}, "abcd"),
        ({"Lifecycle": "CREATING"}, "CREATING"),
        ({"vpc": "vpc-2"}, "timed out"),
        ({"servers": End((facts.OWN_GROUP,), ("10.0.0.9",))}, "988"),
    ],
)
def test_each_mount_rule(arguments: dict[str, Any], text: str) -> None:
    assert text in (mount(**arguments) or "")


@pytest.mark.parametrize(
    ("modes", "mountable"),
    [(["ReadWriteMany"], True), (["ReadWriteOnce", "ReadOnlyMany"], True), (["ReadOnlyMany", "ReadWriteMany"], False)],
)
def test_the_drivers_modes_are_those_of_its_source_lf01(modes: list[str], mountable: bool, tmp_path: Path) -> None:
    """Volume and claim are bound, and yet no pod ever starts: the first mode counts."""
    known = {"fsx": [SYSTEM], ("fsx", "fs-1"): SERVERS}
    aws = SimpleNamespace(cached=lambda key, _: known[key], groups=lambda: facts.GROUPS)
    orders = Orders(tmp_path / FILE)
    world: Any = SimpleNamespace(aws=aws, orders=orders)
    host: Any = SimpleNamespace(primary=NODE_END, vpc="vpc-1", node="a")
    volume = {"spec": {"accessModes": modes, "csi": {**CSI, "driver": mounting.FSX}}}
    why = mounting.checker(world, host)(volume)
    assert (why is None) == mountable
    assert mountable or why == "rpc error: code = InvalidArgument desc = Volume capability not supported"
    change(tmp_path / FILE, lambda before: broken(before, Fault("a", "filesystem-mount", 1.0)))
    assert "DeadlineExceeded" in (mounting.checker(world, host)(volume) or "")
