"""`down`: destroy the stack, prove that nothing is left, stop everything."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rehearsal.command.apply import recover_if_needed
from rehearsal.command.contents import kubeconfigs
from rehearsal.command.errors import CommandError
from rehearsal.command.session import Session
from rehearsal.engine import declared, gone, sent, state
from rehearsal.engine.run import Outcome
from rehearsal.engine.table import say
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.places import HALLS

GONE = {"PULUMI_K8S_DELETE_UNREACHABLE": "true"}
"""For a cluster that is gone for good (pulumi-kubernetes, provider.go, Configure)."""

KEPT = ("default", "kube-node-lease", "kube-public", "kube-system")
"""Namespaces of every cluster (Kubernetes documentation, "Namespaces", initial namespaces)."""


def destroy(session: Session) -> None:
    """Destroy the stack; a protected one first shows the engine's refusal, which comes before anything is deleted.

    Raises CommandError if it fails.
    """
    recover_if_needed(session)
    with session.meter.phase("destroy"):
        session.console.print("destroy")
        protected = [each for each in state.resources(session.engine.export()) if each.get("protect")]
        if protected and session.engine.destroy("--preview-only", watch=session.lines(steps=False)).status:
            session.console.print(
                f"  refused, as on a real deployment: {len(protected)} resources are protected. "
                "This is the rehearsal's state: removing the protection there.",
                style="yellow",
                highlight=False,
            )
            session.engine.unprotect()
            for cluster in session.control("DELETE", "deletion-protection"):
                session.console.print(f"  and EKS' own deletion protection off {cluster}", style="yellow")
            for bucket in _emptied(session, protected):
                session.console.print(
                    f"  and what bucket {bucket} holds, which AWS does not delete with it", style="yellow"
                )
        kept = gone.stays(state.resources(session.engine.export()))
        if kept:
            session.keep(kept)
        _take_back(session)
        outcome = _destroy(session)
    for kind, ids in kept.items():
        for each in ids:
            session.console.print(
                f"  {kind} {each} stays, as the stack declares: `make destroy-plan` says why", highlight=False
            )
    if outcome.status:
        raise CommandError(f"pulumi destroy failed:\n{outcome.explain()}\nThe rehearsal still runs: try again.")


def _emptied(session: Session, protected: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Empties the buckets among these resources, such as of runs' checkpoints; the names of those that held any."""
    for each in protected:
        if each["type"] == "aws:s3/bucket:Bucket":
            s3 = session.site.account.client("s3", each["outputs"]["region"])
            pages = s3.get_paginator("list_object_versions").paginate(Bucket=each["id"])
            held = [entry for page in pages for kind in ("Versions", "DeleteMarkers") for entry in page.get(kind, ())]
            for entry in held:
                s3.delete_object(Bucket=each["id"], Key=entry["Key"], VersionId=entry["VersionId"])
            if held:
                yield str(each["id"])


def _take_back(session: Session) -> None:
    """Delete what people sent by kubectl: in a real account its owner does this, or the person who destroys it."""
    for path in kubeconfigs(session.directory).values():
        with (
            contextlib.suppress(Unreachable, ApiError, ValueError),
            contextlib.closing(Kube.from_kubeconfig(str(path))) as kube,
        ):
            for each in list(sent.sent(kube)):
                kube.delete(each)
                named = f"{each['kind'].lower()} {each['metadata'].get('namespace')}/{each['metadata']['name']}"
                say(
                    session.console,
                    f"  {named} was submitted by kubectl and is deleted first: its pods hold claims of the stack",
                )


def _destroy(session: Session) -> Outcome:
    """Of a cluster that is gone a destroy alone gives up at the first Helm release, whatever it is told: the provider's
    Delete knows no way (pulumi-kubernetes, issue 2675), its Read does, so a refresh goes first.
    """
    if kubeconfigs(session.directory) or not declared.declared(session.engine.export()):
        return session.engine.destroy(watch=session.lines())
    session.console.print(
        "  the cluster is gone, so its objects are removed from the state, as by PULUMI_K8S_DELETE_UNREACHABLE=true"
        " pulumi destroy --refresh",
        highlight=False,
    )
    engine = replace(session.engine, env={**session.engine.env, **GONE})
    return engine.destroy("--refresh", watch=session.lines())


def prove_empty(session: Session) -> None:
    """Compare the account and its clusters with those from before `up`; raises CommandError naming every difference."""
    left = [f"{kind} {id}" for kind, ids in session.leftovers().items() for id in ids]
    lost = [f"{kind} {id}" for kind, ids in session.missing().items() for id in ids]
    clusters = [label for label in kubeconfigs(session.directory) if label.partition("/")[0] != HALLS]
    left += list(_in_racks(session))
    if left or lost or clusters:
        parts = [
            f"left over: {', '.join(left)}" if left else "",
            f"deleted although it existed before: {', '.join(lost)}" if lost else "",
            f"clusters still there: {', '.join(clusters)}" if clusters else "",
        ]
        raise CommandError(f"destroy was not clean; {'; '.join(part for part in parts if part)}.")
    for label in racked(session):
        say(
            session.console,
            f"  the racked hosts still are cluster {label.partition('/')[2]}, since the stack file does not allow a"
            f" reset; now they are switched off",
        )
    rest = "no cluster" if not racked(session) else "nothing of the stack is in their cluster"
    session.console.print(f"zero left: the account is as it was before up, and {rest}", style="green")


def racked(session: Session) -> list[str]:
    """The clusters that racked hosts have made of themselves, by their labels."""
    return [label for label in kubeconfigs(session.directory) if label.partition("/")[0] == HALLS]


def _in_racks(session: Session) -> Iterator[str]:
    """Namespaces that are left in a cluster of racked hosts, which a destroy of its stack does not end."""
    there = kubeconfigs(session.directory)
    for label in racked(session):
        try:
            with contextlib.closing(Kube.from_kubeconfig(str(there[label]))) as kube:
                found = [each["metadata"]["name"] for each in kube.list("v1", "Namespace")]
        except (ApiError, Unreachable) as error:
            yield f"cluster {label}, which cannot be inspected: {error}"
            continue
        yield from (f"namespace {name} of cluster {label}" for name in found if name not in KEPT)
