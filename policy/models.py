"""Rules about what processes read and keep: weights and data that are there, a cache, memory and patience."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from policy.gangs import APART, GPU, asks, whole
from policy.graph import UNKNOWN, Graph
from policy.members import mount_of, takes_nothing, volume_of
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.words import environment, flag, flags, tokens

READS = ("DATASET_DIR", "MODEL_DIR", "HF_DATASETS_CACHE")
"""Variables that name a directory from which a process reads what the pod did not bring."""

WRITES = ("VLLM_CACHE_ROOT", "HF_HOME", "HF_HUB_CACHE", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_HOME")
"""Variables that name a directory in which libraries keep what they load or compile."""

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
LEAST_PATIENCE_SECONDS = 30
"""How long a server under load may leave a probe unanswered: three periods of Kubernetes' default of 10 s."""


def _served(container: Mapping[str, Any]) -> str | None:
    """The model that the words of a server of vLLM name: a directory, or a name on the hub; None for other servers."""
    said = tokens(container)
    if "serve" in said and "vllm" in said:
        following = said[said.index("serve") + 1 :][:1]
        return next((each for each in following if not each.startswith("-")), flag(container, "model"))
    return flag(container, "model") if any("vllm.entrypoints" in each for each in said) else None


def _servers(graph: Graph) -> Iterator[tuple[Pod, Mapping[str, Any], str]]:
    for pod in pods(graph):
        for container in pod.spec.get("containers") or []:
            if (model := _served(container)) and UNKNOWN not in model and "$" not in model:
                yield pod, container, model


@rule(
    source="vLLM: https://docs.vllm.ai/en/latest/cli/serve.html (--model is a directory or a name on the hub); "
    "huggingface_hub: https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhuboffline",
    remedy="mount the volume with the data at the directory, or name the directory at which it is mounted; a name on "
    "the hub needs HF_HUB_OFFLINE=0",
)
def what_is_read_is_mounted(graph: Graph) -> Iterator[Finding]:
    """A model or a data set that a process is told to read lies in a volume of its pod, or may be fetched (Q03)."""
    for pod, container, model in _servers(graph):
        told = dict(environment(graph, pod, container))
        if model.startswith("/") and not mount_of(container, model):
            yield pod.owner, f"serves the model in {model}, where no volume is mounted"
        elif not model.startswith("/") and (found := [name for name in OFFLINE if told.get(name) in ("1", "true")]):
            yield pod.owner, f"serves {model} from the hub, and {found[0]} forbids to ask it"
    for pod in pods(graph):
        for container in pod.spec.get("containers") or [] if asks(pod, GPU) else ():
            for name, value in environment(graph, pod, container):
                place = str(value)
                if name in READS and place.startswith("/") and UNKNOWN not in place and not mount_of(container, place):
                    yield pod.owner, f"reads {name} from {place}, where no volume is mounted ({pod.path})"


@rule(
    source="vLLM: https://docs.vllm.ai/en/latest/configuration/env_vars.html (VLLM_CACHE_ROOT is written at the start: "
    "compiled graphs); Kubernetes: https://kubernetes.io/docs/concepts/storage/volumes/",
    remedy="mount the volume of the cache without readOnly, or let the variable name another directory",
)
def caches_can_be_written(graph: Graph) -> Iterator[Finding]:
    """A directory in which a process keeps what it compiles or loads may be written."""
    for pod in pods(graph):
        for container in pod.containers:
            for name, value in environment(graph, pod, container):
                place = str(value)
                if name not in WRITES or not place.startswith("/") or UNKNOWN in place:
                    continue
                mount = mount_of(container, place)
                claim = volume_of(pod, mount).get("persistentVolumeClaim") or {}
                closed = bool((container.get("securityContext") or {}).get("readOnlyRootFilesystem")) and not mount
                if closed or mount.get("readOnly") or claim.get("readOnly") or takes_nothing(graph, pod, claim):
                    yield pod.owner, f"keeps {name} in {place}, where {container.get('name')} may not write"


FLAGS = {
    *("allowed-origins", "api-key", "async-scheduling", "block-size", "chat-template", "config"),
    *("data-parallel-size", "disable-log-requests", "disable-log-stats", "download-dir", "dtype"),
    *("enable-auto-tool-choice", "enable-chunked-prefill", "enable-expert-parallel", "enable-lora"),
    *("enable-prefix-caching", "enforce-eager", "generation-config", "gpu-memory-utilization", "hf-overrides"),
    *("host", "kv-cache-dtype", "kv-transfer-config", "limit-mm-per-prompt", "load-format", "lora-modules"),
    *("max-lora-rank", "max-loras", "max-model-len", "max-num-batched-tokens", "max-num-seqs", "model"),
    *("pipeline-parallel-size", "port", "quantization"),
    *("reasoning-parser", "revision", "root-path", "seed", "served-model-name", "shutdown-timeout"),
    *("speculative-config", "ssl-certfile", "ssl-keyfile", "swap-space", "task", "tensor-parallel-size", "tokenizer"),
    *("tokenizer-mode", "tool-call-parser", "trust-remote-code", "uvicorn-log-level"),
}
"""Flags of `vllm serve` that people write: what is almost one of them is a slip. Each switch has a --no- form too."""


@rule(
    source="vLLM: https://docs.vllm.ai/en/latest/cli/serve.html: a flag that it does not know ends it with status 2",
    remedy="write the flag as that page does",
)
def servers_know_their_flags(graph: Graph) -> Iterator[Finding]:
    """No flag of a model server is a known one with a slip in it (IN03)."""
    for pod, container, _ in _servers(graph):
        for name in sorted({name.removeprefix("no-") for name, _ in flags(container)} - FLAGS):
            if near := get_close_matches(name, FLAGS, n=1, cutoff=0.9):
                yield pod.owner, f"starts vLLM with --{name}, which it does not know; --{near[0]} is near"


@rule(
    source="vLLM: https://docs.vllm.ai/en/latest/cli/serve.html (--gpu-memory-utilization: from 0 to 1); Kubernetes: "
    "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
    remedy="--gpu-memory-utilization=0.9; periodSeconds x failureThreshold of the livenessProbe of 30 s or more",
)
def servers_survive_their_load(graph: Graph) -> Iterator[Finding]:
    """A model server asks for memory that there is, and is not killed for an answer that is late under load (IN04)."""
    for pod, container, _ in _servers(graph):
        share = flag(container, "gpu-memory-utilization")
        try:
            allowed = share is None or 0 < float(share) <= 1
        except ValueError:
            allowed = False
        if not allowed:
            yield pod.owner, f"asks for {share} of a GPU's memory (--gpu-memory-utilization), of which there is 1"
        probe = container.get("livenessProbe")
        patience = whole((probe or {}).get("periodSeconds"), 10) * whole((probe or {}).get("failureThreshold"), 3)
        if probe and pod.kind in APART and patience < LEAST_PATIENCE_SECONDS:
            yield pod.owner, f"is killed by its livenessProbe after {patience} s without an answer, as under load"
