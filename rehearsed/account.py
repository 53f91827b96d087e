"""What an account holds before the stack: what the stack file names but does not make, S3 content and reservations; and
from where the stack is deployed.
"""

import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from ipaddress import IPv4Network
from typing import Any

import yaml

from rehearsal.images.stores import volume
from rehearsal.particulars import Content, Held, Reserved, Stored, region
from rehearsed import hostnames, machines, preset

S3_URI = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([^\s\"'#,{}\[\]]*))?")
DEFAULT_VPC = "10.64.0.0/16"
FILES = {
    "config.json": json.dumps({"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16"}),
    "generation_config.json": "{}",
    "tokenizer.json": json.dumps({"version": "1.0", "model": {"type": "BPE"}}),
    "tokenizer_config.json": "{}",
    "model.safetensors.index.json": json.dumps({"metadata": {"total_size": 32}, "weight_map": {}}),
    "model-00001-of-00002.safetensors": "rehearsal weights 1",
    "model-00002-of-00002.safetensors": "rehearsal weights 2",
}
"""The files of a Hugging Face model directory, small."""

WEIGHTS = [name for name in FILES if name.endswith(".safetensors")]
BYTES = {
    **dict.fromkeys(("llama-3-8b", "llama-3.1-8b"), 16_060_522_496),
    **dict.fromkeys(("llama-3-70b", "llama-3.1-70b", "llama-3.3-70b"), 141_107_412_992),
    "llama-3.2-1b": 2_471_645_608,
    "mixtral-8x7b": 93_405_585_408,
    "qwen2.5-7b": 15_231_233_024,
    "qwen2.5-72b": 145_412_407_296,
}
"""Models by the key that a service's `model` has, and the bytes of their weights as published (Hugging Face,
model.safetensors.index.json, metadata.total_size; of one file its size)."""


STRANGER = "999999999999"
"""Whoever has a bucket that the stack file names and does not declare."""


def content(text: str) -> Content:
    """What a stack file assumes: what it declares as its own, each block of its pools, quotas for the other pools.

    A bucket that it names and does not declare is a stranger's: somebody has every good name already.
    """
    text = preset.whole(text)
    now = datetime.now(UTC)
    booked = (Reserved(each.id, each.order(now), each.words) for each in blocks(text))
    declared = {bucket.name: bucket for bucket in sources(text)}
    racked = machines.machines(text)
    named = {} if racked else {each.bucket: Held(each.bucket, owner=STRANGER) for each in objects(text)}
    there = tuple(each for each in objects(text) if each.bucket in declared)
    return Content(
        region(text),
        there,
        tuple(booked),
        instances(text),
        caller(text),
        tuple({**named, **declared}.values()),
        people=people(text),
        secrets=secrets(text),
        zones=hostnames.zones(text),
        certificates=hostnames.certificates(text),
        images=images(text),
        parameters=parameters(text),
        machines=racked,
        files={**machines.files(text), **stored(text)},
        login=machines.LOGIN if racked else "",
        store_key=machines.STORE_KEY if racked else (),
    )


def stored(text: str) -> dict[str, dict[str, int]]:
    """What lies in the store of the site, by its buckets: the stack's own, which is empty, and those of what it reads.

    Nothing where the stack file names no store, and in Ceph's, which the stack itself makes, nothing yet.
    """
    store = _section(_section(_section(preset.parsed(text), "config"), "gpucluster:inventory"), "objectStore")
    if "endpoint" not in store:
        return {}
    found: dict[str, dict[str, int]] = {str(store.get("bucket")): {}}
    for each in objects(text):
        found.setdefault(each.bucket, {})[each.key] = len(each.body) if each.size is None else each.size
    return {volume(str(store["endpoint"]).rstrip("/"), name): files for name, files in found.items()}


def images(text: str) -> dict[str, str]:
    """The AMIs that pools name, each built from the release of EKS' that fits the pool."""
    named = [each for each in _pools(preset.parsed(text)) if "ami" in each]
    if not named:
        return {}
    # Half a second, which no other stack file waits for.
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    built: dict[str, str] = {}
    for pool in named:
        if facts := INSTANCE_TYPES.get(str(pool.get("instanceType"))):
            architecture = "arm64" if "arm64" in facts["ProcessorInfo"]["SupportedArchitectures"] else "x86_64"
            variant = "nvidia" if facts.get("GpuInfo") else "standard"
            built[_identity(str(pool["ami"]))] = f"own-node-al2023-{architecture}-{variant}-v20260728"
    return built


def parameters(text: str) -> dict[str, str]:
    """The ids of such AMIs by the versions of SSM parameters that pools name, NAME:VERSION."""
    named = [str(each["ami"]) for each in _pools(preset.parsed(text)) if "ami" in each]
    return {each: _identity(each) for each in named if each.startswith("/")}


def _identity(ami: str) -> str:
    return f"ami-{hashlib.sha256(ami.encode()).hexdigest()[:17]}" if ami.startswith("/") else ami


def secrets(text: str) -> dict[str, str]:
    """What Secrets Manager has of what the stack file names there, by name or ARN: a value, or an object of values."""
    config = _section(preset.parsed(text), "config")
    named: dict[str, list[str | None]] = {}
    for each in _section(_section(config, "gpucluster:externalSecrets"), "secrets").values():
        named.setdefault(str(each["id"]), []).append(each.get("property"))
    return {
        each: json.dumps({name: _value(each, name) for name in names if name}) if any(names) else _value(each, None)
        for each, names in named.items()
    }


def _value(secret: str, name: str | None) -> str:
    return hashlib.sha256(f"rehearsed {secret} {name}".encode()).hexdigest()[:40]


def people(text: str) -> tuple[str, ...]:
    """The administrators and members of teams that the stack file names by their ARNs."""
    config = _section(preset.parsed(text), "config")
    named = list(_section(config, "gpucluster:security").get("adminArns") or ())
    for team in machines.mappings(config.get("gpucluster:teams")):
        named += [member["arn"] for member in machines.mappings(team.get("members")) if "arn" in member]
    return tuple(dict.fromkeys(str(each) for each in named))


def sources(text: str) -> Iterator[Held]:
    """The buckets of `storage.sources`; those of another account let this one read."""
    document = preset.parsed(text)
    config = document.get("config") if isinstance(document, dict) else None
    storage = (config or {}).get("gpucluster:storage")
    for each in (storage.get("sources") or ()) if isinstance(storage, dict) else ():
        if isinstance(each, dict) and "bucket" in each:
            yield Held(str(each["bucket"]), each.get("owner"), each.get("keyArn"), shared=True)


def instances(text: str) -> Mapping[str, Mapping[str, int]]:
    """The instances of the pools that are not in a block, by how they are bought and by type."""
    found: dict[str, Counter[str]] = {}
    for pool in _pools(preset.parsed(text)):
        market, type_, count = pool.get("capacity", "on-demand"), pool.get("instanceType"), pool.get("count")
        if market != "capacity-block" and isinstance(type_, str) and isinstance(count, int):
            found.setdefault(str(market), Counter())[type_] += count
    return found


def caller(text: str) -> str | None:
    """An address of the first network that the stack file lets reach the cluster, None where it names none.

    Whoever deploys from inside stands in the network of the VPC, which has a default.
    """
    platform = _section(_section(preset.parsed(text), "config"), "gpucluster:platform")
    access = _section(platform, "access")
    inside = [platform.get("vpcCidr", DEFAULT_VPC)] if access.get("via") == "inside" else []
    for network in (*(platform.get("publicAccessCidrs") or ()), *(access.get("cidrs") or ()), *inside):
        with contextlib.suppress(ValueError):
            return str(next(IPv4Network(network).hosts()))
    return None


def _section(above: Any, key: str) -> dict[str, Any]:
    """The mapping at `key`; empty where the file has none, or something else."""
    found = above.get(key) if isinstance(above, dict) else None
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Block:
    """A capacity block that pools of the stack file are in; `count` instances in all of them."""

    id: str
    zone: str
    instance_type: str
    count: int
    start: date
    end: date

    @property
    def words(self) -> str:
        return f"capacity block {self.id} of {self.count} {self.instance_type}"

    def order(self, now: datetime) -> dict[str, Any]:
        """What the account stand-in is asked for: blocks begin and end at 11:30 UTC; here they begin with their day.

        Source: EC2 user guide, "Capacity Blocks for ML".
        """
        return {
            "instanceType": self.instance_type,
            "zoneId": self.zone,
            "count": self.count,
            "start": f"{self.start}T11:30:00+00:00",
            "end": f"{self.end}T11:30:00+00:00",
            "state": "active" if self.start <= now.date() else "scheduled",
        }


def blocks(text: str) -> list[Block]:
    """The capacity blocks that a stack file names; what is not whole is left for the program to refuse."""
    found: dict[str, Block] = {}
    for pool in _pools(preset.parsed(text)):
        for block in _blocks(pool):
            before = found.get(block.id)
            found[block.id] = replace(block, count=block.count + (before.count if before else 0))
    return list(found.values())


def _blocks(pool: Mapping[str, Any]) -> Iterator[Block]:
    """The one block of a pool, which holds all of its nodes, or each of several with its own."""
    several = pool.get("reservations")
    shares: list[tuple[Any, Any]] = [(pool.get("reservation"), pool.get("count"))]
    if isinstance(several, list):
        shares += [(each, each.get("count")) for each in several if isinstance(each, dict)]
    for named, count in shares:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            start, end = (date.fromisoformat(str(named[key])) for key in ("start", "end"))
            yield Block(str(named["id"]), str(named["zone"]), str(pool["instanceType"]), int(count), start, end)


def _pools(document: Any) -> Iterable[dict[str, Any]]:
    """Every mapping in lists at the second level of `config:`, where pools are."""
    config = document.get("config") if isinstance(document, dict) else None
    for section in (config or {}).values():
        yield from (each for each in section if isinstance(each, dict)) if isinstance(section, list) else ()


def _services(text: str) -> Iterator[dict[str, Any]]:
    """Every mapping with `weights` in lists at the third level of `config:`, where services are."""
    try:
        document = preset.parsed(text)
    except yaml.YAMLError:
        return
    config = document.get("config") if isinstance(document, dict) else None
    for section in (config or {}).values() if isinstance(config, dict) else ():
        for found in section.values() if isinstance(section, dict) else ():
            yield from (
                (each for each in found if isinstance(each, dict) and "weights" in each)
                if isinstance(found, list)
                else ()
            )


def _datasets(text: str) -> Iterator[str]:
    """Sources of the datasets, without a slash at their end."""
    with contextlib.suppress(yaml.YAMLError):
        training = _section(_section(preset.parsed(text), "config"), "gpucluster:training")
        found = training.get("datasets")
        for each in found if isinstance(found, list) else ():
            if isinstance(each, dict) and "source" in each:
                yield str(each["source"]).rstrip("/")


def objects(text: str) -> Iterator[Stored]:
    """What lies at the s3:// addresses a stack file names, in the order of the file; comments do not count.

    One object where the address names a file, the parts of a dataset where a dataset has it as its source, a model
    directory otherwise: with weights as large as those of the model of the service that reads them, where its size is
    known here.
    """
    data = set(_datasets(text))
    models = {str(each.get("weights", "")).rstrip("/"): str(each.get("model")) for each in _services(text)}
    code = "\n".join(re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    for bucket, key in dict.fromkeys(S3_URI.findall(code)):
        if re.search(r"[^/]\.[a-z]{2,11}$", key):
            yield Stored(bucket, key, b"{}")
        else:
            prefix = f"{key.rstrip('/')}/" if key.strip("/") else ""
            if f"s3://{bucket}/{prefix}".rstrip("/") in data:
                for number in range(machines.PARTS):
                    yield Stored(bucket, f"{prefix}{machines.part(number)}", b"rehearsed data")
                continue
            part = BYTES.get(models.get(f"s3://{bucket}/{prefix}".rstrip("/"), ""), 0) // len(WEIGHTS)
            for name, body in FILES.items():
                yield Stored(bucket, prefix + name, body.encode(), part if part and name in WEIGHTS else None)
