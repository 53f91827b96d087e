"""Functions, and who may call them. Source: terraform-provider-aws internal/service/lambda."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Row, Wait, words
from rehearsal.plugins.aws.tagging import calls
from rehearsal.plugins.servicer import PluginError

LIKE_ALL = (1980, 1, 1, 0, 0, 0)
"""The one moment that files of an archive carry, so that equal files make equal archives."""


def archive(code: Mapping[str, Any]) -> bytes:
    """The zip file of an archive of texts (sdk/go/common/resource/archive, Archive.Assets)."""
    assets = code.get("assets")
    if not isinstance(assets, Mapping) or not all("text" in each for each in assets.values()):
        raise PluginError("the rehearsal's aws plugin knows archives of texts only: pulumi.AssetArchive of StringAsset")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, asset in sorted(assets.items()):
            packed.writestr(zipfile.ZipInfo(name, LIKE_ALL), asset["text"])
    return out.getvalue()


def _prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    if inputs.get("code") is None:
        return inputs
    return {**inputs, "code": {"zipFile": archive(inputs["code"])}}


def _renew(obj: Object, change: Any) -> None:
    if not change.first and change.touches("code"):
        obj.call("update_function_code", FunctionName=obj.id, ZipFile=archive(obj.inputs["code"]))


def _statement(obj: Object) -> Any:
    policy = obj.search("get_policy -> Policy", FunctionName=obj.fill("{function}"))
    statements = json.loads(policy)["Statement"] if policy else []
    wanted = obj.fill("{statementId}")
    return next((each for each in statements if each.get("Sid") == wanted), None)


def _look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    principal, condition = found["Principal"], found.get("Condition", {})
    by_arn = condition.get("ArnLike", {}) | condition.get("StringEquals", {})
    return {
        "statementId": found["Sid"],
        "action": found["Action"],
        "function": obj.fill("{function}"),
        "principal": principal if isinstance(principal, str) else next(iter(principal.values())),
        "sourceArn": by_arn.get("AWS:SourceArn"),
    }


CONFIGURED = words("description environment handler loggingConfig memorySize role runtime timeout")

ROWS: dict[str, Row] = {
    "aws:lambda/function:Function": Row(
        create="create_function",
        read="get_function -> merge(Configuration, {Tags: Tags})",
        key={"FunctionName": "{name}"},
        id="{name}",
        names={"name": "FunctionName", "arn": "FunctionArn"},
        autoname=Autoname(limit=64),
        defaults={"memorySize": 128, "packageType": "Zip", "timeout": 3, "publish": False},
        prepare=_prepare,
        later=("code",),
        unseen=("code",),
        local=("skipDestroy",),
        force_new=words("name packageType"),
        computed=words(
            "name architectures ephemeralStorage loggingConfig tracingConfig snapStart sourceCodeHash codeSha256"
        ),
        updates=(("update_function_configuration", CONFIGURED),),
        after=_renew,
        wait=Wait(status="State", done=("Active",), failed=("Failed",), why="StateReason"),
        unready=("InvalidParameterValueException.*role",),
        tags=calls({"Resource": "{FunctionArn}"}),
    ),
    "aws:lambda/permission:Permission": Row(
        create="add_permission",
        read=_statement,
        delete="remove_permission",
        key={"FunctionName": "{function}", "StatementId": "{statementId}"},
        id="{statementId}",
        imports="{function}/{statementId}",
        names={"function": "FunctionName"},
        autoname=Autoname(input="statementId", limit=100),
        prefix="statementIdPrefix",
        force_new=("*",),
        computed=("statementId",),
        look=_look,
        delete_first=True,
    ),
}
