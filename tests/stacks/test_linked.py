"""Directories of the file system that are linked with a bucket, and checkpoints that get cold."""

from typing import Any

from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered, stack_config

WEB = {"path": "/datasets/web", "source": "s3://acme-datasets/web", "exports": ["new", "deleted"]}

PERSISTENT = {"deploymentType": "PERSISTENT_2", "capacityGib": 2400, "throughputMbpsPerTib": 125}


def deployed(*associations: dict[str, Any], stack: str = "dev", **store: Any) -> Recorded:
    """A stack on a persistent file system with these links."""
    config = stack_config(stack)
    own = config["gpucluster:storage"]["lustre"]
    lustre = own if own["deploymentType"] == "PERSISTENT_2" else PERSISTENT
    storage = config["gpucluster:storage"] | {"lustre": {**lustre, "associations": list(associations)}}
    if store:
        storage["objectStore"] = store
    limit = {"maxHourlyUsd": 10_000}
    changed = {"gpucluster:storage": storage, "gpucluster:budget": {**config["gpucluster:budget"], **limit}}
    return registered({**config, **changed}, stack=stack)


def test_a_directory_is_linked_with_a_prefix() -> None:
    graph = deployed(WEB)
    made = graph.one("lustre-linked/datasets/web").inputs
    assert (made["fileSystemPath"], made["dataRepositoryPath"]) == ("/datasets/web", "s3://acme-datasets/web")
    assert made["fileSystemId"] == graph.one("lustre-file-system").id
    assert made["s3"] == {
        "autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]},
        "autoExportPolicy": {"events": ["NEW", "DELETED"]},
    }
    assert made["batchImportMetaDataOnCreate"] is True
    assert made["deleteDataInFilesystem"] is False
    assert [str(each) for each in violations(graph, RULES)] == []


def test_who_mounts_the_file_system_finds_what_is_linked_there() -> None:
    """A claim comes after the links, so a run on a linked dataset does not start on an empty directory."""
    graph = deployed(WEB)
    link = graph.one("lustre-linked/datasets/web").urn
    volumes = graph.of_type("PersistentVolume")
    assert volumes
    assert all(link in each.depends_on for each in volumes)


def test_a_run_reads_what_is_linked_at_the_datasets_place() -> None:
    """By its name, or at a path of its own, which may be below what is linked; nothing is copied."""
    config = stack_config("dev")
    links = [WEB, {"path": "/corpora", "source": "s3://acme-datasets/corpora"}]
    datasets = [{"name": "web", "gb": 20}, {"name": "books", "gb": 10, "path": "corpora/books"}]
    run = config["gpucluster:training"]["runs"][0]
    runs = [{**run, "name": each["name"], "nodes": 1, "dataset": {"name": each["name"]}} for each in datasets]
    storage = config["gpucluster:storage"] | {"lustre": {**PERSISTENT, "associations": links}}
    changed = {
        "gpucluster:storage": storage,
        "gpucluster:training": {"runs": runs, "datasets": datasets},
        "gpucluster:budget": {**config["gpucluster:budget"], "maxHourlyUsd": 10_000},
    }
    graph = registered({**config, **changed}, stack="dev")
    assert not [name for name in graph.resources if "dataset-" in name]
    read = {}
    for each in runs:
        spec = graph.one(f"run-{each['name']}-job").inputs["spec"]["pytorchReplicaSpecs"]
        container = next(iter(spec.values()))["template"]["spec"]["containers"][0]
        (read[each["name"]],) = (mount for mount in container["volumeMounts"] if mount["mountPath"] == "/data")
    places = {name: (mount["subPath"], mount["readOnly"]) for name, mount in read.items()}
    assert places == {"web": ("datasets/web", True), "books": ("corpora/books", True)}


def test_a_linked_file_system_has_no_backups() -> None:
    """FSx backs up none that is linked with a data repository, so none is asked for, and the preview says so."""
    alone, linked = deployed(stack="prod"), deployed(WEB, stack="prod")
    asked = "automaticBackupRetentionDays"
    assert alone.one("lustre-file-system").inputs[asked] == 7
    assert not linked.one("lustre-file-system").inputs.get(asked)
    assert linked.one("lustre-file-system").inputs["skipFinalBackup"] is True
    assert any("FSx makes no backups" in text for _, text in linked.messages)
    assert not any("FSx makes no backups" in text for _, text in alone.messages)


def test_a_bucket_with_a_key_of_somebody_elses_is_told_of() -> None:
    key = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    config = stack_config("dev")
    sources = [{"bucket": "acme-model-weights"}, {"bucket": "acme-datasets", "keyArn": key}]
    storage = {"lustre": {**PERSISTENT, "associations": [WEB]}, "sources": sources}
    graph = registered({**config, "gpucluster:storage": storage}, stack="dev")
    assert any("AWSServiceRoleForFSxS3Access" in text for _, text in graph.messages)


def test_checkpoints_get_cold_before_they_expire() -> None:
    rules = {
        each["id"]: each
        for each in deployed(checkpointDays=90, coldAfterDays=45).one("object-store-lifecycle").inputs["rules"]
    }
    assert rules["checkpoints"]["transitions"] == [{"days": 45, "storageClass": "STANDARD_IA"}]
    assert rules["checkpoints"]["expiration"] == {"days": 90}
    plain = graph_of("dev").one("object-store-lifecycle").inputs["rules"]
    assert not any("transitions" in each for each in plain)
