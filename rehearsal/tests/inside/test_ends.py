"""A server that dies while it starts never looks ready."""

import pytest

from rehearsal.kubelet import podstatus
from rehearsal.kubelet.lifecycle import Container
from rehearsal.kubelet.program import Ends, Exit, Program

PROBE = {"httpGet": {"path": "/health", "port": 8000}, "failureThreshold": 60}
SPEC = {"name": "server", "image": "example.org/server:1", "startupProbe": PROBE, "readinessProbe": PROBE}


def test_a_process_that_will_end_answers_no_probe() -> None:
    dying, healthy = Container(SPEC, "main"), Container(SPEC, "main")
    dying.begin(Ends(10.0, Exit(1, "no GPU")), 0.0)
    healthy.begin(Program(), 0.0)
    for now in (0.1, 0.2, 5.0):
        dying.look(now)
        healthy.look(now)
    assert healthy.ready
    assert not dying.ready
    assert not Ends(10.0, Exit(1)).listens(8000, 0.0)
    dying.look(10.0)
    assert dying.phase == "terminated"


@pytest.mark.parametrize(
    ("policy", "ended", "shown"),
    [
        ("FallbackToLogsOnError", Exit(1, "no GPU"), "no GPU"),
        ("FallbackToLogsOnError", Exit(0, "done"), ""),
        ("File", Exit(1, "no GPU"), ""),
        (None, Exit(1, "no GPU"), ""),
        (None, Exit(128, "exec: not found", "StartError"), "exec: not found"),
    ],
)
def test_the_pod_shows_the_end_of_a_log_only_if_it_asks_for_it(policy: str | None, ended: Exit, shown: str) -> None:
    container = Container({**SPEC, **({"terminationMessagePolicy": policy} if policy else {})}, "main")
    container.begin(Ends(1.0, ended), 0.0)
    container.look(1.0)
    assert container.state()["terminated"].get("message", "") == shown


def test_a_pod_that_is_deleted_while_it_runs_comes_to_a_last_phase() -> None:
    running = {"name": "a", "ready": True, "started": True, "state": {"running": {"startedAt": "then"}}}
    done = {"name": "b", "ready": False, "state": {"terminated": {"exitCode": 0}}}
    conditions = [{"type": "Ready", "status": "True"}, {"type": "DisruptionTarget", "status": "True"}]
    last = podstatus.ended({"phase": "Running", "containerStatuses": [running, done], "conditions": conditions})
    assert last["phase"] == "Failed"
    assert (last["containerStatuses"][0]["state"]["terminated"]["exitCode"], last["containerStatuses"][1]) == (
        143,
        done,
    )
    ready, target = last["conditions"]
    assert (ready["status"], ready["reason"], target) == ("False", "PodFailed", conditions[1])
    assert podstatus.ended({"phase": "Succeeded"}) == {"phase": "Succeeded"}
