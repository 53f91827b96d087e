"""No image of the table starts a real program by words, or variables, that lead to this machine's files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.images import gateway, prometheus
from rehearsal.images.postgresql import Server
from rehearsal.kubelet.confined import leading_out
from rehearsal.kubelet.program import Launch, LaunchError, Mount

MOUNTS = [Mount("/etc/prometheus/config", "c:x", name="config"), Mount("/etc/prometheus/config_out", "c:y")]
IMAGES = {
    "prometheus-operator": prometheus.operator,
    "prometheus": prometheus.server,
    "alertmanager": prometheus.alertmanager,
    "prometheus-config-reloader": prometheus.config_reloader,
    "kube-state-metrics": prometheus.kube_state_metrics,
    "prometheus-adapter": prometheus.adapter,
    "traefik": gateway.traefik,
    "cert-manager-controller": gateway.cert_manager,
    "cert-manager-webhook": gateway.cert_manager,
    "cert-manager-cainjector": gateway.cert_manager,
    "cert-manager-startupapicheck": gateway.api_check,
}
OUT = [
    "--config.file=/root/.aws/credentials",
    "--config-file=/root/.aws/credentials",
    "--any=/etc/passwd",
    "--any=//etc/passwd",
    "--any=a,/etc/passwd",
    "--any=file:///etc/passwd",
    "--any=sqlite:////root/x.db",
    "--any=../../keys.json",
    "--any=/etc/prometheus/config/../../passwd",
    "-f/etc/passwd",
    "/etc/passwd",
    "@/root/.aws/credentials",
    "--kubeconfig=/etc/prometheus/config/x",
    "--master=http://127.0.0.1:1",
]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """Launches that got past the look at their words: no process is started, and each says so by a LaunchError."""
    found: list[Launch] = []

    def started(launch: Launch) -> str:
        found.append(launch)
        raise LaunchError("started")

    monkeypatch.setattr("rehearsal.kubelet.process.request_token", started)
    return found


def launch(tmp_path: Path, image: str, *argv: str, **env: str) -> Launch:
    tools: Any = SimpleNamespace()
    world: Any = SimpleNamespace(
        tools=type("Tools", (dict,), {"__missing__": lambda _, name: Path("/tools") / name})(),
        proxy=SimpleNamespace(url="http://127.0.0.1:1", socks="socks5://127.0.0.1:1"),
        backends=SimpleNamespace(find=lambda *_: None),
        contents=SimpleNamespace(real=lambda *_: None),
        aws=tools,
    )
    mounts = [{"name": each.name, "mountPath": each.path} for each in MOUNTS]
    containers = [{"name": "c", "volumeMounts": mounts}]
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": containers}}
    spec = {"name": "c", "image": f"example.org/{image}:1"}
    return Launch(world, pod, spec, "node", list(argv), [], env, MOUNTS, tmp_path / "c" / "0", lambda: None, 0.0)


@pytest.mark.parametrize("word", OUT)
@pytest.mark.parametrize("image", IMAGES)
def test_a_program_starts_by_no_word_that_leads_out(tmp_path: Path, begun: list[Launch], image: str, word: str) -> None:
    with pytest.raises(LaunchError, match="no such file, or not for a pod to say"):
        IMAGES[image](launch(tmp_path, image, "-v", word))
    assert begun == []


@pytest.mark.parametrize("image", IMAGES)
def test_nor_by_a_variable(tmp_path: Path, begun: list[Launch], image: str) -> None:
    with pytest.raises(LaunchError, match="TRAEFIK_PROVIDERS_FILE_FILENAME=/root/x: no such file"):
        IMAGES[image](launch(tmp_path, image, TRAEFIK_PROVIDERS_FILE_FILENAME="/root/x"))
    assert begun == []


def test_a_database_lies_on_the_pods_volume(tmp_path: Path, begun: list[Launch]) -> None:
    with pytest.raises(LaunchError, match="PGDATA=/root: no such file"):
        Server(launch(tmp_path, "postgres", PGDATA="/root"))
    assert begun == []


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("kube-state-metrics", "--config=/etc/prometheus/config/a"),
        ("cert-manager", "--config=/etc/prometheus/config/a"),
        ("oauth2-proxy", "--alpha-config=/etc/prometheus/config/a"),
        ("traefik", "--configFile=/etc/prometheus/config/a"),
        ("traefik", "--providers.file.directory=/etc/prometheus/config"),
        ("prometheus-adapter", "--prometheus-auth-config=/etc/prometheus/config/a"),
        ("prometheus-adapter", "--lister-kubeconfig=/etc/prometheus/config/a"),
    ],
)
def test_a_file_that_names_others_is_not_for_a_pod_to_name(tmp_path: Path, program: str, word: str) -> None:
    assert list(leading_out(launch(tmp_path, program), ["-v", word], program)) == [word]


@pytest.mark.parametrize(
    ("image", "argv"),
    [
        ("prometheus-operator", ["--web.cert-file=/etc/prometheus/config/c", "--secret-field-selector=type!=a/b,c!=d"]),
        (
            "prometheus",
            ["--config.file=/etc/prometheus/config_out/a.yaml", "--web.route-prefix=/", "--web.x=http://a/b"],
        ),
        ("prometheus", ["--web.route-prefix", "/", "--web.listen-address=:9090"]),
        ("alertmanager", ["--cluster.listen-address=[10.0.0.1]:9094", "--cluster.peer=a.b:9094"]),
        ("kube-state-metrics", ["/kube-state-metrics", "--port=8080", "--resources=pods"]),
        (
            "prometheus-adapter",
            ["/adapter", "--config=/etc/prometheus/config/a", "--prometheus-url=http://p.n.svc:9090/x"],
        ),
        ("traefik", ["--entryPoints.web.address=:8000/tcp", "--providers.kubernetesgateway"]),
        ("cert-manager-controller", ["--acme-http01-solver-image=quay.io/jetstack/a:v1"]),
    ],
)
def test_what_charts_and_operators_write_goes_through(
    tmp_path: Path, begun: list[Launch], image: str, argv: list[str]
) -> None:
    with pytest.raises(LaunchError, match="started"):
        IMAGES[image](launch(tmp_path, image, *argv))
    assert len(begun) == 1


def test_addresses_of_others_are_no_files(tmp_path: Path) -> None:
    words = [
        "--oidc-issuer-url=https://login.example.com/realms/ml",
        "--upstream=static://202",
        "--trusted-proxy-ip=0.0.0.0/0",
        "--api-route=^/(api|apis)/",
        "--backend-store-uri=postgresql+psycopg2://mlflow@db:5432/mlflow",
        "--artifacts-destination=s3://artefacts/tracking",
        "--default-artifact-root=mlflow-artifacts:/",
    ]
    assert list(leading_out(launch(tmp_path, "x"), words)) == []
