"""NetworkPolicies around jobs, servers and operators."""

from typing import Any

from policy.graph import UNKNOWN, Resource
from tests.policy.programs.form import Program, deployment, release, thing, training
from tests.policy.programs.services import HTTP, hook, service

DNS, GANG, API, SERVED, DENY = (
    "policies_leave_dns",
    "policies_leave_the_gang",
    "policies_leave_the_api",
    "policies_leave_services",
    "namespaces_deny_by_default",
)
JOB = {"matchLabels": {"training.kubeflow.org/job-name": "one"}}
SYSTEM = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
BOTH = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
RESOLVE = {"to": [SYSTEM], "ports": BOTH}
ITSELF = [{"podSelector": JOB}]
EVERYONE = {"ipBlock": {"cidr": "0.0.0.0/0"}}


def policy(selector: Any = None, name: str = "policy", **spec: Any) -> Resource:
    """A NetworkPolicy of all pods, or of those selected."""
    kinds = [way for way, key in (("Ingress", "ingress"), ("Egress", "egress")) if key in spec]
    given = {"podSelector": selector or {}, "policyTypes": kinds, **spec}
    return thing("networking.k8s.io/v1", "NetworkPolicy", name, spec=given)


def rights(account: str = "one") -> Resource:
    """Rights of a service account."""
    subjects = [{"kind": "ServiceAccount", "namespace": "here", "name": account}]
    return thing("rbac.authorization.k8s.io/v1", "RoleBinding", "rights", subjects=subjects)


def out(*rules: Any) -> Resource:
    """A policy of the job's pods, whose egress is these rules."""
    return policy(JOB, egress=list(rules))


SERVER = deployment(HTTP, serviceAccountName="one")
NAMES = [
    Program(DNS, (out(), training()), "without UDP port 53"),
    Program(DNS, (policy(egress=[]), training()), "without UDP port 53"),
    Program(DNS, (out({"to": ITSELF}), training()), "without UDP port 53"),
    Program(DNS, (out({"to": [SYSTEM], "ports": BOTH[:1]}), training()), "without TCP port 53"),
    Program(DNS, (out({"to": [SYSTEM], "ports": BOTH[1:]}), training()), "without UDP port 53"),
    Program(
        DNS,
        (out({"to": [{"namespaceSelector": {"matchLabels": {"name": "kube-system"}}}], "ports": BOTH}), training()),
        "without UDP port 53",
    ),
    Program(
        DNS, (out({"to": [{"podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}], "ports": BOTH}),), "without UDP"
    ),
    Program(DNS, (out({"ports": [{"port": 443}]}), training()), "without UDP port 53"),
    Program(DNS, (policy(egress=[]), release("some-chart", namespace="here")), "without UDP port 53"),
    Program(DNS, (out(RESOLVE), training())),
    Program(DNS, (out({}), training())),
    Program(DNS, (out({"to": ITSELF}), policy(name="names", egress=[RESOLVE]), training())),
    Program(DNS, (policy(JOB, ingress=[]), training())),
    Program(
        DNS,
        (
            out(
                {
                    "to": [{**SYSTEM, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}],
                    "ports": [{"protocol": "UDP", "port": 1, "endPort": 100}, {"port": 53}],
                }
            ),
            training(),
        ),
    ),
    Program(DNS, (out({"to": [{"ipBlock": {"cidr": "169.254.20.10/32"}}], "ports": BOTH}), training())),
]
WITHIN = [
    Program(GANG, (policy(ingress=[]), training()), "ingress is closed"),
    Program(GANG, (out(RESOLVE), training()), "egress is closed"),
    Program(GANG, (policy(JOB, ingress=[{"from": ITSELF, "ports": [{"port": 23456}]}]), training()), "on all ports"),
    Program(
        GANG,
        (policy(JOB, ingress=[{"from": [{"podSelector": {"matchLabels": {"app": "other"}}}]}]), training()),
        "ingress is closed",
    ),
    Program(
        GANG,
        (
            policy(
                JOB,
                ingress=[
                    {"from": [{"podSelector": {"matchLabels": {"training.kubeflow.org/replica-type": "worker"}}}]}
                ],
            ),
            training(),
        ),
        "Master",
    ),
    Program(GANG, (policy(JOB, ingress=[{"from": ITSELF}], egress=[{"to": ITSELF}, RESOLVE]), training())),
    Program(GANG, (policy(JOB, ingress=[{"from": [{"podSelector": {}}]}]), training())),
    Program(GANG, (policy(JOB, ingress=[{"from": ITSELF, "ports": [{"port": 1, "endPort": 65535}]}]), training())),
    Program(GANG, (policy({"matchLabels": {"app": "other"}}, ingress=[]), training())),
    Program(GANG, (policy(ingress=[]), training(workers=0))),
    Program(GANG, (policy(ingress=[]), policy(JOB, "own", ingress=[{"from": ITSELF}]), training())),
]
ASKED = [
    Program(API, (policy(ingress=[]), hook(), service(), SERVER), "closed to the API server at http"),
    Program(
        API,
        (policy(ingress=[{"from": [{"namespaceSelector": {}}]}]), hook(), service(), SERVER),
        "closed to the API server",
    ),
    Program(API, (policy(ingress=[{"ports": [{"port": 9000}]}]), hook(), service(), SERVER), "closed to the API"),
    Program(API, (policy(egress=[RESOLVE]), rights(), SERVER), "cannot reach it"),
    Program(API, (policy(egress=[{"to": [SYSTEM], "ports": [{"port": 443}]}]), rights(), SERVER), "cannot reach it"),
    Program(API, (policy(ingress=[{"ports": [{"port": 8000}]}]), hook(), service(), SERVER)),
    Program(API, (policy(egress=[{"to": [EVERYONE], "ports": [{"port": 443}]}]), rights(), SERVER)),
    Program(API, (policy(egress=[RESOLVE]), rights("other"), SERVER)),
    Program(SERVED, (policy(ingress=[]), service(), SERVER), "admit nobody at http"),
    Program(SERVED, (policy(ingress=[{"ports": [{"port": 9000}]}]), service(), SERVER), "admit nobody at http"),
    Program(SERVED, (policy(ingress=[{"ports": [{"port": "http"}]}]), service(), SERVER)),
    Program(SERVED, (policy(ingress=[{"from": [EVERYONE]}]), service(), SERVER)),
]
UNTYPED = thing("networking.k8s.io/v1", "NetworkPolicy", "policy", spec={"podSelector": {}})
EGRESS = thing("networking.k8s.io/v1", "NetworkPolicy", "policy", spec={"podSelector": {}, "egress": []})
INGRESS = thing("networking.k8s.io/v1", "NetworkPolicy", "policy", spec={"podSelector": {}, "policyTypes": ["Ingress"]})
THERE = thing("networking.k8s.io/v1", "NetworkPolicy", "policy", namespace="there", spec={"podSelector": {}})
BLOCK = {"ipBlock": {"cidr": "10.0.0.0/8"}}
NAMED = thing("core/v1", "Namespace", "kube-system", namespace="", labels={"name": "kube-system"})
VOLCANO = release("volcano", namespace="here")
BESIDE = [
    Program(DNS, (UNTYPED, training())),
    Program(DNS, (EGRESS, training()), "without UDP port 53"),
    Program(DNS, (out({"to": [BLOCK]}), training()), "without UDP port 53"),
    Program(DNS, (out({"to": [EVERYONE]}), training())),
    Program(
        DNS, (out({"to": [{"ipBlock": {**EVERYONE["ipBlock"], "except": ["10.0.0.0/8"]}}]}),), "without UDP port 53"
    ),
    Program(DNS, (out({"to": [SYSTEM], "ports": [{"protocol": "UDP"}, {"protocol": "TCP"}]}), training())),
    Program(
        DNS,
        (out({"to": [{"namespaceSelector": {"matchLabels": {"name": "kube-system"}}}], "ports": BOTH}), NAMED),
    ),
    Program(
        DNS, (out({"to": ITSELF}), policy({"matchLabels": {"app": "x"}}, "names", egress=[RESOLVE])), "without UDP"
    ),
    Program(GANG, (UNTYPED, training()), "ingress is closed"),
    Program(GANG, (INGRESS, training()), "ingress is closed"),
    Program(GANG, (THERE, training())),
    Program(GANG, (policy(JOB, ingress=[{"from": [BLOCK]}]), training()), "ingress is closed"),
    Program(
        GANG, (policy(JOB, ingress=[{"from": ITSELF, "ports": [{"port": 1, "endPort": 3000}]}]), training()), "closed"
    ),
    Program(
        GANG, (policy(JOB, ingress=[{"from": ITSELF, "ports": [{"port": "all"}]}]), training()), "ingress is closed"
    ),
    Program(API, (hook(), service(), SERVER)),
    Program(API, (policy(egress=[RESOLVE]), VOLCANO), "close egress to the API server"),
    Program(API, (policy(ingress=[{"from": [SYSTEM]}]), VOLCANO), "close ingress to the API server"),
    Program(API, (policy(ingress=[{}], egress=[{}]), VOLCANO)),
    Program(API, (policy(ingress=[], egress=[]), release("some-chart", namespace="here"))),
    Program(API, (policy({"matchLabels": {"app": "x"}}, ingress=[], egress=[]), VOLCANO)),
    Program(API, (rights(), SERVER)),
    Program(API, (policy(egress=[{"to": [EVERYONE], "ports": [{"port": 80}]}]), rights(), SERVER), "cannot reach it"),
    Program(SERVED, (service(), SERVER)),
]
HERE = thing("core/v1", "Namespace", "here", namespace="")
CLOSED = policy(ingress=[], egress=[])
ELSEWHERE = thing(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    "policy",
    namespace="there",
    spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
)
PEOPLE = thing("rbac.authorization.k8s.io/v1", "RoleBinding", "people", subjects=[{"kind": "Group", "name": "team"}])
NEITHER, NOT_IN, NOT_OUT = "allows no ingress and no egress", "allows no ingress", "allows no egress"
DENIED = [
    Program(DENY, (HERE, training()), NEITHER),
    Program(DENY, (HERE, ELSEWHERE, training()), NEITHER),
    Program(DENY, (HERE, policy(JOB, ingress=[], egress=[]), training()), NEITHER),
    Program(
        DENY, (HERE, policy({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, ingress=[]), SERVER), NEITHER
    ),
    Program(DENY, (HERE, policy(egress=[]), training()), NOT_IN),
    Program(DENY, (HERE, UNTYPED, training()), NOT_OUT),
    Program(DENY, (HERE, policy(ingress=[{}], egress=[]), training()), NOT_IN),
    Program(DENY, (HERE, policy(ingress=[], egress=[RESOLVE]), training()), NOT_OUT),
    Program(DENY, (HERE, VOLCANO), NEITHER),
    Program(DENY, (HERE, PEOPLE), NEITHER),
    Program(DENY, (HERE, CLOSED, training())),
    Program(DENY, (HERE, policy(ingress=[]), policy(egress=[], name="out"), training())),
    Program(DENY, (HERE, CLOSED, policy(JOB, "own", ingress=[{}]), training())),
    Program(DENY, (HERE,)),
    Program(DENY, (HERE, rights())),
    Program(DENY, (HERE, deployment(HTTP, hostNetwork=True))),
    Program(DENY, (training(),)),
    Program(
        DENY,
        (HERE, thing("networking.k8s.io/v1", "NetworkPolicy", namespace=UNKNOWN, spec=CLOSED.inputs["spec"]), VOLCANO),
    ),
]
PROGRAMS = [*NAMES, *WITHIN, *ASKED, *BESIDE, *DENIED]
