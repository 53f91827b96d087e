"""A candidate as a stack file: the sections that plan it, and their text."""

import json
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from math import ceil
from typing import Any

from catalogue.metal_types import Cooling, Server, StorageServer
from catalogue.network_types import Link, NicRole, of_role
from catalogue.units import HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_MINUTE
from catalogue.versions import STANDARD_SUPPORT_ENDS
from catalogue.whole import Catalogue
from planner.networks import cheapest_switches
from planner.new import owner, zones_of
from planner.proposing.candidates import KEPT, Candidate, Files, block_days, own_saving
from planner.proposing.question import Serving, Training
from planner.proposing.requests import UTILIZATION
from planner.reliability.mttf import expected_failures, failure_rate, mttf, restarts_for
from planner.storage.limits import client_gb_per_s, storage_link
from settings.errors import NAMESPACE
from settings.facility import MOST_FLOW_LPM, Circuit

Sections = dict[str, Any]

_ANY_USD, _MOST_USD = 1_000_000, 100_000_000
_DAYS_AHEAD = 7
_MOST_RESTARTS = 1000
_CIRCUIT = {"volts": 415, "phases": 3, "amperes": 60}
_NODES_OF_A_RACK = 4
_SERVERS_TRIED = (2, 4, 8, 16, 32)
_OWN_SAVE_S = 60.0
_PLACEHOLDERS = (
    ("203.0.113.0/24", "the networks of those who deploy and operate"),
    ("acme-model-weights", "a bucket of your own"),
    ("cr-0123456789abcdef0", "the capacity block that you buy, with its days"),
    ("train.py", "your script, in an image that has it"),
    ("example.com", "who is told what it has cost"),
)


def aws_sections(question: Training | Serving, candidate: Candidate, today: date, max_usd: int = _ANY_USD) -> Sections:
    """The stack on AWS. `max_usd` is the hourly budget above which it is refused."""
    offer = candidate.offer
    role = "training" if isinstance(question, Training) else "inference"
    pool: Sections = {"name": role, "role": role, "instanceType": offer.hardware, "count": candidate.nodes}
    if offer.capacity != "on-demand":
        pool["capacity"] = offer.capacity
    if offer.capacity == "capacity-block":
        start = today + timedelta(days=_DAYS_AHEAD)
        end = start + timedelta(days=block_days(candidate.days))
        held = {"id": _PLACEHOLDERS[2][0], "zone": offer.zone, "start": str(start), "end": str(end)}
        pool["reservation"] = held
    beside = next((each for each in zones_of(offer.region) if each != offer.zone), offer.zone)
    return {
        "example": True,
        "platform": {
            "kind": "aws",
            "region": offer.region,
            "zones": [offer.zone, beside],
            "gpuZone": offer.zone,
            "kubernetesVersion": max(STANDARD_SUPPORT_ENDS),
            "publicAccessCidrs": [_PLACEHOLDERS[0][0]],
        },
        "pools": [{"name": "system", "role": "system", "instanceType": "m7i.xlarge", "count": 2}, pool],
        "storage": {
            "lustre": _lustre(candidate.files),
            **({"sources": [{"bucket": _PLACEHOLDERS[1][0]}]} if isinstance(question, Serving) else {}),
        },
        "scheduling": {"queues": [{"name": "research"}]},
        **_work(question, candidate, candidate.files),
        "budget": {
            "maxHourlyUsd": max_usd,
            "maxGpus": candidate.gpus,
            "alerts": {
                "monthlyUsd": min(max_usd * HOURS_PER_MONTH, _MOST_USD),
                "emails": [f"{owner()}@{_PLACEHOLDERS[4][0]}"],
            },
        },
        "lifecycle": {"owner": owner(), "costCentre": "research"},
    }


def metal_sections(question: Training | Serving, candidate: Candidate, catalogue: Catalogue) -> Iterator[Sections]:
    """Stacks on premises with more and more storage, the room as large as any."""
    server = catalogue.servers[candidate.offer.hardware]
    groups = of_role(server.nics, NicRole.COMPUTE)
    if not groups:
        return
    nic = groups[0].nic
    switch = cheapest_switches(nic, candidate.nodes * sum(group.ports for group in groups), catalogue.switches.values())
    if switch is None:
        return
    infiniband = nic.link is Link.INFINIBAND
    rules = {"subnetManager": "opensm"} if infiniband else {"pfc": True, "ecn": True}
    saved = None
    if isinstance(question, Training):
        saved = own_saving(candidate, question.model.parameters, _OWN_SAVE_S)
    role = "training" if isinstance(question, Training) else "inference"
    for object_row, metadata_row in _storage_rows(server, catalogue.storage_servers):
        for count in _SERVERS_TRIED:
            yield {
                "example": True,
                "platform": {
                    "kind": "metal",
                    "site": "hall-1",
                    "kubernetesVersion": max(STANDARD_SUPPORT_ENDS),
                    "managementCidr": "10.16.0.0/18",
                    "bmcCidr": "10.20.0.0/14",
                    "podCidr": "10.128.0.0/14",
                },
                "pools": [
                    {"name": "system", "role": "system", "server": "Dell PowerEdge R660", "count": 3},
                    {"name": role, "role": role, "server": server.name, "count": candidate.nodes},
                ],
                "fabric": {
                    "kind": "infiniband" if infiniband else "roce",
                    "switch": switch[0].name,
                    "railCidr": "10.32.0.0/16",
                    **rules,
                },
                "storage": {"lustre": {"server": object_row, "count": count, "mdsServer": metadata_row, "mdsCount": 2}},
                "facility": _room(server),
                "scheduling": {"queues": [{"name": "research"}]},
                **_work(question, candidate, saved),
                "lifecycle": {"owner": owner(), "costCentre": "research"},
            }


def with_room(sections: Sections, racks: int, it_kw: float) -> Sections:
    """With as many racks and as much cooling as it takes."""
    room = sections["facility"]
    cooling = {**room["cooling"], "capacityKw": ceil(it_kw * 1.3)}
    return {**sections, "facility": {**room, "racks": {**room["racks"], "count": racks}, "cooling": cooling}}


def _storage_rows(server: Server, rows: Mapping[str, StorageServer]) -> Iterator[tuple[str, str]]:
    """Object and metadata servers whose cards speak what the server's storage cards speak."""
    for name, row in rows.items():
        link = storage_link(row.nics)
        metadata = next((each for each in rows if each.startswith("MDS") and name.endswith(each.split()[-1])), None)
        if name.startswith("OSS") and link and metadata and client_gb_per_s(server.nics, link, compute=False):
            yield name, metadata


def _room(server: Server) -> Sections:
    """Racks for a few servers each, with the circuits that they take."""
    power_kw = min(500, ceil(_NODES_OF_A_RACK * server.max_w / 1000 / 0.8) + 10)
    usable = Circuit(volts=415, phases=3, amperes=60).usable_kw
    liquid = server.cooling is not Cooling.AIR
    cooling: Sections = {"kind": server.cooling.value if liquid else "air", "capacityKw": 1_000_000}
    if liquid:
        cooling |= {"pumps": 2, "deltaK": 10, "flowLpm": MOST_FLOW_LPM}
    return {
        "racks": {"count": 4096, "units": 48, "powerKw": power_kw},
        "circuit": _CIRCUIT,
        "circuitsPerRack": ceil(power_kw / usable) + 1,
        "pue": 1.3,
        "cooling": cooling,
        "usdPerKwh": 0.12,
    }


def _lustre(files: Files | None) -> Sections:
    if files is None or files.tier is None:
        return {"deploymentType": "SCRATCH_2", "capacityGib": files.capacity_gib if files else 1200}
    return {"deploymentType": "PERSISTENT_2", "capacityGib": files.capacity_gib, "throughputMbpsPerTib": files.tier}


def _work(question: Training | Serving, candidate: Candidate, saved: Files | None) -> Sections:
    name = question.model.name.replace(".", "-")
    if isinstance(question, Serving):
        return {"serving": {"services": [_service(name, question, candidate)]}}
    timed = candidate.timed
    if timed is None:
        raise ValueError("a run without a layout")
    job, layout = timed.job, timed.layout
    hours = mttf(candidate.gpus, failure_rate(candidate.offer.gpu)).hours
    run: Sections = {
        "name": f"{name}-run"[:40],
        "pool": "training",
        "nodes": candidate.nodes,
        "queue": "research",
        "image": "nvcr.io/nvidia/pytorch:26.03-py3",
        "script": ["train.py"],
        "model": question.model.name,
        "precision": job.precision,
        "sharding": job.sharding,
        "software": job.software,
        "recompute": job.recompute,
        "microBatch": job.micro_batch,
        "accumulation": job.accumulation,
        "sequenceLength": job.sequence,
        "parallelism": {axis: getattr(layout, axis) for axis in ("tensor", "pipeline", "expert", "data")},
        "tokensBillion": question.tokens / 1e9,
        "restarts": _restarts(candidate.days * HOURS_PER_DAY, hours),
    }
    if saved is not None:
        run["checkpoint"] = {
            "everyMinutes": round(saved.every_s / SECONDS_PER_MINUTE),
            "withinSeconds": round(saved.within_s),
            "keep": KEPT,
        }
    return {"training": {"runs": [run]}}


def _restarts(hours: float, mttf_h: float) -> int:
    if expected_failures(hours, mttf_h) > _MOST_RESTARTS / 2:
        return _MOST_RESTARTS
    return max(3, restarts_for(hours, mttf_h))


def _service(name: str, question: Serving, candidate: Candidate) -> Sections:
    found = candidate.replica
    if found is None:
        raise ValueError("a service without replicas")
    length = ceil((question.prompt + question.answer) / 1024) * 1024
    return {
        "name": name,
        "pool": "inference",
        "model": question.model.name,
        "weights": f"s3://{_PLACEHOLDERS[1][0]}/{name}",
        "image": "vllm/vllm-openai:v0.29.0",
        "tensorParallel": found.tensor,
        "quantization": found.quantization,
        "maxModelLen": min(length, question.model.context),
        "gpuMemoryUtilization": UTILIZATION,
        "minReplicas": candidate.replicas,
        "maxReplicas": candidate.replicas,
    }


def text(sections: Sections, why: str) -> str:
    """The stack file: a section each, what a person has to replace said beside it."""
    lines = [
        f"# {why}",
        "# docs/how-to/propose.md says how it was found; docs/reference/stack-file.md lists every key.",
        "config:",
        '  pulumi:disable-default-providers: ["*"]',
        "  # Some names below are placeholders: replace what says so, then remove the line example.",
    ]
    for name, value in sections.items():
        if isinstance(value, list):
            lines.append(f"  {NAMESPACE}:{name}:")
            lines += [f"    - {json.dumps(each)}{_replace(each)}" for each in value]
        elif isinstance(value, dict):
            lines.append(f"  {NAMESPACE}:{name}:")
            lines += [f"    {key}: {json.dumps(each)}{_replace(each)}" for key, each in value.items()]
        else:
            lines.append(f"  {NAMESPACE}:{name}: {json.dumps(value)}")
    return "".join(f"{line}\n" for line in lines)


def _replace(value: object) -> str:
    said = json.dumps(value)
    return next((f"  # replace: {what}" for word, what in _PLACEHOLDERS if word in said), "")
