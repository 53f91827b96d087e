"""Flow logs: the role that they are delivered by, and where to.

Sources: EC2 API reference, CreateFlowLogs; VPC user guide, "IAM role for publishing flow logs to CloudWatch Logs" and
"Troubleshoot VPC Flow Logs" (a delivery that may not write is FAILED, "Access error"); terraform-provider-aws,
internal/service/ec2/vpc_flow_log.go, for the words with which EC2 refuses a role that the service cannot assume.
"""

import json
from fnmatch import fnmatchcase
from typing import Any

from moto.ec2.models import EC2Backend

from rehearsal.cloud.account import logs
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.use import forget_tags
from rehearsal.cloud.iam import role_by_arn, trusts

AMENDMENTS = Amendments()

SERVICE = "vpc-flow-logs.amazonaws.com"
NEEDED = ("logs:CreateLogStream", "logs:PutLogEvents")
TRAFFIC = frozenset({"ACCEPT", "REJECT", "ALL"})


@AMENDMENTS.around(EC2Backend, "create_flow_logs")
def create_flow_logs(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The service must be able to assume the role; moto takes any text for one, and finds groups by name alone."""
    if kwargs["traffic_type"] not in TRAFFIC:
        message = f"Value ({kwargs['traffic_type']}) for parameter trafficType is invalid."
        raise refusal("InvalidParameterValue", message)
    destination = kwargs["log_destination"]
    if (kwargs["log_destination_type"] or "cloud-watch-logs") != "cloud-watch-logs":
        return original(self, *args, **kwargs)
    role = role_by_arn(kwargs["deliver_logs_permission_arn"] or "")
    if role is None or not trusts(role, SERVICE, "sts:AssumeRole"):
        raise refusal("InvalidParameter", "Unable to assume given IAM role")
    name = kwargs["log_group_name"] or str(destination).split(":log-group:")[-1].removesuffix(":*")
    made, failed = original(self, *args, **{**kwargs, "log_group_name": name})
    for flow_log in made:
        if name not in logs(self.region_name).groups or not _may_write(role, name):
            flow_log.deliver_logs_status, flow_log.deliver_logs_error_message = "FAILED", "Access error"
    return made, failed


@AMENDMENTS.around(EC2Backend, "delete_flow_logs")
def delete_flow_logs(original: Any, self: Any, flow_log_ids: list[str]) -> None:
    """Their tags go with them."""
    original(self, flow_log_ids)
    forget_tags(self, *flow_log_ids)


def _may_write(role: Any, group: str) -> bool:
    """Whether the role's own policies let it make streams of that group and write to them."""
    statements = [
        statement
        for document in role.policies.values()
        for statement in _listed(json.loads(document)["Statement"])
        if statement["Effect"] == "Allow"
    ]
    return all(any(_covers(each, action, group) for each in statements) for action in NEEDED)


def _covers(statement: dict[str, Any], action: str, group: str) -> bool:
    actions, resources = _listed(statement["Action"]), _listed(statement["Resource"])
    of_group = any(each == "*" or each.removesuffix(":*").endswith(f":log-group:{group}") for each in resources)
    return of_group and any(fnmatchcase(action, pattern) for pattern in actions)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
