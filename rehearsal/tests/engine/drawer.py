"""A provider whose objects are files in a directory, for tests of the engine's own life without any cloud.

`drawer:index:Item` has the inputs `text` and `wait`; its object is the file `<text>` in the directory DRAWER. Create
writes the file at once and then, if `wait` is true, answers only when the file `<text>.go` exists.
"""
# ruff: noqa: N802, ARG002 - names and signatures are those of the gRPC service

import os
import sys
import time
from pathlib import Path
from typing import Any

from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from rehearsal.plugins.servicer import Plugin, PluginError, rpc, serve
from rehearsal.plugins.wire import decode, encode


class Drawer(Plugin):
    name = "drawer"
    version = "1.0.0"

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory

    def Configure(self, request: Any, context: Any) -> Any:
        return self.configured()

    @rpc
    def Check(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    @rpc
    def Diff(self, request: Any, context: Any) -> Any:
        changed = decode(request.old_inputs)[0] != decode(request.news)[0]
        diff = provider_pb2.DiffResponse
        return diff(changes=diff.DIFF_SOME if changed else diff.DIFF_NONE, diffs=["text"] if changed else [])

    @rpc
    def Create(self, request: Any, context: Any) -> Any:
        inputs, secrets = decode(request.properties)
        path = self.directory / inputs["text"]
        if not request.preview:
            if path.exists():
                raise PluginError(f"{path.name} exists already")
            path.write_text("")
            while inputs.get("wait") and not path.with_suffix(".go").exists() and not self.cancelled.is_set():
                time.sleep(0.05)
        return provider_pb2.CreateResponse(id=path.name, properties=encode(inputs, secrets))

    @rpc
    def Read(self, request: Any, context: Any) -> Any:
        if not (self.directory / request.id).exists():
            return provider_pb2.ReadResponse()
        inputs = request.inputs if request.inputs.fields else encode({"text": request.id})
        return provider_pb2.ReadResponse(id=request.id, properties=inputs, inputs=inputs)

    @rpc
    def Update(self, request: Any, context: Any) -> Any:
        return provider_pb2.UpdateResponse(properties=request.news)

    @rpc
    def Delete(self, request: Any, context: Any) -> Any:
        (self.directory / request.id).unlink(missing_ok=True)
        return Empty()


if __name__ == "__main__":
    sys.exit(serve(Drawer(Path(os.environ["DRAWER"]))))
