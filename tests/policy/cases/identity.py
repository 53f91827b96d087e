"""Roles that the wrong service may take, that lack what is called, or that nobody's pods get."""

import json
from typing import Any

from policy.graph import UNKNOWN
from tests.graph.changes import MISSING, Change, both, gone, more, put, registered, unordered
from tests.policy.cases.case import Case

NODES, COPY = "node-role-role", "weights-llama-3-70b-copy"
IDENTITY = "weights-llama-3-70b-identity"
BACKUP = "run-llama-3-70b-pretrain-identity"
EBS = "service-addons-aws-ebs-csi-driver"
POD = "spec.template.spec"
WEIGHTS = "arn:aws:s3:::acme-model-weights"
OWN = "arn:aws:s3:::gpucluster-prod-artefacts-123456789012"
EFFECT = "roles_trust_who_takes_them"
HOLD = "roles_hold_what_eks_needs"
MEET = "associations_meet_their_accounts"
MAKE = "drivers_may_make_volumes"
OF_ADDON = "serviceAccountRoleArn"
CALL = "pods_may_do_what_they_call"
CNI = "node-addons-vpc-cni-identity-association"


def trust(role: str, service: str, *actions: str) -> Change:
    document = {"Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions)}]}
    return put(role, "assumeRolePolicy", json.dumps(document))


def allows(policy: str, *statements: dict[str, Any]) -> Change:
    """The document of a role, of these statements."""
    return put(policy, "policy", json.dumps({"Statement": [{"Effect": "Allow", **each} for each in statements]}))


def allows_role(role: str, *statements: dict[str, Any]) -> Change:
    """A role with a document of its own, of these statements."""
    document = json.dumps({"Statement": [{"Effect": "Allow", **each} for each in statements]})
    return put(role, "inlinePolicies", [{"name": "own", "policy": document}])


def own_key(name: str) -> Change:
    """Every container of the copy with this variable."""
    variable = [{"name": name, "value": "x"}]
    return both(*(put(COPY, f"{POD}.containers.{index}.env", variable) for index in (0, 1)))


LIST = {"Action": "s3:ListBucket", "Resource": WEIGHTS}
GET = {"Action": "s3:GetObject", "Resource": f"{WEIGHTS}/llama-3-70b/*"}
ON_OWN = [{"Action": "s3:ListBucket", "Resource": OWN}, {"Action": "s3:*Object", "Resource": f"{OWN}/*"}]
KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-779e6270dfac"

TRUST = [
    Case(EFFECT, trust(NODES, "eks.amazonaws.com", "sts:AssumeRole"), "does not let ec2.amazonaws.com"),
    Case(EFFECT, trust("cluster-role", "ec2.amazonaws.com", "sts:AssumeRole"), "does not let eks.amazonaws.com"),
    Case(EFFECT, trust(f"{IDENTITY}-role", "pods.eks.amazonaws.com", "sts:AssumeRole"), "take sts:TagSession"),
    Case(EFFECT, trust(f"{IDENTITY}-role", "ec2.amazonaws.com", "sts:AssumeRole"), "let pods.eks.amazonaws.com"),
    Case(EFFECT, trust(f"{IDENTITY}-role", "pods.eks.amazonaws.com", "sts:*"), None),
    Case(EFFECT, put("pool-training-nodes", "nodeRoleArn", "arn:aws:iam::123456789012:role/another"), None),
    Case(EFFECT, put(NODES, "assumeRolePolicy", UNKNOWN), None),
]
HELD = [
    Case(HOLD, gone("node-role-policy-worker"), "lacks AmazonEKSWorkerNodePolicy"),
    Case(HOLD, gone("node-role-policy-registry"), "lacks AmazonEC2ContainerRegistryPullOnly"),
    Case(HOLD, gone(CNI), "lacks AmazonEKS_CNI_Policy"),
    Case(HOLD, gone("cluster-role-policy"), "lacks AmazonEKSClusterPolicy"),
    Case(HOLD, both(gone(CNI), put("node-addons-vpc-cni", OF_ADDON, "arn")), None),
    Case(
        HOLD,
        both(gone(CNI), put("node-addons-kube-proxy", OF_ADDON, "arn")),
        "lacks AmazonEKS_CNI_Policy",
    ),
    Case(HOLD, put("node-role-policy-worker", "role", "another"), "lacks AmazonEKSWorkerNodePolicy"),
    Case(HOLD, unordered("pool-training-nodes", "node-role-policy-registry"), "created before its role has"),
    Case(
        HOLD,
        put("node-role-policy-registry", "policyArn", "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"),
        None,
    ),
    Case(
        HOLD,
        both(
            gone(CNI),
            more("cni", f"{IDENTITY}-association", namespace="kube-system", serviceAccount="aws-node"),
        ),
        None,
    ),
]
MET = [
    Case(
        MEET,
        both(
            put("pod-logs-identity-association", "namespace", "kube-system"),
            put("log-collector-release", "namespace", "kube-system"),
            put("log-collector-release", "values.serviceAccount.name", UNKNOWN),
        ),
        None,
    ),
    Case(MEET, put(f"{IDENTITY}-association", "namespace", "serving"), "in namespace serving, which nothing"),
    Case(MEET, put(f"{IDENTITY}-association", "serviceAccount", "weights"), "account weights in", preview=False),
    Case(MEET, gone(EBS), "which the add-on aws-ebs-csi-driver would make"),
    Case(MEET, more("again", f"{IDENTITY}-association"), "is the second association", preview=False),
    Case(
        MEET,
        put(f"{IDENTITY}-association", "namespace", "volcano-system"),
        None,
        preview=False,
    ),
]
VOLUMES = [
    Case(MAKE, gone(f"{EBS}-identity-association"), "has no association for ebs-csi-controller-sa"),
    Case(MAKE, put(f"{EBS}-identity-association", "namespace", "default"), "has no association for"),
    Case(
        MAKE, both(gone(f"{EBS}-identity-association"), put(EBS, "podIdentityAssociations", [{"roleArn": "x"}])), None
    ),
    Case(MAKE, put(f"{EBS}-identity-association", "roleArn", "arn:aws:iam::123456789012:role/another"), None),
    Case(MAKE, put(f"{EBS}-identity-policy-driver", "policyArn", UNKNOWN), None),
    Case(
        MAKE,
        both(
            gone(f"{EBS}-identity-policy-driver"),
            allows_role(f"{EBS}-identity-role", {"Action": ["ec2:*Volume"], "Resource": "*"}),
        ),
        None,
    ),
    Case(MAKE, gone(f"{EBS}-identity-policy-driver"), "neither AmazonEBSCSIDriverPolicy nor"),
    Case(
        MAKE,
        both(gone(f"{EBS}-identity-association"), put(EBS, "serviceAccountRoleArn", "arn:aws:iam::1:role/irsa")),
        None,
    ),
    Case(
        MAKE,
        put(
            f"{EBS}-identity-policy-driver",
            "policyArn",
            "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicyV2",
        ),
        None,
    ),
]
CALLED = [
    Case(CALL, gone(f"{IDENTITY}-association"), "has no pod identity association", preview=False),
    Case(CALL, put(COPY, f"{POD}.serviceAccountName", MISSING), "as default of", preview=False),
    Case(CALL, allows(f"{IDENTITY}-policy", LIST, GET), None),
    Case(CALL, allows(f"{IDENTITY}-policy", GET), f"does not allow s3:ListBucket on {WEIGHTS}", preview=False),
    Case(CALL, allows(f"{IDENTITY}-policy", LIST), "does not allow s3:GetObject on", preview=False),
    Case(CALL, allows(f"{IDENTITY}-policy", LIST, {**GET, "Action": "s3:PutObject"}), "s3:GetObject on", False),
    Case(CALL, allows(f"{IDENTITY}-policy", LIST, {**GET, "Resource": f"{WEIGHTS}/*"}), None),
    Case(CALL, allows(f"{IDENTITY}-policy", LIST, {**GET, "Resource": f"{WEIGHTS}/other/*"}), "on arn", False),
    Case(
        CALL,
        allows(f"{IDENTITY}-policy", {**LIST, "Condition": {"StringLike": {"s3:prefix": ["other/*"]}}}, GET),
        "s3:ListBucket",
        preview=False,
    ),
    Case(CALL, both(gone(f"{IDENTITY}-association"), own_key("AWS_ACCESS_KEY_ID")), None),
    Case(CALL, both(gone(f"{IDENTITY}-association"), own_key("AWS_REGION")), "has no pod identity", preview=False),
    Case(CALL, gone(f"{IDENTITY}-association", "cluster-control-plane"), None),
    Case(CALL, put(f"{IDENTITY}-association", "roleArn", "arn:aws:iam::123456789012:role/another"), None),
    Case(CALL, put(f"{IDENTITY}-policy", "policy", UNKNOWN), None),
    Case(CALL, gone(f"{IDENTITY}-policy"), "does not allow s3:ListBucket", preview=False),
    Case(CALL, allows(f"{BACKUP}-policy", *ON_OWN), f"kms:GenerateDataKey on {KEY}", preview=False),
    Case(CALL, allows(f"{BACKUP}-policy", *ON_OWN, {"Action": "kms:*", "Resource": KEY}), None),
    Case(CALL, allows(f"{BACKUP}-policy", *ON_OWN, {"Action": "kms:Decrypt", "Resource": KEY}), "kms:Gen", False),
    Case(
        CALL,
        both(
            gone(f"{IDENTITY}-policy"),
            registered(
                "attached",
                "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
                role=f"gpucluster-prod-{IDENTITY}",
                policyArn="arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess",
            ),
        ),
        None,
    ),
    Case(
        CALL,
        both(gone(f"{IDENTITY}-association"), put(COPY, f"{POD}.containers.0.args.0", "--no-sign-request")),
        "calls s3://acme-model-weights/llama-3-70b as",
        preview=False,
    ),
]

NARROW = [
    Case("rights_of_pods_are_narrow", allows(f"{IDENTITY}-policy", LIST, GET), None),
    Case("rights_of_pods_are_narrow", allows(f"{IDENTITY}-policy", {**GET, "Action": "s3:*"}), "allows s3:*"),
    Case("rights_of_pods_are_narrow", allows(f"{IDENTITY}-policy", {**GET, "Action": ["kms:*"]}), "allows kms:*"),
    Case(
        "rights_of_pods_are_narrow",
        allows(f"{IDENTITY}-policy", {**GET, "Resource": "arn:aws:s3:::*/x/*"}),
        "allows arn:aws:s3:::*/x/*",
    ),
    Case(
        "rights_of_pods_are_narrow",
        put(f"{EBS}-identity-policy-driver", "policyArn", "arn:aws:iam::aws:policy/AdministratorAccess"),
        "do anything",
    ),
    Case("rights_of_pods_are_narrow", put(f"{IDENTITY}-association", "serviceAccount", "default"), "every pod of"),
]

CASES = [*TRUST, *HELD, *MET, *VOLUMES, *CALLED, *NARROW]
