"""What an account holds before the stack: what the stack file names but does not make, S3 content and reservations."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

import yaml
from botocore.exceptions import ClientError

from rehearsal.engine.stackfile import Place

REGION = re.compile(r"\bregion:\s*[\"']?([a-z]{2}(?:-[a-z]+)+-\d)\b")
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


def region(text: str) -> str:
    """The first region a stack file names, else us-east-1."""
    found = REGION.search(text)
    return found[1] if found else "us-east-1"


@dataclass(frozen=True)
class Block:
    """A capacity block that pools of the stack file are in; `count` instances in all of them."""

    id: str
    zone: str
    instance_type: str
    count: int
    start: date
    end: date

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
    for pool in _pools(yaml.safe_load(text)):
        block = _block(pool)
        if block is not None:
            before = found.get(block.id)
            found[block.id] = replace(block, count=block.count + (before.count if before else 0))
    return list(found.values())


def _block(pool: Mapping[str, Any]) -> Block | None:
    try:
        named = pool["reservation"]
        start, end = (date.fromisoformat(str(named[key])) for key in ("start", "end"))
        return Block(str(named["id"]), str(named["zone"]), str(pool["instanceType"]), int(pool["count"]), start, end)
    except (KeyError, TypeError, ValueError):
        return None


def _pools(content: Any) -> Iterable[dict[str, Any]]:
    """Every mapping in lists at the second level of `config:`, where pools are."""
    config = content.get("config") if isinstance(content, dict) else None
    for section in (config or {}).values():
        yield from (each for each in section if isinstance(each, dict)) if isinstance(section, list) else ()


def sow(s3: Any, places: Iterable[Place], region: str) -> list[str]:
    """Make the buckets and objects that are missing; returns the addresses of the objects made."""
    made = []
    for place in places:
        _bucket(s3, place.bucket, region)
        for key, body in _objects(place.key):
            if not _exists(s3, place.bucket, key):
                s3.put_object(Bucket=place.bucket, Key=key, Body=body.encode())
                made.append(f"s3://{place.bucket}/{key}")
    return made


def _objects(key: str) -> Iterable[tuple[str, str]]:
    """One object where the address names a file, a model directory otherwise."""
    if re.search(r"[^/]\.[a-z]{2,11}$", key):
        return [(key, "{}")]
    prefix = f"{key.rstrip('/')}/" if key.strip("/") else ""
    return [(prefix + name, body) for name, body in FILES.items()]


def _bucket(s3: Any, name: str, region: str) -> None:
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        s3.head_bucket(Bucket=name)
    except ClientError:
        s3.create_bucket(Bucket=name, **where)


def _exists(s3: Any, bucket: str, key: str) -> bool:
    try:
        s3.head_object(Bucket=bucket, Key=key)
    except ClientError:
        return False
    return True
