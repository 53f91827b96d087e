"""Who lets what in: documents of rights, admission, policies of a network, certificates, monitoring."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, release, resource, thing, variables

BUCKET = "arn:aws:s3:::weights"


def document(action: str, *arns: str) -> Resource:
    statement = {"Effect": "Allow", "Action": action.split(), "Resource": list(arns)}
    return resource("aws:iam/rolePolicy:RolePolicy", "rights", role="pods", policy={"Statement": [statement]})


def of_role(count: int) -> tuple[Resource, Resource]:
    """A role, and a document of so many prefixes."""
    role = resource("aws:iam/role:Role", "pods", name="pods")
    return role, document("s3:GetObject", *(f"{BUCKET}/{number:04}/*" for number in range(count)))


def role(resources: list[str], *groups: str) -> Resource:
    rules = [{"apiGroups": list(groups), "resources": resources, "verbs": ["get"]}]
    return thing("rbac.authorization.k8s.io/v1", "ClusterRole", namespace="", rules=rules)


def quota(**hard: str) -> Resource:
    return thing("core/v1", "ResourceQuota", "quota", spec={"hard": {k.replace("_", "."): v for k, v in hard.items()}})


def bound(*actions: str, policy: str = "one") -> Resource:
    spec = {"policyName": policy, "validationActions": list(actions)}
    kind = "ValidatingAdmissionPolicyBinding"
    return thing("admissionregistration.k8s.io/v1", kind, "binding", namespace="", spec=spec)


def webhook(**more: Any) -> Resource:
    given = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    hook = {"name": "a.example.com", "clientConfig": {"service": {"namespace": "here", "name": "one"}}}
    kind = "ValidatingWebhookConfiguration"
    hooks = [{**hook, "rules": [given], **more}]
    return thing("admissionregistration.k8s.io/v1", kind, "hook", namespace="", webhooks=hooks)


def traffic(way: str, peer: dict[str, Any], port: int = 8080) -> Resource:
    key = {"ingress": "from", "egress": "to"}[way]
    spec = {"podSelector": {}, "policyTypes": [way.title()], way: [{key: [peer], "ports": [{"port": port}]}]}
    return thing("networking.k8s.io/v1", "NetworkPolicy", "policy", spec=spec)


def place(**labels: str) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {key.replace("__", "/"): value for key, value in labels.items()}}}


def issuer(server: str = "acme-v02.api.letsencrypt.org", solver: str = "http01") -> Resource:
    acme = {"server": f"https://{server}/directory", "solvers": [{solver: {}}]}
    return thing("cert-manager.io/v1", "Issuer", "ca", spec={"acme": acme})


def certificate(name: str = "a.example.com", **spec: str) -> Resource:
    return thing("cert-manager.io/v1", "Certificate", spec={"dnsNames": [name], "issuerRef": {"name": "ca"}, **spec})


def monitor(**endpoint: str) -> Resource:
    return thing("monitoring.coreos.com/v1", "ServiceMonitor", spec={"selector": {}, "endpoints": [endpoint]})


def alerts(receiver: str, *routes: str) -> Resource:
    route = {"receiver": receiver, "routes": [{"receiver": each} for each in routes]}
    config = {"route": route, "receivers": [{"name": "team"}, {"name": "on-call"}]}
    return release("kube-prometheus-stack", alertmanager={"config": config})


PODS = deployment({"ports": [{"containerPort": 8080}], "resources": {"requests": {"cpu": "1"}}})
SERVICE = thing("core/v1", "Service", spec={"selector": {"app": "one"}, "ports": [{"port": 80, "targetPort": 8080}]})
ADMISSION = thing("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", namespace="", spec={})
HERE = thing("core/v1", "Namespace", "here", namespace="", labels={"role": "a"})
DEFAULTS = thing("core/v1", "LimitRange", spec={"limits": []})
PEER = {"podSelector": {"matchLabels": {"app": "one"}}}

THERE = "actions_are_there"
MEETS, SIZE, GROUP = "actions_meet_their_resource", "documents_fit_their_role", "rights_name_their_group"
QUOTA, REFUSES, OWN = "quotas_are_of_what_pods_say", "admission_policies_refuse", "webhooks_let_their_own_pods_in"
PLACE, PORT = "policies_name_a_namespace", "policies_open_the_ports_of_pods"
ISSUED, TAKEN = "certificates_are_issued", "monitoring_is_accepted"
CLUSTER = resource("aws:eks/cluster:Cluster", "cluster")
READING = ("s3:ListBucket s3:GetObject", BUCKET, f"{BUCKET}/*")
WRITING = ("s3:ListBucket s3:PutObject", BUCKET, f"{BUCKET}/*")
CALLS, SAVES = "pods_may_do_what_they_call", "does not allow s3:PutObject on arn:aws:s3:::weights/run/*"


def calling(rights: tuple[str, ...], *args: str, **environment: str) -> tuple[Resource, ...]:
    """A pod with a role of these rights."""
    kind = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    given = resource(kind, "given", namespace="here", serviceAccount="writer", roleArn="pods")
    pod = deployment({"args": list(args), **variables(**environment)}, serviceAccountName="writer")
    return CLUSTER, resource("aws:iam/role:Role", "pods", name="pods"), document(*rights), given, pod


PROGRAMS = [
    Program(CALLS, calling(READING, CHECKPOINT_URI="s3://weights/run"), SAVES),
    Program(CALLS, calling(READING, "--output-dir=s3://weights/run"), SAVES),
    Program(CALLS, calling(READING, "aws s3 cp --recursive --region us-east-2 /saves s3://weights/run"), SAVES),
    Program(CALLS, calling(WRITING, "--output-dir=s3://weights/run", CHECKPOINT_URI="s3://weights/run")),
    Program(CALLS, calling(READING, "aws s3 cp --recursive s3://weights/run /data", MODEL="s3://weights/run")),
    Program(MEETS, (document("s3:GetObject", BUCKET),), "allows s3:GetObject on arn:aws:s3:::weights"),
    Program(MEETS, (document("s3:ListBucket", f"{BUCKET}/*"),), "allows s3:ListBucket on"),
    Program(MEETS, (document("s3:GetObject", BUCKET, f"{BUCKET}/*"),)),
    Program(MEETS, (document("s3:ListBucket", BUCKET), document("s3:Get*", BUCKET))),
    Program(SIZE, of_role(400), "characters of inline policies; IAM takes 10240"),
    Program(SIZE, of_role(200)),
    Program(GROUP, (role(["deployments"], ""),), "gives rights on deployments of [''], which are of 'apps'"),
    Program(GROUP, (role(["pods/exec"], "apps"),), "gives rights on pods/exec of ['apps']"),
    Program(GROUP, (role(["deployments", "pods"], "", "apps"), role(["widgets"], "example.com"))),
    Program(QUOTA, (quota(limits_cpu="100"), PODS), "says no limits.cpu in main, which quota counts"),
    Program(QUOTA, (quota(requests_cpu="100"), PODS)),
    Program(QUOTA, (quota(limits_cpu="100"), PODS, DEFAULTS)),
    Program(QUOTA, (quota(pods="100"), PODS)),
    Program(REFUSES, (ADMISSION,), "refuses nothing"),
    Program(REFUSES, (ADMISSION, bound("Audit")), "refuses nothing"),
    Program(REFUSES, (bound("Deny"),), "binds the policy one, which nothing creates"),
    Program(REFUSES, (ADMISSION, bound("Deny", "Audit"))),
    Program(OWN, (webhook(), SERVICE, PODS), "asks one about its own pods (a.example.com)"),
    Program(OWN, (webhook(failurePolicy="Ignore"), SERVICE, PODS)),
    Program(OWN, (webhook(namespaceSelector=place(role="b")["namespaceSelector"]), SERVICE, PODS, HERE)),
    Program(OWN, (webhook(objectSelector={"matchLabels": {"app": "two"}}), SERVICE, PODS)),
    Program(
        PLACE, (traffic("ingress", place(name="monitoring")), HERE), "names a namespace with {'name': 'monitoring'}"
    ),
    Program(PLACE, (traffic("egress", place(kubernetes__io="x", name="there")), HERE), "which none has"),
    Program(PLACE, (traffic("ingress", {"namespaceSelector": {"matchLabels": {"calls": "yes"}}}), HERE)),
    Program(PLACE, (traffic("ingress", {"namespaceSelector": {"matchLabels": {"role": "a"}}}), HERE)),
    Program(PORT, (traffic("egress", PEER, 80), SERVICE, PODS), "opens 80 of one, whose pods listen on 8080"),
    Program(PORT, (traffic("egress", PEER), SERVICE, PODS)),
    Program(PORT, (traffic("egress", {"podSelector": {"matchLabels": {"app": "two"}}}, 80), SERVICE, PODS)),
    Program(ISSUED, (issuer("acme-staging-v02.api.letsencrypt.org"),), "is the staging environment"),
    Program(ISSUED, (issuer(), certificate("*.example.com")), "which ca proves by HTTP: it is never issued"),
    Program(ISSUED, (certificate(duration="24h", renewBefore="48h"),), "is renewed 48h before its end, of 24h"),
    Program(ISSUED, (issuer(solver="dns01"), certificate("*.example.com", renewBefore="360h"))),
    Program(TAKEN, (monitor(interval="15s", scrapeTimeout="1m"),), "waits 1m for what it asks every 15s"),
    Program(TAKEN, (alerts("gone"),), "sends alerts to the receiver gone"),
    Program(TAKEN, (alerts("team", "gone"),), "sends alerts to the receiver gone"),
    Program(TAKEN, (monitor(interval="1m", scrapeTimeout="15s"), alerts("team", "on-call"))),
    Program(
        THERE, (document("s3:GetObjects", BUCKET),), "names s3:GetObjects, which is no action of s3; near it are Ge"
    ),
    Program(THERE, (document("s3:ListObjectsV2", BUCKET),), "names s3:ListObjectsV2, which is no action of s3"),
    Program(THERE, (document("kms:GenerateDatakeys*", "*"),), "names kms:GenerateDatakeys*, which is no action of kms"),
    Program(THERE, (document("s3:getobject", BUCKET), document("S3:List*", BUCKET), document("*", BUCKET))),
    Program(THERE, (document("sts:TagSession", "*"), document("ec2:NotListedHere", "*"))),
]
