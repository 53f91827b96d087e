"""Which image does what, and how command lines are read."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.effects import iam, images, services
from rehearsal.effects.behaviours import daemons, kubectl, operators, s3sync, trainer, vllm
from rehearsal.effects.behaviours.process import FILES


@pytest.mark.parametrize(
    ("image", "container", "start"),
    [
        ("nvcr.io/nvidia/k8s-device-plugin:v0.19.3", "nvidia-device-plugin", daemons.nvidia_device_plugin),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.19.3", "gpu-feature-discovery", daemons.gpu_feature_discovery),
        ("602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20", "x",
         daemons.efa_device_plugin),
        ("docker.io/volcanosh/vc-scheduler:v1.14.1", "volcano-scheduler", operators.volcano_scheduler),
        ("ghcr.io/kubeflow/training-v1/training-operator:v1.9.3", "training-operator", operators.training_operator),
        ("registry.k8s.io/kubectl:v1.36.3@sha256:" + "0" * 64, "kubectl", kubectl.run),
        ("public.ecr.aws/aws-cli/aws-cli:2.31.0", "sync", s3sync.run),
        ("docker.io/vllm/vllm-openai:v0.29.0", "vllm", vllm.run),
        ("registry:5000/team/trainer", "pytorch", trainer.run),
    ],
)  # fmt: skip
def test_known_images(image: str, container: str, start: Any) -> None:
    row = images.find(image, container)
    assert row is not None
    assert row.start is start


def test_an_image_nobody_knows_has_no_row() -> None:
    assert images.find("example.org/app:1", "main") is None


def test_repository_keeps_a_registrys_port() -> None:
    assert images.repository("localhost:5000/a/b:v1@sha256:00") == "localhost:5000/a/b"


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


# -- vLLM


def test_command_lines_of_vllm() -> None:
    assert vllm.parse(["--model", "/m/x", "--tensor-parallel-size=8", "--port", "9000"]) == vllm.Serve(
        "/m/x", 8, 1, 9000
    )
    assert vllm.parse(["vllm", "serve", "/m/x", "-tp", "2"]) == vllm.Serve("/m/x", 2, 1, 8000)
    assert vllm.parse(["sh", "-c", "exec vllm serve /m/x --port 8080"]) == vllm.Serve("/m/x", 1, 1, 8080)
    assert vllm.parse(["--enable-prefix-caching", "--model", "/m"]).model == "/m"


def test_gpus_asked_for_must_be_there() -> None:
    assert vllm.wrong(vllm.Serve("/m", 1, 1, 8000), 1) is None
    assert "World size (8)" in (vllm.wrong(vllm.Serve("/m", 4, 2, 8000), 4) or "")
    assert "no GPU" in (vllm.wrong(vllm.Serve("/m", 1, 1, 8000), 0) or "")


def test_load_time_grows_with_the_model_its_name_tells() -> None:
    assert vllm.load_seconds("/m/llama-3.1-8b-instruct", 0) == pytest.approx(76)
    assert vllm.load_seconds("/m/Llama-3.3-70B", 0) == pytest.approx(200)
    assert vllm.load_seconds("/m/model", 10**9) == pytest.approx(61)


def test_the_server_answers_on_its_port_once_loaded() -> None:
    server = vllm.Server(8000, loaded_at=10.0)
    health = {"httpGet": {"path": "/health"}}
    assert "refused" in (server.refuses(health, 8000, 9.0) or "")
    assert server.refuses(health, 8000, 10.0) is None
    assert "refused" in (server.refuses(health, 8080, 10.0) or "")
    assert "404" in (server.refuses({"httpGet": {"path": "/healthz"}}, 8000, 10.0) or "")
    assert server.next_change(9.0) == 10.0


# -- torchrun


def test_rendezvous_of_more_nodes_than_pods_never_happens() -> None:
    """KJ06: --nnodes counts nodes, WORLD_SIZE counts ranks."""
    env = {"PET_NNODES": "2", "WORLD_SIZE": "16"}
    assert trainer.rendezvous_problem(["torchrun", "--nnodes=2", "t.py"], env) is None
    assert trainer.rendezvous_problem(["torchrun", "t.py"], env) is None
    assert "16 nodes" in (trainer.rendezvous_problem(["sh", "-c", "torchrun --nnodes=$WORLD_SIZE t.py"], env) or "")


def test_elastic_jobs_need_their_least_number_only() -> None:
    assert trainer.rendezvous_problem(["torchrun", "--nnodes=2:4", "t.py"], {"PET_NNODES": "2:4"}) is None


# -- kubectl


def test_the_kubectl_image_has_no_shell() -> None:
    assert kubectl.arguments(["sh", "-c", "kubectl get pods"]) is None
    assert kubectl.arguments(["kubectl", "get", "pods"]) == ["get", "pods"]
    assert kubectl.arguments(["get", "pods"]) == ["get", "pods"]


def test_urls_with_nothing_behind_them_are_refused() -> None:
    with pytest.raises(kubectl.NotFoundError, match="nothing behind"):
        kubectl.local("https://example.org/x.yaml")
    assert kubectl.local("--server-side") == "--server-side"


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


def test_pod_identity_needs_both_actions_in_the_trust_policy() -> None:
    def trust(*actions: str) -> dict[str, Any]:
        principal = {"Service": "pods.eks.amazonaws.com"}
        return {"Statement": [{"Effect": "Allow", "Principal": principal, "Action": list(actions)}]}

    both = ("sts:AssumeRole", "sts:TagSession")
    assert iam.trusts(trust(*both), "pods.eks.amazonaws.com", both)
    assert not iam.trusts(trust("sts:AssumeRole"), "pods.eks.amazonaws.com", both)
    assert not iam.trusts(trust(*both), "ec2.amazonaws.com", both)


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


def test_a_pod_seen_from_outside_listens_where_its_command_line_says() -> None:
    server = {"name": "vllm", "image": "vllm/vllm-openai:v0.29.0", "args": ["--model", "/m", "--port", "$(PORT)"]}
    pod = {"spec": {"containers": [{**server, "env": [{"name": "PORT", "value": "8001"}]}]}}
    assert services.listens(pod, 8001)
    assert not services.listens(pod, 8000)
    assert services.listens({"spec": {"containers": [{"name": "x", "image": "example.org/x:1"}]}}, 1)
    assert not services.listens(None, 1)
