"""`python -m review.trust --environment prod`: whether the role of a workflow's job may do more than the job needs.

Run by the job itself, with its role. What is looked at: that nobody can take the role but jobs of this repository's
environment, that its policies allow no more than review/rights.py has for the job, and, with `--look`, that it can
change nothing. Exit status: 0 if that is so, 1 with what is to be written instead, 2 if it cannot be seen. Needs
iam:GetRole, ListAttachedRolePolicies, GetPolicy, GetPolicyVersion, ListRolePolicies and GetRolePolicy, and for `--look`
iam:SimulatePrincipalPolicy, all of which ReadOnlyAccess has.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from review.rights import JOBS, READ_ONLY, Job, beyond
from review.rights import listed as _listed
from sweep.account import AwsAccount
from sweep.things import Account

ISSUER = "token.actions.githubusercontent.com"
"""Who signs the tokens of GitHub's jobs, and the prefix of the conditions on them (GitHub's guide "Configuring OpenID
Connect in Amazon Web Services")."""
AUDIENCE = "sts.amazonaws.com"
CHANGES = ("ec2:TerminateInstances", "eks:DeleteCluster", "iam:CreateRole", "s3:DeleteBucket")
"""What a role that looks must not do; one for each service whose loss is the stack's."""
_ROLE = re.compile(r"arn:aws[\w-]*:sts::\d{12}:assumed-role/([^/]+)/.+")


def loose(document: Mapping[str, Any], subject: str) -> Iterator[str]:
    """Where others than the jobs of `subject` may take a role with this trust: path, what, and what to write."""
    for index, statement in enumerate(_listed(document.get("Statement"))):
        if statement.get("Effect") != "Allow":
            continue
        place = f"Statement[{index}]"
        principal = statement.get("Principal")
        issuers = _listed(principal.get("Federated")) if isinstance(principal, Mapping) else []
        others = not isinstance(principal, Mapping) or set(principal) != {"Federated"}
        if others or not all(each.endswith(f":oidc-provider/{ISSUER}") for each in issuers):
            yield f"{place}.Principal: {principal} may take it too; write the OIDC provider {ISSUER} alone"
        equal = (statement.get("Condition") or {}).get("StringEquals") or {}
        for key, wanted in (("sub", subject), ("aud", AUDIENCE)):
            if _listed(equal.get(f"{ISSUER}:{key}")) != [wanted]:
                yield f'{place}.Condition.StringEquals: other jobs may take it; write "{ISSUER}:{key}": "{wanted}"'


def able(account: Account, role: str) -> list[str]:
    """Which of CHANGES the role may do to anything. Raises botocore's errors."""
    told = account.call("iam", "simulate_principal_policy", PolicySourceArn=role, ActionNames=list(CHANGES))
    return [each["EvalActionName"] for each in told["EvaluationResults"] if each["EvalDecision"] == "allowed"]


def policies(account: Account, role: str, job: Job) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The policies of a role by their names, but for AWS' own that only reads where the job does. Raises botocore's
    errors.
    """
    for page in account.pages("iam", "list_attached_role_policies", RoleName=role):
        for each in page["AttachedPolicies"]:
            arn = each["PolicyArn"]
            if job.reads and READ_ONLY.fullmatch(arn):
                continue
            version = account.call("iam", "get_policy", PolicyArn=arn)["Policy"]["DefaultVersionId"]
            told = account.call("iam", "get_policy_version", PolicyArn=arn, VersionId=version)
            yield each["PolicyName"], told["PolicyVersion"]["Document"]
    for page in account.pages("iam", "list_role_policies", RoleName=role):
        for name in page["PolicyNames"]:
            told = account.call("iam", "get_role_policy", RoleName=role, PolicyName=name)
            yield name, told["PolicyDocument"]


def main(arguments: Sequence[str], *, account: Account | None = None) -> int:
    """Look at the role of whoever asks."""
    parser = argparse.ArgumentParser(prog="python -m review.trust", description=__doc__, allow_abbrev=False)
    parser.add_argument("--environment", required=True, help="the job's environment on GitHub")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--look", action="store_true", help="the job only looks: its role must not change anything")
    does.add_argument("--images", action="store_true", help="the job only pushes images and signs them")
    parser.add_argument("--repository", default=os.environ.get("GITHUB_REPOSITORY", ""), metavar="OWNER/NAME")
    options = parser.parse_args(arguments)
    if not options.repository:
        print("no repository: type --repository OWNER/NAME", file=sys.stderr)
        return 2
    asked = account or AwsAccount()
    job = JOBS["look" if options.look else "images" if options.images else "deploy"]
    try:
        caller = str(asked.call("sts", "get_caller_identity")["Arn"])
        found = _ROLE.fullmatch(caller)
        if found is None:
            print(f"{caller} is no role, so no job of a workflow asks", file=sys.stderr)
            return 2
        role = asked.call("iam", "get_role", RoleName=found[1])["Role"]
        subject = f"repo:{options.repository}:environment:{options.environment}"
        wrong = list(loose(role["AssumeRolePolicyDocument"], subject))
        for policy, document in policies(asked, found[1], job):
            wrong += [f"{policy}: {each}" for each in beyond(job, document)]
        if options.look:
            wrong += [f"{each}: a job that looks needs no such right; remove it" for each in able(asked, role["Arn"])]
    except (BotoCoreError, ClientError) as error:
        print(f"the role cannot be looked at: {error}", file=sys.stderr)
        return 2
    for sentence in wrong:
        print(f"{role['Arn']}: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
