"""Asking the account: reading calls only, every page, each question once; and why one was not answered."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import boto3
import botocore.exceptions
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
)

from doctor.policy import ACTIONS, ALWAYS_ALLOWED, FILE, document
from doctor.policy import action as iam_action
from settings.aws import Aws

ABSENT = frozenset(
    {
        *("404", "InvalidCapacityReservationId.NotFound", "InvalidVpcID.NotFound", "NoSuchBucket"),
        "NoSuchHostedZone",
        *("NoSuchResourceException", "ResourceNotFoundException"),
    }
)
"""Answers that say that something does not exist."""

_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized"})
_STALE = frozenset(
    {
        *("AuthFailure", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "RequestExpired"),
        *("SignatureDoesNotMatch", "UnrecognizedClientException"),
    }
)
_LOG_IN = "log in (aws sso login), or name the profile in gpucluster:platform.profile"
_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, ProfileNotFound, SSOError)
_UNREACHED = (HTTPClientError, botocore.exceptions.ConnectionError)
_CONNECT_SECONDS = 5
_READ_SECONDS = 20


class UnansweredError(Exception):
    """A question that the account did not answer: why, and what to do about it."""

    def __init__(self, sentence: str, remedy: str) -> None:
        super().__init__(sentence)
        self.sentence, self.remedy = sentence, remedy


class AbsentError(Exception):
    """What was asked for by its name does not exist."""


class ForbiddenError(Exception):
    """HEAD was answered with 403, which has no body to say why: it is another's, or may not be looked at."""


class Account:
    """The account and region of a platform, with its profile and role. An assumed role is narrowed to reading, of SSM
    parameters EKS' own and those called `parameters`.
    """

    def __init__(self, platform: Aws, *, parameters: Sequence[str] = (), attempts: int = 3) -> None:
        self._platform, self._parameters = platform, parameters
        self._config = Config(
            region_name=platform.region,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"total_max_attempts": attempts, "mode": "standard"},
        )
        self._clients: dict[str, Any] = {}
        self._answers: dict[str, Any] = {}
        self._silent: dict[str, UnansweredError] = {}
        self._mute: UnansweredError | None = None

    def get(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        """The answer to one reading call. Raises AbsentError, UnansweredError, or for a HEAD ForbiddenError."""
        answer: Mapping[str, Any] = self._once(service, operation, request, pages=False)
        return answer

    def every(self, service: str, operation: str, key: str, **request: Any) -> list[Mapping[str, Any]]:
        """What all pages of a list have under `key`. Raises AbsentError or UnansweredError."""
        pages: list[Mapping[str, Any]] = self._once(service, operation, request, pages=True)
        return [item for page in pages for item in page.get(key) or ()]

    def _once(self, service: str, operation: str, request: Mapping[str, Any], *, pages: bool) -> Any:
        question = f"{service} {operation} {pages} {json.dumps(request, sort_keys=True)}"
        if question not in self._answers:
            self._answers[question] = self._asked(service, operation, request, pages)
        return self._answers[question]

    def _asked(self, service: str, operation: str, request: Mapping[str, Any], pages: bool) -> Any:
        if self._mute:
            raise self._mute
        if service in self._silent:
            raise self._silent[service]
        action = iam_action(service, operation)
        try:
            client = self._client(service)
            action = iam_action(client.meta.service_model.signing_name, operation)
            if action not in ACTIONS and action != ALWAYS_ALLOWED:
                raise ValueError(f"{action} is not among the actions of doctor/policy.py")
            method = next(name for name, api in client.meta.method_to_api_mapping.items() if api == operation)
            if pages and client.can_paginate(method):
                return list(client.get_paginator(method).paginate(**request))
            answer = getattr(client, method)(**request)
        except ClientError as error:
            raise self._refused(service, action, error) from None
        except _CREDENTIALS as error:
            self._mute = UnansweredError(f"there are no credentials ({error})", _LOG_IN)
            raise self._mute from None
        except _UNREACHED as error:
            remedy = "check network, proxy and the region, then run it again"
            raise self._gone_silent(service, f"{action} was not answered ({error})", remedy) from None
        except BotoCoreError as error:
            raise UnansweredError(
                f"{action} could not be queried ({error})", "correct what the message names"
            ) from None
        return [answer] if pages else answer

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._session.client(service, config=self._config)
        return self._clients[service]

    @cached_property
    def _session(self) -> boto3.Session:
        """The profile's session, or one of the role. The role's own rights shrink to those of the checks."""
        own = boto3.Session(profile_name=self._platform.profile, region_name=self._platform.region)
        if self._platform.role_arn is None:
            return own
        sts = own.client("sts", config=self._config)
        policy = json.dumps(document(self._parameters), separators=(",", ":"))
        lent = sts.assume_role(RoleArn=self._platform.role_arn, RoleSessionName="gpucluster-doctor", Policy=policy)
        return boto3.Session(
            aws_access_key_id=lent["Credentials"]["AccessKeyId"],
            aws_secret_access_key=lent["Credentials"]["SecretAccessKey"],
            aws_session_token=lent["Credentials"]["SessionToken"],
            region_name=self._platform.region,
        )

    def _refused(self, service: str, action: str, error: ClientError) -> Exception:
        told = error.response.get("Error", {})
        code, message = str(told.get("Code", "an error")), str(told.get("Message", "without a message"))
        if code in ABSENT:
            return AbsentError(message)
        if code == "403" and error.operation_name.startswith("Head"):
            return ForbiddenError(message)
        if error.operation_name == "AssumeRole":
            arn = self._platform.role_arn
            remedy = f"allow sts:AssumeRole on {arn}, in your own policy and in the role's trust policy"
            self._mute = UnansweredError(f"the role {arn} could not be assumed ({code})", remedy)
            return self._mute
        if code in _DENIED:
            return UnansweredError(f"{action} is not allowed ({code})", f"grant {action}; {FILE} has all of them")
        if code in _STALE:
            return self._gone_silent(service, f"the credentials were not accepted for {action} ({code})", _LOG_IN)
        return UnansweredError(f"{action} was answered with {code}: {message}", "run it again in a minute")

    def _gone_silent(self, service: str, sentence: str, remedy: str) -> UnansweredError:
        """Remember that there is no point in asking this service again: each try would wait for the same end."""
        self._silent[service] = UnansweredError(sentence, remedy)
        return self._silent[service]
