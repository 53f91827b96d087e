"""What a kubelet has to do with of a racked machine that joined: its parts, and what its preparation left."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal.cloud.seen.hardware import Machine as Hardware
from rehearsal.cloud.seen.network import End
from rehearsal.devices import gpus
from rehearsal.kubelet.hosts import Card, Racked
from rehearsal.metal.machine import Machine

MIB_PER_GIB = 1024


def racked(machine: Machine, name: str, question: Mapping[str, str], block: str) -> Racked:
    """The machine as its node `name`, whose pods have addresses of `block`; `question` is what its kubeadm told."""
    config: dict[str, Any] = yaml.safe_load(question.get("kubelet") or "") or {}
    ports: dict[str, dict[str, Any]] = json.loads(question.get("ports") or "{}")
    mounts = [str(each["where"]) for each in json.loads(question.get("mounts") or "[]")]
    return Racked(
        node=name,
        instance_id=machine.serial,
        machine=hardware(machine),
        nodegroup="",
        ami_type="",
        image_id="",
        template=None,
        subnet="",
        vpc="",
        zone="",
        zone_id="",
        role="",
        primary=End((), (machine.address,)),
        public=False,
        efa_interfaces=0,
        hop_limit=1,
        pod_interfaces=0,
        node_config={"kubelet": {"config": config}},
        driven=bool(machine.gpu and machine.gpu.driver),
        release=(machine.system, machine.release),
        cards=tuple(
            Card(each.vendor, each.device, each.infiniband, each.pci, **ports.get(each.pci, {}))
            for each in machine.cards
        ),
        block=block,
        mounts=tuple(mounts),
        empty=tuple(json.loads(question.get("empty") or "[]")),
        apart=question.get("apart") == "N",
    )


def hardware(machine: Machine) -> Hardware:
    """The machine's parts, in the words of those who read an instance's: GPUs are known by what the driver calls
    them.
    """
    name, memory = gpus.called(machine.gpu.product) if machine.gpu else (None, 0)
    return Hardware(
        instance_type=machine.model.replace(" ", "-"),
        architecture="x86_64",
        vcpus=machine.cores,
        memory=machine.memory_gib * MIB_PER_GIB,
        gpu=name,
        gpu_count=machine.gpu.count if machine.gpu else 0,
        gpu_memory=memory,
        interfaces=len(machine.cards),
        addresses_per_interface=1,
        local_nvme=sum(drive.gb for drive in machine.drives if not drive.mounted),
    )
