"""What a resource looks like in the state: as pulumi-kubernetes writes it, so that either goes on with the other's.

Beside the live object it keeps the inputs once more, the apiVersion of the creation and the name under which it
applies (provider.go, checkpointObject). The bookkeeping of field managers, which it keeps too, is left out.
"""

import secrets as random
from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct

from rehearsal.plugins.kubernetes.objects import PATCH_MANAGER, annotation, output_secrets, outputs
from rehearsal.plugins.wire import Path, encode

INPUTS, INITIAL_VERSION, MANAGER = "__inputs", "__initialApiVersion", "__fieldManager"


def checkpoint(
    live: Mapping[str, Any], inputs: Mapping[str, Any], secrets: set[Path], initial_version: str, manager: str
) -> Struct:
    """The outputs for the state."""
    shown = {**outputs(live), INPUTS: inputs, INITIAL_VERSION: initial_version, MANAGER: manager}
    hidden = output_secrets(live, secrets)
    return encode(shown, hidden | {(INPUTS, *path) for path in output_secrets(inputs, secrets)})


def manager_of(state: Struct | None, inputs: Mapping[str, Any]) -> str:
    """The name under which to apply: the annotation's, the state's, else a new one (fieldManagerName)."""
    kept = _text(state, MANAGER)
    return annotation(inputs, PATCH_MANAGER) or kept or f"pulumi-kubernetes-{random.token_hex(4)}"


def initial_version_of(state: Struct | None, inputs: Mapping[str, Any]) -> str:
    """The apiVersion with which the object was created, as far as the state knows."""
    return _text(state, INITIAL_VERSION) or str(inputs.get("apiVersion", ""))


def _text(state: Struct | None, key: str) -> str:
    return str(state.fields[key].string_value) if state is not None and key in state.fields else ""
