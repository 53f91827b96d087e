"""A small program through the real engine, the language host and the kubernetes plugin, on a real API server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal import places
from rehearsal.engine import home
from rehearsal.engine.installed import Official, official
from rehearsal.kube.client import Kube
from rehearsal.tests.kube.control_plane import ControlPlane
from rehearsal.toolchain import ensure

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi
import pulumi_kubernetes as k8s

config = pulumi.Config()
version = config.require("version")
kubeconfig = pulumi.Output.secret(open(config.require("kubeconfig")).read())
opts = pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=kubeconfig))
team = k8s.core.v1.Namespace("team", metadata={"name": "team", "labels": {"version": version}}, opts=opts)
inside = {"namespace": team.metadata.name}
settings = k8s.core.v1.ConfigMap("settings", metadata=inside, data={"version": version}, opts=opts)
k8s.core.v1.Secret("token", metadata={"name": "token", **inside}, string_data={"password": "hunter2"}, opts=opts)
limits = {"limits": {"cpu": "0.5"}}
env = [{"name": "TOKEN", "value": pulumi.Output.secret("s3cret")}]
container = {"name": "c", "image": f"x:{version}", "resources": limits, "env": env}
k8s.apps.v1.Deployment(
    "serve",
    metadata={"name": "serve", "annotations": {"settings": settings.metadata.name}, **inside},
    spec={
        "replicas": 0,
        "selector": {"match_labels": {"app": "serve"}},
        "template": {"metadata": {"labels": {"app": "serve"}}, "spec": {"containers": [container]}},
    },
    opts=opts,
)
release = k8s.helm.v3.Release(
    "efa",
    name="efa",
    chart="aws-efa-k8s-device-plugin",
    version="0.5.30",
    namespace=team.metadata.name,
    repository_opts={"repo": "https://aws.github.io/eks-charts"},
    values={"tolerations": [{"operator": "Exists"}]},
    timeout=30,
    opts=opts,
)
pulumi.export("settings", settings.metadata.name)
pulumi.export("release", release.status.status)
"""


WITHOUT_RELEASES = """
from rehearsal.plugins.kubernetes.provider import KubernetesPlugin
from rehearsal.plugins.kubernetes.tools import Building
from rehearsal.plugins.servicer import serve

class Installed(KubernetesPlugin):
    def Check(self, request, context):
        assert "helm.sh/v3:Release" not in request.urn, "no repository is reached from here"
        return super().Check(request, context)

serve(Installed(sys.argv[1], Building()))
"""


def installed(directory: Path) -> Official | None:
    """A directory with executables in the places of official ones: the plugin there cannot do Releases."""
    modules = {"pulumi-language-python": "import rehearsal.plugins.language.__main__ as host; sys.exit(host.main())"}
    directory.mkdir()
    for name, code in {**modules, "pulumi-resource-kubernetes": WITHOUT_RELEASES}.items():
        file = directory / name
        file.write_text(f"#!{sys.executable} -P\nimport sys\nsys.path.insert(0, {str(places.CODE)!r})\n{code}\n")
        file.chmod(0o755)
    return official(str(directory), home.wanted(None))


class Engine:
    """The CLI on one stack of the program; `parts` are installed plugins to use in place of the stand-ins."""

    def __init__(self, directory: Path, kubeconfig: str, parts: Official | None) -> None:
        site = places.SiteDirectory(directory / "site")
        self._home = home.prepare(site, ensure(["pulumi"])["pulumi"], "http://127.0.0.1:1", official=parts)
        self._program = directory / "program"
        self._program.mkdir()
        (self._program / "Pulumi.yaml").write_text("name: kube\nruntime: python\n")
        (self._program / "__main__.py").write_text(PROGRAM)
        (directory / "kubeconfig").write_text(kubeconfig)
        self("stack", "init", "dev")
        self.configure(kubeconfig=str(directory / "kubeconfig"), version="1")

    def configure(self, **values: str) -> None:
        for key, value in values.items():
            self("config", "set", key, value)

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(self._home.pulumi), *arguments, "--non-interactive"],
            cwd=self._program,
            env=dict(self._home.env),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def operations(self, *arguments: str) -> dict[str, str]:
        """Resource name -> operation, of a preview; unchanged ones left out."""
        steps = json.loads(self("preview", "--json", *arguments))["steps"]
        return {step["urn"].rpartition("::")[2]: step["op"] for step in steps if step["op"] != "same"}

    def state(self) -> dict[str, Any]:
        exported: dict[str, Any] = json.loads(self("stack", "export"))
        return exported


@pytest.fixture(params=["stand-ins", pytest.param("installed plugins", marks=pytest.mark.scale)])
def engine(request: pytest.FixtureRequest, tmp_path: Path, control_plane: ControlPlane) -> Iterator[Engine]:
    parts = installed(tmp_path / "installed") if request.param == "installed plugins" else None
    made = Engine(tmp_path, control_plane.kubeconfig(), parts)
    yield made
    made("destroy", "--yes", "--skip-preview")


def test_up_nothing_to_do_drift_change_destroy(engine: Engine, kube: Kube) -> None:
    engine("up", "--yes", "--skip-preview")
    live = kube.get("apps/v1", "DaemonSet", "efa-aws-efa-k8s-device-plugin", "team")
    assert live is not None
    assert live["metadata"]["annotations"]["meta.helm.sh/release-name"] == "efa"
    outputs = json.loads(engine("stack", "output", "--json"))
    assert outputs["settings"].startswith("settings-")
    assert outputs["release"] == "deployed"

    engine("preview", "--expect-no-changes")
    engine("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    (token,) = [each for each in engine.state()["deployment"]["resources"] if each["urn"].endswith("::token")]
    assert token["outputs"]["__initialApiVersion"] == "v1"
    assert "stringData" not in token["inputs"] | token["outputs"]["__inputs"]
    text = json.dumps(engine.state())
    assert "hunter2" not in text
    assert "aHVudGVyMg" not in text
    assert "s3cret" not in text

    kube.patch("v1", "Namespace", "team", None, {"metadata": {"labels": {"version": "theirs"}}})
    kube.delete({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "team"}})
    shown = engine("refresh", "--yes", "--skip-preview", "--diff")
    assert 'version: "1" => "theirs"' in shown
    assert "1 deleted" in shown
    assert "~ 1 updated" in shown

    engine.configure(version="2")
    kube.patch("v1", "Namespace", "team", None, {"metadata": {"labels": {"version": None}}})
    engine("refresh", "--yes", "--skip-preview")
    assert engine.operations() == {"team": "update", "token": "create", "serve": "update", "settings": "replace"}
    engine("up", "--yes", "--skip-preview")
    engine("preview", "--expect-no-changes")

    engine("destroy", "--yes", "--skip-preview")
    assert kube.get("v1", "Namespace", "team") is None
    assert [resource["type"] for resource in engine.state()["deployment"].get("resources", [])] == []
