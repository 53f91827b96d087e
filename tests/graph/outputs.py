"""What AWS and Kubernetes would add to a resource's inputs: enough for the program to go on, and true to form."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws import sdk, table
from rehearsal.plugins.aws.checking import expected
from rehearsal.plugins.aws.row import FIELD
from rehearsal.plugins.aws.shapes import fold
from rehearsal.plugins.wire import UNKNOWN

ACCOUNT = "123456789012"
CALLER = f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/session"

FORMS = {
    "internetgateway": "igw",
    "eip": "eipalloc",
    "natgateway": "nat",
    "routetable": "rtb",
    "routetableassociation": "rtbassoc",
    "vpcendpoint": "vpce",
    "securitygroup": "sg",
    "securitygroupingressrule": "sgr",
    "securitygroupegressrule": "sgr",
    "launchtemplate": "lt",
    "lustrefilesystem": "fs",
    "filesystem": "fs",
    "mounttarget": "fsmt",
    "accesspoint": "fsap",
    "capacityreservation": "cr",
    "podidentityassociation": "a",
    "key": "1234abcd-12ab-34cd-56ef",
}
"""How ids begin that AWS makes up, where it is not with the type's name: other services' models look at some."""
TEXTS = {
    "endpoint": "https://0123456789ABCDEF.gr7.us-east-2.eks.amazonaws.com",
    "data": "LS0tLS1CRUdJTg==",
    "dnsname": "{id}.fsx.us-east-2.amazonaws.com",
    "mountname": "abcdefgh",
    "publicip": "203.0.113.7",
    "modifiedat": "2026-01-01T00:00:00Z",
    "createdate": "2026-01-01T00:00:00Z",
}
"""Outputs whose form somebody may look at; any other is its name and the resource's."""

GLOBAL_ARNS = {"aws:iam/role:Role": "arn:{partition}:iam::{account}:role/{id}"}
"""ARNs of what has no region; other services' models look at their form."""

ADMIN_CONF = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "gpucluster-metal",
                "cluster": {"server": "https://10.20.3.250:6443", "certificate-authority-data": "LS0tLS1CRUdJTg=="},
            }
        ],
        "contexts": [{"name": "admin", "context": {"cluster": "gpucluster-metal", "user": "kubernetes-admin"}}],
        "current-context": "admin",
        "users": [{"name": "kubernetes-admin", "user": {"client-key-data": "c2VjcmV0"}}],
    }
)
"""What kubeadm leaves at /etc/kubernetes/admin.conf."""

Inputs = Mapping[str, Any]


def outputs_of(token: str, name: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    """Id and further outputs of a resource.

    Raises PluginError for an AWS type without a row in the rehearsal's plugin, KeyError for any other unknown type.
    """
    if token.startswith("pulumi:providers:"):
        return _digest(name, 8), {}
    if token.startswith("aws:"):
        return _aws(token, name, inputs)
    if token == "command:remote:Command":
        return _digest(name, 8), {"stdout": ADMIN_CONF if inputs["create"].endswith("admin.conf") else "", "stderr": ""}
    if token == "kubernetes:helm.sh/v3:Release":
        return f"{inputs['namespace']}/{inputs['name']}", {"status": {"status": "deployed"}}
    if token.startswith("kubernetes:"):
        return _kubernetes(name, inputs)
    raise KeyError(f"{token} is unknown to tests/graph/outputs.py; say there what its provider returns")


def _aws(token: str, name: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    """What the plugin's row leaves to AWS: an id, unless inputs make it, and a value of its form for every output."""
    row, schema = table.row(token), sdk.schema(token)
    assert schema
    kind = token.rpartition(":")[2].lower()
    template = row.id if isinstance(row.id, str) else ""
    made = hex_id(FORMS.get(kind, kind), name)
    values = {field: str(inputs.get(field, made)) for field in FIELD.findall(template + row.arn)}
    identity = FIELD.sub(lambda found: values[found[1]], template) or made
    values |= {"id": identity, "account": ACCOUNT, "partition": "aws", "region": "us-east-2"}
    arn = row.arn or GLOBAL_ARNS.get(token) or f"arn:{{partition}}:{row.service}:{{region}}:{{account}}:{kind}/{{id}}"
    own = {fold(field): values[field] for field in FIELD.findall(template)} | {
        "arn": FIELD.sub(lambda found: values[found[1]], arn),
        "clustersecuritygroupid": hex_id("sg", identity),
        **{key: text.format(id=identity) for key, text in TEXTS.items()},
    }

    def filled(type_: sdk.Type, value: Any, key: str) -> Any:
        """A value of this type for what is unknown; what is known stays."""
        if isinstance(value, Mapping):
            return {inner: filled(type_.fields[inner], item, inner) for inner, item in value.items()}
        if value != UNKNOWN:
            return value
        match type_.kind:
            case "object":
                return {inner: filled(below, UNKNOWN, inner) for inner, below in type_.fields.items()}
            case "list":
                return [filled(type_.element, UNKNOWN, key)] if type_.element else []
            case "integer" | "number":
                return 1
            case "boolean":
                return False
            case "string":
                return own.get(fold(key)) or f"{key}-{name}"
        return {}

    left = {key: value for key, value in expected(row, schema, inputs).items() if inputs.get(key) != value}
    if token == "aws:acm/certificate:Certificate":
        left["domainValidationOptions"] = [_validation(each) for each in _names(inputs)]
    return identity, {key: filled(schema.outputs[key], value, key) for key, value in left.items()}


def _names(inputs: Inputs) -> list[str]:
    return sorted({str(inputs.get("domainName", "")), *inputs.get("subjectAlternativeNames", ())})


def _validation(hostname: str) -> dict[str, str]:
    """What ACM wants to see for a name (ACM user guide, "AWS Certificate Manager DNS validation")."""
    return {
        "domainName": hostname,
        "resourceRecordName": f"_{_digest(hostname, 32)}.{hostname}.",
        "resourceRecordType": "CNAME",
        "resourceRecordValue": f"_{_digest(hostname[::-1], 32)}.jkddzztszm.acm-validations.aws.",
    }


def hex_id(prefix: str, name: str) -> str:
    """An id of EC2's form, the same for the same name: prefix and 17 hex digits; 12 complete a UUID."""
    return f"{prefix}-{_digest(name, 12 if len(prefix) > 20 else 17)}"


def _digest(name: str, digits: int) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:digits]


def _kubernetes(name: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    metadata = dict(inputs.get("metadata") or {})
    metadata.setdefault("name", name)
    metadata["uid"] = hashlib.sha256(json.dumps(metadata, sort_keys=True, default=str).encode()).hexdigest()[:32]
    namespace = metadata.get("namespace")
    identity = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    return identity, {"metadata": metadata}


INVOKES: dict[str, dict[str, Any]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": {
        "accountId": ACCOUNT,
        "arn": CALLER,
        "id": ACCOUNT,
        "userId": "AROAEXAMPLE:session",
    },
    "aws:index/getAvailabilityZone:getAvailabilityZone": {"name": "us-east-2a", "zoneId": "use2-az1"},
    "aws:index/getPartition:getPartition": {
        "partition": "aws",
        "dnsSuffix": "amazonaws.com",
        "id": "aws",
        "reverseDnsPrefix": "com.amazonaws",
    },
    "aws:eks/getClusters:getClusters": {"id": "us-east-2", "names": ["another"]},
    "aws:ssm/getParameter:getParameter": {"insecureValue": "ami-0123456789abcdef0", "type": "String", "version": 3},
    "aws:cloudwatch/getLogGroups:getLogGroups": {"id": "us-east-2", "arns": [], "logGroupNames": []},
    "aws:iam/getSessionContext:getSessionContext": {
        "arn": CALLER,
        "id": CALLER,
        "issuerArn": f"arn:aws:iam::{ACCOUNT}:role/deployer",
        "issuerId": "AROAEXAMPLE",
        "issuerName": "deployer",
        "sessionName": "session",
    },
    "pulumi:pulumi:readStackOutputs": {"outputs": {}},
}
