"""Check and Diff: what a resource's inputs become, what is wrong with them, and what a change of them means."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.validate import ParamValidator

from rehearsal.awsmodels import input_shape, made_up
from rehearsal.plugins.aws.compare import Kind, blank, differences, dotted, formatted, same, same_object, under
from rehearsal.plugins.aws.life import create_parameters
from rehearsal.plugins.aws.row import Autoname, Row
from rehearsal.plugins.aws.sdk import Schema
from rehearsal.plugins.aws.settings import Settings
from rehearsal.plugins.aws.shapes import InputError
from rehearsal.plugins.servicer import PluginError
from rehearsal.plugins.wire import UNKNOWN, Path, has_unknown, without_unknowns

RANDOM = 7  # hex digits, as the bridge's AutoName


@dataclass(frozen=True)
class Naming:
    """What the engine says about the name of a resource that has none in the program."""

    resource: str
    seed: bytes = b""
    proposed: str = ""
    disabled: bool = False


def completed(
    row: Row, schema: Schema, settings: Settings, inputs: dict[str, Any], old: Mapping[str, Any], naming: Naming
) -> dict[str, Any]:
    """Inputs with names, defaults, region and all tags filled in; ``__defaults`` lists what was filled in.

    Raises InputError for a name that cannot be made.
    """
    made = {name: value for name, value in inputs.items() if value is not None}
    filled = [name for name in row.defaults if name not in made]
    made |= {name: row.defaults[name] for name in filled}
    for name in row.documents:
        if name in made:
            made[name] = formatted(made[name])
    auto = row.autoname
    if auto and auto.input not in made and row.prefix not in made:
        made[auto.input] = _name(auto, old, naming)
        filled.append(auto.input)
    if "region" in schema.inputs and "region" not in made:
        made["region"] = settings.region
    if row.tags:
        own = made.get("tags") or {}
        made["tagsAll"] = UNKNOWN if has_unknown(own) else settings.tags(own)
    made["__defaults"] = sorted(filled)
    return made


def failures(row: Row, schema: Schema, inputs: Mapping[str, Any], resource: str) -> dict[str, str]:
    """Input -> what AWS or this plugin would refuse about it; whatever is still unknown is not judged."""
    extra = [name for name in inputs if name not in schema.inputs and name not in ("tagsAll", "__defaults")]
    if extra:
        return {name: f"{resource} has no input {name}" for name in extra}
    unknown = has_unknown(inputs) or row.prefix in inputs
    known = without_unknowns({name: value for name, value in inputs.items() if name != "__defaults"})
    try:
        body = create_parameters(row, known)
    except InputError as error:
        return {error.path: f"{resource}: {error}"}
    shape = input_shape(row.service, row.creates)
    report = ParamValidator().validate({**made_up(shape), **body}, shape)
    if report.has_errors() and not unknown:
        return {"": f"{resource}: {report.generate_report()}".replace("\n", "; ")}
    return {}


@dataclass(frozen=True)
class Verdict:
    """What a change of inputs means: the changed places, those that replace the object, and in which order."""

    changes: Mapping[Path, Kind]
    replaces: frozenset[Path]
    delete_first: bool

    @property
    def keys(self) -> frozenset[str]:
        """The changed inputs."""
        return frozenset(str(path[0]) for path in self.changes)


def judged(row: Row, old: Mapping[str, Any], new: Mapping[str, Any], outputs: Mapping[str, Any]) -> Verdict:
    """Compares old and new inputs; raises PluginError for a change that this plugin cannot make."""
    defaulted, imported = set(new.get("__defaults") or ()), bool(old.get("__imported"))
    old, new = ({name: value for name, value in side.items() if not name.startswith("__")} for side in (old, new))
    found = {
        path: kind
        for path, kind in differences(old, new, row.sets).items()
        if not _idle(row, path, kind, old, new, outputs) and not (imported and path[0] in row.unseen + row.local)
    }
    also = row.also_new(old, new) if row.also_new else set()
    fixed = {*row.force_new, *also, "region"}
    everything = "*" in row.force_new
    tagging = {"tags", "tagsAll"}
    replaces = {
        path for path in found if under(dotted(path), fixed) or (everything and path[0] not in {*tagging, *row.local})
    }
    able = {*row.apart, *row.later, *row.local, *(tagging if row.tags else ()), row.prefix}
    able |= {name for _, names in row.updates for name in names}
    stuck = sorted({dotted(path) for path in found if path not in replaces and path[0] not in able})
    if stuck and not replaces:
        raise PluginError(
            f"the rehearsal's aws plugin cannot change {', '.join(stuck)} of an existing object; "
            "replace it (pulumi up --replace URN) or leave it as it was"
        )
    named = row.autoname.input if row.autoname else ""
    keeps_name = bool(named) and named in new and named not in defaulted and old.get(named) == new.get(named)
    return Verdict(found, frozenset(replaces), bool(replaces) and (row.delete_first or keeps_name))


def expected(row: Row, schema: Schema, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of a create that has not happened: the inputs, and unknown whatever AWS decides."""
    made = {name: value for name, value in inputs.items() if name != "__defaults"}
    for name in schema.outputs:
        made.setdefault(name, UNKNOWN if name not in schema.inputs or name in row.computed else None)
    for path in row.computed:
        name, _, inner = path.partition(".")
        if inner and isinstance(made.get(name), Mapping):
            made[name] = {inner: UNKNOWN, **made[name]}
    return {name: value for name, value in made.items() if value is not None}


def renewed(row: Row, old: Mapping[str, Any], inputs: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """The outputs of an update that has not happened.

    Within a block too, what the cloud decides and nobody configures stays as it was (terraform-plugin-sdk,
    helper/schema/schema.go, diffString: a computed attribute without a new value has no difference).
    """
    made = {**old, **{name: value for name, value in inputs.items() if name != "__defaults"}}
    for block, _, member in (path.partition(".") for path in row.computed):
        before, now = old.get(block), made.get(block)
        if isinstance(before, Mapping) and isinstance(now, Mapping) and member in before and member not in now:
            made[block] = {**now, member: before[member]}
    if keys - {"tags", "tagsAll", *row.local}:
        made |= dict.fromkeys(row.bumps, UNKNOWN)
    return made


def _idle(
    row: Row, path: Path, kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any], outputs: Mapping[str, Any]
) -> bool:
    """Whether a difference of inputs changes nothing on the other side, as Terraform sees it.

    A list that is left out is as the cloud has it; one that has lost an element is a shorter list
    (terraform-plugin-sdk, helper/schema/schema.go, diffSet and diffList: they compare elements where a new value is
    configured).
    """
    if kind == "delete":
        shorter = isinstance(path[-1], int) and bool(_at(new, path[:-1]))
        return (under(dotted(path), row.computed) and not shorter) or blank(_at(old, path))
    if kind == "add":
        return not has_unknown(_at(new, path)) and same(_at(new, path), _at(outputs, path))
    return same_object(_at(old, path), _at(new, path))


def _at(value: Any, path: Path) -> Any:
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _name(auto: Autoname, old: Mapping[str, Any], naming: Naming) -> str:
    kept = old.get(auto.input)
    if isinstance(kept, str) and auto.input in (old.get("__defaults") or ()):
        return kept
    if naming.disabled:
        raise InputError(auto.input, "autonaming is off for this stack and the program gives no name")
    if naming.proposed:
        name = naming.proposed
    else:
        digits = hashlib.sha256(naming.seed or os.urandom(16)).hexdigest()[:RANDOM]
        name = f"{naming.resource}-{digits}"
    if auto.lower:
        name = name.lower()
    if not name.startswith(auto.prefix):
        name = auto.prefix + name
    if len(name) > auto.limit:
        raise InputError(auto.input, f"the made-up name {name} is longer than {auto.limit} characters; give one")
    return name
