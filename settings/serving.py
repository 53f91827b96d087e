"""Models that answer: vLLM services, their adapters, and Triton servers for models that are no language models."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from catalogue.echo import echo
from settings.gateway import Gateway
from settings.people import Group
from settings.s3 import S3_PATTERN, s3_uri
from settings.secrets import API_TOKEN, HUB_TOKEN, SecretKey
from settings.sections import Path, Section, SectionError
from settings.types import Hostname, Image, Name, Sha256

_HUB = re.compile(r"hf://(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>.*))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CLAIM = re.compile(r"pvc://[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/(?P<path>.+)")
_FORMS = "s3://BUCKET/PREFIX, hf://ORGANISATION/MODEL@COMMIT or pvc://CLAIM/DIRECTORY"


def _model_source(value: str) -> str:
    if hub := _HUB.fullmatch(value):
        if not _COMMIT.fullmatch(hub["revision"] or ""):
            raise ValueError(
                f"{echo(value)} names a branch or tag of the hub, which can move; pin the commit: "
                f"hf://{hub['repository']}@ and its 40 hex digits, which the model's page lists under Files, History"
            )
        return value
    return _kept(value, _FORMS)


def _repository(value: str) -> str:
    return _kept(value, "s3://BUCKET/PREFIX or pvc://CLAIM/DIRECTORY")


def _kept(value: str, forms: str) -> str:
    """An address in an object store, or on a claim; `forms` says what else it could have been."""
    if value.startswith("s3://"):
        return s3_uri(value, forms)
    claim = _CLAIM.fullmatch(value)
    steps = claim["path"].rstrip("/").split("/") if claim else []
    if not steps or any(step in ("", ".", "..") for step in steps):
        raise ValueError(f"{echo(value)} is not {forms}")
    return value.rstrip("/")


ModelSource = Annotated[
    str,
    AfterValidator(_model_source),
    Field(
        description=f"{_FORMS}: copied to the shared file system once, except from a claim of namespace inference,"
        f" which is used in place",
        json_schema_extra={"pattern": rf"^({S3_PATTERN}|hf://[\w.-]+/[\w.-]+@[0-9a-f]{{40}}|pvc://[^/]+/.+)$"},
    ),
]
RepositorySource = Annotated[
    str, AfterValidator(_repository), Field(json_schema_extra={"pattern": rf"^({S3_PATTERN}|pvc://[^/]+/.+)$"})
]


SumsDigest = Annotated[
    Sha256 | None,
    Field(
        description="SHA-256 of the file SHA256SUMS next to the weights; None = SHA256SUMS is used if it exists,"
        " but not pinned"
    ),
]


Keys = Annotated[
    tuple[SecretKey, ...],
    Field(
        min_length=1,
        max_length=2,
        description="secrets of this stack that are valid API keys: one, or two during a rotation; the program"
        " itself uses the first",
    ),
]
TokenGroups = Annotated[
    tuple[Group, ...],
    Field(
        max_length=32,
        description="groups of the issuer of gateway.people whose members may call with a token; empty = keys only",
    ),
]
Public = Annotated[
    bool,
    Field(description="true: reachable from outside through serving.gateway; false: from pods of the cluster only"),
]
PublicName = Annotated[
    Hostname | None, Field(description="hostname of a public service; None = NAME.DOMAIN of the gateway")
]
RequestsPerMinute = Annotated[
    int, Field(ge=1, le=1_000_000, description="rate limit of a public service, over all callers")
]


class Adapter(Section):
    """A LoRA adapter that a service serves along with its model, under the model name `name`."""

    name: Name
    base: Annotated[str, Field(description="row of the model catalogue that it was trained on")]
    weights: ModelSource
    weights_sha256: SumsDigest = None
    rank: Annotated[int, Field(ge=1, le=4096, description="r of its adapter_config.json")]


class ScaleToZero(Section):
    """A service without replicas while nobody asks for it, and with up to `maxReplicas` while somebody does."""

    idle_minutes: Annotated[
        int, Field(ge=1, le=1440, description="minutes without a request after which the last replica is removed")
    ] = 15


class Service(Section):
    """A vLLM service, under an autoscaler where replicas may change. Its model is copied to the file system once.

    Unset options keep vLLM's defaults: prefix caching and chunked prefill are on.
    """

    name: Name
    pool: Name
    model: Annotated[str, Field(description="row of the model catalogue, e.g. llama-3-8b")]
    weights: ModelSource
    weights_sha256: SumsDigest = None
    image: Image
    tensor_parallel: Annotated[int, Field(ge=1, le=64)] = 1
    max_model_len: Annotated[int, Field(ge=256, le=16_777_216)] = 8192
    gpu_memory_utilization: Annotated[float, Field(ge=0.1, le=0.98)] = 0.9
    quantization: Annotated[
        Literal["none", "fp8", "int4"], Field(description="fp8 = made of the weights as they load; int4 = published so")
    ] = "none"
    kv_cache_dtype: Annotated[Literal["auto", "fp8"], Field(description="auto = the weights' own type")] = "auto"
    max_num_seqs: Annotated[
        int | None,
        Field(ge=1, le=65_536, description="maximum number of requests in a batch; None = vLLM's default for the GPU"),
    ] = None
    max_num_batched_tokens: Annotated[
        int | None,
        Field(ge=1, le=16_777_216, description="maximum number of tokens in a step; None = vLLM's default for the GPU"),
    ] = None
    prefix_caching: Annotated[bool, Field(description="prompts with the same prefix share their cache")] = True
    chunked_prefill: Annotated[
        bool, Field(description="long prompts are processed in chunks, between other requests' steps")
    ] = True
    adapters: tuple[Adapter, ...] = ()
    max_loras: Annotated[
        int | None, Field(ge=1, le=1024, description="adapters that one batch may mix and GPUs hold; None = all")
    ] = None
    min_replicas: Annotated[int, Field(ge=1, le=4096)] = 1
    max_replicas: Annotated[int, Field(ge=1, le=4096)] = 1
    waiting_per_replica: Annotated[int, Field(ge=1, le=65_536, description="HPA target: requests waiting per pod")] = 5
    kv_cache_percent: Annotated[int, Field(ge=1, le=100, description="HPA target: KV cache usage per pod")] = 80
    scale_up_seconds: Annotated[
        int, Field(ge=1, le=1800, description="seconds of high load before a replica is added, and between additions")
    ] = 120
    scale_down_seconds: Annotated[
        int, Field(ge=1, le=1800, description="seconds of low load before a replica is removed, and between removals")
    ] = 300
    scale_to_zero: Annotated[
        ScaleToZero | None,
        Field(
            description="only with public: no replica while nobody asks, counted at the gateway; callers get 503 until"
            " the model has loaded again; None = minReplicas always run"
        ),
    ] = None
    keys: Keys = (API_TOKEN,)
    token_groups: TokenGroups = ()
    public: Public = False
    hostname: PublicName = None
    requests_per_minute: RequestsPerMinute = 600
    placement: Annotated[
        Literal["pack", "spread"],
        Field(description="pack = on the fullest node with capacity; spread = each replica on a different node"),
    ] = "pack"
    drain_seconds: Annotated[
        int | None,
        Field(
            ge=1, le=7200, description="seconds that a terminating replica has to complete its requests; None = planned"
        ),
    ] = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        problems = [
            *self._replicas_in_order(),
            *self._starts_from_zero(),
            *self._adapters_apart(),
            *_keys_apart(self.keys),
        ]
        if problems:
            raise SectionError(problems)
        return self

    def _replicas_in_order(self) -> Iterable[tuple[Path, str]]:
        if self.min_replicas > self.max_replicas:
            sentence = f"is {self.max_replicas}, below minReplicas {self.min_replicas}; raise it to {self.min_replicas}"
            yield ("maxReplicas",), sentence

    def _starts_from_zero(self) -> Iterable[tuple[Path, str]]:
        if self.scale_to_zero is None:
            return
        if "min_replicas" in self.model_fields_set:
            yield (
                ("minReplicas",),
                f"is {self.min_replicas} beside scaleToZero, which keeps none while nobody asks; remove it, or "
                "scaleToZero",
            )
        if not self.public:
            yield (
                ("scaleToZero",),
                "needs public: true: only the gateway sees requests while there is no replica; set it, or remove "
                "scaleToZero",
            )

    def _adapters_apart(self) -> Iterable[tuple[Path, str]]:
        seen = {self.name: "the service's own name, by which its model is asked for"}
        for index, adapter in enumerate(self.adapters):
            if adapter.name in seen:
                yield ("adapters", index, "name"), f"{echo(adapter.name)} is {seen[adapter.name]}; choose another"
            seen.setdefault(adapter.name, f"is already the name of adapters[{index}]")
        if self.max_loras is not None and not self.adapters:
            yield ("maxLoras",), "has no effect without adapters; remove it or add them"


class Triton(Section):
    """A Triton Inference Server: it serves the model repository at `models`, for any framework."""

    name: Name
    pool: Name
    image: Image
    models: Annotated[
        RepositorySource, Field(description="model repository: s3://BUCKET/PREFIX, or pvc://CLAIM/DIRECTORY")
    ]
    weights_sha256: SumsDigest = None
    models_gb: Annotated[float, Field(gt=0, le=100_000, description="decimal GB of the model repository")]
    gpus: Annotated[int, Field(ge=1, le=64, description="GPUs (or slices of MIG) of a replica")] = 1
    replicas: Annotated[int, Field(ge=1, le=4096)] = 1
    keys: Keys = (API_TOKEN,)
    token_groups: TokenGroups = ()
    public: Public = False
    hostname: PublicName = None
    requests_per_minute: RequestsPerMinute = 600

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if problems := [*_keys_apart(self.keys)]:
            raise SectionError(problems)
        return self


def _keys_apart(keys: tuple[str, ...]) -> Iterable[tuple[Path, str]]:
    if len(set(keys)) < len(keys):
        yield ("keys", 1), f"is {keys[1]!r} like the first; name another secret, or one only"
    for index, key in enumerate(keys):
        if key == HUB_TOKEN:
            yield (
                ("keys", index),
                (f"is {HUB_TOKEN}, which is the hub's token, not a service's key; name another secret"),
            )


class Serving(Section):
    services: tuple[Service, ...] = ()
    triton: tuple[Triton, ...] = ()
    gateway: Annotated[Gateway | None, Field(description="None = nothing is reachable from outside the cluster")] = None
