"""What an account holds before the stack: the S3 content that the stack file names but does not make."""

import json
import re
from collections.abc import Iterable
from typing import Any

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
