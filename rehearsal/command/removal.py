"""`down`: destroy the stack, prove that nothing is left, stop everything."""

from rehearsal.command.apply import recover_if_needed
from rehearsal.command.errors import CommandError
from rehearsal.command.session import Session, kubeconfigs
from rehearsal.engine import state


def destroy(session: Session) -> None:
    """Destroy the stack; a protected one first shows the engine's refusal, which comes before anything is deleted.

    Raises CommandError if it fails.
    """
    recover_if_needed(session)
    with session.meter.phase("destroy"):
        session.console.print("destroy")
        protected = [each["urn"] for each in state.resources(session.engine.export()) if each.get("protect")]
        if protected and session.engine.destroy("--preview-only", watch=session.lines(steps=False)).status:
            session.console.print(
                f"  refused, as on a real deployment: {len(protected)} resources are protected. "
                "This state is the rehearsal's own: taking the protection off it.",
                style="yellow",
                highlight=False,
            )
            session.engine.unprotect()
            for cluster in session.control("DELETE", "deletion-protection"):
                session.console.print(f"  and EKS' own deletion protection off {cluster}", style="yellow")
        outcome = session.engine.destroy(watch=session.lines())
    if outcome.status:
        raise CommandError(f"pulumi destroy failed:\n{outcome.explain()}\nThe rehearsal still runs: try again.")


def prove_empty(session: Session) -> None:
    """Compare the account and its clusters with those from before `up`; raises CommandError naming every difference."""
    left = [f"{kind} {id}" for kind, ids in session.leftovers().items() for id in ids]
    lost = [f"{kind} {id}" for kind, ids in session.missing().items() for id in ids]
    clusters = list(kubeconfigs(session.directory))
    if left or lost or clusters:
        parts = [
            f"left over: {', '.join(left)}" if left else "",
            f"taken though it was there before: {', '.join(lost)}" if lost else "",
            f"clusters still there: {', '.join(clusters)}" if clusters else "",
        ]
        raise CommandError(f"destroy was not clean; {'; '.join(part for part in parts if part)}.")
    session.console.print("zero left: the account holds what it held before up, and no cluster", style="green")
