"""Classes of EBS volumes and snapshots of volumes, from the stack file to what is registered."""

from typing import Any

from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered, stack_config

FAST = {"name": "fast", "type": "gp3", "iops": 16_000, "throughputMbps": 1_000}
KEPT = {"name": "databases", "type": "io2", "iops": 64_000, "reclaim": "retain"}


def deployed(block: dict[str, Any], stack: str = "dev") -> Recorded:
    config = stack_config(stack)
    return registered({**config, "gpucluster:storage": {**config["gpucluster:storage"], "block": block}}, stack=stack)


def classes(graph: Recorded) -> dict[str, Any]:
    return {each.inputs["metadata"]["name"]: each.inputs for each in graph.of_type("StorageClass")}


def test_a_class_has_the_numbers_of_its_volumes_and_leaves_the_default_as_it_is() -> None:
    before, found = classes(graph_of("dev")), classes(deployed({"classes": [FAST, KEPT]}))
    assert found["gp3"] == before["gp3"]
    numbers = {key: found["fast"]["parameters"].get(key) for key in ("type", "iops", "throughput", "encrypted")}
    assert numbers == {"type": "gp3", "iops": "16000", "throughput": "1000", "encrypted": "true"}
    default = "storageclass.kubernetes.io/is-default-class"
    assert [name for name, each in found.items() if default in each["metadata"].get("annotations", {})] == ["gp3"]


def test_a_retained_volume_stays_and_says_so_by_its_tags() -> None:
    found = classes(deployed({"classes": [FAST, KEPT]}))
    assert {name: each["reclaimPolicy"] for name, each in found.items()} == {
        "gp3": "Delete",
        "fast": "Delete",
        "databases": "Retain",
    }
    tagged = [name for name, each in found.items() if "gpucluster:retain=true" in each["parameters"].values()]
    assert tagged == ["databases"]


def test_snapshots_come_with_their_controller_and_only_when_asked_for() -> None:
    plain, found = graph_of("dev"), deployed({"snapshots": "delete"})
    added = {each.name for each in found.resources.values()} - {each.name for each in plain.resources.values()}
    assert added == {"snapshot-addons", "snapshot-addons-snapshot-controller", "block-storage-snapshots"}
    made = found.one("block-storage-snapshots")
    assert (made.inputs["driver"], made.inputs["deletionPolicy"]) == ("ebs.csi.aws.com", "Delete")
    assert made.inputs["metadata"] == {"name": "ebs"}
    assert [str(each) for each in violations(found, RULES)] == []


def test_retained_snapshots_stay_in_ebs() -> None:
    made = deployed({"snapshots": "retain"}).one("block-storage-snapshots")
    assert made.inputs["deletionPolicy"] == "Retain"
    assert "gpucluster:retain=true" in made.inputs["parameters"].values()


def test_namespaces_with_snapshots_go_before_the_controller_that_lets_go_of_them() -> None:
    """And that goes before the driver, which deletes snapshots in EBS for it."""
    found = deployed({"snapshots": "delete"})
    controller = found.one("snapshot-addons-snapshot-controller")
    assert found.one("service-addons-aws-ebs-csi-driver").urn in controller.depends_on
    assert controller.urn in found.one("volumes-end-deployment").depends_on
