"""The keys of one rehearsal: without them nobody is answered by its account, nor let into its clusters' networks.

Loopback keeps other machines out, and nobody else who has an account on this one. Keys are random, made with the
site, and lie in a file that its owner alone reads.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
import string
import tempfile
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.session
import urllib3
from botocore.config import Config
from botocore.utils import parse_timestamp

HEADER = "X-Rehearsal-Key"
"""The header that a request for one of the rehearsal's own routes carries."""
_LETTERS = string.ascii_uppercase + "234567"


class KeysError(Exception):
    """A file of keys that may not be used; the text says why and what to do."""


@dataclass(frozen=True)
class Keys:
    """An AWS access key of whoever deploys, and the word for the rehearsal's own routes."""

    access: str
    secret: str = field(repr=False)
    control: str = field(repr=False)

    @property
    def store(self) -> tuple[str, str]:
        """Id and secret of the key that the site's own object store takes, which is none of the account's."""
        made = hmac.new(self.control.encode(), b"the site's object store", hashlib.sha256).hexdigest()
        return made[:20].upper(), made[20:]


def make(path: Path) -> Keys:
    """The keys in `path`, made if there are none. Raises KeysError if they may be known to somebody else."""
    if not path.exists():
        # The form of a user's key (IAM user guide, "IAM identifiers", unique ID prefixes).
        access = "AKIA" + "".join(secrets.choice(_LETTERS) for _ in range(16))
        made = Keys(access, secrets.token_urlsafe(30), secrets.token_urlsafe(30))
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w") as file:
            json.dump(asdict(made), file)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)  # whole, and never over another's
        Path(name).unlink()
    return read(path)


def read(path: Path) -> Keys:
    """The keys in `path`. Raises KeysError if there are none, or if somebody else may know them."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise KeysError(f"{path} cannot be read ({error.strerror}): end the rehearsal and start it again") from None
    with os.fdopen(handle) as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise KeysError(
                f"{path} belongs to uid {found.st_uid} with mode {stat.S_IMODE(found.st_mode):04o}, so other users"
                f" may know the keys of this rehearsal: remove its directory and start it again"
            )
        try:
            return Keys(**json.load(file))
        except (ValueError, TypeError):
            raise KeysError(f"{path} has no keys: end the rehearsal and start it again") from None


@dataclass(frozen=True)
class Account:
    """Where an account answers, and the keys that it asks for."""

    url: str
    keys: Keys

    @property
    def host(self) -> str:
        """Address and port, as a request names them."""
        return urlsplit(self.url).netloc

    @property
    def headers(self) -> dict[str, str]:
        """What a request for the rehearsal's own routes carries."""
        return {HEADER: self.keys.control}

    @property
    def variables(self) -> dict[str, str]:
        """The environment by which every AWS client finds this account."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.keys.access,
            "AWS_SECRET_ACCESS_KEY": self.keys.secret,
        }

    def ask(self, method: str, path: str, body: Any = None, timeout: float = 10.0) -> urllib3.BaseHTTPResponse:
        """One of the rehearsal's own routes. Raises urllib3's HTTPError if nobody answers."""
        data = None if body is None else json.dumps(body)
        url = f"{self.url}/rehearsal/{path}"
        return urllib3.request(method, url, body=data, headers=self.headers, timeout=timeout, retries=False)

    def session(self, region: str) -> Any:
        """A boto3 session of whoever deploys; clients made from it need `endpoint_url`."""
        core = botocore.session.get_session()
        core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
        return boto3.session.Session(
            botocore_session=core,
            aws_access_key_id=self.keys.access,
            aws_secret_access_key=self.keys.secret,
            region_name=region,
        )

    def client(self, service: str, region: str, config: Config | None = None) -> Any:
        """A boto3 client of whoever deploys."""
        return self.session(region).client(service, endpoint_url=self.url, config=config)


def _moment(value: Any) -> datetime:
    """A time of AWS' answers. A machine has 32 interfaces, each with its time: botocore guesses the format of each,
    which took a fifth of what describes them.
    """
    if isinstance(value, str) and value[:1].isdigit() and "T" in value:
        return datetime.fromisoformat(value)
    parsed: datetime = parse_timestamp(value)
    return parsed
