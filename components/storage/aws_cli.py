"""The AWS CLI as the copier between a store that speaks S3 and a directory."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from components.platform.copying import ClientValue


@dataclass(frozen=True, kw_only=True)
class AwsCli:
    """An image with `aws` and a shell. Where pods have an identity of the store's, its environment needs nothing."""

    image: str
    env: Mapping[str, ClientValue] = field(default_factory=dict)

    def look(self, source: str) -> str:
        """To `aws s3 sync` an empty source is no error; to `ls` it is."""
        return f"aws s3 ls {shlex.quote(source + '/')} > /dev/null"

    def fetch(self, source: str, directory: str) -> list[str]:
        return ["aws", "s3", "sync", source, directory, "--no-progress"]

    def store(self, directory: str, target: str, *, but: str) -> str:
        return f"aws s3 sync {directory} {target} --exclude {but} --checksum-algorithm SHA256 --no-progress"

    def store_file(self, file: str, target: str) -> str:
        return f"aws s3 cp {file} {target} --checksum-algorithm SHA256 --no-progress"

    def stored(self, file: str, target: str) -> str:
        """The image has no `cmp`."""
        return f'[ "$(aws s3 cp {target} - 2> /dev/null)" = "$(cat {file})" ]'

    def clear(self, target: str, *, but: str) -> str:
        gone = f"aws s3 rm {target} --recursive --exclude {but} --only-show-errors"
        return f"if aws s3 ls {target}/{but} > /dev/null; then {gone}; fi"
