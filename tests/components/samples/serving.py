"""Samples of inference services."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.platform.pods import PodShape
from components.platform.taints import GPU_TAINT
from components.serving.arguments import Directory, Engine
from components.serving.autoscaler import Scaling
from components.serving.door import Door
from components.serving.door_rules import TRITON, VLLM
from components.serving.hub import HubCopy, HubCopyArgs
from components.serving.inference import InferenceService, InferenceServiceArgs
from components.serving.keys import CallerKeys, ServiceKeys, ServiceKeysArgs
from components.serving.placement import Placement
from components.serving.smoke import SmokeRequest, SmokeRequestArgs, questions
from components.serving.tokens import SecretKey, Tokens, TokensArgs
from components.serving.triton import TritonServer, TritonServerArgs
from tests.components.samples.common import Make, done, of

SCALING = Scaling(least=1, most=3, targets={"waiting": "5"}, up_seconds=120, down_seconds=300)


def engine(**changes: Any) -> Engine:
    known: dict[str, Any] = {
        "name": "llama",
        "model": Directory(volume="models", path="models/llama-1234"),
        "tensor_parallel": 2,
        "max_model_len": 8192,
        "gpu_memory_utilization": 0.9,
        "drain_seconds": 90,
    }
    return Engine(**{**known, **changes})


def hub_args(**changes: Any) -> HubCopyArgs:
    known: dict[str, Any] = {
        "what": "weights",
        "name": "llama",
        "directory": "models",
        "repository": "meta-llama/Meta-Llama-3-8B",
        "revision": "8cde5ca8380496c9a6cc7ef3a8b46a0372a1d920",
        "image": "vllm:1",
        "token": SecretKey(name="hf-token", key="token"),
        "namespace": "inference",
        "claim": "model-weights",
        "ready": done(),
        "timeout_seconds": 3600,
    }
    return HubCopyArgs(**{**known, **changes})


def smoke_args(**changes: Any) -> SmokeRequestArgs:
    known: dict[str, Any] = {
        "service": "llama",
        "namespace": "inference",
        "image": "curl:1",
        "address": "http://llama.inference.svc:8000/v1",
        "models": ["llama"],
        "key": SecretKey(name="api-token", key="token"),
        "revision": "1",
        "after": [done()],
    }
    known |= changes
    return SmokeRequestArgs(**{"asked": questions(known["models"]), **known})


def triton_args(**changes: Any) -> TritonServerArgs:
    before = done()
    known: dict[str, Any] = {
        "name": "vision",
        "namespace": "inference",
        "image": "triton:1",
        "shape": PodShape(gpus=1, cpu_millicores=4000, memory_mib=30_000, shm_mib=2048),
        "pool": "inference",
        "gpu_product": "NVIDIA-L40S",
        "taints": [GPU_TAINT],
        "priority": "inference",
        "models": Directory(volume="models", path="triton/vision-1234"),
        "claim": "model-weights",
        "ready": [before],
        "nodes_ready": [before],
        "replicas": 2,
        "spare_replica": False,
        "startup_seconds": 600,
        "leave_seconds": 15,
        "drain_seconds": 60,
        "door": Door(image="nginx:1", keys=CallerKeys(name=pulumi.Output.from_input("vision-keys-1")), behind=TRITON),
        "monitors": before,
    }
    return TritonServerArgs(**{**known, **changes})


def service_args(**changes: Any) -> InferenceServiceArgs:
    before = done()
    known: dict[str, Any] = {
        "name": "llama",
        "namespace": "inference",
        "image": "vllm:1",
        "shape": PodShape(gpus=2, cpu_millicores=8000, memory_mib=60_000, shm_mib=4096),
        "pool": "inference",
        "gpu_product": "NVIDIA-L40S",
        "taints": [GPU_TAINT],
        "priority": "inference",
        "engine": engine(),
        "compiled": Directory(volume="models", path="compiled/llama-3-8b-5678"),
        "claims": {"models": "model-weights"},
        "ready": [before],
        "nodes_ready": [before],
        "replicas": SCALING,
        "placement": Placement(pool="inference", gpus=2, node_gpus=4, spread=False),
        "startup_seconds": 615,
        "leave_seconds": 15,
        "grace_seconds": 120,
        "spare_replica": False,
        "door": Door(image="nginx:1", keys=CallerKeys(name=pulumi.Output.from_input("llama-keys-1")), behind=VLLM),
        "monitors": before,
    }
    return InferenceServiceArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "hub": of(HubCopy, hub_args),
    "smoke": of(SmokeRequest, smoke_args),
    "triton": of(TritonServer, triton_args),
    "service": of(InferenceService, service_args),
    "tokens": of(Tokens, lambda: TokensArgs(namespace="inference", values={"hf": pulumi.Output.secret("hush")})),
    "service-keys": of(
        ServiceKeys,
        lambda: ServiceKeysArgs(
            service="llama",
            namespace="inference",
            keys=[pulumi.Output.secret("old-key"), pulumi.Output.secret("new-key")],
        ),
    ),
}
