"""Puts a stack right after its engine was killed: the lock, the operations under way, the objects half made.

The plugins never adopt what they find; adopting is this visible step, which a person starts or sees. It works on the
stack's state and the cloud's APIs alone, so on a real stack as on a rehearsal.
"""

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError

from rehearsal.engine import lookup, state
from rehearsal.engine.events import Urn
from rehearsal.engine.lookup import Finder, Surroundings
from rehearsal.engine.naturalkeys import ForeignObjectError, NoNaturalKeyError, repeatable
from rehearsal.engine.run import Engine, Watcher
from rehearsal.engine.state import Document, Pending
from rehearsal.kube.client import ApiError, CredentialsFailed, Unreachable
from rehearsal.plugins.kubernetes.helm_objects import NotReady
from rehearsal.plugins.servicer import PluginError


class Verdict(enum.Enum):
    """What becomes of a pending operation."""

    IMPORT = "taken into the state"
    CLEAR = "cleared"
    NEXT = "the next update does it again"
    LEAVE = "left as it is"


@dataclass(frozen=True)
class Finding:
    """One pending operation, what was decided and why.

    Only where an object is taken into the state: its `id`, and `outputs` that the provider would not read again.
    """

    urn: Urn
    kind: str
    verdict: Verdict
    reason: str
    id: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recovery:
    """Everything that was found; nothing at all if the state held no pending operation."""

    findings: tuple[Finding, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is left for a person to decide."""
        return all(finding.verdict is not Verdict.LEAVE for finding in self.findings)


def recover(
    engine: Engine, find: Finder = lookup.find, watch: Watcher | None = None, *, clear_rest: bool = False
) -> Recovery:
    """Free the stack's lock and settle what was interrupted; raises EngineError if the CLI refuses.

    As long as one operation needs a decision, none is settled: `pulumi stack import` drops every pending operation.
    `clear_rest` is that decision: whatever cannot be told is cleared. The caller has made sure that no engine works
    on the stack.
    """
    engine.cancel()
    findings = tuple(examine(engine.export(show_secrets=True), find))
    if clear_rest:
        findings = tuple(map(_cleared, findings))
    if not Recovery(findings).complete:
        return Recovery(findings)
    imported = {each.urn.text: (each.id, each.outputs) for each in findings if each.verdict is Verdict.IMPORT}
    cleared = {each.urn.text for each in findings if each.verdict is Verdict.CLEAR}
    if imported or cleared:
        engine.replace_state(state.settle(engine.export(), imported, cleared))
    if imported:
        targets = [word for urn in imported for word in ("--target", urn)]
        engine.refresh(*targets, watch=watch).require()
        engine.replace_state(state.mark_interrupted(engine.export(), imported.keys()))
    return Recovery(findings)


def examine(document: Document, find: Finder) -> list[Finding]:
    """Decide about every pending operation of a deployment exported with its secrets; changes nothing in it."""
    found = []
    for pending in state.pending(document):
        known = frozenset(state.ids(document, pending.urn.type))
        around = Surroundings(state.provider_inputs(document, pending.provider), known)
        found.append(decide(pending, around, find))
    return found


def decide(pending: Pending, around: Surroundings, find: Finder) -> Finding:
    """What becomes of one pending operation."""
    if pending.kind != "creating":
        return Finding(pending.urn, pending.kind, Verdict.NEXT, f"{pending.kind} is repeated by the next update")
    if not pending.provider:
        return Finding(pending.urn, pending.kind, Verdict.CLEAR, "it exists in the state only")
    if repeatable(pending.urn.type):
        return Finding(pending.urn, pending.kind, Verdict.CLEAR, "making it again changes nothing")
    try:
        ids = find(pending, around)
        if len(ids) == 1:
            condition = lookup.settled(pending, ids[0], around)
            reason = f"found, {condition}" if condition else "found"
            outputs = lookup.remembered(pending, ids[0], around)
            return Finding(pending.urn, pending.kind, Verdict.IMPORT, reason, ids[0], outputs)
    except ForeignObjectError as error:
        return Finding(pending.urn, pending.kind, Verdict.CLEAR, f"not ours: {error}")
    except NoNaturalKeyError as error:
        return _left(pending, f"{error}: look for it by hand and remove it")
    except NotReady as error:
        return _left(pending, f"the half-made release could not be removed: {error}; try again once it is gone")
    except (PluginError, BotoCoreError, ApiError, Unreachable, CredentialsFailed, ValueError) as error:
        return _left(pending, f"the lookup failed: {error}")
    if ids:
        return _left(pending, f"several objects carry its tags ({', '.join(sorted(ids))}); delete all but one")
    return Finding(pending.urn, pending.kind, Verdict.CLEAR, "nothing was made")


def _cleared(finding: Finding) -> Finding:
    if finding.verdict is not Verdict.LEAVE:
        return finding
    return dataclasses.replace(finding, verdict=Verdict.CLEAR, reason=f"as asked, though {finding.reason}")


def _left(pending: Pending, reason: str) -> Finding:
    return Finding(pending.urn, pending.kind, Verdict.LEAVE, reason)
