"""The dev stack with a way in from outside: applied, called, renewed, its key changed, and taken back (Y11, Y12, Y13).

Traefik, cert-manager and Prometheus are the real programs, at the cluster's API server.
"""

import json
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from cryptography import x509

from rehearsal.cloud.metrics import PER_MINUTE as PER_MINUTE_OF_FSX
from rehearsal.engine import state

from .caller import SPACE, Answered, Caller
from .rehearsed import Rehearsed, until

pytestmark = pytest.mark.engine

MODEL, DOMAIN = "llama-3-8b", "llm.example.com"
HOST, STRANGER = f"{MODEL}.{DOMAIN}", f"other.{DOMAIN}"
OLD, NEW = "apiToken", "llamaKey"
"""What dev's services have in common, and a key of this service alone."""
PER_MINUTE = 1200
BURST, MOST = 100, 3
"""Of each of two pods: half of the limit, ten seconds' worth of it at once. Load may make them three."""
RELOADED_SECONDS = 10.0
SERVICE = "gpucluster:serving.services[0]"
ASKED = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 4}
ALL_BUT_30_SECONDS = "2159h59m30s"
"""Of a certificate's 90 days (cert-manager, pkg/apis/certmanager/v1/const.go: DefaultCertificateDuration)."""


def with_keys(site: Rehearsed, *names: str) -> None:
    site.tree.stack("dev").set(f"{SERVICE}.keys", list(names))


def key(site: Rehearsed, name: str) -> str:
    """The value of a secret of the stack file."""
    engine = site.engine
    words = ("config", "get", f"gpucluster:{name}", "--stack", engine.stack, "--config-file", str(engine.config_file))
    return engine.ask(*words).strip()


def everywhere(caller: Caller, path: str = "/v1/models", body: Any = None) -> list[Answered]:
    """The answers of all pods of the gateway."""
    return [caller.secure(at, path, body) for at in caller.pods().values()]


@pytest.fixture(scope="module")
def open_site(dev: Rehearsed) -> Iterator[Rehearsed]:
    """The dev stack, published; the stack and its file are as before in the end.

    Its server is left as it was, so that `up` waits for nothing else than the way in.
    """
    with dev.tree.changed() as tree:
        stack = tree.stack("dev")
        way_in = {"domain": DOMAIN, "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}
        stack.set("gpucluster:serving.gateway", {**way_in, "maxReplicas": MOST})
        stack.set("gpucluster:monitoring.fileSystem", value=True)
        stack.set(f"{SERVICE}.public", value=True).set(f"{SERVICE}.requestsPerMinute", PER_MINUTE)
        dev.up().require()
        yield dev
    dev.up().require()


@pytest.fixture(scope="module")
def caller(open_site: Rehearsed) -> Caller:
    return Caller(open_site, HOST, key(open_site, OLD))


def test_what_up_waited_for_came_in_its_order(open_site: Rehearsed) -> None:
    """The certificate was signed before the Gateway was made; Traefik has taken that, and the route. Times are whole
    seconds of one form; those of Traefik's words move with each further one.
    """
    certificate, gateway, route = (
        open_site.kube.get(version, kind, name, namespace) or {}
        for version, kind, name, namespace in (
            ("cert-manager.io/v1", "Certificate", MODEL, SPACE),
            ("gateway.networking.k8s.io/v1", "Gateway", "gateway", SPACE),
            ("gateway.networking.k8s.io/v1", "HTTPRoute", MODEL, "inference"),
        )
    )
    assert since(certificate["status"], "Ready") <= gateway["metadata"]["creationTimestamp"]
    assert since(gateway["status"], "Programmed")
    assert since(route["status"]["parents"][0], "Accepted")


def ready(site: Rehearsed) -> bool:
    """Whether two pods of the gateway are, of two."""
    found = site.kube.get("apps/v1", "Deployment", "traefik", SPACE)
    assert found is not None
    return [found["status"].get(each) for each in ("replicas", "readyReplicas")] == [2, 2]


def since(status: dict[str, Any], kind: str) -> str:
    """When a condition became true."""
    (found,) = (each for each in status["conditions"] if each["type"] == kind)
    assert found["status"] == "True", found
    return str(found["lastTransitionTime"])


def test_the_door_is_open_when_up_ends(caller: Caller) -> None:
    """At the pod that has told Traefik's word at once. The other is the autoscaler's, whose Deployment has no replicas
    in the chart and starts with one: it comes when `up` may have ended, and answers within two seconds of being ready
    (providersThrottleDuration). Until then it refuses connections or has a certificate that nobody signed.
    """

    def opened() -> bool:
        try:
            return [each.status for each in everywhere(caller)] == [200, 200]
        except OSError:
            return False

    until(partial(ready, caller.site), "both pods to be ready")
    until(opened, "both pods to answer", RELOADED_SECONDS)
    shown = [caller.certificate(at) for at in caller.pods().values()]
    assert len(shown) == 2
    assert [each.issuer.rfc4514_string() for each in shown] == ["CN=gpucluster-dev private CA"] * 2
    for answer in everywhere(caller, "/v1/completions", ASKED):
        assert (answer.status, json.loads(answer.text)["model"]) == (200, MODEL)


def test_who_has_no_key_gets_401_and_paths_that_are_not_open_404(caller: Caller) -> None:
    for sent in ("", "a-wrong-key"):
        stranger = Caller(caller.site, HOST, sent)
        refused = everywhere(stranger)
        assert [(each.status, each.code) for each in refused] == [(401, "invalid_api_key")] * 2
    assert [each.status for each in everywhere(caller, "/invocations", ASKED)] == [404, 404]


def test_plain_http_leads_to_tls_with_its_method(caller: Caller) -> None:
    for at in caller.pods().values():
        answer = caller.plain(at, "/v1/completions", ASKED)
        assert (answer.status, answer.location) == (308, f"https://{HOST}/v1/completions")


def test_a_hostname_of_nobody_is_404_behind_a_certificate_that_nobody_signed(caller: Caller) -> None:
    stranger = Caller(caller.site, STRANGER, caller.key)
    for at in caller.pods().values():
        assert stranger.secure(at, trusting=True).status == 404
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.secure(at)


def test_a_second_preview_finds_nothing_to_do(open_site: Rehearsed) -> None:
    open_site.assert_quiet()


def up_of(site: Rehearsed, namespace: str) -> dict[str, set[float]]:
    """Whether Prometheus reads what it should in a namespace: values of `up` by job."""
    found: dict[str, set[float]] = {}
    for labels, value in site.asked(f'up{{namespace="{namespace}"}}'):
        found.setdefault(labels["job"], set()).add(value)
    return found


def test_prometheus_reads_the_server_by_the_scrapers_key_and_the_way_in_itself(open_site: Rehearsed) -> None:
    seen = partial(up_of, open_site)
    until(lambda: seen("inference") == {MODEL: {1.0}}, f"the server is read; {seen('inference')}")
    for namespace in (SPACE, "cert-manager"):
        until(lambda: set().union(*seen(namespace).values()) == {1.0}, f"{namespace} is read")  # noqa: B023 - at once
    signed = "certmanager_certificate_ready_status{condition='True'}"
    until(lambda: {value for _, value in open_site.asked(signed)} == {1.0}, "every certificate is ready by its metric")


def test_two_pods_stay_two_without_load_though_three_may_be_and_a_preview_lets_them(open_site: Rehearsed) -> None:
    """The autoscaler has read how much of their processors the pods use."""

    def scaling() -> dict[str, Any]:
        found = open_site.kube.get("autoscaling/v2", "HorizontalPodAutoscaler", "traefik", SPACE)
        assert found is not None
        return found

    def active() -> bool:
        told = {each["type"]: each["status"] for each in scaling().get("status", {}).get("conditions", [])}
        return told.get("ScalingActive") == "True"

    until(active, "it has read the pods' use", 120)
    assert (scaling()["spec"]["maxReplicas"], scaling()["status"]["currentReplicas"]) == (MOST, 2)


def test_prometheus_has_the_rates_that_the_stand_in_of_cloudwatch_tells(open_site: Rehearsed) -> None:
    """Signed by the pod's role, a minute's sums over its seconds; what they are of the plan's rate is recorded."""
    until(lambda: [value for _, value in open_site.asked("shared_files_up")] == [1.0], "CloudWatch answers")
    told = {labels["operation"]: value for labels, value in open_site.asked("shared_files_bytes_per_second")}
    assert told == {name: PER_MINUTE_OF_FSX[f"Data{name.title()}Bytes"] / 60 for name in ("read", "write")}
    until(lambda: open_site.asked("gpucluster:shared_files:rate_ratio"), "its part of the plan's rate")


def restarts(site: Rehearsed) -> dict[str, int]:
    pods = site.kube.list("v1", "Pod", SPACE)
    return {each["metadata"]["uid"]: each["status"]["containerStatuses"][0]["restartCount"] for each in pods}


def test_certificates_are_renewed_by_their_own_clock_and_nobody_is_refused_meanwhile(caller: Caller) -> None:
    """cert-manager's, 30 s after each was signed; the same pods serve the next one, which has another key."""
    kube, pods, running = caller.site.kube, caller.pods(), restarts(caller.site)

    def shown() -> list[x509.Certificate]:
        assert {caller.secure(at).status for at in pods.values()} == {200}
        return [caller.certificate(at) for at in pods.values()]

    def renewed() -> bool:
        after = shown()
        if len({*after}) == 1 and after[0] != served[-1]:
            served.append(after[0])
        return len(served) == 3

    served = shown()[:1]
    due = partial(kube.patch, "cert-manager.io/v1", "Certificate", MODEL, SPACE)
    due({"spec": {"renewBefore": ALL_BUT_30_SECONDS}})
    until(renewed, "two more certificates, one after the other", 150)
    due({"spec": {"renewBefore": None}})
    _, first, second = served
    assert second.not_valid_before_utc - first.not_valid_before_utc >= timedelta(seconds=30)
    before, between, after = (each.public_key() for each in served)
    assert before != between != after
    assert running.items() <= restarts(caller.site).items(), "load may have brought a third"


def test_above_the_limit_a_pod_answers_429_and_again_when_time_has_passed(caller: Caller) -> None:
    """Whoever asks: requests with a wrong key count, too. Each pod counts by itself."""
    one, other, *_ = until(lambda: found if len(found := [*caller.pods().values()]) > 1 else None, "two pods")
    stranger = Caller(caller.site, HOST, "a-wrong-key")

    def asked_at_once(times: int) -> list[int]:
        """Faster than the bucket fills, on a slow machine too."""
        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(lambda _: stranger.secure(one).status, range(times)))

    statuses = asked_at_once(BURST + 60)
    assert set(statuses) == {401, 429}
    assert statuses.index(429) >= BURST / 2

    def refused() -> bool:
        """A caller with a key asks among the strangers, who take what drips into the bucket."""
        with ThreadPoolExecutor(16) as pool:
            crowd = [pool.submit(stranger.secure, one) for _ in range(BURST + 60)]
            while not all(each.done() for each in crowd):
                if caller.secure(one).status == 429:
                    return True
        return False

    until(refused, "a caller with a key to be refused, too", 20)
    assert caller.secure(other).status == 200
    until(lambda: caller.secure(one).status == 200, "the bucket has filled again", 20)


def test_a_key_changes_by_two_updates_and_no_request_fails_for_want_of_one(open_site: Rehearsed) -> None:
    """Both are valid between them, and Prometheus, whose key follows the first, reads on."""
    old = Caller(open_site, HOST, key(open_site, OLD))
    with_keys(open_site, OLD, NEW)
    open_site.up().require()
    new = Caller(open_site, HOST, key(open_site, NEW))
    assert old.key != new.key
    assert {each.status for each in [*everywhere(old), *everywhere(new)]} == {200}
    with_keys(open_site, NEW)
    open_site.up().require()
    assert {each.status for each in everywhere(new)} == {200}
    assert {each.code for each in everywhere(old)} == {"invalid_api_key"}
    until(lambda: up_of(open_site, "inference") == {MODEL: {1.0}}, "Prometheus reads it by the new key")


def balancers(site: Rehearsed) -> list[str]:
    return [each["LoadBalancerName"] for each in site.aws("elbv2").describe_load_balancers()["LoadBalancers"]]


@pytest.mark.scale
def test_without_the_section_nothing_of_it_is_left(open_site: Rehearsed) -> None:
    """But for definitions of kinds, which may have others' objects."""
    assert len(balancers(open_site)) == 1
    assert f"https://{HOST}" in json.dumps(open_site.outputs())
    open_site.tree.restore()
    open_site.up().require()
    assert balancers(open_site) == []
    kube = open_site.kube
    spaces = {each["metadata"]["name"] for each in kube.list("v1", "Namespace")}
    assert not spaces & {SPACE, "cert-manager"}
    for version, kind in (
        ("gateway.networking.k8s.io/v1", "Gateway"),
        ("gateway.networking.k8s.io/v1", "GatewayClass"),
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("cert-manager.io/v1", "Certificate"),
        ("traefik.io/v1alpha1", "Middleware"),
    ):
        assert kube.list(version, kind) == [], kind
    webhooks = kube.list("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    assert not [each for each in webhooks if "cert-manager" in each["metadata"]["name"]]
    names = {each["urn"].rpartition("::")[2] for each in state.resources(open_site.engine.export())}
    assert not [each for each in names if each.startswith(("gateway", "issuer", "cert-manager", "traefik", "route-"))]
    open_site.assert_quiet()
