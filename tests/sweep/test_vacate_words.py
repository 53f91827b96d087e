"""What `make vacate` asks kubectl for, how patiently, and what it says, word for word."""

import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sweep import steps, vacate
from sweep.kubectl import Kubectl


def kubectl(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Any]) -> list[tuple[Any, Any]]:
    """In the place of kubectl: notes what is run and how."""
    ran: list[tuple[Any, Any]] = []

    def run(words: Sequence[str], **how: Any) -> Any:
        ran.append((words, how))
        return answer()

    monkeypatch.setattr(subprocess, "run", run)
    return ran


def told(status: int, out: str = "", err: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], status, out, err)


def test_kubectl_is_asked_for_the_context_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a cluster of another name is left alone, with what to type."""
    ran = kubectl(monkeypatch, lambda: told(0, " arn:aws:eks:r:1:cluster/mine-lab\n"))
    assert vacate.main(["--stack", "lab", "--context", "there"]) == 2
    words = ["config", "view", "--minify", "--output", "jsonpath={.contexts[0].context.cluster}"]
    assert ran == [(["kubectl", "--context", "there", *words], {"capture_output": True, "text": True, "timeout": 660})]
    assert capsys.readouterr() == (
        "",
        "kubectl talks to arn:aws:eks:r:1:cluster/mine-lab, not to gpucluster-lab: type\n"
        "aws eks update-kubeconfig --name gpucluster-lab\n"
        "or, after its destroy, make vacate STACK=lab REGION=us-east-2\n",
    )
    monkeypatch.setattr(vacate, "planned", lambda _: [])
    ran = kubectl(monkeypatch, lambda: told(0, "mine-lab"))
    assert vacate.main(["--project", "mine", "--stack", "lab"]) == 0
    assert ran[-1][0] == ["kubectl", *words]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: told(1, "x", "no such context\n"), "kubectl config view: no such context"),
        (lambda: (_ for _ in ()).throw(FileNotFoundError), "kubectl is not on PATH: install it"),
        (
            lambda: (_ for _ in ()).throw(subprocess.TimeoutExpired("kubectl", 1)),
            "kubectl config view gave no answer in 660 s",
        ),
    ],
    ids=["refused", "missing", "silent"],
)
def test_what_kubectl_cannot_do_is_said_with_what_to_type(
    answer: Callable[[], Any], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl(monkeypatch, answer)
    assert vacate.main(["--stack", "lab"]) == 1
    assert capsys.readouterr() == ("", f"not done: {said}; run the same command again\n")


def test_kubectl_gets_and_deletes_in_these_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everywhere, with who manages the fields; and deletes what may be gone, waiting as long as a volume takes."""
    ran = kubectl(monkeypatch, lambda: told(0, '{"items": [{"metadata": {"name": "a"}}]}'))
    asked = Kubectl()
    assert asked.kinds() == {"a"}
    asked.delete(["namespace", "team"])
    everywhere = ["--all-namespaces", "--output", "json", "--show-managed-fields"]
    assert [words for words, _ in ran] == [
        ["kubectl", "get", "customresourcedefinitions", *everywhere],
        ["kubectl", "delete", "namespace", "team", "--ignore-not-found", "--wait", "--timeout=600s"],
    ]


def test_a_volume_that_goes_is_looked_at_again_every_three_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that its driver failed to delete as well: it may succeed the next time."""

    def volume(phase: str, by: str = "pv.kubernetes.io/provisioned-by", policy: str = "Delete") -> Any:
        spec = {"persistentVolumeReclaimPolicy": policy}
        return {"metadata": {"name": "v", "annotations": {by: "x"}}, "spec": spec, "status": {"phase": phase}}

    looks = [[volume("Failed")], [volume("Released")]]
    looks.append([volume("Bound"), volume("Released", policy="Retain"), volume("Released", by="other")])
    pauses: list[float] = []
    asked = Kubectl()
    monkeypatch.setattr(asked, "all", lambda kinds: {"persistentvolumes": looks}[kinds].pop(0))
    steps.vacate(asked, [], pauses.append)
    assert pauses == [3.0, 3.0]


def test_the_prompt_says_what_is_lost_and_a_typo_removes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step = steps.Step(("service", "front", "--namespace", "team"), "its load balancer")
    monkeypatch.setattr(vacate, "planned", lambda _: [step])
    done: list[Any] = []
    monkeypatch.setattr(vacate, "vacate", lambda _, found: done.append(found))
    kubectl(monkeypatch, lambda: told(0, "gpucluster-lab"))
    questions: list[str] = []

    def answer(text: str) -> str:
        questions.append(text)
        return " lab\n" if len(questions) > 1 else "lba"

    shown = "delete service front --namespace team, and with it its load balancer\n"
    assert vacate.main(["--stack", "lab"], ask=answer) == 1
    assert (capsys.readouterr().out, done) == (f"{shown}nothing was removed\n", [])
    assert vacate.main(["--stack", "lab"], ask=answer) == 0
    assert (capsys.readouterr().out, done) == (f"{shown}done; next: make undeploy STACK=lab\n", [[step]])
    assert questions == ["they will be deleted permanently, with their data; type lab: "] * 2
