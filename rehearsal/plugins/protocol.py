"""The messages and services of the engine's protocol, as the SDK ships them.

A plugin runs no program, so it need not load the SDK around them, which takes longer than the messages themselves.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


@contextmanager
def _packages_alone() -> Iterator[None]:
    """Lets modules below `pulumi` be imported without running the packages' own code, unless that has run already."""
    spec = find_spec("pulumi")
    if "pulumi" in sys.modules or spec is None or spec.origin is None:
        yield
        return
    root = Path(spec.origin).parent
    for name, folder in (("pulumi", root), ("pulumi.runtime", root / "runtime")):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
    try:
        yield
    finally:
        # whoever imports the SDK after all gets the real packages, with these same messages in them
        for name in ("pulumi.runtime.proto", "pulumi.runtime", "pulumi"):
            sys.modules.pop(name, None)


with _packages_alone():
    from pulumi.runtime.proto import (
        engine_pb2,
        engine_pb2_grpc,
        language_pb2,
        language_pb2_grpc,
        plugin_pb2,
        provider_pb2,
        provider_pb2_grpc,
        status_pb2,
    )

__all__ = [
    "engine_pb2",
    "engine_pb2_grpc",
    "language_pb2",
    "language_pb2_grpc",
    "plugin_pb2",
    "provider_pb2",
    "provider_pb2_grpc",
    "status_pb2",
]
