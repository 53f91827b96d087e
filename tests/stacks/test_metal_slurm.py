"""Slurm on machines of a stack: who is told what, in which order, and what stays with Kubernetes."""

import base64
import json
import re
from functools import cache
from typing import Any

import pytest

from components.metal.secrets import accounting_password, munge_key
from policy.graph import Resource
from settings.presets import preset
from tests.graph.harness import Recorded
from tests.graph.stackfiles import refusal, run_program, stack_config
from tests.stacks.test_metal import KEY, concerns_of, machines, told
from tests.stacks.test_metal_presets import STORE, config, deployed, inventory

PURE = "slurm-8n"


@cache
def hybrid() -> Recorded:
    """A09: a preset that trains and serves, with its training pool under Slurm."""
    return run_program(divided(), stack="mine")


def divided(**changes: Any) -> dict[str, Any]:
    training = {**preset("h100-8n").get("training", {})}
    training["runs"] = [
        {key: value for key, value in run.items() if key not in ("followUps", "dataset")} for run in training["runs"]
    ]
    sections = {"gpucluster:slurm": {"pools": ["training"]}, "gpucluster:training": training}
    return config("h100-8n", **sections, **changes)


def files(host: str, graph: Recorded) -> dict[str, tuple[str, str, str, str]]:
    """Mode, owner, units and text of what a machine is given, by path."""
    lines = [line.split() for line in told(host, graph)["SLURM_FILES"].splitlines()]
    return {
        path: (mode, owner, units, base64.b64decode(content).decode(errors="replace"))
        for mode, owner, units, path, content in lines
    }


def before(each: Resource, graph: Recorded) -> set[str]:
    """Names of all that a resource waits for, however far away."""
    found: set[str] = set()
    todo = [each]
    while todo:
        for urn in todo.pop().depends_on:
            if urn not in found:
                found.add(urn)
                todo.append(graph.resources[urn])
    return {graph.resources[urn].name for urn in found}


def test_machines_of_slurm_are_prepared_and_join_nothing() -> None:
    """A03: the same drivers, fabric and files as nodes of Kubernetes, and neither kubelet nor containerd."""
    graph = deployed(PURE)
    for number in range(1, 9):
        called = concerns_of(f"training-{number}", graph)
        assert {"checks", "packages", "time", "bmc-network", "acs", "persistence", "shared-files"} <= set(called)
        assert called[-3:] == ["apptainer", "slurm", "slurm-node"]
        assert not {"join", "control-plane", "kubelet", "containerd", "swap"} & set(called)
        assert told(f"training-{number}", graph)["OS"] == "ubuntu-24.04"
        assert {"munge=", "slurmd=", "slurm-wlm-nvml-plugin="} <= set(told("training-1", graph)["PACKAGES"].split())
    assert "training-" not in told("system-1", graph)["INVITATIONS"]


def test_heads_and_database_have_a_bundle_of_their_own() -> None:
    """W10, W03: undone by itself, where Slurm goes and the node stays."""
    graph = deployed(PURE)
    assert concerns_of("slurm-system-3", graph) == ["packages", "slurm", "slurm-database"]
    for name in ("system-1", "system-2"):
        assert concerns_of(f"slurm-{name}", graph) == ["packages", "slurm", "slurm-controller"]
        text = str(machines(graph)[f"slurm-{name}"].inputs["stdin"])
        assert "GPUCLUSTER_STATE=/var/lib/gpucluster-slurm\n" in text
        assert "slurm" not in " ".join(concerns_of(name, graph))


def test_one_system_machine_is_controller_and_database() -> None:
    """Computers with GeForce cards: its state is its own."""
    graph = run_program(config("lab-metal", **{"gpucluster:slurm": {"pools": ["training"]}}), stack="mine")
    (head,) = [name for name in machines(graph) if name.startswith("slurm-")]
    assert concerns_of(head, graph) == ["packages", "slurm", "slurm-database", "slurm-controller"]
    assert told(head, graph)["SLURM_STATE"] == "/var/spool/slurmctld"
    assert files(head, graph)["/etc/slurm/slurm.conf"][2] == "slurmctld.service"


def test_disks_of_machines_are_scratch_of_jobs() -> None:
    hosts = [{**each, "disks": ["/dev/disk/by-path/pci-0000:06:00.0-nvme-1"]} for each in inventory(PURE)["hosts"]]
    graph = run_program(config(PURE, **{"gpucluster:inventory": {**inventory(PURE), "hosts": hosts}}), stack="mine")
    assert "nvme" in concerns_of("training-1", graph)
    assert told("training-1", graph)["NVME_MOUNT"] == told("training-1", graph)["SLURM_SCRATCH"] == "/scratch"


def test_a_stack_on_aws_has_no_slurm() -> None:
    said = refusal({**stack_config("dev"), "gpucluster:slurm": {"pools": ["training"]}}, stack="dev")
    assert "gpucluster:slurm: belongs to platform.kind metal, and the kind is aws; remove it" in said


def test_every_variable_that_a_concern_of_slurm_reads_is_told() -> None:
    graph = deployed(PURE)
    own = {"ACTION", "GENERATION", "STATE", "RUN", "PENDING", "LOG", "LOCK_SECONDS", "NAME"}
    for host in ("slurm-system-1", "slurm-system-2", "slurm-system-3", "training-1"):
        text = str(machines(graph)[host].inputs["stdin"])
        scripts = text[text.index("# shellcheck shell=bash") :].split("# shellcheck shell=bash\n")[2:]
        read = {name for each in scripts for name in re.findall(r"\$\{?GPUCLUSTER_([A-Z_]+)|needs ([A-Z_]+)", each)}
        assert {one or other for one, other in read} - own <= told(host, graph).keys(), host


def test_daemons_begin_in_their_order() -> None:
    """The database, the controllers one after the other, the machines; on nodes that are there."""
    graph = deployed(PURE)
    sent = machines(graph)
    assert "pool-system-nodes" in before(sent["slurm-system-3"], graph)
    assert "slurm-system-3-prepared" in before(sent["slurm-system-1"], graph)
    assert "slurm-system-1-prepared" in before(sent["slurm-system-2"], graph)
    assert {"slurm-system-1-prepared", "slurm-system-2-prepared"} <= before(sent["training-1"], graph)
    assert "host-training-1-prepared" not in before(sent["training-2"], graph)


def test_each_machine_has_the_files_that_make_slurm_writes() -> None:
    """W01, W04: slurm.conf is the same everywhere, and a change of it restarts its reader."""
    graph = deployed(PURE)
    hosts = ("slurm-system-1", "slurm-system-2", "slurm-system-3", "training-1", "training-8")
    found = {host: files(host, graph) for host in hosts}
    assert len({each["/etc/slurm/slurm.conf"][3] for each in found.values()}) == 1
    assert "ClusterName=mine\n" in found["training-1"]["/etc/slurm/slurm.conf"][3]
    readers = {host: each["/etc/slurm/slurm.conf"][2] for host, each in found.items()}
    assert readers["slurm-system-1"] == "slurmctld.service"
    assert readers["slurm-system-3"] == "-"
    assert readers["training-1"] == "slurmd.service"
    assert "AutoDetect=nvml" in found["training-1"]["/etc/slurm/gres.conf"][3]
    assert found["training-1"]["/etc/slurm/gpucluster/prolog.sh"][:2] == ("755", "root")
    assert "GPUS=8\n" in found["training-1"]["/etc/slurm/gpucluster/machine.conf"][3]
    on_shared = [path for path in found["slurm-system-1"] if path.startswith("/mnt/shared/slurm/")]
    assert "/mnt/shared/slurm/jobs/llama-2-7b.sbatch" in on_shared
    assert not [path for host in hosts[1:] for path in found[host] if path.startswith("/mnt/")]
    assert "/etc/slurm/job_submit.lua" in found["slurm-system-2"]
    assert "/etc/slurm/accounts.sh" not in found["slurm-system-2"]


def test_munges_key_and_the_databases_password_are_where_they_belong_and_nowhere_in_clear() -> None:
    """W07: one key for all machines, and a password that the database's machine alone has."""
    graph = deployed(PURE)
    password = accounting_password(KEY)
    key = base64.b64encode(munge_key(KEY)).decode()
    for name, each in machines(graph).items():
        text = str(each.inputs["stdin"])
        of_slurm = name.startswith(("slurm-", "training-"))
        assert (f"400 munge munge.service /etc/munge/munge.key {key}" in text) is of_slurm
        assert (password in text) is (name == "slurm-system-3")
        assert "stdin" in each.secret
    mode, owner, units, text = files("slurm-system-3", graph)["/etc/slurm/slurmdbd.conf"]
    assert (mode, owner, units) == ("600", "slurm", "slurmdbd.service")
    assert f"StoragePass={password}\n" in text
    commands = graph.of_type("Command")
    everything = json.dumps([{name: each.inputs[name] for name in each.inputs if name != "stdin"} for each in commands])
    assert key not in everything
    assert password not in everything
    assert len(munge_key(KEY)) >= 32
    assert key != base64.b64encode(munge_key(KEY + "x")).decode()


def test_kubernetes_has_nothing_of_machines_that_it_has_not() -> None:
    """No run, no operator of GPUs or cards, no fabric: a small cluster for what watches."""
    graph = deployed(PURE)
    names = {each.name for each in graph.resources.values()}
    assert not [name for name in names if name.startswith(("gpu-operator-release", "run-llama", "pool-training"))]
    assert not graph.of_type("NicClusterPolicy")
    hardware = graph.outputs["hardware"]
    assert (hardware["nodes"], hardware["gpus"], list(hardware["pools"])) == (3, 0, ["system"])
    assert hardware["slurm"] == {
        "controllers": ["system-1", "system-2"],
        "database": "system-3",
        "machines": 8,
        "gpus": 64,
    }


def test_a_hybrid_trains_under_slurm_and_serves_under_kubernetes() -> None:
    """A09."""
    graph = hybrid()
    trained = [name for name in machines(graph) if name.startswith("training-")]
    served = [name for name in machines(graph) if name.startswith("inference-")]
    assert len(trained) == 7
    assert served
    for name in trained:
        assert "slurm-node" in concerns_of(name, graph)
    for name in served:
        assert concerns_of(name, graph)[-1] == "join"
    names = {each.name for each in graph.resources.values()}
    assert "gpu-operator-release" in names
    assert "pool-inference-nodes" in names
    assert "pool-training-nodes" not in names
    systems = {name: told(name, graph)["OS"] for name in (served[0], trained[0], "system-1")}
    assert systems == {
        served[0]: "ubuntu-22.04 ubuntu-24.04",
        trained[0]: "ubuntu-24.04",
        "system-1": "ubuntu-24.04",
    }, "Ubuntu 22.04 has a Slurm without cgroup v2"
    services = [each["name"] for each in preset("h100-8n")["serving"]["services"]]
    assert all(any(service in name for name in names) for service in services)
    assert not graph.of_type("PyTorchJob")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gpucluster:slurm": {"pools": ["trainin"]}}, "slurm.pools[0]: there is no pool 'trainin'; did you mean"),
        ({"gpucluster:slurm": {"pools": ["system"]}}, "has role system, not training; name a pool of role training"),
        (
            {"gpucluster:slurm": {"pools": ["training"], "sharedPath": "/lustre"}},
            "slurm.sharedPath: is /lustre, and machines that the stack prepares have it at /mnt/shared",
        ),
        (
            {"gpucluster:inventory": {**inventory(PURE), "driver": "container"}},
            "is container, and no pod brings a driver to machines of pool training",
        ),
        (
            {"gpucluster:pools": [each for each in preset(PURE)["pools"] if each["role"] != "system"]},
            "no pool has role system",
        ),
    ],
)
def test_what_slurm_cannot_have_is_refused_with_what_to_write(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in " ".join(refusal(config(PURE, **changes), stack="mine").split())


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("dataset", {"name": "web", "staging": "full"}, "pods of Kubernetes stage datasets"),
        (
            "checkpoint",
            {"everyMinutes": 60, "withinSeconds": 30, "objectStoreHours": 2},
            "copies saves to the object",
        ),
    ],
)
def test_what_a_batch_script_has_not_is_refused(key: str, value: Any, sentence: str) -> None:
    (run,) = preset(PURE)["training"]["runs"]
    training = {"runs": [{**run, key: value}], "datasets": [{"name": "web", "gb": 100}]}
    said = " ".join(refusal(config(PURE, **{"gpucluster:training": training}), stack="mine").split())
    assert sentence in said
    assert "is Slurm's; remove it, or slurm.pools" in said


def test_an_experiment_needs_a_run_of_kubernetes() -> None:
    (run,) = preset(PURE)["training"]["runs"]
    experiment = {"name": "rates", "run": run["name"], "queue": "gpu-training"}
    training = {"runs": [run], "experiments": [experiment]}
    said = refusal(config(PURE, **{"gpucluster:training": training}), stack="mine")
    assert "trials need Kubernetes; name another run" in " ".join(said.split())


def test_machines_of_slurm_mount_the_shared_files_themselves() -> None:
    without = {key: value for key, value in inventory(PURE).items() if key != "sharedFiles"}
    said = refusal(config(PURE, **{"gpucluster:inventory": {**without, "objectStore": STORE}}), stack="mine")
    assert "machines of Slurm have no shared file system to mount" in " ".join(said.split())
    assert "slurm-shared-files" in said


def test_machines_of_slurm_bring_the_driver_of_their_gpus() -> None:
    containers = {"gpucluster:inventory": {**inventory(PURE), "driver": "container"}}
    assert "slurm-driver" in refusal(config(PURE, **containers), stack="mine")
