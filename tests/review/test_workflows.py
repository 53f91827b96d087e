"""What the workflows may do, and that each of their shell steps is a command there is."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml

from tests.typed import handed

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))

READ = {"contents": "read"}
NEEDED: dict[tuple[str, str], dict[str, str]] = {
    ("ci", "quick"): READ,
    ("ci", "engine"): READ,
    ("preview", "preview"): READ,
    ("comment", "comment"): {**READ, "actions": "read", "pull-requests": "write"},
    ("drift", "look"): {**READ, "id-token": "write"},
    ("drift", "tell"): {**READ, "issues": "write"},
    ("deploy", "which"): READ,
    ("deploy", "up"): {**READ, "id-token": "write"},
    ("labs", "end"): {**READ, "id-token": "write"},
    ("images", "push"): {**READ, "id-token": "write"},
    ("release", "scale"): READ,
    ("release", "presets"): READ,
}
"""The least that each job needs: reading the code, the run's artifact, one comment, one issue, or a role by OIDC."""
OURS = re.compile(r"\b(secrets\.|GITHUB_TOKEN|github\.token)")


def loaded(path: Path) -> dict[str, Any]:
    """A workflow; YAML 1.1 takes `on` for true."""
    content = yaml.safe_load(path.read_text())
    content["on"] = content.pop(True, content.get("on"))
    return dict(content)


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path in FILES:
        for name, job in loaded(path)["jobs"].items():
            yield path.stem, name, job


def wrong(workflow: str, content: dict[str, Any]) -> list[str]:
    """Where a workflow may do more than it needs: its path, what, and what to write."""
    said = []
    place = f".github/workflows/{workflow}.yml"
    if content.get("permissions") != {}:
        said.append(f"{place}: permissions: every job begins with the repository's default; write {{}}")
    for name, job in content["jobs"].items():
        for right, level in (job.get("permissions") or {}).items():
            if NEEDED.get((workflow, name), {}).get(right) != level:
                said.append(f"{place}: jobs.{name}.permissions.{right}: {level} is not needed; remove it")
    triggers = set(content["on"])
    if "pull_request_target" in triggers:
        said.append(f"{place}: on.pull_request_target: a fork's code would run with rights; use pull_request")
    return said


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_job_may_do_more_than_it_needs(path: Path) -> None:
    assert wrong(path.stem, loaded(path)) == []
    assert {(path.stem, name) for name in loaded(path)["jobs"]} <= set(NEEDED)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"permissions": None}, "permissions: every job begins with the repository's default; write {}"),
        ({"jobs": {"preview": {"permissions": {"contents": "write"}}}}, "permissions.contents: write is not needed"),
        ({"jobs": {"preview": {"permissions": {"id-token": "write"}}}}, "permissions.id-token: write is not needed"),
        ({"on": {"pull_request_target": None}}, "a fork's code would run with rights; use pull_request"),
    ],
    ids=["default", "write", "role", "target"],
)
def test_a_job_that_may_do_more_is_told_of(change: dict[str, Any], said: str) -> None:
    """With its path and what to write instead."""
    (sentence,) = wrong("preview", {**loaded(FOLDER / "preview.yml"), **change})
    assert sentence.startswith(".github/workflows/preview.yml: ")
    assert said in sentence


def test_what_runs_a_forks_code_has_nothing_to_lose() -> None:
    """No secret, no token in the checkout, no environment, no role."""
    for path in FILES:
        if "pull_request" in loaded(path)["on"]:
            assert not OURS.search(path.read_text()), path.name
            for job in loaded(path)["jobs"].values():
                assert "environment" not in job
                (checkout,) = (each for each in job["steps"] if str(each.get("uses")).startswith("actions/checkout@"))
                assert checkout["with"]["persist-credentials"] is False


def test_what_has_rights_runs_no_code_of_the_pull_request() -> None:
    """The poster checks out the default branch, and nothing of the event stands in a shell line."""
    (job,) = loaded(FOLDER / "comment.yml")["jobs"].values()
    (checkout,) = (each for each in job["steps"] if str(each.get("uses")).startswith("actions/checkout@"))
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    runs = {each["if"][-12:]: each["run"] for each in job["steps"] if "run" in each}
    assert runs == {
        f"{sign} 'success'": f"python3 -m review.post {what} artifact"
        for sign, what in (("==", "comment"), ("!=", "failed"))
    }
    assert "cancelled" not in job["if"]


HOSTS = ("make review", "make engine", "make presets", "make test-scale")
"""What rehearses every committed stack, the metal one among them, whose hosts take packages of the system."""


def unprepared(lines: list[str]) -> bool:
    """Whether one of HOSTS runs among a job's shell lines, and not `make packages` before it."""
    first = next((number for number, line in enumerate(lines) if line.startswith(HOSTS)), None)
    return first is not None and "make packages" not in lines[:first]


def test_what_rehearses_every_stack_has_the_packages_of_its_hosts() -> None:
    """Else the metal stack has no preview: see metal/lacking.py."""
    assert unprepared(["make pack", "make review BASE=x"])
    scripts = {(workflow, name): [each.get("run", "") for each in job["steps"]] for workflow, name, job in jobs()}
    assert [each for each, lines in scripts.items() if unprepared(lines)] == []
    assert sum(any(line.startswith(HOSTS) for line in lines) for lines in scripts.values()) == 4


def test_a_role_is_looked_at_before_it_is_used() -> None:
    """By its own job, in the environment that the job runs in, right after it has the role."""
    for workflow, name, job in jobs():
        roles = [
            number
            for number, step in enumerate(job["steps"])
            if str(step.get("uses")).startswith("aws-actions/configure-aws-credentials@")
        ]
        for number in roles:
            environment = job["environment"].replace("${{ matrix.stack }}", "$STACK")
            kind = {"drift": " ARGS=--look", "images": " ARGS=--images"}.get(workflow, "")
            said = job["steps"][number + 1]["run"].replace('"', "")
            assert said == f"make trust ENVIRONMENT={environment}{kind}", f"{workflow}.{name}"


def test_no_expression_in_a_shell_line() -> None:
    """A branch may be called `$(...)`: values reach shells as variables."""
    for workflow, name, job in jobs():
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), f"{workflow}.{name}"


def test_actions_are_pinned_to_commits() -> None:
    used = [step["uses"] for _, _, job in jobs() for step in job["steps"] if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each)] == []


def test_one_at_a_time_for_each_stack() -> None:
    """Drift, deployment and the end of a lab wait for each other, and none ends another."""
    for workflow, name in (("drift", "look"), ("deploy", "up"), ("labs", "end")):
        job = loaded(FOLDER / f"{workflow}.yml")["jobs"][name]
        assert job["concurrency"] == {"group": "stack-${{ matrix.stack }}", "cancel-in-progress": False}


def test_an_image_is_scanned_before_it_is_pushed_and_signed_after_y08_y09() -> None:
    """Y08, Y09, AB01: what a merge made, and never what a pull request did. The pipeline is of the pushed image."""
    content = loaded(FOLDER / "images.yml")
    steps = [step for step in content["jobs"]["push"]["steps"] if "run" in step]
    assert [step["run"] for step in steps] == [
        "make trust ENVIRONMENT=images ARGS=--images",
        "make image-check STACK=prod",
        *(f"make {each}" for each in ("image", "image-sbom", "image-scan", "image-push", "image-sign", "pipeline")),
    ]
    assert steps[-1]["env"] == {"ARGS": "${{ vars.PIPELINE }}"}
    kept = content["jobs"]["push"]["steps"][-1]
    assert (kept["with"]["path"], kept["if"]) == ("build/pretraining.yaml", steps[-1]["if"])
    assert list(content["on"]) == ["push"]
    assert content["on"]["push"]["branches"] == ["main"]


def test_a_deployment_waits_for_its_environment() -> None:
    """Named like the stack, where reviewers are required; looking has one of its own, without."""
    assert loaded(FOLDER / "deploy.yml")["jobs"]["up"]["environment"] == "${{ matrix.stack }}"
    assert loaded(FOLDER / "drift.yml")["jobs"]["look"]["environment"] == "${{ matrix.stack }}-read"


STEPS = [
    (workflow, name, index)
    for workflow, name, job in jobs()
    for index, step in enumerate(job["steps"])
    if "run" in step
]
VALUES = {
    "BASE": "HEAD",
    "STACK": "prod",
    "DEPLOYED": '["prod"]',
    "ASKED": "",
    "EXPORTED": '{"deployment": {"resources": [{"urn": "a"}, {"urn": "b"}]}}',
    "AFTERWARDS": '{"deployment": {"manifest": {}}}',
    "AWS_REGION": "us-east-2",
    "RUN_URL": "https://github.com/acme/cluster/actions/runs/7",
    "IMAGE": "123456789012.dkr.ecr.us-east-2.amazonaws.com/lab/trainer",
}
SHIM = """#!/bin/bash
printf '%s\\n' "$(basename "$0")" "$@" >> "$CALLS"
if [ "$(basename "$0")" = make ]; then
  "$REAL_MAKE" --dry-run "$@" > "$CALLS.made" 2>&1 || { cat "$CALLS.made" >&2; exit 2; }
fi
if [ "${1:-}" = changed ]; then echo '["prod"]'; fi
if [ "${1:-}" = over ]; then echo true; fi
if [ "${1:-}" = "${REFUSED:-}" ]; then exit 1; fi
if [ "${1:-}" = undeploy ]; then
  echo "unreachable $PULUMI_K8S_DELETE_UNREACHABLE" >> "$CALLS"
  printf '%s' "$AFTERWARDS" > "$CALLS.state"
fi
if [ "${2:-}" = export ]; then if [ -e "$CALLS.state" ]; then cat "$CALLS.state"; else printf '%s' "$EXPORTED"; fi; fi
"""


COMMANDS = ("aws", "make", "pulumi", "python3")


def ran(line: str, tmp_path: Path, *, pipefail: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
    """A shell line as the runner runs it: bash -e, in the checkout. Commands are written to `calls`.

    With pipefail only where the job names its shell: docs.github.com, Workflow syntax, `defaults.run.shell`.
    """
    for command in COMMANDS:
        shim = tmp_path / command
        shim.write_text(SHIM)
        shim.chmod(0o755)
    real = shutil.which("make")
    assert real
    environment = {
        **{key: value for key, value in os.environ.items() if key not in VALUES and not key.startswith("MAKE")},
        **VALUES,
        "CALLS": str(tmp_path / "calls"),
        "REAL_MAKE": real,
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        **more,
    }
    words = ["bash", "--noprofile", "--norc", *(("-eo", "pipefail") if pipefail else ("-e",)), "-c", line]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("workflow", "name", "index"), STEPS, ids=lambda value: str(value))
def test_each_shell_step_runs(workflow: str, name: str, index: int, tmp_path: Path) -> None:
    """Make's targets and variables are real."""
    job = loaded(FOLDER / f"{workflow}.yml")["jobs"][name]
    step = job["steps"][index]
    done = ran(step["run"], tmp_path, pipefail="defaults" in job)
    assert done.returncode == 0, done.stderr
    output, said = tmp_path / "output", (tmp_path / "calls").read_text().splitlines()
    if said[0] == "python3":
        assert said[1:3] == ["-m", "review.post"]
    if step.get("id") == "which":
        assert output.read_text() == 'stacks=["prod"]\n'
    if step.get("id") == "over":
        assert said[1:3] == ["over", "STACK=prod"]
        assert output.read_text() == "over=true\n"
    if "review" in said:
        (words,) = handed(Template(step["run"]).safe_substitute(VALUES))
        assert words[:4] == ["-m", "review", "--base", "HEAD"]
        assert words[-2:] == ["--whole", "[the artifact](https://github.com/acme/cluster/actions/runs/7#artifacts)"]


KUBECONFIG = ["aws", "eks", "update-kubeconfig", "--name", "gpucluster-prod"]
VACATE = ["make", "vacate", "REGION=us-east-2", "CONFIRM=prod"]
UNDEPLOY = ["make", "undeploy", "ARGS=--refresh --yes", "unreachable true"]


def called(tmp_path: Path) -> list[list[str]]:
    """The commands that ran, each with its words, but for the questions about the state."""
    found: list[list[str]] = []
    for line in (tmp_path / "calls").read_text().splitlines():
        found += [[line]] if line in COMMANDS else []
        found[-1] += [] if line in COMMANDS else [line]
    return [each for each in found if each[1:3] != ["stack", "export"]]


def ended(tmp_path: Path, **more: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """The step that ends a lab, and what it called."""
    job = loaded(FOLDER / "labs.yml")["jobs"]["end"]
    assert job["defaults"] == {"run": {"shell": "bash"}}
    done = ran(job["steps"][-1]["run"], tmp_path, pipefail=True, **more)
    return done, called(tmp_path)


def test_a_lab_is_destroyed_only_when_it_is_over(tmp_path: Path) -> None:
    """What destroys waits for the word of the step that asks."""
    steps = loaded(FOLDER / "labs.yml")["jobs"]["end"]["steps"]
    (asks,) = (number for number, step in enumerate(steps) if step.get("id") == "over")
    words = re.compile(r"pulumi|undeploy|vacate")
    acting = [number for number, step in enumerate(steps) if words.search(step.get("run", step.get("uses", "")))]
    assert acting == [asks + 1, asks + 2]
    assert {steps[number]["if"] for number in acting} == {"steps.over.outputs.over == 'true'"}
    done, calls = ended(tmp_path)
    assert (done.returncode, calls) == (0, [KUBECONFIG, VACATE, UNDEPLOY, VACATE])
    (words_of_it,) = handed(shlex.join(["make", "STACK=prod", *UNDEPLOY[1:3]]))
    assert words_of_it == ["-m", "deploy", "destroy", "--stack", "prod", "--refresh", "--yes"]


def test_a_cluster_that_is_gone_and_leftovers_that_stay_do_not_keep_a_lab_from_its_end(tmp_path: Path) -> None:
    """AWS has no kubeconfig of a cluster that the keeper removed. What still stands after the destroy is an error."""
    done, calls = ended(tmp_path, REFUSED="eks")
    assert (done.returncode, calls) == (0, [KUBECONFIG, VACATE, UNDEPLOY, VACATE])
    (tmp_path / "calls").unlink()
    (tmp_path / "calls.state").unlink()
    done, calls = ended(tmp_path, REFUSED="vacate")
    assert (done.returncode, calls) == (1, [KUBECONFIG, VACATE, UNDEPLOY, VACATE])
    said = "could not all be removed; it is tried"
    assert done.stdout == f"::warning::what stands in the way of the destroy of prod {said}\n"


def test_a_destroy_that_fails_is_the_jobs_failure(tmp_path: Path) -> None:
    """Nothing is looked at after it: the next hour begins with what it left."""
    done, calls = ended(tmp_path, REFUSED="undeploy")
    assert (done.returncode, calls) == (1, [KUBECONFIG, VACATE, UNDEPLOY[:-1]])


@pytest.mark.parametrize("empty", ["{}", VALUES["AFTERWARDS"], '{"deployment": {"resources": []}}'])
def test_a_lab_that_is_gone_is_not_destroyed_again(empty: str, tmp_path: Path) -> None:
    """Each hour, until LABS drops it. The log group that EKS made after the end goes."""
    done, calls = ended(tmp_path, EXPORTED=empty)
    assert (done.returncode, calls) == (0, [KUBECONFIG, VACATE])
    assert done.stdout == "::notice::nothing is left in the state of prod: take it out of LABS\n"


def test_a_lab_whose_state_is_not_empty_fails(tmp_path: Path) -> None:
    """The refresh or the destroy left something: the job is red, and the next hour tries again."""
    left, _ = ended(tmp_path, AFTERWARDS=VALUES["EXPORTED"])
    assert (left.returncode, left.stderr) == (
        1,
        "2 resources are still in the state of prod: the next run tries again\n",
    )


def test_a_state_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    done, calls = ended(tmp_path, EXPORTED="no JSON")
    assert done.returncode != 0
    assert calls == [KUBECONFIG, VACATE]


def test_an_answer_that_is_none_destroys_nothing(tmp_path: Path) -> None:
    """Where `make over` fails its step does, and the steps behind it do not run."""
    (line,) = (each["run"] for each in loaded(FOLDER / "labs.yml")["jobs"]["end"]["steps"] if each.get("id") == "over")
    done = ran(line.replace("make over", "false"), tmp_path)
    assert done.returncode == 1
    assert not (tmp_path / "output").exists()
