"""Pages for people, from the stack file to what is registered (Y01, Y02, R11; X08)."""

from copy import deepcopy
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph import stackfiles
from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import crd_file, problems
from tests.graph.stackfiles import refusal, run_program, stack_config
from tests.stacks.connections import Connection, End, Network, each_of
from tests.stacks.test_gateway import VISION

DOMAIN = "llm.example.com"
ISSUER = "https://login.example.com/realms/ml"
PEOPLE: dict[str, Any] = {
    "issuer": ISSUER,
    "clientId": "gpucluster",
    "pages": [
        {"page": "grafana", "groups": ["ml", "ml-admins"]},
        {"page": "grafana", "name": "grafana-admin", "groups": ["ml-admins"], "role": "admin"},
        {"page": "mlflow", "hostname": "runs.example.com", "groups": ["ml"]},
        {"page": "pipelines", "groups": ["ml platform"]},
    ],
}
TRAEFIK = End(namespace="gateway", labels={"app.kubernetes.io/name": "traefik"})
ASKING = End(namespace="people", labels={"app": "oauth2-proxy"})
GRAFANA = End(namespace="monitoring", labels={"app.kubernetes.io/name": "grafana"})
STRANGER = End(namespace="training", labels={"a": "b"})
OUTSIDE, INSIDE = End(address="198.51.100.7"), End(address="10.20.0.9")


def config(**people: Any) -> dict[str, Any]:
    """The dev stack with all three pages, and room for them."""
    found = deepcopy(stack_config("dev"))
    found["gpucluster:pools"][0]["count"] += 1
    gateway = {"domain": DOMAIN, "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}
    found["gpucluster:serving"]["gateway"] = {**gateway, "people": {**PEOPLE, **people}}
    found["gpucluster:training"] |= {"tracking": {"kind": "mlflow"}, "pipelines": {}}
    return found


@cache
def graph() -> Recorded:
    return run_program(config(), stack="dev")


def test_who_asks_people_who_they_are_is_never_gone_and_may_follow_load_j12() -> None:
    """A drain takes one pod at a time; an autoscaler is there only where the stack file says how many there may be."""
    budget = graph().one("sign-in-disruption-budget").inputs["spec"]
    deployment = graph().one("sign-in-deployment").inputs["spec"]
    assert (budget["maxUnavailable"], budget["selector"]) == (1, deployment["selector"])
    assert deployment["replicas"] == 2
    assert not [each for each in graph().resources.values() if each.name == "sign-in-autoscaler"]
    asked = config()
    asked["gpucluster:serving"]["gateway"]["maxReplicas"] = 4
    found = run_program(asked, stack="dev")
    scaler = found.one("sign-in-autoscaler").inputs["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 4)
    assert "replicas" not in found.one("sign-in-deployment").inputs["spec"]


@cache
def with_tokens() -> Recorded:
    """A service is open to a group, by tokens of its members, and a Triton server to another."""
    found = config()
    found["gpucluster:serving"]["services"][0]["tokenGroups"] = ["callers"]
    found["gpucluster:serving"]["triton"] = [{**VISION, "tokenGroups": ["robots"]}]
    return run_program(found, stack="dev")


@cache
def inside() -> Recorded:
    """The issuer is in a network of the site, at a port of its own."""
    return run_program(
        config(issuer="https://login.example.com:8443", issuerNetworks=["10.20.0.0/24"]),
        stack="dev",
    )


def spec(found: Recorded, name: str) -> dict[str, Any]:
    held: dict[str, Any] = found.one(name).inputs["spec"]
    return held


def arguments(found: Recorded) -> list[str]:
    (container,) = spec(found, "sign-in-deployment")["template"]["spec"]["containers"]
    return list(container["args"])


def test_nothing_of_it_is_there_unless_the_stack_file_asks() -> None:
    """A gateway alone opens no page, and Grafana believes nobody's headers."""
    closed = config()
    closed["gpucluster:serving"]["gateway"].pop("people")
    found = run_program(closed, stack="dev")
    names = {each.name for each in found.resources.values()}
    assert [name for name in names if name.startswith(("sign-in", "page-", "namespaces-people"))] == []
    assert found.of_type("ReferenceGrant") == []
    assert "grafana.ini" not in found.one("monitoring-stack-chart-release").inputs["values"]["grafana"]
    assert not Network(found).passes(TRAEFIK, GRAFANA, 3000)


def test_each_page_has_a_hostname_with_a_certificate_and_a_listener() -> None:
    found = graph()
    listeners = spec(found, "gateway-gateway")["listeners"]
    assert {each["name"]: each.get("hostname") for each in listeners} == {
        "http": None,
        "grafana": f"grafana.{DOMAIN}",
        "grafana-admin": f"grafana-admin.{DOMAIN}",
        "mlflow": "runs.example.com",
        "pipelines": f"pipelines.{DOMAIN}",
    }
    assert spec(found, "gateway-mlflow-tls")["dnsNames"] == ["runs.example.com"]
    for each in listeners:
        among = each["allowedRoutes"]["namespaces"]["selector"]["matchExpressions"][0]["values"]
        assert "people" in among


@pytest.mark.parametrize(
    ("page", "namespace", "service", "port"),
    [
        ("grafana", "monitoring", "kube-prometheus-stack-grafana", 80),
        ("grafana-admin", "monitoring", "kube-prometheus-stack-grafana", 80),
        ("mlflow", "tracking", "mlflow", 5000),
        ("pipelines", "pipelines", "ml-pipeline-ui", 80),
    ],
)
def test_a_route_leads_to_its_page_by_the_leave_of_its_namespace(
    page: str, namespace: str, service: str, port: int
) -> None:
    found = graph()
    asked, shown = spec(found, f"page-{page}-route")["rules"]
    assert shown["backendRefs"] == [{"name": service, "namespace": namespace, "port": port}]
    assert [each["path"] for each in asked["matches"]] == [
        {"type": "Exact", "value": path} for path in ("/oauth2/callback", "/oauth2/sign_out")
    ]
    grant = found.one(f"page-{page}-grant").inputs
    assert grant["metadata"]["namespace"] == namespace
    assert grant["spec"]["to"] == [{"group": "", "kind": "Service", "name": service}]
    assert [each["namespace"] for each in grant["spec"]["from"]] == ["people"]


def test_what_callers_say_of_themselves_is_taken_away_before_they_are_asked() -> None:
    """In the order of the filters; what the page itself gets comes last, and has no session in it."""
    found = graph()
    asked, shown = spec(found, "page-grafana-route")["rules"]
    names = [each["extensionRef"]["name"] for each in shown["filters"]]
    assert names == ["grafana-nameless", "grafana-asked", "grafana-on"]
    assert [each["extensionRef"]["name"] for each in asked["filters"]] == ["grafana-nameless"]
    taken = spec(found, "page-grafana-nameless")["headers"]["customRequestHeaders"]
    assert set(taken.values()) == {""}
    believed = {"X-Auth-Request-User", "X-Auth-Request-Email", "X-Page-Role", "kubeflow-userid", "Authorization"}
    assert believed <= set(taken)
    assert spec(found, "page-grafana-on")["headers"]["customRequestHeaders"] == {"Cookie": "", "X-Page-Role": "Viewer"}
    assert spec(found, "page-mlflow-on")["headers"]["customRequestHeaders"] == {"Cookie": ""}


@pytest.mark.parametrize(
    ("page", "groups", "told"),
    [
        ("grafana", "ml,ml-admins", True),
        ("grafana-admin", "ml-admins", True),
        ("mlflow", "ml", False),
        ("pipelines", "ml platform", False),
    ],
)
def test_each_page_asks_for_its_own_groups(page: str, groups: str, told: bool) -> None:
    """Who asks is said to Grafana alone: the others would do nothing with it."""
    auth = spec(graph(), f"page-{page}-asked")["forwardAuth"]
    address = urlsplit(auth["address"])
    assert (address.netloc, address.path) == ("oauth2-proxy.people.svc:4180", "/")
    assert parse_qs(address.query) == {"allowed_groups": [groups]}
    assert auth["trustForwardHeader"] is False
    assert ("X-Auth-Request-User" in auth.get("authResponseHeaders", ())) is told


def test_sessions_are_cookies_that_a_browser_keeps_to_itself() -> None:
    told = arguments(graph())
    for word in (
        "--provider=oidc",
        f"--oidc-issuer-url={ISSUER}",
        "--code-challenge-method=S256",
        "--insecure-oidc-skip-nonce=false",
        "--cookie-secure=true",
        "--cookie-httponly=true",
        "--cookie-samesite=lax",
        "--cookie-expire=28800s",
        "--session-cookie-minimal=true",
        "--request-logging=false",
        "--scope=openid email profile",
    ):
        assert word in told
    assert [word for word in told if word.startswith("--allowed-group=")] == [
        "--allowed-group=ml",
        "--allowed-group=ml-admins",
        "--allowed-group=ml platform",
    ]
    (name,) = (word.partition("=")[2] for word in told if word.startswith("--cookie-name="))
    assert name.startswith("__Host-")
    assert not any(word.startswith(("--cookie-domain", "--skip-auth", "--trusted-ip")) for word in told)


def test_the_secrets_are_in_one_secret_and_nowhere_else() -> None:
    """It follows its content, so that another value is a rollout."""
    found = graph()
    secret = found.one("sign-in-secret").inputs
    assert secret["stringData"]["client"] in found.secrets
    (volume,) = spec(found, "sign-in-deployment")["template"]["spec"]["volumes"]
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    for each in found.secrets:
        assert each not in str(spec(found, "sign-in-deployment"))
    assert secret["immutable"] is True
    assert secret["stringData"]["sessions"] not in found.secrets


def test_grafana_knows_people_by_the_gateway_and_has_no_login_of_its_own_there() -> None:
    found = graph()
    ini = found.one("monitoring-stack-chart-release").inputs["values"]["grafana"]["grafana.ini"]
    proxy = ini["auth.proxy"]
    assert (proxy["enabled"], proxy["header_name"], proxy["enable_login_token"]) == (True, "X-Auth-Request-User", False)
    assert "Role:X-Page-Role" in proxy["headers"].split()
    assert ini["server"]["root_url"] == f"https://grafana.{DOMAIN}"
    assert ini["users"]["auto_assign_org_role"] == "Viewer"


def test_mlflow_answers_at_its_page_and_lets_it_change_things() -> None:
    (container,) = spec(graph(), "tracking-server")["template"]["spec"]["containers"]
    (hosts,) = (word.partition("=")[2] for word in container["args"] if word.startswith("--allowed-hosts="))
    assert "runs.example.com" in hosts.split(",")
    assert "--cors-allowed-origins=https://runs.example.com" in container["args"]


CONNECTIONS: tuple[Connection, ...] = (
    ("the gateway asks who it is", TRAEFIK, ASKING, 4180, True),
    ("the gateway asks Grafana", TRAEFIK, GRAFANA, 3000, True),
    ("the gateway asks MLflow", TRAEFIK, "tracking-server", 5000, True),
    ("the gateway asks the pipelines' page", TRAEFIK, "pipelines-ui", 3000, True),
    ("the issuer is asked", "sign-in-deployment", OUTSIDE, 443, True),
    ("Prometheus reads Grafana", End(namespace="monitoring", labels={"a": "b"}), GRAFANA, 3000, True),
    ("around the gateway to Grafana", STRANGER, GRAFANA, 3000, False),
    ("around the gateway to MLflow", STRANGER, "tracking-server", 5000, False),
    ("around the gateway to the pipelines", STRANGER, "pipelines-ui", 3000, False),
    ("from outside to Grafana", OUTSIDE, GRAFANA, 3000, False),
    ("a pod that says who it is", STRANGER, "sign-in-deployment", 4180, False),
    ("another pod of the gateway's namespace", End(namespace="gateway", labels={"app": "shell"}), GRAFANA, 3000, False),
    ("the gateway to Prometheus", TRAEFIK, End(namespace="monitoring", labels={"app": "prometheus"}), 9090, False),
    ("the gateway to the API of the pipelines", TRAEFIK, "pipelines-server-server", 8888, False),
    ("who asks people to other ports", "sign-in-deployment", OUTSIDE, 80, False),
    ("who asks people to the site", "sign-in-deployment", INSIDE, 443, False),
    ("who asks people to the pages", "sign-in-deployment", GRAFANA, 3000, False),
    ("who asks people to the API", "sign-in-deployment", End(address="172.20.0.1"), 443, False),
)


@each_of(CONNECTIONS)
def test_what_is_needed_gets_through_and_nothing_else_nw08(
    source: str | End, target: str | End, port: int, passes: bool
) -> None:
    assert Network(graph()).passes(source, target, port) is passes


def test_an_issuer_of_the_site_is_asked_there_and_nowhere_else() -> None:
    found = inside()
    assert Network(found).passes("sign-in-deployment", INSIDE, 8443)
    assert not Network(found).passes("sign-in-deployment", INSIDE, 443)
    assert not Network(found).passes("sign-in-deployment", OUTSIDE, 8443)


def test_objects_are_as_their_definitions_have_them() -> None:
    found = graph()
    for kind in ("HTTPRoute", "Middleware", "ReferenceGrant", "Gateway"):
        if crd_file(kind) is None:
            pytest.skip(f"no definition of {kind} here")
        assert [each for one in found.of_type(kind) for each in problems(one)] == []


def test_what_is_registered_is_as_the_policies_want_it() -> None:
    assert [str(each) for each in violations(graph(), RULES)] == []


def test_what_it_stands_on_comes_first() -> None:
    found = graph()
    before = {
        "page-grafana-asked": {"gateway-gateway", "sign-in-service"},
        "page-grafana-route": {"page-grafana-nameless", "page-grafana-asked", "page-grafana-on", "page-grafana-grant"},
        "sign-in-service": {"sign-in-deployment"},
    }
    for name, expected in before.items():
        depends = {found.resources[urn].name for urn in found.one(name).depends_on}
        assert expected <= depends, name


def test_a_person_is_told_where_the_pages_are_and_for_whom() -> None:
    told = graph().outputs["workloads"]["pages"]
    assert told["grafana-admin"] == {
        "hostname": f"grafana-admin.{DOMAIN}",
        "groups": ["ml-admins"],
        "role": "admin",
        "url": f"https://grafana-admin.{DOMAIN}",
    }
    assert told["mlflow"]["url"] == "https://runs.example.com"


def test_without_its_secrets_it_is_refused_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stackfiles, "secrets_of", lambda _: {**stackfiles.SECRETS, **_OTHERS})
    typed = "type pulumi config set --secret gpucluster"
    begin = "gpucluster:serving.gateway.people"
    assert refusal(config(), stack="dev").splitlines() == [
        f"{begin}.secret: the issuer does not know this stack, so nobody can sign in: gpucluster:peopleClient is not"
        f" set; "
        f"{typed}:peopleClient VALUE",
        f"{begin}.sessionSecret: sessions cannot be encrypted: gpucluster:peopleSessions is not set; "
        f"{typed}:peopleSessions VALUE",
    ]


_OTHERS = {f"gpucluster:{each}": "secret-of-a-test" for each in ("trackingDatabase", "pipelinesDatabase")}


def test_a_service_that_is_open_to_groups_has_their_tokens_judged() -> None:
    """By its door, which reaches who judges; for a service of keys alone nobody judges tokens."""
    found, without = with_tokens(), graph()
    server = End(namespace="inference", labels={"app": "llama-3-8b"})

    def door(of: Recorded) -> str:
        return str(of.one("service-llama-3-8b-door-rules").inputs["data"]["nginx.conf"])

    assert "oauth2/auth?allowed_groups=callers;" in door(found)
    assert "--skip-jwt-bearer-tokens=true" in arguments(found)
    assert "--allowed-group=callers" in arguments(found)
    assert "--allowed-group=robots" in arguments(found)
    of_triton = str(found.one("triton-vision-door-rules").inputs["data"]["nginx.conf"])
    assert "oauth2/auth?allowed_groups=robots;" in of_triton
    assert "auth_request" not in door(without)
    assert not [each for each in arguments(without) if "jwt" in each or "callers" in each]
    assert Network(found).passes(server, ASKING, 4180)
    assert Network(found).passes(End(namespace="inference", labels={"app": "vision"}), ASKING, 4180)
    assert not Network(without).passes(server, ASKING, 4180)
