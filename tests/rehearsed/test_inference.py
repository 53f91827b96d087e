"""Weights from S3 onto Lustre by pod identity, and vLLM that serves them - or does not, for the right reason."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from catalogue.versions import CURL_IMAGE
from components.serving.smoke import SmokeRequest
from components.serving.tokens import SecretKey
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from tests.components.samples import Options, built
from tests.components.samples.serving import smoke_args

pytestmark = pytest.mark.engine
WHERE = "inference"
WEIGHTS = ("llama-3.1-8b/config.json", "llama-3.1-8b/model.safetensors")


@pytest.fixture(scope="module")
def models(gpus: Site) -> Site:
    """A file system with a bound claim, a bucket with weights, and a service account that may read it."""
    account = gpus.account
    gpus.apply(workloads.namespace(WHERE), workloads.account("weights", WHERE), workloads.account("other", WHERE))
    gpus.apply(*workloads.static_volume("models", WHERE, account.lustre([account.cluster_group])))
    account.bucket("weights", *WEIGHTS)
    account.reader("weights-reader", "weights", (WHERE, "weights"))
    return gpus


@pytest.fixture(scope="module")
def loaded(models: Site) -> Site:
    """The same with the weights on the volume."""
    models.apply(workloads.weights_job("weights", WHERE, "s3://weights/llama-3.1-8b", "models"))
    until(lambda: models.succeeded(WHERE, "weights"), 60, "the weights job ends well")
    return models


def test_the_first_pod_under_a_new_association_has_no_credentials_and_the_next_one_has_lf17(models: Site) -> None:
    models.apply(workloads.account("new", WHERE))
    models.account.reader("new-reader", "weights", (WHERE, "new"), settled=False)
    job = workloads.weights_job("eager", WHERE, "s3://weights/llama-3.1-8b", "models")
    job["spec"]["backoffLimit"] = 1
    job["spec"]["template"]["spec"]["serviceAccountName"] = "new"
    models.apply(job)
    assert "Unable to locate credentials" in failed_with(models, "eager")

    def copied() -> bool:
        job = models.kube.get("batch/v1", "Job", "eager", WHERE) or {}
        return bool(job["status"].get("succeeded"))

    until(copied, 60, "the second pod copies the weights")


@pytest.fixture
def serving(loaded: Site, request: pytest.FixtureRequest) -> Any:
    """Applies the objects of a server and takes them away after the test."""
    made: list[dict[str, Any]] = []

    def make(*objects: dict[str, Any]) -> None:
        made.extend(objects)
        loaded.apply(*objects)

    yield make
    for each in made:
        loaded.kube.delete(each)
    until(lambda: not loaded.pods(WHERE, "vllm"), 30, "the server's pods go")


def state(site: Site, prefix: str) -> str:
    """The container states of the pods, as text."""
    return str([pod["status"].get("containerStatuses") for pod in site.pods(WHERE, prefix)])


def mount_failure(site: Site, pod: str) -> str:
    """The reasons why the pod's volumes are not mounted."""
    return "\n".join(message for reason, message in site.events(WHERE, pod) if reason == "FailedMount")


def failed_with(site: Site, job: str) -> str:
    pods = until(lambda: [p for p in site.pods(WHERE, job) if p["status"].get("phase") == "Failed"], 60, f"{job} fails")
    return str(pods[0]["status"])


def test_server_is_ready_and_answers_through_its_service(loaded: Site, serving: Any) -> None:
    serving(*workloads.server("vllm", WHERE, "models"))
    until(lambda: loaded.available(WHERE, "vllm"), 60, "vLLM is available")
    until(lambda: [each.ok for each in loaded.effects.reachable(WHERE, "vllm")] == [True], 20, "the Service answers")


@pytest.fixture(scope="module")
def keys(loaded: Site) -> Site:
    """Two Secrets: the servers' key, and one that is another's."""
    for name, key in (("key", "right"), ("other-key", "wrong")):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": WHERE}}
        loaded.apply({**secret, "stringData": {"token": key}})
    return loaded


def guarded() -> list[dict[str, Any]]:
    """A server whose callers need the key."""
    deployment, service = workloads.server("vllm", WHERE, "models")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["args"] += ["--served-model-name", "llama"]
    container["env"] = [{"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}}]
    return [deployment, service]


def asking(name: str, secret: str, model: str) -> dict[str, Any]:
    """The program's own Job for a first request, as it registers it."""

    def request(opts: Options) -> SmokeRequest:
        address = f"http://vllm.{WHERE}.svc/v1"
        args = smoke_args(service=name, namespace=WHERE, models=[model], address=address, image=CURL_IMAGE)
        return SmokeRequest("sample", replace(args, key=SecretKey(name=secret, key="token")), opts)

    job = dict(built(request).one("sample-request").inputs)
    return {**job, "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": WHERE}}


def test_a_first_request_is_answered_with_the_right_key_and_name_q10(keys: Site, serving: Any) -> None:
    serving(*guarded())
    until(lambda: keys.available(WHERE, "vllm"), 60, "vLLM is available")
    keys.apply(asking("right", "key", "llama"))
    until(lambda: keys.succeeded(WHERE, "right"), 60, "both requests are answered")


@pytest.mark.parametrize(
    ("name", "secret", "model", "words"),
    [
        ("wrong-key", "other-key", "llama", '{"error": "Unauthorized"}'),
        ("wrong-name", "key", "llama-2", "The model `llama-2` does not exist."),
    ],
)
def test_a_first_request_that_is_refused_fails_with_vllms_words_q10(
    keys: Site, serving: Any, name: str, secret: str, model: str, words: str
) -> None:
    serving(*guarded())
    until(lambda: keys.available(WHERE, "vllm"), 60, "vLLM is available")
    keys.apply(asking(name, secret, model))
    until(lambda: [p for p in keys.pods(WHERE, name) if p["status"].get("phase") == "Failed"], 60, f"{name} fails")
    statuses = [each for pod in keys.pods(WHERE, name) for each in pod["status"].get("containerStatuses", [])]
    said = [each["state"]["terminated"].get("message", "") for each in statuses if "terminated" in each["state"]]
    assert any(words in each and "curl: (22)" in each for each in said), said


def test_service_port_that_nobody_listens_on_is_named(loaded: Site, serving: Any) -> None:
    deployment, service = workloads.server("vllm", WHERE, "models")
    service["spec"]["ports"][0]["targetPort"] = 8080
    serving(deployment, service)
    until(lambda: loaded.available(WHERE, "vllm"), 60, "vLLM is available")
    why = until(lambda: (r := loaded.effects.reachable(WHERE, "vllm")) and r[0].why, 20, "an answer")
    assert not loaded.effects.reachable(WHERE, "vllm")[0].ok
    assert "8080" in why
    assert "no container listens" in why


def test_probe_on_another_port_never_gets_ready(loaded: Site, serving: Any) -> None:
    serving(*workloads.server("vllm", WHERE, "models", probe_port=9000))
    pod = until(lambda: loaded.pods(WHERE, "vllm"), 30, "a pod")[0]["metadata"]["name"]
    until(lambda: "Unhealthy" in dict(loaded.events(WHERE, pod)), 30, "the kubelet says the probe fails")
    assert not loaded.available(WHERE, "vllm")


def test_more_gpus_than_the_container_has_is_a_crash_loop(loaded: Site, serving: Any) -> None:
    serving(*workloads.server("vllm", WHERE, "models", tensor_parallel=2))
    until(lambda: "CrashLoopBackOff" in state(loaded, "vllm"), 30, "vLLM crashes again and again")
    assert "World size (2) is larger than the number of available GPUs (1)" in state(loaded, "vllm")


def test_too_short_a_startup_budget_restarts_it(loaded: Site, serving: Any) -> None:
    """An 8B model takes over a minute of life to load: one try after ten seconds is too few."""
    deployment, service = workloads.server("vllm", WHERE, "models")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["startupProbe"].update(periodSeconds=10, failureThreshold=1)
    serving(deployment, service)
    counts = r"'restartCount': [2-9]"
    until(lambda: re.search(counts, state(loaded, "vllm")), 30, "the kubelet restarts it")
    assert not loaded.available(WHERE, "vllm")


def test_weights_without_permission_are_access_denied(models: Site) -> None:
    job = workloads.weights_job("denied", WHERE, "s3://weights/llama-3.1-8b", "models")
    models.account.bucket("private", "x/config.json")
    job["spec"]["template"]["spec"]["containers"][0]["args"][2] = "s3://private/x"
    models.apply(job)
    assert "AccessDenied" in failed_with(models, "denied")


def test_weights_from_a_bucket_that_does_not_exist(models: Site) -> None:
    models.account.iam.put_role_policy(
        RoleName="weights-reader",
        PolicyName="missing",
        PolicyDocument=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::no-such*"}],
            }
        ),
    )
    models.apply(workloads.weights_job("nobucket", WHERE, "s3://no-such/x", "models"))
    assert "NoSuchBucket" in failed_with(models, "nobucket")


def test_pod_waits_for_its_secret_and_says_so(models: Site) -> None:
    spec = {
        "containers": [
            workloads.container(
                "example.org/app:1",
                env=[{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token"}}}],
            )
        ]
    }
    models.apply(workloads.pod("needs-secret", WHERE, spec))
    waiting = "CreateContainerConfigError"
    until(lambda: waiting in state(models, "needs-secret"), 30, "the kubelet waits for the Secret")
    assert 'secret \\"hf-token\\" not found' in state(models, "needs-secret").replace('"', '\\"')
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf-token", "namespace": WHERE}}
    models.apply({**secret, "stringData": {"token": "x"}})
    until(lambda: "running" in state(models, "needs-secret"), 15, "the pod starts once the Secret is there")


def test_file_system_behind_a_closed_group_cannot_be_mounted(models: Site) -> None:
    account = models.account
    closed = account.ec2.create_security_group(GroupName="closed", Description="self", VpcId=account.vpc)["GroupId"]
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": closed}]}
    account.ec2.authorize_security_group_ingress(GroupId=closed, IpPermissions=[permission])
    models.apply(*workloads.static_volume("closed", WHERE, account.lustre([closed])))
    spec = {
        "containers": [workloads.container("example.org/app:1", volumeMounts=[{"name": "v", "mountPath": "/v"}])],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "closed"}}],
    }
    models.apply(workloads.pod("closed", WHERE, spec))
    until(lambda: "988" in mount_failure(models, "closed"), 30, "the mount fails at the closed port")


def test_driver_that_is_not_installed_is_named(models: Site) -> None:
    system = models.account.fsx.describe_file_systems()["FileSystems"][0]
    models.apply(*workloads.static_volume("nodriver", WHERE, system, driver="ebs.csi.aws.com"))
    spec = {
        "containers": [workloads.container("example.org/app:1", volumeMounts=[{"name": "v", "mountPath": "/v"}])],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nodriver"}}],
    }
    models.apply(workloads.pod("nodriver", WHERE, spec))
    text = "ebs.csi.aws.com not found in the list of registered CSI drivers"
    until(lambda: text in mount_failure(models, "nodriver"), 30, "the mount fails")
