"""What leads to pods and what keeps them: Services, probes, webhooks, monitors, budgets, selectors."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, release, template, thing, training

LEAD, LISTEN, REACH = "services_lead_to_pods", "containers_listen_where_asked", "requests_reach_a_service"
MONITOR, BUDGET, OWN = "monitors_find_their_service", "budgets_let_nodes_drain", "controllers_know_their_pods"
HTTP = {"ports": [{"name": "http", "containerPort": 8000}]}
ONE = {"app": "one"}


def service(selector: Any = None, target: Any = "http", labels: Any = None, **spec: Any) -> Resource:
    """A Service of one port, 80, named web."""
    ports = [{"name": "web", "port": 80, **({"targetPort": target} if target else {})}]
    given = {"selector": selector or ONE, "ports": ports, **spec}
    return thing("core/v1", "Service", "service", labels=labels or {"app": "service"}, spec=given)


def hook(name: str = "service", port: int = 80, namespace: str = "here") -> Resource:
    """A webhook that asks a Service."""
    asked = {"service": {"name": name, "namespace": namespace, "port": port}}
    webhooks = [{"name": "check", "clientConfig": asked}]
    return thing("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hook", "", webhooks=webhooks)


def ingress(name: str, /, **port: Any) -> Resource:
    """An Ingress that leads to a Service."""
    paths = [{"backend": {"service": {"name": name, "port": port}}}]
    return thing("networking.k8s.io/v1", "Ingress", spec={"rules": [{"http": {"paths": paths}}]})


def monitor(selector: Any, port: str = "web", **spec: Any) -> Resource:
    """A ServiceMonitor."""
    given = {"selector": {"matchLabels": selector}, "endpoints": [{"port": port}], **spec}
    return thing("monitoring.coreos.com/v1", "ServiceMonitor", "monitor", spec=given)


def budget(selector: Any = None, name: str = "budget", **spec: Any) -> Resource:
    """A disruption budget."""
    given = {"selector": {"matchLabels": selector or ONE}, **spec}
    return thing("policy/v1", "PodDisruptionBudget", name, spec=given)


def asked(port: Any, **more: Any) -> dict[str, Any]:
    """A container that is asked on a port."""
    return {"livenessProbe": {"httpGet": {"path": "/", "port": port}}, **HTTP, **more}


def labelled(selector: Any, labels: Any, name: str = "one") -> Resource:
    """A Deployment of this selector and these labels."""
    spec = {"selector": selector, "template": template(labels=labels)}
    return thing("apps/v1", "Deployment", name, spec=spec)


SECOND = labelled({"matchLabels": {"app": "two"}}, {"app": "two"}, "two")
NAME_IN = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["one", "two"]}]}
SCALER = thing(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    spec={"scaleTargetRef": {"kind": "Deployment", "name": "one"}, "minReplicas": 1, "maxReplicas": 4},
)
API = {"group": "x", "service": {"namespace": "here", "name": "other"}}
SET = {"selector": {"matchLabels": ONE}, "replicas": 2, "template": template()}
ELSEWHERE = thing("apps/v1", "Deployment", "two", namespace="there", spec=SET)
SCALER_OF_ANOTHER = thing(
    "autoscaling/v2", "HorizontalPodAutoscaler", spec={"scaleTargetRef": {"kind": "Deployment", "name": "two"}}
)
PLACE = thing("core/v1", "Namespace", "here", namespace="")
PROGRAMS = [
    Program(LEAD, (service({"app": "two"}), deployment(HTTP)), "which no template in here has"),
    Program(LEAD, (service({"app": "one", "tier": "web"}), deployment(HTTP)), "which no template in here has"),
    Program(LEAD, (service(target="grpc"), deployment(HTTP)), "port grpc of one, which declares http 8000"),
    Program(LEAD, (service(target=9000), deployment(HTTP)), "leads to the port 9000"),
    Program(LEAD, (service(target=None), deployment(HTTP)), "leads to the port 80"),
    Program(LEAD, (service(), deployment()), "which declares none"),
    Program(LEAD, (service(), deployment(HTTP))),
    Program(LEAD, (service(target=8000), deployment(HTTP))),
    Program(LEAD, (service(target=8000), deployment())),
    Program(LEAD, (service({"app": "two"}), release("some-chart", namespace="here"))),
    Program(LEAD, (service({"app": "two"}), thing("ceph.rook.io/v1", "CephCluster", spec={}))),
    Program(LEAD, (service({"training.kubeflow.org/job-name": "one"}, target=None), training())),
    Program(LEAD, (service({"app": "two"}, type="ExternalName"), deployment(HTTP))),
    Program(LEAD, (service({"app": "two"}), PLACE), "which no template in here has"),
    Program(LEAD, (service({"app": "two"}),)),
    Program(LISTEN, (deployment({"args": ["--port=9000"], **HTTP}),), "listens on 9000 and declares 8000"),
    Program(LISTEN, (deployment({"args": ["--port", "9000"], **HTTP}),), "listens on 9000"),
    Program(LISTEN, (deployment(asked("web")),), "on the port web, which main does not declare"),
    Program(LISTEN, (deployment(asked(9000, args=["--port=8000"])),), "on 9000 and listens on 8000"),
    Program(LISTEN, (deployment(asked("http", args=["--port=8000"])),)),
    Program(
        LISTEN,
        (deployment({**asked(9000, args=["--host=127.0.0.1", "--port=9000"]), "ports": []}),),
        "on 9000 and listens on 9000 of its loopback",
    ),
    Program(LISTEN, (deployment({**asked(8000, args=["--host=127.0.0.1", "--port=9000"]), "ports": []}, HTTP),)),
    Program(LISTEN, (deployment(asked(8081)),)),
    Program(REACH, (hook("other"), service(), deployment(HTTP)), "names the Service other in here"),
    Program(REACH, (hook(namespace="there"), service(), PLACE), "names the Service service in there"),
    Program(REACH, (hook(port=443), service()), "names port 443 of the Service service"),
    Program(REACH, (ingress("service", number=8000), service()), "port 8000 of the Service"),
    Program(REACH, (ingress("service", name="http"), service()), "port http of the Service"),
    Program(REACH, (hook(), service())),
    Program(REACH, (hook(namespace="there"), service())),
    Program(REACH, (ingress("service", name="web"), service())),
    Program(REACH, (hook("of-a-chart"), release("some-chart", namespace="here"))),
    Program(MONITOR, (monitor({"app": "other"}), service()), "selects no Service in here"),
    Program(MONITOR, (monitor({"app": "service"}, port="http"), service()), "asks for the port http"),
    Program(MONITOR, (monitor({"app": "service"}), service())),
    Program(MONITOR, (monitor({"app": "x"}, namespaceSelector={"any": True}), service())),
    Program(BUDGET, (budget(maxUnavailable=0), deployment(replicas=3)), "allows no disruption of 3 pods"),
    Program(BUDGET, (budget(minAvailable=1), deployment(replicas=1)), "allows no disruption of 1 pods (1)"),
    Program(BUDGET, (budget(minAvailable=1), deployment()), "allows no disruption of 1 pods"),
    Program(BUDGET, (budget(minAvailable=3), deployment(replicas=3)), "allows no disruption of 3 pods"),
    Program(BUDGET, (budget(minAvailable="100%"), deployment(replicas=3)), "allows no disruption of 3 pods"),
    Program(BUDGET, (budget(minAvailable="50%"), deployment(replicas=1)), "allows no disruption of 1 pods"),
    Program(BUDGET, (budget(minAvailable=1), deployment(), SCALER), "allows no disruption of 1 pods"),
    Program(BUDGET, (budget({"app": "two"}, maxUnavailable=1), deployment()), "selects no pod in here"),
    Program(
        BUDGET,
        (budget(maxUnavailable=1), budget(name="again", maxUnavailable=1), deployment(replicas=3)),
        "which budget selects too",
    ),
    Program(BUDGET, (budget(maxUnavailable=1), deployment(replicas=1))),
    Program(BUDGET, (budget(minAvailable="50%"), deployment(replicas=3))),
    Program(BUDGET, (budget({"app": "two"}, maxUnavailable=1), release("some-chart", namespace="here"))),
    Program(BUDGET, (budget(maxUnavailable=1), training(workers=2)), "lets pods of one go one by one"),
    Program(BUDGET, (budget(maxUnavailable=1), training(workers=1, master=False))),
    Program(OWN, (labelled({"matchLabels": ONE}, {"app": "two"}),), "selects {'app': 'one'} and labels its pods"),
    Program(OWN, (labelled({"matchLabels": ONE}, ONE), labelled({"matchLabels": ONE}, ONE, "two")), "of two too"),
    Program(OWN, (labelled(NAME_IN, ONE), SECOND), "of two too"),
    Program(OWN, (labelled(NAME_IN, ONE),)),
    Program(OWN, (labelled({"matchLabels": ONE}, ONE), SECOND)),
    Program(REACH, (thing("apiregistration.k8s.io/v1", "APIService", spec=API), service()), "names the Service other"),
    Program(REACH, (thing("apiregistration.k8s.io/v1", "APIService", spec={"group": "apps"}), service())),
    Program(LISTEN, (deployment({"args": ["--port=$PORT"], **HTTP}),)),
    Program(LISTEN, (deployment({"args": ["--port=9000"]}),)),
    Program(LISTEN, (deployment({"readinessProbe": {"tcpSocket": {"port": "web"}}, **HTTP}),), "on the port web"),
    Program(LISTEN, (deployment({"readinessProbe": {"grpc": {"port": 9000}}, "args": ["--port=8000"]}),), "on 9000"),
    Program(LEAD, (thing("core/v1", "Service", "plain", spec={"ports": [{"port": 80}]}), deployment(HTTP))),
    Program(MONITOR, (monitor({"app": "service"}, namespaceSelector={"matchNames": ["there"]}), service())),
    Program(MONITOR, (monitor({"app": "x"}), release("some-chart", namespace="here"), service())),
    Program(MONITOR, (monitor({"app": "service"}, port=""), service())),
    Program(BUDGET, (budget(minAvailable=1), deployment(replicas=2), SCALER_OF_ANOTHER)),
    Program(BUDGET, (budget(minAvailable=1), thing("apps/v1", "StatefulSet", spec=SET))),
    Program(OWN, (thing("batch/v1", "Job", spec={"selector": {"matchLabels": {"x": "y"}}, "template": template()}),)),
    Program(OWN, (labelled({"matchLabels": ONE}, ONE), ELSEWHERE)),
]
