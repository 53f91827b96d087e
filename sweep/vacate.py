"""`python -m sweep.vacate --stack lab`: what controllers and people made goes before what holds it is destroyed.

Load balancers and volumes that Services, Ingresses and claims asked for are in no state: once the cluster is gone
nobody removes them, and a load balancer's interfaces keep the subnets from going. So do nodes that Karpenter made for a
pool of somebody else's, which go with their pool, and interfaces that the CNI made for a node that died. A run that was
sent by hand holds the stack's claims: a destroy waits ten minutes for them and fails. It works through `kubectl`, as
whoever may destroy the stack, and for interfaces through the account of a cluster of EKS'.

When the cluster is gone, it removes what that left in the account: after a destroy the log group that EKS made anew for
its last events. The exit code is 0 where nothing of it is left, 1 where something is, 2 on wrong usage.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from sweep.account import AwsAccount
from sweep.kubectl import Kubectl, VacateError
from sweep.leftovers import clear, held, left, stands
from sweep.remove import Sweep, removable
from sweep.steps import planned, vacate
from sweep.things import Account


@dataclass(frozen=True)
class Removal:
    """What is asked and told of one stack; `ask` and `pause` are the person's and the clock's."""

    project: str
    stack: str
    ask: Callable[[str], str]
    pause: Callable[[float], None]

    @property
    def cluster(self) -> str:
        """The name of its cluster."""
        return f"{self.project}-{self.stack}"

    def before(self, kubectl: Kubectl, account: Account | None) -> int:
        """While the cluster stands. Nodes that go with a pool may leave interfaces, so these are looked for again."""
        found = planned(kubectl)
        stranded = held(account, self.project, self.stack) if account else []
        for step in found:
            print(f"delete {' '.join(step.words)}, and with it {step.why}")
        for each in stranded:
            print(f"delete interface {each.id}, which was made for {each.within or 'a node'} that is gone")
        if not found and not stranded:
            print(f"nothing to remove; next: make undeploy STACK={self.stack}")
            return 0
        if not self._confirmed():
            return 1
        vacate(kubectl, found)
        if account and not _done(clear(account, lambda: held(account, self.project, self.stack), self.pause)):
            return 1
        print(f"done; next: make undeploy STACK={self.stack}")
        return 0

    def after(self, account: Account) -> int:
        """When the cluster is gone."""
        found = left(account, self.project, self.stack)
        for each in found:
            print(f"{each.kind} {each.id} stays: {each.stays}" if each.stays else f"delete {each.kind} {each.id}")
        if not removable(found):
            print("nothing to remove; EKS may write its last logs some minutes after the end: then run this again")
            return 0
        if not self._confirmed():
            return 1
        if not _done(clear(account, lambda: left(account, self.project, self.stack), self.pause)):
            return 1
        print("done")
        return 0

    def is_of(self, there: str) -> bool:
        """Whether kubectl's cluster is the stack's; if not, say what to type."""
        if there.rpartition("/")[2] == self.cluster:
            return True
        print(f"kubectl talks to {there or 'no cluster'}, not to {self.cluster}: type", file=sys.stderr)
        print(f"aws eks update-kubeconfig --name {self.cluster}", file=sys.stderr)
        print(f"or, after its destroy, make vacate STACK={self.stack} REGION=us-east-2", file=sys.stderr)
        return False

    def _confirmed(self) -> bool:
        question = f"they will be deleted permanently, with their data; type {self.stack}: "
        if self.ask(question).strip() == self.stack:
            return True
        print("nothing was removed")
        return False


def _done(sweep: Sweep) -> bool:
    """Whether nothing is left; if something is, say why."""
    for each in sweep.left:
        said = sweep.refused.get(each.id, "still going")
        print(f"{each.kind} {each.id}: {said}; run the same command again", file=sys.stderr)
    return not sweep.left


def main(
    arguments: list[str], *, ask: Callable[[str], str] = input, pause: Callable[[float], None] = time.sleep
) -> int:
    """Show, ask, remove."""
    parser = argparse.ArgumentParser(prog="python -m sweep.vacate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--project", default="gpucluster", help="the Pulumi project")
    parser.add_argument("--stack", required=True, help="the stack that is to be destroyed, or was")
    parser.add_argument("--context", help="kubectl's context (default: the current one)")
    parser.add_argument("--region", help="the region on AWS (default: that of the context's cluster)")
    parser.add_argument("--profile", help="the AWS profile")
    parser.add_argument("--confirm", metavar="STACK", default="", help="the stack's name again, instead of the prompt")
    parser.add_argument("--kubectl", default="kubectl", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    removal = Removal(options.project, options.stack, lambda text: options.confirm or ask(text), pause)
    try:
        return _run(removal, Kubectl(options.kubectl, options.context), options.region, options.profile)
    except VacateError as error:
        print(f"not done: {error}; run the same command again", file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"the account does not answer: {error}; log in, or name a profile: PROFILE=ml", file=sys.stderr)
        return 2


def _run(removal: Removal, kubectl: Kubectl, region: str | None, profile: str | None) -> int:
    """With a region kubectl is not asked where the cluster is: its context may be gone with the cluster."""
    there = "" if region else kubectl.cluster()
    if not region and not removal.is_of(there):
        return 2
    where, theirs = there.split(":")[3:5] if there.startswith("arn:") else (region, "")
    if where is None:
        return removal.before(kubectl, None)
    account = AwsAccount(where, profile)
    mine = account.call("sts", "get_caller_identity")["Account"]
    if theirs not in ("", mine):
        print(
            f"{removal.cluster} is in account {theirs}, your credentials are of {mine}: set PROFILE=", file=sys.stderr
        )
        return 2
    if not stands(account, removal.cluster):
        print(f"account {mine} has no cluster {removal.cluster} in {where}: it is gone, or was never made")
        return removal.after(account)
    if region and not removal.is_of(kubectl.cluster()):
        return 2
    return removal.before(kubectl, account)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
