"""One region of the account that the credentials are for."""

from collections.abc import Iterator, Mapping
from typing import Any

import boto3
from botocore.config import Config

CONNECT_SECONDS, READ_SECONDS = 5, 60


class AwsAccount:
    """Calls by boto3, which rides over throttling by itself. Raises botocore's errors."""

    def __init__(self, region: str | None = None, profile: str | None = None, *, attempts: int = 8) -> None:
        self._session = boto3.session.Session(region_name=region, profile_name=profile)
        self._config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"total_max_attempts": attempts, "mode": "standard"},
        )
        self._clients: dict[str, Any] = {}

    @property
    def region(self) -> str | None:
        """Where it looks; None if neither the command nor the profile says."""
        region: str | None = self._session.region_name
        return region

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        """All pages of an answer."""
        yield from self._client(service).get_paginator(operation).paginate(**request)

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        """One answer."""
        answer: Mapping[str, Any] = getattr(self._client(service), operation)(**request)
        return answer

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._session.client(service, config=self._config)
        return self._clients[service]
