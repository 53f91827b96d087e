"""What the roles of the workflows' jobs may do at most, and what a policy allows beyond it.

An action of a policy may hold `*` (IAM user guide, "IAM JSON policy elements: Action"). One is within a pattern only if
all that it stands for is, so `iam:Create*` is not within `iam:*Role*`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SERVICES: Mapping[str, str] = {
    **{each: each for each in ("acm", "budgets", "cloudwatch", "ec2", "ecr", "eks", "fsx", "kms", "lambda", "route53")},
    **{each: each for each in ("s3", "scheduler", "secretsmanager", "sns", "sqs", "ssm")},
    "costexplorer": "ce",
    "efs": "elasticfilesystem",
    "vpc": "ec2",
}
"""Of the resources that the program registers, by the module of their types: how IAM calls the service. IAM's own is in
ROLES, for a right to make users or keys outlives the job that has it."""
_MORE = ("elasticloadbalancing", "events", "logs", "sts", "tag")
"""What the provider asks beside: log groups are `cloudwatch` to it, rules of events too, and it waits for balancers."""
_READS = ("Get*", "List*", "Describe*")
_WHOLE = sorted({*SERVICES.values(), *_MORE} - {"secretsmanager"})
_SCHEDULES = tuple(f"secretsmanager:{each}" for each in ("Describe*", "List*", "RotateSecret", "CancelRotateSecret"))
"""The program sets schedules of secrets and reads no secret, which `Get*` would."""
DEPLOY = (
    *(f"{each}:*" for each in _WHOLE),
    *_SCHEDULES,
    *(f"iam:{each}" for each in (*_READS, "Simulate*")),
)
"""`pulumi up` and `destroy`: any action of the services of what the program registers, and reads of IAM."""
ROLES = ("iam:*Role*", "iam:*InstanceProfile*")
"""What the program registers of IAM, with what services make and are passed. On any role they would be the right to
everything: its holder attaches AdministratorAccess to the role that it has. None of them is about a user or a group."""
STATE = ("s3:PutObject", "s3:DeleteObject", "kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*")
"""Locks in the state's bucket, and the key that its secrets are sealed with: of what is named, never of `*`."""
LOOK = (
    *(f"{each}:{read}" for each in (*_WHOLE, "iam") for read in _READS),
    *_SCHEDULES[:2],
    *("iam:Simulate*", "tag:Get*", "s3:HeadBucket", "s3:HeadObject"),
)
"""`pulumi preview --refresh` and `make trust`."""
PUSH = (
    "ecr:GetAuthorizationToken",
    *(f"ecr:{each}" for each in ("BatchCheckLayerAvailability", "BatchGetImage", "GetDownloadUrlForLayer")),
    *(f"ecr:{each}" for each in ("InitiateLayerUpload", "UploadLayerPart", "CompleteLayerUpload", "PutImage")),
    *("ecr:Describe*", "ecr:List*", "kms:Sign", "kms:GetPublicKey", "kms:DescribeKey"),
    *("iam:GetRole", "iam:GetRolePolicy", "iam:GetPolicy*", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies"),
)
"""Pushing and signing an image (ECR user guide, "IAM permissions for pushing an image"), and `make trust`."""
_ANY = re.compile(r"(?:arn:[^:]*:[^:]*:[^:]*:[^:]*:(?:(?:role|instance-profile|key|alias)/)?)?[*?/]*")
"""A resource that names nothing, such as `*`, `arn:aws:iam::123456789012:role/*` and `arn:aws:s3:::*`."""
READ_ONLY = re.compile(r"arn:aws[\w-]*:iam::aws:policy/ReadOnlyAccess")
"""AWS' own policy, with thousands of actions of all services, none of which changes anything."""


@dataclass(frozen=True)
class Job:
    """What a job does, in a sentence's words, and what its role may be allowed: anywhere, and of what it names, which
    `names` says.
    """

    words: str
    allowed: tuple[str, ...]
    named: tuple[str, ...] = ()
    names: str = ""

    @property
    def reads(self) -> bool:
        """Whether AWS' ReadOnlyAccess is no more than it needs."""
        return self.words == "looks"


JOBS: Mapping[str, Job] = {
    "deploy": Job(
        "deploys", DEPLOY, ROLES, "the stack's roles, such as arn:aws:iam::123456789012:role/gpucluster-prod-*"
    ),
    "look": Job("looks", LOOK, STATE, "the state's bucket or key"),
    "images": Job("pushes images", PUSH),
}


def beyond(job: Job, document: Mapping[str, Any]) -> Iterator[str]:
    """Where a policy allows more than the job needs: the place, the action, and what to do."""
    for index, statement in enumerate(listed(document.get("Statement"))):
        if statement.get("Effect") != "Allow":
            continue
        place = f"Statement[{index}]"
        if "NotAction" in statement:
            yield f"{place}.NotAction: it allows all that it does not name; write the job's own as Action"
        anywhere = "Resource" not in statement or any(_ANY.fullmatch(each) for each in listed(statement["Resource"]))
        for action in listed(statement.get("Action")):
            if _within(action, job.allowed):
                continue
            if not _within(action, job.named):
                yield f"{place}.Action: {action}: a job that {job.words} needs no such right; remove it"
            elif anywhere:
                yield f"{place}.Action: {action}: of anything; write {job.names} as Resource"


def listed(value: Any) -> list[Any]:
    """One or several, as IAM's documents have them."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _within(action: str, patterns: tuple[str, ...]) -> bool:
    """Whether all that the action stands for is in one of the patterns. Case counts for nothing in IAM."""
    return any(fnmatchcase(action.lower(), each.lower()) for each in patterns)
