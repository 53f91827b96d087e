"""The aws provider stand-in: the resource provider protocol over the table of types."""

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from typing_extensions import override

from rehearsal.plugins.aws import life, sdk, settings, view
from rehearsal.plugins.aws.account import Account, Deadline
from rehearsal.plugins.aws.checking import Naming, Verdict, completed, expected, failures, judged, renewed
from rehearsal.plugins.aws.invokes import INVOKES
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Change
from rehearsal.plugins.aws.shapes import InputError
from rehearsal.plugins.aws.table import row
from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.servicer import Context, InitFailed, Plugin, PluginError, rpc
from rehearsal.plugins.wire import Path, decode, encode, has_unknown, path_text

CREATE, UPDATE, DELETE = range(3)
UNFINISHED = "__unfinished"
"""An output that stays in the state until all that follows a create has been done."""


class AwsPlugin(Plugin):
    """One configured provider: the engine starts a process for it and calls it from many threads."""

    name = "aws"
    version = sdk.VERSION
    autonaming = True

    def __init__(self) -> None:
        super().__init__()
        self._account: Account | None = None

    @property
    def account(self) -> Account:
        """The configured account; raises PluginError before Configure."""
        if self._account is None:
            raise PluginError("the provider has not been configured: its arguments are not known yet")
        return self._account

    @override
    @rpc
    def CheckConfig(self, request: Any, context: Context) -> Any:
        arguments, secrets = decode(request.news)
        wrong = settings.problems(settings.plain(arguments))
        return provider_pb2.CheckResponse(inputs=encode(arguments, secrets), failures=_failures(wrong))

    @override
    @rpc
    def Configure(self, request: Any, context: Context) -> Any:
        arguments, _ = decode(request.args)
        self._account = Account(settings.settings(settings.plain(arguments)), self.cancelled)
        return self.configured()

    @override
    @rpc
    def Check(self, request: Any, context: Context) -> Any:
        table, schema = row(request.type), _schema(request.type)
        inputs, secrets = decode(request.news)
        naming = Naming(request.name, request.randomSeed)
        if request.HasField("autonaming"):
            options = request.autonaming
            naming = Naming(request.name, request.randomSeed, options.proposed_name, options.mode == options.DISABLE)
        try:
            made = completed(table, schema, self.account.settings, inputs, _defaulted(request.olds), naming)
        except InputError as error:
            return provider_pb2.CheckResponse(failures=_failures({error.path: f"{request.name}: {error}"}))
        wrong = failures(table, schema, made, request.name)
        return provider_pb2.CheckResponse(inputs=_sealed(made, secrets), failures=_failures(wrong))

    @override
    @rpc
    def Diff(self, request: Any, context: Context) -> Any:
        old, new = _defaulted(request.old_inputs), _defaulted(request.news)
        verdict = judged(row(request.type), old, new, decode(request.olds)[0])
        some = provider_pb2.DiffResponse.DIFF_SOME if verdict.changes else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(
            changes=some,
            diffs=sorted(verdict.keys),
            replaces=sorted({str(path[0]) for path in verdict.replaces}),
            deleteBeforeReplace=verdict.delete_first,
            detailedDiff=_detailed(verdict),
            hasDetailedDiff=True,
        )

    @override
    @rpc
    def Create(self, request: Any, context: Context) -> Any:
        schema = _schema(request.type)
        inputs, secrets = decode(request.properties)
        if request.preview:
            hoped = expected(row(request.type), schema, inputs)
            return provider_pb2.CreateResponse(properties=_sealed(hoped, secrets))
        obj = self._object(request.type, inputs, self._deadline(request, CREATE))
        life.create(obj)
        made = self._finished(obj, schema, secrets, lambda: life.finish(obj))
        return provider_pb2.CreateResponse(id=obj.id, properties=made)

    @override
    @rpc
    def Update(self, request: Any, context: Context) -> Any:
        schema, table = _schema(request.type), row(request.type)
        old = _defaulted(request.old_inputs)
        inputs, secrets = decode(request.news)
        known, _ = decode(request.olds)
        verdict = judged(table, old, inputs, known)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=_sealed(renewed(table, known, inputs, verdict.keys), secrets))
        obj = self._object(request.type, inputs, self._deadline(request, UPDATE), request.id, known)
        if verdict.changes:
            change = Change(first=False, old=old, keys=verdict.keys)
            found = life.update(obj, change, (old.get("tagsAll") or {}, inputs.get("tagsAll") or {}))
            if UNFINISHED not in request.olds.fields:
                return provider_pb2.UpdateResponse(properties=_sealed(view.outputs(obj, schema, found), secrets))
        made = self._finished(obj, schema, secrets, lambda: life.finish(obj))
        return provider_pb2.UpdateResponse(properties=made)

    @override
    @rpc
    def Read(self, request: Any, context: Context) -> Any:
        schema = _schema(request.type)
        inputs, secrets = decode(request.inputs)
        known, marked = decode(request.properties)
        obj = self._object(request.type, inputs, self._deadline(request, UPDATE), request.id, known)
        found = life.describe(obj)
        if found is None:
            return provider_pb2.ReadResponse()
        now = view.inputs(obj, schema, found)
        if not inputs:
            obj.inputs = {name: value for name, value in now.items() if not name.startswith("__")}
        if not known:  # an import: its id may be written differently
            obj.id = obj.identity()
        now |= {name: value for name, value in _defaulted(request.inputs).items() if name.startswith("__")}
        hidden = secrets | marked
        return provider_pb2.ReadResponse(
            id=obj.id,
            properties=_sealed(view.outputs(obj, schema, found), hidden),
            inputs=_sealed(now, hidden),
        )

    @override
    @rpc
    def Delete(self, request: Any, context: Context) -> Any:
        known, _ = decode(request.properties)
        inputs, _ = decode(request.old_inputs)
        obj = self._object(request.type, inputs or known, self._deadline(request, DELETE), request.id, known)
        life.delete(obj)
        return Empty()

    @override
    @rpc
    def Invoke(self, request: Any, context: Context) -> Any:
        arguments, _ = decode(request.args)
        function = INVOKES.get(request.tok)
        if function is None:
            raise PluginError(
                "the rehearsal's aws plugin does not have this function. To add it: an entry in the INVOKES of "
                "rehearsal/plugins/aws/invokes.py, which asks the account's API"
            )
        return provider_pb2.InvokeResponse(**{"return": encode(function(self.account, arguments))})

    def _object(
        self,
        token: str,
        inputs: Mapping[str, Any],
        deadline: Deadline,
        id: str = "",
        known: Mapping[str, Any] | None = None,
    ) -> Object:
        obj = Object(self.account, row(token), token, dict(inputs), deadline, known=dict(known or {}))
        if id:
            obj.learn(id)
        return obj

    def _deadline(self, request: Any, operation: int) -> Deadline:
        allowed = getattr(request, "timeout", 0)
        return Deadline(allowed or row(request.type).timeouts[operation], self.cancelled)

    def _finished(
        self, obj: Object, schema: sdk.Schema, secrets: set[Path], steps: Callable[[], Mapping[str, Any]]
    ) -> Struct:
        """The outputs after the follow-up steps; if one fails, the object is there all the same: InitFailed."""
        try:
            return _sealed(view.outputs(obj, schema, steps()), secrets)
        except PluginError as error:
            sent = {name: value for name, value in obj.inputs.items() if not has_unknown(value)}
            reasons = [str(error)]
            unfinished = _sealed({**sent, UNFINISHED: True}, secrets)
            raise InitFailed(obj.id, unfinished, _sealed(sent, secrets), reasons) from error


def _schema(token: str) -> sdk.Schema:
    row(token)
    schema = sdk.schema(token)
    if schema is None:
        raise PluginError(f"pulumi-aws {sdk.VERSION} has no such type")
    return schema


def _defaulted(struct: Any) -> dict[str, Any]:
    """Inputs with our own bookkeeping, which ``decode`` leaves out: what Check filled in, whether Read made them up."""
    values, _ = decode(struct)
    if "__defaults" in struct.fields:
        values["__defaults"] = [item.string_value for item in struct.fields["__defaults"].list_value.values]
    if "__imported" in struct.fields:
        values["__imported"] = True
    return values


def _sealed(values: Mapping[str, Any], secrets: set[Path]) -> Struct:
    """Values for the wire. A property with a secret in it is secret as a whole: lists may come back in another order,
    and tagsAll is made from tags."""
    tops = {path[:1] for path in secrets}
    if ("tags",) in tops:
        tops.add(("tagsAll",))
    return encode(values, tops)


def _failures(wrong: Mapping[str, str]) -> list[Any]:
    return [provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in wrong.items()]


def _detailed(verdict: Verdict) -> dict[str, Any]:
    kind = provider_pb2.PropertyDiff.Kind
    return {
        path_text(path): provider_pb2.PropertyDiff(
            kind=kind.Value(f"{change}_replace".upper() if path in verdict.replaces else change.upper()),
            inputDiff=True,
        )
        for path, change in verdict.changes.items()
    }
