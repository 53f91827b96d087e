"""A rehearsed kubectl or operator is a real program on this machine: a pod's words do not lead it out of the pod."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.images import kubectl, operators, words
from rehearsal.kubelet.process import variable
from rehearsal.kubelet.program import Ends, Launch, Mount

MOUNTS = [Mount("/manifests", "c:x"), Mount("/admission.local.config/configmap", "c:y")]


def launch(tmp_path: Path, *argv: str) -> Launch:
    world: Any = SimpleNamespace(contents=SimpleNamespace(real=lambda *_: None), tools={})
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": []}}
    return Launch(world, pod, {"name": "c"}, "node", list(argv), [], {}, MOUNTS, tmp_path / "c", lambda: None, 0.0)


@pytest.mark.parametrize(
    "argv",
    [
        ("apply", "--server-side", "--force-conflicts", "-f", "https://example.org/crds.yaml"),
        ("-n", "gpu", "wait", "--for=condition=established", "crd/a.b", "--timeout=60s"),
        ("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}", "-l", "pool=a/b"),
        ("get", "pods", "-oname", "-A", "--field-selector", "status.phase=Running"),
        ("create", "-f", "/manifests/a.yaml"),
        ("apply", "-Rf", "/manifests"),
        ("create", "configmap", "x", "--from-file=key=/manifests/a.yaml", "--from-literal=a=/etc/passwd"),
        ("delete", "-f", "-"),
    ],
)
def test_what_programs_ask_of_kubectl_goes_through(tmp_path: Path, argv: tuple[str, ...]) -> None:
    assert words.kubectl(launch(tmp_path), argv) == list(argv)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("get", "pods", "--kubeconfig=/manifests/a.yaml"), "--kubeconfig is not rehearsed"),
        (("get", "pods", "--kubeconfig", "x"), "--kubeconfig is not rehearsed"),
        (("--server", "http://127.0.0.1:1", "get", "pods"), "--server is not rehearsed"),
        (("get", "pods", "-shttp://127.0.0.1:1"), "--server is not rehearsed"),
        (("get", "pods", "-As", "http://127.0.0.1:1"), "--server is not rehearsed"),
        (("get", "secrets", "--token=t"), "--token is not rehearsed"),
        (("get", "secrets", "--as", "system:admin"), "--as is not rehearsed"),
        (("get", "secrets", "--as-group=system:masters"), "--as-group is not rehearsed"),
        (("get", "pods", "--client-key=/manifests/k"), "--client-key is not rehearsed"),
        (("get", "pods", "--kuberc=/manifests/k"), "--kuberc is not rehearsed"),
        (("get", "pods", "--cache-dir=/home/me"), "--cache-dir is not rehearsed"),
        (("create", "-f", "/home/me/.aws/credentials"), 'the path "/home/me/.aws/credentials" does not exist'),
        (("create", "-f/etc/passwd"), 'the path "/etc/passwd" does not exist'),
        (("create", "--filename=/manifests/../../etc/passwd"), "does not exist"),
        (("create", "-f", "../../keys.json"), "does not exist"),
        (("create", "-f", "/manifests/a.yaml,/etc/passwd"), 'the path "/etc/passwd" does not exist'),
        (("apply", "-Rf", "/etc"), 'the path "/etc" does not exist'),
        (("apply", "-k", "/etc"), 'the path "/etc" does not exist'),
        (("create", "secret", "generic", "x", "--from-file=k=/etc/passwd"), 'the path "/etc/passwd" does not exist'),
        (("create", "secret", "generic", "x", "--from-env-file", "/etc/passwd"), "does not exist"),
        (("patch", "pod", "x", "--patch-file=/etc/passwd"), "does not exist"),
        (("get", "pods", "-o=jsonpath-file=/etc/passwd"), "-o jsonpath-file is not rehearsed"),
        (("get", "pods", "--output", "go-template-file=/etc/passwd"), "-o go-template-file is not rehearsed"),
        (("edit", "pod", "x"), 'unknown command "edit"'),
        (("--warnings-as-errors", "diff", "-f", "/manifests/a"), 'unknown command "diff"'),
        (("proxy", "--address=0.0.0.0"), 'unknown command "proxy"'),
        (("config", "view", "--raw"), 'unknown command "config"'),
        (("sub", "command"), 'unknown command "sub"'),
        (("exec", "x", "--", "id"), 'unknown command "exec"'),
        (("get", "pods", "--", "-f", "/etc/passwd"), "words behind it are not rehearsed"),
    ],
)
def test_kubectl_takes_no_file_server_or_person_from_a_pod(tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    own = launch(tmp_path, "kubectl", *argv)
    program = kubectl.run(own)
    assert isinstance(program, Ends), "kubectl was started"
    found = program.exited(0.0)
    assert found is not None
    assert (found.code, said in found.message) == (1, True), found.message
    assert said in (tmp_path / "c" / "log").read_text()


@pytest.mark.parametrize(
    "word",
    [
        "--kubeconfig=/admission.local.config/configmap/x",
        "--kubeconfig",
        "-kubeconfig=x",
        "--master=http://127.0.0.1:1",
        "--plugins-dir=/admission.local.config/configmap",
        "--scheduler-conf=/etc/passwd",
        "--scheduler-conf=../../keys.json",
        "--admission-conf=/admission.local.config/configmap/../../../etc/passwd",
        "--log_dir=/home/me",
        "/etc/passwd",
        "@/etc/passwd",
        "--where=/etc/passwd",
    ],
)
@pytest.mark.parametrize(
    "start",
    [
        operators.volcano_scheduler,
        operators.volcano_controllers,
        operators.volcano_admission,
        operators.training_operator,
    ],
)
def test_an_operator_takes_no_file_or_server_from_a_pod(tmp_path: Path, start: Any, word: str) -> None:
    found = start(launch(tmp_path, "/entry", "-v=3", word)).exited(0.0)
    assert (found.code, word in found.message) == (1, True)


def test_the_words_of_the_charts_go_through(tmp_path: Path) -> None:
    """They get as far as the binary, which these tests do not have."""
    own = launch(
        tmp_path,
        "/vc-webhook-manager",
        "--enabled-admission=/jobs/mutate,/jobs/validate",
        "--admission-conf=/admission.local.config/configmap/volcano-admission.conf",
        "--webhook-namespace=volcano-system",
        "2>&1",
    )
    with pytest.raises(KeyError, match="vc-webhook-manager"):
        operators.volcano_admission(own)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "KUBECTL_EXTERNAL_DIFF", "PYTHONPATH", "https_proxy", "HOME"])
def test_variables_that_load_or_lead_elsewhere_do_not_reach_a_real_program(name: str) -> None:
    assert not variable(name)
    assert variable("MY_POD_NAMESPACE")
    assert variable("KUBE_POD_NAMESPACE")
