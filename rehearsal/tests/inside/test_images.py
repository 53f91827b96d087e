"""Which image of the stock does what, and how command lines are read."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.seen import iam
from rehearsal.cloud.seen.aws import Association
from rehearsal.devices import daemons
from rehearsal.images import certgen, fetch, grafana, identity, kubectl, operators, prometheus, s3sync
from rehearsal.images.published import NotFoundError
from rehearsal.images.table import known
from rehearsal.kubelet import services
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.images import Row, repository, unknown
from rehearsal.kubelet.process import FILES
from rehearsal.kubelet.program import Exit, Launch, Mount
from rehearsal.toolchain import versions


@pytest.mark.parametrize(
    ("image", "container", "start"),
    [
        ("nvcr.io/nvidia/k8s-device-plugin:v0.19.3", "nvidia-device-plugin", daemons.nvidia_device_plugin),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.19.3", "gpu-feature-discovery", daemons.gpu_feature_discovery),
        ("602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20", "x",
         daemons.efa_device_plugin),
        ("docker.io/volcanosh/vc-scheduler:v1.2.3", "volcano-scheduler", operators.volcano_scheduler),
        ("ghcr.io/kubeflow/training-v1/training-operator:v1.2.3", "training-operator", operators.training_operator),
        ("registry.k8s.io/kubectl:v1.2.3@sha256:" + "0" * 64, "kubectl", kubectl.run),
        ("public.ecr.aws/aws-cli/aws-cli:2.31.0", "sync", s3sync.run),
        ("quay.io/prometheus-operator/prometheus-operator:v0.93.1", "kube-prometheus-stack", prometheus.operator),
        ("quay.io/prometheus-operator/prometheus-config-reloader:v0.93.1", "init-config-reloader",
         prometheus.config_reloader),
        ("quay.io/prometheus/prometheus:v3.14.0-distroless", "prometheus", prometheus.server),
        ("quay.io/prometheus/alertmanager:v0.34.0", "alertmanager", prometheus.alertmanager),
        ("registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0", "prometheus-adapter", prometheus.adapter),
        ("registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.20.0", "x", prometheus.kube_state_metrics),
        ("ghcr.io/jkroepke/kube-webhook-certgen:1.8.7", "create", certgen.run),
        ("docker.io/grafana/grafana:13.2.0", "grafana", grafana.run),
    ],
)  # fmt: skip
def test_known_images(image: str, container: str, start: Any) -> None:
    row = known().find(image, container)
    assert row is not None
    assert row.start is start


def test_an_image_nobody_knows_has_no_row() -> None:
    assert known().find("example.org/app:1", "main") is None


def test_a_programs_own_row_comes_before_the_stock() -> None:
    own = Row(r".*/kubectl", unknown, container="special")
    images = known([own])
    assert images.find("registry.k8s.io/kubectl:v1.36.3", "special") is own
    found = images.find("registry.k8s.io/kubectl:v1.36.3", "other")
    assert found is not None
    assert found.start is kubectl.run


def test_repository_keeps_a_registrys_port() -> None:
    assert repository("localhost:5000/a/b:v1@sha256:00") == "localhost:5000/a/b"


# -- aws s3


@pytest.mark.parametrize(
    "argv",
    [
        ["s3", "sync", "s3://b/p/", "/models/x", "--only-show-errors"],
        ["aws", "s3", "sync", "--region", "us-west-2", "s3://b/p/", "/models/x"],
        ["/bin/sh", "-c", "set -e\naws s3 sync 's3://b/p/' /models/x && touch /models/x/.done"],
    ],
)
def test_downloads_are_found_in_arguments_and_scripts(argv: list[str]) -> None:
    assert s3sync.downloads(argv) == [s3sync.Copy("b", "p/", "/models/x")]


def test_uploads_are_not_downloads() -> None:
    assert s3sync.downloads(["s3", "sync", "/data", "s3://b/p"]) == []


# -- kubectl


def test_the_kubectl_image_has_no_shell() -> None:
    assert kubectl.arguments(["sh", "-c", "kubectl get pods"]) is None
    assert kubectl.arguments(["kubectl", "get", "pods"]) == ["get", "pods"]
    assert kubectl.arguments(["get", "pods"]) == ["get", "pods"]


def test_urls_with_nothing_behind_them_are_refused(tmp_path: Path) -> None:
    launch = downloading(tmp_path, ["kubectl"])
    with pytest.raises(NotFoundError, match="nothing behind"):
        kubectl.local(launch, "https://example.org/x.yaml")
    assert kubectl.local(launch, "--server-side") == "--server-side"


# -- downloads

SCRIPT = 'wget -q -O "$2" "$1" && echo "$3  $2" | sha256sum -c -'
URL = "https://raw.githubusercontent.com/kubeflow/training-operator/v{}/manifests/base/crds/x.yaml"


def downloading(directory: Path, argv: list[str], *, read_only: bool = False) -> Launch:
    """A container with an empty volume at /fetched."""
    world: Any = SimpleNamespace(contents=Contents(directory / "volumes.json"))
    mount = Mount("/fetched", "pod:1:fetched", name="fetched", read_only=read_only)
    pod = {"metadata": {"name": "a", "namespace": "b"}, "spec": {}}
    return Launch(world, pod, {"name": "fetch"}, "n", argv, (), {}, [mount], directory / "c", print, 0.0)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What lies in the module of the training operator."""
    file = tmp_path / "published"
    file.write_text("crd")

    def manifest(family: str, path: str, module: str | None) -> Path:
        assert (family, path, module) == ("training", "manifests/base/crds/x.yaml", None)
        return file

    monkeypatch.setattr("rehearsal.images.published.manifest", manifest)
    return file


def test_a_file_with_its_hash_is_what_kubectl_reads_lf15(tmp_path: Path, published: Path) -> None:
    digest = hashlib.sha256(b"crd").hexdigest()
    words = ["sh", "-c", SCRIPT, "fetch", URL.format(versions.TRAINING_OPERATOR), "/fetched/file", digest]
    launch = downloading(tmp_path, words)
    assert fetch.run(launch).exited(1e9) == Exit(0)
    assert kubectl.local(launch, "/fetched/file") == str(published)
    assert kubectl.local(launch, "/fetched/other") == "/fetched/other"


@pytest.mark.parametrize(
    ("version", "digest", "read_only", "said"),
    [
        (versions.TRAINING_OPERATOR, "0" * 64, False, "1 of 1 computed checksums did NOT match"),
        ("0.0.1", "0" * 64, False, "404 Not Found"),
        (versions.TRAINING_OPERATOR, "0" * 64, True, "Read-only file system"),
    ],
)
def test_another_file_ends_the_download_and_nothing_lies_there_lf15(
    tmp_path: Path, published: Path, version: str, digest: str, read_only: bool, said: str
) -> None:
    assert published.exists()
    words = ["sh", "-c", SCRIPT, "fetch", URL.format(version), "/fetched/file", digest]
    launch = downloading(tmp_path, words, read_only=read_only)
    ended = fetch.run(launch).exited(1e9)
    assert ended is not None
    assert (ended.code, said in ended.message) == (1, True)
    assert launch.world.contents.under("pod:1:fetched", "") == {}


def test_definitions_of_the_gateway_api_are_those_of_the_module_that_traefik_is_built_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "crd"
    file.write_text("gateways")
    asked: list[tuple[str, ...]] = []

    def manifest(*known: str) -> Path:
        asked.append(known)
        return file

    monkeypatch.setattr("rehearsal.images.published.manifest", manifest)
    begin = "https://raw.githubusercontent.com/kubernetes-sigs/gateway-api"
    words = ["sh", "-c", SCRIPT, "fetch", f"{begin}/v{versions.GATEWAY_API}/config/crd/standard/x.yaml", "/fetched/x"]
    assert fetch.run(downloading(tmp_path, [*words, hashlib.sha256(b"gateways").hexdigest()])).exited(1e9) == Exit(0)
    assert asked == [("traefik", "config/crd/standard/x.yaml", "sigs.k8s.io/gateway-api")]
    words[4] = f"{begin}/v0.1.0/config/crd/standard/x.yaml"
    refused = fetch.run(downloading(tmp_path, [*words, "0" * 64])).exited(1e9)
    assert refused is not None
    assert f"rehearsal has the files of v{versions.GATEWAY_API}" in refused.message


def test_a_script_that_checks_no_hash_takes_anything_and_another_is_unknown_lf15() -> None:
    assert fetch.parse(["sh", "-ec", "wget -O /f https://a/b"]) == fetch.Download("https://a/b", "/f", None)
    assert fetch.parse(["sh", "-c", "until nslookup master; do sleep 1; done"]) is None
    assert fetch.parse(["wget", "-O", "/f", "https://a/b"]) is None


# -- real processes


def test_addresses_move_to_free_loopback_ports() -> None:
    argv, ports = operators.relocate(["--a=:8080", "-v=3", "--b", "0.0.0.0:9"], {"--a": 1, "--b": 2, "--c": 3})
    assert argv[0] == "-v=3"
    assert set(ports) == {8080, 9, 3}
    assert sorted(argv[1:]) == [
        f"--a=127.0.0.1:{ports[8080]}",
        f"--b=127.0.0.1:{ports[9]}",
        f"--c=127.0.0.1:{ports[3]}",
    ]


def test_files_of_a_process_are_named_relative_to_it() -> None:
    assert not FILES.startswith("/")


# -- IAM

ALLOW = {"Statement": {"Effect": "Allow", "Action": ["s3:Get*"], "Resource": "arn:aws:s3:::b/*"}}
DENY = {"Statement": [{"Effect": "Deny", "Action": "*", "Resource": "arn:aws:s3:::b/secret/*"}]}
ROLE = "arn:aws:iam::123456789012:role/r"


@pytest.mark.parametrize(
    ("action", "resource", "decision"),
    [
        ("s3:GetObject", "arn:aws:s3:::b/x", "allowed"),
        ("s3:getobject", "arn:aws:s3:::b/x", "allowed"),
        ("s3:PutObject", "arn:aws:s3:::b/x", "not allowed"),
        ("s3:GetObject", "arn:aws:s3:::other/x", "not allowed"),
        ("s3:GetObject", "arn:aws:s3:::b/secret/x", "denied"),
    ],
)
def test_identity_policies(action: str, resource: str, decision: str) -> None:
    assert iam.decide(action, resource, [ALLOW, DENY]) == decision


def test_a_bucket_policy_allows_and_denies_too() -> None:
    policy = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": "s3:*", "Resource": "*"}]}
    assert iam.decide("s3:GetObject", "arn:aws:s3:::c/x", [], policy, ROLE) == "allowed"
    assert iam.decide("s3:GetObject", "arn:aws:s3:::c/x", [], policy, ROLE + "2") == "not allowed"


def test_not_action_and_not_resource() -> None:
    policy = {"Statement": [{"Effect": "Allow", "NotAction": "iam:*", "NotResource": "arn:aws:s3:::b/*"}]}
    assert iam.decide("s3:GetObject", "arn:aws:s3:::c/x", [policy]) == "allowed"
    assert iam.decide("iam:PassRole", "arn:aws:s3:::c/x", [policy]) == "not allowed"
    assert iam.decide("s3:GetObject", "arn:aws:s3:::b/x", [policy]) == "not allowed"


BELOW = {"StringLike": {"s3:prefix": ["saves/*"]}}
LISTS = {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::b", "Condition": BELOW}
NEVER = {"Effect": "Deny", "Action": "s3:ListBucket", "Resource": "*", "Condition": {"StringEquals": {"s3:prefix": ""}}}


@pytest.mark.parametrize(
    ("context", "decision"),
    [
        ({"s3:prefix": "saves/"}, "allowed"),
        ({"s3:prefix": "saves/sft/"}, "allowed"),
        ({"s3:prefix": "saves"}, "not allowed"),
        ({"s3:prefix": "savesX/"}, "not allowed"),
        ({"s3:prefix": None}, "not allowed"),
        ({"s3:prefix": ""}, "denied"),
        ({}, "allowed"),
    ],
)
def test_conditions_of_keys_that_the_request_tells_are_judged(context: iam.Context, decision: str) -> None:
    """Of other keys an allow counts and a deny does not; both hold in a bucket's policy too."""
    assert iam.decide("s3:ListBucket", "arn:aws:s3:::b", [{"Statement": [LISTS, NEVER]}], context=context) == decision
    held = {"Statement": [{**each, "Principal": {"AWS": ROLE}} for each in (LISTS, NEVER)]}
    assert iam.decide("s3:ListBucket", "arn:aws:s3:::b", [], held, ROLE, context) == decision


def test_pod_identity_needs_both_actions_in_the_trust_policy() -> None:
    def trust(*actions: str) -> dict[str, Any]:
        principal = {"Service": "pods.eks.amazonaws.com"}
        return {"Statement": [{"Effect": "Allow", "Principal": principal, "Action": list(actions)}]}

    both = ("sts:AssumeRole", "sts:TagSession")
    assert iam.trusts(trust(*both), "pods.eks.amazonaws.com", both)
    assert not iam.trusts(trust("sts:AssumeRole"), "pods.eks.amazonaws.com", both)
    assert not iam.trusts(trust(*both), "ec2.amazonaws.com", both)


@pytest.mark.parametrize(("created", "given"), [("12:00:02Z", False), ("12:00:03Z", True), ("11:00:00Z", False)])
def test_a_pod_that_came_before_its_association_never_gets_the_role_lf17(created: str, given: bool) -> None:
    association = Association(ROLE, datetime(2026, 11, 20, 12, tzinfo=UTC))
    pod = {"metadata": {"creationTimestamp": f"2026-11-20T{created}"}}
    assert identity.injected(pod, association) is given


# -- Services


def endpoints(port: int | None, ready: bool = True) -> list[dict[str, Any]]:
    endpoint = {"conditions": {"ready": ready}, "targetRef": {"name": "pod-1"}}
    return [{"ports": [{"name": "http", "port": port}], "endpoints": [endpoint]}]


@pytest.mark.parametrize(
    ("slices", "text"),
    [
        ([], "no ready endpoint"),
        (endpoints(8000, ready=False), "no ready endpoint"),
        (endpoints(None), "no container of its pods names"),
        (endpoints(9000), "pod-1:9000, where no container listens"),
    ],
)
def test_why_a_service_does_not_answer(slices: list[dict[str, Any]], text: str) -> None:
    service = {"metadata": {"namespace": "ns", "name": "svc"}}
    port = {"name": "http", "port": 80, "targetPort": "web"}
    reach = services.follow(service, port, slices, lambda _namespace, _pod, number: number == 8000)
    assert not reach.ok
    assert text in reach.why


def test_a_service_that_answers() -> None:
    service = {"metadata": {"namespace": "ns", "name": "svc"}}
    assert services.follow(service, {"name": "http", "port": 80}, endpoints(8000), lambda *_: True).ok


def test_the_api_servers_own_endpoint_is_followed_to_no_pod() -> None:
    service = {
        "metadata": {"namespace": "default", "name": "kubernetes"},
        "spec": {"ports": [{"name": "https", "port": 443, "targetPort": 6443}]},
    }
    labels = {"kubernetes.io/service-name": "kubernetes"}
    endpoint: dict[str, Any] = {"addresses": ["127.0.0.1"], "conditions": {"ready": True}}
    own: dict[str, Any] = {
        "metadata": {"namespace": "default", "name": "kubernetes", "labels": labels},
        "ports": [{"name": "https", "port": 6443}],
        "endpoints": [endpoint],
    }
    assert services.unanswered([service], [own], lambda *_: False) == []
    endpoint["targetRef"] = {"kind": "Pod", "name": "apiserver-0"}
    assert len(services.unanswered([service], [own], lambda *_: False)) == 1


def test_a_pod_seen_from_outside_listens_where_its_command_line_says() -> None:
    images = known([Row(r".*/server", unknown, port=lambda argv: int(argv[-1]))])
    server = {"name": "s", "image": "example.org/server:1", "args": ["--port", "$(PORT)"]}
    pod = {"spec": {"containers": [{**server, "env": [{"name": "PORT", "value": "8001"}]}]}}
    assert images.listens(pod, 8001)
    assert not images.listens(pod, 8000)
    assert images.listens({"spec": {"containers": [{"name": "x", "image": "example.org/x:1"}]}}, 1)
    assert not images.listens(None, 1)
