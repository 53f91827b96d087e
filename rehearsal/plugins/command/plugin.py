"""The command provider: `command:remote:Command` over real SSH, as pulumi-command 1.2.1 runs it.

Source: pulumi/pulumi-command, provider/pkg/provider/remote/commandController.go and commandOutputs.go, and
pulumi/pulumi-go-provider 1.5.0, infer/resource.go (Diff compares the old *outputs* with the new inputs; Read gives back
what it was given; the outputs that share an input's name are secret where that is, `stdout` and `stderr` are not).
`triggers` replace the resource: not here, but through the SDK, which asks the engine for it (`replace_on_changes`).
Local commands and copies are refused by name.
"""

import secrets as random
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from google.protobuf.empty_pb2 import Empty
from typing_extensions import override

from rehearsal import virtualenv
from rehearsal.plugins.command import inputs as shape
from rehearsal.plugins.command.ssh import Dialled, Session, hall
from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.servicer import Context, OwnWordsError, Plugin, PluginError, rpc
from rehearsal.plugins.wire import UNKNOWN, Path, decode, encode

CONNECTION: Path = ("connection",)
OUTPUTS = ("stdout", "stderr")


class CommandPlugin(Plugin):
    """Runs commands on the rehearsal's hosts; each operation opens one connection."""

    name = "command"
    version = virtualenv.version("pulumi-command", None) or "1.2.1"

    @override
    @rpc
    def Check(self, request: Any, context: Context) -> Any:
        _known(request)
        inputs, secrets = decode(request.news)
        failures = [
            provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in shape.complaints(inputs)
        ]
        checked = encode(shape.with_defaults(inputs), secrets | {CONNECTION})
        return provider_pb2.CheckResponse(inputs=checked, failures=failures)

    @override
    @rpc
    def Diff(self, request: Any, context: Context) -> Any:
        """A changed input is an update; only the engine, asked by the SDK, makes a replacement of one."""
        old, _ = decode(request.olds)
        new, _ = decode(request.news)
        keys = (old.keys() - set(OUTPUTS)) | new.keys()
        changed = sorted(key for key in keys if old.get(key) != new.get(key) and key not in request.ignoreChanges)
        changes = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(
            changes=changes,
            diffs=changed,
            detailedDiff={path: kind for key in changed for path, kind in _detail(key, old.get(key), new.get(key))},
            hasDetailedDiff=True,
        )

    @override
    @rpc
    def Create(self, request: Any, context: Context) -> Any:
        inputs, secrets = decode(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=_answer(inputs, dict.fromkeys(OUTPUTS, UNKNOWN), secrets))
        outputs = dict.fromkeys(OUTPUTS, "")
        if inputs.get("create") is not None:
            outputs = self._run(inputs, inputs["create"])
        # Source: sdk/go/common/resource NewUniqueHex(name, 8, 0).
        identity = request.name + random.token_hex(4)
        return provider_pb2.CreateResponse(id=identity, properties=_answer(inputs, outputs, secrets))

    @override
    @rpc
    def Update(self, request: Any, context: Context) -> Any:
        inputs, secrets = decode(request.news)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=_answer(inputs, dict.fromkeys(OUTPUTS, UNKNOWN), secrets))
        old, _ = decode(request.olds)
        outputs = {name: old.get(name, "") for name in OUTPUTS}
        command = inputs.get("update") if inputs.get("update") is not None else inputs.get("create")
        if command is not None:
            outputs = self._run(inputs, command)
        return provider_pb2.UpdateResponse(properties=_answer(inputs, outputs, secrets))

    @override
    @rpc
    def Read(self, request: Any, context: Context) -> Any:
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    @override
    @rpc
    def Delete(self, request: Any, context: Context) -> Any:
        state, _ = decode(request.properties)
        if state.get("delete") is not None:
            self._run(state, state["delete"])
        return Empty()

    def _run(self, inputs: Mapping[str, Any], command: str) -> dict[str, str]:
        """What the command wrote, without its last newline. Raises OwnWordsError in the official provider's words."""
        _environment(inputs)
        dialled = Session(hall(), inputs["connection"], self.cancelled).run(command, inputs.get("stdin") or "")
        _succeeded(dialled, command)
        return {"stdout": dialled.stdout.removesuffix("\n"), "stderr": dialled.stderr.removesuffix("\n")}


def _environment(inputs: Mapping[str, Any]) -> None:
    """A host's sshd takes no variables unless its AcceptEnv says so, and rehearsed hosts have none (sshd_config(5))."""
    for name in inputs.get("environment") or {}:
        raise OwnWordsError(f'could not set environment variable "{name}": ssh: setenv failed')


def _succeeded(dialled: Dialled, command: str) -> None:
    """Raises OwnWordsError unless the command ended with 0, in the words of golang.org/x/crypto/ssh (session.go)."""
    if dialled.status == 0:
        return
    how = "wait: remote command exited without exit status or exit signal"
    if dialled.status is not None:
        how = f"Process exited with status {dialled.status}"
    quoted = '"' + command.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    raise OwnWordsError(f"{how}: running {quoted}:\n{dialled.stdout}{dialled.stderr}")


def _known(request: Any) -> None:
    token = request.type or request.urn.split("::")[2].rpartition("$")[2]
    if token != shape.TOKEN:
        raise PluginError(f"{token} is not played: rehearsed hosts know {shape.TOKEN} only")


def _answer(inputs: Mapping[str, Any], outputs: Mapping[str, str], secrets: set[Path]) -> Any:
    return encode({**inputs, **outputs}, secrets | {CONNECTION})


def _detail(key: str, old: Any, new: Any) -> list[tuple[str, Any]]:
    """Paths as the official provider names them: elements of a list, so that `triggers[*]` finds them."""
    kinds = provider_pb2.PropertyDiff
    if isinstance(old, list) and isinstance(new, list):
        pairs = enumerate(zip_longest(old, new))
        return [(f"{key}[{at}]", kinds(kind=_kind(was, now))) for at, (was, now) in pairs if was != now]
    return [(key, kinds(kind=_kind(old, new)))]


def _kind(old: Any, new: Any) -> Any:
    kinds = provider_pb2.PropertyDiff
    if old is None:
        return kinds.ADD
    return kinds.DELETE if new is None else kinds.UPDATE
