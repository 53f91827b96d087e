"""The AWS account a provider works in: credentials, clients and calls that ride over throttling."""

import random
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from typing import Any

import jmespath
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    HTTPClientError,
    ParamValidationError,
)
from botocore.paginate import Paginator
from botocore.parsers import ResponseParserError
from botocore.session import Session

from rehearsal import awsmodels
from rehearsal.plugins.aws.settings import Role, Settings
from rehearsal.plugins.servicer import PluginError

MAX_ATTEMPTS = 25  # the provider's default max_retries
MAX_REFUSED = 10  # it gives up sooner on refused connections: internal/conns/config.go, networkErrorShortcutter
MAX_GARBLED = 3
MAX_BACKOFF = 20.0  # seconds; aws-sdk retry mode standard: random(0, 1) * 2^attempt, at most this
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0  # seconds between two looks at an object
_THROTTLED = """
    Throttling ThrottlingException ThrottledException RequestThrottledException RequestThrottled SlowDown
    TooManyRequestsException ProvisionedThroughputExceededException TransactionInProgressException RequestLimitExceeded
    BandwidthLimitExceeded LimitExceededException PriorRequestNotComplete EC2ThrottledException RequestTimeout
    RequestTimeoutException InternalError InternalFailure ServiceUnavailable ServerException Unavailable
"""
THROTTLED = frozenset(_THROTTLED.split())
"""https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html"""
TRANSIENT_STATUS = frozenset((500, 502, 503, 504))
NOT_FOUND = (
    "NotFound",
    "NoSuch",
    "NonExistent",
    "404",
    ".Unknown",
    "UnknownMonitor",
    "UnknownSubscription",
    "NotAttached",
)


class CallError(PluginError):
    """AWS refused a call, or could not be reached: operation, code and AWS's own words."""

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"{operation}: {code}: {message}" if code else f"{operation}: {message}")
        self.code = code
        self.message = message

    def matches(self, patterns: Iterable[str]) -> bool:
        """Whether one of these patterns is in what AWS says."""
        return any(re.search(pattern, str(self)) for pattern in patterns)

    @property
    def not_found(self) -> bool:
        """Whether the object is not there (any longer)."""
        return any(part in self.code for part in NOT_FOUND)


class Account:
    """Clients by service and region for one configured provider; safe to use from many threads."""

    def __init__(self, settings: Settings, cancelled: threading.Event) -> None:
        """Raises PluginError if the credentials, the region or the account are not what the settings say."""
        self.settings = settings
        self.region = settings.region
        self.cancelled = cancelled
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], Any] = {}
        awsmodels.read_once()
        try:
            self._session = Session(profile=settings.profile)
            self._session.get_credentials()
        except BotoCoreError as error:
            raise PluginError(f"no usable AWS credentials: {error}") from None
        for role in settings.assume_roles:
            self._assume(role)
        identity = self.call("sts", "get_caller_identity")
        self.id: str = identity["Account"]
        self.partition: str = identity["Arn"].split(":")[1]
        settings.admit(self.id)

    def client(self, service: str, region: str = "") -> Any:
        """The botocore client of a service; its retries are off, ``call`` does them."""
        key = (service, region or self.region)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._session.create_client(
                    service,
                    region_name=key[1],
                    endpoint_url=self.settings.endpoints.get(service),
                    config=Config(
                        retries={"total_max_attempts": 1},
                        connect_timeout=5,
                        read_timeout=60,
                        max_pool_connections=32,
                        user_agent_extra="rehearsal",
                    ),
                )
            return self._clients[key]

    def call(self, service: str, operation: str, parameters: Mapping[str, Any] | None = None, region: str = "") -> Any:
        """The reply to one call, retried while AWS throttles, fails or cannot be reached; raises CallError."""
        client = self.client(service, region)
        name = client.meta.method_to_api_mapping[operation]
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return getattr(client, operation)(**(parameters or {}))
            except (ClientError, BotoCoreError, ResponseParserError) as error:
                if attempt >= _attempts(error) or self.cancelled.is_set():
                    raise _translated(name, error, attempt) from None
            # jitter, not a secret
            self.cancelled.wait(min(MAX_BACKOFF, random.random() * 2**attempt))  # noqa: S311
        raise AssertionError("the last attempt returns or raises")

    def search(self, service: str, call: str, parameters: Mapping[str, Any], region: str = "") -> Any:
        """What a ``operation -> jmespath`` finds in the reply."""
        operation, _, path = call.partition(" -> ")
        reply = self.call(service, operation, parameters, region)
        reply.pop("ResponseMetadata", None)
        return jmespath.search(path, reply) if path else reply

    def pages(
        self, service: str, operation: str, parameters: Mapping[str, Any], region: str = ""
    ) -> Iterator[dict[str, Any]]:
        """All replies to a call that lists."""
        client = self.client(service, region)
        if not client.can_paginate(operation):
            yield self.call(service, operation, parameters, region)
            return
        name = client.meta.method_to_api_mapping[operation]
        paging = self._session.get_paginator_model(service).get_paginator(name)
        model = client.meta.service_model.operation_model(name)
        yield from Paginator(lambda **given: self.call(service, operation, given, region), paging, model).paginate(
            **parameters
        )

    def _assume(self, role: Role) -> None:
        reply = self.call("sts", "assume_role", role.parameters())["Credentials"]
        session = Session()
        session._credentials = Credentials(reply["AccessKeyId"], reply["SecretAccessKey"], reply["SessionToken"])
        self._session = session
        self._clients.clear()


class Deadline:
    """How long an operation may take: the resource's customTimeouts, else the provider's own default."""

    def __init__(self, seconds: float, cancelled: threading.Event) -> None:
        self.seconds = seconds
        self._end = monotonic() + seconds
        self.cancelled = cancelled
        self._pause = FIRST_PAUSE

    def pause(self) -> bool:
        """Waits before the next look, a second at first and up to ten later; False when the time is up."""
        left = self._end - monotonic()
        if left <= 0:
            return False
        if self.cancelled.wait(min(self._pause, left)):
            raise PluginError("interrupted while waiting for AWS; the next `pulumi up` goes on from here")
        self._pause = min(LONGEST_PAUSE, self._pause * 1.3)
        return True

    def __str__(self) -> str:
        return f"{self.seconds / 60:g} min" if self.seconds >= 60 else f"{self.seconds:g} s"


def _attempts(error: Exception) -> int:
    """How many attempts an error of this kind is worth."""
    if isinstance(error, (HTTPClientError, ConnectionError)):
        return MAX_REFUSED
    if isinstance(error, ClientError):
        code, status = error.response["Error"].get("Code"), error.response["ResponseMetadata"].get("HTTPStatusCode")
        if code in THROTTLED:
            return MAX_ATTEMPTS
        if status in TRANSIENT_STATUS:  # without AWS's own code it is no answer of AWS
            return MAX_ATTEMPTS if code and not str(code).isdigit() and code != "Unknown" else MAX_GARBLED
        return 1
    return MAX_GARBLED if isinstance(error, ResponseParserError) else 1


def _translated(operation: str, error: Exception, attempts: int) -> CallError:
    tried = f" (after {attempts} attempts)" if attempts > 1 else ""
    if isinstance(error, ClientError):
        fault = error.response["Error"]
        return CallError(operation, str(fault.get("Code", "")), f"{fault.get('Message', '')}{tried}")
    if isinstance(error, ParamValidationError):
        return CallError(operation, "", str(error).replace("\n", "; "))
    if isinstance(error, ResponseParserError):
        return CallError(operation, "", f"the AWS endpoint gave an answer that is none{tried}; see its log")
    return CallError(operation, "", f"{error}{tried}")
