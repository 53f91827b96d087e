"""A request to every model of a service when it is up: the deployment fails with the server's words (Q10, IN03).

`up` is done when a model has answered to the key that callers have, by the name that they use; that pods are Ready says
neither.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.platform.confinement import NOBODY, confined
from components.platform.jobs import one_off_job
from components.serving.tokens import SecretKey
from components.serving.zero import WAKES_KEY

ASKED = {"prompt": "One, two, three,", "max_tokens": 4, "temperature": 0}
SECONDS = 600
_TRIES, _PAUSE_SECONDS = 5, 5


@dataclass(frozen=True, kw_only=True)
class SmokeRequestArgs:
    """What is `asked`, by the names of the containers that ask, must be answered to the key: words of curl's, to which
    `address` (http://…/v1) is known as ADDRESS; `models` are the names that they ask for. `image` is curl's. Another
    `revision` of the server is asked anew, and so is one with another key. `after` are the resources behind which it
    answers. A service that may have no replica is woken, and asked until it has loaded, at most `wakes_seconds`.
    """

    service: str
    namespace: pulumi.Input[str]
    image: str
    address: pulumi.Input[str]
    models: Sequence[str]
    asked: Mapping[str, Sequence[str]]
    key: SecretKey
    revision: str
    after: Sequence[pulumi.Resource]
    wakes_seconds: int | None = None

    @property
    def patience_seconds(self) -> int:
        """Until the Job is given up."""
        return SECONDS + (self.wakes_seconds or 0)


def questions(models: Sequence[str]) -> dict[str, list[str]]:
    """What is asked, by the names of the containers that ask: which models there are, and each to go on with a text."""
    completions = {
        f"completion-{model}"[:63].rstrip("-"): [
            "--json",
            json.dumps({"model": model, **ASKED}, sort_keys=True),
            "$(ADDRESS)/completions",
        ]
        for model in models
    }
    return {"models": ["$(ADDRESS)/models"], **completions}


OF_TRITON = {"server": ["$(ADDRESS)"]}
"""What a server says of itself: what its models take is known to nobody here."""


class SmokeRequest(Component):
    """Jobs' containers that ask, all at once. `answered` is the resource that exists when each had its answer."""

    answered: k8s.batch.v1.Job

    def __init__(self, name: str, args: SmokeRequestArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.answered = k8s.batch.v1.Job(
            self.named("request"),
            one_off_job(
                # A Job's template cannot change, so another server is another Job.
                name=pulumi.Output.from_input(args.key.name).apply(lambda secret: _named(args, secret)),
                namespace=args.namespace,
                account="default",
                steps=[_curl(container, args, words) for container, words in args.asked.items()],
                automount=False,
                labels={WAKES_KEY: args.service} if args.wakes_seconds else None,
                backoff_limit=1,
                seconds=args.patience_seconds,
            ),
            self.child(
                depends_on=list(args.after),
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{args.patience_seconds}s", update=f"{args.patience_seconds}s"
                ),
            ),
        )
        self.register_outputs({"models": list(args.models)})


def _named(args: SmokeRequestArgs, secret: str) -> str:
    asked = {name: list(words) for name, words in args.asked.items()}
    told = json.dumps([args.image, args.revision, asked, secret], sort_keys=True)
    return physical_name("smoke", args.service, hashlib.sha256(told.encode()).hexdigest()[:8], limit=63)


def _curl(name: str, args: SmokeRequestArgs, words: Sequence[str]) -> k8s.core.v1.ContainerArgs:
    """curl prints what the server says, whether it is an answer or a refusal, and ends with 22 for the latter.

    The key goes from the environment into a header without a word of the command line (curl 8.3, --expand-header).
    """
    core = k8s.core.v1
    key = core.SecretKeySelectorArgs(name=args.key.name, key=args.key.key)
    tries = _TRIES + (args.wakes_seconds or 0) // _PAUSE_SECONDS
    patience = ["--max-time", "120", "--retry", str(tries), "--retry-delay", str(_PAUSE_SECONDS), "--retry-connrefused"]
    header = ["--variable", "%API_KEY", "--expand-header", "Authorization: Bearer {{API_KEY}}"]
    return core.ContainerArgs(
        name=name,
        image=args.image,
        command=["curl", "--silent", "--show-error", "--fail-with-body", *patience, *header, *words],
        env=[
            core.EnvVarArgs(name="ADDRESS", value=args.address),
            core.EnvVarArgs(name="API_KEY", value_from=core.EnvVarSourceArgs(secret_key_ref=key)),
        ],
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(
            requests={"cpu": "10m", "memory": "32Mi"}, limits={"cpu": "100m", "memory": "64Mi"}
        ),
        security_context=confined(user=NOBODY, writes=False),
    )
